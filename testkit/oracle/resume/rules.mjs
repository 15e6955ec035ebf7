// What providers refuse. Each function returns the reasons, as the provider would give them.

import { PRIVATELY, seal } from "./seal.mjs";

/** What Anthropic accepts as an image. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const CLOSED = [3, 4].map((turn) => seal(`closed ${turn}`));

/** Calls and results in order: each result must belong to a call before it, and each call must be answered at once. */
class Calls {
  open = new Set();
  reasons = [];

  call(id) {
    if (!id) this.reasons.push("a call has no id");
    this.open.add(id);
  }

  result(id) {
    if (!this.open.delete(id)) this.reasons.push(`unexpected result: no call has the id ${id}`);
  }

  /** Something else than a result comes. */
  other() {
    if (this.open.size > 0) this.reasons.push(`calls without results: ${[...this.open].join(", ")}`);
    this.open.clear();
  }
}

/** Refuses a thought that stands in a visible text, and texts that are empty. */
function visible(text, reasons) {
  if (typeof text !== "string" || text.trim() === "") reasons.push("a text is empty");
  else if (text.includes(PRIVATELY)) reasons.push("a thought is sent as visible text");
}

/** Anthropic and Bedrock: `blocks` maps a block of the wire to `{ text }`, `{ thought, seal }`, `{ closed }`, `{ call }`, `{ result }` or `{ image }`. */
function sealed(messages, blocks) {
  const calls = new Calls();
  const { reasons } = calls;
  messages.forEach((message, at) => {
    const content = (typeof message.content === "string" ? [{ text: message.content, type: "text" }] : message.content).map(blocks).filter(Boolean);
    if (content.length === 0) reasons.push("a message is empty");
    for (const [place, block] of content.entries()) {
      if ("result" in block) calls.result(block.result);
      else if (message.role !== "assistant") calls.other();
      if ("text" in block) visible(block.text, message.role === "assistant" ? reasons : []);
      if ("thought" in block && seal(block.thought) !== block.seal) reasons.push("invalid `signature` in `thinking` block");
      if ("closed" in block && !CLOSED.includes(block.closed)) reasons.push("invalid `data` in `redacted_thinking` block");
      if ("other" in block) reasons.push(`unknown block ${block.other}`);
      if (("thought" in block || "closed" in block) && content.slice(0, place).some((before) => "call" in before)) {
        reasons.push("a thought comes after a call");
      }
    }
    if (message.role === "assistant") {
      calls.other();
      content.filter((block) => "call" in block).forEach((block) => calls.call(block.call));
      const next = messages[at + 1];
      const isLoop = at === messages.length - 2 && next.content.every?.((block) => "result" in (blocks(block) ?? { result: 0 }));
      const starts = content[0] && ("thought" in content[0] || "closed" in content[0]);
      if (isLoop && !starts) reasons.push("a final `assistant` message must start with a thinking block");
    }
  });
  calls.other();
  return reasons;
}

function anthropic({ messages }) {
  return sealed(messages, (block) => {
    switch (block.type) {
      case "text":
        return { text: block.text };
      case "thinking":
        return { thought: block.thinking, seal: block.signature };
      case "redacted_thinking":
        return { closed: block.data };
      case "tool_use":
        return typeof block.input === "object" ? { call: block.id } : { other: "input" };
      case "tool_result":
        return { result: block.tool_use_id };
      case "image":
        return IMAGES.includes(block.source.media_type) && BASE64.test(block.source.data) ? { image: true } : { other: "image" };
      default:
        return { other: block.type };
    }
  });
}

function bedrock({ messages }) {
  return sealed(messages, (block) => {
    if (block.cachePoint) return undefined;
    if (block.toolUse) return { call: block.toolUse.toolUseId };
    if (block.toolResult) return { result: block.toolResult.toolUseId };
    if (block.reasoningContent?.reasoningText) {
      const { text, signature } = block.reasoningContent.reasoningText;
      return { thought: text, seal: signature };
    }
    if (block.reasoningContent) return { closed: block.reasoningContent.redactedContent };
    return "text" in block ? { text: block.text } : { other: Object.keys(block) };
  });
}

/** The answer to which an item belongs: 2 for `rs_2`, `rs_2_closed`, `fc_2_b` and `msg_2_1`; none for items without such an id. */
const answerOf = (item) => /^(?:rs|fc|ctc|msg)_(\d+)/.exec(item?.id ?? "")?.[1];

function responses({ input }) {
  const calls = new Calls();
  const { reasons } = calls;
  const reasoned = new Set();
  input.forEach((item, at) => {
    const isAnswer = ["reasoning", "message", "function_call"].includes(item.type);
    if (item.type === "function_call_output") calls.result(item.call_id);
    else if (!isAnswer) calls.other();
    if (item.type === "reasoning") {
      const text = (item.summary ?? []).map((part) => part.text).join("\n");
      if (item.encrypted_content !== seal(`${item.id} ${text}`)) reasons.push(`the encrypted content of ${item.id} could not be verified`);
      if (answerOf(input[at + 1]) !== answerOf(item)) reasons.push(`${item.id} of type 'reasoning' was provided without its required following item`);
      reasoned.add(answerOf(item));
    } else if (isAnswer) {
      const answer = answerOf(item);
      if (answer && !reasoned.has(answer)) reasons.push(`${item.id} was provided without its required 'reasoning' item rs_${answer}`);
      if (item.id?.includes("|") || item.call_id?.includes("|")) reasons.push(`not an id: ${item.id ?? item.call_id}`);
    }
    if (item.type === "function_call") {
      calls.call(item.call_id);
      JSON.parse(item.arguments);
    }
    if (item.type === "message" && item.role === "assistant") item.content.forEach((part) => visible(part.text, reasons));
  });
  calls.other();
  return reasons;
}

function completions({ messages }) {
  const calls = new Calls();
  const { reasons } = calls;
  for (const message of messages) {
    if (message.role === "tool") {
      calls.result(message.tool_call_id);
      continue;
    }
    calls.other();
    if (message.role !== "assistant") continue;
    if (message.content == null && !message.tool_calls) reasons.push("an answer without content and calls");
    if (typeof message.content === "string") visible(message.content, reasons);
    for (const call of message.tool_calls ?? []) {
      calls.call(call.id);
      if (typeof JSON.parse(call.function.arguments) !== "object") reasons.push("arguments are not an object");
    }
    for (const detail of message.reasoning_details ?? []) {
      if (detail.signature !== seal(detail.text)) reasons.push("invalid signature in reasoning_details");
    }
  }
  calls.other();
  return reasons;
}

function google({ contents }) {
  const calls = new Calls();
  const { reasons } = calls;
  const isPrompt = (content) => content.role === "user" && content.parts.some((part) => !part.functionResponse);
  const turn = contents.findLastIndex(isPrompt);
  contents.forEach((content, at) => {
    if (content.parts.length === 0) reasons.push("a content without parts");
    if (content.role !== "user" || isPrompt(content)) calls.other();
    let isFirstCall = true;
    for (const part of content.parts) {
      const { functionCall, functionResponse, text, thoughtSignature } = part;
      if (functionResponse) calls.result(functionResponse.id);
      if (thoughtSignature && thoughtSignature !== seal(functionCall ? JSON.stringify(functionCall.args) : text)) reasons.push("Thought signature is not valid");
      if (functionCall) {
        calls.call(functionCall.id);
        if (isFirstCall && at > turn && !thoughtSignature) reasons.push("Function call is missing a thought_signature");
        isFirstCall = false;
      }
      if (content.role === "model" && text !== undefined && !part.thought) visible(text, reasons);
    }
  });
  calls.other();
  return reasons;
}

/** The checks, by API. */
export const RULES = {
  "anthropic-messages": anthropic,
  "bedrock-converse-stream": bedrock,
  "openai-responses": responses,
  "openai-completions": completions,
  "google-generative-ai": google,
};

// Sessions as pi writes them for each API, with seals that fit and a secret in every text.

import { PRIVATELY, seal } from "./seal.mjs";

/** The APIs, and a model of each. Gemini 3 demands signatures, and only models of Claude have them in Bedrock. */
export const MODELS = {
  "anthropic-messages": "claude-fake",
  "bedrock-converse-stream": "claude-fake",
  "openai-responses": "gpt-fake",
  "openai-completions": "fake",
  "google-generative-ai": "gemini-3-fake",
};

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Makes up a key in the format of a provider. The parts are joined here, so that no scanner takes the source for one. */
function key(number) {
  let state = number * 2654435761 + 12345;
  const letter = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return LETTERS[(state >> 8) % 62];
  };
  return `gs${"k_"}${Array.from({ length: 52 }, letter).join("")}`;
}

/** Anthropic seals thoughts, and closes some. Bedrock does the same. */
const SEALED = {
  thought: (text) => ({ thinking: text, thinkingSignature: seal(text) }),
  text: (text) => ({ text }),
  callId: (id) => id,
  call: () => ({}),
  closed: (turn) => ({ type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: seal(`closed ${turn}`), redacted: true }),
};

/** What an API adds to thoughts, texts and calls. `turn` numbers the answers. */
const SIGNED = {
  "anthropic-messages": SEALED,
  "bedrock-converse-stream": SEALED,
  "openai-responses": {
    thought: (text, turn) => ({ thinking: text, thinkingSignature: JSON.stringify(reasoningItem(text, `rs_${turn}`)) }),
    text: (text, turn) => ({ text, textSignature: `msg_${turn}_1` }),
    callId: (id, turn) => `${id}|fc_${turn}_${id.slice(5)}`,
    call: () => ({}),
    closed: (turn) => ({ type: "thinking", thinking: "", thinkingSignature: JSON.stringify(reasoningItem("", `rs_${turn}_closed`)) }),
  },
  "openai-completions": {
    // Every other answer has the thought in a field, the others in details.
    thought: (text, turn) => ({ thinking: text, thinkingSignature: turn % 2 === 1 ? "reasoning_content" : JSON.stringify(details(text)) }),
    text: (text) => ({ text }),
    callId: (id) => id,
    call: () => ({}),
    closed: () => ({ type: "thinking", thinking: `${PRIVATELY}nothing`, thinkingSignature: JSON.stringify(details(`${PRIVATELY}nothing`)) }),
  },
  "google-generative-ai": {
    thought: (text) => ({ thinking: text, thinkingSignature: seal(text) }),
    text: (text) => ({ text, textSignature: seal(text) }),
    callId: (id) => id,
    call: (args) => ({ thoughtSignature: seal(JSON.stringify(args)) }),
    closed: () => ({ type: "thinking", thinking: `${PRIVATELY}nothing`, thinkingSignature: seal(`${PRIVATELY}nothing`) }),
  },
};

/** A reasoning item of the Responses API, with its summary in clear. */
function reasoningItem(text, id) {
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  return { type: "reasoning", id, summary, encrypted_content: seal(`${id} ${text}`) };
}

/** The details of a thought that some servers of the Completions API send. */
const details = (text) => [{ type: "reasoning.text", text, signature: seal(text), format: "fake-v1", index: 0 }];

/**
 * A session of an API, with the keys that were planted in it. If it is open, the last entry is the result of a call.
 */
export function session({ api, cwd, isOpen }) {
  const planted = [];
  const secret = () => {
    planted.push(key(planted.length + 1));
    return planted.at(-1);
  };
  const signed = SIGNED[api];
  const lines = [];
  const push = (entry) => {
    const id = `e${lines.length}`;
    const timestamp = new Date(1735689600000 + lines.length * 1000).toISOString();
    lines.push({ id, parentId: lines.length === 1 ? null : `e${lines.length - 1}`, timestamp, ...entry });
  };
  const message = (role, rest) => push({ type: "message", message: { role, ...rest, timestamp: 1735689600000 + lines.length * 1000 } });
  const answer = (stopReason, ...content) =>
    message("assistant", { content, api, provider: `fake-${api}`, model: MODELS[api], usage: usage(), stopReason });
  const thought = (text, turn) => ({ type: "thinking", ...signed.thought(`${PRIVATELY}${text}`, turn) });
  const text = (words, turn) => ({ type: "text", ...signed.text(words, turn) });
  const call = (id, turn, args) => ({ type: "toolCall", id: signed.callId(id, turn), name: "bash", arguments: args, ...signed.call(args) });
  const result = (id, turn, words, more = {}) =>
    message("toolResult", { toolCallId: signed.callId(id, turn), toolName: "bash", content: [{ type: "text", text: words }], isError: false, ...more });

  lines.push({ type: "session", version: 3, id: `source-${api}`, timestamp: "2025-01-01T00:00:00.000Z", cwd });
  push({ type: "model_change", provider: `fake-${api}`, modelId: MODELS[api] });
  push({ type: "thinking_level_change", thinkingLevel: "medium" });
  message("user", { content: `use ${secret()} in /home/alice/plan, and write to alice.miller@corp.example.com` });
  // The first answer thinks of a secret and has it in a call.
  const args = { command: `curl -H "x: ${secret()}" https://x.example.com` };
  answer("toolUse", thought(`the key is ${secret()}`, 1), text(`I use ${secret()}.`, 1), call("call_a", 1, args), call("call_b", 1, { command: "ls" }));
  result("call_a", 1, `got ${secret()} for /home/alice/plan`, { details: { diff: secret() } });
  result("call_b", 1, "a.txt");
  // The second thinks of nothing secret, but its text, its call and their result have one.
  const more = { command: `echo ${secret()}`, env: { deep: [secret()] } };
  answer("toolUse", thought("this needs no key", 2), text(`Now ${secret()}.`, 2), call("call_c", 2, more));
  result("call_c", 2, `${secret()}`);
  // The third has a thought that the provider has closed.
  answer("stop", signed.closed(3), text("Almost.", 3));
  message("bashExecution", { command: `export KEY=${secret()}`, output: secret(), exitCode: 0, cancelled: false, truncated: false });
  push({ type: "custom_message", customType: "note", content: `note ${secret()}`, display: true, details: { x: secret() } });
  push({ type: "branch_summary", fromId: "e3", summary: `tried ${secret()}` });
  message("user", { content: [{ type: "text", text: `again with ${secret()}` }] });
  // The fourth has a closed thought before a thought with a secret.
  answer("toolUse", signed.closed(4), thought(`try ${secret()} again`, 4), call("call_d", 4, { command: "true" }));
  result("call_d", 4, "ok");
  if (!isOpen) {
    answer("stop", thought("all is done", 5), text("Done.", 5));
    push({ type: "session_info", name: `work with ${secret()}` });
  }
  return { text: lines.map((line) => `${JSON.stringify(line)}\n`).join(""), planted };
}

function usage() {
  return { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
}

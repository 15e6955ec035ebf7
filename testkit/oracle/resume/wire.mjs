// How each provider says "accepted" on the wire.

import { crc32 } from "node:zlib";

export const ANSWER = "accepted";

const sse = (events) => events.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");

const anthropic = () =>
  sse([
    { type: "message_start", message: { id: "msg_a", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: ANSWER } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ]);

function responses() {
  const part = { type: "output_text", text: ANSWER, annotations: [] };
  const item = { type: "message", id: "msg_new", role: "assistant", status: "completed", content: [part] };
  return sse([
    { type: "response.created", response: { id: "resp_1" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [], status: "in_progress" } },
    { type: "response.content_part.added", item_id: "msg_new", output_index: 0, content_index: 0, part: { ...part, text: "" } },
    { type: "response.output_text.delta", item_id: "msg_new", output_index: 0, content_index: 0, delta: ANSWER },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "resp_1", status: "completed", output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } } },
  ]);
}

function completions() {
  const chunk = (choice, more) => ({ id: "a", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, ...choice }], ...more });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  return `${sse([chunk({ delta: { role: "assistant", content: ANSWER }, finish_reason: null }), chunk({ delta: {}, finish_reason: "stop" }, { usage })])}data: [DONE]\n\n`;
}

const google = () =>
  sse([
    {
      candidates: [{ content: { role: "model", parts: [{ text: ANSWER }] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  ]);

/** A message of Amazon's binary event stream. */
function frame(type, body) {
  const header = (name, value) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(Buffer.byteLength(value));
    return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
  };
  const headers = Buffer.concat([header(":message-type", "event"), header(":event-type", type), header(":content-type", "application/json")]);
  const payload = Buffer.from(JSON.stringify(body));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + payload.length);
  prelude.writeUInt32BE(headers.length, 4);
  const sum = (bytes) => {
    const four = Buffer.alloc(4);
    four.writeUInt32BE(crc32(bytes));
    return four;
  };
  const message = Buffer.concat([prelude, sum(prelude), headers, payload]);
  return Buffer.concat([message, sum(message)]);
}

const bedrock = () =>
  Buffer.concat([
    frame("messageStart", { role: "assistant" }),
    frame("contentBlockDelta", { contentBlockIndex: 0, delta: { text: ANSWER } }),
    frame("contentBlockStop", { contentBlockIndex: 0 }),
    frame("messageStop", { stopReason: "end_turn" }),
    frame("metadata", { usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, metrics: { latencyMs: 1 } }),
  ]);

/** The accepting answers, by API. */
export const ACCEPT = {
  "anthropic-messages": anthropic,
  "bedrock-converse-stream": bedrock,
  "openai-responses": responses,
  "openai-completions": completions,
  "google-generative-ai": google,
};

// A model in this process: a server that speaks the protocol of pi's provider "openai-completions". A step sets what it
// says next; without that, the n-th response is "answer n".

import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const COST = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };

/** The models that the server offers. */
const MODELS = [
  { id: "mock-1", name: "Mock One", reasoning: false, contextWindow: 32_000, maxTokens: 4096, cost: COST, input: ["text"] },
  { id: "mock-2", name: "Mock Two", reasoning: true, contextWindow: 32_000, maxTokens: 4096, cost: COST, input: ["text"] },
];

/** Answers with text. `usage` is the number of tokens of the prompt. */
export const text = (content, { prompt = 100, completion = 10, onDelta } = {}) => ({ content, prompt, completion, onDelta });

/** Calls tools: `[name, arguments]` each. */
export const tools = (...calls) => ({ calls, prompt: 100, completion: 10 });

/** Fails with a status and the words of the error. */
export const failure = (status, message) => ({ status, message });

/** Says one word, calls `started`, and then nothing until the client goes away. */
export const silence = (started) => ({ hangs: true, started });

/** Says one word, calls `started`, waits for the promise that it returns, and says the rest. */
export const slow = (content, started) => ({ content, prompt: 100, completion: 10, started });

const chunk = (choice, more = {}) =>
  `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 1, model: "mock", choices: [{ index: 0, ...choice }], ...more })}\n\n`;

function usageOf({ prompt, completion }) {
  return { usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion } };
}

function say(reply, response) {
  response.write(chunk({ delta: { content: reply.content }, finish_reason: null }));
  response.write(chunk({ delta: {}, finish_reason: "stop" }, usageOf(reply)));
  response.end("data: [DONE]\n\n");
}

async function respond(reply, response, number) {
  if (reply.status) {
    response.writeHead(reply.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: reply.message, type: "server_error" } }));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ delta: { role: "assistant", content: "" }, finish_reason: null }));
  if (reply.calls) {
    const calls = reply.calls.map(([name, args], index) => ({
      index,
      id: `call_${number}_${index}`,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }));
    response.write(chunk({ delta: { tool_calls: calls }, finish_reason: null }));
    response.write(chunk({ delta: {}, finish_reason: "tool_calls" }, usageOf(reply)));
    response.end("data: [DONE]\n\n");
    return;
  }
  if (reply.started) {
    response.write(chunk({ delta: { content: "well, " }, finish_reason: null }));
    await reply.started();
  }
  if (!reply.hangs) say(reply, response);
}

/** Starts a model. `requests` has the body of every request, `replies` what it says next. */
export async function startModel() {
  const model = { requests: [], replies: [], count: 0 };
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      model.requests.push(body === "" ? request.url : JSON.parse(body));
      model.count += 1;
      const reply = model.replies.shift() ?? text(`answer ${model.count}`);
      respond(reply, response, model.count).catch((error) => response.destroy(error));
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  server.unref();
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  model.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return model;
}

/** Writes pi's list of models, with this model as the only one, and settings that make runs repeatable. */
export function configure(agentDir, model, settings = {}) {
  const provider = { baseUrl: model.url, apiKey: "k", api: "openai-completions", models: MODELS };
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { mock: provider } }));
  const all = {
    defaultProvider: "mock",
    defaultModel: "mock-1",
    defaultThinkingLevel: "off",
    quietStartup: true,
    enableInstallTelemetry: false,
    defaultProjectTrust: "always",
    cacheWarming: "off",
    retry: { enabled: true, maxRetries: 2, baseDelayMs: 1 },
    compaction: { enabled: true, reserveTokens: 2000, keepRecentTokens: 40 },
    ...settings,
  };
  writeFileSync(join(agentDir, "settings.json"), JSON.stringify(all));
  return all;
}

// A complete pi agent, for operations that its session engine alone does not have: compaction and moving in the tree.
// Its model is a server in this process. The n-th response is "summary n" and reports 100n input and 10n output tokens.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const pi = await import(pathToFileURL(join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/index.js")).href);

// ------------------------------------------------------------------------------------------------------- the model

export const asked = { count: 0, failing: false };

function answer(request, response) {
  request.resume();
  request.on("end", () => {
    asked.count += 1;
    if (asked.failing) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end('{"error":{"message":"no"}}');
      return;
    }
    const chunk = (choice, extra = {}) =>
      `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 1, model: "mock-1", choices: [{ index: 0, ...choice }], ...extra })}\n\n`;
    const [prompt, completion] = [100 * asked.count, 10 * asked.count];
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ delta: { role: "assistant", content: `summary ${asked.count}` }, finish_reason: null }));
    response.write(chunk({ delta: {}, finish_reason: "stop" }, { usage }));
    response.end("data: [DONE]\n\n");
  });
}

const server = createServer(answer);
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
server.unref();

export const agentDir = mkdtempSync(join(tmpdir(), "oracle-agent-"));
process.on("exit", () => rmSync(agentDir, { recursive: true, force: true }));
const model = { id: "mock-1", contextWindow: 200000, maxTokens: 4096, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
const provider = { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "k", api: "openai-completions", models: [model] };
const modelsPath = join(agentDir, "models.json");
writeFileSync(modelsPath, JSON.stringify({ providers: { mock: provider } }));
export const modelRuntime = await pi.ModelRuntime.create({ authPath: join(agentDir, "auth.json"), modelsPath });

// ------------------------------------------------------------------------------------------------------- the agent

const nothing = () => ({ diagnostics: [] });
const resourceLoader = {
  getExtensions: () => ({ extensions: [], errors: [], runtime: pi.createExtensionRuntime() }),
  getSkills: () => ({ skills: [], ...nothing() }),
  getPrompts: () => ({ prompts: [], ...nothing() }),
  getThemes: () => ({ themes: [], ...nothing() }),
  getAgentsFiles: () => ({ agentsFiles: [] }),
  getSystemPrompt: () => "Be brief.",
  getSystemPromptSource: () => undefined,
  getAppendSystemPrompt: () => [],
  getAppendSystemPromptSources: () => [],
  extendResources: () => {},
  reload: async () => {},
};

const STEPS = {
  compact: (session, instructions) => session.compact(instructions ?? undefined),
  navigate: (session, [target, options]) => session.navigateTree(target, options),
  failing: (session, failing) => {
    asked.failing = failing;
  },
  usage: (session) => session.getContextUsage(),
  forkMessages: (session) => session.getUserMessagesForForking(),
};

/** Serialises a value as JSON without lone surrogates, so that the text survives UTF-8. */
export const told = (value) => JSON.stringify(value, (_, inner) => (typeof inner === "string" ? inner.toWellFormed() : inner));

/** Opens a session file with an agent and runs steps. Returns each step's result, and the leaf after it. */
export async function agent({ file, dir, keepRecentTokens, steps }, draws) {
  Object.assign(asked, { count: 0, failing: false });
  const sessionManager = pi.SessionManager.open(file, dir);
  const nEntries = sessionManager.getEntries().length;
  const settingsManager = pi.SettingsManager.inMemory({
    compaction: { enabled: false, keepRecentTokens },
    retry: { enabled: false },
  });
  const options = { cwd: dir, agentDir, modelRuntime, resourceLoader, tools: [], sessionManager, settingsManager };
  const { session } = await pi.createAgentSession({ ...options, model: modelRuntime.getModel("mock", "mock-1") });
  const added = sessionManager.getEntries().slice(nEntries);
  const before = draws();
  const results = [];
  for (const step of steps) {
    const [[name, argument]] = Object.entries(step);
    let outcome;
    try {
      outcome = { value: told(await STEPS[name](session, argument)) };
    } catch (error) {
      outcome = { throws: String(error).toWellFormed() };
    }
    results.push({ ...outcome, leaf: sessionManager.getLeafId() ?? null });
  }
  session.dispose();
  return { added, draws: before, steps: results };
}

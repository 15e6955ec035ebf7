// A complete pi on this package, which talks to a model until it is killed. Prints the id of every message after its
// append has returned. Arguments: the file, the agent's directory.

import { mkdirSync, writeSync } from "node:fs";
import { join } from "node:path";

import { configure, startModel, text, tools } from "./model.mjs";
import { installInto, loadPi } from "./subjects.mjs";

const [file, agentDir] = process.argv.slice(2);
mkdirSync(agentDir, { recursive: true });
const model = await startModel();
configure(agentDir, model);
const pi = await loadPi();
await installInto(pi);
const sessionManager = pi.SessionManager.open(file, undefined, process.cwd());
const append = sessionManager.appendMessage.bind(sessionManager);
sessionManager.appendMessage = (message) => {
  const id = append(message);
  writeSync(1, `${id}\n`);
  return id;
};
const modelRuntime = await pi.ModelRuntime.create({ authPath: join(agentDir, "auth.json"), modelsPath: join(agentDir, "models.json") });
const { session } = await pi.createAgentSession({
  agentDir,
  modelRuntime,
  model: modelRuntime.getModel("mock", "mock-1"),
  sessionManager,
  tools: ["bash"],
  settingsManager: pi.SettingsManager.inMemory({ compaction: { enabled: true, reserveTokens: 2000, keepRecentTokens: 200 } }),
});
for (let turn = 0; ; turn += 1) {
  model.requests.length = 0;
  model.replies.push(tools(["bash", { command: `echo ${turn}` }]), text(`turn ${turn} ${"word ".repeat(50)}`));
  await session.prompt(`prompt ${turn}`);
}

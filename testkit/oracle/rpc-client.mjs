// Drives a program with pi's own RpcClient. Prints one JSON value: the result of each command.
//
// Arguments: the script that starts the program, the working directory, and a session file.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { RpcClient } = await import(pathToFileURL(join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/index.js")).href);
const [cliPath, cwd, session] = process.argv.slice(2);

const client = new RpcClient({ cliPath, cwd, provider: "mock", model: "mock-1", args: ["--session", session, "-ne"], env: process.env });
const given = {};
const events = [];

/** Records the result of a command, or its error. */
async function take(name, command) {
  try {
    given[name] = (await command()) ?? null;
  } catch (error) {
    given[name] = { error: error.message };
  }
}

await client.start();
client.onEvent((event) => events.push(event.type));
await take("getState", () => client.getState());
await take("getMessages", () => client.getMessages());
await take("getEntries", () => client.getEntries());
await take("getTree", () => client.getTree());
await take("getSessionStats", () => client.getSessionStats());
await take("getForkMessages", () => client.getForkMessages());
await take("getLastAssistantText", () => client.getLastAssistantText());
await take("getAvailableModels", () => client.getAvailableModels());
await take("getAvailableThinkingLevels", () => client.getAvailableThinkingLevels());
await take("cycleModel", () => client.cycleModel());
await take("cycleThinkingLevel", () => client.cycleThinkingLevel());
await take("getCommands", () => client.getCommands());
await take("exportHtml", () => client.exportHtml(join(cwd, "page.html")));
await take("exportNowhere", () => client.exportHtml(join(cwd, "no/such/page.html")));
await take("setSessionName", () => client.setSessionName("Named by pi's client"));
await take("named", async () => (await client.getState()).sessionName);
await take("compactNothing", () => client.compact());
const [first] = given.getForkMessages;
await take("fork", () => client.fork(first.entryId));
await take("switchSession", () => client.switchSession(session));
await take("clone", () => client.clone());
await take("cloned", async () => (await client.getEntries()).entries?.length);
await take("newSession", () => client.newSession(session));
await take("setModel", () => client.setModel("mock", "mock-1"));
await take("setThinkingLevel", () => client.setThinkingLevel("off"));
await take("setSteeringMode", () => client.setSteeringMode("all"));
await take("setFollowUpMode", () => client.setFollowUpMode("all"));
await take("setAutoCompaction", () => client.setAutoCompaction(false));
await take("setAutoRetry", () => client.setAutoRetry(false));
await take("abortRetry", () => client.abortRetry());
await take("abortBash", () => client.abortBash());
await take("clearQueue", () => client.clearQueue());
await take("abort", () => client.abort());
await take("stateAfterwards", () => client.getState());
await client.stop();
console.log(JSON.stringify({ given, events }));

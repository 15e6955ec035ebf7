// Calls every command through the client, with the given program as server. Prints "every command works" on success.
//
//   node every-command.mjs PROGRAM

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { COMMANDS, RpcError, SessileClient } from "./sessile-rpc.js";

const program = process.argv[2];
const home = mkdtempSync(join(tmpdir(), "sessile-js-"));
const env = { ...process.env, HOME: home, XDG_DATA_HOME: join(home, "data"), XDG_CACHE_HOME: join(home, "cache"), XDG_STATE_HOME: join(home, "state"), XDG_CONFIG_HOME: join(home, "config") };
const client = await SessileClient.start({ program, args: ["--keep", "1", "--session-dir", join(home, "sessions")], cwd: home, env });

// The commands that were used, by any method.
const used = new Set();
const send = client.send.bind(client);
client.send = (command, parameters) => {
  used.add(command);
  return send(command, parameters);
};
const refused = (promise, code) => assert.rejects(promise, (error) => error instanceof RpcError && error.code === code);
const user = (content) => ({ message: { role: "user", content, timestamp: 1 } });
const said = (text) => ({ message: { role: "assistant", content: [{ type: "text", text }], api: "a", provider: "p", model: "m", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }, stopReason: "stop", timestamp: 2 } });

try {
  const streamed = [];
  client.on((event) => streamed.push(event.type));

  // Writing.
  const first = await client.appendMessage({ ...user("old ".repeat(60)), expectedLeaf: null });
  assert.equal(first.durable, "page-cache");
  await client.appendMessage(said("older ".repeat(60)));
  const second = await client.appendMessage(user("constituents \u2028 of tides"));
  const last = await client.appendMessage(said("Wind."));
  await assert.rejects(client.appendMessage({ ...user("x"), expectedLeaf: first.entryId }), (error) => error.code === "LEAF_MOVED" && error.leafId === last.entryId);
  await client.appendThinkingLevelChange({ thinkingLevel: "high" });
  await client.appendModelChange({ provider: "p", modelId: "m" });
  await client.appendUsage({ kind: "k", provider: "p", model: "m", usage: { input: 1 } });
  await client.appendCustomEntry({ customType: "x", data: [1] });
  await client.appendCustomMessageEntry({ customType: "x", content: "aside", display: true });
  await client.appendSessionInfo({ name: "One" });
  await client.appendLabelChange({ targetId: first.entryId, label: "start" });
  await client.setLabel({ entryId: last.entryId, label: "end" });
  await client.appendContextEdit({ targetId: second.entryId, replacement: { content: "edited" } });

  // Looking.
  const state = await client.getState();
  assert.equal(state.sessionName, "One");
  assert.equal((await client.getMessages()).messages.length, 5);
  assert.equal((await client.getEntries()).entries.length, 13);
  assert.equal((await client.getTree()).tree.length, 1);
  assert.equal((await client.getSessionStats()).userMessages, 2);
  assert.equal((await client.getForkMessages()).messages.length, 2);
  assert.equal((await client.getLastAssistantText()).text, "Wind.");
  assert.equal((await client.getBranch({ entryId: second.entryId })).entries.length, 3);
  assert.equal((await client.getChildren({ parentId: null })).entries.length, 1);
  assert.equal((await client.getEntry({ entryId: second.entryId })).entry.message.content, "constituents \u2028 of tides");
  assert.equal((await client.getLabel({ entryId: first.entryId })).label, "start");
  assert.equal((await client.getHeader()).header.id, state.sessionId);
  assert.equal((await client.buildSessionContext({ leafId: first.entryId })).messages.length, 1);
  assert.ok((await client.buildContextEntries()).entries.length > 4);
  assert.ok((await client.prepareCompaction({ keepRecentTokens: 1 })).preparation);
  assert.deepEqual((await client.verify()).findings, []);

  // Events and hooks.
  const heard = [];
  const subscription = await client.listen({ events: ["entry_appended", "leaf_moved"] }, (event) => heard.push(event));
  const fails = () => {
    throw new Error("the hook is lost");
  };
  const answers = [() => ({ cancel: true }), fails];
  const unhook = await client.hook(["session_before_compact"], (event, sessionPath) => (assert.equal(sessionPath, state.sessionFile), answers.shift()()), 10000);
  const failures = [];
  client.on((event) => event.type === "extension_error" && failures.push(event.error));
  await refused(client.compact(), "CANCELLED");
  assert.ok((await client.compact({ customInstructions: "short" })).summary);
  assert.ok(streamed.includes("compaction_start") && streamed.includes("compaction_end"));
  while (heard.length === 0) await new Promise((later) => setTimeout(later, 10));
  assert.equal(heard[0].entry.type, "compaction");
  while (failures.length === 0) await new Promise((later) => setTimeout(later, 10));
  assert.deepEqual(failures, ["the hook is lost"]);
  await unhook();
  await subscription.stop();
  await refused(client.hookResponse({ requestId: "nobody" }), "NOT_FOUND");

  // Moving.
  assert.equal((await client.branch({ entryId: first.entryId })).leafId, first.entryId);
  assert.equal((await client.resetLeaf()).leafId, null);
  assert.notEqual((await client.followLeaf()).leafId, null);
  const gone = await client.navigateTree({ entryId: second.entryId, summarize: true, label: "back" });
  assert.equal(gone.editorText, "constituents \u2028 of tides");
  await client.branchWithSummary({ entryId: null, summary: "started again" });
  await client.appendCompaction({ summary: "all", firstKeptEntryId: null, tokensBefore: 1 });
  await client.abort();

  // Other sessions.
  const original = state.sessionFile;
  const made = await client.createBranchedSession({ entryId: second.entryId });
  await client.switchSession({ sessionPath: original });
  assert.equal((await client.fork({ entryId: second.entryId })).cancelled, false);
  await client.clone();
  await client.newSession({ parentSession: original });
  await client.setSessionName({ name: "Two" });
  await client.renameSession({ sessionPath: original, name: "Renamed" });
  assert.equal((await client.getState({ sessionPath: original })).sessionName, "Renamed");
  assert.ok((await client.listSessions({ scope: "all" })).sessions.length >= 3);
  await client.archiveSession({ sessionPath: original });
  const archived = (await client.listSessions({ scope: "all", archived: true })).sessions;
  assert.deepEqual(archived.map((row) => [row.path, row.archived]), [[original, true]]);
  await client.archiveSession({ sessionPath: original, archived: false });
  assert.ok((await client.search({ query: "constituents", scope: "all" })).hits.length > 0);
  assert.ok((await client.scanSecrets({ scope: "all" })).sessions >= 3);
  const copy = join(home, "copy.jsonl");
  await client.exportRedacted({ sessionPath: original, outputPath: copy });
  assert.match(readFileSync(copy, "utf8"), /"redacted":\{/);
  assert.equal((await client.family({ sessionPath: original })).root, original);
  assert.ok((await client.deleteSession({ sessionPath: made.sessionPath })).trashed);
  assert.equal((await client.restoreSession({ sessionPath: made.sessionPath })).sessionPath, made.sessionPath);

  // Documents.
  const page = join(home, "page.html");
  assert.deepEqual(await client.exportHtml({ sessionPath: original, outputPath: page }), { path: page });
  assert.match(readFileSync(page, "utf8"), /^<!DOCTYPE html>/);

  // Settings.
  const model = { id: "n", name: "n", provider: "p" };
  assert.deepEqual(await client.setModel({ provider: "p", modelId: "n" }), model);
  assert.deepEqual(await client.getAvailableModels(), { models: [model] });
  assert.equal(await client.cycleModel(), null);
  assert.equal((await client.getAvailableThinkingLevels()).levels.length, 7);
  assert.equal(await client.cycleThinkingLevel(), null);
  await client.setThinkingLevel({ level: "low" });
  await client.setAutoCompaction({ enabled: false });
  await client.setSteeringMode({ mode: "all" });
  await client.setFollowUpMode({ mode: "all" });
  await client.setAutoRetry({ enabled: false });
  await client.abortRetry();
  await client.abortBash();
  await client.clearQueue();
  assert.deepEqual((await client.getCommands()).commands, []);
  for (const command of ["prompt", "steer", "bash"]) await refused(client.send(command), "NOT_SUPPORTED");

  assert.deepEqual(COMMANDS.filter((command) => !used.has(command)), []);
  assert.equal(await client.close(), 0);
  assert.equal(await client.ended, 0);
  await refused(client.getState(), "IO");

  // A server for several clients.
  await assert.rejects(SessileClient.start({ program, args: ["--listen", "x"] }), TypeError);
  await assert.rejects(SessileClient.serve({ program, args: ["--nonsense"], socket: join(home, "s"), cwd: home, env: { ...env, SESSILE_LOG: "off" } }));
  const server = await SessileClient.serve({ program, socket: join(home, "socket"), cwd: home, env });
  const [one, other] = await Promise.all([0, 1].map(() => SessileClient.start({ socket: server.socket })));
  const written = await one.appendMessage(user("for both"));
  assert.equal((await other.getEntries()).leafId, written.entryId);
  await server.stop();
  await Promise.all([one.ended, other.ended]);
  await refused(one.getState(), "IO");
  console.log("every command works");
} finally {
  rmSync(home, { recursive: true, force: true });
}

// pi-acp from npm, unmodified, as an editor uses it: with pi, and with Sessile in pi's place.

import assert from "node:assert/strict";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { AcpClient } from "./acp-client.mjs";
import { NODE, ORACLE, PACKAGES, PROGRAM, SESSION_ID, conversation, environment, newHome, sessionFile, writeWithPi, writeWithSessile } from "./homes.mjs";

const { version } = JSON.parse(readFileSync(join(PACKAGES, "pi-acp/package.json"), "utf8"));

/** Writes a script that starts the genuine pi. */
function piCommand(home) {
  const path = join(home.root, "pi");
  writeFileSync(path, `#!/bin/sh\nexec '${NODE}' '${join(ORACLE, "pi/dist/bundle/cli.js")}' --offline "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Does what an editor does, and returns everything that the editor learns. */
async function used(context, home, command) {
  const client = new AcpClient(NODE, [join(PACKAGES, "pi-acp/dist/index.js")], { cwd: home.project, env: { ...environment(home), PI_ACP_PI_COMMAND: command } });
  context.after(() => client.stop());
  const learned = {};
  const { agentCapabilities } = await client.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  learned.capabilities = agentCapabilities;

  // session/new
  const begun = await client.request("session/new", { cwd: home.project, mcpServers: [] });
  assert.match(begun.sessionId, /^[0-9a-f-]{36}$/);
  learned.begun = { models: begun.models, modes: begun.modes, options: begun.configOptions };
  learned.commands = (await client.updatesOf(begun.sessionId, "available_commands_update"))[0].availableCommands.map((known) => known.name);

  // session/list
  const listed = await client.request("session/list", { cwd: home.project });
  learned.listed = listed.sessions.map(({ sessionId, cwd, title }) => ({ sessionId, cwd, title }));

  // session/load, with replay
  client.updates.length = 0;
  const loaded = await client.request("session/load", { sessionId: SESSION_ID, cwd: home.project, mcpServers: [] });
  learned.loaded = { models: loaded.models, modes: loaded.modes, options: loaded.configOptions };
  await client.updatesOf(SESSION_ID, "available_commands_update");
  const conversational = ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];
  learned.replay = client.updates.map(({ update }) => update).filter((update) => conversational.includes(update.sessionUpdate));

  // Commands of pi-acp: rename, statistics.
  const typed = async (text) => {
    client.updates.length = 0;
    const { stopReason } = await client.request("session/prompt", { sessionId: SESSION_ID, prompt: [{ type: "text", text }] });
    assert.equal(stopReason, "end_turn", text);
    return client.updates.map(({ update }) => update.content?.text ?? update.title).filter(Boolean);
  };
  learned.renamed = await typed("/name Late tides");
  learned.stats = await typed("/session");
  const relisted = await client.request("session/list", { cwd: home.project });
  learned.titles = relisted.sessions.map(({ title }) => title);
  client.stop();
  // Two homes differ only in their places and in the names of their files.
  const file = sessionFile(home);
  return JSON.parse(JSON.stringify(learned).replaceAll(file, "FILE").replaceAll(home.root, "HOME"));
}

test(`pi-acp ${version} works with Sessile as with pi: new, list, load with replay, rename, statistics`, async (context) => {
  const messages = conversation(Date.now());
  const [withPi, withSessile] = [newHome(context), newHome(context)];
  await Promise.all([writeWithPi(withPi, messages), writeWithSessile(withSessile, messages)]);
  const [pis, ours] = await Promise.all([used(context, withPi, piCommand(withPi)), used(context, withSessile, PROGRAM)]);
  assert.deepEqual(ours.listed.map(({ sessionId, title }) => [sessionId, title]), [[SESSION_ID, "Tides"]]);
  const kinds = ours.replay.map((update) => update.sessionUpdate);
  for (const kind of ["user_message_chunk", "agent_message_chunk", "tool_call"]) assert.ok(kinds.includes(kind), `${kind} in ${kinds}`);
  assert.deepEqual(ours.titles, ["Late tides"]);
  assert.match(ours.stats.join("\n"), /Messages: 6/);
  for (const name of Object.keys(pis)) assert.deepEqual(ours[name], pis[name], name);
  const last = readFileSync(sessionFile(withSessile), "utf8").trim().split("\n").map((line) => JSON.parse(line)).at(-1);
  assert.deepEqual([last.type, last.name], ["session_info", "Late tides"]);
  context.diagnostic(`pi-acp ${version}: ${Object.keys(pis).length} answers are equal to those with pi; ${ours.replay.length} updates replayed`);
});

// The TypeScript clients of the Model Context Protocol, in both eras. They check each answer against its schema.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { CALLS, LISTS, PACKAGES, SLOW, TOOLS, expected, newHome, server } from "./store.mjs";

const load = (path) => import(pathToFileURL(join(PACKAGES, "@modelcontextprotocol", path)).href);
const { Client } = await load("client/dist/index.mjs");
const { StdioClientTransport } = await load("client/dist/stdio.mjs");
const { Client: OldClient } = await load("sdk/dist/esm/client/index.js");
const { StdioClientTransport: OldTransport } = await load("sdk/dist/esm/client/stdio.js");

const ME = { name: "tests", version: "1" };
const CLIENTS = [
  { name: "client 2.4, legacy", version: "2025-11-25", make: () => [new Client(ME), StdioClientTransport] },
  { name: "client 2.4, auto", version: "2026-07-28", make: () => [new Client(ME, { versionNegotiation: { mode: "auto" } }), StdioClientTransport] },
  { name: "client 2.4, pinned", version: "2026-07-28", make: () => [new Client(ME, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), StdioClientTransport] },
  { name: "SDK 1.32", version: "2025-11-25", make: () => [new OldClient(ME), OldTransport] },
];

/** All rows of a list, page by page. */
async function pages(client, name, args, rows) {
  const all = [];
  for (let cursor; ; ) {
    const { structuredContent: page } = await client.callTool({ name, arguments: cursor ? { ...args, cursor } : args });
    assert.equal(page.truncated, page.nextCursor !== undefined);
    all.push(...page[rows]);
    if (!page.nextCursor) return { all, total: page.total };
    cursor = page.nextCursor;
  }
}

for (const { name, version, make } of CLIENTS) {
  test(`TypeScript ${name}`, async (context) => {
    const home = newHome(context);
    const lists = expected(home);
    const started = server(home, name);
    const [client, Transport] = make();
    const transport = new Transport({ ...started, stderr: "pipe" });
    const errors = [];
    client.onerror = (error) => errors.push(error);
    await client.connect(transport);
    assert.equal(client.getServerVersion()?.name, "sessile");
    assert.match(client.getInstructions(), /^Sessile gives you/);
    if (client.getNegotiatedProtocolVersion) assert.equal(client.getNegotiatedProtocolVersion(), version);

    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), TOOLS);
    assert.ok(tools.every((tool) => tool.annotations.readOnlyHint && tool.outputSchema));
    for (const [tool, args, rows] of CALLS) {
      const result = await client.callTool({ name: tool, arguments: args });
      assert.ok(!result.isError, `${tool}: ${JSON.stringify(result)}`);
      assert.ok(result.structuredContent[rows].length > 0, tool);
      assert.match(result.content[0].text, /data, never instructions/);
    }
    await assert.rejects(client.callTool({ name: "delete_session", arguments: {} }), (error) => error.code === -32602 && /unknown tool/.test(error.message));
    for (const args of [{}, { query: "x", scope: "everything" }, { query: "x", unknown: 1 }, { query: "x", limit: "many" }]) {
      const refused = await client.callTool({ name: "search_history", arguments: args });
      assert.ok(refused.isError && refused.content[0].text.length < 400, JSON.stringify(args));
    }
    for (const [index, [tool, args, rows, key]] of LISTS.entries()) {
      const { all, total } = await pages(client, tool, args, rows);
      assert.deepEqual(all.map((row) => row[key]), lists[index], tool);
      assert.equal(total, all.length);
    }

    const uris = [];
    for (let cursor; ; ) {
      const page = await client.listResources(cursor ? { cursor } : {});
      uris.push(...page.resources.map((resource) => resource.uri));
      if (!(cursor = page.nextCursor)) break;
    }
    assert.deepEqual(uris, ["sessile://recent", ...lists[1].map((id) => `sessile://session/${id}`)]);
    const { contents } = await client.readResource({ uri: uris.at(-1) });
    assert.match(contents[0].text, /<history session=/);
    await assert.rejects(client.readResource({ uri: "sessile://session/nothing" }), (error) => [-32602, -32002].includes(error.code));
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 3);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((prompt) => prompt.name), ["recall", "standup", "handoff", "why"]);
    const { messages } = await client.getPrompt({ name: "why", arguments: { file: "tide.rs" } });
    assert.match(messages[0].content.text, /find_file_history/);
    const { completion } = await client.complete({ ref: { type: "ref/prompt", name: "handoff" }, argument: { name: "session", value: "0190a" } });
    assert.deepEqual(completion.values, lists[1].filter((id) => id.startsWith("0190a")));

    const abort = new AbortController();
    const slow = client.callTool({ name: "search_history", arguments: SLOW }, ...(Transport === OldTransport ? [undefined] : []), { signal: abort.signal });
    abort.abort(new Error("enough"));
    await assert.rejects(slow, /enough/);
    const after = await client.callTool({ name: "list_sessions", arguments: { limit: 1 } });
    assert.equal(after.structuredContent.total, 24);
    await client.close();
    assert.equal(await started.code(), 0, "the server ends with its input");
    // The answer may cross the cancellation; the client then reports it.
    const crossed = errors.filter((error) => /unknown message ID/.test(error.message));
    assert.ok(crossed.length <= 1, `${crossed}`);
    assert.deepEqual(errors.filter((error) => !crossed.includes(error)), []);
  });
}

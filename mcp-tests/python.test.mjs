// The Python clients of the Model Context Protocol, in both eras.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

import { CALLS, LISTS, SLOW, TOOLS, environment, expected, newHome, server } from "./store.mjs";

const CLIENTS = [
  ["SDK 2.3, legacy", process.env.SESSILE_MCP_PYTHON_2, "legacy"],
  ["SDK 2.3, auto", process.env.SESSILE_MCP_PYTHON_2, "auto"],
  ["SDK 2.3, 2026-07-28", process.env.SESSILE_MCP_PYTHON_2, "2026-07-28"],
  ["SDK 1.30", process.env.SESSILE_MCP_PYTHON_1, "session"],
];

for (const [name, python, mode] of CLIENTS) {
  test(`Python ${name}`, async (context) => {
    const home = newHome(context);
    const { code, ...started } = server(home, name);
    const plan = { mode, server: started, tools: TOOLS, calls: CALLS, lists: LISTS, slow: SLOW, expected: expected(home) };
    const child = spawn(python, [join(import.meta.dirname, "client.py")], { cwd: home.project, env: { ...environment(home), PYTHONDONTWRITEBYTECODE: "1" }, timeout: 60_000 });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.stdin.end(JSON.stringify(plan));
    const status = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(status, 0, output);
    assert.match(output, /^done$/m, output);
    assert.equal(await code(), 0, "the server ends with its input");
  });
}

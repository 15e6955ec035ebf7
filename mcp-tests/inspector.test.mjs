// The command line of the MCP Inspector, in both eras.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";

import { CALLS, PACKAGES, PROGRAM, TOOLS, environment, newHome } from "./store.mjs";

const INSPECTOR = join(PACKAGES, "@modelcontextprotocol/inspector/clients/launcher/build/index.js");

/** Runs the Inspector on a server. */
function inspect(home, era, args) {
  const words = [INSPECTOR, "--cli", "--protocol-era", era, "--format", "json", "--cwd", home.project, ...args, "--", PROGRAM, "mcp"];
  const child = spawn(process.execPath, words, { cwd: home.project, env: environment(home), stdio: ["ignore", "pipe", "pipe"], timeout: 60_000 });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, output, errors })));
}

for (const era of ["legacy", "modern"]) {
  test(`the Inspector, ${era}`, async (context) => {
    const home = newHome(context);
    const listed = await inspect(home, era, ["--method", "tools/list", "--strict"]);
    assert.equal(listed.code, 0, listed.errors);
    const { result } = JSON.parse(listed.output);
    assert.deepEqual(result.tools.map((tool) => tool.name), TOOLS);
    const call = (tool, args) => inspect(home, era, ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args)]);
    for (const [tool, args, rows] of CALLS) {
      const called = await call(tool, args);
      assert.equal(called.code, 0, `${tool}: ${called.errors}${called.output}`);
      assert.ok(JSON.parse(called.output).result.structuredContent[rows].length > 0, called.output);
    }
    for (const [method, part] of [["resources/list", "sessile://recent"], ["prompts/list", "handoff"]]) {
      const listed = await inspect(home, era, ["--method", method]);
      assert.ok(listed.code === 0 && listed.output.includes(part), `${method}: ${listed.errors}${listed.output}`);
    }
    const unknown = await call("delete_session", {});
    assert.notEqual(unknown.code, 0, unknown.output);
    const refused = await call("search_history", { query: "x", scope: "everything" });
    assert.match(refused.output + refused.errors, /scope must be one of/);
  });
}

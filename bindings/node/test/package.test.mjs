// The package as npm installs it: packed, installed into an empty project, and used from there.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, test } from "node:test";

import { configure, startModel } from "./support/model.mjs";
import { run } from "./support/processes.mjs";
import { environment, scratch } from "./support/scratch.mjs";
import { checksItself, piFile } from "./support/subjects.mjs";

const USE = `
const message = (content) => ({ role: "user", content, timestamp: 1 });
const manager = SessionManager.create(process.cwd(), "sessions");
const id = manager.appendMessage(message("hello"));
manager.appendMessage({ role: "assistant", content: [{ type: "text", text: "hi" }], provider: "p", model: "m", timestamp: 2 });
const opened = SessionManager.open(manager.getSessionFile());
SessionManager.list(process.cwd(), "sessions").then((rows) => {
  console.log(JSON.stringify([opened.getEntryCount(), opened.getEntry(id).message.content, rows.map((row) => row.firstMessage), CURRENT_SESSION_VERSION]));
});
`;

describe("the packed package", { skip: checksItself }, () => {
  const root = join(import.meta.dirname, "..");
  const home = scratch("package");
  const project = join(home, "project");
  const env = { ...process.env, ...environment(home), npm_config_cache: join(home, "npm"), npm_config_update_notifier: "false" };
  const installed = join(project, "node_modules", "sessile");
  const node = (args, options = {}) => run(process.execPath, args, { cwd: project, env, ...options });

  before(async () => {
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"name":"empty","version":"1.0.0","private":true}\n');
    const packed = await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", home], { cwd: root, env });
    assert.equal(packed.code, 0, packed.stderr);
    const archive = join(home, packed.stdout.trim().split("\n").at(-1));
    const install = await run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", archive], { cwd: project, env });
    assert.equal(install.code, 0, install.stderr);
  });

  test("holds what it needs, and no tests", () => {
    const { name, exports, bin } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    assert.equal(name, "sessile");
    assert.ok(exports["."] && exports["./pi"], JSON.stringify(exports));
    assert.ok(bin["pi-sessile"], JSON.stringify(bin));
    const names = readdirSync(installed);
    assert.ok(names.includes("index.d.ts"), names.join(" "));
    assert.ok(!names.includes("test") && !names.includes("src") && !names.includes("Cargo.toml"), names.join(" "));
    assert.ok(existsSync(join(project, "node_modules/.bin/pi-sessile")));
  });

  for (const [kind, file, load] of [
    ["an ES module", "use.mjs", 'import { SessionManager, CURRENT_SESSION_VERSION } from "sessile";'],
    ["a CommonJS module", "use.cjs", 'const { SessionManager, CURRENT_SESSION_VERSION } = require("sessile");'],
  ]) {
    test(`works in ${kind}`, async () => {
      const dir = join(project, file.replace(".", "-"));
      mkdirSync(dir);
      writeFileSync(join(project, file), load + USE);
      const { code, stdout, stderr } = await node([join(project, file)], { cwd: dir });
      assert.equal(code, 0, stderr);
      assert.deepStrictEqual(JSON.parse(stdout), [2, "hello", ["hello"], 3]);
    });
  }

  test("is one class in both kinds of module", async () => {
    writeFileSync(join(project, "one.mjs"), 'import { createRequire } from "node:module"; import { SessionManager } from "sessile"; console.log(createRequire(import.meta.url)("sessile").SessionManager === SessionManager);');
    const { stdout, stderr } = await node(["one.mjs"]);
    assert.equal(stdout, "true\n", stderr);
  });

  test("works in a worker thread", async () => {
    writeFileSync(join(project, "worker.mjs"), `
import { Worker, isMainThread, parentPort } from "node:worker_threads";
import { SessionManager } from "sessile";
if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url));
  worker.on("message", (count) => console.log(count, SessionManager.inMemory().getEntryCount()));
} else {
  const manager = SessionManager.create(process.cwd(), "in-worker");
  manager.appendMessage({ role: "user", content: "x", timestamp: 1 });
  parentPort.postMessage(SessionManager.open(manager.getSessionFile()).getEntryCount());
}
`);
    const { stdout, stderr } = await node(["worker.mjs"]);
    assert.equal(stdout, "1 0\n", stderr);
  });

  test("starts pi by its program, and by `import \"sessile/pi\"`", async () => {
    const model = await startModel();
    configure(env.PI_CODING_AGENT_DIR, model);
    const options = { cwd: project, env: { ...env, SESSILE_PI: piFile(""), PATH: `${dirname(process.execPath)}:${env.PATH}` } };
    const { code, stdout, stderr } = await run(join(project, "node_modules/.bin/pi-sessile"), ["-p", "hello"], options);
    const preloaded = await run(process.execPath, ["--import", "sessile/pi", piFile("dist/bundle/cli.js"), "-p", "hello"], options);
    model.close();
    assert.equal(code, 0, stderr);
    assert.equal(stdout, "answer 1\n");
    assert.equal(preloaded.code, 0, preloaded.stderr);
    assert.equal(preloaded.stdout, "answer 2\n");
  });
});

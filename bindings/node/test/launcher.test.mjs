// The user's own pi on Sessile: started by `pi-sessile`, by `sessile pi`, and by NODE_OPTIONS. Each mode must do what
// the genuine pi does: same output, same session file.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { configure, silence, startModel, text, tools } from "./support/model.mjs";
import { assertSameLines, normaliser } from "./support/normalise.mjs";
import { run, start, until } from "./support/processes.mjs";
import { environment, scratch } from "./support/scratch.mjs";
import { checksItself, oracleDir, ownFile, piFile } from "./support/subjects.mjs";
import { inTerminal } from "./support/terminal.mjs";

const node = process.execPath;
const cli = piFile("dist/bundle/cli.js");
const launcher = checksItself ? cli : ownFile("bin/pi-sessile.mjs");
const program = process.env.SESSILE_PROGRAM;

/** The ways to start pi: its own, and those on Sessile. Each returns a program, its arguments and variables. */
const WAYS = {
  pi: () => [node, [cli], {}],
  "pi-sessile": () => [node, [launcher], { SESSILE_PI: piFile("") }],
  NODE_OPTIONS: () => [node, [cli], checksItself ? {} : { NODE_OPTIONS: `--import ${pathToFileURL(ownFile("pi.mjs")).href}` }],
  "sessile pi": () => (checksItself ? [node, [cli], {}] : [program, ["pi"], { SESSILE_NODE_PACKAGE: ownFile(""), SESSILE_PI: piFile("") }]),
};

const model = await startModel();
after(() => model.close());

/** A home with a project, whose pi talks to the model of this process. */
function makeHome(name) {
  const home = scratch(name);
  const env = { ...environment(home), PATH: `${dirname(node)}:/usr/bin:/bin` };
  const project = join(home, "project");
  mkdirSync(project);
  configure(env.PI_CODING_AGENT_DIR, model);
  return { home, env, project, sessions: join(home, "sessions") };
}

/** Returns the session files in the order of their names. */
const filesIn = (dir) => (existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".jsonl")).sort() : []);

/** Runs pi in one of the ways, and returns its output and its session files with names for ids and times. */
async function runPi(way, args, { input, replies = [], home = makeHome("launcher") } = {}) {
  const [file, before, env] = WAYS[way]();
  model.count = 0;
  model.replies = [...replies];
  const options = { cwd: home.project, env: { ...home.env, ...env }, input };
  const result = await run(file, [...before, "--session-dir", home.sessions, ...args], options);
  return { ...result, ...seen(home, result), home };
}

function seen(home, { stdout, stderr }) {
  const normal = normaliser({ [home.home]: "<home>" });
  const written = filesIn(home.sessions).map((name) => readFileSync(join(home.sessions, name), "utf8").split("\n").map(normal));
  return { out: normal(stdout), err: normal(stderr), written };
}

/** Whether Sessile wrote the files: pi's own are readable by all. */
const areOurs = ({ home }) => filesIn(home.sessions).every((name) => (statSync(join(home.sessions, name)).mode & 0o777) === 0o600);

function assertSame(own, pi) {
  assert.equal(own.code, pi.code, own.stderr);
  assertSameLines(own.written.flat(), pi.written.flat(), "session files");
  assertSameLines(own.out.split("\n"), pi.out.split("\n"), "standard output");
  assert.equal(own.err, pi.err);
  assert.ok(filesIn(own.home.sessions).length > 0);
  if (!checksItself) assert.ok(areOurs(own) && !areOurs(pi), "Sessile wrote it");
}

const ways = Object.keys(WAYS).filter((way) => way !== "pi");

describe("pi on Sessile", () => {
  for (const way of ways) {
    test(`answers one prompt by ${way}`, async () => {
      const replies = () => [tools(["bash", { command: "echo 1" }]), text("it is done")];
      const own = await runPi(way, ["-p", "do it"], { replies: replies() });
      const pi = await runPi("pi", ["-p", "do it"], { replies: replies() });
      assertSame(own, pi);
      assert.equal(own.stdout, "it is done\n");
    });
  }

  test("continues a session that pi began, and pi continues ours", async () => {
    const results = [];
    for (const [first, second] of [["pi", "pi-sessile"], ["pi-sessile", "pi"], ["pi", "pi"]]) {
      const { home } = await runPi(first, ["-p", "one"]);
      results.push((await runPi(second, ["-p", "-c", "two"], { home })).written);
    }
    assert.equal(results[0].length, 1);
    assert.deepStrictEqual(results[0], results[2]);
    assert.deepStrictEqual(results[1], results[2]);
  });

  test("prints events in JSON mode", async () => {
    const replies = () => [tools(["bash", { command: "echo 1" }]), text("it is done")];
    const [own, pi] = [await runPi("pi-sessile", ["--mode", "json", "do it"], { replies: replies() }), await runPi("pi", ["--mode", "json", "do it"], { replies: replies() })];
    assertSame(own, pi);
    assert.ok(own.out.split("\n").length > 10);
  });

  test("speaks RPC", async () => {
    const [own, pi] = [await speak("pi-sessile"), await speak("pi")];
    assertSameLines(own.answers.flat(), pi.answers.flat(), "answers");
    assertSameLines(own.written.flat(), pi.written.flat(), "session files");
    assert.equal(own.written.length, 3);
    assert.equal(own.code, pi.code);
    if (!checksItself) assert.ok(areOurs(own) && !areOurs(pi));
  });

  test("speaks RPC by sessile pi", async () => {
    const [own, pi] = [await speak("sessile pi"), await speak("pi")];
    assertSameLines(own.answers.flat(), pi.answers.flat(), "answers");
    assertSameLines(own.written.flat(), pi.written.flat(), "session files");
  });

  test("is the same on the screen", async () => {
    const [own, pi] = [await screen("pi-sessile"), await screen("pi")];
    assert.equal(own.code, 0);
    assert.equal(pi.code, 0);
    assertSameLines(own.written.flat(), pi.written.flat(), "session files");
    assert.equal(own.written.length, 2);
    if (!checksItself) assert.ok(areOurs(own) && !areOurs(pi));
  });

  test("passes signals and exit codes on", async () => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
      const ends = [];
      for (const way of ["pi-sessile", "sessile pi", "pi"]) ends.push(await interrupted(way, signal));
      assert.deepStrictEqual(ends[0], ends[2], signal);
      assert.deepStrictEqual(ends[1], ends[2], signal);
    }
    const bad = ["--session", "no-such-session", "-p", "x"];
    const [own, pi] = [await runPi("pi-sessile", bad), await runPi("pi", bad)];
    assert.notEqual(pi.code, 0);
    assert.deepStrictEqual([own.code, own.err, own.out], [pi.code, pi.err, pi.out]);
  });
});

/** Talks to pi in RPC mode. */
async function speak(way) {
  const home = makeHome("rpc");
  const [file, before, env] = WAYS[way]();
  model.count = 0;
  model.replies = [];
  const child = start(file, [...before, "--mode", "rpc", "--session-dir", home.sessions], { cwd: home.project, env: { ...home.env, ...env } });
  const records = () => child.output.stdout.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  const answers = [];
  let id = 0;
  const ask = async (request) => {
    id += 1;
    const own = `r${id}`;
    child.stdin.write(`${JSON.stringify({ id: own, ...request })}\n`);
    await until(child, () => records().some((record) => record.id === own), `an answer to ${request.type}`);
    const answer = records().find((record) => record.id === own);
    answers.push(answer);
    return answer;
  };
  const prompt = async (message) => {
    const settled = () => records().filter(({ type }) => type === "agent_settled").length;
    const before = settled();
    await ask({ type: "prompt", message });
    await until(child, () => settled() > before, "the end of a turn");
  };
  await prompt("first");
  await prompt("second");
  await ask({ type: "set_session_name", name: "named over RPC" });
  for (const type of ["get_state", "get_messages", "get_entries", "get_tree", "get_session_stats", "get_last_assistant_text"]) await ask({ type });
  const { data } = await ask({ type: "get_fork_messages" });
  await ask({ type: "fork", entryId: data.messages[1].entryId });
  await prompt("in the fork");
  await ask({ type: "new_session" });
  await prompt("in a new session");
  const [first] = filesIn(home.sessions);
  await ask({ type: "switch_session", sessionPath: join(home.sessions, first) });
  await ask({ type: "get_entries" });
  child.stdin.end();
  const result = await child.ended;
  const normal = normaliser({ [home.home]: "<home>" });
  return { ...result, ...seen(home, result), home, answers: answers.map((answer) => normal(JSON.stringify(answer, null, 1)).split("\n")) };
}

/** Uses pi's screen: prompts, names, looks at the tree and the list, starts another session, and leaves. */
async function screen(way) {
  const home = makeHome("screen");
  const [file, before, env] = WAYS[way]();
  model.count = 0;
  model.replies = [];
  const terminal = inTerminal(file, [...before, "--session-dir", home.sessions], { cwd: home.project, env: { ...home.env, ...env } });
  await terminal.isTitled();
  const steps = [
    ["hello there\r", "answer 1"],
    ["/name the screen\r", "the screen"],
    ["/session\r", "the screen"],
    ["/tree\r", "hello there"],
    ["\u001b", "Cache Warming", "answer 1"],
    ["again\r", "answer 2"],
    ["/new\r", "New session", "new session"],
    ["in the second\r", "answer 3"],
    ["/resume\r", "the screen"],
    ["\u001b[B", "the screen"],
    ["\r", "answer 2"],
    ["once more\r", "answer 4"],
    ["/quit\r"],
  ];
  for (const [keys, ...words] of steps) {
    terminal.types(keys);
    if (words.length > 0) await terminal.sees(...words);
  }
  const result = await terminal.child.ended;
  return { ...result, ...seen(home, result), home };
}

/** Sends a signal to pi while the model is silent, and returns how pi ended. */
async function interrupted(way, signal) {
  const home = makeHome("signal");
  const [file, before, env] = WAYS[way]();
  let heard;
  const asked = new Promise((started) => {
    heard = started;
  });
  model.replies = [silence(heard)];
  const child = start(file, [...before, "--session-dir", home.sessions, "-p", "wait"], { cwd: home.project, env: { ...home.env, ...env } });
  child.stdin.end();
  await asked;
  child.kill(signal);
  const { code, signal: by } = await child.ended;
  return { code, by };
}

describe("what is missing is said", { skip: checksItself }, () => {
  const failing = async (file, args, env) => {
    const home = makeHome("missing");
    const { code, stdout, stderr } = await run(file, args, { cwd: home.project, env: { ...home.env, PATH: join(home.home, "bin"), ...env } });
    return { code, stdout, stderr };
  };

  test("pi-sessile without pi", async () => {
    const { code, stderr } = await failing(node, [launcher, "-p", "x"], {});
    assert.equal(code, 3);
    assert.match(stderr, /^pi-sessile: pi was not found\nhint: install it.*npm install -g @earendil-works\/pi-coding-agent\n$/);
  });

  test("pi-sessile with a wrong SESSILE_PI", async () => {
    const { code, stderr } = await failing(node, [launcher], { SESSILE_PI: "/nowhere" });
    assert.equal(code, 3);
    assert.match(stderr, /SESSILE_PI is \/nowhere, which is not part of @earendil-works\/pi-coding-agent/);
  });

  test("pi-sessile with a pi that Node does not run", async () => {
    const bin = scratch("bin");
    symlinkSync("/bin/true", join(bin, "pi"));
    const { code, stderr } = await failing(node, [launcher], { PATH: bin });
    assert.equal(code, 3);
    assert.match(stderr, /is not a pi that Node runs/);
  });

  test("pi-sessile finds pi on PATH", async () => {
    const bin = scratch("bin");
    symlinkSync(cli, join(bin, "pi"));
    const { code, stdout, stderr } = await failing(node, [launcher, "--version"], { PATH: bin });
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim() || stderr.trim(), JSON.parse(readFileSync(join(oracleDir(), "pi/package.json"), "utf8")).version);
  });

  test("sessile pi without Node, and without the package", async () => {
    const without = await failing(program, ["pi", "-p", "x"], { SESSILE_NODE_PACKAGE: ownFile("") });
    assert.equal(without.code, 3);
    assert.match(without.stderr, /Node/);
    const wrong = await failing(program, ["pi"], { SESSILE_NODE_PACKAGE: "/nowhere", PATH: dirname(node) });
    assert.equal(wrong.code, 3);
    assert.match(wrong.stderr, /SESSILE_NODE_PACKAGE/);
  });
});

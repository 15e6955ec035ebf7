// Runs a table of cases on both subjects in this process. A case is a function that uses one subject and returns what
// it observed; both observations must be the same, except for the members in the table of differences.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, test } from "node:test";

import { normaliser, normaliseValue } from "./normalise.mjs";
import { enterScratch } from "./scratch.mjs";
import { bothSubjects, checksItself } from "./subjects.mjs";

/** A member of all messages. With a long one, this package reads messages of a file only when they are used. */
let bulk = {};

/** Returns a user message. */
export const user = (text, more = {}) => ({ role: "user", content: text, timestamp: 1_700_000_000_000, ...bulk, ...more });

/** Returns an answer of a model. */
export const assistant = (text, more = {}) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "openai-completions",
  provider: "mock",
  model: "mock-1",
  usage: usage(10),
  stopReason: "stop",
  timestamp: 1_700_000_000_001,
  ...bulk,
  ...more,
});

/** Returns token counts. */
export const usage = (input) => ({
  input,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: input + 1,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});

/** Calls a function that must fail, and describes the error. */
export function caught(call) {
  try {
    return { returned: typeof call() };
  } catch (error) {
    return describeError(error);
  }
}

/** As `caught`, for a promise. */
export async function rejected(promise) {
  try {
    return { returned: typeof (await promise) };
  } catch (error) {
    return describeError(error);
  }
}

/** Codes of the system; our own are compared by a case of their own. */
const systemCode = (code) => (/^E[A-Z]+$/.test(code) ? code : undefined);

function describeError(error) {
  return {
    isError: error instanceof Error,
    kind: error?.constructor?.name,
    name: error?.name,
    message: String(error?.message),
    code: systemCode(error?.code),
    syscall: error?.syscall,
  };
}

/** Runs a function while the clock shows a fixed time. */
export function atTime(time, call) {
  const RealDate = globalThis.Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length === 0 ? [time] : args));
    }
    static now() {
      return time;
    }
  };
  try {
    return call();
  } finally {
    globalThis.Date = RealDate;
  }
}

/** Reads the lines of a session file as values. */
export const lines = (file) => texts(file).map((line) => JSON.parse(line));

/** Reads the lines of a session file as text. */
export const texts = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);

/** What a case gets: a subject, and a folder of its own. */
function context(subject, home, index) {
  const root = join(home, `${index}-${subject.name}`);
  const cwd = join(root, "project");
  const dir = join(root, "sessions");
  mkdirSync(cwd, { recursive: true });
  mkdirSync(join(root, "agent"), { recursive: true });
  return {
    ...subject,
    root,
    cwd,
    dir,
    agentDir: join(root, "agent"),
    create: (options) => subject.SessionManager.create(cwd, dir, options),
    memory: (...rest) => subject.SessionManager.inMemory(cwd, ...rest),
    open: (file, ...rest) => subject.SessionManager.open(file, ...rest),
    atTime,
    /** Writes a file of lines, which are texts or values. */
    write(path, content) {
      mkdirSync(dirname(path), { recursive: true });
      const line = (value) => (typeof value === "string" ? value : JSON.stringify(value));
      writeFileSync(path, content.map((value) => `${line(value)}\n`).join(""));
      return path;
    },
  };
}

/** Runs one case on one subject, and returns the normalised observation. */
async function observe(subject, home, index, run) {
  const given = context(subject, home, index);
  const cwd = process.cwd();
  process.env.PI_CODING_AGENT_DIR = given.agentDir;
  try {
    const seen = await run(given);
    return normaliseValue(seen, normaliser({ [given.root]: "<root>" }));
  } finally {
    process.chdir(cwd);
    process.env.PI_CODING_AGENT_DIR = join(home, "agent");
  }
}

/** Takes the documented differences out of both observations, after checking that both sides are as documented. */
function withoutDifferences(name, differences, pi, own) {
  for (const difference of differences.filter((it) => it.case === name)) {
    const { member } = difference;
    assert.ok(member in pi && member in own, `no member "${member}" in the case "${name}"`);
    assert.deepStrictEqual(pi[member], difference.pi, `pi's ${member}`);
    assert.deepStrictEqual(own[member], difference.sessile, `our ${member}: ${difference.why}`);
    delete pi[member];
    delete own[member];
  }
}

/**
 * The variants in which all cases run: with short messages, with long ones, and with long ones that this package may
 * drop as soon as no program holds them.
 */
const VARIANTS = {
  "short messages": { bulk: {} },
  "long messages": { bulk: { bulk: "long ".repeat(200) } },
  "long messages without a cache": { bulk: { bulk: "long ".repeat(200) }, cacheBytes: 1 },
};

/** Defines one test for each case and variant. `differences` is the table of documented differences. */
export async function runTable(title, cases, differences = []) {
  const home = enterScratch("table");
  const [genuine, ours] = await bothSubjects();
  for (const [variant, { bulk: member, cacheBytes }] of Object.entries(VARIANTS)) {
    const folder = join(home, variant.replaceAll(" ", "-"));
    describe(`${title}: ${variant}`, () => {
      before(() => {
        bulk = member;
        if (!checksItself && cacheBytes) ours.api.configure({ cacheBytes });
      });
      for (const [index, { name, run, expect }] of cases.entries()) {
        test(name, async () => {
          const pi = await observe(genuine, folder, index, run);
          const own = await observe(checksItself ? { ...ours, name: "again" } : ours, folder, index, run);
          if (expect !== undefined) assert.deepStrictEqual(pi, expect, "pi does not behave as this case says");
          if (!checksItself) withoutDifferences(name, differences, pi, own);
          assert.deepStrictEqual(own, pi);
        });
      }
    });
  }
  test(`${title}: every documented difference belongs to a case, and is documented`, () => {
    const names = cases.map(({ name }) => name);
    const page = readFileSync(join(import.meta.dirname, "../../../../docs/compatibility.md"), "utf8");
    for (const { case: name, row, why } of differences) {
      assert.ok(names.includes(name), `no case "${name}"`);
      assert.ok(why, `"${name}" has no reason`);
      assert.ok(page.includes(`| ${row} |`), `docs/compatibility.md has no row "${row}"`);
    }
  });
}

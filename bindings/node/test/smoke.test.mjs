// The package by itself, without pi: what managers return, how they write, and what they have beyond pi.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import * as sessile from "../index.mjs";
import { install } from "../pi.mjs";

const { SessionManager } = sessile;

const scratch = mkdtempSync(join(tmpdir(), "sessile-node-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
process.env.SESSILE_CACHE_DIR = join(scratch, "cache");
process.env.SESSILE_STATE_DIR = join(scratch, "state");
process.env.PI_CODING_AGENT_DIR = join(scratch, "agent");

let nFolders = 0;
const folder = () => {
  const path = join(scratch, `folder-${nFolders++}`);
  mkdirSync(path, { mode: 0o700 });
  return path;
};

const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
const assistant = (text) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "acme",
  model: "acme-1",
  usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost: { total: 0.5 } },
  timestamp: 2,
});
const long = (text) => text.padEnd(2000, ".");
const linesOf = (file) => readFileSync(file, "utf8").trimEnd().split("\n");

/** A session of a question and an answer that is written and closed. */
function written(dir = folder(), texts = ["one", "two"]) {
  const manager = SessionManager.create("/proj", dir);
  texts.forEach((text, index) => manager.appendMessage(index % 2 === 0 ? user(text) : assistant(text)));
  manager.close();
  return manager.getSessionFile();
}

test("what is appended is written as pi writes it, and is the caller's object", () => {
  const manager = SessionManager.create("/proj", folder());
  const question = user("hello");
  const first = manager.appendMessage(question);
  const answer = assistant(long("hi"));
  const second = manager.appendMessage(answer);
  assert.match(first, /^[0-9a-f]{8}$/);
  assert.equal(manager.getLeafId(), second);
  assert.equal(manager.getEntryCount(), 2);
  assert.equal(manager.getEntry(first).message, question);
  assert.equal(manager.getEntry(second).message, answer);
  assert.deepEqual(Object.keys(manager.getEntry(second)), ["type", "id", "parentId", "timestamp", "message"]);
  const [header, one, two] = linesOf(manager.getSessionFile());
  assert.equal(header, JSON.stringify(manager.getHeader()));
  assert.equal(one, JSON.stringify(manager.getEntry(first)));
  assert.equal(two, JSON.stringify(manager.getEntry(second)));
  assert.deepEqual(Object.keys(manager.getHeader()), ["type", "version", "id", "timestamp", "cwd", "parentSession"]);
  manager.close();
});

test("every type of entry has pi's keys, with undefined members", () => {
  for (const manager of [SessionManager.create("/proj", folder()), SessionManager.inMemory("/proj")]) {
    const first = manager.appendMessage(user("hello"));
    manager.appendThinkingLevelChange("high");
    manager.appendModelChange("acme", "acme-2");
    const usage = manager.appendUsage("warm", "acme", "acme-1", { input: 1 });
    manager.appendCustomEntry("state", undefined);
    manager.appendCustomMessageEntry("note", "text", true);
    manager.appendSessionInfo("  A\nname ");
    manager.appendLabelChange(first, "start");
    manager.appendContextEdit(first, null);
    manager.appendCompaction("summary", null, 10);
    manager.branchWithSummary(first, "left", undefined, false);
    const keys = Object.fromEntries(manager.getEntries().map((entry) => [entry.type, Object.keys(entry).join(" ")]));
    const common = "type id parentId timestamp";
    assert.deepEqual(keys, {
      message: `${common} message`,
      thinking_level_change: `${common} thinkingLevel`,
      model_change: `${common} provider modelId`,
      usage: `${common} kind provider model usage`,
      custom: "type customType data id parentId timestamp",
      custom_message: "type customType content display details id parentId timestamp",
      session_info: `${common} name`,
      label: `${common} targetId label`,
      context_edit: `${common} targetId replacement`,
      compaction: `${common} summary firstKeptEntryId tokensBefore details usage fromHook`,
      branch_summary: `${common} fromId summary details usage fromHook`,
    });
    const compaction = manager.getEntries().find(({ type }) => type === "compaction");
    assert.equal(compaction.firstKeptEntryId, compaction.id);
    assert.equal(manager.getEntry(usage.id), usage);
    assert.equal(manager.getSessionName(), "A name");
    assert.equal(manager.getLabel(first), "start");
    if (manager.isPersisted()) {
      const [, ...lines] = linesOf(manager.getSessionFile());
      assert.deepEqual(lines, manager.getEntries().map((entry) => JSON.stringify(entry)));
    }
    manager.close();
  }
});

test("a session that is opened again has one object per entry", () => {
  const file = written(folder(), [long("one"), long("two"), "three", long("four")]);
  const manager = SessionManager.open(file);
  const entries = manager.getEntries();
  const ids = entries.map(({ id }) => id);
  assert.equal(entries.length, 4);
  assert.deepEqual(manager.getBranch(), entries);
  assert.notEqual(manager.getBranch(), manager.getBranch());
  const projection = manager.buildSessionProjection();
  const nodes = [];
  for (let [node] = manager.getTree(); node; node = node.children[0]) nodes.push(node.entry);
  entries.forEach((entry, index) => {
    assert.equal(manager.getEntry(ids[index]), entry);
    assert.equal(manager.getBranch()[index], entry);
    assert.equal(manager.buildContextEntries()[index], entry);
    assert.equal(projection.entries[index].sourceEntry, entry);
    assert.equal(projection.messages[index], entry.message);
    assert.equal(nodes[index], entry);
    assert.deepEqual({ ...entry }, JSON.parse(linesOf(file)[index + 1]));
    assert.deepEqual(structuredClone(entry), JSON.parse(linesOf(file)[index + 1]));
  });
  assert.equal(manager.getLeafEntry(), entries[3]);
  assert.equal(manager.getChildren(ids[0])[0], entries[1]);
  assert.deepEqual(manager.getChildren("nope"), []);
  assert.deepEqual(manager.getBranch("nope"), []);
  assert.equal(manager.getEntry("nope"), undefined);
  assert.deepEqual(manager.buildSessionContext().model, { provider: "acme", modelId: "acme-1" });
  manager.buildSessionContext().messages.push("mine");
  assert.equal(manager.buildSessionContext().messages.length, 4);
  manager.close();
});

test("lines with other members are shown as they are", () => {
  const file = written();
  const extra = { type: "message", id: "00000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: user(long("x")), tag: 1 };
  appendFileSync(file, `${JSON.stringify(extra)}\n`);
  const manager = SessionManager.open(file);
  const entry = manager.getEntries().at(-1);
  assert.deepEqual(Object.keys(entry), [...Object.keys(extra)]);
  assert.deepEqual({ ...entry }, extra);
  manager.close();
});

test("a change of an entry is seen in memory and not in the file", () => {
  const file = written(folder(), [long("one"), long("two")]);
  const before = readFileSync(file, "utf8");
  const manager = SessionManager.open(file);
  const [entry] = manager.getEntries();
  entry.message = user("changed");
  assert.deepEqual(manager.getBranch()[0].message, user("changed"));
  assert.equal(Object.create(entry).message, entry.message);
  Object.freeze(entry);
  assert.deepEqual(entry.message, user("changed"));
  assert.equal(readFileSync(file, "utf8"), before);
  manager.close();
});

test("a budget that holds nothing", () => {
  const file = written(folder(), [long("one"), long("two")]);
  sessile.configure({ cacheBytes: 1 });
  try {
    const manager = SessionManager.open(file);
    assert.deepEqual(manager.getEntries().map(({ message }) => message), [user(long("one")), assistant(long("two"))]);
    assert.equal(manager.buildSessionContext().messages.length, 2);
    manager.getEntries()[0].message = user("changed");
    assert.deepEqual(manager.getBranch()[0].message, user("changed"));
    manager.close();
  } finally {
    sessile.configure({ cacheBytes: 64 * 1024 * 1024 });
  }
});

test("beyond the budget, what the program holds keeps its identity", () => {
  const file = written(folder(), Array.from({ length: 40 }, (_, index) => long(`text ${index}`)));
  sessile.configure({ cacheBytes: 5000 });
  try {
    const manager = SessionManager.open(file);
    const entries = manager.getEntries();
    const first = entries[0].message;
    const texts = entries.map((entry) => entry.message.content[0].text);
    assert.equal(texts[39], long("text 39"));
    assert.equal(entries[0].message, first);
    assert.equal(manager.buildSessionContext().messages[0], first);
    const id = manager.appendMessage(user(long("new")));
    for (const entry of entries) assert.ok(entry.message);
    assert.deepEqual(manager.getEntry(id).message, user(long("new")));
    manager.close();
  } finally {
    sessile.configure({ cacheBytes: 64 * 1024 * 1024 });
  }
});

test("a session in memory keeps the given array and its objects", () => {
  const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/proj" };
  const entry = { type: "message", id: "a", parentId: null, timestamp: header.timestamp, message: user("one") };
  const given = [header, entry];
  const manager = SessionManager.inMemory("/proj", undefined, given);
  assert.equal(manager.getHeader(), header);
  assert.equal(manager.getEntries()[0], entry);
  assert.equal(manager.buildSessionProjection().messages[0], entry.message);
  const date = new Date();
  const id = manager.appendMessage({ ...user("two"), odd: date });
  assert.equal(given.length, 3);
  assert.equal(given[2].id, id);
  assert.equal(manager.getEntry(id).message.odd, date);
  assert.equal(manager.getSessionDir(), "");
  assert.equal(manager.getSessionFile(), undefined);
  assert.equal(manager.isPersisted(), false);
  manager.branch("a");
  manager.appendLabelChange("a", "here");
  assert.equal(manager.createBranchedSession("a"), undefined);
  assert.deepEqual(manager.getEntries().map(({ type }) => type), ["message", "label"]);
  assert.equal(manager.getTree()[0].label, "here");
});

test("errors have pi's words and a code, and change nothing", () => {
  const manager = SessionManager.create("/proj", folder());
  const id = manager.appendMessage(user("one"));
  const cycle = {};
  cycle.self = cycle;
  assert.throws(() => manager.appendMessage({ role: "user", content: cycle }), TypeError);
  assert.throws(() => manager.appendMessage({ role: "user", content: 1n }), TypeError);
  for (const call of [
    () => manager.branch("nope"),
    () => manager.appendLabelChange("nope", "x"),
    () => manager.branchWithSummary("nope", "x"),
    () => manager.createBranchedSession("nope"),
    () => manager.appendContextEdit("nope", null),
  ]) {
    assert.throws(call, { name: "Error", message: "Entry nope not found", code: "NOT_FOUND" });
  }
  assert.throws(() => manager.appendContextEdit(id, { content: 1 }), /^Error: Context edit replacement must be null/);
  assert.throws(() => manager.newSession({ id: "-" }), /^Error: Session id must be non-empty, contain only/);
  assert.equal(manager.getEntryCount(), 1);
  assert.equal(manager.getLeafId(), id);
  const other = join(folder(), "other.jsonl");
  writeFileSync(other, "no session\n");
  assert.throws(() => SessionManager.open(other), { message: `Session file is not a valid pi session: ${other}`, code: "INVALID_ARGUMENT" });
  assert.throws(() => SessionManager.forkFrom(other, "/proj"), /^Error: Cannot fork: source session file is empty or/);
  rmSync(manager.getSessionDir(), { recursive: true });
  assert.throws(() => manager.appendMessage(user("two")), { code: "ENOENT" });
  assert.equal(manager.getEntryCount(), 1);
  manager.close();
  assert.throws(() => manager.appendMessage(user("two")), { code: "SESSION_CLOSED" });
});

test("an empty file gets a header at once, and a new name gets a file with the first message", () => {
  const dir = folder();
  const empty = join(dir, "empty.jsonl");
  writeFileSync(empty, "");
  const manager = SessionManager.open(empty);
  assert.deepEqual(linesOf(empty), [JSON.stringify(manager.getHeader())]);
  const again = SessionManager.open(empty);
  assert.equal(again.getSessionId(), manager.getSessionId());
  const missing = SessionManager.open(join(dir, "missing.jsonl"));
  assert.deepEqual(readdirSync(dir).filter((name) => !name.startsWith(".")), ["empty.jsonl"]);
  missing.appendSessionInfo("named");
  missing.appendMessage(user("one"));
  assert.equal(linesOf(join(dir, "missing.jsonl")).length, 3);
  for (const one of [manager, again, missing]) one.close();
});

test("switching leaves the entries of the old session readable", () => {
  const file = written(folder(), [long("one"), long("two")]);
  const manager = SessionManager.open(file);
  const [first, second] = manager.getEntries();
  const next = manager.newSession({ parentSession: file });
  assert.notEqual(next, file);
  assert.equal(manager.getSessionFile(), next);
  assert.equal(manager.getHeader().parentSession, file);
  assert.deepEqual(manager.getEntries(), []);
  assert.deepEqual(first.message, user(long("one")));
  manager.setSessionFile(file);
  assert.equal(manager.getEntryCount(), 2);
  const branched = manager.createBranchedSession(first.id);
  assert.deepEqual(manager.getEntries().map(({ id }) => id), [first.id]);
  assert.equal(linesOf(branched).length, 2);
  assert.deepEqual(second.message, assistant(long("two")));
  manager.close();
});

test("two managers on one file see each other's entries with the next append", () => {
  const file = written();
  const [one, other] = [SessionManager.open(file), SessionManager.open(file)];
  one.getEntries();
  const theirs = other.appendMessage(user(long("theirs")));
  assert.equal(one.getEntryCount(), 2);
  const ours = one.appendMessage(user(long("ours")));
  assert.equal(one.getEntryCount(), 4);
  assert.deepEqual(one.getEntries().slice(2).map(({ id }) => id), [theirs, ours]);
  assert.equal(one.getBranch().length, 3);
  assert.equal(one.getTree()[0].children[0].children.length, 2);
  const seen = other.getLeafId();
  assert.throws(() => other.appendMessage(user("late"), { expectedLeaf: seen }), { code: "LEAF_MOVED" });
  other.refresh();
  const last = other.appendMessage(user("now"), { expectedLeaf: ours });
  assert.equal(other.getEntry(last).parentId, ours);
  one.close();
  other.close();
});

test("pi's private members can be read, and history cannot be replaced", () => {
  const manager = SessionManager.create("/proj", folder());
  assert.deepEqual(Object.keys(manager), [
    "sessionId", "sessionFile", "sessionDir", "cwd", "persist", "flushed",
    "fileEntries", "byId", "labelsById", "labelTimestampsById", "leafId",
  ]);
  manager.appendSessionInfo("only a name");
  assert.equal(manager.flushed, false);
  manager._rewriteFile();
  manager.flushed = true;
  assert.equal(manager.flushed, true);
  assert.equal(linesOf(manager.getSessionFile()).length, 2);
  const id = manager.appendMessage(user("one"));
  assert.deepEqual(manager.fileEntries, [manager.getHeader(), ...manager.getEntries()]);
  assert.equal(manager.byId.get(id), manager.getEntry(id));
  manager.leafId = null;
  assert.equal(manager.getLeafId(), null);
  manager.leafId = id;
  assert.throws(() => { manager.fileEntries = []; }, { code: "NOT_SUPPORTED" });
  manager.fileEntries.pop();
  assert.throws(() => manager._rewriteFile(), { code: "NOT_SUPPORTED" });
  const original = manager.appendMessage.bind(manager);
  manager.appendMessage = (message) => original({ ...message, patched: true });
  assert.equal(manager.getEntry(manager.appendMessage(user("two"))).message.patched, true);
  manager.close();
});

test("the class has pi's shape", () => {
  class Mine extends SessionManager {
    mine() {
      return this.getCwd();
    }
  }
  assert.equal(new Mine("/proj", "", undefined, false).mine(), "/proj");
  assert.equal(Mine.inMemory("/proj").constructor, SessionManager);
  const descriptor = Object.getOwnPropertyDescriptor(SessionManager.prototype, "getBranch");
  assert.deepEqual([descriptor.writable, descriptor.enumerable, descriptor.configurable], [true, false, true]);
  const { getLeafId } = SessionManager.inMemory("/proj");
  assert.throws(() => getLeafId(), TypeError);
  const cjs = createRequire(import.meta.url)("../index.cjs");
  assert.equal(cjs.SessionManager, SessionManager);
  assert.deepEqual(Object.keys(cjs).sort(), Object.keys(sessile).sort());
});

test("lists are promises with progress, dates and abort", async () => {
  const dir = folder();
  const files = [written(dir), written(dir, ["three"])];
  const calls = [];
  const rows = await SessionManager.listAll(dir, (...args) => calls.push(args));
  assert.deepEqual(rows.map(({ path }) => path).sort(), files.sort());
  assert.deepEqual(Object.keys(rows[0]), [
    "path", "id", "cwd", "name", "parentSessionPath", "created", "modified", "messageCount", "firstMessage", "allMessagesText",
  ]);
  assert.ok(rows[0].created instanceof Date && rows[0].modified instanceof Date);
  assert.ok(rows.some(({ allMessagesText }) => allMessagesText === "one two"));
  assert.deepEqual(calls.at(-1).slice(0, 2), [2, 2]);
  assert.equal(calls.at(-1)[2].length, 2);
  assert.equal((await SessionManager.list("/proj", dir)).length, 2);
  assert.equal((await SessionManager.list("/elsewhere", dir)).length, 0);
  assert.deepEqual(await SessionManager.listAll(join(dir, "missing")), []);
  await assert.rejects(SessionManager.list("/proj", dir, undefined, AbortSignal.abort()), { name: "AbortError" });
  const [{ id, path }] = rows;
  assert.equal(SessionManager.findById("/proj", id, dir), path);
  assert.equal(SessionManager.findById("/proj", "nope", dir), undefined);
  assert.ok(files.includes(sessile.findMostRecentSession(dir)));
  assert.equal(sessile.findMostRecentSession(dir, "/elsewhere"), null);
  const recent = SessionManager.continueRecent("/proj", dir);
  assert.ok(files.includes(recent.getSessionFile()));
  recent.close();
});

test("search, verify, family and stats", async () => {
  const dir = folder();
  const file = written(dir, ["a walrus", "an answer"]);
  const fork = SessionManager.forkFrom(file, "/other", dir);
  assert.deepEqual((await fork.search("walrus")).map(({ entryId }) => entryId), [fork.getEntries()[0].id]);
  assert.equal((await SessionManager.search("walrus", { sessionDir: dir })).length, 2);
  assert.deepEqual(await fork.verify(), []);
  const family = await fork.family();
  assert.equal(family.root, file);
  assert.deepEqual(family.nodes.map(({ sessionPath, depth }) => [sessionPath, depth]), [[file, 0], [fork.getSessionFile(), 1]]);
  const stats = await fork.stats();
  assert.equal(stats.userMessages, 1);
  assert.equal(stats.cost, 0.5);
  await assert.rejects(SessionManager.search("re:["), { code: "INVALID_ARGUMENT" });
  await assert.rejects(fork.stats({ signal: AbortSignal.abort() }), { name: "AbortError" });
  fork.close();
});

test("following yields what other programs write", async () => {
  const file = written();
  const events = SessionManager.follow(file, { from: "beginning" });
  const types = [];
  for await (const event of events) {
    types.push(event.type);
    if (types.length === 3) break;
  }
  assert.deepEqual(types, ["header", "entry", "entry"]);
  const stop = new AbortController();
  const live = SessionManager.follow(file, { signal: stop.signal });
  const next = live.next();
  const writer = SessionManager.open(file);
  // The follower may not have started yet, so write until it has seen something.
  const timer = setInterval(() => writer.appendMessage(user("more")), 50);
  const { value } = await next;
  clearInterval(timer);
  assert.equal(value.entry.message.content[0].text, "more");
  writer.close();
  const ended = SessionManager.follow(file);
  const waiting = ended.next();
  await ended.return();
  assert.equal((await waiting).done, true);
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(async () => {
    for await (const _ of live);
  }, { name: "AbortError" });
});

test("times come from JavaScript", () => {
  mock.timers.enable({ apis: ["Date"], now: Date.UTC(2020, 1, 2) });
  try {
    const manager = SessionManager.create("/proj", folder());
    const id = manager.appendMessage(user("one"));
    assert.equal(manager.getHeader().timestamp, "2020-02-02T00:00:00.000Z");
    assert.equal(manager.getEntry(id).timestamp, "2020-02-02T00:00:00.000Z");
    assert.match(linesOf(manager.getSessionFile())[1], /"timestamp":"2020-02-02T00:00:00.000Z"/);
    assert.ok(manager.getSessionFile().includes("2020-02-02T00-00-00-000Z_"));
    manager.close();
  } finally {
    mock.timers.reset();
  }
});

test("compactions carry the system message, and hide what is before", () => {
  for (const manager of [SessionManager.create("/proj", folder()), SessionManager.inMemory("/proj")]) {
    manager.appendMessage({ role: "system", content: "Be kind.", timestamp: 5 });
    manager.appendMessage(user(long("one")));
    const kept = manager.appendMessage(assistant(long("two")));
    const id = manager.appendCompaction("summary", kept, 100, { a: 1 });
    manager.appendMessage(user("three"));
    const { systemMessage } = manager.getEntry(id);
    assert.equal(systemMessage.content, "Be kind.");
    assert.equal(systemMessage.timestamp, Date.parse(manager.getEntry(id).timestamp));
    assert.deepEqual(
      manager.buildSessionContext().messages.map(({ role }) => role),
      ["system", "compactionSummary", "assistant", "user"],
    );
    manager.appendContextEdit(kept, { content: "edited" });
    assert.deepEqual(manager.buildSessionContext().messages[2].content, [{ type: "text", text: "edited" }]);
    manager.close();
  }
});

test("another program may rewrite the file", () => {
  const file = written(folder(), [long("one"), long("two")]);
  const manager = SessionManager.open(file);
  const [first, second] = manager.getEntries();
  const [header, one, two] = linesOf(file);
  const foreign = JSON.stringify({ type: "custom", customType: "x", id: "0000000f", parentId: null, timestamp: first.timestamp });
  writeFileSync(file, `${[header, foreign, one, two].join("\n")}\n`);
  assert.deepEqual(second.message, assistant(long("two")));
  assert.deepEqual(first.message, user(long("one")));
  const id = manager.appendMessage(user("three"));
  assert.deepEqual(manager.getEntries().map((entry) => entry.id), ["0000000f", first.id, second.id, id]);
  assert.equal(manager.getEntry(first.id), first);
  manager.close();
});

test("a context is read again after another program has rewritten the file", () => {
  const file = written(folder(), [long("one"), long("two")]);
  const manager = SessionManager.open(file);
  assert.deepEqual(manager.buildSessionContext().messages, [user(long("one")), assistant(long("two"))]);
  const [header, one, two] = linesOf(file);
  const { id, timestamp } = JSON.parse(one);
  const foreign = JSON.stringify({ type: "message", id: "0000000f", parentId: null, timestamp, message: user("zero") });
  writeFileSync(file, `${[header, foreign, one.replace('"parentId":null', '"parentId":"0000000f"'), two].join("\n")}\n`);
  manager.refresh();
  assert.deepEqual(manager.buildSessionContext().messages, [user("zero"), user(long("one")), assistant(long("two"))]);
  assert.deepEqual(manager.getEntry(id).message, user(long("one")));
  manager.close();
});

test("old versions are shown in the current form", () => {
  const file = join(folder(), "old.jsonl");
  const lines = [
    { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/proj" },
    { type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: { role: "hookMessage", content: long("x") } },
    { type: "message", timestamp: "2025-01-01T00:00:02.000Z", message: user("two") },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const manager = SessionManager.open(file);
  const [first, second] = manager.getEntries();
  assert.equal(first.message.role, "custom");
  assert.equal(second.parentId, first.id);
  const id = manager.appendMessage(user("three"));
  assert.deepEqual(manager.getBranch().map((entry) => entry.id), [first.id, second.id, id]);
  assert.equal(manager.getEntry(first.id), first);
  manager.close();
});

test("the end of the process closes sessions", () => {
  const file = written();
  const script = `
    import { SessionManager } from ${JSON.stringify(new URL("../index.mjs", import.meta.url).href)};
    const manager = SessionManager.open(${JSON.stringify(file)});
    process.on("exit", () => {
      try { manager.refresh(); console.log("open"); } catch (error) { console.log(error.code); }
    });
    process.exit(0);
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.equal(stdout.trim(), "SESSION_CLOSED", stderr);
});

test("sessions work in worker threads, with the worker's own environment", async () => {
  const agent = folder();
  const source = `
    const { parentPort, workerData } = require("node:worker_threads");
    const { SessionManager } = require(workerData.module);
    const manager = SessionManager.create("/proj");
    manager.appendMessage({ role: "user", content: "from a worker", timestamp: 1 });
    const file = manager.getSessionFile();
    manager.close();
    parentPort.postMessage(file);
  `;
  const module = fileURLToPath(new URL("../index.cjs", import.meta.url));
  const env = { ...process.env, PI_CODING_AGENT_DIR: agent };
  const worker = new Worker(source, { eval: true, workerData: { module }, env });
  const file = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  assert.ok(file.startsWith(join(agent, "sessions", "--proj--")));
  assert.equal(linesOf(file).length, 2);
  await worker.terminate();
});

test("install replaces the statics of a class once", () => {
  class Theirs {
    static create() {
      return "theirs";
    }
  }
  const pi = { SessionManager: Theirs };
  assert.equal(install(pi), true);
  assert.equal(install(pi), false);
  assert.equal(Theirs.inMemory("/proj").constructor, SessionManager);
  assert.equal(Theirs.create.name, "create");
  assert.equal(install({ SessionManager }), false);
  assert.throws(() => install({}), TypeError);
});

test("the types for import and require are the same", () => {
  const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  assert.equal(read("index.d.cts"), read("index.d.ts"));
});

test("the types of both kinds of modules are the same", () => {
  const types = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  assert.equal(types("index.d.cts"), types("index.d.ts"));
});

test("a session in the mirror of a remote is listed and opened like others", async () => {
  const dir = join(process.env.SESSILE_STATE_DIR, "remote", "store", "members", "ada", "sessions", "--proj--");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const path = written(dir);
  const rows = await SessionManager.list("/proj", dir);
  assert.deepEqual(rows.map((row) => row.path), [path]);
  const manager = SessionManager.open(path);
  assert.equal(manager.getEntryCount(), 2);
  manager.appendMessage(user("mine"));
  manager.close();
  assert.equal(linesOf(path).length, 4);
});

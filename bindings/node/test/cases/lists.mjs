// Lists of sessions: rows, progress, and cancelling.

import { join } from "node:path";

import { assistant, rejected, user } from "../support/table.mjs";

/** Makes `n` sessions of this project. */
function some(s, n) {
  const made = [];
  for (let index = 0; index < n; index += 1) {
    const m = s.create({ id: `s-${index}` });
    m.appendMessage(user(`question ${index}`, { timestamp: 1_700_000_000_000 + index * 1000 }));
    m.appendMessage(assistant(`answer ${index}`, { timestamp: 1_700_000_000_500 + index * 1000 }));
    made.push(m);
  }
  return made;
}

const ids = (rows) => rows.map(({ id }) => id);

export const lists = [
  {
    name: "rows have all keys, and dates",
    async run(s) {
      const [m] = some(s, 1);
      const named = s.create({ id: "named", parentSession: m.getSessionFile() });
      named.appendSessionInfo(" a name ");
      named.appendMessage(user("hello", { timestamp: 1_800_000_000_000 }));
      const rows = await s.SessionManager.list(s.cwd, s.dir);
      return {
        keys: rows.map((row) => Object.keys(row)),
        rows,
        dates: rows.map((row) => [row.created instanceof Date, row.modified instanceof Date]),
        modified: rows.map((row) => row.modified.getTime() - 1_700_000_000_000),
        created: rows.find(({ id }) => id === "named").created.toISOString() === named.getHeader().timestamp,
        plain: rows.every((row) => Object.getPrototypeOf(row) === Object.prototype),
      };
    },
  },
  {
    name: "odd files in a list",
    async run(s) {
      const line = { type: "message", id: "a", parentId: null, timestamp: "x", message: user("q") };
      const header = (more) => ({ type: "session", version: 3, id: "x", timestamp: "2026-01-01T00:00:00.000Z", cwd: s.cwd, ...more });
      const rows = async (name, content) => {
        const dir = join(s.root, name);
        s.write(join(dir, "x.jsonl"), content);
        return (await s.SessionManager.listAll(dir)).map((row) => ({ ...row, created: String(row.created), modified: Number.isNaN(row.modified.getTime()) }));
      };
      return {
        badTime: await rows("bad-time", [header({ timestamp: "never" }), line]),
        noTime: await rows("no-time", [header({ timestamp: undefined }), line]),
        noCwd: await rows("no-cwd", [header({ cwd: undefined }), line]),
        noMessages: await rows("no-messages", [header({})]),
        notASession: await rows("not", ["hello"]),
        system: await rows("system", [header({}), { ...line, message: { role: "system", content: "s" } }]),
        cleared: await rows("cleared", [header({}), line, { type: "session_info", id: "b", parentId: "a", timestamp: "x", name: "n" }, { type: "session_info", id: "c", parentId: "b", timestamp: "x", name: "" }]),
      };
    },
  },
  {
    name: "the order of a list",
    async run(s) {
      some(s, 12);
      const here = ids(await s.SessionManager.list(s.cwd, s.dir));
      const all = ids(await s.SessionManager.listAll(s.dir));
      return { here, all };
    },
  },
  {
    name: "a list of one project in a shared directory",
    async run(s) {
      some(s, 2);
      const other = s.SessionManager.create(join(s.root, "other"), s.dir, { id: "other" });
      other.appendMessage(user("a"));
      return { here: ids(await s.SessionManager.list(s.cwd, s.dir)).sort(), all: ids(await s.SessionManager.listAll(s.dir)).sort() };
    },
  },
  {
    name: "lists of the default store",
    async run(s) {
      const one = s.SessionManager.create(s.cwd, undefined, { id: "one" });
      one.appendMessage(user("a"));
      const two = s.SessionManager.create(join(s.root, "two"), undefined, { id: "two" });
      two.appendMessage(user("b"));
      const calls = [];
      const progress = (...args) => calls.push(args.length);
      return {
        here: ids(await s.SessionManager.list(s.cwd)),
        all: ids(await s.SessionManager.listAll()).sort(),
        progressFirst: ids(await s.SessionManager.listAll(progress)).sort(),
        called: calls.length > 0,
        nowhere: await s.SessionManager.list(s.cwd, join(s.root, "nowhere")),
        nowhereAll: await s.SessionManager.listAll(join(s.root, "nowhere")),
      };
    },
  },
  {
    name: "progress",
    async run(s) {
      some(s, 25);
      const calls = [];
      let isEarly = true;
      const early = [];
      const progress = (...args) => {
        early.push(isEarly);
        calls.push([args.length, args[0], args[1], args[2] === undefined ? undefined : [args[2].length, Object.keys(args[2][0]).length, args[2][0].modified instanceof Date]]);
      };
      const promise = s.SessionManager.list(s.cwd, s.dir, progress);
      isEarly = false;
      const rows = await promise;
      return { early: early.includes(true), calls, rows: rows.length, isPromise: promise instanceof Promise };
    },
  },
  {
    name: "an aborted list",
    async run(s) {
      some(s, 3);
      const aborted = AbortSignal.abort();
      const mine = AbortSignal.abort(new RangeError("mine"));
      const { SessionManager } = s;
      return {
        list: await rejected(SessionManager.list(s.cwd, s.dir, undefined, aborted)),
        listAll: await rejected(SessionManager.listAll(s.dir, undefined, aborted)),
        progressFirst: await rejected(SessionManager.listAll(() => {}, aborted)),
        reason: await rejected(SessionManager.list(s.cwd, s.dir, undefined, mine)),
        dom: await SessionManager.list(s.cwd, s.dir, undefined, aborted).catch((error) => error instanceof DOMException),
      };
    },
  },
  {
    name: "a list that is aborted while it runs",
    async run(s) {
      some(s, 30);
      const controller = new AbortController();
      const calls = [];
      const promise = s.SessionManager.list(s.cwd, s.dir, (loaded) => {
        calls.push(loaded);
        controller.abort();
      }, controller.signal);
      const { name } = await rejected(promise);
      return { name, stopped: calls.length < 30 };
    },
    expect: { name: "AbortError", stopped: true },
  },
  {
    name: "a progress function that throws",
    async run(s) {
      some(s, 2);
      const seen = await rejected(s.SessionManager.list(s.cwd, s.dir, () => {
        throw new Error("mine");
      }));
      return { returned: seen.returned, message: seen.message };
    },
  },
];

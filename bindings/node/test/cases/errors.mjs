// Sentences and codes of errors, and what is left unchanged by a call that fails.

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assistant, caught, lines, texts, user } from "../support/table.mjs";

/** What must not change when a call fails. */
const state = (m) => ({ leaf: m.getLeafId(), count: m.getEntryCount(), context: m.buildSessionContext().messages.length });

export const errors = [
  {
    name: "an unknown entry",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const before = state(m);
      const seen = {
        branch: caught(() => m.branch("none")),
        appendLabelChange: caught(() => m.appendLabelChange("none", "x")),
        appendContextEdit: caught(() => m.appendContextEdit("none", null)),
        branchWithSummary: caught(() => m.branchWithSummary("none", "x")),
        createBranchedSession: caught(() => m.createBranchedSession("none")),
      };
      return { ...seen, unchanged: JSON.stringify(before) === JSON.stringify(state(m)), lines: texts(m.getSessionFile()).length };
    },
  },
  {
    name: "a context edit without content",
    run(s) {
      const m = s.create();
      const id = m.appendMessage(user("a"));
      const before = state(m);
      const bad = [undefined, {}, { content: 1 }, { content: null }, "text", 5, []];
      const seen = bad.map((replacement) => caught(() => m.appendContextEdit(id, replacement)));
      return { seen, unchanged: JSON.stringify(before) === JSON.stringify(state(m)) };
    },
  },
  {
    name: "a context edit of an entry that is not in the context",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const state = m.appendCustomEntry("t", 1);
      const model = m.appendModelChange("p", "m");
      m.branch(first);
      const other = m.appendMessage(assistant("b"));
      m.branch(first);
      return [state, model, other].map((id) => caught(() => m.appendContextEdit(id, null)));
    },
  },
  {
    name: "a message that JSON cannot hold",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const before = state(m);
      const circle = user("b");
      circle.self = circle;
      const thrower = { role: "user", get content() { throw new RangeError("mine"); } };
      const seen = { bigint: caught(() => m.appendMessage(user("b", { n: 1n }))), thrower: caught(() => m.appendMessage(thrower)) };
      const circular = caught(() => m.appendMessage(circle));
      return {
        ...seen,
        circular: { ...circular, message: circular.message?.split("\n")[0] },
        unchanged: JSON.stringify(before) === JSON.stringify(state(m)),
        lines: texts(m.getSessionFile()).length,
        next: typeof m.appendMessage(user("c")),
        parents: lines(m.getSessionFile()).slice(1).map((entry) => entry.parentId),
      };
    },
  },
  {
    name: "a file that is not a session",
    run(s) {
      const path = s.write(join(s.root, "text.jsonl"), ["this is not a session"]);
      const other = s.write(join(s.root, "other.jsonl"), [{ type: "message", id: "a", parentId: null }]);
      const m = s.create();
      m.appendMessage(user("a"));
      return {
        open: caught(() => s.open(path)),
        other: caught(() => s.open(other)),
        setSessionFile: caught(() => m.setSessionFile(path)),
        unchanged: readFileSync(path, "utf8"),
        directory: caught(() => s.open(s.root)).code,
      };
    },
  },
  {
    name: "a session id that is not allowed",
    run(s) {
      const ids = ["", " ", "-a", "a-", "a/b", "a b", ".", "ä", "a\n", "../a"];
      const m = s.create();
      const id = m.getSessionId();
      return {
        create: ids.map((bad) => caught(() => s.create({ id: bad }))),
        inMemory: caught(() => s.memory({ id: "a/b" })),
        newSession: caught(() => m.newSession({ id: "a/b" })),
        same: m.getSessionId() === id,
        good: ["a", "A.b_c-9", "0"].map((good) => s.create({ id: good }).getSessionId()),
      };
    },
  },
  {
    name: "forking a file that is empty, missing or not a session",
    run(s) {
      const empty = join(s.root, "empty.jsonl");
      writeFileSync(empty, "");
      const text = s.write(join(s.root, "text.jsonl"), ["nothing"]);
      const { forkFrom } = { forkFrom: (path) => caught(() => s.SessionManager.forkFrom(path, s.cwd, s.dir)) };
      return { empty: forkFrom(empty), missing: forkFrom(join(s.root, "missing.jsonl")), text: forkFrom(text) };
    },
  },
  {
    name: "a session directory that cannot be made",
    run(s) {
      const file = s.write(join(s.root, "file"), ["x"]);
      const seen = caught(() => s.SessionManager.create(s.cwd, join(file, "below")));
      return { isError: seen.isError, code: seen.code };
    },
  },
  {
    name: "a directory that is removed before the first write",
    run(s) {
      const m = s.create();
      m.appendModelChange("p", "m");
      rmSync(s.dir, { recursive: true });
      const before = state(m);
      const seen = caught(() => m.appendMessage(user("a")));
      mkdirSync(s.dir);
      return { isError: seen.isError, code: seen.code, leaf: JSON.stringify(before.leaf) === JSON.stringify(state(m).leaf) };
    },
  },
  {
    name: "a directory that is removed while its session is open",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      rmSync(s.dir, { recursive: true });
      const seen = caught(() => m.appendMessage(assistant("b")));
      return { isError: seen.isError, code: seen.code };
    },
  },
  {
    name: "a file that is removed while it is open",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const file = m.getSessionFile();
      rmSync(file);
      const seen = caught(() => m.appendMessage(assistant("b")));
      return { fails: seen.isError === true };
    },
  },
  {
    name: "a link as session file",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const link = join(s.root, "link.jsonl");
      symlinkSync(m.getSessionFile(), link);
      const opened = s.open(link);
      const seen = caught(() => opened.appendMessage(user("b")));
      return { read: opened.getEntries()[0].message.content, fails: seen.isError === true };
    },
  },
  {
    name: "a file of a newer version",
    run(s) {
      const header = { type: "session", version: 4, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: s.cwd };
      const entry = { type: "message", id: "aaaaaaaa", parentId: null, timestamp: header.timestamp, message: user("a") };
      const m = s.open(s.write(join(s.root, "new.jsonl"), [header, entry]));
      const seen = caught(() => m.appendMessage(user("b")));
      return { read: m.getEntries()[0].message.content, version: m.getHeader().version, fails: seen.isError === true };
    },
  },
  {
    name: "codes of errors that are not the system's",
    run(s) {
      const codeOf = (call) => {
        try {
          return call() && "returned";
        } catch (error) {
          return error.code;
        }
      };
      const m = s.create();
      const id = m.appendMessage(user("a"));
      return {
        unknown: codeOf(() => m.branch("none")),
        edit: codeOf(() => m.appendContextEdit(id, {})),
        notASession: codeOf(() => s.open(s.write(join(s.root, "x.jsonl"), ["x"]))),
        id: codeOf(() => s.create({ id: "-" })),
        fork: codeOf(() => s.SessionManager.forkFrom(join(s.root, "missing"), s.cwd, s.dir)),
        json: codeOf(() => m.appendMessage(user("b", { n: 1n }))),
      };
    },
  },
];

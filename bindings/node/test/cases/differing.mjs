// What we do differently on purpose, beside what we do the same: files that are only read stay as they are, new files
// are private, and one place gets all writes.

import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assistant, caught, texts, user } from "../support/table.mjs";

const mode = (path) => (statSync(path).mode & 0o777).toString(8);

export const differing = [
  {
    name: "modes of new files",
    run(s) {
      const before = process.umask(0o022);
      try {
        const m = s.create();
        m.appendMessage(user("a"));
        return { file: mode(m.getSessionFile()), directory: mode(s.dir) };
      } finally {
        process.umask(before);
      }
    },
  },
  {
    name: "files beside a session",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const names = readdirSync(s.dir);
      return { sessions: names.filter((name) => name.endsWith(".jsonl")).length, others: names.filter((name) => !name.endsWith(".jsonl")).map((name) => name.split(".").at(-1)).sort() };
    },
  },
  {
    name: "a relative session directory",
    run(s) {
      process.chdir(s.root);
      const m = s.SessionManager.create(s.cwd, "relative");
      const dir = m.getSessionDir();
      m.appendMessage(user("a"));
      mkdirSync(join(s.root, "elsewhere"));
      process.chdir(join(s.root, "elsewhere"));
      return { dir, written: existsSync(join(s.root, "relative")), opened: caught(() => m.appendMessage(assistant("b"))).returned };
    },
  },
  {
    name: "an id of 200 characters",
    run(s) {
      const seen = caught(() => s.create({ id: "a".repeat(200) }));
      return { refused: seen.isError === true };
    },
  },
  {
    name: "a file of an old version that is only read",
    run(s) {
      const file = s.write(join(s.root, "old.jsonl"), [{ type: "session", id: "old", timestamp: "2024-01-01T00:00:00.000Z", cwd: s.cwd }, { type: "message", timestamp: "2024-01-01T00:00:00.000Z", message: user("a") }]);
      const before = readFileSync(file, "utf8");
      const m = s.open(file);
      return { read: m.buildSessionContext().messages.length, version: m.getHeader().version, unchanged: readFileSync(file, "utf8") === before };
    },
  },
  {
    name: "a file without a newline at its end that is only read",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const text = readFileSync(m.getSessionFile(), "utf8").trimEnd();
      const file = join(s.root, "open.jsonl");
      writeFileSync(file, text);
      const opened = s.open(file);
      const unchanged = readFileSync(file, "utf8") === text;
      opened.appendMessage(assistant("b"));
      return { unchanged, lines: texts(file).length };
    },
  },
  {
    name: "a line of another program",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const foreign = { type: "message", id: "ffffffff", parentId: first, timestamp: "2026-01-01T00:00:00.000Z", message: user("foreign") };
      writeFileSync(m.getSessionFile(), `${JSON.stringify(foreign)}\n`, { flag: "a" });
      const next = m.appendMessage(assistant("b"));
      return { parent: m.getEntry(next).parentId === first, entries: m.getEntryCount(), seen: m.getEntry("ffffffff")?.message.content, file: texts(m.getSessionFile()).length };
    },
  },
  {
    name: "looking for sessions where there are none",
    async run(s) {
      const rows = await s.SessionManager.list(s.cwd);
      return { rows, found: s.SessionManager.findById(s.cwd, "x"), made: existsSync(join(s.agentDir, "sessions")) };
    },
  },
];

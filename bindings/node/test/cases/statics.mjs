// Making, opening, forking, branching and finding sessions.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assistant, lines, texts, user } from "../support/table.mjs";
import { everyKind } from "./identity.mjs";

const sessions = (dir) => (existsSync(dir) ? readdirSync(dir).filter((name) => name.endsWith(".jsonl")).length : "none");
const contents = (m) => m.getEntries().map((entry) => entry.message?.content?.[0]?.text ?? entry.message?.content ?? entry.type);

export const statics = [
  {
    name: "a file appears with the first message",
    run(s) {
      const m = s.create();
      const seen = [sessions(s.dir)];
      for (const append of [() => m.appendModelChange("p", "m"), () => m.appendThinkingLevelChange("low"), () => m.appendSessionInfo("n"), () => m.appendCustomEntry("t", 1), () => m.appendMessage(user("a"))]) {
        append();
        seen.push(sessions(s.dir));
      }
      return { seen, types: lines(m.getSessionFile()).map(({ type }) => type), exists: existsSync(m.getSessionFile()) };
    },
  },
  {
    name: "which entries make a file appear",
    run(s) {
      const after = (append) => {
        const m = s.create();
        append(m);
        return existsSync(m.getSessionFile());
      };
      return {
        user: after((m) => m.appendMessage(user("a"))),
        assistant: after((m) => m.appendMessage(assistant("a"))),
        system: after((m) => m.appendMessage({ role: "system", content: "x", timestamp: 1 })),
        bash: after((m) => m.appendMessage({ role: "bashExecution", command: "ls", output: "", exitCode: 0, cancelled: false, truncated: false, timestamp: 1 })),
        custom: after((m) => m.appendCustomEntry("t", 1)),
        customMessage: after((m) => m.appendCustomMessageEntry("t", "x", true)),
        compaction: after((m) => m.appendCompaction("s", null, 1)),
      };
    },
  },
  {
    name: "opening, appending and opening again",
    run(s) {
      const m = s.create();
      everyKind(m);
      const opened = s.open(m.getSessionFile());
      opened.appendMessage(user("later"));
      const again = s.open(m.getSessionFile());
      return {
        id: again.getSessionId() === m.getSessionId(),
        count: again.getEntryCount(),
        leaf: again.getLeafId() === opened.getLeafId(),
        parent: again.getLeafEntry().parentId === opened.getEntries().at(-2).id,
        name: again.getSessionName(),
        contents: contents(again),
      };
    },
  },
  {
    name: "opening a file that is empty",
    run(s) {
      const file = join(s.root, "empty.jsonl");
      writeFileSync(file, "");
      const m = s.open(file);
      const header = texts(file);
      const again = s.open(file);
      again.appendMessage(user("a"));
      return {
        header: header.map((line) => Object.keys(JSON.parse(line))),
        same: again.getSessionId() === m.getSessionId(),
        file: m.getSessionFile() === file,
        lines: texts(file).length,
      };
    },
  },
  {
    name: "opening a file that does not exist",
    run(s) {
      const file = join(s.root, "below", "missing.jsonl");
      const m = s.open(file, s.dir, s.cwd);
      const before = existsSync(file);
      return { before, file: m.getSessionFile() === file, count: m.getEntryCount(), persisted: m.isPersisted(), dir: m.getSessionDir() };
    },
  },
  {
    name: "a session in memory",
    run(s) {
      const m = s.memory({ id: "mine", parentSession: "/p" });
      everyKind(m);
      const id = m.getSessionId();
      const leaf = m.createBranchedSession(m.getBranch()[1].id);
      return { id, leaf, changed: m.getSessionId() !== id, count: m.getEntryCount(), sessions: sessions(s.dir), parent: m.getHeader().parentSession };
    },
  },
  {
    name: "a new session in the same manager",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const [file, id] = [m.getSessionFile(), m.getSessionId()];
      const returned = m.newSession({ parentSession: file });
      const between = [m.getEntryCount(), m.getLeafId(), m.getSessionName(), existsSync(m.getSessionFile())];
      m.appendMessage(user("b"));
      return {
        returned: returned === m.getSessionFile(),
        other: m.getSessionFile() !== file && m.getSessionId() !== id,
        between,
        parent: m.getHeader().parentSession === file,
        files: sessions(s.dir),
        contents: contents(m),
        first: texts(file).length,
      };
    },
  },
  {
    name: "switching to another file",
    run(s) {
      const [one, two] = [s.create(), s.create()];
      one.appendMessage(user("one"));
      two.appendMessage(user("two"));
      two.appendLabelChange(two.getLeafId(), "label");
      one.setSessionFile(two.getSessionFile());
      one.appendMessage(assistant("three"));
      return {
        id: one.getSessionId() === two.getSessionId(),
        contents: contents(one),
        label: one.getLabel(one.getEntries()[0].id),
        lines: texts(two.getSessionFile()).length,
      };
    },
  },
  {
    name: "a branch as a session of its own",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const second = m.appendMessage(assistant("b"));
      m.appendLabelChange(second, "kept");
      m.appendMessage(user("c"));
      m.branch(second);
      m.appendMessage(user("d"));
      m.appendLabelChange(first, "also kept");
      const file = m.getSessionFile();
      const branched = m.createBranchedSession(second);
      return {
        file: branched === m.getSessionFile() && branched !== file,
        exists: existsSync(branched),
        types: m.getEntries().map(({ type }) => type),
        labels: [m.getLabel(first), m.getLabel(second)],
        parent: m.getHeader().parentSession === file,
        leaf: m.getLeafEntry()?.type,
        written: existsSync(branched) && texts(branched),
        next: typeof m.appendMessage(user("e")),
        after: texts(branched).length,
        source: texts(file).length,
      };
    },
  },
  {
    name: "a branch that ends at the first user message",
    run(s) {
      const m = s.create();
      m.appendModelChange("p", "m");
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      const file = m.createBranchedSession(first);
      const before = existsSync(file) && texts(file).length;
      m.appendMessage(assistant("c"));
      return { before, after: texts(file).map((line) => JSON.parse(line).type), ids: new Set(lines(file).map(({ id }) => id)).size };
    },
  },
  {
    name: "forking into another project",
    run(s) {
      const m = s.create();
      everyKind(m);
      const target = join(s.root, "target");
      const forked = s.SessionManager.forkFrom(m.getSessionFile(), target, join(s.root, "forks"), { id: "forked" });
      return {
        id: forked.getSessionId(),
        cwd: forked.getCwd(),
        header: forked.getHeader(),
        same: texts(forked.getSessionFile()).slice(1).join() === texts(m.getSessionFile()).slice(1).join(),
        leaf: forked.getLeafId() === m.getEntries().at(-1).id,
        name: forked.getSessionFile().endsWith("_forked.jsonl"),
      };
    },
  },
  {
    name: "continuing the most recent session",
    run(s) {
      const empty = s.SessionManager.continueRecent(s.cwd, s.dir);
      const m = s.create();
      m.appendMessage(user("a"));
      const other = s.SessionManager.create(join(s.root, "other"), s.dir);
      other.appendMessage(user("b"));
      const found = s.SessionManager.continueRecent(s.cwd, s.dir);
      return { empty: empty.getEntryCount(), found: found.getSessionId() === m.getSessionId(), contents: contents(found) };
    },
  },
  {
    name: "finding a session by its id",
    run(s) {
      const m = s.create({ id: "find-me" });
      m.appendMessage(user("a"));
      const find = (id, dir = s.dir) => s.SessionManager.findById(s.cwd, id, dir);
      return { found: find("find-me") === m.getSessionFile(), part: find("find"), none: find("none"), nowhere: find("find-me", join(s.root, "nowhere")) };
    },
  },
  {
    name: "an old file",
    run(s) {
      const header = { type: "session", id: "old", timestamp: "2024-01-01T00:00:00.000Z", cwd: s.cwd };
      const line = (message) => ({ type: "message", timestamp: header.timestamp, message });
      const file = s.write(join(s.root, "old.jsonl"), [header, line(user("a")), line({ ...user("h"), role: "hookMessage" }), { type: "compaction", timestamp: header.timestamp, summary: "s", firstKeptEntryIndex: 2, tokensBefore: 1 }, line(user("b"))]);
      const m = s.open(file);
      m.appendMessage(assistant("c"));
      const opened = s.open(file);
      return {
        version: lines(file)[0].version,
        parents: opened.getEntries().map(({ parentId }, index) => parentId === (opened.getEntries()[index - 1]?.id ?? null)),
        roles: opened.getEntries().map(({ message }) => message?.role),
        kept: opened.getEntries()[2].firstKeptEntryId === opened.getEntries()[1].id,
        context: opened.buildSessionContext().messages.length,
        keys: opened.getEntries().map((entry) => Object.keys(entry).sort().join(" ")),
      };
    },
  },
];

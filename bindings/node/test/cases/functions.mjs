// The exported functions over arrays and files.

import { existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assistant, caught, user } from "../support/table.mjs";
import { FUNCTIONS } from "../support/subjects.mjs";
import { everyKind } from "./identity.mjs";

/** Returns the entries of a session with every kind of entry. */
function entriesOf(s) {
  const m = s.memory();
  const ids = everyKind(m);
  return { ids, entries: m.getEntries(), m };
}

export const functions = [
  {
    name: "the exported names",
    run: (s) => ({
      functions: FUNCTIONS.map((name) => [name, typeof s.api[name]]),
      version: s.api.CURRENT_SESSION_VERSION,
      class: typeof s.api.SessionManager,
    }),
  },
  {
    name: "contexts over arrays keep identity",
    run(s) {
      const { entries, ids } = entriesOf(s);
      const byId = new Map(entries.map((entry) => [entry.id, entry]));
      const { buildContextEntries, buildSessionContext, buildSessionProjection } = s.api;
      const seen = (...args) => {
        const projection = buildSessionProjection(entries, ...args);
        return {
          same: buildContextEntries(entries, ...args).every((entry) => entries.includes(entry)),
          types: buildContextEntries(entries, ...args).map(({ type }) => type),
          source: projection.entries.every(({ sourceEntry }) => entries.includes(sourceEntry)),
          messages: projection.messages,
          context: JSON.stringify(buildSessionContext(entries, ...args).messages) === JSON.stringify(projection.messages),
          own: projection.messages.filter((message) => entries.some((entry) => entry.message === message)).length,
          model: projection.model,
          level: projection.thinkingLevel,
        };
      };
      return { whole: seen(), answer: seen(ids.answer), none: seen(null), unknown: seen("none"), indexed: seen(ids.last, byId) };
    },
  },
  {
    name: "the entries of a context with an older compaction",
    run(s) {
      const m = s.memory();
      const ids = ["a", "b", "c"].map((text) => m.appendMessage(user(text)));
      m.appendCompaction("first", ids[1], 10);
      m.appendMessage(user("d"));
      const second = m.appendCompaction("second", ids[2], 20);
      m.appendMessage(user("e"));
      const projection = s.api.buildSessionProjection(m.getEntries());
      return {
        types: projection.entries.map(({ sourceEntry, messages }) => [sourceEntry.type, messages.length]),
        first: projection.entries[0].sourceEntry.id === second,
        texts: projection.messages.map((message) => message.summary ?? message.content),
      };
    },
  },
  {
    name: "single entries",
    run(s) {
      const { m, ids } = entriesOf(s);
      const { sessionEntryToContextMessages, projectContextEntry, getLatestCompactionEntry } = s.api;
      const odd = [
        { type: "message", message: { role: "user" } },
        { type: "message", message: { role: "assistant", content: null } },
        { type: "message", message: { role: "system" } },
        { type: "branch_summary", summary: "" },
        { type: "unknown" },
        { type: "custom_message", customType: "t", display: true, timestamp: "2026-01-01T00:00:00.000Z" },
      ];
      return {
        messages: Object.entries(ids).map(([kind, id]) => [kind, sessionEntryToContextMessages(m.getEntry(id))]),
        same: sessionEntryToContextMessages(m.getEntry(ids.message))[0] === m.getEntry(ids.message).message,
        odd: odd.map((entry) => sessionEntryToContextMessages(entry)),
        edited: [{ content: "x" }, { content: [{ type: "text", text: "y" }] }, null].map((replacement) => projectContextEntry(m.getEntry(ids.answer), { replacement })),
        unedited: projectContextEntry(m.getEntry(ids.message), undefined)[0] === m.getEntry(ids.message).message,
        latest: getLatestCompactionEntry(m.getEntries()) === m.getEntry(ids.compaction),
        none: getLatestCompactionEntry([]),
      };
    },
  },
  {
    name: "parsing text",
    run(s) {
      const parse = s.api.parseSessionEntries;
      return [parse(""), parse("\n\n"), parse('{"type":"session","id":"a"}\nnot json\n{"type":"x"'), parse('  {"a":1}  \r\n[1]\nnull\n5\n"s"'), parse('{"__proto__":1}').map((it) => Object.keys(it))];
    },
  },
  {
    name: "upgrading changes the given objects",
    run(s) {
      const upgrade = (version, entries) => {
        const given = [{ type: "session", id: "a", ...(version && { version }) }, ...entries];
        const kept = [...given];
        const returned = s.api.migrateSessionEntries(given);
        return { returned, same: given.every((entry, index) => entry === kept[index]), given };
      };
      const messages = () => [{ type: "message", message: { role: "hookMessage", content: "x" } }, { type: "compaction", firstKeptEntryIndex: 1, summary: "s" }];
      return { one: upgrade(undefined, messages()), two: upgrade(2, [{ type: "message", id: "b", parentId: null, message: { role: "hookMessage" } }]), three: upgrade(3, messages()), none: s.api.migrateSessionEntries([]) };
    },
  },
  {
    name: "reading a file",
    run(s) {
      const load = s.api.loadEntriesFromFile;
      const header = { type: "session", version: 3, id: "a", timestamp: "2026-01-01T00:00:00.000Z", cwd: s.cwd };
      const whole = s.write(join(s.root, "whole.jsonl"), [header, { type: "message", id: "b", parentId: null, message: user("x") }, "broken", ""]);
      const noHeader = s.write(join(s.root, "none.jsonl"), [{ type: "message", id: "b" }]);
      const empty = join(s.root, "empty.jsonl");
      writeFileSync(empty, "");
      return { whole: load(whole), noHeader: load(noHeader), empty: load(empty), missing: load(join(s.root, "missing")), broken: load(s.write(join(s.root, "broken"), ["x"])) };
    },
  },
  {
    name: "reading a file without a newline at its end",
    run(s) {
      const file = join(s.root, "open.jsonl");
      const text = '{"type":"session","version":3,"id":"a"}\n{"type":"message","id":"b"}';
      writeFileSync(file, text);
      return { entries: s.api.loadEntriesFromFile(file), file: readFileSync(file, "utf8") === text };
    },
  },
  {
    name: "the most recent file",
    run(s) {
      const header = (id, cwd = s.cwd) => ({ type: "session", version: 3, id, timestamp: "2026-01-01T00:00:00.000Z", cwd });
      const write = (name, content, time) => utimesSync(s.write(join(s.dir, name), content), time, time);
      const find = (...args) => s.api.findMostRecentSession(...args)?.split("/").pop() ?? null;
      const none = find(s.dir);
      write("old.jsonl", [header("old")], 1000);
      write("new.jsonl", [header("new", "/elsewhere")], 2000);
      write("newest.jsonl", ["not a session"], 3000);
      write("other.txt", [header("other")], 4000);
      return { none, any: find(s.dir), here: find(s.dir, s.cwd), elsewhere: find(s.dir, "/elsewhere"), nowhere: find(s.dir, "/none") };
    },
  },
  {
    name: "the default directory",
    run(s) {
      const dir = s.api.getDefaultSessionDir("/a/b:c", s.agentDir);
      return { dir, relative: s.api.getDefaultSessionDir("x", s.agentDir).endsWith("-x--"), variable: s.api.getDefaultSessionDir("/a"), made: existsSync(dir) };
    },
  },
  {
    name: "session ids",
    run: (s) => ["a", "a.b", "", "-a", "a\n", "é", "a".repeat(100)].map((id) => caught(() => s.api.assertValidSessionId(id))),
  },
  {
    name: "functions do not change their arguments",
    run(s) {
      const { entries } = entriesOf(s);
      const before = JSON.stringify(entries);
      for (const name of ["buildContextEntries", "buildSessionContext", "buildSessionProjection", "getLatestCompactionEntry"]) s.api[name](entries);
      const frozen = entries.map((entry) => Object.freeze(entry));
      const context = s.api.buildSessionContext(Object.freeze(frozen));
      context.messages.push(user("x"));
      return { same: JSON.stringify(entries) === before, pushed: context.messages.length, answer: assistant("x").role };
    },
  },
];

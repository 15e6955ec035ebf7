// Members that pi's types call private, but that programs of others use: web UIs, workflow extensions, OpenClaw.

import { existsSync } from "node:fs";

import { assistant, caught, texts, user } from "../support/table.mjs";
import { everyKind } from "./identity.mjs";

/** What remains of a session whose entries a program changes before it writes the file again. */
function rewritten(s, change) {
  const m = s.create();
  m.appendMessage(user("a"));
  m.appendMessage(assistant("failed"));
  const before = texts(m.getSessionFile());
  const outcome = caught(() => {
    change(m);
    m._buildIndex();
    m._rewriteFile();
  });
  const after = texts(m.getSessionFile());
  return { outcome: outcome.isError === true, whole: after.every((line) => before.includes(line)), lines: after.length };
}

export const privates = [
  {
    name: "fields can be read",
    run(s) {
      const m = s.create();
      const ids = everyKind(m);
      return {
        sessionId: m.sessionId === m.getSessionId(),
        sessionFile: m.sessionFile === m.getSessionFile(),
        sessionDir: m.sessionDir === m.getSessionDir(),
        cwd: m.cwd === m.getCwd(),
        persist: m.persist,
        flushed: m.flushed,
        leafId: m.leafId === m.getLeafId(),
        fileEntries: [Array.isArray(m.fileEntries), m.fileEntries.length, m.fileEntries[0] === m.getHeader(), m.fileEntries[1] === m.getEntries()[0]],
        byId: [m.byId instanceof Map, m.byId.size, m.byId.get(ids.answer) === m.getEntry(ids.answer)],
        labelsById: [m.labelsById instanceof Map, [...m.labelsById.values()]],
        labelTimestampsById: [m.labelTimestampsById instanceof Map, m.labelTimestampsById.get(ids.answer) === m.getEntry(ids.label).timestamp],
      };
    },
  },
  {
    name: "fields before the file exists, and in memory",
    run(s) {
      const m = s.create();
      const before = [m.flushed, m.persist, m.leafId, m.fileEntries.length];
      m.appendMessage(user("a"));
      const memory = s.memory();
      return { before, after: m.flushed, memory: [memory.flushed, memory.persist, memory.sessionFile, memory.sessionDir] };
    },
  },
  {
    name: "the file is forced into being",
    run(s) {
      const m = s.create();
      m.appendCustomEntry("workflow", { step: 1 });
      const before = existsSync(m.getSessionFile());
      m._rewriteFile();
      m.flushed = true;
      const forced = existsSync(m.getSessionFile()) && texts(m.getSessionFile()).length;
      m.appendCustomEntry("workflow", { step: 2 });
      return { before, forced, after: texts(m.getSessionFile()).length, opened: s.open(m.getSessionFile()).getEntryCount() };
    },
    expect: { before: false, forced: 2, after: 3, opened: 2 },
  },
  {
    name: "the leaf is assigned",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      m.leafId = first;
      const next = m.appendMessage(assistant("c"));
      const parent = m.getEntry(next).parentId === first;
      m.leafId = null;
      const root = m.getEntry(m.appendMessage(user("d"))).parentId;
      return { parent, root };
    },
    expect: { parent: true, root: null },
  },
  {
    name: "history is rewritten by assigning entries",
    run(s) {
      return rewritten(s, (m) => {
        m.fileEntries = m.fileEntries.slice(0, 2);
      });
    },
  },
  {
    name: "history is rewritten by changing entries in place",
    run(s) {
      return rewritten(s, (m) => m.fileEntries.pop());
    },
  },
  {
    name: "own properties on an instance",
    run(s) {
      const m = s.create();
      const key = Symbol("mine");
      m[key] = 1;
      m.__extension = { state: 1 };
      Object.defineProperty(m, "hidden", { value: 2 });
      return { symbol: m[key], object: m.__extension.state, hidden: m.hidden, keys: Object.keys(m).includes("__extension") };
    },
  },
];

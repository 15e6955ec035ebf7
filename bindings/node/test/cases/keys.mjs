// The members of entries and their order, absent values, and what the appends return and write.

import { assistant, lines, texts, usage, user } from "../support/table.mjs";
import { everyKind } from "./identity.mjs";

const keysOf = (m, ids) => Object.fromEntries(Object.entries(ids).map(([kind, id]) => [kind, Object.keys(m.getEntry(id)).join(" ")]));

export const keys = [
  {
    name: "members in memory are in pi's order, absent ones are undefined",
    run(s) {
      const m = s.create();
      return keysOf(m, everyKind(m));
    },
  },
  {
    name: "members without a value exist and are undefined",
    run(s) {
      const m = s.create();
      const ids = { message: m.appendMessage(user("a")) };
      ids.usage = m.appendUsage("k", "p", "m", usage(1)).id;
      ids.custom = m.appendCustomEntry("t");
      ids.customMessage = m.appendCustomMessageEntry("t", "c", false);
      ids.label = m.appendLabelChange(ids.message, undefined);
      ids.compaction = m.appendCompaction("s", ids.message, 1);
      ids.unknownFirst = m.appendCompaction("s", null, 1);
      ids.info = m.appendSessionInfo("n");
      ids.summary = m.branchWithSummary(ids.message, "s");
      ids.root = m.branchWithSummary(null, "s");
      return {
        keys: keysOf(m, ids),
        absent: Object.values(ids).flatMap((id) => Object.entries(m.getEntry(id)).filter(([, value]) => value === undefined).map(([key]) => key)),
        file: texts(m.getSessionFile()).slice(1),
      };
    },
  },
  {
    name: "members of an opened file are those of the file",
    run(s) {
      const m = s.create();
      const ids = everyKind(m);
      const opened = s.open(m.getSessionFile());
      return { keys: keysOf(opened, ids), header: Object.keys(opened.getHeader()).join(" ") };
    },
  },
  {
    name: "odd orders of members of a file stay",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      const file = m.getSessionFile();
      const [header, first, second] = texts(file);
      const { type, id, parentId, timestamp, message } = JSON.parse(first);
      const odd = JSON.stringify({ message, extra: { n: 1 }, timestamp, id, parentId, type });
      const path = `${s.root}/odd.jsonl`;
      s.write(path, [header, odd, second]);
      const opened = s.open(path);
      return { keys: opened.getEntries().map((entry) => Object.keys(entry)), same: JSON.stringify(opened.getEntries()[0]) === odd };
    },
  },
  {
    name: "the header",
    run(s) {
      const m = s.create();
      const child = s.create({ id: "my-id", parentSession: "/parent.jsonl" });
      return {
        keys: Object.keys(m.getHeader()),
        parent: m.getHeader().parentSession,
        given: child.getHeader(),
        id: m.getHeader().id === m.getSessionId(),
        cwd: m.getHeader().cwd === s.cwd,
        version: m.getHeader().version,
        memory: Object.keys(s.memory().getHeader()),
      };
    },
  },
  {
    name: "the header of an opened and of a forked file",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const opened = s.open(m.getSessionFile());
      const forked = s.SessionManager.forkFrom(m.getSessionFile(), s.cwd, s.dir);
      return {
        opened: Object.keys(opened.getHeader()),
        forked: Object.keys(forked.getHeader()),
        parent: forked.getHeader().parentSession === m.getSessionFile(),
        written: Object.keys(lines(forked.getSessionFile())[0]),
      };
    },
  },
  {
    name: "nodes of the tree",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      m.branch(first);
      m.appendMessage(assistant("c"));
      m.appendLabelChange(first, "here");
      const [root] = m.getTree();
      return {
        keys: Object.keys(root),
        label: root.label,
        labelTimestamp: typeof root.labelTimestamp,
        unlabelled: Object.entries(root.children[0]).map(([key, value]) => [key, value === undefined]),
        children: root.children.map((node) => node.entry.message?.content?.[0]?.text),
      };
    },
  },
  {
    name: "projections and contexts",
    run(s) {
      const m = s.create();
      everyKind(m);
      const projection = m.buildSessionProjection();
      return {
        projection: Object.keys(projection),
        entry: Object.keys(projection.entries[0]),
        context: Object.keys(m.buildSessionContext()),
        messages: projection.messages,
        keys: projection.messages.map((message) => Object.keys(message).join(" ")),
        model: projection.model,
        thinkingLevel: projection.thinkingLevel,
        types: m.buildContextEntries().map((entry) => entry.type),
      };
    },
  },
  {
    name: "absent values",
    run(s) {
      const m = s.create();
      const memory = s.memory();
      const id = memory.appendMessage(user("a"));
      return {
        getEntry: m.getEntry("none"),
        getLeafEntry: m.getLeafEntry(),
        getLabel: m.getLabel("none"),
        getSessionName: m.getSessionName(),
        getLeafId: m.getLeafId(),
        getChildren: m.getChildren("none"),
        getBranch: m.getBranch("none"),
        getBranchAtAll: m.getBranch(),
        getTree: m.getTree(),
        getEntries: m.getEntries(),
        getEntryCount: m.getEntryCount(),
        context: m.buildSessionContext(),
        projection: m.buildSessionProjection(),
        memoryFile: memory.getSessionFile(),
        memoryDir: memory.getSessionDir(),
        memoryPersisted: memory.isPersisted(),
        memoryBranched: memory.createBranchedSession(id),
        memoryNew: memory.newSession(),
        branch: m.branch(m.appendMessage(user("b"))),
        resetLeaf: m.resetLeaf(),
        leafAfterReset: m.getLeafId(),
        leafEntryAfterReset: m.getLeafEntry(),
        branchAfterReset: m.getBranch(),
        setSessionFile: m.setSessionFile(m.getSessionFile()),
        newSession: typeof m.newSession(),
      };
    },
  },
  {
    name: "appends return ids, appendUsage the entry",
    run(s) {
      const m = s.create();
      const ids = everyKind(m);
      const entry = m.appendUsage("k", "p", "m", usage(1));
      return {
        ids: Object.values(ids).every((id) => /^[0-9a-f]{8}$/.test(id)),
        distinct: new Set(Object.values(ids)).size === Object.values(ids).length,
        usage: entry.type,
        leaf: m.getLeafId() === entry.id,
        count: m.getEntryCount(),
      };
    },
  },
  {
    name: "the file has the bytes that pi writes",
    run(s) {
      const m = s.create();
      everyKind(m);
      return { text: texts(m.getSessionFile()) };
    },
  },
  {
    name: "texts that are hard to write",
    run(s) {
      const m = s.create();
      const odd = ["\ud800 lone", "\u2028\u2029", "\u0000\u001f\u007f", "😀 Ünïcode", "\\\"/\n\r\t", "", "__proto__"];
      for (const text of odd) m.appendMessage(user(text));
      m.appendCustomEntry("__proto__", JSON.parse('{"__proto__":{"a":1},"1":2,"b":[1e21,-0,1.5e-7]}'));
      m.appendSessionInfo(" \n spaces \u202e ");
      const opened = s.open(m.getSessionFile());
      return {
        same: opened.getEntries().slice(0, odd.length).map((entry) => entry.message.content === odd[m.getEntries().findIndex((it) => it.id === entry.id)]),
        file: texts(m.getSessionFile()).slice(1),
        keys: Object.keys(opened.getEntries().at(-2).data),
        name: opened.getSessionName(),
        nameInMemory: m.getSessionName(),
      };
    },
  },
  {
    name: "toJSON and getters of a message decide what is written",
    run(s) {
      const m = s.create();
      m.appendMessage({ role: "user", get content() { return "got"; }, timestamp: 1, toJSON() { return { role: "user", content: "printed" }; } });
      return { file: lines(m.getSessionFile())[1].message, memory: m.getEntries()[0].message.content };
    },
  },
  {
    name: "names and labels",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const names = ["one", "  two\nlines  ", "", "three"].map((name) => [m.appendSessionInfo(name) && m.getSessionName(), m.getEntries().at(-1).name]);
      const labels = ["one", "two", "", undefined, " spaced "].map((label) => [m.appendLabelChange(first, label) && m.getLabel(first), m.getEntries().at(-1).label]);
      const opened = s.open(m.getSessionFile());
      return { names, labels, opened: [opened.getSessionName(), opened.getLabel(first)] };
    },
  },
  {
    name: "times come from the caller's clock",
    run(s) {
      const m = s.create();
      const times = [Date.UTC(2001, 1, 3), 0, Date.UTC(2100, 0, 1)].map((time) => s.atTime(time, () => m.getEntry(m.appendMessage(user("x"))).timestamp === new Date(time).toISOString()));
      const session = s.atTime(Date.UTC(2001, 1, 3), () => s.create());
      return {
        times,
        header: session.getHeader().timestamp === new Date(Date.UTC(2001, 1, 3)).toISOString(),
        file: session.getSessionFile().includes("2001-02-03T00-00-00-000Z_"),
        id: /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(session.getSessionId()),
      };
    },
  },
];

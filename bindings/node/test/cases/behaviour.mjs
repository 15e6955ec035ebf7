// Behaviour that pi's own tests fix, as tests of our own: contexts, trees, labels, upgrades and files.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { assistant, caught, lines, texts, user } from "../support/table.mjs";

const said = (messages) => messages.map(({ role, content, summary }) => `${role}: ${summary ?? content?.[0]?.text ?? content}`);
const context = (m) => said(m.buildSessionContext().messages);
const tree = (nodes) => nodes.map(({ entry, children, label }) => [entry.message?.content?.[0]?.text ?? entry.message?.content ?? entry.type, ...(label ? [`#${label}`] : []), ...tree(children)]);
const header = (s, more = {}) => ({ type: "session", version: 3, id: "h", timestamp: "2026-01-01T00:00:00.000Z", cwd: s.cwd, ...more });
const entry = (id, parentId, message, time = 1) => ({ type: "message", id, parentId, timestamp: new Date(time * 1000).toISOString(), message });

const contexts = [
  {
    name: "an empty session has an empty context",
    run: (s) => s.memory().buildSessionContext(),
    expect: { messages: [], thinkingLevel: "off", model: null },
  },
  {
    name: "messages come in the order of the branch",
    run(s) {
      const m = s.memory();
      for (const text of ["a", "b"]) {
        m.appendMessage(user(text));
        m.appendMessage(assistant(text.toUpperCase()));
      }
      return context(m);
    },
    expect: ["user: a", "assistant: A", "user: b", "assistant: B"],
  },
  {
    name: "thinking level and model are those of the branch, and an answer names its model",
    run(s) {
      const m = s.memory();
      m.appendThinkingLevelChange("low");
      m.appendModelChange("p", "one");
      const first = m.appendMessage(user("a"));
      const seen = () => [m.buildSessionContext().thinkingLevel, m.buildSessionContext().model];
      const states = [seen()];
      m.appendMessage(assistant("b", { provider: "q", model: "two" }));
      m.appendThinkingLevelChange("high");
      states.push(seen());
      m.branch(first);
      states.push(seen());
      return states;
    },
    expect: [
      ["low", { provider: "p", modelId: "one" }],
      ["high", { provider: "q", modelId: "two" }],
      ["low", { provider: "p", modelId: "one" }],
    ],
  },
  {
    name: "a compaction stands for what was before the first kept entry",
    run(s) {
      const m = s.memory();
      const ids = ["a", "b", "c"].map((text) => m.appendMessage(user(text)));
      m.appendCompaction("so far", ids[1], 10);
      m.appendMessage(user("d"));
      return context(m);
    },
    expect: ["compactionSummary: so far", "user: b", "user: c", "user: d"],
  },
  {
    name: "the last compaction counts, and one without a kept entry keeps nothing",
    run(s) {
      const m = s.memory();
      const ids = ["a", "b"].map((text) => m.appendMessage(user(text)));
      m.appendCompaction("first", ids[1], 10);
      m.appendMessage(user("c"));
      m.appendCompaction("second", null, 10);
      m.appendMessage(user("d"));
      return context(m);
    },
    expect: ["compactionSummary: second", "user: d"],
  },
  {
    name: "a compaction of another branch does not count",
    run(s) {
      const m = s.memory();
      const first = m.appendMessage(user("a"));
      m.appendCompaction("other", first, 10);
      m.branch(first);
      m.appendMessage(user("b"));
      return context(m);
    },
    expect: ["user: a", "user: b"],
  },
  {
    name: "a branch summary is part of the context",
    run(s) {
      const m = s.memory();
      const first = m.appendMessage(user("a"));
      const left = m.appendMessage(user("left"));
      m.branchWithSummary(first, "what was left");
      m.appendMessage(user("b"));
      return { context: context(m), from: m.getEntries().at(-2).fromId === left, parent: m.getEntries().at(-2).parentId === first };
    },
    expect: { context: ["user: a", "branchSummary: what was left", "user: b"], from: true, parent: true },
  },
  {
    name: "entries of extensions: messages count, state does not",
    run(s) {
      const m = s.memory();
      m.appendMessage(user("a"));
      m.appendCustomEntry("state", { x: 1 });
      m.appendCustomMessageEntry("note", "b", false);
      return { context: context(m), branch: m.getBranch().map(({ type }) => type) };
    },
    expect: { context: ["user: a", "custom: b"], branch: ["message", "custom", "custom_message"] },
  },
  {
    name: "a parent that does not exist begins the branch",
    run(s) {
      const m = s.open(s.write(join(s.root, "x.jsonl"), [header(s), entry("aaaaaaaa", null, user("lost")), entry("bbbbbbbb", "cccccccc", user("a")), entry("dddddddd", "bbbbbbbb", user("b"))]));
      return { context: context(m), roots: m.getTree().length };
    },
    expect: { context: ["user: a", "user: b"], roots: 2 },
  },
  {
    name: "context edits replace, remove, and belong to a branch",
    run(s) {
      const m = s.memory();
      const [first, second] = ["a", "b"].map((text) => m.appendMessage(user(text)));
      m.appendContextEdit(first, { content: "A" });
      m.appendContextEdit(second, null);
      const edited = context(m);
      m.appendContextEdit(first, { content: "AA" });
      const again = context(m);
      m.branch(second);
      return { edited, again, elsewhere: context(m) };
    },
    expect: { edited: ["user: A"], again: ["user: AA"], elsewhere: ["user: a", "user: b"] },
  },
];

const trees = [
  {
    name: "appending moves the leaf, branching moves it back",
    run(s) {
      const m = s.memory();
      const first = m.appendMessage(user("a"));
      const second = m.appendMessage(assistant("b"));
      m.branch(first);
      const leaf = m.getLeafId() === first;
      m.appendMessage(assistant("c"));
      m.resetLeaf();
      m.appendMessage(user("d"));
      return { leaf, tree: tree(m.getTree()), children: m.getChildren(first).length, branch: m.getBranch(second).length };
    },
    expect: { leaf: true, tree: [["a", ["b"], ["c"]], ["d"]], children: 2, branch: 2 },
  },
  {
    name: "siblings are sorted by time",
    run(s) {
      const m = s.open(s.write(join(s.root, "x.jsonl"), [header(s), entry("aaaaaaaa", null, user("a")), entry("bbbbbbbb", "aaaaaaaa", user("late"), 30), entry("cccccccc", "aaaaaaaa", user("early"), 20)]));
      return tree(m.getTree());
    },
    expect: [["a", ["early"], ["late"]]],
  },
  {
    name: "a deep tree",
    run(s) {
      const m = s.memory();
      for (let n = 0; n < 3000; n += 1) m.appendMessage(user(String(n)));
      let depth = 0;
      for (let [node] = m.getTree(); node; [node] = node.children) depth += 1;
      return { depth, branch: m.getBranch().length };
    },
    expect: { depth: 3000, branch: 3000 },
  },
  {
    name: "a branched session in memory has only its branch",
    run(s) {
      const m = s.memory();
      const first = m.appendMessage(user("a"));
      m.appendMessage(user("b"));
      m.branch(first);
      const other = m.appendMessage(user("c"));
      m.createBranchedSession(other);
      return { context: context(m), count: m.getEntryCount(), leaf: m.getLeafId() === other };
    },
    expect: { context: ["user: a", "user: c"], count: 2, leaf: true },
  },
];

const labels = [
  {
    name: "the last label counts, and an empty one removes it",
    run(s) {
      const m = s.memory();
      const first = m.appendMessage(user("a"));
      const seen = ["one", "two", ""].map((label) => {
        m.appendLabelChange(first, label);
        return m.getLabel(first);
      });
      return { seen, leaf: m.getLeafEntry().type, context: context(m) };
    },
    expect: { seen: ["one", "two", undefined], leaf: "label", context: ["user: a"] },
  },
  {
    name: "labels are in the tree and survive opening",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      m.appendLabelChange(first, "here");
      return [tree(m.getTree()), tree(s.open(m.getSessionFile()).getTree())];
    },
    expect: [
      [["a", "#here", ["b", ["label"]]]],
      [["a", "#here", ["b", ["label"]]]],
    ],
  },
  {
    name: "a branched session keeps the labels of its branch",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const second = m.appendMessage(assistant("b"));
      const third = m.appendMessage(user("c"));
      m.appendLabelChange(first, "first");
      m.appendLabelChange(third, "third");
      m.createBranchedSession(second);
      return { first: m.getLabel(first), third: m.getLabel(third), types: m.getEntries().map(({ type }) => type) };
    },
    expect: { first: "first", third: undefined, types: ["message", "message", "label"] },
  },
];

const files = [
  {
    name: "lines that are not JSON are passed over",
    run(s) {
      const m = s.open(s.write(join(s.root, "x.jsonl"), [header(s), "{broken", entry("aaaaaaaa", null, user("a")), "", "more"]));
      return context(m);
    },
    expect: ["user: a"],
  },
  {
    name: "an explicit path is kept for an empty and for a missing file",
    run(s) {
      const [empty, missing] = [join(s.root, "empty.jsonl"), join(s.root, "missing.jsonl")];
      writeFileSync(empty, "");
      const opened = [empty, missing].map((path) => s.open(path));
      for (const m of opened) m.appendMessage(user("a"));
      return [empty, missing].map((path, index) => [opened[index].getSessionFile() === path, lines(path).map(({ type }) => type), lines(path)[0].id === opened[index].getSessionId()]);
    },
    expect: [
      [true, ["session", "message"], true],
      [true, ["session", "message"], true],
    ],
  },
  {
    name: "upgraded entries form one chain",
    run(s) {
      const given = [{ type: "session", id: "a" }, { type: "message", message: user("a") }, { type: "message", message: user("b") }];
      s.api.migrateSessionEntries(given);
      const [, first, second] = given;
      const ids = given.map(({ id }) => id);
      s.api.migrateSessionEntries(given);
      return { version: given[0].version, chain: first.parentId === null && second.parentId === first.id, again: given.every(({ id }, index) => id === ids[index]) };
    },
    expect: { version: 3, chain: true, again: true },
  },
  {
    name: "entries of extensions survive opening",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      m.appendCustomEntry("state", { nested: { list: [1, null, "x"] } });
      return s.open(m.getSessionFile()).getEntries()[1].data;
    },
    expect: { nested: { list: [1, null, "x"] } },
  },
  {
    name: "a fork names its source and its project",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const forked = s.SessionManager.forkFrom(m.getSessionFile(), join(s.root, "b"), join(s.root, "forks"));
      forked.appendMessage(user("b"));
      return { parent: forked.getHeader().parentSession === m.getSessionFile(), cwd: forked.getCwd().endsWith("/b"), source: texts(m.getSessionFile()).length, forked: context(forked) };
    },
    expect: { parent: true, cwd: true, source: 2, forked: ["user: a", "user: b"] },
  },
];

/** Three tests of pi fail with pi 1.5.0 itself. Each of these cases shows what holds instead; it must with us, too. */
const failingInPi = [
  {
    name: "expected failure: `truncates and rewrites file without valid header`: opening such a file fails instead",
    run(s) {
      const path = s.write(join(s.root, "x.jsonl"), ["{\"type\":\"message\"}", "text"]);
      const before = readFileSync(path, "utf8");
      const seen = caught(() => s.open(path));
      return { fails: seen.isError, rewritten: readFileSync(path, "utf8") !== before };
    },
    expect: { fails: true, rewritten: false },
  },
  {
    name: "expected failure: `subsequent loads of recovered file work correctly`: the next opening fails, too",
    run(s) {
      const path = s.write(join(s.root, "x.jsonl"), ["text"]);
      return [0, 1].map(() => caught(() => s.open(path)).isError);
    },
    expect: [true, true],
  },
  {
    name: "expected failure: `does not duplicate entries when forking from first user message`: the file exists at once",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      const file = m.createBranchedSession(first);
      const atOnce = existsSync(file);
      m.appendMessage(assistant("c"));
      return { atOnce, types: lines(file).map(({ type }) => type) };
    },
    expect: { atOnce: true, types: ["session", "message", "message"] },
  },
];

export const behaviour = [...contexts, ...trees, ...labels, ...files, ...failingInPi];

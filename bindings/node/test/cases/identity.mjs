// Which objects are the same, which are fresh, and what they are made of.

import { readFileSync, writeFileSync } from "node:fs";

import { assistant, lines, texts, usage, user } from "../support/table.mjs";

/** Makes a session with an entry of every kind on one branch, and returns the ids by kind. */
export function everyKind(m) {
  const ids = {};
  ids.message = m.appendMessage(user("first"));
  ids.answer = m.appendMessage(assistant("second"));
  ids.thinking = m.appendThinkingLevelChange("high");
  ids.model = m.appendModelChange("mock", "mock-2");
  ids.usage = m.appendUsage("cache_warm", "mock", "mock-1", usage(3), "note").id;
  ids.custom = m.appendCustomEntry("state", { n: 1 });
  ids.customMessage = m.appendCustomMessageEntry("note", "for the model", true, { d: 1 });
  ids.info = m.appendSessionInfo("a name");
  ids.label = m.appendLabelChange(ids.answer, "a label");
  ids.edit = m.appendContextEdit(ids.answer, { content: "edited" });
  ids.compaction = m.appendCompaction("summary", ids.customMessage, 100, { read: [] }, true, usage(5));
  ids.after = m.appendMessage(user("third"));
  ids.summary = m.branchWithSummary(ids.compaction, "of a branch", { s: 1 }, true, usage(6));
  ids.last = m.appendMessage(assistant("fourth"));
  return ids;
}

/** Whether each entry is one object, however it is reached. */
function oneObjectPerEntry(m) {
  const entries = m.getEntries();
  const branch = m.getBranch();
  const projection = m.buildSessionProjection();
  const nodes = [];
  const stack = m.getTree();
  while (stack.length > 0) {
    const node = stack.pop();
    nodes.push(node.entry);
    stack.push(...node.children);
  }
  const known = new Set(entries);
  return {
    entries: entries.length,
    again: entries.every((entry, index) => m.getEntries()[index] === entry),
    getEntry: entries.every((entry) => m.getEntry(entry.id) === entry),
    getBranch: branch.length > 3 && branch.every((entry) => known.has(entry)),
    getChildren: entries.every((entry) => m.getChildren(entry.id).every((child) => known.has(child))),
    getTree: nodes.length === entries.length && nodes.every((entry) => known.has(entry)),
    getLeafEntry: m.getLeafEntry() === entries.at(-1),
    buildContextEntries: m.buildContextEntries().every((entry) => known.has(entry)),
    sourceEntry: projection.entries.every(({ sourceEntry }) => known.has(sourceEntry)),
    getHeader: m.getHeader() === m.getHeader(),
  };
}

const everySame = {
  entries: 14,
  again: true,
  getEntry: true,
  getBranch: true,
  getChildren: true,
  getTree: true,
  getLeafEntry: true,
  buildContextEntries: true,
  sourceEntry: true,
  getHeader: true,
};

export const identity = [
  {
    name: "an entry is one object, however it is reached",
    run(s) {
      const m = s.create();
      everyKind(m);
      return oneObjectPerEntry(m);
    },
    expect: everySame,
  },
  {
    name: "an entry of an opened file is one object, however it is reached",
    run(s) {
      const m = s.create();
      everyKind(m);
      return oneObjectPerEntry(s.open(m.getSessionFile()));
    },
    expect: everySame,
  },
  {
    name: "an entry in memory is one object, however it is reached",
    run(s) {
      const m = s.memory();
      everyKind(m);
      return oneObjectPerEntry(m);
    },
    expect: everySame,
  },
  {
    name: "what a caller gives is what is kept",
    run(s) {
      const m = s.create();
      const given = { message: user("x"), data: { a: 1 }, content: [{ type: "text", text: "y" }], details: { b: 2 } };
      const [counts, replacement] = [usage(1), { content: [{ type: "text", text: "z" }] }];
      const message = m.appendMessage(given.message);
      const usageEntry = m.appendUsage("k", "p", "m", counts);
      const custom = m.getEntry(m.appendCustomEntry("t", given.data));
      const customMessage = m.getEntry(m.appendCustomMessageEntry("t", given.content, false, given.details));
      const edit = m.getEntry(m.appendContextEdit(message, replacement));
      const compaction = m.getEntry(m.appendCompaction("s", message, 1, given.details, false, counts));
      const summary = m.getEntry(m.branchWithSummary(message, "s", given.details, false, counts));
      return {
        message: m.getEntry(message).message === given.message,
        usage: usageEntry.usage === counts && m.getEntry(usageEntry.id) === usageEntry,
        custom: custom.data === given.data,
        content: customMessage.content === given.content,
        details: customMessage.details === given.details,
        replacement: edit.replacement === replacement,
        compaction: compaction.details === given.details && compaction.usage === counts,
        summary: summary.details === given.details && summary.usage === counts,
      };
    },
    expect: {
      message: true,
      usage: true,
      custom: true,
      content: true,
      details: true,
      replacement: true,
      compaction: true,
      summary: true,
    },
  },
  {
    name: "a later change of a given object shows in memory, not in the file",
    run(s) {
      const m = s.create();
      const message = user("before");
      const id = m.appendMessage(message);
      message.content = "after";
      m.appendMessage(assistant("answer"));
      return {
        memory: m.getEntry(id).message.content,
        context: m.buildSessionContext().messages[0].content,
        file: lines(m.getSessionFile())[1].message.content,
      };
    },
    expect: { memory: "after", context: "after", file: "before" },
  },
  {
    name: "an object that is changed before the file exists",
    run(s) {
      const m = s.create();
      const data = { step: "before" };
      m.appendCustomEntry("t", data);
      data.step = "after";
      m.appendMessage(user("now"));
      return { file: lines(m.getSessionFile())[1].data.step, memory: m.getEntries()[0].data.step };
    },
  },
  {
    name: "values that JSON cannot hold stay in memory",
    run(s) {
      const m = s.create();
      const when = new Date(5);
      const id = m.appendMessage(user("x", { when, most: Infinity, least: -0, none: undefined, not: NaN }));
      const kept = m.getEntry(id).message;
      return {
        when: kept.when === when,
        most: kept.most,
        least: Object.is(kept.least, -0),
        none: "none" in kept,
        not: kept.not,
        file: texts(m.getSessionFile())[1].split('"when"')[1],
      };
    },
  },
  {
    name: "inMemory keeps the given entries, and their array grows",
    run(s) {
      const source = s.memory();
      everyKind(source);
      const given = [source.getHeader(), ...source.getBranch()];
      const length = given.length;
      const m = s.memory(undefined, given);
      const same = m.getEntries().every((entry, index) => entry === given[index + 1]);
      const header = m.getHeader() === given[0];
      const id = m.appendMessage(user("more"));
      return {
        same,
        header,
        grew: given.length - length,
        last: given.at(-1) === m.getEntry(id),
        leaf: given.at(-1).parentId === given.at(-2).id,
        sessionId: m.getSessionId() === given[0].id,
        messages: m.buildSessionProjection().messages.length,
      };
    },
  },
  {
    name: "messages of the context are the messages of the entries, unless edited",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      const second = m.appendMessage(assistant("b"));
      const third = m.appendMessage(user("c"));
      m.appendContextEdit(second, { content: "edited" });
      m.appendContextEdit(third, null);
      const check = (opened) => {
        const { entries, messages } = opened.buildSessionProjection();
        const context = opened.buildSessionContext();
        return {
          kept: messages[0] === opened.getEntry(first).message,
          inEntries: entries[0].messages[0] === messages[0],
          inContext: context.messages[0] === messages[0],
          edited: messages[1] !== opened.getEntry(second).message,
          editedKeys: Object.keys(messages[1]),
          content: messages[1].content,
          original: opened.getEntry(second).message.content,
          count: messages.length,
          lengths: entries.map((entry) => entry.messages.length),
        };
      };
      return { own: check(m), opened: check(s.open(m.getSessionFile())) };
    },
  },
  {
    name: "arrays, nodes and contexts are fresh at every call",
    run(s) {
      const m = s.create();
      const ids = everyKind(m);
      const fresh = (call) => call() !== call();
      return {
        getEntries: fresh(() => m.getEntries()),
        getBranch: fresh(() => m.getBranch()),
        getChildren: fresh(() => m.getChildren(ids.message)),
        getTree: fresh(() => m.getTree()),
        node: fresh(() => m.getTree()[0]),
        children: fresh(() => m.getTree()[0].children),
        buildContextEntries: fresh(() => m.buildContextEntries()),
        projection: fresh(() => m.buildSessionProjection()),
        projected: fresh(() => m.buildSessionProjection().entries),
        one: fresh(() => m.buildSessionProjection().entries[0]),
        ones: fresh(() => m.buildSessionProjection().entries[0].messages),
        messages: fresh(() => m.buildSessionProjection().messages),
        context: fresh(() => m.buildSessionContext()),
        contextMessages: fresh(() => m.buildSessionContext().messages),
        model: fresh(() => m.buildSessionContext().model),
      };
    },
  },
  {
    name: "a change of a returned array changes nothing else",
    run(s) {
      const m = s.create();
      everyKind(m);
      const count = () => [
        m.getEntries().length,
        m.getBranch().length,
        m.getTree().length,
        m.buildContextEntries().length,
        m.buildSessionProjection().messages.length,
        m.buildSessionContext().messages.length,
        m.getEntryCount(),
      ];
      const before = count();
      m.getEntries().length = 0;
      m.getBranch().push({});
      m.getTree().pop();
      m.buildContextEntries().reverse();
      m.buildSessionProjection().messages.push(user("x"));
      m.buildSessionContext().messages.push(user("x"));
      return { before, after: count() };
    },
  },
  {
    name: "values are plain: they can be cloned, spread, frozen and printed",
    run(s) {
      const m = s.create();
      everyKind(m);
      const opened = s.open(m.getSessionFile());
      const printed = texts(m.getSessionFile()).slice(1);
      const entries = opened.getEntries();
      const cloned = structuredClone(opened.buildSessionContext().messages);
      return {
        prototypes: entries.every((entry) => Object.getPrototypeOf(entry) === Object.prototype),
        printed: entries.every((entry, index) => JSON.stringify(entry) === printed[index]),
        spread: entries.every((entry, index) => JSON.stringify({ ...entry }) === printed[index]),
        cloned: JSON.stringify(cloned) === JSON.stringify(opened.buildSessionContext().messages),
        clonedEntries: JSON.stringify(structuredClone(entries)) === `[${printed.join()}]`,
        frozen: entries.every((entry) => Object.isFrozen(Object.freeze(entry)) && "type" in entry),
        afterwards: JSON.stringify(opened.getEntries()) === `[${printed.join()}]`,
        keys: entries.every((entry) => Object.keys(entry).length === Object.getOwnPropertyNames(entry).length),
        symbols: entries.every((entry) => Object.getOwnPropertySymbols(entry).length === 0),
        header: JSON.stringify(opened.getHeader()) === texts(m.getSessionFile())[0],
      };
    },
  },
  {
    name: "a member of an opened entry can be replaced",
    run(s) {
      const m = s.create();
      const id = m.appendMessage(user("old"));
      m.appendMessage(assistant("b"));
      const opened = s.open(m.getSessionFile());
      const entry = opened.getEntry(id);
      entry.message = user("new");
      entry.extra = 1;
      return {
        context: opened.buildSessionContext().messages[0].content,
        branch: opened.getBranch()[0].message.content,
        extra: opened.getEntries()[0].extra,
        keys: Object.keys(entry),
        file: lines(m.getSessionFile())[1].message.content,
      };
    },
  },
  {
    name: "objects that a program holds stay the same while everything is read",
    run(s) {
      const m = s.create();
      const ids = [];
      for (let n = 0; n < 50; n += 1) ids.push(m.appendMessage(user(String(n))));
      const opened = s.open(m.getSessionFile());
      const held = ids.map((id) => opened.getEntry(id));
      const messages = held.map((entry) => entry.message);
      for (let n = 0; n < 3; n += 1) JSON.stringify(opened.getEntries());
      const context = opened.buildSessionContext().messages;
      return {
        entries: held.every((entry, index) => opened.getEntry(ids[index]) === entry),
        messages: held.every((entry, index) => entry.message === messages[index]),
        context: context.every((message, index) => message === messages[index]),
      };
    },
    expect: { entries: true, messages: true, context: true },
  },
  {
    name: "characters of every kind, and bytes that are not UTF-8, in lines of another program",
    run(s) {
      const m = s.create();
      m.appendMessage(user("plain"));
      m.appendMessage(assistant("end"));
      const file = m.getSessionFile();
      const [header, first] = readFileSync(file, "utf8").split("\n");
      const written = (id, content) => first.replace(/"id":"[^"]*"/, `"id":"${id}"`).replace('"plain"', content).replace('"parentId":null', '"parentId":"0000000a"');
      const texts = ['"é ÿ \u0080"', '"漢字 \uffff"', '"😀 \u{10ffff}"', '"\\ud800 \\u00e9 é"', '[{"type":"text","text":"ключ","ключ":"é\\\\é\\"é"}]'];
      const bytes = [header, first.replace(/"id":"[^"]*"/, '"id":"0000000a"'), ...texts.map((text, n) => written(`0000001${n}`, text))];
      // Cut and stray bytes, a surrogate, and a form that is too long.
      const odd = Buffer.from(written("0000002a", '"<é>"'));
      const at = odd.indexOf("<");
      const raw = Buffer.from([0xc3, 0x28, 0xe6, 0xbc, 0xff, 0xed, 0xa0, 0x80, 0xc0, 0xaf, 0xf0, 0x9f, 0x98]);
      writeFileSync(file, Buffer.concat([Buffer.from(bytes.join("\n") + "\n"), odd.subarray(0, at), raw, odd.subarray(at), Buffer.from("\n")]));
      const opened = s.open(file);
      const context = opened.buildSessionContext().messages.map(({ content }) => content);
      return { context, entries: s.open(file).getEntries().map((entry) => entry.message.content) };
    },
  },
  {
    name: "messages of a context are those of the entries that are asked for later",
    run(s) {
      const m = s.create();
      const ids = [];
      for (let n = 0; n < 50; n += 1) ids.push(m.appendMessage(user(n % 7 ? `plain ${n}` : `wide é漢 ${n}`)));
      m.appendMessage(assistant("end"));
      const opened = s.open(m.getSessionFile());
      const context = opened.buildSessionContext().messages;
      const [, second] = ids;
      const isSame = (entries) => entries.length === 51 && entries.every((entry, index) => entry.message === context[index]);
      context[1].content = "changed";
      return {
        found: opened.getEntry(second).message === context[1],
        entries: isSame(opened.getEntries()),
        branch: isSame(opened.getBranch()),
        projection: opened.buildSessionProjection().entries.every(({ messages }, index) => messages[0] === context[index]),
        context: opened.buildSessionContext().messages.every((message, index) => message === context[index]),
        changed: opened.getEntry(second).message.content,
        contents: context.map(({ content }) => content),
      };
    },
  },
  {
    name: "a context with an older compaction among its entries",
    run(s) {
      const m = s.create();
      const first = m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      m.appendCompaction("older", first, 10);
      m.appendMessage(user("c"));
      m.appendCompaction("newer", first, 20);
      m.appendMessage(assistant("d"));
      const opened = s.open(m.getSessionFile());
      return [m, opened].map((manager) => manager.buildSessionContext().messages.map(({ role, summary }) => [role, summary]));
    },
  },
  {
    name: "the context of a file whose messages have more members",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      const file = m.getSessionFile();
      const changed = file.replace(/\.jsonl$/, "-more.jsonl");
      const text = readFileSync(file, "utf8").replace(/\}\n/g, ',"extra":{"message":{"content":"no"}}}\n').replace(/,"extra"[^\n]*/, "}");
      writeFileSync(changed, text);
      const opened = s.open(changed);
      const context = opened.buildSessionContext().messages;
      return { contents: context.map(({ content }) => content), extra: opened.getEntries().map(({ extra }) => extra), same: opened.getEntries()[0].message === context[0] };
    },
  },
  {
    name: "entries of a branch that becomes a session of its own",
    run(s) {
      const m = s.create();
      const ids = [m.appendMessage(user("a")), m.appendMessage(assistant("b"))];
      const held = ids.map((id) => m.getEntry(id));
      m.createBranchedSession(ids[1]);
      return {
        texts: m.getEntries().map((entry) => JSON.stringify(entry) === JSON.stringify(held.find(({ id }) => id === entry.id))),
        same: ids.map((id, index) => m.getEntry(id) === held[index]),
        readable: held.map((entry) => entry.message.role),
      };
    },
  },
];

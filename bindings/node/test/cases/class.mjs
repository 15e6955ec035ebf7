// The class itself: methods, statics, constructor, subclasses and patched instances.

import { join } from "node:path";

import { assistant, caught, texts, user } from "../support/table.mjs";

export const METHODS = `setSessionFile newSession isPersisted getCwd getSessionDir usesDefaultSessionDir getSessionId
  getSessionFile _persist appendMessage appendThinkingLevelChange appendModelChange appendUsage appendCompaction
  appendCustomEntry appendSessionInfo getSessionName appendCustomMessageEntry appendContextEdit getLeafId getLeafEntry
  getEntry getChildren getLabel appendLabelChange getBranch buildContextEntries buildSessionProjection
  buildSessionContext getHeader getEntryCount getEntries getTree branch resetLeaf branchWithSummary
  createBranchedSession`.split(/\s+/);

export const STATICS = "create open continueRecent inMemory forkFrom findById list listAll".split(" ");

const shape = (holder, name) => {
  const found = Object.getOwnPropertyDescriptor(holder, name);
  return found && [typeof found.value, found.writable, found.enumerable, found.configurable].join(" ");
};

export const classes = [
  {
    name: "methods are on the prototype, statics on the class",
    run: (s) => ({
      methods: METHODS.map((name) => [name, shape(s.SessionManager.prototype, name)]),
      statics: STATICS.map((name) => [name, shape(s.SessionManager, name)]),
      names: METHODS.every((name) => s.SessionManager.prototype[name].name === name),
      constructor: s.SessionManager.prototype.constructor === s.SessionManager,
      called: caught(() => s.SessionManager("x")).name,
    }),
  },
  {
    name: "methods take the arguments that pi's take",
    run: (s) => METHODS.map((name) => [name, s.SessionManager.prototype[name].length]),
  },
  {
    name: "instances",
    run(s) {
      const m = s.create();
      m.mine = 1;
      return {
        instance: m instanceof s.SessionManager,
        prototype: Object.getPrototypeOf(m) === s.SessionManager.prototype,
        extensible: Object.isExtensible(m),
        own: m.mine,
        listed: Object.keys(m).includes("mine"),
        memory: s.memory() instanceof s.SessionManager,
      };
    },
  },
  {
    name: "the constructor",
    run(s) {
      const { SessionManager } = s;
      const fresh = new SessionManager(s.cwd, s.dir, undefined, true);
      fresh.appendMessage(user("a"));
      const file = fresh.getSessionFile();
      const opened = new SessionManager(s.cwd, s.dir, file, true);
      const memory = new SessionManager(s.cwd, "", undefined, false, { id: "given" });
      const entries = [memory.getHeader(), { type: "message", id: "aaaaaaaa", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: user("b") }];
      const loaded = new SessionManager(s.cwd, "", undefined, false, undefined, entries);
      return {
        fresh: [fresh.isPersisted(), fresh.getCwd(), fresh.getSessionDir(), texts(file).length],
        opened: [opened.getSessionId() === fresh.getSessionId(), opened.getEntryCount()],
        memory: [memory.isPersisted(), memory.getSessionId(), memory.getSessionFile()],
        loaded: [loaded.getEntryCount(), loaded.getEntries()[0] === entries[1], loaded.getSessionId()],
      };
    },
  },
  {
    name: "statics of a subclass make the class itself",
    run(s) {
      class Mine extends s.SessionManager {}
      const m = Mine.create(s.cwd, s.dir);
      m.appendMessage(user("a"));
      const all = [m, Mine.open(m.getSessionFile()), Mine.inMemory(s.cwd), Mine.continueRecent(s.cwd, s.dir), Mine.forkFrom(m.getSessionFile(), s.cwd, s.dir)];
      return { mine: all.map((it) => it instanceof Mine), base: all.map((it) => it instanceof s.SessionManager) };
    },
  },
  {
    name: "a subclass can override and call methods",
    run(s) {
      const calls = [];
      class Mine extends s.SessionManager {
        appendMessage(message) {
          calls.push(message.role);
          return super.appendMessage(message);
        }
      }
      const m = new Mine(s.cwd, s.dir, undefined, true);
      const id = m.appendMessage(user("a"));
      return { calls, mine: m instanceof Mine, kept: m.getEntry(id).message.content, file: texts(m.getSessionFile()).length };
    },
  },
  {
    name: "a detached method fails",
    run(s) {
      const m = s.create();
      m.appendMessage(user("a"));
      const { getEntries, appendMessage, getLeafId, getTree } = m;
      const fails = (call) => caught(call).isError === true;
      return {
        fails: [fails(() => getEntries()), fails(() => appendMessage(user("b"))), fails(() => getLeafId()), fails(() => getTree())],
        other: fails(() => s.SessionManager.prototype.getEntries.call({})),
        bound: getEntries.call(m).length,
        count: m.getEntryCount(),
      };
    },
  },
  {
    name: "statics need no receiver",
    run(s) {
      const { create, open, inMemory, findById } = s.SessionManager;
      const m = create(s.cwd, s.dir);
      m.appendMessage(user("a"));
      return {
        open: open(m.getSessionFile()).getEntryCount(),
        inMemory: inMemory(s.cwd).getEntryCount(),
        findById: findById(s.cwd, m.getSessionId(), s.dir) === m.getSessionFile(),
      };
    },
  },
  {
    name: "a patched instance is called by others, not by itself",
    run(s) {
      const m = s.create();
      const calls = [];
      const original = m.appendMessage.bind(m);
      m.appendMessage = (message) => {
        calls.push(message.role);
        return original(message);
      };
      const getEntries = m.getEntries.bind(m);
      m.getEntries = () => getEntries().slice(0, 1);
      m.appendMessage(user("a"));
      m.appendMessage(assistant("b"));
      const custom = m.appendCustomMessageEntry.bind(m);
      m.appendCustomMessageEntry = (...args) => custom(...args);
      m.appendCustomMessageEntry("t", "c", true);
      return {
        calls,
        patched: m.getEntries().length,
        count: m.getEntryCount(),
        branch: m.getBranch().length,
        own: Object.hasOwn(m, "appendMessage"),
        file: texts(m.getSessionFile()).length,
      };
    },
  },
  {
    name: "a spy on the prototype sees the calls of others",
    run(s) {
      const { prototype } = s.SessionManager;
      const original = prototype.appendMessage;
      let calls = 0;
      prototype.appendMessage = function (...args) {
        calls += 1;
        return original.apply(this, args);
      };
      try {
        const m = s.create();
        m.appendMessage(user("a"));
        m.appendMessage(assistant("b"));
        return { calls, count: m.getEntryCount() };
      } finally {
        prototype.appendMessage = original;
      }
    },
    expect: { calls: 2, count: 2 },
  },
  {
    name: "a call inside another call",
    run(s) {
      const m = s.create();
      let inner;
      const message = { role: "user", content: "outer", timestamp: 1, toJSON() {
        inner ??= m.getEntryCount();
        return { role: "user", content: "outer", timestamp: 1 };
      } };
      m.appendMessage(message);
      return { inner: typeof inner, count: m.getEntryCount(), file: texts(m.getSessionFile()).length };
    },
  },
  {
    name: "paths and directories",
    run(s) {
      const m = s.create();
      const inDefault = s.SessionManager.create(s.cwd);
      const file = join(s.dir, "named.jsonl");
      const named = s.open(file);
      const before = [named.getSessionFile(), named.getCwd() === process.cwd(), named.getEntryCount(), named.getSessionDir()];
      named.appendMessage(user("a"));
      return {
        dir: m.getSessionDir(),
        cwd: m.getCwd(),
        usesDefault: [m.usesDefaultSessionDir(), inDefault.usesDefaultSessionDir()],
        inDefault: inDefault.getSessionDir(),
        file: m.getSessionFile().startsWith(s.dir),
        before,
        after: texts(file).length,
        override: s.open(file, s.root, "/elsewhere").getCwd(),
        overrideDir: s.open(file, s.root).getSessionDir(),
        derived: s.open(file).getSessionDir(),
        header: s.open(file, undefined, "/elsewhere").getHeader().cwd === "/elsewhere",
      };
    },
  },
];

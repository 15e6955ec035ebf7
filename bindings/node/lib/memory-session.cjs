"use strict";
// A session without a file: an array of entries, as in pi.
//
// Nothing crosses to native code. pi makes such sessions twice a turn, from entries that exist already.

const native = require("./native.cjs");
const { failure } = require("./errors.cjs");
const entriesOf = require("./entries.cjs");

class MemorySession {
  persist = false;
  isStored = false;
  sessionFile = undefined;
  lastDurability = "memory";

  /** The header and all entries. */
  #entries;
  /** How many of them count: what a program adds to the given array itself does not. */
  #length;
  #byId;
  #labels;

  /** Starts a session, or continues with the given entries, which it keeps. */
  constructor(cwd, sessionDir, options, entries) {
    this.cwd = cwd;
    this.sessionDir = sessionDir;
    const header = entries?.find((entry) => entry?.type === "session");
    if (header) {
      entriesOf.migrateSessionEntries(entries);
      this.#entries = entries;
    } else {
      if (options?.id !== undefined) entriesOf.assertValidSessionId(options.id);
      const begun = {
        type: "session",
        version: entriesOf.CURRENT_SESSION_VERSION,
        id: options?.id ?? native.newSessionId(new Date().getTime()),
        timestamp: new Date().toISOString(),
        cwd,
        parentSession: options?.parentSession,
      };
      this.#entries = entries?.length ? [begun].concat(entries) : [begun];
    }
    this.#begin();
  }

  #begin() {
    this.#length = this.#entries.length;
    this.#byId = this.#labels = undefined;
    this.sessionId = this.header.id;
    const last = this.#entries[this.#length - 1];
    const isEntry = last !== undefined && last !== null && last.type !== "session";
    this.leafId = isEntry ? last.id : (this.#own().at(-1)?.id ?? null);
  }

  /** The entries without headers. */
  #own() {
    const isPlain = this.#entries.length === this.#length && this.#entries[0]?.type === "session";
    const entries = isPlain ? this.#entries.slice(1) : this.#entries.slice(0, this.#length);
    return entries.filter((entry) => entry?.type !== "session");
  }

  get #index() {
    this.#byId ??= new Map(this.#own().map((entry) => [entry.id, entry]));
    return this.#byId;
  }

  get header() {
    return this.#entries.find((entry) => entry?.type === "session") ?? null;
  }

  get entryCount() {
    return this.#index.size;
  }

  has(id) {
    return this.#index.has(id);
  }

  entry(id) {
    return this.#index.get(id);
  }

  leafEntry() {
    return this.leafId ? this.#index.get(this.leafId) : undefined;
  }

  entries() {
    return this.#own();
  }

  branch(fromId) {
    const id = fromId ?? this.leafId;
    if (!id) return [];
    const leaf = this.#index.get(id);
    return leaf ? entriesOf.sessionPath([leaf], id, this.#index) : [];
  }

  children(parentId) {
    return [...this.#index.values()].filter((entry) => entry.parentId === parentId);
  }

  #readLabels() {
    this.#labels ??= new entriesOf.Labels(this.#own().filter((entry) => entry.type === "label"));
    return this.#labels;
  }

  get labels() {
    return this.#readLabels().labels;
  }

  get labelTimes() {
    return this.#readLabels().times;
  }

  name() {
    return entriesOf.nameIn(this.#entries.findLast((entry) => entry?.type === "session_info"));
  }

  tree() {
    const { labels, times } = this.#readLabels();
    const entries = this.#own();
    const nodes = new Map();
    for (const entry of entries) {
      nodes.set(entry.id, { entry, children: [], label: labels.get(entry.id), labelTimestamp: times.get(entry.id) });
    }
    const roots = [];
    for (const { id, parentId } of entries) {
      const isRoot = parentId === null || parentId === id;
      ((isRoot ? undefined : nodes.get(parentId)?.children) ?? roots).push(nodes.get(id));
    }
    const time = (node) => new Date(node.entry.timestamp).getTime();
    for (const { children } of nodes.values()) {
      if (children.length > 1) children.sort((one, other) => time(one) - time(other));
    }
    return roots;
  }

  contextEntries() {
    return entriesOf.buildContextEntries(this.#own(), this.leafId, this.#byId);
  }

  projection() {
    return entriesOf.buildSessionProjection(this.#own(), this.leafId, this.#byId);
  }

  context() {
    return this.projection();
  }

  /** Adds an entry that `make` makes of an id, a parent and a time. */
  append(_type, _own, make, options) {
    if (options?.expectedLeaf !== undefined && options.expectedLeaf !== this.leafId) {
      throw failure("LEAF_MOVED", `the session has changed: its leaf is ${this.leafId}, not ${options.expectedLeaf}`);
    }
    const parentId = options?.parent === undefined ? this.leafId : options.parent;
    const id = entriesOf.freshId((id) => this.#index.has(id));
    const entry = make(id, parentId, new Date().toISOString());
    this.#entries.push(entry);
    this.#length = this.#entries.length;
    this.#index.set(id, entry);
    this.leafId = id;
    if (entry.type === "label") this.#labels?.take(entry);
    return entry;
  }

  appendCompaction(compaction, options) {
    const { summary, firstKeptEntryId, tokensBefore, details, fromHook, usage } = compaction;
    const system = this.projection().messages.filter((message) => message.role === "system");
    const texts = system.map((message) => JSON.stringify(message));
    const make = (id, parentId, timestamp) => {
      const combined = texts.length > 0 ? native.checkpointOf(texts, Date.parse(timestamp)) : null;
      return {
        type: "compaction",
        id,
        parentId,
        timestamp,
        summary,
        firstKeptEntryId: firstKeptEntryId ?? id,
        tokensBefore,
        details,
        usage,
        fromHook,
        ...(combined ? { systemMessage: JSON.parse(combined) } : {}),
      };
    };
    return this.append("compaction", undefined, make, options);
  }

  moveLeaf(id) {
    this.leafId = id;
  }

  refresh() {}

  persistNow() {}

  next(options) {
    return new MemorySession(this.cwd, this.sessionDir, options);
  }

  /** The path to an entry as a session: without label entries, which follow as new ones. */
  branched(leafId) {
    const path = [];
    const replaced = new Map();
    let waiting = [];
    let parentId = null;
    for (const entry of this.branch(leafId)) {
      if (entry.type === "label") {
        waiting.push(entry.id);
        continue;
      }
      for (const id of waiting) replaced.set(id, entry.id);
      waiting = [];
      const copy = { ...entry, parentId };
      if (entry.type === "compaction" && entry.firstKeptEntryId !== entry.id) {
        copy.firstKeptEntryId = replaced.get(entry.firstKeptEntryId) ?? entry.firstKeptEntryId;
      }
      path.push(copy);
      parentId = entry.id;
    }
    const taken = new Set(path.map((entry) => entry.id));
    const { labels, times } = this.#readLabels();
    const kept = [...labels].filter(([targetId]) => taken.has(targetId));
    for (const [targetId, label] of kept) {
      const id = entriesOf.freshId((id) => taken.has(id));
      path.push({ type: "label", id, parentId, timestamp: times.get(targetId), targetId, label });
      taken.add(id);
      parentId = id;
    }
    const branched = this.next();
    branched.#entries.push(...path);
    branched.#begin();
    return branched;
  }

  retire() {}

  close() {}

  // For programs that use pi's private members: everything is in memory, so all of it works as in pi.

  get fileEntries() {
    return this.#entries;
  }

  set fileEntries(entries) {
    this.#entries = entries;
    this.#length = entries.length;
  }

  /** Makes the index of a changed array again, as pi's `_buildIndex` does. */
  rebuild() {
    this.#begin();
  }

  get byId() {
    return this.#index;
  }
}

module.exports = { MemorySession };

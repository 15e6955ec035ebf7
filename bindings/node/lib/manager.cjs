"use strict";
// pi's SessionManager on the engine.

const { resolve } = require("node:path");
const entriesOf = require("./entries.cjs");
const { failure, notSupported } = require("./errors.cjs");
const { fieldsOf, notFound } = require("./fields.cjs");
const { FileSession } = require("./file-session.cjs");
const { follow } = require("./follow.cjs");
const { cancellable, list, listAll } = require("./listing.cjs");
const { MemorySession } = require("./memory-session.cjs");
const native = require("./native.cjs");
const { begin, create, openFile } = require("./opening.cjs");
const { normalizePath, pathsEqual, resolvePath, surroundings } = require("./paths.cjs");
const { search, verify } = require("./searching.cjs");

/** Marks a call of the constructor with a session that is open already. */
const OPENED = Symbol("opened");

const dispose = Symbol.dispose ?? Symbol.for("nodejs.dispose");

// A parameter beyond pi's has a default, so that it does not count in the length of its method.
class SessionManager {
  #session;

  static #fields = fieldsOf((manager) => manager.#session);

  constructor(cwd, sessionDir, sessionFile, persist, newSessionOptions, preloadedFileEntries) {
    this.#session =
      cwd === OPENED ? sessionDir : begin(cwd, sessionDir, sessionFile, persist, newSessionOptions, preloadedFileEntries);
    Object.defineProperties(this, SessionManager.#fields);
  }

  #switch(session) {
    this.#session.retire();
    this.#session = session;
  }

  setSessionFile(sessionFile) {
    const current = this.#session;
    const next = begin(current.cwd, current.sessionDir, sessionFile, current.persist);
    this.#switch(next);
  }

  newSession(options) {
    if (options?.id !== undefined) entriesOf.assertValidSessionId(options.id);
    const { sessionFile, persist } = this.#session;
    this.#switch(this.#session.next(options));
    if (!persist) this.#session.sessionFile = sessionFile;
    return this.#session.sessionFile;
  }

  _buildIndex() {
    if (this.#session.persist) this.#session.checkUnchanged("_buildIndex()");
    else this.#session.rebuild();
  }

  _rewriteFile() {
    if (!this.#session.persist) return;
    this.#session.checkUnchanged("_rewriteFile()");
    this.#session.persistNow();
  }

  isPersisted() {
    return this.#session.persist;
  }

  getCwd() {
    return this.#session.cwd;
  }

  getSessionDir() {
    return this.#session.sessionDir;
  }

  usesDefaultSessionDir() {
    const { cwd, sessionDir } = this.#session;
    return pathsEqual(sessionDir, native.defaultSessionDir(surroundings(), cwd));
  }

  getSessionId() {
    return this.#session.sessionId;
  }

  getSessionFile() {
    return this.#session.sessionFile;
  }

  _persist(entry) {
    if (!this.#session.persist) return;
    if (this.#session.entry(entry.id) !== entry) throw notSupported("_persist() of an entry that was not appended");
  }

  appendMessage(message, options = undefined) {
    const make = (id, parentId, timestamp) => ({ type: "message", id, parentId, timestamp, message });
    return this.#session.append("message", { message }, make, options).id;
  }

  appendThinkingLevelChange(thinkingLevel, options = undefined) {
    const make = (id, parentId, timestamp) => ({ type: "thinking_level_change", id, parentId, timestamp, thinkingLevel });
    return this.#session.append("thinking_level_change", { thinkingLevel }, make, options).id;
  }

  appendModelChange(provider, modelId, options = undefined) {
    const make = (id, parentId, timestamp) => ({ type: "model_change", id, parentId, timestamp, provider, modelId });
    return this.#session.append("model_change", { provider, modelId }, make, options).id;
  }

  appendUsage(kind, provider, model, usage, note, options = undefined) {
    const own = { kind, provider, model, usage, ...(note ? { note } : {}) };
    const make = (id, parentId, timestamp) => ({ type: "usage", id, parentId, timestamp, ...own });
    return this.#session.append("usage", own, make, options);
  }

  appendCompaction(summary, firstKeptEntryId, tokensBefore, details, fromHook, usage, options = undefined) {
    const compaction = { summary, firstKeptEntryId, tokensBefore, details, fromHook, usage };
    return this.#session.appendCompaction(compaction, options).id;
  }

  appendCustomEntry(customType, data, options = undefined) {
    const make = (id, parentId, timestamp) => ({ type: "custom", customType, data, id, parentId, timestamp });
    return this.#session.append("custom", { customType, data }, make, options, true).id;
  }

  appendSessionInfo(name, options = undefined) {
    const own = { name: name.replace(/[\r\n]+/g, " ").trim() };
    const make = (id, parentId, timestamp) => ({ type: "session_info", id, parentId, timestamp, ...own });
    return this.#session.append("session_info", own, make, options).id;
  }

  getSessionName() {
    return this.#session.name();
  }

  appendCustomMessageEntry(customType, content, display, details, options = undefined) {
    const own = { customType, content, display, details };
    const make = (id, parentId, timestamp) => ({ type: "custom_message", ...own, id, parentId, timestamp });
    return this.#session.append("custom_message", own, make, options, true).id;
  }

  appendContextEdit(targetId, replacement, options = undefined) {
    const isContent = (value) => typeof value === "string" || Array.isArray(value);
    if (replacement !== null && (typeof replacement !== "object" || !isContent(replacement.content))) {
      throw failure("INVALID_ARGUMENT", "Context edit replacement must be null or contain string/array content");
    }
    const session = this.#session;
    const target = session.entry(targetId);
    if (!target) throw notFound(targetId);
    if (!session.branch().includes(target)) {
      throw failure("INVALID_ARGUMENT", `Entry ${targetId} is not on the active branch`);
    }
    const role = target.type === "custom_message" ? "custom" : target.type === "message" ? target.message?.role : undefined;
    if (!["custom", "user", "assistant", "toolResult"].includes(role) || (role === "custom" && target.type === "message")) {
      throw failure("INVALID_ARGUMENT", `Entry ${targetId} does not contribute editable model content`);
    }
    const isText = replacement !== null && typeof replacement.content === "string";
    const asBlocks = isText && (role === "assistant" || role === "toolResult");
    const own = { targetId, replacement: asBlocks ? { content: entriesOf.asBlocks(replacement.content) } : replacement };
    const make = (id, parentId, timestamp) => ({ type: "context_edit", id, parentId, timestamp, ...own });
    return session.append("context_edit", own, make, options).id;
  }

  getLeafId() {
    return this.#session.leafId;
  }

  getLeafEntry() {
    return this.#session.leafEntry();
  }

  getEntry(id) {
    return this.#session.entry(id);
  }

  getChildren(parentId) {
    return this.#session.children(parentId);
  }

  getLabel(id) {
    return this.#session.labels.get(id);
  }

  appendLabelChange(targetId, label, options = undefined) {
    if (!this.#session.has(targetId)) throw notFound(targetId);
    const own = { targetId, label };
    const make = (id, parentId, timestamp) => ({ type: "label", id, parentId, timestamp, ...own });
    return this.#session.append("label", own, make, options).id;
  }

  getBranch(fromId) {
    return this.#session.branch(fromId);
  }

  buildContextEntries() {
    return this.#session.contextEntries();
  }

  buildSessionProjection() {
    return this.#session.projection();
  }

  buildSessionContext() {
    const { messages, thinkingLevel, model } = this.#session.context();
    return { messages, thinkingLevel, model };
  }

  getHeader() {
    return this.#session.header;
  }

  getEntryCount() {
    return this.#session.entryCount;
  }

  getEntries() {
    return this.#session.entries();
  }

  getTree() {
    return this.#session.tree();
  }

  branch(branchFromId) {
    if (!this.#session.has(branchFromId)) throw notFound(branchFromId);
    this.#session.moveLeaf(branchFromId);
  }

  resetLeaf() {
    this.#session.moveLeaf(null);
  }

  branchWithSummary(branchFromId, summary, details, fromHook, usage, options = undefined) {
    const session = this.#session;
    if (branchFromId !== null && !session.has(branchFromId)) throw notFound(branchFromId);
    const own = { fromId: session.leafId ?? "root", summary, details, usage, fromHook };
    const make = (id, parentId, timestamp) => ({ type: "branch_summary", id, parentId, timestamp, ...own });
    return session.append("branch_summary", own, make, { ...options, parent: branchFromId }).id;
  }

  createBranchedSession(leafId) {
    const session = this.#session;
    const leaf = leafId ?? session.leafId;
    if (!leaf || !session.has(leaf)) throw notFound(leafId);
    this.#switch(session.branched(leaf));
    if (!session.persist) this.#session.sessionFile = session.sessionFile;
    return session.persist ? this.#session.sessionFile : undefined;
  }

  // Beyond pi

  /** Reads what other programs have appended. The leaf stays where it is. */
  refresh() {
    this.#session.refresh();
  }

  /** What the last append survives: "memory", "page-cache", "disk" or "server"; undefined before the first one. */
  getLastDurability() {
    return this.#session.lastDurability;
  }

  /** Finds entries of this session by their text. */
  search(query, options = {}) {
    return search(query, { ...options, files: this.#session.isStored ? [this.#session.sessionFile] : [] });
  }

  /** Follows this session as other programs write it. */
  follow(options) {
    return follow(this.#required("follow"), options);
  }

  /** Finds everything that is wrong with the file of this session. */
  async verify() {
    return this.#session.isStored ? verify(this.#session.sessionFile) : [];
  }

  /** The sessions that this one was forked from, and those that were forked from it. */
  async family(options = {}) {
    const path = this.#required("family");
    return cancellable(options.signal, (cancellation) => native.family(surroundings(), path, this.#store(), cancellation));
  }

  /** The usage and the shape of this session. */
  async stats(options = {}) {
    const path = this.#required("stats");
    return cancellable(options.signal, (cancellation) => native.stats(surroundings(), path, this.#store(), cancellation));
  }

  /** Releases the file and its lock. Entries that were read stay readable; everything else fails. */
  close() {
    this.#session.close();
  }

  [dispose]() {
    this.close();
  }

  #required(what) {
    if (this.#session.isStored) return this.#session.sessionFile;
    throw failure("NOT_FOUND", `${what} needs a session that was saved`);
  }

  /** The session directory, unless it is in pi's store. */
  #store() {
    return this.usesDefaultSessionDir() ? undefined : this.#session.sessionDir || undefined;
  }

  // pi's static methods: they make a SessionManager, whatever class they are called on.

  static create(cwd, sessionDir, options) {
    return new SessionManager(OPENED, create(resolvePath(cwd), sessionDir ? normalizePath(sessionDir) : undefined, options));
  }

  static open(path, sessionDir, cwdOverride, options = undefined) {
    const file = resolvePath(path);
    const dir = sessionDir ? normalizePath(sessionDir) : resolve(file, "..");
    const cwd = cwdOverride === undefined ? undefined : resolvePath(cwdOverride);
    return new SessionManager(OPENED, openFile(file, dir, cwd, options));
  }

  static continueRecent(cwd, sessionDir, options = undefined) {
    const dir = sessionDir ? normalizePath(sessionDir) : undefined;
    const handle = native.continueRecent(surroundings(options), resolvePath(cwd), dir);
    return new SessionManager(OPENED, new FileSession(handle));
  }

  static inMemory(cwd = process.cwd(), options, entries) {
    return new SessionManager(OPENED, new MemorySession(resolvePath(cwd), "", options, entries));
  }

  static forkFrom(sourcePath, targetCwd, sessionDir, options) {
    if (options?.id !== undefined) entriesOf.assertValidSessionId(options.id);
    const dir = sessionDir ? normalizePath(sessionDir) : undefined;
    const [source, cwd] = [resolvePath(sourcePath), resolvePath(targetCwd)];
    const handle = native.forkFrom(surroundings(options), source, cwd, dir, options?.id);
    return new SessionManager(OPENED, new FileSession(handle));
  }

  static findById(cwd, id, sessionDir) {
    const dir = sessionDir ? normalizePath(sessionDir) : undefined;
    return native.findById(surroundings(), resolvePath(cwd), id, dir) ?? undefined;
  }

  static async list(cwd, sessionDir, onProgress, signal) {
    return list(cwd, sessionDir, onProgress, signal);
  }

  static async listAll(sessionDirOrOnProgress, onProgressOrSignal, signal) {
    return listAll(sessionDirOrOnProgress, onProgressOrSignal, signal);
  }

  // Beyond pi

  /** Finds entries by their text: in all sessions, or in those of a working directory. */
  static search(query, options) {
    return search(query, options);
  }

  /** Follows a session file as other programs write it. */
  static follow(path, options) {
    return follow(path, options);
  }

  /** Finds everything that is wrong with a session file. */
  static verify(path) {
    return verify(path);
  }
}

module.exports = { SessionManager };

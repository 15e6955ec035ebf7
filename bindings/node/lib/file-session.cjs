"use strict";
// One session of the engine, as JavaScript objects.
//
// The engine answers in rows and lines, and the table makes entries out of them. What the getters of a manager return are
// plain fields here. Branch, context and list of entries are kept, and extended by appends.

const entriesOf = require("./entries.cjs");
const { EntryTable } = require("./entry-table.cjs");
const { notSupported } = require("./errors.cjs");
const { release, track } = require("./handles.cjs");

class FileSession {
  persist = true;

  #native;
  #header;
  #table;
  #nRows;
  #numbering;
  #leafRow;
  /** The branch to the leaf and all entries, once they were asked for; undefined if they must be made again. */
  #branch;
  #all;
  /** The rows of the context, and those that set model and thinking level. */
  #context;
  #labels;
  #nameRow;
  #name;
  /** The array of the last `fileEntries`. */
  #handed;

  constructor(handle) {
    this.#native = handle;
    track(this, handle);
    this.#header = JSON.parse(handle.header());
    this.sessionId = this.#header.id;
    const status = handle.status();
    this.#takeStatus(status);
    this.#table = new EntryTable(handle, status, () => this.refresh());
    if (this.#nRows === 1 && !("parentSession" in this.#header)) this.#header.parentSession = undefined;
    this.leafId = this.#leafRow < 0 ? null : this.#table.at(this.#leafRow).id;
  }

  #takeStatus(status) {
    this.cwd = status.cwd;
    this.sessionDir = status.sessionDir;
    this.sessionFile = status.file ?? undefined;
    this.isStored = status.isStored;
    this.entryCount = status.nIds;
    this.#nRows = status.nRows;
    this.#numbering = status.numbering;
    this.#leafRow = status.leafRow;
    this.#nameRow = status.nameRow;
    this.#name = undefined;
  }

  /** Forgets everything that entries of other programs may have changed. */
  #forget() {
    this.#branch = this.#all = this.#context = this.#labels = this.#handed = undefined;
  }

  /** Learns of rows that other programs have added, or of other numbers of all rows. */
  #catchUp() {
    const status = this.#native.status();
    const isRenumbered = status.numbering !== this.#numbering;
    this.#takeStatus(status);
    if (isRenumbered) this.#table.renumber(status);
    else this.#table.grow(status);
    this.#forget();
  }

  /** Reads something; again after a refresh if another program has rewritten the file. */
  #stable(read) {
    try {
      return read();
    } catch (error) {
      if (error.code !== "IO") throw error;
      this.refresh();
      return read();
    }
  }

  // What managers ask for

  get header() {
    return this.#header;
  }

  has(id) {
    return this.#table.known(id) !== undefined || this.#table.rowOf(id) >= 0;
  }

  entry(id) {
    return this.#table.known(id) ?? this.#stable(() => this.#table.find(id));
  }

  leafEntry() {
    return this.#leafRow < 0 ? undefined : this.#stable(() => this.#table.at(this.#leafRow));
  }

  entries() {
    this.#all ??= this.#stable(() => this.#table.all(this.#native.entryRows(0)));
    return this.#all.slice();
  }

  branch(fromId) {
    const id = fromId ?? this.leafId;
    if (!id) return [];
    if (id === this.leafId) {
      this.#branch ??= this.#stable(() => this.#table.all(this.#native.branchRows()));
      return this.#branch.slice();
    }
    return this.#stable(() => {
      const row = this.#table.rowOf(id);
      return row < 0 ? [] : this.#table.all(this.#native.branchRows(row));
    });
  }

  children(parentId) {
    if (parentId !== null && typeof parentId !== "string") return [];
    return this.#stable(() => this.#table.all(this.#native.childRows(parentId)));
  }

  #readLabels() {
    this.#labels ??= new entriesOf.Labels(this.#stable(() => this.#table.all(this.#native.rowsOf("label"))));
    return this.#labels;
  }

  get labels() {
    return this.#readLabels().labels;
  }

  get labelTimes() {
    return this.#readLabels().times;
  }

  name() {
    if (this.#nameRow >= 0) {
      this.#name = entriesOf.nameIn(this.#stable(() => this.#table.at(this.#nameRow)));
      this.#nameRow = -1;
    }
    return this.#name;
  }

  tree() {
    const { labels, times } = this.#readLabels();
    const { nodes, entries } = this.#stable(() => {
      const nodes = this.#native.tree();
      return { nodes, entries: this.#table.all(nodes.filter((_, index) => index % 2 === 0)) };
    });
    const roots = [];
    const open = [];
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index];
      const node = { entry, children: [], label: labels.get(entry.id), labelTimestamp: times.get(entry.id) };
      const depth = nodes[2 * index + 1];
      (depth === 0 ? roots : open[depth - 1].children).push(node);
      open[depth] = node;
    }
    return roots;
  }

  // The context

  #contextRows() {
    if (!this.#context) {
      const { rows, thinkingLevel, model } = this.#native.contextRows();
      this.#context = { rows: Array.from(rows), level: thinkingLevel, model };
    }
    return this.#context;
  }

  contextEntries() {
    return this.#stable(() => this.#table.all(this.#contextRows().rows));
  }

  projection() {
    return this.#stable(() => {
      const { rows, level, model } = this.#contextRows();
      const entries = this.#table.allLoaded(rows);
      const at = (row) => (row < 0 ? undefined : this.#table.at(row));
      return { ...entriesOf.projectEntries(entries), ...entriesOf.settingsOf(at(level), at(model)) };
    });
  }

  /** The messages, the thinking level and the model of `projection`, without making entries of the messages. */
  context() {
    return this.#stable(() => {
      const { rows, level, model } = this.#contextRows();
      const messages = [];
      let isEdited = false;
      const onMessage = (message) => {
        if (message !== undefined && message !== null) messages.push(entriesOf.withContent(message));
      };
      const onEntry = (entry, index) => {
        isEdited ||= entry.type === "context_edit";
        // Only the newest compaction, which comes first, contributes.
        if (index === 0 || entry.type !== "compaction") messages.push(...entriesOf.sessionEntryToContextMessages(entry));
      };
      this.#table.eachContent(rows, onMessage, onEntry);
      // Edits need to know the entries that they replace.
      if (isEdited) return this.projection();
      const at = (row) => (row < 0 ? undefined : this.#table.at(row));
      return { messages, ...entriesOf.settingsOf(at(level), at(model)) };
    });
  }

  // Writing

  /**
   * Writes an entry and keeps the object that `make` makes of its id, its parent and its time.
   *
   * `own` has the members of the entry besides the common ones; `isFirst` says that they come before those.
   */
  append(type, own, make, options, isFirst = false) {
    const date = new Date();
    const text = JSON.stringify(own);
    const target = targetOf(options);
    if (target) {
      const written = this.#native.appendTo(type, text, isFirst, date.getTime(), target);
      return this.#take(written, this.#parentOf(target), date, make, text.length);
    }
    const written = this.#native.append(type, text, isFirst, date.getTime(), this.#nRows, this.#numbering);
    if (typeof written !== "string") return this.#take(written, this.leafId, date, make, text.length);
    return this.#takeNext(written.slice(0, ID_LENGTH), written.slice(ID_LENGTH), make, text.length);
  }

  #parentOf(target) {
    if (target?.moves) return target.parent ?? null;
    return target?.expects ? (target.expectedLeaf ?? null) : this.leafId;
  }

  /** Writes a compaction. The engine adds the system message in force. */
  appendCompaction(compaction, options) {
    const date = new Date();
    const { summary, firstKeptEntryId, tokensBefore, details, fromHook, usage } = compaction;
    const target = targetOf(options) ?? NO_TARGET;
    const written = this.#native.appendCompaction(
      {
        summary: String(summary),
        firstKeptEntryId: firstKeptEntryId ?? undefined,
        tokensBefore: Number(tokensBefore),
        details: JSON.stringify(details),
        usage: JSON.stringify(usage),
        fromHook: fromHook === undefined ? undefined : Boolean(fromHook),
      },
      date.getTime(),
      target,
    );
    const line = this.#native.line(written.row);
    const { systemMessage } = JSON.parse(line);
    const make = (id, parentId, timestamp) => ({
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
      ...(systemMessage ? { systemMessage } : {}),
    });
    return this.#take(written, this.#parentOf(target), date, make, line.length);
  }

  #take({ id, row, numbering }, parentId, date, make, length) {
    const isNext = numbering === this.#numbering && row === this.#nRows && parentId === this.leafId;
    if (isNext) return this.#takeNext(id, date.toISOString(), make, length);
    const entry = this.#table.adopt(row, make(id, parentId, date.toISOString()), length);
    this.#catchUp();
    this.#table.put(row, entry);
    this.leafId = id;
    return entry;
  }

  /** Takes an entry that was written below the leaf, in the row after the last known one. */
  #takeNext(id, timestamp, make, length) {
    const row = this.#nRows++;
    const entry = this.#table.adopt(row, make(id, this.leafId, timestamp), length);
    this.entryCount++;
    this.#leafRow = row;
    this.#extend(entry, row);
    if (!this.isStored) this.#takeFile();
    this.#table.put(row, entry);
    this.leafId = id;
    return entry;
  }

  /** Adds a new leaf to what is known of the branch, the context, the labels and the name. */
  #extend(entry, row) {
    this.#all?.push(entry);
    this.#branch?.push(entry);
    if (this.#context) {
      if (entry.type === "compaction") this.#context = undefined;
      else {
        this.#context.rows.push(row);
        if (entry.type === "thinking_level_change") this.#context.level = row;
        else if (entriesOf.setsModel(entry)) this.#context.model = row;
      }
    }
    if (entry.type === "label" && this.#labels) {
      this.#labels.take(entry);
    } else if (entry.type === "session_info") {
      this.#nameRow = row;
    }
  }

  /** The first message creates the file, which may get another name if that one is taken. */
  #takeFile() {
    const status = this.#native.status();
    this.isStored = status.isStored;
    this.sessionFile = status.file ?? undefined;
  }

  moveLeaf(id) {
    const row = id === null ? -1 : this.#table.rowOf(id);
    this.#native.moveLeaf(id, new Date().getTime());
    this.#leafRow = row;
    this.leafId = id;
    this.#branch = this.#context = undefined;
  }

  refresh() {
    this.#native.refresh(new Date().getTime());
    this.#catchUp();
  }

  persistNow() {
    if (!this.isStored) {
      this.#native.persistNow(new Date().getTime());
      this.#catchUp();
    }
  }

  get lastDurability() {
    return this.#native.lastDurable() ?? undefined;
  }

  // Other sessions

  next(options) {
    const { id, parentSession } = options ?? {};
    return new FileSession(this.#native.nextSession(new Date().getTime(), id, parentSession));
  }

  branched(leafId) {
    return new FileSession(this.#native.branchedSession(new Date().getTime(), leafId));
  }

  /** Leaves this session for another one. Entries that were handed out stay readable. */
  retire() {
    this.#native.retire();
  }

  close() {
    this.#native.close();
    release(this);
  }

  // For programs that use pi's private members

  get fileEntries() {
    this.#handed = [this.#header, ...this.entries()];
    return this.#handed;
  }

  set fileEntries(_entries) {
    throw notSupported("assigning fileEntries");
  }

  /** Throws if a program has changed the array that `fileEntries` returned. */
  checkUnchanged(what) {
    const handed = this.#handed;
    if (!handed) return;
    const entries = this.entries();
    const isSame = handed.length === entries.length + 1 && entries.every((entry, index) => handed[index + 1] === entry);
    this.#handed = undefined;
    if (!isSame) throw notSupported(`${what} after changing fileEntries`);
  }

  get byId() {
    return new Map(this.entries().map((entry) => [entry.id, entry]));
  }
}

/** The length of the ids that the engine makes. */
const ID_LENGTH = 8;

const NO_TARGET = { expects: false, moves: false };

/** Where an entry goes, for native code; undefined for the leaf without conditions. */
function targetOf(options) {
  if (!options || (options.expectedLeaf === undefined && options.parent === undefined)) return undefined;
  return {
    expects: options.expectedLeaf !== undefined,
    expectedLeaf: options.expectedLeaf ?? undefined,
    moves: options.parent !== undefined,
    parent: options.parent ?? undefined,
  };
}

module.exports = { FileSession };

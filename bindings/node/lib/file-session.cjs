"use strict";
// One session of the engine, as JavaScript objects.
//
// The engine answers in rows and lines. This class makes entries out of them when they are asked for, and remembers
// them, so that there is one object per entry. What the getters of a manager return are plain fields here.

const { failure, notSupported } = require("./errors.cjs");
const entriesOf = require("./entries.cjs");
const { Lazy, PayloadCache, lazyEntry, messageSkeleton } = require("./lazy.cjs");
const { release, track } = require("./handles.cjs");

/** Rows whose lines cross at a time. */
const BATCH = 1024;

/** The number of characters of a message's head: id, parent and time. */
const HEAD = 40;

class FileSession {
  persist = true;

  #native;
  #header;
  /** Entries by row; a hole for each that was not asked for. */
  #entries;
  /** Rows by id, for the ids that were asked for. */
  #rows = new Map();
  #payloads = new PayloadCache();
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
    this.#takeStatus(handle.status());
    this.#entries = new Array(this.#nRows);
    if (this.#nRows === 1 && !("parentSession" in this.#header)) this.#header.parentSession = undefined;
    this.leafId = this.#leafRow < 0 ? null : this.#entryAt(this.#leafRow).id;
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
    const numbering = this.#numbering;
    this.#takeStatus(this.#native.status());
    if (this.#numbering !== numbering) this.#renumber();
    this.#entries.length = this.#nRows;
    this.#forget();
  }

  /** Finds the known entries again after the file was read again. */
  #renumber() {
    const known = this.#entries.filter((entry) => typeof entry?.id === "string");
    const rows = this.#native.findAll(known.map((entry) => entry.id));
    this.#entries = new Array(this.#nRows);
    this.#rows.clear();
    known.forEach((entry, index) => {
      if (Lazy.is(entry)) Lazy.setRow(entry, rows[index]);
      if (rows[index] >= 0) this.#entries[rows[index]] = entry;
    });
  }

  // Entries

  #entryAt(row) {
    return this.#entries[row] ?? (this.#make([row]), this.#entries[row]);
  }

  /** The entries of some rows. */
  #entriesAt(rows) {
    const missing = [];
    for (const row of rows) if (this.#entries[row] === undefined) missing.push(row);
    if (missing.length > 0) this.#make(missing);
    const entries = new Array(rows.length);
    for (let index = 0; index < rows.length; index++) entries[index] = this.#entries[rows[index]];
    return entries;
  }

  /** Makes entries: messages without their payloads, all others from their lines. */
  #make(rows) {
    for (let start = 0; start < rows.length; start += BATCH) {
      const batch = rows.slice(start, start + BATCH);
      const { kinds, heads, lines } = this.#native.forms(Uint32Array.from(batch));
      const text = heads.latin1Slice(0, heads.length);
      let at = 0;
      let line = 0;
      for (let index = 0; index < batch.length; index++) {
        const row = batch[index];
        if (kinds[index] === 0) {
          this.#entries[row] = this.#fromLine(row, lines, line++);
          continue;
        }
        const id = text.slice(at, at + 8);
        const parentId = kinds[index] === 2 ? null : text.slice(at + 8, at + 16);
        this.#entries[row] = messageSkeleton(this, row, id, parentId, text.slice(at + 16, at + HEAD));
        // A repeated id means its last row, which native code finds.
        if (this.entryCount === this.#nRows - 1) this.#rows.set(id, row);
        at += HEAD;
      }
    }
  }

  #fromLine(row, lines, index) {
    const start = index === 0 ? 0 : lines.ends[index - 1] + 1;
    const end = lines.ends[index];
    return lazyEntry(this, row, JSON.parse(lines.bytes.utf8Slice(start, end)), end - start);
  }

  /** Makes the entries of some rows with their payloads, many lines at a time. */
  #loadAll(rows) {
    const isWanted = (row) => {
      const entry = this.#entries[row];
      return entry === undefined || (typeof entry === "object" && entry !== null && Lazy.is(entry) && !Lazy.hasPayload(entry));
    };
    const wanted = rows.filter(isWanted);
    for (let start = 0; start < wanted.length; start += BATCH) {
      const batch = wanted.slice(start, start + BATCH);
      const lines = this.#native.lines(Uint32Array.from(batch));
      batch.forEach((row, index) => {
        const entry = this.#entries[row];
        if (entry === undefined) {
          this.#entries[row] = this.#fromLine(row, lines, index);
          return;
        }
        const from = index === 0 ? 0 : lines.ends[index - 1] + 1;
        this.#fill(entry, JSON.parse(lines.bytes.utf8Slice(from, lines.ends[index])), lines.ends[index] - from);
      });
    }
  }

  #fill(entry, parsed, length) {
    Lazy.fill(entry, parsed);
    this.#payloads.keep(entry, length);
  }

  /** Reads the payload of an entry, for its accessors, and returns it. */
  loadPayload(entry, row) {
    let line;
    try {
      line = this.#lineOf(entry, row);
    } catch (error) {
      if (error.code === "SESSION_CLOSED") throw error;
      // Another program has rewritten the file. The entry may be elsewhere now.
      this.refresh();
      const found = this.#native.find(entry.id);
      if (found < 0) throw error;
      line = this.#native.line(found);
    }
    const parsed = JSON.parse(line);
    this.#fill(entry, parsed, line.length);
    return parsed;
  }

  #lineOf(entry, row) {
    if (row < 0) throw failure("NOT_FOUND", `Entry ${entry.id} not found`);
    return this.#native.line(row);
  }

  keepPayload(entry, length) {
    this.#payloads.keep(entry, length);
  }

  pinPayload(entry) {
    this.#payloads.pin(entry);
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

  #rowOf(id) {
    if (typeof id !== "string") return -1;
    const known = this.#rows.get(id);
    if (known !== undefined) return known;
    const row = this.#native.find(id);
    if (row >= 0) this.#rows.set(id, row);
    return row;
  }

  // What managers ask for

  get header() {
    return this.#header;
  }

  has(id) {
    return this.#rowOf(id) >= 0;
  }

  entry(id) {
    const known = this.#entries[this.#rows.get(id)];
    if (known !== undefined) return known;
    return this.#stable(() => {
      const row = this.#rowOf(id);
      return row < 0 ? undefined : this.#entryAt(row);
    });
  }

  leafEntry() {
    return this.#leafRow < 0 ? undefined : this.#stable(() => this.#entryAt(this.#leafRow));
  }

  entries() {
    this.#all ??= this.#stable(() => this.#entriesAt(this.#native.entryRows(0)));
    return this.#all.slice();
  }

  branch(fromId) {
    const id = fromId ?? this.leafId;
    if (!id) return [];
    if (id === this.leafId) {
      this.#branch ??= this.#stable(() => this.#entriesAt(this.#native.branchRows()));
      return this.#branch.slice();
    }
    return this.#stable(() => {
      const row = this.#rowOf(id);
      return row < 0 ? [] : this.#entriesAt(this.#native.branchRows(row));
    });
  }

  children(parentId) {
    if (parentId !== null && typeof parentId !== "string") return [];
    return this.#stable(() => this.#entriesAt(this.#native.childRows(parentId)));
  }

  #readLabels() {
    if (!this.#labels) {
      const entries = this.#stable(() => this.#entriesAt(this.#native.rowsOf("label")));
      this.#labels = { labels: new Map(), times: new Map() };
      for (const entry of entries) entriesOf.takeLabel(entry, this.#labels.labels, this.#labels.times);
    }
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
      this.#name = entriesOf.nameIn(this.#stable(() => this.#entryAt(this.#nameRow)));
      this.#nameRow = -1;
    }
    return this.#name;
  }

  tree() {
    const { labels, times } = this.#readLabels();
    const { nodes, entries } = this.#stable(() => {
      const nodes = this.#native.tree();
      return { nodes, entries: this.#entriesAt(nodes.filter((_, index) => index % 2 === 0)) };
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
    return this.#stable(() => this.#entriesAt(this.#contextRows().rows));
  }

  projection() {
    return this.#stable(() => {
      const { rows, level, model } = this.#contextRows();
      this.#loadAll(rows);
      const entries = this.#entriesAt(rows);
      this.#payloads.touch(entries);
      const at = (row) => (row < 0 ? undefined : this.#entryAt(row));
      return { ...entriesOf.projectEntries(entries), ...entriesOf.settingsOf(at(level), at(model)) };
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
    const written = target
      ? this.#native.appendTo(type, text, isFirst, date.getTime(), target)
      : this.#native.append(type, text, isFirst, date.getTime());
    return this.#take(written, this.#parentOf(target), date, make, text.length);
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

  #take(written, parentId, date, make, length) {
    const { id, row, numbering } = written;
    const isNext = numbering === this.#numbering && row === this.#nRows && parentId === this.leafId;
    const made = make(id, parentId, date.toISOString());
    const entry = lazyEntry(this, row, made, length);
    if (isNext) {
      this.#nRows++;
      this.entryCount++;
      this.#leafRow = row;
      this.#extend(entry, row);
      if (!this.isStored) this.#takeFile();
    } else {
      this.#catchUp();
    }
    this.#entries[row] = entry;
    this.#rows.set(id, row);
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
      entriesOf.takeLabel(entry, this.#labels.labels, this.#labels.times);
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
    const row = id === null ? -1 : this.#rowOf(id);
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

"use strict";
// The entries of a session by row.
//
// An entry is made out of its line, or of its head, when it is asked for. There is one object per entry.

const { failure } = require("./errors.cjs");
const { Lazy, PayloadCache, lazyEntry, messageSkeleton } = require("./lazy.cjs");

/** Rows whose lines cross at a time, if they fit into the buffer. */
const BATCH = 8192;

/** The size of the buffer. Node keeps strings over 1 MB out of its heap, so that a batch costs no garbage collection. */
const BUFFER_SIZE = 2 << 20;

/** The buffer for lines, made when it is needed first. It is kept, because new memory costs more than copying the lines. */
let buffer;

/** Rows whose heads cross at a time, with the lines of those that are not messages. */
const HEADS_BATCH = 1024;

/** The number of characters of a message's head: id, parent and time. */
const HEAD = 40;

class EntryTable {
  #native;
  #refresh;
  /** Entries by row; a hole for each that was not asked for. */
  #entries;
  /** Messages by row, whose entries were not asked for. */
  #messages = new Map();
  /** Entries by id, for those that were asked for. */
  #byId = new Map();
  /** Whether no id is repeated. A repeated id means its last entry, which native code finds. */
  #isUnique;
  #payloads = new PayloadCache();

  /** `refresh` reads a file again that another program has rewritten. */
  constructor(handle, status, refresh) {
    this.#native = handle;
    this.#refresh = refresh;
    this.#entries = new Array(status.nRows);
    this.#isUnique = isUnique(status);
  }

  /** Learns of rows that other programs have added. */
  grow(status) {
    this.#entries.length = status.nRows;
    this.#isUnique = isUnique(status);
    if (!this.#isUnique) this.#byId.clear();
  }

  /** Finds the known entries again after the file was read again. */
  renumber(status) {
    const known = this.#entries.filter((entry) => typeof entry?.id === "string");
    const rows = this.#native.findAll(known.map((entry) => entry.id));
    this.#entries = new Array(status.nRows);
    this.#messages.clear();
    this.#byId.clear();
    this.#isUnique = isUnique(status);
    known.forEach((entry, index) => {
      if (Lazy.is(entry)) Lazy.setRow(entry, rows[index]);
      if (rows[index] >= 0) this.#entries[rows[index]] = entry;
    });
  }

  /** Adds the entry that a program has appended. */
  put(row, entry) {
    this.#entries[row] = entry;
  }

  /** Makes an entry of an object that a program appends. */
  adopt(row, made, length) {
    return lazyEntry(this, row, made, length);
  }

  rowOf(id) {
    return typeof id === "string" ? this.#native.find(id) : -1;
  }

  /** The entry with this id if it was asked for before. */
  known(id) {
    return this.#byId.get(id);
  }

  /** The entry with this id. */
  find(id) {
    const row = this.rowOf(id);
    if (row < 0) return undefined;
    const entry = this.at(row);
    this.#byId.set(id, entry);
    return entry;
  }

  at(row) {
    return this.#entries[row] ?? (this.#make([row]), this.#entries[row]);
  }

  /** The entries of some rows. */
  all(rows) {
    const missing = [];
    for (const row of rows) if (this.#entries[row] === undefined) missing.push(row);
    if (missing.length > 0) this.#make(missing);
    const entries = new Array(rows.length);
    for (let index = 0; index < rows.length; index++) entries[index] = this.#entries[rows[index]];
    return entries;
  }

  /** Like `all`, with the payloads: many lines at a time. */
  allLoaded(rows) {
    this.#loadAll(rows, false);
    const entries = this.all(rows);
    this.#payloads.touch(entries);
    return entries;
  }

  /**
   * Calls `onMessage` with the message of each row that is a message, and `onEntry` with the entry of each other one.
   *
   * Does not make entries of messages that were not asked for.
   */
  eachContent(rows, onMessage, onEntry) {
    this.#loadAll(rows, true);
    const entries = this.#entries;
    for (let index = 0; index < rows.length; index++) {
      const entry = entries[rows[index]];
      if (entry === undefined) onMessage(this.#messages.get(rows[index]));
      else if (entry.type === "message") onMessage(entry.message);
      else onEntry(entry, index);
    }
  }

  /** Reads the payloads of some rows that are missing, with their entries, or only the messages where they are enough. */
  #loadAll(rows, isMessageEnough) {
    const wanted = [];
    for (const row of rows) {
      const entry = this.#entries[row];
      if (entry === undefined ? !this.#messages.has(row) : isEmpty(entry)) wanted.push(row);
    }
    for (let start = 0; start < wanted.length; ) start += this.#load(wanted.slice(start, start + BATCH), isMessageEnough);
  }

  /** Loads the first of some rows. Returns their number. */
  #load(rows, isMessageEnough) {
    buffer ??= Buffer.allocUnsafeSlow(BUFFER_SIZE);
    const lines = new Lines(this.#native.lines(new Uint32Array(rows), buffer));
    const entries = this.#entries;
    for (let index = 0; index < lines.count; index++) {
      const row = rows[index];
      const entry = entries[row];
      const message = entry === undefined && isMessageEnough ? this.#nextMessage(lines) : undefined;
      if (message !== undefined) {
        this.#messages.set(row, message);
        continue;
      }
      const parsed = lines.next();
      if (entry === undefined) entries[row] = lazyEntry(this, row, parsed, lines.length);
      else this.#fill(entry, parsed, lines.length);
    }
    return lines.count;
  }

  /** The next line's message alone, if it may stay for as long as the session. */
  #nextMessage(lines) {
    if (!lines.isMessage() || !this.#payloads.hasRoom(lines.nextLength())) return undefined;
    const message = lines.nextMessage();
    if (message !== undefined) this.keepsPlain(lines.length);
    return message;
  }

  /** A parsed line, with the message that was read before it. */
  #withMessage(row, parsed) {
    const message = this.#messages.get(row);
    if (message !== undefined) {
      parsed.message = message;
      this.#messages.delete(row);
    }
    return parsed;
  }

  /** Makes entries: messages without their payloads, all others from their lines. */
  #make(rows) {
    for (let start = 0; start < rows.length; start += HEADS_BATCH) {
      const batch = rows.slice(start, start + HEADS_BATCH);
      const forms = this.#native.forms(new Uint32Array(batch));
      const { kinds, heads } = forms;
      const lines = new Lines(forms.lines);
      const text = heads.latin1Slice(0, heads.length);
      let at = 0;
      for (let index = 0; index < batch.length; index++) {
        const row = batch[index];
        if (kinds[index] === 0) {
          const parsed = this.#withMessage(row, lines.next());
          this.#entries[row] = lazyEntry(this, row, parsed, lines.length);
          continue;
        }
        const id = text.slice(at, at + 8);
        const parentId = kinds[index] === 2 ? null : text.slice(at + 8, at + 16);
        const entry = messageSkeleton(this, row, id, parentId, text.slice(at + 16, at + HEAD));
        if (this.#messages.has(row)) Lazy.fill(entry, this.#withMessage(row, {}));
        this.#entries[row] = entry;
        if (this.#isUnique) this.#byId.set(id, entry);
        at += HEAD;
      }
    }
  }

  #fill(entry, parsed, length) {
    Lazy.fill(entry, parsed);
    this.#payloads.keep(entry, length);
  }

  // For the accessors of entries

  /** Reads and returns the payload of an entry. */
  loadPayload(entry, row) {
    let line;
    try {
      if (row < 0) throw failure("NOT_FOUND", `Entry ${entry.id} not found`);
      line = this.#native.line(row);
    } catch (error) {
      if (error.code === "SESSION_CLOSED") throw error;
      // Another program has rewritten the file. The entry may be elsewhere now.
      this.#refresh();
      const found = this.#native.find(entry.id);
      if (found < 0) throw error;
      line = this.#native.line(found);
    }
    const parsed = JSON.parse(line);
    this.#fill(entry, parsed, line.length);
    return parsed;
  }

  keepsPlain(length) {
    return this.#payloads.keepsPlain(length);
  }

  keepPayload(entry, length) {
    this.#payloads.keep(entry, length);
  }

  pinPayload(entry) {
    this.#payloads.pin(entry);
  }
}

/** Whether an entry has lost its payload, or never had it. */
const isEmpty = (entry) => typeof entry === "object" && Lazy.is(entry) && !Lazy.hasPayload(entry);

/** Parses lines one after the other. */
class Lines {
  #ends;
  #messages;
  /** All lines as one string. Slices of it are not copied. */
  #text;
  #index = 0;
  #start = 0;

  constructor({ bytes, ends, messages }) {
    this.#ends = ends;
    this.#messages = messages;
    this.#text = (bytes ?? buffer).latin1Slice(0, ends.at(-1) ?? 0);
    this.count = ends.length;
    /** The length of the last parsed line in bytes. */
    this.length = 0;
  }

  /** The value of the next line. */
  next() {
    const parsed = JSON.parse(this.#text.slice(this.#start, this.#ends[this.#index]));
    this.#goOn();
    return parsed;
  }

  nextLength() {
    return this.#ends[this.#index] - this.#start;
  }

  /** Whether the next line may be a message as pi writes it. */
  isMessage() {
    return this.#messages[this.#index] !== 0;
  }

  /** The message of such a line. If the line has more members, returns nothing and does not go on. */
  nextMessage() {
    const from = this.#start + this.#messages[this.#index];
    let message;
    try {
      message = JSON.parse(this.#text.slice(from, this.#ends[this.#index] - 1));
    } catch {
      return undefined;
    }
    this.#goOn();
    return message;
  }

  #goOn() {
    const end = this.#ends[this.#index++];
    this.length = end - this.#start;
    this.#start = end + 1;
  }
}

/** Whether every row but the header is an entry with an id of its own. */
const isUnique = (status) => status.nIds === status.nRows - 1;

module.exports = { EntryTable };

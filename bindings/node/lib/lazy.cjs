"use strict";
// Entries whose large members are read when they are asked for.
//
// Such an entry is a plain object. Its small members are ordinary properties; each large one is an own accessor, which
// spread, JSON and structuredClone read like a property. All entries share the accessors, so that their shapes stay
// cheap. The values are held strongly within a budget of the session, and weakly beyond it: a value that the program
// still holds is found again, and any other is read from the file again.

/** A base class whose constructor returns the given object, so that a subclass can add private members to it. */
class Given {
  constructor(object) {
    return object;
  }
}

class Lazy extends Given {
  /** The session that the entry belongs to. */
  #owner;
  #row;
  /** The parsed line, while it is held strongly. */
  #payload;
  /** Weak references to its large members, by name. */
  #weak;

  constructor(object, owner, row, payload) {
    super(object);
    this.#owner = owner;
    this.#row = row;
    this.#payload = payload;
  }

  static is(object) {
    return #owner in object;
  }

  static setRow(entry, row) {
    entry.#row = row;
  }

  static hasPayload(entry) {
    return entry.#payload !== undefined;
  }

  /** Gives the parsed line to an entry. Members that are still alive keep their identity. */
  static fill(entry, parsed) {
    const weak = entry.#weak;
    if (weak) {
      for (const [key, reference] of weak) {
        const value = reference.deref();
        if (value !== undefined) parsed[key] = value;
      }
    }
    entry.#payload = parsed;
    entry.#weak = undefined;
  }

  /** Lets go of the parsed line. */
  static weaken(entry) {
    const payload = entry.#payload;
    if (payload === undefined) return;
    const weak = new Map();
    for (const key of Object.keys(payload)) {
      const value = payload[key];
      if (typeof value === "object" && value !== null) weak.set(key, new WeakRef(value));
    }
    entry.#weak = weak;
    entry.#payload = undefined;
  }

  static get(object, key) {
    const entry = stamped(object);
    const payload = entry.#payload;
    if (payload !== undefined) return payload[key];
    const alive = entry.#weak?.get(key)?.deref();
    if (alive !== undefined) return alive;
    // The budget may be too small to hold it even now.
    return entry.#owner.loadPayload(entry, entry.#row)[key];
  }

  /** As in pi, a change of an entry is seen in memory, and never reaches the file. It is kept as long as the session. */
  static set(object, key, value) {
    const entry = stamped(object);
    const payload = entry.#payload ?? entry.#owner.loadPayload(entry, entry.#row);
    entry.#payload = { ...payload, [key]: value };
    entry.#owner.pinPayload(entry);
  }

  /** The object itself, or the prototype of it that is an entry. */
  static find(object) {
    let entry = object;
    while (entry !== null && !(#owner in entry)) entry = Object.getPrototypeOf(entry);
    if (entry === null) throw new TypeError("not an entry of a session");
    return entry;
  }
}

const stamped = (object) => (Lazy.is(object) ? object : Lazy.find(object));

/** The shared accessors, by the name of the member. */
const accessors = new Map();

function accessor(key) {
  let descriptor = accessors.get(key);
  if (!descriptor) {
    descriptor = {
      get() {
        return Lazy.get(this, key);
      },
      set(value) {
        Lazy.set(this, key, value);
      },
      enumerable: true,
      configurable: true,
    };
    accessors.set(key, descriptor);
  }
  return descriptor;
}

const MESSAGE = accessor("message");

/** A message entry without its message. */
function messageSkeleton(owner, row, id, parentId, timestamp) {
  const entry = { type: "message", id, parentId, timestamp };
  Object.defineProperty(entry, "message", MESSAGE);
  return new Lazy(entry, owner, row, undefined);
}

/** Lines up to this length are kept as they are: a reference would cost as much. */
const SMALL_LINE = 256;

/** The number of bytes of longer lines that a session keeps as they are, because plain objects are faster to make. */
const PLAIN_BYTES = 16 * 1024 * 1024;

/** Strings up to this length are ordinary properties. */
const SMALL_TEXT = 64;

const isLarge = (value) =>
  (typeof value === "object" && value !== null) || (typeof value === "string" && value.length > SMALL_TEXT);

/** An entry made of a parsed line of this length; the given object itself if it may be kept. */
function lazyEntry(owner, row, parsed, length) {
  if (length <= SMALL_LINE || owner.keepsPlain(length)) return parsed;
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return parsed;
  const entry = {};
  for (const key of Object.keys(parsed)) {
    const value = parsed[key];
    // A key such as __proto__ must not act.
    if (isLarge(value)) Object.defineProperty(entry, key, accessor(key));
    else if (key in entry) Object.defineProperty(entry, key, { value, writable: true, enumerable: true, configurable: true });
    else entry[key] = value;
  }
  const lazy = new Lazy(entry, owner, row, parsed);
  owner.keepPayload(lazy, length);
  return lazy;
}

/** The payloads that a session holds strongly: the least recently used ones go first. */
class PayloadCache {
  /** The number of bytes of lines whose payloads a session may hold. */
  static limit = 64 * 1024 * 1024;

  #held = new Map();
  #bytes = 0;
  #plainBytes = 0;

  /** Whether there is room for a payload of this size that stays for as long as the session. */
  hasRoom(bytes) {
    return this.#plainBytes + bytes <= PLAIN_BYTES && this.#bytes + bytes <= PayloadCache.limit;
  }

  /** Whether a payload of this size may stay for as long as the session. Counts it if it may. */
  keepsPlain(bytes) {
    if (!this.hasRoom(bytes)) return false;
    this.#plainBytes += bytes;
    this.#bytes += bytes;
    return true;
  }

  keep(entry, bytes) {
    this.#held.set(entry, bytes);
    this.#bytes += bytes;
    if (this.#bytes > PayloadCache.limit) this.#trim();
  }

  /** Marks entries as recently used. Costs nothing while there is plenty of room. */
  touch(entries) {
    if (this.#bytes * 2 < PayloadCache.limit) return;
    for (const entry of entries) {
      const bytes = this.#held.get(entry);
      if (bytes === undefined) continue;
      this.#held.delete(entry);
      this.#held.set(entry, bytes);
    }
  }

  /** Stops counting an entry, whose payload then stays. */
  pin(entry) {
    this.#bytes -= this.#held.get(entry) ?? 0;
    this.#held.delete(entry);
  }

  #trim() {
    for (const [entry, bytes] of this.#held) {
      if (this.#bytes <= PayloadCache.limit) return;
      this.#held.delete(entry);
      this.#bytes -= bytes;
      Lazy.weaken(entry);
    }
  }
}

module.exports = { Lazy, PayloadCache, lazyEntry, messageSkeleton };

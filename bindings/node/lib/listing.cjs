"use strict";
// Lists of sessions, on a thread, with progress and abort.

const native = require("./native.cjs");
const { settled } = require("./errors.cjs");
const { normalizePath, resolvePath, surroundings } = require("./paths.cjs");

/** A row as pi has it: all keys always, and times as dates. */
function row(info) {
  const { path, id, cwd, name, parentSessionPath, messageCount, firstMessage, allMessagesText } = info;
  return {
    path,
    id,
    cwd,
    name,
    parentSessionPath,
    created: new Date(info.created ?? Number.NaN),
    modified: new Date(info.modified),
    messageCount,
    firstMessage,
    allMessagesText,
  };
}

/** Runs work that a signal may cancel. An aborted signal rejects with its reason. */
async function cancellable(signal, start) {
  signal?.throwIfAborted();
  const cancellation = new native.Cancellation();
  const cancel = () => cancellation.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    const data = settled(await start(cancellation));
    signal?.throwIfAborted();
    return data;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", cancel);
  }
}

/** Passes the reports of a list on to a program, and says when all of them have arrived. */
class Reports {
  hasFailed = false;

  #onProgress;
  #signal;
  #rows = [];
  #arrived = 0;
  #expected;
  #wake;

  constructor(onProgress, signal) {
    this.#onProgress = onProgress;
    this.#signal = signal;
  }

  take(text) {
    this.#arrived++;
    if (!this.hasFailed && !this.#signal?.aborted) this.#pass(JSON.parse(text));
    if (this.#arrived === this.#expected) this.#wake();
  }

  #pass({ loaded, total, added }) {
    if (added) this.#rows.push(...added.map(row));
    const partial = added ? this.#rows.toSorted((one, other) => other.modified - one.modified) : undefined;
    try {
      this.#onProgress(loaded, total, partial);
    } catch {
      // As in pi, the list is then empty.
      this.hasFailed = true;
    }
  }

  /** Waits until this many reports have arrived. */
  all(expected) {
    if (this.#arrived >= expected) return undefined;
    this.#expected = expected;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Lists the sessions of a working directory, or all. As in pi, a store that cannot be read is empty. */
async function listSessions(cwd, sessionDir, onProgress, signal) {
  const reports = onProgress ? new Reports(onProgress, signal) : undefined;
  try {
    const start = (cancellation) =>
      native.list(surroundings(), cwd, sessionDir, cancellation, reports && ((text) => reports.take(text)));
    const answer = await cancellable(signal, start);
    await reports?.all(answer.reports);
    signal?.throwIfAborted();
    return reports?.hasFailed ? [] : answer.sessions.map(row);
  } catch {
    signal?.throwIfAborted();
    return [];
  }
}

/** pi's `list`. */
function list(cwd, sessionDir, onProgress, signal) {
  return listSessions(resolvePath(cwd), sessionDir ? normalizePath(sessionDir) : undefined, onProgress, signal);
}

/** pi's `listAll`, which takes its arguments in two forms. */
function listAll(first, second, third) {
  const sessionDir = typeof first === "string" ? normalizePath(first) : undefined;
  const onProgress = [first, second].find((argument) => typeof argument === "function");
  const hasDirOrProgress = typeof first === "string" || typeof second === "function";
  const signal = hasDirOrProgress ? third : (second ?? third);
  return listSessions(undefined, sessionDir || undefined, onProgress, signal);
}

module.exports = { cancellable, list, listAll };

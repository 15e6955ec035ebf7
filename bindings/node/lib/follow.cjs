"use strict";
// Following a session as an async iterator.

const native = require("./native.cjs");
const { settled } = require("./errors.cjs");
const { resolvePath, surroundings } = require("./paths.cjs");

async function* events(follower, signal, cancel) {
  try {
    for (;;) {
      const event = settled(await follower.next());
      signal?.throwIfAborted();
      if (event === null) return;
      yield event;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

/**
 * Follows a session file that other programs write: yields `{type: "header" | "entry" | "skipped" | "restarted" |
 * "gone", …}`. Reads only while the program waits for an event.
 */
function follow(path, options = {}) {
  const { from = "now", after, signal } = options;
  signal?.throwIfAborted();
  const follower = native.follow(surroundings(), resolvePath(path), from, after);
  const cancel = () => follower.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  const generator = events(follower, signal, cancel);
  return {
    next: () => generator.next(),
    // Wakes a pending `next` first, which a generator would wait for.
    return: (value) => (cancel(), generator.return(value)),
    throw: (error) => (cancel(), generator.throw(error)),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

module.exports = { follow };

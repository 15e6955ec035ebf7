"use strict";
// Errors with a code.

/** An error of our own, with a code for programs. */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}

/** The error for what only a program that rewrites history would do. */
function notSupported(what) {
  return failure(
    "NOT_SUPPORTED",
    `${what} is not supported: Sessile only appends to a session file, so its history cannot be replaced. Use branch(), createBranchedSession() or SessionManager.inMemory() instead`,
  );
}

/** The data of an answer that a thread gave: `{data}` or `{failure}`, as JSON. */
function settled(text) {
  const { data, failure: failed } = JSON.parse(text);
  if (failed) throw failure(failed.code, failed.message);
  return data;
}

module.exports = { failure, notSupported, settled };

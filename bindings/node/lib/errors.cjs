"use strict";
// Errors with a code.

/** An error of our own, with a code for programs. */
function failure(code, message) {
  return Object.assign(new Error(message), { code });
}

/** Calls native code. An error that pi has, too, becomes one without a code, as in pi. */
function asPi(call) {
  try {
    return call();
  } catch (error) {
    throw error.code === "PI" ? new Error(error.message) : error;
  }
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
  if (failed) throw failed.code === "PI" ? new Error(failed.message) : failure(failed.code, failed.message);
  return data;
}

module.exports = { asPi, failure, notSupported, settled };

"use strict";
// pi's fields, which programs read although they are private.

const { failure, notSupported } = require("./errors.cjs");

const notFound = (id) => failure("NOT_FOUND", `Entry ${id} not found`);

/** The accessors of the fields. `sessionOf` returns the session that a manager has open. */
function fieldsOf(sessionOf) {
  const field = (get, set) => ({
    get() {
      return get(sessionOf(this));
    },
    set(value) {
      if (!set) throw notSupported("assigning a private member of a session manager");
      set(sessionOf(this), value);
    },
    enumerable: true,
    configurable: true,
  });
  const moveLeaf = (session, id) => {
    if (id !== null && !session.has(id)) throw notFound(id);
    session.moveLeaf(id);
  };
  return {
    sessionId: field((session) => session.sessionId),
    sessionFile: field((session) => session.sessionFile),
    sessionDir: field((session) => session.sessionDir),
    cwd: field((session) => session.cwd),
    persist: field((session) => session.persist),
    // Programs set this to true after _rewriteFile(); the engine knows by itself.
    flushed: field((session) => session.isStored, () => {}),
    fileEntries: field((session) => session.fileEntries, (session, entries) => {
      session.fileEntries = entries;
    }),
    byId: field((session) => session.byId),
    labelsById: field((session) => session.labels),
    labelTimestampsById: field((session) => session.labelTimes),
    leafId: field((session) => session.leafId, (session, id) => moveLeaf(session, id ?? null)),
  };
}

module.exports = { fieldsOf, notFound };

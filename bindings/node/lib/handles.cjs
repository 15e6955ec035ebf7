"use strict";
// Closes sessions when the process ends.
//
// Native destructors do not run on process.exit(), which pi uses. Without this, locks and guards would stay.

/** Open native handles, by a weak reference to the session that owns them. */
const open = new Map();
let isWatching = false;

const collected = new FinalizationRegistry((reference) => open.delete(reference));

function track(session, handle) {
  if (!isWatching) {
    isWatching = true;
    process.once("exit", closeAll);
  }
  const reference = new WeakRef(session);
  open.set(reference, new WeakRef(handle));
  collected.register(session, reference, session);
}

function release(session) {
  collected.unregister(session);
  for (const reference of open.keys()) {
    if (reference.deref() === session) open.delete(reference);
  }
}

function closeAll() {
  for (const handle of open.values()) handle.deref()?.close();
  open.clear();
}

module.exports = { release, track };

"use strict";
// Searching and checking sessions, on a thread.

const { cancellable } = require("./listing.cjs");
const native = require("./native.cjs");
const { resolvePath, surroundings } = require("./paths.cjs");

async function search(query, options = {}) {
  const { files, cwd, sessionDir, limit, signal } = options;
  const request = {
    query,
    files: files?.map(resolvePath),
    cwd: cwd === undefined ? undefined : resolvePath(cwd),
    dir: sessionDir ? resolvePath(sessionDir) : undefined,
    limit,
  };
  const { hits } = await cancellable(signal, (cancellation) => native.search(surroundings(), request, cancellation));
  return hits;
}

async function verify(path) {
  const { findings } = await cancellable(undefined, () => native.verify(surroundings(), resolvePath(path)));
  return findings;
}

module.exports = { search, verify };

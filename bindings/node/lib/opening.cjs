"use strict";
// Opening and finding sessions.

const { existsSync, mkdirSync, readFileSync, statSync } = require("node:fs");
const entriesOf = require("./entries.cjs");
const { failure, notSupported } = require("./errors.cjs");
const { FileSession } = require("./file-session.cjs");
const { PayloadCache } = require("./lazy.cjs");
const { MemorySession } = require("./memory-session.cjs");
const native = require("./native.cjs");
const { normalizePath, options: processOptions, resolvePath, surroundings } = require("./paths.cjs");

/** The session of a constructor's arguments. */
function begin(cwd, sessionDir, sessionFile, persist, options, entries) {
  const directory = resolvePath(cwd);
  const dir = normalizePath(sessionDir);
  if (!persist) {
    const session = new MemorySession(directory, dir, options, sessionFile ? loadEntries(sessionFile) : entries);
    if (sessionFile) session.sessionFile = resolvePath(sessionFile);
    return session;
  }
  if (sessionFile) {
    const path = resolvePath(sessionFile);
    return openFile(path, dir || undefined, directory, options);
  }
  if (entries?.length) throw notSupported("a session with a file from entries in memory");
  return create(directory, dir || undefined, options);
}

function openFile(path, dir, cwd, options) {
  return new FileSession(native.open(surroundings(options), path, dir, cwd));
}

function create(cwd, dir, options) {
  if (options?.id !== undefined) entriesOf.assertValidSessionId(options.id);
  return new FileSession(native.create(surroundings(options), cwd, dir, options?.id, options?.parentSession));
}

/** The entries of a file for a session in memory. As in pi, an empty file has none, and another one is refused. */
function loadEntries(sessionFile) {
  const path = resolvePath(sessionFile);
  const entries = loadEntriesFromFile(path);
  if (entries.length === 0 && existsSync(path) && statSync(path).size > 0) {
    throw failure("INVALID_ARGUMENT", `Session file is not a valid pi session: ${path}`);
  }
  return entries;
}

/** All values of a session file, with its header; empty if it is not a session. Changes nothing. */
function loadEntriesFromFile(filePath) {
  const path = normalizePath(filePath);
  if (!existsSync(path)) return [];
  const entries = entriesOf.parseSessionEntries(readFileSync(path, "utf8")).filter(Boolean);
  const isSession = entries[0]?.type === "session" && typeof entries[0].id === "string";
  return isSession ? entries : [];
}

/** pi's default session directory of a working directory, which this creates. */
function getDefaultSessionDir(cwd, agentDir) {
  const around = surroundings();
  if (agentDir !== undefined) around.variables.PI_CODING_AGENT_DIR = resolvePath(agentDir);
  const dir = native.defaultSessionDir(around, resolvePath(cwd));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}

/** The most recently written session of a directory, if a working directory is given only of that; null if none. */
function findMostRecentSession(sessionDir, cwd) {
  try {
    return native.mostRecent(surroundings(), resolvePath(sessionDir), cwd ? resolvePath(cwd) : undefined) ?? null;
  } catch {
    return null;
  }
}

/** Sets options for all sessions that are opened from now on in this thread. */
function configure(options) {
  const { durability, caches, cacheBytes } = options;
  if (durability !== undefined) processOptions.durability = durability;
  if (caches !== undefined) processOptions.caches = caches;
  if (cacheBytes !== undefined) PayloadCache.limit = cacheBytes;
}

module.exports = {
  begin,
  configure,
  create,
  findMostRecentSession,
  getDefaultSessionDir,
  loadEntriesFromFile,
  openFile,
};

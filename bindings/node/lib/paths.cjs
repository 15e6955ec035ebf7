"use strict";
// Paths as pi reads them, and what native code must know about this process.

const { homedir } = require("node:os");
const { isAbsolute, join, posix, resolve, win32 } = require("node:path");
const { fileURLToPath } = require("node:url");

/** Expands a home directory and a file URL. A relative path stays relative. */
function normalizePath(path) {
  if (path === "~") return homedir();
  if (path.startsWith("~/") || (process.platform === "win32" && path.startsWith("~\\"))) {
    return join(homedir(), path.slice(2));
  }
  return path.startsWith("file://") ? fileURLToPath(path) : path;
}

/** An absolute, clean path. */
function resolvePath(path) {
  const normalized = normalizePath(path);
  return isAbsolute(normalized) ? resolve(normalized) : resolve(process.cwd(), normalized);
}

/** Whether two paths name the same place, as far as their text says. */
function pathsEqual(left, right) {
  const key = (path) => (process.platform === "win32" ? win32.resolve(path).toLowerCase() : posix.resolve(path));
  return key(left) === key(right);
}

const VARIABLES = [
  "PI_CODING_AGENT_DIR",
  "SESSILE_CACHE_DIR",
  "SESSILE_CONFIG_DIR",
  "SESSILE_STATE_DIR",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
];

/** Options for the whole process; see `configure`. */
const options = { durability: undefined, caches: undefined };

/** What native code must not look up itself: fake timers change the time, and a worker's environment is a copy. */
function surroundings(own) {
  const variables = {};
  for (const name of VARIABLES) {
    const value = process.env[name];
    if (value !== undefined) variables[name] = value;
  }
  return {
    home: homedir(),
    cwd: currentDirectory(),
    variables,
    now: new Date().getTime(),
    durability: own?.durability ?? options.durability,
    caches: options.caches,
  };
}

/** The working directory; the root if it was removed. */
function currentDirectory() {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

module.exports = { normalizePath, options, pathsEqual, resolvePath, surroundings };

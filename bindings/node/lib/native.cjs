"use strict";
// Loads the native part: a local build, or the package for this platform.

const { existsSync } = require("node:fs");
const { join } = require("node:path");

/** The name of this platform in package names. */
function platform() {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  const isGlibc = Boolean(process.report?.getReport?.()?.header?.glibcVersionRuntime);
  return `${platform}-${arch}-${isGlibc ? "gnu" : "musl"}`;
}

function load() {
  const local = join(__dirname, "..", "sessile.node");
  if (existsSync(local)) return require(local);
  const name = `sessile-${platform()}`;
  try {
    return require(name);
  } catch (cause) {
    throw new Error(
      `sessile has no native part for this platform: the package ${name} is not installed, and there is no local build (cargo xtask node-build)`,
      { cause },
    );
  }
}

module.exports = load();

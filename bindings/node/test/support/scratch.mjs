// Scratch folders, and an environment in which nothing of the user's is read or written.

import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made = [];

/** Makes a folder that is removed when this process ends. */
export function scratch(name) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), `sessile-${name}-`)));
  made.push(dir);
  return dir;
}

process.on("exit", () => {
  if (process.env.SESSILE_KEEP_SCRATCH) return;
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
});

/** Returns variables that keep a program inside `home`: pi's data, our caches, settings and state. */
export function environment(home) {
  const agentDir = join(home, "agent");
  mkdirSync(agentDir, { recursive: true });
  return {
    HOME: home,
    PI_CODING_AGENT_DIR: agentDir,
    PI_OFFLINE: "1",
    PI_SKIP_VERSION_CHECK: "1",
    SESSILE_CACHE_DIR: join(home, "cache"),
    SESSILE_CONFIG_DIR: join(home, "config"),
    SESSILE_STATE_DIR: join(home, "state"),
    TMPDIR: process.env.TMPDIR ?? tmpdir(),
  };
}

/** Moves this process into an environment of its own, and returns its home. */
export function enterScratch(name) {
  const home = scratch(name);
  for (const variable of Object.keys(process.env)) if (/^(PI|SESSILE_(CACHE|CONFIG|STATE)|XDG)_/.test(variable)) delete process.env[variable];
  Object.assign(process.env, environment(home));
  return home;
}

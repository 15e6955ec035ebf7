// Finds the user's installed pi.

import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";

const PACKAGE = "@earendil-works/pi-coding-agent";
const INSTALL = `npm install -g ${PACKAGE}`;

/** Returns the folder of pi's package that contains a path, if there is one. */
function packageAround(path) {
  for (let dir = path; ; dir = dirname(dir)) {
    if (isPi(dir)) return dir;
    if (dir === dirname(dir)) return undefined;
  }
}

/** Whether a folder holds pi's package. */
function isPi(dir) {
  try {
    return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")).name === PACKAGE;
  } catch {
    return false;
  }
}

/** Returns the program of this name on PATH. */
function onPath(name, path = "") {
  const names = process.platform === "win32" ? [`${name}.cmd`, name] : [name];
  for (const dir of path.split(delimiter).filter(Boolean)) {
    for (const candidate of names.map((it) => join(dir, it))) {
      try {
        accessSync(candidate, constants.X_OK);
        if (statSync(candidate).isFile()) return candidate;
      } catch {
        // Not here.
      }
    }
  }
  return undefined;
}

/** Returns the folders in which npm keeps packages: those above this file, then that of this Node. */
function* npmFolders() {
  for (let dir = import.meta.dirname; dir !== dirname(dir); dir = dirname(dir)) {
    yield join(dir, "node_modules");
    // Beside this package, when it is itself in such a folder.
    if (dir.endsWith("node_modules")) yield dir;
  }
  const prefix = dirname(dirname(process.execPath));
  yield join(prefix, "lib", "node_modules");
  yield join(prefix, "node_modules");
}

/** Returns pi's two files in its package, or why they cannot be used. */
function filesOf(dir) {
  const bundle = join(dir, "dist", "bundle");
  const [cli, index] = [join(bundle, "cli.js"), join(bundle, "index.js")];
  if (existsSync(cli) && existsSync(index)) return { cli, index };
  return { problem: `the pi in ${dir} is too old or incomplete: it has no dist/bundle`, hint: `update it: ${INSTALL}` };
}

/**
 * Finds pi: the one that $SESSILE_PI names (its package or its script), the one on PATH, or the one beside this package.
 * Returns its files, or a problem and a hint.
 */
export function findPi(env) {
  if (env.SESSILE_PI) {
    const path = resolve(env.SESSILE_PI);
    const dir = existsSync(path) ? packageAround(realpathSync(path)) : undefined;
    return dir ? filesOf(dir) : { problem: `SESSILE_PI is ${env.SESSILE_PI}, which is not part of ${PACKAGE}` };
  }
  const program = onPath("pi", env.PATH);
  const ofProgram = program && packageAround(dirname(realpathSync(program)));
  if (ofProgram) return filesOf(ofProgram);
  for (const folder of npmFolders()) {
    const dir = join(folder, PACKAGE);
    if (isPi(dir)) return filesOf(realpathSync(dir));
  }
  if (program) {
    return {
      problem: `${program} is not a pi that Node runs, so its sessions cannot be replaced`,
      hint: `install the package, or name it with SESSILE_PI: ${INSTALL}`,
    };
  }
  return { problem: "pi was not found", hint: `install it, or name its folder with SESSILE_PI: ${INSTALL}` };
}

// The two subjects of every comparison: the genuine pi 1.5.0, and this package.
//
// Pi is loaded as a black box from $SESSILE_ORACLE_DIR, which `cargo xtask node-test` sets. With SESSILE_SUBJECT=pi, pi
// takes the place of this package, which checks the tests themselves: every comparison must then hold, and documented
// differences are left out.

import { readdirSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Returns the folder with the genuine pi and its Node. */
export function oracleDir() {
  const dir = process.env.SESSILE_ORACLE_DIR;
  if (!dir) throw new Error("SESSILE_ORACLE_DIR is not set; `cargo xtask node-test` sets it, `cargo xtask oracle` prints it");
  return dir;
}

/** Returns the path of a file of pi's package. */
export const piFile = (path) => join(oracleDir(), "pi", path);

/** Returns the path of a file of this package. SESSILE_NODE_TESTED names an installed copy to test instead. */
export const ownFile = (path) => join(process.env.SESSILE_NODE_TESTED ?? join(import.meta.dirname, "../.."), path);

/** Whether pi takes the place of this package. */
export const checksItself = process.env.SESSILE_SUBJECT === "pi";

/** Loads pi's package. */
export const loadPi = () => import(pathToFileURL(piFile("dist/bundle/index.js")).href);

/** Loads this package. */
export const loadOwn = () => (checksItself ? loadPi() : import(pathToFileURL(ownFile("index.mjs")).href));

/** Replaces the statics of pi's class, as `import "sessile/pi"` does. */
export async function installInto(pi) {
  if (checksItself) return;
  const { install } = await import(pathToFileURL(ownFile("pi.mjs")).href);
  install(pi);
}

/**
 * Loads the functions of pi's session module that its package does not export. The module imports two functions of
 * another package, which are in the bundle's chunks under the same names.
 */
export async function loadPiSessionModule() {
  const chunks = piFile("dist/bundle/chunks");
  const needed = new Map([["getCurrentSystemMessage"], ["uuidv7"]]);
  for (const file of readdirSync(chunks).filter((name) => name.startsWith("chunk-"))) {
    const url = pathToFileURL(join(chunks, file)).href;
    const exported = await import(url);
    for (const name of needed.keys()) if (name in exported) needed.set(name, url);
  }
  const source = [...needed].map(([name, url]) =>
    url ? `export { ${name} } from ${JSON.stringify(url)};` : `export const ${name} = () => { throw new Error("no ${name}"); };`,
  );
  const replacement = `data:text/javascript,${encodeURIComponent(source.join("\n"))}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        // Other packages are not installed either, but no function here uses them.
        if (/^[./]/.test(specifier)) throw error;
        return { url: specifier === "@earendil-works/pi-ai" ? replacement : "data:text/javascript,export default {};", shortCircuit: true };
      }
    },
  });
  try {
    return await import(pathToFileURL(piFile("dist/core/session-manager.js")).href);
  } finally {
    hooks.deregister();
  }
}

/** The names that both modules must export. */
export const FUNCTIONS = [
  "assertValidSessionId",
  "buildContextEntries",
  "buildSessionContext",
  "buildSessionProjection",
  "findMostRecentSession",
  "getDefaultSessionDir",
  "getLatestCompactionEntry",
  "loadEntriesFromFile",
  "migrateSessionEntries",
  "parseSessionEntries",
  "projectContextEntry",
  "sessionEntryToContextMessages",
];

/** Returns both subjects: the name, the class, and the module with the functions. */
export async function bothSubjects() {
  const pi = await loadPi();
  const internal = await loadPiSessionModule();
  const genuine = { ...Object.fromEntries(FUNCTIONS.map((name) => [name, internal[name]])), ...pi };
  genuine.CURRENT_SESSION_VERSION = internal.CURRENT_SESSION_VERSION;
  const own = checksItself ? genuine : await loadOwn();
  return [
    { name: "pi", api: genuine, SessionManager: pi.SessionManager },
    { name: "sessile", api: own, SessionManager: own.SessionManager },
  ];
}

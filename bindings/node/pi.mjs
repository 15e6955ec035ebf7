// Makes pi use Sessile: `import { install } from "sessile/pi"`, or `node --import sessile/pi …/pi`.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";
import { SessionManager } from "./index.mjs";

const STATICS = ["create", "open", "continueRecent", "inMemory", "forkFrom", "list", "listAll", "findById"];

/** Marks a class whose static methods are ours. */
const INSTALLED = Symbol.for("sessile.installed");

/**
 * Replaces the static methods of the module's `SessionManager`, through which pi makes every session. Later calls
 * change nothing. Returns whether this call has changed anything.
 */
export function install(piModule) {
  const target = piModule?.SessionManager;
  if (typeof target !== "function") throw new TypeError("install() takes pi's module, which exports SessionManager");
  if (target === SessionManager || Object.hasOwn(target, INSTALLED)) return false;
  for (const name of STATICS) {
    // A method, so that it has the name and the shape of pi's.
    const { [name]: method } = {
      [name](...args) {
        return SessionManager[name](...args);
      },
    };
    Object.defineProperty(target, name, { value: method, writable: true, enumerable: false, configurable: true });
  }
  Object.defineProperty(target, INSTALLED, { value: true });
  return true;
}

const PI_PACKAGE = "@earendil-works/pi-coding-agent";

/** The module beside a script that exports pi's classes, if the script is pi's command. */
function piModuleOf(script) {
  let path;
  try {
    path = realpathSync(script);
  } catch {
    return undefined;
  }
  const module = join(dirname(path), "index.js");
  if (!existsSync(module) || packageName(dirname(path)) !== PI_PACKAGE) return undefined;
  return pathToFileURL(module).href;
}

/** The name of the package that a folder belongs to. */
function packageName(folder) {
  const manifest = join(folder, "package.json");
  if (existsSync(manifest)) {
    try {
      return JSON.parse(readFileSync(manifest, "utf8")).name;
    } catch {
      return undefined;
    }
  }
  const parent = dirname(folder);
  return parent === folder ? undefined : packageName(parent);
}

const piModule = isMainThread && process.argv[1] ? piModuleOf(process.argv[1]) : undefined;
if (piModule) install(await import(piModule));

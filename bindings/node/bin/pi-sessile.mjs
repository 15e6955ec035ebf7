#!/usr/bin/env node
// Starts the user's own pi with Sessile's session manager: `pi-sessile`, `pi-sessile -p "…"`, `pi-sessile --mode rpc`.
//
// Pi runs in this process, so signals, the terminal and the exit code are pi's own. Programs that pi starts are not
// affected: a pi that an extension starts uses pi's own class, which can write the same files.

import { pathToFileURL } from "node:url";

import { findPi } from "./find-pi.mjs";

const FAILED = 3;

/** Prints why pi was not started, and what to do about it. */
function fail(message, hint) {
  process.stderr.write(`pi-sessile: ${message}\n${hint ? `hint: ${hint}\n` : ""}`);
  process.exit(FAILED);
}

const found = findPi(process.env);
if (found.problem) fail(found.problem, found.hint);
const { cli, index } = found;

let install;
try {
  ({ install } = await import("../pi.mjs"));
} catch (error) {
  fail(`the Sessile engine cannot be loaded: ${error.message}`, "install the package again: npm install -g sessile");
}
// Pi looks for its own files beside the script that was started.
process.argv[1] = cli;
try {
  install(await import(pathToFileURL(index).href));
} catch (error) {
  fail(`this pi cannot use Sessile: ${error.message}`, `${index} is not pi 1.5 or newer; update it: npm install -g @earendil-works/pi-coding-agent`);
}
await import(pathToFileURL(cli).href);

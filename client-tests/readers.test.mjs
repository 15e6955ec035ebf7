// Programs from npm that read pi's session files: they must report the same for files of pi and of Sessile.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";

import { NODE, PACKAGES, conversation, newHome, run, sessionFile, writeWithPi, writeWithSessile } from "./homes.mjs";

/** The programs, each with the reports to compare. */
const READERS = [
  { name: "@ccusage/pi", reports: ["daily", "monthly", "session"].map((report) => [report, "--json"]) },
  { name: "ccusage", reports: ["daily", "monthly", "session"].map((report) => ["pi", report, "--json", "--offline"]) },
  { name: "codeburn", reports: ["today", "all"].map((period) => ["report", "--format", "json", "--provider", "pi", "--period", period]) },
];

/** Returns the program of a package, and its version. */
function program(name) {
  const { version, bin } = JSON.parse(readFileSync(join(PACKAGES, name, "package.json"), "utf8"));
  const path = typeof bin === "string" ? bin : Object.values(bin)[0];
  return { version, path: join(PACKAGES, name, path) };
}

/** Writes the same conversation in two homes, on the same day. */
async function twoHomes(context) {
  for (;;) {
    const messages = conversation(Date.now());
    const homes = [newHome(context), newHome(context)];
    const day = new Date().toDateString();
    await Promise.all([writeWithPi(homes[0], messages), writeWithSessile(homes[1], messages)]);
    if (day === new Date().toDateString() && new Date(messages[0].timestamp).toDateString() === day) return homes;
  }
}

/** Returns a report without what differs between any two runs: places, the name of the file and times of day. */
function normal(report, home) {
  const file = sessionFile(home);
  return report
    .replaceAll(basename(file, ".jsonl"), "SESSION")
    .replaceAll(home.root.replaceAll("/", "-").slice(1), "HOME")
    .replaceAll(home.root, "HOME")
    .replaceAll(/T\d\d:\d\d:\d\d(\.\d+)?Z/g, "T");
}

for (const { name, reports } of READERS) {
  const { version, path } = program(name);
  test(`${name} ${version} reports the same for files of pi and of Sessile`, async (context) => {
    const homes = await twoHomes(context);
    for (const args of reports) {
      const [pis, ours] = await Promise.all(homes.map(async (home) => normal(await run(NODE, [path, ...args], home), home)));
      assert.equal(ours, pis, args.join(" "));
      assert.match(pis, /mock-1/, `${args.join(" ")} has found the session: ${pis}`);
    }
    context.diagnostic(`${name} ${version}: ${reports.length} reports are equal`);
  });
}

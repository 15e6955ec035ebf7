// The types of the package, as TypeScript sees them: with pi's package installed, and without it.

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";

import { run } from "./support/processes.mjs";
import { scratch } from "./support/scratch.mjs";
import { checksItself, oracleDir } from "./support/subjects.mjs";

const PI = "@earendil-works/pi-coding-agent";
const tsc = join(process.env.SESSILE_NODE_TOOLS ?? "", "node_modules/typescript/bin/tsc");

/** What a program may write wherever pi's class is expected. */
const IN_PLACE_OF_PI = `
import { createAgentSession, SessionManager as PiManager, type SessionEntry as PiEntry } from "${PI}";
import { SessionManager, type SessionEntry } from "sessile";
import { install } from "sessile/pi";
import * as pi from "${PI}";

const manager = SessionManager.create("/project");
const taken: PiManager = manager;
const entries: PiEntry[] = manager.getEntries();
const leaf: PiEntry | undefined = SessionManager.open("file").getLeafEntry();
const same: SessionEntry[] = taken.getBranch();
export const started = createAgentSession({ sessionManager: SessionManager.continueRecent("/project") });
export const isInstalled: boolean = install(pi);
export const hits = manager.search("words").then((found) => found.map((hit) => hit.excerpt.length));
manager.appendMessage({ role: "user", content: "hello", timestamp: 1 }, { expectedLeaf: manager.getLeafId() });
export { entries, leaf, same };
`;

/** What a program without pi's package may write. */
const ALONE = `
import { SessionManager, configure, type SessionEntry, type SessionInfo } from "sessile";

configure({ durability: "group" });
const manager = SessionManager.inMemory();
const id: string = manager.appendMessage({ role: "user", content: "hello", timestamp: 1 });
const entry: SessionEntry | undefined = manager.getEntry(id);
export const rows: Promise<SessionInfo[]> = SessionManager.listAll();
export const label: string | undefined = manager.getLabel(id);
manager.close();
export { entry };
`;

/** Mistakes that the types must find, with or without pi's package. */
const MISTAKES = [
  "SessionManager.open(1);",
  "SessionManager.inMemory().getEntry();",
  "const count: string = SessionManager.inMemory().getEntryCount();",
  "SessionManager.inMemory().notThere();",
  'SessionManager.inMemory().search("words", { limit: "many" });',
  'configure({ durability: "never" });',
];

describe("TypeScript", { skip: checksItself && "these are the types of our package" }, () => {
  /** Checks a file in an empty project with these packages, and returns what the compiler says. */
  async function check(file, source, packages) {
    const project = scratch("types");
    for (const [name, target] of Object.entries(packages)) {
      const link = join(project, "node_modules", name);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(target, link);
    }
    writeFileSync(join(project, "package.json"), '{"name":"typed","private":true,"type":"module"}');
    writeFileSync(join(project, file), source);
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--preserveSymlinks", "--target", "es2023", "--lib", "es2023,esnext.disposable,dom", "--module", "NodeNext"];
    return run(process.execPath, [tsc, ...flags, file], { cwd: project });
  }

  const own = join(import.meta.dirname, "..");
  const withPi = { sessile: own, [PI]: join(oracleDir(), "pi") };

  test("takes our manager wherever pi's is expected", async () => {
    const { code, stdout } = await check("use.mts", IN_PLACE_OF_PI, withPi);
    assert.equal(code, 0, stdout);
  });

  for (const [kind, file] of [["an ES module", "use.mts"], ["a CommonJS module", "use.cts"]]) {
    test(`knows the class without pi's package in ${kind}`, async () => {
      const { code, stdout } = await check(file, ALONE, { sessile: own });
      assert.equal(code, 0, stdout);
    });
  }

  for (const [what, packages] of [["with pi's package", withPi], ["without pi's package", { sessile: own }]]) {
    test(`finds mistakes ${what}`, async () => {
      const source = `import { SessionManager, configure } from "sessile";\n${MISTAKES.join("\n")}\n`;
      const { code, stdout } = await check("use.mts", source, packages);
      assert.notEqual(code, 0);
      const lines = new Set([...stdout.matchAll(/^use\.mts\((\d+),/gm)].map(([, line]) => Number(line)));
      const found = MISTAKES.filter((_, index) => lines.has(index + 2));
      assert.deepStrictEqual(found, MISTAKES, stdout);
    });
  }
});

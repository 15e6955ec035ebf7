// A large session takes memory for what a program looks at, not for all its entries.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { run } from "./support/processes.mjs";
import { enterScratch } from "./support/scratch.mjs";
import { checksItself } from "./support/subjects.mjs";

const N_ENTRIES = 50_000;
const home = enterScratch("memory");

/** Writes a session whose last compaction is at 96 % of its entries, as in long real sessions. */
function writeLarge(file) {
  const id = (n) => n.toString(16).padStart(8, "0");
  const timestamp = "2026-01-01T00:00:00.000Z";
  const lines = [JSON.stringify({ type: "session", version: 3, id: "large", timestamp, cwd: home })];
  for (let n = 0; n < N_ENTRIES; n += 1) {
    const base = { id: id(n), parentId: n === 0 ? null : id(n - 1), timestamp };
    const message = { role: n % 2 === 0 ? "user" : "assistant", content: [{ type: "text", text: `${n} ${"word ".repeat(160)}` }], provider: "p", model: "m", timestamp: n };
    const isCompaction = n === Math.floor(N_ENTRIES * 0.96);
    lines.push(JSON.stringify(isCompaction ? { type: "compaction", ...base, summary: "so far", firstKeptEntryId: id(n - 10), tokensBefore: 1 } : { type: "message", ...base, message }));
  }
  writeFileSync(file, `${lines.join("\n")}\n`);
}

test("the heap of a session with 50,000 entries and its context is a tenth of pi's", { skip: checksItself }, async () => {
  const file = join(home, "large.jsonl");
  writeLarge(file);
  const script = fileURLToPath(new URL("support/heap-host.mjs", import.meta.url));
  const seen = {};
  for (const whose of ["pi", "own"]) {
    const { code, stdout, stderr } = await run(process.execPath, ["--expose-gc", script, file, whose]);
    assert.equal(code, 0, stderr);
    seen[whose] = JSON.parse(stdout);
  }
  assert.equal(seen.own.entries, N_ENTRIES);
  assert.deepStrictEqual([seen.own.messages, seen.own.entries], [seen.pi.messages, seen.pi.entries]);
  assert.ok(seen.own.bytes * 10 <= seen.pi.bytes, JSON.stringify(seen));
});

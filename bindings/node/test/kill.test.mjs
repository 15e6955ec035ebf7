// Hosts that are killed at any moment, and hosts that share a file: nothing that was acknowledged is lost.

import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { start, until } from "./support/processes.mjs";
import { enterScratch } from "./support/scratch.mjs";
import { checksItself, loadOwn, loadPi } from "./support/subjects.mjs";

const home = enterScratch("kill");
const pi = await loadPi();
const own = await loadOwn();
const seed = Number(process.env.SESSILE_SEED ?? Date.now() % 1_000_000);
const KILLS = Number(process.env.SESSILE_KILLS ?? 60);

/** A small generator of numbers below `limit`; the seed reproduces them. */
function numbers(from) {
  let state = from;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % limit;
  };
}

const script = (name) => fileURLToPath(new URL(`support/${name}`, import.meta.url));
const host = (name, ...args) => start(process.execPath, [script(name), ...args]);

/** The ids that a host has printed in whole lines. */
const acknowledged = ({ stdout }) => stdout.split("\n").slice(0, -1);

/** Kills a host some milliseconds after its first acknowledgement, and returns its acknowledgements. */
async function killed(child, milliseconds) {
  await until(child, ({ stdout }) => stdout.includes("\n"), "a first acknowledgement");
  await wait(milliseconds);
  child.kill("SIGKILL");
  return acknowledged(await child.ended);
}

/** Returns the entries that a plain reader finds in a file. Lines that are not JSON are counted. */
function read(file) {
  const [entries, broken] = [[], []];
  for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    try {
      entries.push(JSON.parse(line));
    } catch {
      broken.push(line);
    }
  }
  return { entries, broken };
}

/** Looks for acknowledged entries in a file: with a plain reader, with pi and with our class. */
function assertAllThere(file, acks) {
  const { entries } = read(file);
  const lost = (ids) => acks.filter((id) => !ids.has(id));
  assert.deepStrictEqual(lost(new Set(entries.map(({ id }) => id))), [], `lost; SESSILE_SEED=${seed}`);
  // Pi may write to what it opens.
  const copy = join(home, `copy-${acks.length}.jsonl`);
  copyFileSync(file, copy);
  for (const { SessionManager } of [pi, own]) {
    const manager = SessionManager.open(copy);
    assert.deepStrictEqual(lost(new Set(manager.getEntries().map(({ id }) => id))), [], `not shown; SESSILE_SEED=${seed}`);
  }
}

describe("hosts", () => {
  test(`lose nothing that was acknowledged when they are killed (${KILLS} times, seed ${seed})`, async () => {
    const random = numbers(seed);
    const file = join(home, "killed.jsonl");
    const acks = [];
    for (let round = 0; round < KILLS; round += 1) {
      const child = host("writing-host.mjs", file, `round-${round}`, "1000000", "own");
      const ids = await killed(child, random(40));
      assert.ok(ids.length > 0);
      acks.push(...ids);
    }
    assert.equal(new Set(acks).size, acks.length, "every id is new");
    assertAllThere(file, acks);
    // The rounds are one conversation: each began where the one before had ended.
    const { entries } = read(file);
    const ids = new Set(entries.map(({ id }) => id));
    const orphans = entries.slice(1).filter(({ parentId }) => parentId !== null && !ids.has(parentId));
    assert.deepStrictEqual(orphans, []);
    assert.equal(entries.slice(1).filter(({ parentId }) => parentId === null).length, 1);
  });

  test("that run a whole agent lose nothing when they are killed", async () => {
    const random = numbers(seed + 1);
    const file = join(home, "agent.jsonl");
    const acks = [];
    for (let round = 0; round < 5; round += 1) {
      acks.push(...(await killed(host("agent-host.mjs", file, join(home, "agent-dir")), random(250))));
    }
    assert.ok(acks.length > 5);
    assertAllThere(file, acks);
  });

  test("can share a file, with each other and with pi, while some are killed", async () => {
    const random = numbers(seed + 2);
    const file = join(home, "shared.jsonl");
    const first = host("writing-host.mjs", file, "first", "3", "own");
    const acks = acknowledged(await first.ended);
    assert.equal(acks.length, 3);
    const writers = [host("writing-host.mjs", file, "one", "200", "own"), host("writing-host.mjs", file, "two", "200", "own"), host("writing-host.mjs", file, "pi", "200", "pi")];
    const victims = [0, 1, 2].map((n) => killed(host("writing-host.mjs", file, `victim-${n}`, "1000000", "own"), random(60)));
    for (const { ended } of writers) {
      const result = await ended;
      assert.equal(result.code, 0, result.stderr);
      acks.push(...acknowledged(result));
    }
    for (const victim of victims) acks.push(...(await victim));
    assert.ok(acks.length > 600);
    assertAllThere(file, acks);
    const { entries, broken } = read(file);
    assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length, "every id is used once");
    assert.ok(broken.length <= victims.length, "only a killed host leaves an unfinished line");
  });

  test("in one process see each other's entries, and keep their own leaf", async () => {
    const file = join(home, "two.jsonl");
    const [one, two] = [own.SessionManager.open(file), own.SessionManager.open(file)];
    const message = (content) => ({ role: "user", content, timestamp: 1 });
    const first = one.appendMessage(message("one"));
    const three = own.SessionManager.open(file);
    const second = three.appendMessage(message("three"));
    const third = one.appendMessage(message("one again"));
    assert.equal(one.getEntry(third).parentId, first);
    assert.equal(three.getEntry(second).parentId, first);
    const all = own.SessionManager.open(file).getEntries().map(({ id }) => id);
    assert.deepStrictEqual(all, [first, second, third]);
    if (!checksItself) assert.deepStrictEqual(one.getEntries().map(({ id }) => id), all);
    assert.equal(two.getEntryCount(), 0);
  });

  test("that exit leave their session free", async () => {
    for (let round = 0; round < 3; round += 1) {
      const { code, stderr } = await host("writing-host.mjs", join(home, "free.jsonl"), "w", "5", "own").ended;
      assert.equal(code, 0, stderr);
    }
    assert.equal(read(join(home, "free.jsonl")).entries.length, 16);
    const names = readdirSync(home).filter((name) => name.includes("free"));
    const others = names.filter((name) => name !== "free.jsonl");
    assert.ok(others.every((name) => /^\.free\.jsonl\.sessile-(lock|guard)$/.test(name)), names.join(" "));
  });

});

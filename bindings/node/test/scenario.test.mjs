// A whole agent on this package: the same steps with pi's own class and with ours must give the same results, the same
// requests to the model, and the same session files, byte for byte once ids, times and durations have names.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { assertSameLines, normaliser } from "./support/normalise.mjs";
import { runScript } from "./support/processes.mjs";
import { checksItself } from "./support/subjects.mjs";

const N_STEPS = 28;
const host = new URL("support/scenario-host.mjs", import.meta.url);
const runs = new Map();

/** Runs the scenario once for each list of options. */
function run(...options) {
  const key = options.join(" ");
  if (!runs.has(key)) runs.set(key, runScript(host, options).then(({ stdout }) => JSON.parse(stdout)));
  return runs.get(key);
}

/** Returns what must be the same in two runs, with names for ids and times. */
function comparable(report, options) {
  const normal = normaliser({ [report.home]: "<home>" }, options);
  const named = (value) => normal(JSON.stringify(value, null, 1)).split("\n");
  return {
    files: report.files.map((file) => file.split("\n").map(normal)),
    results: report.results.map(({ isOurs, ...result }) => named(result)),
    ending: named(report.ending),
    requests: report.requests.map(named),
    patchCounts: report.patchCounts,
  };
}

/** Compares part by part, so that a failure shows the first difference and not everything. */
function assertSame(report, reference, options) {
  const [own, pi] = [comparable(report, options), comparable(reference, options)];
  for (const [index, expected] of pi.files.entries()) assertSameLines(own.files[index] ?? [], expected, `file ${index + 1}`);
  assert.equal(own.files.length, pi.files.length);
  for (const [index, expected] of pi.results.entries()) assertSameLines(own.results[index], expected, `step ${index + 1}`);
  assertSameLines(own.ending, pi.ending, "the end");
  for (const [index, expected] of pi.requests.entries()) assertSameLines(own.requests[index] ?? [], expected, `request ${index + 1}`);
  assert.equal(own.requests.length, pi.requests.length);
  assert.deepStrictEqual(own.patchCounts, pi.patchCounts);
}

const isOurs = (report) => report.results.map((result) => result.isOurs);

describe("an agent", () => {
  test("takes all steps with pi's own class", async () => {
    const report = await run("pi");
    assert.equal(report.results.length, N_STEPS);
    assert.deepStrictEqual(report.results.filter((result) => result.throws), []);
    assert.equal(report.files.length, 5);
    assert.ok(report.files.flatMap((file) => file.trimEnd().split("\n")).length > 100);
  });

  for (const way of ["instance", "factory", "statics"]) {
    test(`does the same with our class as ${way}`, async () => {
      const report = await run(way);
      assertSame(report, await run("pi"));
      if (checksItself) return;
      // An instance carries the first session; factory and statics carry all.
      const ours = isOurs(report);
      assert.equal(ours.filter(Boolean).length, way === "instance" ? ours.lastIndexOf(true) + 1 : N_STEPS);
      assert.ok(ours[0]);
    });
  }

  test("does the same if everything that our class returns is frozen", async () => {
    assertSame(await run("statics", "frozen"), await run("pi"));
  });

  test("does the same if everything is copied on its way in and out", async () => {
    assertSame(await run("statics", "cloned"), await run("pi"));
  });

  test("writes the times of a clock that stands still", async () => {
    const options = { keepTimes: true };
    const [own, pi] = [await run("statics", "clock"), await run("pi", "clock")];
    assertSame(own, pi, options);
    const times = own.files.join("").match(/"timestamp":"[^"]*"/g);
    assert.deepStrictEqual(new Set(times), new Set(['"timestamp":"2030-01-02T03:04:05.678Z"']));
  });

  test("does the same if an extension replaces methods of the instance", async () => {
    const [own, pi] = [await run("statics", "patched"), await run("pi", "patched")];
    assertSame(own, pi);
    assert.ok(own.patchCounts.appendMessage > 40, JSON.stringify(own.patchCounts));
    assert.ok(own.patchCounts.appendCompaction >= 3, JSON.stringify(own.patchCounts));
  });

  test("asks our class what it asks pi's", async () => {
    const [own, pi] = [(await run("statics")).calls, (await run("pi")).calls];
    assert.deepStrictEqual(Object.keys(own).sort(), Object.keys(pi).sort());
    // How often the agent reads the branch and the context depends on when the parts of an answer arrive.
    const changes = ({ getBranch, buildSessionProjection, ...others }) => others;
    assert.deepStrictEqual(changes(own), changes(pi));
  });
});

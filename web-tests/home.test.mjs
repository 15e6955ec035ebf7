// The list of sessions by keyboard: arrows, the filter, and the way from a label to its entry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Session, settled, useBrowser } from "./lib.mjs";
import { useServer } from "./served.mjs";

const browser = useBrowser();
const session = (prompt) => {
  const made = new Session({ cwd: "/home/user/project" });
  made.user(prompt);
  return made;
};
const labelled = session("Bake a cake");
const [, prompt] = labelled.lines;
labelled.answer("Use butter");
labelled.add({ type: "label", targetId: prompt.id, label: "the recipe" });
const signIn = useServer([session("Plan the trip"), session("Plan the party"), labelled]);

const titles = (page) => page.locator("#rows a.title").allTextContents();
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

test("arrows move in a fresh list, Enter in the filter goes to the result, and a label leads to its entry", async () => {
  const page = await browser.tab();
  const [first] = await signIn(page);
  await page.goto(new URL("/", first).href);
  await page.waitForSelector("html.ready", { state: "attached" });
  const all = await titles(page);
  assert.equal(all.length, 3);
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), all[0]);
  await page.keyboard.press("ArrowDown");
  assert.equal(await focused(page), all[1]);
  await page.keyboard.press("ArrowUp");
  assert.equal(await focused(page), all[0]);

  await page.keyboard.press("G");
  assert.equal(await focused(page), all[2]);
  await page.keyboard.press("g");
  assert.equal(await focused(page), all[0]);

  await page.keyboard.press("/");
  await page.keyboard.type("plan the");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement.matches("#rows a.title"));
  const some = await titles(page);
  assert.equal(some.length, 2);
  assert.equal(await focused(page), some[0]);

  await page.keyboard.press("/");
  await page.keyboard.press("Control+a");
  await page.keyboard.type("cake");
  await page.keyboard.press("Enter");
  await page.waitForSelector("html.ready #entries", { state: "attached" });
  assert.match(await page.textContent("#entries"), /Bake a cake/);

  // From the label to the entry that has it, by a search for the text of the label.
  await settled(page);
  await page.fill("#search", "recipe");
  await page.waitForFunction(() => /^1 entry found$/.test(document.getElementById("found").textContent));
  await page.press("#search", "Enter");
  await page.locator("#entries .setting a", { hasText: prompt.id }).click();
  await page.waitForFunction((id) => document.activeElement.id === `entry-${id}`, prompt.id);
  await page.keyboard.press("h");
  await page.waitForSelector("html.ready #rows", { state: "attached" });
  assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations], [[], [], []]);
});

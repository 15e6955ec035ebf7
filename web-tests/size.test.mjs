// Large sessions: the document stays small, and no task holds up the reader.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, foreignRequests, large, open, search, Session, settled, useBrowser, watchTasks } from "./lib.mjs";

const browser = useBrowser();
const MAX_ELEMENTS = 5000;

const elements = (page) => page.evaluate(() => document.querySelectorAll("*").length);

/** Uses the page as a reader does, and returns the long tasks of it. */
async function use(page, word) {
  const counts = [await elements(page)];
  const count = async () => counts.push(await elements(page));
  for (const key of ["g", "n", "n", "n", "G", "p", "p", "e", "Home", "PageDown", "End", "Enter", "o", "s", "s", "o"]) {
    await page.keyboard.press(key);
    await settled(page);
    await count();
  }
  // Scroll through a part, and jump.
  for (const share of [0.9, 0.5, 0.2, 0.21, 0.22, 0.6]) {
    await page.evaluate((share) => { const pane = document.getElementById("pane"); pane.scrollTop = pane.scrollHeight * share; }, share);
    await settled(page);
    await count();
    assert.ok(await page.evaluate(() => {
      const pane = document.getElementById("pane").getBoundingClientRect();
      return [...document.querySelectorAll("article")].some((article) => {
        const box = article.getBoundingClientRect();
        return box.bottom > pane.top && box.top < pane.bottom;
      });
    }), `no entry is visible at ${share}`);
  }
  assert.ok((await search(page, word)).length > 0, word);
  await count();
  await page.press("#search", "Enter");
  await settled(page);
  await count();
  await page.press("#search", "Escape");
  await settled(page);
  for (const filter of ["user", "all"]) {
    await page.selectOption("#filter", filter);
    await settled(page);
    await count();
  }
  assert.ok(Math.max(...counts) <= MAX_ELEMENTS, `elements: ${counts}`);
  assert.deepEqual([page.seen.errors, foreignRequests(page)], [[], []]);
  return { elements: Math.max(...counts), longTasks: await page.evaluate(() => window.longTasks) };
}

for (const isSplit of [false, true]) {
  test(`10 MB${isSplit ? ", split" : ""}: few elements and no long task`, async (t) => {
    const s = large(10e6);
    const text = s.text();
    assert.ok(text.length > 9e6 && text.length < 16e6, `${text.length} bytes`);
    const address = exported(text, { isSplit });
    const page = await browser.tab({ init: watchTasks });
    const started = performance.now();
    await page.goto(address);
    await page.waitForSelector("html.ready", { state: "attached" });
    const ready = Math.round(performance.now() - started);
    await settled(page);
    const atStart = page.seen.requests.length;
    assert.equal(page.seen.requests.includes(address), true);
    const { elements, longTasks } = await use(page, "Prompt 77:");
    t.diagnostic(`${s.lines.length} entries, ready after ${ready} ms, at most ${elements} elements, tasks over 50 ms: ${longTasks.join(" ") || "none"}`);
    if (isSplit) {
      assert.ok(atStart < 15, `${atStart} files were loaded at the start`);
      assert.ok(page.seen.requests.length > atStart + 5, "chunks are loaded when they are needed");
    }
  });
}

test("a chain of 20,000 entries", async (t) => {
  const s = new Session();
  for (let n = 0; n < 20000; n++) s.user(`link ${n}`);
  const page = await browser.tab({ init: watchTasks });
  const started = performance.now();
  await open(page, exported(s));
  t.diagnostic(`exported and ready after ${Math.round(performance.now() - started)} ms`);
  assert.ok((await page.innerText("#entries")).includes("link 19999"));
  const used = await use(page, "link 12345");
  t.diagnostic(`at most ${used.elements} elements, tasks over 50 ms: ${used.longTasks.join(" ") || "none"}`);
});

test("5,000 nested forks", async (t) => {
  const s = new Session();
  for (let n = 0; n < 5000; n++) {
    const trunk = s.user(`fork ${n}`);
    s.user(`side ${n}`);
    s.leaf = trunk;
  }
  s.user("the end");
  const page = await browser.tab({ init: watchTasks });
  const started = performance.now();
  await open(page, exported(s));
  t.diagnostic(`exported and ready after ${Math.round(performance.now() - started)} ms`);
  assert.ok((await page.innerText("#entries")).includes("the end"));
  const used = await use(page, "side 4321");
  t.diagnostic(`at most ${used.elements} elements, tasks over 50 ms: ${used.longTasks.join(" ") || "none"}`);
  await page.keyboard.press("Escape");
  await page.keyboard.press("e");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  assert.match(await page.innerText("#tree"), /\d+ hidden/);
});

test("one line of 5 MB", async () => {
  const s = new Session();
  s.tool("bash", { command: "cat" }, "word ".repeat(1e6));
  s.answer("x".repeat(1e6));
  s.user("after it");
  const page = await browser.tab({ init: watchTasks });
  await open(page, exported(s));
  assert.ok((await page.innerText("#entries")).includes("after it"));
  assert.ok((await elements(page)) < MAX_ELEMENTS);
});

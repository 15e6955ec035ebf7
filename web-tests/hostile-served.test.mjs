// Hostile values in the pages of the server: sessions, titles, projects, search excerpts.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { addEntries, assertNothingHappened, sampled, values, walk, watch } from "./hostile.mjs";
import { open, search, serve, Session, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const home = mkdtempSync(join(tmpdir(), "sessile-hostile-"));
after(() => rmSync(home, { recursive: true, force: true }));

const texts = values.filter((value) => typeof value === "string" && value.trim());
const all = new Session();
let page;
let origin;

/** Notes elements that no page of the server has, and attributes that run something. Runs in the page. */
const watchAnyPage = () => {
  window.strange = [];
  const inspect = (root) => {
    for (const element of [root, ...root.querySelectorAll("*")]) {
      if (/^(iframe|object|embed|script|style|link|meta|base|video|audio|math|form|template)$/.test(element.localName) && element.closest("main")) {
        if (!element.matches("form[action^='/']")) window.strange.push(element.outerHTML.slice(0, 200));
      }
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name) || /^\s*(javascript|data|vbscript|file):/i.test(name === "href" && element.localName === "a" ? value : "")) window.strange.push(`${name}=${value.slice(0, 100)}`);
      }
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    inspect(document.body);
    new MutationObserver((records) => {
      for (const { addedNodes } of records) for (const node of addedNodes) if (node.nodeType === 1) inspect(node);
    }).observe(document.body, { childList: true, subtree: true });
  });
};

before(async () => {
  const folder = join(home, "agent", "sessions", "--p--");
  mkdirSync(folder, { recursive: true });
  const hourAgo = Date.now() / 1000 - 3600;
  const write = (session, name) => {
    const path = join(folder, `2026-03-01T10-00-00-000Z_${name}.jsonl`);
    writeFileSync(path, session.text());
    utimesSync(path, hourAgo, hourAgo);
  };
  all.add({ type: "session_info", name: "All of them" });
  sampled.forEach((value, at) => addEntries(all, value, at));
  all.add({ type: "session_info", name: "All of them" });
  write(all, "all");
  texts.forEach((text, at) => {
    const s = new Session({ id: `${text} ${at}`, cwd: text.startsWith("/") ? text : `/p/${text}`, parentSession: text });
    s.user(`needle ${text}`);
    s.answer(text, { model: text, provider: text });
    s.add({ type: "label", targetId: s.leaf, label: text });
    // Some have a name, the others are listed by their first words.
    if (at % 2) s.add({ type: "session_info", name: text });
    write(s, `s${at}`);
  });
  page = await browser.tab();
  const link = await serve(home);
  origin = new URL(link).origin;
  await page.goto(link);
});

test("hostile values in every field of a served session", async () => {
  assert.ok(values.length >= 500, `${values.length} values`);
  await page.goto(`${origin}/?q=All+of+them`);
  const address = origin + (await page.locator("main a[href^='/s/']").first().getAttribute("href"));
  await page.addInitScript(watch);
  await open(page, address);
  await page.evaluate((size) => { window.groupSize = size; }, (all.lines.length - 3) / sampled.length);
  // The name is the first row.
  await page.evaluate(() => window.seenRows.add(1));
  await walk(page, sampled.length);
  const { rows, lines, strange } = await page.evaluate(() => ({ rows: window.seenRows.size, lines: window.seenLines.size, strange: window.strange }));
  assert.deepEqual(strange.slice(0, 10), [], `${strange.length} strange elements`);
  assert.ok(rows >= all.lines.length - 1 - sampled.length, `${rows} of ${all.lines.length - 1} entries were drawn`);
  assert.ok(lines > sampled.length * 10, `${lines} lines of the tree were drawn`);
  for (const value of texts.filter((_, at) => at % 90 === 0)) {
    await search(page, value.slice(0, 300));
    await page.press("#search", "Enter");
    await settled(page);
  }
  assertNothingHappened(page, "session");
});

test("hostile titles, projects, models and excerpts", async () => {
  const other = await browser.tab({ init: watchAnyPage });
  await other.context().addCookies(await page.context().cookies());
  const addresses = ["/", "/?sort=family", "/?group=project", "/?sort=name", "/search?q=needle", "/search?q=canary", "/search?q=script", "/search?q=onerror"];
  for (const address of addresses) {
    await other.goto(origin + address);
    // Infinite lists load more while the end is on the screen.
    for (let n = 0, last = -1; n < 40; n++) {
      await other.evaluate(() => scrollTo(0, document.body.scrollHeight));
      await other.waitForFunction(() => new Promise((resolve) => setTimeout(() => resolve(true), 60)));
      const height = await other.evaluate(() => document.body.scrollHeight);
      if (height === last) break;
      last = height;
    }
    assert.deepEqual(await other.evaluate(() => window.strange), [], address);
    assertNothingHappened(other, address);
  }
  const shown = await other.locator("main").innerText();
  assert.ok(shown.includes("onerror"), "excerpts show the text");
  await other.goto(`${origin}/search`);
  const box = other.locator("main input").first();
  for (const value of texts.filter((_, at) => at % 60 === 0)) {
    await box.fill(value.slice(0, 200));
    await other.waitForFunction(() => new Promise((resolve) => setTimeout(() => resolve(true), 150)));
  }
  assertNothingHappened(other, "typing");
});

// A page with its data in files beside it.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { everyKind, exported, foreignRequests, open, search, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const { session, ids } = everyKind();
let page;
let address;

before(async () => {
  page = await browser.tab();
  address = exported(session, { isSplit: true });
  await open(page, address);
});

test("it opens from a folder and loads only what it shows", async () => {
  assert.equal(await page.title(), "Every kind of entry");
  assert.ok((await page.innerText("#entries")).includes("The last answer."));
  const files = () => page.seen.requests.map((url) => /data\/(\w[\w-]*)\.js$/.exec(url)?.[1]).filter(Boolean);
  assert.ok(files().includes("s"));
  assert.ok(!files().some((name) => name.startsWith("l")), `long texts at the start: ${files()}`);
  assert.ok(!files().includes("tree-all"));
  await page.selectOption("#filter", "all");
  await settled(page);
  assert.ok(files().includes("tree-all"));
});

test("permalinks, search, pictures and long outputs work", async () => {
  await open(page, `${address}#entry-${ids.image}`);
  await page.waitForFunction((id) => document.querySelector(`#entry-${id} img`)?.naturalWidth > 0, ids.image);
  assert.equal((await search(page, "bullace")).length, 1);
  await page.press("#search", "Escape");
  await page.evaluate((id) => { location.hash = `#entry-${id}`; }, ids.long);
  await settled(page);
  const result = page.locator(`#entry-${ids.long}`);
  await result.locator("summary").first().click();
  await result.locator("button.more").click();
  await page.waitForFunction((id) => document.querySelectorAll(`#entry-${id} pre`).length >= 3, ids.long);
});

test("the download has exactly the bytes of the file", async () => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
  assert.equal(readFileSync(await download.path(), "utf8"), session.text());
});

test("its policy allows scripts beside it and nothing else", async () => {
  const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
  assert.match(policy, /script-src 'sha256-[\w+/=]+' 'self' file:;/);
  const rest = policy.replace(/script-src [^;]*;/, "").replace(/'sha256-[\w+/=]+'/g, "");
  assert.equal(rest.replace(/\s+/g, " ").trim(), "default-src 'none'; style-src ; img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'");
  assert.deepEqual([page.seen.errors, page.seen.violations, page.seen.executed, foreignRequests(page)], [[], [], [], []]);
});

test("without JavaScript its last part can be read", async () => {
  const tab = await browser.tab({ javaScript: false });
  await tab.goto(address);
  assert.ok((await tab.innerText("#entries")).includes("The last answer."));
});

test("a missing data file gives a message, not an empty page", async () => {
  const broken = exported(session, { isSplit: true });
  rmSync(fileURLToPath(new URL("data/s.js", broken)));
  const tab = await browser.tab();
  await tab.goto(broken);
  await tab.waitForSelector("html.ready", { state: "attached" });
  assert.match(await tab.innerText("#status"), /cannot show the session.*data\/s\.js is missing/);
  assert.ok((await tab.innerText("#entries")).includes("The last answer."));
});

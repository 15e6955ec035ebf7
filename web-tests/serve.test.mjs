// The pages of `sessile serve`.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { everyKind, open, search, serve, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const home = mkdtempSync(join(tmpdir(), "sessile-serve-"));
const { session, ids } = everyKind();
const file = join(home, "agent", "sessions", "--p--", "2026-01-02T03-04-05-000Z_s.jsonl");
let page;
let address;

before(async () => {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, session.text());
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(file, hourAgo, hourAgo);
  const link = await serve(home);
  page = await browser.tab();
  await page.goto(link);
  await page.locator("main a", { hasText: "Every kind of entry" }).first().click();
  await page.waitForSelector("html.ready", { state: "attached" });
  await settled(page);
  address = page.url();
});

after(() => rmSync(home, { recursive: true, force: true }));

test("a session is shown with its tree and its last entries", async () => {
  assert.equal(await page.title(), "Every kind of entry");
  assert.match(address, /\/s\/[0-9a-f]+$/, "the address does not contain a path or a token");
  assert.ok((await page.innerText("#entries")).includes("The last answer."));
  assert.ok((await page.$$("#tree .line")).length > 10);
  assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations], [[], [], []]);
});

test("entries, pictures and long outputs come from the server", async () => {
  await open(page, `${address}#entry-${ids.image}`);
  await page.waitForFunction((id) => document.querySelector(`#entry-${id} img`)?.naturalWidth > 0, ids.image);
  await page.evaluate((id) => { location.hash = `#entry-${id}`; }, ids.long);
  await settled(page);
  const result = page.locator(`#entry-${ids.long}`);
  await result.locator("summary").first().click();
  while (await result.locator("button.more").count()) {
    const pres = await result.locator("pre").count();
    await result.locator("button.more").click();
    await page.waitForFunction(
      ([id, n]) => !document.querySelector(`#entry-${id} button.more`) || document.querySelectorAll(`#entry-${id} pre`).length > n,
      [ids.long, pres],
    );
  }
  assert.ok((await result.textContent()).includes("line 20000 of the long output"));
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
});

test("the server searches arguments, output and thinking", async () => {
  await open(page, address);
  assert.equal((await search(page, "bullace")).length, 1);
  assert.equal((await search(page, "no-such-word-anywhere")).length, 0);
  await page.press("#search", "Escape");
});

test("the download has exactly the bytes of the file", async () => {
  await page.click("#download");
  const submit = page.locator("#download-dialog button[type=submit]:enabled");
  await submit.waitFor();
  await page.selectOption("#download-dialog [name=level]", "none");
  const [download] = await Promise.all([page.waitForEvent("download"), submit.click()]);
  assert.ok(readFileSync(await download.path()).equals(readFileSync(file)));
});

test("other sessions, parts and rows are not found", async () => {
  const status = (path) => page.evaluate(async (path) => (await fetch(path)).status, path);
  const base = new URL(address).pathname;
  for (const path of ["/s/0", "/s/..%2f..%2fetc", `${base}/no-part`, `${base}/entries?rows=999999`, `${base}/entries?rows=x`, `${base}/entries?rows=0`, `${base}/image?row=1&number=99`, `${base}/long?row=1&part=0&window=0`, `${base}/tree-none`]) {
    assert.equal(await status(path), 404, path);
  }
  assert.equal(await status(`${base}/structure`), 200);
});

test("without a cookie there is nothing", async () => {
  const other = await browser.tab();
  const response = await other.goto(address);
  assert.equal(response.status(), 401);
  assert.ok(!(await other.content()).includes("Every kind"));
});

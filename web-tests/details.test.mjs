// What the page shows of each kind of entry, and what its buttons do.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { everyKind, exported, foreignRequests, newPath, open, search, Session, sessile, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const { session, ids } = everyKind();
let page;

before(async () => {
  page = await browser.tab();
  await open(page, exported(session));
});

/** Goes to an entry and returns its element. */
async function entry(id) {
  await page.evaluate((id) => { location.hash = `#entry-${id}`; }, id);
  await page.waitForSelector(`#entry-${id}`, { state: "attached" });
  await settled(page);
  return page.locator(`#entry-${id}`);
}

test("the title and the header card tell what the session is", async () => {
  assert.equal(await page.title(), "Every kind of entry");
  const card = await page.innerText(".card");
  for (const text of ["/home/user/project", "2026-03-01 10:00", "model-1", "$", "/home/user/other.jsonl", "important"]) {
    assert.ok(card.includes(text), `${text} in ${card}`);
  }
  assert.match(card, /Cost\s*\$\d+\.\d\d/);
  assert.ok(!card.includes("temporary"), "a label that was removed");
});

test("colours of terminal output are classes", async () => {
  const result = await entry(ids.bash);
  assert.equal(await result.locator(".f1").innerText(), "red");
  assert.equal(await result.locator(".f2.ab").innerText(), "green");
  assert.equal(await result.locator("pre a").getAttribute("href"), "https://example.com/");
  assert.ok(!(await result.innerText()).includes("\u001b"));
  const red = await result.locator(".f1").evaluate((element) => getComputedStyle(element).color);
  const plain = await result.locator("pre").evaluate((element) => getComputedStyle(element).color);
  assert.notEqual(red, plain);
  assert.equal(await page.$$eval("[style]", (all) => all.filter((it) => it.closest("article")).length), 0);
});

test("parts of code stay in their line", async () => {
  const styles = await page.evaluate(() => {
    const code = document.createElement("pre");
    const parts = ["k", "s", "n", "c"].map((name) => Object.assign(document.createElement("i"), { className: name, textContent: "x" }));
    code.append(...parts);
    document.querySelector("#pane article").append(code);
    const found = parts.map((part) => {
      const { display, padding, borderTopWidth } = getComputedStyle(part);
      return `${display} ${padding} ${borderTopWidth}`;
    });
    code.remove();
    return found;
  });
  assert.deepEqual(styles, Array(4).fill("inline 0px 0px"));
});

test("changed words of an edit are marked, also side by side", async () => {
  const call = await entry(ids.edit.call);
  assert.deepEqual(await call.locator("pre.diff .o b").allInnerTexts(), ["one"]);
  assert.deepEqual(await call.locator("pre.diff .w b").allInnerTexts(), ["two"]);
  await page.keyboard.press("s");
  await page.waitForSelector(`#entry-${ids.edit.call} table.sides`);
  const cells = await call.locator("table.sides tr").first().locator("td").allInnerTexts();
  assert.deepEqual(cells.map((cell) => cell.trim()), ["-let one = 1;", "+let two = 1;"]);
  assert.deepEqual(await call.locator("table.sides b").allInnerTexts(), ["one", "two"]);
  assert.equal(await call.locator("pre.diff").isVisible(), false);
  await page.keyboard.press("s");
  await page.waitForSelector(`#entry-${ids.edit.call} table.sides`, { state: "detached" });
});

test("cost has its currency, and durations and stop reasons are shown", async () => {
  const answer = await entry(ids.answer);
  const text = await answer.locator("header").innerText();
  assert.ok(text.includes("$0.23"), text);
  assert.ok(text.includes("3.2 s"), text);
});

test("thinking is Markdown, and withheld thinking is mentioned", async () => {
  const answer = await entry(ids.answer);
  assert.equal(await answer.locator("details.thinking em").innerText(), "Markdown");
  assert.equal(await answer.locator("details.thinking code").innerText(), "pears");
  assert.match(await answer.innerText(), /withheld/);
  await page.keyboard.press("t");
  await page.waitForFunction((id) => !document.querySelector(`#entry-${id} details.thinking`).open, ids.answer);
  await page.keyboard.press("t");
});

test("pictures are drawn, drawings with scripts are not, remote pictures are links", async () => {
  const result = await entry(ids.image);
  await page.waitForFunction((id) => document.querySelector(`#entry-${id} img`)?.naturalWidth > 0, ids.image);
  assert.equal(await result.locator("img").count(), 1);
  assert.match(await result.innerText(), /image\/svg\+xml.*not shown/);
  assert.ok((await result.locator("img").getAttribute("alt")).includes("2×3"));
  const answer = await entry(ids.answer);
  assert.equal(await answer.locator("img").count(), 0);
  assert.ok((await answer.locator('a[href="https://example.com/a.png"]').count()) === 1);
  for (const link of await page.$$eval("article a[href^=http]", (links) => links.map((link) => link.rel))) {
    assert.match(link, /noopener.*noreferrer/);
  }
});

test("a result without its call says so", async () => {
  assert.match(await (await entry(ids.orphan)).innerText(), /The call that this result belongs to is not in the session/);
  assert.doesNotMatch(await (await entry(ids.bash)).innerText(), /belongs to/);
});

test("a label is shown at its entry; a label that was removed is not", async () => {
  assert.equal(await (await entry(ids.first)).locator(".label").innerText(), "important");
  assert.equal(await (await entry(ids.second)).locator(".label").count(), 0);
});

test("a compaction says what it covers and leads to the entry that it keeps", async () => {
  const compaction = await entry(ids.compaction);
  assert.match(await compaction.innerText(), /covers \d+ entries/);
  assert.match(await compaction.innerText(), /120\.0k tokens before/);
  await compaction.locator("p.aside a").click();
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.second);
  await page.waitForSelector(`#entry-${ids.second}`);
});

test("every kind of entry has a place on the page", async () => {
  const shown = new Set();
  for (const line of session.lines.slice(1)) {
    if (!(await page.$(`#entry-${line.id}`))) await entry(line.id);
    const text = await page.locator(`#entry-${line.id}`).innerText();
    assert.ok(text.trim().length > 3, `${line.type} ${line.id}: ${text}`);
    assert.doesNotMatch(text, /unusual shape/, JSON.stringify(line));
    shown.add(line.type);
  }
  assert.equal(shown.size, 12);
});

test("a long output loads window by window to its end", async () => {
  const result = await entry(ids.long);
  await result.locator("summary").first().click();
  let windows = 0;
  while (await result.locator("button.more").count()) {
    assert.ok(windows++ < 100, "no end");
    const pres = await result.locator("pre").count();
    await result.locator("button.more").click();
    await page.waitForFunction(
      ([id, n]) => !document.querySelector(`#entry-${id} button.more`) || document.querySelectorAll(`#entry-${id} pre`).length > n,
      [ids.long, pres],
    );
  }
  const lines = (await result.locator("pre").evaluateAll((all) => all.map((pre) => pre.textContent.replace(/\n$/, "")))).join("\n").split("\n");
  assert.ok(windows > 5, `${windows} windows`);
  assert.equal(lines.length, 20000);
  lines.forEach((line, at) => assert.equal(line, `line ${at + 1} of the long output`));
});

test("search finds everything that a reader sees", async () => {
  const cases = {
    "tool name": "greengage_tool", "tool argument": "quince", "list argument": "sloe", "path argument": "main.rs",
    "nested call": "damson", "tool output": "medlar", thinking: "pears", "compaction summary": "cornelian",
    "branch summary": "quandong", "error message": "bullace", "session name": "every kind", "custom data": "rowanberry",
    label: "important", "model": "model-1", "failed result": "mirabelle", "words in any order": "PROMPT second",
    "user text": "orchard", command: "seq", "a part of a word": "rchar",
  };
  for (const [what, text] of Object.entries(cases)) assert.ok((await search(page, text)).length > 0, `${what}: ${text}`);
  assert.deepEqual(await search(page, "no-such-word-anywhere"), []);
  assert.deepEqual(await search(page, "xyzsignature"), [], "signatures are not for readers");
  assert.equal((await search(page, "bullace")).length, 1);
  await page.keyboard.press("Escape");
});

test("copy buttons put the text on the clipboard", async () => {
  const pasted = async () => {
    await page.evaluate(() => {
      const area = document.createElement("textarea");
      area.id = "paste";
      document.body.append(area);
      area.focus();
    });
    await page.keyboard.press("Control+v");
    const text = await page.inputValue("#paste");
    await page.evaluate(() => document.getElementById("paste").remove());
    return text;
  };
  const bash = await entry(ids.bash);
  await bash.locator(".frame .copy").first().click();
  await page.waitForFunction(() => document.getElementById("status").textContent === "Copied.");
  assert.equal(await pasted(), "red green site plain");
  const first = await entry(ids.first);
  await first.locator(".copy.whole").click();
  await settled(page);
  assert.equal(await pasted(), "First prompt: please look at the orchard.");
});

test("links to entries change the address", async () => {
  const first = await entry(ids.first);
  assert.equal(await first.locator("a.permalink").getAttribute("href"), `#entry-${ids.first}`);
});

test("the page reports no error and sends no request", () => {
  assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations, foreignRequests(page)], [[], [], [], []]);
});

test("the download has exactly the bytes of the file", async () => {
  const good = new Session();
  good.user("hello");
  good.answer("world");
  const text = good.text();
  const v1 = [
    { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/x", provider: "a", modelId: "m", thinkingLevel: "off" },
    { type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: { role: "user", content: "first" } },
    { type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: { role: "assistant", content: [{ type: "text", text: "second" }] } },
  ].map((line) => JSON.stringify(line) + "\n").join("");
  const files = {
    plain: text, "version 1": v1, torn: text + '{"type":"message","id":"torn', "no final line end": text.trimEnd(),
    CRLF: text.replaceAll("\n", "\r\n"), "byte order mark": "\ufeff" + text, "empty lines": text.replaceAll("\n", "\n\n"),
    "not UTF-8": Buffer.concat([Buffer.from(text), Buffer.from([0x7b, 0xff, 0xfe, 0x0a])]),
    "line of 2 MB": text + JSON.stringify({ type: "custom", id: "big", parentId: null, customType: "x", data: "ä".repeat(1 << 20) }) + "\n",
  };
  const tab = await browser.tab();
  for (const [name, bytes] of Object.entries(files)) {
    await open(tab, exported(bytes));
    const [download] = await Promise.all([tab.waitForEvent("download"), tab.click("#download")]);
    assert.ok(readFileSync(await download.path()).equals(Buffer.from(bytes)), name);
    assert.match(download.suggestedFilename(), /^[\w.-]+\.jsonl$/);
  }
  assert.deepEqual(tab.seen.errors, []);
});

test("without JavaScript the last part of the conversation can be read", async () => {
  const tab = await browser.tab({ javaScript: false });
  await tab.goto(exported(session));
  const text = await tab.locator("#entries").innerText();
  for (const part of ["The last answer.", "Fourth prompt", "line 1 of the long output", "quandong"]) assert.ok(text.includes(part), part);
  assert.ok((await tab.innerText("body")).includes("Without JavaScript"));
  assert.equal(await tab.title(), "Every kind of entry");
  assert.ok(await tab.locator("article").last().isVisible());
});

test("the page prints its entries, without its controls", async () => {
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.isVisible("#side"), false);
  assert.equal(await page.isVisible(".bar"), false);
  assert.ok((await page.pdf()).length > 5000);
  await page.emulateMedia({ media: "screen" });
});

test("the sample sessions are shown without an error", async () => {
  const tab = await browser.tab();
  const out = newPath("sample.html");
  sessile("export", "--sample", "--format", "html", "-o", out);
  await open(tab, `file://${out}`);
  assert.ok((await tab.locator("article").count()) > 3);
  assert.deepEqual(tab.seen.errors, []);
});

// Files that pi's page cannot show: the odd entry is shown as its text, and all others as usual.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";
import { exported, foreignRequests, open, search, Session, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();

const assistant = (content, more = {}) => ({ type: "message", message: { role: "assistant", content, model: "m", ...more } });
const user = (content) => ({ type: "message", message: { role: "user", content } });
const result = (content, more = {}) => ({ type: "message", message: { role: "toolResult", toolCallId: "c", toolName: "bash", content, isError: false, ...more } });
const text = [{ type: "text", text: "odd marker" }];

/** Entries that pi's page cannot show, or that are wrong in another way; `note` if the page must show the raw text. */
const entries = {
  "assistant content is a string": { entry: assistant("odd marker") },
  "assistant content is null": { entry: assistant(null, { odd: "odd marker" }), note: true },
  "assistant content is missing": { entry: assistant(undefined, { odd: "odd marker" }), note: true },
  "assistant content has a null block": { entry: assistant([null, ...text]), note: true },
  "assistant content has a number block": { entry: assistant([7, ...text]), note: true },
  "assistant content has a block of an unknown type": { entry: assistant([{ type: "hologram", text: "odd marker" }]), note: true },
  "assistant content has a block without a type": { entry: assistant([{ value: "odd marker" }]), note: true },
  "user content is null": { entry: { type: "message", message: { role: "user", content: null, odd: "odd marker" } }, note: true },
  "user content is a number": { entry: { type: "message", message: { role: "user", content: 5, odd: "odd marker" } }, note: true },
  "user content is an object": { entry: user({ odd: "odd marker" }), note: true },
  "user content is missing": { entry: { type: "message", message: { role: "user", odd: "odd marker" } }, note: true },
  "text block without text": { entry: assistant([{ type: "text", odd: "odd marker" }]), note: true },
  "text is a number": { entry: user([{ type: "text", text: 3, odd: "odd marker" }]), note: true },
  "text is an object": { entry: user([{ type: "text", text: { odd: "odd marker" } }]), note: true },
  "thinking is not a string": { entry: assistant([{ type: "thinking", thinking: { odd: "odd marker" } }]), note: true },
  "thinking is missing": { entry: assistant([{ type: "thinking", odd: "odd marker" }]), note: true },
  "message is missing": { entry: { type: "message", odd: "odd marker" }, note: true },
  "message is null": { entry: { type: "message", message: null, odd: "odd marker" }, note: true },
  "message is a string": { entry: { type: "message", message: "odd marker" }, note: true },
  "message has no role": { entry: { type: "message", message: { content: "odd marker" } } },
  "message has an unknown role": { entry: { type: "message", message: { role: "oracle", content: "odd marker" } } },
  "arguments of read are null": { entry: assistant([...text, { type: "toolCall", id: "c", name: "read", arguments: null }]), note: true },
  "arguments of edit are a string": { entry: assistant([{ type: "toolCall", id: "c", name: "edit", arguments: "odd marker" }]), note: true },
  "arguments are missing": { entry: assistant([...text, { type: "toolCall", id: "c", name: "bash" }]), note: true },
  "edits of edit are not a list": { entry: assistant([{ type: "toolCall", id: "c", name: "edit", arguments: { path: "a", edits: "odd marker" } }]) },
  "tool call without a name": { entry: assistant([{ type: "toolCall", id: "c", arguments: { a: "odd marker" } }]) },
  "result has a null block": { entry: result([null, ...text]), note: true },
  "result content is a string": { entry: result("odd marker") },
  "result content is null": { entry: result(null, { odd: "odd marker" }), note: true },
  "details.diff is not a string": { entry: result(text, { details: { diff: { odd: 1 } } }) },
  "error of a nested call is not a string": { entry: result(text, { nestedCalls: { calls: [{ id: "n", name: "x", error: { code: 1 } }, null], complete: false } }) },
  "nested calls are not a list": { entry: result(text, { nestedCalls: "no" }) },
  "tokensBefore is null": { entry: { type: "compaction", summary: "odd marker", firstKeptEntryId: "x", tokensBefore: null } },
  "summary of a compaction is a number": { entry: { type: "compaction", summary: 5, firstKeptEntryId: 7, tokensBefore: "x", odd: "odd marker" }, note: true },
  "summary of a branch is not a string": { entry: { type: "branch_summary", fromId: "root", summary: { odd: "odd marker" } }, note: true },
  "usage and cost are missing": { entry: assistant(text) },
  "cost is a string": { entry: assistant(text, { usage: { input: "many", cost: "a lot" } }) },
  "cost is huge": { entry: assistant(text, { usage: { input: 1e308, output: -1, cost: { total: 1e308 } }, durationMs: -1e300 }) },
  "image without data": { entry: user([...text, { type: "image", mimeType: "image/png" }]) },
  "image that is not an image": { entry: user([...text, { type: "image", mimeType: "image/png", data: "iVBORw0KGgoAAAA" }]) },
  "exit code is a string": { entry: { type: "message", message: { role: "bashExecution", command: "odd marker", output: "x", exitCode: "<b>1" } } },
  "command is missing": { entry: { type: "message", message: { role: "bashExecution", output: "odd marker" } }, note: true },
  "unknown type": { entry: { type: "novelty", odd: "odd marker" } },
  "type is missing": { entry: { type: undefined, odd: "odd marker" } },
  "type is a number": { entry: { type: 4, odd: "odd marker" } },
  "custom message with odd content": { entry: { type: "custom_message", customType: 7, content: 9, odd: "odd marker" }, note: true },
  "context edit with an odd replacement": { entry: { type: "context_edit", targetId: 5, replacement: "odd marker" }, note: true },
  "label without a target": { entry: { type: "label", label: "odd marker" } },
  "id is missing": { entry: { ...assistant(text), id: undefined }, isLast: true },
  "id is a number": { entry: { ...assistant(text), id: 7 }, isLast: true },
  "time is not a time": { entry: { ...assistant(text), timestamp: { a: 1 } } },
  "text with lone surrogates": { raw: '{"type":"message","id":"odd","parentId":"good0","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"odd \\ud800 marker \\udc00"}}', marker: /odd .* marker/ },
  "property twice": { raw: '{"type":"message","id":"odd","parentId":"good0","message":{"role":"user","content":"first"},"message":{"role":"user","content":"odd marker"}}' },
};

const good = (id, parentId, word) => ({ type: "message", id, parentId, timestamp: "2026-03-01T10:00:00.000Z", message: { role: "user", content: `good ${word}` } });

let page;
before(async () => { page = await browser.tab(); });

/** The text of the conversation and of the whole tree. */
async function shown() {
  await page.selectOption("#filter", "all");
  await settled(page);
  return { pane: await page.innerText("#entries"), tree: await page.innerText("#tree") };
}

function assertQuiet(name) {
  assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations, foreignRequests(page)], [[], [], [], []], name);
  for (const list of Object.values(page.seen)) list.length = 0;
}

for (const [name, { entry, raw, note = false, isLast = false, marker = /odd marker/ }] of Object.entries(entries)) {
  test(`the rest stands: ${name}`, async () => {
    const s = new Session();
    s.lines.push(good("good0", null, "before"));
    s.lines.push(raw ?? { id: "odd", parentId: "good0", timestamp: "2026-03-01T10:00:00.000Z", ...entry });
    s.lines.push(good("good1", isLast ? "good0" : "odd", "after"), good("good2", "good1", "at the end"));
    await open(page, exported(s));
    const { pane, tree } = await shown();
    for (const word of ["before", "after", "at the end"]) assert.ok(pane.includes(`good ${word}`), `${word}: ${pane}`);
    if (isLast) {
      assert.match(tree, marker);
    } else {
      assert.match(pane, marker);
      const isNoted = /unusual shape/.test(pane);
      assert.equal(isNoted, note, pane);
      if (note) assert.ok(await page.isVisible("article .problem"));
    }
    assertQuiet(name);
  });
}

const lines = (...all) => [new Session().lines[0], ...all].map((line) => (typeof line === "string" ? line : JSON.stringify(line)) + "\n").join("");

/** Files whose lines or links are wrong. */
const files = {
  "parent cycle": lines(good("a", "c", "one"), good("b", "a", "two"), good("c", "b", "three")),
  "entry is its own parent": lines(good("a", null, "one"), good("b", "b", "two"), good("c", "b", "three")),
  "duplicate id that closes a loop": lines(good("a", null, "one"), good("b", "a", "two"), good("a", "b", "three")),
  "duplicate ids": lines(good("a", null, "one"), good("b", "a", "two"), good("b", "a", "three")),
  "unknown parent": lines(good("a", null, "one"), good("b", "nowhere", "two"), good("c", "b", "three")),
  "two roots": lines(good("a", null, "one"), good("b", null, "two"), good("c", "b", "three")),
  "two headers": lines(good("a", null, "one"), new Session().lines[0], good("b", "a", "two"), good("c", "b", "three")),
  "torn tail": lines(good("a", null, "one"), good("b", "a", "two"), good("c", "b", "three")) + '{"type":"message","id":"d","par',
  "line that is not JSON": lines(good("a", null, "one"), "not JSON {", good("b", "a", "two"), good("c", "b", "three")),
  "lines that are not objects": lines(good("a", null, "one"), "7", '"text"', "[1]", "null", good("b", "a", "two"), good("c", "b", "three")),
  "version 4": lines(good("a", null, "one"), good("b", "a", "two"), good("c", "b", "three")).replace('"version":3', '"version":4'),
  "id with spaces, quotes and signs": lines(good("a b\"c'<>&#%?/", null, "one"), good("\u202e\u0000ä", "a b\"c'<>&#%?/", "two"), good("c", "\u202e\u0000ä", "three")),
  "ids of prototypes": lines(good("__proto__", null, "one"), good("constructor", "__proto__", "two"), good("toString", "constructor", "three")),
  "version 2": lines(good("a", null, "one"), good("b", "a", "two"), good("c", "b", "three")).replace('"version":3', '"version":2'),
};

for (const [name, file] of Object.entries(files)) {
  test(`the page shows all entries: ${name}`, async () => {
    await open(page, exported(file));
    const { pane, tree } = await shown();
    for (const word of ["one", "two", "three"]) {
      // As in pi, the tree shows only the last of several entries with one id. The search shows all of them.
      if (name.startsWith("duplicate id") && !(pane + tree).includes(`good ${word}`)) {
        assert.equal((await search(page, `good ${word}`)).length, 1);
        await page.press("#search", "Enter");
        await settled(page);
        assert.ok((await page.innerText("#entries")).includes(`good ${word}`), `${word} of ${name}`);
        await page.press("#search", "Escape");
        await settled(page);
        continue;
      }
      assert.ok((pane + tree).includes(`good ${word}`), `${word}: ${pane}\n${tree}`);
    }
    // Opening every line shows its entry.
    const n = await page.locator("#tree .line").count();
    for (let line = 0; line < n; line++) {
      await page.locator(`#tree .line[data-line="${line}"]`).click();
      await settled(page);
      const title = await page.locator(`#tree .line[data-line="${line}"]`).innerText();
      const words = /good \w+/.exec(title)?.[0];
      if (words) assert.ok((await page.innerText("#entries")).includes(words), `${title} of ${name}`);
    }
    assertQuiet(name);
  });
}

test("problems of the file are listed", async () => {
  await open(page, exported(files["line that is not JSON"]));
  assert.match(await page.innerText(".card"), /Line 3/);
});

test("a session without entries says so", async () => {
  await open(page, exported(new Session()));
  assert.match(await page.innerText("#pane"), /This session has no entries/);
  assertQuiet("header only");
  for (const key of ["n", "p", "g", "G", "e", "f", "t", "o", "s", "ArrowDown", "Enter", "?", "Escape"]) await page.keyboard.press(key);
  await page.fill("#search", "x");
  await settled(page);
  assertQuiet("keys on a page without entries");
});

test("a file that is not a session gives an error and no page", () => {
  for (const text of ["", "\n", "hello\n", '{"type":"message"}\n']) {
    assert.throws(() => exported(text), /is not a session/);
  }
});

test("files of the format documentation can be exported and opened", async () => {
  const folder = new URL("../docs/format/", import.meta.url).pathname;
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  assert.ok(names.length > 50);
  let opened = 0;
  // Every eighth is enough here: Rust tests read all of them.
  for (const name of names.filter((_, at) => at % 8 === 0)) {
    let address;
    try {
      address = exported(readFileSync(folder + name));
    } catch (error) {
      assert.match(String(error.stderr), /not a session|hint/, name);
      continue;
    }
    await page.goto(address);
    await page.waitForSelector("html.ready", { state: "attached" });
    assert.doesNotMatch(await page.innerText("#status"), /cannot show/, name);
    assertQuiet(name);
    opened++;
  }
  assert.ok(opened > 5, `${opened} of ${names.length}`);
});

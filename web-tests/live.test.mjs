// The page of a session follows programs that write to it: `sessile append` and the genuine pi.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSocket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { Session, open, program, require, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const home = mkdtempSync(join(tmpdir(), "sessile-live-"));
const agent = join(home, "agent");
const folder = join(agent, "sessions", "--home-user-project--");
const env = { HOME: home, PI_CODING_AGENT_DIR: agent, TZ: "UTC", PATH: process.env.PATH };
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
let server;
let port;
let page;

const freePort = () =>
  new Promise((resolve) => {
    const socket = createSocket().listen(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });

/** Starts the server on the same port each time, and returns the link to sign in. */
async function start() {
  server = spawn(program, ["serve", "--json", "--port", String(port)], { cwd: home, env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const piece of server.stdout) {
    text += piece;
    if (text.includes("\n")) break;
  }
  return JSON.parse(text).url;
}

async function kill() {
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGKILL");
  await ended;
}

let n = 0;

/** A session of some prompts and answers. Returns its file and the ids of its entries. */
function newSession(nEntries = 2) {
  n += 1;
  const name = `Session number ${n}.`;
  const session = new Session({ cwd: home, id: `01990000-0000-7000-8000-${String(n).padStart(12, "0")}` });
  session.add({ type: "session_info", name });
  const ids = [];
  for (let at = 0; at < nEntries; at++) {
    ids.push(at % 2 ? session.answer(`Answer ${at} of ${name}\n\n${"More words. ".repeat(40)}`) : session.user(`Prompt ${at}`));
  }
  const file = join(folder, `2026-01-02T03-04-05-000Z_01990000-0000-7000-8000-${String(n).padStart(12, "0")}.jsonl`);
  writeFileSync(file, session.text());
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(file, hourAgo, hourAgo);
  return { file, name, ids, session };
}

/** Opens the page of a session from the list. */
async function show(tab, { name }) {
  await tab.goto(`http://127.0.0.1:${port}/`);
  await tab.locator("#rows a.title", { hasText: name }).click();
  await tab.waitForSelector("html.ready", { state: "attached" });
  await settled(tab);
}

/** Goes to an entry. The page waits for its text, and then moves. */
async function goTo(tab, id) {
  await tab.evaluate((id) => { location.hash = `#entry-${id}`; }, id);
  await tab.waitForFunction((id) => {
    const entry = document.getElementById(`entry-${id}`);
    const { top } = document.getElementById("pane").getBoundingClientRect();
    return entry && Math.abs(entry.getBoundingClientRect().top - top) < 40;
  }, id);
  await settled(tab);
}

const append = (file, text, ...more) => execFileSync(program, ["append", file, text, ...more], { cwd: home, env }).toString().trim();
const texts = (tab) => tab.$$eval("#entries > article", (all) => all.map((article) => article.textContent));
const isAtEnd = () => {
  const pane = document.getElementById("pane");
  return pane.scrollHeight - pane.scrollTop - pane.clientHeight < 60;
};
const hasText = (tab, text) => tab.waitForFunction((text) => document.getElementById("entries").textContent.includes(text), text);
const hasLine = (tab, text) => tab.waitForFunction((text) => document.getElementById("tree").textContent.includes(text), text);
const news = (tab, text) => tab.waitForFunction((text) => document.getElementById("news").textContent === text, text);
const count = (all, text) => all.filter((one) => one.includes(text)).length;

before(async () => {
  mkdirSync(folder, { recursive: true });
  newSession();
  port = await freePort();
  const url = await start();
  page = await browser.tab({ init: axe });
  page.setDefaultTimeout(60000);
  await page.goto(url);
});

beforeEach(() => Object.values(page.seen).forEach((list) => (list.length = 0)));

after(async () => {
  server?.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
});

test("a page at its end shows what `sessile append` writes, and stays at the end", async () => {
  const shown = newSession(20);
  await show(page, shown);
  assert.ok(await page.evaluate(isAtEnd));
  for (const text of ["A first live prompt", "A second live prompt"]) {
    append(shown.file, text);
    await hasText(page, text);
    await hasLine(page, text);
    await page.waitForFunction(isAtEnd);
  }
  const all = await texts(page);
  assert.deepEqual([count(all, "A first live prompt"), count(all, "A second live prompt")], [1, 1]);
  assert.equal(await page.textContent("#news"), "");
  await page.waitForFunction(() => document.querySelector(".line.selected").textContent.includes("A second live prompt"));
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
});

test("the name, the title and the header card follow", async () => {
  const shown = newSession(4);
  await show(page, shown);
  const entries = () => page.$$eval("#pane > .card div", (all) => all.map((fact) => fact.textContent).find((text) => text.startsWith("Entries")));
  const before = await entries();
  execFileSync(program, ["name", shown.file, "Renamed <b>while</b> it is shown"], { cwd: home, env });
  const title = "Renamed <b>while</b> it is shown";
  await page.waitForFunction((title) => document.title === title, title);
  assert.deepEqual([await page.textContent(".bar .name"), await page.textContent("#pane > .card h1")], [title, title]);
  append(shown.file, "One more prompt");
  await page.waitForFunction((before) => !document.querySelector("#pane > .card").textContent.includes(before), before);
  assert.notEqual(await entries(), before);
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
});

test("the genuine pi writes, and its prompt and answer appear", async () => {
  // A model that answers at once.
  const model = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const chunk = (choice, more = {}) =>
        `data: ${JSON.stringify({ id: "a", object: "chat.completion.chunk", created: 1, model: "mock-1", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(chunk({ delta: { role: "assistant", content: "An answer from the model" }, finish_reason: null }));
      response.write(chunk({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } }));
      response.end("data: [DONE]\n\n");
    });
  });
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  const models = [{ id: "mock-1", contextWindow: 200000, maxTokens: 4096, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }];
  const provider = { baseUrl: `http://127.0.0.1:${model.address().port}/v1`, apiKey: "k", api: "openai-completions", models };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { mock: provider } }));
  const shown = newSession();
  await show(page, shown);
  const oracle = process.env.SESSILE_ORACLE_DIR ?? dirname(process.execPath);
  const pi = spawn(process.execPath, [join(oracle, "pi/dist/bundle/cli.js"), "--mode", "rpc", "--offline", "--provider", "mock", "--model", "mock-1", "--session", shown.file], {
    cwd: home,
    env: { ...env, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" },
    stdio: ["pipe", "ignore", "inherit"],
  });
  try {
    for (const prompt of ["A prompt for the genuine pi", "Another prompt for it"]) {
      pi.stdin.write(`${JSON.stringify({ type: "prompt", message: prompt })}\n`);
      await hasText(page, prompt);
      await page.waitForFunction(
        (prompt) => {
          const all = [...document.querySelectorAll("#entries > article")].map((article) => article.textContent);
          const at = all.findIndex((text) => text.includes(prompt));
          return at >= 0 && all.slice(at).some((text) => text.includes("An answer from the model"));
        },
        prompt,
      );
    }
    assert.equal(count(await texts(page), "An answer from the model"), 2);
    await page.waitForFunction(() => ["working", "waiting"].includes(document.querySelector(".bar .dot").dataset.status));
  } finally {
    pi.kill();
    model.close();
  }
});

test("a reader elsewhere gets a button that leads to the new messages", async () => {
  const shown = newSession(30);
  await show(page, shown);
  await goTo(page, shown.ids[4]);
  const top = () => page.evaluate(() => document.getElementById("pane").scrollTop);
  const before = await top();
  append(shown.file, "News below");
  await news(page, "1 new message");
  append(shown.file, "More news below");
  await news(page, "2 new messages");
  await hasLine(page, "News below");
  assert.equal(await top(), before, "the reader stays where they are");
  await page.waitForFunction(() => document.querySelectorAll("#tree .fresh").length === 2);
  const branch = append(shown.file, "News on another branch", "--parent", shown.ids[2]);
  await news(page, "2 new messages, 1 new message on another branch");
  await page.click("#news button");
  await page.waitForFunction(() => [...document.querySelectorAll("#entries > article")].some((article) => {
    const { top, bottom } = article.getBoundingClientRect();
    return article.textContent.includes("News below") && bottom > 0 && top < innerHeight;
  }));
  await news(page, "1 new message on another branch");
  await page.keyboard.press("N");
  await hasText(page, "News on another branch");
  await page.waitForSelector(`#entry-${branch}`);
  await news(page, "");
  await page.waitForFunction(() => document.querySelectorAll("#tree .fresh").length === 0);
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
});

test("nothing is missing or repeated after the server was killed", async () => {
  const shown = newSession();
  await show(page, shown);
  append(shown.file, "Before the crash");
  await hasText(page, "Before the crash");
  await kill();
  append(shown.file, "During the crash, one");
  append(shown.file, "During the crash, two");
  await start();
  append(shown.file, "After the crash");
  await hasText(page, "After the crash");
  const all = await texts(page);
  for (const text of ["Before the crash", "During the crash, one", "During the crash, two", "After the crash"]) {
    assert.equal(count(all, text), 1, text);
  }
  const order = all.filter((text) => /crash/.test(text)).map((text) => /(Before|one|two|After)/.exec(text)[1]);
  assert.deepEqual(order, ["Before", "one", "two", "After"]);
  assert.deepEqual(page.seen.errors, []);
});

test("another file in its place is loaded, at the same entry", async () => {
  const shown = newSession(40);
  await show(page, shown);
  await goTo(page, shown.ids[10]);
  shown.session.lines = shown.session.lines.filter((line) => line.id !== shown.ids[3]);
  shown.session.user("A line of the other file");
  writeFileSync(`${shown.file}.new`, shown.session.text());
  const loaded = page.waitForEvent("load");
  renameSync(`${shown.file}.new`, shown.file);
  await loaded;
  await page.waitForSelector("html.ready", { state: "attached" });
  await settled(page);
  await hasLine(page, "A line of the other file");
  const visible = await page.evaluate((id) => document.getElementById(`entry-${id}`)?.getBoundingClientRect().top, shown.ids[10]);
  assert.ok(visible > 0 && visible < 900, String(visible));
});

test("a torn line appears when it is whole", async () => {
  const shown = newSession();
  await show(page, shown);
  const line = JSON.stringify({ type: "message", id: "torn0001", parentId: shown.ids[1], timestamp: "2026-03-01T10:00:02.000Z", message: { role: "user", content: "A line in two writes", timestamp: 1 } });
  appendFileSync(shown.file, line.slice(0, 60));
  appendFileSync(shown.file, `${line.slice(60)}\n`);
  await hasText(page, "A line in two writes");
  assert.equal(count(await texts(page), "A line in two writes"), 1);
});

test("dots in the list and in the page have words, and change as time passes", async () => {
  const shown = newSession();
  await page.goto(`http://127.0.0.1:${port}/`);
  const row = page.locator("#rows li.s", { hasText: shown.name });
  // The server may have seen the file before it got its age.
  const has = (status) => page.waitForFunction(([name, status]) => [...document.querySelectorAll("#rows li.s")].find((row) => row.textContent.includes(name))?.querySelector(".dot").dataset.status === status, [shown.name, status]);
  await has("waiting");
  assert.equal(await row.locator(".dot").getAttribute("aria-label"), "Waiting for you", "the answer is finished");
  append(shown.file, "A prompt without an answer");
  await has("working");
  // Nothing else is written, so the status changes by itself.
  await has("quiet");
  await show(page, shown);
  await page.waitForFunction(() => document.querySelector(".bar .dot").title === "Busy, nothing written for a while");
  const elevenMinutesAgo = Date.now() / 1000 - 660;
  utimesSync(shown.file, elevenMinutesAgo, elevenMinutesAgo);
  await page.waitForFunction(() => document.querySelector(".bar .dot").dataset.status === "stopped");
});

test("a hidden page catches up when it is shown again", async () => {
  const shown = newSession();
  await show(page, shown);
  const hide = (isHidden) =>
    page.evaluate((isHidden) => {
      Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
  await hide(true);
  append(shown.file, "Written while the page was hidden");
  await hide(false);
  await hasText(page, "Written while the page was hidden");
  assert.equal(count(await texts(page), "Written while the page was hidden"), 1);
});

test("the new elements are accessible, also on a phone and in the dark", async () => {
  for (const [size, scheme] of [[{ width: 1280, height: 900 }, "light"], [{ width: 390, height: 800 }, "dark"]]) {
    const shown = newSession(40);
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await show(page, shown);
    await goTo(page, shown.ids[4]);
    append(shown.file, "News");
    await news(page, "1 new message");
    for (const where of [undefined, "/"]) {
      if (where) {
        await page.goto(`http://127.0.0.1:${port}${where}`);
        await page.waitForSelector("html.ready", { state: "attached" });
      }
      const { violations } = await page.evaluate(() => window.axe.run());
      assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`), []);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

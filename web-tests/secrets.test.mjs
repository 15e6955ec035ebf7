// Secrets in the pages of `sessile serve`: the warning before a download, copies without them, marks beside entries.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Session, require, serve, sessile, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const home = mkdtempSync(join(tmpdir(), "sessile-secrets-"));
const folder = join(home, "agent", "sessions", "--p--");
const config = join(home, ".config", "sessile", "config.toml");

// Made up, in the format of a provider.
const secret = (letter) => `gsk_${letter}7Kq2vTz9LmNp4RsWb8YcD3fGh6JkQ1aE5uV0iZoXtB7nMyPqRsT`;
const HIDDEN = "7Kq2vTz9LmNp4RsWb8YcD3fGh6Jk";

const planted = new Session({ id: "01990000-0000-7000-8000-000000000011" });
const ids = {};
planted.add({ type: "session_info", name: "With secrets" });
ids.key = planted.user(`Use ${secret("a")} in /home/alice/x`);
for (let n = 0; n < 60; n++) planted.answer(`Answer ${n}`);
ids.url = planted.answer(`Connect to https://me:kR7-vQ2x9Lw@db.internal/app and ${secret("b")}`);
ids.last = planted.user("Thanks");
const clean = new Session({ id: "01990000-0000-7000-8000-000000000012" });
clean.add({ type: "session_info", name: "Without secrets" });
clean.user("Hello");
clean.answer("World");
const files = { planted: join(folder, "2026-01-02T03-04-05-000Z_a.jsonl"), clean: join(folder, "2026-01-02T03-04-05-000Z_b.jsonl") };

let page;
let origin;

before(async () => {
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(config, ".."), { recursive: true });
  writeFileSync(files.planted, planted.text());
  writeFileSync(files.clean, clean.text());
  const hourAgo = Date.now() / 1000 - 3600;
  for (const file of Object.values(files)) utimesSync(file, hourAgo, hourAgo);
  const link = await serve(home);
  page = await browser.tab({ init: axe });
  await page.goto(link);
  origin = new URL(page.url()).origin;
});

after(() => rmSync(home, { recursive: true, force: true }));

async function show(title) {
  await page.goto(`${origin}/`);
  await page.locator("#rows a.title", { hasText: title }).first().click();
  await page.waitForSelector("html.ready #entries", { state: "attached" });
  await settled(page);
}

const quiet = () => assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations], [[], [], []]);

const violations = () =>
  page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).join(" ")}`);
  });

const dialog = "#download-dialog";
const submit = `${dialog} button[type=submit]`;

/** Opens the dialog and waits until the scan has ended. */
async function askForDownload() {
  await page.click("#download");
  await page.waitForFunction(() => !document.querySelector("#download-dialog [role=status]").textContent.startsWith("Looking"));
}

async function downloaded(act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  await page.waitForSelector(dialog, { state: "detached" });
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

test("a download warns of secrets and suggests a copy without them", async () => {
  await show("With secrets");
  await askForDownload();
  const words = await page.innerText(dialog);
  assert.match(words, /3 secrets \(2 certain, 1 likely\)/);
  assert.match(words, /groq/);
  assert.match(words, /Rotate keys/);
  assert.ok(!(await page.innerHTML(dialog)).includes(HIDDEN), "no value is in the dialog");
  assert.equal(await page.inputValue(`${dialog} [name=level]`), "secrets");
  assert.equal(await page.innerText(submit), "Download the copy");
  assert.deepEqual(await violations(), []);
  const copy = await downloaded(() => page.click(submit));
  assert.match(copy.name, /^[\w-]+-redacted\.jsonl$/);
  assert.ok(!copy.text.includes(HIDDEN) && !copy.text.includes("kR7-vQ2x9Lw"));
  assert.ok(copy.text.includes("[REDACTED:") && copy.text.includes("/home/alice/x"));
  assert.equal(await page.locator(dialog).count(), 0);
  quiet();
});

test("the original with secrets needs a choice that says so", async () => {
  await show("With secrets");
  await askForDownload();
  await page.selectOption(`${dialog} [name=level]`, "none");
  assert.equal(await page.innerText(submit), "Download with 2 secrets");
  assert.deepEqual(await violations(), []);
  const original = await downloaded(() => page.click(submit));
  assert.equal(original.text, readFileSync(files.planted, "utf8"));
  for (const format of ["html", "md"]) {
    await askForDownload();
    await page.selectOption(`${dialog} [name=level]`, "none");
    await page.selectOption(`${dialog} [name=format]`, format);
    const whole = await downloaded(() => page.click(submit));
    assert.match(whole.name, new RegExp(`^[\\w-]+\\.${format}$`));
    assert.ok(!whole.name.includes("redacted") && whole.text.includes("With secrets"), whole.name);
  }
  quiet();
});

test("copies at all levels and in all formats have no secrets", async () => {
  await show("With secrets");
  for (const level of ["secrets", "paths", "pii", "outputs", "skeleton"]) {
    for (const format of ["jsonl", "html", "md"]) {
      await askForDownload();
      await page.selectOption(`${dialog} [name=level]`, level);
      await page.selectOption(`${dialog} [name=format]`, format);
      const copy = await downloaded(() => page.click(submit));
      assert.ok(copy.name.endsWith(`-redacted.${format}`), copy.name);
      assert.ok(!copy.text.includes(HIDDEN), `${level} ${format}`);
      if (format === "jsonl") {
        const lines = copy.text.trim().split("\n").map((line) => JSON.parse(line));
        assert.equal(lines[0].redacted.level, level);
        assert.equal(copy.text.includes("/home/alice"), level === "secrets");
      }
    }
  }
  quiet();
});

test("the dialog works by keyboard, and a session without secrets says so", async () => {
  await show("Without secrets");
  await page.keyboard.press("Shift+D");
  await page.waitForFunction(() => document.querySelector("#download-dialog [role=status]")?.textContent.startsWith("No certain"));
  assert.match(await page.innerText(dialog), /not a proof/);
  assert.equal(await page.evaluate(() => document.activeElement.name), "level");
  const original = await downloaded(async () => {
    await page.focus(submit);
    await page.keyboard.press("Enter");
  });
  assert.equal(original.text, readFileSync(files.clean, "utf8"));
  await page.keyboard.press("Shift+D");
  await page.waitForSelector(dialog);
  await page.keyboard.press("Escape");
  await page.waitForSelector(dialog, { state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.id), "download");
  quiet();
});

test("a scan that fails is named, and nothing is downloaded silently", async () => {
  writeFileSync(config, "[secrets.rules]\nbad = '('\n");
  try {
    await show("With secrets");
    let n_downloads = 0;
    page.on("download", () => n_downloads++);
    await askForDownload();
    assert.match(await page.innerText(`${dialog} [role=status]`), /could not be scanned.*the rule bad cannot be used/s);
    assert.equal(await page.inputValue(`${dialog} [name=level]`), "secrets");
    await page.click(submit);
    await page.waitForSelector(`${dialog} [role=alert]:not([hidden])`);
    assert.match(await page.innerText(`${dialog} [role=alert]`), /No file was made/);
    await page.selectOption(`${dialog} [name=level]`, "none");
    assert.equal(await page.innerText(submit), "Download without a scan");
    assert.deepEqual(await violations(), []);
    await page.keyboard.press("Escape");
    await page.click("#find-secrets");
    await page.waitForFunction(() => document.querySelector("#secrets [role=status]").textContent.startsWith("Not scanned"));
    assert.equal(n_downloads, 0);
    quiet();
  } finally {
    rmSync(config);
  }
});

test("a server that breaks off is not a clean scan", async () => {
  await show("With secrets");
  for (const answer of [{ status: 200, body: "{}" }, { status: 200, body: '{"findings":[' }, { status: 503, body: "busy" }]) {
    await page.route("**/secrets", (route) => route.fulfill({ ...answer, contentType: "application/json" }));
    await askForDownload();
    assert.match(await page.innerText(`${dialog} [role=status]`), /could not be scanned/);
    await page.keyboard.press("Escape");
    await page.waitForSelector(dialog, { state: "detached" });
    await page.unroute("**/secrets");
  }
});

test("“Find secrets” marks entries in the tree and in the conversation", async () => {
  page.seen.requests.length = 0;
  await show("With secrets");
  assert.equal(await page.locator(".secret, ul.secrets").count(), 0);
  assert.ok(!page.seen.requests.some((url) => url.endsWith("/secrets")), "nothing is scanned before the user asks");
  await page.click("#find-secrets");
  await page.waitForSelector(`#entry-${ids.key} ul.secrets`);
  await settled(page);
  assert.match(await page.innerText("#secrets"), /3 secrets \(2 certain, 1 likely\) in 2 entries/);
  assert.match(await page.innerText(`#entry-${ids.key} ul.secrets`), /certain .*gsk_…\(52\)/);
  for (const part of ["#secrets", "ul.secrets"]) assert.ok(!(await page.locator(part).first().innerHTML()).includes(HIDDEN));
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Next");
  assert.equal(await page.locator("#tree .line.selected .secret").count(), 1);
  assert.deepEqual(await violations(), []);
  await page.click("#secrets summary");
  assert.match(await page.innerText("#secrets details"), /revoke it at its issuer/);
  await page.keyboard.press("k");
  await page.waitForSelector(`#entry-${ids.url} ul.secrets`);
  assert.match(await page.innerText(`#entry-${ids.url} ul.secrets`), /likely/);
  await page.keyboard.press("Shift+K");
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.key);
  await page.locator("#secrets button", { hasText: "Close" }).click();
  await page.waitForFunction(() => !document.querySelector(".secret, ul.secrets"));
  assert.equal(await page.evaluate(() => document.activeElement.id), "find-secrets");
  await page.keyboard.press("?");
  assert.match(await page.innerText("#keys"), /Find secrets, then next and previous/);
  await page.keyboard.press("Escape");
  quiet();
});

test("a scan can be stopped", async () => {
  await show("With secrets");
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route("**/secrets", async (route) => { await held; await route.abort().catch(() => {}); });
  await page.keyboard.press("k");
  await page.waitForFunction(() => document.activeElement.textContent === "Stop");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /^Stopped/.test(document.querySelector("#secrets [role=status]").textContent));
  assert.equal(await page.locator("ul.secrets").count(), 0);
  release();
  await page.unroute("**/secrets");
});

test("redacted copies are marked in the list and on their page", async () => {
  const copy = join(folder, "2026-01-02T03-04-05-000Z_copy.jsonl");
  sessile("export", files.planted, "--redact=paths", "-o", copy);
  await page.goto(`${origin}/`);
  await page.locator("#rows li.s", { hasText: "(redacted)" }).locator(".mark", { hasText: "redacted" }).waitFor();
  assert.equal(await page.locator("#rows .mark", { hasText: "redacted" }).count(), 1);
  await show("(redacted)");
  assert.match(await page.innerText("#pane .card"), /This is a redacted copy of a session, made by sessile .* at level paths/);
  assert.deepEqual(await violations(), []);
  await page.setViewportSize({ width: 390, height: 800 });
  await settled(page);
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth && !element.closest("#tree"))
      .map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(wide, []);
  await page.click("#session-actions");
  await page.locator("[role=menuitem]", { hasText: "Find secrets" }).click();
  await page.waitForFunction(() => /^No secrets found/.test(document.querySelector("#secrets [role=status]").textContent));
  assert.deepEqual(await violations(), []);
  quiet();
});

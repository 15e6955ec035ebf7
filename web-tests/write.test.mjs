// Changes in the pages of `sessile serve`: names, labels, forks, the leaf, the trash, undo.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Session, program, require, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const sites = [];

after(() => {
  for (const site of sites) {
    site.server.kill();
    rmSync(site.home, { recursive: true, force: true });
  }
});

/** A server of one session, with a page of it. */
async function serve({ args = [], size, scheme } = {}) {
  const home = mkdtempSync(join(tmpdir(), "sessile-write-"));
  const folder = join(home, "agent", "sessions", "--p--");
  const file = join(folder, "2026-01-02T03-04-05-000Z_s.jsonl");
  const session = new Session({ cwd: home });
  const ids = {};
  ids.first = session.user("Plan the trip");
  ids.train = session.answer("Take the train");
  ids.back = session.user("And back?");
  ids.boat = session.answer("Take the boat");
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, session.text());
  const old = () => {
    const hourAgo = Date.now() / 1000 - 3600;
    utimesSync(file, hourAgo, hourAgo);
  };
  old();
  const env = { HOME: home, PI_CODING_AGENT_DIR: join(home, "agent"), TZ: "UTC", PATH: process.env.PATH };
  const server = spawn(program, ["serve", "--json", ...args], { cwd: "/", env, stdio: ["ignore", "pipe", "inherit"] });
  const site = { server, home, folder, file, ids, old };
  sites.push(site);
  let text = "";
  for await (const piece of server.stdout) {
    text += piece;
    if (text.includes("\n")) break;
  }
  const page = await browser.tab({ size, scheme });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(JSON.parse(text).url);
  await page.waitForSelector("html.ready", { state: "attached" });
  site.page = page;
  site.origin = new URL(page.url()).origin;
  site.lines = () => readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  site.sessile = (...command) => execFileSync(program, command, { cwd: "/", env }).toString();
  site.open = async () => {
    await page.goto(`${site.origin}/`);
    await page.waitForSelector("html.ready", { state: "attached" });
    await page.locator("#rows a.title").first().click();
    await ready(page);
    site.address = page.url();
  };
  return site;
}

async function ready(page) {
  await page.waitForSelector("html.ready #entries", { state: "attached" });
  await settled(page);
}

/** Does something that loads another page or the same one again, and waits for it. */
async function loads(page, act) {
  await page.evaluate(() => { window.isOld = true; });
  await act();
  await page.waitForFunction(() => !window.isOld && document.documentElement.classList.contains("ready"));
  if (await page.$("#entries")) await settled(page);
}

async function entryMenu(page, id, item) {
  await page.locator(`#entry-${id} button.actions`).click();
  if (item) await page.locator("[role=menuitem]", { hasText: item }).click();
}

async function sessionMenu(page, item) {
  await page.click("#session-actions");
  if (item) await page.locator("[role=menuitem]", { hasText: item }).click();
}

const notice = (page) => page.locator(".notice [role=status]").innerText();
/** Waits for a notice. The list may show a change before the answer to the change comes. */
const noticed = (page, words) => page.locator(".notice [role=status]", { hasText: words }).waitFor();

async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

const quiet = (page) => assert.deepEqual([page.seen.errors, page.seen.executed, page.seen.violations], [[], [], []]);

test("a session gets a name, and undo takes it back", async () => {
  const site = await serve();
  const { page } = site;
  await site.open();
  await sessionMenu(page, "Rename…");
  await page.waitForSelector("dialog[open] input");
  assert.deepEqual(await violations(page), []);
  await page.fill("dialog input", "By land <b>and</b> sea");
  await loads(page, () => page.keyboard.press("Enter"));
  assert.equal(await page.title(), "By land <b>and</b> sea");
  assert.equal(await notice(page), "Renamed.");
  assert.deepEqual(await violations(page), []);
  assert.equal(site.lines().at(-1).name, "By land <b>and</b> sea");
  await loads(page, () => page.click(".notice .undo"));
  assert.equal(await page.title(), "Plan the trip");
  assert.match(await notice(page), /^Undone: name/);
  await loads(page, () => page.click(".notice .undo"));
  assert.equal(await page.title(), "By land <b>and</b> sea", "redone");
  quiet(page);
});

test("an entry gets a label from its menu and by a key", async () => {
  const site = await serve();
  const { page, ids } = site;
  await site.open();
  await entryMenu(page, ids.train);
  await page.waitForSelector("[role=menu]:popover-open");
  assert.deepEqual(await page.$$eval("[role=menuitem]", (items) => items.map((item) => item.textContent)), ["Label…", "Fork from here", "Continue from here…"]);
  assert.deepEqual(await violations(page), []);
  await page.locator("[role=menuitem]", { hasText: "Label" }).click();
  await page.fill("dialog[open] input", "the plan");
  await loads(page, () => page.keyboard.press("Enter"));
  assert.equal(await page.locator(`#entry-${ids.train} .label`).innerText(), "the plan");
  assert.equal(page.url().split("#")[1], `entry-${ids.train}`, "the page is at the same entry");
  assert.equal(await notice(page), "Labeled “the plan”.");
  await page.waitForFunction(() => document.querySelector("#tree .label")?.textContent === "the plan");
  // An empty label removes it. Shift+L labels the focused entry, as in pi.
  await page.locator(`#entry-${ids.train}`).focus();
  await page.keyboard.press("Shift+L");
  await page.waitForSelector("dialog[open] input");
  assert.equal(await page.inputValue("dialog input"), "the plan");
  await page.keyboard.press("Delete");
  await loads(page, () => page.keyboard.press("Enter"));
  assert.equal(await page.locator(`#entry-${ids.train} .label`).count(), 0);
  assert.equal(await notice(page), "Label removed.");
  await page.waitForFunction(() => !document.querySelector("#tree .label"));
  quiet(page);
});

test("a fork and a clone open, and undo returns to the list", async () => {
  const site = await serve();
  const { page, ids } = site;
  await site.open();
  await loads(page, () => entryMenu(page, ids.back, "Fork from here"));
  assert.notEqual(page.url().split("#")[0], site.address.split("#")[0]);
  assert.equal(await notice(page), "This is the fork. It ends before your message.");
  assert.ok(!(await page.innerText("#entries")).includes("And back?"));
  await page.locator(".notice button", { hasText: "Copy the message" }).click();
  await page.waitForFunction(() => document.getElementById("status").textContent === "Copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "And back?");
  await loads(page, () => page.click(".notice .undo"));
  assert.equal(new URL(page.url()).pathname, "/");
  assert.equal(await page.locator("#rows li.s").count(), 1, "the fork is in the trash");
  await site.open();
  await loads(page, () => sessionMenu(page, "Clone"));
  assert.equal(await notice(page), "This is the clone.");
  assert.ok((await page.innerText("#entries")).includes("Take the boat"));
  assert.equal(readdirSync(site.folder).filter((name) => name.endsWith(".jsonl")).length, 2);
  quiet(page);
});

test("the leaf moves, with and without a summary", async () => {
  const site = await serve();
  const { page, ids } = site;
  await site.open();
  await entryMenu(page, ids.train, "Continue from here…");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual(await violations(page), []);
  await loads(page, () => page.click("dialog .primary"));
  assert.equal(await notice(page), "The session continues from here.");
  assert.ok(!(await page.innerText("#entries")).includes("Take the boat"));
  assert.equal(site.lines().length, 5, "the file is as before");
  await loads(page, () => page.click(".notice .undo"));
  assert.ok((await page.innerText("#entries")).includes("Take the boat"));
  await entryMenu(page, ids.train, "Continue from here…");
  await page.check("dialog input[name=summary]");
  await page.fill("dialog input[name=instructions]", "Only what went wrong.");
  await loads(page, () => page.click("dialog .primary"));
  assert.match(await notice(page), /with a summary/);
  const summary = site.lines().at(-1);
  assert.deepEqual([summary.type, summary.parentId], ["branch_summary", ids.train]);
  const shown = await page.innerText("#entries");
  assert.ok(shown.includes("Take the train") && !shown.includes("Take the boat\n"));
  quiet(page);
});

test("a deleted session returns to the list with a notice, and undo brings it back", async () => {
  const site = await serve();
  const { page } = site;
  await site.open();
  await sessionMenu(page, "Move to the trash…");
  await page.waitForSelector("dialog[open]");
  assert.deepEqual(await violations(page), []);
  await loads(page, () => page.click("dialog .primary"));
  assert.equal(new URL(page.url()).pathname, "/");
  assert.equal(await notice(page), "Moved to the trash.");
  assert.equal(await page.locator("#rows li.s").count(), 0);
  assert.ok(!existsSync(site.file));
  await page.click(".notice .undo");
  await page.waitForSelector("#rows li.s");
  await noticed(page, "Undone: delete “Plan the trip”.");
  assert.ok(existsSync(site.file));
  quiet(page);
});

test("a session in use is deleted only if the user insists", async () => {
  const site = await serve();
  const { page } = site;
  await site.open();
  const now = Date.now() / 1000;
  utimesSync(site.file, now, now);
  await sessionMenu(page, "Move to the trash…");
  await page.click("dialog .primary");
  await page.waitForSelector("dialog .problem:not([hidden])");
  assert.match(await page.innerText("dialog .problem"), /is in use/);
  assert.deepEqual(await violations(page), []);
  assert.ok(existsSync(site.file));
  await loads(page, () => page.locator("dialog button", { hasText: "Move to the trash anyway" }).click());
  assert.ok(!existsSync(site.file));
});

test("a conflict writes nothing, and the page offers to look and to try again", async () => {
  const site = await serve();
  const { page, ids } = site;
  await site.open();
  const otherProgramAdds = (text) => site.sessile("append", site.file, "--role", "user", text);
  await sessionMenu(page, "Rename…");
  await page.fill("dialog[open] input", "Mine");
  otherProgramAdds("I am still working");
  const before = readFileSync(site.file);
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .problem:not([hidden])");
  assert.match(await page.innerText("dialog .problem"), /^Another program has added to this session/);
  assert.ok(readFileSync(site.file).equals(before));
  assert.deepEqual(await violations(page), []);
  await loads(page, () => page.locator("dialog button", { hasText: "Try again" }).click());
  assert.equal(await page.title(), "Mine");
  await entryMenu(page, ids.train, "Continue from here…");
  await page.waitForSelector("dialog[open]");
  otherProgramAdds("And another one");
  await page.click("dialog .primary");
  await page.waitForSelector("dialog .problem:not([hidden])");
  await loads(page, () => page.locator("dialog button", { hasText: "Show the new state" }).click());
  await page.waitForFunction(() => document.getElementById("tree").textContent.includes("And another one"));
  quiet(page);
});

test("the list: everything by keyboard", async () => {
  const site = await serve();
  const { page } = site;
  await page.keyboard.press("j");
  await page.keyboard.press("Shift+R");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `cd ${site.home} && pi --session ${site.file}`);
  await page.keyboard.press("r");
  await page.waitForSelector("dialog[open] input");
  await page.keyboard.type("A name");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("#rows a.title")?.textContent === "A name");
  await noticed(page, "Renamed.");
  // The menu: arrows, Escape returns the focus.
  await page.locator("#rows a.title").focus();
  await page.keyboard.press("m");
  await page.waitForSelector("[role=menu]:popover-open");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Undo the last change of any session");
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=menu]", { state: "detached" });
  assert.ok(await page.evaluate(() => document.activeElement.classList.contains("actions")));
  await page.keyboard.press("u");
  await page.waitForFunction(() => document.querySelector("#rows a.title")?.textContent === "Plan the trip");
  await noticed(page, "Undone: name");
  site.old();
  await page.locator("#rows a.title").focus();
  await page.keyboard.press("Delete");
  await page.waitForSelector("dialog[open] .primary");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#rows li.s", { state: "detached" });
  await noticed(page, "Moved to the trash.");
  await page.keyboard.press("u");
  await page.waitForSelector("#rows li.s");
  assert.ok(existsSync(site.file));
  await page.keyboard.press("?");
  assert.match(await page.innerText("#keys"), /Rename/);
  await page.keyboard.press("Escape");
  await page.waitForSelector("#keys:not([open])", { state: "attached" });
  quiet(page);
});

test("a session: everything by keyboard", async () => {
  const site = await serve();
  const { page, ids } = site;
  await site.open();
  await page.locator(`#entry-${ids.train}`).focus();
  await page.keyboard.press("m");
  await page.waitForSelector("[role=menu]:popover-open");
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("Shift+M");
  await page.waitForSelector("[role=menu]:popover-open");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("status").textContent === "Copied.");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `cd ${site.home} && pi --session ${site.file}`);
  await page.keyboard.press("?");
  for (const words of ["Label the entry", "Actions for the entry", "Actions for the session"]) {
    assert.ok((await page.innerText("#keys")).includes(words), words);
  }
  quiet(page);
});

test("on a phone, menus, dialogs and notices fit", async () => {
  const size = { width: 360, height: 640 };
  const site = await serve({ size, scheme: "dark" });
  const { page, ids } = site;
  const fits = async (selector) => {
    const box = await page.locator(selector).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= size.width && box.y >= 0 && box.y + box.height <= size.height, `${selector} ${JSON.stringify(box)}`);
  };
  await page.locator("#rows button.actions").click();
  await fits("[role=menu]");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await site.open();
  await entryMenu(page, ids.boat);
  await fits("[role=menu]");
  await page.locator("[role=menuitem]", { hasText: "Label" }).click();
  await page.waitForSelector("dialog[open]");
  await fits("dialog");
  await page.fill("dialog input", "x".repeat(300));
  await loads(page, () => page.click("dialog .primary"));
  await fits(".notice");
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth && !element.closest("#tree"))
      .map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(wide, []);
  assert.deepEqual(await violations(page), []);
  quiet(page);
});

test("a read-only server shows no controls for changes", async () => {
  const site = await serve({ args: ["--read-only"] });
  const { page } = site;
  await page.locator("#rows button.actions").first().click();
  assert.deepEqual(await page.$$eval("[role=menuitem]", (items) => items.map((item) => item.textContent)), ["Copy resume command"]);
  await page.keyboard.press("Escape");
  await page.locator("#rows a.title").focus();
  for (const key of ["r", "Delete", "u"]) await page.keyboard.press(key);
  assert.equal(await page.locator("dialog, .notice, button.pin").count(), 0);
  await site.open();
  assert.equal(await page.locator("#entries button.actions").count(), 0);
  await sessionMenu(page);
  assert.deepEqual(await page.$$eval("[role=menuitem]", (items) => items.map((item) => item.textContent)), ["Copy resume command", "Find secrets"]);
  await page.keyboard.press("Escape");
  await page.waitForSelector("[role=menu]", { state: "detached" });
  for (const key of ["m", "Shift+L"]) await page.keyboard.press(key);
  assert.equal(await page.locator("dialog, [role=menu]").count(), 0);
  quiet(page);
});

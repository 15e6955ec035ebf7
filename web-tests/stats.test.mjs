// The statistics and the map of a family, in a browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { values } from "./hostile.mjs";
import { exported, header, open, program, require, Session, settled, usage, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
const hostile = values.filter((value) => typeof value === "string");
const now = Date.now();
const DAY = 86_400_000;
const iso = (ms) => new Date(ms).toISOString();
const sites = [];

/** A store with a server. */
class Site {
  constructor() {
    this.home = mkdtempSync(join(tmpdir(), "sessile-stats-"));
    this.folder = join(this.home, "agent", "sessions", "--p--");
    mkdirSync(this.folder, { recursive: true });
    this.env = { HOME: this.home, PI_CODING_AGENT_DIR: join(this.home, "agent"), TZ: "Asia/Tokyo", PATH: process.env.PATH };
    sites.push(this);
  }

  path(id) {
    return join(this.folder, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
  }

  /** Writes a session with these entries after its first prompt. */
  write(id, more, entries) {
    const prompt = { type: "message", id: "prompt", parentId: null, timestamp: iso(now - 3 * DAY), message: { role: "user", content: more.prompt ?? `Prompt of ${id}` } };
    const lines = [header({ id, timestamp: iso(now - 3 * DAY), ...more }), prompt, ...entries];
    writeFileSync(this.path(id), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const hourAgo = now / 1000 - 3600;
    utimesSync(this.path(id), hourAgo, hourAgo);
  }

  async start() {
    this.server = spawn(program, ["serve", "--json"], { cwd: this.home, env: this.env, stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    for await (const piece of this.server.stdout) {
      text += piece;
      if (text.includes("\n")) break;
    }
    const page = await browser.tab();
    await page.goto(JSON.parse(text).url);
    this.cookies = await page.context().cookies();
    this.origin = new URL(page.url()).origin;
    await page.context().close();
  }

  async tab(options) {
    const page = await browser.tab(options);
    await page.context().addCookies(this.cookies);
    return page;
  }

  /** Opens the statistics and waits until everything is counted. */
  async stats(page, query = "") {
    await page.goto(`${this.origin}/stats${query}`);
    await page.waitForSelector("section svg, .empty", { state: "attached" });
  }

  json(by) {
    const text = execFileSync(program, ["stats", "--all", "--by", by, "--json"], { cwd: this.home, env: this.env, maxBuffer: 1 << 28 });
    return JSON.parse(text.toString());
  }
}

const answer = (id, ms, model, cost, provider = "acme") => ({
  type: "message", id, parentId: "prompt", timestamp: iso(ms),
  message: { role: "assistant", content: [], api: "t", provider, model, stopReason: "stop", usage: { ...usage, cost: { total: cost } } },
});

// Two branches after the first prompt, which cost $0.50 and $0.0040, and a third without a cost.
const branches = new Session({ id: "branches", timestamp: iso(now - 500 * DAY) });
const priced = (total) => ({ usage: { ...usage, cost: { total } } });
branches.user("Prompt of branches");
branches.answer("Common", priced(0.125));
const fork = branches.leaf;
branches.user("Dear branch");
branches.answer("Dear answer", priced(0.5));
branches.leaf = fork;
branches.user("Cheap branch");
branches.answer("Cheap answer", priced(0.004));
branches.leaf = fork;
branches.user("Free branch");
branches.answer("Free answer", priced(0));

const site = new Site();
const evil = new Site();
const nested = new Site();
const N_NESTED = 5000;

before(async () => {
  site.write("a", { cwd: "/p/alpha" }, [answer("a1", now - 2 * DAY, "model-1", 1.5), answer("a2", now - 40 * DAY, "model-2", 0.25)]);
  site.write("b", { cwd: "/p/alpha", parentSession: site.path("a") }, [answer("a1", now - 2 * DAY, "model-1", 1.5), answer("b1", now - DAY, "model-1", 0.125)]);
  site.write("c", { cwd: "/p/beta" }, [answer("c1", now - 400 * DAY, "model-3", 8), answer("c2", now, "model-1", -0.5)]);
  for (const [at, value] of hostile.entries()) {
    const cost = [0.5, -1, 1e300, 1e-300, 2][at % 5];
    evil.write(`e${at}`, { cwd: `/${value}`, prompt: value, ...(at % 2 ? { parentSession: at % 4 === 1 ? value : evil.path(`e${at - 1}`) } : {}) }, [answer(value, now - (at % 300) * DAY, value, cost, value)]);
  }
  for (let at = 0; at < N_NESTED; at++) {
    nested.write(`n${at}`, { cwd: "/n", ...(at ? { parentSession: nested.path(`n${at - 1}`) } : {}) }, []);
  }
  writeFileSync(site.path("branches"), branches.text());
  const hourAgo = now / 1000 - 3600;
  utimesSync(site.path("branches"), hourAgo, hourAgo);
  await Promise.all(sites.map((site) => site.start()));
});

after(() => {
  for (const { server, home } of sites) {
    server?.kill();
    rmSync(home, { recursive: true, force: true });
  }
});

/** The rows of a table: name, cost, tokens and sessions. */
const table = (page, heading) =>
  page.$$eval(`section[aria-labelledby="${heading}"] tbody tr`, (rows) =>
    rows.map((row) => [row.querySelector("th").textContent, ...[...row.querySelectorAll("data")].map((data) => Number(data.value))]));

test("charts are drawn, and their tables have the figures of the command line", async () => {
  const page = await site.tab();
  await site.stats(page, "?span=all");
  const drawn = await page.$$eval(".chart svg", (charts) => charts.map((chart) => {
    const bars = [...chart.querySelectorAll(".bar")].filter((bar) => bar.getBoundingClientRect().height > 0);
    return bars.length > 0 && chart.getBoundingClientRect().width > 600 && getComputedStyle(bars[0]).fill !== "rgb(0, 0, 0)";
  }));
  assert.deepEqual(drawn, [true, true, true, true, true]);
  for (const [heading, by] of [["per-day", "day"], ["per-week", "week"], ["by-model", "model"], ["by-project", "project"]]) {
    const expected = site.json(by).groups.map((group) => [group.key, group.cost, group.tokens.total, group.sessions]);
    const sorted = (rows) => rows.sort((one, other) => (one[0] < other[0] ? -1 : 1));
    assert.deepEqual(sorted(await table(page, heading)), sorted(expected), heading);
  }
  const total = site.json("day");
  assert.deepEqual(await page.$$eval(".totals data", (all) => all.map((data) => Number(data.value))), [total.cost, total.tokens.total, 4, 1]);
  assert.deepEqual([page.seen.errors, page.seen.violations, page.seen.executed], [[], [], []]);
  await page.context().close();
});

test("links and forms filter, without JavaScript too", async () => {
  for (const javaScript of [true, false]) {
    const page = await site.tab({ javaScript });
    await page.goto(site.origin);
    await page.click("header nav >> text=Statistics");
    await page.waitForSelector("section svg");
    await page.click("nav >> text=Tokens");
    await page.click("nav >> text=30 days");
    assert.equal(new URL(page.url()).search, "?metric=tokens&span=30d");
    await page.selectOption("select[name=model]", "acme/model-1");
    await page.selectOption("select[name=project]", { label: "/p/alpha" });
    await page.click("text=Show");
    await page.waitForSelector("section svg");
    assert.match(page.url(), /span=30d.*model=acme%2Fmodel-1/);
    const rows = await table(page, "by-model");
    assert.deepEqual(rows.map(([name, cost, , sessions]) => [name, cost, sessions]), [["acme/model-1", 1.625, 2]]);
    assert.deepEqual((await table(page, "by-project")).map(([name]) => name), ["/p/alpha"]);
    await page.context().close();
  }
});

async function check(page, state) {
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map((node) => `${id}: ${node.target} ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`));
  });
  assert.deepEqual(found, [], state);
}

async function familyOf(page, site, title) {
  await page.goto(`${site.origin}/?q=${encodeURIComponent(title)}`);
  await page.locator("li.s", { has: page.getByText(`Prompt of ${title}`, { exact: true }) }).locator("a.mark").click();
  await page.waitForSelector("#members li");
}

for (const scheme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(sizes)) {
    test(`no violation: ${scheme}, ${name}`, async () => {
      const page = await site.tab({ size, scheme, init: axe });
      await site.stats(page, "?span=all");
      await check(page, "charts");
      for (const summary of await page.$$("section summary")) await summary.click();
      await check(page, "tables");
      await site.stats(page, "?metric=sessions&model=none");
      await check(page, "without usage");
      await familyOf(page, site, "b");
      await check(page, "family");
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.ok(!isWide, "the page does not scroll sideways");
      await page.context().close();
    });
  }
}

test("the keyboard reaches everything", async () => {
  const page = await site.tab();
  for (const open of [() => site.stats(page, "?span=all"), () => familyOf(page, site, "b")]) {
    await open();
    const all = await page.$$eval("main a, main button, main select, main summary, main [tabindex='0']", (elements) => {
      const visible = elements.filter((element) => element.checkVisibility());
      visible.forEach((element, at) => { element.dataset.at = at; });
      return visible.map((element) => element.dataset.at);
    });
    await page.evaluate(() => document.activeElement.blur());
    const reached = new Set();
    for (let n = 0; n < all.length + 12; n++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.dataset.at));
    }
    assert.deepEqual(all.filter((at) => !reached.has(at)), []);
  }
  await site.stats(page);
  await page.focus("section summary");
  await page.keyboard.press("Enter");
  assert.ok(await page.$eval("section details", (details) => details.open));
  await page.goto(site.origin);
  await page.waitForSelector("html.ready", { state: "attached" });
  await page.keyboard.press("c");
  await page.waitForURL("**/stats");
  await page.context().close();
});

test("a family shows parents and forks, and leads to the entry where a fork begins", async () => {
  const page = await site.tab();
  await familyOf(page, site, "b");
  const rows = await page.$$eval("#members li", (rows) => rows.map((row) => [row.ariaLevel ?? row.getAttribute("aria-level"), row.querySelector(".title").textContent]));
  assert.deepEqual(rows, [["1", "Prompt of a"], ["2", "Prompt of b"]]);
  assert.equal(await page.textContent("#members [aria-current]"), "Prompt of b");
  await page.click("#members >> text=forked after 2 entries");
  await page.waitForSelector("html.ready", { state: "attached" });
  await page.waitForSelector("#entry-a1.target, #entry-a1", { state: "attached" });
  assert.equal(new URL(page.url()).hash, "#entry-a1");
  await page.click("header >> text=Family");
  await page.waitForSelector("#members li");
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
  await page.context().close();
});

test("the tree shows what branches cost, in a file and on the server", async () => {
  const lines = (page) => page.$$eval("#tree .line", (all) => all.filter((line) => line.querySelector(".cost")).map((line) => `${line.querySelector(".title").textContent}:${line.querySelector(".cost").textContent}`));
  const expected = ["user: Prompt of branches: $0.63", "user: Cheap branch: $0.0040", "user: Dear branch: $0.50"];
  const page = await site.tab();
  await open(page, exported(branches));
  assert.deepEqual((await lines(page)).sort(), expected.sort());
  await page.goto(`${site.origin}/?q=branches`);
  await page.click("li.s a.title");
  await page.waitForSelector("html.ready", { state: "attached" });
  await settled(page);
  assert.deepEqual((await lines(page)).sort(), expected.sort());
  assert.deepEqual([page.seen.errors, page.seen.executed], [[], []]);
  await page.context().close();
});

test("hostile names run nothing and send no request", async () => {
  const page = await evil.tab();
  for (const query of ["?span=all", "?span=year&metric=tokens", "?span=all&metric=sessions"]) {
    await evil.stats(page, query);
    for (const summary of await page.$$("section summary")) await summary.click();
    assert.ok((await table(page, "by-model")).length > 400);
    assert.ok((await table(page, "by-project")).length > 300);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0))));
  }
  const links = await page.$$eval("section[aria-labelledby=by-model] tbody a", (links) => links.map((link) => link.href));
  for (const link of links.filter((_, at) => at % 20 === 0)) {
    await page.goto(link);
    assert.equal((await table(page, "by-model")).length, 1, link);
  }
  await page.goto(`${evil.origin}/?sort=family`);
  const families = await page.$$eval("li.s a.mark", (links) => links.map((link) => link.href));
  assert.ok(families.length > 50);
  for (const family of families.filter((_, at) => at % 5 === 0)) {
    await page.goto(family);
    assert.ok((await page.$$("#members li")).length >= 2, family);
  }
  const foreign = page.seen.requests.filter((url) => !url.startsWith(`${evil.origin}/`) && !url.startsWith("data:"));
  assert.deepEqual([page.seen.executed, page.seen.violations, page.seen.errors, foreign], [[], [], [], []]);
  await page.context().close();
});

test("5,000 nested forks are drawn in parts", async () => {
  const page = await nested.tab({ init: axe });
  await page.goto(nested.origin);
  // The first list may be a partial one.
  for (;;) {
    await page.goto(`${nested.origin}/?q=n4999`);
    if (await page.locator("li.s").count()) break;
  }
  await familyOf(page, nested, "n4999");
  assert.match(await page.textContent("main"), /5,000 sessions/);
  assert.equal((await page.$$("#members li")).length, 31);
  await page.click("text=Earlier:");
  await page.waitForSelector("text=More:");
  assert.equal((await page.$$("#members li")).length, 100);
  await check(page, "a page in the middle");
  await page.goto(page.url().replace(/from=\d+/, "from=0"));
  assert.equal(await page.textContent("#members .title"), "Prompt of n0");
  await nested.stats(page, "?span=all");
  assert.deepEqual(await page.$$eval(".totals data", (all) => Number(all.at(-1).value)), N_NESTED - 1);
  assert.deepEqual(page.seen.errors, []);
  await page.context().close();
});

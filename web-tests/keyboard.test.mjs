// The page without a mouse, and its addresses.
import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { everyKind, exported, open, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const { session, ids } = everyKind();
let page;
let address;

before(async () => {
  page = await browser.tab();
  address = exported(session);
});

beforeEach(() => open(page, address));

const hash = () => page.evaluate(() => location.hash);
const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
};
/** The element with the focus: its text, and whether it has an outline. */
const focus = () =>
  page.evaluate(() => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return {
      name: element.id || element.className, text: element.textContent, row: element.dataset.row,
      isOutlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
      isOnScreen: box.bottom > 0 && box.top < innerHeight && box.width > 0,
      opacity: Number(style.opacity),
    };
  });
const isInView = (id) =>
  page.$eval(`#entry-${id}`, (element) => {
    const box = element.getBoundingClientRect();
    return box.top >= 0 && box.top < innerHeight;
  });

test("a text is found with / and Enter goes to the hits", async () => {
  await press("/");
  assert.equal((await focus()).name, "search");
  await page.keyboard.type("prompt");
  await page.waitForFunction(() => /found$/.test(document.getElementById("found").textContent));
  await press("Enter");
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.first);
  assert.ok(await isInView(ids.first));
  assert.equal((await focus()).name, "search", "typing continues in the search box");
  await press("Enter");
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.second);
  await settled(page);
  await press("Shift+Enter");
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.first);
  const marked = await page.evaluate(() => [...CSS.highlights.get("found")].map((range) => range.toString().toLowerCase()));
  assert.ok(marked.length > 0 && marked.every((text) => text === "prompt"), String(marked));
  const lines = await page.locator("#tree .line").count();
  await press("Escape");
  assert.equal(await page.inputValue("#search"), "");
  assert.ok((await page.locator("#tree .line").count()) > lines);
});

test("a search opens an entry on another branch, and a hit that no filter shows", async () => {
  await press("/");
  await page.keyboard.type("old branch");
  await page.waitForFunction(() => /^1 entry found$/.test(document.getElementById("found").textContent));
  await press("Enter");
  await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.old);
  assert.ok(await isInView(ids.old));
  await page.fill("#search", "greengage_tool sloe");
  await page.waitForFunction(() => /^1 entry found$/.test(document.getElementById("found").textContent));
  assert.equal(await page.locator("#tree .line").count(), 1);
});

test("arrows move in the tree, fold and unfold, and Enter opens", async () => {
  await press("e");
  let focused = await focus();
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treeitem");
  assert.equal(await page.locator("#tree [tabindex='0']").count(), 1, "one line takes part in the tab order");
  await press("Home");
  const first = await focus();
  assert.ok(first.isOutlined && first.isOnScreen);
  const address = await hash();
  await press("ArrowDown");
  focused = await focus();
  assert.notEqual(focused.text, first.text);
  assert.equal(await hash(), address, "arrows do not open anything");
  await press("ArrowUp");
  assert.equal((await focus()).text, first.text);
  await press("End", "PageUp", "PageDown");
  assert.ok((await focus()).isOnScreen);
  // Go to a line that can be folded.
  await press("Home");
  let steps = 0;
  while ((await page.evaluate(() => document.activeElement.getAttribute("aria-expanded"))) === null) {
    await press("ArrowDown");
    assert.ok(steps++ < 60, "no line can be folded");
  }
  const before = await page.locator("#tree .line").count();
  await press("ArrowLeft");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "false");
  assert.match((await focus()).text, /\(\d+ hidden\)/);
  assert.ok((await page.locator("#tree .line").count()) < before);
  await press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
  assert.equal(await page.locator("#tree .line").count(), before);
  await press("ArrowRight");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "treeitem");
  await press("Home", "Enter");
  await page.waitForFunction((old) => location.hash !== old, address);
  assert.notEqual(await hash(), address);
});

test("n and p go from prompt to prompt", async () => {
  await press("g");
  await press("n");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.first}`, "data-row"));
  await press("n");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.second}`, "data-row"));
  await press("n");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.fourth}`, "data-row"));
  await press("p");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.second}`, "data-row"));
  await press("p", "p", "p");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.first}`, "data-row"));
  await press("G");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.last}`, "data-row"));
  assert.ok((await focus()).isOutlined);
});

test("switches keep the place and the focus of the reader", async () => {
  await page.evaluate((id) => { location.hash = `#entry-${id}`; }, ids.edit.result);
  await settled(page);
  await page.$eval(`#entry-${ids.edit.result}`, (element) => element.focus());
  const top = () => page.$eval(`#entry-${ids.edit.result}`, (element) => Math.round(element.getBoundingClientRect().top));
  for (const key of ["t", "o", "s", "t", "o", "s"]) {
    const before = await top();
    await press(key);
    assert.ok(Math.abs((await top()) - before) <= 2, `${key}: ${before} → ${await top()}`);
    assert.equal((await focus()).name, `entry-${ids.edit.result}`);
  }
});

test("? opens the help, and Esc closes it and gives the focus back", async () => {
  await press("?");
  assert.ok(await page.isVisible("dialog#keys"));
  assert.equal(await page.evaluate(() => document.activeElement.closest("dialog")?.id), "keys");
  const text = await page.innerText("dialog#keys");
  for (const key of ["/", "n, p", "Esc", "?", "f"]) assert.ok(text.includes(key));
  await press("Escape");
  assert.equal(await page.isVisible("dialog#keys"), false);
  await press("?");
  assert.ok(await page.isVisible("dialog#keys"));
});

test("the focus is visible on every stop of the tab key", async () => {
  await press("?", "Escape");
  const seen = [];
  for (let n = 0; n < 60; n++) {
    await page.keyboard.press("Tab");
    const now = await focus();
    if (now.name === "" && now.row === undefined && now.text.length > 5000) break;
    seen.push(now.name);
    assert.ok(now.isOutlined && now.isOnScreen && now.opacity > 0.9, JSON.stringify(now).slice(0, 300));
  }
  for (const name of ["menu", "theme", "download", "help", "search", "filter"]) assert.ok(seen.includes(name), `${name} in ${seen}`);
});

test("f changes the filter; all five are pi's", async () => {
  const counts = {};
  for (let n = 0; n < 5; n++) {
    await press("f");
    counts[await page.inputValue("#filter")] = await page.evaluate(() => parseInt(document.querySelector("#tree .spacer").style.height) / 24);
  }
  assert.deepEqual(Object.keys(counts).sort(), ["all", "default", "labeled", "no-tools", "user"]);
  assert.ok(counts.all > counts.default && counts.default > counts["no-tools"] && counts["no-tools"] > counts.user, JSON.stringify(counts));
  assert.equal(counts.user, 4);
  assert.equal(counts.labeled, 1);
});

test("d changes the colours, b hides the tree, o opens outputs", async () => {
  const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await back();
  await press("d");
  assert.notEqual(await back(), light);
  await press("d");
  assert.equal(await back(), light);
  await press("b");
  assert.equal(await page.isVisible("#side"), false);
  assert.equal(await page.getAttribute("#menu", "aria-expanded"), "false");
  await press("b");
  assert.ok(await page.isVisible("#side"));
  await press("o");
  assert.ok(await page.$eval(`#entry-${ids.long} details.rest`, (details) => details.open));
});

test("keys do nothing while a text is typed", async () => {
  await press("/");
  await page.keyboard.type("n?dbG");
  assert.equal(await page.inputValue("#search"), "n?dbG");
  assert.equal(await page.isVisible("dialog#keys"), false);
});

test("#entry-ID leads to the entry when the page is opened", async () => {
  for (const id of [ids.first, ids.bash, ids.old, ids.last]) {
    await open(page, `${address}#entry-${id}`);
    assert.ok(await isInView(id), id);
  }
  await open(page, `${address}#entry-unknown`);
  assert.ok(await page.isVisible("article"), "an unknown id shows the end of the session");
  await open(page, `${address}#%E0%A4%A`);
  assert.ok(await page.isVisible("article"), "an address that cannot be decoded");
});

test("back and forward follow what was opened", async () => {
  await press("e", "Home", "Enter");
  await page.waitForFunction(() => location.hash !== "");
  const first = await hash();
  await press("e", "End", "Enter");
  await page.waitForFunction((old) => location.hash !== old, first);
  const second = await hash();
  await page.goBack();
  assert.equal(await hash(), first);
  await settled(page);
  assert.ok(await isInView(first.slice(7)));
  await page.goForward();
  assert.equal(await hash(), second);
  await settled(page);
  assert.ok(await isInView(second.slice(7)));
  await page.goBack();
  await page.goBack();
  assert.equal(await hash(), "");
  assert.deepEqual(page.seen.errors, []);
});

test("addresses of pi's page work", async () => {
  await open(page, `${address}?leafId=${ids.old}&targetId=${ids.third}`);
  assert.ok(await isInView(ids.third));
  assert.equal(await page.locator(`#entry-${ids.old}`).count(), 1);
  await open(page, `${address}?leafId=${ids.old}&targetId=${ids.first}`);
  assert.ok(await isInView(ids.first));
  await press("G");
  assert.equal((await focus()).row, await page.getAttribute(`#entry-${ids.old}`, "data-row"), "the branch of leafId");
  await open(page, `${address}?leafId=${ids.old}`);
  assert.equal(await page.locator(`#entry-${ids.old}`).count(), 1);
  await open(page, `${address}?leafId=<img src=x>&targetId="><script>`);
  assert.ok(await page.isVisible("article"));
});

test("on a phone the tree opens, leads to an entry, and closes", async () => {
  const phone = await browser.tab({ size: { width: 390, height: 844 } });
  await open(phone, address);
  assert.equal(await phone.isVisible("#side"), false);
  await phone.click("#menu");
  assert.ok(await phone.isVisible("#side"));
  assert.equal(await phone.getAttribute("#menu", "aria-expanded"), "true");
  await phone.locator("#tree .line").first().click();
  await settled(phone);
  assert.equal(await phone.isVisible("#side"), false, "the conversation is visible after opening an entry");
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
});

test("nothing failed on the way", () => {
  assert.deepEqual([page.seen.errors, page.seen.violations], [[], []]);
});

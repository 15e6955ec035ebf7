// Two branches side by side, and the outline of prompts: in an exported page and on a server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { exported, open, require, Session, settled, useBrowser } from "./lib.mjs";
import { useServer } from "./served.mjs";

const browser = useBrowser();
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const ids = {};

/** A session whose second prompt has three answers, on three branches. */
function forked() {
  const s = new Session();
  s.user("Plan the orchard");
  ids.split = s.answer("Which trees?");
  ids.apples = s.user("Apples, please");
  s.tool("write", { path: "apples.md", content: "apples" }, "Wrote");
  s.tool("edit", { path: "plan.md", edits: [{ oldText: "a", newText: "b" }] }, "Edited");
  ids.first = s.answer("Apples are planted");
  s.leaf = ids.split;
  ids.plums = s.user("Plums, please");
  ids.second = s.answer("Plums are planted");
  s.leaf = ids.split;
  ids.label = s.add({ type: "label", targetId: ids.split, label: "only a label" });
  s.leaf = ids.split;
  ids.pears = s.user("Pears, please");
  for (let n = 1; n <= 30; n++) {
    ids[`pear${n}`] = s.user(`Pear ${n}`);
    s.answer(`Pear ${n} is planted.\n\n${"Water it well. ".repeat(60)}`);
  }
  ids.third = s.leaf;
  return s;
}

/** Ids that an address and an attribute have to encode, at the ends of two branches. */
function oddIds() {
  const s = new Session();
  s.user("Odd ids");
  const split = s.answer("Yes");
  const odd = ["100% a b..c", "ü\u001e#?&/<i>'(é)*!", "a_b", "a b"];
  for (const id of odd) {
    s.leaf = split;
    s.add({ type: "message", id, message: { role: "user", content: `Prompt ${odd.indexOf(id)}` } });
  }
  return { session: s, odd };
}

/** Two branches of 20,000 entries after 20,000 common ones. */
function deep() {
  const s = new Session();
  const turns = (name, n) => {
    for (let at = 0; at < n; at++) s.user(`${name} ${at}`);
    return s.leaf;
  };
  const split = turns("common", 20000);
  const left = turns("left", 20000);
  s.leaf = split;
  return { session: s, left, right: turns("right", 20000) };
}

const sessions = { forked: forked(), odd: oddIds(), deep: deep() };
const all = [sessions.forked, sessions.odd.session, sessions.deep.session];
const signIn = useServer(all);

const faces = {
  exported: async () => all.map((session) => exported(session)),
  served: signIn,
};

for (const [face, addressesOf] of Object.entries(faces)) {
  describe(face, () => {
    let page;
    let address;
    let addressOfOdd;
    let addressOfDeep;

    before(async () => {
      page = await browser.tab({ init: axe });
      [address, addressOfOdd, addressOfDeep] = await addressesOf(page);
    });

    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
      await settled(page);
    };
    /** Waits for the comparison, and for what an earlier address still draws. */
    const compared = async () => {
      await page.waitForFunction(() => document.querySelectorAll("#compare .branch article").length > 0);
      await settled(page);
    };
    const sides = () => page.$$eval("#compare .branch", (sides) => sides.map((side) => ({ head: side.querySelector("header").innerText, text: side.querySelector(".entries").innerText })));
    const isComparing = () => page.isVisible("#compare");
    const hash = () => page.evaluate(() => location.hash);
    const violations = () =>
      page.evaluate(async () => {
        const { violations } = await axe.run(document, { resultTypes: ["violations"] });
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary.slice(0, 300)}`));
      });

    test("c lists the other branches, and Enter shows both from the split on", async () => {
      await open(page, address);
      await press("c");
      const choices = await page.$$eval("#branches li button", (buttons) => buttons.map((button) => button.innerText));
      assert.equal(choices.length, 2, `a branch with only a label is not listed: ${choices}`);
      assert.ok(choices[0].includes("Apples, please") && choices[1].includes("Plums, please"), String(choices));
      assert.ok(choices[1].includes("2 entries"));
      await press("ArrowDown", "ArrowUp", "Enter");
      await compared();
      await page.waitForFunction(() => /files changed/.test(document.querySelector("#compare").innerText));
      assert.equal(await hash(), `#compare-${ids.third}..${ids.first}`);
      assert.match(await page.innerText("#compare .common"), /^2 entries in common, up to .*Which trees\?$/);
      const [left, right] = await sides();
      assert.match(left.head, /First branch: .*Pears, please/);
      assert.ok(left.head.includes("61 entries · $6.90 · 36.0k in · 1.0k out · 150 cached"), left.head);
      assert.match(right.head, /Second branch: .*Apples, please[^]*6 entries · \$0\.69 · 3\.6k in · 102 out · 15 cached[^]*2 files changed/);
      assert.ok(left.text.includes("Pears, please") && !left.text.includes("Which trees?"));
      assert.ok(right.text.includes("Apples are planted") && !right.text.includes("Which trees?"));
      assert.equal(await page.isVisible("#pane"), false);
      assert.equal(await page.locator("#tree .line.path").count() > 0, true);
      await page.click("#compare .files summary");
      assert.match(await page.innerText("#compare .files"), /apples\.md\s+plan\.md/);
    });

    test("Esc ends it, and back and forward lead to it and from it", async () => {
      await open(page, `${address}#entry-${ids.pear3}`);
      await press("c", "Enter");
      await compared();
      await press("Escape");
      assert.equal(await isComparing(), false);
      assert.equal(await hash(), `#entry-${ids.pear3}`);
      assert.ok(await page.isVisible(`#entry-${ids.pear3}`), "the place is the same as before");
      await page.goBack();
      await compared();
      assert.equal(await hash(), `#compare-${ids.third}..${ids.first}`);
      await page.goBack();
      await page.waitForSelector("#compare", { state: "detached" });
      await settled(page);
      assert.ok(await page.isVisible(`#entry-${ids.pear3}`));
    });

    test("an address shows a comparison, of an entry with its descendant, too", async () => {
      await open(page, `${address}#compare-${ids.second}..${ids.apples}`);
      await compared();
      const [left, right] = await sides();
      assert.ok(left.text.includes("Plums are planted") && right.text.includes("Apples, please") && !right.text.includes("Apples are planted"));
      await open(page, `${address}#compare-${ids.plums}..${ids.second}`);
      await compared();
      const [first, second] = await sides();
      assert.match(first.head, /no entries after the common ones[^]*0 entries/);
      assert.match(second.head, /1 entry/);
      for (const wrong of ["nowhere..elsewhere", `${ids.first}`, "", "..", `${ids.first}..`, "%..%", `${ids.first}..${ids.second}..${ids.third}`]) {
        await open(page, `${address}#compare-${wrong}`);
        assert.equal(await isComparing(), false, wrong);
        assert.ok(await page.isVisible("article"), wrong);
      }
    });

    test("keys act on the branch with the focus, and x goes to the other", async () => {
      await open(page, `${address}#compare-${ids.third}..${ids.first}`);
      await compared();
      const active = () => page.$eval("#compare .branch.active h2", (title) => title.innerText.slice(0, 6));
      // A served page waits for its entries.
      const row = (text) => page.waitForFunction((text) => document.activeElement.innerText.includes(text), text);
      assert.equal(await active(), "First ");
      await press("n");
      await row("Pear 1");
      await press("G");
      await row("Pear 30 is planted");
      await press("x");
      assert.equal(await active(), "Second");
      await press("G");
      await row("Apples are planted");
      await press("s", "t", "o", "s", "t", "o");
      await row("Apples are planted");
      await press("x", "g");
      await row("Pears, please");
    });

    test("a link of an entry, the common part and the tree lead back to the conversation", async () => {
      await open(page, `${address}#compare-${ids.third}..${ids.first}`);
      await compared();
      await page.locator("#compare .branch >> nth=1 >> .permalink").first().click();
      await page.waitForSelector(`#entry-${ids.apples}`);
      assert.equal(await isComparing(), false);
      await page.goBack();
      await compared();
      await page.click("#compare .common a");
      await page.waitForSelector(`#entry-${ids.split}`);
      assert.equal(await hash(), `#entry-${ids.split}`);
      await page.goBack();
      await compared();
      await press("e");
      await page.waitForFunction(() => document.activeElement.getAttribute("role") === "treeitem");
      await press("End");
      await page.locator("#tree .line", { hasText: "Plums are" }).click();
      await page.waitForSelector(`#entry-${ids.second}`);
      assert.equal(await isComparing(), false);
      assert.ok(await page.isVisible(`#entry-${ids.second}`));
    });

    test("the other branch can be chosen in the tree", async () => {
      await open(page, address);
      await press("c", "ArrowDown", "ArrowDown");
      assert.equal(await page.evaluate(() => document.activeElement.innerText), "Choose in the tree");
      await press("Enter");
      assert.ok(await page.isVisible("#choosing"));
      await press("Home", "Enter");
      assert.match(await page.innerText("#status"), /on the same branch/);
      assert.equal(await isComparing(), false);
      await press("End");
      await page.locator("#tree .line", { hasText: "Plums, please" }).click();
      await compared();
      assert.equal(await hash(), `#compare-${ids.third}..${ids.second}`);
      assert.equal(await page.isVisible("#choosing"), false);
      await press("Escape");
      // An entry of another branch that has the focus is the choice.
      await press("e", "End", "c");
      await compared();
      await press("Escape", "c", "ArrowDown", "ArrowDown", "Enter", "Escape");
      assert.equal(await page.isVisible("#choosing"), false);
      assert.equal(await isComparing(), false);
    });

    test("u lists the prompts, marks the current one while scrolling, and Enter goes there", async () => {
      await open(page, address);
      await press("u");
      assert.equal(await page.getAttribute("#view-outline", "aria-selected"), "true");
      assert.equal(await page.isVisible("#tree"), false);
      const marked = () => page.$eval("#outline [aria-selected='true']", (line) => line.innerText.trim());
      const last = await marked();
      assert.match(last, /^Pear (2\d|30)$/, "the prompt of the first entry on the screen");
      assert.equal(await page.getAttribute("#outline [aria-selected='true']", "aria-setsize"), "32");
      await press("Home", "ArrowDown", "ArrowDown", "ArrowDown", "Enter");
      await page.waitForFunction((id) => location.hash === `#entry-${id}`, ids.pear2);
      await page.waitForFunction(() => document.querySelector("#outline [aria-selected='true']")?.innerText.trim() === "Pear 2");
      await page.$eval(`#entry-${ids.pear2}`, (element) => element.focus());
      await page.$eval("#pane", (pane) => { pane.scrollTop = 0; });
      await press("g");
      await page.waitForFunction(() => document.querySelector("#outline [aria-selected='true']")?.innerText.trim() === "Plan the orchard");
      await press("n");
      await page.waitForFunction(() => document.querySelector("#outline [aria-selected='true']")?.innerText.trim() === "Pears, please");
      // Another branch has other prompts.
      await page.evaluate((id) => { location.hash = `#entry-${id}`; }, ids.second);
      await page.waitForFunction(() => document.querySelectorAll("#outline .line").length === 2);
      assert.equal(await marked(), "Plums, please");
      await page.focus("#view-outline");
      await press("ArrowLeft");
      assert.ok(await page.isVisible("#tree"));
      assert.equal(await page.isVisible("#outline"), false);
      await press("u");
      await page.fill("#search", "plums");
      assert.ok(await page.isVisible("#tree"), "a search shows its hits");
    });

    test("ids with white space, percent signs and dots have exact addresses", async () => {
      const { odd } = sessions.odd;
      for (const [at, id] of odd.entries()) {
        await open(page, `${addressOfOdd}#entry-${encodeURIComponent(id)}`);
        await page.waitForFunction((text) => document.getElementById("entries").innerText.includes(text), `Prompt ${at}`);
        const article = page.locator("article", { hasText: `Prompt ${at}` });
        assert.doesNotMatch(await article.getAttribute("id"), /\s/);
        const link = await article.locator(".permalink").getAttribute("href");
        await open(page, addressOfOdd + link);
        assert.ok(await page.locator("article", { hasText: `Prompt ${at}` }).isVisible(), link);
      }
      await open(page, addressOfOdd);
      await press("c", "Enter");
      await compared();
      const link = await hash();
      assert.match(link, /^#compare-a%20b\.\.100%25%20a%20b%2E%2Ec$/);
      await open(page, addressOfOdd + link);
      await compared();
      const [left, right] = await sides();
      assert.ok(left.text.includes("Prompt 3") && right.text.includes("Prompt 0"));
    });

    test("back to an address without # shows the end of the first branch", async () => {
      await open(page, address);
      await page.evaluate((id) => { location.hash = `#entry-${id}`; }, ids.second);
      await page.waitForSelector(`#entry-${ids.second}`);
      await page.goBack();
      await page.waitForSelector(`#entry-${ids.third}`);
      await settled(page);
      assert.ok(await page.isVisible(`#entry-${ids.third}`));
    });

    test("pi's keys: Ctrl with arrows, U, A, O and X in the tree", async () => {
      await open(page, address);
      const filter = () => page.inputValue("#filter");
      await press("e", "Control+u");
      assert.equal(await filter(), "user");
      await press("Control+u");
      assert.equal(await filter(), "default");
      await press("Control+a");
      assert.equal(await filter(), "all");
      await press("Control+o");
      assert.equal(await filter(), "default");
      await press("F");
      assert.equal(await filter(), "all");
      await press("f", "e", "Home", "Control+ArrowRight");
      const focused = () => page.evaluate(() => document.activeElement.innerText.trim());
      assert.match(await focused(), /Pears, please/, "the first entry after the split");
      await press("Control+ArrowLeft");
      assert.match(await focused(), /hidden/, "folded");
      await press("Control+ArrowLeft");
      assert.match(await focused(), /Plan the orchard/, "up to the start");
      await press("Control+ArrowRight", "Control+ArrowRight");
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
      await press("Home", "Control+x");
      await page.waitForFunction(() => document.getElementById("status").textContent === "Copied.");
      await press("?");
      const help = await page.innerText("dialog#keys");
      for (const text of ["Compare this branch", "list of prompts", "Ctrl+X", "f, F"]) assert.ok(help.includes(text), text);
      await press("Escape");
    });

    test("20,000 common entries and 20,000 of each branch", async () => {
      const { left, right } = sessions.deep;
      await open(page, `${addressOfDeep}#compare-${left}..${right}`);
      await compared();
      assert.match(await page.innerText("#compare .common"), /^20,000 entries in common, up to .*common 19999$/);
      await page.waitForFunction(() => {
        const [first, second] = [...document.querySelectorAll("#compare .branch")].map((branch) => branch.innerText);
        return first.includes("left 0") && second.includes("right 0");
      });
      await press("G");
      await page.waitForFunction(() => document.querySelector("#compare .branch").innerText.includes("left 19999"));
      assert.ok((await page.locator("#compare article").count()) < 200, "only what is on the screen is drawn");
      await press("Escape", "u");
      assert.ok((await page.locator("#outline .line").count()) < 100);
      await press("Home");
      assert.match(await page.evaluate(() => document.activeElement.innerText), /common 0/);
    });

    for (const scheme of ["light", "dark"]) {
      for (const [size, name] of [[{ width: 1280, height: 900 }, "desktop"], [{ width: 390, height: 844 }, "phone"]]) {
        test(`no violation of accessibility: ${scheme}, ${name}`, async () => {
          await page.setViewportSize(size);
          await page.emulateMedia({ colorScheme: scheme });
          await open(page, `${address}#compare-${ids.third}..${ids.first}`);
          await compared();
          await page.waitForFunction(() => /files changed/.test(document.querySelector("#compare").textContent));
          assert.deepEqual(await violations(), [], "comparison");
          if (name === "phone") {
            const visible = () => page.$$eval("#compare .branch", (all) => all.map((branch) => getComputedStyle(branch).visibility));
            assert.deepEqual(await visible(), ["visible", "hidden"]);
            await page.click("#compare .which button >> nth=1");
            assert.deepEqual(await visible(), ["hidden", "visible"]);
            assert.ok(await page.isVisible("text=Apples are planted"));
            assert.deepEqual(await violations(), [], "second branch");
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
          }
          await page.click("#end-comparison");
          assert.equal(await isComparing(), false);
          await press("c");
          assert.deepEqual(await violations(), [], "choice");
          await press("Escape", "u");
          assert.deepEqual(await violations(), [], "outline");
          if (name === "phone") {
            await page.locator("#outline .line >> nth=0").click();
            await settled(page);
            assert.equal(await page.isVisible("#side"), false);
            await page.click("#compare-with");
            await page.click("text=Choose in the tree");
            assert.deepEqual(await violations(), [], "choosing");
            await press("End");
            await page.locator("#tree .line", { hasText: "Plums, please" }).click();
            await compared();
            assert.equal(await page.isVisible("#side"), false);
          }
        });
      }
    }

    test("nothing failed on the way", () => {
      assert.deepEqual([page.seen.errors, page.seen.violations, page.seen.executed], [[], [], []]);
    });
  });
}

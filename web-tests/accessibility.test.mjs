// axe-core finds nothing, in any colours, sizes and states.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { everyKind, exported, open, require, search, Session, settled, useBrowser } from "./lib.mjs";

const browser = useBrowser();
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { session, ids } = everyKind();
let address;

before(() => { address = exported(session); });

async function check(page, state) {
  const found = await page.evaluate(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`));
  });
  assert.deepEqual(found, [], state);
}

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };
for (const scheme of ["light", "dark"]) {
  for (const [name, size] of Object.entries(sizes)) {
    test(`no violation: ${scheme}, ${name}`, async () => {
      const page = await browser.tab({ size, scheme, init: axe });
      await open(page, address);
      await check(page, "at the start");
      await page.keyboard.press("o");
      await page.keyboard.press("s");
      await settled(page);
      for (const id of [ids.first, ids.edit.call, ids.image, ids.compaction]) {
        await page.evaluate((id) => { location.hash = `#entry-${id}`; }, id);
        await page.waitForSelector(`#entry-${id}`, { state: "attached" });
        await settled(page);
        await check(page, `at ${id}`);
      }
      await page.keyboard.press("?");
      await check(page, "with the help");
      await page.keyboard.press("Escape");
      if (name === "phone") await page.click("#menu");
      await check(page, "with the tree");
      await search(page, "prompt");
      await check(page, "during a search");
      await search(page, "no such words");
      await check(page, "without a hit");
      assert.deepEqual(page.seen.errors, []);
      await page.context().close();
    });
  }
}

test("the switch gives the other colours whatever the system prefers", async () => {
  for (const scheme of ["light", "dark"]) {
    const page = await browser.tab({ scheme, init: axe });
    await open(page, address);
    await page.click("#theme");
    await check(page, `switched from ${scheme}`);
    await page.context().close();
  }
});

test("a page without entries has no violation", async () => {
  const page = await browser.tab({ init: axe });
  await open(page, exported(new Session()));
  await check(page, "empty");
});

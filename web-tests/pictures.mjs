// Makes the pictures of docs/web.md from the sample store. `cargo xtask web-pictures` runs it.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, LAUNCH, program } from "./lib.mjs";

const out = process.argv[2];
const home = mkdtempSync(join(tmpdir(), "sessile-pictures-"));
const server = spawn(program, ["--sample", "serve", "--json"], {
  cwd: home,
  env: { HOME: home, TZ: "UTC", PATH: process.env.PATH },
  stdio: ["ignore", "pipe", "inherit"],
});
let text = "";
for await (const piece of server.stdout) {
  text += piece;
  if (text.includes("\n")) break;
}
const browser = await chromium.launch(LAUNCH);
mkdirSync(out, { recursive: true });

async function tab(scheme, size) {
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, deviceScaleFactor: 1 });
  if (tab.cookies) await context.addCookies(tab.cookies);
  const page = await context.newPage();
  if (!tab.cookies) {
    await page.goto(JSON.parse(text).url);
    tab.cookies = await context.cookies();
  }
  return page;
}

const save = async (page, name) => {
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(out, `${name}.png`) });
  console.log(`${name}.png`);
};
const ready = (page) => page.waitForSelector("html.ready", { state: "attached" });
const SCREEN = { width: 1200, height: 750 };

try {
  const light = await tab("light", SCREEN);
  const origin = new URL(JSON.parse(text).url).origin;
  await light.goto(`${origin}/`);
  await save(light, "list");
  // The sample's longest session has branches, tools and a compaction.
  await light.goto(`${origin}/?sort=messages`);
  const session = await light.locator("main a[href^='/s/']").first().getAttribute("href");
  const dark = await tab("dark", SCREEN);
  await dark.goto(origin + session);
  await ready(dark);
  await save(dark, "session");
  await dark.keyboard.press("c");
  await dark.keyboard.press("Enter");
  await dark.waitForSelector("#compare article");
  await save(dark, "compare");
  const phone = await tab("light", { width: 390, height: 750 });
  await phone.goto(origin + session);
  await ready(phone);
  await save(phone, "phone");
  await light.goto(`${origin}/stats`);
  await light.waitForSelector("svg");
  await save(light, "statistics");
} finally {
  await browser.close();
  server.kill();
  rmSync(home, { recursive: true, force: true });
}

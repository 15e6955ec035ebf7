// Sessions on a server, for tests that run on an exported page and on a served one.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { program } from "./lib.mjs";

/** A server with these sessions. Returns a function that signs a tab in and returns the addresses of their pages. */
export function useServer(sessions) {
  const home = mkdtempSync(join(tmpdir(), "sessile-served-"));
  const folder = join(home, "agent", "sessions", "--home-user-project--");
  mkdirSync(folder, { recursive: true });
  const hourAgo = Date.now() / 1000 - 3600;
  const ids = sessions.map((session, at) => {
    const id = `01990000-0000-7000-8000-0000000001${String(at).padStart(2, "0")}`;
    session.lines[0].id = id;
    const file = join(folder, `2026-01-02T03-04-05-000Z_${id}.jsonl`);
    writeFileSync(file, session.text());
    utimesSync(file, hourAgo, hourAgo);
    return id;
  });
  let server;
  after(() => {
    server?.kill();
    rmSync(home, { recursive: true, force: true });
  });
  return async (page) => {
    server = spawn(program, ["serve", "--json"], {
      cwd: home,
      env: { HOME: home, PI_CODING_AGENT_DIR: join(home, "agent"), TZ: "UTC", PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    for await (const piece of server.stdout) {
      text += piece;
      if (text.includes("\n")) break;
    }
    const { url } = JSON.parse(text);
    await page.goto(url);
    const addresses = [];
    for (const id of ids) {
      await page.goto(new URL(`/?q=${id}`, url).href);
      addresses.push(new URL(await page.locator(".s a.title").first().getAttribute("href"), url).href);
    }
    return addresses;
  };
}

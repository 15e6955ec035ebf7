// The server is killed during each kind of change. Nothing that was there is lost, and what it has confirmed is done.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Session, program } from "./lib.mjs";

const ROUNDS = process.env.SESSILE_WEB_LONG ? 60 : 5;
/** A change takes less than this, so that some kills come before its write, some during it and some after it. */
const MAX_DELAY_MS = 40;

const servers = [];
// A server that a failed test leaves would keep the process alive.
after(() => servers.forEach((server) => server.kill("SIGKILL")));

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** One request. Fails if the connection ends before the answer does. */
function ask(url, { method = "GET", headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method, headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (piece) => (text += piece));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
      answer.on("error", reject);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

/** A store of one session, and a client that has signed in to a server of it. */
async function begin() {
  const home = mkdtempSync(join(tmpdir(), "sessile-kill-"));
  const folder = join(home, "agent", "sessions", "--p--");
  const file = join(folder, "2026-01-02T03-04-05-000Z_s.jsonl");
  const session = new Session({ cwd: home });
  session.user("Plan the trip");
  const train = session.answer("Take the train");
  session.user("And back?");
  session.answer("Take the boat");
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, session.text());
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(file, hourAgo, hourAgo);
  const env = { HOME: home, PI_CODING_AGENT_DIR: join(home, "agent"), TZ: "UTC", PATH: process.env.PATH };
  const sessile = (...command) => execFileSync(program, command, { cwd: "/", env, stdio: ["ignore", "pipe", "pipe"] }).toString();
  const server = spawn(program, ["serve", "--json", "--no-open"], { cwd: "/", env, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  let text = "";
  for await (const piece of server.stdout) {
    text += piece;
    if (text.includes("\n")) break;
  }
  const { url } = JSON.parse(text);
  const { origin } = new URL(url);
  const cookie = (await ask(url)).headers["set-cookie"][0].split(";")[0];
  const get = async (path) => (await ask(origin + path, { headers: { cookie } })).text;
  const { token } = JSON.parse(await get("/api/token"));
  const key = /data-key="([0-9a-f]+)"/.exec(await get("/"))[1];
  const { last } = JSON.parse(await get(`/s/${key}/state`));
  const headers = { cookie, origin, "Content-Type": "application/json", "X-Sessile-Token": token };
  const refusals = [];
  /** Whether the server has confirmed the change before it died. */
  const change = async (what, value) => {
    try {
      const { status, text } = await ask(`${origin}/api/${what}`, { method: "POST", headers, body: JSON.stringify(value) });
      refusals.push(...(status === 200 ? [] : [text]));
      return status === 200;
    } catch {
      return false;
    }
  };
  const kill = () => (server.kill("SIGKILL"), ended);
  return { home, folder, file, train, key, last, original: session.text(), sessile, change, kill, refusals };
}

const label = (line) => line.type === "label" && line.label;
const CHANGES = {
  name: { ask: ({ key, last }) => ["name", { key, last, name: "By sea" }], isDone: ({ lines }) => lines.some((line) => line.name === "By sea") },
  label: { ask: ({ key, last, train }) => ["label", { key, last, entry: train, label: "rail" }], isDone: ({ lines }) => lines.some(label) },
  leaf: {
    ask: ({ key, last, train }) => ["leaf", { key, last, entry: train }],
    isDone: ({ sessile, file, train }) => JSON.parse(sessile("info", file, "--json")).leafId === train,
  },
  fork: { ask: ({ key, train }) => ["fork", { key, entry: train }], isDone: ({ files }) => files.length === 2 },
  clone: { ask: ({ key, last }) => ["clone", { key, last }], isDone: ({ files }) => files.length === 2 },
  delete: { ask: ({ key, last }) => ["delete", { key, last }], isDone: ({ files }) => files.length === 0, removes: true },
  undo: {
    prepare: async (site) => {
      assert.ok(await site.change("delete", { key: site.key, last: site.last }));
      assert.ok(!existsSync(site.file));
    },
    ask: () => ["undo", { operation: null }],
    isDone: ({ files }) => files.length === 1,
    removes: true,
  },
};

for (const [what, { prepare, ask, isDone, removes }] of Object.entries(CHANGES)) {
  test(`a server that is killed during ${what} loses nothing`, async () => {
    const confirmed = [];
    for (let round = 0; round < ROUNDS; round++) {
      const site = await begin();
      await prepare?.(site);
      const asked = site.change(...ask(site));
      // The last round is not disturbed, so that each change is made at least once.
      if (round < ROUNDS - 1) await pause(Math.random() * MAX_DELAY_MS);
      else await asked;
      await site.kill();
      confirmed.push(await asked);
      assert.deepEqual(site.refusals, []);
      const sessions = () => readdirSync(site.folder).filter((name) => name.endsWith(".jsonl"));
      if (existsSync(site.file)) {
        const text = readFileSync(site.file, "utf8");
        assert.ok(text.startsWith(site.original), `${what}: the session is changed: ${text}`);
      } else {
        assert.ok(removes, `${what}: the session is gone`);
      }
      const files = sessions();
      const lines = existsSync(site.file) ? readFileSync(site.file, "utf8").trim().split("\n").map((line) => JSON.parse(line)) : [];
      if (confirmed.at(-1)) assert.ok(isDone({ files, lines, ...site }), `${what} was confirmed and is not there`);
      for (const name of files) {
        const text = readFileSync(join(site.folder, name), "utf8");
        assert.ok(text.endsWith("\n"), `${what}: a line is torn: ${text}`);
        text.trim().split("\n").forEach((line) => JSON.parse(line));
      }
      if (files.length) assert.equal(JSON.parse(site.sessile("list", "--all", "--json")).length, files.length);
      if (!existsSync(site.file)) {
        // Whether or not the change was recorded, the session comes back from the trash byte for byte.
        site.sessile("undo");
        assert.equal(readFileSync(site.file, "utf8"), site.original);
      }
      // No lock of the dead server is in the way.
      site.sessile("append", site.file, "Still here");
      rmSync(site.home, { recursive: true, force: true });
    }
    assert.equal(confirmed.at(-1), true, `${what} is never confirmed`);
  });
}

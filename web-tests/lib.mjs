// What the tests share: sessions to export, the program, and a browser that reports everything it is asked to do.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const require = createRequire(join(process.env.SESSILE_WEB_TOOLS ?? here, "package.json"));
export const { chromium } = require("playwright-core");

export const program = process.env.SESSILE_PROGRAM ?? join(here, "../target/debug/sessile");

// ---- Sessions ----

export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAC0lEQVR4nGNgQAcAABIAAeRVj9gAAAAASUVORK5CYII=";
export const SVG = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" onload="canary()" width="9" height="9"><script>canary()</script></svg>',
).toString("base64");

export const header = (more = {}) => ({
  type: "session",
  version: 3,
  id: "01990000-0000-7000-8000-000000000001",
  timestamp: "2026-03-01T10:00:00.000Z",
  cwd: "/home/user/project",
  ...more,
});

export const usage = { input: 1200, output: 34, cacheRead: 5, cacheWrite: 0, totalTokens: 1239, cost: { input: 0.1, output: 0.13, cacheRead: 0, cacheWrite: 0, total: 0.23 } };

/** Builds a session, each entry after the one before. */
export class Session {
  constructor(more) {
    this.lines = [header(more)];
    this.leaf = null;
    this.n = 0;
  }

  /** Adds an entry and returns its id. */
  add(entry) {
    const id = entry.id ?? `e${String(++this.n).padStart(7, "0")}`;
    const { type, ...rest } = entry;
    this.lines.push({ type, id, parentId: this.leaf, timestamp: "2026-03-01T10:00:01.000Z", ...rest });
    this.leaf = id;
    return id;
  }

  message(message) {
    return this.add({ type: "message", message });
  }

  user(content) {
    return this.message({ role: "user", content, timestamp: 1772359201000 });
  }

  answer(content, more = {}) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return this.message({
      role: "assistant", content: blocks, api: "test", provider: "acme", model: "model-1", usage, stopReason: "stop",
      timestamp: 1772359201000, ...more,
    });
  }

  /** Adds a call and its result. */
  tool(name, args, text, more = {}) {
    const toolCallId = `call${++this.n}`;
    const call = this.answer([{ type: "toolCall", id: toolCallId, name, arguments: args }], { stopReason: "toolUse" });
    const content = typeof text === "string" ? [{ type: "text", text }] : text;
    const result = this.message({ role: "toolResult", toolCallId, toolName: name, content, isError: false, timestamp: 1772359201000, ...more });
    return { call, result };
  }

  text() {
    return this.lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)) + "\n").join("");
  }
}

/** A session with every kind of entry. Returns it and the ids of some entries. */
export function everyKind() {
  const s = new Session({ parentSession: "/home/user/other.jsonl" });
  const ids = {};
  s.add({ type: "model_change", provider: "acme", modelId: "model-1" });
  s.add({ type: "thinking_level_change", thinkingLevel: "high" });
  s.add({ type: "session_info", name: "Every kind of entry" });
  s.message({ role: "system", content: "You are a careful assistant." });
  ids.first = s.user("First prompt: please look at the **orchard**.");
  ids.answer = s.answer(
    [
      { type: "thinking", thinking: "I should think in *Markdown* about `pears`.", thinkingSignature: "xyzsignature" },
      { type: "thinking", thinking: "", redacted: true, thinkingSignature: "r" },
      { type: "text", text: "# Heading\n\nA [link](https://example.com/), an ![image](https://example.com/a.png), `code`.\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n- [x] done\n\n```rust\nfn main() { let plum = 1; }\n```\n\n> quote" },
    ],
    { durationMs: 3200 },
  );
  ids.bash = s.tool("bash", { command: "echo quince --colour" }, "\u001b[31mred\u001b[0m \u001b[1;32mgreen\u001b[0m \u001b]8;;https://example.com/\u0007site\u001b]8;;\u0007 plain").result;
  s.tool("read", { path: "src/main.rs" }, "fn main() {\n    println!(\"medlar\");\n}");
  s.tool("write", { path: "notes.txt", content: "written words\nsecond line" }, "Wrote 2 lines");
  ids.edit = s.tool("edit", { path: "src/a.rs", edits: [{ oldText: "let one = 1;\nsame\n", newText: "let two = 1;\nsame\n" }] }, "Edited", { details: { diff: "-1 let one = 1;\n+1 let two = 1;\n 2 same" } });
  s.tool("grep", { pattern: "apricot", path: "src" }, "src/a.rs:1: apricot");
  s.tool("find", { pattern: "*.rs" }, "src/a.rs");
  s.tool("ls", { path: "." }, "src\nnotes.txt");
  s.tool("greengage_tool", { depth: 3, list: ["sloe"] }, "done", {
    nestedCalls: { calls: [{ id: "n1", name: "read", arguments: { path: "damson" }, status: "ok", durationMs: 5 }, { id: "n2", name: "bash", status: "error", error: "it failed" }], complete: true },
    usage, durationMs: 120,
  });
  ids.image = s.tool("read", { path: "a.png" }, [{ type: "text", text: "Read image" }, { type: "image", mimeType: "image/png", data: PNG }, { type: "image", mimeType: "image/svg+xml", data: SVG }]).result;
  s.tool("bash", { command: "false" }, "no such mirabelle", { isError: true });
  ids.orphan = s.message({ role: "toolResult", toolCallId: "nowhere", toolName: "bash", content: [{ type: "text", text: "an orphan" }], isError: false });
  s.message({ role: "bashExecution", command: "ls -l", output: "\u001b[34mfolder\u001b[39m", exitCode: 2, cancelled: false, truncated: true, excludeFromContext: true, timestamp: 1772359201000 });
  s.add({ type: "custom_message", customType: "reminder", content: [{ type: "text", text: "A custom **message**" }, { type: "image", mimeType: "image/png", data: PNG }], display: false });
  s.add({ type: "custom", customType: "extension", data: { shrub: ["rowanberry", true, null] } });
  s.add({ type: "usage", kind: "title", provider: "acme", model: "model-1", usage, note: "title of the session" });
  s.add({ type: "context_edit", targetId: ids.bash, replacement: { content: "Shorter output" } });
  s.add({ type: "context_edit", targetId: ids.orphan, replacement: null });
  ids.second = s.user([{ type: "text", text: "Second prompt with a picture" }, { type: "image", mimeType: "image/png", data: PNG }]);
  s.answer("This answer stops early.", { stopReason: "error", errorMessage: "The bullace limit was reached" });
  ids.compaction = s.add({ type: "compaction", summary: "Summary about **cornelian** cherries.", firstKeptEntryId: ids.second, tokensBefore: 120000, details: { readFiles: ["a.rs"], modifiedFiles: ["b.rs"] } });
  ids.third = s.user("Third prompt, on a branch");
  s.answer("Answer on the old branch");
  const old = s.leaf;
  s.leaf = ids.compaction;
  s.add({ type: "branch_summary", fromId: old, summary: "The other branch tried *quandong*." });
  ids.fourth = s.user("Fourth prompt: write a long output");
  ids.long = s.tool("bash", { command: "seq 20000" }, Array.from({ length: 20000 }, (_, n) => `line ${n + 1} of the long output`).join("\n")).result;
  s.add({ type: "label", targetId: ids.first, label: "important" });
  s.add({ type: "label", targetId: ids.second, label: "temporary" });
  s.add({ type: "label", targetId: ids.second });
  s.add({ type: "from_the_future", anything: { at: "all" } });
  ids.last = s.answer("The last answer.");
  ids.old = old;
  return { session: s, ids };
}

/** A session of about this many bytes, of the usual mix. */
export function large(bytes) {
  const s = new Session();
  const words = "the program reads a file and writes another one with more lines than before because of this change".split(" ");
  let seed = 7;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const text = (n) => Array.from({ length: n }, () => words[Math.floor(random() * words.length)]).join(" ");
  const line = (n) => `${text(8)} ${n}`;
  let measured = 0;
  for (let size = 0, n = 0; size < bytes; n++) {
    s.user(`Prompt ${n}: ${text(30)}`);
    s.answer([{ type: "thinking", thinking: text(60) }, { type: "text", text: `${text(40)}\n\n\`\`\`rust\nfn f${n}() { let x = "${text(5)}"; }\n\`\`\`\n\n- ${text(9)}\n- ${text(9)}` }]);
    s.tool("bash", { command: `grep -r ${text(3)}` }, Array.from({ length: 60 }, (_, n) => `\u001b[3${n % 8}m${line(n)}\u001b[0m`).join("\n"));
    s.tool("edit", { path: `src/f${n}.rs`, edits: [{ oldText: Array.from({ length: 12 }, (_, n) => line(n)).join("\n"), newText: Array.from({ length: 12 }, (_, n) => line(n)).join("\n") }] }, "Done");
    s.tool("read", { path: `src/f${n}.rs` }, Array.from({ length: 80 }, (_, n) => `    let ${line(n)};`).join("\n"));
    for (; measured < s.lines.length; measured++) size += JSON.stringify(s.lines[measured]).length + 1;
  }
  return s;
}

// ---- The program ----

let folder;
let n = 0;

/** A new path in the folder of this test file. */
export function newPath(name) {
  folder ??= mkdtempSync(join(tmpdir(), "sessile-web-"));
  return join(folder, `${++n}-${name}`);
}

export function sessile(...args) {
  newPath("");
  return execFileSync(program, args, {
    cwd: folder,
    env: { HOME: folder, PI_CODING_AGENT_DIR: join(folder, "agent"), TZ: "UTC", PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
  }).toString();
}

/** Writes a session file that no program seems to use, and returns its path. */
export function sessionFile(text, name = "session.jsonl") {
  const path = newPath(name);
  writeFileSync(path, text);
  const hourAgo = Date.now() / 1000 - 3600;
  utimesSync(path, hourAgo, hourAgo);
  return path;
}

/** Exports a session (a `Session`, or the text or bytes of a file) and returns the address of its page. */
export function exported(session, { isSplit = false, name } = {}) {
  const file = sessionFile(session instanceof Session ? session.text() : session, name);
  const out = newPath(isSplit ? "folder" : "page.html");
  sessile("export", file, "--format", "html", "-o", out, ...(isSplit ? ["--split"] : []));
  return pathToFileURL(isSplit ? join(out, "index.html") : out).href;
}

const servers = [];

/** Starts `sessile serve` on a store in `home`, which ends with the tests of the file, and returns the link for a browser. */
export async function serve(home, ...args) {
  const server = spawn(program, ["serve", "--json", ...args], {
    cwd: home,
    env: { HOME: home, PI_CODING_AGENT_DIR: join(home, "agent"), TZ: "UTC", PATH: process.env.PATH },
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  let text = "";
  for await (const piece of server.stdout) {
    text += piece;
    if (text.includes("\n")) break;
  }
  return JSON.parse(text).url;
}

// ---- The browser ----

/** How the browser is started. */
export const LAUNCH = {
  executablePath: process.env.SESSILE_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
};

/** The browser of a test file. */
export function useBrowser() {
  const state = {};
  after(async () => {
    await (await state.browser)?.close();
    for (const server of servers) server.kill();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  /** A tab of its own. `tab.seen` has page errors, requests, calls of the canary and violations of the policy. */
  state.tab = async ({ javaScript = true, size = { width: 1280, height: 900 }, scheme = "light", init } = {}) => {
    state.browser ??= chromium.launch(LAUNCH);
    const context = await (await state.browser).newContext({ javaScriptEnabled: javaScript, viewport: size, colorScheme: scheme, acceptDownloads: true });
    const page = await context.newPage();
    page.setDefaultTimeout(Number(process.env.SESSILE_WEB_TIMEOUT ?? 120000));
    const seen = { errors: [], requests: [], executed: [], violations: [] };
    page.on("pageerror", (error) => seen.errors.push(String(error)));
    page.on("dialog", (dialog) => { seen.executed.push(`dialog ${dialog.message()}`); dialog.dismiss().catch(() => {}); });
    page.on("popup", () => seen.executed.push("popup"));
    context.on("request", (request) => seen.requests.push(request.url()));
    if (javaScript) {
      await page.exposeFunction("canary", (what) => { seen.executed.push(String(what)); });
      await page.exposeFunction("reportViolation", (what) => { seen.violations.push(what); });
      await page.addInitScript(() => {
        for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => window.canary(name);
        document.addEventListener("securitypolicyviolation", (event) => {
          window.reportViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
        });
      });
      if (init) await page.addInitScript(init);
    }
    page.seen = seen;
    return page;
  };
  return state;
}

/** Notes tasks of the page's main thread that take more than 50 ms. */
export const watchTasks = () => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longTasks.push(Math.round(task.duration));
  }).observe({ type: "longtask", buffered: true });
};

/** Opens an address and waits until the page is interactive. */
export async function open(page, address) {
  // A new query loads the page again even if only the part after `#` differs.
  await page.goto("about:blank");
  page.seen.requests.length = 0;
  await page.goto(address);
  await page.waitForSelector("html.ready", { state: "attached" });
  await settled(page);
}

/** Waits until the page has drawn what it had to draw. */
export const settled = (page) =>
  page.evaluate(async () => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    let last;
    for (let quiet = 0, n = 0; quiet < 2 && n < 100; n++) {
      await frame();
      const now = `${document.getElementById("entries").childElementCount} ${document.getElementById("pane").scrollHeight} ${document.getElementById("tree").textContent.length}`;
      quiet = now === last ? quiet + 1 : 0;
      last = now;
    }
  });

/** Types a search and waits for its end; returns the lines of the tree. */
export async function search(page, text) {
  await page.evaluate(() => { document.getElementById("found").textContent = ""; });
  await page.fill("#search", text);
  await page.waitForFunction(() => /found$/.test(document.getElementById("found").textContent));
  await settled(page);
  return page.$$eval("#tree .line .title", (lines) => lines.map((line) => line.textContent));
}

/** Requests other than for the page itself, and for its data files if it is split. */
export function foreignRequests(page) {
  const own = page.url().split(/[?#]/)[0];
  if (own.startsWith("http:")) {
    const { origin } = new URL(own);
    return page.seen.requests.filter((url) => url !== "about:blank" && !url.startsWith(`${origin}/`) && !url.startsWith("data:"));
  }
  const folder = own.replace(/index\.html$/, "data/");
  return page.seen.requests.filter((url) => {
    const bare = url.split(/[?#]/)[0];
    return bare !== own && bare !== "about:blank" && !url.startsWith("data:") && !url.startsWith("blob:") &&
      !(own.endsWith("/index.html") && bare.startsWith(folder) && bare.endsWith(".js"));
  });
}

// Records what the genuine pi shows for the golden files of docs/format.
//
//   SESSILE_ORACLE_DIR=… …/node testkit/oracle/golden.mjs docs/format [--check]
//
// For each `NAME.jsonl` it opens a copy in pi and updates `NAME.json`. Existing views stay unchanged: they define
// what a reader must show. If pi's view differs, it is stored in the member `pi`. With `--check` the script writes
// nothing and fails if a file would change.
//
// `writing.json` lists calls. From the files that pi writes for them, it makes `77-written.jsonl` and
// `78-copied-branch.jsonl`.

import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { fileURLToPath } from "node:url";

/** The members of a golden file, with the driver's name for each view. */
const VIEWS = {
  header: "header",
  entries: "entries",
  leaf: "leaf",
  path: "branch",
  tree: "treeFlat",
  labels: "labels",
  name: "name",
  contextEntries: "contextEntries",
  context: "context",
  llm: "llm",
};

const [folder, mode] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), "sessile-golden-"));
const driver = spawn(process.execPath, [join(dirname(fileURLToPath(import.meta.url)), "driver.mjs")], {
  env: { ...process.env, HOME: home, TZ: "UTC", PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" },
  cwd: home,
  stdio: ["pipe", "pipe", "inherit"],
});

/** Splits at LF only: the readline module also splits at U+2028. */
async function* lines(stream) {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(10); at !== -1; at = rest.indexOf(10)) {
      yield rest.subarray(0, at).toString("utf8");
      rest = rest.subarray(at + 1);
    }
  }
}
const answers = lines(driver.stdout);

async function ask(request) {
  driver.stdin.write(`${JSON.stringify(request)}\n`);
  return JSON.parse((await answers.next()).value);
}

/** Returns the id that Sessile gives to the entry at an index of a version 1 file. */
function stableId(ordinal) {
  const mixed = (BigInt(ordinal) * 0x9e3779b1n) & 0xffffffffn;
  return (mixed ^ 0x5e5511e0n).toString(16).padStart(8, "0");
}

/** Replaces the random ids that pi gives to the entries of a version 1 file with the stable ones. */
function withStableIds(text, entries) {
  return entries.reduce((text, entry, ordinal) => text.replaceAll(`"${entry?.id}"`, `"${stableId(ordinal)}"`), text);
}

function isVersion1(text) {
  const header = text.split("\n").find((line) => line.includes('"session"'));
  return header !== undefined && Number(JSON.parse(header.replace(/^\uFEFF/, "")).version ?? 1) < 2;
}

async function piShows(file) {
  const copy = join(home, "f.jsonl");
  cpSync(file, copy);
  await ask({ cmd: "reset", clock: 1735689600000, idSeed: "7" });
  const isOld = isVersion1(readFileSync(file, "utf8"));
  const opened = await ask({ cmd: "static", method: "open", args: [copy] });
  if (!opened.ok) return { error: opened.error.split(":")[0] };
  const { value } = await ask({ cmd: "observe", what: Object.values(VIEWS) });
  const shown = {};
  for (const [name, view] of Object.entries(VIEWS)) {
    const text = value[view];
    if (typeof text !== "string") shown[name] = { throws: text?.throws.split(":")[0] ?? "undefined" };
    else shown[name] = JSON.parse(isOld ? withStableIds(text, JSON.parse(value.entries)) : text);
  }
  return shown;
}

let failures = 0;

function update(file, before, after) {
  if (after === before) return;
  console.log(`${file}: changed`);
  if (mode === "--check") failures += 1;
  else writeFileSync(join(folder, file), after);
}

const textOf = (file) => (existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "");

/** Makes the calls of `writing.json` in pi. The last call copies a branch into a new file. */
async function write({ clock, create: [cwd, options], calls }) {
  await ask({ cmd: "reset", clock, idSeed: "7" });
  await ask({ cmd: "static", method: "create", args: [cwd, join(home, "s"), options] });
  const files = [];
  for (const [place, call] of calls.entries()) {
    await ask({ cmd: "clock", ms: clock + 1000 * (place + 1) });
    const answer = await ask({ cmd: "call", method: call.method, args: call.args });
    if (!answer.ok) throw new Error(`${call.method}: ${answer.error}`);
    const { value } = await ask({ cmd: "observe", what: "file" });
    const file = JSON.parse(value.file);
    if (!files.includes(file)) files.push(file);
    call.lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  }
  return files.map((file) => readFileSync(file, "utf8").replaceAll(join(home, "s"), "/sessions"));
}

if (existsSync(join(folder, "writing.json"))) {
  const writing = JSON.parse(textOf("writing.json"));
  const [written, copied] = await write(writing);
  update("writing.json", textOf("writing.json"), `${JSON.stringify(writing, null, 1)}\n`);
  update("77-written.jsonl", textOf("77-written.jsonl"), written);
  update("78-copied-branch.jsonl", textOf("78-copied-branch.jsonl"), copied);
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort()) {
  const target = file.replace(/jsonl$/, "json");
  const before = textOf(target);
  const golden = JSON.parse(before || "{}");
  const shown = await piShows(join(folder, file));
  const different = {};
  for (const [name, value] of Object.entries(shown)) {
    const isUsable = name !== "error" && value?.throws === undefined;
    // The name of pi's error does not matter.
    if (name === "error" && golden.error !== undefined) continue;
    if (golden[name] === undefined && isUsable) golden[name] = value;
    else if (!isDeepStrictEqual(golden[name], value)) different[name] = value;
  }
  delete golden.pi;
  if (Object.keys(different).length > 0) golden.pi = different;
  update(target, before, `${JSON.stringify(golden, null, 1)}\n`);
}
driver.stdin.end();
rmSync(home, { recursive: true, force: true });
process.exit(failures === 0 ? 0 : 1);

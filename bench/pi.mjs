// Runs one operation with the genuine pi and prints the result.
//
//   node pi.mjs OPERATION ARGUMENTS…
//
// Operations that measure themselves print one JSON line: the time in milliseconds, the memory the process had used by
// then, and a digest of the result. Operations whose names begin with `print` print the result itself, in the format of
// the command `sessile`, and are measured from outside. `ours.rs` is the counterpart.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const [operation, ...args] = process.argv.slice(2);
const bundle = join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/index.js");
const { SessionManager } = await import(pathToFileURL(bundle).href);

/** A digest of fields, each preceded by its length; `digest.rs` is the counterpart. */
class Digest {
  #hash = createHash("sha256");
  field(text) {
    this.#hash.update(`${Buffer.byteLength(text)}:`);
    this.#hash.update(text);
    return this;
  }
  optional(text) {
    if (text !== undefined && text !== null) return this.field(text);
    this.#hash.update("-");
    return this;
  }
  finish() {
    return this.#hash.digest("hex").slice(0, 24);
  }
}

const peakKb = () => process.resourceUsage().maxRSS;
const tell = (told) => console.log(JSON.stringify(told));

/** Runs the work once, and reports its time and the digest that `look` makes of its result. */
async function timed(work, look) {
  const start = performance.now();
  const result = await work();
  const ms = performance.now() - start;
  const peak_kb = peakKb();
  const digest = new Digest();
  const more = look(result, digest) ?? {};
  tell({ ms, peak_kb, digest: digest.finish(), ...more });
}

function lookAtEntries(session, digest) {
  digest.field(session.getSessionId()).optional(session.getLeafId());
  for (const entry of session.getEntries()) {
    digest.field(entry.type).field(entry.id).optional(entry.parentId).field(String(Date.parse(entry.timestamp)));
  }
}

/** Without recursion: a session is tens of thousands of entries deep. */
function lookAtTree(roots, digest) {
  const todo = roots.map((node) => ({ node, depth: 0 })).reverse();
  while (todo.length > 0) {
    const { node, depth } = todo.pop();
    digest.field(node.entry.id).field(String(depth)).optional(node.label).optional(node.labelTimestamp);
    for (let index = node.children.length - 1; index >= 0; index -= 1) {
      todo.push({ node: node.children[index], depth: depth + 1 });
    }
  }
}

const contextText = ({ messages, thinkingLevel, model }) => JSON.stringify({ messages, thinkingLevel, model });

const lookAtContext = (context, digest) => void digest.field(contextText(context));

const rowsText = (rows) => JSON.stringify(rows.map(({ allMessagesText, ...row }) => row));

const message = (index, bytes) => ({
  role: "user",
  content: [{ type: "text", text: `${index} ${"x".repeat(bytes)}` }],
  timestamp: 1790000000000 + index,
});

const OPERATIONS = {
  /** Every entry in full, as a check: nothing is measured. */
  entries: ([file]) =>
    timed(() => SessionManager.open(file), (session, digest) => {
      for (const entry of session.getEntries()) digest.field(JSON.stringify(entry));
    }),
  open: ([file]) => timed(() => SessionManager.open(file), lookAtEntries),
  context: ([file]) => timed(() => SessionManager.open(file).buildSessionContext(), lookAtContext),
  tree: ([file]) => {
    const session = SessionManager.open(file);
    return timed(() => session.getTree(), lookAtTree);
  },
  "context-warm": ([file, times]) => {
    const session = SessionManager.open(file);
    const all = [];
    let context;
    for (let index = 0; index < Number(times) + 3; index += 1) {
      const start = performance.now();
      context = session.buildSessionContext();
      // The first calls are slower, because they are being compiled.
      if (index >= 3) all.push(performance.now() - start);
    }
    all.sort((one, other) => one - other);
    const digest = new Digest();
    const peak_kb = peakKb();
    lookAtContext(context, digest);
    tell({ ms: all[all.length >> 1], peak_kb, digest: digest.finish() });
  },
  "list-all": () => {
    let first_ms;
    const start = performance.now();
    const progress = (loaded, total, partial) => {
      if (partial?.length > 0) first_ms ??= performance.now() - start;
    };
    return timed(() => SessionManager.listAll(progress), (rows, digest) => {
      digest.field(rowsText(rows));
      return { first_ms, rows: rows.length };
    });
  },
  list: ([cwd, dir]) =>
    timed(() => SessionManager.list(cwd, dir), (rows, digest) => void digest.field(rowsText(rows))),
  fork: ([file, cwd, dir]) =>
    timed(() => SessionManager.forkFrom(file, cwd, dir), (session) => ({ file: session.getSessionFile() })),
  migrate: ([file]) => timed(() => SessionManager.open(file), (session) => ({ file: session.getSessionFile() })),
  append: ([file, count, bytes]) => {
    const session = SessionManager.open(file);
    session.appendMessage(message(0, Number(bytes)));
    return timed(
      () => {
        for (let index = 1; index <= Number(count); index += 1) session.appendMessage(message(index, Number(bytes)));
      },
      () => ({ per: Number(count) }),
    );
  },
  "print-context": ([file]) => process.stdout.write(`${contextText(SessionManager.open(file).buildSessionContext())}\n`),
  "print-list": async ([cwd, dir]) => process.stdout.write(`${rowsText(await SessionManager.list(cwd, dir))}\n`),
  "print-list-all": async () => process.stdout.write(`${rowsText(await SessionManager.listAll())}\n`),
  /** The digest of its arguments, for the test that both sides agree about digests. */
  digest: (fields) => tell({ digest: fields.reduce((all, field) => all.field(field), new Digest()).finish() }),
};

await OPERATIONS[operation](args);

// Measures one class of session managers in Node: pi's own, or the one of bindings/node.
//
//   node node.mjs WHO OPERATION FILE ARGUMENTS…
//
// WHO is `pi` or the folder of our package. Prints one JSON line: `ms` is the processor time of the work in all threads,
// `digest` a digest of its result, and every other number a figure with a name.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const [who, operation, file, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(path).href);
const loadPi = () => load(join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/index.js"));
const { SessionManager } = who === "pi" ? await loadPi() : await load(join(who, "index.mjs"));

/** The processor time of this process so far, in milliseconds. */
function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

const digestOf = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 24);
const report = (figures) => console.log(JSON.stringify({ peak_kb: process.resourceUsage().maxRSS, ...figures }));

/** Runs the garbage collection and returns the memory in use. */
function memory() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage();
}

const megabytes = (after, before, kind) => (after[kind] - before[kind]) / 1e6;

/** The processor time of one call: the mean of calls that take 100 ms together. */
function perCall(call) {
  for (let count = 1; ; count *= 2) {
    const start = cpu();
    for (let index = 0; index < count; index += 1) call();
    const ms = cpu() - start;
    if (ms >= 100) return ms / count;
  }
}

/** The calls that pi makes in every turn or at every redraw, and what is compared of their results. */
const CALLS = {
  getBranch: [(session) => session.getBranch(), (entries) => entries.map(({ id }) => id)],
  getEntries: [(session) => session.getEntries(), (entries) => entries.map(({ type, id }) => [type, id])],
  getTree: [(session) => session.getTree(), (roots) => roots.map(({ entry, label }) => [entry.id, label])],
  buildSessionContext: [(session) => session.buildSessionContext(), (context) => context],
  buildContextEntries: [(session) => session.buildContextEntries(), (entries) => entries.map(({ id }) => id)],
  getLeafEntry: [(session) => session.getLeafEntry(), ({ id }) => id],
  getEntry: [(session) => session.getEntry(session.getLeafId()), ({ id }) => id],
  getSessionName: [(session) => session.getSessionName(), (name) => name ?? null],
  getLabel: [(session) => session.getLabel(session.getLeafId()), (label) => label ?? null],
};

const message = (index, bytes) => ({
  role: "user",
  content: [{ type: "text", text: `${index} ${"x".repeat(bytes)}` }],
  timestamp: 1790000000000 + index,
});

const OPERATIONS = {
  /** Opens the session and builds its context, for the first time in this process. */
  open() {
    const before = memory();
    const start = cpu();
    const session = SessionManager.open(file);
    const opened = cpu();
    const context = session.buildSessionContext();
    const ms = cpu() - start;
    const after = memory();
    report({
      ms,
      "open alone": opened - start,
      heap: megabytes(after, before, "heapUsed"),
      RSS: megabytes(after, before, "rss"),
      digest: digestOf(context),
    });
    // The context is alive until here, and so is the session.
    return session.getLeafId();
  },

  /** The same for the second time, as in a program that goes back to a session. */
  again() {
    const session = SessionManager.open(file);
    session.buildSessionContext();
    session.close?.();
    return OPERATIONS.open();
  },

  /** Every call in steady state, and the first time. */
  calls() {
    const session = SessionManager.open(file);
    const figures = {};
    const results = [];
    let ms = 0;
    for (const [name, [call, look]] of Object.entries(CALLS)) {
      const start = cpu();
      const result = call(session);
      figures[`first ${name}`] = cpu() - start;
      results.push(look(result));
    }
    for (const [name, [call]] of Object.entries(CALLS)) {
      figures[name] = perCall(() => call(session));
      ms += figures[name];
    }
    report({ ms, ...figures, digest: digestOf(results) });
  },

  /** Appends messages to a copy. */
  append([copy, count, bytes]) {
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file, copy);
    const session = SessionManager.open(copy);
    const messages = Array.from({ length: Number(count) + 20 }, (_, index) => message(index, Number(bytes)));
    const append = (one) => session.appendMessage(one);
    messages.slice(0, 20).forEach(append);
    const start = cpu();
    messages.slice(20).forEach(append);
    const ms = (cpu() - start) / Number(count);
    report({ ms, digest: digestOf(session.getBranch().slice(-Number(count)).map(({ message }) => message)) });
  },

  /** Lists all sessions of the store that the environment names. */
  async list() {
    const start = cpu();
    const rows = await SessionManager.listAll();
    const ms = cpu() - start;
    report({ ms, digest: digestOf(rows.map(({ allMessagesText, ...row }) => row)) });
  },

  /** A whole agent with a model in this process: opens a copy, takes a first turn, and then turns in steady state. */
  async agent([copy, agentDir, count, support]) {
    const { configure, startModel, text, tools } = await load(join(support, "model.mjs"));
    mkdirSync(dirname(copy), { recursive: true });
    mkdirSync(agentDir, { recursive: true });
    copyFileSync(file, copy);
    const model = await startModel();
    configure(agentDir, model);
    const pi = await loadPi();
    const modelRuntime = await pi.ModelRuntime.create({ authPath: join(agentDir, "auth.json"), modelsPath: join(agentDir, "models.json") });
    const take = async (session, turn) => {
      model.requests.length = 0;
      model.replies.push(tools(["bash", { command: "true" }]), text(`turn ${turn} ${"word ".repeat(50)}`));
      await session.prompt(`prompt ${turn}`);
    };
    const start = cpu();
    const sessionManager = SessionManager.open(copy);
    const { session } = await pi.createAgentSession({
      agentDir,
      modelRuntime,
      model: modelRuntime.getModel("mock", "mock-1"),
      sessionManager,
      tools: ["bash"],
      settingsManager: pi.SettingsManager.inMemory({ compaction: { enabled: false } }),
    });
    await take(session, 0);
    const first = cpu() - start;
    for (let turn = 1; turn <= 3; turn += 1) await take(session, turn);
    const steady = cpu();
    for (let turn = 0; turn < Number(count); turn += 1) await take(session, turn + 4);
    const ms = (cpu() - steady) / Number(count);
    const roles = sessionManager.getBranch().slice(-4 * Number(count)).map(({ message }) => message?.role);
    report({ ms, "open and first turn": first, digest: digestOf(roles) });
    process.exit(0);
  },
};

await OPERATIONS[operation](args);

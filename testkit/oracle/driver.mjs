// Serves the genuine pi session engine to the conformance tests, one JSON request per input line and one JSON answer
// per output line. README.md beside this file lists the requests. Pi is loaded as a black box from
// $SESSILE_ORACLE_DIR; its clock and randomness are replaced first, so that the same requests give the same bytes.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// ---------------------------------------------------------------------------------------------------- determinism

const MASK = (1n << 64n) - 1n;

/** splitmix64, as on the Rust side. `next()` returns the full 64 bits. */
class SplitMix {
  constructor(seed) {
    this.state = BigInt.asUintN(64, seed);
    this.draws = 0;
  }
  next() {
    this.draws += 1;
    this.state = (this.state + 0x9e3779b97f4a7c15n) & MASK;
    let z = this.state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
    return z ^ (z >> 31n);
  }
}

const world = { now: 1735689600000, ids: new SplitMix(0n), bytes: new SplitMix(~0n) };

function replaceClock() {
  const Real = Date;
  const now = () => world.now;
  // A proxy, not a subclass: dates that Node itself creates (file times) must remain `instanceof Date`.
  globalThis.Date = new Proxy(Real, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [world.now] : args, newTarget === globalThis.Date ? target : newTarget),
    apply: () => new Real(world.now).toString(),
    get: (target, key, receiver) => (key === "now" ? now : Reflect.get(target, key, receiver)),
  });
}

function replaceRandomness() {
  const uuid = () => {
    const low = world.ids.next() & 0xffffffffn;
    return `${low.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
  };
  // Session ids use a separate generator: the number of bytes they take must not affect the entry ids.
  const fill = (array) => {
    const view = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < view.length; i += 1) view[i] = Number(world.bytes.next() & 0xffn);
    return array;
  };
  crypto.randomUUID = uuid;
  syncBuiltinESMExports();
  Object.defineProperty(globalThis.crypto, "randomUUID", { value: uuid, configurable: true, writable: true });
  Object.defineProperty(globalThis.crypto, "getRandomValues", { value: fill, configurable: true, writable: true });
}

/** Reserves standard output for answers, and returns the function that writes an answer. */
function claimStdout() {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  for (const name of ["log", "info", "debug"]) console[name] = console.error;
  return (line) => new Promise((done) => write(line, () => done()));
}

// ------------------------------------------------------------------------------------------------------ the engine

const answer = claimStdout();
replaceClock();
replaceRandomness();
const oracle = process.env.SESSILE_ORACLE_DIR;
if (!oracle) {
  console.error("driver: SESSILE_ORACLE_DIR is not set; `cargo xtask oracle` prints it");
  process.exit(2);
}
const pi = await import(pathToFileURL(join(oracle, "pi/dist/bundle/index.js")).href);
const { SessionManager } = pi;

const managers = new Map();

function manager(handle = "m") {
  const found = managers.get(handle);
  if (!found) throw new Refusal(`no manager "${handle}"`);
  return found;
}

/** An error of the driver itself. Its name distinguishes it from pi's errors. */
class Refusal extends Error {
  name = "Driver";
}

const errorText = (error) =>
  (error instanceof Error ? `${error.name}: ${error.message}` : `Thrown: ${String(error)}`).toWellFormed();

// --------------------------------------------------------------------------------------------------------- guards

const TREE_BUDGET = 200_000;

/** Whether following `parentId` would never end: pi does not detect circles. `find` looks up an id. */
function loops(start, find) {
  const seen = new Set();
  for (let entry = start; entry; entry = entry.parentId ? find(entry.parentId) : undefined) {
    if (typeof entry !== "object") return false;
    if (seen.has(entry)) return true;
    seen.add(entry);
  }
  return false;
}

const byId = (entries) => new Map(entries.map((entry) => [entry?.id, entry]));

/** Returns the entry where a context walk over a list starts: none for null, the last entry for an unknown leaf. */
function contextStart(entries, leaf, index) {
  if (leaf === null) return undefined;
  return (leaf && index.get(leaf)) || entries.at(-1);
}

function contextLoops(m) {
  const entries = m.getEntries();
  const index = byId(entries);
  return loops(contextStart(entries, m.getLeafId(), index), (id) => index.get(id));
}

function branchLoops(m, from) {
  const index = byId(m.getEntries());
  return loops(index.get(from ?? m.getLeafId()), (id) => index.get(id));
}

function anyLoops(m) {
  const entries = m.getEntries();
  const index = byId(entries);
  return entries.some((entry) => loops(entry, (id) => index.get(id)));
}

/**
 * Whether a walk over pi's tree would visit more than TREE_BUDGET nodes. Duplicate ids put one node below several
 * parents, which doubles the walk repeatedly or closes a circle; pi's own sorting would then never return.
 */
function treeTooBig(m) {
  const entries = m.getEntries();
  const index = byId(entries);
  const children = new Map();
  const stack = [];
  for (const entry of entries) {
    const parent = entry?.parentId;
    const isRoot = parent === null || parent === undefined || parent === entry.id || !index.has(parent);
    if (isRoot) stack.push(entry?.id);
    else if (children.has(parent)) children.get(parent).push(entry.id);
    else children.set(parent, [entry.id]);
  }
  for (let nodes = 0; stack.length > 0; nodes += 1) {
    if (nodes > TREE_BUDGET) return true;
    for (const child of children.get(stack.pop()) ?? []) stack.push(child);
  }
  return false;
}

function guardLoop(wouldLoop) {
  if (wouldLoop) throw new Refusal("loop");
}

/** Methods of a manager that may never return in pi, each with the check that refuses such a call. */
const METHOD_GUARDS = {
  getBranch: (m, [from]) => guardLoop(branchLoops(m, from)),
  createBranchedSession: (m, [leaf]) => guardLoop(branchLoops(m, leaf)),
  buildContextEntries: (m) => guardLoop(contextLoops(m)),
  buildSessionProjection: (m) => guardLoop(contextLoops(m)),
  buildSessionContext: (m) => guardLoop(contextLoops(m)),
  appendCompaction: (m) => guardLoop(contextLoops(m) || branchLoops(m)),
  appendContextEdit: (m) => guardLoop(contextLoops(m) || branchLoops(m)),
  getTree: (m) => {
    if (treeTooBig(m)) throw new Refusal("budget");
  },
};

const WALKING_FUNCTIONS = new Set(["buildContextEntries", "buildSessionContext", "buildSessionProjection"]);

function guardPure(name, args) {
  for (const arg of args) if (arg instanceof SessionManager) guardLoop(anyLoops(arg));
  if (!WALKING_FUNCTIONS.has(name) || !Array.isArray(args[0])) return;
  const index = byId(args[0]);
  guardLoop(loops(contextStart(args[0], args[1], index), (id) => index.get(id)));
}

// ------------------------------------------------------------------------------------------------------ arguments

const isObject = (value) => typeof value === "object" && value !== null;

function entryId(k, handle) {
  const entries = managers.get(handle ?? "m")?.getEntries() ?? [];
  if (entries.length === 0) return "missing0";
  return entries[((k % entries.length) + entries.length) % entries.length]?.id;
}

/** Returns the value of a placeholder object in a list of one, or an empty list for other objects. */
function placeholder(value, progress) {
  if (value.$undefined === true) return [undefined];
  if (typeof value.$entry === "number") return [entryId(value.$entry, value.of)];
  if (typeof value.$manager === "string") return [manager(value.$manager)];
  if (value.$aborted === true) return [AbortSignal.abort()];
  if (value.$progress === true) {
    const calls = (progress.calls ??= []);
    return [(loaded, total, partial) => calls.push([loaded, total, partial === undefined ? null : partial.length])];
  }
  return [];
}

/** Replaces placeholders in place: a copy would turn a `__proto__` key into a prototype. */
function fillIn(holder, progress) {
  const stack = [holder];
  while (stack.length > 0) {
    const object = stack.pop();
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (!isObject(value)) continue;
      const found = placeholder(value, progress);
      if (found.length === 1) object[key] = found[0];
      else stack.push(value);
    }
  }
  return holder;
}

/** Returns the arguments of a request. `progress.calls` receives the calls of a progress callback, if there is one. */
function argumentsOf(request, progress) {
  const args = request.args ?? [];
  if (!Array.isArray(args)) throw new Refusal("args is not a list");
  return fillIn(args, progress);
}

function requireFunction(holder, name, what) {
  if (typeof name !== "string" || typeof holder[name] !== "function") throw new Refusal(`no ${what} "${name}"`);
}

// ---------------------------------------------------------------------------------------------------- observations

/** Returns pi's tree in pre-order with depths. Not recursive, because sessions are deep. */
function flattenTree(m) {
  METHOD_GUARDS.getTree(m);
  const flat = [];
  const stack = m.getTree().reverse().map((node) => [node, 0]);
  while (stack.length > 0) {
    if (flat.length > TREE_BUDGET) throw new Refusal("budget");
    const [node, depth] = stack.pop();
    flat.push({ id: node.entry?.id, depth, label: node.label, labelTimestamp: node.labelTimestamp });
    for (let i = node.children.length - 1; i >= 0; i -= 1) stack.push([node.children[i], depth + 1]);
  }
  return flat;
}

const ids = (entries) => entries.map((entry) => entry?.id);
const distinctIds = (m) => [...new Set(ids(m.getEntries()))];

/** Calls a method after its guard. */
function invoke(m, method, args = []) {
  METHOD_GUARDS[method]?.(m, args);
  return m[method](...args);
}

const CHILDREN_LIMIT = 300;

/** Each observation returns a value, whose JSON text becomes part of the answer; `undefined` is omitted. */
const OBSERVATIONS = {
  header: (m) => m.getHeader(),
  entries: (m) => m.getEntries(),
  count: (m) => m.getEntryCount(),
  leaf: (m) => m.getLeafId() ?? null,
  leafDefined: (m) => m.getLeafId() !== undefined,
  treeFlat: flattenTree,
  branch: (m) => ids(invoke(m, "getBranch")),
  children: (m) => {
    if (m.getEntries().length > CHILDREN_LIMIT) return undefined;
    return [null, ...distinctIds(m)].map((id) => [id, ids(m.getChildren(id))]);
  },
  labels: (m) => distinctIds(m).map((id) => [id, m.getLabel(id)]).filter(([, label]) => label !== undefined),
  name: (m) => m.getSessionName() ?? null,
  contextEntries: (m) => ids(invoke(m, "buildContextEntries")),
  context: (m) => invoke(m, "buildSessionContext"),
  projection: (m) =>
    invoke(m, "buildSessionProjection").entries.map(({ sourceEntry, messages }) => [sourceEntry?.id, messages]),
  llm: (m) => pi.convertToLlm(invoke(m, "buildSessionContext").messages),
  sessionId: (m) => m.getSessionId(),
  file: (m) => m.getSessionFile() ?? null,
  cwd: (m) => m.getCwd(),
  dir: (m) => m.getSessionDir(),
  persisted: (m) => m.isPersisted(),
  usesDefault: (m) => m.usesDefaultSessionDir(),
};

function observeOne(m, name) {
  try {
    return JSON.stringify(OBSERVATIONS[name](m));
  } catch (error) {
    return { throws: error instanceof Refusal ? error.message : errorText(error) };
  }
}

// -------------------------------------------------------------------------------------------------------- requests

/** Builds the answer for a value: the value, its JSON text, and a flag for a value that JSON cannot express. */
function result(value, extra = {}) {
  const text = JSON.stringify(value);
  if (text === undefined) return { ok: true, undefined: true, ...extra };
  // A lone surrogate is allowed inside `text`, where it is escaped twice, but strict parsers reject it in `value`.
  const value_ = /\\ud[89a-f]/i.test(text) ? {} : { value };
  return { ok: true, ...value_, text, ...extra };
}

const REQUESTS = {
  reset({ clock, idSeed }) {
    managers.clear();
    if (clock !== undefined) world.now = clock;
    const seed = BigInt(idSeed ?? 0);
    world.ids = new SplitMix(seed);
    world.bytes = new SplitMix(~seed);
    return { ok: true };
  },
  clock({ ms }) {
    world.now = ms;
    return { ok: true };
  },
  env({ set = {} }) {
    for (const [name, value] of Object.entries(set)) {
      if (value === null) delete process.env[name];
      else process.env[name] = value;
    }
    return { ok: true };
  },
  chdir({ dir }) {
    process.chdir(dir);
    return { ok: true };
  },
  state() {
    return result({ clock: world.now, draws: world.ids.draws, cwd: process.cwd(), managers: [...managers.keys()] });
  },
  async static(request) {
    const progress = {};
    const args = argumentsOf(request, progress);
    requireFunction(SessionManager, request.method, "static method");
    const value = await SessionManager[request.method](...args);
    if (!(value instanceof SessionManager)) return result(value, progress);
    managers.set(request.into ?? "m", value);
    return { ok: true, manager: true, ...progress };
  },
  async call(request) {
    const progress = {};
    const m = manager(request.handle);
    const args = argumentsOf(request, progress);
    requireFunction(m, request.method, "method");
    return result(await invoke(m, request.method, args), progress);
  },
  async pure(request) {
    const progress = {};
    const args = argumentsOf(request, progress);
    requireFunction(pi, request.name, "function");
    guardPure(request.name, args);
    const value = await pi[request.name](...args);
    // Migration modifies its argument and returns nothing.
    const after = request.name === "migrateSessionEntries" ? { after: JSON.stringify(args[0]) } : {};
    return result(value, { ...progress, ...after });
  },
  observe({ handle, what }) {
    const m = manager(handle);
    const names = what === undefined ? Object.keys(OBSERVATIONS) : [what].flat();
    const value = {};
    for (const name of names) {
      if (!Object.hasOwn(OBSERVATIONS, name)) throw new Refusal(`no observation "${name}"`);
      value[name] = observeOne(m, name);
    }
    return { ok: true, value };
  },
  ids({ handle }) {
    return result(distinctIds(manager(handle)));
  },
  async compaction({ cases }) {
    const { answers } = await import("./compaction.mjs");
    return { ok: true, value: cases.map(answers) };
  },
  async agent(request) {
    const { agent } = await import("./agent.mjs");
    return { ok: true, value: await agent(request, () => world.ids.draws) };
  },
  async host(request) {
    const { host } = await import("./host.mjs");
    return { ok: true, value: await host(request) };
  },
  /** Never returns, as pi on some files. For tests of the code that waits for an answer. */
  spin() {
    for (;;);
  },
  normalise({ text }) {
    return { ok: true, text: JSON.stringify(JSON.parse(text)) };
  },
};

async function respond(line) {
  try {
    const request = JSON.parse(line);
    if (!isObject(request) || !Object.hasOwn(REQUESTS, request.cmd)) throw new Refusal(`no request "${request?.cmd}"`);
    // Serialised here, so that a value too deep for JSON gives an error answer instead of a crash.
    return JSON.stringify(await REQUESTS[request.cmd](request));
  } catch (error) {
    const code = isObject(error) && typeof error.code === "string" ? { code: error.code } : {};
    return JSON.stringify({ ok: false, error: errorText(error), ...code });
  }
}

/** Splits at LF only: the readline module also splits at U+2028, which session text may contain. */
async function* lines(stream) {
  let parts = [];
  for await (const chunk of stream) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      from = at + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
  if (parts.length > 0) yield Buffer.concat(parts).toString("utf8");
}

// Without a listener, this signal would end pi. With one, writing beyond the file size limit fails with an error.
process.on("SIGXFSZ", () => {});
process.on("uncaughtException", (error) => console.error("driver: stray exception:", errorText(error)));
process.on("unhandledRejection", (error) => console.error("driver: stray rejection:", errorText(error)));

for await (const line of lines(process.stdin)) {
  if (line.trim() !== "") await answer(`${await respond(line)}\n`);
}
process.exit(0);

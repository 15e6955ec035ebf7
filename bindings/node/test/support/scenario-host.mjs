// Runs the agent scenario in this process, and prints what happened as one line of JSON. Options, as words:
//
//   pi | instance | factory | statics   whose session manager the agent has
//   frozen | cloned                     what the manager returns is frozen, or copied in both directions
//   clock                               the clock shows a fixed time
//   patched                             an extension replaces methods of the instance

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { configure, startModel } from "./model.mjs";
import { enterScratch } from "./scratch.mjs";
import { STEPS } from "./scenario-steps.mjs";
import { installInto, loadOwn, loadPi } from "./subjects.mjs";
import { cloneAll, freezeAll, recording } from "./wrapped.mjs";

const options = new Set(process.argv.slice(2));
const home = enterScratch("scenario");
const agentDir = process.env.PI_CODING_AGENT_DIR;
const project = join(home, "project");
mkdirSync(project);
process.chdir(project);
writeFileSync(join(project, "notes.txt"), "remember the milk\n");

const model = await startModel();
const settings = configure(agentDir, model);
const pi = await loadPi();
const way = ["instance", "factory", "statics"].find((word) => options.has(word)) ?? "pi";
const own = way === "pi" ? pi : await loadOwn();
if (way === "statics") await installInto(pi);
if (options.has("frozen")) freezeAll(own.SessionManager);
if (options.has("cloned")) cloneAll(own.SessionManager);
const calls = recording(own.SessionManager);
if (options.has("clock")) stopClock(Date.UTC(2030, 0, 2, 3, 4, 5, 678));

/** Makes the clock of this process show one time. Timers go on. */
function stopClock(time) {
  const RealDate = globalThis.Date;
  globalThis.Date = class Date extends RealDate {
    constructor(...args) {
      super(...(args.length === 0 ? [time] : args));
    }
    static now() {
      return time;
    }
  };
}

// ------------------------------------------------------------------------------------------------------ extensions

const events = [];
const extension = {};

/** Records events, and gives the steps its interface. */
const recorder = {
  name: "recorder",
  factory: (api) => {
    extension.api = api;
    for (const name of ["session_start", "session_shutdown", "session_before_compact", "session_compact", "session_tree", "session_info_changed"]) {
      api.on(name, ({ type, reason, previousSessionFile }) => void events.push({ type, reason, previousSessionFile }));
    }
    // With this handler, pi makes a preview of the session twice a turn.
    api.on("turn_end", (event, ctx) => {
      extension.context = ctx;
      events.push({ type: "turn_end", messages: event.message?.role });
    });
  },
};

const patchCounts = { appendMessage: 0, appendCompaction: 0, appendCustomMessageEntry: 0 };

/** Replaces methods of the instance, as extensions of others do. */
const patcher = {
  name: "patcher",
  factory: (api) => {
    api.on("session_start", (_, { sessionManager }) => {
      for (const name of Object.keys(patchCounts)) {
        const original = sessionManager[name].bind(sessionManager);
        sessionManager[name] = (...args) => {
          patchCounts[name] += 1;
          return original(...args);
        };
      }
    });
  },
};

// ------------------------------------------------------------------------------------------------------- the agent

const modelRuntime = await pi.ModelRuntime.create({ authPath: join(agentDir, "auth.json"), modelsPath: join(agentDir, "models.json") });

/** Gives the agent our manager for the session that pi's manager has opened or begun. */
function replaced(manager) {
  if (way !== "factory" || manager instanceof own.SessionManager) return manager;
  const file = manager.getSessionFile();
  if (manager.getEntryCount() > 0 && file) return own.SessionManager.open(file, manager.getSessionDir(), manager.getCwd());
  const { id, parentSession } = manager.getHeader();
  return own.SessionManager.create(manager.getCwd(), manager.getSessionDir(), { id, parentSession });
}

async function create({ cwd, sessionManager, sessionStartEvent }) {
  const services = await pi.createAgentSessionServices({
    cwd,
    agentDir,
    settingsManager: pi.SettingsManager.inMemory(settings),
    modelRuntime,
    resourceLoaderOptions: {
      extensionFactories: options.has("patched") ? [recorder, patcher] : [recorder],
      noSkills: true,
      noPromptTemplates: true,
      noThemes: true,
      noContextFiles: true,
    },
  });
  const created = await pi.createAgentSessionFromServices({
    services,
    sessionManager: replaced(sessionManager),
    sessionStartEvent,
    model: modelRuntime.getModel("mock", "mock-1"),
    thinkingLevel: "off",
    tools: ["read", "bash", "write"],
  });
  return { ...created, services, diagnostics: services.diagnostics };
}

const sessionDir = join(home, "sessions");
const { SessionManager } = way === "statics" || way === "pi" ? pi : own;
const sessionManager = SessionManager.create(project, sessionDir);
const runtime = await pi.createAgentSessionRuntime(create, { cwd: project, agentDir, sessionManager });
const bind = (session) => session.bindExtensions({ onError: (error) => events.push({ error: String(error?.error ?? error) }) });
runtime.setRebindSession(bind);
await bind(runtime.session);

// ------------------------------------------------------------------------------------------------------- the steps

const files = [];
const world = { pi, runtime, model, extension, project, home, sessionDir, files };
const results = [];
for (const [name, step] of STEPS) {
  let outcome;
  try {
    outcome = { value: (await step(world)) ?? null };
  } catch (error) {
    outcome = { throws: String(error) };
  }
  const { sessionFile, sessionManager: manager } = runtime.session;
  if (sessionFile && !files.includes(sessionFile)) files.push(sessionFile);
  model.replies.length = 0;
  results.push({
    step: name,
    ...outcome,
    leaf: manager.getLeafId(),
    entries: manager.getEntryCount(),
    messages: runtime.session.messages.length,
    isOurs: manager instanceof own.SessionManager,
    events: events.splice(0),
  });
}
await runtime.dispose();
model.close();
const written = [...new Set(files)].map((file) => readFileSync(file, "utf8"));
const report = { way, home, results, ending: events, requests: model.requests, files: written, patchCounts, calls: calls() };
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));

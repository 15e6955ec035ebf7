// A complete pi with its session runtime, which switches between sessions. Our extensions record the events they
// receive and return the configured answers.

import { agentDir, asked, modelRuntime, pi } from "./agent.mjs";

const EVENTS = [
  "session_start",
  "session_before_switch",
  "session_before_fork",
  "session_fork",
  "session_before_tree",
  "session_tree",
  "session_before_compact",
  "session_compact",
  "session_compact_failed",
  "session_info_changed",
  "session_shutdown",
];

/** Serialises an event as JSON text: sets become sorted arrays, and abort signals are left out. */
function text(event) {
  return JSON.stringify(event, (key, value) => {
    if (value instanceof Set) return [...value].sort();
    if (value instanceof AbortSignal) return undefined;
    return typeof value === "string" ? value.toWellFormed() : value;
  });
}

/** An extension that records the events it receives. `answers` maps events to its answers; "throw" makes it throw. */
const extension = (name, answers, seen) => ({
  name,
  factory: (api) => {
    for (const event of EVENTS) {
      api.on(event, (told) => {
        seen.push({ by: name, event: text(told) });
        const answer = answers[event];
        if (answer === "throw") throw new Error("on purpose");
        return answer;
      });
    }
  },
});

const STEPS = {
  name: (runtime, name) => runtime.session.setSessionName(name),
  compact: (runtime, instructions) => runtime.session.compact(instructions ?? undefined),
  navigate: (runtime, [target, options]) => runtime.session.navigateTree(target, options),
  newSession: (runtime) => runtime.newSession(),
  switchSession: (runtime, path) => runtime.switchSession(path),
  fork: (runtime, [entryId, position]) => runtime.fork(entryId, { position }),
  failing: (runtime, failing) => {
    asked.failing = failing;
  },
  answers: (runtime, [name, answers], current) => {
    for (const event of Object.keys(current[name])) delete current[name][event];
    Object.assign(current[name], answers);
  },
};

/** Opens a session file with a runtime and runs steps. Returns for each its events and its result. */
export async function host({ file, dir, keepRecentTokens, extensions, steps }) {
  Object.assign(asked, { count: 0, failing: false });
  const seen = [];
  const answers = Object.fromEntries(extensions.map((name) => [name, {}]));
  const settings = { compaction: { enabled: false, keepRecentTokens }, retry: { enabled: false } };
  const create = async ({ cwd, sessionManager, sessionStartEvent }) => {
    const services = await pi.createAgentSessionServices({
      cwd,
      agentDir,
      settingsManager: pi.SettingsManager.inMemory(settings),
      modelRuntime,
      resourceLoaderOptions: {
        extensionFactories: extensions.map((name) => extension(name, answers[name], seen)),
        noSkills: true,
        noPromptTemplates: true,
        noThemes: true,
        noContextFiles: true,
      },
    });
    const model = modelRuntime.getModel("mock", "mock-1");
    const created = await pi.createAgentSessionFromServices({ services, sessionManager, sessionStartEvent, model, tools: [] });
    return { ...created, services, diagnostics: services.diagnostics };
  };
  const sessionManager = pi.SessionManager.open(file, dir);
  const runtime = await pi.createAgentSessionRuntime(create, { cwd: dir, agentDir, sessionManager });
  const bind = (session) => session.bindExtensions({ onError: () => {} });
  runtime.setRebindSession(bind);
  await bind(runtime.session);
  const take = () => seen.splice(0);
  const results = [{ seen: take(), file: runtime.session.sessionFile }];
  for (const step of steps) {
    const [[name, argument]] = Object.entries(step);
    let outcome;
    try {
      outcome = { value: text((await STEPS[name](runtime, argument, answers)) ?? null) };
    } catch (error) {
      outcome = { throws: String(error).toWellFormed() };
    }
    const manager = runtime.session.sessionManager;
    results.push({ seen: take(), ...outcome, file: runtime.session.sessionFile, leaf: manager.getLeafId() ?? null });
  }
  await runtime.dispose();
  results.push({ seen: take() });
  return results;
}

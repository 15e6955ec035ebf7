// The 28 steps of the agent scenario. A step gets the world of the host, drives the agent, and returns what it saw.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { failure, silence, slow, text, tools } from "./model.mjs";

/** Waits for an event of a session. */
function next(session, matches) {
  return new Promise((found) => {
    const unsubscribe = session.subscribe((event) => {
      if (!matches(event)) return;
      unsubscribe();
      found(event);
    });
  });
}

/** Runs a function, and returns the types of the session's events meanwhile, without repeats of streaming. */
async function during(session, run) {
  const types = [];
  const unsubscribe = session.subscribe(({ type }) => {
    if (type !== "message_update" && type !== "tool_execution_update") types.push(type);
  });
  try {
    await run();
  } finally {
    unsubscribe();
  }
  return types;
}

/** Prompts, with these replies of the model. */
async function prompt({ runtime, model }, words, ...replies) {
  model.replies.push(...replies);
  const { session } = runtime;
  const events = await during(session, () => session.prompt(words));
  return { events, said: session.getLastAssistantText() };
}

/** Returns the entries of the branch that are messages of a role. */
const messages = ({ runtime }, role) => runtime.session.sessionManager.getBranch().filter((entry) => entry.message?.role === role);

const isDelta = (event) => event.type === "message_update" && event.assistantMessageEvent.type === "text_delta";

/** The data of an exported page. */
function pageData(path) {
  const page = readFileSync(path, "utf8");
  const [, data] = /<script id="session-data"[^>]*>([^<]*)</.exec(page) ?? [];
  return data && JSON.parse(Buffer.from(data, "base64").toString("utf8"));
}

export const STEPS = [
  ["a first prompt", (world) => prompt(world, "hello")],
  ["a tool", (world) => prompt(world, "read my notes", tools(["read", { path: "notes.txt" }]), text("milk"))],
  [
    "two tools at once, and one that fails",
    (world) =>
      prompt(
        world,
        "write and run",
        tools(["write", { path: "new.txt", content: "new\n" }], ["bash", { command: "echo out; exit 3" }]),
        tools(["read", { path: "missing.txt" }]),
        text("done"),
      ),
  ],
  ["a shell command", ({ runtime }) => runtime.session.executeBash("echo mine")],
  ["a shell command outside of the context", ({ runtime }) => runtime.session.executeBash("echo hidden", undefined, { excludeFromContext: true })],
  [
    "another model",
    async (world) => {
      const { session } = world.runtime;
      await session.setModel(session.modelRuntime.getModel("mock", "mock-2"));
      return prompt(world, "who are you?");
    },
  ],
  [
    "another thinking level",
    (world) => {
      world.runtime.session.setThinkingLevel("high");
      return prompt(world, "think");
    },
  ],
  [
    "a name",
    ({ runtime }) => {
      runtime.session.setSessionName("  the name\nof it ");
      return [runtime.session.sessionName, runtime.session.sessionManager.getSessionName()];
    },
  ],
  [
    "labels",
    (world) => {
      const [first, second] = messages(world, "user");
      world.extension.api.setLabel(first.id, "start");
      world.extension.api.setLabel(second.id, "gone");
      world.extension.api.setLabel(second.id, undefined);
      const { sessionManager } = world.runtime.session;
      return [sessionManager.getLabel(first.id), sessionManager.getLabel(second.id), sessionManager.getTree()[0].label];
    },
  ],
  [
    "entries of an extension",
    async (world) => {
      world.extension.api.appendEntry("state", { count: 1, list: [1, "two", null] });
      await world.runtime.session.sendCustomMessage({ customType: "note", content: "for the model", display: true, details: { n: 1 } });
      return prompt(world, "what was the note?");
    },
  ],
  [
    "steering",
    (world) => prompt(world, "start", slow("first part", () => world.runtime.session.steer("rather this")), text("steered")),
  ],
  [
    "a follow-up",
    (world) => prompt(world, "start again", slow("first part", () => world.runtime.session.followUp("and then this")), text("followed")),
  ],
  [
    "an abort",
    async (world) => {
      const { session } = world.runtime;
      const heard = next(session, isDelta);
      const prompted = prompt(world, "never ends", silence(() => {}));
      await heard;
      await session.abort();
      const { events } = await prompted;
      return { events, reason: messages(world, "assistant").at(-1)?.message.stopReason };
    },
  ],
  ["a retry", (world) => prompt(world, "try", failure(503, "overloaded, try again later"), text("second time"))],
  ["a failure", (world) => prompt(world, "fail", failure(400, "this is not allowed"))],
  [
    "a compaction",
    async ({ runtime, model }) => {
      model.replies.push(text("a summary of it all"));
      const { summary, tokensBefore, details } = await runtime.session.compact("be brief");
      return { summary, tokensBefore, details };
    },
  ],
  ["a prompt after the compaction", (world) => prompt(world, `go on ${"and on ".repeat(40)}`)],
  [
    "a compaction when the context is nearly full",
    (world) => prompt(world, `more ${"and more ".repeat(40)}`, text("a long answer", { prompt: 31_000 }), text("a summary on its own")),
  ],
  [
    "a context that is too long",
    (world) =>
      prompt(
        world,
        `too ${"much ".repeat(60)}`,
        failure(400, "This model's maximum context length is 32000 tokens. However, your messages resulted in 40000 tokens."),
        text("a summary after the overflow"),
        text("answered after all"),
      ),
  ],
  [
    "moving in the tree",
    async (world) => {
      const { session } = world.runtime;
      const [first] = messages(world, "user");
      const moved = await session.navigateTree(first.id);
      return { moved, ...(await prompt(world, "another way")) };
    },
  ],
  [
    "moving in the tree with a summary",
    async (world) => {
      const { session } = world.runtime;
      const target = session.sessionManager.getEntries().find((entry) => entry.message?.role === "assistant");
      world.model.replies.push(text("what happened on the other branch"));
      const moved = await session.navigateTree(target.id, { summarize: true, label: "left here" });
      return { moved, ...(await prompt(world, "back again")) };
    },
  ],
  [
    "exports",
    async ({ runtime, home }) => {
      const html = await runtime.session.exportToHtml(join(home, "page.html"));
      const jsonl = runtime.session.exportToJsonl(join(home, "export.jsonl"));
      return { html, jsonl, page: pageData(html), lines: readFileSync(jsonl, "utf8").split("\n") };
    },
  ],
  [
    "statistics",
    ({ runtime }) => {
      const { session } = runtime;
      return { stats: session.getSessionStats(), usage: session.getContextUsage(), forking: session.getUserMessagesForForking() };
    },
  ],
  [
    "a fork before a question, and going back",
    async (world) => {
      const [origin] = world.files;
      const question = messages(world, "user").at(-1);
      const forked = await world.runtime.fork(question.id, { position: "before" });
      const { session } = world.runtime;
      world.files.push(session.sessionFile);
      const said = await prompt(world, "asked in the fork");
      const back = await world.runtime.switchSession(origin);
      return { forked, said, back, isOrigin: world.runtime.session.sessionFile === origin };
    },
  ],
  [
    "a fork at an answer",
    async (world) => {
      const answer = messages(world, "assistant").at(-1);
      const forked = await world.runtime.fork(answer.id, { position: "at" });
      world.files.push(world.runtime.session.sessionFile);
      return { forked, ...(await prompt(world, "asked after the fork")) };
    },
  ],
  [
    "a new session with a parent",
    async (world) => {
      const [origin] = world.files;
      const created = await world.runtime.newSession({
        parentSession: origin,
        setup: async (manager) => {
          manager.appendMessage({ role: "user", content: [{ type: "text", text: "handed over" }], timestamp: 1 });
          manager.appendCustomEntry("setup", { done: true });
        },
      });
      world.files.push(world.runtime.session.sessionFile);
      return { created, parent: world.runtime.session.sessionManager.getHeader().parentSession, ...(await prompt(world, "begin")) };
    },
  ],
  [
    "reloading",
    async (world) => {
      await world.runtime.session.reload();
      return prompt(world, "after reloading");
    },
  ],
  [
    "importing, and a list of it all",
    async (world) => {
      const imported = await world.runtime.importFromJsonl(join(world.home, "export.jsonl"));
      world.files.push(world.runtime.session.sessionFile);
      const said = await prompt(world, "in the import");
      const rows = await world.pi.SessionManager.list(world.project, world.sessionDir);
      const seen = rows.map(({ path, id, created, modified, ...row }) => ({ ...row, isKnown: world.files.includes(path) }));
      return { imported, said, rows: seen.sort((a, b) => (a.allMessagesText < b.allMessagesText ? -1 : 1)) };
    },
  ],
];

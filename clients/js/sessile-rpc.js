// A client of `sessile rpc` for Node 18 or newer, without dependencies. sessile-rpc.d.ts has its types.
//
//   import { SessileClient } from "./sessile-rpc.js";
//   const client = await SessileClient.start({ args: ["--continue"] });
//   console.log(await client.getState());
//   await client.close();

import { spawn } from "node:child_process";
import { connect } from "node:net";

/** Every command. Each is a method too: get_state is getState. */
export const COMMANDS = [
  "get_state",
  "get_messages",
  "get_entries",
  "get_tree",
  "get_session_stats",
  "get_fork_messages",
  "get_last_assistant_text",
  "set_session_name",
  "new_session",
  "switch_session",
  "fork",
  "clone",
  "compact",
  "set_auto_compaction",
  "abort",
  "set_model",
  "get_available_models",
  "cycle_model",
  "set_thinking_level",
  "get_available_thinking_levels",
  "cycle_thinking_level",
  "set_steering_mode",
  "set_follow_up_mode",
  "clear_queue",
  "set_auto_retry",
  "abort_retry",
  "abort_bash",
  "get_commands",
  "export_html",
  "append_message",
  "append_thinking_level_change",
  "append_model_change",
  "append_usage",
  "append_compaction",
  "append_custom_entry",
  "append_custom_message_entry",
  "append_session_info",
  "append_label_change",
  "append_context_edit",
  "branch_with_summary",
  "set_label",
  "rename_session",
  "archive_session",
  "branch",
  "reset_leaf",
  "follow_leaf",
  "navigate_tree",
  "create_branched_session",
  "get_branch",
  "get_children",
  "get_entry",
  "get_label",
  "get_header",
  "build_session_context",
  "build_context_entries",
  "prepare_compaction",
  "list_sessions",
  "search",
  "family",
  "delete_session",
  "restore_session",
  "verify",
  "scan_secrets",
  "export_redacted",
  "subscribe",
  "unsubscribe",
  "hook_register",
  "hook_response",
];

/** A command that failed. */
export class RpcError extends Error {
  constructor(command, { error, code, leafId }) {
    super(error);
    this.name = "RpcError";
    this.command = command;
    this.code = code;
    if (leafId !== undefined) this.leafId = leafId;
  }
}

const endedBefore = (command) => new RpcError(command, { error: "the server has ended", code: "IO" });

/** Calls what others have given us. What it throws is theirs, and must not keep us from hearing on. */
function call(listener, ...args) {
  try {
    listener(...args);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

export class SessileClient {
  #input;
  #rest = [];
  #waiting = new Map();
  #number = 0;
  #listeners = new Set();
  #subscriptions = new Map();
  #hooks = [];
  #patience;
  #early = [];
  #stopped = new Set();
  #hasEnded = false;

  /** Starts a program, or connects to the socket of one that runs. */
  static async start({ program = "sessile", args = [], socket, cwd, env } = {}) {
    if (args.includes("--listen")) throw new TypeError("a server that listens is started by SessileClient.serve");
    if (socket !== undefined) {
      const stream = connect(socket);
      await new Promise((connected, failed) => stream.once("connect", connected).once("error", failed));
      const ended = new Promise((closed) => stream.once("close", () => closed(null)));
      return new SessileClient(stream, stream, ended);
    }
    const child = spawn(program, ["rpc", ...args], { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((started, failed) => child.once("spawn", started).once("error", failed));
    const ended = new Promise((closed) => child.once("close", (code) => closed(code)));
    return new SessileClient(child.stdout, child.stdin, ended);
  }

  /** Starts a server that listens at a socket, and waits until it takes clients. */
  static async serve({ program = "sessile", args = [], socket, cwd, env }) {
    const child = spawn(program, ["rpc", ...args, "--listen", socket], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((closed) => child.once("close", (code) => closed(code)));
    await new Promise((listening, failed) => {
      child.once("error", failed);
      child.stdout.once("data", listening);
      ended.then((code) => failed(new Error(`the server has ended with ${code}`)));
    });
    const stop = () => {
      child.kill("SIGTERM");
      return ended;
    };
    return { socket, ended, stop };
  }

  constructor(output, input, ended) {
    this.#input = input;
    this.ended = ended;
    output.on("data", (chunk) => this.#take(chunk));
    // Whoever still waits learns that nothing comes.
    output.on("close", () => {
      this.#hasEnded = true;
      for (const { command, failed } of this.#waiting.values()) {
        failed(endedBefore(command));
      }
      this.#waiting.clear();
    });
    input.on("error", () => {});
    output.on("error", () => {});
  }

  /** Cuts what comes in at line feeds and nowhere else. */
  #take(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#rest.push(chunk.subarray(from, at));
      const line = Buffer.concat(this.#rest).toString("utf8");
      this.#rest = [];
      from = at + 1;
      this.#hear(JSON.parse(line));
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }

  #hear(record) {
    switch (record.type) {
      case "response": {
        const asked = this.#waiting.get(record.id);
        if (asked === undefined) return;
        this.#waiting.delete(record.id);
        if (record.success) asked.answered(record.data);
        else asked.failed(new RpcError(asked.command, record));
        return;
      }
      case "event": {
        const listener = this.#subscriptions.get(record.subscription);
        // It may come before the answer that names the subscription.
        if (listener !== undefined) call(listener, record.event, record.cursor, record.lost ?? 0);
        else if (!this.#stopped.has(record.subscription)) this.#early.push(record);
        return;
      }
      case "hook_request":
        this.#answer(record);
        return;
      case "hook_cancel":
        return;
      default:
        for (const listener of this.#listeners) call(listener, record);
    }
  }

  async #answer({ requestId, sessionPath, event }) {
    const hook = this.#hooks.find(({ events }) => events.includes(event.type));
    let answer;
    try {
      answer = { result: (await hook?.answer(event, sessionPath)) ?? null };
    } catch (error) {
      answer = { error: String(error?.message ?? error) };
    }
    // Who is too late is told so, which changes nothing.
    await this.send("hook_response", { requestId, ...answer }).catch(() => {});
  }

  send(command, parameters = {}) {
    const id = ++this.#number;
    if (this.#hasEnded) return Promise.reject(endedBefore(command));
    return new Promise((answered, failed) => {
      this.#waiting.set(id, { command, answered, failed });
      this.#input.write(JSON.stringify({ ...parameters, id, type: command }) + "\n");
    });
  }

  on(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async listen(parameters, listener) {
    const { subscription, cursor } = await this.send("subscribe", parameters);
    this.#subscriptions.set(subscription, listener);
    const early = this.#early.filter((record) => record.subscription === subscription);
    this.#early = this.#early.filter((record) => record.subscription !== subscription);
    for (const record of early) call(listener, record.event, record.cursor, record.lost ?? 0);
    const stop = async () => {
      this.#stopped.add(subscription);
      this.#subscriptions.delete(subscription);
      await this.send("unsubscribe", { subscription });
    };
    return { subscription, cursor, stop };
  }

  async hook(events, answer, timeoutMs) {
    const hook = { events, answer };
    this.#hooks.push(hook);
    this.#patience = timeoutMs ?? this.#patience;
    await this.#register();
    return async () => {
      this.#hooks = this.#hooks.filter((other) => other !== hook);
      await this.#register();
    };
  }

  /** What is registered last counts alone, so it is all that is wanted. */
  #register() {
    const events = [...new Set(this.#hooks.flatMap((hook) => hook.events))];
    return this.send("hook_register", this.#patience === undefined ? { events } : { events, timeoutMs: this.#patience });
  }

  close() {
    this.#input.end();
    return this.ended;
  }
}

for (const command of COMMANDS) {
  const method = command.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  SessileClient.prototype[method] ??= function (parameters) {
    return this.send(command, parameters);
  };
}

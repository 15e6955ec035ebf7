// An editor's side of the Agent Client Protocol: JSON-RPC 2.0, one message per line.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A request that takes longer is lost. */
const DEADLINE = 20_000;

export class AcpClient {
  /** Notifications of the agent, in the order they came. */
  updates = [];
  #pending = new Map();
  #next = 1;
  #errors = "";

  /** Starts an agent. */
  constructor(program, args, options) {
    this.child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.#errors += text));
    this.child.on("exit", (code) => this.#fail(`the agent ended with ${code}`));
    // What cannot be written is reported by the end of the agent.
    this.child.stdin.on("error", () => {});
    createInterface({ input: this.child.stdout }).on("line", (line) => this.#take(JSON.parse(line)));
  }

  #take(message) {
    if (message.method === "session/update") return void this.updates.push(message.params);
    if (message.method) return void this.#send({ id: message.id, error: { code: -32601, message: "not here" } });
    const asked = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error) asked?.reject(Object.assign(new Error(JSON.stringify(message.error)), message.error));
    else asked?.resolve(message.result);
  }

  #fail(why) {
    for (const asked of this.#pending.values()) asked.reject(new Error(`${why}: ${this.#errors}`));
    this.#pending.clear();
  }

  #send(message) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  /** Sends a request and returns its result. */
  request(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(`${method} was not answered`), DEADLINE);
      const done = (settle) => (value) => (clearTimeout(timer), settle(value));
      this.#pending.set(id, { resolve: done(resolve), reject: done(reject) });
      this.#send({ id, method, params });
    });
  }

  /** Returns the updates of a kind for a session, as soon as there are any. */
  async updatesOf(sessionId, kind) {
    const found = () => this.updates.filter((params) => params.sessionId === sessionId && params.update.sessionUpdate === kind);
    const end = Date.now() + DEADLINE;
    while (found().length === 0) {
      if (Date.now() > end) throw new Error(`no ${kind}: ${JSON.stringify(this.updates)}`);
      await new Promise((later) => setTimeout(later, 10));
    }
    return found().map((params) => params.update);
  }

  /** Ends the agent. */
  stop() {
    this.#pending.clear();
    this.child.kill();
  }
}

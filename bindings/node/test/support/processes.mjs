// Child processes of the tests. Every child ends with its test.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a program. `ended` is a promise of its code, signal and output. */
export function start(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], ...options });
  running.add(child);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8");
    child[name].on("data", (text) => {
      output[name] += text;
      child.emit("output");
    });
  }
  // A program that ends before it has read everything is reported by its exit code.
  child.stdin.on("error", () => {});
  child.output = output;
  child.ended = new Promise((end) => {
    child.on("error", (error) => end({ code: null, error, ...output }));
    child.on("close", (code, signal) => {
      running.delete(child);
      end({ code, signal, ...output });
    });
  });
  return child;
}

/** Runs a program to its end. */
export function run(program, args, options = {}) {
  const child = start(program, args, options);
  child.stdin.end(options.input ?? "");
  return child.ended;
}

/** Runs a script with this Node. It must succeed. */
export async function runScript(script, args, options = {}) {
  const result = await run(process.execPath, [fileURLToPath(script), ...args], options);
  if (result.code !== 0) throw new Error(`${fileURLToPath(script)} ${args.join(" ")} ended with ${result.code ?? result.signal}\n${result.stderr}`);
  return result;
}

/** Waits until a child's output matches. Fails if the child ends first, or after a generous time. */
export function until(child, matches, what) {
  return new Promise((found, fail) => {
    const stop = (settle) => {
      clearTimeout(timer);
      child.off("output", look);
      child.off("close", closed);
      settle();
    };
    const look = () => {
      const match = matches(child.output);
      if (match) stop(() => found(match));
    };
    const complain = (why) => {
      child.kill("SIGKILL");
      stop(() => fail(new Error(`${what}: ${why}\n${child.output.stdout.slice(-4000)}\n${child.output.stderr.slice(-4000)}`)));
    };
    const closed = () => complain("the program has ended");
    const timer = setTimeout(() => complain("the program has not said it for half a minute"), 30_000);
    child.on("output", look);
    child.on("close", closed);
    look();
  });
}

// Homes of a user, the same conversation written by pi and by Sessile, and programs that run in them.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export const PROGRAM = process.env.SESSILE_PROGRAM;
export const PACKAGES = join(process.env.SESSILE_CLIENT_PACKAGES, "node_modules");
export const ORACLE = process.env.SESSILE_ORACLE_DIR;
export const NODE = join(ORACLE, "node");

/** A program that takes longer is stuck. */
const DEADLINE = 30_000;

/** The id of the session in every home. */
export const SESSION_ID = "01900000-0000-7000-8000-000000000001";

/** Creates a home with a project and a model in pi's models.json, which `context` removes at its end. */
export function newHome(context) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "sessile-clients-")));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const home = { root, project: join(root, "project"), agent: join(root, ".pi/agent") };
  mkdirSync(home.project, { recursive: true });
  mkdirSync(home.agent, { recursive: true });
  const model = { id: "mock-1", name: "Mock One", contextWindow: 200000, maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } };
  const provider = { baseUrl: "http://127.0.0.1:9/v1", apiKey: "k", api: "openai-completions", models: [model] };
  writeFileSync(join(home.agent, "models.json"), JSON.stringify({ providers: { mock: provider } }));
  return home;
}

/** The environment of a program in a home: nothing of the user who runs the tests, and no network. */
export function environment(home) {
  return { PATH: `${ORACLE}:${process.env.PATH}`, HOME: home.root, TMPDIR: tmpdir(), TZ: "UTC", NO_COLOR: "1", COLUMNS: "200", PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1" };
}

/** Runs a program to its end and returns what it prints. */
export function run(program, args, home, more = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: home.project, env: { ...environment(home), ...more.env }, stdio: ["pipe", "pipe", "pipe"], timeout: DEADLINE });
    let [output, errors] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (errors += text));
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(output) : reject(new Error(`${program} ${args.join(" ")} ended with ${code}: ${errors}${output}`))));
    child.stdin.end(more.input ?? "");
  });
}

const usage = (input, output, cacheRead) => ({ input, output, cacheRead, cacheWrite: 3, totalTokens: input + output + cacheRead + 3, cost: { input: input / 1e6, output: (output * 2) / 1e6, cacheRead: 0, cacheWrite: 0, total: (input + output * 2) / 1e6 } });
const said = (content, stopReason, tokens, timestamp) => ({ role: "assistant", content, api: "openai-completions", provider: "mock", model: "mock-1", usage: tokens, stopReason, timestamp });

/** The messages of a conversation with a tool, which happened today. */
export function conversation(now) {
  const at = (step) => now - 60_000 + step * 1000;
  return [
    { role: "user", content: "Why is high water late?", timestamp: at(0) },
    said([{ type: "thinking", thinking: "The table says." }, { type: "text", text: "I look it up." }, { type: "toolCall", id: "call_1", name: "read", arguments: { path: "tides.csv" } }], "toolUse", usage(900, 40, 100), at(1)),
    { role: "toolResult", toolCallId: "call_1", toolName: "read", content: [{ type: "text", text: "06:12 high\u2028water" }], isError: false, timestamp: at(2) },
    said([{ type: "text", text: "The wind holds it back 🌊." }], "stop", usage(1200, 55, 900), at(3)),
    { role: "user", content: [{ type: "text", text: "And tomorrow?" }], timestamp: at(4) },
    said([{ type: "text", text: "Earlier." }], "stop", usage(1400, 12, 1200), at(5)),
  ];
}

/** Writes the conversation with pi's own session manager. */
export async function writeWithPi(home, messages) {
  const script = `
    const { SessionManager } = await import(${JSON.stringify(pathToFileURL(join(ORACLE, "pi/dist/bundle/index.js")).href)});
    const session = SessionManager.create(process.cwd(), undefined, { id: ${JSON.stringify(SESSION_ID)} });
    session.appendModelChange("mock", "mock-1");
    session.appendThinkingLevelChange("off");
    for (const message of ${JSON.stringify(messages)}) session.appendMessage(message);
    session.appendSessionInfo("Tides");`;
  await run(NODE, ["--input-type=module", "-e", script], home);
}

/** Writes the conversation with Sessile. */
export async function writeWithSessile(home, messages) {
  const requests = [
    { type: "append_model_change", provider: "mock", modelId: "mock-1" },
    { type: "append_thinking_level_change", thinkingLevel: "off" },
    ...messages.map((message) => ({ type: "append_message", message })),
    { type: "set_session_name", name: "Tides" },
  ];
  const input = requests.map((request) => `${JSON.stringify(request)}\n`).join("");
  const answers = (await run(PROGRAM, ["--mode", "rpc", "--session-id", SESSION_ID], home, { input })).trim().split("\n").map((line) => JSON.parse(line));
  const failed = answers.find((answer) => answer.type === "response" && !answer.success);
  if (failed) throw new Error(JSON.stringify(failed));
}

/** Returns the only session file of a home. */
export function sessionFile(home) {
  const sessions = join(home.agent, "sessions");
  const files = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
  if (files.length !== 1) throw new Error(`${files.length} sessions in ${sessions}`);
  return join(sessions, files[0]);
}

// The genuine pi uses an MCP server, against a fake provider on this machine that calls one of its tools.
//
// Reads one request from stdin, one JSON object on a line, and answers with one line:
//   {"program":FILE,"arguments":[…],"cwd":DIR,"tool":NAME,"toolArguments":{…}}
//   → {added: {code, output}, listed: {code, output}, turn: {code, output}, offered: [NAME], results: [TEXT]}
// `offered` are the tools of the server in pi's first request, `results` the results of the call in the next one.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [line] = await Array.fromAsync(createInterface({ input: process.stdin }));
const { program, arguments: words, cwd, tool, toolArguments } = JSON.parse(line);

const bodies = [];
const chunk = (choice, more) => ({ id: "a", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, ...choice }], ...more });
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const stream = (chunks) => `${chunks.map((part) => `data: ${JSON.stringify(part)}\n\n`).join("")}data: [DONE]\n\n`;
const call = { index: 0, id: "call_1", type: "function", function: { name: `mcp__sessile__${tool}`, arguments: JSON.stringify(toolArguments) } };
const calling = () => stream([chunk({ delta: { role: "assistant", tool_calls: [call] }, finish_reason: null }), chunk({ delta: {}, finish_reason: "tool_calls" }, { usage })]);
const answering = () => stream([chunk({ delta: { role: "assistant", content: "remembered" }, finish_reason: null }), chunk({ delta: {}, finish_reason: "stop" }, { usage })]);

const server = createServer((request, response) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    bodies.push(JSON.parse(Buffer.concat(parts).toString("utf8")));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(bodies.length === 1 ? calling() : answering());
  });
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

const agentDir = mkdtempSync(join(tmpdir(), "oracle-mcp-"));
process.on("exit", () => rmSync(agentDir, { recursive: true, force: true }));
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const model = { id: "m", name: "m", reasoning: false, input: ["text"], contextWindow: 200000, maxTokens: 4096, cost };
const provider = { baseUrl: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "k", api: "openai-completions", models: [model] };
writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { fake: provider } }));
const settings = { retry: { enabled: false }, compaction: { enabled: false }, enableInstallTelemetry: false, defaultProjectTrust: "always", cacheWarming: "off", defaultProvider: "fake", defaultModel: "m" };
writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));

const env = { ...process.env, HOME: agentDir, TZ: "UTC", PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_CODING_AGENT_DIR: agentDir };

function pi(args) {
  const cli = join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/cli.js");
  const child = spawn(process.execPath, [cli, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((end) => child.on("close", (code) => end({ code, output })));
}

const added = await pi(["mcp", "add", "sessile", "--", program, ...words]);
const listed = await pi(["mcp", "list"]);
// As `sessile mcp --print-config pi` has it: without it, the model would have to look for the tool first.
const { mcpServers } = JSON.parse(await import("node:fs").then((fs) => fs.readFileSync(join(agentDir, "mcp.json"), "utf8")));
mcpServers.sessile.toolExposure = { [tool]: "direct" };
writeFileSync(join(agentDir, "mcp.json"), JSON.stringify({ mcpServers }));
const turn = await pi(["--print", "--no-session", "--model", "fake/m", "what do you remember?"]);
const offered = (bodies[0]?.tools ?? []).map((known) => known.function?.name ?? known.name).filter((name) => name.startsWith("mcp__sessile__"));
const text = (content) => (typeof content === "string" ? content : content.map((part) => part.text ?? "").join(""));
const results = (bodies[1]?.messages ?? []).filter((message) => message.role === "tool").map((message) => text(message.content));
process.stdout.write(`${JSON.stringify({ added, listed, turn, offered, results })}\n`);
process.exit(0);

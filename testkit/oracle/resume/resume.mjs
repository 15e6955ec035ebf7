// The genuine pi resumes sessions in print mode, against a fake provider on this machine that checks signatures.
//
// Reads requests from stdin, one JSON object per line, and answers each with one line:
//   {"cmd":"session","api":API,"cwd":DIR,"isOpen":BOOL}  makes a session: {text, planted}
//   {"cmd":"resume","api":API,"file":FILE,"cwd":DIR}     resumes it: {code, output, requests: [{body, reasons}]}

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { RULES } from "./rules.mjs";
import { MODELS, session } from "./sessions.mjs";
import { ACCEPT } from "./wire.mjs";

/** The requests of the run so far. */
let requests = [];

/** Checks a request. What a rule cannot read is refused, too. */
function check(api, body) {
  try {
    return RULES[api](JSON.parse(body));
  } catch (error) {
    return [`the request cannot be read: ${error}`];
  }
}

function answer(request, response) {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString("utf8");
    const api = Object.keys(MODELS).find((name) => request.url.startsWith(`/${name}/`));
    const reasons = check(api, body);
    requests.push({ body, reasons });
    if (reasons.length > 0) {
      response.writeHead(400, { "content-type": "application/json", "x-amzn-errortype": "ValidationException" });
      response.end(JSON.stringify({ type: "error", message: reasons[0], error: { type: "invalid_request_error", message: reasons[0], code: 400 } }));
      return;
    }
    const isBinary = api === "bedrock-converse-stream";
    response.writeHead(200, { "content-type": isBinary ? "application/vnd.amazon.eventstream" : "text/event-stream" });
    response.end(ACCEPT[api]());
  });
}

const server = createServer(answer);
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

const agentDir = mkdtempSync(join(tmpdir(), "oracle-resume-"));
process.on("exit", () => rmSync(agentDir, { recursive: true, force: true }));
const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const provider = (api, id) => ({
  baseUrl: `http://127.0.0.1:${server.address().port}/${api}`,
  apiKey: "k",
  api,
  models: [{ id, name: id, reasoning: true, input: ["text", "image"], contextWindow: 200000, maxTokens: 8192, cost }],
});
const providers = Object.fromEntries(Object.entries(MODELS).map(([api, id]) => [`fake-${api}`, provider(api, id)]));
writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers }));
const settings = { retry: { enabled: false }, compaction: { enabled: false }, enableInstallTelemetry: false, defaultProjectTrust: "always", cacheWarming: "off" };
writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));

const env = {
  PATH: process.env.PATH,
  HOME: agentDir,
  TZ: "UTC",
  PI_OFFLINE: "1",
  PI_SKIP_VERSION_CHECK: "1",
  PI_CODING_AGENT_DIR: agentDir,
  // Without them, Amazon's client signs requests and wants HTTP/2.
  AWS_BEDROCK_SKIP_AUTH: "1",
  AWS_BEDROCK_FORCE_HTTP1: "1",
  AWS_REGION: "us-east-1",
};

function resume({ file, cwd }) {
  requests = [];
  const cli = join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/cli.js");
  const child = spawn(process.execPath, [cli, "--session", file, "--print", "go on"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  return new Promise((end) => child.on("close", (code) => end({ code, output, requests })));
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const result = request.cmd === "session" ? session(request) : await resume(request);
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
process.exit(0);

// Appends messages with the genuine pi and prints how many microseconds each took.
//
//   node pi-append.mjs DIRECTORY COUNT BYTES

import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const [directory, count, bytes] = process.argv.slice(2);
const { SessionManager } = await import(pathToFileURL(join(process.env.SESSILE_ORACLE_DIR, "pi/dist/bundle/index.js")).href);
const session = SessionManager.create(directory, directory);
const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const text = "x".repeat(Number(bytes));
const message = (index) => ({
  role: "assistant", content: [{ type: "text", text: `${index} ${text}` }],
  api: "messages", provider: "acme", model: "acme-1", usage, stopReason: "stop", timestamp: 1763164800000 + index,
});
// The first append creates the file, and the next ones warm up the engine.
for (let index = 0; index < 500; index += 1) session.appendMessage(message(index));
const start = performance.now();
for (let index = 0; index < Number(count); index += 1) session.appendMessage(message(index));
console.log(((performance.now() - start) * 1000) / Number(count));

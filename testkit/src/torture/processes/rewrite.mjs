// Rewrites a session in place, as pi's upgrade does: reads it, waits, truncates it, and writes it line by line.
// Arguments: file, number of rewrites, seed. Prints "rewritten" after each rewrite.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const [path, count, seed] = [process.argv[1], ...process.argv.slice(2).map(Number)];
let state = seed;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const isValue = (line) => {
  try {
    return JSON.parse(line) !== null;
  } catch {
    return false;
  }
};
for (let n = 0; n < count; n += 1) {
  const lines = readFileSync(path, "utf8").split("\n").filter(isValue);
  await pause(5 + 60 * random());
  const file = openSync(path, "w");
  for (const line of lines) writeSync(file, `${line}\n`);
  closeSync(file);
  writeSync(1, "rewritten\n");
  await pause(330 + 300 * random());
}

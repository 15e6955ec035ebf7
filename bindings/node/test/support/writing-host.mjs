// Appends to a session until it is killed, or until it has appended enough, and prints the id of every entry after the
// append has returned. Arguments: the file, a word for its entries, how many, and whose class.

import { writeSync } from "node:fs";

import { loadOwn, loadPi } from "./subjects.mjs";

const [file, word, limit, whose] = process.argv.slice(2);
const { SessionManager } = whose === "pi" ? await loadPi() : await loadOwn();
const manager = SessionManager.open(file, undefined, process.cwd());

/** A text of 0 to 60 kB; most are short. */
const filler = (n) => "x".repeat(n % 17 === 0 ? 60_000 : n % 5 === 0 ? 5000 : n % 100);

const APPENDS = [
  (n) => manager.appendMessage({ role: "user", content: `${word} ${n} ${filler(n)}`, timestamp: 1 }),
  (n) => manager.appendMessage({ role: "assistant", content: [{ type: "text", text: filler(n) }], provider: "p", model: "m", timestamp: 1 }),
  (n) => manager.appendCustomEntry(word, { n, filler: filler(n) }),
  () => manager.appendLabelChange(manager.getLeafId(), word),
];

for (let n = 0; n < Number(limit); n += 1) {
  writeSync(1, `${APPENDS[n % APPENDS.length](n)}\n`);
}
process.exit(0);

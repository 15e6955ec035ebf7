// Appends as pi does: one appendFileSync per record, without a lock and without reading the end of the file.
// Arguments: file, count (0 means forever), smallest and largest record, seed.
import { appendFileSync, writeSync } from "node:fs";

const [path, count, smallest, largest, seed] = [process.argv[1], ...process.argv.slice(2).map(Number)];
let state = seed;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
let parentId = null;
for (let n = 0; count === 0 || n < count; n += 1) {
  const length = Math.round(smallest * (largest / smallest) ** random());
  const id = `f${seed.toString(16).padStart(3, "0")}${n.toString(16).padStart(6, "0")}`;
  const message = { role: "user", content: `${length}:${"y".repeat(length)}`, timestamp: 1 };
  const entry = { type: "message", id, parentId, timestamp: new Date().toISOString(), message };
  appendFileSync(path, `${JSON.stringify(entry)}\n`);
  writeSync(1, `${id}\n`);
  parentId = id;
}

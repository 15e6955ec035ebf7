// Opens a session, builds its context, and prints how much larger the heap is than before, and the number of messages.
// Arguments: the file, and whose class. Needs --expose-gc.

import { loadOwn, loadPi } from "./subjects.mjs";

const [file, whose] = process.argv.slice(2);
const { SessionManager } = whose === "pi" ? await loadPi() : await loadOwn();
const heap = () => {
  globalThis.gc();
  return process.memoryUsage().heapUsed;
};
const before = heap();
const manager = SessionManager.open(file);
const { messages } = manager.buildSessionContext();
const after = heap();
console.log(JSON.stringify({ bytes: after - before, messages: messages.length, entries: manager.getEntryCount() }));

// Ends this process when its parent is gone, even while pi is in an endless loop. Node loads this file before pi
// (`--import`); the URL contains the parent's process id: `parent.mjs?parent=PID`.
//
// A separate thread checks, because nothing else runs in a process whose only JavaScript thread is busy.

import { isMainThread, Worker } from "node:worker_threads";

const LOOK = `
const parent = Number(require("node:worker_threads").workerData);
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, 200);
`;

const parent = new URL(import.meta.url).searchParams.get("parent");
if (isMainThread && parent) {
  new Worker(LOOK, { eval: true, execArgv: [], workerData: parent, stdin: false }).unref();
}

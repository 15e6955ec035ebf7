// A program in a pseudo-terminal, by `script` of util-linux, which every Debian has.

import { start, until } from "./processes.mjs";

const quote = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** Removes what controls the terminal, and keeps the text. */
export const plain = (text) =>
  text
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "")
    .replace(/\u001b[P_^][^\u001b]*\u001b\\/g, "")
    .replace(/\u001b\[[0-?]*[ -/]*[@-~]/g, " ")
    .replace(/\u001b[=>78()][0-9A-B]?/g, "");

/** Starts a program in a terminal of 120 columns. */
export function inTerminal(program, args, { cwd, env }) {
  const line = ["stty rows 40 cols 120;", "exec", ...[program, ...args].map(quote)].join(" ");
  const child = start("script", ["--quiet", "--flush", "--return", "--command", line, "/dev/null"], {
    cwd,
    env: { ...env, TERM: "xterm-256color", SHELL: "/bin/sh" },
  });
  let from = 0;
  return {
    child,
    /** Waits for words that appear after the last key. Spaces on the screen may be anything. */
    sees: (...words) => {
      const wanted = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s*")).join("|"));
      return until(child, ({ stdout }) => wanted.exec(plain(stdout.slice(from))), `the screen shows ${words.join(" or ")}`);
    },
    /** Waits for the title of the window, which pi sets when it has started. */
    isTitled: () => until(child, ({ stdout }) => stdout.includes("\u001b]0;"), "the window has a title"),
    /** Types keys. */
    types: (keys) => {
      from = child.output.stdout.length;
      child.stdin.write(keys);
    },
  };
}

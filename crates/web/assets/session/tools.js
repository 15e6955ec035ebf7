// Small tools that every part of the page uses.

const $ = (id) => document.getElementById(id);
const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};
/** Lets the browser draw and handle input. Long loops call it every few milliseconds. */
const rest = () =>
  globalThis.scheduler?.yield ? scheduler.yield() : new Promise((resolve) => setTimeout(resolve, 0));
const SLICE_MS = 12;
const SEPARATOR = "\u001e";

/** Decodes and decompresses the text of a chunk. */
async function unpack(text) {
  const packed = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The position of the last number that is at most `wanted`. */
function lastAtMost(numbers, wanted) {
  let low = 0;
  let high = numbers.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}

/** Shows a short message to the reader. */
function say(text) {
  $("status").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => ($("status").textContent = ""), 3000);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    // Without the clipboard API, as in files: select the text and let the browser copy it.
    const area = make("textarea", { value: text, className: "offscreen" });
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    say(isDone ? "Copied." : "The browser does not allow copying.");
  }
}

/** The text of an encoded part of an address, or that part if it is not encoded correctly. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Functions that add a feature to the page. Each gets the page once it shows the session. */
const features = [];

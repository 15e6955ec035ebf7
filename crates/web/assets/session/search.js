// Search in the lines of an export. The worker runs it, so that the page stays responsive.

/** Properties that no reader sees. */
const HIDDEN_KEYS = new Set([
  "id", "parentId", "timestamp", "type", "toolCallId", "textSignature", "thinkingSignature", "thoughtSignature",
  "responseId", "api", "mimeType",
]);

function matches(line, words) {
  const lower = line.toLowerCase();
  // A quick look at the text of the line. Escaped characters may hide a word, so such lines are parsed.
  if (!words.every((word) => lower.includes(word)) && !lower.includes("\\")) return false;
  let entry;
  try {
    entry = JSON.parse(line);
  } catch {
    return words.every((word) => lower.includes(word));
  }
  const found = new Set();
  const todo = [entry];
  while (todo.length && found.size < words.length) {
    const value = todo.pop();
    if (typeof value === "string") {
      const text = value.toLowerCase();
      for (const word of words) if (text.includes(word)) found.add(word);
    } else if (value && typeof value === "object") {
      const isImage = value.type === "image";
      for (const [key, inner] of Object.entries(value)) {
        if (!HIDDEN_KEYS.has(key) && !(isImage && key === "data")) todo.push(inner);
      }
    }
  }
  return found.size === words.length;
}

/** In a worker: takes the original file chunk by chunk, and answers with the rows that match. */
function answerSearches() {
  let [offsets, words, line, lineOffset, version] = [undefined, [], undefined, 0, 0];
  const check = (bytes, offset, hits) => {
    const row = lastAtMost(offsets, offset);
    if (offsets[row] === offset && matches(new TextDecoder().decode(bytes), words)) hits.push(row);
  };
  onmessage = async ({ data }) => {
    if (data.offsets) ({ offsets } = data);
    if (data.words) [words, version, line, lineOffset] = [data.words, data.version, new Uint8Array(0), 0];
    if (data.text === undefined || data.version !== version) return;
    const bytes = await unpack(data.text);
    if (data.version !== version) return;
    const hits = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      const rest = bytes.subarray(from, end);
      check(line.length ? joined([line, rest]) : rest, lineOffset, hits);
      line = new Uint8Array(0);
      from = end + 1;
      lineOffset = data.offset + from;
    }
    line = joined([line, bytes.subarray(from)]);
    if (data.isLast && line.length) check(line, lineOffset, hits);
    postMessage({ version, hits, number: data.number });
  };
}

if (typeof document === "undefined") return answerSearches();
const workerUrl = URL.createObjectURL(new Blob([document.currentScript.textContent], { type: "text/javascript" }));

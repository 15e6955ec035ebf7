"use strict";
// The page of one session: a tree, a conversation, and a search. Only what is on the screen is in the document.
(() => {
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

  // ---- Search ----

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

  // ---- Data: chunks of the file, unpacked when they are needed ----

  class FileSource {
    constructor(index) {
      this.index = index;
      this.cache = new Map();
      this.cachedBytes = 0;
      this.waiting = new Map();
      globalThis.sessileChunk = (name, text) => this.waiting.get(name)?.(text);
    }

    /** The base64 text of a chunk: in the page, or in a file beside it. */
    text(name) {
      if (!this.index.split) return Promise.resolve($(name).textContent);
      return new Promise((resolve, reject) => {
        const script = make("script", { src: `data/${name}.js` });
        const done = () => {
          this.waiting.delete(name);
          script.remove();
        };
        this.waiting.set(name, (text) => {
          done();
          resolve(text);
        });
        script.onerror = () => {
          done();
          reject(new Error(`data/${name}.js is missing`));
        };
        document.head.append(script);
      });
    }

    async unpack(name) {
      return unpack(await this.text(name));
    }

    /** The bytes of a chunk. The newest 24 MB stay unpacked. */
    chunk(name) {
      const known = this.cache.get(name);
      if (known) {
        this.cache.delete(name);
        this.cache.set(name, known);
        return known.bytes;
      }
      const entry = { size: 0, bytes: this.unpack(name) };
      this.cache.set(name, entry);
      entry.bytes.then(
        (bytes) => {
          entry.size = bytes.length;
          this.cachedBytes += bytes.length;
          for (const [old, { size }] of this.cache) {
            if (this.cachedBytes <= 24e6 || old === name) break;
            this.cache.delete(old);
            this.cachedBytes -= size;
          }
        },
        () => this.cache.delete(name),
      );
      return entry.bytes;
    }

    async pieces(name) {
      return new TextDecoder().decode(await this.chunk(name)).split(SEPARATOR);
    }

    structure() {
      return this.chunk("s");
    }

    tree(filter) {
      return this.chunk(`tree-${filter}`);
    }

    /** The HTML of some rows, by row. */
    async html(rows) {
      const found = new Map();
      const starts = this.index.entries;
      const byChunk = new Map();
      for (const row of rows) {
        const at = lastAtMost(starts, row);
        if (!byChunk.has(at)) byChunk.set(at, []);
        byChunk.get(at).push(row);
      }
      for (const [at, wanted] of byChunk) {
        const pieces = await this.pieces(`e${at}`);
        for (const row of wanted) found.set(row, pieces[row - starts[at]]);
      }
      return found;
    }

    /** The lines of the tree around a row: the first row, and a line for each. */
    async titles(row) {
      const at = Math.floor(row / this.index.titles);
      return { first: at * this.index.titles, lines: await this.pieces(`t${at}`) };
    }

    /** The row with an id; the last one if there are several. */
    async find(id) {
      for (let at = Math.floor((this.index.rows - 1) / this.index.ids); at >= 0; at--) {
        const found = (await this.pieces(`i${at}`)).lastIndexOf(id);
        if (found >= 0) return at * this.index.ids + found;
      }
      return -1;
    }

    /** The windows of a long text, one after the other. */
    async *windows(row, part) {
      for (const [ofRow, ofPart, chunk, first, count] of this.index.long) {
        if (ofRow !== row || ofPart !== part) continue;
        const pieces = await this.pieces(`l${chunk}`);
        yield* pieces.slice(first, first + count);
      }
    }

    /** Some bytes of the original file. */
    async bytes(offset, length) {
      const parts = [];
      for (let at = lastAtMost(this.index.raw, offset); length > 0 && at < this.index.raw.length; at++) {
        const chunk = await this.chunk(`r${at}`);
        const from = offset - this.index.raw[at];
        const part = chunk.subarray(from, from + length);
        parts.push(part);
        offset += part.length;
        length -= part.length;
        if (part.length === 0) break;
      }
      return parts.length === 1 ? parts[0] : joined(parts);
    }

    async download() {
      const parts = [];
      for (let at = 0; at < this.index.raw.length; at++) parts.push(new Blob([await this.unpack(`r${at}`)]));
      return new Blob(parts, { type: "application/jsonl" });
    }
  }

  // ---- Data from a server ----

  class HttpSource {
    constructor(index) {
      this.index = index;
    }

    async get(part, parameters = {}) {
      const response = await fetch(`${this.index.base}${part}?${new URLSearchParams(parameters)}`);
      if (!response.ok) throw new Error(`the server answers ${response.status}`);
      return response;
    }

    async bytes(part) {
      return new Uint8Array(await (await this.get(part)).arrayBuffer());
    }

    async pieces(part, parameters) {
      return (await (await this.get(part, parameters)).text()).split(SEPARATOR);
    }

    structure() {
      return this.bytes("structure");
    }

    tree(filter) {
      return this.bytes(`tree-${filter}`);
    }

    async html(rows) {
      const found = new Map();
      for (let at = 0; at < rows.length; at += 100) {
        const some = rows.slice(at, at + 100);
        const pieces = await this.pieces("entries", { rows: some.join(",") });
        some.forEach((row, number) => found.set(row, pieces[number]));
      }
      return found;
    }

    async titles(row) {
      const first = row - (row % this.index.titles);
      this.lines ??= new Map();
      if (!this.lines.has(first)) this.lines.set(first, this.pieces("titles", { from: first }));
      return { first, lines: await this.lines.get(first) };
    }

    async find(id) {
      return (await (await this.get("find", { id })).json()).row;
    }

    async *windows(row, part) {
      for (let window = 0; ; window++) {
        const response = await fetch(`${this.index.base}long?${new URLSearchParams({ row, part, window })}`);
        if (!response.ok) return;
        yield await response.text();
      }
    }

    imageUrl(row, number) {
      return `${this.index.base}image?${new URLSearchParams({ row, number })}`;
    }

    /** Searches on the server, which reports hits while it reads. */
    async search(words, onHits, isStale) {
      const stop = new AbortController();
      const url = `${this.index.base}search?${new URLSearchParams({ q: words.join(" ") })}`;
      const reader = (await fetch(url, { signal: stop.signal })).body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (isStale()) return stop.abort();
        if (done) return;
        const lines = (text + value).split("\n");
        text = lines.pop();
        for (const line of lines) {
          const { rows, share } = JSON.parse(line);
          onHits(rows, share);
        }
      }
    }

    download() {
      location.href = `${this.index.base}original`;
    }
  }

  /** Reads the numbers that the exporter wrote. */
  class Numbers {
    constructor(bytes) {
      this.bytes = bytes;
      this.at = 0;
    }
    get isDone() {
      return this.at >= this.bytes.length;
    }
    next() {
      let value = 0;
      let scale = 1;
      for (;;) {
        const byte = this.bytes[this.at++];
        value += (byte & 0x7f) * scale;
        if (byte < 0x80) return value;
        scale *= 128;
      }
    }
    signed() {
      const value = this.next();
      return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    byte() {
      return this.bytes[this.at++];
    }
  }

  // ---- The session: parents, places and types of its rows ----

  const USER = 1;

  class Session {
    static async load(source, n) {
      const session = new Session();
      const numbers = new Numbers(await source.structure());
      session.source = source;
      session.n = n;
      session.parents = new Int32Array(n).fill(-1);
      session.offsets = new Float64Array(n);
      session.lengths = new Float64Array(n);
      session.kinds = new Uint8Array(n);
      let end = 0;
      let started = performance.now();
      for (let row = 0; row < n && !numbers.isDone; row++) {
        const up = numbers.signed();
        session.parents[row] = up === 0 ? -1 : row - up;
        session.offsets[row] = end + numbers.signed();
        session.lengths[row] = numbers.next();
        end = session.offsets[row] + session.lengths[row];
        session.kinds[row] = numbers.byte();
        if ((row & 4095) === 0 && performance.now() - started > SLICE_MS) {
          await rest();
          started = performance.now();
        }
      }
      return session;
    }

    /** The rows from the root to a row. */
    path(leaf) {
      const rows = [];
      for (let row = leaf; row >= 0 && rows.length <= this.n; row = this.parents[row]) rows.push(row);
      return Int32Array.from(rows.reverse());
    }

    /** The newest row at or below a row. */
    newestBelow(top) {
      const isBelow = new Uint8Array(this.n);
      isBelow[top] = 1;
      let newest = top;
      for (let row = 0; row < this.n; row++) {
        const parent = this.parents[row];
        if (row !== top && parent >= 0 && isBelow[parent]) {
          isBelow[row] = 1;
          newest = row;
        }
      }
      return newest;
    }

    async line(row) {
      return new TextDecoder().decode(await this.source.bytes(this.offsets[row], this.lengths[row]));
    }

    async image(row, number) {
      const entry = JSON.parse(await this.line(row));
      const content = (entry.message ?? entry).content;
      const images = content.filter((block) => block?.type === "image");
      return images[number].data;
    }

    /** Looks for entries with all words on another thread; reports rows as it finds them. */
    async search(words, onHits, isStale) {
      if (this.source.search) return this.source.search(words, onHits, isStale);
      const { raw } = this.source.index;
      const version = (this.searches = (this.searches ?? 0) + 1);
      const isNew = !this.worker;
      this.worker ??= new Worker(workerUrl);
      const answers = new Map();
      this.worker.onmessage = ({ data }) => data.version === version && answers.get(data.number)?.(data.hits);
      this.worker.postMessage({ words, version, ...(isNew ? { offsets: this.offsets } : {}) });
      const waiting = [];
      const take = async () => {
        const { hits, number } = await waiting.shift();
        if (!isStale()) onHits(hits.filter((row) => this.kinds[row]), (number + 1) / raw.length);
      };
      for (let number = 0; number < raw.length && !isStale(); number++) {
        const text = await this.source.text(`r${number}`);
        waiting.push(new Promise((resolve) => answers.set(number, (hits) => resolve({ hits, number }))));
        this.worker.postMessage({ version, text, number, offset: raw[number], isLast: number === raw.length - 1 });
        if (waiting.length > 4) await take();
      }
      while (waiting.length && !isStale()) await take();
    }
  }

  // ---- The tree ----

  const FOLDABLE = 1;
  const CONNECTED = 2;
  const LAST = 4;
  const ROW_HEIGHT = 24;
  const MAX_HEIGHT = 8e6;
  const MAX_LEVELS = 12;

  class Tree {
    constructor(session, element, onOpen) {
      this.session = session;
      this.element = element;
      this.onOpen = onOpen;
      this.spacer = element.firstElementChild;
      this.spacer.setAttribute("role", "none");
      this.folded = new Set();
      this.onPath = new Uint8Array(session.n);
      this.titles = new Map();
      this.current = 0;
      this.drawn = new Map();
      element.addEventListener("scroll", () => this.draw(), { passive: true });
      element.addEventListener("click", (event) => this.click(event));
      element.addEventListener("keydown", (event) => this.key(event));
      element.addEventListener("focus", () => this.focusCurrent());
      new ResizeObserver(() => this.draw()).observe(element);
    }

    async show(filter) {
      const numbers = new Numbers(await this.session.source.tree(filter));
      const [rows, levels, flags, below] = [[], [], [], []];
      let row = 0;
      let started = performance.now();
      while (!numbers.isDone) {
        row += numbers.signed();
        const value = numbers.next();
        rows.push(row);
        levels.push(Math.floor(value / 8));
        flags.push(value % 8);
        below.push(value & FOLDABLE ? numbers.next() : 0);
        if ((rows.length & 4095) === 0 && performance.now() - started > SLICE_MS) {
          await rest();
          started = performance.now();
        }
      }
      this.filter = filter;
      Object.assign(this, {
        rows: Int32Array.from(rows),
        levels: Int32Array.from(levels),
        flags: Uint8Array.from(flags),
        below: Int32Array.from(below),
      });
      this.arrange();
    }

    /** Lists all entries in the order of the file. A search needs it, because every filter hides some entries. */
    list() {
      const n = this.session.n;
      this.filter = undefined;
      Object.assign(this, {
        rows: Int32Array.from({ length: n }, (_, row) => row),
        levels: new Int32Array(n),
        flags: new Uint8Array(n),
        below: new Int32Array(n),
      });
      this.arrange();
    }

    /** Marks the rows of the current branch. */
    mark(path) {
      this.onPath.fill(0);
      for (const row of path) this.onPath[row] = 1;
      this.redraw();
    }

    /** Decides which lines are visible: without the descendants of folded ones, or only hits of a search. */
    arrange() {
      const visible = [];
      for (let at = 0; at < this.rows.length; at++) {
        if (this.hits) {
          if (this.hits.has(this.rows[at])) visible.push(at);
        } else {
          visible.push(at);
          if (this.folded.has(this.rows[at])) at += this.below[at];
        }
      }
      this.visible = Int32Array.from(visible);
      const height = this.visible.length * ROW_HEIGHT;
      this.spacer.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
      this.current = Math.min(this.current, Math.max(0, this.visible.length - 1));
      this.redraw();
    }

    redraw() {
      for (const element of this.drawn.values()) element.remove();
      this.drawn.clear();
      this.draw();
    }

    /** The first visible line, from the scroll position. Very long trees scroll in larger steps. */
    get top() {
      const height = this.visible.length * ROW_HEIGHT;
      const scale = height > MAX_HEIGHT ? height / MAX_HEIGHT : 1;
      return (this.element.scrollTop * scale) / ROW_HEIGHT;
    }

    draw() {
      if (!this.visible) return;
      const height = this.visible.length * ROW_HEIGHT;
      const isScaled = height > MAX_HEIGHT;
      const first = Math.max(0, Math.floor(this.top) - 4);
      const last = Math.min(this.visible.length, first + Math.ceil(this.element.clientHeight / ROW_HEIGHT) + 8);
      for (const [line, element] of this.drawn) {
        if (line < first || line >= last) {
          element.remove();
          this.drawn.delete(line);
        }
      }
      for (let line = first; line < last; line++) {
        let element = this.drawn.get(line);
        if (!element) {
          element = this.line(line);
          this.drawn.set(line, element);
          this.element.append(element);
        }
        const y = isScaled ? this.element.scrollTop + (line - this.top) * ROW_HEIGHT : line * ROW_HEIGHT;
        element.style.transform = `translateY(${y}px)`;
      }
    }

    line(line) {
      const at = this.visible[line];
      const row = this.rows[at];
      const isFoldable = !this.hits && this.flags[at] & FOLDABLE;
      const isFolded = this.folded.has(row);
      const element = make("div", { className: "line", tabIndex: line === this.current ? 0 : -1 });
      element.dataset.line = line;
      element.setAttribute("role", "treeitem");
      element.setAttribute("aria-level", this.hits ? 1 : this.levels[at] + 1);
      element.setAttribute("aria-selected", String(row === this.selected));
      if (isFoldable) element.setAttribute("aria-expanded", String(!isFolded));
      element.classList.toggle("path", this.onPath[row] === 1);
      element.classList.toggle("selected", row === this.selected);
      if (!this.hits) element.append(make("span", { className: "guide", ariaHidden: "true", textContent: this.guide(at, isFolded) }));
      const title = make("span", { className: "title" });
      element.append(title);
      if (isFolded) element.append(make("span", { className: "count", textContent: ` (${this.below[at]} hidden)` }));
      this.fill(title, row);
      return element;
    }

    /** The connectors before a line. Of a deep line, only the last levels. */
    guide(at, isFolded) {
      const level = this.levels[at];
      const cells = new Array(level).fill("  ");
      let limit = level + 1;
      for (let up = at, steps = 0; up >= 0 && limit > 0 && steps < 200000; up--, steps++) {
        if (this.levels[up] >= limit) continue;
        limit = this.levels[up];
        if (this.flags[up] & CONNECTED && limit > 0) {
          const isLast = this.flags[up] & LAST;
          cells[limit - 1] = up === at ? (isLast ? "└ " : "├ ") : isLast ? "  " : "│ ";
        }
        if (level - limit > MAX_LEVELS) break;
      }
      const shown = level > MAX_LEVELS ? ["⋯ ", ...cells.slice(level - MAX_LEVELS)] : cells;
      const mark = this.flags[at] & FOLDABLE && this.below[at] ? (isFolded ? "▸ " : "▾ ") : "";
      return shown.join("") + mark;
    }

    fill(title, row) {
      const known = this.titles.get(row);
      if (known !== undefined) {
        title.innerHTML = known;
        return;
      }
      title.textContent = "…";
      this.session.source.titles(row).then(({ first, lines }) => {
        if (this.titles.size > 20000) this.titles.clear();
        lines.forEach((line, at) => this.titles.set(first + at, line));
        title.innerHTML = this.titles.get(row) ?? "";
      });
    }

    /** The line of a row, or of its nearest ancestor that the filter shows. */
    lineOf(row) {
      for (let up = row, steps = 0; up >= 0 && steps < 1000; up = this.session.parents[up], steps++) {
        const at = this.rows.indexOf(up);
        if (at >= 0) return lastAtMost(this.visible, at);
      }
      return -1;
    }

    /** Selects a row without moving the keyboard focus, and brings it into view. */
    select(row) {
      this.selected = row;
      if (this.rows) {
        const line = this.lineOf(row);
        if (line >= 0) {
          this.current = line;
          this.selected = this.rows[this.visible[line]];
          this.reveal(line);
        }
      }
      this.redraw();
    }

    reveal(line) {
      const height = this.visible.length * ROW_HEIGHT;
      const scale = height > MAX_HEIGHT ? height / MAX_HEIGHT : 1;
      const y = (line * ROW_HEIGHT) / scale;
      const { scrollTop, clientHeight } = this.element;
      if (y < scrollTop || y + ROW_HEIGHT > scrollTop + clientHeight) {
        this.element.scrollTop = Math.max(0, y - clientHeight / 2);
      }
      this.draw();
    }

    focusCurrent() {
      if (!this.visible?.length) return;
      this.reveal(this.current);
      for (const [line, element] of this.drawn) element.tabIndex = line === this.current ? 0 : -1;
      this.drawn.get(this.current)?.focus({ preventScroll: true });
    }

    move(line) {
      this.current = Math.max(0, Math.min(this.visible.length - 1, line));
      this.focusCurrent();
    }

    fold(line, isFolded) {
      const at = this.visible[line];
      if (this.hits || !(this.flags[at] & FOLDABLE) || !this.below[at]) return false;
      const row = this.rows[at];
      if (this.folded.has(row) === isFolded) return false;
      if (isFolded) this.folded.add(row);
      else this.folded.delete(row);
      this.arrange();
      this.focusCurrent();
      return true;
    }

    parentLine(line) {
      const level = this.levels[this.visible[line]];
      for (let up = line - 1; up >= 0; up--) if (this.levels[this.visible[up]] < level) return up;
      return line - 1;
    }

    click(event) {
      const element = event.target.closest(".line");
      if (!element) return;
      const line = Number(element.dataset.line);
      this.current = line;
      if (event.target.closest(".guide") && this.fold(line, !this.folded.has(this.rows[this.visible[line]]))) return;
      this.onOpen(this.rows[this.visible[line]]);
    }

    key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || !this.visible?.length) return;
      const page = Math.floor(this.element.clientHeight / ROW_HEIGHT) - 1;
      const actions = {
        ArrowDown: () => this.move(this.current + 1),
        ArrowUp: () => this.move(this.current - 1),
        PageDown: () => this.move(this.current + page),
        PageUp: () => this.move(this.current - page),
        Home: () => this.move(0),
        End: () => this.move(this.visible.length - 1),
        ArrowRight: () => this.fold(this.current, false) || this.move(this.current + 1),
        ArrowLeft: () => this.fold(this.current, true) || this.move(this.parentLine(this.current)),
        Enter: () => this.onOpen(this.rows[this.visible[this.current]]),
        " ": () => this.onOpen(this.rows[this.visible[this.current]]),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      event.stopPropagation();
      action();
    }
  }

  // ---- The conversation ----

  const MAX_DRAWN = 90;
  const STEP = 16;
  const MARGIN = 900;
  const GUESSED_HEIGHT = 140;

  class Pane {
    constructor(session, scroller, box) {
      this.session = session;
      this.scroller = scroller;
      this.box = box;
      this.before = make("div", { className: "pad" });
      this.after = make("div", { className: "pad" });
      this.heights = new Map();
      this.path = new Int32Array(0);
      this.version = 0;
      [this.first, this.last] = [0, 0];
      scroller.addEventListener("scroll", () => this.later(), { passive: true });
      new ResizeObserver(() => this.later()).observe(scroller);
    }

    height(row) {
      return this.heights.get(row) ?? GUESSED_HEIGHT;
    }

    /** The height of some rows; a part of it, if the whole path would be too high for a browser. */
    sum(from, to) {
      let sum = 0;
      if (this.path.length > 50000) sum = (to - from) * GUESSED_HEIGHT;
      else for (let at = from; at < to; at++) sum += this.height(this.path[at]);
      return sum * this.scale;
    }

    /** The share of the real height that a row takes outside of the drawn part. */
    get scale() {
      return Math.min(1, MAX_HEIGHT / (this.path.length * GUESSED_HEIGHT + 1));
    }

    /** Shows a path, with a row at the top of the screen or the last row at the bottom. */
    async show(path, row) {
      this.path = path;
      const at = row === undefined ? path.length - 1 : Math.max(0, path.indexOf(row));
      await this.draw(Math.max(0, at - 4), Math.min(path.length, at + 12), true);
      if (row === undefined) this.scroller.scrollTop = this.scroller.scrollHeight;
      else this.reveal(row);
      this.later();
    }

    element(row) {
      return this.box.querySelector(`:scope > [data-row="${row}"]`);
    }

    /** Brings the top of an element to the top of the screen. */
    align(element) {
      if (!element) return;
      this.scroller.scrollTop += element.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top - 8;
    }

    reveal(row) {
      const element = this.element(row);
      if (!element) return;
      this.align(element);
      element.classList.add("target");
      setTimeout(() => element.classList.remove("target"), 2000);
    }

    /** Draws the rows from `first` to `last` of the path, and keeps what the reader sees in its place. */
    async draw(first, last, isFresh) {
      // What is drawn afresh replaces what other calls are still waiting for.
      const version = isFresh ? ++this.version : this.version;
      const rows = this.path.subarray(first, last);
      const missing = isFresh ? [...rows] : [...rows].filter((row) => !this.element(row));
      const html = await this.session.source.html(missing);
      if (version !== this.version) return;
      const anchor = isFresh ? undefined : this.anchor();
      const top = anchor?.getBoundingClientRect().top;
      for (const child of this.box.children) {
        if (child.dataset.row) this.heights.set(Number(child.dataset.row), child.offsetHeight);
      }
      const elements = [];
      for (const row of rows) {
        const known = isFresh ? undefined : this.element(row);
        elements.push(known ?? this.parse(row, html.get(row) ?? ""));
      }
      [this.first, this.last] = [first, last];
      this.before.style.height = `${this.sum(0, first)}px`;
      this.after.style.height = `${this.sum(last, this.path.length)}px`;
      this.place([this.before, ...elements, this.after]);
      if (anchor?.isConnected) this.scroller.scrollTop += anchor.getBoundingClientRect().top - top;
      highlightWords(this.box);
    }

    /** Makes these the children of the box. Those that stay are not moved, so that they keep the focus. */
    place(elements) {
      const staying = new Set(elements);
      for (const child of [...this.box.children]) if (!staying.has(child)) child.remove();
      let previous;
      for (const element of elements) {
        const isInPlace = element.parentNode === this.box && element.previousElementSibling === (previous ?? null);
        if (!isInPlace) previous ? previous.after(element) : this.box.prepend(element);
        previous = element;
      }
    }

    /** Draws the same rows again, in the same place and with the focus on the same one. */
    async redraw() {
      const anchor = this.anchor();
      const top = anchor?.getBoundingClientRect().top;
      const focused = document.activeElement?.closest?.("#entries > [data-row]");
      await this.draw(this.first, this.last, true);
      const again = anchor && this.element(anchor.dataset.row);
      if (again) this.scroller.scrollTop += again.getBoundingClientRect().top - top;
      if (focused) this.element(focused.dataset.row)?.focus({ preventScroll: true });
      this.later();
    }

    parse(row, html) {
      const template = document.createElement("template");
      template.innerHTML = html;
      const article = template.content.firstElementChild ?? make("article", { className: "e" });
      article.dataset.row = row;
      enhance(article, this.session);
      return article;
    }

    /** The first element that the reader sees. */
    anchor() {
      const top = this.scroller.getBoundingClientRect().top;
      for (const child of this.box.children) {
        if (child.dataset.row && child.getBoundingClientRect().bottom > top) return child;
      }
    }

    later() {
      this.frame ??= requestAnimationFrame(async () => {
        try {
          await this.extend();
        } finally {
          this.frame = undefined;
        }
      });
    }

    /** Draws more rows where the screen comes near the end of those that are drawn. */
    async extend() {
      for (let steps = 0; steps < 20 && this.last > 0; steps++) {
        const view = this.scroller.getBoundingClientRect();
        const top = this.before.getBoundingClientRect().bottom;
        const bottom = this.after.getBoundingClientRect().top;
        if (bottom < view.top - MARGIN || top > view.bottom + MARGIN) {
          const at = this.guess();
          await this.draw(Math.max(0, at - 8), Math.min(this.path.length, at + 16), true);
          this.align(this.element(this.path[at]));
        } else if (top > view.top - MARGIN && this.first > 0) {
          const first = Math.max(0, this.first - STEP);
          await this.draw(first, Math.min(this.last, first + MAX_DRAWN), false);
        } else if (bottom < view.bottom + MARGIN && this.last < this.path.length) {
          const last = Math.min(this.path.length, this.last + STEP);
          await this.draw(Math.max(this.first, last - MAX_DRAWN), last, false);
        } else {
          return;
        }
      }
    }

    /** The place in the path at the scroll position, after a jump to a part that is not drawn. */
    guess() {
      let y = (this.scroller.scrollTop - this.box.offsetTop) / this.scale;
      let at = 0;
      if (this.path.length > 50000) at = Math.floor(y / GUESSED_HEIGHT);
      else while (at < this.path.length && (y -= this.height(this.path[at])) > 0) at++;
      return Math.max(0, Math.min(this.path.length - 1, at));
    }

    /** The row that the reader sees first. */
    get current() {
      const row = this.anchor()?.dataset.row;
      return row === undefined ? -1 : this.path.indexOf(Number(row));
    }

    /** Goes to the next or previous prompt of the user. */
    async prompt(step) {
      let at = this.current;
      do at += step;
      while (at >= 0 && at < this.path.length && this.session.kinds[this.path[at]] !== USER);
      if (at >= 0 && at < this.path.length) await this.go(this.path[at]);
    }

    async go(row) {
      const at = this.path.indexOf(row);
      if (at < 0) return;
      if (at < this.first || at >= this.last) {
        await this.draw(Math.max(0, at - 4), Math.min(this.path.length, at + 12), true);
      }
      this.reveal(row);
      this.element(row)?.focus({ preventScroll: true });
      this.later();
    }
  }

  // ---- Details of entries ----

  /** Adds what needs a script: pictures, copy buttons, and the state of the switches. */
  function enhance(article, session) {
    for (const image of article.querySelectorAll("img[data-image]")) {
      const [row, number] = image.dataset.image.split(":").map(Number);
      if (session.source.imageUrl) {
        image.src = session.source.imageUrl(row, number);
        continue;
      }
      session.image(row, number).then(
        (data) => (image.src = `data:${image.dataset.type};base64,${data}`),
        () => image.replaceWith(make("em", { textContent: "The picture cannot be read." })),
      );
    }
    for (const details of article.querySelectorAll("details.thinking")) details.open = switches.thinking;
    for (const details of article.querySelectorAll("details.rest")) details.open = switches.outputs;
    if (switches.split) for (const diff of article.querySelectorAll("pre.diff")) sideBySide(diff);
    for (const pre of article.querySelectorAll("pre")) {
      const button = make("button", { className: "copy", type: "button", textContent: "Copy" });
      button.setAttribute("aria-label", "Copy this text");
      const frame = make("div", { className: "frame" });
      pre.replaceWith(frame);
      frame.append(pre, button);
    }
    const header = article.querySelector("header");
    if (header) header.append(make("button", { className: "copy whole", type: "button", textContent: "Copy", ariaLabel: "Copy this entry" }));
  }

  const switches = { thinking: true, outputs: false, split: false };

  function sideBySide(pre) {
    const table = make("table", { className: "sides" });
    table.setAttribute("aria-label", "Changes side by side");
    const body = table.createTBody();
    let [removed, added] = [[], []];
    const flush = () => {
      for (let at = 0; at < Math.max(removed.length, added.length); at++) {
        const line = body.insertRow();
        for (const [side, name] of [[removed, "o"], [added, "w"]]) {
          const cell = line.insertCell();
          if (side[at]) {
            cell.className = name;
            cell.append(...[...side[at].childNodes].map((node) => node.cloneNode(true)));
          }
        }
      }
      [removed, added] = [[], []];
    };
    for (const line of pre.querySelectorAll(".d")) {
      if (line.classList.contains("o")) removed.push(line);
      else if (line.classList.contains("w")) added.push(line);
      else {
        flush();
        const both = body.insertRow();
        for (let side = 0; side < 2; side++) both.insertCell().append(line.textContent);
      }
    }
    flush();
    pre.classList.add("replaced");
    pre.after(table);
  }

  async function showMore(button, session) {
    const [row, part] = button.dataset.more.split(":").map(Number);
    button.disabled = true;
    const name = button.dataset.class;
    const windows = session.source.windows(row, part);
    const next = async () => {
      const { value, done } = await windows.next();
      if (done) return button.remove();
      const element = make(name === "md" ? "div" : "pre", { className: name });
      if (name !== "md") element.tabIndex = 0;
      element.innerHTML = value;
      button.before(element);
      button.disabled = false;
    };
    button.onclick = next;
    await next();
  }

  let searched = [];

  /** Marks the words of the search in what is on the screen. */
  function highlightWords(root) {
    if (!globalThis.Highlight) return;
    CSS.highlights.clear();
    if (!searched.length) return;
    const ranges = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < 2000; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      for (const word of searched) {
        for (let at = text.indexOf(word); at >= 0 && ranges.length < 2000; at = text.indexOf(word, at + word.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, at + word.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  // ---- The page ----

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

  function textOf(element) {
    const clone = element.cloneNode(true);
    for (const extra of clone.querySelectorAll("header, button, summary, table.sides")) extra.remove();
    return clone.textContent.trim();
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("sessile:theme", theme);
    } catch {}
  }

  const HELP = [
    ["/", "Search in this session"],
    ["Enter, Shift+Enter", "Next and previous hit, in the search box"],
    ["n, p", "Next and previous prompt"],
    ["e", "Go to the tree"],
    ["↑ ↓ ← →, Enter", "In the tree: move, fold, open"],
    ["f", "Next filter of the tree"],
    ["t, o", "Show or hide thinking, tool output"],
    ["s", "Changes side by side or below each other"],
    ["g, G", "First and last entry"],
    ["b", "Show or hide the tree"],
    ["d", "Dark or light"],
    ["Esc", "End the search"],
    ["?", "This help"],
  ];

  function help() {
    let dialog = $("keys");
    if (!dialog) {
      const list = make("dl");
      for (const [key, meaning] of HELP) list.append(make("div", {}, make("dt", { textContent: key }), make("dd", { textContent: meaning })));
      const close = make("button", { type: "button", textContent: "Close", onclick: () => dialog.close() });
      dialog = make("dialog", { id: "keys" }, make("h2", { textContent: "Keyboard" }), list, close);
      dialog.setAttribute("aria-label", "Keyboard shortcuts");
      document.body.append(dialog);
    }
    dialog.showModal();
  }

  async function start() {
    const index = JSON.parse($("index").textContent);
    const source = index.base ? new HttpSource(index) : new FileSource(index);
    const session = await Session.load(source, index.rows);
    const pane = new Pane(session, $("pane"), $("entries"));
    const tree = new Tree(session, $("tree"), (row) => {
      // On a phone the tree covers the conversation.
      if (document.body.classList.contains("side-open")) toggleTree();
      open(row, true);
    });
    let leaf = index.leaf;

    /** Shows an entry: on the current branch if it is there, else on the newest branch through it. */
    async function open(row, isNew) {
      if (!pane.path.includes(row)) {
        leaf = session.newestBelow(row);
        const path = session.path(leaf);
        tree.mark(path);
        await pane.show(path, row);
      } else {
        await pane.go(row);
      }
      tree.select(row);
      const id = pane.element(row)?.id;
      if (isNew && id && decodeURIComponent(location.hash.slice(1)) !== id) {
        history.pushState(null, "", `#${encodeURIComponent(id)}`);
      }
    }

    /** Follows the address: `#entry-ID`, or pi's `?leafId=…&targetId=…`. */
    async function follow() {
      const query = new URLSearchParams(location.search);
      const hash = decodeURIComponent(location.hash.slice(1));
      const wanted = hash.startsWith("entry-") ? hash.slice(6) : query.get("targetId") ?? query.get("leafId");
      if (!wanted) return false;
      const branch = query.get("leafId") ? await source.find(query.get("leafId")) : -1;
      const row = await source.find(wanted);
      if (row < 0) {
        say("There is no such entry.");
        return false;
      }
      if (branch >= 0 && session.path(branch).includes(row)) {
        leaf = branch;
        const path = session.path(branch);
        tree.mark(path);
        await pane.show(path, row);
        tree.select(row);
      } else {
        await open(row, false);
      }
      return true;
    }

    const path = session.path(leaf);
    pane.path = path;
    if (!(await follow().catch(() => false))) await pane.show(path);
    tree.mark(session.path(leaf));
    await tree.show("default");
    if (tree.selected === undefined && leaf >= 0) tree.select(leaf);
    document.documentElement.classList.add("ready");

    addEventListener("hashchange", follow);

    // Search.
    let version = 0;
    let wait;
    let before;
    const entriesOf = (count) => `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}`;
    async function search() {
      const own = ++version;
      searched = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
      highlightWords($("entries"));
      if (!searched.length) {
        tree.hits = undefined;
        if (before) {
          const filter = before;
          before = undefined;
          await tree.show(filter);
        } else tree.arrange();
        $("found").textContent = "";
        return;
      }
      if (!before) {
        before = tree.filter;
        tree.hits = new Set();
        tree.list();
      }
      tree.hits = new Set();
      let shown = 0;
      await session.search(
        searched,
        (rows, share) => {
          for (const row of rows) tree.hits.add(row);
          const count = tree.hits.size;
          $("found").textContent = share < 1 ? `${entriesOf(count)} so far, ${Math.round(share * 100)} %` : `${entriesOf(count)} found`;
          if (share === 1 || performance.now() - shown > 150) {
            tree.arrange();
            shown = performance.now();
          }
        },
        () => own !== version,
      );
    }
    $("search").addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(search, 120);
    });
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        $("search").value = "";
        search();
        $("search").blur();
      } else if (event.key === "Enter" && tree.hits && tree.visible.length) {
        const step = event.shiftKey ? -1 : 1;
        const isFirst = !tree.hits.has(tree.selected);
        const line = isFirst ? 0 : (tree.lineOf(tree.selected) + step + tree.visible.length) % tree.visible.length;
        open(tree.rows[tree.visible[line]], true).then(() => $("search").focus());
      } else if (event.key === "ArrowDown" && tree.visible?.length) {
        event.preventDefault();
        tree.focusCurrent();
      }
    });
    const setFilter = async (name) => {
      $("filter").value = name;
      if (before) before = name;
      else await tree.show(name);
    };
    $("filter").addEventListener("change", () => setFilter($("filter").value));

    // Switches.
    const toggle = (name) => {
      switches[name] = !switches[name];
      pane.redraw();
    };
    const toggleTheme = () => {
      const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
      const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light");
      setTheme(now === "dark" ? "light" : "dark");
    };
    const toggleTree = () => {
      const isOpen = document.body.classList.toggle(innerWidth <= 800 ? "side-open" : "side-closed");
      $("menu").setAttribute("aria-expanded", String(innerWidth <= 800 ? isOpen : !isOpen));
    };
    $("theme").addEventListener("click", toggleTheme);
    $("menu").addEventListener("click", toggleTree);
    $("help").addEventListener("click", help);
    $("download").addEventListener("click", async () => {
      if (index.base) return source.download();
      const url = URL.createObjectURL(await source.download());
      make("a", { href: url, download: `${index.id.replace(/[^\w.-]/g, "_")}.jsonl` }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
    });
    $("pane").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.dataset.more && !button.onclick) showMore(button, session);
      else if (button?.classList.contains("whole")) copy(textOf(button.closest("article")));
      else if (button?.classList.contains("copy")) copy(button.parentElement.querySelector("pre").textContent);
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, select, textarea, dialog")) return;
      const filters = [...$("filter").options].map((option) => option.value);
      const actions = {
        "/": () => $("search").focus(),
        "?": help,
        n: () => pane.prompt(1),
        p: () => pane.prompt(-1),
        e: () => tree.focusCurrent(),
        f: () => setFilter(filters[(filters.indexOf($("filter").value) + 1) % filters.length]),
        t: () => toggle("thinking"),
        o: () => toggle("outputs"),
        s: () => toggle("split"),
        g: () => pane.go(pane.path[0]),
        G: () => pane.go(pane.path[pane.path.length - 1]),
        b: toggleTree,
        d: toggleTheme,
        Escape: () => {
          if ($("search").value) {
            $("search").value = "";
            search();
          }
        },
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }

  if (typeof document === "undefined") return answerSearches();
  const workerUrl = URL.createObjectURL(new Blob([document.currentScript.textContent], { type: "text/javascript" }));
  try {
    const theme = localStorage.getItem("sessile:theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {}
  start().catch((error) => {
    $("status").textContent = `This page cannot show the session: ${error.message}`;
    document.documentElement.classList.add("ready");
  });
})();

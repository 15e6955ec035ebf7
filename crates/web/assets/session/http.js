// The session on a server.

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
    if (!this.lines.has(first)) {
      const lines = this.pieces("titles", { from: first });
      this.lines.set(first, lines);
      // Another attempt may succeed, for example after the server was started again.
      lines.catch(() => this.lines.get(first) === lines && this.lines.delete(first));
    }
    return { first, lines: await this.lines.get(first) };
  }

  /** Forgets the titles of rows from this one on, because there are more now. */
  forgetTitles(row) {
    for (const first of this.lines?.keys() ?? []) if (first + this.index.titles > row) this.lines.delete(first);
  }

  /** The usage and the changed files of the rows of a branch up to `leaf`, after `top` (-1 for all). */
  async facts(leaf, top) {
    return new Uint8Array(await (await this.get("facts", { leaf, top })).arrayBuffer());
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

const openSource = (index) => new HttpSource(index);

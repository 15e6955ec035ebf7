// The session inside an exported page: chunks, unpacked when they are needed.

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

  /** The usage and the changed files of all rows. A server sends only those of the branch. */
  facts() {
    return this.chunk("facts");
  }

  /** The row with an id; the last one if there are several. */
  async find(wanted) {
    const id = encodeURIComponent(wanted).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
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

const openSource = (index) => new FileSource(index);

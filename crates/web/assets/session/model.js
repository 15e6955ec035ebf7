// The session in memory: parents, positions and types of its rows.

/** Reads the numbers that the server or the exporter wrote. */
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

const USER = 1;
const SETTING = 6;

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

  /** Adds rows at the end. */
  extend({ from, parents, offsets, lengths, kinds }) {
    const n = from + parents.length;
    if (n > this.parents.length) {
      const size = Math.ceil(n * 1.25) + 64;
      for (const name of ["parents", "offsets", "lengths", "kinds"]) {
        const larger = new this[name].constructor(size);
        larger.set(this[name]);
        this[name] = larger;
      }
    }
    this.parents.set(parents, from);
    this.offsets.set(offsets, from);
    this.lengths.set(lengths, from);
    this.kinds.set(kinds, from);
    this.n = n;
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
    if (isStale()) return;
    // Its memory is of the size of the session. The next search starts another one.
    this.worker.terminate();
    this.worker = undefined;
  }
}

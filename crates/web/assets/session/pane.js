// The conversation.

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
    // A fresh drawing replaces what other calls are still waiting for.
    const version = isFresh ? ++this.version : this.version;
    const rows = this.path.subarray(first, last);
    const html = new Map();
    // Another call may remove elements while this one waits.
    for (;;) {
      const missing = [...rows].filter((row) => !html.has(row) && (isFresh || !this.element(row)));
      if (!missing.length) break;
      for (const [row, text] of await this.session.source.html(missing)) html.set(row, text);
      if (version !== this.version) return;
    }
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
    this.onDraw?.();
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
    const focused = [...this.box.children].find((child) => child.dataset.row && child.contains(document.activeElement));
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

  /** The first element that the reader sees more of than its edge. */
  anchor() {
    const top = this.scroller.getBoundingClientRect().top;
    for (const child of this.box.children) {
      if (child.dataset.row && child.getBoundingClientRect().bottom > top + 4) return child;
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
    // What is not on the screen has no places.
    if (!this.scroller.clientHeight) return;
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

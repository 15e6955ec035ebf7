// The tree.

const FOLDABLE = 1;
const CONNECTED = 2;
const LAST = 4;
const COSTS = 8;
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
    const version = (this.version = (this.version ?? 0) + 1);
    const numbers = new Numbers(await this.session.source.tree(filter));
    const [rows, levels, flags, below] = [[], [], [], []];
    const costs = new Map();
    let row = 0;
    let started = performance.now();
    while (!numbers.isDone) {
      row += numbers.signed();
      const value = numbers.next();
      rows.push(row);
      levels.push(Math.floor(value / 16));
      flags.push(value % 16);
      below.push(value & FOLDABLE ? numbers.next() : 0);
      if (value & COSTS) costs.set(rows.length - 1, numbers.next() / 10000);
      if ((rows.length & 4095) === 0 && performance.now() - started > SLICE_MS) {
        await rest();
        started = performance.now();
      }
    }
    // Something else is to be shown by now.
    if (version !== this.version) return;
    this.filter = filter;
    Object.assign(this, {
      rows: new Int32Array(rows),
      levels: new Int32Array(levels),
      flags: new Uint8Array(flags),
      below: new Int32Array(below),
      costs,
    });
    this.arrange();
  }

  /** Lists all entries in the order of the file. A search needs it, because every filter hides some entries. */
  list() {
    const n = this.session.n;
    const rows = new Int32Array(n);
    for (let row = 0; row < n; row++) rows[row] = row;
    this.version = (this.version ?? 0) + 1;
    this.filter = undefined;
    Object.assign(this, {
      rows,
      levels: new Int32Array(n),
      flags: new Uint8Array(n),
      below: new Int32Array(n),
      costs: new Map(),
    });
    this.arrange();
  }

  /** Marks the rows of the current branch. */
  mark(path) {
    if (this.onPath.length < this.session.n) this.onPath = new Uint8Array(this.session.parents.length);
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
    this.visible = new Int32Array(visible);
    const height = this.visible.length * ROW_HEIGHT;
    this.spacer.style.height = `${Math.min(height, MAX_HEIGHT)}px`;
    this.current = Math.min(this.current, Math.max(0, this.visible.length - 1));
    this.redraw();
  }

  redraw() {
    const isFocused = this.element.contains(document.activeElement);
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.draw();
    if (isFocused) (this.drawn.get(this.current) ?? this.element).focus({ preventScroll: true });
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
    if (this.secrets?.has(row)) element.append(make("span", { className: "secret", textContent: "secret" }));
    if (this.fresh?.has(row)) element.append(make("span", { className: "fresh", textContent: "new" }));
    if (isFolded) element.append(make("span", { className: "count", textContent: ` (${this.below[at]} hidden)` }));
    const cost = this.hits ? undefined : this.costs?.get(at);
    if (cost) element.append(make("span", { className: "cost", textContent: ` $${cost.toFixed(cost < 0.01 ? 4 : 2)}`, title: "The cost from here on, on all branches" }));
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

  /** The row with the keyboard focus, or -1. */
  get focusedRow() {
    const isFocused = this.element.contains(document.activeElement) && this.visible?.length;
    return isFocused ? this.rows[this.visible[this.current]] : -1;
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

// Follows the session while other programs write to it.

/** The server sends something every 15 seconds. */
const SILENCE_MS = 40000;
const RETRY_MS = [500, 30000];
/** The distance from the end of the pane that still counts as its end. */
const END_PX = 60;
/** The pause before the tree is loaded again: ten times as long as it takes, within these limits. */
const TREE_PAUSE_MS = [100, 20000];
/** The pause before the header card is loaded again. */
const CARD_PAUSE_MS = 1000;

class Live {
  constructor(page) {
    this.page = page;
    this.cursor = page.index.cursor;
    this.dot = make("span", { className: "dot" });
    document.querySelector(".bar .name").before(this.dot);
    this.news = make("div", { id: "news" });
    this.news.setAttribute("role", "status");
    $("pane").append(this.news);
    // New rows that the reader has not seen: at the end of the shown branch, and on others.
    this.below = [];
    this.elsewhere = [];
    this.work = Promise.resolve();
    [this.delay] = RETRY_MS;
    [this.treePause] = TREE_PAUSE_MS;
    page.tree.fresh = new Set();
    $("pane").addEventListener("scroll", () => this.noteSeen(), { passive: true });
    // A hidden tab must not use one of the few connections that a browser has for a server.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.connect()));
    setInterval(() => this.events && Date.now() - this.heard > SILENCE_MS && this.connect(), 5000);
    this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.events?.close();
    this.events = undefined;
  }

  connect() {
    this.close();
    if (document.hidden) return;
    this.heard = Date.now();
    const events = new EventSource(`${this.page.index.base}events?${new URLSearchParams({ cursor: this.cursor })}`);
    this.events = events;
    const on = (name, take) =>
      events.addEventListener(name, (event) => {
        if (events !== this.events) return;
        this.heard = Date.now();
        [this.delay] = RETRY_MS;
        if (event.lastEventId) this.cursor = event.lastEventId;
        take(event.data);
      });
    on("rows", (data) => this.soon(() => this.add(JSON.parse(data))));
    on("status", (data) => setCourse(this.dot, JSON.parse(data)));
    on("tree", () => this.loadTree());
    on("reset", () => this.reset());
    on("gone", () => {
      setCourse(this.dot, [["gone", 0, "The file is gone"]]);
      say("The file of this session is gone.");
    });
    on("beat", () => {});
    events.addEventListener("error", () => {
      // The browser connects again by itself after a lost connection, but not after a refusal.
      if (events !== this.events || events.readyState !== EventSource.CLOSED) return;
      this.timer = setTimeout(() => this.connect(), this.delay);
      this.delay = Math.min(RETRY_MS[1], this.delay * 2);
    });
  }

  /** Runs something after everything before it. A failure of one does not stop the others. */
  soon(run) {
    this.work = this.work.then(run).catch((error) => say(error.message));
  }

  get isAtEnd() {
    const { pane } = this.page;
    const { scrollHeight, scrollTop, clientHeight } = pane.scroller;
    return pane.last >= pane.path.length && scrollHeight - scrollTop - clientHeight < END_PX;
  }

  /** Adds new rows to the session, to the shown branch if they continue it, and to the tree. */
  async add(news) {
    const { session, pane, tree, source } = this.page;
    const first = session.n;
    const n = news.from + news.parents.length;
    if (news.from > first) return this.reset();
    if (n <= first) return;
    const isAtEnd = this.isAtEnd;
    session.extend(news);
    source.forgetTitles(first);
    const before = this.page.leaf;
    const added = [];
    const others = [];
    for (let row = first; row < n; row++) {
      if (!session.kinds[row]) continue;
      if (session.parents[row] === this.page.leaf) {
        added.push(row);
        this.page.leaf = row;
      } else {
        others.push(row);
      }
    }
    if (added.length) {
      document.querySelector("#pane > .empty")?.remove();
      pane.path = Int32Array.from([...pane.path, ...added]);
    }
    tree.mark(pane.path);
    this.elsewhere.push(...others);
    if (!isAtEnd) this.below.push(...added);
    for (const row of [...others, ...(isAtEnd ? [] : added)]) tree.fresh.add(row);
    if (added.length && isAtEnd) {
      const last = pane.path.length;
      await pane.draw(Math.max(0, Math.min(pane.first, last - 1), last - MAX_DRAWN), last, false);
      pane.scroller.scrollTop = pane.scroller.scrollHeight;
    }
    pane.later();
    if (news.labels) {
      // A label may be on any entry.
      source.forgetTitles(0);
      tree.titles.clear();
      await pane.redraw();
    }
    this.drawNews();
    this.loadCard();
    this.loadTree(isAtEnd && tree.selected === before ? this.page.leaf : undefined);
  }

  /** Loads the tree again, soon. `selected` becomes the selected row. */
  loadTree(selected) {
    if (selected !== undefined) this.selected = selected;
    this.isTreeOld = true;
    this.treeTimer ??= setTimeout(async () => {
      const { tree } = this.page;
      this.isTreeOld = false;
      const begun = performance.now();
      const isFocused = tree.element.contains(document.activeElement);
      const row = tree.rows?.[tree.visible[tree.current]];
      try {
        // While it shows hits of a search, the tree is loaded when the search ends.
        if (tree.filter) await tree.show(tree.filter);
        if (tree.filter && this.selected !== undefined && !isFocused) {
          tree.select(this.selected);
        } else if (row !== undefined) {
          tree.current = Math.max(0, tree.lineOf(row));
          tree.redraw();
        }
        if (isFocused) tree.focusCurrent();
        this.selected = undefined;
      } catch {
        // The server does not answer. What it sends when it is back includes a reason to load the tree.
      }
      const [least, most] = TREE_PAUSE_MS;
      this.treePause = Math.min(most, Math.max(least, 10 * (performance.now() - begun)));
      this.treeTimer = undefined;
      if (this.isTreeOld) this.loadTree();
    }, this.treePause);
  }

  /** Loads the header card again: soon, and once more when the server has counted everything. */
  loadCard() {
    this.cardLoads = 2;
    this.cardTimer ??= setInterval(async () => {
      if (--this.cardLoads <= 0) {
        clearInterval(this.cardTimer);
        this.cardTimer = undefined;
      }
      try {
        this.drawCard(await (await this.page.source.get("card")).text());
      } catch {
        // The server does not answer. The next new rows are a reason to ask again.
      }
    }, CARD_PAUSE_MS);
  }

  drawCard(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const card = template.content.firstElementChild;
    const shown = document.querySelector("#pane > .card");
    if (!card || shown.isEqualNode(card)) return;
    const title = card.querySelector("h1").textContent;
    shown.replaceWith(card);
    document.title = title;
    document.querySelector(".bar .name").textContent = title;
  }

  /** Forgets new rows that the reader has reached. */
  noteSeen() {
    if (!this.below.length && !this.elsewhere.length) return;
    const { pane, tree } = this.page;
    const onPath = this.elsewhere.filter((row) => tree.onPath[row]);
    const seen = [...onPath, ...(this.isAtEnd ? this.below : [])];
    if (!seen.length) return;
    if (this.isAtEnd) this.below = [];
    this.elsewhere = this.elsewhere.filter((row) => !tree.onPath[row]);
    for (const row of seen) tree.fresh.delete(row);
    tree.redraw();
    this.drawNews();
  }

  drawNews() {
    const count = (rows) => rows.filter((row) => this.page.session.kinds[row] <= 5).length;
    const [below, elsewhere] = [count(this.below), count(this.elsewhere)];
    const words = (n, where) => `${n} new ${n === 1 ? "message" : "messages"}${where}`;
    const text = [below && words(below, ""), elsewhere && words(elsewhere, " on another branch")].filter(Boolean).join(", ");
    if (text === this.news.textContent) return;
    if (!text) return this.news.replaceChildren();
    this.news.replaceChildren(make("button", { type: "button", textContent: text, onclick: () => this.go() }));
  }

  /** Goes to the first new row of the shown branch, or else to the newest branch with new rows. */
  async go() {
    const { page } = this;
    const row = this.below[0] ?? this.elsewhere[0];
    if (row === undefined) return;
    for (const seen of this.below.length ? this.below : []) page.tree.fresh.delete(seen);
    this.below = [];
    await page.show(row, false);
    page.tree.redraw();
    this.noteSeen();
    this.drawNews();
  }

  /** Loads the page again, at the same entry, because other rows are in the file now. */
  async reset() {
    if (this.isResetting) return;
    this.isResetting = true;
    const { pane, source } = this.page;
    const id = this.isAtEnd ? undefined : pane.anchor()?.id;
    this.close();
    say("The session was changed. Loading it again.");
    // The server may need a moment to find the file that is there now.
    for (;;) {
      try {
        await source.get("find", { id: "" });
        break;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
    history.replaceState(null, "", location.pathname + location.search + (id ? `#${id}` : ""));
    location.reload();
  }
}

features.push((page) => {
  page.live = new Live(page);
  page.addKey("N", "Go to the new messages", () => page.live.go());
});

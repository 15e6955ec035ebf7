// The page: the tree and the conversation beside each other, addresses, keys and switches.

class Page {
  static async open(index) {
    const page = new Page();
    page.index = index;
    page.source = openSource(index);
    page.session = await Session.load(page.source, index.rows);
    page.pane = new Pane(page.session, $("pane"), $("entries"));
    page.openRow = (row) => {
      if (page.choose) return page.choose(row);
      // On a phone the tree covers the conversation.
      if (document.body.classList.contains("side-open")) page.toggleTree();
      page.show(row, true);
    };
    page.tree = new Tree(page.session, $("tree"), page.openRow);
    page.keys = new Map();
    page.followers = [];
    page.leaf = index.leaf;
    const path = page.session.path(page.leaf);
    page.pane.path = path;
    if (!(await page.followAddress().catch(() => false))) await page.pane.show(path);
    page.tree.mark(page.session.path(page.leaf));
    await page.tree.show("default");
    if (page.tree.selected === undefined && page.leaf >= 0) page.tree.select(page.leaf);
    return page;
  }

  /** Shows the branch that ends at `leaf`, with `row` at the top, or its end. */
  async showBranch(leaf, row) {
    this.closeComparison?.();
    this.leaf = leaf;
    const path = this.session.path(leaf);
    this.tree.mark(path);
    this.showWhetherCurrent(path);
    await this.pane.show(path, row);
  }

  /** Says so if the branch is not the one that the session continues from. */
  showWhetherCurrent(path) {
    $("other-branch")?.remove();
    const current = this.index.leaf;
    if (current < 0 || path.includes(current) || this.session.path(current).includes(path.at(-1))) return;
    const back = make("button", { type: "button", textContent: "Show the current branch" });
    back.addEventListener("click", () => {
      history.pushState(null, "", location.pathname + location.search);
      this.showBranch(current);
      this.tree.select(current);
    });
    $("entries").before(make("p", { id: "other-branch", className: "aside" }, "The session does not continue from this branch. ", back));
  }

  /** Shows an entry: on the current branch if it is there, else on the newest branch through it. */
  async show(row, isNew) {
    this.closeComparison?.();
    if (this.pane.path.includes(row)) await this.pane.go(row);
    else {
      await this.showBranch(this.session.newestBelow(row), row);
      this.pane.element(row)?.focus({ preventScroll: true });
    }
    this.tree.select(row);
    const anchor = this.pane.element(row)?.id;
    if (isNew && anchor && location.hash !== `#${anchor}`) history.pushState(null, "", `#${anchor}`);
  }

  /** The address of a row after `#`, which is the `id` of its element. */
  async anchorOf(row) {
    const template = document.createElement("template");
    template.innerHTML = (await this.source.html([row])).get(row) ?? "";
    return template.content.firstElementChild?.id;
  }

  /** The conversation that keys act on. */
  get active() {
    return this.compared?.pane ?? this.pane;
  }

  /** Follows the address: `#entry-ID`, or pi's `?leafId=…&targetId=…`. */
  async followAddress() {
    const query = new URLSearchParams(location.search);
    const hash = location.hash.slice(1);
    for (const follow of this.followers) if (await follow(hash)) return true;
    const isEntry = hash.startsWith("entry-");
    const wanted = isEntry ? decoded(hash.slice(6)) : query.get("targetId") ?? query.get("leafId");
    if (!wanted) return false;
    const branch = query.get("leafId") ? await this.source.find(query.get("leafId")) : -1;
    const row = await this.source.find(wanted);
    if (row < 0) {
      say("There is no such entry.");
      return false;
    }
    if (branch >= 0 && this.session.path(branch).includes(row)) {
      await this.showBranch(branch, row);
      this.tree.select(row);
    } else {
      await this.show(row, false);
    }
    return true;
  }

  /** Makes a key run an action. The help lists `label`, or the key, with `meaning`. */
  addKey(key, meaning, run, label = key) {
    this.keys.set(key, { meaning, run, label });
  }

  /** Follows the address after it has changed. Without an entry it means what the page showed at first. */
  async addressChanged() {
    const isFollowed = await this.followAddress();
    if (!isFollowed && !location.hash) await this.showBranch(this.index.leaf);
  }

  openSide() {
    const isPhone = innerWidth <= 800;
    if (document.body.classList.contains(isPhone ? "side-open" : "side-closed") !== isPhone) this.toggleTree();
  }

  toggleTree() {
    const isPhone = innerWidth <= 800;
    const isOn = document.body.classList.toggle(isPhone ? "side-open" : "side-closed");
    $("menu").setAttribute("aria-expanded", String(isPhone ? isOn : !isOn));
  }

  toggle(name) {
    switches[name] = !switches[name];
    this.pane.redraw();
    for (const side of this.compared?.sides ?? []) side.pane.redraw();
  }

  async setFilter(name) {
    $("filter").value = name;
    if (this.filterBeforeSearch) this.filterBeforeSearch = name;
    else await this.tree.show(name);
  }

  nextFilter(step = 1) {
    const filters = [...$("filter").options].map((option) => option.value);
    return this.setFilter(filters[(filters.indexOf($("filter").value) + step + filters.length) % filters.length]);
  }

  async download() {
    if (this.askForDownload) return this.askForDownload();
    const url = URL.createObjectURL(await this.source.download());
    make("a", { href: url, download: `${this.index.id.replace(/[^\w.-]/g, "_")}.jsonl` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  help() {
    let dialog = $("keys");
    if (!dialog) {
      const list = make("dl");
      for (const { label, meaning } of this.keys.values()) {
        if (meaning) list.append(make("div", {}, make("dt", { textContent: label }), make("dd", { textContent: meaning })));
      }
      const close = make("button", { type: "button", textContent: "Close", onclick: () => dialog.close() });
      dialog = make("dialog", { id: "keys" }, make("h2", { textContent: "Keyboard" }), list, close);
      dialog.setAttribute("aria-label", "Keyboard shortcuts");
      document.body.append(dialog);
    }
    dialog.showModal();
  }
}

function textOf(element) {
  const clone = element.cloneNode(true);
  for (const extra of clone.querySelectorAll("header, button, summary, table.sides")) extra.remove();
  return clone.textContent.trim();
}

/** Runs the button of an entry that was clicked. */
function clickEntry(event, session) {
  const button = event.target.closest("button");
  if (button?.dataset.more && !button.onclick) showMore(button, session);
  else if (button?.classList.contains("whole")) copy(textOf(button.closest("article")));
  else if (button?.classList.contains("copy")) copy(button.parentElement.querySelector("pre").textContent);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("sessile:theme", theme);
  } catch {}
}

function toggleTheme() {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (isDark ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
}

features.push((page) => {
  const { tree } = page;
  page.addKey("n", "Next and previous prompt", () => page.active.prompt(1), "n, p");
  page.addKey("p", "", () => page.active.prompt(-1));
  page.addKey("e", "Go to the tree", () => tree.focusCurrent());
  page.addKey("Arrows", "In the tree: move, fold, open", undefined, "↑ ↓ ← →, Enter");
  page.addKey("f", "Next filter of the tree", () => page.nextFilter());
  page.addKey("t", "Show or hide thinking, tool output", () => page.toggle("thinking"), "t, o");
  page.addKey("o", "", () => page.toggle("outputs"));
  page.addKey("s", "Changes side by side or below each other", () => page.toggle("split"));
  page.addKey("g", "First and last entry", () => page.active.go(page.active.path[0]), "g, G");
  page.addKey("G", "", () => page.active.go(page.active.path.at(-1)));
  page.addKey("b", "Show or hide the tree", () => page.toggleTree());
  page.addKey("d", "Dark or light", toggleTheme);
  page.addKey("?", "This help", () => page.help());

  // Printed pages show what is folded on the screen.
  const folded = [];
  addEventListener("beforeprint", () => {
    folded.push(...document.querySelectorAll("#entries details:not([open])"));
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded.splice(0)) details.open = false;
  });
  addEventListener("hashchange", () => page.addressChanged());
  $("filter").addEventListener("change", () => page.setFilter($("filter").value));
  $("theme").addEventListener("click", toggleTheme);
  $("menu").addEventListener("click", () => page.toggleTree());
  $("help").addEventListener("click", () => page.help());
  $("download").addEventListener("click", () => page.download());
  $("pane").addEventListener("click", (event) => clickEntry(event, page.session));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, select, textarea, dialog")) return;
    const action = page.keys.get(event.key)?.run;
    if (!action) return;
    event.preventDefault();
    action();
  });
});

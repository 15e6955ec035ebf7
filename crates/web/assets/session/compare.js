// Two branches side by side, from the entry where they split on.

const SIDE_NAMES = ["First branch", "Second branch"];
const MAX_LISTED = 100;
const MAX_FILES = 200;

const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const button = (textContent, onclick, more = {}) => make("button", { type: "button", textContent, onclick, ...more });

/** A number of tokens: `950`, `1.2k`, `3.4M`. */
function tokensText(tokens) {
  if (tokens < 1000) return String(tokens);
  return tokens < 1e6 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1e6).toFixed(1)}M`;
}

/** A cost in dollars, with enough digits to see it. */
const costText = (cost) => `$${cost.toFixed(cost < 0.01 ? 4 : 2)}`;

/** The number of rows that two paths share at their beginning. */
function sharedRows(one, other) {
  let n = 0;
  while (n < one.length && n < other.length && one[n] === other[n]) n++;
  return n;
}

/** The usage and the changed files of some rows. */
async function factsOf(bytes, rows) {
  const wanted = new Set(rows);
  const numbers = new Numbers(bytes);
  const decoder = new TextDecoder();
  const facts = { input: 0, output: 0, cached: 0, cost: 0, files: new Set() };
  let row = 0;
  let started = performance.now();
  while (!numbers.isDone) {
    row += numbers.signed();
    const isWanted = wanted.has(row);
    const [input, output, cached, cost, nFiles] = Array.from({ length: 5 }, () => numbers.next());
    if (isWanted) {
      facts.input += input;
      facts.output += output;
      facts.cached += cached;
      facts.cost += cost / 1e6;
    }
    for (let file = 0; file < nFiles; file++) {
      const length = numbers.next();
      const name = bytes.subarray(numbers.at, (numbers.at += length));
      if (isWanted) facts.files.add(decoder.decode(name));
    }
    if (performance.now() - started > SLICE_MS) {
      await rest();
      started = performance.now();
    }
  }
  return facts;
}

/** A conversation beside another one. Its entries have no ids: an id names the entry in the conversation itself. */
class SidePane extends Pane {
  parse(row, html) {
    const article = super.parse(row, html);
    article.removeAttribute("id");
    return article;
  }
}

/** One of the two branches. */
class Side {
  constructor(page, leaf, rows, name) {
    this.rows = rows;
    this.title = make("span", { className: "title" });
    this.facts = make("p", { className: "aside" });
    const box = make("div", { className: "entries" });
    const scroller = make("div", { className: "scroller", tabIndex: 0 }, box);
    scroller.setAttribute("role", "group");
    scroller.setAttribute("aria-label", name);
    const head = make("header", {}, make("h2", {}, `${name}: `, this.title), this.facts);
    this.element = make("section", { className: "branch" }, head, scroller);
    this.pane = new SidePane(page.session, scroller, box);
    const prompt = rows.find((row) => page.session.kinds[row] === USER) ?? rows[0];
    if (prompt === undefined) this.title.textContent = "no entries after the common ones";
    else page.tree.fill(this.title, prompt);
    this.showFacts(page, leaf);
  }

  /** Shows the number of entries, and then what they cost and changed. */
  async showFacts(page, leaf) {
    const words = [counted(this.rows.length, "entry", "entries")];
    this.facts.textContent = words[0];
    if (!this.rows.length) return;
    const top = page.session.parents[this.rows[0]];
    // A server does not read a very long branch for this.
    const bytes = await page.source.facts(leaf, top).catch(() => undefined);
    if (!bytes) return;
    const { input, output, cached, cost, files } = await factsOf(bytes, this.rows);
    if (cost > 0) words.push(costText(cost));
    for (const [tokens, what] of [[input, "in"], [output, "out"], [cached, "cached"]]) {
      if (tokens > 0) words.push(`${tokensText(tokens)} ${what}`);
    }
    this.facts.textContent = words.join(" · ");
    if (!files.size) return;
    const list = make("ul");
    for (const file of [...files].slice(0, MAX_FILES)) list.append(make("li", {}, make("code", { textContent: file })));
    if (files.size > MAX_FILES) list.append(make("li", { textContent: `and ${counted(files.size - MAX_FILES, "other", "others")}` }));
    const summary = make("summary", { textContent: `${counted(files.size, "file", "files")} changed` });
    this.facts.after(make("details", { className: "files" }, summary, list));
  }
}

class Comparison {
  constructor(page, leaves, onEnd) {
    this.page = page;
    const paths = leaves.map((leaf) => page.session.path(leaf));
    const nCommon = sharedRows(...paths);
    this.rows = [...paths[0], ...paths[1].subarray(nCommon)];
    this.sides = leaves.map((leaf, at) => new Side(page, leaf, paths[at].subarray(nCommon), SIDE_NAMES[at]));
    const common = make("p", { className: "common" });
    if (nCommon) {
      const link = make("a", { className: "title" });
      page.tree.fill(link, paths[0][nCommon - 1]);
      page.anchorOf(paths[0][nCommon - 1]).then((anchor) => anchor && (link.href = `#${anchor}`));
      common.append(`${counted(nCommon, "entry", "entries")} in common, up to `, link);
    } else {
      common.append("nothing in common");
    }
    const names = make("div", { className: "which" });
    names.setAttribute("role", "group");
    names.setAttribute("aria-label", "Branch to show");
    this.names = SIDE_NAMES.map((name, at) => button(name, () => this.activate(at)));
    names.append(...this.names);
    const end = button("Close", onEnd, { id: "end-comparison" });
    end.setAttribute("aria-label", "Close the comparison");
    const head = make("header", { className: "compared" }, make("h1", { textContent: "Two branches" }), common, names, end);
    this.element = make("main", { id: "compare" }, head, make("div", { className: "pair" }, ...this.sides.map((side) => side.element)));
    this.element.addEventListener("click", (event) => clickEntry(event, page.session));
    for (const event of ["focusin", "pointerdown"]) {
      this.element.addEventListener(event, ({ target }) => {
        const at = this.sides.findIndex((side) => side.element.contains(target));
        if (at >= 0) this.activate(at);
      });
    }
    this.activate(0);
  }

  get pane() {
    return this.sides[this.active].pane;
  }

  /** Makes keys act on a branch. A phone shows only this one. */
  activate(at) {
    this.active = at;
    this.names.forEach((name, number) => name.setAttribute("aria-pressed", String(number === at)));
    this.sides.forEach((side, number) => side.element.classList.toggle("active", number === at));
  }

  /** Goes to the other branch. */
  toggle() {
    this.activate(1 - this.active);
    this.pane.scroller.focus({ preventScroll: true });
  }

  async show() {
    for (const side of this.sides) await side.pane.show(side.rows, side.rows[0]);
    this.pane.scroller.focus({ preventScroll: true });
  }
}

/** The branches that leave a path, with the nearest to a place in it first: a row, the newest row below, a size. */
function branchesBeside(session, path, place) {
  const depth = new Map();
  path.forEach((row, at) => depth.set(row, at));
  const branchOf = new Int32Array(session.n).fill(-1);
  const branches = [];
  for (let row = 0; row < session.n; row++) {
    if (!session.kinds[row] || depth.has(row)) continue;
    const parent = session.parents[row];
    let branch = parent >= 0 ? branchOf[parent] : -1;
    if (branch < 0) {
      branch = branches.push({ row, distance: Math.abs((depth.get(parent) ?? -1) - place), size: 0, isTalk: false }) - 1;
    }
    branchOf[row] = branch;
    branches[branch].leaf = row;
    branches[branch].size++;
    branches[branch].isTalk ||= session.kinds[row] < SETTING;
  }
  // Entries of settings alone, such as labels, are not a conversation.
  return branches.filter(({ isTalk }) => isTalk).sort((one, other) => one.distance - other.distance);
}

features.push((page) => {
  const { session, tree } = page;
  let previous = "";
  let scrollTop = 0;

  function close() {
    if (!page.compared) return;
    page.compared.element.remove();
    page.compared = undefined;
    document.body.classList.remove("comparing");
    page.pane.scroller.scrollTop = scrollTop;
    tree.mark(session.path(page.leaf));
    page.pane.later();
  }
  page.closeComparison = close;

  /** Ends the comparison and shows what was shown before it. */
  function end() {
    close();
    history.pushState(null, "", previous || location.href.split("#")[0]);
    $("pane").focus({ preventScroll: true });
  }

  async function open(leaves) {
    const isNew = !page.compared;
    if (isNew) scrollTop = page.pane.scroller.scrollTop;
    page.compared?.element.remove();
    page.compared = new Comparison(page, leaves, end);
    document.body.classList.add("comparing");
    $("pane").after(page.compared.element);
    tree.mark(page.compared.rows);
    await page.compared.show();
  }

  async function start(other) {
    stopChoosing();
    const leaves = [page.leaf, other];
    const ids = [];
    for (const leaf of leaves) ids.push((await page.anchorOf(leaf))?.slice("entry-".length).replaceAll(".", "%2E"));
    if (!location.hash.startsWith("#compare-")) previous = location.hash;
    if (ids[0] && ids[1]) history.pushState(null, "", `#compare-${ids[0]}..${ids[1]}`);
    if (innerWidth <= 800 && document.body.classList.contains("side-open")) page.toggleTree();
    await open(leaves);
  }

  /** Follows `#compare-ID..ID`. Any other address ends the comparison. */
  async function follow(hash) {
    if (!hash.startsWith("compare-")) {
      close();
      return false;
    }
    const ids = hash.slice("compare-".length).split("..");
    const leaves = [];
    for (const id of ids) leaves.push(id ? await page.source.find(decoded(id)) : -1);
    if (leaves.length !== 2 || leaves.some((leaf) => leaf < 0)) {
      close();
      say("There is no such entry.");
      return false;
    }
    if (hash === location.hash.slice(1)) await open(leaves);
    return true;
  }

  // ---- Choosing the other branch ----

  const note = make("p", { id: "choosing" }, "Choose an entry of the other branch. ", button("Cancel", () => stopChoosing()));
  note.setAttribute("role", "status");

  function stopChoosing() {
    page.choose = undefined;
    note.remove();
  }

  function chooseInTree() {
    page.choose = (row) => {
      if (session.path(page.leaf).includes(row)) say("This entry is on the same branch.");
      else start(session.newestBelow(row));
    };
    $("tree").before(note);
    page.showTree();
    tree.focusCurrent();
  }

  function choose() {
    if (page.leaf < 0) return;
    const path = session.path(page.leaf);
    const row = tree.focusedRow;
    if (row >= 0 && !path.includes(row)) return start(session.newestBelow(row));
    const branches = branchesBeside(session, path, page.pane.current);
    if (!branches.length) return say("The session has only one branch.");
    const list = make("ul");
    for (const { row, leaf, size } of branches.slice(0, MAX_LISTED)) {
      const title = make("span", { className: "title" });
      tree.fill(title, row);
      const choice = button("", () => {
        dialog.close();
        start(leaf);
      });
      choice.append(title, make("span", { className: "count", textContent: ` ${counted(size, "entry", "entries")}` }));
      list.append(make("li", {}, choice));
    }
    const nMore = branches.length - MAX_LISTED;
    if (nMore > 0) list.append(make("li", { className: "count", textContent: `and ${counted(nMore, "branch", "branches")} more, in the tree` }));
    const inTree = button("Choose in the tree", () => {
      dialog.close();
      chooseInTree();
    });
    const dialog = make("dialog", { id: "branches" }, make("h2", { textContent: "Compare this branch with" }), list, inTree, button("Cancel", () => dialog.close()));
    dialog.setAttribute("aria-label", "Compare this branch with another");
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const buttons = [...dialog.querySelectorAll("button")];
      buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    });
    document.body.append(dialog);
    dialog.showModal();
  }

  const compare = button("⇄", choose, { id: "compare-with" });
  compare.append(make("span", { className: "wide", textContent: " Compare" }));
  compare.setAttribute("aria-label", "Compare this branch with another");
  $("theme").before(compare);
  page.addKey("c", "Compare this branch with another", choose);
  page.addKey("x", "In a comparison: the other branch", () => page.compared?.toggle());
  const otherEscape = page.keys.get("Escape").run;
  page.addKey("Escape", "End the search or the comparison", () => {
    if (page.choose) stopChoosing();
    else if ($("search").value || !page.compared) otherEscape();
    else end();
  }, "Esc");
  page.followers.push(follow);
  follow(location.hash.slice(1));
});

// The prompts of the current branch, in a view of their own beside the tree.

class Outline extends Tree {
  /** Lists the prompts of a path. */
  list(path) {
    this.path = path;
    const rows = path.filter((row) => this.session.kinds[row] === USER);
    const none = new Int32Array(rows.length);
    Object.assign(this, { rows, levels: none, flags: none, below: none });
    this.arrange();
  }

  line(line) {
    const element = super.line(line);
    element.setAttribute("role", "option");
    element.removeAttribute("aria-level");
    element.setAttribute("aria-posinset", line + 1);
    element.setAttribute("aria-setsize", this.visible.length);
    return element;
  }

  /** Marks the prompt that the place in the path belongs to. */
  markPlace(place) {
    let low = -1;
    // Prompts are in the order of the path, but rows need not be, so places are compared.
    for (let at = place; at >= 0 && low < 0; at--) if (this.session.kinds[this.path[at]] === USER) low = this.path[at];
    if (low === this.selected) return;
    if (this.element.contains(document.activeElement)) {
      // The reader moves in the list: only the mark changes.
      this.selected = low;
      for (const element of this.drawn.values()) {
        const isSelected = this.rows[element.dataset.line] === low;
        element.classList.toggle("selected", isSelected);
        element.setAttribute("aria-selected", String(isSelected));
      }
    } else if (low >= 0) {
      this.select(low);
    } else {
      this.selected = undefined;
      this.redraw();
    }
  }
}

features.push((page) => {
  const { pane, tree } = page;
  const element = make("div", { id: "outline", tabIndex: 0, hidden: true }, make("div", { className: "spacer" }));
  element.setAttribute("role", "listbox");
  $("tree").after(element);
  const outline = new Outline(page.session, element, page.openRow);
  outline.titles = tree.titles;
  outline.hits = undefined;

  const views = { tree: { name: "Tree", element: $("tree") }, outline: { name: "Prompts", element } };
  const tabs = make("div", { className: "views" });
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-label", "Views of the session");
  for (const [view, { name, element }] of Object.entries(views)) {
    const tab = make("button", { type: "button", id: `view-${view}`, textContent: name, onclick: () => show(view) });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", element.id);
    element.setAttribute("aria-label", name);
    views[view].tab = tab;
    tabs.append(tab);
  }
  tabs.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    show(element.hidden ? "outline" : "tree").tab.focus();
  });
  $("side").prepend(tabs);

  function show(wanted) {
    for (const [view, { element, tab }] of Object.entries(views)) {
      const isShown = view === wanted;
      element.hidden = !isShown;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
    }
    if (wanted === "outline") follow();
    else tree.draw();
    return views[wanted];
  }

  function follow() {
    if (element.hidden || document.body.classList.contains("comparing")) return;
    if (outline.path !== pane.path) outline.list(pane.path);
    outline.markPlace(place());
  }

  /** The place in the path that the reader is at: the entry at the top, or the one opened last if it cannot get there. */
  function place() {
    const { scrollTop, clientHeight, scrollHeight } = pane.scroller;
    const element = pane.element(tree.selected);
    const isVisible = element?.getBoundingClientRect().top < pane.scroller.getBoundingClientRect().bottom;
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - 2;
    return isAtEnd && isVisible ? Math.max(pane.current, pane.path.indexOf(tree.selected)) : pane.current;
  }

  let frame;
  const later = () => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined;
      follow();
    });
  };
  pane.scroller.addEventListener("scroll", later, { passive: true });
  pane.onDraw = later;

  page.showTree = () => {
    page.openSide();
    show("tree");
  };
  $("search").addEventListener("input", () => show("tree"));
  page.addKey("e", "Go to the tree", () => {
    page.showTree();
    tree.focusCurrent();
  });
  page.addKey("u", "Go to the list of prompts", () => {
    page.openSide();
    show("outline");
    outline.focusCurrent();
  });
  show("tree");
});

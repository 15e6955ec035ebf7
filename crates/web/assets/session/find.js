// The search box of the page.

features.push((page) => {
  const { tree } = page;
  const box = $("search");
  let version = 0;
  let wait;
  const entriesOf = (count) => `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}`;

  async function search() {
    const own = ++version;
    searched = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    highlightWords($("entries"));
    if (!searched.length) {
      tree.hits = undefined;
      $("found").textContent = "";
      const filter = page.filterBeforeSearch;
      page.filterBeforeSearch = undefined;
      return filter ? tree.show(filter) : tree.arrange();
    }
    if (!page.filterBeforeSearch) {
      page.filterBeforeSearch = tree.filter;
      tree.hits = new Set();
      tree.list();
    }
    tree.hits = new Set();
    let shown = 0;
    await page.session.search(
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

  function clear() {
    box.value = "";
    search();
    box.blur();
  }

  /** Opens the next hit, or the first if none is open. */
  function openHit(step) {
    const isFirst = !tree.hits.has(tree.selected);
    const line = isFirst ? 0 : (tree.lineOf(tree.selected) + step + tree.visible.length) % tree.visible.length;
    page.show(tree.rows[tree.visible[line]], true).then(() => box.focus());
  }

  box.addEventListener("input", () => {
    clearTimeout(wait);
    wait = setTimeout(search, 120);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") clear();
    else if (event.key === "Enter" && tree.hits && tree.visible.length) openHit(event.shiftKey ? -1 : 1);
    else if (event.key === "ArrowDown" && tree.visible?.length) {
      event.preventDefault();
      tree.focusCurrent();
    }
  });
  page.addKey("/", "Search in this session", () => box.focus());
  page.addKey("Hits", "Next and previous hit, in the search box", undefined, "Enter, Shift+Enter");
  page.addKey("Escape", "End the search", () => box.value && clear(), "Esc");
});

// pi's keys for the tree, as far as a browser does not need them itself.

/** The line where the part of a branch with this line begins, above it: after a split, or the first line. */
function segmentAbove(tree, line) {
  // Of the lines above, those at a lower level are ancestors; and those at the same level, unless a split is between.
  const limitOf = (at) => tree.levels[at] + (tree.flags[at] & CONNECTED ? 0 : 1);
  let limit = limitOf(tree.visible[line]);
  for (let up = line - 1; up > 0; up--) {
    const at = tree.visible[up];
    if (tree.levels[at] >= limit) continue;
    if (tree.flags[at] & CONNECTED) return up;
    limit = limitOf(at);
  }
  return 0;
}

/** The first line after the next split below a line, or the last line of its branch. */
function segmentBelow(tree, line) {
  const level = tree.levels[tree.visible[line]];
  for (let down = line + 1; down < tree.visible.length; down++) {
    const at = tree.visible[down];
    if (tree.levels[at] < level) return down - 1;
    if (tree.flags[at] & CONNECTED) return tree.levels[at] > level ? down : down - 1;
  }
  return tree.visible.length - 1;
}

features.push((page) => {
  const { tree } = page;
  /** As in pi, the key of a filter that is on goes back to the default. */
  const filter = (name) => page.setFilter($("filter").value === name ? "default" : name).then(() => tree.focusCurrent());
  const copyEntry = async () => {
    const row = tree.rows[tree.visible[tree.current]];
    const template = document.createElement("template");
    template.innerHTML = (await page.source.html([row])).get(row) ?? "";
    copy(textOf(template.content.firstElementChild ?? template.content));
  };
  const actions = {
    u: () => filter("user"),
    a: () => filter("all"),
    o: () => page.nextFilter().then(() => tree.focusCurrent()),
    x: copyEntry,
    ArrowLeft: () => tree.fold(tree.current, true) || tree.move(segmentAbove(tree, tree.current)),
    ArrowRight: () => tree.fold(tree.current, false) || tree.move(segmentBelow(tree, tree.current)),
  };
  tree.element.addEventListener("keydown", (event) => {
    if (!event.ctrlKey || event.altKey || event.metaKey || event.shiftKey || !tree.visible?.length) return;
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
  page.addKey("F", "", () => page.nextFilter(-1));
  page.addKey("f", "Next and previous filter of the tree", () => page.nextFilter(), "f, F");
  const help = [
    ["Ctrl+← →", "In the tree: fold or go up, unfold or go down"],
    ["Ctrl+U, A, O", "In the tree: prompts only, all entries, next filter"],
    ["Ctrl+X", "In the tree: copy the text of the entry"],
  ];
  for (const [label, meaning] of help) page.addKey(label, meaning, undefined, label);
});

// Changes in the page of a session: a menu for the session, and one for each entry.

const canWrite = JSON.parse($("index").textContent).writes === true;

if (canWrite) {
  enhancers.push((article) => {
    const header = article.querySelector("header");
    if (header) header.append(menuButton("Actions for this entry"));
  });
}

features.push((page) => {
  const key = page.index.base.split("/")[2];
  const title = () => document.querySelector(".bar .name").textContent;

  /** Loads the page again with the same entry on the screen. */
  const showAgain = async (row, notice) => {
    const id = await page.anchorOf(row).catch(() => undefined);
    if (id) history.replaceState(null, "", `#${id}`);
    if (notice) notifyNext(notice);
    location.reload();
  };
  const firstRow = () => Number(page.pane.anchor()?.dataset.row ?? -1);
  const showNew = (row) => () => showAgain(row);

  /** The row that the user works with: the focused entry, else the line of the tree, else what is on the screen. */
  const currentRow = () => {
    const focused = document.activeElement?.closest?.("#entries > [data-row]");
    if (focused) return Number(focused.dataset.row);
    const { tree } = page;
    if (document.activeElement?.closest?.("#tree") && tree.visible?.length) return tree.rows[tree.visible[tree.current]];
    return tree.selected ?? firstRow();
  };

  const grown = (state) =>
    state.rows > page.session.n ? " Another program has added entries that this page does not show yet." : "";

  const label = (row) => {
    if (row < 0) return;
    let input;
    askForChange({
      title: "Label the entry",
      words: "An empty label removes the label. The label is added to the session, as in pi.",
      submit: "Label",
      load: () => stateOf(key, row),
      fields: (state) => {
        const field = textField("Label", state.label ?? "", "label");
        input = field.input;
        return [field.element];
      },
      run: ({ state, signal }) =>
        change("label", { key, last: state.last, entry: state.entry ?? null, label: input.value.trim() || null }, signal),
      done: ({ operation, changed }) => {
        const words = !changed ? "The label is unchanged." : input.value.trim() ? `Labeled “${input.value.trim()}”.` : "Label removed.";
        showAgain(row, { words, undo: operation });
      },
      showNew: showNew(row),
    });
  };

  const openNew = (words) => (made) =>
    goWith({ words: made.text ? `${words} It ends before your message.` : words, undo: made.operation, text: made.text }, `/s/${made.key}`);

  const fork = async (row) => {
    try {
      const { entry } = await stateOf(key, row);
      openNew("This is the fork.")(await change("fork", { key, entry: entry ?? null }));
    } catch (error) {
      notify({ words: error.message });
    }
  };

  const moveLeaf = (row) => {
    const summary = make("input", { type: "checkbox", name: "summary" });
    const instructions = textField("Instructions for the summary (optional)", "", "instructions");
    instructions.element.hidden = true;
    summary.addEventListener("change", () => (instructions.element.hidden = !summary.checked));
    askForChange({
      title: "Continue from here",
      words: (state) =>
        "The next message follows this entry; if it is one of yours, the next message replaces it. " +
        "Without a summary, only Sessile remembers this. With a summary, which is added to the session, all programs do." +
        grown(state),
      submit: "Continue from here",
      load: () => stateOf(key, row),
      fields: () => [
        make("label", { className: "check" }, summary, make("span", { textContent: "Summarize the branch that I leave" })),
        instructions.element,
      ],
      run: ({ state, signal }) =>
        change("leaf", {
          key, last: state.last, entry: state.entry ?? null, summary: summary.checked, instructions: instructions.input.value,
        }, signal),
      done: ({ operation, changed, summarized, text }) => {
        history.replaceState(null, "", location.pathname);
        const words = !changed
          ? "The session already continues from here."
          : summarized
            ? "The session continues from here, with a summary of the branch that you left."
            : summary.checked
              ? "The session continues from here; there was nothing to summarize."
              : "The session continues from here.";
        goWith({ words, undo: operation, text });
      },
      showNew: showNew(row),
    });
  };

  const entryMenu = (row) => {
    const button = page.pane.element(row)?.querySelector(".actions");
    if (!button) return;
    openMenu(button, [
      ["Label…", () => label(row)],
      ["Fork from here", () => fork(row)],
      ["Continue from here…", () => moveLeaf(row)],
    ]);
  };

  const rename = () =>
    askForName(key, {
      done: ({ operation, changed }) =>
        showAgain(firstRow(), { words: changed ? "Renamed." : "The name is unchanged.", undo: operation }),
      showNew: showNew(firstRow()),
    });
  const clone = async () => {
    try {
      const { last } = await stateOf(key);
      openNew("This is the clone.")(await change("clone", { key, last }));
    } catch (error) {
      notify({ words: error.message });
    }
  };
  const remove = () =>
    askToDelete(key, title(), {
      done: ({ operation }) => goWith({ words: "Moved to the trash.", undo: operation }, "/"),
      showNew: showNew(firstRow()),
    });
  const resume = ["Copy resume command", () => copyResumeCommand(key)];
  const secrets = ["Find secrets", () => page.findSecrets()];

  const sessionButton = menuButton("Actions for this session");
  sessionButton.id = "session-actions";
  $("theme").before(sessionButton);
  const sessionMenu = () =>
    openMenu(sessionButton, canWrite
      ? [["Rename…", rename], resume, ["Clone", clone], secrets, ["Move to the trash…", remove], ["Undo the last change of any session", () => undoChange()]]
      : [resume, secrets]);
  sessionButton.addEventListener("click", sessionMenu);
  page.addKey("h", "List of sessions", () => location.assign("/"));
  page.addKey("M", "Actions for the session", sessionMenu);
  page.addKey("R", "Copy resume command", () => copyResumeCommand(key));
  onUndone = (notice, { key: undone, removed }) => {
    if (removed && undone === key) goWith(notice, "/");
    else showAgain(firstRow(), notice);
  };
  if (!canWrite) return;

  $("pane").addEventListener("click", (event) => {
    const button = event.target.closest("button.actions");
    if (button) entryMenu(Number(button.closest("[data-row]").dataset.row));
  });
  page.addKey("m", "Actions for the entry", async () => {
    const row = currentRow();
    if (row >= 0 && !page.pane.element(row)) await page.show(row, false);
    entryMenu(row);
  });
  page.addKey("L", "Label the entry", () => label(currentRow()));
});

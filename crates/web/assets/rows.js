// Changes in the list of sessions: a menu for each row, and keys.

const canWrite = rows?.dataset.writes !== undefined;

function rowOf(element) {
  return element?.closest?.("li.s") ?? undefined;
}

function renameRow(row) {
  const { key } = row.dataset;
  askForName(key, {
    done: ({ operation, changed }) => {
      notify({ words: changed ? "Renamed." : "The name is unchanged.", undo: operation });
      refresh(0);
    },
  });
}

function deleteRow(row) {
  const { key } = row.dataset;
  // The list may have drawn its rows again before the answer comes.
  const all = [...rows.querySelectorAll("li.s")].map((other) => other.dataset.key);
  const neighbour = all[all.indexOf(key) + 1] ?? all[all.indexOf(key) - 1];
  askToDelete(key, row.querySelector("a.title").textContent, {
    done: ({ operation }) => {
      notify({ words: "Moved to the trash.", undo: operation });
      (rows.querySelector(`li.s[data-key="${neighbour}"] a.title`) ?? $("main")).focus();
      refresh(0);
    },
  });
}

function rowMenu(row) {
  const resume = ["Copy resume command", () => copyResumeCommand(row.dataset.key)];
  openMenu(row.querySelector("button.actions"), canWrite
    ? [["Rename…", () => renameRow(row)], resume, ["Move to the trash…", () => deleteRow(row)], ["Undo the last change of any session", () => undoChange()]]
    : [resume]);
}

onUndone = (notice) => {
  notify(notice);
  if (rows) refresh(0);
};

rows?.addEventListener("click", (event) => {
  const button = event.target.closest("button.actions");
  if (button) rowMenu(rowOf(button));
});

const ROW_KEYS = {
  m: ["Actions for the session", rowMenu],
  R: ["Copy resume command", (row) => copyResumeCommand(row.dataset.key)],
  ...(canWrite && { r: ["Rename", renameRow], Delete: ["Move to the trash", deleteRow] }),
};

if (rows) {
  KEYS.splice(4, 0, ...Object.entries(ROW_KEYS).map(([key, [words]]) => [key, words]));
  if (canWrite) KEYS.splice(KEYS.length - 1, 0, ["u", "Undo the last change"]);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, [role=menu]")) return;
    const row = rowOf(event.target);
    const action = row && ROW_KEYS[event.key]?.[1];
    if (action) action(row);
    else if (canWrite && event.key === "u") undoChange();
    else return;
    event.preventDefault();
  });
}

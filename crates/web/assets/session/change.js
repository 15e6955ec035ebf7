// Changes to sessions: menus, dialogs, requests and notices. The list and the page of a session use them.

/** A change that the server did not make. `kind` says what the page can do about it. */
class Refused extends Error {
  constructor(status, answer) {
    super(answer.error ?? `The server answered ${status}.`);
    this.kind = answer.kind;
  }
}

let writeToken;

/** Asks the server for a change. */
async function change(what, value, signal) {
  for (const isLast of [false, true]) {
    writeToken ??= (await (await fetch("/api/token")).json()).token;
    const headers = { "Content-Type": "application/json", "X-Sessile-Token": writeToken };
    const response = await fetch(`/api/${what}`, { method: "POST", headers, body: JSON.stringify(value), signal });
    if (response.ok) return response.json();
    // A server that was started again has another token.
    writeToken = undefined;
    if (isLast || response.status !== 403) throw new Refused(response.status, await response.json().catch(() => ({})));
  }
}

/** What must be known before a change: the last entry, the name, and the label of the entry in a row. */
async function stateOf(key, row) {
  const response = await fetch(`/s/${key}/state?${new URLSearchParams(row === undefined ? {} : { row })}`);
  if (!response.ok) throw new Refused(response.status, {});
  return response.json();
}

async function copyResumeCommand(key) {
  const response = await fetch(`/s/${key}/resume`);
  if (!response.ok) return say(`The server answered ${response.status}.`);
  await copy(await response.text());
}

// Menus

/** Opens a menu at a button: `[words, action]` for each item. */
function openMenu(button, items) {
  $("actions")?.remove();
  const menu = make("div", { id: "actions", className: "actions-menu", popover: "auto" });
  menu.setAttribute("role", "menu");
  menu.setAttribute("aria-label", button.getAttribute("aria-label") ?? button.textContent);
  const entries = items.map(([words, action]) => {
    const item = make("button", { type: "button", textContent: words, tabIndex: -1 });
    item.setAttribute("role", "menuitem");
    item.addEventListener("click", () => {
      menu.hidePopover();
      button.focus({ preventScroll: true });
      action();
    });
    return item;
  });
  menu.append(...entries);
  menu.addEventListener("keydown", (event) => {
    // The keys of the page do not apply in a menu.
    event.stopPropagation();
    const at = entries.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + entries.length, Home: 0, End: entries.length - 1 }[event.key];
    if (to !== undefined) entries[to % entries.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      menu.hidePopover();
      button.focus({ preventScroll: true });
    } else return;
    event.preventDefault();
  });
  menu.addEventListener("toggle", (event) => {
    button.setAttribute("aria-expanded", String(event.newState === "open"));
    if (event.newState === "closed") menu.remove();
  });
  document.querySelector("header.bar").append(menu);
  menu.showPopover();
  const [place, size] = [button.getBoundingClientRect(), menu.getBoundingClientRect()];
  const below = place.bottom + 2;
  const top = below + size.height > innerHeight ? Math.max(4, place.top - size.height - 2) : below;
  menu.style.left = `${Math.max(4, Math.min(place.right - size.width, innerWidth - size.width - 4))}px`;
  menu.style.top = `${top}px`;
  entries[0].focus();
}

/** A button that opens a menu. */
function menuButton(label) {
  const button = make("button", { type: "button", className: "actions", textContent: "⋯", ariaLabel: label });
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  return button;
}

// Dialogs

/**
 * Asks for what a change needs, and makes it.
 *
 * `load` gets the state of the session, `fields` makes the elements of the form from it, `run` makes the change with
 * the state, whether it is forced, and a signal that cancels it, and `done` shows the result.
 */
async function askForChange({ title, words, submit, load, fields = () => [], run, done, showNew }) {
  let state;
  try {
    state = await load();
  } catch (error) {
    return say(error.message);
  }
  const dialog = make("dialog", { className: "change" });
  dialog.setAttribute("aria-labelledby", "change-title");
  const form = make("form", { method: "dialog" }, make("h2", { id: "change-title", textContent: title }));
  if (words) form.append(make("p", { className: "aside", textContent: typeof words === "string" ? words : words(state) }));
  form.append(...fields(state));
  const problem = make("p", { className: "problem", hidden: true });
  problem.setAttribute("role", "alert");
  const choices = make("div", { className: "choices" });
  form.append(problem, choices);
  dialog.append(form);
  let running;
  const cancel = make("button", { type: "button", textContent: "Cancel" });
  cancel.addEventListener("click", () => dialog.close());
  const go = make("button", { type: "submit", textContent: submit, className: "primary" });
  const offer = (text, action) => {
    const button = make("button", { type: "button", textContent: text, className: "offer" });
    button.addEventListener("click", action);
    choices.prepend(button);
    return button;
  };
  const attempt = async (isForced, isAgain) => {
    if (running) return;
    running = new AbortController();
    for (const old of choices.querySelectorAll(".offer")) old.remove();
    problem.hidden = true;
    go.disabled = true;
    go.textContent = "Working…";
    try {
      if (isAgain) state = await load();
      const result = await run({ state, isForced, signal: running.signal });
      running = undefined;
      dialog.close();
      done(result);
    } catch (error) {
      running = undefined;
      go.disabled = false;
      go.textContent = submit;
      if (error.name === "AbortError") return;
      problem.textContent = error.message;
      problem.hidden = false;
      if (error.kind === "changed") {
        go.disabled = true;
        offer("Try again", () => attempt(isForced, true)).focus();
        if (showNew) offer("Show the new state", showNew);
      } else if (error.kind === "inUse") {
        offer(`${submit} anyway`, () => attempt(true, isAgain)).focus();
      }
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(false, false);
  });
  choices.append(cancel, go);
  dialog.addEventListener("close", () => {
    running?.abort();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  (form.querySelector("input, textarea") ?? go).focus();
  form.querySelector("input[type=text]")?.select();
}

/** A line of text in a form. */
function textField(label, value, name) {
  const input = make("input", { type: "text", value, autocomplete: "off", name });
  return { input, element: make("label", { className: "field" }, make("span", { textContent: label }), input) };
}

function askForName(key, { done, showNew }) {
  let input;
  return askForChange({
    title: "Rename the session",
    words: "An empty name removes the name. The name is added to the session, as in pi.",
    submit: "Rename",
    load: () => stateOf(key),
    fields: (state) => {
      const field = textField("Name", state.name, "name");
      input = field.input;
      return [field.element];
    },
    run: ({ state, signal }) => change("name", { key, last: state.last, name: input.value.trim() || null }, signal),
    done,
    showNew,
  });
}

function askToDelete(key, title, { done, showNew }) {
  return askForChange({
    title: "Move the session to the trash?",
    words: `“${title}” can be brought back with Undo, with sessile restore, or from the trash of your desktop.`,
    submit: "Move to the trash",
    load: () => stateOf(key),
    run: ({ state, isForced, signal }) => change("delete", { key, last: state.last, force: isForced }, signal),
    done,
    showNew,
  });
}

// Notices

/** Shows what was done. `undo` is an operation, `text` is offered for copying. */
function notify({ words, undo, undoWords = "Undo", text, isForced = false }) {
  document.querySelector(".notice")?.remove();
  const box = make("aside", { className: "notice", ariaLabel: "Notice" }, make("span", { textContent: words, role: "status" }));
  if (text) {
    const button = make("button", { type: "button", textContent: "Copy the message" });
    button.addEventListener("click", () => copy(text));
    box.append(button);
  }
  if (undo) {
    const button = make("button", { type: "button", textContent: undoWords, className: "undo" });
    button.addEventListener("click", () => undoChange(undo, isForced));
    box.append(button);
  }
  const close = make("button", { type: "button", textContent: "×", ariaLabel: "Close this notice" });
  close.addEventListener("click", () => box.remove());
  box.append(close);
  document.body.append(box);
}

/** Shows a notice on the next page. */
function notifyNext(notice) {
  try {
    sessionStorage.setItem("sessile:notice", JSON.stringify(notice));
  } catch {
    // The page shows the change itself.
  }
}

/** Goes to an address, or loads the page again, with a notice. */
function goWith(notice, address) {
  notifyNext(notice);
  if (address === undefined) location.reload();
  else location.assign(address);
}

/** Undoes an operation, or the last one. */
async function undoChange(operation, isForced = false) {
  try {
    const undone = await change("undo", { operation: operation ?? null, force: isForced });
    const title = undone.title ? ` “${undone.title}”` : "";
    onUndone({ words: `Undone: ${undone.kind}${title}.`, undo: undone.operation, undoWords: "Redo" }, undone);
  } catch (error) {
    const again = error.kind === "inUse" ? { undo: operation, undoWords: "Do it anyway", isForced: true } : {};
    notify({ words: `${error.message}.`.replace(/\.\.$/, "."), ...again });
  }
}

/** What a page does after an undo. */
let onUndone = (notice) => goWith(notice);

try {
  const stored = sessionStorage.getItem("sessile:notice");
  sessionStorage.removeItem("sessile:notice");
  if (stored) notify(JSON.parse(stored));
} catch {
  // There is no notice.
}

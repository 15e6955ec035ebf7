// The list of sessions and the search: results while you type, more rows while you scroll, pins, keys.
// All of it also works without this script, by forms and links.

const $ = (id) => document.getElementById(id);
const root = document.documentElement;

// The server writes these fragments, and escapes all text in them. The page's policy runs no script inside them.
function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

async function fetched(url, options) {
  const response = await fetch(url, { credentials: "same-origin", ...options });
  if (response.status === 401) say("You are signed out. Open the latest link in your terminal.");
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return response;
}

function say(text) {
  $("status").textContent = text;
}

// Theme

function storedTheme() {
  try {
    return localStorage.getItem("sessile:theme");
  } catch {
    return null;
  }
}

function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem("sessile:theme", theme);
  } catch {
    // The choice lasts as long as the page.
  }
}

if (["dark", "light"].includes(storedTheme())) root.dataset.theme = storedTheme();
$("theme").addEventListener("click", () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme ?? (isDark ? "dark" : "light");
  setTheme(now === "dark" ? "light" : "dark");
});

// Filters: the form is the state, the URL repeats it.

const form = $("filters");
const rows = $("rows");
const hits = $("hits");
const fragmentPath = rows ? "/rows" : "/hits";
const TYPING_PAUSE = 120;

function query() {
  const pairs = [...new FormData(form)].filter(([, value]) => value !== "");
  const text = new URLSearchParams(pairs).toString();
  return text === "" ? "" : `?${text}`;
}

let timer = 0;
let pending = null;

/** Opens the only result, or goes to the first one. */
function openResult() {
  const all = links();
  if (all.length === 1) all[0].click();
  else all[0]?.focus();
}

function refresh(delay, isSubmitted = false) {
  clearTimeout(timer);
  timer = setTimeout(async () => {
    pending?.abort();
    pending = new AbortController();
    const wanted = query();
    root.classList.add("busy");
    try {
      const html = await (await fetched(fragmentPath + wanted, { signal: pending.signal })).text();
      const focused = document.activeElement?.closest("li.s")?.dataset.key;
      (rows ?? hits).replaceChildren(parsed(html));
      if (focused) rows.querySelector(`li.s[data-key="${focused}"] a.title`)?.focus();
      watchMore();
      say("");
      history.replaceState(null, "", location.pathname + wanted);
      if (isSubmitted) openResult();
    } catch (error) {
      if (error.name === "AbortError") return;
      say(error.message);
    }
    root.classList.remove("busy");
  }, delay);
}

if (form) {
  form.addEventListener("input", (event) => refresh(event.target.type === "search" ? TYPING_PAUSE : 0));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refresh(0, true);
  });
}

// More rows while you scroll

const MAX_ROWS = 5000;
const observer = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => loadMore(entry.target)),
  { rootMargin: "800px" },
);

function watchMore() {
  observer.disconnect();
  const more = rows?.querySelector("a.more");
  if (more && rows.childElementCount < MAX_ROWS) observer.observe(more);
}

async function loadMore(link) {
  observer.unobserve(link);
  const url = new URL(link.href);
  try {
    const html = await (await fetched(`/rows${url.search}`)).text();
    const fresh = parsed(html);
    fresh.querySelector(".earlier")?.remove();
    // The list may have changed since the last rows were loaded.
    for (const row of fresh.querySelectorAll("li.s")) {
      if (rows.querySelector(`li.s[data-key="${row.dataset.key}"]`)) row.remove();
    }
    if (link.isConnected) link.closest("li").replaceWith(fresh);
    watchMore();
  } catch (error) {
    say(error.message);
  }
}

watchMore();

// Pins

let token = null;

async function post(path, value) {
  for (const isLast of [false, true]) {
    token ??= (await (await fetched("/api/token")).json()).token;
    const headers = { "Content-Type": "application/json", "X-Sessile-Token": token };
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(value) });
    if (response.ok) return response.json();
    // A server that was started again has another token.
    token = null;
    if (isLast || response.status !== 403) throw new Error(`The server answered ${response.status}.`);
  }
}

async function togglePin(row) {
  const button = row?.querySelector("button.pin");
  if (!button) return;
  try {
    await post("/api/pin", { key: row.dataset.key, pinned: button.getAttribute("aria-pressed") !== "true" });
    refresh(0);
  } catch (error) {
    say(error.message);
  }
}

rows?.addEventListener("click", (event) => {
  const button = event.target.closest("button.pin");
  if (button) togglePin(button.closest("li.s"));
});

// Changes of the store

let events = null;
// The page has the number of the list that it shows, so that no change before the first event is missed.
let seen = rows?.dataset.generation;

/** Shows the statuses of the rows that are there. */
async function showStatuses() {
  const courses = await (await fetched("/statuses")).json();
  for (const dot of rows.querySelectorAll("li.s .dot")) {
    const course = courses[dot.closest("li.s").dataset.key];
    if (course) setCourse(dot, course);
  }
}

function listen() {
  if (!rows || document.hidden || events) return;
  events = new EventSource("/events");
  events.addEventListener("list", (event) => {
    const isNew = event.data !== seen;
    seen = event.data;
    const isBusy = scrollY > 200 || location.search.includes("from=");
    if (!isNew) return;
    if (!isBusy) return refresh(0);
    say("The list has changed.");
    showStatuses().catch((error) => say(error.message));
  });
}

// A hidden tab must not use one of the few connections that a browser has for a server.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return listen();
  events?.close();
  events = null;
});
listen();

// Charts: the latest days are at the right.

for (const chart of document.querySelectorAll(".chart")) chart.scrollLeft = chart.scrollWidth;

// Keys

const KEYS = [
  ["/", "Search or filter"],
  ["j, k, ↓, ↑", "Next, previous"],
  ["Enter", "Open; in the search box: go to the first result, or open the only one"],
  ["p", "Pin or unpin"],
  ["g, G", "First, last"],
  ["h", "List of sessions"],
  ["s", "Search in all messages"],
  ["c", "Statistics"],
  ["d", "Dark or light"],
  ["?", "This help"],
];

function links() {
  return [...document.querySelectorAll("#rows a.title, #hits h2 a, #hits a.hit, #members a.title")];
}

function move(step) {
  const all = links();
  const at = all.indexOf(document.activeElement);
  const onScreen = (link) => link.getBoundingClientRect().top >= 0 && link.getBoundingClientRect().bottom <= innerHeight;
  const next = at >= 0 ? all[at + step] : (step > 0 ? all.find(onScreen) : all.findLast(onScreen)) ?? all[0];
  focusLink(next);
}

function focusLink(link) {
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
}

function help() {
  let dialog = $("keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-label", "Keyboard shortcuts");
    const list = document.createElement("dl");
    for (const [key, words] of KEYS) {
      const line = document.createElement("div");
      const term = document.createElement("dt");
      const meaning = document.createElement("dd");
      term.textContent = key;
      meaning.textContent = words;
      line.append(term, meaning);
      list.append(line);
    }
    const close = document.createElement("button");
    close.textContent = "Close";
    close.addEventListener("click", () => dialog.close());
    const title = document.createElement("h2");
    title.textContent = "Keyboard";
    dialog.append(title, list, close);
    document.body.append(dialog);
  }
  dialog.showModal();
}

$("help").addEventListener("click", help);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, select, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("dialog")) return;
  if (isTyping) {
    if (event.key === "Escape" || (event.key === "ArrowDown" && event.target === $("q"))) {
      event.target.blur();
      if (event.key === "ArrowDown") move(1);
      event.preventDefault();
    }
    return;
  }
  const actions = {
    "/": () => $("q")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    p: () => togglePin(document.activeElement.closest("li.s")),
    g: () => focusLink(links()[0]),
    G: () => focusLink(links().at(-1)),
    h: () => location.assign("/"),
    s: () => location.assign("/search"),
    c: () => location.assign("/stats"),
    d: () => $("theme").click(),
    "?": help,
  };
  const action = actions[event.key];
  if (!action) return;
  // A page without rows scrolls by arrow keys.
  if (event.key.startsWith("Arrow") && !links().length) return;
  event.preventDefault();
  action();
});

if ($("q") && !matchMedia("(pointer: coarse)").matches && location.pathname === "/search") $("q").focus();

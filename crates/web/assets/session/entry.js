// Details of entries: folded texts, changes side by side, marked words.

/** Functions that add something to an entry when it is drawn. */
const enhancers = [];

/** Adds what needs a script: pictures, copy buttons, and the state of the switches. */
function enhance(article, session) {
  for (const image of article.querySelectorAll("img[data-image]")) {
    const [row, number] = image.dataset.image.split(":").map(Number);
    if (session.source.imageUrl) {
      image.src = session.source.imageUrl(row, number);
      continue;
    }
    session.image(row, number).then(
      (data) => (image.src = `data:${image.dataset.type};base64,${data}`),
      () => image.replaceWith(make("em", { textContent: "The picture cannot be read." })),
    );
  }
  for (const details of article.querySelectorAll("details.thinking")) details.open = switches.thinking;
  for (const details of article.querySelectorAll("details.rest")) details.open = switches.outputs;
  if (switches.split) for (const diff of article.querySelectorAll("pre.diff")) sideBySide(diff);
  for (const pre of article.querySelectorAll("pre")) {
    const button = make("button", { className: "copy", type: "button", textContent: "Copy" });
    button.setAttribute("aria-label", "Copy this text");
    const frame = make("div", { className: "frame" });
    pre.replaceWith(frame);
    frame.append(pre, button);
  }
  const header = article.querySelector("header");
  if (header) header.append(make("button", { className: "copy whole", type: "button", textContent: "Copy", ariaLabel: "Copy this entry" }));
  for (const add of enhancers) add(article);
}

const switches = { thinking: true, outputs: false, split: false };

function sideBySide(pre) {
  const table = make("table", { className: "sides" });
  table.setAttribute("aria-label", "Changes side by side");
  const body = table.createTBody();
  let [removed, added] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const line = body.insertRow();
      for (const [side, name] of [[removed, "o"], [added, "w"]]) {
        const cell = line.insertCell();
        if (side[at]) {
          cell.className = name;
          cell.append(...[...side[at].childNodes].map((node) => node.cloneNode(true)));
        }
      }
    }
    [removed, added] = [[], []];
  };
  for (const line of pre.querySelectorAll(".d")) {
    if (line.classList.contains("o")) removed.push(line);
    else if (line.classList.contains("w")) added.push(line);
    else {
      flush();
      const both = body.insertRow();
      for (let side = 0; side < 2; side++) both.insertCell().append(line.textContent);
    }
  }
  flush();
  pre.classList.add("replaced");
  pre.after(table);
}

async function showMore(button, session) {
  const [row, part] = button.dataset.more.split(":").map(Number);
  button.disabled = true;
  const name = button.dataset.class;
  const windows = session.source.windows(row, part);
  const next = async () => {
    const { value, done } = await windows.next();
    if (done) return button.remove();
    const element = make(name === "md" ? "div" : "pre", { className: name });
    if (name !== "md") element.tabIndex = 0;
    element.innerHTML = value;
    button.before(element);
    button.disabled = false;
  };
  button.onclick = next;
  await next();
}

let searched = [];

/** Marks the words of the search in what is on the screen. */
function highlightWords(root) {
  if (!globalThis.Highlight) return;
  CSS.highlights.clear();
  if (!searched.length) return;
  const ranges = [];
  const walker = document.createTreeWalker(root.closest("#compare") ?? root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < 2000; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue;
    for (const word of searched) {
      for (let at = text.indexOf(word); at >= 0 && ranges.length < 2000; at = text.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

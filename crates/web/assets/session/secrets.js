// Secrets of the session: a scan on request, marks beside the entries, and the way from one to the next.
// The server sends rules, places and masked values, never a value.

/** Asks the server for a scan. Whatever is not a complete result is an error. */
async function scanForSecrets(base, signal) {
  const response = await fetch(`${base}secrets`, { signal });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
  const isComplete = Array.isArray(answer.findings) && Number.isInteger(answer.certain) && Number.isInteger(answer.likely);
  if (!isComplete) throw new Error("The server's answer is not complete.");
  return answer;
}

/** The number of secrets in words. */
function secretsText({ certain, likely }) {
  const count = certain + likely;
  return `${count.toLocaleString("en")} ${count === 1 ? "secret" : "secrets"} (${certain} certain, ${likely} likely)`;
}

/** The findings of the last scan, by row. */
let secretsByRow = new Map();

/** The findings of an entry as a list. */
function secretList(findings) {
  const list = make("ul", { className: "secrets", ariaLabel: "Secrets in this entry" });
  for (const { tier, rule, masked, place, times, encoded } of findings) {
    const notes = [place, times > 1 ? `${times} times` : "", encoded ? "encoded" : ""].filter(Boolean).join(", ");
    const value = make("code", { textContent: masked });
    list.append(make("li", {}, make("b", { className: tier, textContent: tier }), ` ${rule} `, value, make("span", { textContent: ` ${notes}` })));
  }
  return list;
}

enhancers.push((article) => {
  const findings = secretsByRow.get(Number(article.dataset.row));
  if (!findings) return;
  article.classList.add("has-secret");
  const header = article.querySelector("header");
  const list = secretList(findings);
  if (header) header.after(list);
  else article.prepend(list);
});

features.push((page) => {
  const { tree } = page;
  const words = make("p", { className: "aside" });
  words.setAttribute("role", "status");
  const button = (text, action) => {
    const made = make("button", { type: "button", textContent: text });
    made.addEventListener("click", action);
    return made;
  };
  const previous = button("Previous", () => go(-1).then(() => previous.focus()));
  const next = button("Next", () => go(1).then(() => next.focus()));
  const again = button("Scan again", () => scan());
  const stop = button("Stop", () => running?.abort());
  const close = button("Close", () => hide());
  const choices = make("div", { className: "choices" }, previous, next, again, stop, close);
  const advice = make("details", {}, make("summary", { textContent: "Rotate the key" }), make("p", {
    className: "aside",
    textContent:
      "If a key is real, revoke it at its issuer and make a new one. This is the only step that helps: the key was on " +
      "disk in clear, and perhaps in backups, in exports and at a model provider. “sessile secrets --all” finds where " +
      "else it is. Share only redacted copies: Download makes them.",
  }));
  const panel = make("section", { id: "secrets", hidden: true, ariaLabel: "Secrets" }, words, choices, advice);
  $("found").after(panel);
  let running;
  let result;
  let rows = [];
  let current = -1;

  const draw = () => {
    const isDone = result && !running;
    for (const step of [previous, next]) step.hidden = !isDone || !rows.length;
    again.hidden = Boolean(running);
    stop.hidden = !running;
    advice.hidden = !isDone || !result.findings.length;
  };

  /** Draws the marks again, in the tree and in the conversation. */
  const mark = async (findings) => {
    secretsByRow = new Map();
    for (const finding of findings) {
      if (finding.row < 0) continue;
      if (!secretsByRow.has(finding.row)) secretsByRow.set(finding.row, []);
      secretsByRow.get(finding.row).push(finding);
    }
    rows = [...secretsByRow.keys()].sort((one, other) => one - other);
    current = -1;
    tree.secrets = secretsByRow;
    tree.redraw();
    for (const side of page.compared?.sides ?? []) side.pane.redraw();
    await page.pane.redraw();
  };

  async function scan() {
    if (running) return;
    running = new AbortController();
    const own = running;
    panel.hidden = false;
    page.openSide();
    words.textContent = "Looking for secrets…";
    draw();
    stop.focus();
    try {
      const answer = await scanForSecrets(page.index.base, own.signal);
      result = answer;
      running = undefined;
      await mark(answer.findings);
      const elsewhere = answer.elsewhere ? ` ${answer.elsewhere} in the header or in damaged lines.` : "";
      const some = answer.findings.length < answer.certain + answer.likely ? ` The first ${answer.findings.length} are marked.` : "";
      words.textContent = answer.findings.length
        ? `${secretsText(answer)} in ${answer.entries} ${answer.entries === 1 ? "entry" : "entries"}.${elsewhere}${some}`
        : "No secrets found. This is not a proof that there are none.";
      draw();
      if (rows.length) {
        await go(1);
        next.focus();
      } else again.focus();
    } catch (error) {
      running = undefined;
      words.textContent = error.name === "AbortError" ? "Stopped. Not scanned for secrets." : `Not scanned for secrets: ${error.message}`;
      draw();
      again.focus();
    }
  }

  /** Shows the next or previous entry with a secret. */
  async function go(step) {
    if (!rows.length) return;
    current = current < 0 && step < 0 ? rows.length - 1 : (current + step + rows.length) % rows.length;
    await page.show(rows[current], true);
    say(`Entry ${current + 1} of ${rows.length} with secrets`);
  }

  function hide() {
    panel.hidden = true;
    result = undefined;
    mark([]);
    // A phone has the control in a menu.
    (find.offsetParent ? find : $("session-actions")).focus();
  }

  const find = button("Find secrets", () => scan());
  find.id = "find-secrets";
  $("download").before(find);
  page.findSecrets = scan;
  const step = (by) => (result && !running ? go(by) : scan());
  page.addKey("k", "Find secrets, then next and previous", () => step(1), "k, K");
  page.addKey("K", "", () => step(-1));
});

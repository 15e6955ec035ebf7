// The download of a session: as it is, or as a copy without secrets. A scan comes first, and the page says what it found.

const COPY_LEVELS = [
  ["none", "Everything, unchanged"],
  ["secrets", "A copy without secrets"],
  ["paths", "… also without paths and names of users and hosts"],
  ["pii", "… also without personal data and pictures"],
  ["outputs", "… also without outputs of tools and thoughts"],
  ["skeleton", "… without any text, for bug reports"],
];
const COPY_FORMATS = [
  ["jsonl", "Session file (jsonl)"],
  ["html", "Web page (html)"],
  ["md", "Document of this branch (md)"],
];

/** A choice in a form. */
function selectField(label, name, options) {
  const select = make("select", { name });
  for (const [value, text] of options) select.append(make("option", { value, textContent: text }));
  return { select, element: make("label", { className: "field" }, make("span", { textContent: label }), select) };
}

/** Gets a file and passes it to the browser. A redacted copy arrives only if the server has scanned it. */
async function downloadCopy(base, parameters, signal) {
  const response = await fetch(`${base}copy?${new URLSearchParams(parameters)}`, { signal });
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new Error(answer.error ?? `The server answered ${response.status}.`);
  }
  const blob = await response.blob();
  const name = /filename="([\w.-]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1];
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name ?? `session.${parameters.format}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

features.push((page) => {
  const { base } = page.index;

  page.askForDownload = () => {
    if ($("download-dialog")) return;
    const work = new AbortController();
    // What a scan found, or why there is no result.
    let found;
    let failure;
    let isMaking = false;
    const dialog = make("dialog", { className: "change", id: "download-dialog" });
    dialog.setAttribute("aria-labelledby", "download-title");
    const level = selectField("What", "level", COPY_LEVELS);
    const format = selectField("As", "format", COPY_FORMATS);
    const scanned = make("p", { className: "aside" });
    scanned.setAttribute("role", "status");
    const rules = make("ul", { className: "secrets", ariaLabel: "Secrets in this session", hidden: true });
    const problem = make("p", { className: "problem", hidden: true });
    problem.setAttribute("role", "alert");
    const cancel = make("button", { type: "button", textContent: "Cancel" });
    const go = make("button", { type: "submit", className: "primary" });
    const form = make("form", { method: "dialog" }, make("h2", { id: "download-title", textContent: "Download" }), scanned, rules,
      level.element, format.element, problem, make("div", { className: "choices" }, cancel, go));
    dialog.append(form);

    const draw = () => {
      const isOriginal = level.select.value === "none";
      const isWaiting = isOriginal && !found && !failure;
      go.disabled = isMaking || isWaiting;
      if (isMaking) go.textContent = "Making the file…";
      else if (!isOriginal) go.textContent = "Download the copy";
      else if (isWaiting) go.textContent = "Looking for secrets…";
      else if (failure) go.textContent = "Download without a scan";
      else go.textContent = found.certain ? `Download with ${found.certain === 1 ? "the secret" : `${found.certain} secrets`}` : "Download";
      go.classList.toggle("risky", isOriginal && (Boolean(failure) || found?.certain > 0));
    };

    /** Changes the choice to a copy, unless the user has chosen one. */
    const suggestCopy = () => {
      if (level.select.value === "none") level.select.value = "secrets";
    };

    const showScan = () => {
      if (failure) {
        scanned.className = "problem";
        scanned.textContent = `This session could not be scanned for secrets: ${failure}`;
        suggestCopy();
      } else if (found.certain) {
        scanned.className = "problem";
        scanned.textContent = `There are ${secretsText(found)} in this session. Rotate keys that are real, and share only a copy without them.`;
        suggestCopy();
        const counts = new Map();
        for (const { tier, rule } of found.findings) if (tier === "certain") counts.set(rule, (counts.get(rule) ?? 0) + 1);
        for (const [rule, count] of counts) rules.append(make("li", { textContent: count > 1 ? `${rule}, ${count} times` : rule }));
        rules.hidden = false;
      } else {
        const likely = found.likely ? `, ${found.likely} likely ones` : "";
        scanned.textContent = `No certain secrets found${likely}. This is not a proof that there are none.`;
      }
      draw();
    };

    scanned.textContent = "Looking for secrets…";
    scanForSecrets(base, work.signal)
      .then((answer) => (found = answer), (error) => (failure = error.message))
      .then(() => !work.signal.aborted && showScan());

    cancel.addEventListener("click", () => dialog.close());
    for (const { select } of [level, format]) select.addEventListener("change", draw);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      problem.hidden = true;
      if (level.select.value === "none" && format.select.value === "jsonl") {
        dialog.close();
        return page.source.download();
      }
      isMaking = true;
      // A disabled button cannot keep the focus.
      cancel.focus();
      draw();
      try {
        await downloadCopy(base, { level: level.select.value, format: format.select.value }, work.signal);
        dialog.close();
        say(level.select.value === "none" ? "Downloaded." : "Downloaded a redacted copy.");
      } catch (error) {
        isMaking = false;
        draw();
        if (error.name === "AbortError") return;
        problem.textContent = `No file was made: ${error.message}`;
        problem.hidden = false;
        go.focus();
      }
    });
    dialog.addEventListener("close", () => {
      work.abort();
      dialog.remove();
      $("download").focus();
    });
    document.body.append(dialog);
    draw();
    dialog.showModal();
    level.select.focus();
  };
  page.addKey("D", "Download", () => page.download());
});

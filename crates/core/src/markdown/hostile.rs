//! Texts that attack a reader who renders an exported session, and a renderer that detects them.

use std::fmt::Write;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};

use super::*;
use crate::json::Json;

/// Complete attacks.
const ATTACKS: &[&str] = &[
    "$```$<script>alert(1)</script>```",
    "$a\n`b$<script>alert(1)</script>`",
    "[[r]: $a\n`b$<script>alert(1)</script>`",
    "[[javascript:alert(1)]]",
    "![[javascript:alert(1)]]",
    "$$ a\n`b$$<script>alert(1)</script>`",
    "<script>alert(1)</script>",
    "\\<script>alert(1)</script>",
    "\\\\<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<div\nonclick=alert(1)>x</div>",
    "<!-- <script> --><script>alert(1)</script>",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "[a](javascript:alert(1))",
    "[a](JAVASCRIPT:alert(1))",
    "[a]( javascript:alert(1))",
    "[a](\njavascript:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](<java\\script:alert(1)>)",
    "[a](javascript&colon;alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](&#x6A;avascript&#58;alert(1))",
    "[a](java&Tab;script:alert(1))",
    "[a](javascript\\:alert(1))",
    "[a](\\javascript:alert(1))",
    "[a](vbscript:x)",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](file:///etc/passwd)",
    "[a] (javascript:alert(1))",
    "[a](https://e \"x\" onclick=\"alert(1)\")",
    "[a](https://e'onclick='alert(1))",
    "[a][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]:\njavascript:alert(1)",
    "[r]\n\n[r]: <javascript:alert(1)>",
    "[r\n]\n\n[r\n]: javascript:alert(1)",
    "[r]\n\n[r]: https://e\n[r]: javascript:alert(1)",
    "[^1]\n\n[^1]: javascript:alert(1)",
    "[a`](javascript:alert(1))`",
    "`[a`](javascript:alert(1))",
    "[a\\](javascript:alert(1))",
    "[a\\\\](javascript:alert(1))",
    "[![a](https://e/x.png)](javascript:alert(1))",
    "![a](https://e/x.png)",
    "![a][r]\n\n[r]: https://e/x.png",
    "!\\[a](https://e/x.png)",
    "`<script>` \\`<script>alert(1)</script>\\`",
    "\\` `<script>alert(1)</script>` \\`",
    "`` ` `` <script>alert(1)</script>",
    "| a |\n|---|\n| ` | <script>alert(1)</script> ` |",
    "```\n```\n<script>alert(1)</script>",
    "~~~\n```\n~~~\n<script>alert(1)</script>",
    "```` \n```\n<script>alert(1)</script>",
    "``` `\n<script>alert(1)</script>\n```",
    "- ```\n<script>alert(1)</script>\n- ```",
    "> ```\n<script>alert(1)</script>",
    "    ```\n<script>alert(1)</script>",
    "a\n```\n<script>alert(1)</script>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "&lt;script>alert(1)&lt;/script>",
    "<svg/onload=alert(1)>",
    "<script\n\n>alert(1)</script>",
];

/// The pieces of random texts.
const PIECES: &[&str] = &[
    "[",
    "]",
    "](",
    "]:",
    "(",
    ")",
    "!",
    "<",
    ">",
    "`",
    "``",
    "```",
    "~~~",
    "\\",
    "\n",
    "\n\n",
    " ",
    "    ",
    "\t",
    "|",
    "> ",
    "- ",
    "# ",
    "---",
    "&",
    "&lt;",
    "&colon;",
    "javascript:alert(1)",
    "https://e.org/",
    "data:x",
    "a",
    "é",
    "<script>",
    "</script>",
    "<b onclick=x>",
    "\"",
    "'",
    "r",
    "[r]: ",
    "*",
    "_",
    "$",
    "=",
    "{",
    "}",
    "1. ",
];

/// A document with the text in every position.
fn document(text: &str) -> String {
    let string = Json::string(text);
    let string = string.raw();
    let line = |shape: &str| shape.replace("TEXT", &string.to_text());
    let lines = [
        line(r#"{"type":"message","id":TEXT,"message":{"role":"user","content":TEXT}}"#),
        line(
            r#"{"type":"message","message":{"role":"assistant","model":TEXT,"content":[{"type":"thinking","thinking":TEXT},{"type":"text","text":TEXT},{"type":"toolCall","name":TEXT,"arguments":{"command":TEXT}},{"type":"image","mimeType":TEXT,"data":""}],"stopReason":"error","errorMessage":TEXT}}"#,
        ),
        line(
            r#"{"type":"message","message":{"role":"toolResult","toolName":TEXT,"content":[{"type":"text","text":TEXT}]}}"#,
        ),
        line(r#"{"type":"message","message":{"role":"bashExecution","command":TEXT,"output":TEXT}}"#),
        line(r#"{"type":"compaction","summary":TEXT}"#),
        line(r#"{"type":"model_change","modelId":TEXT}"#),
    ];
    let mut out = head(&Header::compose(text, text, text, None), Some(text));
    for line in &lines {
        let written = entry(
            &Entry::new(Json::parse(line).unwrap()),
            EntryNotes {
                label: Some(text),
                time: Some(Timestamp::from_ms(0)),
                max_output_lines: Some(1),
                with_images: true,
            },
        );
        // Writing to a string cannot fail.
        write!(out, "{written}").ok();
    }
    out
}

/// The active content that a renderer would find in a document.
fn live(document: &str) -> Vec<String> {
    let is_harmless = |target: &str| {
        let target = target.to_ascii_lowercase();
        ["http:", "https:", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
            || !target.split(['/', '?', '#']).next().unwrap_or_default().contains([':', '%', '&'])
    };
    let mut found = Vec::new();
    for options in [Options::empty(), Options::all()] {
        for event in Parser::new_ext(document, options) {
            match event {
                Event::Html(html) | Event::InlineHtml(html) => found.push(format!("HTML {html}")),
                Event::Start(Tag::Image { dest_url, .. }) => found.push(format!("image {dest_url}")),
                Event::Start(Tag::Link { dest_url, .. }) if !is_harmless(&dest_url) => {
                    found.push(format!("link {dest_url}"));
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn no_attack_is_live() {
    for attack in ATTACKS {
        let document = document(attack);
        assert_eq!(live(&document), [""; 0], "{attack:?} became\n{document}");
    }
}

#[test]
fn the_renderer_detects_live_html() {
    for attack in ["<b>", "a <b>", "![a](https://e)", "[a](javascript:x)", "[a][r]\n\n[r]: data:x", "<javascript:x>"] {
        assert!(!live(attack).is_empty(), "{attack}");
    }
}

#[test]
fn harmless_links_are_kept() {
    let document = document("see [docs](https://e.org/a_(b)) and [r] or [here](#x \"y\").\n\n[r]: http://e.org");
    let links = Parser::new_ext(&document, Options::all())
        .filter(|event| matches!(event, Event::Start(Tag::Link { .. })))
        .count();
    assert!(links >= 3, "{links} in {document}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_random_text_is_live(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..14), attack in prop::option::of(prop::sample::select(ATTACKS.to_vec()))) {
        let text = pieces.concat() + attack.unwrap_or_default();
        let document = document(&text);
        prop_assert_eq!(live(&document), Vec::<String>::new(), "{:?} became\n{}", text, document);
    }
}

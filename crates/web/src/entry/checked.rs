//! What a browser makes of the HTML of entries: html5ever parses it by the rules of the standard.
//!
//! Whatever a session contains, the parsed document has only elements and attributes of ours, and the text of the
//! session.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser};
use serde_json::{Value, json};
use sessile::json::Json;

use super::*;

/// The values that the tests in a real browser use. Each text between back quotes is one.
const HOSTILE: &str = include_str!("../../../../web-tests/hostile.mjs");

fn hostile_values() -> Vec<String> {
    let mut values = Vec::new();
    for part in HOSTILE.split('`').skip(1).step_by(2) {
        let value = part.replace("${run}", "canary(1)").replace("${far}", "http://attacker.invalid");
        // The escapes of the script are those of JSON, but for quotes.
        let unescaped = serde_json::from_str(&format!("\"{}\"", value.replace('"', "\\\"")));
        values.extend(unescaped.ok());
        values.push(value);
    }
    assert!(values.len() > 600, "{}", values.len());
    values
}

/// What the parsed HTML contains.
#[derive(Default)]
struct Parsed {
    text: String,
    /// The values of attributes that show a text of the session.
    attributes: Vec<String>,
    pres: Vec<String>,
}

fn parse(html: &str) -> Parsed {
    let context = QualName::new(None, ns!(html), local_name!("body"));
    let dom = parse_fragment(RcDom::default(), ParseOpts::default(), context, Vec::new(), false).one(html);
    let mut parsed = Parsed::default();
    // The parser puts the fragment below an element of its own.
    let root = dom.document.children.borrow()[0].clone();
    let mut todo: Vec<Handle> = root.children.borrow().iter().rev().cloned().collect();
    while let Some(node) = todo.pop() {
        match &node.data {
            NodeData::Text { contents } => parsed.text.push_str(&contents.borrow()),
            NodeData::Element { name, attrs, .. } => {
                assert_eq!(name.ns, ns!(html), "{html}");
                let element = &*name.local;
                for attribute in attrs.borrow().iter() {
                    let (name, value) = (&*attribute.name.local, &*attribute.value);
                    assert!(is_allowed(element, name, value), "<{element} {name}={value:?}> in {html}");
                    if matches!(name, "href" | "title" | "alt") {
                        parsed.attributes.push(value.to_owned());
                    }
                }
                assert!(ELEMENTS.contains(&element), "<{element}> in {html}");
                if element == "pre" {
                    parsed.pres.push(text_of(&node));
                }
            }
            other => panic!("{other:?} in {html}"),
        }
        todo.extend(node.children.borrow().iter().rev().cloned());
    }
    parsed
}

fn text_of(node: &Handle) -> String {
    let mut out = String::new();
    let mut todo = vec![node.clone()];
    while let Some(node) = todo.pop() {
        if let NodeData::Text { contents } = &node.data {
            out.push_str(&contents.borrow());
        }
        todo.extend(node.children.borrow().iter().rev().cloned());
    }
    out
}

const ELEMENTS: &[&str] = &[
    "a",
    "article",
    "b",
    "blockquote",
    "br",
    "button",
    "code",
    "details",
    "div",
    "em",
    "figcaption",
    "figure",
    "h2",
    "header",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "time",
    "tr",
    "ul",
];

/// Whether an element may have an attribute with this value.
fn is_allowed(element: &str, name: &str, value: &str) -> bool {
    let is_made_of = |marks: &str| value.chars().all(|char| char.is_ascii_alphanumeric() || marks.contains(char));
    let is_number = || !value.is_empty() && value.chars().all(|char| char.is_ascii_digit());
    match (element, name) {
        (_, "class") => is_made_of("- "),
        ("article", "id") => value.starts_with("entry-") && is_made_of("-._~%"),
        ("article", "data-row") | ("ol", "start") | ("img", "width" | "height") => is_number(),
        ("article" | "pre" | "div", "tabindex") => value == "0" || value == "-1",
        ("a", "href") => {
            let scheme = value.split(':').next().unwrap_or_default().to_ascii_lowercase();
            value.starts_with("#entry-") && is_made_of("#-._~%")
                || ["http", "https", "mailto"].contains(&scheme.as_str())
        }
        ("a", "rel") => value == "noopener noreferrer nofollow",
        ("a", "aria-label") => value == "Link to this entry",
        ("span", "title") | ("img", "alt") => true,
        ("time", "datetime") => is_made_of("-:.+"),
        ("img", "data-type") => is_made_of("/"),
        ("img", "data-image") | ("button", "data-more") => is_made_of(":"),
        ("button", "type") => value == "button",
        ("button", "data-class") => is_made_of(""),
        ("details", "open") => value.is_empty(),
        _ => false,
    }
}

/// Entries with a value in every place.
fn entries_with(text: &str) -> Vec<Value> {
    let image = json!({"type": "image", "mimeType": text, "data": "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAC0lEQVR4nGNgQAcAABIAAeRVj9gAAAAASUVORK5CYII="});
    let call = |name: &str| {
        json!({"type": "toolCall", "id": text, "name": name, "arguments": {
        "path": text, "command": text, "content": text, "pattern": text, text: [text, {text: text}],
        "edits": [{"oldText": text, "newText": format!("{text}x\n{text}")}]}})
    };
    let answer = json!({"role": "assistant", "model": text, "errorMessage": text, "stopReason": text, "content": [
        {"type": "thinking", "thinking": text}, {"type": "text", "text": text}, {"type": text, text: text}, image,
        call("bash"), call("write"), call("edit"), call("grep"), call("read"), call(text)]});
    let result = json!({"role": "toolResult", "toolName": text, "toolCallId": text, "details": {"diff": text},
        "content": [{"type": "text", "text": text}], "nestedCalls": {"calls": [{"name": text, "arguments": text, "status": text, "error": text}]}});
    let shell = json!({"role": "bashExecution", "command": text, "output": text, "exitCode": text});
    let message = |message: Value| json!({"type": "message", "id": text, "message": message});
    vec![
        message(json!({"role": "user", "content": text})),
        message(answer),
        message(result),
        message(shell),
        message(json!({"role": text, "content": text})),
        message(json!(text)),
        json!({"type": "compaction", "id": text, "summary": text, "firstKeptEntryId": text, "details": {"readFiles": [text]}}),
        json!({"type": "branch_summary", "summary": text}),
        json!({"type": "model_change", "provider": text, "modelId": text}),
        json!({"type": "label", "targetId": text, "label": text}),
        json!({"type": "session_info", "name": text}),
        json!({"type": "usage", "kind": text, "note": text}),
        json!({"type": "context_edit", "targetId": text, "replacement": {"content": text}}),
        json!({"type": "custom", "customType": text, "data": {text: text}}),
        json!({"type": "custom_message", "customType": text, "content": text}),
        json!({"type": text, text: text}),
    ]
}

/// Renders an entry with all its windows, and parses each part as a browser does.
fn check(entry: &Value, context: &EntryContext) -> Parsed {
    let rendered = render_entry(&Entry::new(Json::parse(entry.to_string()).unwrap()), context);
    let mut parsed = parse(&rendered.html);
    for window in rendered.long_texts.iter().flat_map(LongText::windows) {
        let window = parse(&window);
        parsed.text.push_str(&window.text);
        parsed.attributes.extend(window.attributes);
    }
    parsed
}

#[track_caller]
fn assert_has_words(parsed: &Parsed, text: &str) {
    for word in text.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| word.len() >= 3) {
        let is_shown = parsed.text.contains(word) || parsed.attributes.iter().any(|value| value.contains(word));
        assert!(is_shown, "{word:?} of {text:?} is not in {:?}", parsed.text);
    }
}

#[test]
fn hostile_values_make_no_element_or_attribute() {
    for value in hostile_values() {
        let context = EntryContext {
            label: Some(value.clone()),
            author: Some(value.clone()),
            local_time: Some(value.clone()),
            call_path: Some(value.clone()),
            has_call: true,
            ..EntryContext::default()
        };
        for (number, entry) in entries_with(&value).iter().enumerate() {
            let parsed = check(entry, &context);
            // The output of a program may hide its control sequences.
            if number == 3 && !value.contains('\u{1b}') {
                assert_has_words(&parsed, &value);
            }
        }
    }
}

/// The texts of a Markdown document, as its parser finds them.
fn markdown_texts(text: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let texts = Parser::new_ext(text, options).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) | Event::Html(text) | Event::InlineHtml(text) => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

fn check_markdown(text: &str) {
    let mut html = String::new();
    push_markdown(&mut html, text);
    let parsed = parse(&html);
    for text in markdown_texts(text) {
        assert_has_words(&parsed, &text);
    }
}

#[test]
fn the_text_of_hostile_markdown_survives() {
    for value in hostile_values() {
        check_markdown(&value);
        for text in [
            format!("[{value}]({value} \"{value}\")"),
            format!("![{value}](<{value}>)"),
            format!("```{value}\n{value}\n```\n- {value}\n> {value}\n\n|{value}|\n|-|\n|{value}|"),
        ] {
            check_markdown(&text);
        }
    }
}

fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<".to_owned()),
        Just(">".to_owned()),
        Just("\"".to_owned()),
        Just("&".to_owned()),
        Just("`".to_owned()),
        Just("](".to_owned()),
        Just("[".to_owned()),
        Just("![".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("<!--".to_owned()),
        Just("</pre>".to_owned()),
        Just("<script>".to_owned()),
        Just("\u{1b}]8;;".to_owned()),
        Just("\u{7}".to_owned()),
        Just("\u{1b}[31m".to_owned()),
        Just("javascript:".to_owned()),
        Just("https://".to_owned()),
        Just("|-|\n".to_owned()),
        Just("* ".to_owned()),
        Just("1. ".to_owned()),
        "[a-z]{1,8}",
        ".{0,6}",
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_an_element_or_attribute(text in markup()) {
        for entry in entries_with(&text) {
            check(&entry, &EntryContext { label: Some(text.clone()), author: Some(text.clone()), ..EntryContext::default() });
        }
        check_markdown(&text);
    }

    #[test]
    fn the_output_of_a_program_is_shown_exactly(text in "[ -~\n\téß🖼]{1,300}") {
        let entry = json!({"type": "message", "message": {"role": "bashExecution", "command": "x", "output": text}});
        let parsed = check(&entry, &EntryContext::default());
        let (shown, expected) = (parsed.pres.get(1..).unwrap_or_default().concat(), without_folds(&text));
        prop_assert_eq!(shown.trim_end(), expected.trim_end());
    }
}

/// The text as the folded parts show it: the line break between two parts is not shown.
fn without_folds(text: &str) -> String {
    let (top, rest) = split_text(text.trim_end(), FOLDED_LINES, FOLDED_BYTES);
    if rest.is_empty() { top.to_owned() } else { format!("{}{rest}", top.strip_suffix('\n').unwrap_or(top)) }
}

#[test]
fn the_check_finds_what_is_not_allowed() {
    for html in [
        "<script>x</script>",
        "<img src=x>",
        "<a href='javascript:x'>x</a>",
        "<p onclick=x>",
        "<!-- x -->",
        "<svg></svg>",
    ] {
        assert!(std::panic::catch_unwind(|| parse(html)).is_err(), "{html}");
    }
}

//! The exported page, read as the browser reads it.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Read;

use flate2::read::DeflateDecoder;
use serde_json::Value;
use sessile::{SessionError, SessionManager, Sessions};
use sessile_web::{Card, Form, Sink, export_html};

#[derive(Default)]
struct Memory {
    page: Vec<u8>,
    files: HashMap<String, Vec<u8>>,
}

impl Sink for Memory {
    type Error = SessionError;

    fn page(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.page.extend_from_slice(bytes);
        Ok(())
    }

    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), SessionError> {
        assert!(self.files.insert(name.to_owned(), bytes.to_vec()).is_none(), "{name} twice");
        Ok(())
    }
}

/// An exported page with its chunks unpacked.
struct Page {
    text: String,
    index: Value,
    chunks: HashMap<String, Vec<u8>>,
}

impl Page {
    fn of(session: &SessionManager, form: Form) -> Self {
        let mut sink = Memory::default();
        export_html(session, &Card::default(), &sessile::System, form, &mut sink).unwrap();
        let text = String::from_utf8(sink.page).unwrap();
        let index = between(&text, "<script id=\"index\" type=\"application/json\">", "</script>");
        let index = serde_json::from_str(&index).unwrap();
        let mut chunks = HashMap::new();
        for part in text.split("<script type=\"text/plain\" id=\"").skip(1) {
            let (name, rest) = part.split_once("\">").unwrap();
            chunks.insert(name.to_owned(), unpacked(rest.split_once("</script>").unwrap().0));
        }
        for (name, bytes) in sink.files {
            let text = String::from_utf8(bytes).unwrap();
            let name = name.strip_suffix(".js").unwrap();
            let data = between(&text, &format!("sessileChunk(\"{name}\",\""), "\")\n");
            chunks.insert(name.to_owned(), unpacked(&data));
        }
        Self { text, index, chunks }
    }

    fn numbers(&self, key: &str) -> Vec<u64> {
        self.index[key].as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
    }

    /// The pieces of all chunks of a kind, one after the other.
    fn pieces(&self, kind: &str) -> Vec<String> {
        let chunks = (0..).map_while(|number| self.chunks.get(&format!("{kind}{number}")));
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        chunks.map(text).flat_map(|text| text.split('\u{1e}').map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    fn original(&self) -> Vec<u8> {
        (0..self.numbers("raw").len()).flat_map(|number| self.chunks[&format!("r{number}")].clone()).collect()
    }
}

fn between(text: &str, start: &str, end: &str) -> String {
    text.split_once(start).unwrap().1.split_once(end).unwrap().0.to_owned()
}

fn unpacked(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: u8| u32::try_from(digits.iter().position(|digit| *digit == byte).unwrap()).unwrap();
    let values: Vec<u32> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let mut packed = Vec::new();
    for group in values.chunks(4) {
        let bits = (0..4).fold(0, |bits, at| bits << 6 | group.get(at).copied().unwrap_or_default());
        packed.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    let mut bytes = Vec::new();
    DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

/// A session with branches, a long output, damage, and a last line without a newline.
fn session_text(n_turns: usize) -> String {
    let time = "\"timestamp\":\"2026-01-02T03:04:05.000Z\"";
    let mut text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s</script>\",{time},\"cwd\":\"/p\"}}\n");
    let long = "output line\\n".repeat(20_000);
    for turn in 0..n_turns {
        let parent = match turn {
            0 => "null".to_owned(),
            // Every seventh turn starts another branch.
            _ => format!("\"r{}\"", turn.saturating_sub(1 + usize::from(turn % 7 == 6))),
        };
        let output = if turn == 1 { &long } else { "ok" };
        let call = format!(
            "{{\"type\":\"toolCall\",\"id\":\"c{turn}\",\"name\":\"bash\",\"arguments\":{{\"command\":\"make {turn}\"}}}}"
        );
        for (id, parent, message) in [
            ("u", parent, format!("{{\"role\":\"user\",\"content\":\"prompt {turn}\"}}")),
            ("a", format!("\"u{turn}\""), format!("{{\"role\":\"assistant\",\"content\":[{call}]}}")),
            (
                "r",
                format!("\"a{turn}\""),
                format!(
                    "{{\"role\":\"toolResult\",\"toolCallId\":\"c{turn}\",\"toolName\":\"bash\",\"content\":\"{output}\"}}"
                ),
            ),
        ] {
            writeln!(
                text,
                "{{\"type\":\"message\",\"id\":\"{id}{turn}\",\"parentId\":{parent},{time},\"message\":{message}}}"
            )
            .unwrap();
        }
        if turn == 2 {
            text.push_str("not JSON at all\r\n");
        }
    }
    text.push_str("{\"type\":\"message\",\"id\":\"torn");
    text
}

fn opened(text: &str) -> (tempfile::TempDir, SessionManager) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, text).unwrap();
    let session = Sessions::default().caching(None).read_only().open(&path).unwrap();
    (dir, session)
}

#[test]
fn the_page_contains_every_entry_and_the_original_bytes() {
    let text = session_text(300);
    let (_dir, session) = opened(&text);
    for form in [Form::OneFile, Form::Split] {
        let page = Page::of(&session, form);
        assert_eq!(page.original(), text.as_bytes());
        let rows = session.outline().rows().len();
        assert_eq!(page.index["rows"].as_u64().unwrap(), rows as u64);
        let (entries, titles, ids) = (page.pieces("e"), page.pieces("t"), page.pieces("i"));
        assert_eq!((entries.len(), titles.len(), ids.len()), (rows, rows, rows));
        for row in session.outline().entries() {
            let id = session.outline().id(row).unwrap().to_string();
            assert_eq!(ids[row.index()], id);
            assert!(entries[row.index()].contains(&format!("id=\"entry-{id}\" data-row=\"{}\"", row.index())));
        }
        assert!(page.numbers("entries").is_sorted() && page.numbers("raw").is_sorted());
        assert!(titles.iter().any(|title| title.contains("[bash: make 5]")), "{titles:?}");
        let leaf = session.path().last().unwrap().index();
        assert_eq!(page.index["leaf"].as_u64().unwrap(), leaf as u64);
    }
}

#[test]
fn windows_of_long_texts_are_found_by_their_records() {
    let (_dir, session) = opened(&session_text(4));
    let page = Page::of(&session, Form::OneFile);
    let records: Vec<Vec<u64>> = serde_json::from_value(page.index["long"].clone()).unwrap();
    let mut rest = String::new();
    for record in &records {
        let [_row, part, chunk, first, count] = record[..] else { panic!("{record:?}") };
        assert_eq!(part, 0);
        let chunk = String::from_utf8(page.chunks[&format!("l{chunk}")].clone()).unwrap();
        let pieces: Vec<&str> = chunk.split('\u{1e}').collect();
        rest.extend(pieces[usize::try_from(first).unwrap()..][..usize::try_from(count).unwrap()].iter().copied());
    }
    // 12 lines are shown at once, and 400 after a click.
    assert_eq!(rest.lines().count(), 20_000 - 412);
}

#[test]
fn the_page_is_readable_without_scripts_and_allows_only_its_own() {
    let (_dir, session) = opened(&session_text(300));
    let page = Page::of(&session, Form::OneFile).text;
    let before_scripts = page.split_once("<script").unwrap().0;
    assert!(before_scripts.contains("prompt 299") && before_scripts.contains("<noscript>"));
    assert!(!before_scripts.contains("prompt 3<"), "only the last part is plain HTML");
    // Of that, a browser with JavaScript draws the end; the rest must not end early.
    let (folded, drawn) = before_scripts.rsplit_once("</noscript>").unwrap();
    assert!(drawn.contains("prompt 299") && !drawn.contains("prompt 290"));
    assert!(folded.rsplit_once("<noscript>").unwrap().1.contains("prompt 290"));
    assert_eq!(before_scripts.matches("</noscript>").count(), 1);
    let notice = between(folded, "<noscript><p class=aside>", "</p>");
    assert!(notice.starts_with("Without JavaScript, this page shows the last 60 of "), "{notice}");
    let policy = between(&page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    let scripts = page.matches("<script").count();
    assert_eq!(page.matches("</script>").count(), scripts, "no text ends a script");
}

#[test]
fn sessions_without_entries_say_so() {
    let header = session_text(0).lines().next().unwrap().to_owned();
    for text in [header.clone() + "\n", header] {
        let (_dir, session) = opened(&text);
        let page = Page::of(&session, Form::OneFile);
        assert!(page.text.contains("This session has no entries."));
        assert_eq!(page.original(), text.as_bytes());
    }
}

#[test]
fn an_error_of_the_sink_ends_the_export() {
    struct Full(usize);
    impl Sink for Full {
        type Error = SessionError;
        fn page(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(SessionError::Cancelled)?;
            Ok(())
        }
        fn file(&mut self, _name: &str, bytes: &[u8]) -> Result<(), SessionError> {
            self.page(bytes)
        }
    }
    let (_dir, session) = opened(&session_text(50));
    for limit in [0, 1000, 60_000, 70_000] {
        for form in [Form::OneFile, Form::Split] {
            let result = export_html(&session, &Card::default(), &sessile::System, form, &mut Full(limit));
            assert!(matches!(result, Err(SessionError::Cancelled)), "{limit}");
        }
    }
}

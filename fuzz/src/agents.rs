//! Sessions of other agents from any lines: an import never panics, `verify` finds nothing in its result, and a second
//! import changes nothing.

use std::convert::Infallible;

use sessile_agents::{Agent, Earlier, ForeignSession, Origin, Place, Plan, Reader, SourceLine};
use sessile_core::json::Json;
use sessile_core::line::{Span, split};
use sessile_core::outline::{Outline, Row};
use sessile_core::verify::{Finding, oddities, references};
use sessile_core::version::StableIds;

const ORIGIN: Origin<'_> = Origin { path: "/source", sha256: "00" };

/// The input is an agent, whether the rest is one document, and the source.
pub fn check(data: &[u8]) {
    let [choice, source @ ..] = data else { return };
    let choice = usize::from(*choice);
    let agent = Agent::ALL[choice / 2 % Agent::ALL.len()];
    for session in survey(agent, choice % 2 == 1, source) {
        let mut text = Plan::new(&session).header(&ORIGIN, "/proj", None).into_bytes();
        text.push(b'\n');
        let first = import(&session, source, &text);
        text.extend(first);
        assert_eq!(findings(&text), Vec::<String>::new(), "{}", String::from_utf8_lossy(&text));
        let second = import(&session, source, &text);
        assert!(second.is_empty(), "a second import writes {}", String::from_utf8_lossy(&second));
    }
}

fn survey(agent: Agent, is_document: bool, source: &[u8]) -> Vec<ForeignSession> {
    let mut reader = Reader::new(agent, "id");
    if is_document {
        let place = Place { file: 0, offset: 0, len: source.len() as u64 };
        reader.line(SourceLine { place, number: 1, bytes: Some(source) });
        return reader.finish();
    }
    for (number, line) in (1..).zip(split(source)) {
        let place = Place { file: 0, offset: line.span.offset, len: line.span.len };
        reader.line(SourceLine { place, number, bytes: line.bytes });
    }
    reader.finish()
}

/// The lines that an import appends to a session.
fn import(session: &ForeignSession, source: &[u8], text: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut read = |place: Place, into: &mut Vec<u8>| {
        match place.blob() {
            Some(nth) if nth % 2 == 1 => into.extend_from_slice(b"null"),
            Some(_) => into.extend_from_slice(b"\"iVBORw0KGgo=\""),
            None => into.extend_from_slice(at(source, place.offset, place.len)),
        }
        Ok::<(), Infallible>(())
    };
    let mut sink = |line: &[u8]| {
        lines.extend_from_slice(line);
        Ok(())
    };
    let read_span = |span: Span| Ok(at(text, span.offset, span.len).to_vec());
    let Ok(mut earlier) = Earlier::new(outline(text), read_span);
    let Ok(_) = Plan::new(session).write(&ORIGIN, &mut earlier, &mut read, &mut sink);
    lines
}

fn at(text: &[u8], offset: u64, len: u64) -> &[u8] {
    let place = |number: u64| usize::try_from(number).expect("a place in memory");
    &text[place(offset)..place(offset + len)]
}

fn outline(text: &[u8]) -> Outline {
    let mut outline = Outline::new();
    for line in split(text) {
        outline.push(line, &mut StableIds);
    }
    outline
}

/// What `verify` counts.
fn findings(text: &[u8]) -> Vec<String> {
    let outline = outline(text);
    let mut read = |row: Row| {
        let span = outline.span(row);
        Ok::<Json, Infallible>(Json::parse(at(text, span.offset, span.len)).expect("a line is JSON"))
    };
    let Ok(references) = references(&outline, &mut read);
    let counted = oddities(&outline).into_iter().chain(references).filter(Finding::counts);
    let mut findings: Vec<String> = counted.map(|finding| format!("{finding:?}")).collect();
    findings.extend(outline.unreadable().map(|row| format!("{row:?} is not readable")));
    findings.extend(outline.entries().filter_map(|row| outline.cut_off(row)).map(|odd| format!("{odd:?}")));
    findings
}

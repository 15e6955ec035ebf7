//! The information that a list of sessions shows.

mod facts;
mod line;

use crate::SessionId;
use crate::archive::{ArchiveMark, ArchiveTarget, MAX_LINE};
use crate::date::{self, LocalZone, Timestamp};
use crate::entry::js_time;
use crate::head::{Kind, Role};
use crate::json::{JsText, Raw, Shape};
use crate::label;
use crate::line::Line;
use crate::message::content_text;
use crate::redaction::Redaction;

pub use facts::{MAX_MODELS, ModelName, RoleCounts, SessionFacts, TokenCounts, leaves_work, usage_of};
use line::{Object, Read};

/// Stands for the first message of a session that has none.
pub const NO_MESSAGES: &str = "(no messages)";

/// A session as a row of a list, without its location on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The session's id.
    pub id: SessionId,
    /// The working directory from its header, or empty.
    pub cwd: String,
    /// The name that the user gave it.
    pub name: Option<JsText<'static>>,
    /// Whether the whole session is archived.
    pub is_archived: bool,
    /// Whether its header says that it is a redacted copy of another session.
    pub is_redacted: bool,
    /// The agent that it was imported from, as its header says.
    pub imported_from: Option<String>,
    /// The file it was forked from, as written in its header.
    pub parent_session: Option<String>,
    /// When it was created, if its header says so.
    pub created: Option<Timestamp>,
    /// The time of the newest user or assistant message, else of the creation. If neither is
    /// known it is `None`, and the caller uses the file's modification time.
    pub modified: Option<Timestamp>,
    /// The number of messages of every role on every branch.
    pub message_count: usize,
    /// The first text from the user.
    pub first_message: JsText<'static>,
    /// All text of user and assistant messages, for searching. Empty unless requested.
    pub all_messages_text: JsText<'static>,
    /// Other counts.
    pub facts: SessionFacts,
}

/// Everything collected from the lines so far. It is plain data, so it can be stored and continued later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// The first value of the lines.
    pub first: FirstValue,
    /// The current name.
    pub name: Option<JsText<'static>>,
    /// Whether the whole session is archived.
    pub is_archived: bool,
    /// The first text from the user.
    pub first_message: Option<JsText<'static>>,
    /// The newest time of a user or assistant message.
    pub last_activity: Option<f64>,
    /// The id of the last entry as WTF-8, to check whether the next one is its child. `None` before the first entry.
    pub last_id: Option<Vec<u8>>,
    /// Counts.
    pub facts: SessionFacts,
}

/// The first value of the lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FirstValue {
    /// None so far.
    #[default]
    NotYetSeen,
    /// Not a header, so the lines are not a session, whatever follows.
    NoHeader,
    /// A header.
    Header(HeaderInfo),
}

/// The header information that a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderInfo {
    /// The offset of its line.
    pub offset: u64,
    /// The session's id.
    pub id: SessionId,
    /// The working directory, or empty.
    pub cwd: String,
    /// The file the session was forked from.
    pub parent_session: Option<String>,
    /// When the session was created.
    pub created: Option<Timestamp>,
    /// Whether the header states that time as a string. Only then does it count as activity if there is no other.
    pub is_stated: bool,
    /// Whether the header has the mark of a redacted copy.
    pub is_redacted: bool,
    /// The agent that the session was imported from.
    pub imported_from: Option<String>,
}

/// Collects an [`Info`] line by line, so that files of any size need little memory.
///
/// An odd entry hides only itself: unreadable lines are skipped.
#[derive(Debug, Default)]
pub struct InfoScan {
    collected: Collected,
    texts: Option<Vec<u8>>,
}

/// Continues where another scan stopped.
impl From<Collected> for InfoScan {
    fn from(collected: Collected) -> Self {
        Self { collected, texts: None }
    }
}

impl InfoScan {
    /// Creates a scan that also keeps the text of all messages.
    pub fn with_texts() -> Self {
        Self { texts: Some(Vec::new()), ..Self::default() }
    }

    /// The data collected so far, without the text.
    pub fn collected(&self) -> &Collected {
        &self.collected
    }

    /// Whether the lines so far cannot be a session, so that the rest need not be read.
    pub fn cannot_be_session(&self) -> bool {
        self.collected.first == FirstValue::NoHeader
    }

    /// Adds the next line.
    pub fn push(&mut self, line: Line<'_>, zone: &dyn LocalZone) {
        self.take(line, zone, line::read);
    }

    /// The simple reference implementation of [`push`](Self::push): looks up each value separately.
    pub fn push_simple(&mut self, line: Line<'_>, zone: &dyn LocalZone) {
        self.take(line, zone, line::read_simple);
    }

    fn take(&mut self, line: Line<'_>, zone: &dyn LocalZone, read: fn(&[u8]) -> Read<'_>) {
        let line = line.without_bom();
        let read = line.bytes.map_or(Read::Malformed, read);
        let is_first = self.collected.first == FirstValue::NotYetSeen;
        match read {
            Read::Nothing => {}
            Read::Malformed => self.collected.facts.unreadable_lines += 1,
            Read::NotObject if is_first => self.collected.first = FirstValue::NoHeader,
            Read::NotObject => self.collected.facts.entries += 1,
            Read::Object(object) if is_first => {
                let header = line.bytes.and_then(|bytes| HeaderInfo::read(&object, bytes, line.span.offset, zone));
                self.collected.first = header.map_or(FirstValue::NoHeader, FirstValue::Header);
            }
            Read::Object(object) => self.take_entry(&object, line.span.len, zone),
        }
    }

    fn take_entry(&mut self, entry: &Object<'_>, n_bytes: u64, zone: &dyn LocalZone) {
        let kind = entry.kind();
        if kind == Kind::Header {
            // A further header is not an entry.
            return;
        }
        self.collected.note_parent(entry);
        match kind {
            Kind::SessionInfo => self.collected.name = entry.name.and_then(given_name),
            Kind::Message => self.take_message(entry, zone),
            Kind::Usage | Kind::Compaction | Kind::BranchSummary => {
                self.collected.facts.compactions += u64::from(kind == Kind::Compaction);
                entry.usage.into_iter().for_each(|usage| self.collected.facts.add_usage(usage));
            }
            Kind::Custom if n_bytes <= MAX_LINE => self.take_mark(entry),
            Kind::Label => {
                let is_private = entry.label.is_some_and(|label| label::is_private(&label::text_of(label)));
                self.collected.facts.had_private_label |= is_private;
            }
            Kind::Header
            | Kind::ThinkingLevelChange
            | Kind::ModelChange
            | Kind::Custom
            | Kind::CustomMessage
            | Kind::ContextEdit
            | Kind::Unknown
            | Kind::NotObject => {}
        }
    }

    fn take_mark(&mut self, entry: &Object<'_>) {
        let Some(header) = self.collected.header() else { return };
        let mark = ArchiveMark::read(entry.custom_type, entry.data, &header.id);
        if let Some(mark) = mark.filter(|mark| mark.target == ArchiveTarget::Session) {
            self.collected.is_archived = mark.is_archived;
        }
    }

    fn take_message(&mut self, entry: &Object<'_>, zone: &dyn LocalZone) {
        let (role, message) = (entry.role(), &entry.message);
        let facts = &mut self.collected.facts;
        facts.messages.add(role);
        facts.is_unanswered = leaves_work(role, message.stop_reason).unwrap_or(facts.is_unanswered);
        if role == Role::Assistant {
            facts.add_model(message.provider, message.model);
        }
        if matches!(role, Role::Assistant | Role::ToolResult)
            && let Some(usage) = message.usage
        {
            facts.add_usage(usage);
        }
        let Some(content) = message.content.filter(|_| role.is_conversation()) else { return };
        let own_time = message.timestamp.and_then(Raw::as_number);
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
        let time = own_time.or_else(|| js_time(entry.timestamp, zone).map(|time| time.as_ms() as f64));
        if let Some(time) = time {
            let newest = &mut self.collected.last_activity;
            *newest = Some(newest.unwrap_or_default().max(time));
        }
        self.take_text(role, content);
    }

    fn take_text(&mut self, role: Role, content: Raw<'_>) {
        let is_opening = role == Role::User && self.collected.first_message.is_none();
        if self.texts.is_none() && !is_opening {
            return;
        }
        let text = content_text(content);
        if text.is_empty() {
            return;
        }
        if let Some(texts) = &mut self.texts {
            if !texts.is_empty() {
                texts.push(b' ');
            }
            texts.extend_from_slice(text.as_wtf8());
        }
        if is_opening {
            self.collected.first_message = Some(text);
        }
    }

    /// Returns the collected information; `None` if the lines are not a session.
    pub fn finish(self) -> Option<Info> {
        let texts = self.texts.unwrap_or_default();
        self.collected.into_info().map(|info| Info { all_messages_text: JsText::from_wtf8(texts), ..info })
    }
}

impl Collected {
    /// The row of a list; `None` if the lines are not a session.
    pub fn into_info(self) -> Option<Info> {
        let FirstValue::Header(header) = self.first else { return None };
        let active = self.last_activity.filter(|time| *time > 0.0).and_then(date::time_clip);
        Some(Info {
            id: header.id,
            cwd: header.cwd,
            name: self.name,
            is_archived: self.is_archived,
            is_redacted: header.is_redacted,
            imported_from: header.imported_from,
            parent_session: header.parent_session,
            created: header.created,
            modified: active.or_else(|| header.created.filter(|_| header.is_stated)),
            message_count: usize::try_from(self.facts.messages.total()).unwrap_or(usize::MAX),
            first_message: self.first_message.unwrap_or_else(|| JsText::from(NO_MESSAGES)),
            all_messages_text: JsText::from(""),
            facts: self.facts,
        })
    }

    /// The header, if the lines are a session.
    pub fn header(&self) -> Option<&HeaderInfo> {
        match &self.first {
            FirstValue::Header(header) => Some(header),
            FirstValue::NotYetSeen | FirstValue::NoHeader => None,
        }
    }

    /// Counts an entry, and checks whether it is a child of the one before it.
    fn note_parent(&mut self, entry: &Object<'_>) {
        self.facts.entries += 1;
        let time = entry.timestamp.filter(|time| time.shape() == Shape::String);
        let time = time.map(Raw::as_bytes).and_then(|token| date::parse_utc_iso(&token[1..token.len() - 1]));
        self.facts.newest_entry = self.facts.newest_entry.max(time);
        let (id, parent) = (entry.id.and_then(Raw::as_text), entry.parent.and_then(Raw::as_text));
        if let Some(last) = &self.last_id {
            // Entries of version 1 have no ids; each is a child of the one before it.
            self.facts.has_branches |= id.is_some() && parent.is_none_or(|parent| parent.as_wtf8() != last);
        }
        if let Some(id) = id {
            let last = self.last_id.get_or_insert_default();
            last.clear();
            last.extend_from_slice(id.as_wtf8());
        }
    }
}

/// A name as a list shows it: trimmed. `None` if it is blank.
fn given_name(name: Raw<'_>) -> Option<JsText<'static>> {
    name.as_text().map(|name| name.trim().into_owned()).filter(|name| !name.is_empty())
}

/// The longest name of an agent in a list.
const MAX_AGENT: usize = 24;

/// The name of an agent: a short word, because the header of a file can say anything.
fn agent_word(name: Raw<'_>) -> Option<String> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '-';
    name.as_string().filter(|name| !name.is_empty() && name.len() <= MAX_AGENT && name.chars().all(is_plain))
}

impl HeaderInfo {
    fn read(object: &Object<'_>, line: &[u8], offset: u64, zone: &dyn LocalZone) -> Option<Self> {
        let id = object.id.and_then(Raw::as_string).filter(|_| object.kind() == Kind::Header)?;
        let header = Raw::parse(line).ok()?;
        let text = |key| header.get(key).and_then(Raw::as_string);
        Some(Self {
            offset,
            id: id.into(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            created: js_time(object.timestamp, zone),
            is_stated: object.timestamp.is_some_and(|timestamp| timestamp.shape() == Shape::String),
            is_redacted: header.get("redacted").and_then(Redaction::of).is_some(),
            imported_from: header.get("importedFrom").and_then(|from| from.get("agent")).and_then(agent_word),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Utc;
    use crate::line::split;

    const SESSION: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p","parentSession":"/q"}
{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"","timestamp":5}}
{"type":"message","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:03.000Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","usage":{"input":3,"cost":{"total":0.25}}}}
torn
{"type":"usage","id":"u","parentId":"b","timestamp":"2025-01-01T00:00:02.000Z","provider":"p","model":"w","usage":{"input":4}}
{"type":"session_info","id":"n","parentId":"u","name":" N "}
{"type":"message","id":"c","parentId":"a","message":{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":7}}
{"type":"compaction","id":"d","parentId":"c","summary":"s"}
{"type":"custom","customType":"sessile.archive","data":{"archived":true},"id":"m","parentId":"d"}
"#;

    fn scanned(bytes: &[u8]) -> Collected {
        let mut scan = InfoScan::default();
        for line in split(bytes) {
            scan.push(line, &Utc);
        }
        scan.collected
    }

    #[test]
    fn scan_counts_every_entry() {
        let info = scanned(SESSION.as_bytes()).into_info().unwrap();
        assert_eq!((info.id.as_str(), info.cwd.as_str(), info.parent_session.as_deref()), ("s", "/p", Some("/q")));
        assert_eq!((info.name, info.first_message, info.message_count), (Some("N".into()), "hi".into(), 3));
        assert_eq!(
            (info.created, info.modified),
            (Some(Timestamp::from_ms(1_735_689_600_000)), Some(Timestamp::from_ms(1_735_689_603_000)))
        );
        let facts = info.facts;
        assert_eq!((facts.entries, facts.compactions, facts.unreadable_lines), (7, 1, 1));
        assert_eq!((facts.messages.of(Role::User), facts.messages.of(Role::Assistant)), (2, 1));
        assert_eq!(facts.models, [ModelName { provider: "p".into(), model: "m".into() }]);
        assert!((facts.tokens.input - 7.0).abs() < 1e-9 && (facts.cost - 0.25).abs() < 1e-9);
        assert_eq!(facts.newest_entry, Some(Timestamp::from_ms(1_735_689_603_000)));
        assert!(facts.has_branches);
    }

    #[test]
    fn a_prompt_a_result_and_a_call_leave_work() {
        let is_unanswered = |lines: &[&str]| {
            let mut text = r#"{"type":"session","version":3,"id":"s"}"#.to_owned();
            for line in lines {
                text += "\n";
                text += line;
            }
            scanned(text.as_bytes()).facts.is_unanswered
        };
        let user = r#"{"type":"message","message":{"role":"user","content":"x"}}"#;
        let call = r#"{"type":"message","message":{"role":"assistant","stopReason":"toolUse","content":[]}}"#;
        let result = r#"{"type":"message","message":{"role":"toolResult","content":[]}}"#;
        let answer = r#"{"type":"message","message":{"role":"assistant","stop\u0052eason":"stop","content":[]}}"#;
        let label = r#"{"type":"label","targetId":"a","label":"x"}"#;
        let shell = r#"{"type":"message","message":{"role":"bashExecution","command":"ls"}}"#;
        assert!(!is_unanswered(&[]) && is_unanswered(&[user]) && is_unanswered(&[user, label, shell]));
        assert!(is_unanswered(&[user, call]) && is_unanswered(&[user, call, result]));
        assert!(!is_unanswered(&[user, call, result, answer]) && !is_unanswered(&[user, answer, label, shell]));
        assert!(is_unanswered(&[user, answer, user]));
        let stopped = |reason: &str| is_unanswered(&[&answer.replace("\"stop\"", reason)]);
        assert!(!stopped("\"aborted\"") && !stopped("\"error\"") && !stopped("null") && stopped("\"deferred\""));
    }

    #[test]
    fn the_last_mark_decides_whether_a_session_is_archived() {
        let mark = |data: &str| {
            format!("{{\"type\":\"custom\",\"customType\":\"sessile.archive\",\"data\":{data},\"id\":\"m\"}}\n")
        };
        let archived = |marks: &[String]| scanned((SESSION.to_owned() + &marks.concat()).as_bytes()).is_archived;
        let (on, off) = (mark(r#"{"archived":true,"sessionId":"s"}"#), mark(r#"{"archived":false,"sessionId":"s"}"#));
        assert!(archived(std::slice::from_ref(&on)) && archived(&[off.clone(), on.clone()]));
        assert!(archived(&[]) && !archived(&[on.clone(), off.clone()]), "the session ends with a mark");
        assert!(
            !archived(&[off.clone(), mark(r#"{"archived":true,"sessionId":"another"}"#)]),
            "a mark copied by a fork does not count"
        );
        assert!(
            !archived(&[off.clone(), mark(r#"{"archived":true,"entryId":"a"}"#)]),
            "a mark of a branch does not count"
        );
        let long = on.replace("\"id\"", &format!("\"x\":\"{}\",\"id\"", "x".repeat(9000)));
        assert!(!archived(&[off, long]), "too long to be a mark");
        let before = on.clone() + SESSION + &on;
        assert_eq!(scanned(before.as_bytes()).header(), None);
    }

    #[test]
    fn the_header_names_the_agent_of_an_imported_session() {
        let agent = |mark: &str| {
            let session = SESSION.replace(r#""cwd":"/p""#, &format!(r#""cwd":"/p","importedFrom":{mark}"#));
            scanned(session.as_bytes()).into_info().unwrap().imported_from
        };
        assert_eq!(agent(r#"{"agent":"claude","id":"x"}"#).as_deref(), Some("claude"));
        for odd in
            [r#""claude""#, r#"{"agent":""}"#, r#"{"agent":7}"#, r#"{"agent":"\u001b[2J"}"#, r#"{"agent":"a b"}"#]
        {
            assert_eq!(agent(odd), None, "{odd}");
        }
        assert_eq!(agent(&format!(r#"{{"agent":"{}"}}"#, "x".repeat(25))), None);
    }

    #[test]
    fn a_private_label_is_remembered() {
        let had = |label: &str| {
            let line = format!("{{\"type\":\"label\",\"targetId\":\"a\",\"label\":{label},\"id\":\"l\"}}\n");
            let facts = |text: &str| scanned(text.as_bytes()).facts;
            let removed = r#"{"type":"label","targetId":"a","label":null,"id":"r"}"#;
            let [set, removed] =
                [SESSION.to_owned() + &line, SESSION.to_owned() + &line + removed].map(|text| facts(&text));
            assert_eq!(set.had_private_label, removed.had_private_label);
            set.had_private_label
        };
        assert!(had("\"see #Private\"") && had(r#""\u0023private""#) && had(r##"["#private"]"##));
        assert!(!had("\"private\"") && !had("null") && !had("7"));
    }

    #[test]
    fn the_header_says_whether_a_session_is_a_redacted_copy() {
        let is_redacted = |mark: &str| {
            let session = SESSION.replace(r#""cwd":"/p""#, &format!(r#""cwd":"/p","redacted":{mark}"#));
            scanned(session.as_bytes()).into_info().unwrap().is_redacted
        };
        assert!(is_redacted(r#"{"by":"sessile","level":"paths"}"#) && is_redacted("{}"));
        assert!(!is_redacted("true") && !is_redacted("null"), "not a mark");
        assert!(!scanned(SESSION.as_bytes()).into_info().unwrap().is_redacted);
    }

    #[test]
    fn a_scan_can_be_resumed_anywhere() {
        let lines = split(SESSION.as_bytes());
        let whole = scanned(SESSION.as_bytes());
        for stop in 0..=lines.len() {
            let mut first = InfoScan::default();
            lines[..stop].iter().for_each(|line| first.push(*line, &Utc));
            let mut second = InfoScan::from(first.collected().clone());
            lines[stop..].iter().for_each(|line| second.push(*line, &Utc));
            assert_eq!(second.collected, whole, "stopped before line {stop}");
        }
    }

    #[test]
    fn both_line_readers_collect_the_same() {
        let mut simple = InfoScan::with_texts();
        for line in split(SESSION.as_bytes()) {
            simple.push_simple(line, &Utc);
        }
        assert_eq!(simple.collected, scanned(SESSION.as_bytes()));
    }

    #[test]
    fn a_linear_session_has_no_branches() {
        let linear: Vec<&str> = SESSION.lines().filter(|line| !line.contains("\"id\":\"c\"")).take(6).collect();
        assert!(!scanned(linear.join("\n").as_bytes()).facts.has_branches);
    }
}

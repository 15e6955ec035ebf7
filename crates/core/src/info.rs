//! What a list of sessions shows of each one.

use crate::date::{self, LocalZone};
use crate::entry::js_time;
use crate::head::{self, Kind, Parsed, Role};
use crate::json::{JsText, Json, Raw, Shape};
use crate::line::Line;
use crate::message::text_of;

/// What stands for the first message of a session that has none.
pub const NO_MESSAGES: &str = "(no messages)";

/// A session as a row of a list, without its place on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The session's id.
    pub id: String,
    /// The working directory its header names, or nothing.
    pub cwd: String,
    /// The name somebody gave it.
    pub name: Option<JsText<'static>>,
    /// The file it was forked from, as its header has it.
    pub parent_session: Option<String>,
    /// When it was created, in milliseconds, if its header says so.
    pub created: Option<i64>,
    /// The newest message of user or assistant, else the creation, in milliseconds.
    /// None if neither is known: the file's own time has to do.
    pub modified: Option<i64>,
    /// Messages of every role on every branch.
    pub message_count: usize,
    /// The first text of the user.
    pub first_message: JsText<'static>,
    /// All texts of user and assistant, for searching; empty unless asked for.
    pub all_messages_text: JsText<'static>,
}

/// Collects an [`Info`] line by line, so that files of any size need little memory.
///
/// One odd entry hides nothing but itself: what cannot be read is passed over.
#[derive(Debug, Default)]
pub struct InfoScan {
    header: FirstValue,
    name: Option<Json>,
    message_count: usize,
    first_message: Option<JsText<'static>>,
    last_activity: Option<f64>,
    texts: Option<Vec<u8>>,
}

/// What the first value of the lines turned out to be.
#[derive(Debug, Default)]
enum FirstValue {
    #[default]
    NotYetSeen,
    NoHeader,
    Header(Header),
}

#[derive(Debug)]
struct Header {
    id: String,
    cwd: String,
    parent_session: Option<String>,
    timestamp: Option<Json>,
}

impl InfoScan {
    /// A scan that keeps the texts of all messages too.
    pub fn with_texts() -> Self {
        Self { texts: Some(Vec::new()), ..Self::default() }
    }

    /// Whether the lines so far rule out that this is a session, so that the rest need not be read.
    pub fn is_hopeless(&self) -> bool {
        matches!(self.header, FirstValue::NoHeader)
    }

    /// Takes the next line.
    pub fn push(&mut self, line: Line<'_>, zone: &dyn LocalZone) {
        let Some(bytes) = line.without_bom().bytes else { return };
        let Parsed::Kept(head) = head::read(bytes) else { return };
        if matches!(self.header, FirstValue::NotYetSeen) {
            let is_header = head.kind == Kind::Header && head.id.is_some();
            let header = is_header.then(|| Header::read(bytes)).flatten();
            self.header = header.map_or(FirstValue::NoHeader, FirstValue::Header);
            return;
        }
        match head.kind {
            Kind::SessionInfo => {
                self.name = Raw::parse(bytes).ok().and_then(|entry| entry.get("name")).map(Raw::to_json);
            }
            Kind::Message => {
                self.message_count += 1;
                if head.role.is_conversation()
                    && let Ok(entry) = Raw::parse(bytes)
                {
                    self.take_message(head.role, entry, zone);
                }
            }
            _ => {}
        }
    }

    fn take_message(&mut self, role: Role, entry: Raw<'_>, zone: &dyn LocalZone) {
        let Some(message) = entry.get("message").filter(|message| message.get("content").is_some()) else { return };
        let own_time = message.get("timestamp").and_then(Raw::as_number);
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
        let time = own_time.or_else(|| js_time(entry.get("timestamp"), zone).map(|time| time as f64));
        if let Some(time) = time {
            self.last_activity = Some(self.last_activity.unwrap_or_default().max(time));
        }
        let wants_text = self.texts.is_some() || (role == Role::User && self.first_message.is_none());
        if !wants_text {
            return;
        }
        let text = text_of(message);
        if text.is_empty() {
            return;
        }
        if let Some(texts) = &mut self.texts {
            if !texts.is_empty() {
                texts.push(b' ');
            }
            texts.extend_from_slice(text.as_wtf8());
        }
        if role == Role::User && self.first_message.is_none() {
            self.first_message = Some(text);
        }
    }

    /// What was collected; none if the lines are no session.
    pub fn finish(self, zone: &dyn LocalZone) -> Option<Info> {
        let FirstValue::Header(header) = self.header else { return None };
        let created = js_time(header.timestamp.as_ref().map(Json::raw), zone);
        let stated = header.timestamp.filter(|timestamp| timestamp.raw().shape() == Shape::String);
        let active = self.last_activity.filter(|time| *time > 0.0).and_then(date::time_clip);
        let name = self.name.as_ref().and_then(|name| name.raw().as_text());
        Some(Info {
            id: header.id,
            cwd: header.cwd,
            name: name.map(|name| name.trim().into_owned()).filter(|name| !name.is_empty()),
            parent_session: header.parent_session,
            created,
            modified: active.or_else(|| stated.and(created)),
            message_count: self.message_count,
            first_message: self.first_message.unwrap_or_else(|| JsText::from(NO_MESSAGES)),
            all_messages_text: JsText::from_wtf8(self.texts.unwrap_or_default()),
        })
    }
}

impl Header {
    fn read(line: &[u8]) -> Option<Self> {
        let header = Raw::parse(line).ok()?;
        let text = |key| header.get(key).and_then(Raw::as_string);
        Some(Self {
            id: text("id")?,
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            timestamp: header.get("timestamp").map(Raw::to_json),
        })
    }
}

//! Typed access to the fields of entries.
//!
//! An [`Entry`] owns the text of one line of a session. Its [`payload`](Entry::payload) is a view of that text by type:
//! it borrows the text, decodes each field on request, and never fails. A field that is absent or has the wrong shape
//! is `None`. Unknown fields remain available in [`Entry::raw`].

use crate::EntryId;
use crate::date::{self, LocalZone, Timestamp};
use crate::head::{self, Kind, Parsed};
use crate::json::{Json, Raw, Shape};
use crate::message::view::{Field, views};
use crate::message::{Content, Message, SystemMessage, TokenUsage};

/// One entry of a session. It can be any JSON value, because files may contain any.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::entry::{Entry, Payload};
/// use sessile::json::Json;
///
/// let line = r#"{"type":"label","id":"b2","parentId":"a1","timestamp":"2025-01-01T00:00:00.000Z","targetId":"a1","label":"start"}"#;
/// let entry = Entry::new(Json::parse(line)?);
/// assert_eq!(entry.id().unwrap(), "b2");
/// assert_eq!(entry.parent_id().unwrap(), "a1");
///
/// let Payload::Label(label) = entry.payload() else { panic!("another type") };
/// assert_eq!(label.target_id().unwrap(), "a1");
/// assert_eq!(label.label().as_deref(), Some("start"));
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    json: Json,
    kind: Kind,
}

impl Entry {
    /// Wraps a value as an entry.
    pub fn new(json: Json) -> Self {
        // Uses the parser that opens sessions, so that the two cannot disagree.
        let kind = match head::read(json.raw().as_bytes()) {
            Parsed::Value(head) => head.kind,
            Parsed::Falsy | Parsed::Blank | Parsed::Malformed { .. } => Kind::NotObject,
        };
        Self { json, kind }
    }

    /// The value.
    pub fn json(&self) -> &Json {
        &self.json
    }

    /// A borrowed view of the value.
    pub fn raw(&self) -> Raw<'_> {
        self.json.raw()
    }

    /// Returns the value.
    pub fn into_json(self) -> Json {
        self.json
    }

    /// The type of the entry.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The id, if it is a string.
    pub fn id(&self) -> Option<EntryId> {
        self.field("id")
    }

    /// The id of the parent. `None` for a root, and for anything that is not a string.
    pub fn parent_id(&self) -> Option<EntryId> {
        self.field("parentId")
    }

    /// The timestamp as written, if it is a string.
    pub fn timestamp(&self) -> Option<String> {
        self.field("timestamp")
    }

    /// The time, see [`js_time`].
    pub fn time(&self, zone: &dyn LocalZone) -> Option<Timestamp> {
        js_time(self.raw().get("timestamp"), zone)
    }

    /// The message of a `message` entry, if it is an object. `None` for entries of other types.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::entry::Entry;
    /// use sessile::format::head::Role;
    /// use sessile::json::Json;
    ///
    /// let entry = Entry::new(Json::parse(
    ///     r#"{"type":"message","id":"b2","parentId":"a1","message":{"role":"assistant","model":"acme-1",
    ///         "content":[{"type":"text","text":"Done."}],"usage":{"input":900,"output":12,"totalTokens":912}}}"#,
    /// )?);
    /// let message = entry.message().unwrap();
    /// assert_eq!(message.role(), Role::Assistant);
    /// assert_eq!(message.role().to_string(), "assistant");
    /// assert_eq!(message.text(), "Done.");
    /// assert_eq!(message.model().as_deref(), Some("acme-1"));
    /// assert_eq!(message.usage().unwrap().output(), Some(12.0));
    /// # Ok::<(), sessile::json::NotJson>(())
    /// ```
    pub fn message(&self) -> Option<Message<'_>> {
        (self.kind == Kind::Message).then(|| MessageEntry::new(self.raw()).message())?
    }

    /// A typed view of the entry's fields.
    pub fn payload(&self) -> Payload<'_> {
        let raw = self.raw();
        match self.kind {
            Kind::Message => Payload::Message(MessageEntry::new(raw)),
            Kind::ThinkingLevelChange => Payload::ThinkingLevelChange(ThinkingLevelChangeEntry::new(raw)),
            Kind::ModelChange => Payload::ModelChange(ModelChangeEntry::new(raw)),
            Kind::Usage => Payload::Usage(UsageEntry::new(raw)),
            Kind::Compaction => Payload::Compaction(CompactionEntry::new(raw)),
            Kind::BranchSummary => Payload::BranchSummary(BranchSummaryEntry::new(raw)),
            Kind::Custom => Payload::Custom(CustomEntry::new(raw)),
            Kind::CustomMessage => Payload::CustomMessage(CustomMessageEntry::new(raw)),
            Kind::ContextEdit => Payload::ContextEdit(ContextEditEntry::new(raw)),
            Kind::Label => Payload::Label(LabelEntry::new(raw)),
            Kind::SessionInfo => Payload::SessionInfo(SessionInfoEntry::new(raw)),
            Kind::Header | Kind::Unknown | Kind::NotObject => Payload::Unknown(raw),
        }
    }

    fn field<'a, T>(&'a self, key: &str) -> Option<T>
    where
        Option<T>: Field<'a>,
    {
        Field::read(self.raw().get(key))
    }
}

impl From<Json> for Entry {
    fn from(json: Json) -> Self {
        Self::new(json)
    }
}

impl From<Entry> for Json {
    fn from(entry: Entry) -> Self {
        entry.json
    }
}

/// The instant of `new Date(value)` in JavaScript.
///
/// Strings are read as in [`date::parse`], and numbers count milliseconds. `null` and `false` are the epoch, and `true`
/// is one millisecond after it. A missing value is not a date. An array is first converted to a string, as JavaScript
/// does.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::date::{Timestamp, Utc};
/// use sessile::entry::js_time;
/// use sessile::json::Raw;
///
/// let date = Raw::parse(br#""2025-01-01""#)?;
/// assert_eq!(js_time(Some(date), &Utc), Some(Timestamp::from_ms(1_735_689_600_000)));
/// assert_eq!(js_time(None, &Utc), None);
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
pub fn js_time(value: Option<Raw<'_>>, zone: &dyn LocalZone) -> Option<Timestamp> {
    let value = value?;
    match value.shape() {
        Shape::Null => Some(Timestamp::EPOCH),
        Shape::Bool => Some(Timestamp::from_ms(i64::from(value.is_truthy()))),
        Shape::Number => date::time_clip(value.as_number()?),
        Shape::String | Shape::Array | Shape::Object => {
            let text = value.to_js_string();
            let text = text.to_str();
            date::parse_utc_iso(text.as_bytes()).or_else(|| date::parse(&text, zone))
        }
    }
}

/// A typed view of an entry, by its type.
// Exhaustive on purpose: a new type must be considered wherever types are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Payload<'a> {
    /// `message`
    Message(MessageEntry<'a>),
    /// `thinking_level_change`
    ThinkingLevelChange(ThinkingLevelChangeEntry<'a>),
    /// `model_change`
    ModelChange(ModelChangeEntry<'a>),
    /// `usage`
    Usage(UsageEntry<'a>),
    /// `compaction`
    Compaction(CompactionEntry<'a>),
    /// `branch_summary`
    BranchSummary(BranchSummaryEntry<'a>),
    /// `custom`
    Custom(CustomEntry<'a>),
    /// `custom_message`
    CustomMessage(CustomMessageEntry<'a>),
    /// `context_edit`
    ContextEdit(ContextEditEntry<'a>),
    /// `label`
    Label(LabelEntry<'a>),
    /// `session_info`
    SessionInfo(SessionInfoEntry<'a>),
    /// An unknown type, no type, or not an object. Kept and copied byte for byte.
    Unknown(Raw<'a>),
}

impl<'a> Payload<'a> {
    /// The whole entry as it is in the file.
    pub fn raw(self) -> Raw<'a> {
        match self {
            Self::Message(entry) => entry.raw(),
            Self::ThinkingLevelChange(entry) => entry.raw(),
            Self::ModelChange(entry) => entry.raw(),
            Self::Usage(entry) => entry.raw(),
            Self::Compaction(entry) => entry.raw(),
            Self::BranchSummary(entry) => entry.raw(),
            Self::Custom(entry) => entry.raw(),
            Self::CustomMessage(entry) => entry.raw(),
            Self::ContextEdit(entry) => entry.raw(),
            Self::Label(entry) => entry.raw(),
            Self::SessionInfo(entry) => entry.raw(),
            Self::Unknown(raw) => raw,
        }
    }
}

views! {
    /// A message of the conversation.
    MessageEntry<'a> {
        /// The message, if it is an object.
        message: Option<Message<'a>> = "message";
    }

    /// Changes the thinking level from this point on.
    ThinkingLevelChangeEntry<'a> {
        /// The level: `off`, `minimal`, `low`, `medium`, `high`, or a custom word.
        thinking_level: Option<String> = "thinkingLevel";
    }

    /// Changes the model from this point on.
    ModelChangeEntry<'a> {
        /// The provider of the model.
        provider: Option<String> = "provider";
        /// The model that was selected, not necessarily the one that answers.
        model_id: Option<String> = "modelId";
    }

    /// Tokens spent outside the conversation. They count toward the cost, and no model sees them.
    UsageEntry<'a> {
        /// The purpose, such as `cache_warm`.
        kind: Option<String> = "kind";
        /// The provider of the model.
        provider: Option<String> = "provider";
        /// The model.
        model: Option<String> = "model";
        /// The token counts.
        usage: Option<TokenUsage<'a>> = "usage";
        /// A note.
        note: Option<String> = "note";
    }

    /// Replaces the earlier conversation with a summary from this point on.
    CompactionEntry<'a> {
        /// The summary.
        summary: Option<String> = "summary";
        /// The first entry of the path that is kept. The compaction's own id means that none is.
        first_kept_entry_id: Option<EntryId> = "firstKeptEntryId";
        /// The number of tokens in the context before the compaction.
        tokens_before: Option<f64> = "tokensBefore";
        /// Private data of its creator: by default an object with `readFiles` and `modifiedFiles`.
        details: Option<Raw<'a>> = "details";
        /// The tokens spent on the summary.
        usage: Option<TokenUsage<'a>> = "usage";
        /// Whether an extension created it.
        from_hook: Option<bool> = "fromHook";
        /// All instructions and tools in force, as one message.
        system_message: Option<SystemMessage<'a>> = "systemMessage";
    }

    /// A summary of an abandoned branch, placed where the new branch continues.
    BranchSummaryEntry<'a> {
        /// The entry at which the branch was left, or `root`. Old files name the point where the branches diverge.
        from_id: Option<EntryId> = "fromId";
        /// The summary.
        summary: Option<String> = "summary";
        /// Private data of its creator.
        details: Option<Raw<'a>> = "details";
        /// The tokens spent on the summary.
        usage: Option<TokenUsage<'a>> = "usage";
        /// Whether an extension created it.
        from_hook: Option<bool> = "fromHook";
    }

    /// State stored by an extension. No model sees it.
    CustomEntry<'a> {
        /// The extension's name for this type of entry.
        custom_type: Option<String> = "customType";
        /// The stored state.
        data: Option<Raw<'a>> = "data";
    }

    /// A message from an extension to the model.
    CustomMessageEntry<'a> {
        /// The extension's name for this type of message.
        custom_type: Option<String> = "customType";
        /// A text, or text and images.
        content: Content<'a> = "content";
        /// Whether to show it to the user.
        display: Option<bool> = "display";
        /// Private data of the extension.
        details: Option<Raw<'a>> = "details";
    }

    /// Changes how the model sees an earlier entry from this point on.
    ContextEditEntry<'a> {
        /// The entry that is changed.
        target_id: Option<EntryId> = "targetId";
        /// The replacement: `null` for nothing, or an object with the new `content`.
        replacement: Option<Raw<'a>> = "replacement";
    }

    /// A name for an entry.
    LabelEntry<'a> {
        /// The entry that is named.
        target_id: Option<EntryId> = "targetId";
        /// The name. None, `null` and the empty string remove the name.
        label: Option<String> = "label";
    }

    /// A name for the session.
    SessionInfoEntry<'a> {
        /// The name. None and a blank name remove it.
        name: Option<String> = "name";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::date::Utc;

    fn raw(text: &str) -> Raw<'_> {
        Raw::parse(text.as_bytes()).unwrap()
    }

    fn entry(text: &str) -> Entry {
        Entry::new(Json::parse(text).unwrap())
    }

    #[test]
    fn payloads_depend_on_the_type() {
        let cases = [
            (r#"{"type":"message"}"#, Kind::Message, "Message("),
            (r#"{"type":"thinking_level_change"}"#, Kind::ThinkingLevelChange, "ThinkingLevelChange"),
            (r#"{"type":"model_change"}"#, Kind::ModelChange, "ModelChange"),
            (r#"{"type":"label","type":"usage"}"#, Kind::Usage, "Usage"),
            (r#"{"type":"compaction"}"#, Kind::Compaction, "Compaction"),
            (r#"{"type":"branch_summary"}"#, Kind::BranchSummary, "BranchSummary"),
            (r#"{"type":"custom"}"#, Kind::Custom, "Custom("),
            (r#"{"type":"custom_message"}"#, Kind::CustomMessage, "CustomMessage"),
            (r#"{"type":"context_edit"}"#, Kind::ContextEdit, "ContextEdit"),
            (r#"{"type":"l\u0061bel"}"#, Kind::Label, "Label"),
            (r#"{"type":"session_info"}"#, Kind::SessionInfo, "SessionInfo"),
            (r#"{"type":"session"}"#, Kind::Header, "Unknown"),
            (r#"{"type":"future"}"#, Kind::Unknown, "Unknown"),
            (r#"{"type":"label","type":null}"#, Kind::Unknown, "Unknown"),
            ("{}", Kind::Unknown, "Unknown"),
            ("123", Kind::NotObject, "Unknown"),
            ("null", Kind::NotObject, "Unknown"),
            (r#"["type","label"]"#, Kind::NotObject, "Unknown"),
        ];
        for (text, kind, variant) in cases {
            let entry = entry(text);
            assert_eq!(entry.kind(), kind, "{text}");
            let payload = entry.payload();
            assert!(format!("{payload:?}").starts_with(variant), "{payload:?}");
            assert_eq!(payload.raw(), entry.raw());
            assert_eq!((entry.id(), entry.parent_id(), entry.timestamp(), entry.time(&Utc)), (None, None, None, None));
            assert_eq!(entry.into_json().to_text(), text);
        }
    }

    #[test]
    fn heads_are_read() {
        let entry = entry(
            r#"{"id":5,"id":"\ud800","parentId":"p","timestamp":"2025-01-01T00:00:00.000Z","timestamp":"Jan 1 2025"}"#,
        );
        assert_eq!(entry.id().unwrap().to_json().to_text(), r#""\ud800""#);
        assert_eq!(entry.parent_id(), Some("p".into()));
        assert_eq!(entry.timestamp().as_deref(), Some("Jan 1 2025"));
        assert_eq!(entry.time(&Utc), Some(Timestamp::from_ms(1_735_689_600_000)));
    }

    #[test]
    fn odd_heads_have_no_values() {
        for text in [r#"{"id":"a","id":null}"#, r#"{"id":5,"parentId":null}"#, r#"{"parentId":["a"],"timestamp":{}}"#] {
            let entry = entry(text);
            assert_eq!((entry.id(), entry.parent_id(), entry.timestamp(), entry.time(&Utc)), (None, None, None, None));
        }
    }

    /// One hour ahead of UTC.
    struct East;

    impl LocalZone for East {
        fn offset_ms_at_local(&self, _local_ms: i64) -> i64 {
            3_600_000
        }
    }

    #[test]
    fn times_equal_those_of_javascript() {
        // `new Date(value).getTime()` in Node 22 with TZ=Etc/GMT-1.
        let cases = [
            (r#""2025-01-01T00:00:00.000Z""#, Some(1_735_689_600_000)),
            (r#""2025-01-01T00:00:00.000\u005a""#, Some(1_735_689_600_000)),
            (r#""2025-01-01""#, Some(1_735_689_600_000)),
            (r#""2025-01-01T00:00""#, Some(1_735_686_000_000)),
            (r#""Jan 1 2025""#, Some(1_735_686_000_000)),
            (r#""\ud800""#, None),
            (r#""""#, None),
            ("1735689600000", Some(1_735_689_600_000)),
            ("-1.9", Some(-1)),
            ("1e999", None),
            ("null", Some(0)),
            ("true", Some(1)),
            ("false", Some(0)),
            ("{}", None),
            ("[]", None),
        ];
        for (text, time) in cases {
            assert_eq!(js_time(Some(raw(text)), &East), time.map(Timestamp::from_ms), "{text}");
        }
        assert_eq!(js_time(None, &East), None);
    }

    #[test]
    fn messages_are_read_from_their_entry() {
        let entry_with_message = entry(r#"{"type":"message","message":{"role":"user","content":"hi","timestamp":1}}"#);
        let Payload::Message(message) = entry_with_message.payload() else { panic!() };
        assert_eq!(message.message(), entry_with_message.message());
        let Some(Message::User(message)) = message.message() else { panic!() };
        assert_eq!(message.content(), Content::Text("hi".into()));
        let other = entry(r#"{"type":"custom","message":{"role":"user"}}"#);
        assert_eq!(other.message(), None);
        assert_eq!(entry(r#"{"type":"message","message":[]}"#).message(), None);
        for odd in
            ["{}", r#"{"message":null}"#, r#"{"message":"hi"}"#, r#"{"message":[]}"#, r#"{"message":{},"message":1}"#]
        {
            assert_eq!(MessageEntry::new(raw(odd)).message(), None);
        }
        assert_eq!(MessageEntry::new(raw(r#"{"message":{}}"#)).message(), Some(Message::Unknown(raw("{}"))));
    }

    #[test]
    fn compactions_and_summaries_are_read() {
        let text = r#"{"type":"compaction","summary":"s","firstKeptEntryId":"k","tokensBefore":9,"details":null,"usage":{"input":1},"fromHook":true,"systemMessage":{"role":"system","content":"c"},"fromId":"root"}"#;
        let compaction = CompactionEntry::new(raw(text));
        assert_eq!(compaction.summary().as_deref(), Some("s"));
        assert_eq!(compaction.first_kept_entry_id(), Some("k".into()));
        assert_eq!(compaction.tokens_before(), Some(9.0));
        assert_eq!(compaction.details(), Some(raw("null")));
        assert_eq!(compaction.usage().and_then(TokenUsage::input), Some(1.0));
        assert_eq!(compaction.from_hook(), Some(true));
        assert_eq!(compaction.system_message().unwrap().content().text(), "c");

        let summary = BranchSummaryEntry::new(raw(text));
        assert_eq!((summary.from_id(), summary.summary()), (Some("root".into()), Some("s".into())));
        assert_eq!((summary.details(), summary.from_hook()), (Some(raw("null")), Some(true)));
        assert_eq!(summary.usage(), compaction.usage());

        let odd = CompactionEntry::new(raw(
            r#"{"summary":1,"firstKeptEntryId":0,"tokensBefore":"9","fromHook":1,"systemMessage":"s"}"#,
        ));
        assert_eq!((odd.summary(), odd.first_kept_entry_id(), odd.tokens_before()), (None, None, None));
        assert_eq!((odd.details(), odd.usage(), odd.from_hook(), odd.system_message()), (None, None, None, None));
    }

    #[test]
    fn the_small_types_are_read() {
        let text = r#"{"thinkingLevel":"high","provider":"p","modelId":"m","kind":"cache_warm","model":"n","usage":{},"note":"x",
            "customType":"t","data":{"a":1.0},"content":[{"type":"text","text":"c"}],"display":false,"details":7,
            "targetId":"i","replacement":null,"label":"l","name":"session"}"#;
        let all = raw(text);
        assert_eq!(ThinkingLevelChangeEntry::new(all).thinking_level().as_deref(), Some("high"));
        let change = ModelChangeEntry::new(all);
        assert_eq!((change.provider().as_deref(), change.model_id().as_deref()), (Some("p"), Some("m")));
        let usage = UsageEntry::new(all);
        assert_eq!((usage.kind().as_deref(), usage.provider().as_deref()), (Some("cache_warm"), Some("p")));
        assert_eq!((usage.model().as_deref(), usage.note().as_deref()), (Some("n"), Some("x")));
        assert_eq!(usage.usage(), Some(TokenUsage::new(raw("{}"))));
        let custom = CustomEntry::new(all);
        assert_eq!((custom.custom_type().as_deref(), custom.data()), (Some("t"), Some(raw(r#"{"a":1.0}"#))));
        let message = CustomMessageEntry::new(all);
        assert_eq!((message.custom_type().as_deref(), message.content().text()), (Some("t"), "c".into()));
        assert_eq!((message.display(), message.details()), (Some(false), Some(raw("7"))));
        let edit = ContextEditEntry::new(all);
        assert_eq!((edit.target_id(), edit.replacement()), (Some("i".into()), Some(raw("null"))));
        assert_eq!(ContextEditEntry::new(raw("{}")).replacement(), None);
        let label = LabelEntry::new(all);
        assert_eq!((label.target_id(), label.label()), (Some("i".into()), Some("l".into())));
        assert_eq!(SessionInfoEntry::new(all).name().as_deref(), Some("session"));
    }
}

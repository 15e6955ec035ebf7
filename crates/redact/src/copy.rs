//! Makes a redacted copy of a session out of its lines.

use std::borrow::Cow;

use sessile_core::date::{Timestamp, to_iso};
use sessile_core::head::{self, Kind, ParentRef, Parsed};
use sessile_core::json::{Edit, JsText, Json, ObjectWriter, Raw};
use sessile_core::line::{BOM, is_js_space};

use crate::report::{Refusal, Report};
use crate::rewrite::Rewriter;
use crate::{Level, Origin};

/// The `customType` of the entry that marks a copy.
pub const MARK_TYPE: &str = "sessile.redaction";

/// What the name of a copy ends with.
pub(crate) const NAME_SUFFIX: &str = " (redacted)";

/// What a new copy is called.
#[derive(Debug, Clone)]
pub struct CopyIdentity {
    /// The id of the new session.
    pub session_id: String,
    /// The time of the copy.
    pub time: Timestamp,
    /// The program that makes it, with its version.
    pub by: String,
}

/// The first pass over the lines of a session: finds out what the second pass must know.
///
/// Pass every line to [`read`](Self::read), then make a [`CopyWriter`] with [`finish`](Self::finish) and pass every line
/// again. Memory holds one line, the names, and the ids of some calls.
#[derive(Debug)]
pub struct CopyPlan<'a> {
    rewriter: Rewriter<'a>,
    identity: CopyIdentity,
    n_lines: u64,
    header: Option<HeaderFacts>,
    leaf: Option<JsText<'static>>,
    /// The line of the last `session_info`, if it gives a name.
    named_at: Option<u64>,
    /// Ids for the mark that no entry has so far.
    free_ids: Vec<String>,
}

#[derive(Debug)]
struct HeaderFacts {
    line: u64,
    source: String,
}

impl<'a> CopyPlan<'a> {
    /// Begins a copy. The rewriter must be new.
    pub fn new(rewriter: Rewriter<'a>, identity: CopyIdentity) -> Self {
        let candidate = |n: u32| rewriter.texts.key.code(format!("mark {n} of {}", identity.session_id).as_bytes(), 4);
        let free_ids = (0..32).map(candidate).collect();
        Self { rewriter, identity, n_lines: 0, header: None, leaf: None, named_at: None, free_ids }
    }

    /// Takes the next line, without its LF.
    pub fn read(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let number = self.n_lines;
        self.n_lines += 1;
        let line = without_bom(number, line);
        let Parsed::Value(head) = head::read(line) else {
            return self.rewriter.line(line).map(drop);
        };
        if self.header.is_none() {
            let id = head.id.as_ref().filter(|_| head.kind == Kind::Header).ok_or(Refusal::NotASession)?;
            let source = self.rewriter.texts.key.code(&[b"session ", id.as_wtf8()].concat(), 16);
            self.header = Some(HeaderFacts { line: number, source });
            return self.read_header(line);
        }
        if head.kind != Kind::Header {
            let mentioned = [head.id.as_ref(), if let ParentRef::Id(id) = &head.parent { Some(id) } else { None }];
            for id in mentioned.into_iter().flatten() {
                self.free_ids.retain(|free| *id != **free);
            }
            if let Some(id) = head.id {
                self.leaf = Some(id.into_owned());
            }
        }
        if head.kind == Kind::SessionInfo {
            let name = Raw::parse(line).ok().and_then(|entry| entry.get("name")?.as_text()).unwrap_or_default();
            self.named_at = (!name.trim().is_empty()).then_some(number);
        }
        self.rewriter.line(line).map(drop)
    }

    /// Gives the working directory a pseudonym before any text needs it, and reads the texts.
    fn read_header(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let header = Json::parse(line).unwrap_or_else(|_| Json::null());
        if let Some(cwd) = header.raw().get("cwd").and_then(Raw::as_string) {
            self.rewriter.add_directory(&cwd)?;
        }
        let placed = with_only(&header, "id", &Json::string(""));
        self.rewriter.line(placed.raw().as_bytes()).map(drop)
    }

    /// Ends the first pass.
    pub fn finish(mut self) -> Result<CopyWriter<'a>, Refusal> {
        let header = self.header.ok_or(Refusal::NotASession)?;
        let report = self.rewriter.report();
        let time = to_iso(self.identity.time);
        let mark = ObjectWriter::new()
            .string("by", &self.identity.by)
            .string("level", self.rewriter.texts.level.word())
            .string("source", &header.source)
            .integer("findings", i64::try_from(report.findings()).unwrap_or(i64::MAX))
            .string("at", &time)
            .finish();
        self.rewriter.start_again();
        Ok(CopyWriter {
            rewriter: self.rewriter,
            session_id: self.identity.session_id,
            time,
            header_at: header.line,
            named_at: self.named_at,
            leaf: self.leaf,
            mark_id: self.free_ids.into_iter().next(),
            mark,
            n_lines: 0,
        })
    }
}

/// The second pass: turns the lines of a session into those of its copy.
#[derive(Debug)]
pub struct CopyWriter<'a> {
    rewriter: Rewriter<'a>,
    session_id: String,
    time: String,
    header_at: u64,
    named_at: Option<u64>,
    leaf: Option<JsText<'static>>,
    mark_id: Option<String>,
    mark: Json,
    n_lines: u64,
}

impl CopyWriter<'_> {
    /// Turns the next line of the source into a line of the copy. The lines must be those of the first pass.
    pub fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, Refusal> {
        let number = self.n_lines;
        self.n_lines += 1;
        let inner = without_bom(number, line);
        if number == self.header_at {
            return self.header(inner).map(Cow::Owned);
        }
        let rewritten = self.rewriter.line(inner)?;
        if inner.len() < line.len() {
            // A second mark may follow, which would count without this one.
            return Ok(Cow::Owned([BOM, &rewritten].concat()));
        }
        if Some(number) == self.named_at {
            return Ok(Cow::Owned(with_suffix(&rewritten)));
        }
        Ok(rewritten)
    }

    /// The last line of the copy: its mark, after the leaf of the source.
    pub fn last_line(&self) -> Vec<u8> {
        let mut entry = ObjectWriter::new();
        entry.string("type", "custom").string("customType", MARK_TYPE).raw("data", self.mark.raw());
        entry.string("id", self.mark_id.as_deref().unwrap_or("redaction"));
        match &self.leaf {
            Some(leaf) => entry.text("parentId", leaf),
            None => entry.null("parentId"),
        };
        entry.string("timestamp", &self.time).finish().into_bytes()
    }

    /// What the second pass did so far.
    pub fn report(&self) -> Report {
        self.rewriter.report()
    }

    /// Rewrites a text that is not part of a line, such as the name of a directory, with the names of this copy.
    pub fn text(&mut self, text: &str) -> String {
        self.rewriter.text(text)
    }

    fn header(&mut self, line: &[u8]) -> Result<Vec<u8>, Refusal> {
        let header = Json::parse(line).unwrap_or_else(|_| Json::null());
        // The id of the source need not be fit for a copy.
        let placed = with_only(&header, "id", &Json::string(&self.session_id));
        let rewritten = self.rewriter.line(placed.raw().as_bytes())?;
        let mut copy = Json::parse(&rewritten).unwrap_or_else(|_| Json::null());
        if self.rewriter.texts.level >= Level::Skeleton {
            copy = skeleton_header(header.raw(), copy.raw());
        }
        copy = with_only(&copy, "timestamp", &Json::string(&self.time));
        if let Some(cwd) = header.raw().get("cwd").and_then(Raw::as_string) {
            let cwd = self.rewriter.texts.changed_str(&cwd, Origin::Ordinary).unwrap_or(cwd);
            copy = with_only(&copy, "cwd", &Json::string(&cwd));
        }
        if self.rewriter.texts.level >= Level::Paths {
            copy = copy.raw().edited(&[Edit::Remove("parentSession"), Edit::Remove("branchedFrom")]);
        }
        Ok(copy.raw().edited(&[Edit::Remove("redacted"), Edit::Set("redacted", self.mark.raw())]).into_bytes())
    }
}

/// An object with one value for a key, even if it has several.
fn with_only(object: &Json, key: &str, value: &Json) -> Json {
    let is_repeated = object.raw().members().filter(|member| member.is(key)).count() > 1;
    let remove = [Edit::Remove(key), Edit::Set(key, value.raw())];
    object.raw().edited(if is_repeated { &remove } else { &remove[1..] })
}

/// The header of a skeleton. Its version decides how all other lines are read, so it stays if it can be one.
fn skeleton_header(source: Raw<'_>, header: Raw<'_>) -> Json {
    let mut kept = ObjectWriter::new();
    kept.string("type", "session");
    if let Some(version) = source.get("version") {
        let text = version.as_string().unwrap_or_else(|| version.to_text().into_owned());
        let may_count = |c: char| is_js_space(c) || c.is_ascii_hexdigit() || "xXoO+-.\"[],".contains(c);
        let is_number = text.len() <= 32 && text.replacen("Infinity", "", 1).chars().all(may_count);
        if version.is_null() || version.as_bool().is_some() || is_number {
            kept.raw("version", version);
        } else {
            // Like every other text that is not a number, and like an object.
            kept.string("version", "?");
        }
    }
    for key in ["id", "timestamp", "provider", "modelId", "thinkingLevel"] {
        if let Some(value) = header.get(key) {
            kept.raw(key, value);
        }
    }
    kept.finish()
}

/// A `session_info` whose name says that this is a copy.
fn with_suffix(line: &[u8]) -> Vec<u8> {
    let Ok(entry) = Raw::parse(line) else { return line.to_vec() };
    let name = entry.get("name").and_then(Raw::as_text).unwrap_or_default();
    let trimmed = name.trim();
    if trimmed.as_wtf8().ends_with(NAME_SUFFIX.as_bytes()) {
        return line.to_vec();
    }
    let mut marked = trimmed.into_owned();
    marked.push(&JsText::from(NAME_SUFFIX));
    let mut name = Vec::new();
    sessile_core::json::write_text(&marked, &mut name);
    let name = Json::parse(name).unwrap_or_else(|_| Json::null());
    entry.edited(&[Edit::Set("name", name.raw())]).into_bytes()
}

/// The line without a byte order mark, which only the first line can have.
fn without_bom(number: u64, line: &[u8]) -> &[u8] {
    if number == 0 { line.strip_prefix(BOM).unwrap_or(line) } else { line }
}

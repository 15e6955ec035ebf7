//! Search hits, checked against the files and ready to show.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::head::{self, Kind, Parsed, Role};
use sessile_core::json::Raw;
use sessile_core::outline::Outline;
use sessile_core::search::excerpt::Excerpt;
use sessile_core::search::filter::Filter;
use sessile_core::search::matching::Matcher;
use sessile_core::search::query::Query;
use sessile_core::search::texts::{Texts, texts_of};
use sessile_store::os::{Mode, OsFile, read_upto};
use sessile_text::Hit;

use super::options::{OnPath, SearchOptions};
use crate::error::SessionError;
use crate::sessions::Sessions;
use crate::team::Author;

/// An entry found by a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The session's file.
    pub session_path: PathBuf,
    /// The entry's id, if it has one.
    pub entry_id: Option<EntryId>,
    /// The id of the entry that has this label, if the hit is a label.
    pub labelled: Option<EntryId>,
    /// The entry's kind.
    pub kind: Kind,
    /// The role of its message.
    pub role: Role,
    /// Its time, if stored in pi's format.
    pub time: Option<Timestamp>,
    /// The offset of its line in the file; `None` if the session of another member is not on this machine.
    pub offset: Option<u64>,
    /// The relevance; higher is better.
    pub score: f32,
    /// The matching text with its surroundings.
    pub excerpt: Excerpt,
    /// Who has written it, if the session is on the store of a team that is in scope.
    pub author: Option<Author>,
}

impl SearchHit {
    /// A hit with only its position.
    pub(super) fn unseen(path: &Path, hit: &Hit) -> Self {
        Self {
            session_path: path.to_path_buf(),
            entry_id: None,
            labelled: None,
            kind: Kind::Unknown,
            role: Role::None,
            time: None,
            offset: Some(hit.span.offset),
            score: hit.score,
            excerpt: Excerpt::default(),
            author: None,
        }
    }

    /// The hit in a line, without its offset and score; `None` if the line does not match.
    pub(super) fn in_line(path: &Path, line: &[u8], matcher: &mut Matcher<'_>, room: usize) -> Option<Self> {
        let Parsed::Value(head) = head::read(line) else { return None };
        let raw = Raw::parse(line).ok()?;
        matcher.begin();
        let mut texts = TextCollector { matcher, texts: Vec::new() };
        let document = texts_of(&head, raw, &mut texts)?;
        let texts = texts.texts;
        matcher.finish(document)?;
        let target = if head.kind == Kind::Label { raw.get("targetId").and_then(Raw::as_text) } else { None };
        Some(Self {
            session_path: path.to_path_buf(),
            entry_id: head.id.map(|id| EntryId::from(id.into_owned())),
            labelled: target.map(|id| EntryId::from(id.into_owned())),
            kind: head.kind,
            role: head.role,
            time: head.time,
            offset: None,
            score: 0.0,
            excerpt: excerpt(matcher, &texts, room),
            author: None,
        })
    }
}

fn excerpt(matcher: &Matcher<'_>, texts: &[String], room: usize) -> Excerpt {
    let ranges = matcher.match_ranges();
    let Some(first) = ranges.first().map(|(text, _)| *text) else { return Excerpt::default() };
    let here: Vec<_> = ranges.into_iter().filter(|(text, _)| *text == first).map(|(_, range)| range).collect();
    texts.get(first).map(|text| Excerpt::with_room(text, &here, room)).unwrap_or_default()
}

/// The result of checking a hit.
pub(super) enum Checked {
    /// It is a hit.
    Right(Box<SearchHit>),
    /// It is a hit, but not on the requested path.
    Elsewhere,
    /// The file does not contain it.
    Wrong,
}

/// Checks hits against the files.
pub(super) struct Checker<'c> {
    sessions: &'c Sessions,
    on_path: Option<&'c OnPath>,
    per_session: bool,
    excerpt_room: usize,
    matcher: Matcher<'c>,
    files: HashMap<PathBuf, Box<dyn OsFile>>,
    outlines: HashMap<PathBuf, Option<OutlineFacts>>,
}

/// Facts from a session's outline.
struct OutlineFacts {
    /// The entries' ids by the offsets of their lines.
    ids: HashMap<u64, EntryId>,
    /// The offsets of the entries on the path.
    on_path: HashSet<u64>,
    is_hit: bool,
}

/// Accepts every line, because kind and time were checked before.
pub(super) static ANYTHING: Filter = Filter { kinds: Vec::new(), tool: None, model: None, since: None, until: None };

impl<'c> Checker<'c> {
    pub(super) fn new(sessions: &'c Sessions, query: &'c Query, options: &'c SearchOptions<'_>) -> Self {
        Self {
            sessions,
            on_path: options.on_path.as_ref(),
            per_session: options.per_session,
            excerpt_room: options.excerpt_room,
            matcher: Matcher::new(query, &ANYTHING),
            files: HashMap::new(),
            outlines: HashMap::new(),
        }
    }

    pub(super) fn check(&mut self, path: &Path, hit: &Hit) -> Result<Checked, SessionError> {
        if let Some(on_path) = self.on_path {
            let on_path = on_path.clone();
            let per_session = self.per_session;
            let Some(facts) = self.outline(path, Some(&on_path))? else { return Ok(Checked::Elsewhere) };
            if !facts.on_path.contains(&hit.span.offset) || (per_session && facts.is_hit) {
                return Ok(Checked::Elsewhere);
            }
            facts.is_hit = true;
        }
        let Some(line) = self.line(path, hit) else { return Ok(Checked::Wrong) };
        let found = SearchHit::in_line(path, &line, &mut self.matcher, self.excerpt_room);
        let Some(mut found) = found else { return Ok(Checked::Wrong) };
        if found.entry_id.is_none() {
            // Entries of version 1 have no ids; they get them when the file is opened.
            found.entry_id = self.outline(path, None)?.and_then(|facts| facts.ids.get(&hit.span.offset).cloned());
        }
        (found.offset, found.score) = (Some(hit.span.offset), hit.score);
        Ok(Checked::Right(Box::new(found)))
    }

    /// The line of a hit, if it still exists.
    fn line(&mut self, path: &Path, hit: &Hit) -> Option<Vec<u8>> {
        if !self.files.contains_key(path) {
            let file = self.sessions.world.os().open(path, Mode::Read).ok()?;
            self.files.insert(path.to_path_buf(), file);
        }
        // Also read the bytes before and after it, to check that it still is a whole line.
        let n_before = hit.span.offset.min(1);
        let file = self.files.get(path)?.as_ref();
        let mut line = read_upto(file, hit.span.offset - n_before, n_before + hit.span.len + 1).ok()?;
        if n_before > 0 && line.remove(0) != b'\n' && hit.span.offset != 3 {
            return None;
        }
        let len = usize::try_from(hit.span.len).ok()?;
        let is_ended = line.len() == len || (line.len() == len + 1 && line.pop() == Some(b'\n'));
        (is_ended && memchr::memchr(b'\n', &line).is_none()).then_some(line)
    }

    /// The facts from a session's outline; `None` if it cannot be opened.
    fn outline(&mut self, path: &Path, on_path: Option<&OnPath>) -> Result<Option<&mut OutlineFacts>, SessionError> {
        if !self.outlines.contains_key(path) {
            let facts = match self.sessions.clone().read_only().open(path) {
                Ok(session) => Some(OutlineFacts::new(session.outline(), on_path.or(self.on_path))),
                // Deleted since the search, or no longer a session: it hides only itself.
                Err(SessionError::Store(_) | SessionError::NotASession { .. }) => None,
                Err(error) => return Err(error),
            };
            self.outlines.insert(path.to_path_buf(), facts);
        }
        Ok(self.outlines.get_mut(path).and_then(Option::as_mut))
    }
}

impl OutlineFacts {
    fn new(outline: &Outline, on_path: Option<&OnPath>) -> Self {
        let end = match on_path {
            None => None,
            Some(OnPath::Leaf) => outline.leaf(),
            Some(OnPath::Entry(id)) => outline.find(id),
        };
        let path = end.map(|end| outline.path(end)).unwrap_or_default();
        let offset = |row| outline.span(row).offset;
        Self {
            ids: outline.entries().filter_map(|row| Some((offset(row), outline.id(row)?))).collect(),
            on_path: path.into_iter().map(offset).collect(),
            is_hit: false,
        }
    }
}

/// Keeps the texts that a matcher receives.
struct TextCollector<'k, 'q> {
    matcher: &'k mut Matcher<'q>,
    texts: Vec<String>,
}

impl Texts for TextCollector<'_, '_> {
    fn text(&mut self, text: &str) {
        self.texts.push(text.to_owned());
        self.matcher.text(text);
    }

    fn tool(&mut self, _name: &str) {}

    fn model(&mut self, _name: &str) {}
}

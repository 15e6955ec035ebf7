//! The reader: a session as a conversation.
//!
//! A position is an entry and a line in it. Only the lines around the visible part are rendered, so a session of any
//! length opens at once.

pub(crate) mod job;
mod keys;
mod secrets;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui_core::layout::Rect;
use sessile::date::Timestamp;
use sessile::format::outline::Row;
use sessile_display::measure::number_words;

use crate::content::Detail;
use crate::help::Help;
use crate::keymap::Keymap;
use crate::line_editor::LineEditor;
use crate::paint::{Canvas, Line};
use crate::screen::{Effect, Effects, Event, MouseAction, Screen};
use crate::secrets::Secrets;
use crate::status::Status;
use job::{COUNT, ReaderEvent, ReaderJob, SEARCH};

/// The result of the reader: an error, unless the user left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReaderOutcome {
    pub(crate) failure: Option<String>,
}

/// Entries around the position that are rendered.
const ENTRIES_AROUND: usize = 30;

/// Upper bound on the entries kept as lines.
const MAX_CACHED_ENTRIES: usize = 400;

/// Upper bound on the lines shown per entry; `$EDITOR` shows the rest.
const MAX_ENTRY_LINES: usize = 200_000;

/// Upper bound on the lines kept, apart from the visible ones.
const MAX_CACHED_LINES: usize = 400_000;

/// Maximum text width; longer lines are hard to read.
const MAX_TEXT_COLUMNS: u16 = 110;

/// A position: an entry of the path, and a line in it.
type Position = (usize, usize);

/// The line to return to after lines are rendered again.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    item: usize,
    line: usize,
    /// The number of lines that the entry had, if the relative position in it is to be kept.
    n_lines: Option<usize>,
    /// The line after rendering, once the lines are known.
    resolved_line: Option<usize>,
}

/// The state of the reader.
#[expect(clippy::struct_excessive_bools, reason = "independent flags")]
pub(crate) struct Reader {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now: Timestamp,
    name: String,
    rows: Arc<Vec<Row>>,
    prompts: Vec<usize>,
    is_loaded: bool,
    lines: HashMap<usize, Vec<Line>>,
    /// Incremented whenever all lines have to be rendered again.
    edition: u64,
    requested: Option<(usize, usize)>,
    top: Position,
    anchor: Option<Anchor>,
    /// Whether the view follows the end as it moves.
    sticks_to_end: bool,
    follows: bool,
    detail: Detail,
    search: Option<LineEditor>,
    query: String,
    /// The entry of the last match shown.
    current_hit: Option<usize>,
    /// All entries that contain the query, once counted.
    hits: Option<Vec<usize>>,
    /// The number of entries that were counted.
    n_counted: usize,
    secrets: Secrets,
    /// The entry with secrets to which the user went last.
    current_secret: Option<usize>,
    help: Option<Help>,
    draws_pictures: bool,
    status: Status,
}

impl Reader {
    pub(crate) fn new(keymap: Arc<Keymap>) -> Self {
        Self {
            keymap,
            size: (80, 24),
            now: Timestamp::EPOCH,
            name: String::new(),
            rows: Arc::default(),
            prompts: Vec::new(),
            is_loaded: false,
            lines: HashMap::new(),
            edition: 0,
            requested: None,
            top: (0, 0),
            anchor: None,
            sticks_to_end: true,
            follows: false,
            detail: Detail { tools: false, thinking: false, max_lines: MAX_ENTRY_LINES },
            search: None,
            query: String::new(),
            current_hit: None,
            hits: None,
            n_counted: 0,
            secrets: Secrets::default(),
            current_secret: None,
            help: None,
            draws_pictures: false,
            status: Status::default(),
        }
    }

    /// Sets whether the terminal draws pictures.
    pub(crate) fn drawing_pictures(mut self, draws_pictures: bool) -> Self {
        self.draws_pictures = draws_pictures;
        self
    }

    fn area(&self) -> Rect {
        Rect { x: 0, y: 1, width: self.size.0.min(MAX_TEXT_COLUMNS), height: self.size.1.saturating_sub(2).max(1) }
    }

    fn room(&self) -> usize {
        self.area().height.into()
    }

    /// Returns the number of lines of an entry; one while unknown.
    fn height(&self, item: usize) -> usize {
        self.lines.get(&item).map_or(1, Vec::len).max(1) + self.n_details(item)
    }

    /// Returns the number of visible entries.
    fn n_visible(&self) -> usize {
        let mut left = (self.room() + self.top.1).cast_signed();
        let is_visible = |item: &usize| {
            let is_visible = left > 0;
            left -= self.height(*item).cast_signed();
            is_visible
        };
        (self.top.0..self.rows.len()).take_while(is_visible).count()
    }

    /// Returns the top position at which the end is at the bottom of the screen.
    fn end(&self) -> Position {
        let mut left = self.room();
        for item in (0..self.rows.len()).rev() {
            let height = self.height(item);
            if height >= left {
                return (item, height - left);
            }
            left -= height;
        }
        (0, 0)
    }

    /// Requests the lines around the position.
    fn request_visible(&mut self) -> Effects<Self> {
        if self.sticks_to_end {
            self.top = self.end();
        }
        let first = self.top.0.saturating_sub(ENTRIES_AROUND);
        let last = (self.top.0 + ENTRIES_AROUND + self.room()).min(self.rows.len());
        let items: Vec<(usize, Row)> =
            (first..last).filter(|item| !self.lines.contains_key(item)).map(|item| (item, self.rows[item])).collect();
        if items.is_empty() || self.requested == Some((first, last)) {
            return Vec::new();
        }
        self.requested = Some((first, last));
        // The visible entries come first.
        let mut items = items;
        items.sort_by_key(|(item, _)| (*item < self.top.0, item.abs_diff(self.top.0)));
        let (width, detail, edition) = (self.area().width.into(), self.detail, self.edition);
        vec![Effect::Run(ReaderJob::Lines { items, width, detail, edition })]
    }

    /// Drops lines that are far away.
    fn drop_distant_lines(&mut self) {
        let n_lines: usize = self.lines.values().map(Vec::len).sum();
        // Requested lines must not be dropped, or they would be requested again and again.
        let needed = ENTRIES_AROUND + self.room();
        let around = if n_lines > MAX_CACHED_LINES { needed } else { needed.max(MAX_CACHED_ENTRIES / 4) };
        if self.lines.len() > MAX_CACHED_ENTRIES || n_lines > MAX_CACHED_LINES {
            let (first, last) = (self.top.0.saturating_sub(around), self.top.0 + around);
            self.lines.retain(|item, _| (first..last).contains(item));
        }
    }

    /// Renders all lines again and keeps the position: the same line, or the same fraction of the entry.
    fn render_again(&mut self, is_proportional: bool) -> Effects<Self> {
        let (item, line) = self.top;
        // While the user stays, the first position counts: rounding it once per size would move the text.
        let is_kept = |it: &Anchor| (it.item, it.resolved_line.unwrap_or_default()) == self.top && it.n_lines.is_some();
        if let Some(anchor) = self.anchor.as_mut().filter(|it| is_proportional && is_kept(it)) {
            anchor.resolved_line = None;
        } else if self.lines.contains_key(&item) {
            let n_lines = is_proportional.then(|| self.height(item));
            self.anchor = Some(Anchor { item, line, n_lines, resolved_line: None });
        }
        self.edition += 1;
        self.lines.clear();
        self.requested = None;
        self.top.1 = 0;
        self.request_visible()
    }

    /// Returns to the anchor once the lines there are known.
    fn restore_anchor(&mut self) {
        let Some(Anchor { item, line, n_lines, resolved_line: None }) = self.anchor else { return };
        if self.top != (item, 0) || self.sticks_to_end {
            self.anchor = None;
        } else if self.lines.contains_key(&item) {
            let height = self.height(item);
            self.top.1 = n_lines.map_or(line, |n_lines| line * height / n_lines).min(height - 1);
            self.anchor = Some(Anchor { item, line, n_lines, resolved_line: Some(self.top.1) });
        }
    }

    fn move_to(&mut self, to: Position) -> Effects<Self> {
        let end = self.end();
        (self.current_hit, self.current_secret) = (None, None);
        self.sticks_to_end = to >= end;
        self.top = to.min(end);
        self.request_visible()
    }

    fn move_by(&mut self, n_lines: usize, is_down: bool) -> Effects<Self> {
        let (mut item, mut line) = self.top;
        for _ in 0..n_lines {
            if is_down && line + 1 < self.height(item) {
                line += 1;
            } else if is_down && item + 1 < self.rows.len() {
                (item, line) = (item + 1, 0);
            } else if !is_down && line > 0 {
                line -= 1;
            } else if !is_down && item > 0 {
                item -= 1;
                line = self.height(item) - 1;
            }
        }
        self.move_to((item, line))
    }

    /// Starts a search for another text.
    fn search_for(&mut self, query: String) -> Effects<Self> {
        (self.query, self.current_hit) = (query, None);
        let mut effects = self.request_count(0);
        effects.extend(self.find(true));
        effects
    }

    /// Requests a count of the entries that contain the query. The results for the first `n_known` entries are kept.
    fn request_count(&mut self, n_known: usize) -> Effects<Self> {
        if n_known == 0 {
            self.hits = None;
        }
        if self.query.is_empty() {
            return vec![Effect::Stop(COUNT), Effect::Stop(SEARCH)];
        }
        // The session may have grown several times since the last count.
        let (from, hits) = self.hits.clone().map_or((0, Vec::new()), |hits| (n_known.min(self.n_counted), hits));
        vec![Effect::Run(ReaderJob::Count { rows: Arc::clone(&self.rows), from, hits, query: self.query.clone() })]
    }

    fn find(&mut self, is_down: bool) -> Effects<Self> {
        if self.query.is_empty() {
            return Vec::new();
        }
        // Near the end, the last match may not be at the top.
        let at = self.current_hit.unwrap_or(self.top.0);
        if let Some(hits) = &self.hits {
            let next = if is_down {
                hits.iter().find(|item| **item > at).or(hits.first())
            } else {
                hits.iter().rev().find(|item| **item < at).or(hits.last())
            };
            return self.go_to_hit(next.copied());
        }
        let rows: Vec<(usize, Row)> = if is_down {
            (at + 1..self.rows.len())
                .chain(0..=at.min(self.rows.len().saturating_sub(1)))
                .map(|it| (it, self.rows[it]))
                .collect()
        } else {
            (0..at).rev().chain((at..self.rows.len()).rev()).map(|item| (item, self.rows[item])).collect()
        };
        self.status.show("Searching …", self.now, 30);
        vec![Effect::Run(ReaderJob::Search { rows, query: self.query.clone() })]
    }

    /// Moves to the entry of a match.
    fn go_to_hit(&mut self, item: Option<usize>) -> Effects<Self> {
        let Some(item) = item else {
            self.status.show(format!("No match: {}", self.query), self.now, 4);
            return Vec::new();
        };
        self.status = Status::default();
        let line = self.line_of_hit(item);
        let effects = self.move_to((item, line));
        self.current_hit = Some(item);
        effects
    }

    /// Formats the position among the matches as `match 3/17`, or the number of matches if the user is at none of them.
    fn match_count_text(&self) -> Option<String> {
        if self.query.is_empty() {
            return None;
        }
        let Some(hits) = &self.hits else { return Some("counting …".to_owned()) };
        let index = self.current_hit.and_then(|item| hits.binary_search(&item).ok());
        let n_hits = number_words(hits.len() as u64);
        Some(match index {
            Some(index) => format!("match {}/{n_hits}", number_words(index as u64 + 1)),
            None => format!("{n_hits} {}", if hits.len() == 1 { "match" } else { "matches" }),
        })
    }

    fn handle_job_event(&mut self, event: ReaderEvent) -> Effects<Self> {
        match event {
            ReaderEvent::Loaded { rows, prompts, name } => {
                // If the path only grew, earlier entries are unchanged.
                let is_same =
                    self.rows.iter().zip(&rows).all(|(one, other)| one == other) && rows.len() >= self.rows.len();
                let n_known = if is_same { self.rows.len() } else { 0 };
                (self.rows, self.prompts, self.name) = (Arc::new(rows), prompts, name);
                self.is_loaded = true;
                self.secrets.outdate();
                let mut effects = if self.query.is_empty() { Vec::new() } else { self.request_count(n_known) };
                if is_same {
                    self.requested = None;
                    effects.extend(self.request_visible());
                } else {
                    self.current_hit = None;
                    effects.extend(self.render_again(false));
                }
                effects
            }
            ReaderEvent::Lines { lines, edition, is_all } => {
                if edition != self.edition {
                    return Vec::new();
                }
                self.lines.extend(lines);
                self.drop_distant_lines();
                self.restore_anchor();
                if !is_all {
                    return Vec::new();
                }
                self.requested = None;
                self.request_visible()
            }
            ReaderEvent::Found { item, query } if query == self.query => self.go_to_hit(item),
            ReaderEvent::Counted { hits, query, n_rows } if query == self.query && n_rows == self.rows.len() => {
                (self.hits, self.n_counted) = (Some(hits), n_rows);
                Vec::new()
            }
            // The answer to an outdated search.
            ReaderEvent::Found { .. } | ReaderEvent::Counted { .. } => Vec::new(),
            ReaderEvent::TextToCopy(text) => {
                self.status.show("Copied", self.now, 2);
                vec![Effect::Copy(text)]
            }
            ReaderEvent::Pictures(pictures) => {
                if pictures.is_empty() {
                    self.status.show("The visible entries have no pictures", self.now, 3);
                    return Vec::new();
                }
                vec![Effect::ShowPictures(pictures)]
            }
            ReaderEvent::Scanned(scanned) => self.scanned(scanned),
            ReaderEvent::Document(text) => vec![Effect::Edit(text)],
            ReaderEvent::Grown => vec![Effect::Run(ReaderJob::Load)],
            ReaderEvent::Failed(message) => {
                self.status.show_error(message, self.now);
                Vec::new()
            }
            ReaderEvent::Broken(message) => vec![Effect::Leave(ReaderOutcome { failure: Some(message) })],
        }
    }

    /// Returns the line of an entry that contains the query, if its lines are known.
    fn line_of_hit(&self, item: usize) -> usize {
        let query = self.query.to_lowercase();
        let lines = self.lines.get(&item);
        let hit = lines.and_then(|lines| lines.iter().position(|line| line.to_text().to_lowercase().contains(&query)));
        hit.map_or(0, |line| (line + self.n_details(item)).saturating_sub(2))
    }
}

impl Screen for Reader {
    type Job = ReaderJob;
    type Outcome = ReaderOutcome;

    fn start(&mut self) -> Effects<Self> {
        vec![Effect::Run(ReaderJob::Load)]
    }

    fn update(&mut self, event: Event<ReaderEvent>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => {
                if let Some(input) = &mut self.search {
                    input.put(&text);
                }
                Vec::new()
            }
            Event::Mouse(mouse) => match mouse.action {
                MouseAction::WheelUp => self.move_by(3, false),
                MouseAction::WheelDown => self.move_by(3, true),
                MouseAction::Click => Vec::new(),
            },
            Event::Size(width, height) => {
                self.size = (width, height);
                self.render_again(true)
            }
            Event::Clock(now) => {
                self.now = now;
                self.status.expire(now);
                Vec::new()
            }
            Event::Job(event) => self.handle_job_event(event),
        }
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        self.draw(canvas);
    }
}

//! The reader: a session as a conversation, from any place to any other.
//!
//! A place is an entry and a line in it. Only the lines around what can be
//! seen are made, so that a session of any length opens at once.

pub(crate) mod job;
mod keys;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui_core::layout::Rect;
use sessile::outline::Row;
use sessile_display::measure::number_words;

use crate::content::Detail;
use crate::help::Help;
use crate::input::Input;
use crate::keymap::Keymap;
use crate::paint::{Canvas, Line};
use crate::part::{Effect, Effects, Event, MouseAct, Part};
use crate::status::Status;
use job::{COUNT, ReaderJob, ReaderNews, SEARCH};

/// Why reading ended, if not because somebody left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReaderOutcome {
    pub(crate) failure: Option<String>,
}

/// How many entries around the place are made into lines.
const AROUND: usize = 30;

/// How many entries are kept as lines.
const MOST_KEPT: usize = 400;

/// How many lines of an entry are shown; `$EDITOR` shows the rest.
const MOST_LINES: usize = 200_000;

/// How many lines are kept, unless they are those of what is seen.
const MOST_LINES_KEPT: usize = 400_000;

/// How wide text may become; longer lines are hard to read.
const WIDEST: u16 = 110;

/// A place: an entry of the path, and a line in it.
type Spot = (usize, usize);

/// A line to come back to when lines are made anew.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    item: usize,
    line: usize,
    /// How many lines the entry had, if what counts is how far into it one was.
    of: Option<usize>,
}

/// The state of the reader.
#[expect(clippy::struct_excessive_bools, reason = "each is something that is so or not, apart from the others")]
pub(crate) struct Reader {
    keymap: Arc<Keymap>,
    size: (u16, u16),
    now_ms: i64,
    name: String,
    rows: Arc<Vec<Row>>,
    prompts: Vec<usize>,
    is_loaded: bool,
    lines: HashMap<usize, Vec<Line>>,
    /// Counts how often lines had to be made anew.
    edition: u64,
    wanted: Option<(usize, usize)>,
    top: Spot,
    anchor: Option<Anchor>,
    /// Whether the end is kept in sight as it moves.
    sticks_to_end: bool,
    follows: bool,
    detail: Detail,
    search: Option<Input>,
    query: String,
    /// The entry in which something was found last.
    found: Option<usize>,
    /// All entries in which the query stands, once they are known.
    hits: Option<Vec<usize>>,
    /// Of how many entries they are known.
    n_counted: usize,
    help: Option<Help>,
    draws_pictures: bool,
    status: Status,
}

impl Reader {
    pub(crate) fn new(keymap: Arc<Keymap>) -> Self {
        Self {
            keymap,
            size: (80, 24),
            now_ms: 0,
            name: String::new(),
            rows: Arc::default(),
            prompts: Vec::new(),
            is_loaded: false,
            lines: HashMap::new(),
            edition: 0,
            wanted: None,
            top: (0, 0),
            anchor: None,
            sticks_to_end: true,
            follows: false,
            detail: Detail { tools: false, thinking: false, most_lines: MOST_LINES },
            search: None,
            query: String::new(),
            found: None,
            hits: None,
            n_counted: 0,
            help: None,
            draws_pictures: false,
            status: Status::default(),
        }
    }

    /// The same, in a terminal that draws pictures, or not.
    pub(crate) fn drawing_pictures(mut self, draws_pictures: bool) -> Self {
        self.draws_pictures = draws_pictures;
        self
    }

    fn area(&self) -> Rect {
        Rect { x: 0, y: 1, width: self.size.0.min(WIDEST), height: self.size.1.saturating_sub(2).max(1) }
    }

    fn room(&self) -> usize {
        self.area().height.into()
    }

    /// The lines of an entry; one as long as nobody knows.
    fn height(&self, item: usize) -> usize {
        self.lines.get(&item).map_or(1, Vec::len).max(1)
    }

    /// How many entries can be seen.
    fn n_seen(&self) -> usize {
        let mut left = (self.room() + self.top.1).cast_signed();
        let is_seen = |item: &usize| {
            let is_seen = left > 0;
            left -= self.height(*item).cast_signed();
            is_seen
        };
        (self.top.0..self.rows.len()).take_while(is_seen).count()
    }

    /// The place with which the end is at the bottom.
    fn end(&self) -> Spot {
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

    /// Asks for the lines around the place.
    fn look(&mut self) -> Effects<Self> {
        if self.sticks_to_end {
            self.top = self.end();
        }
        let first = self.top.0.saturating_sub(AROUND);
        let last = (self.top.0 + AROUND + self.room()).min(self.rows.len());
        let items: Vec<(usize, Row)> =
            (first..last).filter(|item| !self.lines.contains_key(item)).map(|item| (item, self.rows[item])).collect();
        if items.is_empty() || self.wanted == Some((first, last)) {
            return Vec::new();
        }
        self.wanted = Some((first, last));
        // What is seen comes first.
        let mut items = items;
        items.sort_by_key(|(item, _)| (*item < self.top.0, item.abs_diff(self.top.0)));
        let (width, detail, edition) = (self.area().width.into(), self.detail, self.edition);
        vec![Effect::Do(ReaderJob::Lines { items, width, detail, edition })]
    }

    /// Lets go of lines that are far away.
    fn forget_far(&mut self) {
        let n_lines: usize = self.lines.values().map(Vec::len).sum();
        // What is asked for must not be let go of, or it is asked for again and again.
        let needed = AROUND + self.room();
        let around = if n_lines > MOST_LINES_KEPT { needed } else { needed.max(MOST_KEPT / 4) };
        if self.lines.len() > MOST_KEPT || n_lines > MOST_LINES_KEPT {
            let (first, last) = (self.top.0.saturating_sub(around), self.top.0 + around);
            self.lines.retain(|item, _| (first..last).contains(item));
        }
    }

    /// Has all lines made anew, and stays where it is: at the same line, or as far into the entry as before.
    fn remake(&mut self, is_proportional: bool) -> Effects<Self> {
        let (item, line) = self.top;
        if self.lines.contains_key(&item) {
            self.anchor = Some(Anchor { item, line, of: is_proportional.then(|| self.height(item)) });
        }
        self.edition += 1;
        self.lines.clear();
        self.wanted = None;
        self.top.1 = 0;
        self.look()
    }

    /// Goes back to where one was, once the lines there are known.
    fn find_anchor(&mut self) {
        let Some(Anchor { item, line, of }) = self.anchor else { return };
        if self.top != (item, 0) || self.sticks_to_end {
            self.anchor = None;
        } else if self.lines.contains_key(&item) {
            let height = self.height(item);
            self.top.1 = of.map_or(line, |of| line * height / of).min(height - 1);
            self.anchor = None;
        }
    }

    fn go(&mut self, to: Spot) -> Effects<Self> {
        let end = self.end();
        self.found = None;
        self.sticks_to_end = to >= end;
        self.top = to.min(end);
        self.look()
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
        self.go((item, line))
    }

    /// Looks for something else.
    fn look_for(&mut self, wanted: String) -> Effects<Self> {
        (self.query, self.found) = (wanted, None);
        let mut effects = self.count(0);
        effects.extend(self.find(true));
        effects
    }

    /// Has the entries counted in which the query stands, apart from the first ones, of which that is known.
    fn count(&mut self, n_known: usize) -> Effects<Self> {
        if n_known == 0 {
            self.hits = None;
        }
        if self.query.is_empty() {
            return vec![Effect::Stop(COUNT), Effect::Stop(SEARCH)];
        }
        // The session may have grown since they were counted last, and more than once.
        let (from, hits) = self.hits.clone().map_or((0, Vec::new()), |hits| (n_known.min(self.n_counted), hits));
        vec![Effect::Do(ReaderJob::Count { rows: Arc::clone(&self.rows), from, hits, wanted: self.query.clone() })]
    }

    fn find(&mut self, is_down: bool) -> Effects<Self> {
        if self.query.is_empty() {
            return Vec::new();
        }
        // Near the end what was found may not be at the top.
        let at = self.found.unwrap_or(self.top.0);
        if let Some(hits) = &self.hits {
            let next = if is_down {
                hits.iter().find(|item| **item > at).or(hits.first())
            } else {
                hits.iter().rev().find(|item| **item < at).or(hits.last())
            };
            return self.found(next.copied());
        }
        let rows: Vec<(usize, Row)> = if is_down {
            (at + 1..self.rows.len())
                .chain(0..=at.min(self.rows.len().saturating_sub(1)))
                .map(|it| (it, self.rows[it]))
                .collect()
        } else {
            (0..at).rev().chain((at..self.rows.len()).rev()).map(|item| (item, self.rows[item])).collect()
        };
        self.status.say("Searching …", self.now_ms, 30);
        vec![Effect::Do(ReaderJob::Search { rows, wanted: self.query.clone() })]
    }

    /// Goes to the entry in which something was found.
    fn found(&mut self, item: Option<usize>) -> Effects<Self> {
        let Some(item) = item else {
            self.status.say(format!("Nowhere: {}", self.query), self.now_ms, 4);
            return Vec::new();
        };
        self.status = Status::default();
        let line = self.line_of_hit(item);
        let effects = self.go((item, line));
        self.found = Some(item);
        effects
    }

    /// Which of the places somebody is at, as `match 3/17`; how many there are if at none of them.
    fn count_words(&self) -> Option<String> {
        if self.query.is_empty() {
            return None;
        }
        let Some(hits) = &self.hits else { return Some("counting …".to_owned()) };
        let place = self.found.and_then(|item| hits.binary_search(&item).ok());
        let n_hits = number_words(hits.len() as u64);
        Some(match place {
            Some(place) => format!("match {}/{n_hits}", number_words(place as u64 + 1)),
            None => format!("{n_hits} {}", if hits.len() == 1 { "match" } else { "matches" }),
        })
    }

    fn news(&mut self, news: ReaderNews) -> Effects<Self> {
        match news {
            ReaderNews::Loaded { rows, prompts, name } => {
                // What was there before is the same if the path only grew.
                let is_same =
                    self.rows.iter().zip(&rows).all(|(one, other)| one == other) && rows.len() >= self.rows.len();
                let n_known = if is_same { self.rows.len() } else { 0 };
                (self.rows, self.prompts, self.name) = (Arc::new(rows), prompts, name);
                self.is_loaded = true;
                let mut effects = if self.query.is_empty() { Vec::new() } else { self.count(n_known) };
                if is_same {
                    self.wanted = None;
                    effects.extend(self.look());
                } else {
                    self.found = None;
                    effects.extend(self.remake(false));
                }
                effects
            }
            ReaderNews::Lines { lines, edition, is_all } => {
                if edition != self.edition {
                    return Vec::new();
                }
                self.lines.extend(lines);
                self.forget_far();
                self.find_anchor();
                if !is_all {
                    return Vec::new();
                }
                self.wanted = None;
                self.look()
            }
            ReaderNews::Found { item, wanted } if wanted == self.query => self.found(item),
            ReaderNews::Counted { hits, wanted, n_rows } if wanted == self.query && n_rows == self.rows.len() => {
                (self.hits, self.n_counted) = (Some(hits), n_rows);
                Vec::new()
            }
            // Of what nobody looks for any more.
            ReaderNews::Found { .. } | ReaderNews::Counted { .. } => Vec::new(),
            ReaderNews::Text(text) => {
                self.status.say("Copied", self.now_ms, 2);
                vec![Effect::Copy(text)]
            }
            ReaderNews::Pictures(pictures) => {
                if pictures.is_empty() {
                    self.status.say("There is no picture in what can be seen", self.now_ms, 3);
                    return Vec::new();
                }
                vec![Effect::Show(pictures)]
            }
            ReaderNews::Document(text) => vec![Effect::Edit(text)],
            ReaderNews::Grown => vec![Effect::Do(ReaderJob::Load)],
            ReaderNews::Failed(words) => {
                self.status.complain(words, self.now_ms);
                Vec::new()
            }
            ReaderNews::Broken(words) => vec![Effect::Leave(ReaderOutcome { failure: Some(words) })],
        }
    }

    /// The line of an entry in which the query stands, if its lines are known.
    fn line_of_hit(&self, item: usize) -> usize {
        let wanted = self.query.to_lowercase();
        let lines = self.lines.get(&item);
        let hit = lines.and_then(|lines| lines.iter().position(|line| line.to_text().to_lowercase().contains(&wanted)));
        hit.map_or(0, |line| line.saturating_sub(2))
    }
}

impl Part for Reader {
    type Job = ReaderJob;
    type Outcome = ReaderOutcome;

    fn begin(&mut self) -> Effects<Self> {
        vec![Effect::Do(ReaderJob::Load)]
    }

    fn update(&mut self, event: Event<ReaderNews>) -> Effects<Self> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Paste(text) => {
                if let Some(input) = &mut self.search {
                    input.put(&text);
                }
                Vec::new()
            }
            Event::Mouse(mouse) => match mouse.what {
                MouseAct::WheelUp => self.move_by(3, false),
                MouseAct::WheelDown => self.move_by(3, true),
                MouseAct::Click => Vec::new(),
            },
            Event::Size(width, height) => {
                self.size = (width, height);
                self.remake(true)
            }
            Event::Clock(now_ms) => {
                self.now_ms = now_ms;
                self.status.at(now_ms);
                Vec::new()
            }
            Event::News(news) => self.news(news),
        }
    }

    fn render(&self, canvas: &mut Canvas<'_>) {
        self.draw(canvas);
    }
}

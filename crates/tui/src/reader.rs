//! The reader: a session as a conversation, from any place to any other.
//!
//! A place is an entry and a line in it. Only the lines around what can be
//! seen are made, so that a session of any length opens at once.

pub(crate) mod job;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui_core::layout::Rect;
use sessile::outline::Row;
use sessile_display::measure::number_words;

use crate::content::Detail;
use crate::help::Help;
use crate::input::Input;
use crate::key::{Code, Key};
use crate::keymap::{Action, Keymap, Where};
use crate::paint::{Canvas, Line};
use crate::part::{Effect, Effects, Event, MouseAct, Part};
use crate::status::{NO_PICTURES, Status};
use crate::theme::Ink;
use job::{FOLLOW, ReaderJob, ReaderNews};

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

    fn find(&mut self, is_down: bool) -> Effects<Self> {
        if self.query.is_empty() {
            return Vec::new();
        }
        // Near the end what was found may not be at the top.
        let at = self.found.unwrap_or(self.top.0);
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

    fn press(&mut self, key: Key) -> Effects<Self> {
        if let Some(help) = &mut self.help {
            if !help.press(key) {
                self.help = None;
            }
            return Vec::new();
        }
        if let Some(input) = &mut self.search {
            match key.code {
                Code::Enter => {
                    self.query = input.text().trim().to_owned();
                    self.search = None;
                    return self.find(true);
                }
                Code::Escape => self.search = None,
                _ => drop(input.press(key, &self.keymap)),
            }
            return Vec::new();
        }
        match self.keymap.action(Where::Reader, key) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    fn act(&mut self, action: Action) -> Effects<Self> {
        let page = self.room().saturating_sub(2).max(1);
        match action {
            Action::ReaderUp => self.move_by(1, false),
            Action::ReaderDown => self.move_by(1, true),
            Action::ReaderPageUp => self.move_by(page, false),
            Action::ReaderPageDown => self.move_by(page, true),
            Action::ReaderTop => self.go((0, 0)),
            Action::ReaderEnd => self.go((usize::MAX, 0)),
            Action::NextPrompt => match self.prompts.iter().find(|item| **item > self.top.0) {
                Some(item) => self.go((*item, 0)),
                None => self.go((usize::MAX, 0)),
            },
            Action::PreviousPrompt => {
                let before = self.prompts.iter().rev().find(|item| (**item, 0) < self.top);
                self.go((before.copied().unwrap_or_default(), 0))
            }
            Action::ToggleTools => {
                self.detail.tools = !self.detail.tools;
                self.remake(false)
            }
            Action::ToggleThinking => {
                self.detail.thinking = !self.detail.thinking;
                self.remake(false)
            }
            Action::Search => {
                self.search = Some(Input::default());
                Vec::new()
            }
            Action::NextHit => self.find(true),
            Action::PreviousHit => self.find(false),
            Action::Copy => {
                self.rows.get(self.top.0).map(|row| Effect::Do(ReaderJob::Text(*row))).into_iter().collect()
            }
            Action::Pictures if !self.draws_pictures => {
                self.status.say(NO_PICTURES, self.now_ms, 6);
                Vec::new()
            }
            Action::Pictures => {
                // What is at the top may have none, and something below it that is seen as well may have one.
                let rows = self.rows.iter().skip(self.top.0).take(self.n_seen()).copied().collect();
                vec![Effect::Do(ReaderJob::Pictures(rows))]
            }
            Action::Edit => vec![Effect::Do(ReaderJob::Document)],
            Action::Follow => {
                self.follows = !self.follows;
                if !self.follows {
                    return vec![Effect::Stop(FOLLOW)];
                }
                let mut effects = vec![Effect::Do(ReaderJob::Follow)];
                effects.extend(self.go((usize::MAX, 0)));
                effects
            }
            Action::Help => {
                self.help = Some(Help::default());
                Vec::new()
            }
            Action::Suspend => vec![Effect::Suspend],
            Action::Leave => vec![Effect::Leave(ReaderOutcome::default())],
            _ => Vec::new(),
        }
    }

    fn news(&mut self, news: ReaderNews) -> Effects<Self> {
        match news {
            ReaderNews::Loaded { rows, prompts, name } => {
                // What was there before is the same if the path only grew.
                let is_same =
                    self.rows.iter().zip(&rows).all(|(one, other)| one == other) && rows.len() >= self.rows.len();
                (self.rows, self.prompts, self.name) = (Arc::new(rows), prompts, name);
                self.is_loaded = true;
                if is_same {
                    self.wanted = None;
                    self.look()
                } else {
                    self.remake(false)
                }
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
            ReaderNews::Found(item) => {
                match item {
                    Some(item) => {
                        self.status = Status::default();
                        let line = self.line_of_hit(item);
                        let effects = self.go((item, line));
                        self.found = Some(item);
                        return effects;
                    }
                    None => self.status.say(format!("Nowhere: {}", self.query), self.now_ms, 4),
                }
                Vec::new()
            }
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
        if let Some(help) = self.help {
            return help.render(canvas, &self.keymap, Where::Reader, "Keys of the reader");
        }
        let whole = canvas.area();
        let flags =
            [(self.follows, "  following"), (self.detail.tools, "  all output"), (self.detail.thinking, "  thoughts")];
        let flags: String = flags.iter().filter(|(is_on, _)| *is_on).map(|(_, words)| *words).collect();
        let title = if self.name.is_empty() { "Session" } else { &self.name };
        canvas.line(whole, 0, &Line::new().ink(Ink::NAMED.bold(), title).ink(Ink::ACCENT, &flags));
        let area = self.area();
        let (mut item, mut line) = self.top;
        for row in 0..self.room() {
            if item >= self.rows.len() {
                break;
            }
            match self.lines.get(&item) {
                Some(lines) => {
                    if let Some(line) = lines.get(line) {
                        canvas.line(area, row, &line.clone().marked(&self.query));
                    }
                }
                None => canvas.line(area, row, &Line::new().ink(Ink::DIM, "…")),
            }
            line += 1;
            if line >= self.height(item) {
                (item, line) = (item + 1, 0);
            }
        }
        self.draw_foot(canvas, Rect { y: whole.height.saturating_sub(1), height: 1, ..whole });
    }
}

impl Reader {
    fn draw_foot(&self, canvas: &mut Canvas<'_>, area: Rect) {
        if let Some(input) = &self.search {
            let (line, column) = input.line("/", area.width.into());
            canvas.line(area, 0, &line);
            canvas.cursor = Some((u16::try_from(column).unwrap_or_default(), area.y));
            return;
        }
        if let Some((ink, words)) = self.status.shown() {
            return canvas.line(area, 0, &Line::new().ink(ink, words));
        }
        let key = |action| self.keymap.hint(action);
        let place = match (self.is_loaded, self.rows.len()) {
            (false, _) => "reading …".to_owned(),
            (true, n_rows) => {
                format!("{}/{}", number_words((self.top.0 + 1).min(n_rows) as u64), number_words(n_rows as u64))
            }
        };
        let hints = format!(
            "{place}  {} {} yours · {} search · {} output · {} thoughts · {} follow · {} editor · {} keys",
            key(Action::PreviousPrompt),
            key(Action::NextPrompt),
            key(Action::Search),
            key(Action::ToggleTools),
            key(Action::ToggleThinking),
            key(Action::Follow),
            key(Action::Edit),
            key(Action::Help),
        );
        canvas.line(area, 0, &Line::new().ink(Ink::DIM, &hints));
    }
}

#[cfg(test)]
mod tests {
    use super::job::Desk;
    use super::*;
    use crate::testing::Driver;

    fn reader() -> (tempfile::TempDir, Driver<Reader>) {
        let dir = tempfile::tempdir().unwrap();
        let sample = sessile::write_sample(dir.path()).unwrap();
        let desk = Desk::new(sample.sessions(), sample.richest.clone());
        let reader = Reader::new(Arc::new(Keymap::default()));
        (dir, Driver::new(reader, desk, |job| matches!(job, ReaderJob::Follow)))
    }

    #[test]
    fn screens_stay_as_they_are() {
        let (_dir, mut driver) = reader();
        driver.matches_kept("reader");
        driver.press("g").matches_kept("reader-top");
        driver.press("o t").matches_kept("reader-all");
        driver.press("f1").matches_kept("reader-help");
    }

    #[test]
    fn one_moves_by_lines_pages_and_questions() {
        let (_dir, mut driver) = reader();
        let end = driver.part.top;
        assert!(driver.part.sticks_to_end);
        driver.press("g");
        assert_eq!(driver.part.top, (0, 0));
        driver.press("]");
        let first = driver.part.top;
        assert!(driver.part.prompts.contains(&first.0));
        driver.press("]");
        assert!(driver.part.top > first);
        driver.press("[");
        assert_eq!(driver.part.top, first);
        driver.press("j k");
        assert_eq!(driver.part.top, first);
        for _ in 0..50 {
            driver.press("space");
        }
        assert_eq!(driver.part.top, end);
        for _ in 0..200 {
            driver.press("b");
        }
        assert_eq!(driver.part.top, (0, 0));
        driver.press("shift+g");
        assert_eq!(driver.part.top, end);
    }

    #[test]
    fn words_are_found_and_marked() {
        let (_dir, mut driver) = reader();
        driver.press("g / changelog enter");
        assert!(driver.screen().join("\n").to_lowercase().contains("changelog"));
        let found = driver.part.found;
        driver.press("n");
        assert_ne!(driver.part.found, found);
        driver.press("shift+n");
        assert_eq!(driver.part.found, found);
        driver.press("/ nowhere_to_be_found enter");
        assert!(driver.screen().last().unwrap().contains("Nowhere"), "{:?}", driver.screen().last());
    }

    #[test]
    fn the_text_goes_to_the_clipboard_and_to_the_editor() {
        let (_dir, mut driver) = reader();
        driver.press("g ] ctrl+x e");
        assert!(driver.copied[0].contains("tidepool"));
        assert!(driver.copied[1].contains("tidepool") && driver.copied[1].len() > driver.copied[0].len());
    }

    #[test]
    fn what_is_written_meanwhile_is_followed() {
        let (dir, mut driver) = reader();
        let sample = sessile::open_sample(dir.path()).unwrap().unwrap();
        driver.press("f");
        let mut session = sample.sessions().open(&sample.richest, None, None).unwrap();
        session.append_message(sessile::draft::UserMessage::new("and one more thing", 1_763_000_000_000)).unwrap();
        driver.happen(Event::News(ReaderNews::Grown));
        assert!(driver.screen().join("\n").contains("and one more thing"), "{:#?}", driver.screen());
    }
}

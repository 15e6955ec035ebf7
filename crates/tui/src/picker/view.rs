//! Drawing of the picker.

use std::path::PathBuf;

use ratatui_core::layout::Rect;
use sessile::SessionUser;
use sessile::text::excerpt::Excerpt;
use sessile_display::columns;
use sessile_display::measure::age;

use super::arrange::{Row, Sort};
use super::job::NOT_AN_EXPRESSION;
use super::{Mode, Picker, Purpose, Question, Scope};
use crate::keymap::Action;
use crate::paint::{Canvas, Line};
use crate::row::{Parts, title};
use crate::theme::Ink;
use crate::{hint, prompt};

/// The areas of the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) head: Rect,
    pub(crate) input: Rect,
    pub(crate) list: Rect,
    pub(crate) foot: Rect,
    pub(crate) preview: Option<Rect>,
}

/// Minimum height in lines for two lines of hints and empty lines between the areas.
const ROOMY: u16 = 16;

impl Layout {
    pub(crate) fn new((width, height): (u16, u16), has_preview: bool) -> Self {
        let is_roomy = height >= ROOMY;
        let n_head = if is_roomy { 3 } else { 2 };
        let gap = u16::from(is_roomy);
        let list_width = if has_preview { width * 11 / 20 } else { width };
        let at = |y: u16, height: u16| Rect { x: 0, y, width: list_width, height };
        let below = n_head + gap + 1 + gap;
        let list = at(below, height.saturating_sub(below + 1));
        let preview = has_preview.then(|| Rect {
            x: list_width + 2,
            y: below - 1,
            width: width.saturating_sub(list_width + 2),
            height: height.saturating_sub(below - 1),
        });
        Self {
            head: Rect { x: 0, y: 0, width, height: n_head },
            input: at(n_head + gap, 1),
            list,
            foot: at(height.saturating_sub(1), 1),
            preview,
        }
    }
}

/// Shortens a path with `~` for the home directory.
pub(crate) fn short_path(path: &str, home: &str) -> String {
    match path.strip_prefix(home).filter(|_| home.len() > 1) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

impl Picker {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        match &self.mode {
            Mode::Help(help) => help.render(canvas, &self.keymap),
            Mode::Ask { what, paths, input } => {
                let title = match what {
                    Question::Rename => "Rename the session".to_owned(),
                    Question::Move => format!("Move {} to the working directory", meant(paths.len())),
                    Question::Export => format!("Export {} as Markdown to the directory", meant(paths.len())),
                };
                prompt::draw_line(canvas, &self.keymap, &title, input);
            }
            Mode::List | Mode::Confirm(_) => self.draw_list(canvas),
        }
    }

    fn draw_list(&self, canvas: &mut Canvas<'_>) {
        let layout = self.layout();
        self.draw_head(canvas, layout.head);
        let (line, column) = self.query.line("> ", layout.input.width.into());
        canvas.line(layout.input, 0, &line);
        // Without a cursor, keys go to the list.
        if matches!(self.mode, Mode::List) && (self.is_editing || self.query.is_empty()) {
            canvas.cursor = Some((layout.input.x + u16::try_from(column).unwrap_or_default(), layout.input.y));
        }
        let height = usize::from(layout.list.height);
        if self.rows.is_empty() {
            let words = Line::new().ink(Ink::DIM, &self.words_for_nothing());
            for (row, line) in words.wrapped(layout.list.width.into(), 2).iter().enumerate() {
                canvas.line(layout.list, row, line);
            }
        }
        let first = self.first_shown(height);
        for (row, at) in (first..self.rows.len()).take(height).enumerate() {
            let line = self.row_line(at, layout.list.width.into());
            if at == self.selected {
                canvas.chosen_line(layout.list, row, &line);
            } else {
                canvas.line(layout.list, row, &line);
            }
        }
        self.draw_foot(canvas, layout.foot, height);
        if let Some(area) = layout.preview {
            self.draw_preview(canvas, area);
        }
        if let (Mode::List, None, Some((ink, words))) = (&self.mode, &self.problem, self.status.shown()) {
            canvas.notice(1, ink, words);
        }
    }

    fn draw_head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let is_all = self.scope == Scope::All;
        let title = match (self.purpose, is_all) {
            (Purpose::Resume, true) => "Sessions everywhere",
            (Purpose::Resume, false) => "Sessions of this folder",
            (Purpose::Tree, true) => "The tree of a session",
            (Purpose::Tree, false) => "The tree of a session of this folder",
            (Purpose::Read, true) => "Read a session",
            (Purpose::Read, false) => "Read a session of this folder",
            (Purpose::Fork, true) => "Fork a session",
            (Purpose::Fork, false) => "Fork a session of this folder",
        };
        let radio = |is_on: bool, words: &str| {
            let ink = if is_on { Ink::ACCENT } else { Ink::DIM };
            Line::new().ink(ink, &format!("{} {words}", if is_on { "◉" } else { "○" }))
        };
        let mut right = radio(!is_all, "here").ink(Ink::DIM, " | ").join(radio(is_all, "all"));
        if let Some((loaded, total)) = self.listed(self.scope).loading {
            right = Line::new().ink(Ink::ACCENT, &format!("reading {loaded}/{total}"));
        }
        let sort = match self.sort {
            Sort::Threaded => "threaded",
            Sort::Recent => "recent",
            Sort::Relevance => "relevance",
        };
        let mut flags = Vec::new();
        flags.extend(self.shows_archived.then_some("archived"));
        flags.extend(self.named.then_some("named"));
        flags.extend(self.hides_children.then_some("no forks"));
        flags.extend(self.groups.then_some("by repository"));
        flags.extend((!self.searches_text).then_some("names only"));
        let flags = flags.iter().fold(String::new(), |all, flag| format!("{all}  {flag}"));
        right = right.ink(Ink::DIM, "  sort: ").ink(Ink::ACCENT, sort).ink(Ink::NAMED, &flags);
        let width = usize::from(area.width);
        if right.columns() > width {
            // The active filters matter more than the rest.
            right = Line::new().ink(Ink::ACCENT, if is_all { "all" } else { "here" }).text("  ");
            right = right.ink(Ink::ACCENT, sort).ink(Ink::NAMED, &flags);
        }
        let left = Line::new().ink(Ink::BOLD, title);
        let gap = width.saturating_sub(left.columns() + right.columns());
        let line = if gap == 0 { right } else { left.text(&" ".repeat(gap)).join(right) };
        canvas.line(area, 0, &line);
        let hints = self.hints(width, area.height > 2);
        for (row, hint) in hints.iter().enumerate() {
            canvas.line(area, row + 1, hint);
        }
    }

    /// Returns the lines below the title; only one on a small screen.
    fn hints(&self, width: usize, is_roomy: bool) -> Vec<Line> {
        if let Mode::Confirm(paths) = &self.mode {
            return self.deletion_question(paths, width, is_roomy);
        }
        if let Some(problem) = &self.problem {
            let whole = Line::new().ink(Ink::BAD, problem);
            let short = problem.strip_prefix(NOT_AN_EXPRESSION).filter(|_| !is_roomy && whole.columns() > width);
            return short.map_or(whole, |reason| Line::new().ink(Ink::BAD, reason)).wrapped(width, 2);
        }
        let told = |hints: &[(Action, &str)]| -> Vec<String> {
            hints.iter().map(|(action, what)| self.keymap.told(*action, what)).collect()
        };
        let confirm = match self.purpose {
            Purpose::Resume => "go on",
            Purpose::Tree => "tree",
            Purpose::Read => "read",
            Purpose::Fork => "fork",
        };
        let mut first = vec![
            (Action::Confirm, confirm),
            (Action::ToggleScope, "here/all"),
            (Action::ToggleSort, "sort"),
            (Action::OpenTree, "tree"),
            (Action::OpenReader, "read"),
        ];
        // The action for which the session is picked needs no second key.
        first.retain(|(action, what)| *action == Action::Confirm || *what != confirm);
        let first = told(&first);
        let second = told(&[
            (Action::Rename, "rename"),
            (Action::Delete, "delete"),
            (Action::Archive, if self.shows_archived { "out of the archive" } else { "archive" }),
            (Action::OpenTrash, "trash"),
            (Action::ToggleNamed, "named"),
            (Action::TogglePath, "paths"),
            (Action::TogglePin, "pin"),
            (Action::Mark, "mark"),
            (Action::ToggleGroups, "by repository"),
        ]);
        let help = self.keymap.told(Action::Help, "keys");
        let lines = [hint::fitted(&first, Some(&help), width), hint::fitted(&second, None, width)];
        lines.iter().map(|words| Line::new().ink(Ink::DIM, words)).collect()
    }

    /// Asks before sessions go to the trash. The answers are visible on the smallest screen.
    fn deletion_question(&self, paths: &[PathBuf], width: usize, is_roomy: bool) -> Vec<Line> {
        let user = paths.iter().filter_map(|path| self.users.get(path)).flatten().next();
        let answers = "y yes · n no";
        let title = match paths {
            [path] => self.shown.iter().find(|session| session.path == *path).map(title),
            _ => None,
        };
        let asked = |before: &str, after: &str| {
            let room = width.saturating_sub(columns(before) + columns(after));
            let whole = title.as_ref().map_or(0, |title| columns(title) + 2);
            let shown = title.as_ref().filter(|title| !title.is_empty() && room >= whole.min(LEAST_TITLE));
            let what = match shown {
                Some(title) => format!("“{}”", Line::new().text(title).cut(room - 2).to_text()),
                None => meant(paths.len()),
            };
            (format!("{before}{what}{after}"), shown.is_some())
        };
        let questions = match user {
            None => {
                vec![asked("Move ", &format!(" to the trash? {answers}")), asked("Trash ", &format!("? {answers}"))]
            }
            Some(user) => vec![
                asked("Move ", &format!(" to the trash? In use: {user}. {answers}")),
                asked("In use! Move ", &format!(" to the trash? {answers}")),
                asked("In use! Trash ", &format!("? {answers}")),
            ],
        };
        // A shorter question is better than one that does not name the session.
        let fits = |(words, _): &&(String, bool)| columns(words) <= width;
        let best = questions.iter().filter(fits).find(|(_, has_title)| *has_title);
        let question = best.or_else(|| questions.iter().find(fits)).or(questions.last());
        let (question, _) = question.cloned().unwrap_or_default();
        let mut lines = vec![Line::new().ink(Ink::BAD, &question)];
        if let Some(user) = user.filter(|_| is_roomy && questions.first().is_some_and(|(first, _)| *first != question))
        {
            lines.push(Line::new().ink(Ink::BAD, &format!("In use: {user}.")));
        }
        lines
    }

    fn words_for_nothing(&self) -> String {
        let key = |action| self.keymap.hint(action);
        let listed = self.listed(self.scope);
        if listed.loading.is_some() {
            return "  Reading sessions …".to_owned();
        }
        if self.problem.is_some() {
            return "  Nothing is searched for until the query is whole.".to_owned();
        }
        if self.is_searching {
            return "  Searching …".to_owned();
        }
        let (all, named) = (key(Action::ToggleScope), key(Action::ToggleNamed));
        let what = if self.query.is_empty() { "" } else { " like that" };
        let archived = key(Action::ToggleArchived);
        if self.shows_archived {
            let place = if self.scope == Scope::Here { " here" } else { "" };
            return format!("  No archived sessions{what}{place}. {archived} shows the others.");
        }
        if self.query.is_empty() && !self.named && self.n_archived > 0 {
            return format!("  All sessions are archived. {archived} shows them.");
        }
        match (self.named, self.scope) {
            (true, Scope::Here) => {
                format!("  No named sessions{what} here. {named} shows all names, {all} all folders.")
            }
            (true, Scope::All) => format!("  No named sessions{what}. {named} shows all names."),
            (false, Scope::Here) => format!("  No sessions{what} in this folder. {all} shows all folders."),
            (false, Scope::All) if !listed.list.is_empty() => format!("  No sessions{what}."),
            (false, Scope::All) => {
                let root = short_path(&self.root.to_string_lossy(), &self.home);
                format!(
                    "  There are no sessions in {root} yet. pi makes one as soon as you talk to it, and `sessile new` \
                     makes one too. `sessile --sample resume` shows a made-up store."
                )
            }
        }
    }

    /// Renders a row in pi's layout.
    pub(super) fn row_line(&self, at: usize, width: usize) -> Line {
        let is_chosen = at == self.selected;
        match &self.rows[at] {
            Row::Heading(words) => Line::new().ink(Ink::ACCENT.bold(), words),
            Row::Session { place, prefix, is_pinned, excerpt, folder } => {
                let Some(session) = self.shown.get(*place) else { return Line::new() };
                let is_doomed = matches!(&self.mode, Mode::Confirm(paths) if paths.contains(&session.path));
                let is_marked = self.marks.contains(&session.path);
                let ink = if is_doomed {
                    Ink::BAD
                } else if self.is_current(&session.path) {
                    Ink::ACCENT
                } else if session.name.is_some() {
                    Ink::NAMED
                } else {
                    Ink::PLAIN
                };
                let mut lead = Line::new().ink(Ink::ACCENT, if is_chosen { "› " } else { "  " }).ink(Ink::DIM, prefix);
                if is_marked {
                    lead.push(Ink::ACCENT, "✓ ");
                }
                if *is_pinned {
                    lead.push(Ink::ACCENT, "★ ");
                }
                let user = self.users.get(&session.path).and_then(|users| users.first());
                if user.is_some() {
                    lead.push(Ink::NAMED, "● ");
                }
                let ink = if is_chosen { ink.bold() } else { ink };
                let title = Line::new().ink(ink, &title(session));
                let in_words = |excerpt: &Excerpt, room: usize| excerpt_line(&from_hit(excerpt), room);
                let excerpt = excerpt.as_ref().map(|excerpt| move |room: usize| in_words(excerpt, room));
                let folder = folder.clone().unwrap_or_else(|| short_path(&session.cwd, &self.home));
                let parts = Parts {
                    lead,
                    title,
                    excerpt: excerpt.as_ref().map(|excerpt| excerpt as &dyn Fn(usize) -> Line),
                    path: self.shows_path.then(|| short_path(&session.path.to_string_lossy(), &self.home)),
                    word: joined(self.copies.original_of(&session.path).map(|_| "copy"), user.map(SessionUser::words)),
                    folder: Some(folder).filter(|folder| self.scope == Scope::All && !folder.is_empty()),
                    end: format!("{} {}", session.message_count, age(self.now_ms, session.modified)),
                    ink: if is_doomed { Ink::BAD } else { Ink::DIM },
                };
                parts.line(width)
            }
        }
    }

    fn draw_foot(&self, canvas: &mut Canvas<'_>, area: Rect, height: usize) {
        let n_sessions = self.rows.iter().filter(|row| row.place().is_some()).count();
        let mut words = String::new();
        if n_sessions > height || !self.query.is_empty() {
            let before = self.rows.iter().take(self.selected + 1).filter(|row| row.place().is_some()).count();
            words = format!("  ({before}/{n_sessions})");
        }
        if self.is_searching {
            words.push_str("  searching what was said …");
        }
        if self.n_archived > 0 {
            let key = self.keymap.hint(Action::ToggleArchived);
            words = format!("{words}  {} archived: {key}", self.n_archived);
        }
        if !self.marks.is_empty() {
            words = format!("{words}  {} marked", self.marks.len());
        }
        canvas.line(area, 0, &Line::new().ink(Ink::DIM, &words));
    }

    fn draw_preview(&self, canvas: &mut Canvas<'_>, area: Rect) {
        canvas.divider(area.x - 1, area);
        let Some(chosen) = self.chosen() else { return };
        let text = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        let mut lines: Vec<Line> = Vec::new();
        if let Some(Row::Session { excerpt: Some(excerpt), .. }) = self.rows.get(self.selected) {
            lines.extend(excerpt_line(excerpt, usize::MAX).wrapped(text.width.into(), 0));
            lines.push(Line::new());
        }
        for user in self.users.get(&chosen.path).into_iter().flatten() {
            let words = format!("● In use: {user}.");
            lines.extend(Line::new().ink(Ink::NAMED, &words).wrapped(text.width.into(), 2));
        }
        if let Some((path, preview)) = &self.previewed
            && *path == chosen.path
        {
            lines.extend(preview.iter().cloned());
        }
        for (row, line) in lines.iter().skip(self.preview_top).take(text.height.into()).enumerate() {
            canvas.line(text, row, line);
        }
    }
}

/// Joins the words about a session that stand in its row.
fn joined(copy: Option<&str>, user: Option<&str>) -> Option<String> {
    let words: Vec<&str> = copy.into_iter().chain(user).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Minimum columns of a title in a question, with its quotes.
const LEAST_TITLE: usize = 12;

/// Words for the sessions that a question is about.
fn meant(n_sessions: usize) -> String {
    if n_sessions == 1 { "the session".to_owned() } else { format!("{n_sessions} sessions") }
}

/// Shortens an excerpt for a narrow row: it starts just before the first match.
fn from_hit(excerpt: &Excerpt) -> Excerpt {
    let first = excerpt.ranges.first().map_or(0, |range| range.start);
    let start = excerpt.text.floor_char_boundary(first.saturating_sub(12));
    if start == 0 {
        return excerpt.clone();
    }
    let text = format!("…{}", excerpt.text.get(start..).unwrap_or_default());
    let moved = |at: usize| at - start + '…'.len_utf8();
    Excerpt { text, ranges: excerpt.ranges.iter().map(|range| moved(range.start)..moved(range.end)).collect() }
}

/// Renders an excerpt with the matches highlighted.
fn excerpt_line(excerpt: &Excerpt, width: usize) -> Line {
    let mut line = Line::new();
    let mut at = 0;
    for range in &excerpt.ranges {
        line.push(Ink::DIM, excerpt.text.get(at..range.start).unwrap_or_default());
        line.push(Ink::DIM.marked(), excerpt.text.get(range.clone()).unwrap_or_default());
        at = range.end;
    }
    line.push(Ink::DIM, excerpt.text.get(at..).unwrap_or_default());
    line.cut(width)
}

//! What the picker looks like.

use ratatui_core::layout::Rect;
use sessile::SessionInfo;
use sessile::text::excerpt::Excerpt;
use sessile_display::measure::age;

use super::arrange::{Row, Sort};
use super::{Mode, Picker, Question, Scope};
use crate::keymap::{Action, Where};
use crate::paint::{Canvas, Line};
use crate::theme::Ink;

/// Where things are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) head: Rect,
    pub(crate) input: Rect,
    pub(crate) list: Rect,
    pub(crate) foot: Rect,
    pub(crate) preview: Option<Rect>,
}

/// From how many lines on there is room for two lines of hints and empty lines between things.
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

/// A path with `~` for the home directory.
pub(crate) fn short_path(path: &str, home: &str) -> String {
    match path.strip_prefix(home).filter(|_| home.len() > 1) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

/// The least that is shown of a session's name.
const LEAST_TEXT: usize = 10;

impl Picker {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        match &self.mode {
            Mode::Help(help) => help.render(canvas, &self.keymap, Where::Picker, "Keys of the picker"),
            Mode::Ask { what, paths, input } => {
                let title = match what {
                    Question::Rename => "Rename the session".to_owned(),
                    Question::Move => format!("Move {} to the working directory", meant(paths.len())),
                    Question::Export => format!("Export {} as Markdown to the directory", meant(paths.len())),
                };
                self.draw_question(canvas, &title, input);
            }
            Mode::List | Mode::Confirm(_) => self.draw_list(canvas),
        }
    }

    fn draw_question(&self, canvas: &mut Canvas<'_>, title: &str, input: &crate::input::Input) {
        let area = canvas.area();
        canvas.rule(area, 0);
        canvas.line(area, 2, &Line::new().text(" ").ink(Ink::BOLD, title));
        let (line, column) = input.line("> ", area.width.into());
        canvas.line(area, 4, &line);
        canvas.cursor = Some((u16::try_from(column).unwrap_or(u16::MAX).min(area.width.saturating_sub(1)), 4));
        let hint =
            format!(" {} does it · {} goes back", self.keymap.hint(Action::Confirm), self.keymap.hint(Action::Cancel));
        canvas.line(area, 6, &Line::new().ink(Ink::DIM, &hint));
    }

    fn draw_list(&self, canvas: &mut Canvas<'_>) {
        let layout = self.layout();
        self.draw_head(canvas, layout.head);
        let (line, column) = self.query.line("> ", layout.input.width.into());
        canvas.line(layout.input, 0, &line);
        if matches!(self.mode, Mode::List) {
            canvas.cursor = Some((layout.input.x + u16::try_from(column).unwrap_or_default(), layout.input.y));
        }
        let height = usize::from(layout.list.height);
        if self.rows.is_empty() {
            canvas.line(layout.list, 0, &Line::new().ink(Ink::DIM, &self.words_for_nothing()));
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
    }

    fn draw_head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let is_all = self.scope == Scope::All;
        let title = if is_all { "Sessions everywhere" } else { "Sessions of this folder" };
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
        flags.extend(self.named.then_some("named"));
        flags.extend(self.hides_children.then_some("no forks"));
        flags.extend(self.groups.then_some("by repository"));
        flags.extend((!self.searches_text).then_some("names only"));
        let flags = flags.iter().fold(String::new(), |all, flag| format!("{all}  {flag}"));
        right = right.ink(Ink::DIM, "  sort: ").ink(Ink::ACCENT, sort).ink(Ink::NAMED, &flags);
        let width = usize::from(area.width);
        let left = Line::new().ink(Ink::BOLD, title);
        let gap = width.saturating_sub(left.columns() + right.columns());
        let line = if gap == 0 { right } else { left.text(&" ".repeat(gap)).join(right) };
        canvas.line(area, 0, &line);
        let hints = self.hints();
        for (row, hint) in hints.iter().enumerate() {
            canvas.line(area, row + 1, hint);
        }
    }

    fn hints(&self) -> Vec<Line> {
        let key = |action| self.keymap.hint(action);
        if let Mode::Confirm(paths) = &self.mode {
            let users = paths.iter().filter_map(|path| self.users.get(path)).flatten().next();
            let in_use = users.map(|user| format!(" In use: {user}.")).unwrap_or_default();
            let words = format!(
                "Move {} to the trash?{in_use} {} yes · {} no",
                meant(paths.len()),
                key(Action::Confirm),
                key(Action::Cancel)
            );
            return vec![Line::new().ink(Ink::BAD, &words)];
        }
        if let Some((ink, words)) = self.status.shown() {
            return vec![Line::new().ink(ink, words)];
        }
        let list = |hints: &[(Action, &str)]| {
            let words: Vec<String> = hints.iter().map(|(action, what)| format!("{} {what}", key(*action))).collect();
            Line::new().ink(Ink::DIM, &words.join(" · "))
        };
        vec![
            list(&[
                (Action::Confirm, "go on"),
                (Action::ToggleScope, "here/all"),
                (Action::ToggleSort, "sort"),
                (Action::OpenTree, "tree"),
                (Action::OpenReader, "read"),
                (Action::Help, "all keys"),
            ]),
            list(&[
                (Action::Rename, "rename"),
                (Action::Delete, "delete"),
                (Action::ToggleNamed, "named"),
                (Action::TogglePath, "paths"),
                (Action::TogglePin, "pin"),
                (Action::Mark, "mark"),
                (Action::ToggleGroups, "by repository"),
            ]),
        ]
    }

    fn words_for_nothing(&self) -> String {
        let key = |action| self.keymap.hint(action);
        let listed = self.listed(self.scope);
        if listed.loading.is_some() {
            return "  Reading sessions …".to_owned();
        }
        if self.is_searching {
            return "  Searching …".to_owned();
        }
        let (all, named) = (key(Action::ToggleScope), key(Action::ToggleNamed));
        let what = if self.query.is_empty() { "" } else { " like that" };
        match (self.named, self.scope) {
            (true, Scope::Here) => {
                format!("  No named sessions{what} here. {named} shows all names, {all} all folders.")
            }
            (true, Scope::All) => format!("  No named sessions{what}. {named} shows all names."),
            (false, Scope::Here) => format!("  No sessions{what} in this folder. {all} shows all folders."),
            (false, Scope::All) => format!("  No sessions{what}."),
        }
    }

    /// A row, laid out as pi does it.
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
                let right = self.right_part(session, folder.as_deref());
                let mut left = Line::new().ink(Ink::ACCENT, if is_chosen { "› " } else { "  " }).ink(Ink::DIM, prefix);
                if is_marked {
                    left.push(Ink::ACCENT, "✓ ");
                }
                if *is_pinned {
                    left.push(Ink::ACCENT, "★ ");
                }
                if self.users.contains_key(&session.path) {
                    left.push(Ink::NAMED, "● ");
                }
                let room = width.saturating_sub(left.columns() + right.columns() + 2).max(LEAST_TEXT);
                let text = session.name.as_ref().unwrap_or(&session.first_message).to_str();
                let ink = if is_chosen { ink.bold() } else { ink };
                let text =
                    Line::new().ink(ink, text.replace(|char: char| char.is_ascii_control(), " ").trim()).cut(room);
                let left_over = room.saturating_sub(text.columns() + 3);
                left = left.join(text);
                if let Some(excerpt) = excerpt.as_ref().filter(|_| left_over >= LEAST_TEXT) {
                    left = left.ink(Ink::DIM, " · ").join(excerpt_line(&from_hit(excerpt), left_over));
                }
                let gap = width.saturating_sub(left.columns() + right.columns()).max(1);
                left.text(&" ".repeat(gap)).ink(if is_doomed { Ink::BAD } else { Ink::DIM }, &right.to_text())
            }
        }
    }

    fn right_part(&self, session: &SessionInfo, folder: Option<&str>) -> Line {
        let mut words = format!("{} {}", session.message_count, age(self.now_ms, session.modified));
        let folder = folder.map_or_else(|| short_path(&session.cwd, &self.home), str::to_owned);
        if self.scope == Scope::All && !folder.is_empty() {
            words = format!("{folder} {words}");
        }
        if let Some(user) = self.users.get(&session.path).and_then(|users| users.first()) {
            words = format!("{} · {words}", user.words());
        }
        if self.shows_path {
            words = format!("{} {words}", short_path(&session.path.to_string_lossy(), &self.home));
        }
        Line::new().ink(Ink::DIM, &words)
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

/// The sessions that a question is about.
fn meant(n_sessions: usize) -> String {
    if n_sessions == 1 { "the session".to_owned() } else { format!("{n_sessions} sessions") }
}

/// An excerpt that begins shortly before what was looked for, for where there is little room.
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

/// What was found in a session, the words that were looked for marked.
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

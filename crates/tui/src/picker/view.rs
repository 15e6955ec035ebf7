//! Drawing of the picker.

use std::path::PathBuf;

use ratatui_core::layout::Rect;
use sessile::text::excerpt::Excerpt;
use sessile::users::SessionUser;
use sessile_display::columns;
use sessile_display::measure::age;

use super::arrange::{Row, Sort};
use super::job::INVALID_REGEX;
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
const MIN_ROOMY_ROWS: u16 = 16;

impl Layout {
    pub(crate) fn new((width, height): (u16, u16), has_preview: bool) -> Self {
        let is_roomy = height >= MIN_ROOMY_ROWS;
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
        Some(rest) if rest.starts_with(std::path::is_separator) => format!("~{rest}"),
        _ => path.to_owned(),
    }
}

/// Returns the part of a typed path after `~/`.
pub(super) fn below_home(typed: &str) -> Option<&str> {
    typed.strip_prefix('~')?.strip_prefix(std::path::is_separator)
}

impl Picker {
    pub(super) fn draw(&self, canvas: &mut Canvas<'_>) {
        match &self.mode {
            Mode::Help(help) => help.render(canvas, &self.keymap),
            Mode::Prompt { question, paths, input } => {
                let title = match question {
                    Question::Rename => "Rename the session".to_owned(),
                    Question::Move => format!("Move {} to another working directory", sessions_text(paths.len())),
                    Question::Export => format!("Export {} as Markdown to this directory", sessions_text(paths.len())),
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
            let text = Line::new().ink(Ink::DIM, &self.empty_text());
            for (row, line) in text.wrapped(layout.list.width.into(), 2).iter().enumerate() {
                canvas.line(layout.list, row, line);
            }
        }
        let first = self.first_visible(height);
        for (row, at) in (first..self.rows.len()).take(height).enumerate() {
            let line = self.row_line(at, layout.list.width.into());
            if at == self.selected {
                canvas.selected_line(layout.list, row, &line);
            } else {
                canvas.line(layout.list, row, &line);
            }
        }
        self.draw_foot(canvas, layout.foot, height);
        if let Some(area) = layout.preview {
            self.draw_preview(canvas, area);
        }
        if let (Mode::List, None, Some((ink, text))) = (&self.mode, &self.problem, self.status.message()) {
            canvas.notice(1, ink, text);
        }
    }

    fn draw_head(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let is_all = self.scope == Scope::All;
        let title = match (self.purpose, is_all) {
            (Purpose::Resume, true) => "All sessions",
            (Purpose::Resume, false) => "Sessions in this folder",
            (Purpose::Tree, true) => "Open a session tree",
            (Purpose::Tree, false) => "Open a session tree in this folder",
            (Purpose::Read, true) => "Read a session",
            (Purpose::Read, false) => "Read a session in this folder",
            (Purpose::Fork, true) => "Fork a session",
            (Purpose::Fork, false) => "Fork a session in this folder",
        };
        let radio = |is_on: bool, text: &str| {
            let ink = if is_on { Ink::ACCENT } else { Ink::DIM };
            Line::new().ink(ink, &format!("{} {text}", if is_on { "◉" } else { "○" }))
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
            let short = problem.strip_prefix(INVALID_REGEX).filter(|_| !is_roomy && whole.columns() > width);
            return short.map_or(whole, |reason| Line::new().ink(Ink::BAD, reason)).wrapped(width, 2);
        }
        let key_hints = |actions: &[(Action, &str)]| -> Vec<String> {
            actions.iter().map(|(action, what)| self.keymap.hint(*action, what)).collect()
        };
        let confirm = match self.purpose {
            Purpose::Resume => "resume",
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
        let first = key_hints(&first);
        let second = key_hints(&[
            (Action::Rename, "rename"),
            (Action::Delete, "delete"),
            (Action::Archive, if self.shows_archived { "unarchive" } else { "archive" }),
            (Action::OpenTrash, "trash"),
            (Action::ToggleNamed, "named"),
            (Action::TogglePath, "paths"),
            (Action::TogglePin, "pin"),
            (Action::Mark, "mark"),
            (Action::ToggleGroups, "group by repository"),
        ]);
        let help = self.keymap.hint(Action::Help, "keys");
        let lines = [hint::fit(&first, Some(&help), width), hint::fit(&second, None, width)];
        lines.iter().map(|text| Line::new().ink(Ink::DIM, text)).collect()
    }

    /// Asks before sessions go to the trash. The answers are visible on the smallest screen.
    fn deletion_question(&self, paths: &[PathBuf], width: usize, is_roomy: bool) -> Vec<Line> {
        let user = paths.iter().filter_map(|path| self.users.get(path)).flatten().next();
        let answers = "y yes · n no";
        let title = match paths {
            [path] => self.arranged.iter().find(|session| session.path == *path).map(title),
            _ => None,
        };
        let question = |before: &str, after: &str| {
            let room = width.saturating_sub(columns(before) + columns(after));
            let whole = title.as_ref().map_or(0, |title| columns(title) + 2);
            let named_title = title.as_ref().filter(|title| !title.is_empty() && room >= whole.min(MIN_TITLE_COLUMNS));
            let what = match named_title {
                Some(title) => format!("“{}”", Line::new().text(title).cut(room - 2).to_text()),
                None => sessions_text(paths.len()),
            };
            (format!("{before}{what}{after}"), named_title.is_some())
        };
        let questions = match user {
            None => {
                vec![
                    question("Move ", &format!(" to the trash? {answers}")),
                    question("Trash ", &format!("? {answers}")),
                ]
            }
            Some(user) => vec![
                question("Move ", &format!(" to the trash? In use: {user}. {answers}")),
                question("In use! Move ", &format!(" to the trash? {answers}")),
                question("In use! Trash ", &format!("? {answers}")),
            ],
        };
        // A shorter question is better than one that does not name the session.
        let fits = |(text, _): &&(String, bool)| columns(text) <= width;
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

    fn empty_text(&self) -> String {
        let key = |action| self.keymap.key_name(action);
        let listed = self.listed(self.scope);
        if listed.loading.is_some() {
            return "  Reading sessions …".to_owned();
        }
        if self.problem.is_some() {
            return "  The search starts when the query is valid.".to_owned();
        }
        if self.is_searching {
            return "  Searching …".to_owned();
        }
        let (all, named) = (key(Action::ToggleScope), key(Action::ToggleNamed));
        let what = if self.query.is_empty() { "" } else { "matching " };
        let archived = key(Action::ToggleArchived);
        if self.shows_archived {
            let here = if self.scope == Scope::Here { " here" } else { "" };
            return format!("  No {what}archived sessions{here}. {archived} shows the others.");
        }
        if self.query.is_empty() && !self.named && self.n_archived > 0 {
            return format!("  All sessions are archived. {archived} shows them.");
        }
        match (self.named, self.scope) {
            (true, Scope::Here) => {
                format!("  No {what}named sessions here. {named} includes unnamed sessions, {all} all folders.")
            }
            (true, Scope::All) => format!("  No {what}named sessions. {named} includes unnamed sessions."),
            (false, Scope::Here) => format!("  No {what}sessions in this folder. {all} shows all folders."),
            (false, Scope::All) if !listed.list.is_empty() => format!("  No {what}sessions."),
            (false, Scope::All) => {
                let root = short_path(&self.root.to_string_lossy(), &self.home);
                format!(
                    "  There are no sessions in {root} yet. Start one with pi or with `sessile new`. \
                     To try Sessile on example data, run `sessile --sample resume`."
                )
            }
        }
    }

    /// Renders a row in pi's layout.
    pub(super) fn row_line(&self, at: usize, width: usize) -> Line {
        let is_selected = at == self.selected;
        match &self.rows[at] {
            Row::Heading(text) => Line::new().ink(Ink::ACCENT.bold(), text),
            Row::Session { index, prefix, is_pinned, excerpt, folder } => {
                let Some(session) = self.arranged.get(*index) else { return Line::new() };
                let is_being_deleted = matches!(&self.mode, Mode::Confirm(paths) if paths.contains(&session.path));
                let is_marked = self.marks.contains(&session.path);
                let ink = if is_being_deleted {
                    Ink::BAD
                } else if self.is_current(&session.path) {
                    Ink::ACCENT
                } else if session.name.is_some() {
                    Ink::NAMED
                } else {
                    Ink::PLAIN
                };
                let mut lead =
                    Line::new().ink(Ink::ACCENT, if is_selected { "› " } else { "  " }).ink(Ink::DIM, prefix);
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
                let ink = if is_selected { ink.bold() } else { ink };
                let title = Line::new().ink(ink, &title(session));
                let excerpt_of = |excerpt: &Excerpt, room: usize| excerpt_line(&from_hit(excerpt), room);
                let excerpt = excerpt.as_ref().map(|excerpt| move |room: usize| excerpt_of(excerpt, room));
                let folder = folder.clone().unwrap_or_else(|| short_path(&session.cwd, &self.home));
                let parts = Parts {
                    lead,
                    title,
                    excerpt: excerpt.as_ref().map(|excerpt| excerpt as &dyn Fn(usize) -> Line),
                    path: self.shows_path.then(|| short_path(&session.path.to_string_lossy(), &self.home)),
                    note: notes([
                        self.copies.original_of(&session.path).map(|_| "copy"),
                        session.is_redacted.then_some("redacted"),
                        session.imported_from.as_deref(),
                        session.member.as_deref(),
                        user.map(SessionUser::words),
                    ]),
                    folder: Some(folder).filter(|folder| self.scope == Scope::All && !folder.is_empty()),
                    end: format!("{} {}", session.message_count, age(self.now, session.modified)),
                    ink: if is_being_deleted { Ink::BAD } else { Ink::DIM },
                };
                parts.line(width)
            }
        }
    }

    fn draw_foot(&self, canvas: &mut Canvas<'_>, area: Rect, height: usize) {
        let n_sessions = self.rows.iter().filter(|row| row.index().is_some()).count();
        let mut text = String::new();
        if n_sessions > height || !self.query.is_empty() {
            let before = self.rows.iter().take(self.selected + 1).filter(|row| row.index().is_some()).count();
            text = format!("  ({before}/{n_sessions})");
        }
        if self.is_searching {
            text.push_str("  searching message text …");
        }
        if self.n_archived > 0 {
            let key = self.keymap.key_name(Action::ToggleArchived);
            text = format!("{text}  {} archived: {key}", self.n_archived);
        }
        if !self.marks.is_empty() {
            text = format!("{text}  {} marked", self.marks.len());
        }
        canvas.line(area, 0, &Line::new().ink(Ink::DIM, &text));
    }

    fn draw_preview(&self, canvas: &mut Canvas<'_>, area: Rect) {
        canvas.divider(area.x - 1, area);
        let Some(selected) = self.selected_session() else { return };
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        let mut lines: Vec<Line> = Vec::new();
        if let Some(Row::Session { excerpt: Some(excerpt), .. }) = self.rows.get(self.selected) {
            lines.extend(excerpt_line(excerpt, usize::MAX).wrapped(inner.width.into(), 0));
            lines.push(Line::new());
        }
        for user in self.users.get(&selected.path).into_iter().flatten() {
            let text = format!("● In use: {user}.");
            lines.extend(Line::new().ink(Ink::NAMED, &text).wrapped(inner.width.into(), 2));
        }
        if let Some((path, preview)) = &self.previewed
            && *path == selected.path
        {
            lines.extend(preview.iter().cloned());
        }
        for (row, line) in lines.iter().skip(self.preview_top).take(inner.height.into()).enumerate() {
            canvas.line(inner, row, line);
        }
    }
}

/// Joins the notes about a session in its row.
fn notes(notes: [Option<&str>; 5]) -> Option<String> {
    let text: Vec<&str> = notes.into_iter().flatten().collect();
    (!text.is_empty()).then(|| text.join(", "))
}

/// Minimum columns of a title in a question, with its quotes.
const MIN_TITLE_COLUMNS: usize = 12;

/// Names the sessions of a question.
fn sessions_text(n_sessions: usize) -> String {
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

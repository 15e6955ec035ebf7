//! `sessile diff`

use std::path::{Path, PathBuf};

use clap::Args;
use clap::error::ErrorKind;
use sessile::compare::{Comparison, EntryChange, EntryDiff, LineChange, Side};
use sessile::entry::{Entry, Payload};
use sessile::format::outline::Row;
use sessile::message::Message;
use sessile::{Cancel, SessionManager};
use sessile_display::measure::counted;
use sessile_display::text::{Calls, headline};
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::data::write_value;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::on_interrupt;
use crate::screen::{ACCENT, BAD, BOLD, DIM, Line, NAMED, PERSON, Screen, style_of};

/// Compare two branches, forks or sessions, entry by entry
///
/// A and B are each SESSION, SESSION:ENTRY or :ENTRY. SESSION means the path to its leaf, SESSION:ENTRY the path to
/// that entry, and :ENTRY the path to an entry of the session on the other side. For example, `diff @1:draft :@leaf`
/// compares two branches of one session. If the whole word names a session, it means that session, even if it contains
/// colons.
///
/// Reports the common beginning and skips it. After it, matches entries by id, else by role and text. `-` marks entries
/// that only A has, `+` entries that only B has, and `~` changed entries, line by line. Entries with different ids and
/// the same text are equal; entries with the same id are equal only if everything else in them is equal too.
///
/// Exits with 0 if both sides are equal, and with 1 if they differ.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  $ sessile diff @1 @3
  $ sessile diff \"@1:cause found\" :@leaf
  $ sessile diff @1 @1 --json")]
pub(crate) struct DiffArgs {
    /// The first side: SESSION, SESSION:ENTRY, or :ENTRY of the session of B
    #[arg(value_name = "A")]
    left: String,

    /// The second side: SESSION, SESSION:ENTRY, or :ENTRY of the session of A
    #[arg(value_name = "B")]
    right: String,

    /// Show the whole text of entries that only one side has
    #[arg(long, conflicts_with = "json")]
    full: bool,

    /// Print JSON: {left, right, common, equal, changes}
    ///
    /// A side is {path, id, leafId?, entries}; the common beginning is {entries, lastId?}. Changes are, in order,
    /// {change: "same", entries}, {change: "left" or "right", id, type, role?, text}, and {change: "changed", leftId,
    /// rightId, type, role?, hunks, fields}. A hunk is {leftLine, rightLine, lines}; each line starts with its sign.
    /// fields names the other members that differ.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    env: &CommandEnvironment,
    args: &DiffArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let (left, right) = parse_sides(env, &args.left, &args.right)?;
    let open = |path: &Path, err: &mut Screen<'_>| {
        env.open(&SessionArg { session: Some(path.to_path_buf()), ..SessionArg::default() }, err)
    };
    let one = open(&left.session, err)?;
    // Rows of the same session can be compared without reading them.
    let other = if left.session == right.session { None } else { Some(open(&right.session, err)?) };
    let other = other.as_ref().unwrap_or(&one);
    let (left_path, right_path) = (left.path_in(&one)?, right.path_in(other)?);
    let left = Side { session: &one, path: &left_path };
    let right = Side { session: other, path: &right_path };
    let cancel = on_interrupt()?;
    let comparison = Comparison::new(left, right, &cancel)?;
    if args.json {
        write_value(out.data(), &answer::comparison(&comparison, left, right)?)?;
    } else {
        Printer { left, right, is_full: args.full, calls: Calls::default(), out }.print(&comparison, &cancel)?;
    }
    Ok(if comparison.is_equal() { Exit::Done } else { Exit::Nothing })
}

/// One side of the comparison, as given.
struct DiffSide {
    session: PathBuf,
    entry: Option<String>,
}

impl DiffSide {
    /// Returns the path to its entry, or to the leaf.
    fn path_in(&self, session: &SessionManager) -> Result<Vec<Row>, Failure> {
        match &self.entry {
            Some(entry) => Ok(session.path_to(&session.find_entry(entry)?)?),
            None => Ok(session.path()),
        }
    }
}

/// Resolves the two words to sides.
fn parse_sides(env: &CommandEnvironment, left: &str, right: &str) -> Result<(DiffSide, DiffSide), Failure> {
    let of_other =
        |entry: &str, other: &DiffSide| DiffSide { session: other.session.clone(), entry: Some(entry.to_owned()) };
    match (left.strip_prefix(':'), right.strip_prefix(':')) {
        (Some(_), Some(_)) => {
            let message = "neither A nor B names a SESSION; at most one of them can be :ENTRY";
            Err(Failure::misuse(ErrorKind::MissingRequiredArgument, message))
        }
        (Some(entry), None) => {
            let right = parse_side(env, right)?;
            Ok((of_other(entry, &right), right))
        }
        (None, Some(entry)) => {
            let left = parse_side(env, left)?;
            let right = of_other(entry, &left);
            Ok((left, right))
        }
        (None, None) => Ok((parse_side(env, left)?, parse_side(env, right)?)),
    }
}

/// Resolves a word to a side: a session, or a session and an entry after a colon. Of several colons, the last that
/// works counts.
fn parse_side(env: &CommandEnvironment, word: &str) -> Result<DiffSide, Failure> {
    let whole = match env.find_session(Path::new(word)) {
        Ok(session) => return Ok(DiffSide { session, entry: None }),
        Err(failure) => failure,
    };
    let mut first = None;
    for (at, _) in word.rmatch_indices(':').filter(|(at, _)| *at > 0) {
        let (session, entry) = (word.get(..at).unwrap_or_default(), word.get(at + 1..).unwrap_or_default());
        match env.find_session(Path::new(session)) {
            Ok(session) => return Ok(DiffSide { session, entry: Some(entry.to_owned()) }),
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    Err(first.unwrap_or(whole))
}

/// Prints a comparison for people.
struct Printer<'p, 's> {
    left: Side<'p>,
    right: Side<'p>,
    is_full: bool,
    calls: Calls,
    out: &'p mut Screen<'s>,
}

impl Printer<'_, '_> {
    fn print(mut self, comparison: &Comparison, cancel: &Cancel) -> Result<(), Failure> {
        self.heading("---", BAD, self.left)?;
        self.heading("+++", PERSON, self.right)?;
        self.common(comparison.n_common)?;
        let mut n_same = 0;
        for piece in &comparison.pieces {
            if cancel.is_cancelled() {
                return Err(sessile::SessionError::Cancelled.into());
            }
            if matches!(piece, EntryDiff::Same { .. }) {
                n_same += 1;
                continue;
            }
            self.same(std::mem::take(&mut n_same))?;
            match *piece {
                EntryDiff::Left(row) => self.only("-", BAD, self.left, row)?,
                EntryDiff::Right(row) => self.only("+", PERSON, self.right, row)?,
                EntryDiff::Changed { left, right } | EntryDiff::Same { left, right } => self.changed(left, right)?,
            }
        }
        self.same(n_same)?;
        self.total(comparison)
    }

    fn heading(&mut self, sign: &str, style: anstyle::Style, side: Side<'_>) -> Result<(), Failure> {
        let id = side.session.session_id();
        let short: String = id.as_str().chars().take(8).collect();
        let mut line = Line::new().styled(style, sign).text(" ").styled(BOLD, &short);
        if let Some(entry) = side.path.last().and_then(|row| side.session.outline().id(*row)) {
            line = line.styled(BOLD, &format!(":{entry}"));
        }
        if let Some(name) = side.session.session_name()? {
            line = line.text("  ").styled(NAMED, &name);
        }
        line = line.styled(DIM, &format!("  {}", counted(side.path.len(), "entry", "entries")));
        Ok(self.out.print(line)?)
    }

    /// Prints the common beginning.
    fn common(&mut self, n_common: usize) -> Result<(), Failure> {
        let Some(last) = n_common.checked_sub(1) else {
            return Ok(self.out.print(Line::new().styled(ACCENT, "nothing in common"))?);
        };
        let row = self.left.path[last];
        let entry = self.left.session.entry_at(row)?;
        let words = format!("{} in common, up to ", counted(n_common, "entry", "entries"));
        let line = Line::new().styled(ACCENT, &words).join(self.words(self.left, row, &entry));
        Ok(self.out.print(line)?)
    }

    fn same(&mut self, n_same: usize) -> Result<(), Failure> {
        if n_same == 0 {
            return Ok(());
        }
        let words = format!("  {} the same", counted(n_same, "entry is", "entries are"));
        Ok(self.out.print(Line::new().styled(DIM, &words))?)
    }

    /// Describes an entry in a few words.
    fn words(&mut self, side: Side<'_>, row: Row, entry: &Entry) -> Line {
        if let Payload::Message(message) = entry.payload()
            && let Some(Message::Assistant(answer)) = message.message()
        {
            self.calls.note(&answer.content());
        }
        let words = headline(entry, &self.calls);
        let id = side.session.outline().id(row).map(|id| id.to_string()).unwrap_or_default();
        Line::new().styled(DIM, &id).text(" ").styled(style_of(words.tone), &words.lead).text(&words.text)
    }

    fn only(&mut self, sign: &str, style: anstyle::Style, side: Side<'_>, row: Row) -> Result<(), Failure> {
        let entry = side.session.entry_at(row)?;
        let line = Line::new().styled(style, sign).text(" ").join(self.words(side, row, &entry));
        self.out.print(line)?;
        if self.is_full {
            for text in sessile::compare::comparable_text(&entry).lines() {
                self.out.print_whole(&Line::new().text("    ").styled(style, &format!("{sign} {text}")))?;
            }
        }
        Ok(())
    }

    fn changed(&mut self, left: Row, right: Row) -> Result<(), Failure> {
        let (one, other) = (self.left.session.entry_at(left)?, self.right.session.entry_at(right)?);
        let line = Line::new().styled(NAMED, "~").text(" ").join(self.words(self.left, left, &one));
        self.out.print(line)?;
        let change = EntryChange::between(&one, &other);
        for hunk in &change.hunks {
            let range = format!("    @@ -{},{} +{},{} @@", hunk.left.0, hunk.left.1, hunk.right.0, hunk.right.1);
            self.out.print_whole(&Line::new().styled(ACCENT, &range))?;
            for (kind, text) in &hunk.lines {
                let style = match kind {
                    LineChange::Unchanged => DIM,
                    LineChange::Removed => BAD,
                    LineChange::Added => PERSON,
                };
                self.out.print_whole(&Line::new().text("    ").styled(style, &format!("{} {text}", kind.sign())))?;
            }
        }
        if !change.fields.is_empty() {
            let words = format!("    different: {}", change.fields.join(", "));
            self.out.print_whole(&Line::new().styled(DIM, &words))?;
        }
        Ok(())
    }

    fn total(&mut self, comparison: &Comparison) -> Result<(), Failure> {
        let words = if comparison.is_equal() {
            "no differences".to_owned()
        } else {
            let (n_left, n_right, n_changed) = comparison.counts();
            let entries = |number| counted(number, "entry", "entries");
            format!("{} only in A, {} only in B, {n_changed} changed", entries(n_left), entries(n_right))
        };
        Ok(self.out.print_whole(&Line::new().styled(BOLD, &words))?)
    }
}

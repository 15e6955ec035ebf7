//! Who has written the entries of a session, as its store recorded it.
//!
//! The server says who has appended which lines. A small file next to what is remembered about the session keeps the last
//! answer, for times when the server is down. It may be deleted at any time.

use std::path::Path;

use sessile_core::json::{ObjectWriter, Raw};
use sessile_remote::{AuthorRun, Chain, Position, Server};
use sessile_store::os::Os;
use sessile_store::{create_directory, read_whole, swap_in};

use super::fetcher::Fetcher;
use crate::attribution::{Author, Authors};
use crate::error::SessionError;
use crate::known::KnownSession;
use crate::known::lines::{Mark, SessionLines, Start};
use crate::others::safe_name;

/// The maximum length of a file.
const MAX_LENGTH: u64 = 64 << 20;

/// The answer of a server about the log of a session at a position.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    owner: String,
    position: Position,
    runs: Vec<AuthorRun>,
}

impl Fetcher {
    /// Returns who has written the entries of a session; `None` if its store does not know it, or is down.
    pub(super) fn recorded_authors(&self, path: &Path) -> Result<Option<Authors>, SessionError> {
        let owner = self.owner_of(path);
        let Some((id, known)) = self.known(path, owner.as_deref()).filter(|(_, known)| !known.is_scrubbed) else {
            return Ok(None);
        };
        let os = self.sessions.world.os();
        let file = self.directory_of(owner.as_deref()).join("authors").join(safe_name(&id));
        let saved = Recorded::load(os, &file).filter(|recorded| recorded.position == known.position);
        let recorded = if let Some(recorded) = saved {
            recorded
        } else {
            let Some(recorded) = self.ask_authors(owner.as_deref(), &id, known.position)? else { return Ok(None) };
            // Without the file, the server is asked again.
            drop(recorded.save(os, &file));
            recorded
        };
        self.placed(path, &known, recorded)
    }

    fn ask_authors(&self, owner: Option<&str>, id: &str, position: Position) -> Result<Option<Recorded>, SessionError> {
        if self.why_down().is_some() {
            return Ok(None);
        }
        self.on(&self.connection.server, &mut |server| ask(server, owner, id, position))
    }

    /// Finds the lines in the session's file. `None` if the file does not have them.
    fn placed(&self, path: &Path, known: &KnownSession, recorded: Recorded) -> Result<Option<Authors>, SessionError> {
        let Recorded { owner, runs, .. } = recorded;
        let author = |run: AuthorRun| Author { is_owner: run.author == owner, member: run.author, device: run.device };
        let os = self.sessions.world.os();
        if runs.len() < 2 {
            let lines = SessionLines::open(os, path, known.start())?;
            let is_there = known.is_beginning_of(&lines)?;
            let runs = runs.into_iter().map(|run| (known.end, author(run))).collect();
            return Ok(is_there.then_some(Authors { runs }));
        }
        let head_end = self.sessions.end_of_first_line(path)?;
        let start = Start { n_lines: 0, mark: Mark { end: head_end, chain: Chain::EMPTY } };
        let lines = SessionLines::open(os, path, start)?;
        if lines.mark(known.position.n_lines).map(|mark| mark.chain) != Some(known.position.chain) {
            return Ok(None);
        }
        let last = |run: &AuthorRun| (run.first + run.n_lines - 1).min(known.position.n_lines);
        let runs = runs.into_iter().filter_map(|run| Some((lines.mark(last(&run))?.end, author(run)))).collect();
        Ok(Some(Authors { runs }))
    }
}

/// Asks a server about the log of a session. `None` if it does not have the log at this position.
fn ask(
    server: &mut dyn Server,
    owner: Option<&str>,
    id: &str,
    position: Position,
) -> Result<Option<Recorded>, SessionError> {
    let epoch = position.epoch;
    let Some(head) = server.head(owner, id)?.filter(|head| head.position.epoch == epoch) else { return Ok(None) };
    // The lines may be others after a failover.
    let there = server.chains(head.no, epoch, &[position.n_lines])?.first().copied().flatten();
    if there != Some(position.chain) {
        return Ok(None);
    }
    let mut runs = server.authors(head.no, epoch)?;
    runs.retain(|run| run.first <= position.n_lines);
    Ok(Some(Recorded { owner: head.owner, position, runs }))
}

impl Recorded {
    /// Reads a file. Without it, or if it is damaged, nothing is recorded.
    fn load(os: &dyn Os, file: &Path) -> Option<Self> {
        let text = read_whole(os, file, MAX_LENGTH).ok()?;
        let mut lines = text.split(|byte| *byte == b'\n').map(Raw::parse);
        let first = lines.next()?.ok()?;
        let count = |line: Raw<'_>, key| line.get(key).and_then(Raw::as_integer).and_then(|n| u64::try_from(n).ok());
        let position = Position {
            epoch: u32::try_from(count(first, "epoch")?).ok()?,
            n_lines: count(first, "lines")?,
            chain: Chain::from_digits(&first.get("chain")?.as_string()?)?,
        };
        let run = |line: Raw<'_>| {
            let (first, n_lines) = (count(line, "first")?, count(line, "lines").filter(|n_lines| *n_lines > 0)?);
            let device = line.get("device").and_then(Raw::as_string);
            Some(AuthorRun { first, n_lines, author: line.get("author")?.as_string()?, device })
        };
        let runs = lines.filter_map(Result::ok).map(run).collect::<Option<Vec<AuthorRun>>>()?;
        let mut next = 1;
        for run in &runs {
            if run.first != next {
                return None;
            }
            next = run.first.checked_add(run.n_lines)?;
        }
        let is_whole = next > position.n_lines;
        is_whole.then_some(Self { owner: first.get("owner")?.as_string()?, position, runs })
    }

    fn save(&self, os: &dyn Os, file: &Path) -> Result<(), SessionError> {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let mut lines = vec![
            ObjectWriter::new()
                .string("owner", &self.owner)
                .integer("epoch", i64::from(self.position.epoch))
                .integer("lines", count(self.position.n_lines))
                .string("chain", &self.position.chain.to_string())
                .finish(),
        ];
        lines.extend(self.runs.iter().map(|run| {
            let mut line = ObjectWriter::new();
            line.integer("first", count(run.first)).integer("lines", count(run.n_lines)).string("author", &run.author);
            if let Some(device) = &run.device {
                line.string("device", device);
            }
            line.finish()
        }));
        let text: String = lines.iter().flat_map(|line| [line.to_text().into_owned(), "\n".to_owned()]).collect();
        if let Some(directory) = file.parent() {
            create_directory(os, directory, false)?;
        }
        Ok(swap_in(os, file, text.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use sessile_store::os::RealOs;

    use super::*;

    fn author(member: &str) -> Author {
        Author { member: member.to_owned(), device: None, is_owner: member == "ada" }
    }

    #[test]
    fn an_offset_has_the_author_of_its_run() {
        let runs = vec![(100, author("ada")), (200, author("bob")), (300, author("ada"))];
        let authors = Authors { runs };
        for (offset, expected) in [(50, "ada"), (99, "ada"), (100, "bob"), (199, "bob"), (200, "ada"), (299, "ada")] {
            assert_eq!(authors.at(offset), Some(&author(expected)), "{offset}");
        }
        assert_eq!(authors.at(300), None);
        assert_eq!(Authors::default().at(0), None);
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_a_damaged_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("authors/s1");
        let run = |first, n_lines, author: &str, device: Option<&str>| AuthorRun {
            first,
            n_lines,
            author: author.to_owned(),
            device: device.map(str::to_owned),
        };
        let position = Position { epoch: 2, n_lines: 5, chain: Chain::EMPTY.after(b"x") };
        let runs = vec![run(1, 3, "a\u{202e}\"\n", Some("laptop")), run(4, 2, "bob", None)];
        let recorded = Recorded { owner: "ada".to_owned(), position, runs };
        assert_eq!(Recorded::load(&RealOs, &file), None);
        recorded.save(&RealOs, &file).unwrap();
        assert_eq!(Recorded::load(&RealOs, &file), Some(recorded));
        let text = String::from_utf8(read_whole(&RealOs, &file, MAX_LENGTH).unwrap()).unwrap();
        let without_a_run = text.lines().filter(|line| !line.contains("bob")).collect::<Vec<_>>().join("\n");
        let damaged = [
            without_a_run,
            text.replace("\"first\":4", "\"first\":5"),
            text.replace("\"lines\":2", "\"lines\":0"),
            text.replace("\"lines\":5", "\"lines\":6"),
            text.replace("bob\"", "bob"),
            String::new(),
        ];
        for damaged in damaged {
            swap_in(&RealOs, &file, damaged.as_bytes()).unwrap();
            assert_eq!(Recorded::load(&RealOs, &file), None, "{damaged}");
        }
    }
}

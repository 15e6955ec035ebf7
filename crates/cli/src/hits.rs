//! Prints search results for people.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use sessile::EntryId;
use sessile::date::Timestamp;
use sessile::list::SessionInfo;
use sessile::search::SearchHit;

use crate::authors::author_words;
use crate::environment::CommandEnvironment;
use crate::screen::{ACCENT, BOLD, DIM, Line, NAMED, PERSON, Screen};

/// The style of matches.
const MATCH_STYLE: anstyle::Style = ACCENT.bold();

/// Minimum number of characters shown of an id.
const SHORT_ID: usize = 8;

/// Prints each session once, the one with the best hit first, with its hits below it; at most `limit` hits in all.
/// Stores the sessions' list positions.
pub(crate) fn print_hits(
    env: &CommandEnvironment,
    hits: &[SearchHit],
    limit: usize,
    out: &mut Screen<'_>,
) -> io::Result<()> {
    let infos = infos_of(env, hits);
    let by_path: HashMap<&Path, &SessionInfo> = infos.iter().map(|info| (info.path.as_path(), info)).collect();
    let info_of = |path: &Path| by_path.get(path).copied();
    let mut sessions: Vec<(&PathBuf, Vec<(&SearchHit, usize)>)> = Vec::new();
    for (hit, n_copies) in without_copies(hits, &info_of).into_iter().take(limit) {
        match sessions.iter_mut().find(|(path, _)| **path == hit.session_path) {
            Some((_, below)) => below.push((hit, n_copies)),
            None => sessions.push((&hit.session_path, vec![(hit, n_copies)])),
        }
    }
    let paths: Vec<&Path> = sessions.iter().map(|(path, _)| path.as_path()).collect();
    for (index, (path, hits)) in sessions.into_iter().enumerate() {
        if index > 0 {
            out.blank()?;
        }
        // A temporary sample is gone after this command, so its list positions cannot be used later.
        let position = if env.stores_positions() { format!("@{}  ", index + 1) } else { String::new() };
        out.print_whole(&Line::new().styled(ACCENT, &position).join(heading(env, path, info_of(path), &infos)))?;
        for (hit, n_copies) in hits {
            out.print_whole(&head_line(hit, n_copies))?;
            for line in excerpt(hit).wrapped(out.width().saturating_sub(INDENT)) {
                out.print_whole(&line.indented(INDENT))?;
            }
        }
    }
    env.store_positions(paths);
    Ok(())
}

/// The indent of excerpts.
const INDENT: usize = 4;

/// Lists the directories of the sessions found, and the sessions found that are not on this machine. What cannot be listed
/// is left out.
fn infos_of(env: &CommandEnvironment, hits: &[SearchHit]) -> Vec<SessionInfo> {
    let (here, elsewhere): (Vec<&SearchHit>, Vec<&SearchHit>) = hits.iter().partition(|hit| hit.offset.is_some());
    let directories: BTreeSet<&Path> = here.iter().filter_map(|hit| hit.session_path.parent()).collect();
    let list = |dir: &Path| env.sessions.clone().with_session_dir(dir).list_all().unwrap_or_default();
    let elsewhere: BTreeSet<&Path> = elsewhere.iter().map(|hit| hit.session_path.as_path()).collect();
    let rows = elsewhere.into_iter().filter_map(|path| env.sessions.row(path).ok());
    directories.into_iter().flat_map(list).chain(rows).collect()
}

/// Returns what all copies of a hit share; `None` for a hit that cannot have copies.
fn copy_key(hit: &SearchHit) -> Option<(&EntryId, Timestamp, &str)> {
    Some((hit.entry_id.as_ref()?, hit.time?, &hit.excerpt.text))
}

/// Returns the hits without copies of earlier ones.
pub(crate) fn distinct(hits: &[SearchHit]) -> impl Iterator<Item = &SearchHit> {
    let mut first_paths: HashMap<(&EntryId, Timestamp, &str), &Path> = HashMap::new();
    hits.iter().filter(move |hit| {
        let Some(copy_key) = copy_key(hit) else { return true };
        // A repetition within one session is not a copy.
        *first_paths.entry(copy_key).or_insert(&hit.session_path) == hit.session_path
    })
}

/// Returns each hit once, with its number of copies: forks start with copies of their parent's entries, and the hit of
/// the oldest session is kept.
fn without_copies<'h, 'r>(
    hits: &'h [SearchHit],
    info_of: &dyn Fn(&Path) -> Option<&'r SessionInfo>,
) -> Vec<(&'h SearchHit, usize)> {
    let mut kept: Vec<(&SearchHit, usize)> = Vec::new();
    let mut index_of = HashMap::new();
    let created = |hit: &SearchHit| info_of(&hit.session_path).and_then(|info| info.created).unwrap_or(Timestamp::MAX);
    for hit in hits {
        let Some(copy_key) = copy_key(hit) else {
            kept.push((hit, 0));
            continue;
        };
        let index = *index_of.entry(copy_key).or_insert(kept.len());
        match kept.get_mut(index) {
            Some((first, n_copies)) if first.session_path != hit.session_path => {
                *n_copies += 1;
                if created(hit) < created(first) {
                    *first = hit;
                }
            }
            _ => kept.push((hit, 0)),
        }
    }
    kept
}

/// Formats the heading of a session: its short id, its title, and its path.
fn heading(env: &CommandEnvironment, path: &Path, info: Option<&SessionInfo>, infos: &[SessionInfo]) -> Line {
    let short_path = env.short(&path.to_string_lossy());
    let Some(info) = info else { return Line::new().styled(BOLD, &short_path) };
    let title = match &info.name {
        Some(name) => Line::new().styled(NAMED, name.to_str().trim()),
        None => Line::new().styled(BOLD, info.first_message.to_str().trim()),
    };
    let line = Line::new().styled(BOLD, &short_id(info.id.as_str(), infos)).text("  ").join(title.cut(WIDEST_TITLE));
    line.text("  ").styled(DIM, &short_path)
}

/// Maximum width of a title.
const WIDEST_TITLE: usize = 60;

/// Shortens an id to the characters that distinguish it from others.
fn short_id(id: &str, infos: &[SessionInfo]) -> String {
    let shared = |other: &str| id.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let needed =
        infos.iter().filter(|info| info.id != id).map(|info| shared(info.id.as_str()) + 1).max().unwrap_or_default();
    id.chars().take(needed.max(SHORT_ID)).collect()
}

fn head_line(hit: &SearchHit, n_copies: usize) -> Line {
    let id = hit.entry_id.as_ref().map(ToString::to_string).unwrap_or_default();
    let kind = hit.role.word().or(hit.kind.word()).unwrap_or_default();
    let time = hit.time.map(sessile::date::to_iso).unwrap_or_default();
    let line = Line::new().text("  ").styled(NAMED, &id).text("  ").styled(DIM, kind).text("  ").styled(DIM, &time);
    let author = hit.author.as_ref().and_then(author_words);
    let line = author.into_iter().fold(line, |line, author| line.text("  ").styled(PERSON, &author));
    match n_copies {
        0 => line,
        1 => line.styled(DIM, "  also in 1 other file"),
        _ => line.styled(DIM, &format!("  also in {n_copies} other files")),
    }
}

/// Renders the excerpt with the matches highlighted.
fn excerpt(hit: &SearchHit) -> Line {
    let mut line = Line::new();
    let mut at = 0;
    for range in &hit.excerpt.ranges {
        let part = |range: std::ops::Range<usize>| hit.excerpt.text.get(range).unwrap_or_default();
        line = line.text(part(at..range.start)).styled(MATCH_STYLE, part(range.clone()));
        at = range.end;
    }
    line.text(hit.excerpt.text.get(at..).unwrap_or_default())
}

//! What a scrub removes, for people. Never a value.

use std::path::Path;

use sessile::redact::{Level, ScrubbedSecrets, SecretFinding, SecretScrub, Tier};
use sessile_display::measure::counted;

use crate::environment::{CommandEnvironment, warn};
use crate::failure::Failure;
use crate::screen::{BAD, BOLD, DIM, Line, NAMED, PERSON, Screen};

/// The columns at which the number of places and the masked value start.
const PLACES: usize = 34;
const MASKED: usize = 46;

/// The first columns of a date with a time.
const DATE: usize = 10;

/// Prints each session with what goes, the totals, and what stays elsewhere.
pub(super) fn report(env: &CommandEnvironment, scrub: &SecretScrub, out: &mut Screen<'_>) -> Result<(), Failure> {
    for session in scrub.sessions.iter().filter(|session| session.scrubbed.is_needed()) {
        print_session(env, session, out)?;
        out.blank()?;
    }
    if !scrub.sessions.is_empty() || scrub.failed.is_empty() {
        out.print_whole(&total(scrub))?;
    }
    print_remains(env, scrub, out)
}

fn print_session(env: &CommandEnvironment, session: &ScrubbedSecrets, out: &mut Screen<'_>) -> Result<(), Failure> {
    let scrubbed = &session.scrubbed;
    let short = |path: &Path| env.short(&path.to_string_lossy());
    out.print_whole(&Line::new().styled(BOLD, &short(&scrubbed.session.path)))?;
    for (finding, n_places) in by_value(&session.findings) {
        let (style, tier) = match finding.tier {
            Tier::Certain => (BAD, "certain"),
            Tier::Likely => (NAMED, "likely"),
        };
        let id = finding.placeholder.trim_end_matches(']').rsplit(':').next().unwrap_or_default();
        let line = Line::new().text("  ").styled(style, tier).pad(10).text(&finding.rule).pad_after(PLACES, 2);
        let line = line.text(&counted(n_places, "place", "places")).pad_after(MASKED, 2).text(&finding.masked);
        out.print_whole(&line.styled(DIM, &format!("  {id}")))?;
    }
    let report = &session.report;
    let others = [
        (report.names, "name, address or directory", "names, addresses and directories"),
        (report.removed_thoughts, "thought with its signature", "thoughts with their signatures"),
        (report.removed_signatures, "signature", "signatures"),
        (report.replaced_pictures, "picture", "pictures"),
    ];
    for (number, one, many) in others.into_iter().filter(|(number, ..)| *number > 0) {
        out.print_whole(&Line::new().text("  ").text(&counted(number, one, many)))?;
    }
    for copy in &scrubbed.copies {
        let lines = counted(copy.n_changed, "line", "lines");
        let line = Line::new().styled(DIM, "  also in ").text(copy.kind.word());
        out.print_whole(&line.styled(DIM, &format!(": {lines} in {}", short(&copy.path))))?;
    }
    if scrubbed.n_notes > 0 {
        let notes = counted(scrubbed.n_notes, "note", "notes");
        let words = format!("  also in {notes} of the log of operations and the state directory");
        out.print_whole(&Line::new().styled(DIM, &words))?;
    }
    if scrubbed.was_unfinished {
        let words = if scrubbed.dry_run { "is not finished" } else { "was not finished and now is" };
        out.print_whole(&Line::new().styled(DIM, &format!("  an earlier scrub {words}")))?;
    }
    if scrubbed.n_changed > 0 {
        let words = "  caches and the text index forget the session, and read it again when they need it";
        out.print_whole(&Line::new().styled(DIM, words))?;
    }
    Ok(())
}

/// The findings by value, in their order, with the number of places.
fn by_value(findings: &[SecretFinding]) -> Vec<(&SecretFinding, usize)> {
    let mut values: Vec<(&SecretFinding, usize)> = Vec::new();
    let mut seen = std::collections::HashMap::new();
    for finding in findings {
        let index = *seen.entry(&finding.placeholder).or_insert_with(|| {
            values.push((finding, 0));
            values.len() - 1
        });
        values[index].1 += finding.occurrences;
    }
    values
}

fn total(scrub: &SecretScrub) -> Line {
    let sessions = counted(scrub.sessions.len(), "session", "sessions");
    if !scrub.is_needed() {
        return Line::new().styled(PERSON, &format!("nothing to remove from {sessions}; nothing was changed"));
    }
    let secrets = counted(scrub.n_findings(), "secret", "secrets");
    let names: usize = scrub.sessions.iter().map(|session| session.report.names).sum();
    let what = if scrub.level > Level::Secrets {
        format!("{secrets} and {}", counted(names, "name", "names"))
    } else {
        secrets
    };
    let lines: usize = scrub.sessions.iter().map(|session| session.scrubbed.n_changed).sum();
    let copies: usize = scrub.sessions.iter().map(|session| session.scrubbed.copies.len()).sum();
    let place =
        format!("from {sessions} ({}) and {}", counted(lines, "line", "lines"), counted(copies, "copy", "copies"));
    let words = if scrub.dry_run {
        format!("would remove {what} {place}; nothing was changed")
    } else {
        format!("removed {what} {place}; `undo` cannot bring them back")
    };
    Line::new().styled(NAMED, &words)
}

/// Says where the text stays.
fn print_remains(env: &CommandEnvironment, scrub: &SecretScrub, out: &mut Screen<'_>) -> Result<(), Failure> {
    let short = |path: &Path| env.short(&path.to_string_lossy());
    for other in &scrub.sharing {
        let path = short(&other.path);
        let words = other.n_lines.map_or_else(
            || format!("{path} cannot be read; it may have the same entries, and then it keeps the text"),
            |lines| {
                let lines = counted(lines, "line", "lines");
                format!("{path} has the same entries, has the text in {lines}, and keeps it; --forks scrubs it, too")
            },
        );
        warn(out, &words)?;
    }
    for session in &scrub.sessions {
        for path in &session.full_outputs {
            warn(out, &format!("{} holds the whole output of a command, with secrets, and stays", short(path)))?;
        }
        for warning in &session.report.warnings {
            warn(out, &warning.to_string())?;
        }
        if session.scrubbed.n_other_links > 0 {
            let path = short(&session.scrubbed.session.path);
            let links = session.scrubbed.n_other_links;
            warn(out, &format!("{path} has other names (hard links: {links}), and the text stays there"))?;
        }
        if let Some(original) = &session.scrubbed.original {
            warn(out, &format!("{} is the original, with the secrets in it", short(original)))?;
        }
    }
    if scrub.n_findings() > 0 {
        let since = scrub.sessions.iter().filter_map(|session| session.created).min();
        let since = since.map(|time| env.local_time(time).chars().take(DATE).collect::<String>());
        let since = since.map(|date| format!(" since {date}")).unwrap_or_default();
        let words = format!(
            "revoke and rotate the keys: they may have been on disk{since}; exports, backups, git and free blocks of \
             the disk are not scrubbed, and `{} secrets --all` finds other sessions that have them",
            env.program()
        );
        out.print_whole(&Line::new().styled(DIM, &words))?;
    }
    Ok(())
}

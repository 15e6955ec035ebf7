//! A session in which the user went back again and again.

use std::io;

use super::line::Line;
use super::session::Session;
use super::shape;

/// Fills a session with a deep trunk, abandoned branches, and compactions at even distances.
pub(super) fn grow(session: &mut Session<'_>, n_entries: u64, n_branches: u64, n_compactions: u64) -> io::Result<()> {
    // The end has no branches, so that some trunk follows the last of them.
    let between = |part: u64, parts: u64| n_entries * (part + 1) / (parts + 1);
    let (mut branched, mut compacted) = (0, 0);
    while session.written.lines <= n_entries {
        if branched < n_branches && session.written.lines > between(branched, n_branches) {
            branched += 1;
            side_branch(session)?;
        } else if compacted < n_compactions && session.written.lines > between(compacted, n_compactions) {
            compacted += 1;
            session.compact()?;
        }
        session.turn(None, u64::MAX)?;
        if session.random.chance(0.01)
            && let Some(leaf) = session.leaf
        {
            let text = format!("milestone {}", session.pools.vocabulary.word(&mut session.random));
            session.label(leaf, &text)?;
        }
    }
    Ok(())
}

/// Fills a session with messages of a few words. Every thousandth continues from 900 messages before it.
pub(super) fn grow_short(session: &mut Session<'_>, n_entries: u64) -> io::Result<()> {
    const REACH: usize = 900;
    let mut numbers = Vec::new();
    for at in 0..n_entries {
        if at % 1000 == 999 {
            session.leaf = Some(numbers[numbers.len() - REACH]);
            numbers.clear();
        }
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let mut message = Line::default();
        message.json(r#"{"role":"#).string(role).json(r#","content":[{"type":"text","text":"#);
        message.string(&format!("entry {at} of a long session"));
        message.json(r#"}],"timestamp":"#).integer(session.now_ms).json("}");
        numbers.push(session.message(&message)?);
    }
    Ok(())
}

/// Writes a few turns, after which the session continues from where they started.
fn side_branch(session: &mut Session<'_>) -> io::Result<()> {
    let (trunk, recent) = (session.leaf, session.recent.clone());
    for _ in 0..session.random.between(1, 3) {
        session.turn(None, u64::MAX)?;
    }
    let end = session.leaf;
    if let Some(end) = end.filter(|_| session.random.chance(0.2)) {
        let text = format!("gave up on {}", session.pools.vocabulary.word(&mut session.random));
        session.label(end, &text)?;
    }
    session.leaf = trunk;
    session.recent = recent;
    session.wait(20_000.0);
    if let Some(end) = end.filter(|_| session.random.chance(0.6)) {
        let length = shape::SUMMARY.draw_times(&mut session.random, 0.6);
        let mut members = Line::default();
        members.json(r#","fromId":"#).string(&session.id_of(end)).json(r#","summary":"#);
        members.quoted(session.pools.prose.piece(&mut session.random, length));
        session.entry("branch_summary", &members)?;
    }
    Ok(())
}

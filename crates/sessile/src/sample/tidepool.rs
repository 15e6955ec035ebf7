//! The sessions of a project that predicts tides.

use std::path::PathBuf;

use sessile_core::EntryId;
use sessile_core::date::Timestamp;
use sessile_core::draft::{SystemMessage, Tool};
use sessile_core::json::Json;

use super::stage::{Call, Played, Stage, call};
use crate::compose::{BranchSummary, Compaction, UsageNote};

/// The rich session, and the entry from which others start.
pub(super) struct Rich {
    pub(super) file: PathBuf,
    pub(super) cause: EntryId,
}

pub(super) fn tiny(mut stage: Stage) -> Played {
    stage.user(1, "In one sentence: what is the difference between spring tide and neap tide?")?;
    stage.answer(
        4,
        "At spring tide sun and moon pull in one line and the range is greatest; at neap tide they pull at right angles and it is smallest.",
    )
}

/// A bug is found, a first fix fails, a second one works, and the conversation is compacted.
pub(super) fn rich(mut stage: Stage) -> Played<Rich> {
    stage.session.append_message(system_message())?;
    stage.select("anthropic", "claude-sonnet-4-5", "medium")?;
    stage.user(
        8,
        "`tidepool day` prints high water an hour early, but only for dates after the clocks went back. Can you find out why?",
    )?;
    let cause = find_cause(&mut stage)?;
    stage.session.append_label_change(&cause, Some("cause found"))?;
    first_fix(&mut stage)?;
    let summary = BranchSummary {
        summary: "Tried to convert to local time inside `predict`. The harmonic sums then mix two clocks and 3 of 38 \
                  tests fail around the change. Abandoned; nothing was committed."
            .to_owned(),
        details: Json::parse(r#"{"readFiles":["src/harmonics.rs"],"modifiedFiles":["src/predict.rs"]}"#).ok(),
        ..BranchSummary::default()
    };
    stage.session.branch_with_summary(Some(&cause), &summary)?;
    let kept = second_fix(&mut stage)?;
    compact(&mut stage, kept)?;
    stage.session.append_session_info("High water an hour early")?;
    stage.user(40, "Thanks. Which other places would have had the same mistake?")?;
    stage.thoughtful_answer(
        9,
        "Anything that adds whole days to a local time. The almanac and the export do; the plot works on timestamps.",
        "Two: `almanac::week` steps by adding 24 hours to a local time, and `export` names its columns after local midnight. `plot` is fine, it never leaves UTC.",
    )?;
    Ok(Rich { file: stage.file(), cause })
}

fn system_message() -> SystemMessage {
    let mut message = SystemMessage::new(
        "You are a careful assistant in a terminal. Show your work.",
        Timestamp::from_ms(1_762_763_400_000),
    );
    message.sections =
        vec![("project".to_owned(), Some("Run `cargo test` before you say that something works.".to_owned()))];
    let tools =
        [("read", "Read a file"), ("grep", "Search in files"), ("edit", "Change a file"), ("bash", "Run a command")];
    let parameters = Json::parse(r#"{"type":"object"}"#).unwrap_or_else(|_| Json::null());
    let tool = |(name, description): (&str, &str)| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.clone(),
        constrained_sampling: None,
    };
    message.tools_added = tools.into_iter().map(tool).collect();
    message
}

fn find_cause(stage: &mut Stage) -> Played {
    stage.calls(
        6,
        "Let me see how a day is put together.",
        call(
            "read",
            r#"{"path":"src/day.rs","offset":1,"limit":14}"#,
            "pub fn day(station: &Station, date: Date, zone: &Zone) -> Vec<Tide> {\n    let midnight = zone.local(date, 0, 0);\n    let mut tides = Vec::new();\n    for minute in 0..24 * 60 {\n        let time = midnight + Minutes(minute);\n        if let Some(tide) = predict(station, time) {\n            tides.push(tide);\n        }\n    }\n    tides\n}\n",
        ),
    )?;
    stage.calls(
        5,
        "",
        call(
            "grep",
            r#"{"pattern":"fn local","path":"src"}"#,
            "src/zone.rs:31:    pub fn local(&self, date: Date, hour: u8, minute: u8) -> LocalTime {\nsrc/zone.rs:58:    fn local_offset(&self) -> Minutes {\n",
        ),
    )?;
    stage.calls(
        4,
        "",
        call(
            "read",
            r#"{"path":"src/zone.rs","offset":55,"limit":8}"#,
            "    /// The offset of the zone.\n    fn local_offset(&self) -> Minutes {\n        // TODO: look at the date\n        self.summer_offset\n    }\n",
        ),
    )?;
    stage.thoughtful_answer(
        11,
        "local_offset ignores the date: summer time all year round. day() walks local minutes and predict() wants UTC, so after the change every tide is an hour early.",
        "Found it. `Zone::local_offset` returns the summer offset whatever the date is (there is even a TODO), and `day` hands those local minutes to `predict`, which works in UTC. From the last Sunday of October on, everything is 60 minutes early.",
    )
}

/// A fix that fails.
fn first_fix(stage: &mut Stage) -> Played {
    stage.user(70, "Makes sense. Convert inside `predict`, then, so that callers need not care.")?;
    stage.calls(
        8,
        "I will have `predict` take local time.",
        call(
            "edit",
            r#"{"path":"src/predict.rs","oldText":"time: Utc","newText":"time: LocalTime"}"#,
            "Replaced 1 occurrence in src/predict.rs",
        ),
    )?;
    let failure = "running 38 tests\ntest harmonics::sums_are_continuous ... FAILED\ntest predict::change_of_clocks ... FAILED\ntest predict::repeated_hour ... FAILED\n\ntest result: FAILED. 35 passed; 3 failed\n";
    let failing = Call { is_error: true, ..call("bash", r#"{"command":"cargo test --quiet"}"#, failure) };
    stage.calls(5, "", failing)?;
    stage.aborted(7, "The repeated hour now has two times for one minute. I could carry a flag through")
}

/// The fix that works. Returns the first question that the compaction keeps.
fn second_fix(stage: &mut Stage) -> Played {
    let kept = stage.user(95, "Different idea: keep everything in UTC and convert once, when a line is printed.")?;
    stage.calls(
        9,
        "That leaves `predict` alone. Only `day` and the printing change.",
        call(
            "edit",
            r#"{"path":"src/day.rs","oldText":"let midnight = zone.local(date, 0, 0);","newText":"let midnight = zone.utc_midnight(date);"}"#,
            "Replaced 1 occurrence in src/day.rs",
        ),
    )?;
    let tests = stage.calls(
        6,
        "",
        call(
            "bash",
            r#"{"command":"cargo test --quiet 2>&1 | tail -n 60"}"#,
            "running 38 tests\n......................................\ntest result: ok. 38 passed; 0 failed; finished in 2.41s\n\nrunning 6 doc tests\n......\ntest result: ok. 6 passed; 0 failed; finished in 4.02s\n",
        ),
    )?;
    let replacement =
        Json::parse(r#"{"content":"All 38 tests and 6 doc tests pass."}"#).unwrap_or_else(|_| Json::null());
    stage.session.append_context_edit(&tests, &replacement)?;
    stage.answer(6, "All 38 tests pass. `day` starts at UTC midnight of the local date, and `print::clock` is the only place that knows the zone.")?;
    stage.shell(
        30,
        "cargo run -q -- day 2025-11-10 --station brest",
        "02:47  low    1.9 m\n09:04  high   6.3 m\n15:18  low    1.7 m\n21:31  high   5.9 m\n",
    )?;
    stage.session.append_custom_entry("ci.watch", Json::parse(r#"{"run":4127,"state":"passed"}"#).ok().as_ref())?;
    let news = Json::string("CI run 4127 for branch utc-inside passed in 3m 12s.");
    stage.session.append_custom_message_entry("ci.watch", news, true, None)?;
    Ok(kept)
}

fn compact(stage: &mut Stage, kept: EntryId) -> Played {
    let details = r#"{"readFiles":["src/day.rs","src/zone.rs"],"modifiedFiles":["src/day.rs"]}"#;
    stage.session.append_compaction(&Compaction {
        summary: "## Goal\nHigh water must be right after the clocks change.\n\n## Done\n- Cause: `Zone::local_offset` ignores the date.\n- Converting inside `predict` was tried and dropped.\n\n## Next\n- Look for the same mistake elsewhere."
            .to_owned(),
        first_kept_entry_id: Some(kept),
        tokens_before: 41_870.0,
        details: Json::parse(details).ok(),
        ..Compaction::default()
    })?;
    let usage = r#"{"input":12,"output":1,"cacheRead":4870,"cacheWrite":0,"totalTokens":4883,"cost":{"input":0.000036,"output":0.000015,"cacheRead":0.001461,"cacheWrite":0,"total":0.001512}}"#;
    stage.session.append_usage(&UsageNote {
        kind: "cache_warm".to_owned(),
        provider: "anthropic".to_owned(),
        model: "claude-sonnet-4-5".to_owned(),
        usage: Json::parse(usage).unwrap_or_else(|_| Json::null()),
        note: None,
    })
}

/// A separate session that starts where the cause was found.
pub(super) fn export(mut stage: Stage, cause: &EntryId) -> Played {
    stage.session.create_branched_session(cause)?;
    stage.session.append_session_info("CSV export, with a time zone column")?;
    stage.user(20, "While we are here: the CSV export should say which zone its times are in.")?;
    stage.calls(
        7,
        "",
        call(
            "edit",
            r#"{"path":"src/export.rs","oldText":"time,height","newText":"time,zone,height"}"#,
            "Replaced 1 occurrence in src/export.rs",
        ),
    )?;
    stage.answer(5, "The header is `time,zone,height` now, with the zone as an offset such as `+01:00`, so that spreadsheets can sort it.")
}

/// A provider that is overloaded.
pub(super) fn overloaded(mut stage: Stage) -> Played {
    stage.user(1, "Draft a commit message for the change in src/day.rs.")?;
    let question = stage.session.leaf_id();
    stage.failed(21, "overloaded_error: the service is temporarily overloaded")?;
    if let Some(question) = question {
        stage.session.branch(question)?;
    }
    stage.select("openai", "gpt-5.1", "low")?;
    stage.answer(6, "day: start at UTC midnight\n\nLocal minutes were handed to `predict`, which works in UTC. After the clocks change every tide came out an hour early.")
}

/// The last visit: notes for the release, in two versions.
pub(super) fn release(mut stage: Stage) -> Played {
    stage.select("anthropic", "claude-opus-4-5", "high")?;
    let question = stage.user(15, "Write the line for the changelog.")?;
    stage.answer(8, "- Fixed a bug in `day` in which, under certain circumstances relating to daylight saving time, the times of high and low water could be wrong.")?;
    stage.session.branch(&question)?;
    let line = stage.answer(9, "- `tidepool day` no longer prints tides an hour early after the clocks go back.")?;
    stage.session.append_label_change(&line, Some("changelog"))?;
    stage.user(30, "Perfect, that one.")?;
    stage.answer(3, "It is in CHANGELOG.md under 0.7.1.")
}

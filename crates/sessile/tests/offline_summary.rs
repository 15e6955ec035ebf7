//! Compaction without a model, on whole sessions.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

use std::path::Path;

use sessile::SessionManager;
use sessile::compaction::{CompactOptions, Compacted, CompactionReport, CompactionSettings};
use sessile::date::Timestamp;
use sessile::sample::write_sample;
use sessile_summarize::Extractive;

const HEADINGS: [&str; 8] = [
    "## Goal\n",
    "\n\n## Constraints & Preferences\n",
    "\n\n## Progress\n### Done\n",
    "\n### In Progress\n",
    "\n### Blocked\n",
    "\n\n## Key Decisions\n",
    "\n\n## Next Steps\n",
    "\n\n## Critical Context\n",
];

fn compacted(session: &mut SessionManager, keep: u64) -> CompactionReport {
    let settings = CompactionSettings { keep_recent_tokens: keep, ..CompactionSettings::default() };
    let options = CompactOptions { settings, ..CompactOptions::default() };
    match session.compact(options, &Extractive::default(), &mut |_| {}).unwrap() {
        Compacted::Done(report) => *report,
        Compacted::Nothing(reason) => panic!("{reason:?}"),
    }
}

#[track_caller]
fn assert_whole(report: &CompactionReport) {
    let places: Vec<usize> = HEADINGS.iter().map(|heading| report.summary.find(heading).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    let details = report.details.as_ref().unwrap().to_text().into_owned();
    assert!(details.contains(r#""generator":"extractive""#), "{details}");
    assert!(report.summary.len() < 20_000, "{}", report.summary.len());
}

#[test]
fn the_compacted_sample_can_be_continued() {
    let dir = tempfile::tempdir().unwrap();
    let sample = write_sample(dir.path()).unwrap();
    let mut session = sample.sessions().open(&sample.richest).unwrap();
    let report = compacted(&mut session, 1);
    assert_whole(&report);
    println!("{}", report.summary);
    for expected in ["keep everything in UTC", "CI run 4127", "<modified-files>"] {
        assert!(report.summary.contains(expected), "{expected} is not in\n{}", report.summary);
    }
    // The next compaction keeps what the previous one summarised.
    let question = sessile::draft::UserMessage::new(
        "Add a test for Lord Howe Island, which changes by half an hour.",
        Timestamp::from_ms(1),
    );
    session.append_message(question).unwrap();
    let answer = sessile::draft::AssistantMessage::new(
        "acme",
        "acme-1",
        "Added `lord_howe`; all 39 tests pass.",
        Timestamp::from_ms(2),
    );
    session.append_message(answer).unwrap();
    session
        .append_message(sessile::draft::UserMessage::new("Good. What is left to do?", Timestamp::from_ms(3)))
        .unwrap();
    let again = compacted(&mut session, 1);
    assert!(again.summary.contains("Lord Howe Island") && again.summary.contains("UTC"), "{}", again.summary);
}

/// The recorded session is beside the workspace, if it exists at all.
#[test]
fn the_compacted_recording_can_be_continued() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/before-compaction.jsonl");
    if !recorded.exists() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recorded.jsonl");
    std::fs::copy(recorded, &file).unwrap();
    let mut session = SessionManager::open(&file).unwrap();
    let report = compacted(&mut session, 20_000);
    assert_whole(&report);
    println!("{}", report.summary);
    let expected = [
        // From the previous summary, from the conversation, and from the split turn.
        "Refactor `coding-agent` to eliminate code duplication",
        "**E2E tests only**",
        "Refactor selectors: replace show/hide pairs with single showSelector helper",
        "use `queueMessage` instead of `appendMessage`",
        "Working directory: `/",
        "**Turn Context (split turn):**",
        "wait, wtf this doesn't look right to me?",
        "<modified-files>",
    ];
    for expected in expected {
        assert!(report.summary.contains(expected), "{expected} is not in\n{}", report.summary);
    }
    assert!(report.estimated_tokens_after.is_some_and(|tokens| tokens < 30_000), "{:?}", report.estimated_tokens_after);
}

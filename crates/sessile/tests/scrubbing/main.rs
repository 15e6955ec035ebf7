//! Scrubbing: the text is gone from every place, and nothing else is.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod faults;
mod overlap;
mod refusals;
mod secrets;
mod sharing;
mod stage;
mod undo;

use std::path::Path;

use sessile::os::Os;
use sessile::scrub::{ScrubOptions, ScrubbedKind};
use sessile::search::{SearchOptions, Upkeep};
use sessile::text::query::Query;
use sessile_testkit::sim::SnapshotEntry;
use stage::{
    NAME, PLACEHOLDER, SECRET, STATE, Simple, assert_clean, content, find, full_machine, holding, plain_machine, scrub,
    session_path, sessions, write,
};

#[test]
fn every_copy_is_scrubbed_and_nothing_else_changes() {
    let os = full_machine();
    for place in [
        "--proj--/2025",
        ".sessile-guard",
        ".orig-",
        "Trash/files",
        "operations.jsonl",
        "sessile-tmp-",
        "cache/catalogue",
        "cache/text",
    ] {
        let held = holding(&os, SECRET, "\0");
        assert!(held.iter().any(|path| path.to_string_lossy().contains(place)), "{place} is not in {held:?}");
    }
    let before = os.read_file(session_path()).unwrap();
    let n_operations = sessions(&os, 2).operations().unwrap().len();
    let scrubbed = scrub(&os, 2).unwrap();
    assert_clean(&os);
    let expected = String::from_utf8(before.clone()).unwrap().replace(SECRET, PLACEHOLDER);
    assert_eq!(os.read_file(session_path()).unwrap(), expected.clone().into_bytes());
    assert_eq!((scrubbed.n_lines, scrubbed.n_changed), (8, 4));
    assert_eq!((scrubbed.size_before, scrubbed.size_after), (before.len() as u64, expected.len() as u64));
    let kinds: Vec<ScrubbedKind> = scrubbed.copies.iter().map(|copy| copy.kind).collect();
    assert_eq!(
        kinds,
        [
            ScrubbedKind::Guard,
            ScrubbedKind::Original,
            ScrubbedKind::Trash,
            ScrubbedKind::Leftover,
            ScrubbedKind::Leftover
        ]
    );
    // Copies are scrubbed, not removed.
    let scrubbed_content = content().replace(SECRET, PLACEHOLDER);
    for copy in &scrubbed.copies[1..3] {
        assert_eq!(os.read_file(&copy.path).unwrap(), scrubbed_content.clone().into_bytes(), "{}", copy.path.display());
        assert_eq!(os.stat(&copy.path).unwrap().mode & 0o777, 0o600);
    }
    assert_eq!(sessions(&os, 3).operations().unwrap().len(), n_operations + 1);
    assert_eq!(scrubbed.original, None);
    let audit = String::from_utf8(os.read_file(Path::new(STATE).join("scrub.jsonl")).unwrap()).unwrap();
    assert_eq!(os.stat(&Path::new(STATE).join("scrub.jsonl")).unwrap().mode & 0o777, 0o600);
    for part in [r#""level":"secrets""#, r#""sessionId":"s1""#, NAME, scrubbed.sha256.as_deref().unwrap()] {
        assert!(audit.contains(part), "{part} is not in {audit}");
    }
    assert_eq!((audit.lines().count(), scrubbed.sha256.unwrap().len()), (1, 64));
}

#[test]
fn the_removed_text_does_not_come_back_after_power_loss() {
    let os = full_machine();
    scrub(&os, 2).unwrap();
    for seed in 0..20 {
        let rebooted = os.power_loss(seed);
        assert_clean(&rebooted);
        let text = String::from_utf8(rebooted.read_file(session_path()).unwrap()).unwrap();
        assert!(text.contains(PLACEHOLDER));
    }
}

#[test]
fn a_second_scrub_changes_nothing() {
    let os = full_machine();
    let first = scrub(&os, 2).unwrap();
    let guards = |os: &sessile_testkit::sim::SimOs| {
        let is_data = |path: &std::path::PathBuf, entry: &mut SnapshotEntry| {
            // Each scrub is counted, so that programs that read before it save nothing.
            let is_counter = path.ends_with("cache/removals");
            matches!(entry, SnapshotEntry::File(_)) && !is_counter && !path.to_string_lossy().contains(".sessile-")
        };
        let mut snapshot = os.snapshot();
        snapshot.retain(is_data);
        snapshot
    };
    let before = guards(&os);
    let second = scrub(&os, 3).unwrap();
    assert_eq!((second.n_changed, second.operation, second.copies), (0, None, Vec::new()));
    assert_eq!((second.sha256, second.size_before), (first.sha256, first.size_after));
    assert_eq!(guards(&os), before);
}

#[test]
fn a_dry_run_reports_the_same_and_changes_nothing() {
    let os = full_machine();
    let before = os.snapshot();
    let options = ScrubOptions { dry_run: true, keep_original: false };
    let planned = sessions(&os, 2).scrub(session_path(), options, &mut Simple::default()).unwrap();
    assert_eq!(os.snapshot(), before);
    let done = scrub(&os, 3).unwrap();
    assert_eq!(
        (planned.n_changed, planned.size_before, planned.size_after),
        (done.n_changed, done.size_before, done.size_after)
    );
    assert_eq!((planned.copies, planned.n_notes, planned.sha256), (done.copies, done.n_notes, None));
    assert!(planned.n_notes > 0 && !planned.was_unfinished);
}

#[test]
fn other_sessions_stay_in_the_text_index() {
    let os = full_machine();
    scrub(&os, 2).unwrap();
    assert!(!holding(&os, "lighthouse", "--proj--").is_empty(), "the index has the words of the other session");
    let ours = sessions(&os, 3);
    let hits = |word: &str| {
        let options = SearchOptions { upkeep: Upkeep::Always, ..SearchOptions::default() };
        ours.search(&Query::parse(word).unwrap(), &options).unwrap().hits.len()
    };
    assert_eq!((hits("lighthouse"), hits(SECRET)), (1, 0));
    assert!(hits("REDACTED") > 0, "the scrubbed session is indexed again");
    assert_clean(&os);
}

#[test]
fn a_kept_original_is_private_and_stays_until_a_scrub_without_it() {
    let os = plain_machine();
    let keeping = ScrubOptions { keep_original: true, ..ScrubOptions::default() };
    let scrubbed = sessions(&os, 2).scrub(session_path(), keeping, &mut Simple::default()).unwrap();
    let original = scrubbed.original.unwrap();
    assert_eq!(os.read_file(&original).unwrap(), content().into_bytes());
    assert_eq!(os.stat(&original).unwrap().mode & 0o777, 0o600);
    assert_eq!(holding(&os, SECRET, ".orig-"), [""; 0].map(std::path::PathBuf::from));
    let again = sessions(&os, 3).scrub(session_path(), keeping, &mut Simple::default()).unwrap();
    assert_eq!((again.n_changed, again.copies.len()), (0, 0));
    assert_eq!(os.read_file(&original).unwrap(), content().into_bytes());
    let last = scrub(&os, 4).unwrap();
    assert_eq!(last.copies.iter().map(|copy| &copy.path).collect::<Vec<_>>(), [&original]);
    assert_clean(&os);
}

#[test]
fn a_moved_session_is_scrubbed_at_its_former_place_too() {
    let os = plain_machine();
    let ours = sessions(&os, 1);
    ours.list_all().unwrap();
    let moved = ours.move_session(session_path(), "/new", false).unwrap();
    let (path, original) = (moved.sessions[0].to.clone(), moved.sessions[0].original.clone().unwrap());
    assert!(find(&os.read_file(&original).unwrap(), SECRET).is_some());
    ours.scrub(&path, ScrubOptions::default(), &mut Simple::default()).unwrap();
    assert_clean(&os);
    assert!(os.read_file(&original).is_some());
}

#[test]
fn torn_and_marked_lines_are_passed_on() {
    let os = sessile_testkit::sim::SimOs::new();
    let text = format!(
        "\u{feff}{}{}",
        content().replace("/proj", SECRET),
        format_args!("{{\"type\":\"message\",\"text\":\"{SECRET}")
    );
    write(&os, session_path(), &text);
    let mut scrubber = Simple::default();
    sessions(&os, 2).scrub(session_path(), ScrubOptions::default(), &mut scrubber).unwrap();
    assert_eq!(os.read_file(session_path()).unwrap(), text.replace(SECRET, PLACEHOLDER).into_bytes());
    assert_clean(&os);
}

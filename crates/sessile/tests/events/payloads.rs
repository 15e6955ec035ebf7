//! The keys of every event: those of pi (its RPC page, section 5) and our own.

use std::collections::{BTreeMap, BTreeSet};

use sessile::branch::{ForkPosition, NavigateOptions};
use sessile::event::{EventKind, Handlers, SessionEvent};
use sessile::json::Json;
use sessile::operations::Deletion;
use sessile::{NewSession, Sessions};
use sessile_testkit::Replay;
use tempfile::TempDir;

use crate::{EventLog, FixedSummary, compact, file, host, text, user};

/// The keys of each event, in order; those with `?` may be absent.
const KEYS: &[(&str, &str)] = &[
    ("session_start", "type reason previousSessionFile?"),
    ("session_before_switch", "type reason targetSessionFile?"),
    ("session_before_fork", "type entryId position"),
    ("session_fork", "type previousSessionFile? sessionFile? entryId position"),
    ("session_before_tree", "type preparation"),
    ("session_tree", "type newLeafId oldLeafId summaryEntry? fromExtension?"),
    ("session_before_compact", "type preparation branchEntries customInstructions? reason willRetry"),
    ("session_compact", "type compactionEntry fromExtension reason willRetry"),
    ("session_compact_failed", "type reason errorMessage? aborted willRetry fromExtension"),
    ("session_info_changed", "type name?"),
    ("session_shutdown", "type reason targetSessionFile?"),
    ("entry_appended", "type sessionPath? entry own"),
    ("leaf_moved", "type leafId previousLeafId reason"),
    ("divergence", "type leafId foreignLeafId commonAncestorId"),
    ("recovered", "type entryIds reason"),
    ("session_deleted", "type sessionPath trashed"),
    ("file_changed", "type change"),
    ("file_gone", "type"),
    ("written_unlocked", "type pid? host?"),
    ("written_unguarded", "type reason"),
];

const TREE_KEYS: &str = "targetId oldLeafId commonAncestorId entriesToSummarize userWantsSummary customInstructions? \
                         replaceInstructions? label?";

const COMPACT_KEYS: &str = "firstKeptEntryId messagesToSummarize turnPrefixMessages isSplitTurn tokensBefore \
                            previousSummary? fileOps settings";

fn keys(json: sessile::json::Raw<'_>) -> Vec<String> {
    json.members().map(|member| member.key.as_string().unwrap()).collect()
}

/// Records the keys, and fails if they are not the expected ones.
fn check(expected: &str, found: sessile::json::Raw<'_>, seen: &mut BTreeSet<String>, what: &str) {
    let found = keys(found);
    let expected: Vec<&str> = expected.split_whitespace().collect();
    let mut rest = found.iter();
    let mut next = rest.next();
    for key in &expected {
        if next.is_some_and(|next| next == key.trim_end_matches('?')) {
            seen.insert((*key).to_owned());
            next = rest.next();
        } else {
            assert!(key.ends_with('?'), "{what} lacks {key}: {found:?}");
        }
    }
    assert_eq!(next, None, "{what} has more than {expected:?}: {found:?}");
}

/// Triggers every event.
fn everything(dir: &TempDir) -> Vec<Json> {
    let handlers = Handlers::new();
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let first = file(&host);
    host.start();
    host.set_session_name("n").unwrap();
    host.session_mut().append_session_info("").unwrap();
    compact(&mut host, None).unwrap_err();
    compact(&mut host, Some("s")).unwrap();
    host.session_mut().append_message(user("more")).unwrap();
    host.session_mut().append_message(user("and more")).unwrap();
    let settings = sessile::compaction::CompactionSettings { keep_recent_tokens: 1, ..Default::default() };
    let options = sessile::compaction::CompactOptions {
        settings,
        custom_instructions: Some("i".to_owned()),
        ..Default::default()
    };
    options.cancel.cancel();
    host.session_mut().compact(options, &FixedSummary(Some("s")), &mut |_| {}).unwrap_err();
    let questions = host.session().fork_messages().unwrap();
    let options = NavigateOptions {
        custom_instructions: Some("i".to_owned()),
        replace_instructions: true,
        label: Some("l".to_owned()),
        ..NavigateOptions::default()
    };
    host.session_mut().navigate(&questions[0].entry_id, options, Some(&FixedSummary(Some("s"))), &mut |_| {}).unwrap();
    host.session_mut().navigate(&questions[1].entry_id, NavigateOptions::default(), None, &mut |_| {}).unwrap();
    // Another program appends, and destroys entries.
    let others = Sessions::new(Replay::new(1, 99));
    others.open(&first).unwrap().append_message(user("theirs")).unwrap();
    let stale = std::fs::read(&first).unwrap();
    host.session_mut().append_message(user("ours")).unwrap();
    std::fs::write(&first, stale).unwrap();
    host.session_mut().append_message(user("ours again")).unwrap();
    host.fork(&questions[0].entry_id, ForkPosition::At).unwrap();
    host.new_session(NewSession::default()).unwrap();
    host.switch_session(&first).unwrap();
    host.shutdown();
    drop(host);
    crate::sessions(dir.path(), &handlers).delete(&[first], Deletion::Permanent, false).unwrap();
    // In memory there are no file names.
    let sessions = crate::sessions(dir.path(), &handlers);
    let session = sessions.in_memory(dir.path(), NewSession::default()).unwrap();
    let mut host = sessile::SessionHost::new(sessions, session);
    host.start();
    let appended = host.session_mut().append_message(user("hello")).unwrap();
    host.fork(appended, ForkPosition::At).unwrap();
    log.take()
}

#[test]
fn every_event_has_the_documented_keys() {
    let dir = TempDir::new().unwrap();
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let holder = sessile::write::Holder { pid: 1, host: "h".to_owned(), since_ms: 0 };
    // Other tests cause these.
    let by_others = [
        SessionEvent::FileChanged { change: sessile::event::FileChange::Truncated },
        SessionEvent::FileGone,
        SessionEvent::WrittenUnlocked { holder: Some(holder) },
        SessionEvent::WrittenUnguarded { reason: "r".to_owned() },
    ];
    for event in everything(&dir).into_iter().chain(by_others.iter().map(SessionEvent::to_json)) {
        let kind = text(&event, "type");
        let (_, expected) = KEYS.iter().find(|(name, _)| *name == kind).unwrap();
        check(expected, event.raw(), seen.entry(kind.clone()).or_default(), &kind);
        if let Some(preparation) = event.raw().get("preparation") {
            let (expected, place) = if kind == "session_before_tree" {
                (TREE_KEYS, "tree preparation")
            } else {
                (COMPACT_KEYS, "compact preparation")
            };
            check(expected, preparation, seen.entry(place.to_owned()).or_default(), place);
            if let Some(files) = preparation.get("fileOps") {
                assert_eq!(keys(files), ["read", "written", "edited"]);
                assert_eq!(
                    keys(preparation.get("settings").unwrap()),
                    ["enabled", "reserveTokens", "keepRecentTokens"]
                );
            }
        }
    }
    // Every event occurred, and every key was present at least once.
    for (kind, expected) in KEYS.iter().chain(&[("tree preparation", TREE_KEYS), ("compact preparation", COMPACT_KEYS)])
    {
        let keys: BTreeSet<String> = expected.split_whitespace().map(str::to_owned).collect();
        assert_eq!(seen.get(*kind), Some(&keys), "{kind}");
    }
    let kinds: Vec<&str> = EventKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(KEYS.iter().map(|(kind, _)| *kind).collect::<BTreeSet<_>>(), kinds.into_iter().collect());
}

#[test]
fn the_root_position_is_null_and_paths_are_text() {
    let moved =
        SessionEvent::LeafMoved { leaf_id: None, previous_leaf_id: None, reason: sessile::event::LeafMove::Reset };
    assert_eq!(
        moved.to_json().to_text(),
        r#"{"type":"leaf_moved","leafId":null,"previousLeafId":null,"reason":"reset"}"#
    );
    let tree = SessionEvent::Tree {
        new_leaf_id: None,
        old_leaf_id: Some("a".into()),
        summary_entry: None,
        from_extension: None,
    };
    assert_eq!(tree.to_json().to_text(), r#"{"type":"session_tree","newLeafId":null,"oldLeafId":"a"}"#);
}

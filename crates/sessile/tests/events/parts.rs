//! Compaction and navigation in parts, while other callers continue to work in the session.

use sessile::branch::{FinishedNavigation, NavigateOptions, NavigationPlan};
use sessile::compaction::{
    CompactOptions, Compacted, CompactionPlan, CompactionSettings, FinishedCompaction, PlannedCompaction,
};
use sessile::event::Handlers;
use sessile::{NewSession, SessionError, SessionHost};
use tempfile::TempDir;

use crate::{FixedSummary, host, user};

fn plan(host: &mut SessionHost) -> CompactionPlan {
    let settings = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    match host.session_mut().plan_compaction(CompactOptions { settings, ..CompactOptions::default() }).unwrap() {
        PlannedCompaction::Ready(plan) => *plan,
        PlannedCompaction::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

#[test]
fn entries_appended_during_a_summary_are_kept() {
    let dir = TempDir::new().unwrap();
    let mut host = host(dir.path(), &Handlers::new());
    let plan = plan(&mut host);
    let appended = host.session_mut().append_message(user("meanwhile")).unwrap();
    // On another thread, as intended.
    let finished = std::thread::spawn(move || plan.run(&FixedSummary(Some("s")), &mut |_| {})).join().unwrap();
    let Compacted::Done(report) = host.session_mut().write_compaction(finished).unwrap() else { panic!("nothing") };
    let entry = host.session().entry(&report.entry_id).unwrap().unwrap();
    assert_eq!(entry.parent_id(), Some(appended));
    let context = host.session().build_session_context().unwrap();
    assert!(context.messages.last().unwrap().to_text().contains("meanwhile"));
}

#[test]
fn a_compaction_of_an_abandoned_path_is_not_written() {
    let dir = TempDir::new().unwrap();
    let mut host = host(dir.path(), &Handlers::new());
    let first = host.session().fork_messages().unwrap()[0].entry_id.clone();
    let left = plan(&mut host);
    host.session_mut().branch(&first).unwrap();
    let n_entries = host.session().entry_count();
    let finished = left.run(&FixedSummary(Some("s")), &mut |_| {});
    assert!(matches!(host.session_mut().write_compaction(finished), Err(SessionError::LeafMoved { .. })));
    assert_eq!((host.session().leaf_id(), host.session().entry_count()), (Some(first), n_entries));

    host.session_mut().follow_leaf().unwrap();
    let finished = plan(&mut host).run(&FixedSummary(Some("s")), &mut |_| {});
    host.new_session(NewSession::default()).unwrap();
    assert!(matches!(host.session_mut().write_compaction(finished), Err(SessionError::OtherSession { .. })));
    assert_eq!(host.session().entry_count(), 0);
}

#[test]
fn concurrent_compactions_write_once() {
    let dir = TempDir::new().unwrap();
    let mut host = host(dir.path(), &Handlers::new());
    let (one, two) = (plan(&mut host), plan(&mut host));
    let (one, two) = (one.run(&FixedSummary(Some("s")), &mut |_| {}), two.run(&FixedSummary(Some("s")), &mut |_| {}));
    assert!(matches!(host.session_mut().write_compaction(one).unwrap(), Compacted::Done(_)));
    assert!(matches!(host.session_mut().write_compaction(two).unwrap(), Compacted::Nothing(_)));
}

#[test]
fn a_navigation_from_an_old_leaf_is_refused() {
    let dir = TempDir::new().unwrap();
    let mut host = host(dir.path(), &Handlers::new());
    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let summarizer = FixedSummary(Some("s"));
    let plan = host.session().plan_navigation(&question, NavigateOptions::default(), Some(&summarizer));
    let plan = plan.unwrap().unwrap();
    let leaf = host.session_mut().append_message(user("meanwhile")).unwrap();
    let finished = plan.run(Some(&summarizer), &mut |_| {}).unwrap().done().unwrap();
    let refused = host.session_mut().write_navigation(&finished);
    assert!(matches!(refused, Err(SessionError::LeafMoved { .. })), "{refused:?}");
    assert_eq!(host.session().leaf_id(), Some(leaf));
}

#[test]
fn cancelling_stops_before_anything_is_written() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let mut host = host(dir.path(), &handlers);
    let options = CompactOptions {
        settings: CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() },
        ..CompactOptions::default()
    };
    let cancel = options.cancel.clone();
    // The handler sees the cancellation.
    handlers.on(sessile::event::EventKind::SessionBeforeCompact, "waits", move |_, context| {
        cancel.cancel();
        assert!(context.cancel.is_cancelled());
        Ok(None)
    });
    let n_entries = host.session().entry_count();
    assert!(matches!(
        host.session_mut().compact(options, &FixedSummary(Some("s")), &mut |_| {}),
        Err(SessionError::Cancelled)
    ));
    assert_eq!(host.session().entry_count(), n_entries);
    assert!(handlers.take_failures().is_empty());
}

/// A server keeps a host behind a lock, and runs tasks on other threads.
#[test]
fn a_host_and_its_tasks_can_move_to_other_threads() {
    fn goes<T: Send>() {}
    goes::<SessionHost>();
    goes::<CompactionPlan>();
    goes::<FinishedCompaction>();
    goes::<NavigationPlan>();
    goes::<FinishedNavigation>();
    goes::<Handlers>();
}

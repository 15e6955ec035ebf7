//! The replies of handlers, and their effects.

use std::sync::{Arc, Mutex};

use sessile::branch::{BranchSummary, ForkPosition, NavigateOptions};
use sessile::compaction::{Compacted, Generator, SuppliedCompaction};
use sessile::event::{EventKind, EventSet, HandlerFailure, Handlers, Outcome, Reply};
use sessile::json::Raw;
use sessile::{NewSession, SessionError};
use tempfile::TempDir;

use crate::{EventLog, FixedSummary, compact, file, host, text};

/// A handler that records its name and replies.
fn answering(handlers: &Handlers, seen: &Arc<Mutex<Vec<&'static str>>>, name: &'static str, reply: Option<Reply>) {
    let seen = Arc::clone(seen);
    handlers.on(EventSet::ALL, name, move |event, _| {
        if event.kind().is_before() {
            seen.lock().unwrap().push(name);
        }
        Ok(reply.clone().filter(|_| event.kind().is_before()))
    });
}

fn take<T>(seen: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn a_veto_cancels_without_changes() {
    let dir = TempDir::new().unwrap();
    let (handlers, seen) = (Handlers::new(), Arc::default());
    answering(&handlers, &seen, "first", None);
    answering(&handlers, &seen, "no", Some(Reply::cancel()));
    answering(&handlers, &seen, "never asked", Some(Reply { label: Some("x".to_owned()), ..Reply::default() }));
    let mut host = host(dir.path(), &handlers);
    host.start();
    let (before, bytes) = (file(&host), std::fs::read(file(&host)).unwrap());
    let leaf = host.session().leaf_id();
    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let by_no = || "no".to_owned();

    assert_eq!(host.new_session(NewSession::default()).unwrap(), Outcome::Cancelled { by: by_no() });
    assert_eq!(host.switch_session("/nowhere").unwrap(), Outcome::Cancelled { by: by_no() });
    assert_eq!(host.fork("nobody", ForkPosition::At).unwrap(), Outcome::Cancelled { by: by_no() });
    assert_eq!(host.clone_session().unwrap(), Outcome::Cancelled { by: by_no() });
    let navigated = host.session_mut().navigate(&question, NavigateOptions::default(), None, &mut |_| {}).unwrap();
    assert_eq!(navigated, Outcome::Cancelled { by: by_no() });
    assert!(matches!(compact(&mut host, Some("s")), Err(SessionError::Cancelled)));

    assert_eq!(take(&seen), ["first", "no"].repeat(6));
    assert_eq!((file(&host), host.session().leaf_id()), (before.clone(), leaf));
    assert_eq!(std::fs::read(before).unwrap(), bytes);
    assert_eq!(
        std::fs::read_dir(dir.path())
            .unwrap()
            .filter(|it| { it.as_ref().unwrap().file_name().to_string_lossy().ends_with(".jsonl") })
            .count(),
        1
    );
}

#[test]
fn a_vetoed_compaction_is_reported_as_aborted() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::SessionBeforeCompact, "no", |_, _| Ok(Some(Reply::cancel())));
    let log = EventLog::of(&handlers);
    compact(&mut host(dir.path(), &handlers), Some("s")).unwrap_err();
    let events: Vec<String> = log.take().iter().map(|event| event.to_text().into_owned()).collect();
    assert_eq!(
        events,
        [
            r#"{"type":"session_compact_failed","reason":"manual","aborted":true,"willRetry":false,"fromExtension":false}"#
        ]
    );
}

#[test]
fn the_last_reply_wins_as_a_whole() {
    let dir = TempDir::new().unwrap();
    let (handlers, seen) = (Handlers::new(), Arc::default());
    let summary = |text: &str| Some(BranchSummary { summary: text.to_owned(), ..BranchSummary::default() });
    let label = |text: &str| Some(text.to_owned());
    answering(&handlers, &seen, "1", Some(Reply { summary: summary("one"), label: label("one"), ..Reply::default() }));
    answering(&handlers, &seen, "2", Some(Reply { summary: summary("two"), ..Reply::default() }));
    answering(&handlers, &seen, "3", None);
    answering(&handlers, &seen, "4", Some(Reply::default()));
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let options = NavigateOptions { label: Some("mine".to_owned()), ..NavigateOptions::default() };
    let summarizer = FixedSummary(None);
    let navigated =
        host.session_mut().navigate(&question, options, Some(&summarizer), &mut |_| {}).unwrap().done().unwrap();
    assert!(navigated.from_hook);
    assert_eq!(take(&seen), ["1", "2", "3", "4"]);
    let summary_id = navigated.summary_entry_id.unwrap();
    assert_eq!(
        host.session().label(&summary_id).unwrap().as_deref(),
        Some("mine"),
        "the second handler does not set a label"
    );
    let tree = log.take().pop().unwrap();
    let entry = tree.raw().get("summaryEntry").unwrap();
    assert_eq!(entry.get("summary").and_then(Raw::as_string).as_deref(), Some("two"));
    assert_eq!(entry.get("fromHook").and_then(Raw::as_bool), Some(true));
    assert_eq!(text(&tree, "fromExtension"), "true");
}

#[test]
fn a_supplied_summary_is_used_only_on_request_and_a_label_always() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::SessionBeforeTree, "all", |_, _| {
        let summary = Some(BranchSummary { summary: "s".to_owned(), ..BranchSummary::default() });
        Ok(Some(Reply { summary, label: Some("theirs".to_owned()), ..Reply::default() }))
    });
    let mut host = host(dir.path(), &handlers);
    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let options = NavigateOptions { label: Some("mine".to_owned()), ..NavigateOptions::default() };
    let navigated = host.session_mut().navigate(&question, options, None, &mut |_| {}).unwrap().done().unwrap();
    assert_eq!((navigated.summary_entry_id, navigated.from_hook), (None, false));
    assert_eq!(host.session().label(&question).unwrap().as_deref(), Some("theirs"));
}

/// Records what it was asked.
struct RecordingSummarizer(Mutex<Vec<String>>);

impl sessile::compaction::Summarizer for RecordingSummarizer {
    fn generator(&self) -> Generator {
        Generator::Extractive
    }

    fn summarize(
        &self,
        request: &sessile::compaction::SummaryRequest<'_>,
        _progress: &mut dyn FnMut(sessile::compaction::SummaryProgress<'_>),
        _cancel: &sessile::Cancel,
    ) -> Result<sessile::compaction::Summary, sessile::compaction::SummaryFailure> {
        let instructions = request.custom_instructions.unwrap_or("(none)");
        self.0.lock().unwrap().push(format!("{instructions} {}", request.replaces_instructions));
        Ok(sessile::compaction::Summary::new("s"))
    }
}

#[test]
fn instructions_are_changed() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventSet::ALL, "instructs", |event, _| {
        let instructions = Some("look here".to_owned());
        let reply = Reply { custom_instructions: instructions, replace_instructions: Some(true), ..Reply::default() };
        Ok(event.kind().is_before().then_some(reply))
    });
    let mut host = host(dir.path(), &handlers);
    let question = host.session().fork_messages().unwrap()[1].entry_id.clone();
    let summarizer = RecordingSummarizer(Mutex::default());
    let instructions = || Some("mine".to_owned());
    let options = NavigateOptions { custom_instructions: instructions(), ..NavigateOptions::default() };
    host.session_mut().navigate(&question, options, Some(&summarizer), &mut |_| {}).unwrap();
    let settings = sessile::compaction::CompactionSettings { keep_recent_tokens: 1, ..Default::default() };
    let options =
        sessile::compaction::CompactOptions { settings, custom_instructions: instructions(), ..Default::default() };
    host.session_mut().append_message(crate::user("more")).unwrap();
    host.session_mut().compact(options, &summarizer, &mut |_| {}).unwrap();
    // A split turn is summarised separately, without instructions.
    let requests = take(&summarizer.0);
    assert_eq!((requests[0].as_str(), requests[1].as_str()), ("look here true", "look here false"), "{requests:?}");
}

#[test]
fn a_compaction_is_supplied() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::SessionBeforeCompact, "supplies", |_, _| {
        let compaction = SuppliedCompaction { summary: "theirs".to_owned(), ..SuppliedCompaction::default() };
        Ok(Some(Reply { compaction: Some(compaction), ..Reply::default() }))
    });
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let Compacted::Done(report) = compact(&mut host, None).unwrap() else { panic!("nothing") };
    assert_eq!((report.summary.as_str(), report.from_hook), ("theirs", true));
    assert_eq!(report.first_kept_entry_id, report.entry_id, "no entry is kept");
    let compacted = log.take().pop().unwrap();
    assert_eq!(text(&compacted, "fromExtension"), "true");
}

#[test]
fn a_supplied_compaction_with_an_unknown_first_kept_entry_is_refused() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::SessionBeforeCompact, "supplies", |_, _| {
        let first_kept_entry_id = Some("nope".into());
        let compaction = SuppliedCompaction { summary: "s".to_owned(), first_kept_entry_id, ..Default::default() };
        Ok(Some(Reply { compaction: Some(compaction), ..Reply::default() }))
    });
    let log = EventLog::of(&handlers);
    let mut host = host(dir.path(), &handlers);
    let bytes = std::fs::read(file(&host)).unwrap();
    assert!(matches!(compact(&mut host, None), Err(SessionError::EntryNotFound { .. })));
    assert_eq!(std::fs::read(file(&host)).unwrap(), bytes);
    let failed = log.take().pop().unwrap();
    assert_eq!(text(&failed, "errorMessage"), "Compaction failed: entry nope not found");
    assert_eq!(text(&failed, "fromExtension"), "true");
}

#[test]
fn a_failed_or_panicked_handler_is_reported_and_has_no_reply() {
    let dir = TempDir::new().unwrap();
    let (handlers, seen) = (Handlers::new(), Arc::default());
    handlers.on(EventKind::SessionBeforeFork, "fails", |_, _| Err("on purpose".into()));
    handlers.on(EventKind::SessionBeforeFork, "panics", |_, _| panic!("at the disco"));
    answering(&handlers, &seen, "goes on", None);
    let mut host = host(dir.path(), &handlers);
    assert!(matches!(host.clone_session().unwrap(), Outcome::Done(_)));
    assert_eq!(take(&seen), ["goes on"]);
    let failure = |handler: &str, error: &str| HandlerFailure {
        handler: handler.to_owned(),
        event: EventKind::SessionBeforeFork,
        error: error.to_owned(),
    };
    let failures = [failure("fails", "on purpose"), failure("panics", "panicked: at the disco")];
    // A reporter that is registered late receives the earlier failures.
    let reported = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&reported);
    handlers.on_failure(move |failure| theirs.lock().unwrap().push(failure.clone()));
    assert_eq!(take(&reported), failures);
    host.clone_session().unwrap();
    assert_eq!(take(&reported), failures);
    assert!(handlers.take_failures().is_empty());
    assert_eq!(failures[0].to_string(), "fails failed on session_before_fork: on purpose");
}

#[test]
fn unreported_failures_are_limited() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::EntryAppended, "fails", |_, _| Err("on purpose".into()));
    let mut host = host(dir.path(), &handlers);
    crate::turns(host.session_mut(), 100);
    assert_eq!(handlers.take_failures().len(), 100);
}

#[test]
fn handlers_can_be_added_and_removed_during_a_call() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    let (theirs, seen) = (handlers.clone(), Arc::new(Mutex::new(Vec::new())));
    let notes = Arc::clone(&seen);
    let id = Arc::new(Mutex::new(None));
    let own = Arc::clone(&id);
    *id.lock().unwrap() = Some(handlers.on(EventKind::SessionStart, "once", move |_, _| {
        if let Some(id) = own.lock().unwrap().take() {
            theirs.remove(id);
        }
        let notes = Arc::clone(&notes);
        theirs.on(EventKind::SessionShutdown, "late", move |event, context| {
            notes.lock().unwrap().push((event.kind(), context.session_id.clone()));
            Ok(None)
        });
        Ok(None)
    }));
    let mut host = host(dir.path(), &handlers);
    host.start();
    assert!(!handlers.wants(EventKind::SessionStart));
    host.shutdown();
    assert_eq!(take(&seen), [(EventKind::SessionShutdown, host.session().session_id())]);
}

//! Compaction and navigation: what is written, and above all what is not.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sessile::branch::{BranchSummary, NavigateOptions, Navigated};
use sessile::compaction::{
    AutoCompaction, CompactOptions, Compacted, CompactionReport, CompactionSettings, Generator, ModelLimits,
    NothingToCompact, Purpose, Summarizer, SummarizerFn, Summary, SummaryFailure, SummaryRequest, SuppliedCompaction,
    summarizer_fn,
};
use sessile::date::Timestamp;
use sessile::event::{EventKind, EventSet, Handlers, Outcome, Reply, SessionEvent};
use sessile::json::Json;
use sessile::list::ListOptions;
use sessile::{EntryId, SessionError, SessionManager, Sessions, draft};
use sessile_testkit::Replay;
use sessile_testkit::sim::{Errno, SimOs, Tear};
use tempfile::TempDir;

/// A test's implementation of a summarizer.
type Act = dyn Fn(&SummaryRequest<'_>) -> Result<Summary, SummaryFailure>;

/// A summarizer that runs a test's function.
type CallbackSummarizer = SummarizerFn<Box<Act>>;

fn summarizer_calling(
    act: impl Fn(&SummaryRequest<'_>) -> Result<Summary, SummaryFailure> + 'static,
) -> CallbackSummarizer {
    summarizer_fn(Box::new(act) as Box<Act>).generated_by(Generator::Extractive)
}

fn summarizer_returning(text: &'static str) -> CallbackSummarizer {
    summarizer_calling(move |_| Ok(Summary::new(text)))
}

fn sessions() -> Sessions {
    Sessions::new(Replay::new(1_735_689_600_000, 7))
}

/// A session with three turns in a file.
fn three_turns(sessions: &Sessions, dir: &Path) -> (SessionManager, PathBuf) {
    let mut session = sessions.clone().with_session_dir(dir).create("/proj").unwrap();
    for turn in 1..=3 {
        session.append_message(draft::UserMessage::new(format!("question {turn}"), Timestamp::from_ms(turn))).unwrap();
        session
            .append_message(draft::AssistantMessage::new("p", "m", format!("answer {turn}"), Timestamp::from_ms(turn)))
            .unwrap();
    }
    let path = session.session_file().unwrap().to_path_buf();
    (session, path)
}

fn keeping(keep_recent_tokens: u64) -> CompactOptions {
    let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
    CompactOptions { settings, ..CompactOptions::default() }
}

fn done(compacted: Compacted) -> CompactionReport {
    match compacted {
        Compacted::Done(report) => *report,
        Compacted::Nothing(reason) => panic!("{reason:?}"),
    }
}

fn nothing(compacted: Compacted) -> NothingToCompact {
    match compacted {
        Compacted::Done(report) => panic!("{report:?}"),
        Compacted::Nothing(reason) => reason,
    }
}

fn texts(session: &SessionManager) -> Vec<String> {
    let context = session.build_session_context().unwrap();
    context.messages.iter().map(|message| message.to_text().into_owned()).collect()
}

fn failures() -> Vec<CallbackSummarizer> {
    vec![
        summarizer_calling(|_| Err(SummaryFailure::Cancelled)),
        summarizer_calling(|_| Err(SummaryFailure::CutShort)),
        summarizer_calling(|_| Err(SummaryFailure::CalledTool)),
        summarizer_calling(|_| Err(SummaryFailure::Refused { reason: "no".to_owned() })),
        summarizer_calling(|_| Err(SummaryFailure::NotConfigured { what: "no model".to_owned() })),
        summarizer_calling(|_| Err(SummaryFailure::Failed { message: "500".to_owned(), source: None })),
        summarizer_returning(" \n"),
    ]
}

#[test]
fn a_compaction_is_written_and_reported() {
    let dir = TempDir::new().unwrap();
    let (mut session, _) = three_turns(&sessions(), dir.path());
    let asked = std::rc::Rc::new(RefCell::new(Vec::new()));
    let seen = asked.clone();
    let summarizer = summarizer_calling(move |request| {
        seen.borrow_mut().push((request.purpose, request.conversation.text().to_owned()));
        assert_eq!(request.session_model, Some("p/m"));
        assert_eq!(request.custom_instructions, Some("the tides"));
        Ok(Summary::new("What was said."))
    });
    let mut options = keeping(2);
    options.custom_instructions = Some("the tides".to_owned());
    let report = done(session.compact(options, &summarizer, &mut |_| {}).unwrap());
    let expected = "What was said.\n\n---\n\n**Turn Context (split turn):**\n\nWhat was said.";
    assert_eq!(report.summary, expected);
    let asked = asked.borrow();
    assert_eq!(asked[0].0, Purpose::History);
    assert!(asked[0].1.starts_with("[User]: question 1\n\n[Assistant]: answer 1\n\n[User]: question 2"));
    assert_eq!(asked[1], (Purpose::TurnPrefix, "[User]: question 3".to_owned()));
    let details = report.details.as_ref().unwrap().to_text().into_owned();
    assert_eq!(details, r#"{"readFiles":[],"modifiedFiles":[],"generator":"extractive"}"#);
    let shown = texts(&session);
    assert_eq!(shown.len(), 2);
    assert!(shown[1].contains("answer 3"));
    assert_eq!(session.leaf_id(), Some(report.entry_id.clone()));
    let entry = session.entry(&report.entry_id).unwrap().unwrap().into_json().to_text().into_owned();
    assert!(entry.contains(r#""fromHook":false"#), "{entry}");

    let again = session.compact(keeping(2), &summarizer_returning("x"), &mut |_| {}).unwrap();
    assert_eq!(nothing(again), NothingToCompact::AlreadyCompacted);
    session.append_message(draft::UserMessage::new("question 4", Timestamp::from_ms(4))).unwrap();
    assert_eq!(
        nothing(session.compact(keeping(99), &summarizer_returning("x"), &mut |_| {}).unwrap()),
        NothingToCompact::TooSmall
    );
    let update = summarizer_calling(|request| {
        if request.purpose == Purpose::Update {
            assert!(request.previous_summary.unwrap().starts_with("What was said."));
        }
        Ok(Summary::new("More was said."))
    });
    let report = done(session.compact(keeping(1), &update, &mut |_| {}).unwrap());
    assert!(report.summary.starts_with("More was said."), "{}", report.summary);
}

#[test]
fn a_failure_leaves_the_file_byte_for_byte() {
    let dir = TempDir::new().unwrap();
    let (mut session, path) = three_turns(&sessions(), dir.path());
    let before = fs::read(&path).unwrap();
    let leaf = session.leaf_id();
    let first: EntryId = session.outline().id(session.outline().entries().next().unwrap()).unwrap();
    for summarizer in failures() {
        let error = session.compact(keeping(2), &summarizer, &mut |_| {}).unwrap_err();
        assert!(matches!(error, SessionError::Summary { .. } | SessionError::Cancelled), "{error}");
        let options = NavigateOptions { label: Some("l".into()), ..NavigateOptions::default() };
        let error = session.navigate(&first, options, Some(&summarizer), &mut |_| {}).unwrap_err();
        assert!(matches!(error, SessionError::Summary { .. } | SessionError::Cancelled), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(session.leaf_id(), leaf);
    }
    // Cancelled by the caller, and by an extension.
    let options = keeping(2);
    options.cancel.cancel();
    assert!(matches!(
        session.compact(options, &summarizer_returning("x"), &mut |_| {}).unwrap_err(),
        SessionError::Cancelled
    ));
    drop(session);
    let handlers = Handlers::new();
    let cancels = EventSet::from(EventKind::SessionBeforeCompact).union(EventKind::SessionBeforeTree.into());
    handlers.on(cancels, "cancels", |_, _| Ok(Some(Reply::cancel())));
    let mut session = sessions().with_handlers(handlers).open(&path).unwrap();
    let cancelled = session.compact(keeping(2), &summarizer_returning("x"), &mut |_| {}).unwrap_err();
    assert!(matches!(cancelled, SessionError::Cancelled));
    let stayed = session.navigate(&first, NavigateOptions::default(), None, &mut |_| {}).unwrap();
    assert_eq!(stayed, Outcome::Cancelled { by: "cancels".to_owned() });
    let unknown = session.navigate("unknown", NavigateOptions::default(), None, &mut |_| {}).unwrap_err();
    assert!(matches!(unknown, SessionError::EntryNotFound { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(session.leaf_id(), leaf);
}

#[test]
fn an_old_file_is_upgraded_only_once_there_is_a_summary() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("old.jsonl");
    let message = |role: &str, text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let header = r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    let lines =
        [header.to_owned(), message("user", "question"), message("assistant", "answer"), message("user", "more")];
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let before = fs::read(&path).unwrap();
    let mut session = sessions().open(&path).unwrap();
    for summarizer in failures() {
        session.compact(keeping(1), &summarizer, &mut |_| {}).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    let report = done(session.compact(keeping(1), &summarizer_returning("s"), &mut |_| {}).unwrap());
    let last = texts(&session);
    assert_eq!(last.len(), 2);
    assert!(last[1].contains("more"));
    let reopened = sessions().open(&path).unwrap();
    assert_eq!(texts(&reopened), last);
    assert!(reopened.entry(&report.first_kept_entry_id).unwrap().is_some());
}

#[test]
fn entries_of_other_programs_are_kept_after_the_cut() {
    let dir = TempDir::new().unwrap();
    let (mut session, path) = three_turns(&sessions(), dir.path());
    let file = path.clone();
    let summarizer = summarizer_calling(move |request| {
        if request.purpose == Purpose::TurnPrefix {
            let mut other = Sessions::new(Replay::new(1_735_689_700_000, 99)).open(&file).unwrap();
            other.append_message(draft::UserMessage::new("meanwhile", Timestamp::from_ms(9))).unwrap();
        }
        Ok(Summary::new("s"))
    });
    let report = done(session.compact(keeping(2), &summarizer, &mut |_| {}).unwrap());
    let shown = texts(&session);
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown[2].contains("meanwhile"));
    assert_eq!(sessions().open(&path).unwrap().leaf_id(), Some(report.entry_id));
}

#[test]
fn a_compaction_of_another_program_is_not_compacted_again() {
    let dir = TempDir::new().unwrap();
    let (mut session, path) = three_turns(&sessions(), dir.path());
    let leaf = session.leaf_id();
    let file = path.clone();
    let summarizer = summarizer_calling(move |request| {
        if request.purpose == Purpose::TurnPrefix {
            let mut other = Sessions::new(Replay::new(1_735_689_700_000, 99)).open(&file).unwrap();
            done(other.compact(keeping(2), &summarizer_returning("theirs"), &mut |_| {}).unwrap());
        }
        Ok(Summary::new("ours"))
    });
    let compacted = session.compact(keeping(2), &summarizer, &mut |_| {}).unwrap();
    assert_eq!(nothing(compacted), NothingToCompact::AlreadyCompacted);
    assert_eq!(session.leaf_id(), leaf);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!((text.matches("theirs").count() > 0, text.contains("ours")), (true, false));
}

#[test]
fn entries_of_other_programs_on_another_branch_stay_there() {
    let dir = TempDir::new().unwrap();
    let (mut session, path) = three_turns(&sessions(), dir.path());
    let fourth = session.outline().id(session.outline().entries().nth(3).unwrap()).unwrap();
    session.branch(&fourth).unwrap();
    let file = path.clone();
    let summarizer = summarizer_calling(move |_| {
        let mut other = Sessions::new(Replay::new(1_735_689_700_000, 99)).open(&file).unwrap();
        other.append_message(draft::UserMessage::new("meanwhile", Timestamp::from_ms(9))).unwrap();
        Ok(Summary::new("s"))
    });
    done(session.compact(keeping(5), &summarizer, &mut |_| {}).unwrap());
    assert!(texts(&session).iter().all(|text| !text.contains("meanwhile")));
}

#[test]
fn an_extension_may_supply_the_summary_and_keep_nothing() {
    let dir = TempDir::new().unwrap();
    let handlers = Handlers::new();
    handlers.on(EventKind::SessionBeforeCompact, "supplies", |event, _| {
        let SessionEvent::BeforeCompact(before) = event else { panic!("{event:?}") };
        assert_eq!(before.messages_to_summarize.len(), 4);
        let compaction = SuppliedCompaction { summary: "theirs".to_owned(), ..SuppliedCompaction::default() };
        Ok(Some(Reply { compaction: Some(compaction), ..Reply::default() }))
    });
    let (mut session, _) = three_turns(&sessions().with_handlers(handlers), dir.path());
    let unused = summarizer_calling(|_| panic!("the summarizer was called"));
    let report = done(session.compact(keeping(2), &unused, &mut |_| {}).unwrap());
    assert!(report.from_hook);
    assert_eq!(report.first_kept_entry_id, report.entry_id);
    assert_eq!(texts(&session).len(), 1);
    let entry = session.entry(&report.entry_id).unwrap().unwrap().into_json().to_text().into_owned();
    assert!(entry.contains(r#""fromHook":true"#) && !entry.contains("details"), "{entry}");
}

fn moved(
    session: &mut SessionManager,
    target: &EntryId,
    options: NavigateOptions,
    summarizer: Option<&dyn Summarizer>,
) -> Navigated {
    session.navigate(target, options, summarizer, &mut |_| {}).unwrap().done().unwrap()
}

#[test]
fn navigating_takes_back_questions_and_goes_to_answers() {
    let dir = TempDir::new().unwrap();
    let state = TempDir::new().unwrap();
    let sessions = sessions().remembering_leaves(state.path());
    let (mut session, path) = three_turns(&sessions, dir.path());
    let ids: Vec<EntryId> = session.outline().entries().filter_map(|row| session.outline().id(row)).collect();
    let before = fs::read(&path).unwrap();
    let gone = moved(&mut session, &ids[2], NavigateOptions::default(), None);
    assert_eq!((gone.editor_text.as_deref(), gone.new_leaf.as_ref()), (Some("question 2"), Some(&ids[1])));
    let gone = moved(&mut session, &ids[0], NavigateOptions::default(), None);
    assert_eq!((gone.editor_text.as_deref(), gone.new_leaf), (Some("question 1"), None));
    let gone = moved(&mut session, &ids[3], NavigateOptions::default(), None);
    assert_eq!((gone.editor_text, gone.new_leaf.as_ref()), (None, Some(&ids[3])));
    let stayed = moved(&mut session, &ids[3], NavigateOptions::default(), None);
    assert_eq!(stayed.old_leaf, stayed.new_leaf);
    assert_eq!(fs::read(&path).unwrap(), before, "nothing is written without summary and label");
    drop(session);
    let mut session = sessions.open(&path).unwrap();
    assert_eq!(session.leaf_id().as_ref(), Some(&ids[3]), "the leaf position is remembered");

    let summarizer = summarizer_returning("left");
    let options = NavigateOptions { label: Some("back".into()), ..NavigateOptions::default() };
    let gone = moved(&mut session, &ids[0], options, Some(&summarizer));
    let summary = gone.summary_entry_id.unwrap();
    assert_eq!(session.label(&summary).unwrap().as_deref(), Some("back"));
    assert_ne!(gone.new_leaf.as_ref(), Some(&summary), "the label is the leaf");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().rev().take(2).collect();
    assert!(lines[1].contains(r#""parentId":null"#) && lines[1].contains("Summary of that exploration:\\n\\nleft"));

    session.handlers().on(EventKind::SessionBeforeTree, "supplies", |_, _| {
        let summary = Some(BranchSummary { summary: "given".into(), ..BranchSummary::default() });
        Ok(Some(Reply { summary, ..Reply::default() }))
    });
    let gone = moved(&mut session, &ids[5], NavigateOptions::default(), Some(&summarizer));
    assert!(gone.from_hook);
    let entry = session.entry(gone.summary_entry_id.unwrap()).unwrap().unwrap().into_json();
    assert!(entry.to_text().contains(r#""summary":"given","fromHook":true"#), "{entry}");
    let messages: Vec<String> = session.fork_messages().unwrap().into_iter().map(|message| message.text).collect();
    assert_eq!(messages, ["question 1", "question 2", "question 3"]);
}

/// A session on a simulated machine, with all data on disk.
fn machine() -> (SimOs, PathBuf) {
    let os = SimOs::new();
    os.make_directories("/s");
    let (session, path) = three_turns(&sessions().on(Arc::new(os.clone())), Path::new("/s"));
    drop(session);
    os.settle();
    (os, path)
}

fn compact_on(os: &SimOs, seed: u64, path: &Path) -> Result<Compacted, SessionError> {
    let sessions = Sessions::new(Replay::new(1_735_689_800_000, seed)).on(Arc::new(os.clone()));
    sessions.open(path)?.compact(keeping(2), &summarizer_returning("s"), &mut |_| {})
}

#[test]
fn a_crash_at_any_call_compacts_once_or_not_at_all() {
    let (machine, path) = machine();
    let counting = machine.fork();
    counting.clear_calls();
    done(compact_on(&counting, 1, &path).unwrap());
    let n_calls = counting.calls().len() as u64;
    assert!(n_calls > 5, "{n_calls}");
    let n_compactions = |os: &SimOs| {
        let text = String::from_utf8(os.read_file(&path).unwrap()).unwrap();
        text.matches("\"type\":\"compaction\"").count()
    };
    let (mut n_unchanged, mut n_changed) = (0, 0);
    for call in 1..=n_calls {
        for tear in [Tear::Nothing, Tear::Half, Tear::All] {
            let os = machine.fork();
            os.crash_at(call, tear);
            drop(compact_on(&os, 1, &path));
            let next = os.process(2000);
            let compacted = compact_on(&next, 2, &path).unwrap();
            let sessions = Sessions::new(Replay::new(0, 3)).on(Arc::new(next.clone()));
            let session = sessions.open(&path).unwrap();
            let on_path = session.compactions().unwrap().into_iter().filter(|record| record.on_path).count();
            assert_eq!(on_path, 1, "call {call}, {tear:?}: {compacted:?}");
            assert_eq!(texts(&session).len(), 2, "call {call}, {tear:?}");
        }
        let os = machine.fork();
        let before = os.read_file(&path);
        os.fail_call(call, Errno::NOSPC);
        let compacted = compact_on(&os, 1, &path);
        os.heal();
        let is_unchanged = os.read_file(&path) == before;
        n_unchanged += usize::from(compacted.is_err() && is_unchanged);
        n_changed += usize::from(compacted.is_err() && !is_unchanged);
        // A failure after the write did not undo the compaction, so it is found now.
        let again = compact_on(&os, 2, &path).unwrap();
        assert_eq!(matches!(again, Compacted::Done(_)), is_unchanged, "failed call {call}: {compacted:?}");
        assert_eq!(n_compactions(&os), 1, "failed call {call}");
    }
    assert!(n_unchanged > 20 && n_changed <= 1, "{n_unchanged} failures left the file alone, {n_changed} did not");
}

#[test]
fn overflowed_attempts_are_recovered() {
    let dir = TempDir::new().unwrap();
    let (mut session, _) = three_turns(&sessions(), dir.path());
    let limits = ModelLimits { window: 100_000, output: Some(4000) };
    let settings = CompactionSettings::default();
    assert_eq!(session.auto_compaction(&settings, limits, false).unwrap(), AutoCompaction::None);
    let small = ModelLimits { window: 16_390, output: None };
    assert!(matches!(session.auto_compaction(&settings, small, false).unwrap(), AutoCompaction::Threshold { .. }));
    let off = CompactionSettings { enabled: false, ..settings };
    assert_eq!(session.auto_compaction(&off, small, false).unwrap(), AutoCompaction::None);

    let n_shown = texts(&session).len();
    let failed = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"provider":"p","model":"m","stopReason":"error","errorMessage":"prompt is too long: 9 > 8","timestamp":9}"#;
    session.append_message(Json::parse(failed).unwrap()).unwrap();
    let result =
        r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"isError":true,"timestamp":9}"#;
    session.append_message(Json::parse(result).unwrap()).unwrap();
    let overflow = session.auto_compaction(&settings, limits, false).unwrap();
    assert_eq!(overflow, AutoCompaction::Overflow { will_retry: true });
    let edits = session.omit_failed_attempt().unwrap();
    assert_eq!(edits.len(), 2);
    assert_eq!(texts(&session).len(), n_shown);
    let report = done(session.compact(keeping(2), &summarizer_returning("s"), &mut |_| {}).unwrap());
    let usage = session.context_usage(100_000).unwrap();
    assert_eq!((usage.tokens, usage.percent()), (None, None), "no answer since the compaction");
    assert!(report.estimated_tokens_after > Some(0));
}

#[test]
fn families_know_their_shared_entries() {
    let dir = TempDir::new().unwrap();
    let sessions = sessions();
    let (mut session, root) = three_turns(&sessions, dir.path());
    let fourth = session.outline().id(session.outline().entries().nth(3).unwrap()).unwrap();
    let child = session.create_branched_session(&fourth).unwrap().unwrap();
    session.append_message(draft::UserMessage::new("elsewhere", Timestamp::from_ms(9))).unwrap();
    let grandchild = session.create_branched_session(session.leaf_id().unwrap()).unwrap().unwrap();
    let list = || {
        let mut options = ListOptions::default();
        sessions.clone().with_session_dir(dir.path()).list_with("/proj", &mut options).unwrap()
    };
    let listed = list();
    let tree = sessions.family_of(&listed, &child).unwrap();
    let reported: Vec<_> = tree.members.iter().map(|member| (member.relative.depth, member.shared_entries)).collect();
    assert_eq!(reported, [(0, None), (1, Some(4)), (2, Some(5))]);
    assert_eq!(tree.requested, 1);
    drop(session);
    fs::remove_file(&root).unwrap();
    let listed = list();
    let tree = sessions.family_of(&listed, &grandchild).unwrap();
    let reported: Vec<_> = tree.members.iter().map(|member| (member.relative.depth, member.shared_entries)).collect();
    assert_eq!(reported, [(0, None), (1, None), (2, Some(5))]);
    assert_eq!(sessions.family_of(&listed, &root), None);
}

//! What is summarised, and where a path is cut: equal to pi, to the token.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::compaction::{
    self, CompactOptions, Compacted, Compaction, CompactionSettings, NothingToCompact, Preparation, Prepared, Speaker,
    estimate_context, estimate_tokens,
};
use sessile::date::{Timestamp, Utc};
use sessile::json::Json;
use sessile::{SessionManager, draft};
use sessile_testkit::compaction::{CountingSummarizer, Report, run_agents, run_seeds};
use sessile_testkit::{Oracle, quoted, static_call};

/// The number of cases.
const N_CASES: u64 = 2500;

/// The number of threads.
const N_THREADS: usize = 2;

/// The first seed.
const FIRST_SEED: u64 = 6_000_000;

#[test]
fn random_branches_are_prepared_the_same() {
    let report = std::thread::scope(|scope| {
        let worker = |number: u64| {
            let directory = tempfile::tempdir().unwrap();
            let seeds = (FIRST_SEED + number..FIRST_SEED + N_CASES).step_by(N_THREADS);
            run_seeds(seeds, directory.path(), &mut |_| {})
        };
        let workers: Vec<_> = (0..N_THREADS as u64).map(|number| scope.spawn(move || worker(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).fold(Report::default(), |mut all, one| {
            all.add(one);
            all
        })
    });
    if let Some(failure) = &report.failure {
        panic!("{failure}");
    }
    writeln!(std::io::stderr(), "compaction: {report:?}").unwrap();
    assert_eq!(report.cases as u64, N_CASES);
    assert!(report.compactions > report.cases / 2, "too few cases have something to compact: {report:?}");
    assert!(report.splits > report.compactions / 10, "too few turns are split: {report:?}");
    assert!(report.throws < report.answers / 100, "pi refuses too many cases: {report:?}");
}

/// The number of sessions that both compact and navigate.
const N_SESSIONS: u64 = 300;

#[test]
fn both_compact_and_navigate_alike() {
    let directory = tempfile::tempdir().unwrap();
    let report = run_agents(FIRST_SEED..FIRST_SEED + N_SESSIONS, directory.path());
    if let Some(failure) = &report.failure {
        panic!("{failure}");
    }
    writeln!(std::io::stderr(), "compaction by a whole pi: {report:?}").unwrap();
    assert!(report.compactions > 50 && report.summaries > 50 && report.failures > 50, "{report:?}");
}

/// Returns a recorded file beside the workspace, if it exists. It is not part of the workspace.
fn recorded(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(name);
    path.exists().then_some(path)
}

/// Opens a copy of a recorded session.
fn copied(name: &str, directory: &Path) -> Option<SessionManager> {
    let copy = directory.join(name);
    std::fs::copy(recorded(name)?, &copy).unwrap();
    Some(SessionManager::open(&copy).unwrap())
}

fn prepared(session: &SessionManager, keep_recent_tokens: u64) -> Option<Box<Preparation>> {
    let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
    match session.prepare_compaction(&settings).unwrap() {
        Prepared::Ready(preparation) => Some(preparation),
        Prepared::Nothing(_) => None,
    }
}

fn sha(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text.as_bytes());
    let first = u64::from_be_bytes(digest[..8].try_into().unwrap());
    format!("{first:016x}")
}

#[test]
fn the_recorded_figures_equal_pis() {
    let directory = tempfile::tempdir().unwrap();
    let Some(session) = copied("before-compaction.jsonl", directory.path()) else { return };
    let golden = std::fs::read(recorded("compaction-golden.json").unwrap()).unwrap();
    let golden: Value = serde_json::from_slice(&golden).unwrap();
    let golden = &golden["before-compaction"];
    assert_eq!(golden["entries"], session.outline().n_entries());
    let projection = session.build_session_projection().unwrap();
    assert_eq!(golden["projectedEntries"], projection.len());
    let messages: Vec<Json> = projection.into_iter().flat_map(|it| it.messages).collect();
    assert_eq!(golden["projectedMessages"], messages.len());
    let sum: u64 = messages.iter().map(|message| estimate_tokens(message.raw())).sum();
    assert_eq!(golden["sumEstimateAllMessages"], sum);
    let estimate = estimate_context(messages.iter().map(Json::raw));
    for (key, ours) in [
        ("tokens", estimate.tokens),
        ("usageTokens", estimate.usage_tokens),
        ("trailingTokens", estimate.trailing_tokens),
    ] {
        assert_eq!(golden["estimateContextTokens"][key].as_f64(), Some(ours), "{key}");
    }
    assert_eq!(golden["estimateContextTokens"]["lastUsageIndex"], estimate.last_usage_index.unwrap());
    let usage = session.context_usage(200_000).unwrap();
    assert_eq!(golden["estimateProjected"]["tokens"].as_f64(), usage.tokens);
    let should = CompactionSettings::default().should_compact(estimate.tokens, 200_000);
    assert_eq!(golden["shouldCompact200k"], should);
    check_cuts(&session, &golden["cuts"]);
    check_preparations(&session, &golden["prep"]);
    let all: Vec<_> = session.outline().entries().collect();
    for (budget, expected) in golden["branch"].as_object().unwrap() {
        let branch = session.prepare_branch_summary(&all, budget.parse().unwrap()).unwrap();
        let lists = branch.files.lists();
        assert_eq!(expected["messages"], branch.rows.len(), "{budget}");
        assert_eq!(expected["totalTokens"].as_f64(), Some(branch.tokens), "{budget}");
        assert_eq!((&expected["read"], &expected["mod"]), (&lists.read.len().into(), &lists.modified.len().into()));
    }
}

fn check_cuts(session: &SessionManager, golden: &Value) {
    let path = session.path();
    let mut read = |row| session.entry_at(row).map(sessile::entry::Entry::into_json);
    for (keep, expected) in golden.as_object().unwrap() {
        let keep = keep.parse().unwrap();
        let cut = compaction::find_cut_point(session.outline(), &path, 0..path.len(), keep, &Utc, &mut read).unwrap();
        assert_eq!(expected["firstKeptEntryIndex"], cut.first_kept, "{keep}");
        let turn_start = cut.turn_start.map_or(Value::from(-1), Value::from);
        assert_eq!((&expected["turnStartIndex"], &expected["isSplitTurn"]), (&turn_start, &cut.is_split_turn().into()));
    }
}

fn check_preparations(session: &SessionManager, golden: &Value) {
    for (keep, expected) in golden.as_object().unwrap() {
        let prepared = prepared(session, keep.parse().unwrap());
        assert_eq!(expected.is_null(), prepared.is_none(), "{keep}");
        let Some(prepared) = prepared else { continue };
        let lists = prepared.files.lists();
        let (history, prefix) = (&prepared.history.conversation, &prepared.turn_prefix.conversation);
        let previous = prepared.previous_summary.as_ref().unwrap();
        for (key, ours) in [
            ("firstKeptEntryIndex", Value::from(prepared.first_kept.index() - 1)),
            ("messagesToSummarize", prepared.history.n_messages.into()),
            ("turnPrefixMessages", prepared.turn_prefix.n_messages.into()),
            ("isSplitTurn", prepared.is_split_turn.into()),
            ("previousSummaryLen", previous.utf16_len().into()),
            ("read", prepared.files.read.len().into()),
            ("written", prepared.files.written.len().into()),
            ("edited", prepared.files.edited.len().into()),
            ("readFiles", lists.read.len().into()),
            ("modifiedFiles", lists.modified.len().into()),
            ("serializedUtf16Len", history.utf16_len().into()),
            ("serializedSha256", sha(history.text()).into()),
            ("prefixUtf16Len", prefix.utf16_len().into()),
            ("prefixSha", sha(prefix.text()).into()),
            ("fileSectionLen", lists.section().encode_utf16().count().into()),
            ("fileSectionSha", sha(&lists.section()).into()),
        ] {
            assert_eq!(expected[key], ours, "{key} of {keep}");
        }
        assert_eq!(expected["tokensBefore"].as_f64(), Some(prepared.tokens_before));
    }
}

#[test]
fn a_second_compaction_of_the_recorded_session_equals_pis() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut session) = copied("before-compaction.jsonl", directory.path()) else { return };
    let first = prepared(&session, 20_000).unwrap();
    let index = first.first_kept;
    let lists = first.files.lists();
    // The first write gives the entries of this old file their ids.
    session.append_label_change(session.leaf_id().unwrap(), None).unwrap();
    let summary = format!("{}{}", "S".repeat(400), lists.section());
    assert_eq!(summary.encode_utf16().count(), 1527);
    let parent = session.outline().parent(session.outline().leaf().unwrap()).unwrap();
    session.branch(session.outline().id(parent).unwrap()).unwrap();
    session
        .append_compaction(&Compaction {
            summary,
            first_kept_entry_id: session.outline().id(index),
            tokens_before: first.tokens_before,
            details: Some(lists.details(None)),
            ..Compaction::default()
        })
        .unwrap();
    assert!(matches!(
        session.prepare_compaction(&CompactionSettings::default()).unwrap(),
        Prepared::Nothing(NothingToCompact::AlreadyCompacted)
    ));
    let tokens = |session: &SessionManager| -> u64 {
        let messages = session.build_session_context().unwrap().messages;
        messages.iter().map(|message| estimate_tokens(message.raw())).sum()
    };
    assert_eq!(session.build_session_context().unwrap().messages.len(), 56);
    assert_eq!(tokens(&session), 20_187);
    session.append_message(draft::UserMessage::new("u".repeat(40_000), Timestamp::from_ms(1))).unwrap();
    for (keep, first_kept, history, prefix, is_split) in
        [(20_000, 1000, 54, 0, false), (10_000, 1001, 54, 1, true), (1000, 1001, 54, 1, true)]
    {
        let prepared = prepared(&session, keep).unwrap();
        assert_eq!(prepared.tokens_before.to_string(), "30187");
        assert_eq!(prepared.first_kept.index() - 1, first_kept, "{keep}");
        assert_eq!((prepared.history.n_messages, prepared.turn_prefix.n_messages), (history, prefix), "{keep}");
        assert_eq!(prepared.is_split_turn, is_split, "{keep}");
        let lists = prepared.files.lists();
        assert_eq!((lists.read.len(), lists.modified.len()), (2, 12));
    }
}

#[test]
fn the_handmade_session_is_cut_as_pi_cuts_it() {
    let directory = tempfile::tempdir().unwrap();
    let Some(session) = copied("handmade-session.jsonl", directory.path()) else { return };
    let all = ["user", "assistant", "toolResult", "assistant", "user", "assistant", "custom", "bashExecution"];
    let none: &[&str] = &[];
    let table = [
        (1, "00000013", true, &all[..], &["user"][..]),
        (3, "00000013", true, &all, &["user"]),
        (4, "00000011", true, &all[..7], &["bashExecution"]),
        (6, "00000011", true, &all[..7], &["bashExecution"]),
        (7, "00000010", false, &all[..7], none),
        (9, "0000000d", true, &all[..4], &["user", "assistant"]),
        (13, "0000000c", true, &all[..4], &["user"]),
        (15, "0000000b", false, &all[..4], none),
        (19, "00000006", true, none, &["user", "assistant", "toolResult"]),
        (500, "00000006", true, none, &["user", "assistant", "toolResult"]),
    ];
    for (keep, first_kept, is_split, history, prefix) in table {
        let prepared = prepared(&session, keep).unwrap();
        assert_eq!((prepared.first_kept_entry_id.to_string().as_str(), prepared.is_split_turn), (first_kept, is_split));
        let roles = |section| -> Vec<String> {
            let messages = session.messages_of(section).unwrap();
            messages.iter().map(|message| message.raw().get("role").unwrap().as_string().unwrap()).collect()
        };
        assert_eq!(roles(&prepared.history), history, "{keep}");
        assert_eq!(roles(&prepared.turn_prefix), prefix, "{keep}");
        assert_eq!(prepared.tokens_before.to_string(), "925");
    }
    assert!(prepared(&session, 600).is_none());
    let first = prepared(&session, 1).unwrap();
    let speakers: Vec<Speaker> = first.history.conversation.parts().iter().map(|part| part.speaker).collect();
    assert_eq!(speakers.iter().filter(|speaker| **speaker == Speaker::ToolCall).count(), 1);
}

/// Writes a session of some turns with tools to a file.
fn talked(path: &Path) {
    let mut lines =
        vec![r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/p"}"#.to_owned()];
    let messages = [
        r#"{"role":"user","content":"read it — é 日本 😀","timestamp":1}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Yes."},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a.rs"}}],"provider":"mock","model":"mock-1","usage":{"input":9,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":10},"stopReason":"toolUse","timestamp":2}"#,
        r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false,"timestamp":3}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"It is short."}],"provider":"mock","model":"mock-1","usage":{"input":9,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":10},"stopReason":"stop","timestamp":4}"#,
        r#"{"role":"user","content":"and now?","timestamp":5}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"Now it is late."}],"provider":"mock","model":"mock-1","usage":{"input":9,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":10},"stopReason":"stop","timestamp":6}"#,
    ];
    for (index, message) in messages.iter().enumerate() {
        let parent = if index == 0 { "null".to_owned() } else { format!("\"{index:08x}\"") };
        lines.push(format!(
            r#"{{"type":"message","id":"{:08x}","parentId":{parent},"timestamp":"2026-01-02T03:04:05.000Z","message":{message}}}"#,
            index + 1
        ));
    }
    lines.push(r#"{"type":"thinking_level_change","id":"00000010","parentId":"00000006","timestamp":"2026-01-02T03:04:05.000Z","thinkingLevel":"off"}"#.to_owned());
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

/// Returns the context that pi sends to its model for a file.
pub(super) fn seen_by_pi(oracle: &mut Oracle, path: &Path) -> (String, String) {
    let opened = oracle.ask(static_call("open", &[&quoted(path.to_str().unwrap())]));
    assert_eq!(opened.error(), None);
    let seen = oracle.ask(r#"{"cmd":"observe","what":["context","llm"]}"#);
    (seen.observation("context").unwrap().to_owned(), seen.observation("llm").unwrap().to_owned())
}

/// Returns the context that we send to a model for a file.
pub(super) fn seen_by_us(path: &Path) -> (String, String) {
    let session = SessionManager::open(path).unwrap();
    let llm: Vec<String> = session.llm_messages().unwrap().iter().map(|it| it.to_text().into_owned()).collect();
    let context = session.build_session_context().unwrap().to_json();
    (context.to_text().into_owned(), format!("[{}]", llm.join(",")))
}

#[test]
fn each_reads_the_compactions_of_the_other_alike() {
    let directory = tempfile::tempdir().unwrap();
    let mut oracle = Oracle::start(directory.path());
    let (ours, theirs) = (directory.path().join("ours.jsonl"), directory.path().join("theirs.jsonl"));
    talked(&ours);
    talked(&theirs);
    let before = seen_by_us(&ours);
    assert_eq!(seen_by_pi(&mut oracle, &ours), before);

    let mut session = SessionManager::open(&ours).unwrap();
    let settings = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
    let options = CompactOptions { settings, ..CompactOptions::default() };
    let compacted = session.compact(options, &CountingSummarizer::default(), &mut |_| {}).unwrap();
    assert!(matches!(compacted, Compacted::Done(_)));
    let after = seen_by_us(&ours);
    assert_ne!(after, before);
    assert!(after.0.contains("summary 1"));
    assert_eq!(seen_by_pi(&mut oracle, &ours), after);

    let request = format!(
        r#"{{"cmd":"agent","file":{},"dir":{},"keepRecentTokens":4,"steps":[{{"compact":null}}]}}"#,
        quoted(theirs.to_str().unwrap()),
        quoted(directory.path().to_str().unwrap())
    );
    let answer = oracle.ask(request);
    assert_eq!(answer.value()["steps"][0]["throws"], Value::Null, "{:?}", answer.0);
    let after = seen_by_pi(&mut oracle, &theirs);
    assert!(after.0.contains("summary 1"));
    assert_eq!(seen_by_us(&theirs), after);
}

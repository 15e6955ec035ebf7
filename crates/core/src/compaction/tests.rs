//! Results obtained from pi 1.5.0, and small tests of error-prone cases.

use std::convert::Infallible;

use super::*;
use crate::context::{self, Projection};
use crate::date::Utc;
use crate::json::{Json, Raw};
use crate::line::{Line, Span};
use crate::outline::{Outline, Row};
use crate::version::StableIds;

/// Entries in memory, with an outline.
struct List {
    entries: Vec<Json>,
    outline: Outline,
}

impl List {
    /// A chain of entries with these bodies, numbered from 1.
    fn chain(bodies: &[&str]) -> Self {
        let mut list = Self { entries: Vec::new(), outline: Outline::new() };
        for (index, body) in bodies.iter().enumerate() {
            let parent = if index == 0 { "null".to_owned() } else { format!("\"{index}\"") };
            let text = format!(r#"{{"id":"{}","parentId":{parent},{body}}}"#, index + 1);
            let span = Span { offset: index as u64, len: text.len() as u64 };
            list.outline.push(Line { span, bytes: Some(text.as_bytes()), terminated: true }, &mut StableIds);
            list.entries.push(Json::parse(text).unwrap());
        }
        list
    }

    fn reader(&self) -> impl FnMut(Row) -> Result<Json, Infallible> {
        |row| Ok(self.entries[row.index()].clone())
    }

    fn path(&self) -> Vec<Row> {
        self.outline.leaf().map(|leaf| self.outline.path(leaf)).unwrap_or_default()
    }

    fn prepared(&self, keep_recent_tokens: u64) -> Prepared {
        let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
        let Ok(prepared) = prepare(&self.outline, &self.path(), &settings, &Utc, &mut self.reader());
        prepared
    }

    /// The first kept entry, whether a turn is split, and the number of summarised messages in both parts.
    fn cut(&self, keep: u64) -> Option<(String, bool, usize, usize)> {
        match self.prepared(keep) {
            Prepared::Nothing(_) => None,
            Prepared::Ready(it) => Some((
                it.first_kept_entry_id.to_string(),
                it.is_split_turn,
                it.history.n_messages,
                it.turn_prefix.n_messages,
            )),
        }
    }
}

fn tokens(message: &str) -> u64 {
    estimate_tokens(Raw::parse(message.as_bytes()).unwrap())
}

#[test]
fn tokens_are_estimated_as_in_pi() {
    let user = |content: &str| tokens(&format!(r#"{{"role":"user","content":{content}}}"#));
    for (content, expected) in [
        (r#""Hello""#, 2),
        ("[]", 0),
        (r#""abcd""#, 1),
        (r#""abcde""#, 2),
        (r#"[{"type":"image"}]"#, 1200),
        (r#"[{"type":"text","text":"abc"},{"type":"image"}]"#, 1201),
        (r#""😀""#, 1),
        (r#""日本語日本""#, 2),
        ("null", 0),
        ("7", 0),
    ] {
        assert_eq!(user(content), expected, "{content}");
    }
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":{ "path" : "a" }}]}"#;
    assert_eq!(tokens(call), 4);
    let result = r#"{"role":"toolResult","content":[{"type":"text","text":"ok"},{"type":"image"}]}"#;
    assert_eq!(tokens(result), 1201);
    assert_eq!(tokens(r#"{"role":"invented","content":"abcd"}"#), 0);
    assert_eq!(tokens("null"), 0);
}

#[test]
fn reported_sizes_come_from_completed_answers() {
    let stated = |fields: &str| {
        let message = format!(r#"{{"role":"assistant",{fields}}}"#);
        stated_tokens(Raw::parse(message.as_bytes()).unwrap())
    };
    let parts = r#""usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":0}"#;
    assert_eq!(stated(parts), Some(10.0));
    assert_eq!(stated(r#""usage":{"input":1,"totalTokens":99}"#), Some(99.0));
    assert_eq!(stated(r#""usage":{"totalTokens":99},"stopReason":"aborted""#), None);
    assert_eq!(stated(r#""usage":{"totalTokens":99},"stopReason":"error""#), None);
    assert_eq!(stated(r#""usage":{"totalTokens":0}"#), None);
    assert_eq!(stated(r#""usage":null"#), None);
    assert_eq!(stated_tokens(Raw::parse(br#"{"role":"user","usage":{"totalTokens":9}}"#).unwrap()), None);
}

const HELLO: &str = r#""type":"message","message":{"role":"user","content":"Hello"}"#;
const ANSWER: &str =
    r#""type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Hi, there"}]}"#;
const RESULT: &str =
    r#""type":"message","message":{"role":"toolResult","content":[{"type":"text","text":"a result"}]}"#;
const NAME: &str = r#""type":"session_info","name":"n""#;

#[test]
fn cuts_keep_the_budgeted_tokens() {
    // A question takes 2 tokens, an answer 3, and a result 2.
    let list = List::chain(&[HELLO, ANSWER, RESULT, ANSWER, HELLO, ANSWER]);
    let cut = |first: &str, is_split, history, prefix| Some((first.to_owned(), is_split, history, prefix));
    assert_eq!(list.cut(0), cut("6", true, 4, 1));
    assert_eq!(list.cut(3), cut("6", true, 4, 1));
    assert_eq!(list.cut(4), cut("5", false, 4, 0));
    assert_eq!(list.cut(6), cut("4", true, 0, 3));
    // The budget ends at a result, which stays with its call.
    assert_eq!(list.cut(9), cut("4", true, 0, 3));
    assert_eq!(list.cut(11), cut("2", true, 0, 1));
    assert_eq!(list.cut(14), None);
    assert_eq!(list.cut(99), None);
}

#[test]
fn a_cut_before_an_entry_without_messages_counts_as_a_split() {
    let list = List::chain(&[HELLO, ANSWER, NAME, HELLO, ANSWER]);
    // As in pi, the cut is at the name, which is not the start of a turn.
    assert_eq!(list.cut(5), Some(("3".to_owned(), true, 0, 2)));
}

#[test]
fn nothing_to_compact_is_reported_with_a_reason() {
    let compaction = r#""type":"compaction","summary":"s","firstKeptEntryId":"1","tokensBefore":9"#;
    let nothing = |bodies: &[&str]| match List::chain(bodies).prepared(0) {
        Prepared::Nothing(reason) => Some(reason),
        Prepared::Ready(_) => None,
    };
    assert_eq!(nothing(&[HELLO, compaction]), Some(NothingToCompact::AlreadyCompacted));
    assert_eq!(nothing(&[HELLO]), Some(NothingToCompact::TooSmall));
    assert_eq!(nothing(&[]), Some(NothingToCompact::TooSmall));
    assert_eq!(nothing(&[NAME, NAME]), Some(NothingToCompact::TooSmall));
    assert_eq!(nothing(&[HELLO, ANSWER]), None);
}

#[test]
fn the_previous_compaction_is_carried_over() {
    let compaction = r#""type":"compaction","summary":"before","firstKeptEntryId":"2","tokensBefore":9,"details":{"readFiles":["r"],"modifiedFiles":["m"]}"#;
    let list = List::chain(&[HELLO, HELLO, ANSWER, compaction, HELLO, ANSWER]);
    let Prepared::Ready(prepared) = list.prepared(0) else { panic!() };
    assert_eq!(prepared.previous_summary.as_ref().map(|it| it.to_str().into_owned()).as_deref(), Some("before"));
    // Entries kept by the previous compaction are now summarised.
    assert_eq!((prepared.history.n_messages, prepared.turn_prefix.n_messages), (2, 1));
    assert_eq!((prepared.files.read.len(), prepared.files.edited.len()), (1, 1));
    let by_hook = compaction.replace(r#""details""#, r#""fromHook":true,"details""#);
    let list = List::chain(&[HELLO, HELLO, ANSWER, &by_hook, HELLO, ANSWER]);
    let Prepared::Ready(prepared) = list.prepared(0) else { panic!() };
    assert!(prepared.files.lists().is_empty());
}

#[test]
fn an_omitted_failed_attempt_does_not_block_the_cut() {
    let omitted = |target: u32| format!(r#""type":"context_edit","targetId":"{target}","replacement":null"#);
    let (fourth, fifth) = (omitted(4), omitted(5));
    let list = List::chain(&[HELLO, ANSWER, HELLO, ANSWER, RESULT, &fourth, &fifth]);
    // Only removed entries follow the question, so the question is summarised too.
    assert_eq!(list.cut(1), Some(("4".to_owned(), true, 2, 1)));
    let list = List::chain(&[HELLO, ANSWER, HELLO, ANSWER, RESULT, &fourth]);
    assert_eq!(list.cut(1), Some(("3".to_owned(), false, 2, 0)));
}

#[test]
fn sizes_reported_before_a_context_change_are_ignored() {
    let stated = r#""type":"message","message":{"role":"assistant","content":[],"usage":{"totalTokens":900}}"#;
    let edit = r#""type":"context_edit","targetId":"1","replacement":{"content":"Hello, hello"}"#;
    let size = |bodies: &[&str]| {
        let list = List::chain(bodies);
        let path = list.path();
        let Ok(rows) = context::select(&list.outline, &path, &mut list.reader());
        let Ok(projection) = Projection::new(&list.outline, &rows, &Utc, &mut list.reader());
        let Ok(estimate) = estimate_projected(&list.outline, &path, &projection, &mut list.reader());
        (estimate.tokens.to_string(), estimate.usage_row.is_some())
    };
    assert_eq!(size(&[HELLO, stated, HELLO]), ("902".to_owned(), true));
    assert_eq!(size(&[HELLO, stated, edit, HELLO]), ("5".to_owned(), false));
    assert_eq!(size(&[HELLO, edit, stated, HELLO]), ("902".to_owned(), true));
}

#[test]
fn branches_are_collected_up_to_the_common_ancestor() {
    let list = List::chain(&[HELLO, ANSWER, HELLO, ANSWER]);
    let row = |id: &str| list.outline.find(&id.into()).unwrap();
    let left = collect_abandoned(&list.outline, Some(row("4")), row("2"));
    assert_eq!((left.rows, left.common_ancestor), (vec![row("3"), row("4")], Some(row("2"))));
    assert_eq!(collect_abandoned(&list.outline, None, row("2")), AbandonedEntries::default());
    assert!(collect_abandoned(&list.outline, Some(row("2")), row("4")).rows.is_empty());
}

#[test]
fn branches_are_cut_to_their_budget_except_for_summaries() {
    let summary = r#""type":"branch_summary","fromId":"root","summary":"twelve chars"#;
    let summary = format!("{summary}\"");
    let list = List::chain(&[HELLO, &summary, RESULT, ANSWER]);
    let taken = |budget| {
        let Ok(branch) = prepare_branch(&list.outline, &list.path(), budget, &Utc, &mut list.reader());
        (branch.rows.len(), branch.tokens.to_string())
    };
    assert_eq!(taken(0), (3, "8".to_owned()));
    assert_eq!(taken(2), (0, "0".to_owned()));
    assert_eq!(taken(3), (1, "3".to_owned()));
    // There is still room, so the summary is included although it is too large.
    assert_eq!(taken(4), (2, "6".to_owned()));
    assert_eq!(taken(7), (2, "6".to_owned()));
}

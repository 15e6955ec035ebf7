//! Our answers in the oracle's format.

use std::convert::Infallible;

use sessile::compaction::{self, CompactionSettings, FileOperations, Preparation, Prepared};
use sessile::context::{self, Projection};
use sessile::date::Utc;
use sessile::format::line::{Line, Span};
use sessile::format::outline::{Outline, Row};
use sessile::format::version::StableIds;
use sessile::json::{JsText, Json, ObjectWriter, Raw, number_text, print, write_text};

use super::generate::Case;

/// The entries of a case with an outline over them.
struct List {
    entries: Vec<Json>,
    outline: Outline,
}

impl List {
    fn new(case: &Case) -> Self {
        let mut list = Self { entries: Vec::new(), outline: Outline::new() };
        for entry in &case.entries {
            let bytes = entry.text.as_bytes();
            let span = Span { offset: list.entries.len() as u64, len: bytes.len() as u64 };
            list.outline.push(Line { span, bytes: Some(bytes), terminated: true }, &mut StableIds);
            list.entries.push(Json::parse(bytes).expect("entries are JSON"));
        }
        list
    }

    fn reader(&self) -> impl FnMut(Row) -> Result<Json, Infallible> {
        |row| Ok(self.entries[row.index()].clone())
    }

    fn id_text(&self, row: Option<Row>) -> String {
        let id = row.and_then(|row| self.outline.id(row));
        id.map_or_else(|| "null".to_owned(), |id| id.to_json().to_text().into_owned())
    }
}

/// Returns every answer about a case with its name.
pub(super) fn answers(case: &Case) -> Vec<(String, String)> {
    let list = List::new(case);
    let outline = &list.outline;
    let row = |id: &str| outline.find(&id.into()).expect("the case refers to its own entries");
    let (leaf, target) = (row(&case.leaf), row(&case.target));
    let path = outline.path(leaf);
    let Ok(rows) = context::select(outline, &path, &mut list.reader());
    let Ok(projection) = Projection::new(outline, &rows, &Utc, &mut list.reader());
    let Ok(projected) = context::project(outline, &rows, &Utc, &mut list.reader());
    let messages: Vec<Json> = projected.into_iter().flat_map(|it| it.messages).collect();
    let mut answers: Vec<(String, String)> = Vec::new();
    let mut answer = |name: String, text: String| answers.push((name, text));

    let tokens = messages.iter().map(|message| compaction::estimate_tokens(message.raw()).to_string());
    answer("tokens".into(), format!("[{}]", tokens.collect::<Vec<_>>().join(",")));
    let context = compaction::estimate_context(messages.iter().map(Json::raw));
    let index = context.last_usage_index;
    answer("context".into(), estimate_text([context.tokens, context.usage_tokens, context.trailing_tokens], index));
    let Ok(estimate) = compaction::estimate_projected(outline, &path, &projection, &mut list.reader());
    // If the answer counts, its index among all messages is the one from the simpler estimate.
    let index = estimate.usage_row.and(index);
    answer(
        "projected".into(),
        estimate_text([estimate.tokens, estimate.usage_tokens, estimate.trailing_tokens], index),
    );
    answer("should".into(), CompactionSettings::default().should_compact(context.tokens, case.window).to_string());

    let left = compaction::collect_abandoned(outline, Some(leaf), target);
    let ids: Vec<String> = left.rows.iter().map(|row| list.id_text(Some(*row))).collect();
    answer("left".into(), format!("[[{}],{}]", ids.join(","), list.id_text(left.common_ancestor)));

    for keep in &case.keeps {
        let n_rows = path.len();
        let Ok(cut) = compaction::find_cut_point(outline, &path, 0..n_rows, *keep, &Utc, &mut list.reader());
        let turn_start = cut.turn_start.map_or_else(|| "-1".to_owned(), |index| index.to_string());
        answer(
            format!("cut {keep}"),
            format!(
                r#"{{"firstKeptEntryIndex":{},"turnStartIndex":{turn_start},"isSplitTurn":{}}}"#,
                cut.first_kept,
                cut.is_split_turn()
            ),
        );
        let settings = CompactionSettings { keep_recent_tokens: *keep, ..CompactionSettings::default() };
        let Ok(prepared) = compaction::prepare(outline, &path, &settings, &Utc, &mut list.reader());
        let text = match &prepared {
            Prepared::Nothing(_) => "null".to_owned(),
            Prepared::Ready(preparation) => preparation_text(&list, &path, preparation),
        };
        answer(format!("prepare {keep}"), text);
    }
    for budget in &case.budgets {
        let Ok(branch) = compaction::prepare_branch(outline, &left.rows, *budget, &Utc, &mut list.reader());
        let Ok(messages) = compaction::branch_messages(outline, &left.rows, &branch, &Utc, &mut list.reader());
        let mut text = ObjectWriter::new();
        let printed: Vec<Json> = messages.iter().map(|message| print(message.raw())).collect();
        text.array("messages", printed.iter().map(Json::raw));
        text.text("text", compaction::serialize(messages.iter().map(Json::raw)).text()).number("tokens", branch.tokens);
        assert_eq!(branch.conversation.text(), answer_text(&messages).to_str());
        write_files(&mut text, &branch.files);
        answer(format!("branch {budget}"), text.finish().to_text().into_owned());
    }
    answers
}

fn estimate_text(tokens: [f64; 3], index: Option<usize>) -> String {
    let [tokens, usage, trailing] = tokens.map(number_text);
    let index = index.map_or_else(|| "null".to_owned(), |index| index.to_string());
    format!(r#"{{"tokens":{tokens},"usageTokens":{usage},"trailingTokens":{trailing},"lastUsageIndex":{index}}}"#)
}

fn answer_text(messages: &[Json]) -> JsText<'static> {
    compaction::serialize(messages.iter().map(Json::raw)).text().clone()
}

fn preparation_text(list: &List, path: &[Row], preparation: &Preparation) -> String {
    let messages = |section| {
        let Ok(messages) = compaction::section_messages(&list.outline, path, section, &Utc, &mut list.reader());
        messages
    };
    let (history, prefix) = (messages(&preparation.history), messages(&preparation.turn_prefix));
    assert_eq!((history.len(), prefix.len()), (preparation.history.n_messages, preparation.turn_prefix.n_messages));
    assert_eq!(preparation.history.conversation.text(), answer_text(&history).to_str());
    assert_eq!(preparation.turn_prefix.conversation.text(), answer_text(&prefix).to_str());
    let mut text = ObjectWriter::new();
    text.text("firstKeptEntryId", preparation.first_kept_entry_id.as_text())
        .bool("isSplitTurn", preparation.is_split_turn)
        .number("tokensBefore", preparation.tokens_before);
    if let Some(previous) = &preparation.previous_summary {
        text.text("previousSummary", previous);
    }
    let printed = |messages: &[Json]| -> Vec<Json> { messages.iter().map(|message| print(message.raw())).collect() };
    text.array("history", printed(&history).iter().map(Json::raw))
        .array("turnPrefix", printed(&prefix).iter().map(Json::raw))
        .text("historyText", answer_text(&history))
        .text("turnPrefixText", answer_text(&prefix));
    write_files(&mut text, &preparation.files);
    text.finish().to_text().into_owned()
}

fn write_files(text: &mut ObjectWriter, files: &FileOperations) {
    let lists = files.lists();
    let sorted = |set: &std::collections::BTreeSet<JsText<'static>>| {
        let mut names: Vec<_> = set.iter().cloned().collect();
        names.sort_by(|one, other| one.utf16().cmp(other.utf16()));
        strings(&names)
    };
    let sets = [sorted(&files.read), sorted(&files.written), sorted(&files.edited)];
    text.array("files", sets.iter().map(Json::raw))
        .raw("readFiles", strings(&lists.read).raw())
        .raw("modifiedFiles", strings(&lists.modified).raw())
        .string("section", &lists.section());
}

fn strings(names: &[JsText<'_>]) -> Json {
    let mut text = vec![b'['];
    for (n_before, name) in names.iter().enumerate() {
        if n_before > 0 {
            text.push(b',');
        }
        write_text(name, &mut text);
    }
    text.push(b']');
    Raw::parse(&text).expect("strings are JSON").to_json()
}

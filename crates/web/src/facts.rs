//! What entries cost and which files they change, for a comparison of branches.

use sessile::entry::{Entry, Payload};
use sessile::message::{Cost, Message, TokenUsage, ToolCall};
use sessile_display::text::start;

use crate::pack::{push_number, push_signed};

/// The characters of a path that are kept.
const MAX_PATH: usize = 300;

/// The facts about some entries as bytes.
///
/// For each entry that has any: the distance of its row from the previous one, its tokens (input, output, read from the
/// cache), its cost in millionths of a dollar, and the number of files that it changes, each with its length and its
/// bytes.
#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) bytes: Vec<u8>,
    previous: i64,
}

impl Facts {
    pub(crate) fn push(&mut self, row: usize, entry: &Entry) {
        let usage = usage(entry);
        let tokens = usage.map(|usage| [usage.input(), usage.output(), usage.cache_read()]);
        let counts = tokens.unwrap_or_default().map(|tokens| tokens.map_or(0, whole));
        let cost = usage.and_then(TokenUsage::cost).and_then(Cost::total).map_or(0, |cost| whole(cost * 1e6));
        let files = changed_files(entry);
        if counts == [0; 3] && cost == 0 && files.is_empty() {
            return;
        }
        let row = i64::try_from(row).unwrap_or(i64::MAX);
        push_signed(&mut self.bytes, row - self.previous);
        self.previous = row;
        for number in counts.into_iter().chain([cost, files.len() as u64]) {
            push_number(&mut self.bytes, number);
        }
        for file in files {
            push_number(&mut self.bytes, file.len() as u64);
            self.bytes.extend_from_slice(file.as_bytes());
        }
    }
}

fn usage(entry: &Entry) -> Option<TokenUsage<'_>> {
    match entry.payload() {
        Payload::Message(message) => message.message()?.usage(),
        Payload::Compaction(compaction) => compaction.usage(),
        Payload::BranchSummary(summary) => summary.usage(),
        Payload::Usage(usage) => usage.usage(),
        _ => None,
    }
}

/// The files that the calls of an answer write or edit.
fn changed_files(entry: &Entry) -> Vec<String> {
    let calls = entry.message().map(Message::tool_calls).unwrap_or_default();
    let changing = calls.into_iter().filter(|call| matches!(call.name().as_deref(), Some("write" | "edit")));
    changing.filter_map(ToolCall::path).map(|path| start(&path, MAX_PATH)).collect()
}

/// The nearest whole number that every reader can count with.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn whole(number: f64) -> u64 {
    const MAX: f64 = 9_007_199_254_740_992.0;
    if number.is_nan() { 0 } else { number.round().clamp(0.0, MAX) as u64 }
}

#[cfg(test)]
mod tests {
    use sessile::json::Json;

    use super::*;

    fn bytes_of(lines: &[&str]) -> Vec<u8> {
        let mut facts = Facts::default();
        for (index, line) in lines.iter().enumerate() {
            facts.push(index, &Entry::new(Json::parse(line).unwrap()));
        }
        facts.bytes
    }

    #[test]
    fn usage_and_changed_files_are_written_for_entries_that_have_them() {
        let answer = r#"{"type":"message","message":{"role":"assistant","usage":{"input":200,"output":1,"cost":{"total":0.000003}},
            "content":[{"type":"toolCall","name":"edit","arguments":{"path":"a"}},{"type":"toolCall","name":"read","arguments":{"path":"b"}}]}}"#;
        let prompt = r#"{"type":"message","message":{"role":"user","content":"x"}}"#;
        assert_eq!(bytes_of(&[prompt, prompt, answer]), [4, 0xc8, 1, 1, 0, 3, 1, 1, b'a']);
    }

    #[test]
    fn unusual_numbers_are_bounded() {
        assert_eq!([f64::NAN, -5.0, 1e300, f64::INFINITY].map(whole), [0, 0, 1 << 53, 1 << 53]);
        let odd = r#"{"type":"message","message":{"role":"assistant","usage":{"input":"x","cost":7}}}"#;
        assert!(bytes_of(&[odd, "{}"]).is_empty());
    }
}

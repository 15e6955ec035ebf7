//! Measures how much text there is to search.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use sessile::json::{Json, Raw, Shape};

/// Returns the bytes of all texts of users and assistants, of tool arguments and results, and of summaries, in the
/// sessions below a folder.
pub(super) fn text_below(path: &Path) -> u64 {
    if path.is_dir() {
        return path.read_dir().unwrap().map(|entry| text_below(&entry.unwrap().path())).sum();
    }
    let lines = BufReader::with_capacity(1 << 20, File::open(path).unwrap()).split(b'\n');
    lines.map(|line| Json::parse(line.unwrap()).map_or(0, |entry| text_of(entry.raw()))).sum()
}

fn text_of(entry: Raw<'_>) -> u64 {
    let summary = entry.get("summary").map_or(0, strings);
    let content = entry.get("message").and_then(|message| message.get("content"));
    let blocks = content.into_iter().flat_map(Raw::items).map(|block| {
        let parts = [block.get("text"), block.get("arguments")];
        parts.into_iter().flatten().map(strings).sum::<u64>()
    });
    summary + blocks.sum::<u64>()
}

/// Returns the bytes of a string, or of all strings in a value.
fn strings(value: Raw<'_>) -> u64 {
    match value.shape() {
        Shape::String => value.as_text().map_or(0, |text| text.as_wtf8().len() as u64),
        Shape::Array => value.items().map(strings).sum(),
        Shape::Object => value.members().map(|member| strings(member.value)).sum(),
        _ => 0,
    }
}

//! Outputs of tools and commands, which the level `outputs` removes.

use sessile_core::json::{Raw, Shape};

use crate::Level;
use crate::edits::Edits;
use crate::line::is_type;
use crate::marks::{removed, removed_text};
use crate::placeholder::is_made;
use crate::rewrite::Rewriter;

impl Rewriter<'_> {
    /// Replaces the content of a tool's result by a mark. Returns whether it did.
    pub(crate) fn result(&self, line: Raw<'_>, content: Raw<'_>, edits: &mut Edits) -> bool {
        if self.texts.level < Level::Outputs {
            return false;
        }
        let span = content.span_in(line);
        if content.shape() != Shape::Array {
            self.removed_output(line, content, edits);
            return true;
        }
        let blocks: Vec<Raw<'_>> = content.items().collect();
        if blocks.is_empty() || matches!(blocks[..], [block] if is_mark(block)) {
            edits.keep(span);
            return true;
        }
        let texts = blocks.iter().filter_map(|block| block.get("text").and_then(Raw::as_string));
        let n_lines = texts.map(|text| text.lines().count()).sum();
        let mut mark = br#"[{"type":"text","text":"#.to_vec();
        sessile_core::json::write_string(&removed(n_lines, size(&blocks)), &mut mark);
        mark.extend_from_slice(b"}]");
        edits.replace(span, mark);
        true
    }

    /// Replaces details of any shape by a mark.
    pub(crate) fn details(&self, line: Raw<'_>, details: Raw<'_>, edits: &mut Edits) {
        self.removed_output(line, details, edits);
    }

    /// Replaces a value by a mark, unless it is empty or a mark.
    pub(crate) fn removed_output(&self, line: Raw<'_>, output: Raw<'_>, edits: &mut Edits) {
        if self.texts.level < Level::Outputs {
            return;
        }
        let span = output.span_in(line);
        let text = output.as_string().unwrap_or_else(|| output.to_text().into_owned());
        if !output.is_truthy() || (output.shape() == Shape::String && is_made(&text)) {
            edits.keep(span);
        } else {
            edits.replace_string(span, &removed_text(&text));
        }
    }
}

/// The length of the texts and pictures of blocks.
fn size(blocks: &[Raw<'_>]) -> usize {
    let bodies = blocks.iter().map(|block| {
        let body = block.get("text").or_else(|| block.get("data"));
        body.and_then(Raw::as_string).map_or_else(|| block.as_bytes().len(), |text| text.len())
    });
    bodies.sum()
}

/// Whether a block is exactly what [`Rewriter::result`] writes.
fn is_mark(block: Raw<'_>) -> bool {
    let n_members = block.members().count();
    let text = block.get("text").and_then(Raw::as_string);
    n_members == 2 && is_type(block, "text") && text.is_some_and(|text| is_made(&text))
}

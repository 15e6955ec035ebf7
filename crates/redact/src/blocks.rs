//! Blocks whose parts depend on each other: thoughts, signatures, calls and pictures.

use sessile_core::format::picture::raster_type;
use sessile_core::head::Role;
use sessile_core::json::{JsText, Member, Raw, Shape};

use crate::edits::Edits;
use crate::line::{Seen, each_string, is_type};
use crate::picture::{PIXEL, PIXEL_TYPE, texts_in};
use crate::place::{Area, Class};
use crate::placeholder::is_made;
use crate::rewrite::Rewriter;
use crate::scan::whole_secret;
use crate::signature::{Family, Signature, without_item};
use crate::{Level, Origin};

/// What the message of a block is.
#[derive(Debug, Clone, Copy)]
struct Owner {
    family: Family,
    /// Whether the model demands signatures on the calls of the current turn.
    demands_signatures: bool,
    origin: Origin,
}

/// What becomes of a thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It stays, with changes to its text.
    Stays,
    /// It stays without its signature.
    LosesSignature,
    /// It goes.
    Goes,
    /// It goes, and so do references to the item that it was.
    GoesWithItem,
}

const SIGNATURES: [&str; 3] = ["thinkingSignature", "textSignature", "thoughtSignature"];

impl Rewriter<'_> {
    /// Collects the changes that concern more than one string.
    pub(crate) fn structure(&mut self, line: Raw<'_>, origin: Origin, edits: &mut Edits) {
        let other = Owner { family: Family::Unknown, demands_signatures: false, origin };
        self.lost_signature = false;
        for member in line.members() {
            if member.is("message") || member.is("systemMessage") {
                self.message(line, member.value, origin, edits);
            } else if member.is("content") {
                self.content(line, member.value, other, edits);
            } else if member.is("replacement") {
                for content in member.value.members().filter(|member| member.is("content")) {
                    self.content(line, content.value, other, edits);
                }
            } else if member.is("details") {
                self.details(line, member.value, edits);
            }
        }
        self.turns.follow(line, self.lost_signature);
    }

    fn message(&mut self, line: Raw<'_>, message: Raw<'_>, origin: Origin, edits: &mut Edits) {
        let role = Role::of(message.get("role"));
        let model = message.get("model").and_then(Raw::as_string).unwrap_or_default();
        let family = Family::of(message.get("api"));
        let demands_signatures = family == Family::Google && model.contains("gemini-3");
        for member in message.members() {
            if member.is("content") {
                if !(role == Role::ToolResult && self.result(line, member.value, edits)) {
                    self.content(line, member.value, Owner { family, demands_signatures, origin }, edits);
                }
            } else if member.is("details") {
                self.report.full_outputs.extend(member.value.get("fullOutputPath").and_then(Raw::as_string));
                self.details(line, member.value, edits);
            } else if member.is("output") && role == Role::BashExecution {
                self.removed_output(line, member.value, edits);
            } else if member.is("toolCallId") {
                let id = member.value.as_string().unwrap_or_default();
                if let Some(cut) = without_item(&id).filter(|_| self.cut_ids.contains(&id)) {
                    edits.replace_string(member.value.span_in(line), cut);
                }
            } else if member.is("fullOutputPath") {
                self.report.full_outputs.extend(member.value.as_string());
            }
        }
    }

    fn content(&mut self, line: Raw<'_>, content: Raw<'_>, owner: Owner, edits: &mut Edits) {
        let blocks: Vec<Raw<'_>> = content.items().collect();
        let fates: Vec<Fate> = blocks
            .iter()
            .map(|block| if is_type(*block, "thinking") { self.thought(*block, owner) } else { Fate::Stays })
            .collect();
        let loses_item = fates.contains(&Fate::GoesWithItem);
        let fates: Vec<Fate> = blocks
            .iter()
            .zip(fates)
            // An item that stays would miss the item after it, which no longer has its id.
            .map(|(block, fate)| if loses_item && is_item(*block) { Fate::GoesWithItem } else { fate })
            .collect();
        let goes = |fate: Fate| matches!(fate, Fate::Goes | Fate::GoesWithItem);
        self.report.removed_thoughts += fates.iter().filter(|fate| goes(**fate)).count();
        edits.remove_items(line, content, |n| goes(fates[n]));
        for (block, fate) in
            blocks.iter().zip(&fates).filter(|(block, fate)| !goes(**fate) && block.shape() == Shape::Object)
        {
            self.block(line, *block, *fate, loses_item, owner, edits);
        }
    }

    /// Decides about a thought. Secrets in a thought that goes are counted here.
    fn thought(&mut self, block: Raw<'_>, owner: Owner) -> Fate {
        let counts = self.texts.counts.clone();
        let signatures: Vec<Signature> = signatures_of(block).map(|(_, text)| Signature::of(&text.to_str())).collect();
        let has_items = signatures.iter().any(|signature| matches!(signature, Signature::Items(_)));
        // Both are asked, so that all secrets are counted.
        let is_altered = self.alters(block, owner.origin) | self.alters_signature(block, owner.origin);
        let is_unwanted = self.texts.level >= Level::Outputs
            && !(signatures.is_empty()
                && block.get("thinking").and_then(Raw::as_string).is_none_or(|text| is_made(&text)));
        let is_sealed = block.get("redacted").is_some_and(Raw::is_truthy);
        let fate = match owner.family {
            _ if !is_altered && !is_unwanted => Fate::Stays,
            Family::Responses => Fate::GoesWithItem,
            _ if has_items => Fate::GoesWithItem,
            _ if is_sealed => Fate::Goes,
            Family::Google => Fate::LosesSignature,
            Family::Completions => Fate::Stays,
            Family::Unknown if signatures.is_empty() => Fate::Stays,
            Family::Sealed | Family::Unknown => Fate::Goes,
        };
        if matches!(fate, Fate::Stays | Fate::LosesSignature) {
            self.texts.counts = counts;
        }
        fate
    }

    /// Changes a block that stays.
    fn block(&mut self, line: Raw<'_>, block: Raw<'_>, fate: Fate, loses_item: bool, owner: Owner, edits: &mut Edits) {
        let is_altered = owner.family == Family::Google && !is_type(block, "thinking") && {
            let counts = self.texts.counts.clone();
            let is_altered = self.alters(block, owner.origin);
            self.texts.counts = counts;
            is_altered
        };
        let mut dropped = Vec::new();
        for (member, text) in signatures_of(block) {
            let is_dropped = is_altered
                || fate == Fate::LosesSignature
                || (loses_item && member.is("textSignature"))
                || self.alters_text(&text, owner.origin);
            if is_dropped {
                dropped.push(member.value.span_in(line));
            } else {
                edits.keep(member.value.span_in(line));
            }
        }
        edits.remove_members(line, block, |member| dropped.contains(&member.value.span_in(line)));
        self.report.removed_signatures += dropped.len();
        self.lost_signature |= !dropped.is_empty() && owner.demands_signatures && is_type(block, "toolCall");
        if loses_item && is_type(block, "toolCall") {
            self.cut_call(line, block, edits);
        }
        if is_type(block, "thinking") && self.texts.level >= Level::Outputs {
            for member in block.members().filter(|member| member.is("thinking")) {
                self.removed_output(line, member.value, edits);
            }
        }
        self.picture(line, block, edits);
    }

    fn cut_call(&mut self, line: Raw<'_>, block: Raw<'_>, edits: &mut Edits) {
        for member in block.members().filter(|member| member.is("id")) {
            let id = member.value.as_string().unwrap_or_default();
            if let Some(cut) = without_item(&id) {
                edits.replace_string(member.value.span_in(line), cut);
                self.report.cut_calls += 1;
                self.cut_ids.insert(id.clone());
            }
        }
    }

    /// Replaces a picture that must not be seen, or that holds a text that changes.
    fn picture(&mut self, line: Raw<'_>, block: Raw<'_>, edits: &mut Edits) {
        let mut is_replaced = false;
        for member in block.members().filter(|member| member.is("data")) {
            let Some(data) = member.value.as_string() else { continue };
            let texts = texts_in(&data);
            let holds_text =
                texts.iter().flatten().any(|text| self.texts.changed_str(text, Origin::Ordinary).is_some());
            let must_go = self.texts.level >= Level::Pii && (raster_type(&data).is_some() || is_type(block, "image"));
            let span = member.value.span_in(line);
            if data != PIXEL && (holds_text || must_go) {
                edits.replace_string(span, PIXEL);
                self.report.replaced_pictures += 1;
                is_replaced = true;
            } else if texts.is_some() {
                edits.keep(span);
            }
        }
        for member in block.members().filter(|member| is_replaced && member.is("mimeType")) {
            edits.replace_string(member.value.span_in(line), PIXEL_TYPE);
        }
    }

    /// Whether a text of a block, other than a signature, changes.
    fn alters(&mut self, block: Raw<'_>, origin: Origin) -> bool {
        let mut is_altered = false;
        each_string(block, Area::Block, |piece| {
            if matches!(piece.class, Class::Text | Class::Data) {
                is_altered |= self.texts.changed(&piece.text, origin).is_some();
            }
            Seen::Plain
        });
        is_altered
    }

    fn alters_signature(&mut self, block: Raw<'_>, origin: Origin) -> bool {
        signatures_of(block).fold(false, |is_altered, (_, text)| is_altered | self.alters_text(&text, origin))
    }

    /// Whether a text in a signature changes.
    fn alters_text(&mut self, signature: &JsText<'_>, origin: Origin) -> bool {
        match Signature::of(&signature.to_str()) {
            Signature::Opaque => whole_secret(self.texts.find, &signature.to_str()).is_some(),
            Signature::Text => self.texts.changed(signature, origin).is_some(),
            Signature::Items(items) => {
                let mut is_altered = false;
                each_string(items.raw(), Area::Free, |piece| {
                    is_altered |= self.texts.changed(&piece.text, origin).is_some();
                    Seen::Plain
                });
                is_altered
            }
        }
    }
}

/// Whether a block is a thought whose signature is an item or details in clear.
fn is_item(block: Raw<'_>) -> bool {
    is_type(block, "thinking")
        && signatures_of(block).any(|(_, text)| matches!(Signature::of(&text.to_str()), Signature::Items(_)))
}

/// The signatures of a block that are strings, and their members.
fn signatures_of(block: Raw<'_>) -> impl Iterator<Item = (Member<'_>, JsText<'_>)> {
    let is_signature = |member: &Member<'_>| SIGNATURES.iter().any(|name| member.is(name));
    block.members().filter(is_signature).filter_map(|member| Some((member, member.value.as_text()?)))
}

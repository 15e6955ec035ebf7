//! Entries in a transcript that are not messages, and the label and time of each entry.

use std::io;

use sessile::entry::{CompactionEntry, CustomMessageEntry, Entry, Payload};
use sessile::format::head::Kind;
use sessile::message::Content;

use super::{Last, Transcript};
use crate::screen::{ACCENT, DIM, Line, NAMED, PERSON, PLAIN};
use sessile_display::text::{headline, start};

/// The label, author and time shown beside an entry, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotation {
    pub(crate) label: Option<String>,
    /// Who has written it, in words.
    pub(crate) author: Option<String>,
    pub(crate) time: Option<String>,
}

impl Annotation {
    pub(super) fn is_empty(&self) -> bool {
        self.label.is_none() && self.author.is_none() && self.time.is_none()
    }

    pub(super) fn put_before(&self, line: Line) -> Line {
        match &self.label {
            Some(label) => line.styled(NAMED, "[").styled(NAMED, label).styled(NAMED, "] "),
            None => line,
        }
    }

    pub(super) fn append_to(&self, line: Line) -> Line {
        let line = match &self.author {
            Some(author) => line.styled(DIM, "  ").styled(PERSON, author),
            None => line,
        };
        match &self.time {
            Some(time) => line.styled(DIM, "  ").styled(DIM, time),
            None => line,
        }
    }
}

impl Transcript<'_, '_> {
    /// Prints the next entry. Extension data and labels are shown only in full mode.
    pub(crate) fn entry(&mut self, entry: &Entry, annotation: &Annotation) -> io::Result<()> {
        match entry.payload() {
            Payload::Message(message) => match message.message() {
                Some(message) => self.next(message, annotation),
                None => self.note(entry, annotation),
            },
            Payload::CustomMessage(custom) => self.custom(custom, annotation),
            Payload::Compaction(compaction) => self.compaction(compaction, annotation),
            Payload::BranchSummary(summary) => {
                self.begin()?;
                self.summary("summary of another branch", "", &summary.summary().unwrap_or_default(), annotation)
            }
            Payload::Custom(_) | Payload::Label(_) | Payload::Usage(_)
                if !self.detail.full && annotation.label.is_none() =>
            {
                Ok(())
            }
            Payload::Custom(_)
            | Payload::Label(_)
            | Payload::Usage(_)
            | Payload::ModelChange(_)
            | Payload::ThinkingLevelChange(_)
            | Payload::ContextEdit(_)
            | Payload::SessionInfo(_)
            | Payload::Unknown(_) => self.note(entry, annotation),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        let is_first = self.last == Last::Nothing;
        self.last = Last::Message;
        if is_first { Ok(()) } else { self.out.blank() }
    }

    /// Prints a thin line between messages.
    fn note(&mut self, entry: &Entry, annotation: &Annotation) -> io::Result<()> {
        if !matches!(self.last, Last::Nothing | Last::Note) {
            self.out.blank()?;
        }
        self.last = Last::Note;
        let words = headline(entry, &self.calls);
        let line =
            annotation.put_before(Line::new().styled(DIM, "· ")).styled(DIM, &words.lead).styled(DIM, &words.text);
        self.print(annotation.append_to(line))?;
        if self.detail.full && !matches!(entry.kind(), Kind::ModelChange | Kind::ThinkingLevelChange | Kind::Label) {
            self.paragraph(DIM, &entry.raw().to_text())?;
        }
        Ok(())
    }

    fn custom(&mut self, custom: CustomMessageEntry<'_>, annotation: &Annotation) -> io::Result<()> {
        self.begin()?;
        let name = custom.custom_type().unwrap_or_else(|| "custom".to_owned());
        let is_hidden = custom.display() == Some(false);
        self.heading(NAMED, &name, if is_hidden { "only for the model" } else { "" }, annotation)?;
        let content = custom.content();
        match &content {
            Content::Text(text) if is_hidden && !self.detail.full => self.fold(DIM, "", &start(text, 200)),
            _ => self.each_block(&content, if is_hidden { DIM } else { PLAIN }),
        }
    }

    /// Prints a compaction: a rule over the full width, and the summary below it.
    fn compaction(&mut self, compaction: CompactionEntry<'_>, annotation: &Annotation) -> io::Result<()> {
        self.begin()?;
        let width = self.out.width().min(super::WIDEST);
        self.print(Line::new().styled(ACCENT, &"─".repeat(width)))?;
        let thousands = (compaction.tokens_before().unwrap_or_default() / 1000.0).round();
        let note = format!("{thousands}k tokens before");
        self.summary("compaction", &note, &compaction.summary().unwrap_or_default(), annotation)
    }
}

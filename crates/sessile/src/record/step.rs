//! The steps of operations, and their form in the log.

use std::path::{Path, PathBuf};

use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_core::{EntryId, SessionId};
use sessile_store::TrashSlot;

/// A session's file and id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionLocation {
    /// Its file.
    pub path: PathBuf,
    /// Its id.
    pub id: SessionId,
}

/// Where a deleted session went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrashedTo {
    /// To the trash, at this place.
    Trash(TrashSlot),
    /// To the program `trash`, which has its own place for it.
    Program,
    /// Nowhere: it was deleted permanently.
    Deleted,
}

/// One change to one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The session's name changed or was removed.
    Name {
        /// The session.
        session: SessionLocation,
        /// The name before.
        before: Option<String>,
        /// The name after.
        after: Option<String>,
    },
    /// An entry's label changed or was removed.
    Label {
        /// The session.
        session: SessionLocation,
        /// The entry.
        entry: EntryId,
        /// The label before.
        before: Option<String>,
        /// The label after.
        after: Option<String>,
    },
    /// The session or one of its branches was archived or restored.
    Archive {
        /// The session.
        session: SessionLocation,
        /// The entry at which the branch begins; `None` for the whole session.
        entry: Option<EntryId>,
        /// Whether it was archived before.
        before: bool,
        /// Whether it is archived after.
        after: bool,
    },
    /// The leaf moved.
    Leaf {
        /// The session.
        session: SessionLocation,
        /// The leaf before; `None` means before all entries.
        before: Option<EntryId>,
        /// The leaf after; `None` means before all entries.
        after: Option<EntryId>,
        /// Whether a branch summary was appended there, which then is the leaf.
        summary: bool,
    },
    /// The session was moved to another working directory, and its file to that directory's sessions.
    Move {
        /// The session with its former path.
        session: SessionLocation,
        /// The new path of its file.
        to: PathBuf,
        /// The working directory in its header before: any JSON value, or absent.
        cwd_before: Option<Json>,
        /// The working directory in its header after.
        cwd_after: Option<Json>,
        /// The planned path of the original.
        original: Option<PathBuf>,
        /// The length of the file after the move.
        length: Option<u64>,
    },
    /// The session was deleted.
    Delete {
        /// The session with its former path.
        session: SessionLocation,
        /// Where it went.
        to: TrashedTo,
    },
    /// The session was restored from the trash.
    Restore {
        /// The session with its restored path.
        session: SessionLocation,
        /// Its former place in the trash.
        from: TrashSlot,
        /// The length of its file, if known.
        length: Option<u64>,
    },
    /// The session's file was created, as a copy or from a part of another session.
    Create {
        /// The new session.
        session: SessionLocation,
        /// The length of its file.
        length: u64,
        /// The file it was created from.
        source: Option<PathBuf>,
    },
    /// The session's file was replaced with a new version.
    Rewrite {
        /// The session.
        session: SessionLocation,
        /// Where its original is kept.
        original: PathBuf,
    },
    /// The lines of a stray file were appended. Another program had created it at the session's former path.
    Reunite {
        /// The session.
        session: SessionLocation,
        /// The stray file.
        stray: PathBuf,
        /// Where the stray file is kept.
        kept: PathBuf,
    },
    /// Lines of the session's file were replaced, to remove text from them.
    Scrub {
        /// The session.
        session: SessionLocation,
        /// Where its original is kept, if the user wanted that.
        original: Option<PathBuf>,
    },
    /// Entries of other copies of the session were appended to it.
    Merge {
        /// The session.
        session: SessionLocation,
        /// The other copies.
        from: Vec<PathBuf>,
        /// The entry that was appended last.
        mark: EntryId,
    },
    /// What another agent has added to an imported session was appended to it.
    Extend {
        /// The session.
        session: SessionLocation,
        /// The file of the other agent.
        source: PathBuf,
        /// The entry that was appended last.
        mark: EntryId,
    },
}

impl Step {
    /// The affected session with its path before the step.
    pub fn session(&self) -> &SessionLocation {
        match self {
            Self::Name { session, .. }
            | Self::Label { session, .. }
            | Self::Leaf { session, .. }
            | Self::Archive { session, .. }
            | Self::Move { session, .. }
            | Self::Delete { session, .. }
            | Self::Restore { session, .. }
            | Self::Create { session, .. }
            | Self::Rewrite { session, .. }
            | Self::Reunite { session, .. }
            | Self::Scrub { session, .. }
            | Self::Merge { session, .. }
            | Self::Extend { session, .. } => session,
        }
    }

    /// The step as it is stored in the log: its kind, its session, and everything needed to undo it.
    pub(crate) fn stored(&self) -> Json {
        let mut step = ObjectWriter::new();
        step.string("step", self.word());
        let SessionLocation { path, id } = self.session();
        step.string("path", &path.to_string_lossy()).string("sessionId", id.as_str());
        match self {
            Self::Name { before, after, .. } => {
                put_text(&mut step, "before", before.as_deref());
                put_text(&mut step, "after", after.as_deref());
            }
            Self::Label { entry, before, after, .. } => {
                step.text("entryId", entry.as_text());
                put_text(&mut step, "before", before.as_deref());
                put_text(&mut step, "after", after.as_deref());
            }
            Self::Archive { entry, before, after, .. } => {
                put_id(&mut step, "entryId", entry.as_ref());
                step.bool("before", *before).bool("after", *after);
            }
            Self::Leaf { before, after, summary, .. } => {
                put_id(&mut step, "before", before.as_ref());
                put_id(&mut step, "after", after.as_ref());
                if *summary {
                    step.bool("summary", true);
                }
            }
            Self::Move { to, cwd_before, cwd_after, original, length, .. } => {
                put_path(&mut step, "to", Some(to));
                step.optional("cwdBefore", cwd_before.as_ref().map(Json::raw));
                step.optional("cwdAfter", cwd_after.as_ref().map(Json::raw));
                put_path(&mut step, "original", original.as_deref());
                if let Some(length) = length {
                    step.integer("length", i64::try_from(*length).unwrap_or(i64::MAX));
                }
            }
            Self::Delete { to, .. } => match to {
                TrashedTo::Trash(slot) => put_slot(&mut step, slot),
                TrashedTo::Program => {
                    step.bool("program", true);
                }
                TrashedTo::Deleted => {
                    step.bool("permanent", true);
                }
            },
            Self::Restore { from, length, .. } => {
                put_slot(&mut step, from);
                if let Some(length) = length {
                    step.integer("length", i64::try_from(*length).unwrap_or(i64::MAX));
                }
            }
            Self::Create { length, source, .. } => {
                step.integer("length", i64::try_from(*length).unwrap_or(i64::MAX));
                put_path(&mut step, "source", source.as_deref());
            }
            Self::Rewrite { original, .. } => put_path(&mut step, "original", Some(original)),
            Self::Reunite { stray, kept, .. } => {
                put_path(&mut step, "stray", Some(stray));
                put_path(&mut step, "kept", Some(kept));
            }
            Self::Scrub { original, .. } => put_path(&mut step, "original", original.as_deref()),
            Self::Merge { from, mark, .. } => {
                let from: Vec<Json> = from.iter().map(|path| Json::string(&path.to_string_lossy())).collect();
                step.array("from", from.iter().map(Json::raw)).text("entryId", mark.as_text());
            }
            Self::Extend { source, mark, .. } => {
                put_path(&mut step, "source", Some(source));
                step.text("entryId", mark.as_text());
            }
        }
        step.finish()
    }

    /// The name of its kind, in the log and in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Name { .. } => "name",
            Self::Label { .. } => "label",
            Self::Archive { .. } => "archive",
            Self::Leaf { .. } => "leaf",
            Self::Move { .. } => "move",
            Self::Delete { .. } => "delete",
            Self::Restore { .. } => "restore",
            Self::Create { .. } => "create",
            Self::Rewrite { .. } => "rewrite",
            Self::Reunite { .. } => "reunite",
            Self::Scrub { .. } => "scrub",
            Self::Merge { .. } => "merge",
            Self::Extend { .. } => "extend",
        }
    }

    /// Reads a step from a line of the log; `None` if its kind is unknown.
    pub(crate) fn read(step: Raw<'_>) -> Option<Self> {
        let text = |key| step.get(key).and_then(Raw::as_string);
        let path = |key| text(key).map(PathBuf::from);
        let id = |key| step.get(key).and_then(Raw::as_text).map(EntryId::from);
        let value = |key| step.get(key).map(Raw::to_json);
        let whole = |key| step.get(key).and_then(Raw::as_number).and_then(whole_number);
        let session = SessionLocation { path: path("path")?, id: text("sessionId")?.into() };
        let slot = || Some(TrashSlot { file: path("trashed")?, info: path("info") });
        let is_set = |key| step.get(key).and_then(Raw::as_bool) == Some(true);
        Some(match text("step")?.as_str() {
            "name" => Self::Name { session, before: text("before"), after: text("after") },
            "label" => Self::Label { session, entry: id("entryId")?, before: text("before"), after: text("after") },
            "archive" => {
                Self::Archive { session, entry: id("entryId"), before: is_set("before"), after: is_set("after") }
            }
            "leaf" => Self::Leaf { session, before: id("before"), after: id("after"), summary: is_set("summary") },
            "move" => Self::Move {
                session,
                to: path("to")?,
                cwd_before: value("cwdBefore"),
                cwd_after: value("cwdAfter"),
                original: path("original"),
                length: whole("length"),
            },
            "delete" => {
                let to = match slot() {
                    Some(slot) => TrashedTo::Trash(slot),
                    None if is_set("program") => TrashedTo::Program,
                    None => TrashedTo::Deleted,
                };
                Self::Delete { session, to }
            }
            "restore" => Self::Restore { session, from: slot()?, length: whole("length") },
            "create" => Self::Create { session, length: whole("length")?, source: path("source") },
            "rewrite" => Self::Rewrite { session, original: path("original")? },
            "reunite" => Self::Reunite { session, stray: path("stray")?, kept: path("kept")? },
            "scrub" => Self::Scrub { session, original: path("original") },
            "merge" => {
                let from = step.get("from").into_iter().flat_map(Raw::items).filter_map(Raw::as_string);
                Self::Merge { session, from: from.map(PathBuf::from).collect(), mark: id("entryId")? }
            }
            "extend" => Self::Extend { session, source: path("source")?, mark: id("entryId")? },
            _ => return None,
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a whole number")]
pub(crate) fn whole_number(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
}

/// Omits an absent value.
fn put_text(step: &mut ObjectWriter, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        step.string(key, text);
    }
}

fn put_id(step: &mut ObjectWriter, key: &str, id: Option<&EntryId>) {
    if let Some(id) = id {
        step.text(key, id.as_text());
    }
}

fn put_path(step: &mut ObjectWriter, key: &str, path: Option<&Path>) {
    put_text(step, key, path.map(Path::to_string_lossy).as_deref());
}

fn put_slot(step: &mut ObjectWriter, slot: &TrashSlot) {
    put_path(step, "trashed", Some(&slot.file));
    put_path(step, "info", slot.info.as_deref());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_read_as_it_was_written() {
        let session = || SessionLocation { path: "/s/a.jsonl".into(), id: "a\u{1b}".to_owned().into() };
        let slot = TrashSlot { file: "/t/files/a".into(), info: Some("/t/info/a".into()) };
        let cwd = |text: &str| Some(Json::parse(text).unwrap());
        for step in [
            Step::Name { session: session(), before: None, after: Some("x\n".to_owned()) },
            Step::Label { session: session(), entry: "e".into(), before: Some(String::new()), after: None },
            Step::Archive { session: session(), entry: None, before: false, after: true },
            Step::Archive { session: session(), entry: Some("e".into()), before: true, after: false },
            Step::Leaf { session: session(), before: None, after: Some("e".into()), summary: true },
            Step::Leaf { session: session(), before: Some("f".into()), after: None, summary: false },
            Step::Move {
                session: session(),
                to: "/t/a.jsonl".into(),
                cwd_before: cwd(r#""\u002fa""#),
                cwd_after: cwd("\"/b\""),
                original: Some("/o".into()),
                length: Some(9),
            },
            Step::Move {
                session: session(),
                to: "/t".into(),
                cwd_before: None,
                cwd_after: None,
                original: None,
                length: None,
            },
            Step::Delete { session: session(), to: TrashedTo::Trash(slot.clone()) },
            Step::Delete { session: session(), to: TrashedTo::Program },
            Step::Delete { session: session(), to: TrashedTo::Deleted },
            Step::Restore { session: session(), from: slot.clone(), length: None },
            Step::Restore { session: session(), from: slot.clone(), length: Some(7) },
            Step::Create { session: session(), length: 1 << 40, source: Some("/s".into()) },
            Step::Create { session: session(), length: 0, source: None },
            Step::Rewrite { session: session(), original: "/o".into() },
            Step::Reunite { session: session(), stray: "/s/b".into(), kept: "/s/c".into() },
            Step::Scrub { session: session(), original: None },
            Step::Scrub { session: session(), original: Some("/o".into()) },
            Step::Merge { session: session(), from: vec!["/a".into(), "/b\n".into()], mark: "e".into() },
            Step::Extend { session: session(), source: "/a\n".into(), mark: "e".into() },
        ] {
            assert_eq!(Step::read(step.stored().raw()), Some(step));
        }
        assert_eq!(Step::read(Json::parse(r#"{"step":"future","path":"/","sessionId":"a"}"#).unwrap().raw()), None);
    }
}

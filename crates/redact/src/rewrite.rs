//! Rewrites the lines of a session at a level.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use sessile_core::json::{Raw, write_text};

use crate::edits::Edits;
use crate::homes::add_directory;
use crate::line::{Seen, each_string};
use crate::marks::removed_text;
use crate::names::Names;
use crate::pairing::{IsSource, Pairing};
use crate::place::{Area, Class};
use crate::placeholder::{RunKey, is_made};
use crate::report::{Refusal, Report, Warning};
use crate::scan::{FindSecrets, certain};
use crate::text::{Counts, Texts};
use crate::turns::Turns;
use crate::{Level, Origin};

/// Rewrites the lines of a session at a level.
///
/// A line stays byte for byte except for the strings that change. JSON stays valid JSON, and the result does not change
/// when it is rewritten again.
///
/// Ids of calls can change after their results were seen: to be sure, pass all lines twice and take the second result.
pub struct Rewriter<'a> {
    pub(crate) texts: Texts<'a>,
    pub(crate) is_source: IsSource<'a>,
    pub(crate) pairing: Pairing,
    /// The ids of calls that lost the item that they named.
    pub(crate) cut_ids: HashSet<String>,
    pub(crate) report: Report,
    pub(crate) turns: Turns,
    /// Whether a call of the current line lost a signature that the model demands.
    pub(crate) lost_signature: bool,
}

impl std::fmt::Debug for Rewriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rewriter")
            .field("level", &self.texts.level)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

impl<'a> Rewriter<'a> {
    /// Creates a rewriter. All files of a run share the key and the names.
    pub fn new(
        find: &'a dyn FindSecrets,
        is_source: IsSource<'a>,
        key: &'a RunKey,
        level: Level,
        names: &'a mut Names,
    ) -> Self {
        let texts = Texts { find, key, level, names, counts: Counts::default() };
        Self {
            texts,
            is_source,
            pairing: Pairing::default(),
            cut_ids: HashSet::new(),
            report: Report::default(),
            turns: Turns::default(),
            lost_signature: false,
        }
    }

    /// Rewrites a text that is not part of a line, such as the name of a directory.
    pub fn text(&mut self, text: &str) -> String {
        self.texts.changed_str(text, Origin::Ordinary).unwrap_or_else(|| text.to_owned())
    }

    /// Rewrites a part of a text that is not part of a line. What surrounds the part says what it is: a secret of which
    /// the part has only some bytes goes too.
    pub fn part(&mut self, text: &str, part: Range<usize>) -> String {
        let shown = self.texts.changed_part(text, part);
        self.text(&shown)
    }

    /// Gives a working directory a pseudonym, from level `paths` on, before any text needs it.
    pub fn add_directory(&mut self, directory: &str) -> Result<(), Refusal> {
        if self.texts.level >= Level::Paths {
            add_directory(directory, self.texts.names)?;
        }
        Ok(())
    }

    /// Rewrites a line, without its LF. A line that need not change is returned as it is.
    pub fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, Refusal> {
        let rewritten = match Raw::parse(line) {
            Ok(value) => self.value(line, value)?,
            Err(_) => self.not_json(line),
        };
        self.report.lines += 1;
        self.report.changed_lines += u64::from(matches!(rewritten, Cow::Owned(_)));
        Ok(rewritten)
    }

    /// Forgets the counts of the lines so far, but not what later lines depend on.
    pub fn start_again(&mut self) {
        self.report = Report::default();
        self.texts.counts = Counts::default();
        self.turns = Turns::default();
    }

    /// What happened so far.
    pub fn report(&self) -> Report {
        let mut report = self.report.clone();
        report.rules.clone_from(&self.texts.counts.rules);
        report.names = self.texts.counts.names;
        if self.turns.end_in_lossy_loop() {
            report.warnings.push(Warning::SignatureDemanded);
        }
        report
    }

    fn value<'l>(&mut self, line: &'l [u8], value: Raw<'l>) -> Result<Cow<'l, [u8]>, Refusal> {
        let origin = self.pairing.read(value, self.is_source);
        let mut edits = Edits::default();
        self.structure(value, origin, &mut edits);
        if self.texts.level >= Level::Skeleton {
            self.check_kept(value)?;
            let skeleton = self.skeleton(value);
            return Ok(if skeleton == value.as_bytes() { Cow::Borrowed(line) } else { Cow::Owned(skeleton) });
        }
        let mut covered = edits.covered();
        let mut refused = None;
        each_string(value, Area::Line, |piece| {
            if piece.class == Class::Kept {
                if let Some(found) = certain(self.texts.find, &piece.text.to_str()).first() {
                    refused.get_or_insert_with(|| (piece.pointer(), found.rule.clone()));
                }
            } else if !covered.covers(&piece.token)
                && let Some(changed) = self.texts.changed(&piece.text, origin)
            {
                let mut out = Vec::new();
                write_text(&changed, &mut out);
                edits.replace(piece.token.clone(), out);
                return Seen::Secret;
            }
            Seen::Plain
        });
        if let Some((pointer, rule)) = refused {
            return Err(self.refusal(value, pointer, rule));
        }
        if edits.is_empty() {
            return Ok(Cow::Borrowed(line));
        }
        let rewritten = edits.apply(value.as_bytes());
        debug_assert!(Raw::parse(&rewritten).is_ok(), "{}", String::from_utf8_lossy(&rewritten));
        let begin = value.as_bytes().as_ptr().addr() - line.as_ptr().addr();
        let end = begin + value.as_bytes().len();
        Ok(Cow::Owned([&line[..begin], &rewritten, &line[end..]].concat()))
    }

    /// Checks that no string that always stays is a secret.
    fn check_kept(&self, value: Raw<'_>) -> Result<(), Refusal> {
        let mut refused = None;
        each_string(value, Area::Line, |piece| {
            if piece.class == Class::Kept
                && let Some(found) = certain(self.texts.find, &piece.text.to_str()).first()
            {
                refused.get_or_insert_with(|| (piece.pointer(), found.rule.clone()));
            }
            // The pointers of a refusal name no free keys.
            Seen::Plain
        });
        refused.map_or(Ok(()), |(pointer, rule)| Err(self.refusal(value, pointer, rule)))
    }

    fn refusal(&self, value: Raw<'_>, pointer: String, rule: std::sync::Arc<str>) -> Refusal {
        let id = value.get("id").and_then(Raw::as_string);
        let entry_id = id.filter(|id| certain(self.texts.find, id).is_empty());
        Refusal::SecretKept { entry_id, pointer, rule }
    }

    /// A line that is not JSON stays one that is not.
    fn not_json<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        let text = String::from_utf8_lossy(line);
        if self.texts.level >= Level::Outputs {
            return if text.trim().is_empty() || is_made(&text) {
                Cow::Borrowed(line)
            } else {
                Cow::Owned(removed_text(&text).into_bytes())
            };
        }
        match self.texts.changed_str(&text, Origin::Ordinary) {
            None => Cow::Borrowed(line),
            Some(changed) if Raw::parse(changed.as_bytes()).is_ok() => Cow::Owned(removed_text(&text).into_bytes()),
            Some(changed) => Cow::Owned(changed.into_bytes()),
        }
    }
}

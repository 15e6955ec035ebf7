//! Passes the lines of a session to the rules, for a scrub in place.

use std::borrow::Cow;
use std::path::Path;

use sessile_core::cancel::Cancel;
use sessile_core::head::{self, Kind, Parsed};
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_redact::{
    FindSecrets, Level, Names, Origin, Pairing, RULES_VERSION, Report, Rewriter, RunKey, Tier, is_secret_source,
    scan_line,
};

use super::finder::{Finder, Learned};
use super::quiet::quietly;
use super::scan::SecretFinding;
use crate::scrub::{ScrubbedKind, Scrubber};

/// Why a line cannot be scrubbed if a rule panics.
const FAILED: &str = "a rule failed on this line; please report this as a bug";

/// How many findings the audit lists. It counts all of them.
const MAX_LISTED: usize = 1000;

/// What a pass reports to, and when it ends early.
#[derive(Clone, Copy)]
pub(super) struct Watch<'w> {
    pub(super) cancel: Option<&'w Cancel>,
    /// Receives numbers of bytes as lines are read.
    pub(super) on_bytes: &'w dyn Fn(u64),
}

impl Watch<'_> {
    fn line(self, line: &[u8]) -> Result<(), String> {
        (self.on_bytes)(line.len() as u64 + 1);
        let is_cancelled = self.cancel.is_some_and(Cancel::is_cancelled);
        if is_cancelled { Err("cancelled".to_owned()) } else { Ok(()) }
    }
}

/// Remembers the values in a session and its copies. Changes nothing.
pub(super) struct Learner<'s> {
    pub(super) finder: &'s Finder,
    pub(super) learned: Learned,
    pub(super) watch: Watch<'s>,
    pub(super) pairing: Pairing,
}

impl Scrubber for Learner<'_> {
    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        self.watch.line(line)?;
        let located = quietly(|| scan_line(self.finder, &is_secret_source, &mut self.pairing, line)).ok_or(FAILED)?;
        for located in &located {
            self.learned.learn(&located.finding);
        }
        Ok(Cow::Borrowed(line))
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        // If this panics, the pass that changes texts does, too.
        let found = quietly(|| self.finder.find_secrets(text, Origin::Ordinary)).unwrap_or_default();
        for finding in &found {
            self.learned.learn(finding);
        }
        Cow::Borrowed(text)
    }
}

/// Removes secrets, and more from level `paths` on.
///
/// All sessions of a run share one, so that ids of calls are cut in all of them. Ids can change after their results were
/// seen, so a dry run comes first.
pub(super) struct SecretScrubber<'s> {
    finder: &'s Finder,
    level: Level,
    rewriter: Rewriter<'s>,
    /// For headers and directories: pi finds a session by them, so only secrets go.
    headers: Rewriter<'s>,
    /// Of `finder` on rewritten lines.
    pairing: Pairing,
    watch: Watch<'s>,
    /// What happened in the session's file; `None` until another file begins.
    report: Option<Report>,
    /// The findings in the session's file, for the audit.
    findings: Vec<SecretFinding>,
}

/// The names that a run replaces, and those that it replaces in headers, which are none.
pub(super) struct RunNames {
    pub(super) texts: Names,
    pub(super) headers: Names,
}

impl<'s> SecretScrubber<'s> {
    pub(super) fn new(
        finder: &'s Finder,
        key: &'s RunKey,
        level: Level,
        names: &'s mut RunNames,
        watch: Watch<'s>,
    ) -> Self {
        let RunNames { texts, headers } = names;
        Self {
            finder,
            level,
            rewriter: Rewriter::new(finder, &is_secret_source, key, level, texts),
            headers: Rewriter::new(finder, &is_secret_source, key, Level::Secrets, headers),
            pairing: Pairing::default(),
            watch,
            report: None,
            findings: Vec::new(),
        }
    }

    /// Prepares for another session, with the findings that its audit lists.
    pub(super) fn start(&mut self, findings: Vec<SecretFinding>, is_cancellable: bool) {
        self.rewriter.start_again();
        self.headers.start_again();
        self.report = None;
        self.findings = findings;
        if !is_cancellable {
            self.watch.cancel = None;
        }
    }

    /// What happened in the session's file.
    pub(super) fn report(&self) -> Report {
        self.report.clone().unwrap_or_else(|| self.current())
    }

    /// What happened since the start.
    fn current(&self) -> Report {
        let (mut report, header) = (self.rewriter.report(), self.headers.report());
        report.lines += header.lines;
        report.changed_lines += header.changed_lines;
        for (rule, n_findings) in header.rules {
            *report.rules.entry(rule).or_default() += n_findings;
        }
        report
    }

    fn rewrite<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        let is_header = matches!(head::read(line), Parsed::Value(head) if head.kind == Kind::Header);
        let new = if is_header {
            let header = Raw::parse(line).ok();
            if let Some(cwd) = header.and_then(|header| header.get("cwd")?.as_string()) {
                self.rewriter.add_directory(&cwd).map_err(|refusal| refusal.to_string())?;
            }
            self.headers.line(line)
        } else {
            self.rewriter.line(line)
        };
        let new = new.map_err(|refusal| refusal.to_string().replace("but a copy keeps it", "and ids never change"))?;
        if let Cow::Owned(new) = &new
            && let Some(left) = scan_line(self.finder, &is_secret_source, &mut self.pairing, new).first()
        {
            return Err(format!("it would still have a secret ({})", left.finding.rule));
        }
        Ok(new)
    }
}

impl Scrubber for SecretScrubber<'_> {
    fn begin(&mut self, kind: ScrubbedKind, _path: &Path) {
        if kind != ScrubbedKind::Session && self.report.is_none() {
            self.report = Some(self.current());
        }
    }

    fn line<'l>(&mut self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, String> {
        self.watch.line(line)?;
        quietly(|| self.rewrite(line)).ok_or(FAILED)?
    }

    fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        rewritten(&mut self.rewriter, text)
    }

    fn directory<'t>(&mut self, path: &'t str) -> Cow<'t, str> {
        rewritten(&mut self.headers, path)
    }

    fn drops_note(&mut self, note: &str) -> bool {
        *rewritten(&mut self.headers, note) != *note
    }

    fn audit(&mut self) -> Json {
        let report = self.report();
        let mut rules = ObjectWriter::new();
        for (rule, n_findings) in &report.rules {
            rules.integer(rule, integer(*n_findings));
        }
        let mut out = ObjectWriter::new();
        out.string("level", self.level.word()).integer("rulesVersion", i64::from(RULES_VERSION));
        out.raw("rules", rules.finish().raw());
        if self.level > Level::Secrets {
            out.integer("names", integer(report.names));
        }
        let findings: Vec<Json> = self.findings.iter().take(MAX_LISTED).map(|it| self.audited(it)).collect();
        out.array("findings", findings.iter().map(Json::raw));
        out.finish()
    }
}

impl SecretScrubber<'_> {
    fn audited(&self, finding: &SecretFinding) -> Json {
        let mut out = ObjectWriter::new();
        if let Some(id) = &finding.entry_id {
            out.string("entryId", id);
        }
        // A key on the way to a secret can be a name that goes.
        if self.level == Level::Secrets {
            out.string("pointer", &finding.pointer);
        }
        out.string("rule", &finding.rule).integer("tier", if finding.tier == Tier::Certain { 1 } else { 2 });
        out.string("placeholder", &finding.placeholder).integer("count", integer(finding.occurrences));
        out.finish()
    }
}

fn integer(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn rewritten<'t>(rewriter: &mut Rewriter<'_>, text: &'t str) -> Cow<'t, str> {
    // A text that no rule can read may hold anything.
    let new = quietly(|| rewriter.text(text)).unwrap_or_else(|| "[removed]".to_owned());
    if new == text { Cow::Borrowed(text) } else { Cow::Owned(new) }
}

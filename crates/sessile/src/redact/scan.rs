//! Reports the secrets of sessions, without any value.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_core::head::{Kind, Role};
use sessile_redact::{Finding, Located, Pairing, RunKey, Secret, Tier, Via, is_secret_source, scan_line};

use super::finder::{Finder, Learned};
use super::lines::{Pass, Source, without_bom};
use super::options::{SecretOptions, random_key};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::parallel::each;
use crate::sessions::Sessions;

/// How to scan.
#[derive(Clone, Default)]
pub struct ScanOptions<'o> {
    /// What counts as a secret.
    pub secrets: SecretOptions,
    /// Report only findings of these rules; of all rules if empty.
    pub only_rules: Vec<String>,
    /// Checked before each line.
    pub cancel: Cancel,
    /// Called with the number of bytes done and the total of both passes, from any thread.
    pub on_progress: Option<&'o (dyn Fn(u64, u64) + Sync)>,
}

/// What a scan found. It holds no secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// The scanned files.
    pub sessions: Vec<PathBuf>,
    /// The findings, by file and in the order of lines.
    pub findings: Vec<SecretFinding>,
    /// The size of the files in bytes.
    pub bytes: u64,
    /// How long the scan took.
    pub elapsed: Duration,
    /// The version of the built-in rules.
    pub rules_version: u32,
}

/// A secret in one string of an entry. It holds no part of the value but its public prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFinding {
    /// The file.
    pub session_path: PathBuf,
    /// The line, counted from 1.
    pub line: u64,
    /// The id of the entry, if it has one and the id is not a secret itself.
    pub entry_id: Option<String>,
    /// The type of the line; `None` for a line that is not JSON.
    pub kind: Option<Kind>,
    /// The role of its message.
    pub role: Role,
    /// The JSON pointer of the string.
    pub pointer: String,
    /// The rule that found the value first.
    pub rule: String,
    /// How sure it is.
    pub tier: Tier,
    /// The encoding in which it was found.
    pub via: Option<Via>,
    /// The same for the same value, in all scans of this store.
    pub placeholder: String,
    /// The public prefix and the length of the rest, such as `ghp_…(36)`.
    pub masked: String,
    /// How often it is in the string.
    pub occurrences: usize,
    /// Whether the string is an id or a word of the format, which no copy changes. Such a session cannot be copied.
    pub is_kept: bool,
}

impl SecretFinding {
    /// A finding in a line of a file. Where it is in that line is not known.
    pub(super) fn new(path: &Path, line: u64, key: &RunKey, finding: &Finding) -> Self {
        Self {
            session_path: path.to_path_buf(),
            line,
            entry_id: None,
            kind: None,
            role: Role::None,
            pointer: String::new(),
            placeholder: key.placeholder(&finding.rule, &finding.secret),
            masked: finding.masked(),
            rule: finding.rule.to_string(),
            tier: finding.tier,
            via: finding.via,
            occurrences: 1,
            is_kept: false,
        }
    }
}

impl ScanReport {
    /// The number of findings of a tier.
    pub fn count(&self, tier: Tier) -> usize {
        self.findings.iter().filter(|finding| finding.tier == tier).count()
    }

    /// The number of findings by rule.
    pub fn by_rule(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(finding.rule.as_str()).or_default() += 1;
        }
        counts
    }
}

impl Sessions {
    /// Reports the secrets of sessions. A value that a rule finds in one place is found in all of them.
    ///
    /// Reads every file twice if it has findings, line by line. Changes nothing, and fails if any file cannot be read
    /// completely.
    pub fn scan_secrets(&self, paths: &[PathBuf], options: &ScanOptions<'_>) -> Result<ScanReport, SessionError> {
        let begun = Instant::now();
        let os = self.world.os();
        let key = match self.store_key()? {
            Some(key) => key,
            None => random_key()?,
        };
        let paths: Vec<PathBuf> = paths.iter().map(|path| absolute(self.environment(), path)).collect();
        let bytes: u64 = paths.iter().map(|path| os.stat(path).map_or(0, |stat| stat.length)).sum();
        let n_done = AtomicU64::new(0);
        let on_bytes = |n_bytes: u64| {
            let n_done = n_done.fetch_add(n_bytes, Relaxed) + n_bytes;
            options.on_progress.iter().for_each(|report| report(n_done.min(2 * bytes), 2 * bytes));
        };
        let pass = Pass { cancel: &options.cancel, on_bytes: &on_bytes };
        let first = Finder::new(&options.secrets, Learned::default(), Some(&key))?;
        let learned = each(os, paths.iter().collect(), 1, |path: &PathBuf| {
            let mut learned = Learned::default();
            Source::open(os, path)?.learn(&first, pass, &mut learned)?;
            Ok::<_, SessionError>(learned)
        });
        let mut all = Learned::default();
        for learned in learned {
            all.merge(learned?);
        }
        let mut report = ScanReport { bytes, rules_version: sessile_redact::RULES_VERSION, ..ScanReport::default() };
        if !all.is_empty() {
            let second = Finder::new(&options.secrets, all, Some(&key))?;
            let found = each(os, paths.iter().collect(), 1, |path: &PathBuf| {
                Source::open(os, path)?.findings(path, &second, &key, pass)
            });
            for findings in found {
                report.findings.extend(findings?);
            }
        }
        if !options.only_rules.is_empty() {
            report.findings.retain(|finding| options.only_rules.contains(&finding.rule));
        }
        report.sessions = paths;
        report.elapsed = begun.elapsed();
        Ok(report)
    }
}

impl Sessions {
    /// Reports the certain secrets between two offsets of a file, where lines begin. Lines are counted from `n_before`.
    pub(crate) fn secrets_between(
        &self,
        path: &Path,
        range: (u64, u64),
        n_before: u64,
        secrets: &SecretOptions,
        cancel: &Cancel,
    ) -> Result<Vec<SecretFinding>, SessionError> {
        let key = match self.store_key()? {
            Some(key) => key,
            None => random_key()?,
        };
        let source = Source::open_part(self.world.os(), path, range)?;
        let finder = Finder::new(secrets, Learned::default(), Some(&key))?;
        let mut findings = source.findings(path, &finder, &key, Pass { cancel, on_bytes: &|_| {} })?;
        findings.retain(|finding| finding.tier == Tier::Certain);
        for finding in &mut findings {
            finding.line += n_before;
        }
        Ok(findings)
    }
}

impl Source {
    /// Passes the findings of each line to `take`, with the number of the line.
    pub(super) fn each_finding(
        &self,
        finder: &Finder,
        pass: Pass<'_>,
        take: &mut dyn FnMut(u64, Located),
    ) -> Result<(), SessionError> {
        let mut pairing = Pairing::default();
        self.each_line(pass, &mut |number, line| {
            let located = scan_line(finder, &is_secret_source, &mut pairing, without_bom(number, line));
            for located in located {
                take(number, located);
            }
            Ok(())
        })
    }

    /// Remembers the values in the file.
    pub(super) fn learn(&self, finder: &Finder, pass: Pass<'_>, learned: &mut Learned) -> Result<(), SessionError> {
        self.each_finding(finder, pass, &mut |_, located| learned.learn(&located.finding))
    }

    /// The findings in the file.
    pub(super) fn findings(
        &self,
        path: &Path,
        finder: &Finder,
        key: &RunKey,
        pass: Pass<'_>,
    ) -> Result<Vec<SecretFinding>, SessionError> {
        let mut findings: Vec<SecretFinding> = Vec::new();
        // The findings of the current line, by place and value.
        let mut of_line: HashMap<(String, Secret), usize> = HashMap::new();
        let mut line = 0;
        self.each_finding(finder, pass, &mut |number, located| {
            if number != line {
                of_line.clear();
                line = number;
            }
            let Located { entry_id, kind, role, pointer, is_kept, finding } = located;
            let place = (pointer.clone(), finding.secret.clone());
            if let Some(same) = of_line.get(&place).and_then(|index| findings.get_mut(*index)) {
                same.occurrences += 1;
                return;
            }
            of_line.insert(place, findings.len());
            let found = SecretFinding::new(path, line, key, &finding);
            findings.push(SecretFinding { entry_id, kind, role, pointer, is_kept, ..found });
        })?;
        Ok(findings)
    }
}

//! Tries the rules on a file that need not be a session.

use std::path::Path;
use std::time::Instant;

use sessile_core::json::ObjectWriter;
use sessile_redact::{FindSecrets, Origin, RULES_VERSION, is_secret_source};
use sessile_store::read_whole;

use super::finder::{Finder, Learned};
use super::options::{SecretOptions, random_key};
use super::quiet::quietly;
use super::scan::{ScanReport, SecretFinding};
use crate::directory::absolute;
use crate::error::SessionError;
use crate::redact_error::RedactError;
use crate::sessions::Sessions;

/// The largest file to try.
const MAX_TEXT: u64 = 64 << 20;

impl Sessions {
    /// Scans a file as one text, as if a tool had read it. Each finding has the line on which it begins.
    pub fn test_secrets(&self, path: impl AsRef<Path>, options: &SecretOptions) -> Result<ScanReport, SessionError> {
        let begun = Instant::now();
        let path = absolute(self.environment(), path.as_ref());
        let key = match self.store_key()? {
            Some(key) => key,
            None => random_key()?,
        };
        let bytes = read_whole(self.world.os(), &path, MAX_TEXT)?;
        let text = String::from_utf8_lossy(&bytes);
        let finder = Finder::new(options, Learned::default(), Some(&key))?;
        let arguments = ObjectWriter::new().string("path", &path.to_string_lossy()).finish();
        let is_source = is_secret_source("read", &arguments.to_text());
        let origin = if is_source { Origin::SecretSource } else { Origin::Ordinary };
        let what = "a rule failed on this file; please report this as a bug";
        let found = quietly(|| finder.find_secrets(&text, origin)).ok_or_else(|| RedactError::NotScanned {
            path: path.clone(),
            line: 1,
            what,
        })?;
        let (mut line, mut counted) = (1, 0);
        let mut findings = Vec::with_capacity(found.len());
        for finding in found {
            let before = text.as_bytes().get(counted..finding.range.start).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', before).count() as u64;
            counted = counted.max(finding.range.start);
            findings.push(SecretFinding::new(&path, line, &key, &finding));
        }
        Ok(ScanReport {
            bytes: bytes.len() as u64,
            sessions: vec![path],
            findings,
            elapsed: begun.elapsed(),
            rules_version: RULES_VERSION,
        })
    }
}

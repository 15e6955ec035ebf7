//! Secrets in sessions: finds them, and makes copies without them that can still be resumed.
//!
//! [`Sessions::scan_secrets`](crate::Sessions::scan_secrets) reports what it finds and where, but never a value.
//! [`Sessions::export_redacted`](crate::Sessions::export_redacted) writes a copy of a session at a [`Level`], scans the
//! copy, and publishes it only if nothing was found. [`Sessions::scrub_secrets`](crate::Sessions::scrub_secrets) removes
//! them from a session in place, and from every copy of its lines that Sessile keeps.
//!
//! All read files line by line and fail closed: an error, or a panic in a rule, ends them without a result.
//!
//! ```
//! use sessile::Sessions;
//! use sessile::redact::{RedactOptions, ScanOptions};
//!
//! let sessions = Sessions::in_memory_system();
//! let mut session = sessions.create("/proj")?;
//! session.append_user_message("log in with https://me:kR7-vQ2x9Lw@db.internal/app")?;
//! let path = session.session_file().unwrap().to_path_buf();
//!
//! let report = sessions.scan_secrets(&[path.clone()], &ScanOptions::default())?;
//! assert_eq!(report.findings.len(), 1);
//! sessions.export_redacted(&path, &RedactOptions::default(), "/home/user/copy.jsonl", false)?;
//! assert!(sessions.scan_secrets(&["/home/user/copy.jsonl".into()], &ScanOptions::default())?.findings.is_empty());
//! # Ok::<(), sessile::SessionError>(())
//! ```

mod certain;
mod copy;
mod entries;
mod finder;
mod in_place;
mod known;
mod lines;
mod names;
mod options;
mod outgoing;
mod pending;
mod quiet;
mod scan;
mod scrub_report;
mod scrubber;
mod text;

pub use crate::redact_error::RedactError;
pub(crate) use certain::CertainSecrets;
pub use copy::{RedactOptions, RedactedCopy};
pub use entries::EntryFindings;
pub use options::{SecretOptions, finding_id};
pub use outgoing::{OutgoingText, OutgoingTexts};
pub use scan::{ScanOptions, ScanReport, SecretFinding};
pub use scrub_report::{ScrubbedSecrets, SecretScrub, SecretScrubOptions, SharingSession};
pub use sessile_core::redaction::Redaction;
pub use sessile_redact::{Level, RULES_VERSION, Report, RuleInfo, Secret, Tier, UnknownLevel, Via, Warning, rules};

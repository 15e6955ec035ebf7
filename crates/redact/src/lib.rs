//! Secrets in sessions: finds them, and rewrites lines without them.
//!
//! Everything here is pure: text and lines come in, findings and lines go out. Keys, ids and times are arguments.
//!
//! 1. [`Scanner`] looks at one text. [`scan_line`] looks at all strings of a line and says where each finding is.
//! 2. [`Rewriter`] rewrites lines at a [`Level`]: secrets become placeholders of a [`RunKey`], and names become
//!    pseudonyms of [`Names`]. Signatures that would no longer fit go with what they sign.
//! 3. [`CopyPlan`] and [`CopyWriter`] make a whole copy in two passes over the lines of a session.
//!
//! A value that one rule finds in one place can stand bare in another. To replace it everywhere, scan all files first,
//! pass the values as [`ScanOptions::known`] to a second scanner, and the findings to [`Names::learn`].
//!
//! ```
//! use sessile_core::date::Timestamp;
//! use sessile_redact::{CopyIdentity, CopyPlan, Level, Names, Refusal, Rewriter, RunKey, ScanOptions, Scanner};
//!
//! let session = [
//!     r#"{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/home/alice/x"}"#,
//!     r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"see /home/alice/x/y"}}"#,
//! ];
//! let scanner = Scanner::new(&ScanOptions::default()).unwrap();
//! let (key, mut names) = (RunKey::new(*b"32 random bytes in real programs"), Names::new());
//! let rewriter = Rewriter::new(&scanner, &|_, _| false, &key, Level::Paths, &mut names);
//! let identity = CopyIdentity { session_id: "new".into(), time: Timestamp::from_ms(0), by: "example".into() };
//! let mut plan = CopyPlan::new(rewriter, identity);
//! for line in session {
//!     plan.read(line.as_bytes())?;
//! }
//! let mut writer = plan.finish()?;
//! for line in session {
//!     let copied = writer.line(line.as_bytes())?;
//!     assert!(String::from_utf8_lossy(&copied).contains("/home/user1/p1"));
//! }
//! let last = writer.last_line();
//! assert!(last.starts_with(br#"{"type":"custom","customType":"sessile.redaction""#));
//! # Ok::<(), Refusal>(())
//! ```

mod allowed;
mod blocks;
mod check;
mod commands;
mod context;
mod copy;
mod decode;
mod edits;
mod encoding;
mod engine;
mod finding;
mod hmac;
mod homes;
mod known;
mod level;
mod line;
mod looks;
mod marks;
mod masked;
mod merge;
mod names;
mod ordinary_names;
mod outputs;
mod pairing;
mod picture;
mod pii;
mod place;
mod placeholder;
mod report;
mod rewrite;
mod rules;
mod scan;
mod scanner;
mod shown;
mod signature;
mod skeleton;
mod source;
mod spans;
mod stop;
#[cfg(test)]
mod testing;
mod text;
mod traces;
mod turns;
mod user_rule;

pub use copy::{CopyIdentity, CopyPlan, CopyWriter, MARK_TYPE};
pub use finding::{Finding, Secret, Tier, Via};
pub use level::{Level, UnknownLevel};
pub use names::{NameKind, Names, TooManyNames};
pub use ordinary_names::is_common_name;
pub use pairing::{IsSource, Pairing};
pub use placeholder::RunKey;
pub use report::{Refusal, Report, Warning};
pub use rewrite::Rewriter;
pub use rules::{RULES_VERSION, RuleInfo, rules};
pub use scan::{FindSecrets, Located, scan_line};
pub use scanner::{Origin, ScanOptions, Scanner};
pub use source::is_secret_source;
pub use traces::{Trace, Traces};
pub use user_rule::RuleError;

//! Secrets in sessions: finds them, and rewrites lines without them.
//!
//! Everything here is pure: text and lines come in, findings and lines go out. [`Scanner`] looks at one text.

mod allowed;
mod blocks;
mod commands;
mod copy;
mod edits;
mod finding;
mod hmac;
mod homes;
mod level;
mod line;
mod marks;
mod names;
mod outputs;
mod pairing;
mod picture;
mod pii;
mod place;
mod placeholder;
mod report;
mod rewrite;
mod scan;
mod scanner;
mod signature;
mod skeleton;
mod spans;
#[cfg(test)]
mod testing;
mod text;

pub use copy::{CopyIdentity, CopyPlan, CopyWriter, MARK_TYPE};
pub use finding::{Finding, Secret, Tier, Via};
pub use level::{Level, UnknownLevel};
pub use names::{NameKind, Names, TooManyNames};
pub use pairing::{IsSource, Pairing};
pub use placeholder::RunKey;
pub use report::{Refusal, Report, Warning};
pub use rewrite::Rewriter;
pub use scan::{FindSecrets, Located, scan_line};
pub use scanner::{Origin, RuleError, ScanOptions, Scanner};

//! Secrets in sessions: finds them, and rewrites lines without them.
//!
//! Everything here is pure: text and lines come in, findings and lines go out. [`Scanner`] looks at one text.

mod finding;
mod scanner;

pub use finding::{Finding, Secret, Tier, Via};
pub use scanner::{Origin, RuleError, ScanOptions, Scanner};

//! Secrets in sessions: finds them, and rewrites lines without them.
//!
//! Everything here is pure: text and lines come in, findings and lines go out. [`Scanner`] looks at one text.

mod check;
mod context;
mod decode;
mod encoding;
mod engine;
mod finding;
mod known;
mod looks;
mod masked;
mod merge;
mod rules;
mod scanner;
mod source;
mod stop;
mod user_rule;

pub use finding::{Finding, Secret, Tier, Via};
pub use rules::{RULES_VERSION, RuleInfo, rules};
pub use scanner::{Origin, RuleError, ScanOptions, Scanner};
pub use source::is_secret_source;

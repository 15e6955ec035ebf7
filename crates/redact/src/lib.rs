//! Secrets in sessions: finds them, and rewrites lines without them.
//!
//! Everything here is pure: text and lines come in, findings and lines go out. [`Scanner`] looks at one text.

mod edits;
mod finding;
mod hmac;
mod line;
mod pairing;
mod picture;
mod place;
mod placeholder;
mod scan;
mod scanner;
mod signature;
#[cfg(test)]
mod testing;

pub use finding::{Finding, Secret, Tier, Via};
pub use pairing::{IsSource, Pairing};
pub use placeholder::RunKey;
pub use scan::{FindSecrets, Located, scan_line};
pub use scanner::{Origin, RuleError, ScanOptions, Scanner};

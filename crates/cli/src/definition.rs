//! The manual of this program, for tests of the documentation. Not a public API.

use crate::cli::Cli;
use crate::manual;

/// Returns the lines in all help texts that start with `$ sessile`, without that prefix.
pub fn examples() -> Vec<String> {
    manual::examples(Cli::definition())
}

/// Generates docs/cli.md.
pub fn reference() -> String {
    manual::reference(Cli::definition())
}

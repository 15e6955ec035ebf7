//! Every edge case of the format, in pi and in our library.
//!
//! A test named `row_10_…` covers row 10 of the table of edge cases in the specification of the format. Each test runs
//! its case in the genuine pi and in ours. Where the two should be equal, all views and the written bytes are compared.
//! Where ours is better on purpose, both results are stated, so that a change on either side is noticed.
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]

mod agents;
mod archiving;
mod changing;
mod compaction;
mod context;
mod differential;
mod events;
mod extraction;
mod golden;
mod lines;
mod listing;
mod loading;
mod location;
mod mcp;
mod migration;
mod oracle;
mod real_session;
mod redacting;
mod resuming;
mod rpc;
mod rpc_clients;
mod rpc_flags;
mod rpc_process;
mod rpc_recorded;
mod slimming;
mod tree;
mod writing;

use std::collections::BTreeMap;
use std::path::Path;

/// The rows of the table.
const ROWS: std::ops::RangeInclusive<u32> = 1..=88;

/// Returns the tests of each row, found in the sources of this program.
fn tests_by_row() -> BTreeMap<u32, Vec<String>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut tests: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for file in std::fs::read_dir(directory).unwrap() {
        let source = std::fs::read(file.unwrap().path()).unwrap();
        let source = String::from_utf8(source).unwrap();
        let mut lines = source.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(next) = lines.peek().filter(|_| line.trim() == "#[test]") else { continue };
            let Some(name) = next.trim().strip_prefix("fn ").and_then(|rest| rest.split('(').next()) else { continue };
            let row = name.strip_prefix("row_").and_then(|rest| rest.split('_').next()?.parse().ok());
            if let Some(row) = row {
                tests.entry(row).or_default().push(name.to_owned());
            }
        }
    }
    tests
}

#[test]
fn every_row_has_a_test() {
    let tests = tests_by_row();
    let missing: Vec<u32> = ROWS.filter(|row| !tests.contains_key(row)).collect();
    assert_eq!(missing, [0; 0], "rows without a test");
    let unknown: Vec<_> = tests.iter().filter(|(row, _)| !ROWS.contains(row)).collect();
    assert!(unknown.is_empty(), "tests of rows that the table does not have: {unknown:?}");
}

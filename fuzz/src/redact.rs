//! Redaction of any lines: JSON stays JSON, a second redaction changes nothing, and no finding is left.

use std::sync::LazyLock;

use sessile_core::json::Raw;
use sessile_redact::{
    Level, Names, Pairing, Refusal, Rewriter, RunKey, ScanOptions, Scanner, Secret, is_secret_source, scan_line,
};

/// A value that no rule finds, and that the scanner is told of.
const KNOWN: &str = "Tr0ub4dor";

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let options = ScanOptions { known: vec![Secret::new(KNOWN)], ..ScanOptions::default() };
    Scanner::new(&options).expect("the built-in rules are valid")
});

/// The input is a level, and then the lines of a session.
pub fn check(data: &[u8]) {
    let [level, text @ ..] = data else { return };
    let level = Level::ALL[usize::from(*level) % Level::ALL.len()];
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let copy = match rewritten(&lines, level) {
        Ok(copy) => copy,
        Err(Refusal::SecretKept { .. } | Refusal::TooManyNames(_)) => return,
        Err(other) => panic!("{other}"),
    };
    for (line, copied) in lines.iter().zip(&copy) {
        assert!(!copied.contains(&b'\n'), "a line became two");
        assert_eq!(Raw::parse(line).is_ok(), Raw::parse(copied).is_ok(), "{}", String::from_utf8_lossy(copied));
    }
    let mut pairing = Pairing::default();
    for copied in &copy {
        let found = scan_line(&*SCANNER, &is_secret_source, &mut pairing, copied);
        assert!(found.is_empty(), "{found:?} in {}", String::from_utf8_lossy(copied));
    }
    let again: Vec<&[u8]> = copy.iter().map(Vec::as_slice).collect();
    let again = rewritten(&again, level).expect("a copy is not refused");
    for (copied, again) in copy.iter().zip(&again) {
        assert_eq!(String::from_utf8_lossy(again), String::from_utf8_lossy(copied), "a second redaction");
    }
}

/// Rewrites lines in two passes. The result of the second counts.
fn rewritten(lines: &[&[u8]], level: Level) -> Result<Vec<Vec<u8>>, Refusal> {
    let key = RunKey::new([7; 32]);
    let mut names = Names::new();
    let mut rewriter = Rewriter::new(&*SCANNER, &is_secret_source, &key, level, &mut names);
    for line in lines {
        rewriter.line(line)?;
    }
    lines.iter().map(|line| Ok(rewriter.line(line)?.into_owned())).collect()
}

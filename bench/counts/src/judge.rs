//! Compares the counts of two builds.

use std::path::Path;

use serde_json::Value;
use sessile::format::measure::number_words;

use crate::Failure;
use crate::names::NAMES;

const COUNTS: [&str; 4] = ["instructions", "allocations", "system calls", "bytes read"];

/// Prints the counts of one build.
pub(crate) fn show(head: &Path) -> Result<(), Failure> {
    let head = read(head)?;
    println!("| path | {} |\n|---|---|---|---|---|", COUNTS.join(" | "));
    for name in NAMES {
        let counts = COUNTS.map(|count| number_words(number(&head, name, count).unwrap_or_default()));
        println!("| {name} | {} |", counts.join(" | "));
    }
    Ok(())
}

/// Prints the counts of two builds, and fails if a count has grown by more than some percent.
pub(crate) fn judge(head: &Path, base: &Path, percent: &str) -> Result<(), Failure> {
    let (head, base, percent) = (read(head)?, read(base)?, percent.parse()?);
    println!("| path | {} |\n|---|---|---|---|---|", COUNTS.join(" | "));
    for name in NAMES {
        let cells = COUNTS.map(|count| match (number(&head, name, count), number(&base, name, count)) {
            (Some(head), Some(base)) => format!("{} ({:+.2} %)", number_words(head), growth(head, base)),
            _ => "?".to_owned(),
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
    let grown = grown(&head, &base, percent);
    if grown.is_empty() { Ok(()) } else { Err(grown.join("\n        ").into()) }
}

fn read(file: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(serde_json::from_str(&text)?)
}

fn number(counts: &Value, name: &str, count: &str) -> Option<u64> {
    counts[name][count].as_u64()
}

/// Returns the counts that are missing or have grown by more than some percent, as sentences.
fn grown(head: &Value, base: &Value, percent: f64) -> Vec<String> {
    let mut problems = Vec::new();
    for name in NAMES {
        for count in COUNTS {
            match (number(head, name, count), number(base, name, count)) {
                (Some(head), Some(base)) if growth(head, base) > percent => problems.push(format!(
                    "{name}: {count} grew by {:.2} %, from {} to {}",
                    growth(head, base),
                    number_words(base),
                    number_words(head)
                )),
                (Some(_), Some(_)) => {}
                _ => problems.push(format!("{name}: {count} is missing")),
            }
        }
    }
    problems
}

/// Returns the growth in percent.
#[expect(clippy::cast_precision_loss, reason = "a ratio")]
fn growth(head: u64, base: u64) -> f64 {
    if head == base { 0.0 } else { (head as f64 / base as f64 - 1.0) * 100.0 }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn counts(instructions: u64, n_calls: u64) -> Value {
        let one = json!({ "instructions": instructions, "allocations": 7, "system calls": n_calls, "bytes read": 100 });
        Value::Object(NAMES.iter().map(|name| ((*name).to_owned(), one.clone())).collect::<Map<_, _>>())
    }

    #[test]
    fn growth_fails_with_the_name_of_the_path() {
        let base = counts(1_000_000, 0);
        assert_eq!(grown(&base, &base, 3.0), [""; 0]);
        let mut head = counts(1_029_999, 0);
        assert_eq!(grown(&head, &base, 3.0), [""; 0]);
        head["fork"]["instructions"] = 1_030_001.into();
        assert_eq!(grown(&head, &base, 3.0), ["fork: instructions grew by 3.00 %, from 1,000,000 to 1,030,001"]);
        head["fork"]["instructions"] = 500_000.into();
        head["list"]["bytes read"] = 104.into();
        assert_eq!(grown(&head, &base, 3.0), ["list: bytes read grew by 4.00 %, from 100 to 104"]);
    }

    #[test]
    fn what_was_nothing_may_not_become_something() {
        let mut head = counts(1, 0);
        head["tree"]["system calls"] = 1.into();
        assert_eq!(grown(&head, &counts(1, 0), 3.0), ["tree: system calls grew by inf %, from 0 to 1"]);
    }

    #[test]
    fn a_missing_path_fails() {
        let mut head = counts(1, 0);
        head.as_object_mut().unwrap().remove("open");
        let problems = grown(&head, &counts(1, 0), 3.0);
        assert_eq!((problems.len(), problems[0].as_str()), (4, "open: instructions is missing"));
    }
}

//! Writes the results into the documentation.

use std::path::Path;

use super::report::Report;
use super::{Failure, failed, plot};

/// The name of the part about rows in Node, which can be measured without the others.
const NODE: &str = "bench compare, Node";
const OTHERS: &str = "bench compare";

fn marks(part: &str) -> [String; 2] {
    ["begin", "end"].map(|edge| format!("<!-- {edge}: written by `cargo xtask {part}` -->"))
}

/// Replaces the generated parts of `performance.md` in a folder whose rows were measured, and the picture beside it.
#[expect(clippy::disallowed_methods, reason = "not part of the product")]
pub(super) fn write(folder: &Path, report: &Report) -> Result<(), Failure> {
    let page = folder.join("performance.md");
    let mut text = std::fs::read_to_string(&page).map_err(failed(format_args!("read {}", page.display())))?;
    for (name, is_node) in [(OTHERS, false), (NODE, true)] {
        let Some(table) = report.markdown(|id| id.starts_with("node-") == is_node) else { continue };
        let growth = if is_node { String::new() } else { growth(report) };
        let part = part(report, &table, &growth);
        text = replaced(&text, name, &part).ok_or_else(|| Failure(format!("{} has no marks", page.display())))?;
    }
    std::fs::write(&page, text).map_err(failed(format_args!("write {}", page.display())))?;
    if report.growth.is_empty() {
        return Ok(());
    }
    let picture = folder.join("performance.svg");
    std::fs::write(&picture, plot::svg(&report.growth)).map_err(failed(format_args!("write {}", picture.display())))
}

fn part(report: &Report, table: &str, growth: &str) -> String {
    let answers = if report.all_equal() { "All answers were equal." } else { "**Some answers differed.**" };
    format!("Measured on {}. {answers}\n\n{table}{growth}", report.machine())
}

fn growth(report: &Report) -> String {
    if report.growth.is_empty() { String::new() } else { format!("\n{}", report.growth_markdown()) }
}

fn replaced(text: &str, name: &str, part: &str) -> Option<String> {
    let [begin, end] = marks(name);
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n\n{part}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_marks_is_replaced() {
        let ([begin, end], [other_begin, other_end]) = (marks(OTHERS), marks(NODE));
        let others = format!("{other_begin}\nkept\n{other_end}\n");
        let text = format!("one\n{begin}\nold\n{end}\ntwo\n{others}");
        let once = replaced(&text, OTHERS, "new\n").unwrap();
        assert_eq!(once, format!("one\n{begin}\n\nnew\n\n{end}\ntwo\n{others}"));
        assert_eq!(replaced(&once, OTHERS, "new\n").unwrap(), once);
        assert_eq!(replaced("no marks", OTHERS, "new"), None);
    }
}

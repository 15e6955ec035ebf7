//! Writes the results into the documentation.

use std::path::Path;

use super::report::Report;
use super::{Failure, failed, plot};

const BEGIN: &str = "<!-- begin: written by `cargo xtask bench compare --write-docs docs` -->";
const END: &str = "<!-- end: written by `cargo xtask bench compare` -->";

/// Replaces the generated part of `performance.md` in a folder, and the picture beside it.
#[expect(clippy::disallowed_methods, reason = "not part of the product")]
pub(super) fn write(folder: &Path, report: &Report) -> Result<(), Failure> {
    let page = folder.join("performance.md");
    let text = std::fs::read_to_string(&page).map_err(failed(format_args!("read {}", page.display())))?;
    let text = replaced(&text, &part(report)).ok_or_else(|| Failure(format!("{} has no marks", page.display())))?;
    std::fs::write(&page, text).map_err(failed(format_args!("write {}", page.display())))?;
    if report.growth.is_empty() {
        return Ok(());
    }
    let picture = folder.join("performance.svg");
    std::fs::write(&picture, plot::svg(&report.growth)).map_err(failed(format_args!("write {}", picture.display())))
}

fn part(report: &Report) -> String {
    let answers = if report.all_equal() { "All answers were equal." } else { "**Some answers differed.**" };
    let growth = if report.growth.is_empty() { String::new() } else { format!("\n{}", report.growth_markdown()) };
    format!("Measured on {}. {answers}\n\n{}{growth}", report.machine(), report.markdown())
}

fn replaced(text: &str, part: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{part}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_marks_is_replaced() {
        let text = format!("one\n{BEGIN}\nold\n{END}\ntwo\n");
        let once = replaced(&text, "new\n").unwrap();
        assert_eq!(once, format!("one\n{BEGIN}\n\nnew\n\n{END}\ntwo\n"));
        assert_eq!(replaced(&once, "new\n").unwrap(), once);
        assert_eq!(replaced("no marks", "new"), None);
    }
}

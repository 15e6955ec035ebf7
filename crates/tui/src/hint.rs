//! Lines of hints. A hint that does not fit is left out, never cut.

/// The separator between hints.
const SEPARATOR: &str = " · ";

/// Joins as many hints as fit into `width`, in order, and always the last one.
pub(crate) fn fit(hints: &[String], last: Option<&str>, width: usize) -> String {
    let columns = sessile_display::columns;
    let reserved = last.map_or(0, |last| columns(last) + columns(SEPARATOR));
    let mut line = String::new();
    for hint in hints {
        let separator = if line.is_empty() { "" } else { SEPARATOR };
        if columns(&line) + columns(separator) + columns(hint) + reserved > width {
            break;
        }
        line.push_str(separator);
        line.push_str(hint);
    }
    if let Some(last) = last {
        line.push_str(if line.is_empty() { "" } else { SEPARATOR });
        line.push_str(last);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_that_do_not_fit_are_omitted_except_the_last() {
        let hints = ["enter resume", "tab all", "ctrl+s sort"].map(str::to_owned);
        let line = |width| fit(&hints, Some("f1 keys"), width);
        assert_eq!(line(80), "enter resume · tab all · ctrl+s sort · f1 keys");
        assert_eq!(line(44), "enter resume · tab all · f1 keys");
        assert_eq!(line(32), "enter resume · tab all · f1 keys");
        assert_eq!(line(31), "enter resume · f1 keys");
        assert_eq!(line(8), "f1 keys");
        assert_eq!(fit(&hints, None, 30), "enter resume · tab all");
    }
}

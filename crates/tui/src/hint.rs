//! Lines of hints. A hint that does not fit is left out, never cut.

/// The separator between hints.
const BETWEEN: &str = " · ";

/// Joins as many hints as fit into `width`, in order, and always the last one.
pub(crate) fn fitted(hints: &[String], last: Option<&str>, width: usize) -> String {
    let columns = sessile_display::columns;
    let reserved = last.map_or(0, |last| columns(last) + columns(BETWEEN));
    let mut line = String::new();
    for hint in hints {
        let between = if line.is_empty() { "" } else { BETWEEN };
        if columns(&line) + columns(between) + columns(hint) + reserved > width {
            break;
        }
        line.push_str(between);
        line.push_str(hint);
    }
    if let Some(last) = last {
        line.push_str(if line.is_empty() { "" } else { BETWEEN });
        line.push_str(last);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_and_the_last_one_stays() {
        let hints = ["enter go on", "tab all", "ctrl+s sort"].map(str::to_owned);
        let line = |width| fitted(&hints, Some("f1 keys"), width);
        assert_eq!(line(80), "enter go on · tab all · ctrl+s sort · f1 keys");
        assert_eq!(line(44), "enter go on · tab all · f1 keys");
        assert_eq!(line(31), "enter go on · tab all · f1 keys");
        assert_eq!(line(30), "enter go on · f1 keys");
        assert_eq!(line(8), "f1 keys");
        assert_eq!(fitted(&hints, None, 30), "enter go on · tab all");
    }
}

//! Facts for people: a word and a value.

use std::io;

use anstyle::Style;

use crate::screen::{DIM, Line, PLAIN, Screen, wrapped};

/// The column where values start.
const VALUE: usize = 12;

/// Prints a fact.
pub(crate) fn fact(out: &mut Screen<'_>, label: &str, value: &str) -> io::Result<()> {
    styled_fact(out, label, PLAIN, value)
}

/// Prints a fact in a style. Sentences are wrapped on a narrow terminal; a path is not, so that it can be copied.
pub(crate) fn styled_fact(out: &mut Screen<'_>, label: &str, style: Style, value: &str) -> io::Result<()> {
    let lines = if out.is_terminal() && value.contains(' ') {
        wrapped(value, out.width().saturating_sub(VALUE).max(20))
    } else {
        vec![value.to_owned()]
    };
    for (n_before, line) in lines.iter().enumerate() {
        let label = if n_before == 0 { label } else { "" };
        out.print_whole(&Line::new().styled(DIM, label).pad(VALUE).styled(style, line))?;
    }
    Ok(())
}

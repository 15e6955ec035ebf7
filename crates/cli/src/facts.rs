//! Facts for people: a word and a value.

use std::fmt::Write;
use std::io;

use anstyle::Style;
use sessile::stats::Tally;

use crate::measure::{money, number};
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

/// Describes tokens and cost, leaving out what is zero.
pub(crate) fn usage_facts(tally: &Tally) -> Vec<(&'static str, String)> {
    let tokens = &tally.tokens;
    let mut rows = Vec::new();
    if tokens.total() > 0.0 {
        let sent = tokens.input + tokens.cache_read + tokens.cache_write;
        let mut words = format!("{} in, {} out", number(sent), number(tokens.output));
        if let Some(rate) = tally.cache_hit_rate().filter(|_| tokens.cache_read + tokens.cache_write > 0.0) {
            let (read, written) = (number(tokens.cache_read), number(tokens.cache_write));
            // Writing to a string cannot fail.
            write!(words, "; {read} from the cache ({:.1}%), {written} written to it", rate * 100.0).ok();
        }
        rows.push(("tokens", words));
    }
    if tally.cost > 0.0 {
        rows.push(("cost", money(tally.cost)));
    }
    rows
}

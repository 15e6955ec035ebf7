//! `sessile help`

use clap::Args;
use clap::error::ErrorKind;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::manual;
use crate::screen::{ACCENT, BOLD, Line, Screen, wrapped};

/// Explain a command, the concepts, or the environment variables
///
/// `sessile help concepts` is one page about sessions: tree, leaf, path, branch, fork, compaction, label and context.
/// `sessile help environment` lists the environment variables.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct HelpArgs {
    /// A command, `concepts`, or `environment`
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile help concepts
  $ sessile help environment
  $ sessile help tree";

/// The concepts page, in simple Markdown.
const CONCEPTS: &str = include_str!("../concepts.md");

/// Pages that do not describe a command, by name.
const PAGES: [(&str, &str); 2] = [("concepts", CONCEPTS), ("environment", manual::ENVIRONMENT)];

pub(super) fn run(args: &HelpArgs, definition: fn() -> clap::Command, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    // A page has no parts, so further words are ignored.
    if let Some((_, page)) = PAGES.iter().find(|(name, _)| args.topic.first().is_some_and(|topic| topic == name)) {
        print_page(page, out)?;
        return Ok(Exit::Done);
    }
    let mut command = definition();
    let mut current = &mut command;
    for word in &args.topic {
        let names: Vec<String> = current.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        let Some(subcommand) = current.find_subcommand_mut(word) else {
            let known = names.iter().map(String::as_str).chain(PAGES.map(|(name, _)| name));
            let nearest = sessile::format::nearest::nearest(word, known);
            let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
            let message = format!("there is no command `{word}`{hint}");
            return Err(Failure::misuse(ErrorKind::InvalidSubcommand, message));
        };
        current = subcommand;
    }
    out.print_help(&current.render_long_help())?;
    Ok(Exit::Done)
}

/// Maximum width of a page.
const WIDEST: usize = 80;

fn print_page(page: &str, out: &mut Screen<'_>) -> std::io::Result<()> {
    let width = out.width().min(WIDEST);
    for block in page.trim_end().split("\n\n") {
        if let Some(heading) = block.strip_prefix("# ") {
            out.print(Line::new().styled(BOLD, heading))?;
        } else if block.starts_with("    ") {
            // A drawing is not wrapped.
            for line in block.lines() {
                out.print(Line::new().text(line))?;
            }
        } else {
            print_paragraph(&block.replace('\n', " "), width, out)?;
        }
        out.blank()?;
    }
    Ok(())
}

/// Prints a paragraph with the term that it explains in colour.
fn print_paragraph(text: &str, width: usize, out: &mut Screen<'_>) -> std::io::Result<()> {
    let Some((word, rest)) = text.strip_prefix("**").and_then(|text| text.split_once("**")) else {
        return wrapped(text, width).iter().try_for_each(|line| out.print(Line::new().text(line)));
    };
    for (n_before, line) in wrapped(&format!("{word}{rest}"), width).iter().enumerate() {
        let line = match line.strip_prefix(word).filter(|_| n_before == 0) {
            Some(rest) => Line::new().styled(ACCENT, word).text(rest),
            None => Line::new().text(line),
        };
        out.print(line)?;
    }
    Ok(())
}

//! The definition of the command line as data, for help, manual pages and docs/cli.md.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use crate::args::Cli;

/// Returns the whole definition, with the global options copied into each command.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Returns the root command and every visible command below it, in the order of the help.
pub(crate) fn every_command() -> Vec<Command> {
    let mut found = Vec::new();
    let mut waiting = vec![command()];
    while let Some(command) = waiting.pop() {
        let below: Vec<Command> = command.get_subcommands().filter(|it| !it.is_hide_set()).cloned().collect();
        waiting.extend(below.into_iter().rev());
        found.push(command);
    }
    found
}

/// Returns the lines in all help texts that start with `$ sessile`, without that prefix.
pub fn examples() -> Vec<String> {
    let example = |line: &str| line.trim().strip_prefix("$ sessile").map(|rest| rest.trim().to_owned());
    let helps = every_command().into_iter().filter_map(|command| {
        let after = command.get_after_long_help()?.to_string();
        Some(after.lines().filter_map(example).collect::<Vec<_>>())
    });
    helps.flatten().collect()
}

/// Generates docs/cli.md.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    let commands = every_command();
    for command in commands.iter().skip(1) {
        let name = title(command);
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        // Writing to a string cannot fail.
        writeln!(page, "| [`{name}`](#{}) | {} |", name.replace(' ', "-"), cell(&about)).ok();
    }
    for command in &commands {
        write_command(command, &mut page);
    }
    write!(page, "\n#{ENVIRONMENT}").ok();
    page
}

/// The page about environment variables.
pub(crate) const ENVIRONMENT: &str = include_str!("environment.md");

const INTRODUCTION: &str = "\
# The command line

<!-- Made by `cargo xtask docs` from the definition of the command; edits are lost. -->

`sessile help` prints the same in a terminal, `sessile help concepts` explains the terms,
and `sessile man --dir DIR` writes manual pages.

| command | |
|---|---|
";

fn title(command: &Command) -> String {
    command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned()
}

fn write_command(command: &Command, page: &mut String) {
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    write!(page, "\n## {}\n\n{}\n\n```text\n{usage}\n```\n", title(command), text(&about)).ok();
    let is_shown = |arg: &&Arg| !arg.is_hide_set();
    // Global options are documented once.
    let is_root = command.get_bin_name().is_none_or(|name| name == "sessile");
    let is_own = |arg: &&Arg| is_root || !(arg.is_global_set() || arg.get_id() == "help");
    let args: Vec<&Arg> = command.get_arguments().filter(is_shown).filter(is_own).collect();
    if !args.is_empty() {
        page.push_str("\n| | |\n|---|---|\n");
    }
    for arg in args {
        writeln!(page, "| `{}` | {} |", spelled(arg), meaning(arg)).ok();
    }
    if let Some(after) = command.get_after_long_help() {
        let after = after.to_string();
        let lines = after.trim().strip_prefix("Examples:").unwrap_or(&after).lines();
        let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
        write!(page, "\n```console\n{}\n```\n", lines.join("\n")).ok();
    }
    if let Some(after) = command.get_after_help() {
        write!(page, "\n{}\n", text(&after.to_string())).ok();
    }
}

/// Returns an argument as typed.
fn spelled(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default().join(" ");
    let takes_value = arg.get_action().takes_values() && !values.is_empty();
    if arg.is_positional() {
        let dots = if arg.get_num_args().is_some_and(|range| range.max_values() > 1) { "…" } else { "" };
        return if arg.is_required_set() { format!("{values}{dots}") } else { format!("[{values}{dots}]") };
    }
    let names = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let names = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (takes_value, arg.is_require_equals_set()) {
        (true, true) => format!("{names}[={values}]"),
        (true, false) => format!("{names} {values}"),
        (false, _) => names,
    }
}

/// Describes an argument: its meaning, its possible values and its default.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut meaning = cell(&help);
    let values = arg.get_possible_values();
    let values: Vec<&str> =
        values.iter().filter(|value| !value.is_hide_set()).map(clap::builder::PossibleValue::get_name).collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        write!(meaning, " ({})", values.join(", ")).ok();
    }
    let default: Vec<String> = arg.get_default_values().iter().map(|it| it.to_string_lossy().into_owned()).collect();
    if arg.get_action().takes_values() && !default.is_empty() {
        write!(meaning, "; `{}` by default", default.join(" ")).ok();
    }
    meaning
}

/// Converts text to Markdown. A placeholder in angle brackets is not HTML.
fn text(text: &str) -> String {
    text.trim().replace('<', "\\<")
}

/// Converts text to a Markdown table cell.
fn cell(words: &str) -> String {
    let paragraphs: Vec<String> = text(words).split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    // The first paragraph is a summary without a full stop.
    paragraphs.join(". ").replace("..", ".").replace('|', "\\|")
}

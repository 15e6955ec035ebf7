//! `sessile info`

use clap::Args;
use sessile::details::SessionDetails;
use sessile::format::head::Role;
use sessile::group::ProjectLocation;
use sessile_rpc::answer;

use crate::args::SessionArg;
use crate::clock::Clock;
use crate::data;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::facts::{styled_fact, usage_facts};
use crate::failure::Failure;
use crate::measure::{noun, size_words};
use crate::screen::{BAD, NAMED, PERSON, PLAIN, Screen};

/// Show all details of one session
///
/// Shows its identity and location, message counts and cost, the shape of its tree, its relatives, the size of its
/// context, the programs that use it, and whether its file is intact.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    session: SessionArg,

    /// Print JSON: the fields of `list --json`, and all further details
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  $ sessile info @1
  $ sessile info @4 --json";

pub(super) fn run(
    env: &CommandEnvironment,
    args: &InfoArgs,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let path = env.find(&args.session)?;
    // Opened only to print its warnings.
    drop(env.open(&args.session, err)?);
    let others = env.relatives(&path)?;
    let details = env.sessions.details(&path, &others)?;
    if args.json {
        data::write_value(out.data(), &answer::session_details(&details))?;
    } else {
        print(env, &details, out)?;
    }
    Ok(Exit::Done)
}

fn print(env: &CommandEnvironment, details: &SessionDetails, out: &mut Screen<'_>) -> Result<(), Failure> {
    let mut row = |label: &str, value: &str| {
        styled_fact(out, label, if label == "name" { NAMED } else { PLAIN }, value).map_err(Failure::from)
    };
    let info = &details.info;
    let clock = Clock::new(env);
    if let Some(name) = &info.name {
        row("name", &name.to_str())?;
    }
    if info.is_archived {
        row("archived", "the whole session")?;
    }
    if let Some(redaction) = &details.redaction {
        row("redacted", &redaction.words())?;
    }
    row("file", &env.short(&info.path.to_string_lossy()))?;
    row("id", info.id.as_str())?;
    row("directory", &directory_words(env, details))?;
    let created = info.created.map_or_else(|| "unknown".to_owned(), |created| clock.full(created));
    row("created", &format!("{created}, last active {}", clock.full(info.modified)))?;
    row("size", &format!("{}, version {}", size_words(info.size), details.version.unwrap_or(1.0)))?;
    if let Some(parent) = &info.parent_session_path {
        let missing_note = if details.parent.is_some() { "" } else { " (missing)" };
        row("forked from", &format!("{}{missing_note}", env.short(parent)))?;
    }
    for child in &details.children {
        row("forked into", &env.short(&child.path.to_string_lossy()))?;
    }
    if let Some(original) = details.copies.original_of(&info.path) {
        row("copy of", &env.short(&original.to_string_lossy()))?;
    }
    for copy in details.copies.of(&info.path) {
        row("copied to", &env.short(&copy.to_string_lossy()))?;
    }
    row("entries", &entries_words(details))?;
    row("tree", &tree_words(details))?;
    for (id, label) in &details.labels {
        row("label", &format!("{} at {id}", label.text()))?;
    }
    for id in &details.archived_branches {
        row("archived", &format!("the branch at {id}"))?;
    }
    let models: Vec<String> =
        info.facts.models.iter().map(|model| format!("{}/{}", model.provider, model.model)).collect();
    if !models.is_empty() {
        row("models", &models.join(", "))?;
    }
    for (label, value) in usage_facts(&(&info.facts).into()) {
        row(label, &value)?;
    }
    let estimated = if details.context.usage_tokens > 0.0 { "" } else { ", estimated" };
    row("context", &format!("{} tokens{estimated}", crate::measure::number(details.context.tokens)))?;
    if let Some(writer) = &details.writer {
        row("writer", &format!("process {} on {}", writer.pid, writer.host))?;
    }
    for user in &details.users {
        row("in use", &user.to_string())?;
    }
    if details.is_guarded {
        row("guard", "holds recently written entries")?;
    }
    let n_findings = details.report.findings.iter().filter(|finding| finding.counts()).count();
    let (style, words) = match n_findings {
        0 => (PERSON, "no problems found".to_owned()),
        1 => (BAD, "1 finding; `sessile verify` shows it".to_owned()),
        _ => (BAD, format!("{n_findings} findings; `sessile verify` shows them")),
    };
    Ok(styled_fact(out, "check", style, &words)?)
}

fn directory_words(env: &CommandEnvironment, details: &SessionDetails) -> String {
    let cwd = env.short(&details.info.cwd);
    match (&details.project, &details.git_branch) {
        (ProjectLocation::Repository(_), Some(branch)) => format!("{cwd}, in a repository on {branch}"),
        (ProjectLocation::Repository(_), None) => format!("{cwd}, in a repository"),
        (ProjectLocation::Missing(_), _) => format!("{cwd} (missing)"),
        (ProjectLocation::Unknown, _) => "unknown".to_owned(),
        (ProjectLocation::Directory(_), _) => cwd,
    }
}

fn entries_words(details: &SessionDetails) -> String {
    let facts = &details.info.facts;
    let roles = [(Role::User, "user"), (Role::Assistant, "assistant"), (Role::ToolResult, "tool results")];
    let roles = roles.map(|(role, word)| format!("{} {word}", facts.messages.of(role)));
    let n_messages = facts.messages.total();
    let messages = noun(n_messages, "message", "messages");
    format!("{}, including {n_messages} {messages}: {}", facts.entries, roles.join(", "))
}

fn tree_words(details: &SessionDetails) -> String {
    let shape = &details.shape;
    let leaf = details.leaf.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let branches = if shape.leaves == 1 { "1 branch".to_owned() } else { format!("{} branches", shape.leaves) };
    let compactions = match details.info.facts.compactions {
        0 => String::new(),
        1 => ", 1 compaction".to_owned(),
        count => format!(", {count} compactions"),
    };
    format!(
        "{branches}, {} {} on the path to leaf {leaf}{compactions}",
        shape.active_path,
        noun(shape.active_path, "entry", "entries")
    )
}

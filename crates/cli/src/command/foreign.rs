//! Sessions of other agents: choosing them, importing them, and listing them.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::error::ErrorKind;
use sessile::date::Timestamp;
use sessile::import::{Agent, AgentImportOptions, ForeignFile, ForeignInfo, ImportState, ImportedSession};
use sessile::list::{Copies, SessionInfo};
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{ACCENT, BOLD, DIM, Line, Screen};

/// The agents that sessions can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentArg {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Qwen Code
    Qwen,
    /// Whichever agent wrote the session
    Auto,
}

impl AgentArg {
    /// The agents that it stands for.
    pub(super) fn agents(self) -> &'static [Agent] {
        match self {
            Self::Claude => &[Agent::Claude],
            Self::Codex => &[Agent::Codex],
            Self::Qwen => &[Agent::Qwen],
            Self::Auto => Agent::ALL,
        }
    }

    /// Its name for people.
    fn name(self) -> &'static str {
        match self.agents() {
            [agent] => agent.name(),
            _ => "any agent",
        }
    }
}

/// Which sessions of an agent a command is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'c> {
    pub(super) from: AgentArg,
    /// Files, ids, or `@latest`.
    pub(super) targets: &'c [PathBuf],
    /// Whether sessions of all directories count.
    pub(super) all: bool,
    /// The directory whose sessions count; else the current one.
    pub(super) cwd: Option<&'c Path>,
}

impl Choice<'_> {
    /// The files of the chosen sessions.
    pub(super) fn files(&self, env: &CommandEnvironment) -> Result<Vec<ForeignFile>, Failure> {
        if self.targets.is_empty() {
            return self.of_place(env);
        }
        let mut files = Vec::new();
        for target in self.targets {
            files.push(self.file(env, target)?);
        }
        Ok(files)
    }

    /// The files of the sessions of the chosen directory.
    fn of_place(&self, env: &CommandEnvironment) -> Result<Vec<ForeignFile>, Failure> {
        let agents = self.from.agents();
        if self.all {
            return Ok(env.sessions.foreign_files(agents, None));
        }
        let cwd = env.directory(self.cwd);
        let mut files = Vec::new();
        for file in env.sessions.foreign_files(agents, Some(&cwd)) {
            let info = env.sessions.describe_foreign(&file)?;
            if info.and_then(|info| info.cwd).is_some_and(|found| env.directory(Some(Path::new(&found))) == cwd) {
                files.push(file);
            }
        }
        Ok(files)
    }

    fn file(&self, env: &CommandEnvironment, target: &Path) -> Result<ForeignFile, Failure> {
        let word = target.to_string_lossy();
        let missing = |message: String| Failure::misuse(ErrorKind::ValueValidation, message);
        if word == "@latest" {
            let place = if self.all { String::new() } else { format!(" for {}", env.directory(self.cwd).display()) };
            let hint = if self.all { "" } else { " (--all looks in all directories)" };
            let message = format!("no session of {}{place}{hint}", self.from.name());
            return self.of_place(env)?.into_iter().next().ok_or_else(|| missing(message));
        }
        let path = env.directory(Some(target));
        if let Some(file) = env.sessions.foreign_file(self.from.agents(), &path) {
            return Ok(file);
        }
        let mut found = env.sessions.foreign_files(self.from.agents(), None);
        found.retain(|file| file.id.starts_with(&*word));
        if let Some(exact) = found.iter().position(|file| file.id == word) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            1 => Ok(found.swap_remove(0)),
            0 => Err(missing(format!("no file and no session of {} is called {word}", self.from.name()))),
            n => Err(missing(format!("{word} is the beginning of the ids of {n} sessions of {}", self.from.name()))),
        }
    }
}

/// Imports the chosen sessions, and prints the paths of the results.
pub(super) fn import(
    env: &CommandEnvironment,
    choice: &Choice<'_>,
    options: AgentImportOptions,
    format: ListFormat,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let files = choice.files(env)?;
    let imports = env.sessions.import_foreign(&files, options)?;
    if let Some(layout) = format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        imports.iter().try_for_each(|import| list.push(answer::imported_session(import).raw()))?;
        list.finish()?;
    } else {
        for import in &imports {
            report(import, out, err)?;
        }
        err.print_whole(&Line::new().text(&summary(&imports, options.dry_run)))?;
    }
    Ok(if imports.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// Prints what was done to one session.
fn report(import: &ImportedSession, out: &mut Screen<'_>, err: &mut Screen<'_>) -> std::io::Result<()> {
    for line in &import.damaged {
        warn(err, &format!("{}:{}: {}; the rest is imported", line.path.display(), line.line, line.reason))?;
    }
    if import.state != ImportState::Empty {
        out.print_whole(&Line::new().text(&import.path.to_string_lossy()))?;
    }
    let what = match import.state {
        ImportState::Created => format!("{} entries", import.n_written),
        ImportState::Extended => format!("{} new entries", import.n_written),
        ImportState::Unchanged => "nothing new".to_owned(),
        ImportState::Empty => "no messages".to_owned(),
    };
    let title = import.title.as_deref().unwrap_or(&import.foreign_id);
    let child = if import.is_child { "sub-agent " } else { "" };
    err.print_whole(
        &Line::new()
            .styled(DIM, &format!("  [{}] {child}", import.agent.word()))
            .text(title)
            .styled(DIM, &format!(": {what}")),
    )?;
    let losses: Vec<String> = import.losses.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
    if import.state == ImportState::Created && !losses.is_empty() {
        err.print_whole(&Line::new().styled(DIM, &format!("  not kept: {}", losses.join(", "))))?;
    }
    if !import.follows_agent && import.state == ImportState::Extended {
        err.print_whole(&Line::new().styled(DIM, "  opens where you were; the new entries are another branch"))?;
    }
    Ok(())
}

fn summary(imports: &[ImportedSession], dry_run: bool) -> String {
    let count = |state: ImportState| imports.iter().filter(|import| import.state == state).count();
    let (created, extended) = (count(ImportState::Created), count(ImportState::Extended));
    let unchanged = count(ImportState::Unchanged);
    let would = if dry_run { "would be " } else { "" };
    let sessions = if created == 1 { "session" } else { "sessions" };
    format!("{created} {sessions} {would}imported, {extended} {would}extended, {unchanged} unchanged")
}

/// Lists the chosen sessions without importing them.
pub(super) fn list(
    env: &CommandEnvironment,
    choice: &Choice<'_>,
    format: ListFormat,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let mut found = Vec::new();
    for file in choice.files(env)? {
        found.extend(env.sessions.describe_foreign(&file)?);
    }
    if let Some(layout) = format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        found.iter().try_for_each(|info| list.push(answer::foreign_session(info).raw()))?;
        list.finish()?;
    } else {
        for info in &found {
            out.print(row(env, info))?;
        }
    }
    if found.is_empty() {
        let place = if choice.all { String::new() } else { format!(" for {}", env.directory(choice.cwd).display()) };
        drop(err.print_whole(&Line::new().text(&format!("no sessions of {}{place}", choice.from.name()))));
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

/// Lists sessions of the store, and those of all other agents, the most recently active first.
pub(super) fn list_beside(
    env: &CommandEnvironment,
    sessions: &[SessionInfo],
    all: bool,
    format: ListFormat,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let choice = Choice { from: AgentArg::Auto, targets: &[], all, cwd: None };
    let mut rows: Vec<(Timestamp, Row<'_>)> = sessions.iter().map(|info| (info.modified, Row::Own(info))).collect();
    for file in choice.files(env)? {
        if let Some(info) = env.sessions.describe_foreign(&file)? {
            rows.push((info.ended.unwrap_or(Timestamp::EPOCH), Row::Foreign(Box::new(info))));
        }
    }
    rows.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    if let Some(layout) = format.layout() {
        let copies = Copies::default();
        let mut list = ListWriter::new(out.data(), layout);
        for (_, row) in &rows {
            list.push(
                match row {
                    Row::Own(info) => answer::session_info(info, false, &copies),
                    Row::Foreign(info) => answer::foreign_session(info),
                }
                .raw(),
            )?;
        }
        list.finish()?;
    } else {
        for (_, listed) in &rows {
            out.print(match listed {
                Row::Own(info) => own_row(env, info),
                Row::Foreign(info) => row(env, info),
            })?;
        }
    }
    Ok(if rows.is_empty() { Exit::Nothing } else { Exit::Done })
}

/// A row of the list of all agents.
enum Row<'r> {
    Own(&'r SessionInfo),
    Foreign(Box<ForeignInfo>),
}

/// A session of the store on one line.
fn own_row(env: &CommandEnvironment, info: &SessionInfo) -> Line {
    let id: String = info.id.as_str().chars().take(8).collect();
    let title = info.name.as_ref().unwrap_or(&info.first_message).to_str();
    let cwd = env.short(&info.cwd);
    Line::new()
        .styled(ACCENT, &id)
        .pad(10)
        .styled(DIM, &env.local_time(info.modified))
        .pad(28)
        .styled(BOLD, "[pi] ")
        .text(&title)
        .styled(DIM, &format!("  {} messages  {cwd}", info.message_count))
}

/// A session of another agent on one line.
pub(super) fn row(env: &CommandEnvironment, info: &ForeignInfo) -> Line {
    let time = info.ended.map(|time| env.local_time(time)).unwrap_or_default();
    let title = info.title.as_ref().map(|title| title.text.as_str()).or(info.first_prompt.as_deref());
    let id: String = info.file.id.chars().take(8).collect();
    let cwd = info.cwd.as_deref().map(|cwd| env.short(cwd)).unwrap_or_default();
    Line::new()
        .styled(ACCENT, &id)
        .pad(10)
        .styled(DIM, &time)
        .pad(28)
        .styled(BOLD, &format!("[{}] ", info.file.agent.word()))
        .text(title.unwrap_or_default())
        .styled(DIM, &format!("  {} messages  {cwd}", info.n_messages))
}

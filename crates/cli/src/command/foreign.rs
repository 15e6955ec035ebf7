//! Sessions of other agents: choosing them, importing them, and listing them.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::error::ErrorKind;
use sessile::date::Timestamp;
use sessile::format::cause::chain;
use sessile::import::{
    Agent, AgentImport, AgentImportOptions, ForeignFile, ForeignInfo, ImportChoices, ImportState, ImportedSession,
};
use sessile::list::{Copies, SessionInfo};
use sessile_rpc::answer;

use crate::data::{ListFormat, ListWriter};
use crate::environment::{CommandEnvironment, warn};
use crate::exit::Exit;
use crate::failure::{Failure, report_chain};
use crate::screen::{ACCENT, BAD, BOLD, DIM, Line, Screen};

/// The agents that sessions can come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentArg {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// Copilot CLI
    Copilot,
    /// Gemini CLI
    Gemini,
    /// oh-my-pi
    Omp,
    /// opencode
    Opencode,
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
            Self::Copilot => &[Agent::Copilot],
            Self::Gemini => &[Agent::Gemini],
            Self::Omp => &[Agent::Omp],
            Self::Opencode => &[Agent::Opencode],
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
            return Ok(self.of_place(env));
        }
        let mut files = Vec::new();
        for target in self.targets {
            files.push(self.file(env, target)?);
        }
        Ok(files)
    }

    /// The chosen sessions, with what they say.
    fn infos(&self, env: &CommandEnvironment, err: &mut Screen<'_>) -> Result<Vec<ForeignInfo>, Failure> {
        if self.targets.is_empty() {
            let cwd = env.directory(self.cwd);
            let cwd = if self.all { None } else { Some(cwd.as_path()) };
            let list = env.sessions.list_foreign(self.from.agents(), cwd);
            for error in list.unreadable {
                // A message on standard error is optional; a failed write is ignored.
                drop(warn(err, &chain(&error)));
            }
            return Ok(list.sessions);
        }
        let mut found = Vec::new();
        for file in self.files(env)? {
            found.extend(env.sessions.describe_foreign(&file)?);
        }
        Ok(found)
    }

    /// The files of the sessions of the chosen directory.
    fn of_place(&self, env: &CommandEnvironment) -> Vec<ForeignFile> {
        let agents = self.from.agents();
        if self.all {
            return env.sessions.foreign_files(agents, None);
        }
        let found = env.sessions.list_foreign(agents, Some(&env.directory(self.cwd)));
        found.sessions.into_iter().map(|info| info.file).collect()
    }

    fn file(&self, env: &CommandEnvironment, target: &Path) -> Result<ForeignFile, Failure> {
        let word = target.to_string_lossy();
        let missing = |message: String| {
            let hint = env.sessions.foreign_hint(self.from.agents(), Some(&word));
            let hint = hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
            Failure::misuse(ErrorKind::ValueValidation, message + &hint)
        };
        if word == "@latest" {
            let place = if self.all { String::new() } else { format!(" for {}", env.directory(self.cwd).display()) };
            let hint = if self.all { "" } else { " (--all looks in all directories)" };
            let message = format!("no session of {}{place}{hint}", self.from.name());
            return self.of_place(env).into_iter().next().ok_or_else(|| missing(message));
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
    let dry_run = options.dry_run;
    let AgentImport { sessions: imports, unreadable } = env.sessions.import_foreign(&files, options)?;
    if let Some(layout) = format.layout() {
        let mut list = ListWriter::new(out.data(), layout);
        imports.iter().try_for_each(|import| list.push(answer::imported_session(import).raw()))?;
        list.finish()?;
    } else {
        for import in &imports {
            report(import, out, err)?;
        }
        err.print_whole(&Line::new().text(&summary(&imports, dry_run)))?;
        if imports.is_empty() && unreadable.is_empty() {
            hint(env, choice.from, err);
        }
    }
    let mut exit = if imports.is_empty() { Exit::Nothing } else { Exit::Done };
    for error in unreadable {
        report_chain(&error.into(), err)?;
        exit = Exit::Error;
    }
    for import in imports.iter().filter(|import| import.state == ImportState::Refused) {
        err.print_whole(&Line::new().styled(BAD, "error:").text(" ").text(&refusal(import)))?;
        exit = Exit::Error;
    }
    Ok(exit)
}

/// Why a session was not imported again.
fn refusal(import: &ImportedSession) -> String {
    let ImportChoices { with_context, keep_signatures, model } = &import.choices;
    let mut earlier: Vec<String> = Vec::new();
    earlier.extend(with_context.then(|| "--with-context".to_owned()));
    earlier.extend(keep_signatures.then(|| "--keep-signatures".to_owned()));
    earlier.extend(model.as_ref().map(|model| format!("--model {}", model.text())));
    let earlier = if earlier.is_empty() { "without options".to_owned() } else { format!("with {}", earlier.join(" ")) };
    format!(
        "{} was imported {earlier}, which stays so: leave the options out to add what is new, or delete the session first",
        import.path.display()
    )
}

/// Names the lines that were not imported.
pub(super) fn warn_of_damage(import: &ImportedSession, err: &mut Screen<'_>) -> std::io::Result<()> {
    import.damaged.iter().try_for_each(|line| {
        let rest = if import.state == ImportState::Empty { "" } else { "; the rest is imported" };
        warn(err, &format!("{}:{}: {}{rest}", line.path.display(), line.line, line.reason))
    })
}

/// Prints what was done to one session.
fn report(import: &ImportedSession, out: &mut Screen<'_>, err: &mut Screen<'_>) -> std::io::Result<()> {
    warn_of_damage(import, err)?;
    if !matches!(import.state, ImportState::Empty | ImportState::Refused) {
        out.print_whole(&Line::new().text(&import.path.to_string_lossy()))?;
    }
    let what = match import.state {
        ImportState::Created => format!("{} entries", import.n_written),
        ImportState::Extended => format!("{} new entries", import.n_written),
        ImportState::Unchanged => "nothing new".to_owned(),
        ImportState::Empty => "no messages".to_owned(),
        ImportState::Refused => "not changed".to_owned(),
    };
    let title = import.title.as_deref().unwrap_or(&import.foreign_id);
    let child = if import.is_child { "sub-agent " } else { "" };
    err.print_whole(
        &Line::new()
            .styled(DIM, &format!("  [{}] {child}", import.agent.word()))
            .text(title)
            .styled(DIM, &format!(": {what}")),
    )?;
    let losses: Vec<String> = import.losses.iter().map(|(kind, number)| format!("{kind}: {number}")).collect();
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
    let found = choice.infos(env, err)?;
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
        hint(env, choice.from, err);
        return Ok(Exit::Nothing);
    }
    Ok(Exit::Done)
}

/// Says how to get at sessions that cannot be read.
fn hint(env: &CommandEnvironment, from: AgentArg, err: &mut Screen<'_>) {
    let hint = env.sessions.foreign_hint(from.agents(), None).unwrap_or_default();
    for line in hint.lines() {
        // A message on standard error is optional; a failed write is ignored.
        drop(err.print_whole(&Line::new().text(line)));
    }
}

/// Lists sessions of the store, and those of all other agents, the most recently active first.
pub(super) fn list_beside(
    env: &CommandEnvironment,
    sessions: &[SessionInfo],
    all: bool,
    format: ListFormat,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let choice = Choice { from: AgentArg::Auto, targets: &[], all, cwd: None };
    let mut rows: Vec<(Timestamp, Row<'_>)> = sessions.iter().map(|info| (info.modified, Row::Own(info))).collect();
    for info in choice.infos(env, err)? {
        rows.push((info.ended.unwrap_or(Timestamp::EPOCH), Row::Foreign(Box::new(info))));
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
        let is_opencode = |row: &Row<'_>| matches!(row, Row::Foreign(info) if info.file.agent == Agent::Opencode);
        if !rows.iter().any(|(_, row)| is_opencode(row)) {
            hint(env, AgentArg::Opencode, err);
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

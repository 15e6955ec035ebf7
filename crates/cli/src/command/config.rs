//! `sessile config`

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Subcommand};
use sessile::Environment;
use sessile::os::RealOs;
use sessile::settings::{Edited, Setting, Settings, SettingsError, Value, edit_settings};
use sessile_rpc::answer;

use crate::args::GlobalArgs;
use crate::data::{ListFormat, ListWriter, write_value};
use crate::environment::warn;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::{BOLD, DIM, Line, NAMED, PLAIN, Screen, clean, columns};

/// Show settings and where each comes from, or change them
///
/// A setting comes from a flag, else from an environment variable, else from your config.toml, else (for the location
/// of sessions) from pi's settings files, else from a default.
///
/// The tables summarizer, compaction and tui in the same file configure other parts of Sessile; this command shows
/// their values unchanged.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(
    after_long_help = "Examples:\n  $ sessile config\n  $ sessile config get list.sort\n  $ sessile config set list.sort cost --dry-run\n  $ sessile config path"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    format: ListFormat,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the value of one setting; exits with 1 if it has none
    Get {
        /// The name of the setting, e.g. list.sort
        #[arg(value_name = "KEY")]
        key: String,

        /// Print JSON: an object of key, value and origin
        #[arg(long)]
        json: bool,
    },
    /// Set one setting in your config.toml, leaving the rest of the file unchanged
    Set {
        /// The name of the setting, e.g. list.sort
        #[arg(value_name = "KEY")]
        key: String,

        /// The value; separate several words with commas
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: String,

        #[command(flatten)]
        how: How,
    },
    /// Remove one setting from your config.toml
    Unset {
        /// The name of the setting, e.g. list.sort
        #[arg(value_name = "KEY")]
        key: String,

        #[command(flatten)]
        how: How,
    },
    /// Print the path of your config.toml, whether or not it exists
    Path {
        /// Print JSON: a string
        #[arg(long)]
        json: bool,
    },
}

/// How something is changed.
#[derive(Debug, Args)]
struct How {
    /// Show what would be done without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print JSON: an object of path, key, before and after
    #[arg(long)]
    json: bool,
}

/// Loads the settings for this run, and prints warnings about them. If the command can do without them, an unreadable
/// file causes only a warning.
pub(super) fn load(
    globals: &GlobalArgs,
    must_have_settings: bool,
    environment: &dyn Environment,
    err: &mut Screen<'_>,
) -> Result<Settings, SettingsError> {
    let mut settings = match Settings::load(environment, &RealOs) {
        Ok(settings) => settings,
        // The settings decide where sessions are written, so a command that writes must not run without them.
        Err(error) if must_have_settings => return Err(error),
        Err(error) => {
            drop(warn(err, &format!("{error}; using defaults instead of this file")));
            Settings::without_file(environment, &RealOs)
        }
    };
    for warning in settings.warnings() {
        // A warning that cannot be printed is not an error.
        drop(warn(err, warning));
    }
    // An empty directory counts as not given, as in pi.
    if let Some(dir) = globals.session_dir.as_ref().filter(|dir| !dir.as_os_str().is_empty()) {
        settings = settings.with_flag("session_dir", text(dir), "--session-dir");
    }
    if let Some(color) = globals.color {
        settings = settings.with_flag("color", Value::Text(color.word().to_owned()), "--color");
    }
    if globals.no_pager {
        settings = settings.with_flag("pager", Value::Text(String::new()), "--no-pager");
    }
    Ok(settings)
}

fn text(path: &std::path::Path) -> Value {
    Value::Text(path.to_string_lossy().into_owned())
}

pub(super) fn run(
    globals: &GlobalArgs,
    args: &ConfigArgs,
    environment: &dyn Environment,
    out: &mut Screen<'_>,
    err: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    match &args.action {
        None => {
            let settings = load(globals, false, environment, err)?;
            match args.format.layout() {
                None => print_table(&settings, environment, out)?,
                Some(layout) => {
                    let mut list = ListWriter::new(out.data(), layout);
                    let effective = |setting| settings.effective(setting, environment);
                    settings.iter().try_for_each(|setting| list.push(answer::setting(&effective(setting)).raw()))?;
                    list.finish()?;
                }
            }
            Ok(Exit::Done)
        }
        Some(Action::Get { key, json }) => {
            let settings = load(globals, false, environment, err)?;
            get(&settings.effective(settings.get(key)?, environment), *json, out)
        }
        Some(Action::Set { how, .. } | Action::Unset { how, .. }) if globals.sample.is_some() && !how.dry_run => {
            let message = "settings do not belong to the sample; omit --sample to change them";
            Err(Failure::misuse(ErrorKind::ArgumentConflict, message))
        }
        Some(Action::Set { key, value, how }) => change(environment, key, Some(value), how, out),
        Some(Action::Unset { key, how }) => change(environment, key, None, how, out),
        Some(Action::Path { json }) => {
            let path = Settings::path(environment).ok_or(SettingsError::NoPlace)?;
            if *json {
                write_value(out.data(), &sessile::json::Json::string(&path.to_string_lossy()))?;
            } else {
                out.print_whole(&Line::new().text(&path.to_string_lossy()))?;
            }
            Ok(Exit::Done)
        }
    }
}

fn get(setting: &Setting, json: bool, out: &mut Screen<'_>) -> Result<Exit, Failure> {
    if json {
        write_value(out.data(), &answer::setting(setting))?;
    } else if let Some(value) = &setting.value {
        out.print_whole(&Line::new().text(&value.to_text()))?;
    }
    Ok(if setting.value.is_some() { Exit::Done } else { Exit::Nothing })
}

fn change(
    environment: &dyn Environment,
    key: &str,
    value: Option<&str>,
    how: &How,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    let edited = edit_settings(environment, &RealOs, key, value, how.dry_run)?;
    if how.json {
        write_value(out.data(), &answer::edited_setting(key, &edited))?;
    } else {
        out.print_whole(&edit_line(key, &edited, how.dry_run))?;
    }
    Ok(Exit::Done)
}

/// Describes the change in one line.
fn edit_line(key: &str, edited: &Edited, is_dry_run: bool) -> Line {
    let Edited { path, before, after, .. } = edited;
    let would = if is_dry_run { "would be " } else { "" };
    let is = if is_dry_run { "would be" } else { "is" };
    let (path, was) = (path.display(), before.as_deref().map(|before| format!(", was {before}")).unwrap_or_default());
    let words = match after {
        None if before.is_none() => format!("{key} is not set in {path}; nothing was changed"),
        _ if before == after => format!("{key} is unchanged in {path}"),
        Some(after) => format!("{key} {is} {after} in {path}{was}"),
        None => format!("{key} {would}removed from {path}{was}"),
    };
    Line::new().styled(NAMED, &words)
}

/// Prints all settings for people: name, value and origin.
fn print_table(settings: &Settings, environment: &dyn Environment, out: &mut Screen<'_>) -> std::io::Result<()> {
    let home = environment.home();
    let short = |text: String| match PathBuf::from(&text).strip_prefix(&home) {
        Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
        _ => text,
    };
    let value_text = |setting: &Setting| match &settings.effective(setting, environment).value {
        Some(value) if setting.value.is_some() => (PLAIN, short(value.to_text())),
        Some(value) => (DIM, short(value.to_text())),
        None => (DIM, "(not set)".to_owned()),
    };
    let rows: Vec<(&str, _, String)> = settings
        .iter()
        .map(|setting| (setting.key.as_str(), value_text(setting), short(setting.origin.to_string())))
        .collect();
    let width = |texts: &mut dyn Iterator<Item = &str>| texts.map(|text| columns(&clean(text))).max().unwrap_or(0);
    let key_end = width(&mut rows.iter().map(|row| row.0)) + 2;
    let value_end = key_end + width(&mut rows.iter().map(|row| row.1.1.as_str())).min(40) + 2;
    for (key, (style, value), origin) in rows {
        let line = Line::new().styled(BOLD, key).pad(key_end).styled(style, &value).pad(value_end);
        out.print_whole(&line.styled(DIM, &origin))?;
    }
    Ok(())
}

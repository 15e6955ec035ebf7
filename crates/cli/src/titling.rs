//! Titles by a model, and titles without a command.

use std::path::Path;

use clap::error::ErrorKind;
use sessile::Cancel;
use sessile::settings::AutoTitles;
use sessile::title::Titler;
use sessile_rpc::{AskForTitle, AutoTitler};

use crate::environment::{CommandEnvironment, warn};
use crate::failure::Failure;
use crate::screen::Screen;

/// Returns how to ask a model, by its name, until the user cancels.
#[cfg(feature = "models")]
pub(crate) fn model(env: &CommandEnvironment, name: &str, cancel: Cancel) -> Result<AskForTitle, Failure> {
    let model = crate::summarizing::model(env, name)?;
    Ok(std::sync::Arc::new(move |question| {
        let system = sessile::title::TITLE_INSTRUCTIONS.to_owned();
        let user = format!("<conversation>\n{question}</conversation>");
        let prompt = sessile_summarize::Prompt { system, user, n_left_out: 0 };
        model.answer(&prompt, &mut |_| (), &cancel).map(|answer| answer.text).map_err(|error| error.to_string())
    }))
}

#[cfg(not(feature = "models"))]
pub(crate) fn model(_env: &CommandEnvironment, name: &str, _cancel: Cancel) -> Result<AskForTitle, Failure> {
    let message = format!("cannot use {name}: this program was built without the feature `models`");
    Err(Failure::misuse(ErrorKind::InvalidValue, message))
}

/// Returns what gives titles without a command, if the user wants it.
pub(crate) fn auto_titler(env: &CommandEnvironment) -> Result<Option<AutoTitler>, Failure> {
    match env.settings.auto_titles() {
        AutoTitles::Off => Ok(None),
        AutoTitles::Rule => Ok(Some(AutoTitler::Rule)),
        AutoTitles::Model => {
            let message = "titles.auto is \"model\", but titles.model names none";
            let missing = || Failure::misuse(ErrorKind::InvalidValue, message);
            let name = env.settings.title_model().ok_or_else(missing)?;
            model(env, name, Cancel::default()).map(|ask| Some(AutoTitler::Model(ask)))
        }
    }
}

/// Gives a session a title before another program opens it, if the user wants titles and it is time for one. A session
/// that gets none can be resumed nevertheless.
#[cfg_attr(not(feature = "tui"), expect(dead_code, reason = "only the picker resumes"))]
pub(crate) fn title_if_due(env: &CommandEnvironment, path: &Path, err: &mut Screen<'_>) -> Result<(), Failure> {
    let Some(titler) = auto_titler(env)? else { return Ok(()) };
    let titler = match &titler {
        AutoTitler::Rule => Titler::Rule,
        AutoTitler::Model(ask) => Titler::Model(ask.as_ref()),
    };
    if let Err(error) = env.sessions.title_if_due(path, titler) {
        warn(err, &format!("no title: {error}"))?;
    }
    Ok(())
}

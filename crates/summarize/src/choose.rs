//! Chooses a summarizer from the settings.

use sessile_core::compaction::{Summarizer, SummaryFailure};

use crate::command::Command;
use crate::extractive::Extractive;
use crate::failure::not_configured;
use crate::settings::{Settings, SummarizerKind};

/// Any kind of summarizer; can be used on another thread.
pub type AnySummarizer = Box<dyn Summarizer + Send + Sync>;

/// Returns the summarizer that the settings ask for. `model`, for example from a command-line flag, overrides them.
///
/// `variable` looks up environment variables; provider keys are stored there.
pub fn choose(
    settings: &Settings,
    model: Option<&str>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<AnySummarizer, SummaryFailure> {
    let named = model.or(settings.model.as_deref());
    let by_default = match (named, settings.command.is_empty()) {
        (Some(_), _) => SummarizerKind::Model,
        (None, false) => SummarizerKind::Command,
        (None, true) => SummarizerKind::Extractive,
    };
    let using = if model.is_some() { SummarizerKind::Model } else { settings.using.unwrap_or(by_default) };
    match using {
        SummarizerKind::Extractive => Ok(Box::new(Extractive::default())),
        SummarizerKind::Command => Ok(Box::new(Command::new(&settings.command, settings.retry_policy.total)?)),
        SummarizerKind::Model => {
            let named = named.ok_or_else(|| not_configured("no model is set: summarizer.model is missing"))?;
            the_model(settings, named, variable)
        }
    }
}

#[cfg(feature = "models")]
fn the_model(
    settings: &Settings,
    named: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<AnySummarizer, SummaryFailure> {
    Ok(Box::new(crate::model::Model::new(settings, named, variable)?))
}

#[cfg(not(feature = "models"))]
fn the_model(
    _settings: &Settings,
    named: &str,
    _variable: &dyn Fn(&str) -> Option<String>,
) -> Result<AnySummarizer, SummaryFailure> {
    Err(not_configured(&format!("cannot use {named}: this program was built without the feature `models`")))
}

#[cfg(test)]
mod tests {
    use sessile_core::compaction::Generator;

    use super::*;

    #[test]
    fn settings_choose_the_summarizer() {
        let nothing = Settings::default();
        let with_command = Settings { command: vec!["cat".to_owned()], ..Settings::default() };
        let generator = |settings: &Settings| choose(settings, None, &|_| None).map(|it| it.generator());
        assert_eq!(generator(&nothing).unwrap(), Generator::Extractive);
        assert_eq!(generator(&with_command).unwrap(), Generator::Command);
        let rather_not = Settings { using: Some(SummarizerKind::Extractive), ..with_command };
        assert_eq!(generator(&rather_not).unwrap(), Generator::Extractive);
        let without_model = Settings { using: Some(SummarizerKind::Model), ..nothing };
        assert!(generator(&without_model).unwrap_err().to_string().contains("summarizer.model"));
        let without_command = Settings { using: Some(SummarizerKind::Command), ..Settings::default() };
        assert!(generator(&without_command).unwrap_err().to_string().contains("summarizer.command"));
    }
}

//! Chooses the summarizer, and shows a summary while it is written.

use sessile::Environment;
use sessile::compaction::{Generator, SummaryProgress};
use sessile::settings::{Origin, Settings, SettingsError, Value};
use sessile_rpc::answer;
use sessile_summarize::{AnySummarizer, choose};

use crate::environment::CommandEnvironment;
use crate::failure::Failure;
use crate::screen::{DIM, Line, Screen};

/// The settings table of the summarizer.
const TABLE: &str = "summarizer";

impl CommandEnvironment {
    /// Returns the summarizer: the given model, else the one in the user's settings, else the rule.
    pub(crate) fn summarizer(&self, model: Option<&str>) -> Result<AnySummarizer, Failure> {
        summarizer(&self.settings, self.own_environment(), model)
    }
}

/// Returns the summarizer for the given settings.
pub(crate) fn summarizer(
    settings: &Settings,
    environment: &dyn Environment,
    model: Option<&str>,
) -> Result<AnySummarizer, Failure> {
    let summarizer_settings = summarizer_settings(settings)?;
    choose(&summarizer_settings, model, &|name| environment.variable(name)).map_err(Failure::NoSummarizer)
}

/// Returns the model of this name, with the other settings of the summarizer.
#[cfg(feature = "models")]
pub(crate) fn model(env: &CommandEnvironment, name: &str) -> Result<sessile_summarize::Model, Failure> {
    let variable = |name: &str| env.own_environment().variable(name);
    sessile_summarize::Model::new(&summarizer_settings(&env.settings)?, name, &variable).map_err(Failure::NoSummarizer)
}

fn summarizer_settings(settings: &Settings) -> Result<sessile_summarize::Settings, Failure> {
    let set = settings.table(TABLE).filter_map(|setting| match &setting.value {
        Some(Value::Other(value)) => Some((setting.key.as_str(), value.raw())),
        _ => None,
    });
    sessile_summarize::Settings::read(set).map_err(|error| bad_setting(settings, &error))
}

/// Adds the position in the settings file to an error.
fn bad_setting(settings: &Settings, error: &sessile_summarize::SettingsError) -> Failure {
    let setting = settings.table(TABLE).find(|setting| setting.key == error.key);
    let (path, line) = match setting.map(|setting| &setting.origin) {
        Some(Origin::File { path, line }) => (path.clone(), line.unwrap_or(1)),
        _ => Default::default(),
    };
    let found = setting
        .and_then(|setting| setting.value.as_ref())
        .map(|value| answer::setting_value(value).to_text().into_owned());
    let (key, expected) = (error.key.clone(), error.expected.to_owned());
    SettingsError::BadValue { path, line, key, expected, found: found.unwrap_or_default() }.into()
}

/// Shows a summary while it is written.
///
/// Complete lines stay; the line in progress is replaced as it grows.
pub(crate) struct SummaryDisplay<'t, 's> {
    err: &'t mut Screen<'s>,
    line: String,
    is_shown: bool,
}

impl<'t, 's> SummaryDisplay<'t, 's> {
    /// Announces the summarizer, unless it takes no time.
    pub(crate) fn begin(generator: Generator, err: &'t mut Screen<'s>) -> Self {
        let mut display = Self { err, line: String::new(), is_shown: false };
        match generator {
            Generator::Extractive => {}
            Generator::Model => display.flash("the model is reading"),
            Generator::Command => display.flash("the command is running"),
        }
        display
    }

    pub(crate) fn report(&mut self, progress: SummaryProgress<'_>) {
        match progress {
            SummaryProgress::Text(text) => self.add(text),
            SummaryProgress::Waiting { attempt, max_attempts, delay_ms, reason } => {
                self.end_line();
                let seconds = delay_ms.div_ceil(1000);
                // Printed even without a terminal, because a log should show why it took so long.
                let words = format!("{reason}; trying again in {seconds} s ({attempt} of {max_attempts})");
                self.clear();
                drop(self.err.print_whole(&Line::new().styled(DIM, &words)));
            }
            SummaryProgress::Attempt => self.flash("the model is reading again"),
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        if !self.err.is_terminal() {
            return;
        }
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece.trim_end_matches('\n'));
            if piece.ends_with('\n') {
                self.end_line();
            }
        }
        let line = self.line.clone();
        self.flash(&line);
    }

    /// Prints the line in progress permanently.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if self.err.is_terminal() && !line.is_empty() {
            self.clear();
            drop(self.err.print_whole(&Line::new().styled(DIM, &line)));
        }
    }

    /// Shows a temporary text. A failed write is ignored.
    fn flash(&mut self, text: &str) {
        if self.err.is_terminal() {
            // Of a long line, the end is new.
            let width = self.err.width().saturating_sub(1);
            let n_skipped = text.chars().count().saturating_sub(width);
            let end: String = text.chars().skip(n_skipped).collect();
            self.is_shown |= self.err.flash(Line::new().styled(DIM, &end)).is_ok();
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            drop(self.err.flash(Line::new()));
        }
    }

    pub(crate) fn end(mut self) {
        self.end_line();
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Color;
    use crate::stream::Stream;

    fn displayed(terminal_width: Option<usize>, generator: Generator, progress: &[SummaryProgress<'_>]) -> String {
        let mut bytes = Vec::new();
        let stream = Stream { writer: &mut bytes, terminal_width, terminal_height: None, takes_color: false };
        let mut screen = Screen::new(stream, Color::Never);
        let mut display = SummaryDisplay::begin(generator, &mut screen);
        for progress in progress {
            display.report(*progress);
        }
        display.end();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn complete_lines_stay_and_escape_sequences_are_shown() {
        let pieces = ["## Go", "al\nMove \u{1b}[2J", " it", "\nlast"].map(SummaryProgress::Text);
        let output = displayed(Some(40), Generator::Model, &pieces);
        for line in ["## Goal\n", "Move ␛[2J it\n", "last\n"] {
            assert!(output.contains(line), "{output:?}");
        }
        assert!(!output.contains("\u{1b}[2J"), "{output:?}");
        assert_eq!(displayed(None, Generator::Model, &pieces), "");
    }

    #[test]
    fn waiting_is_reported_without_a_terminal_too() {
        let waiting = SummaryProgress::Waiting { attempt: 1, max_attempts: 3, delay_ms: 1500, reason: "status 429" };
        assert_eq!(displayed(None, Generator::Model, &[waiting]), "status 429; trying again in 2 s (1 of 3)\n");
        assert_eq!(displayed(Some(80), Generator::Extractive, &[]), "");
    }
}

//! The entry to the terminal UI, if this program was built with it.

#[cfg(feature = "tui")]
mod with {
    use std::io::IsTerminal;
    use std::sync::Arc;

    use sessile::os::RealOs;
    use sessile::settings::Settings;
    use sessile_tui::{BranchSummarizer, TuiError, Ui};

    use crate::environment::{CommandEnvironment, warn};
    use crate::failure::Failure;
    use crate::screen::Screen;
    use crate::summarizing::summarizer;

    /// Whether input and output are terminals.
    pub(crate) fn is_possible(out: &Screen<'_>) -> bool {
        out.is_terminal() && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
    }

    /// Creates a UI for the sessions of this environment.
    pub(crate) fn ui(env: &CommandEnvironment, out: &Screen<'_>, err: &mut Screen<'_>) -> Ui {
        let sessions = env.sessions.clone();
        let ui = Ui::new(sessions, env.shared_environment(), env.cwd(), &env.settings);
        for warning in ui.warnings() {
            // A warning that cannot be printed is not an error.
            drop(warn(err, warning));
        }
        let default = Settings::pi_tree_filter(env.own_environment(), &RealOs);
        let ui = ui.with_default_filter(default.as_deref());
        let settings = env.settings.clone();
        let environment = env.shared_environment();
        let ui = ui.with_summarizer(Arc::new(move || {
            let environment = environment.as_ref();
            let chosen = summarizer(&settings, environment, None).map_err(|failure| failure.words())?;
            let room = settings.branch_summary(environment, &RealOs).map_err(|error| Failure::from(error).words())?;
            Ok(BranchSummarizer { summarizer: chosen, settings: room })
        }));
        if out.is_painted() { ui } else { ui.without_colour() }
    }

    impl From<TuiError> for Failure {
        fn from(error: TuiError) -> Self {
            Self::Ui(Box::new(error))
        }
    }
}

#[cfg(feature = "tui")]
pub(crate) use with::{is_possible, ui};

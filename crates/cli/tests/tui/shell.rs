//! The shell function and key binding, in real shells.

use std::path::Path;

use super::hooks::session;
use super::{Home, Terminal};

/// A shell without user settings.
struct Shell {
    program: &'static str,
    args: &'static [&'static str],
    /// The command that sets its prompt to `ready>`, if its arguments do not.
    prompt: &'static str,
    /// The line that the documentation says to run in it.
    init: &'static str,
}

const BASH: Shell = Shell {
    program: "bash",
    args: &["--noprofile", "--norc", "-i"],
    prompt: "PS1='ready> '",
    init: "eval \"$(sessile resume --init bash)\"",
};

const ZSH: Shell = Shell {
    program: "zsh",
    args: &["-f", "-i"],
    prompt: "PS1='ready> '",
    init: "eval \"$(sessile resume --init zsh)\"",
};

const FISH: Shell = Shell {
    program: "fish",
    args: &["--no-config", "-i", "-C", "function fish_prompt; echo -n 'ready> '; end"],
    prompt: "true",
    init: "sessile resume --init fish | source",
};

impl Shell {
    /// Returns whether it is installed.
    fn is_here(&self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(self.program).is_file())
    }

    fn picks_sessions_and_inserts_paths_at_the_cursor(&self) {
        let home = Home::new();
        let path = session(&home);
        let program = Path::new(env!("CARGO_BIN_EXE_sessile"));
        // The same environment, but for a shell.
        let variables = home.program(&[]);
        let variables = variables.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
        let mut command = std::process::Command::new(self.program);
        let folder = program.parent().unwrap().display().to_string();
        let paths = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        command.args(self.args).env_clear().envs(variables).env("PATH", paths);
        command.env("PI_CODING_AGENT_SESSION_DIR", Path::new(&path).parent().unwrap()).current_dir(home.path());
        let terminal = Terminal::run(command.into(), 130, 30);
        let is_ready =
            |it: &Terminal| it.text().trim_end().lines().last().is_some_and(|line| line.trim_end() == "ready>");
        terminal.press(&format!("{}\r", self.prompt));
        terminal.wait("the shell", is_ready);
        terminal.press(&format!("{}\r", self.init));
        terminal.wait("the shell again", |it| it.text().contains("--init") && is_ready(it));
        terminal.press("sr --all\r");
        terminal.wait("the picker", |it| it.selected_row().contains("High water"));
        terminal.press("enter");
        terminal.wait("the command", |it| it.text().contains(&format!("going on with {path}")) && is_ready(it));
        terminal.press("echo found=");
        terminal.press("ctrl+x");
        terminal.press("s");
        terminal.wait("the picker", |it| it.selected_row().contains("High water"));
        terminal.press("enter");
        terminal.wait("the path", |it| it.text().replace('\n', "").contains(&format!("echo found={path}")));
        terminal.press("ctrl+c");
    }
}

#[test]
fn bash_picks_sessions_and_inserts_paths_at_the_cursor() {
    BASH.picks_sessions_and_inserts_paths_at_the_cursor();
}

/// `cargo xtask test` installs them where it can.
#[test]
fn zsh_and_fish_pick_sessions_and_insert_paths_at_the_cursor() {
    for shell in [ZSH, FISH].iter().filter(|shell| shell.is_here()) {
        shell.picks_sessions_and_inserts_paths_at_the_cursor();
    }
}

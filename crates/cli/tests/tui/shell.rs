//! The function and the key that shells get, in a real bash.

use std::path::Path;

use super::hooks::session;
use super::{Home, Terminal};

#[test]
fn a_shell_picks_sessions_and_puts_paths_where_the_cursor_is() {
    let home = Home::new();
    let path = session(&home);
    let program = Path::new(env!("CARGO_BIN_EXE_sessile"));
    // The same surroundings, but a shell in them.
    let variables = home.program(&[]);
    let variables = variables.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    let mut command = std::process::Command::new("bash");
    let folder = program.parent().unwrap().display().to_string();
    let paths = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    command.args(["--noprofile", "--norc", "-i"]).env_clear().envs(variables).env("PATH", paths).env("PS1", "ready> ");
    command.env("PI_CODING_AGENT_SESSION_DIR", Path::new(&path).parent().unwrap()).current_dir(home.path());
    let terminal = Terminal::run(command.into(), 130, 30);
    let is_ready = |it: &Terminal| it.text().trim_end().lines().last().is_some_and(|line| line.trim_end() == "ready>");
    terminal.wait("the shell", is_ready);
    terminal.press("eval \"$(sessile resume --init bash)\"\r");
    terminal.wait("the shell again", |it| it.text().contains("--init") && is_ready(it));
    terminal.press("sr --all\r");
    terminal.wait("the picker", |it| it.chosen().contains("High water"));
    terminal.press("enter");
    terminal.wait("the command", |it| it.text().contains(&format!("going on with {path}")) && is_ready(it));
    terminal.press("echo found=");
    terminal.press("ctrl+x");
    terminal.press("s");
    terminal.wait("the picker", |it| it.chosen().contains("High water"));
    terminal.press("enter");
    terminal.wait("the path", |it| it.text().contains(&format!("echo found={path}")));
    terminal.press("ctrl+c");
}

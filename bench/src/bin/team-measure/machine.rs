//! A machine of a member.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use sessile::sync::remote::local_server::Running;

/// A machine with directories of its own that runs the program.
pub(crate) struct Machine {
    home: PathBuf,
    pub(crate) agent: PathBuf,
}

impl Machine {
    pub(crate) fn new(dir: &Path, name: &str, member: &str, running: &Running) -> Self {
        let home = dir.join(name);
        std::fs::create_dir_all(&home).unwrap();
        drop(running.member(member).unwrap());
        let machine = Self { agent: home.join("agent"), home };
        let password = running.password_file().to_string_lossy().into_owned();
        machine.run(&["remote", "add", "team", &running.url(member), "--password-file", &password]);
        machine
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let me = std::env::current_exe().unwrap();
        let mut command = Command::new(me.with_file_name("sessile"));
        command.args(words).current_dir(&self.home).env("HOME", &self.home).env("PI_CODING_AGENT_DIR", &self.agent);
        for (variable, folder) in
            [("SESSILE_STATE_DIR", "state"), ("SESSILE_CACHE_DIR", "cache"), ("SESSILE_CONFIG_DIR", "config")]
        {
            command.env(variable, self.home.join(folder));
        }
        command
    }

    /// Runs a command and returns its time and output.
    pub(crate) fn run(&self, words: &[&str]) -> (Duration, String) {
        let begin = Instant::now();
        let output = self.command(words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {errors}");
        (begin.elapsed(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The least time of some runs.
    pub(crate) fn best(&self, words: &[&str]) -> Duration {
        (0..7).map(|_| self.run(words).0).min().unwrap()
    }
}

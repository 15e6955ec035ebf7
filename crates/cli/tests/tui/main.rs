//! The screens in a real terminal: every key of every screen.
#![expect(clippy::disallowed_methods, reason = "tests access files directly")]
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]
#![cfg(unix)]

mod figures;
mod hooks;
mod keys;
mod lines;
mod mishaps;
mod pictures;
mod shell;
#[cfg(feature = "remote")]
mod team;
mod terminal;

use std::path::{Path, PathBuf};

use pty_process::blocking::Command;
use terminal::Terminal;

/// A made-up store, settings and a directory for notes, all in a separate directory.
struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("config")).unwrap();
        std::fs::write(
            dir.path().join("config/config.toml"),
            "[resume]\ncommand = \"echo going on with {path}\"\n[tui]\ntheme = \"dark\"\n",
        )
        .unwrap();
        Self { dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn sample(&self) -> PathBuf {
        self.path().join("sample")
    }

    fn command(&self, args: &[&str]) -> Command {
        self.plain(args).into()
    }

    /// Returns the command that runs the program on the sample, not yet in a terminal.
    fn plain(&self, args: &[&str]) -> std::process::Command {
        let mut all_args = vec![format!("--sample={}", self.sample().display())];
        all_args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self.program(&all_args)
    }

    /// Returns the command without the sample.
    fn bare(&self, args: &[String]) -> Command {
        self.program(args).into()
    }

    fn program(&self, args: &[String]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sessile"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("SESSILE_CONFIG_DIR", self.path().join("config"))
            .env("SESSILE_STATE_DIR", self.path().join("state"))
            .env("SESSILE_CACHE_DIR", self.path().join("cache"))
            .env("EDITOR", "echo edited")
            .env("TZ", "UTC")
            .current_dir(self.path());
        command
    }

    fn run(&self, args: &[&str]) -> Terminal {
        Terminal::run(self.command(args), 130, 30)
    }
}

//! The home that all programs of a soak share, on a small file system if the machine permits that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::Plan;
use crate::oracle::{node_command, oracle_dir};
use crate::torture::processes::Mount;

/// Where Debian has the library that shifts the clock of a process.
const CLOCK_SHIFTERS: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"];

/// Directories, and how to start programs in them.
pub(super) struct Home {
    /// The home directory of all programs.
    pub(super) root: PathBuf,
    /// What is not on the small disk: logs, the shifted time.
    pub(super) outside: PathBuf,
    sessile: PathBuf,
    clock_shifter: Option<&'static str>,
    /// The small disk; `None` if this process may not mount.
    disk: Option<Mount>,
}

impl Home {
    /// Creates the directories below `scratch`. Returns what the machine does not support, too.
    pub(super) fn create(plan: &Plan, scratch: &Path, model_port: u16) -> (Self, Vec<String>) {
        let mut skipped = Vec::new();
        let disk = Mount::image(&scratch.join("disk"), "ext4", plan.disk_megabytes, &["-m", "0"])
            .map_err(|why| skipped.push(format!("full disks: {}", why.0)))
            .ok();
        let clock_shifter = CLOCK_SHIFTERS.into_iter().find(|path| Path::new(path).exists());
        if clock_shifter.is_none() {
            skipped.push("clock jumps: the Debian package faketime is not installed".to_owned());
        }
        let root = disk.as_ref().map_or_else(|| scratch.join("disk"), |disk| disk.root.clone()).join("home");
        let outside = scratch.join("outside");
        for directory in ["proj", "agents", "tmp", ".pi/agent"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("clock"), "+0\n").unwrap();
        let model = json!({
            "id": "mock-1", "contextWindow": 200_000, "maxTokens": 4096,
            "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        });
        let provider = json!({
            "baseUrl": format!("http://127.0.0.1:{model_port}/v1"), "apiKey": "k", "api": "openai-completions",
            "models": [model],
        });
        fs::write(root.join(".pi/agent/models.json"), json!({"providers": {"mock": provider}}).to_string()).unwrap();
        (Self { root, outside, sessile: plan.sessile.clone(), clock_shifter, disk }, skipped)
    }

    /// Whether the disk can be filled.
    pub(super) fn has_own_disk(&self) -> bool {
        self.disk.is_some()
    }

    pub(super) fn can_shift_clocks(&self) -> bool {
        self.clock_shifter.is_some()
    }

    /// Sets the clock of all processes that [`shifted`](Self::shifted) started.
    pub(super) fn set_clock(&self, seconds: i64) {
        // A rename, so that no process reads half of it.
        let (new, path) = (self.outside.join("clock.new"), self.outside.join("clock"));
        fs::write(&new, format!("{seconds:+}\n")).and_then(|()| fs::rename(&new, &path)).unwrap();
    }

    /// Returns a command line of Sessile in the directory of the sessions.
    pub(super) fn sessile(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.sessile);
        command.args(args);
        self.at_home(&mut command, "proj");
        command
    }

    /// Returns such a command that ends when the thread that started it ends, for programs that do not read their input.
    pub(super) fn guarded(&self, args: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.sessile).args(args);
        self.at_home(&mut command, "proj");
        command
    }

    /// Returns such a command with a clock that jumps.
    pub(super) fn shifted(&self, args: &[&str]) -> Command {
        let mut command = self.sessile(args);
        if let Some(library) = self.clock_shifter {
            command
                .env("LD_PRELOAD", library)
                .env("FAKETIME_TIMESTAMP_FILE", self.outside.join("clock"))
                .env("FAKETIME_CACHE_DURATION", "1")
                // Timeouts use the monotonic clock, which does not jump on a real machine, and files get the kernel's time.
                .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                .env("NO_FAKE_STAT", "1");
        }
        command
    }

    /// Returns the genuine pi on its own engine.
    pub(super) fn pi(&self, args: &[&str]) -> Command {
        let mut command = node_command();
        command.arg(oracle_dir().join("pi/dist/bundle/cli.js")).args(args);
        self.at_home(&mut command, "agents");
        command
    }

    /// Returns the genuine pi on our engine.
    pub(super) fn pi_on_ours(&self, package: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.sessile);
        command.arg("pi").args(args);
        self.at_home(&mut command, "agents");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(oracle_dir().to_path_buf()).chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(dirs).unwrap())
            .env("SESSILE_PI", oracle_dir().join("pi"))
            .env("SESSILE_NODE_PACKAGE", package);
        command
    }

    fn at_home(&self, command: &mut Command, directory: &str) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("TMPDIR", self.root.join("tmp"))
            .env("TZ", "UTC")
            .env("PI_OFFLINE", "1")
            .env("PI_SKIP_VERSION_CHECK", "1")
            .env("SESSILE_TERMINAL", "")
            .current_dir(self.root.join(directory))
            .stdin(Stdio::null());
    }
}

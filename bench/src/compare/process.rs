//! Contestants as processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::{Failure, failed, package};
use crate::digest::digest_of;

/// The result of one turn of a contestant.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) ms: f64,
    pub(super) peak_kb: u64,
    /// A digest of the answer, if there is one to compare.
    pub(super) answer: Option<String>,
    /// All other reported values.
    pub(super) figures: Value,
}

impl Sample {
    /// Sets an answer that was obtained in another way.
    pub(super) fn answering(self, answer: impl Into<String>) -> Self {
        Self { answer: Some(answer.into()), ..self }
    }

    /// Returns the file that was created.
    pub(super) fn file(&self) -> Result<PathBuf, Failure> {
        let file = self.figures["file"].as_str().ok_or_else(|| Failure("a contestant printed no file".to_owned()))?;
        Ok(file.into())
    }
}

/// The programs that take part.
#[derive(Debug)]
pub(super) struct Tools {
    /// The folder with our own programs, all built with the same settings.
    programs: PathBuf,
    oracle: PathBuf,
    script: PathBuf,
    node_script: PathBuf,
    /// The npm package with the native part that was built with the other programs.
    package: PathBuf,
    scratch: PathBuf,
}

impl Tools {
    pub(super) fn find(scratch: &Path) -> Result<Self, Failure> {
        let me = std::env::current_exe().map_err(failed("find our own programs"))?;
        let programs = me.parent().unwrap_or(Path::new(".")).to_path_buf();
        for program in ["sessile", "ours", "limit", "measured", "screen", "client"] {
            if !programs.join(program).is_file() {
                return Err(Failure(format!("{program} is not built; run this by `cargo xtask bench compare`")));
            }
        }
        #[expect(clippy::disallowed_methods, reason = "not part of the product")]
        let oracle = std::env::var_os("SESSILE_ORACLE_DIR").map(PathBuf::from);
        let oracle =
            oracle.ok_or_else(|| Failure("pi is missing; run this by `cargo xtask bench compare`".to_owned()))?;
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = scratch.join("package");
        package::stage(&here.join(package::SOURCE), &programs, &package)?;
        let (script, node_script) = (here.join("pi.mjs"), here.join("node.mjs"));
        Ok(Self { programs, oracle, script, node_script, package, scratch: scratch.to_path_buf() })
    }

    /// A job that runs `sessile` with this cache directory.
    pub(super) fn sessile(&self, cache: &Path) -> Job<'_> {
        self.job(self.programs.join("sessile")).env("SESSILE_CACHE_DIR", cache)
    }

    /// A job that runs `sessile` with this cache directory in a terminal, until one of some texts is visible.
    pub(super) fn screen(&self, cache: &Path, texts: &str) -> Job<'_> {
        let job = self.job(self.programs.join("screen")).env("SESSILE_CACHE_DIR", cache);
        job.arg(texts).arg(self.programs.join("sessile"))
    }

    /// A job that runs one operation of the library with this cache directory.
    pub(super) fn ours(&self, cache: &Path) -> Job<'_> {
        self.job(self.programs.join("ours")).env("SESSILE_CACHE_DIR", cache)
    }

    /// A job that runs one operation of pi.
    pub(super) fn pi(&self) -> Job<'_> {
        self.job(self.oracle.join("node")).arg(&self.script).env("SESSILE_ORACLE_DIR", &self.oracle)
    }

    /// A job that runs one operation of pi's class in Node.
    pub(super) fn pi_in_node(&self) -> Job<'_> {
        self.node().arg("pi")
    }

    /// A job that runs one operation of our class in Node with this cache directory.
    pub(super) fn ours_in_node(&self, cache: &Path) -> Job<'_> {
        self.node().arg(&self.package).env("SESSILE_CACHE_DIR", cache)
    }

    fn node(&self) -> Job<'_> {
        self.job(self.oracle.join("node")).arg(&self.node_script).env("SESSILE_ORACLE_DIR", &self.oracle)
    }

    /// A job that runs the client for JSON lines with this cache directory.
    pub(super) fn client(&self, cache: &Path) -> Job<'_> {
        self.job(self.programs.join("client")).env("SESSILE_CACHE_DIR", cache)
    }

    /// Returns the command line of our server.
    pub(super) fn our_server(&self) -> Vec<OsString> {
        vec![self.programs.join("sessile").into(), "rpc".into()]
    }

    /// Returns the command line of pi's server.
    pub(super) fn pi_server(&self) -> Vec<OsString> {
        let cli = self.oracle.join("pi/dist/bundle/cli.js");
        vec![self.oracle.join("node").into(), cli.into(), "--mode".into(), "rpc".into(), "--offline".into()]
    }

    /// Returns the program that measures the limits of the machine.
    pub(super) fn limit(&self) -> Job<'_> {
        self.job(self.programs.join("limit"))
    }

    /// Returns any other program.
    pub(super) fn program(&self, name: &str) -> Job<'_> {
        self.job(name.into())
    }

    fn job(&self, program: PathBuf) -> Job<'_> {
        let job = Job { tools: self, program, args: Vec::new(), env: Vec::new(), dir: self.scratch.clone() };
        // No user settings, no network, and the same time zone for every program.
        job.env("HOME", &self.scratch).env("TZ", "UTC").env("PI_OFFLINE", "1").env("PI_SKIP_VERSION_CHECK", "1")
    }
}

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Job<'t> {
    tools: &'t Tools,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: PathBuf,
}

impl Job<'_> {
    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(super) fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(super) fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub(super) fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = dir.into();
        self
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir).stdin(Stdio::null()).envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env_remove("PI_CODING_AGENT_SESSION_DIR");
        command
    }

    /// Returns whether it can be run and succeeds.
    pub(super) fn works(&self) -> bool {
        let output = self.command(&self.program).args(&self.args).output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Runs a program that measures itself and reports in one JSON line.
    pub(super) fn inner(&self) -> Result<Sample, Failure> {
        let output = self.command(&self.program).args(&self.args).output().map_err(failed(self.name()))?;
        let text = self.successful(&output, output.status.code())?;
        let line = text.lines().last().unwrap_or_default();
        let figures: Value =
            serde_json::from_str(line).map_err(|error| Failure(format!("{}: {error}", self.name())))?;
        let ms = figures["ms"].as_f64().ok_or_else(|| Failure(format!("{} printed no time", self.name())))?;
        let peak_kb = figures["peak_kb"].as_u64().unwrap_or_default();
        let answer = figures["digest"].as_str().map(str::to_owned);
        Ok(Sample { ms, peak_kb, answer, figures })
    }

    /// Runs an ordinary program, measured from its start to its exit; the answer is its output.
    pub(super) fn whole(&self) -> Result<(Sample, String), Failure> {
        let report = self.tools.scratch.join("measured.json");
        let measured = self.tools.programs.join("measured");
        let mut command = self.command(&measured);
        command.arg(&report).arg(&self.program).args(&self.args);
        let output = command.output().map_err(failed(self.name()))?;
        let figures = std::fs::File::open(&report).map_err(failed("read a report"))?;
        let figures: Value = serde_json::from_reader(figures).map_err(|error| Failure(format!("a report: {error}")))?;
        let status = figures["status"].as_i64().and_then(|status| i32::try_from(status).ok());
        let text = self.successful(&output, status)?;
        let ms = figures["ms"].as_f64().unwrap_or_default();
        let peak_kb = figures["peak_kb"].as_u64().unwrap_or_default();
        Ok((Sample { ms, peak_kb, answer: None, figures }, text))
    }

    /// Runs an ordinary program, with a digest of its output as the answer.
    pub(super) fn whole_answer(&self) -> Result<Sample, Failure> {
        let (sample, text) = self.whole()?;
        Ok(sample.answering(digest_of(text.trim_end())))
    }

    fn successful(&self, output: &Output, status: Option<i32>) -> Result<String, Failure> {
        if output.status.success() && status == Some(0) {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        // Node prints the line of code that threw, which in a bundle is very long.
        let errors = String::from_utf8_lossy(&output.stderr);
        let mut lines = errors.lines().filter(|line| !line.trim().is_empty() && line.len() < 400);
        let why = lines.find(|line| line.contains("rror")).unwrap_or("no message");
        Err(Failure(format!("`{}` failed ({status:?}): {why}", self.name())))
    }

    fn name(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let args = self.args.iter().map(|arg| arg.to_string_lossy());
        std::iter::once(name.into()).chain(args).collect::<Vec<_>>().join(" ")
    }
}

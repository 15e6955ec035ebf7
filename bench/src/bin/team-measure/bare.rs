//! PostgreSQL's own programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use sessile::sync::remote::local_server::Running;

pub(crate) struct Bare {
    programs: PathBuf,
    url: String,
    password: PathBuf,
}

impl Bare {
    /// The programs, as the administrator of a server.
    pub(crate) fn new(running: &Running) -> Self {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut programs = versions.map(|version| version.path().join("bin"));
        let programs = programs.find(|programs| programs.join("pgbench").is_file()).unwrap_or_default();
        Self { programs, url: running.url("sessile_admin"), password: running.password_file().into() }
    }

    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Output {
        let mut command = Command::new(self.programs.join(program));
        let output = command.env("PGPASSFILE", &self.password).args(args).arg(&self.url).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    pub(crate) fn psql(&self, statement: &str) -> String {
        String::from_utf8(self.run("psql", &["-qAtc", statement]).stdout).unwrap().trim().to_owned()
    }

    /// The time that `psql` itself measures, the least of some rounds.
    pub(crate) fn time_of(&self, statement: &str, n_rounds: usize) -> Duration {
        let timed = |_| {
            let output = self.run("psql", &["-qAt", "-c", "\\timing on", "-c", statement]).stdout;
            let output = String::from_utf8_lossy(&output).into_owned();
            let time = output.split("Time: ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
            Duration::from_secs_f64(time.unwrap() / 1e3)
        };
        (0..n_rounds).map(timed).min().unwrap()
    }

    /// Loads the lines of sessions with one COPY into the table `bare`, and returns how long it took.
    pub(crate) fn load(&self, sessions: &[Vec<Vec<u8>>], dir: &Path) -> Duration {
        self.psql("drop table if exists public.bare");
        self.psql("create table public.bare (session bigint, seq bigint, data bytea, primary key (session, seq))");
        self.psql("alter table public.bare alter data set storage external");
        self.psql("checkpoint");
        let file = dir.join("bare.copy");
        write_copy(sessions, &file).unwrap();
        let begin = Instant::now();
        self.psql(&format!("\\copy public.bare from '{}' (format binary)", file.display()));
        let took = begin.elapsed();
        std::fs::remove_file(&file).unwrap();
        took
    }
}

/// Writes lines in the binary format of COPY, as they are.
fn write_copy(sessions: &[Vec<Vec<u8>>], path: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0")?;
    for (number, session) in (0_i64..).zip(sessions) {
        for (seq, line) in (1_i64..).zip(session) {
            out.write_all(&3_i16.to_be_bytes())?;
            for value in [number, seq] {
                out.write_all(&8_i32.to_be_bytes())?;
                out.write_all(&value.to_be_bytes())?;
            }
            out.write_all(&i32::try_from(line.len()).unwrap().to_be_bytes())?;
            out.write_all(line)?;
        }
    }
    out.write_all(&(-1_i16).to_be_bytes())?;
    out.flush()
}

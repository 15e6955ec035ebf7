//! A store of many sessions: pushing, listing, opening, searching and following.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use sessile::sync::remote::local_server::Running;
use sessile_bench::generate::WORD;

use crate::bare::Bare;
use crate::machine::Machine;
use crate::pulls;
use crate::report::{Report, ms, seconds};

/// The speed that a push on one connection must have, in bytes per second.
const MIN_SPEED: u64 = 15_000_000;

/// A local store.
pub(crate) struct Store {
    folder: PathBuf,
    n_bytes: u64,
    /// The lines of each session after the header.
    sessions: Vec<Vec<Vec<u8>>>,
}

impl Store {
    pub(crate) fn read(folder: &Path, n_bytes: u64) -> Self {
        let (mut folders, mut sessions) = (vec![folder.to_path_buf()], Vec::new());
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "jsonl") {
                    let text = std::fs::read(path).unwrap();
                    let text = text.strip_suffix(b"\n").unwrap_or(&text);
                    sessions.push(text.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::to_vec).collect());
                }
            }
        }
        Self { folder: folder.to_path_buf(), n_bytes, sessions }
    }

    pub(crate) fn measure(&self, running: &Running, bare: &Bare, dir: &Path, report: &mut Report) {
        let loading = bare.load(&self.sessions, dir);
        let bare_size: f64 = bare.psql("select pg_total_relation_size('public.bare')").parse().unwrap();
        let scan = format!("select count(*) from public.bare where position('{WORD}'::bytea in data) > 0");
        let scanning = bare.time_of(&scan, 3);
        let ada = self.push(running, bare, dir, loading, bare_size, report);
        let (pulling, copying, n_bytes) = pulls::measure(&running.member("writer").unwrap(), bare, &self.sessions, dir);
        let what = format!("pull of 5,000 entries, {:.1} MB", n_bytes as f64 / 1e6);
        report.bar(&what, &ms(pulling), &ms(copying), ratio(pulling, copying), pulling, 100);

        let share = "insert into sessile.access (member, session, may, granted_by) \
                     select member, no, 'read', owner from sessile.session, unnest(array['bob', 'eve', 'joe']) member \
                     where owner = 'ada'";
        let bob = Machine::new(dir, "bob", "bob", running);
        let others = ["eve", "joe"].map(|name| Machine::new(dir, name, name, running));
        bare.psql(share);
        // As if the last change was some minutes ago: what is newer is asked for twice.
        bare.psql("update sessile.session set seen_at = clock_timestamp() - interval '5 minutes' where owner = 'ada'");
        // As autovacuum does within minutes: without statistics, plans are those for empty tables.
        bare.psql("vacuum analyze");
        list(&bob, bare, report);
        search(&[&others[0], &others[1], &bob], scanning, report);
        open(&bob, bare, report);
        follow(&ada, &bob, &longest(bare), report);
        self.push_alone(running, bare, dir, loading, report);
    }

    /// The first push of a member whom the server allows one connection.
    fn push_alone(&self, running: &Running, bare: &Bare, dir: &Path, loading: Duration, report: &mut Report) {
        let zoe = Machine::new(dir, "zoe", "zoe", running);
        bare.psql("alter role zoe connection limit 1");
        self.give_to(&zoe);
        bare.psql("checkpoint");
        let (pushing, _) = zoe.run(&["push", "--all", "--allow-secrets"]);
        let n_pushed: usize = bare.psql("select count(*) from sessile.session where owner = 'zoe'").parse().unwrap();
        assert_eq!(n_pushed, self.sessions.len(), "everything is on the server");
        let n_seconds = u32::try_from(self.n_bytes / MIN_SPEED).unwrap();
        let (ours, bare) = (self.speed(pushing), self.speed(loading));
        report.bar("the same push on one connection", &ours, &bare, ratio(pushing, loading), pushing, n_seconds * 1000);
    }

    /// Makes this the store of a machine.
    fn give_to(&self, machine: &Machine) {
        std::fs::create_dir_all(&machine.agent).unwrap();
        let root = [self.folder.join("sessions"), self.folder.clone()].into_iter().find(|path| path.is_dir()).unwrap();
        std::os::unix::fs::symlink(std::path::absolute(root).unwrap(), machine.agent.join("sessions")).unwrap();
        machine.run(&["list", "--all", "--json"]);
    }

    /// The time of a push, and its speed.
    fn speed(&self, took: Duration) -> String {
        format!("{}, {:.1} MB/s", seconds(took), self.n_bytes as f64 / 1e6 / took.as_secs_f64())
    }

    fn push(
        &self,
        running: &Running,
        bare: &Bare,
        dir: &Path,
        loading: Duration,
        bare_size: f64,
        report: &mut Report,
    ) -> Machine {
        let ada = Machine::new(dir, "ada", "ada", running);
        self.give_to(&ada);
        bare.psql("checkpoint");
        let (pushing, _) = ada.run(&["push", "--all", "--allow-secrets"]);
        let what = format!("push of {:.0} MB in {} sessions", self.n_bytes as f64 / 1e6, self.sessions.len());
        report.bar(&what, &self.speed(pushing), &self.speed(loading), ratio(pushing, loading), pushing, 60_000);
        let statement = "select sum(pg_total_relation_size(c.oid)) from pg_class c \
                         join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'sessile' and c.relkind = 'r'";
        let size: f64 = bare.psql(statement).parse().unwrap();
        let share = |size: f64| format!("{:.2}", size / self.n_bytes as f64);
        report.row("size on the server / JSONL", &share(size), &share(bare_size), size / bare_size);
        let unchanged = ada.best(&["sync"]);
        let local = ada.best(&["list", "--all", "--json"]);
        let beside = format!("local list {}", ms(local));
        report.row("sync of all sessions, nothing changed", &ms(unchanged), &beside, ratio(unchanged, local));
        ada
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn list(bob: &Machine, bare: &Bare, report: &mut Report) {
    let all = ["list", "--all", "--remote", "team", "--json"];
    let (first, listed) = bob.run(&all);
    let n_listed = listed.matches("\"member\"").count();
    let unchanged = bob.best(&all);
    let select = "select header_id, header, n, bytes, chain from sessile.session where owner = 'ada'";
    let bare_time = bare.time_of(&format!("\\copy ({select}) to '/dev/null'"), 5);
    let what = format!("a colleague's list of {n_listed} sessions, nothing changed");
    report.bar(&what, &ms(unchanged), &ms(bare_time), ratio(unchanged, bare_time), unchanged, 50);
    report.row("the same list for the first time", &ms(first), &ms(bare_time), ratio(first, bare_time));
}

/// Searches on machines that have no line of it; only the list is there.
fn search(machines: &[&Machine], scanning: Duration, report: &mut Report) {
    let mut times: Vec<Duration> = machines
        .iter()
        .map(|machine| {
            machine.run(&["list", "--all", "--remote", "team", "--json"]);
            let (took, found) = machine.run(&["search", WORD, "--all", "--remote", "team", "--json"]);
            assert!(found.contains(WORD), "the word is found: {found}");
            took
        })
        .collect();
    times.sort_unstable();
    let (median, again) = (times[times.len() / 2], machines[0].best(&["search", WORD, "--all", "--remote", "team"]));
    let what = "a rare word, nothing mirrored (bare: scan of all lines)";
    report.bar(what, &ms(median), &ms(scanning), ratio(median, scanning), median, 200);
    report.row("the same search again", &ms(again), &ms(scanning), ratio(again, scanning));
}

fn open(bob: &Machine, bare: &Bare, report: &mut Report) {
    let id = longest(bare);
    let (first, _) = bob.run(&["info", &id, "--remote", "team"]);
    let again = bob.best(&["info", &id, "--remote", "team"]);
    report.row("first open of a colleague's session, whole command", &ms(first), "", f64::NAN);
    report.row("opening it again", &ms(again), "", f64::NAN);
}

/// The session with the most lines up to 5,000.
fn longest(bare: &Bare) -> String {
    bare.psql("select header_id from sessile.session where owner = 'ada' and n <= 5000 order by n desc limit 1")
}

/// The time from the acknowledgement of an append until a colleague's `watch` shows it.
fn follow(ada: &Machine, bob: &Machine, id: &str, report: &mut Report) {
    let mut watching =
        bob.command(&["watch", id, "--remote", "team", "--jsonl"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    std::thread::sleep(Duration::from_secs(2));
    let mut times: Vec<Duration> = (0..20)
        .map(|number| {
            ada.run(&["append", id, &format!("line {number} to follow"), "--remote", "team"]);
            let acknowledged = Instant::now();
            while !lines.next().unwrap().unwrap().contains(&format!("line {number} to follow")) {}
            acknowledged.elapsed()
        })
        .collect();
    watching.kill().unwrap();
    watching.wait().unwrap();
    times.sort_unstable();
    let words = format!("p50 {}, longest {}", ms(times[10]), ms(times[19]));
    report.bar("follow: from the acknowledgement to the colleague's screen", &words, "", f64::NAN, times[19], 1000);
}

//! F3: a failover to a standby that had stopped listening. The new server lacks lines that the old one has acknowledged.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::Bench;
use super::check::{check, log_of};
use super::cluster::{Cluster, at_port, give_to_server};
use super::outcome::{Outcome, Skipped};

pub(super) fn run(bench: &Bench) -> Result<Outcome, Skipped> {
    let mut outcome = Outcome::default();
    let n_rounds = bench.count(1, 10);
    let mut n_forgotten = 0;
    for round in 0..n_rounds {
        n_forgotten += fail_over(bench, u64::from(round), &mut outcome);
    }
    outcome.fact(format!("{n_rounds} failovers, the server forgot {n_forgotten} acknowledged lines"));
    outcome.check(n_forgotten > 0, || "the server forgot nothing".to_owned());
    Ok(outcome)
}

fn fail_over(bench: &Bench, round: u64, outcome: &mut Outcome) -> usize {
    let primary = bench.cluster();
    let mut clients = bench.clients(4, &["s1"]);
    let user = clients[0].config.user().to_owned();
    let standby = standby_of(primary);
    // This one is offline from now on, and knows only what both servers have.
    clients[3].append("s1").unwrap();
    stop_listening(primary, &standby);
    let mut random = bench.random(300 + round);
    for _ in 0..20 {
        let client = &mut clients[random.below(3)];
        client.append("s1").unwrap();
        client.sync_surely();
    }
    let n_before = log_of(&clients[0], "s1").len();
    primary.kill(Signal::KILL);
    standby.sql("select pg_promote()");
    let port = standby.running().port();
    for client in &mut clients {
        client.log_in(at_port(&standby, &user, port));
    }
    let n_after = log_of(&clients[0], "s1").len();
    // Another client is first; then those return whose lines are lost.
    clients[3].sync_surely();
    check(&mut clients, outcome);
    standby.down();
    primary.up();
    n_before - n_after
}

/// Makes a standby and starts it.
fn standby_of(primary: &Cluster) -> Cluster {
    let standby = Cluster::empty();
    let data = standby.dir.join("data");
    let made = Command::new("pg_basebackup")
        .args(["-h", "127.0.0.1", "-U", "sessile_admin", "-R", "-X", "stream", "-c", "fast"])
        .arg("-p")
        .arg(primary.running().port().to_string())
        .arg("-D")
        .arg(&data)
        .env("PGPASSWORD", primary.password("sessile_admin"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    give_to_server(&data, &primary.dir.join("data"));
    fs::copy(primary.dir.join("passwords"), standby.dir.join("passwords")).unwrap();
    standby.up();
    standby
}

/// Waits until the standby has everything, and cuts it off.
fn stop_listening(primary: &Cluster, standby: &Cluster) {
    let at = primary.sql("select pg_current_wal_lsn()");
    wait_for(standby, &format!("select pg_last_wal_replay_lsn() >= '{at}'"));
    standby.sql("alter system set primary_conninfo = ''");
    standby.sql("select pg_reload_conf()");
    wait_for(standby, "select count(*) = 0 from pg_stat_wal_receiver");
}

fn wait_for(standby: &Cluster, condition: &str) {
    let began = Instant::now();
    while standby.sql(condition) != "t" {
        assert!(began.elapsed() < Duration::from_secs(30), "the standby never answered yes to {condition}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

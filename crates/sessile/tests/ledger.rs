//! A ledger gives the same figures as the statistics that read every file.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sessile::sample::write_sample;
use sessile::stats::{Grouping, Ledger, LedgerOptions, LedgerQuery, Stats, StatsOptions};
use sessile::testing::IsolatedSystem;
use sessile::{Cancel, SessionError, Sessions};

/// The figures of groups, without tool calls, which totals of a list do not have.
fn figures(stats: &Stats) -> Vec<(Vec<String>, Option<usize>, u64, String)> {
    let group = |group: &sessile::stats::StatsGroup| {
        let money = format!("{:.6} {}", group.tally.cost, group.tally.tokens.total());
        (group.keys.clone(), group.sessions, group.tally.messages.total(), money)
    };
    let mut all: Vec<_> = stats.groups.iter().map(group).collect();
    all.sort();
    let total = format!("{:.6} {}", stats.total.cost, stats.total.tokens.total());
    all.push((
        vec![format!("{} forks, {} copied", stats.forks, stats.copied)],
        Some(stats.sessions),
        stats.total.messages.total(),
        total,
    ));
    all
}

fn ledger(sessions: &Sessions, before: &Ledger) -> Ledger {
    sessions.ledger(sessions.list_all().unwrap(), before, &LedgerOptions::default()).unwrap()
}

const KINDS: [Grouping; 6] =
    [Grouping::Day, Grouping::Week, Grouping::Month, Grouping::Model, Grouping::Project, Grouping::Session];

#[track_caller]
fn assert_equal(sessions: &Sessions, ledger: &Ledger, has_spans: bool) {
    let all = sessions.list_all().unwrap();
    let one = KINDS.iter().map(|kind| vec![*kind]);
    let two = KINDS
        .iter()
        .flat_map(|one| KINDS.iter().filter(move |other| *other != one).map(move |other| vec![*one, *other]));
    for by in one.chain(two).chain([vec![]]) {
        let expected = sessions.stats(&all, &StatsOptions { by: by.clone(), ..StatsOptions::default() }).unwrap();
        let found = ledger.stats(&LedgerQuery { by: by.clone(), ..LedgerQuery::default() });
        assert_eq!(figures(&found), figures(&expected), "{by:?}");
        if !has_spans {
            continue;
        }
        let (first, last) = ledger.days(&LedgerQuery::default()).unwrap();
        let middle = first + (last - first) / 2;
        let since = sessile::date::Timestamp::from_ms(middle * 86_400_000);
        let options = StatsOptions { by: by.clone(), since: Some(since), ..StatsOptions::default() };
        let expected = sessions.stats(&all, &options).unwrap();
        let found = ledger.stats(&LedgerQuery { by: by.clone(), since: Some(middle), ..LedgerQuery::default() });
        assert_eq!(figures(&found), figures(&expected), "{by:?} since {middle}");
    }
}

#[test]
fn a_ledger_equals_the_statistics() {
    let dir = tempfile::tempdir().unwrap();
    let sessions = write_sample(dir.path()).unwrap().sessions();
    let first = ledger(&sessions, &Ledger::default());
    assert_equal(&sessions, &first, true);
    let all = first.stats(&LedgerQuery { by: vec![Grouping::Project, Grouping::Model], ..LedgerQuery::default() });
    assert!(all.groups.len() > 2 && all.total.cost > 0.0, "{all:?}");
    for group in &all.groups {
        let (project, model) = (group.keys.first().unwrap(), group.keys.last().unwrap());
        let query = LedgerQuery { project: Some(project), model: Some(model), ..LedgerQuery::default() };
        let found = first.stats(&query);
        assert!((found.total.cost - group.tally.cost).abs() < 1e-9, "{project} {model}");
        assert_eq!(Some(found.sessions), group.sessions);
    }
    assert!(first.stats(&LedgerQuery { model: Some("none"), ..LedgerQuery::default() }).sessions == 0);
    // The sample has forks, whose entries count once.
    assert!(all.copied > 0);
}

fn write(dir: &Path, id: &str, parent: Option<&str>, costs: &[(&str, &str)]) -> std::path::PathBuf {
    let path = dir.join("sessions").join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
    let parent = parent
        .map(|id| format!(",\"parentSession\":\"{}/sessions/2026-01-01T00-00-00-000Z_{id}.jsonl\"", dir.display()));
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/p\"{}}}\n",
        parent.unwrap_or_default()
    );
    for (at, (day, cost)) in costs.iter().enumerate() {
        writeln!(
            text,
            "{{\"type\":\"message\",\"id\":\"e{at}\",\"parentId\":null,\"timestamp\":\"{day}\",\"message\":{{\"role\":\"assistant\",\
             \"provider\":\"p\",\"model\":\"m\",\"content\":[],\"usage\":{{\"input\":1,\"cost\":{{\"total\":{cost}}}}}}}}}"
        )
        .unwrap();
    }
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_ledger_follows_changes_and_odd_values() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let sessions = Sessions::new(IsolatedSystem::in_home(dir.path())).with_session_dir(dir.path().join("sessions"));
    let day = "2026-01-05T12:00:00.000Z";
    write(dir.path(), "a", None, &[(day, "1"), ("2026-01-06T12:00:00.000Z", "2")]);
    write(dir.path(), "b", Some("a"), &[(day, "1"), ("2026-01-07T12:00:00.000Z", "4")]);
    write(dir.path(), "c", None, &[(day, "8"), ("not a date", "16"), ("+275760-09-01T00:00:00.000Z", "32")]);
    let first = ledger(&sessions, &Ledger::default());
    let cost = |ledger: &Ledger| ledger.stats(&LedgerQuery::default()).total.cost;
    assert!((cost(&first) - 63.0).abs() < 1e-9, "a copied entry counts once: {}", cost(&first));
    let (first_day, last_day) = first.days(&LedgerQuery::default()).unwrap();
    assert_eq!(Grouping::Day.period_of_day(first_day).unwrap(), "2026-01-05");
    assert_eq!(Grouping::Day.period_of_day(last_day).unwrap(), "+275760-09-01");
    assert_eq!(Grouping::Week.period_of_day(first_day).unwrap(), "2026-W02");
    assert_eq!(Grouping::Model.period_of_day(0), None);
    assert_equal(&sessions, &first, false);
    write(dir.path(), "c", None, &[(day, "1e999"), (day, "-1e999"), (day, "-5")]);
    let second = ledger(&sessions, &first);
    assert!(!cost(&second).is_finite() || cost(&second) < 63.0, "{}", cost(&second));
    let path = write(dir.path(), "c", None, &[(day, "0.5")]);
    let third = ledger(&sessions, &second);
    assert!((cost(&third) - 7.5).abs() < 1e-9, "{}", cost(&third));
    fs::remove_file(path).unwrap();
    assert!((cost(&ledger(&sessions, &third)) - 7.0).abs() < 1e-9);
    let cancel = Cancel::default();
    cancel.cancel();
    let list = sessions.list_all().unwrap();
    let options = LedgerOptions { cancel, ..LedgerOptions::default() };
    assert!(matches!(sessions.ledger(list, &third, &options), Err(SessionError::Cancelled)));
}

#[test]
fn forks_know_where_they_left_their_parents() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sessions")).unwrap();
    let sessions = Sessions::new(IsolatedSystem::in_home(dir.path())).with_session_dir(dir.path().join("sessions"));
    let (day, other) = ("2026-01-05T12:00:00.000Z", "2026-01-06T12:00:00.000Z");
    let parent = write(dir.path(), "a", None, &[(day, "1"), (day, "1"), (day, "1")]);
    let fork = write(dir.path(), "b", Some("a"), &[(day, "1"), (day, "1"), (other, "2")]);
    let stranger = write(dir.path(), "c", Some("a"), &[(other, "1")]);
    let point = sessions.fork_point(&fork, &parent).unwrap();
    assert_eq!((point.shared_entries, point.entry), (2, Some("e1".into())));
    let point = sessions.fork_point(&stranger, &parent).unwrap();
    assert_eq!((point.shared_entries, point.entry), (0, None));
    assert!(sessions.fork_point(&fork, &dir.path().join("none.jsonl")).is_err());
}

//! The statistics and the map of a family.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sessile::stats::{Grouping, StatsOptions};

use crate::site::{Site, assert_headers, sessions_in};

fn path(dir: &Path, id: &str) -> PathBuf {
    dir.join("sessions").join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"))
}

struct Answer<'a> {
    id: &'a str,
    time: &'a str,
    model: &'a str,
    cost: &'a str,
}

/// Writes a session with a prompt and answers.
fn write(dir: &Path, id: &str, cwd: &str, parent: Option<&Path>, answers: &[Answer<'_>]) {
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let parent = parent.map(|path| format!(",\"parentSession\":{}", json(path.to_str().unwrap()))).unwrap_or_default();
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":{}{parent}}}\n\
         {{\"type\":\"message\",\"id\":\"p\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"Prompt of {id}\"}}}}\n",
        json(cwd)
    );
    for Answer { id, time, model, cost } in answers {
        writeln!(
            text,
            "{{\"type\":\"message\",\"id\":{},\"parentId\":\"p\",\"timestamp\":\"{time}\",\"message\":{{\"role\":\"assistant\",\
             \"provider\":\"acme\",\"model\":{},\"content\":[],\"usage\":{{\"input\":1000,\"cost\":{{\"total\":{cost}}}}}}}}}",
            json(id),
            json(model)
        )
        .unwrap();
    }
    std::fs::write(path(dir, id), text).unwrap();
}

fn store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
    dir
}

/// The page after the first count.
fn counted(site: &Site, target: &str, cookie: &str) -> String {
    loop {
        let answer = site.get(target, cookie);
        assert_eq!(answer.status, 200, "{target}");
        assert_headers(&answer);
        if answer.header("refresh").is_empty() {
            return answer.body;
        }
    }
}

/// The exact values of a table's rows, by the text of their first cell.
fn rows(page: &str, heading: &str) -> Vec<(String, Vec<f64>)> {
    let (_, section) = page.split_once(&format!("aria-labelledby=\"{heading}\"")).unwrap();
    let (_, table) = section.split_once("<tbody>").unwrap();
    let (table, _) = table.split_once("</tbody>").unwrap();
    let row = |row: &str| {
        let name = row.split_once("</th>").unwrap().0;
        let name = name.trim_end_matches("</a>").rsplit('>').next().unwrap().to_owned();
        let values = row.split("value=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0.parse().unwrap());
        (name, values.collect())
    };
    table.split("<tr>").skip(1).map(row).collect()
}

#[test]
fn figures_are_those_of_the_library() {
    let dir = store();
    let first = Answer { id: "a", time: "2026-01-05T10:00:00.000Z", model: "one", cost: "1.25" };
    let second = Answer { id: "b", time: "2026-01-14T10:00:00.000Z", model: "two", cost: "0.5" };
    let other = Answer { id: "c", time: "2026-01-14T11:00:00.000Z", model: "two", cost: "2" };
    let copy = Answer { ..first };
    write(dir.path(), "s1", "/p/x", None, &[first, second]);
    write(dir.path(), "s2", "/p/x", Some(&path(dir.path(), "s1")), &[copy, other]);
    write(dir.path(), "s3", "/p/y", None, &[]);
    let sessions = sessions_in(dir.path());
    let list = sessions.list_all().unwrap();
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    let page = counted(&site, "/stats?span=all", &cookie);
    for (heading, grouping) in [
        ("per-day", Grouping::Day),
        ("per-week", Grouping::Week),
        ("by-model", Grouping::Model),
        ("by-project", Grouping::Project),
    ] {
        let stats = sessions.stats(&list, &StatsOptions { by: vec![grouping], ..StatsOptions::default() }).unwrap();
        let mut expected: Vec<(String, Vec<f64>)> = stats
            .groups
            .iter()
            .map(|group| {
                let n_sessions = u32::try_from(group.sessions.unwrap()).unwrap();
                (group.keys[0].clone(), vec![group.tally.cost, group.tally.tokens.total(), f64::from(n_sessions)])
            })
            .collect();
        let mut found = rows(&page, heading);
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        found.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(found, expected, "{heading}");
    }
    assert!(page.contains("<data value=\"3.75\">$3.75</data>"), "the copied entry counts once: {page}");
    assert!(page.contains("2 entries that forks share"), "{page}");
    assert_eq!(page.matches("<svg role=\"img\"").count(), 5);
    assert!(!page.contains("style=") && page.contains("aria-current=\"page\">Statistics</a>"));
    let one = counted(&site, "/stats?span=all&model=acme/one", &cookie);
    assert_eq!(rows(&one, "by-model"), [("acme/one".to_owned(), vec![1.25, 1000.0, 1.0])]);
    let none = counted(&site, "/stats?span=all&model=none&project=none&metric=tokens", &cookie);
    assert!(none.contains("There is no usage in this time."), "{none}");
    let metric = counted(&site, "/stats?span=all&metric=sessions", &cookie);
    assert!(metric.contains("Sessions per day; the highest is 2"), "{metric}");
    // Only recent usage counts by default.
    assert!(counted(&site, "/stats?span=30d", &cookie).contains("There is no usage in this time."));
    // The list leads here, and changes are counted.
    assert!(site.get("/", &cookie).body.contains("href=\"/stats\""));
    let new = Answer { id: "n", time: "2026-02-01T10:00:00.000Z", model: "three", cost: "4" };
    write(site.dir.path(), "s4", "/p/z", None, &[new]);
    while !counted(&site, "/stats?span=all", &cookie).contains("acme/three") {}
}

#[test]
fn an_empty_store_has_empty_statistics() {
    let site = Site::serve(store(), |options| options);
    let cookie = site.sign_in();
    for target in
        ["/stats", "/stats?span=all", "/stats?metric=sessions&span=year", "/stats?span=%3Cscript%3E&metric=%22"]
    {
        let page = counted(&site, target, &cookie);
        assert!(page.contains("There is no usage in this time.") && page.contains("$0.00"), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
}

#[test]
fn odd_figures_and_names_are_shown() {
    let evil = "</title></svg><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}";
    let dir = store();
    let long = "m".repeat(100_000);
    let day = "2026-01-05T10:00:00.000Z";
    let answers = [
        Answer { id: "a", time: day, model: evil, cost: "1e999" },
        Answer { id: "b", time: "+275760-09-01T00:00:00.000Z", model: &long, cost: "-3" },
        Answer { id: "c", time: "-000500-01-01T00:00:00.000Z", model: "tiny", cost: "1e-300" },
        Answer { id: "d", time: "no time", model: "huge", cost: "1e300" },
    ];
    write(dir.path(), "s1", &format!("/p/{evil}"), None, &answers);
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    for metric in ["", "tokens", "sessions"] {
        let page = counted(&site, &format!("/stats?span=all&metric={metric}"), &cookie);
        for raw in ["<script>", "<img", "\u{202e}", "NaN", "style="] {
            assert!(!page.contains(raw), "{raw} in {page}");
        }
        assert!(page.contains("dates are far apart") && page.len() < 100_000, "{}", page.len());
        // Each link to a model leads to its figures.
        for link in page.split("href=\"/stats?").skip(1).map(|rest| rest.split_once('"').unwrap().0) {
            let shown = counted(&site, &format!("/stats?{}", link.replace("&amp;", "&")), &cookie);
            assert!(!link.contains("model=") || rows(&shown, "by-model").len() == 1, "{link}");
        }
    }
}

#[test]
fn a_family_is_a_map() {
    let dir = store();
    let answer = |id| Answer { id, time: "2026-01-05T10:00:00.000Z", model: "m", cost: "1" };
    write(dir.path(), "root", "/p", Some(&dir.path().join("gone/<b>parent.jsonl")), &[answer("a"), answer("b")]);
    write(dir.path(), "fork", "/p", Some(&path(dir.path(), "root")), &[answer("a")]);
    write(dir.path(), "deep", "/p", Some(&path(dir.path(), "fork")), &[answer("a"), answer("x y\"<")]);
    write(dir.path(), "deeper", "/p", Some(&path(dir.path(), "deep")), &[answer("a"), answer("x y\"<")]);
    write(dir.path(), "circle1", "/p", Some(&path(dir.path(), "circle2")), &[]);
    write(dir.path(), "circle2", "/p", Some(&path(dir.path(), "circle1")), &[]);
    write(dir.path(), "alone", "/p", None, &[]);
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    let list = site.get("/rows", &cookie).body;
    let key = |title: &str| {
        let before = list.split(&format!(">Prompt of {title}<")).next().unwrap();
        before.rsplit("href=\"/s/").next().unwrap().split_once('"').unwrap().0.to_owned()
    };
    let page = |title: &str| site.get(&format!("/s/{}/family", key(title)), &cookie).body;
    let family = page("fork");
    let names = |page: &str| {
        let rows = page.split("<li aria-level=\"").skip(1);
        let row = |row: &str| {
            let level = row.split('"').next().unwrap().to_owned();
            let title =
                row.split("class=\"title").nth(1).unwrap().split('>').nth(1).unwrap().split('<').next().unwrap();
            format!("{level} {title}")
        };
        rows.map(row).collect::<Vec<_>>()
    };
    let found = names(&family);
    assert_eq!(found[1..], ["2 Prompt of root", "3 Prompt of fork", "4 Prompt of deep", "5 Prompt of deeper"]);
    assert!(found[0].ends_with("gone/&lt;b&gt;parent.jsonl") && family.contains(">missing<"), "{found:?}");
    assert_eq!(family.matches("this session").count(), 1);
    assert!(family.contains(&format!("/s/{}#entry-a\"", key("root"))), "{family}");
    assert!(family.contains(&format!("/s/{}#entry-x%20y%22%3C\"", key("deep"))), "{family}");
    assert!(family.contains("forked after 2 entries") && family.contains("$1.00"), "{family}");
    assert_eq!(names(&page("circle1")).len(), 2);
    assert!(page("alone").contains("no relatives"));
    assert_eq!(site.get("/s/0/family", &cookie).status, 404);
    // Sessions with relatives lead to it.
    let link = |title: &str| format!("href=\"/s/{}/family\"", key(title));
    for (title, has_family) in [("root", true), ("fork", true), ("circle2", true), ("alone", false)] {
        assert_eq!(list.contains(&link(title)), has_family, "{title}");
        assert_eq!(site.get(&format!("/s/{}", key(title)), &cookie).body.contains(&link(title)), has_family, "{title}");
    }
}

#[test]
fn a_family_of_many_generations_has_pages() {
    let dir = store();
    let mut parent = None;
    for at in 0..450 {
        let id = format!("n{at}");
        write(dir.path(), &id, "/p", parent.as_deref(), &[]);
        parent = Some(path(dir.path(), &id));
    }
    let site = Site::serve(dir, |options| options);
    let cookie = site.sign_in();
    while site.get("/", &cookie).body.contains("still reading") {}
    let list = site.get("/?q=%22of+n300%22", &cookie).body + &site.get("/?q=n300", &cookie).body;
    let before = list.split(">Prompt of n300<").next().unwrap();
    let key = before.rsplit("href=\"/s/").next().unwrap().split_once('"').unwrap().0.to_owned();
    let page = |from: &str| site.get(&format!("/s/{key}/family{from}"), &cookie).body;
    let rows = |page: &str| page.matches("<li aria-level=").count();
    let own = page("");
    assert!(own.contains("this session") && own.contains("generation 301"), "{own}");
    assert_eq!(
        [own.as_str(), &page("?from=0"), &page("?from=400"), &page("?from=99999999999999999999"), &page("?from=x")]
            .map(rows),
        [100, 100, 50, 100, 100]
    );
    assert!(own.contains("from=370") && own.contains("from=170"), "{own}");
}

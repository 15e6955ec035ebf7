//! P16: copies of older versions.

use sessile_core::json::{Edit, Json, Raw};
use sessile_merge::MergeOptions;

use crate::generate::Random;
use crate::merged_with;

fn old_header(version: &str) -> String {
    format!(r#"{{"type":"session"{version},"id":"the-session","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}}"#)
}

/// A session of version 1.
fn version_1(random: &mut Random, n_entries: usize) -> String {
    let mut text = old_header("") + "\n";
    for number in 0..n_entries {
        let time = format!("2025-01-01T00:00:{:02}.000Z", number % 60);
        text += &match random.below(5) {
            0 if number > 0 => {
                format!(r#"{{"type":"compaction","timestamp":"{time}","summary":"s","firstKeptEntryIndex":{number}}}"#)
            }
            1 => format!(
                r#"{{"type":"message","timestamp":"{time}","message":{{"role":"hookMessage","content":"{number}"}}}}"#
            ),
            _ => {
                format!(r#"{{"type":"message","timestamp":"{time}","message":{{"role":"user","content":"{number}"}}}}"#)
            }
        };
        text.push('\n');
    }
    text
}

/// What merging a copy alone makes of it: the same session in version 3.
fn merged(copies: &[&str], align: bool) -> String {
    merged_with(copies, MergeOptions { align })
}

/// The same session with random ids, as if pi had upgraded it.
fn with_random_ids(random: &mut Random, text: &str) -> String {
    let mut names = std::collections::HashMap::new();
    let mut out = String::new();
    for line in text.lines() {
        let value = Raw::parse(line.as_bytes()).unwrap();
        let mut line = value.to_json();
        if value.get("type").unwrap().as_string().unwrap() != "session" {
            let own = value.get("id").unwrap().as_string().unwrap();
            names.insert(own, format!("{:08x}", random.next() & 0xffff_ffff));
            for field in ["id", "parentId", "firstKeptEntryId"] {
                if let Some(name) = line.raw().get(field).and_then(Raw::as_string).and_then(|id| names.get(&id)) {
                    line = line.raw().edited(&[Edit::Set(field, Json::string(name).raw())]);
                }
            }
        }
        out += &line.to_text();
        out.push('\n');
    }
    out
}

fn continued(text: &str, id: &str) -> String {
    let last = text.lines().last().unwrap();
    let parent = Raw::parse(last.as_bytes()).unwrap().get("id").unwrap().as_string().unwrap();
    format!(
        "{text}{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2025-02-01T00:00:00.000Z\",\"customType\":\"{id}\"}}\n"
    )
}

#[test]
fn untouched_copies_of_version_1_agree() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let n_entries = 1 + random.below(8);
        let old = version_1(&mut random, n_entries);
        let once = merged(&[&old], true);
        assert_eq!(once.lines().count(), n_entries + 1);
        assert!(once.starts_with(&old_header("").replace('}', r#","version":3}"#)), "{once}");
        assert!(!once.contains("hookMessage") && !once.contains("firstKeptEntryIndex"));
        assert_eq!(merged(&[&old, &old], true), once);
        // One is upgraded by our rule and continued, the other one is not.
        let further = continued(&once, "further");
        assert_eq!(merged(&[&old, &further], true), further);
    }
}

#[test]
fn copies_that_were_upgraded_on_their_own_are_aligned() {
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let n_entries = 1 + random.below(8);
        let old = version_1(&mut random, n_entries);
        let upgraded = merged(&[&old], true);
        let copies: Vec<String> = (0..3)
            .map(|number| {
                let copy = with_random_ids(&mut random, &upgraded);
                continued(&copy, &format!("own-{number}"))
            })
            .collect();
        let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
        let all = merged(&texts, true);
        assert_eq!(all.lines().count(), 1 + n_entries + 3, "{all}");
        assert!(!all.contains("renamedFrom"));
        let [a, b, c] = [0, 1, 2].map(|number| texts[number]);
        for order in [[b, a, c], [c, b, a], [a, c, b]] {
            assert_eq!(merged(&order, true), all);
        }
        assert_eq!(merged(&[&merged(&[a, b], true), c], true), all);
        assert_eq!(merged(&[a, &merged(&[b, c], true)], true), all);
        assert_eq!(merged(&[&old, &all], true).lines().count(), all.lines().count());
        // By ids alone, everything is there three times.
        assert_eq!(merged(&texts, false).lines().count(), 1 + 3 * n_entries + 3);
    }
}

#[test]
fn version_2_has_the_tree_already() {
    let old = format!(
        "{}\n{}\n",
        old_header(r#","version":2"#),
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"hookMessage","content":"x"}}"#
    );
    let new = old.replace("\"version\":2", "\"version\":3").replace("hookMessage", "custom");
    assert_eq!(merged(&[&old], true), new);
    assert_eq!(merged(&[&old, &new], true), new);
}

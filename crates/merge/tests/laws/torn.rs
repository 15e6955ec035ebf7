//! P12: copies that end in the middle of a line.

use sessile_core::json::Raw;

use crate::generate::{Nature, Random};
use crate::{for_all, merged, naive};

/// A copy whose last line is cut at a random byte.
fn torn(random: &mut Random, copy: &str) -> String {
    let end = copy.trim_end().len();
    let begin = copy[..end].rfind('\n').map_or(end, |at| at + 1);
    let mut cut = begin + random.below(end - begin + 1);
    while !copy.is_char_boundary(cut) {
        cut -= 1;
    }
    copy[..cut].to_owned()
}

#[test]
fn a_torn_line_is_left_out_if_it_is_there_whole() {
    for_all(Nature::Tame, 100, &|random, copies| {
        let all = merged(copies);
        let n_lines = |text: &str| text.lines().count();
        for copy in copies.iter().chain([&all]).filter(|copy| n_lines(copy) > 1) {
            // A copy that refers to what it lost by its new name cannot know the old one.
            let last = copy.lines().last().and_then(|line| Raw::parse(line.as_bytes()).ok()?.get("id")?.as_string());
            let id = format!("\"{}\"", last.unwrap_or_default());
            if copy == &all && copy.lines().rev().skip(1).any(|line| line.contains(&id)) {
                continue;
            }
            let torn = torn(random, copy);
            let with_torn: Vec<_> = copies.iter().chain([&torn]).collect();
            assert_eq!(merged(&with_torn), all, "torn: {torn}");
            assert_eq!(merged(&[&all, &torn]), all, "torn: {torn}");
        }
    });
}

#[test]
fn a_torn_line_is_kept_if_it_is_all_there_is() {
    for_all(Nature::Tame, 100, &|random, copies| {
        let mut copies = copies.to_vec();
        copies[0] += r#"{"type":"message","id":"only-here","parentId":null,"x":"y""#;
        let all = merged(&copies);
        assert!(all.contains("only-here"));
        let texts: Vec<&str> = copies.iter().map(String::as_str).collect();
        assert_eq!(all, naive::merge(&texts));
        for _ in 0..2 {
            random.shuffle(&mut copies);
            assert_eq!(merged(&[merged(&copies[..1]), merged(&copies[1..])]), all);
        }
    });
}

#[test]
fn every_byte_of_the_last_line() {
    let header = crate::generate::header(0);
    let base = format!(
        "{header}\n{{\"type\":\"x\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2025-01-01T00:00:00.000Z\"}}\n"
    );
    // The second copy's entry gets a new name in a merge.
    let first = format!(
        "{base}{}\n",
        r#"{"type":"x","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:01.000Z","v":"first"}"#
    );
    let second = format!(
        "{base}{}\n",
        r#"{"type":"x","id":"b","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","v":"second é"}"#
    );
    let all = merged(&[&first, &second]);
    assert!(all.contains("renamedFrom"));
    for whole in [&first, &second, &all] {
        let begin = whole.trim_end().rfind('\n').unwrap() + 1;
        for cut in (begin..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
            let torn = &whole[..cut];
            assert_eq!(merged(&[first.as_str(), second.as_str(), torn]), all, "{torn}");
            assert_eq!(merged(&[all.as_str(), torn]), all, "{torn}");
            let alone = merged(&[&base, torn]);
            assert!(alone.starts_with(&header));
            // Nothing of a line whose whole form is not there is lost.
            assert!(
                cut == begin
                    || alone.contains(&whole[begin..cut])
                    || base.contains(&whole[begin..cut])
                    || *whole == all,
                "{torn}"
            );
        }
    }
}

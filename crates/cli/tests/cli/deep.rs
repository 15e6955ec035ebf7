//! Trees so deep that anything recursive would overflow its stack.

use sessile::json::Json;

use super::*;

const DEPTH: usize = 100_000;

#[test]
fn deep_chains_are_printed_and_drawn() {
    let home = Home::new();
    let parent = |n: usize| n.checked_sub(1).map(|n| format!("e{n}"));
    let lines: Vec<String> = (0..DEPTH).map(|n| user(&format!("e{n}"), parent(n).as_deref(), "x")).collect();
    let file = home.session("deep.jsonl", &lines);
    let file = file.to_str().unwrap();

    let output = home.run(&["tree", "--json", file]);
    output.expect(0, "");
    // Our own parser has no depth limit.
    assert!(Json::parse(&output.out).is_ok());
    assert_eq!(output.out.matches(r#","children":["#).count(), DEPTH);
    assert_eq!(output.out.trim_end().len() - output.out.trim_end().trim_end_matches(['}', ']']).len(), 2 * DEPTH + 1);

    let flat = home.run(&["tree", "--json", "--flat", file]).json();
    assert_eq!(flat[DEPTH - 1]["depth"], DEPTH - 1);

    let output = home.run(&["tree", file]);
    output.expect(0, "");
    assert_eq!(output.out.lines().count(), DEPTH);
    assert!(output.out.lines().all(|line| line == "• user: x"));
}

#[test]
fn deep_branches_fit_the_screen() {
    let home = Home::new();
    let mut lines = vec![user("e0", None, "x")];
    for n in 1..20_000 {
        let above = format!("e{}", n - 1);
        lines.push(user(&format!("s{n}"), Some(&above), "side"));
        lines.push(user(&format!("e{n}"), Some(&above), "main"));
    }
    let file = home.session("wide.jsonl", &lines);
    let output = home.run(&["tree", file.to_str().unwrap()]);
    output.expect(0, "");
    assert_eq!(output.out.lines().count(), lines.len());
    assert!(output.out.lines().all(|line| line.chars().count() <= 100));
}

/// Compares branches with nothing in common, with everything, or with everything in another order: quadratic time would
/// be hours.
#[test]
fn long_branches_are_compared() {
    let home = Home::new();
    let parent = |name: &str, n: usize| n.checked_sub(1).map(|n| format!("{name}{n}"));
    let chain = |name: &str, text: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..DEPTH).map(|n| user(&format!("{name}{n}"), parent(name, n).as_deref(), &text(n))).collect()
    };
    let one = home.session("one.jsonl", &chain("a", &|n| format!("text {n}")));
    for (name, text, is_equal) in [
        ("b", (&|n| format!("text {n}")) as &dyn Fn(usize) -> String, true),
        ("c", &|n| format!("other {n}"), false),
        ("d", &|n| format!("text {}", DEPTH - 1 - n), false),
        ("e", &|n| format!("text {}", (n * 7919) % 97), false),
    ] {
        let other = home.session(&format!("{name}.jsonl"), &chain(name, text));
        let output = home.run(&["diff", one.to_str().unwrap(), other.to_str().unwrap()]);
        output.expect(i32::from(!is_equal), "");
        assert!(output.out.lines().count() >= 4, "{name}");
    }
}

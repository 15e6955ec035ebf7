//! Long, realistic sessions, compared in every view.

use std::path::{Path, PathBuf};

use sessile_testkit::differential::{Explained, Op, Target};
use sessile_testkit::{SideBySide, SplitMix, static_call};

use crate::lines::{answer, user_op};

/// Returns the recorded sessions, if they are beside the workspace. They are not part of it.
fn recorded() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let names = ["before-compaction.jsonl", "handmade-session.jsonl"];
    names.iter().map(|name| data.join(name)).filter(|path| path.exists()).collect()
}

/// Creates a session of some hundred entries of every kind on several branches, with our library.
fn generated() -> Vec<u8> {
    let mut sides = SideBySide::new();
    sides.create();
    let mut random = SplitMix::new(11);
    sides.act(&user_op("first"));
    for turn in 0..120 {
        let at = |random: &mut SplitMix| Target::At(random.below(2 * turn + 1));
        let op = match turn % 12 {
            0 => Op::Compaction(format!("summary {turn}"), Some(at(&mut random)), "9000".to_owned(), None, None, None),
            1 => Op::Label(at(&mut random), Some(format!("label {turn}"))),
            2 => Op::Branch(at(&mut random)),
            3 => Op::BranchSummary(Some(at(&mut random)), format!("left {turn}"), None, None, None),
            4 => Op::Model("prov".to_owned(), format!("model {turn}")),
            5 => Op::CustomMessage("note".to_owned(), "\"remember\"".to_owned(), true, None),
            6 => Op::Message(format!(
                r#"{{"role":"system","content":"part {turn}","sections":{{"s{turn}":"text"}},"timestamp":5}}"#
            )),
            _ => user_op(&format!("question {turn} — é 日本 😀 \u{2028}")),
        };
        sides.act(&op);
        sides.act(&answer(&format!("answer {turn}\n```rust\nfn f() {{}}\n```")));
    }
    sides.assert_same();
    sides.our_session()
}

/// Asserts that the only differences come from our copies keeping the spelling.
fn assert_same_but_for_spelling(sides: &mut SideBySide) {
    let differences = sides.differences();
    assert!(differences.iter().all(|it| *it == Explained::SpellingKept), "{differences:?}");
}

/// Opens, appends, extracts and forks, and compares everything after each.
fn compare_all_entries(bytes: &[u8]) {
    let mut sides = SideBySide::new();
    sides.start(bytes);
    let opening = sides.differences();
    assert!(opening.iter().all(|it| matches!(it, Explained::NewlineLater | Explained::UpgradeLater)), "{opening:?}");
    assert_eq!(sides.our_session(), bytes, "opening writes nothing");
    sides.act(&user_op("one more question"));
    sides.act(&answer("one more answer"));
    assert_same_but_for_spelling(&mut sides);

    let n_entries = sides.ours().outline().n_entries();
    for place in [0, 1, n_entries / 3, n_entries / 2, n_entries - 1] {
        sides.open("s/f.jsonl");
        sides.act(&Op::Extract(Target::At(place)));
        assert_same_but_for_spelling(&mut sides);
        sides.act(&user_op("and on"));
        assert_same_but_for_spelling(&mut sides);
    }

    let request =
        static_call("forkFrom", &[&sides.pi_argument("s/f.jsonl"), "\"/other\"", &sides.pi_argument("forks")]);
    let (source, target) = (sides.our_path("s/f.jsonl"), sides.our_path("forks"));
    sides.both(&request, |sessions| sessions.clone().with_session_dir(&target).fork_from(source, "/other")).done();
    assert_same_but_for_spelling(&mut sides);
    sides.same_list("/other", Some("forks"));
}

#[test]
fn recorded_sessions_read_the_same() {
    for path in recorded() {
        compare_all_entries(&std::fs::read(path).unwrap());
    }
}

#[test]
fn a_generated_session_reads_the_same() {
    compare_all_entries(&generated());
}

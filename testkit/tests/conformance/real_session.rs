//! Long, realistic sessions, compared in every view.

use std::path::{Path, PathBuf};

use sessile_testkit::differential::{Explained, Op, Target};
use sessile_testkit::{SplitMix, Stage, statically};

use crate::lines::{answer, say};

/// Returns the recorded sessions, if they are beside the workspace. They are not part of it.
fn recorded() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let names = ["before-compaction.jsonl", "handmade-session.jsonl"];
    names.iter().map(|name| data.join(name)).filter(|path| path.exists()).collect()
}

/// Creates a session of some hundred entries of every kind on several branches, with our library.
fn generated() -> Vec<u8> {
    let mut stage = Stage::new();
    stage.create();
    let mut random = SplitMix::new(11);
    stage.act(&say("first"));
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
            _ => say(&format!("question {turn} — é 日本 😀 \u{2028}")),
        };
        stage.act(&op);
        stage.act(&answer(&format!("answer {turn}\n```rust\nfn f() {{}}\n```")));
    }
    stage.assert_same();
    stage.our_session()
}

/// Asserts that the only differences come from our copies keeping the spelling.
fn assert_same_but_for_spelling(stage: &mut Stage) {
    let differences = stage.differences();
    assert!(differences.iter().all(|it| *it == Explained::SpellingKept), "{differences:?}");
}

/// Opens, appends, extracts and forks, and compares everything after each.
fn go_through(bytes: &[u8]) {
    let mut stage = Stage::new();
    stage.start(bytes);
    let opening = stage.differences();
    assert!(opening.iter().all(|it| matches!(it, Explained::NewlineLater | Explained::UpgradeLater)), "{opening:?}");
    assert_eq!(stage.our_session(), bytes, "opening writes nothing");
    stage.act(&say("one more question"));
    stage.act(&answer("one more answer"));
    assert_same_but_for_spelling(&mut stage);

    let n_entries = stage.ours().outline().n_entries();
    for place in [0, 1, n_entries / 3, n_entries / 2, n_entries - 1] {
        stage.open("s/f.jsonl");
        stage.act(&Op::Extract(Target::At(place)));
        assert_same_but_for_spelling(&mut stage);
        stage.act(&say("and on"));
        assert_same_but_for_spelling(&mut stage);
    }

    let request = statically("forkFrom", &[&stage.pi_argument("s/f.jsonl"), "\"/other\"", &stage.pi_argument("forks")]);
    let (source, target) = (stage.our_path("s/f.jsonl"), stage.our_path("forks"));
    stage.both(&request, |sessions| sessions.clone().with_session_dir(&target).fork_from(source, "/other")).done();
    assert_same_but_for_spelling(&mut stage);
    stage.same_list("/other", Some("forks"));
}

#[test]
fn recorded_sessions_read_the_same() {
    for path in recorded() {
        go_through(&std::fs::read(path).unwrap());
    }
}

#[test]
fn a_generated_session_reads_the_same() {
    go_through(&generated());
}

//! Sessions of Qwen Code.

use super::support::{Pi, fixture, grown, sum, survey};
use sessile_agents::{Agent, TitleSource};

#[test]
fn a_tree_with_contents_of_gemini_is_imported() {
    let source = fixture("qwen", "tree");
    let session = survey(Agent::Qwen, "q1", &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Look at it + image",
            "assistant: (Hm) + Two calls + call c1 + call c2",
            "result c1: no such file",
            "result c2: a.ts",
            "assistant: Done",
            "user: Rather that",
            "compaction Summary\n\n[model]: Got it",
            "assistant: That",
            "qwen-code.context",
            "qwen-code.context",
            "name Look around"
        ]
    );
    // 100 - 40 + 150 - 100 + 200 + 60 read, 20 + 5 + 10 + 1 + 2 written.
    let totals = ["input", "output", "cacheRead", "reasoning"].map(|key| sum(&pi, key));
    assert_eq!(totals, [370, 38, 140, 5]);
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::Generated);
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), [("lines of type martian", 1), ("signatures", 1)]);
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [13]);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"qwen-code","provider":"qwen","model":"qwen3-coder""#).count(), 4);
    assert_eq!(text.matches(r#""isError":true"#).count(), 1);
    assert_eq!(text.matches(r#""tokensBefore":9000"#).count(), 1);
    let before = pi.text.clone();
    assert_eq!(pi.import(&session, &source).n_lines, 0);
    assert_eq!(pi.text, before);
    let grown = grown(Agent::Qwen, "q1", &source);
    let is_said = |words: &String| !words.starts_with("name") && !words.starts_with("sessile.");
    let said = |pi: &Pi| pi.path().into_iter().filter(is_said).collect::<Vec<_>>();
    assert_eq!(said(&grown), said(&pi));
}

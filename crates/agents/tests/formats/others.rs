//! Sessions of oh-my-pi and Copilot CLI, and the old forms of Codex.

use super::support::{Pi, fixture, grown, imported, sum, survey, survey_document};
use sessile_agents::{Agent, TitleSource};

#[test]
fn a_session_of_oh_my_pi_keeps_its_tree_and_costs() {
    let (session, pi) = imported(Agent::Omp, "file", &fixture("omp", "session"));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Look at it + [image blob:sha256:4c4b6a3be1314ab86138bef4314d] + [image blob:sha256:../../x] + image",
            "assistant: (Hm) + A call + call t1",
            "result t1: no such file",
            "$ ls: a.ts",
            "compaction They looked",
            "oh-my-pi.context",
            "name My look"
        ]
    );
    assert_eq!(pi.count("assistant: Gone"), 1);
    let totals = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"].map(|key| sum(&pi, key));
    assert_eq!(totals, [11, 22, 33, 44, 110]);
    assert_eq!((session.id.as_str(), session.title.as_ref().unwrap().source), ("om1", TitleSource::User));
    let losses = [("changes of settings", 2), ("lines of type martian", 1), ("signatures", 1), ("telemetry", 1)];
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), losses);
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [14]);
    let blobs: Vec<(bool, u64)> = session.blobs.iter().map(|blob| (blob.sha256.is_some(), blob.line)).collect();
    assert_eq!(blobs, [(true, 5), (false, 5)]);
    let text = String::from_utf8(pi.text).unwrap();
    assert!(text.contains(r#""excludeFromContext":true"#));
    assert_eq!(text.matches(r#""api":"oh-my-pi","provider":"anthropic","model":"claude-opus-5""#).count(), 2);
    assert!(text.contains(r#""total":0.5"#) && text.contains(r#""tokensBefore":900"#));
}

#[test]
fn the_events_of_copilot_are_a_conversation() {
    let (session, pi) = imported(Agent::Copilot, "cp1", &fixture("copilot", "events"));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "copilot-cli.context",
            "user: Look at it",
            "assistant: (Hm) + Two calls + call t1 + call t2",
            "result t1: no such file",
            "result t2: b.ts",
            "assistant: Done",
            "compaction They looked"
        ]
    );
    // 100 - 60 - 10 read, 20 + 7 written.
    let totals = ["input", "output", "cacheRead", "cacheWrite"].map(|key| sum(&pi, key));
    assert_eq!(totals, [30, 27, 60, 10]);
    assert_eq!((session.cwd.as_deref(), session.version.as_deref()), (Some("/proj/site"), Some("1.0.102")));
    let losses = [("encrypted thoughts", 1), ("events of type martian.event", 1)];
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), losses);
    assert_eq!(session.damages.iter().map(|damage| damage.line).collect::<Vec<_>>(), [14]);
    let text = String::from_utf8(pi.text).unwrap();
    assert_eq!(text.matches(r#""isError":true"#).count(), 1);
    assert!(text.contains(r#""model":"gpt-5.5""#) && text.contains(r#""model":"claude-opus-5""#));
}

#[test]
fn old_sessions_of_codex_are_documents_or_lines_without_an_envelope() {
    let said = ["user: List it", "assistant: call call_1", "result call_1: a.ts\n", "assistant: One file"];
    let source = fixture("codex", "old.json");
    let session = survey_document(Agent::Codex, "o1", &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(pi.said(), said);
    assert_eq!(pi.import(&session, &source).n_lines, 0);
    assert_eq!(session.losses.iter().count(), 0);

    let (session, pi) = imported(Agent::Codex, "o2", &fixture("codex", "bare"));
    assert_eq!(pi.said(), said);
    assert!(session.started.is_some() && String::from_utf8(pi.text).unwrap().contains(r#""isError":true"#));
}

#[test]
fn entries_of_oh_my_pi_that_no_model_receives_stay_in_the_tree() {
    let (session, pi) = imported(Agent::Omp, "file", &fixture("omp", "entries"));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: First",
            "oh-my-pi.context",
            "oh-my-pi.context",
            "assistant: ",
            "oh-my-pi.context",
            "user: Second",
            "name Two"
        ]
    );
    // The other branch, which ends with a call whose result is missing.
    assert_eq!(["assistant: One + call t1 + call t2", "result t2: text"].map(|words| pi.count(words)), [1; 2]);
    assert_eq!((session.n_messages(), session.calls.len()), (5, 2));
    assert_eq!(["input", "output", "cacheRead", "cacheWrite"].map(|key| sum(&pi, key)), [6, 6, 7, 0]);
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::Generated);
    let losses = [("changes of settings", 1), ("labels", 1), ("telemetry", 1)];
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), losses);
    let text = String::from_utf8(pi.text).unwrap();
    assert!(
        text.contains("They listed") && text.contains("Mind it") && text.contains(r#""errorMessage":"overloaded""#)
    );
}

#[test]
fn a_resumed_session_of_copilot_goes_on_after_an_abort() {
    let source = fixture("copilot", "resumed");
    let session = survey(Agent::Copilot, "cp2", &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!((pi.findings(), pi.import(&session, &source).n_lines), (Vec::new(), 0));
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: First",
            "assistant: call t1 + call t2",
            "result t1: a.ts",
            "result t2: No result was recorded.",
            "copilot-cli.context",
            "copilot-cli.context",
            "user: Second",
            "assistant: (Hm) + Two"
        ]
    );
    // While the session grows, the texts of the program come before the missing result. A model receives the same.
    let conversation = |pi: &Pi| pi.said().into_iter().filter(|words| !words.contains(".context")).collect::<Vec<_>>();
    assert_eq!(conversation(&grown(Agent::Copilot, "cp2", &source)), conversation(&pi));
    assert_eq!((session.n_messages(), session.calls.len()), (5, 2));
    // The tokens of an answer count once.
    assert_eq!(["input", "output", "cacheRead", "cacheWrite"].map(|key| sum(&pi, key)), [10, 2, 0, 0]);
    assert_eq!(session.cwd.as_deref(), Some("/proj/site"));
    let losses = [("compactions without a summary", 1), ("results without a call", 1), ("telemetry", 1)];
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), losses);
    // Arguments that are not an object are kept as text.
    assert!(String::from_utf8(pi.text).unwrap().contains(r#""arguments":{"input":"pwd"}"#));
}

//! Sessions of opencode.

use super::support::{Pi, fixture, sum, survey, survey_document, words};
use sessile_agents::{Agent, TitleSource};
use sessile_core::json::{Json, Raw};

fn imported() -> (sessile_agents::ForeignSession, Pi) {
    let source = fixture("opencode", "export.json");
    let session = survey_document(Agent::Opencode, "file", &source).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, &source);
    assert_eq!(pi.findings(), Vec::<String>::new());
    assert_eq!(pi.import(&session, &source).n_lines, 0);
    (session, pi)
}

#[test]
fn each_step_is_an_answer_and_a_revert_is_a_branch() {
    let (session, pi) = imported();
    assert_eq!(
        pi.path(),
        [
            "sessile.import",
            "user: Look at it + image + [file b.ts]",
            "opencode.context",
            "assistant: (Hm) + Two calls + call c1 + call c2",
            "result c1: no such file",
            "result c2: b.ts + image",
            "assistant: Done",
            "compaction They looked around",
            "user: @explore Count the files",
            "assistant: call c1",
            "result c1: No result was recorded.",
            "sessile.import",
            "name Look around"
        ]
    );
    assert_eq!((pi.count("user: Taken back"), pi.count("assistant: Too late")), (1, 1));
    // The steps have 10, 20 + 3, 60, 40 and 5, 6, 90, 0; the last answer has 1 and 2.
    let totals = ["input", "output", "cacheRead", "cacheWrite", "reasoning"].map(|key| sum(&pi, key));
    assert_eq!(totals, [16, 31, 150, 40, 3]);
    let cost = |entry: &Json| entry.raw().get("message")?.get("usage")?.get("cost")?.get("total")?.as_number();
    let cost: f64 = pi.entries().iter().filter_map(cost).sum();
    assert!((cost - 0.031).abs() < 1e-9, "{cost}");
    assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("ses_1", Some("/proj/site")));
    assert_eq!(session.title.as_ref().unwrap().source, TitleSource::Generated);
    let losses = [("file snapshots", 1), ("parts of other types", 1), ("signatures", 1)];
    assert_eq!(session.losses.iter().collect::<Vec<_>>(), losses);
    let text = String::from_utf8(pi.text.clone()).unwrap();
    assert_eq!(text.matches(r#""api":"opencode","provider":"openrouter","model":"glm-5""#).count(), 4);
    assert!(
        text.contains(r#""errorMessage":"#)
            && !text.contains(r#""stopReason":"aborted""#)
            && text.contains(r#""tokensBefore":100"#)
    );
    let kept = pi.entries().iter().find_map(|entry| entry.raw().get("firstKeptEntryId").and_then(Raw::as_string));
    let calls = pi.entries().into_iter().find(|entry| words(entry.raw()).starts_with("assistant: (Hm)")).unwrap();
    assert_eq!(kept, calls.raw().get("id").and_then(Raw::as_string));
}

#[test]
fn the_files_of_old_versions_give_the_same_session() {
    let source = fixture("opencode", "export.json");
    let document = Json::parse(&source).unwrap();
    let mut lines = document.raw().get("info").unwrap().to_text().into_owned() + "\n";
    let one_line = |value: Raw<'_>| value.to_text().replace('\n', " ") + "\n";
    let messages = document.raw().get("messages").unwrap();
    for message in messages.items() {
        lines += &one_line(message.get("info").unwrap());
    }
    for part in messages.items().flat_map(|message| message.get("parts").unwrap().items()) {
        lines += &one_line(part);
    }
    let session = survey(Agent::Opencode, "file", lines.as_bytes()).remove(0);
    let mut pi = Pi::default();
    pi.import(&session, lines.as_bytes());
    assert_eq!(pi.text, imported().1.text);
}

#[test]
fn a_message_that_was_deleted_after_a_revert_stays_as_a_branch() {
    let before = fixture("opencode", "export.json");
    let text = String::from_utf8(before.clone()).unwrap();
    let after = text.replace(r#""revert":"#, r#""x":"#).replace("msg_7", "msg_9").replace("Taken back", "Instead");
    let mut pi = Pi::default();
    pi.import(&survey_document(Agent::Opencode, "file", &before)[0], &before);
    pi.import(&survey_document(Agent::Opencode, "file", after.as_bytes())[0], after.as_bytes());
    assert_eq!(pi.findings(), Vec::<String>::new());
    let path = pi.said();
    assert_eq!(path[path.len() - 2..], ["user: Instead", "assistant: Too late"]);
    assert_eq!((pi.count("user: Taken back"), pi.count("user: Instead")), (1, 1));
}

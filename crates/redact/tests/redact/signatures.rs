//! Signatures of providers: what a copy must remove so that it can still be resumed.

use crate::rewriting::{one, placeholder, rewritten};
use sessile_redact::{Level, Warning};

fn answer(api: &str, blocks: &str) -> String {
    format!(
        r#"{{"type":"message","id":"a","parentId":null,"message":{{"role":"assistant","api":"{api}","content":[{blocks}]}}}}"#
    )
}

const TEXT: &str = r#"{"type":"text","text":"ok"}"#;

#[test]
fn a_sealed_thought_goes_whole_if_its_text_changes() {
    for api in ["anthropic-messages", "bedrock-converse-stream"] {
        let thought = r#"{"type":"thinking","thinking":"x SECRET-1","thinkingSignature":"Eq=="}"#;
        assert_eq!(one(Level::Secrets, &answer(api, &format!("{thought},{TEXT}"))), answer(api, TEXT));
        let other = r#"{"type":"thinking","thinking":"x","thinkingSignature":"Eq=="}"#;
        assert_eq!(
            one(Level::Secrets, &answer(api, &format!("{other},{thought},{TEXT}"))),
            answer(api, &format!("{other},{TEXT}"))
        );
    }
}

#[test]
fn a_sealed_thought_stays_byte_for_byte_otherwise() {
    let blocks = r#"{"type":"thinking", "thinking":"x\u0041","thinkingSignature":"SECRET-1=="},{"type":"text","text":"SECRET-2"}"#;
    let expected = blocks.replace("SECRET-2", &placeholder("SECRET-2"));
    assert_eq!(one(Level::Secrets, &answer("anthropic-messages", blocks)), answer("anthropic-messages", &expected));
}

#[test]
fn redacted_thoughts_are_whole_or_gone() {
    let whole = r#"{"type":"thinking","thinking":"[Reasoning redacted]","thinkingSignature":"Eq==","redacted":true}"#;
    let line = answer("anthropic-messages", whole);
    assert_eq!(one(Level::Pii, &line), line);
    assert_eq!(one(Level::Outputs, &line), answer("anthropic-messages", ""));
    for api in ["anthropic-messages", "google-vertex", "openai-completions", "else"] {
        let odd = answer(api, &whole.replace("[Reasoning", "SECRET-1 [Reasoning"));
        assert_eq!(one(Level::Secrets, &odd), answer(api, ""));
    }
}

/// An item of the Responses API with a summary in clear.
fn item(summary: &str) -> String {
    format!(
        r#"{{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{{\"text\":\"{summary}\"}}],\"encrypted_content\":\"gA==\"}}"#
    )
}

fn responses(thinking: &str, summary: &str) -> String {
    let thought = format!(r#"{{"type":"thinking","thinking":"{thinking}","thinkingSignature":"{}"}}"#, item(summary));
    format!(
        r#"{thought},{{"type":"text","text":"t","textSignature":"msg_1"}},{{"type":"toolCall","id":"call_1|fc_1","name":"x","arguments":{{}}}},{{"type":"toolCall","id":"call_2|ctc_2","name":"x","arguments":{{}}}}"#
    )
}

fn result(id: &str) -> String {
    format!(
        r#"{{"type":"message","id":"b","parentId":"a","message":{{"role":"toolResult","toolCallId":"{id}","content":[]}}}}"#
    )
}

#[test]
fn a_reasoning_item_goes_with_all_references() {
    let without = r#"{"type":"text","text":"t"},{"type":"toolCall","id":"call_1","name":"x","arguments":{}},{"type":"toolCall","id":"call_2","name":"x","arguments":{}}"#;
    for api in ["openai-responses", "azure-openai-responses", "openai-codex-responses"] {
        for (thinking, summary) in
            [("SECRET-1", "x"), ("x", "SECRET-1"), ("SECRET-1", "SECRET-1"), ("x", "\\\\u0053ECRET-1")]
        {
            let call = answer(api, &responses(thinking, summary));
            let lines = [&*call, &*result("call_1|fc_1"), &*result("call_2|ctc_2"), &*result("call_9|fc_9")];
            let (copy, report) = rewritten(Level::Secrets, &lines);
            assert_eq!(copy, [answer(api, without), result("call_1"), result("call_2"), result("call_9|fc_9")]);
            assert_eq!((report.removed_thoughts, report.cut_calls, report.removed_signatures), (1, 2, 1));
        }
    }
}

#[test]
fn the_other_reasoning_items_of_an_answer_go_with_one() {
    let other = responses("y", "z").replace("rs_1", "rs_2");
    let without = r#"{"type":"text","text":"t"},{"type":"toolCall","id":"call_1","name":"x","arguments":{}},{"type":"toolCall","id":"call_2","name":"x","arguments":{}}"#;
    let (copy, report) =
        rewritten(Level::Secrets, &[&answer("openai-responses", &format!("{},{other}", responses("SECRET-1", "x")))]);
    assert_eq!(copy, [answer("openai-responses", &format!("{without},{without}"))]);
    assert_eq!(report.removed_thoughts, 2);
}

#[test]
fn ids_are_cut_even_if_the_result_comes_first() {
    let call = answer("openai-responses", &responses("SECRET-1", "x"));
    let (copy, _) = rewritten(Level::Secrets, &[&result("call_1|fc_1"), &call]);
    assert_eq!(copy[0], result("call_1"));
}

#[test]
fn a_reasoning_item_without_secrets_stays_with_its_references() {
    let blocks = responses("x", "y").replace(r#""text":"t""#, r#""text":"SECRET-1""#);
    let lines = [answer("openai-responses", &blocks), result("call_1|fc_1")];
    let (copy, _) = rewritten(Level::Secrets, &[&lines[0], &lines[1]]);
    assert_eq!(copy[0], lines[0].replace("SECRET-1", &placeholder("SECRET-1")));
    assert_eq!(copy[1], lines[1]);
}

#[test]
fn a_field_name_stays_and_details_go() {
    let thought = |thinking: &str, signature: &str| {
        format!(r#"{{"type":"thinking","thinking":"{thinking}","thinkingSignature":"{signature}"}}"#)
    };
    let api = "openai-completions";
    let named = answer(api, &thought("SECRET-1", "reasoning_content"));
    assert_eq!(one(Level::Secrets, &named), named.replace("SECRET-1", &placeholder("SECRET-1")));
    let details =
        answer(api, &format!("{},{TEXT}", thought("x", r#"[{\"type\":\"reasoning.text\",\"text\":\"SECRET-1\"}]"#)));
    assert_eq!(one(Level::Secrets, &details), answer(api, TEXT));
    let harmless = answer(api, &thought("x", r#"[{\"text\":\"y\"}]"#));
    assert_eq!(one(Level::Secrets, &harmless), harmless);
}

#[test]
fn parts_of_google_lose_their_signature_when_they_change() {
    let part = |text: &str, signature: &str| {
        format!(
            r#"{{"type":"thinking","thinking":"{text}"{}}},{{"type":"text","text":"{text}"{}}},{{"type":"toolCall","id":"c","name":"x","arguments":{{"a":"{text}"}}{}}}"#,
            signature.replace('?', "thinking"),
            signature.replace('?', "text"),
            signature.replace('?', "thought"),
        )
    };
    for api in ["google-generative-ai", "google-vertex", "google-gemini-cli"] {
        let changed = answer(api, &part("SECRET-1", r#","?Signature":"AbC=""#));
        assert_eq!(one(Level::Secrets, &changed), answer(api, &part(&placeholder("SECRET-1"), "")));
        let same = answer(api, &part("x", r#","?Signature":"AbC=""#));
        assert_eq!(one(Level::Secrets, &same), same);
    }
}

#[test]
fn an_open_loop_of_gemini_3_is_warned_about() {
    let call = |argument: &str, model: &str| {
        format!(
            r#"{{"type":"message","id":"a","message":{{"role":"assistant","api":"google-vertex","model":"{model}","content":[{{"type":"toolCall","id":"c","arguments":{{"a":"{argument}"}},"thoughtSignature":"Ab"}}]}}}}"#
        )
    };
    let end = answer("google-vertex", TEXT);
    let user = r#"{"type":"message","id":"u","message":{"role":"user","content":"x"}}"#;
    let warnings = |lines: &[&str]| rewritten(Level::Secrets, lines).1.warnings;
    let warned = [Warning::SignatureDemanded];
    assert_eq!(warnings(&[user, &call("SECRET-1", "gemini-3-pro")]), warned);
    assert_eq!(warnings(&[user, &call("SECRET-1", "gemini-3-pro"), &result("c")]), warned);
    assert_eq!(warnings(&[user, &call("SECRET-1", "gemini-3-pro"), &result("c"), &end]), []);
    assert_eq!(warnings(&[&call("SECRET-1", "gemini-3-pro"), &result("c"), user, &call("x", "gemini-3-pro")]), []);
    assert_eq!(warnings(&[user, &call("x", "gemini-3-pro")]), []);
    assert_eq!(warnings(&[user, &call("SECRET-1", "gemini-2.5-pro")]), []);
}

#[test]
fn a_warning_follows_the_path_of_the_leaf() {
    let user = |id: &str, parent: &str| {
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"x"}}}}"#)
    };
    let call = |id: &str, parent: &str, argument: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"assistant","api":"google-vertex","model":"gemini-3-pro","content":[{{"type":"toolCall","id":"c","arguments":{{"a":"{argument}"}},"thoughtSignature":"Ab"}}]}}}}"#
        )
    };
    let result = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"toolResult","toolCallId":"c","content":[]}}}}"#
        )
    };
    let named = |parent: &str| format!(r#"{{"type":"session_info","id":"n","parentId":"{parent}","name":"x"}}"#);
    let header = r#"{"type":"session","version":3,"id":"s","cwd":"/"}"#;
    let warns = |lines: &[String]| {
        let lines: Vec<&str> = [header].into_iter().chain(lines.iter().map(String::as_str)).collect();
        rewritten(Level::Secrets, &lines).1.warnings == [Warning::SignatureDemanded]
    };
    let (a, b) = (user("a", "null"), call("b", "a", "SECRET-1"));
    // A user speaks on another branch, but the leaf is in the loop.
    assert!(warns(&[a.clone(), b.clone(), user("o", "\"a\""), result("r", "b")]));
    assert!(warns(&[a.clone(), b.clone(), user("o", "\"a\""), result("r", "b"), named("r")]));
    // The loop is on another branch, and the leaf's own calls have their signatures.
    assert!(!warns(&[a.clone(), b.clone(), call("d", "a", "x")]));
    assert!(!warns(&[a.clone(), b.clone(), call("d", "a", "x"), result("r", "d")]));
    assert!(!warns(&[a.clone(), b.clone(), result("r", "b"), user("o", "\"r\""), call("d", "o", "x")]));
    // The call that lost its signature is not the last one of its turn.
    assert!(warns(&[a, b, result("r", "b"), call("d", "r", "x"), result("q", "d")]));
}

#[test]
fn unknown_apis_keep_no_seal_over_changed_text() {
    let sealed = r#"{"type":"thinking","thinking":"SECRET-1","thinkingSignature":"Ab"}"#;
    assert_eq!(one(Level::Secrets, &answer("else", sealed)), answer("else", ""));
    let open = answer("else", r#"{"type":"thinking","thinking":"SECRET-1"}"#);
    assert_eq!(one(Level::Secrets, &open), open.replace("SECRET-1", &placeholder("SECRET-1")));
}

#[test]
fn signatures_that_hold_text_are_dropped_from_blocks_that_stay() {
    let text = |rest: &str| answer("openai-responses", &format!(r#"{{"type":"text","text":"t"{rest}}}"#));
    assert_eq!(one(Level::Secrets, &text(r#","textSignature":"{\"id\":\"msg\",\"note\":\"SECRET-1\"}""#)), text(""));
    let call =
        |rest: &str| answer("openai-completions", &format!(r#"{{"type":"toolCall","id":"c","arguments":{{}}{rest}}}"#));
    assert_eq!(one(Level::Secrets, &call(r#","thoughtSignature":"{\"text\":\"SECRET-1\"}""#)), call(""));
}

#[test]
fn thoughts_go_at_the_level_outputs() {
    let sealed = r#"{"type":"thinking","thinking":"x","thinkingSignature":"Ab"}"#;
    assert_eq!(
        one(Level::Outputs, &answer("anthropic-messages", &format!("{TEXT},{sealed}"))),
        answer("anthropic-messages", TEXT)
    );
    let call = answer("openai-responses", &responses("x", "y"));
    let (copy, _) = rewritten(Level::Outputs, &[&call, &result("call_1|fc_1")]);
    assert!(!copy[0].contains("thinking") && !copy[0].contains("fc_1") && !copy[0].contains("msg_1"), "{copy:?}");
    assert_eq!(copy[1], result("call_1"));
    let named =
        answer("openai-completions", r#"{"type":"thinking","thinking":"a\nb","thinkingSignature":"reasoning"}"#);
    assert_eq!(one(Level::Outputs, &named), named.replace(r"a\nb", "[removed: 2 lines, 3 B]"));
    let google = answer("google-vertex", r#"{"type":"thinking","thinking":"a","thinkingSignature":"Ab"}"#);
    assert_eq!(
        one(Level::Outputs, &google),
        answer("google-vertex", r#"{"type":"thinking","thinking":"[removed: 1 line, 1 B]"}"#)
    );
}

#[test]
fn secrets_in_removed_thoughts_count_once() {
    let sealed = r#"{"type":"thinking","thinking":"SECRET-1 SECRET-2","thinkingSignature":"Ab"}"#;
    let blocks = format!("{sealed},{}", TEXT.replace("ok", "SECRET-1"));
    assert_eq!(rewritten(Level::Secrets, &[&answer("anthropic-messages", &blocks)]).1.findings(), 3);
    let google = r#"{"type":"text","text":"SECRET-1","textSignature":"Ab"}"#;
    assert_eq!(rewritten(Level::Secrets, &[&answer("google-vertex", google)]).1.findings(), 1);
}

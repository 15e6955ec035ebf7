use sessile::json::Json;

use super::*;

fn rendered_in(line: &str, context: &EntryContext) -> EntryHtml {
    render_entry(&Entry::new(Json::parse(line).unwrap()), context)
}

fn html_of(line: &str) -> String {
    rendered_in(line, &EntryContext { has_call: true, ..EntryContext::default() }).html
}

#[track_caller]
fn assert_shows(line: &str, parts: &[&str]) {
    let html = html_of(line);
    for part in parts {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

fn message(message: &str) -> String {
    format!(r#"{{"type":"message","id":"a1","parentId":null,"message":{message}}}"#)
}

fn call(name: &str, arguments: &str) -> String {
    message(&format!(
        r#"{{"role":"assistant","model":"m-1","content":[{{"type":"toolCall","id":"c","name":"{name}","arguments":{arguments}}}]}}"#
    ))
}

fn result(name: &str, text: &str, rest: &str) -> String {
    let text = Json::string(text).to_text().into_owned();
    message(&format!(
        r#"{{"role":"toolResult","toolCallId":"c","toolName":"{name}","content":[{{"type":"text","text":{text}}}]{rest}}}"#
    ))
}

#[test]
fn an_entry_has_its_row_anchor_label_and_time() {
    let context = EntryContext {
        index: 7,
        label: Some("<start>".to_owned()),
        local_time: Some("2026-01-02 03:04".to_owned()),
        time: Some(Timestamp::from_ms(0)),
        ..EntryContext::default()
    };
    let line = r#"{"type":"message","id":"a \"1","message":{"role":"user","content":"**Hi**"}}"#;
    let html = rendered_in(line, &context).html;
    for part in [
        r#"<article class="e user" id="entry-a%20%221" data-row="7" tabindex="-1">"#,
        "<h2>You</h2>",
        r#"<span class="label">&lt;start&gt;</span>"#,
        r#"<time datetime="1970-01-01T00:00:00.000Z">2026-01-02 03:04</time>"#,
        r##"href="#entry-a%20%221""##,
        "<div class=md><p><strong>Hi</strong></p></div>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

#[test]
fn an_entry_of_another_member_has_the_name() {
    let context = EntryContext { author: Some("<bob>".to_owned()), ..EntryContext::default() };
    let html = rendered_in(r#"{"type":"message","id":"a","message":{"role":"user","content":"Hi"}}"#, &context).html;
    assert!(html.contains(r#"<h2>User</h2><span class="note by">by &lt;bob&gt;</span>"#), "{html}");
}

#[test]
fn calls_are_drawn_by_tool() {
    assert_shows(&call("bash", r#"{"command":"if x\nfi"}"#), &["<pre tabindex=0 class=command><i class=k>if</i> x"]);
    assert_shows(&call("read", r#"{"path":"a.rs","offset":5,"limit":10}"#), &["<code>a.rs:5-14</code>"]);
    assert_shows(&call("write", r#"{"path":"a.rs","content":"fn x"}"#), &["class=code><i class=k>fn</i> x</pre>"]);
    let edit = r#"{"path":"a","edits":[{"oldText":"a b","newText":"a c"}]}"#;
    assert_shows(&call("edit", edit), &["<pre class=diff tabindex=0>", "-a <b>b</b>", "+a <b>c</b>"]);
    assert_shows(
        &call("grep", r#"{"pattern":"x","path":"src"}"#),
        &["<code>/x/ in src</code>", "pattern: x\npath: src"],
    );
    assert_shows(&call("find", r#"{"pattern":"*.rs"}"#), &["<code>*.rs in .</code>"]);
    assert_shows(&call("ls", r#"{"path":"src"}"#), &["<code>src</code>"]);
    assert_shows(&call("my_tool", r#"{"x":{"y":1}}"#), &["my_tool", "x: {&quot;y&quot;:1}"]);
}

#[test]
fn results_show_colours_code_diffs_and_nested_calls() {
    assert_shows(&result("bash", "\u{1b}[31mred\u{1b}[0m", ""), &[r#"<span class="a f1">red</span>"#]);
    let context = EntryContext { has_call: true, call_path: Some("a.rs".to_owned()), ..EntryContext::default() };
    let read = rendered_in(&result("read", "fn x", ""), &context).html;
    assert!(read.contains("class=code><i class=k>fn</i> x"), "{read}");
    assert_shows(&result("edit", "ok", r#","details":{"diff":"+1 x"}"#), &["Diff with line numbers", "+1 x"]);
    assert_shows(&result("x", "no", r#","isError":true,"durationMs":1500"#), &["e result failed", "failed", "1.5 s"]);
    let nested = r#","nestedCalls":{"calls":[{"name":"inner","arguments":{"a":1},"status":"ok","durationMs":5}]}"#;
    assert_shows(&result("x", "ok", nested), &["Nested calls (1)", "inner", " · ok", "5 ms"]);
    let orphan = rendered_in(&result("x", "ok", ""), &EntryContext::default()).html;
    assert!(orphan.contains("is not in the session"), "{orphan}");
}

#[test]
fn answers_show_thinking_errors_usage_and_duration() {
    let answer = r#"{"role":"assistant","model":"m-1","content":[{"type":"thinking","thinking":"*hm*"},
        {"type":"thinking","redacted":true},{"type":"text","text":"yes"}],"errorMessage":"<e>","stopReason":"error",
        "usage":{"input":1200,"output":30,"cacheRead":0,"cost":{"total":0.00123}},"durationMs":65000}"#;
    assert_shows(
        &message(&answer.replace('\n', " ")),
        &[
            "<h2>m-1</h2>",
            "<em>hm</em>",
            "withheld by the provider",
            "<p>yes</p>",
            "&lt;e&gt;",
            "1.2k in · 30 out · $0.0012",
            "1 min 5 s",
            "<span class=\"note\">error</span>",
        ],
    );
}

#[test]
fn every_kind_of_entry_says_what_it_is() {
    let context = EntryContext { n_covered: Some(12), ..EntryContext::default() };
    let compaction = r##"{"type":"compaction","id":"c","summary":"# Sum","firstKeptEntryId":"k","tokensBefore":12345,
        "details":{"readFiles":["a<b"],"modifiedFiles":[]}}"##;
    let html = rendered_in(&compaction.replace('\n', " "), &context).html;
    for part in ["Compaction", "12.3k tokens before", "covers 12 entries", "#entry-k", "<p class=h1>Sum</p>", "a&lt;b"]
    {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    for (line, parts) in [
        (r#"{"type":"branch_summary","summary":"s","fromId":"x"}"#, &["Summary of another branch", "<p>s</p>"][..]),
        (r#"{"type":"model_change","provider":"p","modelId":"m"}"#, &["Model", "p/m"]),
        (r#"{"type":"thinking_level_change","thinkingLevel":"high"}"#, &["Thinking level", "high"]),
        (r#"{"type":"session_info","name":"N"}"#, &["Session name", "N"]),
        (r#"{"type":"label","targetId":"t","label":"L"}"#, &["Label", ">L<", "<a href=\"#entry-t\">→ t</a>"]),
        (r#"{"type":"label","targetId":"t"}"#, &["(removed)", "#entry-t"]),
        (r#"{"type":"usage","kind":"cache_warm","usage":{"input":5}}"#, &["Usage", "cache_warm · 5 in"]),
        (
            r#"{"type":"context_edit","targetId":"t","replacement":null}"#,
            &["Context omits an entry", "<a href=\"#entry-t\">→ t</a>"],
        ),
        (r#"{"type":"context_edit","targetId":"t","replacement":{"content":"new"}}"#, &["replaces", "<p>new</p>"]),
        (r#"{"type":"custom","customType":"ext","data":{"n":1}}"#, &["Extension data", "ext", "&quot;n&quot;"]),
        (
            r#"{"type":"custom_message","customType":"ext","content":"hi","display":false}"#,
            &["ext", "not displayed in pi"],
        ),
        (r#"{"type":"future","x":"<y>"}"#, &["Unknown entry", "future", "&lt;y&gt;"]),
    ] {
        assert_shows(line, parts);
    }
    let shell =
        r#"{"role":"bashExecution","command":"ls","output":"a","exitCode":"<1>","cancelled":true,"truncated":true}"#;
    assert_shows(&message(shell), &["Shell", "exit code &quot;&lt;1&gt;&quot;", "cancelled", "truncated"]);
}

#[test]
fn values_of_an_unusual_shape_are_shown_as_their_text() {
    for odd in [
        r#"{"role":"user","content":null}"#,
        r#"{"role":"user","content":7}"#,
        r#"{"role":"user","content":{"a":"<b>"}}"#,
        r#"{"role":"assistant","content":[null]}"#,
        r#"{"role":"assistant","content":[{"type":"text"}]}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":5}]}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":[]}]}"#,
        r#"{"role":"assistant","content":[{"type":"toolCall","name":"read","arguments":null}]}"#,
        r#"{"role":"toolResult","toolName":"x","content":[null]}"#,
        r#"{"role":"bashExecution","command":5}"#,
        r#"{"role":"bashExecution","command":"x","output":[]}"#,
    ] {
        let html = html_of(&message(odd));
        assert!(html.contains("has an unusual shape") && !html.contains("<b>"), "{odd}: {html}");
    }
    for odd in [r#"{"type":"message"}"#, r#"{"type":"message","message":"x"}"#, r#"{"type":"compaction","summary":7}"#]
    {
        assert_shows(odd, &["has an unusual shape"]);
    }
}

#[test]
fn long_texts_are_cut_into_windows() {
    let text: Vec<String> = (0..5000).map(|number| format!("line {number}")).collect();
    let text = text.join("\n");
    let rendered = rendered_in(&result("bash", &text, ""), &EntryContext { index: 3, ..EntryContext::default() });
    assert!(rendered.html.contains("Show all 5,000 lines, "), "{}", rendered.html);
    assert!(rendered.html.contains(r#"data-more="3:0""#), "{}", rendered.html);
    assert!(rendered.html.len() < 3 * INLINE_BYTES, "{}", rendered.html.len());
    let [long] = rendered.long_texts.as_slice() else { panic!("{:?}", rendered.long_texts.len()) };
    let rest: String = long.windows().collect();
    assert!(long.windows().all(|window| window.len() <= 2 * WINDOW_BYTES));
    let shown = 12 + 400;
    assert_eq!(rest, text.lines().skip(shown).collect::<Vec<_>>().join("\n"));
}

#[test]
fn one_endless_line_is_bounded_too() {
    let endless = "x<".repeat(1 << 20);
    let answer = message(&format!(r#"{{"role":"user","content":"{endless}"}}"#));
    let rendered = rendered_in(&answer, &EntryContext::default());
    assert!(rendered.html.len() < 8 * INLINE_BYTES, "{}", rendered.html.len());
    let rest: String = rendered.long_texts[0].windows().collect();
    assert_eq!(rest.matches("&lt;").count() + rendered.html.matches("&lt;").count(), 1 << 20);
}

#[test]
fn figures_are_short() {
    assert_eq!([0.0, 999.0, 1000.0, 1_234_567.0].map(tokens_text), ["0", "999", "1.0k", "1.2M"]);
    assert_eq!([0.0012, 0.01, 12.345].map(cost_text), ["$0.0012", "$0.01", "$12.35"]);
    assert_eq!([850.0, 3200.0, 125_000.0, f64::NAN].map(duration_text), ["850 ms", "3.2 s", "2 min 5 s", "0 ms"]);
}

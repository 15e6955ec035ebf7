//! Random sessions with secrets.

use crate::corpus::{Random, kinds, make};
use crate::planted::{ENCODINGS, Encoding, escaped};
use sessile_testkit::SplitMix;

/// A session, and the secrets in it.
pub(crate) struct Generated {
    pub(crate) lines: Vec<String>,
    pub(crate) values: Vec<String>,
    pub(crate) n_plants: usize,
}

/// The places of the format that hold text: `?` is a string as JSON, `#` a number that differs for each line. The
/// common members of an entry come before each.
const PLACES: [&str; 22] = [
    r#""type":"message","message":{"role":"user","content":?,"timestamp":17356896010#}"#,
    r#""type":"message","message":{"role":"user","content":[{"type":"text","text":?},{"type":"text","text":?}]}"#,
    r#""type":"message","message":{"role":"assistant","api":"anthropic-messages","model":"m","provider":"p","content":[{"type":"thinking","thinking":?,"thinkingSignature":"EqQBCkYIAxgCKkA="},{"type":"text","text":?},{"type":"toolCall","id":"c#","name":"bash","arguments":{"command":?}}],"usage":{"input":1#,"output":5,"cost":{"total":0.25}},"stopReason":"toolUse"}"#,
    r#""type":"message","message":{"role":"assistant","api":"google-vertex","model":"gemini-3-pro","content":[{"type":"thinking","thinking":?,"thinkingSignature":"EqQB"},{"type":"text","text":?,"textSignature":"EqQC"},{"type":"toolCall","id":"c#","name":"x","arguments":{"a":[{"b":?}]},"thoughtSignature":"EqQD"}]}"#,
    r#""type":"message","message":{"role":"assistant","api":"openai-completions","content":[{"type":"thinking","thinking":?,"thinkingSignature":"reasoning_content"},{"type":"text","text":?}],"errorMessage":?}"#,
    r#""type":"message","message":{"role":"assistant","api":"openai-responses","content":[{"type":"thinking","thinking":?,"thinkingSignature":"{\"id\":\"rs_#\",\"summary\":[]}"},{"type":"toolCall","id":"call_#|fc_#","name":"x","arguments":{"x":?}}],"diagnostics":[{"type":"t","error":{"message":?}}]}"#,
    r#""type":"message","message":{"role":"toolResult","toolCallId":"c#","toolName":"bash","content":[{"type":"text","text":?}],"details":{"diff":?,"more":[?]},"isError":false}"#,
    r#""type":"message","message":{"role":"toolResult","toolCallId":"c#","content":?,"nestedCalls":{"calls":[{"id":"n","name":"x","arguments":{"a":?},"error":?}]}}"#,
    r#""type":"message","message":{"role":"bashExecution","command":?,"output":?,"exitCode":0}"#,
    r#""type":"message","message":{"role":"system","content":?,"sections":{"a":?},"toolsAdded":[{"name":"x","description":?,"parameters":{}}]}"#,
    r#""type":"compaction","summary":?,"firstKeptEntryId":"e0","tokensBefore":9#,"details":{"readFiles":[?]},"systemMessage":{"role":"system","content":?}"#,
    r#""type":"branch_summary","fromId":"e0","summary":?,"details":?"#,
    r#""type":"label","targetId":"e0","label":?"#,
    r#""type":"session_info","name":?"#,
    r#""type":"usage","kind":"k","note":?,"usage":{"input":1#}"#,
    r#""type":"custom","customType":"c","data":{"y":[?,{"z":?}]}"#,
    r#""type":"custom","customType":"c","data":{?:{?:1}}"#,
    r#""type":"custom_message","customType":"c","content":?,"display":true,"details":?"#,
    r#""type":"context_edit","targetId":"e0","replacement":{"content":[{"type":"text","text":?}]}"#,
    r#""type":"future","anything":{"deep":[[?]]},"n":1.50"#,
    r#""type":"model_change","provider":"p","modelId":"m","note":?"#,
    r#""type":"message","message":{"role":"custom","content":[{"type":"new","odd":?},?]}"#,
];

/// Words around a secret: plain ones, and ones that rules look for.
const AROUND: [(&str, &str); 8] = [
    ("", ""),
    ("see ", " there"),
    ("KEY=", ""),
    ("export TOKEN=", " && run"),
    ("line 1\n", "\nline 3"),
    ("\"", "\""),
    ("é😀 ", " ü"),
    ("{\"a\": \"", "\"}"),
];

/// Kinds that every encoding is tested with; see the tests of the scanner.
const ENCODED: [&str; 8] = [
    "github-token",
    "anthropic-key",
    "google-api-key",
    "gitlab-token",
    "slack-token",
    "stripe-key",
    "groq-key",
    "huggingface-token",
];

/// Makes a session.
pub(crate) fn generate(seed: u64) -> Generated {
    let mut random = SplitMix::new(seed);
    let mut letters = Random::new(seed | 1);
    let kinds = kinds();
    let n_values = 1 + random.below(4);
    let values: Vec<(String, bool)> = (0..n_values)
        .map(|_| {
            let (rule, template) = &kinds[random.below(kinds.len())];
            (make(template, &mut letters), ENCODED.contains(rule))
        })
        .collect();
    let header =
        r#"{"type":"session","version":3,"id":"source-id","timestamp":"2024-01-01T00:00:00.000Z","cwd":"/home/bob/x"}"#;
    let mut generated = Generated { lines: vec![header.to_owned()], values: Vec::new(), n_plants: 0 };
    for n in 0..=random.below(14) {
        let parent = match random.below(n + 2) {
            0 => "null".to_owned(),
            // Mostly the entry before, so that there are long paths.
            parent if parent > n || random.one_in(2) => format!("\"e{}\"", n.max(1) - 1),
            parent => format!("\"e{}\"", parent - 1),
        };
        let parent = if n == 0 { "null".to_owned() } else { parent };
        let mut line = format!(r#"{{"id":"e{n}","parentId":{parent},"timestamp":"2024-01-01T00:00:{n:02}.000Z","#);
        for part in random.pick(&PLACES).split_inclusive('?') {
            line.push_str(&part.trim_end_matches('?').replace('#', &n.to_string()));
            if part.ends_with('?') {
                let text = text(&values, &mut generated.n_plants, &mut random);
                line.push_str(&escaped(&text, &mut random));
            }
        }
        line.push('}');
        if random.one_in(12) {
            line.truncate(line.floor_char_boundary(line.len() - 1 - random.below(line.len() / 4)));
        }
        generated.lines.push(line);
    }
    generated.values = values.into_iter().map(|(value, _)| value).collect();
    generated
}

/// A text, mostly with a secret between markers.
fn text(values: &[(String, bool)], n_plants: &mut usize, random: &mut SplitMix) -> String {
    if random.one_in(3) {
        return random.pick(&["", "nothing", "/home/bob/x/y", "a\nb", "mail bob@x.org", "😀"]).to_owned();
    }
    *n_plants += 1;
    let number = random.below(values.len());
    let (value, may_be_encoded) = &values[number];
    let encoding = if *may_be_encoded { random.pick(&ENCODINGS) } else { Encoding::Plain };
    let (before, after) = random.pick(&AROUND);
    if encoding == Encoding::Plain && random.one_in(2) {
        return format!("{before}«{number} {value} {number}»{after}");
    }
    format!("{before}{}{after}", encoding.write(value))
}

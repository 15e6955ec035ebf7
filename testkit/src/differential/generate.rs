//! Generates random sequences.

use super::op::{Bytes, Damage, Op, Step, Target};
use crate::oracle::quoted;
use crate::random::SplitMix;

/// Generates a sequence of at most a few dozen steps.
pub(super) fn sequence(random: &mut SplitMix) -> Vec<Step> {
    let first = match random.below(10) {
        0 => Op::InMemory,
        1..=3 if random.one_in(100) => Op::Start(Bytes(deep_file(random))),
        1..=3 => Op::Start(Bytes(old_file(random))),
        _ => Op::Create,
    };
    let n_steps = 1 + random.below(24);
    let mut steps = vec![Step { tick: 1, op: first }];
    for _ in 0..n_steps {
        // Equal times and leaps, because the order of siblings depends on both.
        let tick = random.pick(&[0, 0, 1, 1, 5, 1000, 86_400_000, -3]);
        steps.push(Step { tick, op: operation(random) });
    }
    steps
}

fn operation(random: &mut SplitMix) -> Op {
    match random.below(100) {
        0..=29 => Op::Message(message(random)),
        30..=32 => Op::Thinking(text(random)),
        33..=35 => Op::Model(text(random), text(random)),
        36..=37 => Op::Usage(text(random), value(random, 2), random.one_in(2).then(|| text(random))),
        38..=42 => Op::Compaction(
            text(random),
            (!random.one_in(4)).then(|| target(random)),
            number(random),
            random.one_in(3).then(|| value(random, 2)),
            random.one_in(3).then(|| random.one_in(2)),
            random.one_in(4).then(|| value(random, 1)),
        ),
        43..=45 => Op::Custom(text(random), random.one_in(2).then(|| value(random, 3))),
        46..=49 => {
            let details = random.one_in(3).then(|| value(random, 2));
            Op::CustomMessage(text(random), content(random), random.one_in(2), details)
        }
        50..=52 => Op::Name(text(random)),
        53..=59 => Op::Label(target(random), (!random.one_in(4)).then(|| text(random))),
        60..=64 => Op::ContextEdit(target(random), replacement(random)),
        65..=71 => Op::Branch(target(random)),
        72 => Op::Reset,
        73..=76 => Op::BranchSummary(
            (!random.one_in(4)).then(|| target(random)),
            text(random),
            random.one_in(3).then(|| value(random, 2)),
            random.one_in(3).then(|| random.one_in(2)),
            random.one_in(4).then(|| value(random, 1)),
        ),
        77..=80 => Op::Extract(target(random)),
        81..=82 => Op::Fork,
        83..=86 => Op::Reopen,
        87 => Op::SetFile,
        88..=89 => Op::Foreign(message(random)),
        90..=91 => Op::Meanwhile(message(random), message(random)),
        92 => Op::NewSession,
        _ => Op::Damage(damage(random)),
    }
}

fn target(random: &mut SplitMix) -> Target {
    if random.one_in(20) { Target::Missing } else { Target::At(random.below(64)) }
}

fn damage(random: &mut SplitMix) -> Damage {
    match random.below(12) {
        0 => Damage::CutEnd(random.below(60)),
        1 => Damage::CutEnd(1),
        2 => Damage::Insert(random.below(64), Bytes(junk(random))),
        3 => Damage::Insert(random.below(64), Bytes(entry(random).into_bytes())),
        4 => Damage::Duplicate(random.below(64)),
        5 => Damage::Remove(random.below(64)),
        6 => Damage::TornTail(Bytes(br#"{"type":"message","id":"torn","par"#.to_vec())),
        7 => Damage::TornTail(Bytes(entry(random).into_bytes())),
        8 => Damage::CrLf,
        9 => Damage::Swap(random.below(64), random.below(64)),
        _ => Damage::FlipBit(random.below(100_000), u8::try_from(random.below(8)).unwrap()),
    }
}

/// Returns a line that is not an entry.
fn junk(random: &mut SplitMix) -> Vec<u8> {
    let junk: &[&[u8]] = &[
        b"",
        b"   \t",
        b"null",
        b"0",
        b"false",
        b"\"\"",
        b"{broken",
        b"{\"type\":\"message\"",
        b"\x00\x00\x00\x00",
        b"\xff\xfe{}",
        "\u{a0}".as_bytes(),
        b"{\"type\":\"session\",\"version\":3,\"id\":\"second\",\"timestamp\":\"x\",\"cwd\":\"/other\"}",
        b"{\"a\":1}{\"b\":2}",
    ];
    // After these pi loses its position, which ends the comparison, so they are rare.
    let misleading: &[&[u8]] = &[b"123", b"[]", b"{\"type\":\"message\"}", b"\"text\""];
    if random.one_in(12) { random.pick(misleading).to_vec() } else { random.pick(junk).to_vec() }
}

/// Returns an entry as another program might write it: odd spellings, odd types, odd references.
fn entry(random: &mut SplitMix) -> String {
    let kinds = [
        "message",
        "message",
        "message",
        "label",
        "compaction",
        "session_info",
        "context_edit",
        "model_change",
        "thinking_level_change",
        "branch_summary",
        "custom",
        "custom_message",
        "usage",
        "future",
    ];
    let ids = ["x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8"];
    let kind = random.pick(&kinds);
    let own = random.below(ids.len());
    let mut fields = vec![format!("\"type\": \"{kind}\"")];
    fields.push(format!("\"id\" : {}", quoted(ids[own])));
    match random.below(16) {
        0 | 1 => fields.push("\"parentId\":null".to_owned()),
        2 => {}
        // Any parent at all, which can create cycles.
        3 => fields.push(format!("\"parentId\":{}", quoted(random.pick(&ids)))),
        _ => fields.push(format!("\"parentId\":{}", quoted(random.pick(&ids[..own.max(1)])))),
    }
    fields.push(format!("\"timestamp\":{}", timestamp(random)));
    match kind {
        "message" if !random.one_in(20) => fields.push(format!("\"message\":{}", message(random))),
        "label" => {
            fields.push(format!("\"targetId\":{}", quoted(random.pick(&ids))));
            if !random.one_in(4) {
                fields.push(format!("\"label\":{}", quoted(&text(random))));
            }
        }
        "compaction" => {
            fields.push(format!("\"summary\":{}", quoted(&text(random))));
            fields.push(format!("\"firstKeptEntryId\":{}", quoted(random.pick(&ids))));
            fields.push(format!("\"tokensBefore\":{}", number(random)));
        }
        "session_info" => fields.push(format!("\"name\":{}", quoted(&text(random)))),
        "context_edit" => {
            fields.push(format!("\"targetId\":{}", quoted(random.pick(&ids))));
            fields.push(format!("\"replacement\":{}", replacement(random)));
        }
        "branch_summary" => {
            fields.push(format!("\"fromId\":{},\"summary\":{}", quoted(random.pick(&ids)), quoted(&text(random))));
        }
        "custom_message" => {
            fields.push(format!("\"customType\":\"c\",\"content\":{},\"display\":true", content(random)));
        }
        _ => fields.push(format!("\"extra\":{}", value(random, 2))),
    }
    if random.one_in(3) {
        let from = random.below(fields.len());
        fields.rotate_left(from);
    }
    format!("{{{}}}", fields.join(","))
}

fn timestamp(random: &mut SplitMix) -> String {
    let odd = [
        "\"2025-01-01\"",
        "1735689600000",
        "\"Jan 1 2025\"",
        "\"2025-03-01T10:00:00Z\"",
        "\"2025-01-01T00:00:00\"",
        "null",
        "true",
    ];
    if random.one_in(5) {
        return random.pick(&odd).to_owned();
    }
    format!("\"2025-01-01T00:00:{:02}.{:03}Z\"", random.below(60), random.below(3))
}

/// Returns a file of any version, written by another program.
fn old_file(random: &mut SplitMix) -> Vec<u8> {
    let version = random.pick(&[
        "",
        "\"version\":1,",
        "\"version\":2,",
        "\"version\":3,",
        "\"version\":3,",
        "\"version\":\"2\",",
        "\"version\":\"3\",",
    ]);
    let mut lines = vec![format!(
        "{{\"type\":\"session\",{version}\"id\":\"old\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/proj/dir\",\"extra\":1.0}}"
    )];
    let has_ids = version.contains(['2', '3']);
    for _ in 0..random.below(10) {
        lines.push(match random.below(12) {
            1 | 2 | 4 | 5 if has_ids => entry(random),
            3 if has_ids => format!(
                r#"{{"type":"message","id":"h{}","parentId":"x1","timestamp":{},"message":{{"role":"hookMessage","customType":"h","content":"hook","display":true,"timestamp":1}}}}"#,
                random.below(3),
                timestamp(random)
            ),
            0 => String::from_utf8_lossy(&junk(random)).into_owned(),
            1 | 2 => format!(
                "{{\"type\":\"compaction\",\"timestamp\":\"2025-01-01T00:00:05.000Z\",\"summary\":\"s\",\"firstKeptEntryIndex\":{},\"tokensBefore\":7}}",
                random.pick(&["0", "1", "2", "3", "5", "99", "-1", "1.5", "\"2\"", "null"])
            ),
            3 => r#"{"type":"message","timestamp":"2025-01-01T00:00:06.000Z","message":{"role":"hookMessage","customType":"h","content":"hook","display":true,"timestamp":1}}"#.to_owned(),
            4 | 5 => format!("{{\"type\":\"message\",\"timestamp\":{},\"message\":{}}}", timestamp(random), message(random)),
            _ => entry(random),
        });
    }
    let mut text = lines.join("\n");
    if !random.one_in(4) {
        text.push('\n');
    }
    text.into_bytes()
}

/// Returns a file whose tree is deeper than pi's JSON can nest, with a few side branches.
fn deep_file(random: &mut SplitMix) -> Vec<u8> {
    let mut text = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"deep\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/proj/dir\"}\n",
    );
    for index in 0..3000 + random.below(3000) {
        let parent = match index {
            0 => "null".to_owned(),
            _ if random.one_in(200) => format!("\"{:08x}\"", random.below(index)),
            _ => format!("\"{:08x}\"", index - 1),
        };
        let entry = format!(
            "{{\"type\":\"message\",\"id\":\"{index:08x}\",\"parentId\":{parent},\"timestamp\":{},\"message\":{{\"role\":\"user\",\"content\":\"{index}\",\"timestamp\":{index}}}}}\n",
            timestamp(random)
        );
        text.push_str(&entry);
    }
    text.into_bytes()
}

fn message(random: &mut SplitMix) -> String {
    let time = random.below(100_000);
    match random.below(16) {
        0..=4 => format!(r#"{{"role":"user","content":{},"timestamp":{time}}}"#, content(random)),
        5..=8 => format!(
            r#"{{"role":"assistant","content":{},"api":"x","provider":{},"model":{},"usage":{},"stopReason":"stop","timestamp":{time}}}"#,
            blocks(random),
            quoted(&text(random)),
            quoted(&text(random)),
            value(random, 1)
        ),
        9 | 10 => format!(
            r#"{{"role":"toolResult","toolCallId":"c","toolName":"read","content":{},"isError":false,"timestamp":{time}}}"#,
            blocks(random)
        ),
        11 => format!(
            r#"{{"role":"bashExecution","command":{},"output":{},"exitCode":{},"cancelled":{},"truncated":{},"fullOutputPath":"/f","timestamp":{time},"excludeFromContext":{}}}"#,
            quoted(&text(random)),
            quoted(&text(random)),
            random.pick(&["0", "1", "-1", "null"]),
            random.one_in(3),
            random.one_in(3),
            random.one_in(4)
        ),
        12 | 13 => system(random),
        14 => format!(
            r#"{{"role":"custom","customType":"c","content":{},"display":true,"timestamp":{time}}}"#,
            content(random)
        ),
        _ => format!(
            r#"{{"role":{},"content":{}}}"#,
            random.pick(&[
                "\"odd\"",
                "\"user\"",
                "\"assistant\"",
                "\"system\"",
                "\"compactionSummary\"",
                "\"branchSummary\""
            ]),
            random.pick(&["null", "\"x\"", "[]"])
        ),
    }
}

fn system(random: &mut SplitMix) -> String {
    let mut fields = vec![format!("\"role\":\"system\",\"content\":{}", content(random))];
    if random.one_in(2) {
        let sections: Vec<_> = (0..random.below(4))
            .map(|_| {
                let name = random.pick(&["a", "b", "2", "10", "é"]);
                let text = if random.one_in(3) { "null".to_owned() } else { quoted(&text(random)) };
                format!("{}:{text}", quoted(name))
            })
            .collect();
        fields.push(format!("\"sections\":{{{}}}", sections.join(",")));
    }
    for key in ["toolsAdded", "toolsRemoved"] {
        if random.one_in(2) {
            let tools: Vec<_> = (0..random.below(3))
                .map(|_| format!("{{\"name\":\"t{}\",\"description\":{}}}", random.below(3), quoted(&text(random))))
                .collect();
            fields.push(format!("\"{key}\":[{}]", tools.join(",")));
        }
    }
    fields.push("\"timestamp\":5".to_owned());
    format!("{{{}}}", fields.join(","))
}

fn content(random: &mut SplitMix) -> String {
    if random.one_in(2) { quoted(&text(random)) } else { blocks(random) }
}

fn blocks(random: &mut SplitMix) -> String {
    let blocks: Vec<_> = (0..random.below(4))
        .map(|_| match random.below(5) {
            0 => r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#.to_owned(),
            1 => format!(r#"{{"type":"thinking","thinking":{},"thinkingSignature":"s"}}"#, quoted(&text(random))),
            2 => format!(r#"{{"type":"toolCall","id":"c","name":"read","arguments":{}}}"#, object(random, 2)),
            _ => format!(r#"{{"type":"text","text":{}}}"#, quoted(&text(random))),
        })
        .collect();
    format!("[{}]", blocks.join(","))
}

fn replacement(random: &mut SplitMix) -> String {
    match random.below(10) {
        0..=3 => "null".to_owned(),
        4..=7 => format!("{{\"content\":{},\"extra\":1}}", content(random)),
        8 => random.pick(&["5", "\"s\"", "{}", "{\"content\":null}", "{\"content\":{}}"]).to_owned(),
        _ => format!("{{\"content\":{}}}", content(random)),
    }
}

fn value(random: &mut SplitMix, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => quoted(&text(random)),
        1 | 2 => number(random),
        3 => random.pick(&["true", "false", "null"]).to_owned(),
        4 => r#""\ud800x\u00e9\/""#.to_owned(),
        5 => format!("[{}]", (0..random.below(3)).map(|_| value(random, depth - 1)).collect::<Vec<_>>().join(", ")),
        _ => object(random, depth),
    }
}

fn object(random: &mut SplitMix, depth: usize) -> String {
    let members: Vec<_> = (0..random.below(4))
        .map(|_| {
            let key = random.pick(&["\"a\"", "\"b\"", "\"10\"", "\"2\"", "\"\\u0061\"", "\"__proto__\"", "\"path\""]);
            format!("{key} : {}", value(random, depth.saturating_sub(1)))
        })
        .collect();
    format!("{{ {} }}", members.join(" ,"))
}

fn number(random: &mut SplitMix) -> String {
    let spelled =
        ["0", "-0", "1.0", "1e21", "1E-7", "12345678901234567890", "1e999", "-1e999", "0.1", "3.14", "1e2", "5e-324"];
    if random.one_in(3) { random.pick(&spelled).to_owned() } else { random.below(200_000).to_string() }
}

fn text(random: &mut SplitMix) -> String {
    let texts = [
        "",
        "a",
        "hello",
        "two\nlines",
        " padded ",
        "\r\n",
        "日本語",
        "😀",
        "\u{2028}",
        "\u{0}\u{1f}\u{7f}",
        "\"quoted\\",
        "off",
        "high",
        "tab\t",
        "\u{feff}",
        "é",
        "</script>",
    ];
    if random.one_in(4) { format!("text {}", random.below(1000)) } else { random.pick(&texts).to_owned() }
}

//! Generates random branches: everything that a session may contain, in any order.

use std::fmt;

use crate::oracle::quoted;
use crate::random::SplitMix;

/// A tree of entries, a leaf, a target, and how much to keep.
#[derive(Clone, Debug)]
pub struct Case {
    /// The entries in file order.
    pub entries: Vec<Entry>,
    /// The current leaf.
    pub leaf: String,
    /// The navigation target.
    pub target: String,
    /// Numbers of tokens to keep.
    pub keeps: Vec<u64>,
    /// Token budgets for summarising a branch.
    pub budgets: Vec<u64>,
    /// A context window.
    pub window: u64,
}

/// An entry of a case.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Its parent's id.
    pub parent: Option<String>,
    /// The members of the object after the common ones.
    body: String,
    /// Its JSON.
    pub text: String,
}

impl Entry {
    fn new(id: String, parent: Option<String>, body: String) -> Self {
        let parent_text = parent.as_deref().map_or_else(|| "null".to_owned(), quoted);
        let text = format!(
            r#"{{"id":{},"parentId":{parent_text},"timestamp":"2026-01-02T03:04:05.000Z",{body}}}"#,
            quoted(&id)
        );
        Self { id, parent, body, text }
    }
}

impl Case {
    /// Generates a random case.
    pub fn random(random: &mut SplitMix) -> Self {
        let n_entries = if random.one_in(20) { 1 + random.below(3) } else { 4 + random.below(44) };
        let mut entries: Vec<Entry> = Vec::with_capacity(n_entries);
        let is_branchy = random.one_in(3);
        let mut tool_results_due = 0;
        for index in 0..n_entries {
            let parent = if is_branchy && random.one_in(6) { random.below(index + 1) } else { index };
            let parent = parent.checked_sub(1).map(|parent| entries[parent].id.clone());
            let body = if tool_results_due > 0 && !random.one_in(8) {
                tool_results_due -= 1;
                format!(r#""type":"message","message":{}"#, tool_result(random))
            } else {
                let body = entry(random, &entries);
                tool_results_due = body.matches("\"toolCall\"").count();
                body
            };
            entries.push(Entry::new(format!("{index:08x}"), parent, body));
        }
        if random.one_in(5) {
            add_failed_attempt(random, &mut entries);
        }
        let n_entries = entries.len();
        let index = |random: &mut SplitMix| {
            let index = if random.one_in(3) { random.below(n_entries) } else { n_entries - 1 };
            entries[index].id.clone()
        };
        let (leaf, target) = (index(random), entries[random.below(n_entries)].id.clone());
        let amount = |random: &mut SplitMix| random.pick(&[0u64, 1, 3, 10, 40, 150, 600, 1300, 2500, 6000, 20_000]);
        let near = |random: &mut SplitMix| amount(random) + random.below(9) as u64;
        let keeps = vec![amount(random), near(random), near(random), near(random)];
        let budgets = vec![0, near(random), near(random)];
        let window = 16_384 + near(random);
        Self { entries, leaf, target, keeps: distinct(keeps), budgets: distinct(budgets), window }
    }

    /// Returns the case without one of its entries, whose children move to its parent.
    pub(super) fn without(&self, index: usize) -> Self {
        let gone = &self.entries[index];
        let adopted = |id: &String| if *id == gone.id { gone.parent.clone() } else { Some(id.clone()) };
        let others = self.entries.iter().filter(|entry| entry.id != gone.id);
        let entries: Vec<Entry> = others
            .map(|entry| Entry::new(entry.id.clone(), entry.parent.as_ref().and_then(adopted), entry.body.clone()))
            .collect();
        let moved = |id: &String| {
            adopted(id).or_else(|| entries.first().map(|entry| entry.id.clone())).unwrap_or_else(|| id.clone())
        };
        let (leaf, target) = (moved(&self.leaf), moved(&self.target));
        if entries.is_empty() {
            return self.clone();
        }
        Self { entries, leaf, target, ..self.clone() }
    }

    /// Returns the case as a request to the oracle.
    pub(super) fn to_request(&self) -> String {
        let entries: Vec<&str> = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        format!(
            r#"{{"entries":[{}],"leaf":{},"target":{},"keeps":{:?},"budgets":{:?},"window":{}}}"#,
            entries.join(","),
            quoted(&self.leaf),
            quoted(&self.target),
            self.keeps,
            self.budgets,
            self.window
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            writeln!(f, "{}", entry.text)?;
        }
        write!(f, "leaf {}, target {}", self.leaf, self.target)
    }
}

/// Adds the remains of an attempt that exceeded the window: an answer, results, and edits that remove them.
fn add_failed_attempt(random: &mut SplitMix, entries: &mut Vec<Entry>) {
    let add = |entries: &mut Vec<Entry>, body: String| {
        let parent = entries.last().map(|entry| entry.id.clone());
        entries.push(Entry::new(format!("{:08x}", entries.len()), parent, body));
    };
    let start = entries.len();
    for index in 0..=random.below(3) {
        let message = if index == 0 { answer(random) } else { tool_result(random) };
        add(entries, format!(r#""type":"message","message":{message}"#));
    }
    let attempt: Vec<String> = entries[start..].iter().map(|entry| quoted(&entry.id)).collect();
    for id in attempt.iter().filter(|_| !random.clone().one_in(12)) {
        add(entries, format!(r#""type":"context_edit","targetId":{id},"replacement":null"#));
    }
    if random.one_in(3) {
        let any = target(random, entries);
        let id = random.pick(&[any.as_str(), attempt[0].as_str()]).to_owned();
        let replacement = random.pick(&["null", r#"{"content":"other"}"#]);
        add(entries, format!(r#""type":"context_edit","targetId":{id},"replacement":{replacement}"#));
    }
    if random.one_in(3) {
        add(entries, r#""type":"session_info","name":"n""#.to_owned());
    }
}

fn distinct(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns the members of an entry after the common ones.
fn entry(random: &mut SplitMix, before: &[Entry]) -> String {
    let message = |message: String| format!(r#""type":"message","message":{message}"#);
    match random.below(100) {
        0..=19 => message(format!(r#"{{"role":"user","content":{},"timestamp":1}}"#, content(random))),
        20..=51 => message(answer(random)),
        52..=55 => message(tool_result(random)),
        56..=59 => message(bash(random)),
        60..=62 => message(system(random)),
        63..=66 => {
            format!(r#""type":"custom_message","customType":"note","content":{},"display":true"#, content(random))
        }
        67..=70 => format!(
            r#""type":"branch_summary","fromId":"root","summary":{}{}"#,
            if random.one_in(8) { "\"\"".to_owned() } else { text(random) },
            carried(random)
        ),
        71..=76 => compaction(random, before),
        77..=84 => context_edit(random, before),
        85..=87 => format!(r#""type":"label","targetId":{},"label":"l""#, target(random, before)),
        88..=89 => r#""type":"session_info","name":"n""#.to_owned(),
        90..=91 => r#""type":"custom","customType":"state","data":{"a":1}"#.to_owned(),
        92..=93 => r#""type":"model_change","provider":"p","modelId":"m""#.to_owned(),
        94..=95 => r#""type":"thinking_level_change","thinkingLevel":"high""#.to_owned(),
        96..=97 => r#""type":"usage","kind":"k","provider":"p","model":"m","usage":{"totalTokens":9}"#.to_owned(),
        98 => format!(r#""type":"invented","content":{}"#, content(random)),
        _ => message(format!(r#"{{"role":"invented","content":{}}}"#, content(random))),
    }
}

fn answer(random: &mut SplitMix) -> String {
    let n_blocks = random.below(4);
    let blocks: Vec<String> = (0..n_blocks)
        .map(|_| match random.below(8) {
            0..=2 => format!(r#"{{"type":"text","text":{}}}"#, text(random)),
            3 => format!(r#"{{"type":"thinking","thinking":{}}}"#, text(random)),
            4 if random.one_in(9) => r#"{"type":"image","data":"AA","mimeType":"image/png"}"#.to_owned(),
            _ => tool_call(random),
        })
        .collect();
    let usage = match random.below(8) {
        0..=2 => String::new(),
        3 => r#","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":0,"cost":{}}"#.to_owned(),
        4 => r#","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0}"#.to_owned(),
        _ => format!(
            r#","usage":{{"input":5,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":{}}}"#,
            random.below(30_000)
        ),
    };
    let stop = random.pick(&["stop", "stop", "stop", "toolUse", "toolUse", "length", "aborted", "error"]);
    format!(
        r#"{{"role":"assistant","content":[{}],"provider":"p","model":"m"{usage},"stopReason":"{stop}","timestamp":2}}"#,
        blocks.join(",")
    )
}

fn tool_call(random: &mut SplitMix) -> String {
    let name = random.pick(&["read", "read", "write", "edit", "bash", "Read", "grep", "日本"]);
    let arguments = match random.below(10) {
        0..=4 => format!(r#"{{"path":{}}}"#, path(random)),
        5 => format!(r#"{{"path":{},"content":{}}}"#, path(random), text(random)),
        6 => format!(r#"{{"command":{},"2":1.0,"1":[1e21,-0,0.1e-6],"n":null}}"#, text(random)),
        7 => r#"{"path":"","file_path":"odd.rs"}"#.to_owned(),
        8 => r#"{"path":7,"o":{"b":{"a":[]},"a":"\ud800"}}"#.to_owned(),
        _ => "{}".to_owned(),
    };
    format!(r#"{{"type":"toolCall","id":"c","name":"{name}","arguments":{arguments}}}"#)
}

fn path(random: &mut SplitMix) -> String {
    quoted(random.pick(&[
        "a.rs",
        "b.rs",
        "Z.rs",
        "é.rs",
        "src/a.rs",
        "😀.rs",
        "\u{ff5e}.rs",
        "a b.rs",
        "10.rs",
        "9.rs",
    ]))
}

fn tool_result(random: &mut SplitMix) -> String {
    let nested = match random.below(6) {
        0 => format!(
            r#","nestedCalls":{{"calls":[{{"id":"n","name":"{}","arguments":{{"path":{}}}}},{{"name":"bash","arguments":{{}}}}],"complete":true}}"#,
            random.pick(&["read", "write", "edit", "grep"]),
            path(random)
        ),
        _ => String::new(),
    };
    let content = if random.one_in(4) {
        // Around the length at which results are cut, with a surrogate pair on the edge.
        let filling = "r".repeat(1990 + random.below(14));
        format!(r#"[{{"type":"text","text":"{filling}"}},{{"type":"text","text":{}}}]"#, text(random))
    } else {
        blocks(random)
    };
    format!(
        r#"{{"role":"toolResult","toolCallId":"c","toolName":"read","content":{content},"isError":{}{nested},"timestamp":3}}"#,
        random.one_in(5)
    )
}

fn bash(random: &mut SplitMix) -> String {
    let extra = random.pick(&[
        "",
        r#","exitCode":0"#,
        r#","exitCode":2"#,
        r#","cancelled":true"#,
        r#","excludeFromContext":true"#,
        r#","truncated":true,"fullOutputPath":"/tmp/o""#,
    ]);
    format!(r#"{{"role":"bashExecution","command":{},"output":{}{extra},"timestamp":4}}"#, text(random), text(random))
}

fn system(random: &mut SplitMix) -> String {
    let sections =
        random.pick(&["", r#","sections":{"a":"one","b":null}"#, r#","sections":{"a":null,"7":"x","c":"日本"}"#]);
    let tools = random.pick(&[
        "",
        "",
        r#","toolsAdded":[{"name":"t","description":"d","parameters":{"b":1.0}}]"#,
        r#","toolsRemoved":[{"name":"t"}]"#,
        r#","toolsAdded":[]"#,
    ]);
    let time = random.pick(&["", r#","timestamp":5"#]);
    format!(r#"{{"role":"system","content":{}{sections}{tools}{time}}}"#, text(random))
}

fn compaction(random: &mut SplitMix, before: &[Entry]) -> String {
    let first_kept = if random.one_in(6) { "\"missing\"".to_owned() } else { target(random, before) };
    let system = if random.one_in(4) { format!(r#","systemMessage":{}"#, system(random)) } else { String::new() };
    format!(
        r#""type":"compaction","summary":{},"firstKeptEntryId":{first_kept},"tokensBefore":{}{}{system}"#,
        text(random),
        random.below(99_999),
        carried(random)
    )
}

/// Returns the details that a summary carries, and its origin.
fn carried(random: &mut SplitMix) -> String {
    let details = match random.below(4) {
        0 => String::new(),
        1 => r#","details":{"readFiles":"none"}"#.to_owned(),
        _ => format!(
            r#","details":{{"readFiles":[{},{}],"modifiedFiles":[{}]}}"#,
            path(random),
            path(random),
            path(random)
        ),
    };
    let hook = random.pick(&["", r#","fromHook":false"#, r#","fromHook":true"#]);
    format!("{details}{hook}")
}

fn context_edit(random: &mut SplitMix, before: &[Entry]) -> String {
    // Mostly the newest entries, as when a failed attempt is removed.
    let recent = &before[before.len().saturating_sub(4)..];
    let target = if random.one_in(3) { target(random, before) } else { target(random, recent) };
    let replacement = match random.below(4) {
        0 => format!(r#"{{"content":{}}}"#, text(random)),
        1 => format!(r#"{{"content":{}}}"#, blocks(random)),
        _ => "null".to_owned(),
    };
    format!(r#""type":"context_edit","targetId":{target},"replacement":{replacement}"#)
}

fn target(random: &mut SplitMix, before: &[Entry]) -> String {
    if before.is_empty() {
        return "\"missing\"".to_owned();
    }
    quoted(&before[random.below(before.len())].id)
}

fn content(random: &mut SplitMix) -> String {
    if random.one_in(2) { text(random) } else { blocks(random) }
}

fn blocks(random: &mut SplitMix) -> String {
    let blocks: Vec<String> = (0..random.below(3))
        .map(|_| match random.below(5) {
            0 => r#"{"type":"image","data":"AA","mimeType":"image/png"}"#.to_owned(),
            1 if random.one_in(4) => r#"{"type":"invented","text":"no"}"#.to_owned(),
            _ => format!(r#"{{"type":"text","text":{}}}"#, text(random)),
        })
        .collect();
    format!("[{}]", blocks.join(","))
}

/// Returns a text as JSON, from empty to a few hundred tokens.
fn text(random: &mut SplitMix) -> String {
    match random.below(16) {
        0 => "\"\"".to_owned(),
        1 => r#""\ud83d""#.to_owned(),
        2 => r#""\ude00 tail""#.to_owned(),
        3 => r#""é 日本 😀 \u2028 \"quoted\" \\ \u0007""#.to_owned(),
        4 => r#""line\nline\r\n\tend""#.to_owned(),
        5 => format!("\"{}\"", "😀".repeat(1 + random.below(60))),
        6..=8 => format!("\"{}\"", "word ".repeat(random.below(500))),
        _ => format!("\"{}\"", "abcdefghijklmnopqrstuvwxyz".repeat(3).split_at(random.below(70)).0),
    }
}

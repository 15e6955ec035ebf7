//! Generates session files from bytes.
//!
//! Random bytes are hardly ever a line of JSON, let alone a tree. Here each byte of the input is a choice in a small
//! grammar of session lines: a type, an id out of a few, a parent, a body that fits the type or does not. So every
//! mutation of the input is a small change to a plausible file.

use arbitrary::Unstructured;

/// Enough lines for every kind of cycle and branch, few enough to be fast.
const MAX_LINES: usize = 48;

/// Returns the file that an input stands for, and a number for free use by the target.
///
/// The first byte selects how to read the rest: if it is even (`F`), as the file itself; if odd (`G`), as choices.
pub fn file(data: &[u8]) -> (Vec<u8>, u8) {
    let Some((switch, rest)) = data.split_first() else { return (Vec::new(), 0) };
    let file = if switch % 2 == 0 { rest.to_vec() } else { generated(rest) };
    (file, switch >> 1)
}

/// Generates a JSON value from choices.
pub fn value(data: &[u8]) -> Vec<u8> {
    let mut writer = Writer { choices: Unstructured::new(data), out: Vec::new() };
    if writer.chance(4) {
        writer.entry();
    } else {
        writer.value(5);
    }
    writer.out
}

fn generated(data: &[u8]) -> Vec<u8> {
    let mut writer = Writer { choices: Unstructured::new(data), out: Vec::new() };
    if writer.pick(&[true, true, true, false]) {
        writer.header();
    }
    for _ in 0..MAX_LINES {
        if writer.choices.is_empty() {
            break;
        }
        writer.line();
    }
    writer.out
}

const TYPES: &[&str] = &[
    "\"message\"",
    "\"message\"",
    "\"message\"",
    "\"compaction\"",
    "\"label\"",
    "\"context_edit\"",
    "\"branch_summary\"",
    "\"custom_message\"",
    "\"thinking_level_change\"",
    "\"model_change\"",
    "\"session_info\"",
    "\"usage\"",
    "\"custom\"",
    "\"session\"",
    "\"mess\\u0061ge\"",
    "\"unheard\"",
    "7",
];

/// Ids; the first are chosen most often.
const IDS: &[&str] = &[
    "\"a\"",
    "\"b\"",
    "\"c\"",
    "\"d\"",
    "\"0000000a\"",
    "\"0000000b\"",
    "\"\"",
    "\"\\ud800\"",
    "\"\\u0061\"",
    "\"root\"",
    "\"é\"",
    "\"0000000A\"",
    // The ids of the first entries of a version 1 file.
    "\"5e5511e0\"",
    "\"c0626851\"",
];

const TIMES: &[&str] = &[
    "\"2025-01-01T00:00:00.000Z\"",
    "\"2025-01-01T00:00:00.001Z\"",
    "\"2024-02-29T23:59:59.999Z\"",
    "\"2025-01-01\"",
    "\"Jan 1 2025 10:00 GMT+1\"",
    "\"+275760-09-13T00:00:00.000Z\"",
    "\"no time\"",
    "null",
    "1735689600000",
    "-1",
    "1e300",
    "[\"2025\"]",
    "{}",
];

const ROLES: &[&str] = &[
    "\"user\"",
    "\"assistant\"",
    "\"system\"",
    "\"toolResult\"",
    "\"hookMessage\"",
    "\"bashExecution\"",
    "\"custom\"",
    "\"branchSummary\"",
    "\"compactionSummary\"",
    "\"other\"",
    "null",
];

const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "2.50",
    "1e999",
    "-1E-7",
    "123456789012345678901234567890",
    "\"\"",
    "\"text\"",
    "\"\\ud800\"",
    "\"\\udc00x\"",
    "\"\\ud83d\\ude00\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\"",
    "\"é潮\u{2028}\"",
    "\" \\ufeff \"",
    "[]",
    "{}",
];

const KEYS: &[&str] = &[
    "\"type\"",
    "\"id\"",
    "\"parentId\"",
    "\"timestamp\"",
    "\"message\"",
    "\"role\"",
    "\"content\"",
    "\"text\"",
    "\"name\"",
    "\"usage\"",
    "\"details\"",
    "\"sections\"",
    "\"toolsAdded\"",
    "\"1\"",
    "\"0\"",
    "\"4294967295\"",
    "\"\"",
    "\"__proto__\"",
    "\"\\u0069d\"",
    "\"\\ud800\"",
];

struct Writer<'d> {
    choices: Unstructured<'d>,
    out: Vec<u8>,
}

impl Writer<'_> {
    /// Returns a number below `limit`, which is at most 256. Without bytes left it is 0, so that generation ends.
    fn below(&mut self, limit: usize) -> usize {
        self.choices.arbitrary::<u8>().map_or(0, usize::from) % limit
    }

    /// Returns true once in `once_in` calls on average, and never without bytes left.
    fn chance(&mut self, once_in: usize) -> bool {
        self.below(once_in) == 1
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn put_one(&mut self, of: &[&str]) {
        let text = self.pick(of);
        self.put(text);
    }

    fn header(&mut self) {
        if self.chance(16) {
            self.put("\u{feff}");
        }
        self.put("{\"type\":\"session\"");
        match self.below(8) {
            0..=2 => self.put(",\"version\":3"),
            3 => self.put(",\"version\":2"),
            4 => self.put(",\"version\":1"),
            5 => {}
            6 => self.put(",\"version\":\"2\",\"version\":4"),
            _ => {
                self.put(",\"version\":");
                self.put_one(SCALARS);
            }
        }
        if !self.chance(16) {
            self.put(",\"id\":\"s\"");
        }
        self.put(",\"timestamp\":");
        self.put_one(TIMES);
        self.put(",\"cwd\":\"/work\"}\n");
    }

    fn line(&mut self) {
        match self.below(24) {
            0 => self.value(3),
            1 => self.put(" \u{feff}\r"),
            2 => self.put_one(SCALARS),
            3 => {
                // A torn line, or one glued to the next.
                let start = self.out.len();
                self.entry();
                let n_kept = self.below(200);
                self.out.truncate(start + n_kept);
            }
            4 => {
                let n_bytes = self.below(20);
                let bytes = self.choices.bytes(n_bytes.min(self.choices.len())).unwrap_or_default().to_vec();
                self.out.extend_from_slice(&bytes);
            }
            _ => self.entry(),
        }
        self.put_one(&["\n", "\n", "\n", "\n", "\n", "\n", "\r\n", ""]);
    }

    fn entry(&mut self) {
        let kind = self.pick(TYPES);
        self.put("{\"type\":");
        self.put(kind);
        match self.below(16) {
            0 => {}
            1 => self.member("id", SCALARS),
            2 => self.member("\\u0069d", IDS),
            _ => self.member("id", &IDS[..6]),
        }
        match self.below(16) {
            0 => {}
            1..=3 => self.put(",\"parentId\":null"),
            4 => self.member("parentId", SCALARS),
            5 => self.member("parentId", IDS),
            _ => self.member("parentId", &IDS[..6]),
        }
        match self.below(8) {
            0 => self.member("timestamp", TIMES),
            1 => {}
            _ => self.member("timestamp", &TIMES[..3]),
        }
        if self.chance(16) {
            // The body of another type, or a second one.
            let other = self.pick(TYPES);
            self.body(other);
        }
        self.body(kind);
        if self.chance(8) {
            self.put(", ");
            self.put_one(KEYS);
            self.put(" : ");
            self.value(3);
        }
        self.put("}");
    }

    fn member(&mut self, key: &str, values: &[&str]) {
        self.key(key);
        self.put_one(values);
    }

    fn key(&mut self, key: &str) {
        self.put(",\"");
        self.put(key);
        self.put("\":");
    }

    /// Writes a member whose value is sometimes missing and sometimes arbitrary.
    fn odd_member(&mut self, key: &str, values: &[&str]) {
        match self.below(10) {
            0 => {}
            1 => {
                self.key(key);
                self.value(2);
            }
            _ => self.member(key, values),
        }
    }

    fn body(&mut self, kind: &str) {
        match kind {
            "\"compaction\"" => {
                self.odd_member("summary", &["\"so far\"", "\"\""]);
                self.odd_member("firstKeptEntryId", IDS);
                if self.chance(3) {
                    let values = &["0", "1", "2", "3", "5", "9", "-1", "0.5", "1e0", "1e999", "4294967296", "\"1\""];
                    self.member("firstKeptEntryIndex", values);
                }
                self.odd_member("tokensBefore", &["0", "1000"]);
                if self.chance(3) {
                    self.key("systemMessage");
                    self.message();
                }
            }
            "\"label\"" => {
                self.odd_member("targetId", IDS);
                self.odd_member("label", &["\"one\"", "\"two\"", "\"\"", "null"]);
            }
            "\"context_edit\"" => {
                self.odd_member("targetId", IDS);
                let replacements = ["null", "{}", "{\"content\":\"new\"}", "{\"content\":[]}", "{\"content\":null}"];
                self.odd_member("replacement", &replacements);
            }
            "\"branch_summary\"" => {
                self.odd_member("fromId", IDS);
                self.odd_member("summary", &["\"left\"", "\"\""]);
            }
            "\"custom_message\"" => {
                self.odd_member("customType", &["\"x\""]);
                self.key("content");
                self.content();
                self.odd_member("display", &["true", "false"]);
            }
            "\"thinking_level_change\"" => self.odd_member("thinkingLevel", &["\"high\"", "\"off\""]),
            "\"model_change\"" => {
                self.odd_member("provider", &["\"p\""]);
                self.odd_member("modelId", &["\"m\"", "\"n\""]);
            }
            "\"session_info\"" => self.odd_member("name", &["\"a name\"", "\" \"", "\"\""]),
            "\"usage\"" => self.odd_member("usage", &["{\"input\":1,\"cost\":{\"total\":0.5}}"]),
            "\"custom\"" => self.odd_member("data", SCALARS),
            "\"session\"" => self.odd_member("version", &["1", "2", "3", "4"]),
            _ => {
                self.key("message");
                self.message();
            }
        }
    }

    fn message(&mut self) {
        if self.chance(12) {
            return self.value(2);
        }
        self.put("{\"role\":");
        let role = self.pick(ROLES);
        self.put(role);
        if !self.chance(8) {
            self.key("content");
            self.content();
        }
        match role {
            "\"assistant\"" => {
                self.odd_member("provider", &["\"p\""]);
                self.odd_member("model", &["\"m\""]);
                self.odd_member("diagnostics", &["[{\"type\":\"retry\",\"error\":{\"code\":1}},7]"]);
                self.odd_member("deferred", &["{\"id\":\"d\"}"]);
            }
            "\"system\"" => {
                self.odd_member("sections", &["{\"a\":\"A\"}", "{\"a\":null,\"1\":\"one\"}", "{\"b\":\"B\"}"]);
                self.odd_member("toolsAdded", &["[{\"name\":\"t\"}]", "[{\"name\":\"t\",\"x\":1},{}]"]);
                self.odd_member("toolsRemoved", &["[{\"name\":\"t\"}]", "[null]"]);
            }
            "\"bashExecution\"" => {
                self.odd_member("command", &["\"ls\""]);
                self.odd_member("output", &["\"out\"", "\"\""]);
                self.odd_member("exitCode", &["0", "1", "null"]);
                self.odd_member("cancelled", &["true", "false"]);
                self.odd_member("truncated", &["true"]);
                self.odd_member("fullOutputPath", &["\"/out\""]);
                self.odd_member("excludeFromContext", &["true", "false"]);
            }
            "\"toolResult\"" => {
                self.odd_member("toolCallId", &["\"t1\""]);
                self.odd_member("nestedCalls", &["{\"calls\":[{\"id\":\"n\"},1],\"complete\":true}"]);
            }
            "\"branchSummary\"" | "\"compactionSummary\"" => self.odd_member("summary", SCALARS),
            _ => {}
        }
        self.odd_member("timestamp", &["1735689600000", "1735689600001"]);
        self.put("}");
    }

    fn content(&mut self) {
        match self.below(8) {
            0 => self.value(2),
            1..=4 => self.put_one(&["\"hello\"", "\"\"", "\"\\ud800\"", "\"潮\""]),
            _ => {
                self.put("[");
                for n_before in 0..self.below(4) {
                    if n_before > 0 {
                        self.put(",");
                    }
                    self.put_one(&[
                        "{\"type\":\"text\",\"text\":\"t\"}",
                        "{\"type\":\"text\"}",
                        "{\"type\":\"text\",\"text\":\"\\udc00\"}",
                        "{\"type\":\"thinking\",\"thinking\":\"hm\",\"redacted\":true}",
                        "{\"type\":\"toolCall\",\"id\":\"t1\",\"name\":\"read\",\"arguments\":{}}",
                        "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}",
                        "null",
                        "7",
                    ]);
                }
                self.put("]");
            }
        }
    }

    fn value(&mut self, depth: usize) {
        if depth == 0 || self.choices.is_empty() {
            return self.put_one(SCALARS);
        }
        match self.below(8) {
            0..=2 => self.put_one(SCALARS),
            3 => self.string(),
            4 => self.number(),
            5 => {
                self.put("[");
                for n_before in 0..self.below(5) {
                    if n_before > 0 {
                        self.put_one(&[",", " ,\t"]);
                    }
                    self.value(depth - 1);
                }
                self.put("]");
            }
            6 => {
                // Deep enough to exceed the first word of the scanner's bit stack, and serde's limit.
                let n_levels = self.pick(&[1, 63, 64, 65, 127, 128, 129, 200]);
                self.put(&"[".repeat(n_levels));
                self.value(depth - 1);
                self.put(&"]".repeat(n_levels));
            }
            _ => {
                self.put("{");
                for n_before in 0..self.below(7) {
                    if n_before > 0 {
                        self.put_one(&[",", "\n,"]);
                    }
                    self.put_one(KEYS);
                    self.put_one(&[":", " : "]);
                    self.value(depth - 1);
                }
                self.put("}");
            }
        }
    }

    fn string(&mut self) {
        self.put("\"");
        for _ in 0..self.below(24) {
            match self.below(8) {
                0 => {
                    let unit: u16 = self.choices.arbitrary().unwrap_or_default();
                    self.put(&format!("\\u{unit:04x}"));
                }
                1 => self.put_one(&["\\ud83d", "\\ude00", "\\n", "\\/", "\\\\", "\\\"", "\\u00E9"]),
                2 => {
                    // Any byte, even if it breaks the text.
                    let byte = self.choices.arbitrary().unwrap_or(b'x');
                    self.out.push(byte);
                }
                _ => self.put_one(&["a", "b", " ", "é", "潮", "😀", "0", "\u{7f}"]),
            }
        }
        self.put("\"");
    }

    fn number(&mut self) {
        match self.below(4) {
            0 => {
                let number: i64 = self.choices.arbitrary().unwrap_or_default();
                self.put(&number.to_string());
            }
            1 => {
                let bits: u64 = self.choices.arbitrary().unwrap_or_default();
                let number = f64::from_bits(bits);
                self.put(&if number.is_finite() { format!("{number:e}") } else { "0".to_owned() });
            }
            _ => {
                self.put_one(&["", "-"]);
                self.put_one(&["0", "1", "9007199254740993", "5"]);
                self.put_one(&["", ".5", ".000000000000000000000001", ".0"]);
                self.put_one(&["", "e21", "E-7", "e+308", "e-324", "e0"]);
            }
        }
    }
}

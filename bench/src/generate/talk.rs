//! The conversation of a session: messages of every role, and turns made of them.

use std::io;

use super::line::Line;
use super::needle::Needle;
use super::session::Session;
use super::shape::{self, Lengths, MAX_TOOL_OUTPUT};

/// A model and its prices.
pub(super) struct Model {
    pub(super) provider: &'static str,
    pub(super) name: &'static str,
    api: &'static str,
    /// Dollars per token that is read, written, read from the cache, written to the cache.
    prices: [f64; 4],
}

pub(super) const MODELS: [Model; 3] = [
    Model { provider: "acme", name: "acme-large-2", api: "acme-messages", prices: [4e-6, 21e-6, 4e-7, 5.5e-6] },
    Model { provider: "acme", name: "acme-small-2", api: "acme-messages", prices: [1e-6, 5e-6, 1e-7, 1.25e-6] },
    Model { provider: "other", name: "other-code-5", api: "other-replies", prices: [1.3e-6, 9e-6, 1.3e-7, 0.0] },
];

/// The kinds of assistant steps with their frequency per thousand: thinking, text, number of calls.
const STEPS: [(usize, bool, bool, usize); 7] = [
    (488, false, false, 1),
    (450, false, true, 1),
    (28, true, true, 1),
    (15, true, false, 1),
    (8, false, false, 2),
    (7, false, true, 3),
    (4, true, true, 5),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Bash,
    Edit,
    Read,
    Write,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Edit => "edit",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

struct Call {
    id: String,
    tool: Tool,
    file: String,
}

impl Session<'_> {
    /// Writes a user message and the assistant's work on it; cut short once the session has `most_bytes` bytes.
    pub(super) fn turn(&mut self, needle: Option<Needle>, most_bytes: u64) -> io::Result<()> {
        self.interlude()?;
        // Half of the needles are in a user message, the other half in a tool result.
        let in_question = needle.filter(|_| self.random.chance(0.5));
        let in_result = needle.filter(|_| in_question.is_none());
        self.user_message(in_question)?;
        let n_steps = shape::STEPS.draw(&mut self.random).max(usize::from(in_result.is_some()) * 2);
        for step in 1..=n_steps {
            if step == n_steps || (self.written.bytes > most_bytes && in_result.is_none()) {
                return self.answer();
            }
            self.step(in_result.filter(|_| step == 1))?;
        }
        Ok(())
    }

    /// Adds what occasionally happens between turns.
    fn interlude(&mut self) -> io::Result<()> {
        match self.random.below(200) {
            0..=3 => self.bash_of_the_user(),
            4..=9 => self.change_thinking(),
            10..=11 => {
                let model = self.random.below(MODELS.len());
                self.change_model(model)
            }
            12..=13 if self.subject.version > 1 => {
                let mut members = Line::default();
                members.json(r#","customType":"notes","data":{"open":"#).integer(self.random.below(40));
                members.json(r#","text":"#).quoted(self.pools.prose.piece(&mut self.random, 120)).json("}");
                self.entry("custom", &members).map(drop)
            }
            14 if self.subject.version > 1 => {
                let mut members = Line::default();
                members.json(r#","customType":"reminder","content":"#);
                members.quoted(self.pools.prose.piece(&mut self.random, 200)).json(r#","display":true"#);
                self.entry("custom_message", &members).map(drop)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn system_message(&mut self) -> io::Result<()> {
        let mut message = Line::default();
        let prose = &self.pools.prose;
        message.json(r#"{"role":"system","content":"","sections":{"preamble":"#);
        message.quoted(prose.piece(&mut self.random, 900)).json(r#","guidelines":"#);
        message.quoted(prose.piece(&mut self.random, 3_400)).json(r#","cwd":"#).string(self.subject.cwd);
        message.json(r#"},"toolsAdded":["#);
        for (index, tool) in [Tool::Read, Tool::Bash, Tool::Edit, Tool::Write].into_iter().enumerate() {
            message.json(if index == 0 { r#"{"name":"# } else { r#",{"name":"# }).string(tool.name());
            message.json(r#","description":"#).quoted(prose.piece(&mut self.random, 420));
            message.json(
                r#","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}"#,
            );
        }
        message.json(r#"],"timestamp":"#).integer(self.now_ms).json("}");
        self.message(&message).map(drop)
    }

    fn user_message(&mut self, needle: Option<Needle>) -> io::Result<()> {
        self.wait(90_000.0);
        let mut message = Line::default();
        message.json(r#"{"role":"user","content":[{"type":"text","text":"#);
        let length = shape::USER_TEXT.draw(&mut self.random);
        match needle {
            Some(needle) => message.string(&needle.sentence()),
            None => message.quoted(self.pools.prose.piece(&mut self.random, length)),
        };
        message.json("}");
        if self.random.chance(self.subject.profile.pictures) {
            message.json(",");
            self.picture(&mut message);
        }
        message.json(r#"],"timestamp":"#).integer(self.now_ms - 15).json("}");
        self.tokens += length / 4;
        self.message(&message).map(drop)
    }

    fn picture(&mut self, out: &mut Line) {
        let length = shape::IMAGE.draw(&mut self.random).min(self.subject.profile.largest_picture);
        out.json(r#"{"type":"image","data":"#).quoted(self.pools.base64_piece(&mut self.random, length));
        out.json(r#","mimeType":"image/png"}"#);
    }

    fn bash_of_the_user(&mut self) -> io::Result<()> {
        self.wait(60_000.0);
        let mut message = Line::default();
        let length = shape::BASH_RESULT.draw(&mut self.random);
        message.json(r#"{"role":"bashExecution","command":"#).quoted(self.pools.code.piece(&mut self.random, 30));
        message.json(r#","output":"#).quoted(self.pools.output.piece(&mut self.random, length));
        message.json(r#","exitCode":0,"cancelled":false,"truncated":false,"timestamp":"#);
        message.integer(self.now_ms).json("}");
        self.message(&message).map(drop)
    }

    /// Writes a step of the assistant, with the results of its calls.
    fn step(&mut self, needle: Option<Needle>) -> io::Result<()> {
        let mut draw = self.random.below(1_000);
        let (thinks, speaks, n_calls) = STEPS
            .iter()
            .find_map(|(weight, thinks, speaks, n_calls)| {
                if draw < *weight {
                    return Some((*thinks, *speaks, *n_calls));
                }
                draw -= weight;
                None
            })
            .unwrap_or((false, false, 1));
        let mut blocks = Vec::new();
        if thinks {
            blocks.push(self.thinking());
        }
        if speaks {
            blocks.push(self.text(shape::STEP_TEXT));
        }
        let mut calls = Vec::new();
        for _ in 0..n_calls {
            let (call, block) = self.call(needle.map(|_| Tool::Bash));
            calls.push(call);
            blocks.push(block);
        }
        self.assistant_message(&blocks, "toolUse")?;
        for (index, call) in calls.iter().enumerate() {
            self.tool_result(call, needle.filter(|_| index == 0))?;
        }
        Ok(())
    }

    /// Writes the final answer of the assistant, which may have been stopped.
    fn answer(&mut self) -> io::Result<()> {
        let mut blocks = Vec::new();
        let is_stopped = self.random.chance(0.22);
        if self.random.chance(0.11) {
            blocks.push(self.thinking());
        }
        if !is_stopped || self.random.chance(0.3) {
            blocks.push(self.text(shape::ANSWER_TEXT));
        }
        self.assistant_message(&blocks, if is_stopped { "aborted" } else { "stop" })
    }

    fn text(&mut self, lengths: Lengths) -> Line {
        let length = lengths.draw(&mut self.random);
        let mut block = Line::default();
        block.json(r#"{"type":"text","text":"#).quoted(self.pools.prose.piece(&mut self.random, length)).json("}");
        block
    }

    fn thinking(&mut self) -> Line {
        let (length, sealed) = (shape::THINKING.draw(&mut self.random), shape::SIGNATURE.draw(&mut self.random));
        let mut block = Line::default();
        block.json(r#"{"type":"thinking","thinking":"#).quoted(self.pools.prose.piece(&mut self.random, length));
        block.json(r#","thinkingSignature":"#).quoted(self.pools.base64_piece(&mut self.random, sealed)).json("}");
        block
    }

    fn call(&mut self, tool: Option<Tool>) -> (Call, Line) {
        let drawn = match self.random.below(1_000) {
            0..=469 => Tool::Bash,
            470..=799 => Tool::Edit,
            800..=976 => Tool::Read,
            _ => Tool::Write,
        };
        let tool = tool.unwrap_or(drawn);
        let (pools, factor) = (self.pools, self.subject.profile.arguments);
        let file = format!("{}/{}", self.subject.cwd, pools.vocabulary.file(&mut self.random));
        let id = format!("call_{:016x}{:08x}", self.random.next(), self.random.below(1 << 32));
        let mut block = Line::default();
        block.json(r#"{"type":"toolCall","id":"#).string(&id).json(r#","name":"#).string(tool.name());
        block.json(r#","arguments":{"#);
        match tool {
            Tool::Bash => {
                let length = shape::BASH_COMMAND.draw_times(&mut self.random, factor);
                block.json(r#""command":"#).quoted(pools.output.piece(&mut self.random, length));
            }
            Tool::Edit => {
                let length = shape::EDIT_ARGUMENTS.draw_times(&mut self.random, factor) / 2;
                block.json(r#""path":"#).string(&file).json(r#","oldText":"#);
                block.quoted(pools.code.piece(&mut self.random, length)).json(r#","newText":"#);
                block.quoted(pools.code.piece(&mut self.random, length));
            }
            Tool::Read => {
                block.json(r#""path":"#).string(&file);
                if self.random.chance(0.6) {
                    block.json(r#","offset":"#).integer(self.random.between(1, 2_000));
                    block.json(r#","limit":"#).integer(self.random.between(40, 400));
                }
            }
            Tool::Write => {
                let length = shape::WRITTEN_FILE.draw_times(&mut self.random, factor);
                block.json(r#""path":"#).string(&file).json(r#","content":"#);
                block.quoted(pools.code.piece(&mut self.random, length));
            }
        }
        block.json("}}");
        (Call { id, tool, file }, block)
    }

    fn tool_result(&mut self, call: &Call, needle: Option<Needle>) -> io::Result<()> {
        self.wait(400.0);
        let (pools, profile) = (self.pools, self.subject.profile);
        let is_error = self.random.chance(0.038);
        let mut message = Line::default();
        message.json(r#"{"role":"toolResult","toolCallId":"#).string(&call.id).json(r#","toolName":"#);
        message.string(call.tool.name()).json(r#","content":[{"type":"text","text":"#);
        let mut details = Line::default();
        match (call.tool, needle) {
            (_, Some(needle)) => drop(message.string(&needle.sentence()).json("}")),
            (Tool::Edit, None) => {
                let length = shape::EDIT_DIFF.draw_times(&mut self.random, profile.results).min(MAX_TOOL_OUTPUT);
                message.string(&format!("Replaced text in {}.", call.file)).json("}");
                details.json(r#","details":{"diff":"#).quoted(pools.diff.piece(&mut self.random, length)).json("}");
            }
            (Tool::Write, None) => drop(message.string(&format!("Wrote {}.", call.file)).json("}")),
            (Tool::Read, None) if self.random.chance(4.0 * profile.pictures) => {
                message.string("This file is a picture.").json("},");
                self.picture(&mut message);
            }
            (Tool::Read, None) => {
                let length = shape::READ_RESULT.draw_times(&mut self.random, profile.results).min(MAX_TOOL_OUTPUT);
                message.quoted(pools.code.piece(&mut self.random, length)).json("}");
            }
            (Tool::Bash, None) => {
                let length = shape::BASH_RESULT.draw_times(&mut self.random, profile.results).min(MAX_TOOL_OUTPUT);
                message.quoted(pools.output.piece(&mut self.random, length)).json("}");
            }
        }
        message.json("]").0.extend_from_slice(&details.0);
        message.json(r#","isError":"#).json(if is_error { "true" } else { "false" });
        message.json(r#","timestamp":"#).integer(self.now_ms - 4).json("}");
        self.message(&message).map(drop)
    }

    fn assistant_message(&mut self, blocks: &[Line], stop_reason: &str) -> io::Result<()> {
        self.wait(9_000.0);
        let mut message = Line::default();
        message.json(r#"{"role":"assistant","content":["#);
        let mut n_bytes = 0;
        for (index, block) in blocks.iter().enumerate() {
            message.json(if index == 0 { "" } else { "," }).0.extend_from_slice(&block.0);
            n_bytes += block.0.len();
        }
        let model = &MODELS[self.model];
        message.json(r#"],"api":"#).string(model.api).json(r#","provider":"#).string(model.provider);
        message.json(r#","model":"#).string(model.name).json(r#","usage":"#);
        self.usage(20 + n_bytes / 4, &mut message);
        message.json(r#","stopReason":"#).string(stop_reason).json(r#","timestamp":"#).integer(self.now_ms - 2_000);
        if stop_reason == "aborted" {
            message.json(r#","errorMessage":"Stopped by the user.""#);
        }
        message.json("}");
        self.message(&message).map(drop)
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred thousand tokens")]
    fn usage(&mut self, written: usize, out: &mut Line) {
        let added = self.random.between(40, 2_400);
        let tokens = [*self.random.pick(&[1, 4, 9]), written, self.tokens, added];
        self.tokens += added;
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        out.json("{");
        for (name, count) in names.iter().zip(tokens) {
            out.string(name).json(":").integer(count).json(",");
        }
        out.json(r#""totalTokens":"#).integer(tokens.iter().sum::<usize>()).json(r#","cost":{"#);
        let mut total = 0.0;
        for ((name, count), price) in names.iter().zip(tokens).zip(MODELS[self.model].prices) {
            let cost = count as f64 * price;
            total += cost;
            out.string(name).json(":").number(cost).json(",");
        }
        out.json(r#""total":"#).number(total).json("}}");
    }
}

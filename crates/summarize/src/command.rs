//! A user's program as summarizer: JSON in, JSON out.

use std::time::Duration;

use sessile_core::cancel::Cancel;
use sessile_core::compaction::{
    Generator, Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
};
use sessile_core::json::{JsText, Json, ObjectWriter, Raw, write_text};

use crate::failure::not_configured;
use crate::prompt::Prompt;
use crate::usage::read_usage;
use sessile_program::{Limits, ProgramEnd};

/// Upper bound on a program's output, in bytes.
const MAX_OUTPUT: usize = 4 << 20;

/// Upper bound on a program's summary, in bytes.
const MAX_SUMMARY: usize = 1 << 20;

/// Runs a program for each summary.
///
/// The program reads one JSON object from standard input and prints one to standard output: `{"summary": …}`,
/// optionally with `usage` in pi's format, or `{"error": …}`. It runs directly, without a shell. Its standard error is
/// shown if it fails.
#[derive(Clone, Debug)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    limits: Limits,
}

impl Command {
    /// Creates a summarizer that runs this program with its arguments, for at most `time`.
    pub fn new(words: &[String], time: Duration) -> Result<Self, SummaryFailure> {
        let Some((program, arguments)) = words.split_first() else {
            return Err(not_configured("no program is set: summarizer.command is missing"));
        };
        let limits = Limits { time, output: MAX_OUTPUT };
        Ok(Self { program: program.clone(), arguments: arguments.to_vec(), limits })
    }

    fn failed(&self, what: &str, errors: &str) -> SummaryFailure {
        let details = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        SummaryFailure::Failed { message: format!("{} {what}{details}", self.program), source: None }
    }
}

impl Summarizer for Command {
    fn generator(&self) -> Generator {
        Generator::Command
    }

    /// Unlimited: the program decides what fits.
    fn context_window(&self) -> u64 {
        u64::MAX
    }

    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        _progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let input = question(request).into_bytes();
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments);
        let ran = sessile_program::run(command, input, self.limits, cancel);
        let ran = ran.map_err(|error| SummaryFailure::Failed {
            message: format!("cannot run {}", self.program),
            source: Some(Box::new(error)),
        })?;
        match ran.ended {
            ProgramEnd::Cancelled => Err(SummaryFailure::Cancelled),
            ProgramEnd::TimedOut => {
                Err(self.failed(&format!("took longer than {} s", self.limits.time.as_secs_f64()), &ran.errors))
            }
            ProgramEnd::TooMuchOutput => {
                Err(self.failed(&format!("printed more than {MAX_OUTPUT} bytes"), &ran.errors))
            }
            ProgramEnd::Failure(status) => Err(self.failed(&format!("failed ({status})"), &ran.errors)),
            ProgramEnd::Success => answer(&ran.output).map_err(|what| self.failed(&what, &ran.errors)),
        }
    }
}

/// Builds the JSON object that the program reads.
fn question(request: &SummaryRequest<'_>) -> Json {
    let prompt = Prompt::new(request, usize::MAX);
    let purpose = match request.purpose {
        Purpose::History => "history",
        Purpose::Update => "update",
        Purpose::TurnPrefix => "turnPrefix",
        Purpose::Branch => "branch",
    };
    let mut json = ObjectWriter::new();
    json.integer("version", 1).string("purpose", purpose).string("conversation", request.conversation.text());
    let optional = [
        ("previousSummary", request.previous_summary),
        ("customInstructions", request.custom_instructions),
        ("sessionModel", request.session_model),
        ("thinkingLevel", request.thinking_level),
    ];
    for (key, value) in optional.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        json.string(key, value);
    }
    json.bool("replaceInstructions", request.replaces_instructions);
    let (read, modified) = (strings(&request.files.read), strings(&request.files.modified));
    json.array("readFiles", read.iter().map(Json::raw)).array("modifiedFiles", modified.iter().map(Json::raw));
    json.string("system", &prompt.system).string("prompt", &prompt.user);
    json.finish()
}

fn strings(texts: &[JsText<'_>]) -> Vec<Json> {
    let string = |text: &JsText<'_>| {
        let mut json = Vec::new();
        write_text(text, &mut json);
        Json::parse(json).unwrap_or_else(|_| Json::null())
    };
    texts.iter().map(string).collect()
}

/// Parses the program's answer. The error says what is wrong with it.
fn answer(output: &[u8]) -> Result<Summary, String> {
    let output = output.trim_ascii();
    let json = Raw::parse(output).ok().ok_or("did not print JSON")?;
    if let Some(error) = json.get("error").filter(|error| !error.is_null()) {
        let text = error.as_string().unwrap_or_else(|| error.to_text().into_owned());
        return Err(format!("reported an error: {}", first_of(&text)));
    }
    let text = json.get("summary").and_then(Raw::as_string).ok_or("printed JSON without a string `summary`")?;
    if text.trim().is_empty() {
        return Err("returned an empty summary".to_owned());
    }
    if text.len() > MAX_SUMMARY {
        return Err(format!("returned a summary of more than {MAX_SUMMARY} bytes"));
    }
    Ok(Summary { text, usage: json.get("usage").filter(|usage| !usage.is_null()).map(read_usage) })
}

/// Returns the beginning of a text that may be long, on one line.
fn first_of(text: &str) -> String {
    text.split_whitespace()
        .flat_map(|word| [word, " "])
        .flat_map(str::chars)
        .take(400)
        .collect::<String>()
        .trim()
        .to_owned()
}

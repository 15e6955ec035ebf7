//! Compaction and navigation in random trees, by a whole pi and by our library.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sessile::branch::NavigateOptions;
use sessile::compaction::{
    CompactOptions, Compacted, CompactionSettings, Generator, NothingToCompact, Summarizer, Summary, SummaryFailure,
    SummaryProgress, SummaryRequest,
};
use sessile::draft::{Cost, TokenUsage};
use sessile::json::{Json, ObjectWriter, Raw};
use sessile::{Cancel, SessionError, SessionManager, Sessions};
use sessile_rpc::answer;

use super::generate::Case;
use crate::oracle::{Oracle, quoted};
use crate::random::SplitMix;
use crate::replay::Replay;

/// The clock of all cases.
const NOW_MS: i64 = 1_767_400_000_000;

/// The results of some cases.
#[derive(Clone, Debug, Default)]
pub struct AgentReport {
    /// The number of cases.
    pub cases: usize,
    /// The number of cases that cannot be compared, because pi added entries on opening or did not answer.
    pub skipped: usize,
    /// The number of compactions written.
    pub compactions: usize,
    /// The number of branch summaries written.
    pub summaries: usize,
    /// The number of steps that failed in both.
    pub failures: usize,
    /// The first case that differs.
    pub failure: Option<String>,
}

/// Answers like the oracle's server: each answer contains its number.
#[derive(Default)]
pub struct CountingSummarizer {
    n_asked: Cell<u64>,
    is_failing: Cell<bool>,
}

impl Summarizer for CountingSummarizer {
    fn generator(&self) -> Generator {
        Generator::Model
    }

    fn context_window(&self) -> u64 {
        200_000
    }

    fn summarize(
        &self,
        _request: &SummaryRequest<'_>,
        _progress: &mut dyn FnMut(SummaryProgress<'_>),
        _cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let number = self.n_asked.get() + 1;
        self.n_asked.set(number);
        if self.is_failing.get() {
            return Err(SummaryFailure::Failed { message: "no".to_owned(), source: None });
        }
        let usage = TokenUsage {
            input: 100 * number,
            output: 10 * number,
            reasoning: Some(0),
            total_tokens: 110 * number,
            cost: Cost { total_from_provider: Some(false), ..Cost::default() },
            ..TokenUsage::default()
        };
        Ok(Summary { text: format!("summary {number}"), usage: Some(usage) })
    }
}

/// An operation on a session.
#[derive(Clone, Debug)]
enum Step {
    Compact,
    Navigate { target: String, summarize: bool, label: Option<String> },
    Failing(bool),
    Usage,
    ForkMessages,
}

impl Step {
    fn random(random: &mut SplitMix, case: &Case) -> Self {
        match random.below(10) {
            0..=2 => Self::Compact,
            3..=6 => {
                let target = case.entries[random.below(case.entries.len())].id.clone();
                let label = random.one_in(3).then(|| random.pick(&["here", ""]).to_owned());
                Self::Navigate { target, summarize: random.one_in(2), label }
            }
            7 => Self::Failing(random.one_in(2)),
            8 => Self::Usage,
            _ => Self::ForkMessages,
        }
    }

    fn to_request(&self) -> String {
        match self {
            Self::Compact => r#"{"compact":null}"#.to_owned(),
            Self::Navigate { target, summarize, label } => {
                let label = label.as_ref().map_or_else(String::new, |label| format!(r#","label":{}"#, quoted(label)));
                format!(r#"{{"navigate":[{},{{"summarize":{summarize}{label}}}]}}"#, quoted(target))
            }
            Self::Failing(failing) => format!(r#"{{"failing":{failing}}}"#),
            Self::Usage => r#"{"usage":null}"#.to_owned(),
            Self::ForkMessages => r#"{"forkMessages":null}"#.to_owned(),
        }
    }
}

/// Runs the same steps in both engines, in the random sessions of some seeds.
pub fn run_agents(seeds: impl Iterator<Item = u64>, home: &Path) -> AgentReport {
    let mut oracle = Oracle::start(home);
    let mut report = AgentReport::default();
    for seed in seeds {
        let mut random = SplitMix::new(seed);
        let case = Case::random(&mut random);
        let steps: Vec<Step> = (0..=random.below(6)).map(|_| Step::random(&mut random, &case)).collect();
        report.cases += 1;
        if let Err(difference) = run_case(&mut oracle, home, seed, &case, &steps, &mut report) {
            report.failure = Some(format!("seed {seed}: {difference}\n{case}\nkeep {}, {steps:?}", case.keeps[0]));
            break;
        }
    }
    report
}

fn run_case(
    oracle: &mut Oracle,
    home: &Path,
    seed: u64,
    case: &Case,
    steps: &[Step],
    report: &mut AgentReport,
) -> Result<(), String> {
    let (theirs, ours) =
        (prepare_file(home, &format!("theirs-{seed}"), case), prepare_file(home, &format!("ours-{seed}"), case));
    let requests: Vec<String> = steps.iter().map(Step::to_request).collect();
    oracle.ask(format!(r#"{{"cmd":"reset","clock":{NOW_MS},"idSeed":{seed}}}"#));
    let answer = oracle.ask(format!(
        r#"{{"cmd":"agent","file":{},"dir":{},"keepRecentTokens":{},"steps":[{}]}}"#,
        quoted(theirs.to_str().unwrap()),
        quoted(theirs.parent().unwrap().to_str().unwrap()),
        case.keeps[0],
        requests.join(",")
    ));
    if oracle.take_silence() {
        report.skipped += 1;
        return Ok(());
    }
    if let Some(error) = answer.error() {
        return Err(format!("pi: {error}"));
    }
    let answer = answer.value();
    if answer["added"] != Value::Array(Vec::new()) {
        // pi writes the settings again to a session without messages, so the two start from different states.
        report.skipped += 1;
        return Ok(());
    }
    let environment = Replay::new(NOW_MS, seed);
    environment.set_draws(seed, answer["draws"].as_u64().unwrap());
    let sessions = Sessions::new(environment);
    let mut session = sessions.open(&ours).map_err(|error| format!("ours: {error}"))?;
    let summarizer = CountingSummarizer::default();
    for (step, pi_step) in steps.iter().zip(answer["steps"].as_array().unwrap()) {
        let outcome = take(&mut session, step, case.keeps[0], &summarizer);
        compare_step(step, pi_step, &outcome, report)?;
        let leaf = session.leaf_id().map_or(Value::Null, |id| Value::from(id.to_string()));
        if pi_step["leaf"] != leaf {
            return Err(format!("after {step:?} pi is at {}, we are at {leaf}", pi_step["leaf"]));
        }
    }
    let (theirs, ours) = (std::fs::read(theirs).unwrap(), std::fs::read(ours).unwrap());
    let ours = without_generator(&String::from_utf8(ours).unwrap());
    let theirs = String::from_utf8(theirs).unwrap();
    let lines = |text: &str| text.lines().map(str::to_owned).chain([String::new()]).collect::<Vec<_>>();
    match lines(&theirs).iter().zip(&lines(&ours)).find(|(theirs, ours)| theirs != ours) {
        None if theirs == ours => Ok(()),
        different => Err(format!("the files differ, first in {different:#?}")),
    }
}

/// Removes the part of the details that only ours have.
fn without_generator(text: &str) -> String {
    text.replace(r#","generator":"model""#, "")
}

/// Writes a file with the entries of a case, and with settings at its end that keep pi from adding its own.
fn prepare_file(home: &Path, name: &str, case: &Case) -> PathBuf {
    let dir = home.join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let mut text = format!(
        r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.000Z","cwd":{}}}"#,
        quoted(home.to_str().unwrap())
    );
    for entry in &case.entries {
        text.push('\n');
        text.push_str(&entry.text);
    }
    let last = case.entries.last().map(|entry| quoted(&entry.id)).unwrap();
    let settings = format!(
        r#"
{{"type":"model_change","id":"f0000001","parentId":{last},"timestamp":"2026-01-02T03:04:05.000Z","provider":"mock","modelId":"mock-1"}}
{{"type":"thinking_level_change","id":"f0000002","parentId":"f0000001","timestamp":"2026-01-02T03:04:05.000Z","thinkingLevel":"off"}}
"#
    );
    text.push_str(&settings);
    let file = dir.join("s.jsonl");
    std::fs::write(&file, text).unwrap();
    file
}

/// Returns the result of one of our steps in pi's format, or its failure.
fn take(
    session: &mut SessionManager,
    step: &Step,
    keep_recent_tokens: u64,
    summarizer: &CountingSummarizer,
) -> Result<String, String> {
    let failed = |error: SessionError| error.to_string();
    match step {
        Step::Compact => {
            let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
            let options = CompactOptions { settings, ..CompactOptions::default() };
            match session.compact(options, summarizer, &mut |_| {}).map_err(failed)? {
                Compacted::Done(report) => Ok(answer::compaction_report(&report).to_text().into_owned()),
                Compacted::Nothing(NothingToCompact::AlreadyCompacted) => Err("Already compacted".to_owned()),
                Compacted::Nothing(NothingToCompact::TooSmall) => Err("Nothing to compact".to_owned()),
            }
        }
        Step::Navigate { target, summarize, label } => {
            let options = NavigateOptions { label: label.clone(), ..NavigateOptions::default() };
            let summarizer = summarize.then_some(summarizer as &dyn Summarizer);
            let navigated = session.navigate(target.as_str(), options, summarizer, &mut |_| {}).map_err(failed)?;
            let gone = navigated.done().unwrap();
            let mut text = ObjectWriter::new();
            if let Some(editor_text) = &gone.editor_text {
                text.string("editorText", editor_text);
            }
            text.bool("cancelled", false);
            if let Some(id) = gone.summary_entry_id {
                let entry: Json = session.entry(id).map_err(failed)?.unwrap().into_json();
                text.raw("summaryEntry", entry.raw());
            }
            Ok(text.finish().to_text().into_owned())
        }
        Step::Failing(failing) => {
            summarizer.is_failing.set(*failing);
            Ok(String::new())
        }
        Step::Usage => {
            let usage = session.context_usage(200_000).map_err(failed)?;
            Ok(answer::context_usage(&usage).to_text().into_owned())
        }
        Step::ForkMessages => {
            let messages: Vec<Json> = (session.fork_messages().map_err(failed)?.iter())
                .map(|message| {
                    let mut text = ObjectWriter::new();
                    text.text("entryId", message.entry_id.as_text()).string("text", &message.text);
                    text.finish()
                })
                .collect();
            let mut list = ObjectWriter::new();
            let list = list.array("l", messages.iter().map(Json::raw)).finish();
            Ok(list.raw().get("l").map(|list: Raw<'_>| list.to_text().into_owned()).unwrap())
        }
    }
}

fn compare_step(
    step: &Step,
    pi_step: &Value,
    ours: &Result<String, String>,
    report: &mut AgentReport,
) -> Result<(), String> {
    let is_same = match (pi_step["throws"].as_str(), ours) {
        (Some(theirs), Err(ours)) => {
            report.failures += 1;
            ["Already compacted", "Nothing to compact"]
                .iter()
                .all(|words| theirs.contains(words) == ours.contains(words))
        }
        (None, Ok(ours)) => {
            report.compactions += usize::from(matches!(step, Step::Compact));
            report.summaries += usize::from(ours.contains("summaryEntry"));
            pi_step["value"].as_str().unwrap_or_default() == without_generator(ours)
        }
        // pi fails on an answer without usage.
        (Some(theirs), Ok(_)) => matches!(step, Step::Usage) && theirs.starts_with("TypeError"),
        (None, Err(_)) => false,
    };
    if is_same { Ok(()) } else { Err(format!("{step:?}\n  pi:   {pi_step}\n  ours: {ours:?}")) }
}

//! Summaries without a model: rules extract what was said and done.
//!
//! The offline default. The same conversation gives the same text, on any machine, in milliseconds. The summary relies
//! on the speakers and on what tools did (requests, answers, files, commands and their outcomes), which does not depend
//! on the language. Word lists for rules, reasons and open points only decide what comes first when space is short
//! ([`cues`]).
//!
//! ```text
//! conversation ──turns──▶ requests, answers, calls ──gather──▶ sections ──┐
//! earlier summary ──────────────read──────────────────────────▶ sections ──┴─merge──▶ write within bounds
//! ```

mod checkpoint;
mod commands;
mod cues;
mod failing;
mod gather;
mod merge;
mod paths;
mod prefix;
mod turns;
mod wording;

use sessile_core::Cancel;
use sessile_core::compaction::{
    Generator, Purpose, Summarizer, Summary, SummaryFailure, SummaryProgress, SummaryRequest,
};

use checkpoint::{Checkpoint, Section};
use paths::Paths;
use turns::Turn;
use wording::line;

/// The maximum length of a summary, roughly in characters. Four of them make a token.
const DEFAULT_ROOM: usize = 12_000;

/// Extracts the summary from the conversation, without a model.
///
/// ```
/// # use sessile_core as sessile;
/// use sessile::Cancel;
/// use sessile::compaction::{FileLists, Purpose, Summarizer, SummaryRequest, serialize};
/// use sessile::json::Raw;
/// use sessile_summarize::Extractive;
///
/// let question = Raw::parse(br#"{"role":"user","content":"High water comes an hour early. Never change `predict`."}"#)?;
/// let answer = Raw::parse(br#"{"role":"assistant","content":[{"type":"text","text":"The cause is the summer offset."}]}"#)?;
/// let conversation = serialize([question, answer]).finish();
/// let files = FileLists::default();
/// let request = SummaryRequest::new(Purpose::History, &conversation, &files);
/// let summary = Extractive::default().summarize(&request, &mut |_| {}, &Cancel::default()).unwrap();
/// assert!(summary.text.contains("## Constraints & Preferences\n- Never change `predict`."));
/// assert!(summary.text.contains("## Key Decisions\n- The cause is the summer offset."));
/// # Ok::<(), sessile::json::NotJson>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extractive {
    /// The maximum length of a summary, roughly in characters. Four of them make a token.
    pub room: usize,
}

impl Default for Extractive {
    fn default() -> Self {
        Self { room: DEFAULT_ROOM }
    }
}

impl Summarizer for Extractive {
    fn generator(&self) -> Generator {
        Generator::Extractive
    }

    /// Anything fits, because nothing is sent to a model.
    fn context_window(&self) -> u64 {
        u64::MAX
    }

    fn summarize(
        &self,
        request: &SummaryRequest<'_>,
        _progress: &mut dyn FnMut(SummaryProgress<'_>),
        cancel: &Cancel,
    ) -> Result<Summary, SummaryFailure> {
        let stop_if_asked = || if cancel.is_cancelled() { Err(SummaryFailure::Cancelled) } else { Ok(()) };
        stop_if_asked()?;
        let turns = turns::turns(request.conversation);
        stop_if_asked()?;
        let paths = Paths::of(&turns);
        let text = match request.purpose {
            Purpose::TurnPrefix => prefix::gather(&turns, &paths).write(checkpoint::PREFIX, self.room / 3),
            Purpose::Branch => gathered(request, &turns, &paths).write(checkpoint::BRANCH, self.room / 2),
            Purpose::History | Purpose::Update => gathered(request, &turns, &paths).write(checkpoint::WHOLE, self.room),
        };
        stop_if_asked()?;
        Ok(Summary::new(text))
    }
}

/// The content of the summary, merged with an earlier summary.
fn gathered(request: &SummaryRequest<'_>, turns: &[Turn<'_>], paths: &Paths) -> Checkpoint {
    let mut checkpoint = gather::gather(turns, paths);
    add_focus(&mut checkpoint, request, turns);
    match request.previous_summary {
        Some(previous) => merge::merge(Checkpoint::read(previous), checkpoint),
        None => checkpoint,
    }
}

/// Adds what was said about the topics that the user wants the summary to focus on.
fn add_focus(checkpoint: &mut Checkpoint, request: &SummaryRequest<'_>, turns: &[Turn<'_>]) {
    let Some(focus) = request.custom_instructions.filter(|focus| !focus.trim().is_empty()) else { return };
    let terms = terms(focus);
    let texts = turns.iter().flat_map(|turn| std::iter::once(turn.request).chain(turn.texts()));
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (at, sentence) in texts.flat_map(wording::sentences).enumerate() {
        let lower = sentence.to_lowercase();
        let n_terms = terms.iter().filter(|term| lower.contains(term.as_str())).count();
        if n_terms > 0 {
            found.push((n_terms, at, sentence));
        }
    }
    found.sort_by_key(|(n_terms, at, _)| std::cmp::Reverse((*n_terms, *at)));
    found.truncate(6);
    found.sort_by_key(|(_, at, _)| *at);
    let section = if request.purpose == Purpose::Branch { Section::Decisions } else { Section::Context };
    for (_, _, sentence) in found {
        checkpoint.add(section, 0, format!("On “{}”: {}", line(focus, 60), line(sentence, 240)));
    }
}

/// The words of the user's instructions that are long enough to be meaningful. In scripts without spaces, pairs of
/// characters.
fn terms(focus: &str) -> Vec<String> {
    let lower: Vec<char> = focus.chars().take(400).flat_map(char::to_lowercase).collect();
    let text: String = lower.iter().collect();
    let words = text.split(|it: char| !it.is_alphanumeric()).filter(|word| word.chars().count() > 3).map(str::to_owned);
    let is_dense = |it: &char| *it >= '\u{2e80}' && it.is_alphanumeric();
    let pairs = lower.windows(2).filter(|pair| pair.iter().all(is_dense)).map(|pair| pair.iter().collect());
    let mut terms: Vec<String> = words.filter(|word| !word.chars().all(|it| is_dense(&it))).chain(pairs).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests;

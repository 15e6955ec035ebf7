//! Turns a conversation into sections: selects what is worth knowing later.

use super::checkpoint::{Checkpoint, Section};
use super::commands::{self, Runs, branch, commits, directory};
use super::cues::{self, OPEN, REASON, RULE, WISH, agrees};
use super::paths::Paths;
use super::turns::{CallOutcome, Turn, TurnStep};
use super::wording::{block, cost, line, opening, own_words, prose, sentences, statements, unmarked};

/// Prefixes of items that are regenerated each time. A merge recognises the old ones by them and drops them.
pub(super) const LATEST: &str = "Latest request: ";
pub(super) const LAST_ANSWER: &str = "Last answer of the assistant:";
pub(super) const COMMANDS: &str = "Commands run:";
pub(super) const BRANCH: &str = "Git branch: ";
pub(super) const DIRECTORY: &str = "Working directory: ";
pub(super) const ANSWER_NEXT: &str = "Answer the latest request: ";

/// The maximum number of turns described individually.
const MAX_TURNS: usize = 150;

/// The number of sentences read per message. A message with more contains pasted text.
const MAX_READ: usize = 400;

/// Collects all sections of a whole conversation.
pub(super) fn gather(turns: &[Turn<'_>], paths: &Paths) -> Checkpoint {
    let calls = turns.iter().enumerate().flat_map(|(at, turn)| turn.calls().map(move |call| (at, call)));
    let runs = commands::runs(calls);
    let mut checkpoint = Checkpoint::default();
    add_goal(&mut checkpoint, turns);
    add_rules(&mut checkpoint, turns);
    add_turns(&mut checkpoint, turns, paths);
    add_blocked(&mut checkpoint, &runs, turns.len());
    add_decisions(&mut checkpoint, turns);
    add_next(&mut checkpoint, turns);
    add_context(&mut checkpoint, turns, &runs, paths);
    checkpoint
}

/// Whether a request asks for something, beyond agreeing or greeting.
fn is_substantial(request: &str) -> bool {
    cost(request.trim()) >= 16 && !agrees(request)
}

fn add_goal(checkpoint: &mut Checkpoint, turns: &[Turn<'_>]) {
    let mut requests = turns.iter().map(|turn| turn.request).filter(|request| is_substantial(request));
    let first = requests.next().or_else(|| turns.iter().map(|turn| turn.request).find(|it| !it.trim().is_empty()));
    let Some(first) = first else { return };
    checkpoint.add(Section::Goal, 0, line(&own_words(first), 700));
    let rest: Vec<&str> = requests.collect();
    let Some((latest, between)) = rest.split_last() else { return };
    let mut large: Vec<(usize, &str)> = between.iter().enumerate().map(|(at, request)| (at, *request)).collect();
    large.sort_by_key(|(_, request)| std::cmp::Reverse(weight_of_words(request)));
    large.truncate(4);
    large.retain(|(_, request)| cost(request) > 140);
    large.sort_unstable();
    large
        .iter()
        .enumerate()
        .for_each(|(rank, (_, request))| checkpoint.add(Section::Goal, rank + 2, line(&own_words(request), 260)));
    checkpoint.add(Section::Goal, 1, format!("{LATEST}{}", line(&own_words(latest), 500)));
}

/// How much the user wrote.
fn weight_of_words(request: &str) -> usize {
    cost(&own_words(request)).min(1200)
}

/// The user's rules and wishes. Rules come first when space is short.
fn add_rules(checkpoint: &mut Checkpoint, turns: &[Turn<'_>]) {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        for sentence in
            sentences(&own_words(turn.request)).take(MAX_READ).filter(|sentence| (12..400).contains(&cost(sentence)))
        {
            let is_question = sentence.ends_with(['?', '？']);
            let (n_rules, n_wishes) = (cues::count(sentence, RULE), cues::count(sentence, WISH));
            let score = if is_question { 0 } else { 2 * n_rules + n_wishes };
            if score > 0 {
                found.push((score, at, line(sentence, 240)));
            }
        }
    }
    found.sort_by_key(|(score, at, _)| (std::cmp::Reverse((*score).min(3)), std::cmp::Reverse(*at)));
    add_best(checkpoint, Section::Constraints, found, 14);
}

/// Adds the best sentences in the order of their turns. `found` has scores, turns and sentences, the best first; only the
/// first `n_best` are added.
fn add_best(checkpoint: &mut Checkpoint, section: Section, mut found: Vec<(usize, usize, String)>, n_best: usize) {
    found.truncate(n_best);
    let mut ranked: Vec<(usize, usize, String)> =
        found.into_iter().enumerate().map(|(rank, (_, at, text))| (at, rank, text)).collect();
    ranked.sort_by_key(|(at, rank, _)| (*at, *rank));
    for (_, rank, text) in ranked {
        checkpoint.add(section, rank, text);
    }
}

/// What the user asked and the result, turn by turn.
fn add_turns(checkpoint: &mut Checkpoint, turns: &[Turn<'_>], paths: &Paths) {
    let n_turns = turns.len();
    let mut found: Vec<(usize, usize)> =
        turns.iter().enumerate().map(|(at, turn)| (importance(turn, n_turns - at), at)).collect();
    found.sort_by_key(|(importance, at)| std::cmp::Reverse((*importance, *at)));
    found.retain(|(importance, _)| *importance > 0);
    found.truncate(MAX_TURNS);
    let mut ranked: Vec<(usize, usize)> = found.iter().enumerate().map(|(rank, (_, at))| (*at, rank)).collect();
    ranked.sort_unstable();
    for (at, rank) in ranked {
        let turn = &turns[at];
        let is_open = at + 1 == n_turns && turn.answer().is_none();
        let section = if is_open { Section::InProgress } else { Section::Done };
        checkpoint.add(section, rank, describe_turn(turn, paths, is_open));
    }
}

/// The importance of a turn. Turns near the end matter more.
fn importance(turn: &Turn<'_>, n_from_end: usize) -> usize {
    let n_commits: usize = turn.calls().filter_map(|call| call.command.as_deref()).map(|it| commits(it).len()).sum();
    let asked = usize::from(is_substantial(turn.request)) * (2 + usize::from(cost(turn.request) > 120));
    // An answer without its question is all there is to report about its turn, however short.
    let is_alone = turn.request.trim().is_empty();
    let answered = usize::from(turn.answer().is_some_and(|answer| is_alone || cost(answer) > 80));
    let done = 2 * turn.changed().len().min(4) + 3 * n_commits.min(3);
    let recent = usize::from(n_from_end <= 12) + 2 * usize::from(n_from_end <= 4) + 20 * usize::from(n_from_end == 1);
    let value = asked + answered + done;
    if value == 0 && n_from_end > 1 { 0 } else { value + recent }
}

/// One turn in a few lines.
fn describe_turn(turn: &Turn<'_>, paths: &Paths, is_open: bool) -> String {
    let mut description = String::new();
    if !turn.request.trim().is_empty() {
        description.extend(["“", &line(&own_words(turn.request), 170), "”"]);
    }
    let announces = |text: &&str| text.trim_end().ends_with([':', '：']);
    let text = turn.answer().or_else(|| turn.texts().rev().find(|text| is_open || !announces(text)));
    if let Some(text) = text {
        description.push_str(if description.is_empty() { "" } else { " → " });
        description.push_str(&opening(text, 260));
    }
    if is_open {
        description.push_str(" (not finished)");
    } else if description.ends_with(|it: char| it.is_alphanumeric() || matches!(it, ')' | '`' | ';' | ':')) {
        description.truncate(description.trim_end_matches([';', ':']).len());
        description.push('.');
    }
    let changed = turn.changed();
    if !changed.is_empty() {
        description.extend([" Changed ", &paths.list(&changed, 5), "."]);
    }
    let messages: Vec<String> = turn.calls().filter_map(|call| call.command.as_deref()).flat_map(commits).collect();
    if let Some((first, rest)) = messages.split_first() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        description.extend([" Committed “", first, "”", &more, "."]);
    }
    description.trim_start().to_owned()
}

/// Commands whose last run failed.
fn add_blocked(checkpoint: &mut Checkpoint, runs: &[Runs], n_turns: usize) {
    // A command that failed long ago and was not retried was most likely abandoned.
    let is_recent = |runs: &&Runs| runs.at_turn + if runs.count > 1 { 12 } else { 4 } >= n_turns;
    let failed = runs.iter().rev().filter(|runs| runs.last == CallOutcome::Failed).filter(is_recent);
    for (rank, runs) in failed.take(3).enumerate() {
        checkpoint.add(Section::Blocked, rank, runs.description());
    }
}

/// What the user decided by changing direction or agreeing, and the reasons the model gave.
fn add_decisions(checkpoint: &mut Checkpoint, turns: &[Turn<'_>]) {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| turns[before].answer());
        if cues::turns(turn.request) && is_substantial(turn.request) {
            found.push((4, at, format!("User: “{}”", line(turn.request, 260))));
        } else if agrees(turn.request)
            && before.is_some_and(|answer| cost(answer) > 200)
            && turn.calls().next().is_some()
        {
            found.push((3, at, format!("Agreed: {}", opening(before.unwrap_or_default(), 260))));
        }
        for text in turn.texts() {
            let reasons = statements(text).take(MAX_READ).filter(|sentence| (16..400).contains(&cost(sentence)));
            let best =
                reasons.map(|sentence| (cues::count(sentence, REASON), sentence)).max_by_key(|(score, _)| *score);
            if let Some((score, sentence)) =
                best.filter(|(score, sentence)| *score > 0 && !sentence.ends_with([':', '?']))
            {
                found.push((score.min(2) + usize::from(Some(text) == turn.answer()), at, line(sentence, 260)));
            }
        }
    }
    found.sort_by_key(|(score, at, _)| std::cmp::Reverse((*score, *at)));
    add_best(checkpoint, Section::Decisions, found, 16);
}

/// The remaining work: the unanswered request, the next steps the model named, and its question.
fn add_next(checkpoint: &mut Checkpoint, turns: &[Turn<'_>]) {
    let Some(last) = turns.last() else { return };
    if last.answer().is_none() && is_substantial(last.request) {
        checkpoint.add(Section::Next, 0, format!("{ANSWER_NEXT}“{}”", line(last.request, 300)));
    }
    let recent = turns.iter().rev().take(6).filter_map(|turn| turn.texts().next_back());
    for (index, text) in recent.enumerate() {
        for (rank, step) in open_points(text).into_iter().enumerate() {
            checkpoint.add(Section::Next, 1 + 10 * index + rank, step);
        }
    }
    if let Some(question) =
        last.answer().and_then(|answer| sentences(answer).filter(|it| it.ends_with(['?', '？'])).last())
    {
        checkpoint.add(Section::Next, 2, format!("The assistant asked: “{}”", line(question, 240)));
    }
}

/// The open points of a text: unticked boxes, lists under a heading that announces them, and sentences that say so.
fn open_points(text: &str) -> Vec<String> {
    let mut points = Vec::new();
    let mut is_listing = false;
    for piece in prose(text).take(MAX_READ) {
        let is_marked = unmarked(piece).len() < piece.len() && !piece.starts_with('#');
        let is_box = piece.starts_with("- [ ]");
        let is_ticked = ["- [x]", "- [X]", "- ✅", "✅"].iter().any(|mark| piece.starts_with(mark));
        let says_open = cues::count(piece, OPEN) > 0;
        if is_ticked {
            continue;
        }
        if is_box || (is_marked && is_listing) {
            points.push(line(unmarked(piece), 200));
        } else if !is_marked {
            is_listing = says_open && (piece.ends_with([':', '：']) || piece.starts_with(['#', '*']));
            let open = sentences(piece)
                .filter(|it| !is_listing && says_open && cues::count(it, OPEN) > 0 && !it.ends_with([':', '?']));
            points.extend(open.map(|sentence| line(sentence, 200)));
        }
    }
    points.truncate(8);
    points
}

/// The location, the commands run, notes from extensions, summaries of other branches, and the last answer.
fn add_context(checkpoint: &mut Checkpoint, turns: &[Turn<'_>], runs: &[Runs], paths: &Paths) {
    let commands = || {
        turns
            .iter()
            .rev()
            .flat_map(|turn| turn.calls().collect::<Vec<_>>().into_iter().rev())
            .filter_map(|call| call.command.as_deref())
    };
    let directory = commands().find_map(directory).map(str::to_owned).or_else(|| paths.root().map(str::to_owned));
    if let Some(directory) = directory {
        checkpoint.add(Section::Context, 1, format!("{DIRECTORY}`{}`", line(&directory, 200)));
    }
    if let Some(branch) = commands().find_map(branch) {
        checkpoint.add(Section::Context, 2, format!("{BRANCH}`{branch}`"));
    }
    let mut descriptions: Vec<String> = checks_and_builds(runs).map(Runs::description).collect();
    if !descriptions.is_empty() {
        descriptions.reverse();
        let list: Vec<String> = descriptions.iter().map(|description| format!("- {description}")).collect();
        checkpoint.add(Section::Context, 3, format!("{COMMANDS}\n{}", list.join("\n")));
    }
    add_notes_and_summaries(checkpoint, turns);
    if let Some(answer) = turns.iter().rev().find_map(Turn::answer) {
        checkpoint.add(Section::Context, 0, quotation(LAST_ANSWER, answer, 1100));
    }
}

/// Commands that check or build, the last ones first. Blocked ones are reported elsewhere.
fn checks_and_builds(runs: &[Runs]) -> impl Iterator<Item = &Runs> {
    let fine = runs.iter().rev().filter(|runs| runs.last != CallOutcome::Failed);
    fine.filter(|runs| runs.by_person || commands::has_useful_output(&runs.command)).take(10)
}

/// Notes from extensions, and summaries of other branches.
fn add_notes_and_summaries(checkpoint: &mut Checkpoint, turns: &[Turn<'_>]) {
    let steps = || turns.iter().rev().flat_map(|turn| turn.steps.iter().rev());
    let summaries = steps().filter_map(|step| if let TurnStep::Summary(text) = step { Some(*text) } else { None });
    for (rank, text) in summaries.take(3).enumerate() {
        checkpoint.add(Section::Context, 4 + rank, quotation("Earlier summary in this conversation:", text, 600));
    }
    let notes = steps().filter_map(|step| if let TurnStep::Note(text) = step { Some(*text) } else { None });
    for (rank, text) in notes.take(3).enumerate() {
        checkpoint.add(Section::Context, 5 + rank, format!("Note from an extension: “{}”", line(text, 200)));
    }
}

/// A text of several lines, marked as a quotation.
pub(super) fn quotation(label: &str, text: &str, room: usize) -> String {
    let quoted: Vec<String> = block(text, room).lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    format!("{label}\n{}", quoted.join("\n"))
}

//! The sections of a summary: filled, parsed from an earlier summary, and written within a size limit.

use super::wording::{block, cost, unmarked};

/// The content of an empty section.
const NOTHING: &str = "(none)";

/// The maximum length of one item from an earlier summary.
const MAX_CARRIED_LENGTH: usize = 900;

/// The sections, in output order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Goal,
    Constraints,
    Done,
    InProgress,
    Blocked,
    Decisions,
    Next,
    Context,
    /// For the start of a turn: what the user asked.
    Request,
    /// For the start of a turn: what was done so far.
    SoFar,
    /// For the start of a turn: what is needed to continue.
    Needed,
}

use Section::{Blocked, Constraints, Context, Decisions, Done, Goal, InProgress, Needed, Next, Request, SoFar};

/// The sections of a summary of a whole conversation.
pub(super) const WHOLE: &[Section] = &[Goal, Constraints, Done, InProgress, Blocked, Decisions, Next, Context];
/// The sections of a branch summary.
pub(super) const BRANCH: &[Section] = &[Goal, Constraints, Done, InProgress, Blocked, Decisions, Next];
/// The sections of a summary of the start of a turn.
pub(super) const PREFIX: &[Section] = &[Request, SoFar, Needed];

const N_SECTIONS: usize = 11;

impl Section {
    /// The heading, including the parent heading for the first subsection.
    fn heading(self) -> &'static str {
        match self {
            Goal => "## Goal",
            Constraints => "## Constraints & Preferences",
            Done => "## Progress\n### Done",
            InProgress => "### In Progress",
            Blocked => "### Blocked",
            Decisions => "## Key Decisions",
            Next => "## Next Steps",
            Context => "## Critical Context",
            Request => "## Original Request",
            SoFar => "## Progress So Far",
            Needed => "## Context Needed to Continue",
        }
    }

    /// The section's share of the space when space is short.
    fn share(self) -> usize {
        match self {
            Done | SoFar => 6,
            Decisions | Context | Needed => 4,
            Constraints => 3,
            Goal | InProgress | Blocked | Next | Request => 8,
        }
    }

    /// The section that a heading of an earlier summary means, whatever wrote it.
    fn of_heading(heading: &str) -> Option<Self> {
        let heading = heading.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        Some(match () {
            () if has(&["original request", "in progress", "current task", "current state"]) => InProgress,
            () if has(&["needed to continue", "critical context"]) => Context,
            () if has(&["blocked", "open problem", "known issue"]) => Blocked,
            () if heading.starts_with("next") || has(&["next step", "todo", "to do", "remaining"]) => Next,
            () if has(&["done", "completed", "progress"]) => Done,
            () if has(&["decision"]) => Decisions,
            () if has(&["constraint", "preference"]) => Constraints,
            () if has(&["goal", "objective"]) => Goal,
            () => return None,
        })
    }
}

/// An item of a section. Its lines after the first belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) text: String,
    /// The rank within its section when space is short; lower ranks come first.
    pub(super) rank: usize,
    /// A normalised form, equal for texts that say the same.
    key: String,
}

/// A summary under construction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checkpoint {
    sections: [Vec<Item>; N_SECTIONS],
}

impl Checkpoint {
    /// Adds an item, unless the section already contains it.
    pub(super) fn add(&mut self, section: Section, rank: usize, text: impl Into<String>) {
        let text = text.into();
        let key = key(&text);
        let items = &mut self.sections[section as usize];
        let is_said = |item: &Item| item.key == key || (key.len() > 24 && item.key.contains(&key));
        if !key.is_empty() && !items.iter().any(is_said) {
            items.push(Item { text, rank, key });
        }
    }

    /// The items of a section.
    pub(super) fn items(&self, section: Section) -> &[Item] {
        &self.sections[section as usize]
    }

    /// Removes and returns the items of a section.
    pub(super) fn take(&mut self, section: Section) -> Vec<Item> {
        std::mem::take(&mut self.sections[section as usize])
    }

    /// Parses an earlier summary, written by this module or by a model. Text under unknown headings becomes context.
    pub(super) fn read(summary: &str) -> Self {
        let summary = without_file_lists(summary);
        let mut checkpoint = Self::default();
        let mut reader = Reader { section: Context, lines: Vec::new(), is_loose: true };
        let mut is_code = false;
        for text in summary.lines() {
            let is_fence = text.trim_start().starts_with("```");
            is_code ^= is_fence;
            if is_code || is_fence {
                reader.lines.push(text);
            } else if let Some(heading) = text.strip_prefix('#') {
                reader.heading(heading, &mut checkpoint);
            } else if !text.starts_with("**Turn Context") && text.trim() != "---" {
                reader.line(text, &mut checkpoint);
            }
        }
        reader.finish_item(&mut checkpoint);
        checkpoint
    }

    /// Writes the sections within `room`. Items that do not fit are counted.
    pub(super) fn write(&self, sections: &[Section], room: usize) -> String {
        let chosen = self.choose(sections, room);
        let mut out = String::new();
        for section in sections {
            let is_inner = section.heading().starts_with("###");
            out.push_str(if out.is_empty() {
                ""
            } else if is_inner {
                "\n"
            } else {
                "\n\n"
            });
            out.push_str(section.heading());
            let items = self.items(*section);
            let kept: Vec<&Item> =
                (0..items.len()).filter(|at| chosen.contains(&(*section as usize, *at))).map(|at| &items[at]).collect();
            for item in &kept {
                out.push_str("\n- ");
                out.push_str(&item.text.replace('\n', "\n  "));
            }
            match items.len() - kept.len() {
                0 if items.is_empty() => out.extend(["\n- ", NOTHING]),
                0 => {}
                n_left_out => out.extend(["\n- … ", &n_left_out.to_string(), " more left out"]),
            }
        }
        out
    }

    /// Chooses the items that fit. Sections take turns; those with a larger share get more turns.
    fn choose(&self, sections: &[Section], room: usize) -> std::collections::BTreeSet<(usize, usize)> {
        let mut queue: Vec<(usize, usize, usize)> = Vec::new();
        for section in sections {
            let mut order: Vec<usize> = (0..self.items(*section).len()).collect();
            order.sort_by_key(|at| self.items(*section)[*at].rank);
            let turn = |rank: usize| (rank + 1) * 1000 / section.share();
            queue.extend(order.iter().enumerate().map(|(rank, at)| (turn(rank), *section as usize, *at)));
        }
        queue.sort_unstable();
        let mut left = room;
        let mut chosen = std::collections::BTreeSet::new();
        for (_, section, at) in queue {
            let needed = cost(&self.sections[section][at].text) + 4;
            if needed <= left {
                left -= needed;
                chosen.insert((section, at));
            }
        }
        chosen
    }
}

/// A normalised form, equal for texts that say the same.
fn key(text: &str) -> String {
    text.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The summary without the file lists at its end, which are generated again.
fn without_file_lists(summary: &str) -> String {
    let mut text = summary.to_owned();
    for tag in ["read-files", "modified-files"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let end = text.split_at(start).1.find(&close).map_or(text.len(), |at| start + at + close.len());
            text.replace_range(start..end, "");
        }
    }
    text
}

/// Parses sections line by line.
struct Reader<'s> {
    section: Section,
    lines: Vec<&'s str>,
    /// Whether the current text is under an unknown heading, so that it is kept together.
    is_loose: bool,
}

impl<'s> Reader<'s> {
    fn heading(&mut self, heading: &'s str, checkpoint: &mut Checkpoint) {
        let level = 1 + heading.len() - heading.trim_start_matches('#').len();
        let name = heading.trim_start_matches('#').trim();
        let section = Section::of_heading(name);
        // A heading inside a section names the lines that follow, unless it is a section itself.
        if level >= 3 && section.is_none() && !self.is_loose {
            self.finish_item(checkpoint);
            self.lines.push(name);
            return;
        }
        self.finish_item(checkpoint);
        self.is_loose = section.is_none();
        self.section = section.unwrap_or(Context);
        if level > 1 && section.is_none() {
            self.lines.push(name);
        }
    }

    fn line(&mut self, text: &'s str, checkpoint: &mut Checkpoint) {
        let is_mark = unmarked(text).len() < text.trim().len() && !text.starts_with(' ');
        if !self.is_loose && (is_mark || (text.trim().is_empty() && !self.is_in_code())) {
            // A named item continues over its list.
            let is_named = self.lines.first().is_some_and(|first| unmarked(first).len() == first.trim().len());
            if !is_named || text.trim().is_empty() && self.lines.len() > 1 {
                self.finish_item(checkpoint);
            }
        }
        if !text.trim().is_empty() {
            self.lines.push(text);
        }
    }

    fn is_in_code(&self) -> bool {
        self.lines.iter().filter(|text| text.trim_start().starts_with("```")).count() % 2 == 1
    }

    fn finish_item(&mut self, checkpoint: &mut Checkpoint) {
        let lines = std::mem::take(&mut self.lines);
        let Some((first, rest)) = lines.split_first() else { return };
        let first = first.strip_prefix("- ").or_else(|| first.strip_prefix("* ")).unwrap_or(first);
        let indent = rest.iter().map(|text| text.len() - text.trim_start().len()).min().unwrap_or(0);
        let rest = rest.iter().map(|text| text.get(indent..).unwrap_or(text));
        let text = std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n");
        let text = block(&text, MAX_CARRIED_LENGTH);
        let is_remark = text == NOTHING || (text.starts_with("… ") && text.ends_with(" more left out"));
        if !is_remark {
            let rank = checkpoint.items(self.section).len();
            checkpoint.add(self.section, rank, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(checkpoint: &Checkpoint, section: Section) -> Vec<&str> {
        checkpoint.items(section).iter().map(|item| item.text.as_str()).collect()
    }

    #[test]
    fn written_checkpoints_are_read_back() {
        let mut checkpoint = Checkpoint::default();
        checkpoint.add(Goal, 0, "Tell the tide");
        checkpoint.add(Done, 0, "First\nwith more\n> quoted");
        checkpoint.add(Done, 1, "Second");
        checkpoint.add(Done, 1, "second!");
        let text = checkpoint.write(WHOLE, 10_000);
        assert!(text.starts_with("## Goal\n- Tell the tide\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- First\n  with more\n  > quoted\n- Second\n"), "{text}");
        assert_eq!(Checkpoint::read(&text), checkpoint);
    }

    #[test]
    fn summaries_written_by_models_are_parsed() {
        let text = "# Checkpoint\n\n## Branch\n`refactor`\n\n## Goal\nDo it\nwell.\n\n## Completed Work (1-2)\nAll:\n- one\n- two\n\n\
            ## Next Steps\n### A: first (NEXT)\n- a1\n- a2\n\n### B\n- b1\n\n## API\n```rust\n## not a heading\nfn x();\n```\n\n\
            ---\n\n**Turn Context (split turn):**\n\n## Original Request\nGo\n\n<read-files>\na\n</read-files>";
        let checkpoint = Checkpoint::read(text);
        assert_eq!(texts(&checkpoint, Goal), ["Do it\nwell."]);
        assert_eq!(texts(&checkpoint, Done), ["All:\n- one\n- two"]);
        assert_eq!(texts(&checkpoint, Next), ["A: first (NEXT)\n- a1\n- a2", "B\n- b1"]);
        assert_eq!(texts(&checkpoint, InProgress), ["Go"]);
        assert_eq!(texts(&checkpoint, Context), ["Branch\n`refactor`", "API\n```rust\n## not a heading\nfn x();\n```"]);
    }

    #[test]
    fn omitted_items_are_counted() {
        let mut checkpoint = Checkpoint::default();
        (0..50).for_each(|n| checkpoint.add(Done, 50 - n, format!("step number {n}")));
        checkpoint.add(Goal, 0, "the goal");
        let text = checkpoint.write(WHOLE, 120);
        assert!(
            text.contains("the goal") && text.contains("step number 49") && text.contains("more left out"),
            "{text}"
        );
        assert!(!text.contains("step number 1\n"));
        assert!(texts(&Checkpoint::read(&text), Done).len() < 8);
    }
}

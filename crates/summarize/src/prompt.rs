//! The prompt for a model: the instructions, kept in separate files, and the conversation.

use sessile_core::compaction::{Purpose, SummaryRequest};

const ROLE: &str = include_str!("../prompts/role.md");
const HISTORY: &str = include_str!("../prompts/history.md");
const UPDATE: &str = include_str!("../prompts/update.md");
const TURN_PREFIX: &str = include_str!("../prompts/turn-prefix.md");
const BRANCH: &str = include_str!("../prompts/branch.md");

/// A request as a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The model's role.
    pub system: String,
    /// The conversation and the instructions.
    pub user: String,
    /// How many characters of the conversation were left out because they did not fit.
    pub n_left_out: usize,
}

impl Prompt {
    /// Builds a prompt, in which the conversation takes up at most `room` bytes.
    pub fn new(request: &SummaryRequest<'_>, room: usize) -> Self {
        let (conversation, n_left_out) = shortened(request.conversation.text(), room);
        let instructions = instructions(request);
        let previous = request
            .previous_summary
            .map_or_else(String::new, |previous| format!("<previous-summary>\n{previous}\n</previous-summary>\n\n"));
        let user = if request.purpose == Purpose::TurnPrefix {
            format!("# Conversation\n{conversation}\n\n# Instructions\n{instructions}")
        } else {
            format!("<conversation>\n{conversation}\n</conversation>\n\n{previous}{instructions}")
        };
        Self { system: ROLE.trim_end().to_owned(), user, n_left_out }
    }
}

/// Returns the instructions: the built-in ones, the user's, or both.
fn instructions(request: &SummaryRequest<'_>) -> String {
    let own = match request.purpose {
        Purpose::History => HISTORY,
        Purpose::Update => UPDATE,
        Purpose::TurnPrefix => TURN_PREFIX,
        Purpose::Branch => BRANCH,
    };
    match request.custom_instructions.filter(|custom| !custom.is_empty()) {
        Some(custom) if request.replaces_instructions => custom.to_owned(),
        Some(custom) => format!("{}\n\nAdditional focus: {custom}", own.trim_end()),
        None => own.trim_end().to_owned(),
    }
}

/// Leaves out the middle of a text that is too long, and returns the number of characters left out.
///
/// The beginning usually holds the request and the end holds the result.
fn shortened(text: &str, room: usize) -> (String, usize) {
    if text.len() <= room {
        return (text.to_owned(), 0);
    }
    let beginning = text.floor_char_boundary(room / 3);
    let ending = text.ceil_char_boundary(text.len() - (room - room / 3));
    let (before, rest) = text.split_at(beginning);
    let (left_out, after) = rest.split_at(ending - beginning);
    let n_left_out = left_out.chars().count();
    (format!("{before}\n\n[{n_left_out} characters of the conversation are left out here]\n\n{after}"), n_left_out)
}

#[cfg(test)]
mod tests {
    use sessile_core::compaction::{FileLists, serialize};
    use sessile_core::json::Raw;

    use super::*;

    #[test]
    fn the_envelope_matches_the_purpose() {
        let message = Raw::parse(br#"{"role":"user","content":"Hi"}"#).unwrap();
        let (conversation, files) = (serialize([message]).finish(), FileLists::default());
        let mut request = SummaryRequest::new(Purpose::Update, &conversation, &files);
        request.previous_summary = Some("OLD");
        request.custom_instructions = Some("the tides");
        let prompt = Prompt::new(&request, 1000);
        assert!(prompt.user.starts_with(
            "<conversation>\n[User]: Hi\n</conversation>\n\n<previous-summary>\nOLD\n</previous-summary>\n\nThe note in"
        ));
        assert!(prompt.user.ends_with("error messages exactly.\n\nAdditional focus: the tides"));
        request.replaces_instructions = true;
        request.previous_summary = None;
        request.purpose = Purpose::Branch;
        assert_eq!(Prompt::new(&request, 1000).user, "<conversation>\n[User]: Hi\n</conversation>\n\nthe tides");
        let request = SummaryRequest::new(Purpose::TurnPrefix, &conversation, &files);
        assert!(
            Prompt::new(&request, 1000)
                .user
                .starts_with("# Conversation\n[User]: Hi\n\n# Instructions\nThis is the first")
        );
    }

    #[test]
    fn every_prompt_asks_for_the_sections_of_its_purpose() {
        let whole =
            ["## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked"];
        for prompt in [HISTORY, UPDATE, BRANCH] {
            assert!(whole.iter().chain(&["## Key Decisions", "## Next Steps"]).all(|heading| prompt.contains(heading)));
        }
        assert!(HISTORY.contains("## Critical Context") && UPDATE.contains("## Critical Context"));
        assert!(!BRANCH.contains("## Critical Context"));
        let prefix = ["## Original Request", "## Progress So Far", "## Context Needed to Continue"];
        assert!(prefix.iter().all(|heading| TURN_PREFIX.contains(heading)));
    }

    #[test]
    fn long_text_loses_its_middle() {
        assert_eq!(shortened("日本語", 9), ("日本語".to_owned(), 0));
        let (text, n_left_out) = shortened(&"日".repeat(100), 30);
        assert_eq!(n_left_out, 91);
        assert!(text.starts_with("日日日\n\n[91 characters") && text.ends_with("\n\n日日日日日日"));
    }
}

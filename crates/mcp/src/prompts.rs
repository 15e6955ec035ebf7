//! Questions that users ask often, as prompts: plain messages of the user that name the tools.

use sessile::json::{Json, ObjectWriter, Raw};

/// The longest argument, in characters.
const MAX_ARGUMENT: usize = 1_000;

/// A prompt.
pub(crate) struct Prompt {
    name: &'static str,
    description: &'static str,
    /// The argument: its name, what it is, and its value if it may be missing.
    argument: (&'static str, &'static str, Option<&'static str>),
    /// The text before and after the argument.
    text: (&'static str, &'static str),
}

const PROMPTS: [Prompt; 4] = [
    Prompt {
        name: "recall",
        description: "What earlier sessions say about a topic",
        argument: ("topic", "what to look for", None),
        text: (
            "Look in my earlier sessions for this topic: ",
            "\n\nUse search_history with several phrasings, read the best hits with read_branch, and tell me what was \
             decided, why, and what was left open. Name the sessions by id.",
        ),
    },
    Prompt {
        name: "standup",
        description: "What was done since a day",
        argument: ("since", "a time, such as yesterday, 3d or 2026-01-31", Some("yesterday")),
        text: (
            "Write a short stand-up report of my work since ",
            ".\n\nUse list_sessions with since, then get_session for each session that matters. Group by topic: what is \
             done, what is in progress, what is blocked.",
        ),
    },
    Prompt {
        name: "handoff",
        description: "Continue where another session stopped",
        argument: ("session", "an id, a name or @latest", None),
        text: (
            "I want to continue this earlier session: ",
            "\n\nRead it with get_session and read_branch, and find the files it changed. Summarize the goal, the state \
             and the next steps. Then wait for my confirmation.",
        ),
    },
    Prompt {
        name: "why",
        description: "Why a file is as it is",
        argument: ("file", "a path", None),
        text: (
            "Find out why this file is as it is: ",
            "\n\nUse find_file_history, read the entries around the most important changes with read_branch, and \
             explain the reasons. Name the sessions by id.",
        ),
    },
];

/// The prompt of a name.
pub(crate) fn prompt(name: &str) -> Option<&'static Prompt> {
    PROMPTS.iter().find(|prompt| prompt.name == name)
}

/// All prompts as JSON.
pub(crate) fn definitions() -> Vec<Json> {
    PROMPTS.iter().map(Prompt::to_json).collect()
}

impl Prompt {
    fn to_json(&self) -> Json {
        let (name, description, usual) = self.argument;
        let mut argument = ObjectWriter::new();
        argument.string("name", name).string("description", description).bool("required", usual.is_none());
        let mut out = ObjectWriter::new();
        out.string("name", self.name).string("description", self.description);
        out.array("arguments", [argument.finish().raw()]).finish()
    }

    pub(crate) fn description(&self) -> &'static str {
        self.description
    }

    /// Whether the argument of this name is a session.
    pub(crate) fn has_session(&self, argument: &str) -> bool {
        argument == "session" && self.argument.0 == argument
    }

    /// The message with the argument, or why there is none.
    pub(crate) fn message(&self, arguments: Option<Raw<'_>>) -> Result<String, String> {
        let (name, _, usual) = self.argument;
        let given = arguments.and_then(|arguments| arguments.get(name)).and_then(Raw::as_string);
        let given = given.filter(|given| !given.trim().is_empty()).or(usual.map(str::to_owned));
        let given = given.ok_or_else(|| format!("the argument {name} is missing"))?;
        if given.chars().nth(MAX_ARGUMENT).is_some() {
            return Err(format!("the argument {name} is too long"));
        }
        Ok(format!("{}{}{}", self.text.0, given.trim(), self.text.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_has_its_argument() {
        let message = |name: &str, arguments: &str| {
            let arguments = Json::parse(arguments).unwrap();
            prompt(name).unwrap().message(Some(arguments.raw()))
        };
        assert!(message("recall", r#"{"topic":" tides "}"#).unwrap().contains("this topic: tides\n"));
        assert!(message("standup", "{}").unwrap().contains("since yesterday."));
        assert_eq!(message("why", r#"{"file":" "}"#), Err("the argument file is missing".to_owned()));
        message("why", &format!(r#"{{"file":"{}"}}"#, "x".repeat(1_001))).unwrap_err();
        assert!(prompt("delete").is_none());
    }
}

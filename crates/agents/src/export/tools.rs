//! The names of pi's tools in other agents.

use sessile_core::json::{Json, ObjectWriter};

use super::Target;

/// A tool of pi, the agent's tool for the same, and their arguments. A call with other arguments keeps pi's name.
type Tool = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const CLAUDE: &[Tool] = &[
    ("bash", "Bash", &[("command", "command")]),
    ("read", "Read", &[("path", "file_path"), ("offset", "offset"), ("limit", "limit")]),
    ("write", "Write", &[("path", "file_path"), ("content", "content")]),
    ("edit", "Edit", &[("path", "file_path"), ("oldText", "old_string"), ("newText", "new_string")]),
];

const CODEX: &[Tool] = &[("bash", "exec_command", &[("command", "cmd")])];

const GEMINI: &[Tool] = &[
    ("bash", "run_shell_command", &[("command", "command")]),
    ("read", "read_file", &[("path", "file_path"), ("offset", "offset"), ("limit", "limit")]),
    ("write", "write_file", &[("path", "file_path"), ("content", "content")]),
    ("edit", "replace", &[("path", "file_path"), ("oldText", "old_string"), ("newText", "new_string")]),
];

const QWEN: &[Tool] = &[
    ("bash", "run_shell_command", &[("command", "command")]),
    ("read", "read_file", &[("path", "file_path"), ("offset", "offset"), ("limit", "limit")]),
    ("write", "write_file", &[("path", "file_path"), ("content", "content")]),
    ("edit", "edit", &[("path", "file_path"), ("oldText", "old_string"), ("newText", "new_string")]),
];

const OPENCODE: &[Tool] = &[
    ("bash", "bash", &[("command", "command")]),
    ("read", "read", &[("path", "filePath"), ("offset", "offset"), ("limit", "limit")]),
    ("write", "write", &[("path", "filePath"), ("content", "content")]),
    ("edit", "edit", &[("path", "filePath"), ("oldText", "oldString"), ("newText", "newString")]),
];

/// The tools that get other names.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolNames(&'static [Tool]);

/// The tools of an agent.
pub(super) fn names_for(target: Target, is_mapped: bool) -> ToolNames {
    ToolNames(match target {
        _ if !is_mapped => &[],
        Target::Claude => CLAUDE,
        Target::Codex => CODEX,
        Target::Gemini => GEMINI,
        Target::Qwen => QWEN,
        Target::Opencode => OPENCODE,
        Target::Omp => &[],
    })
}

impl ToolNames {
    /// The agent's name and arguments for a call, or the same ones.
    pub(super) fn mapped(self, name: String, arguments: Json) -> (String, Json) {
        match self.0.iter().find(|(ours, ..)| *ours == name).and_then(|tool| renamed(tool, &arguments)) {
            Some(renamed) => renamed,
            None => (name, arguments),
        }
    }
}

/// The agent's name and arguments for a call; `None` if an argument has no counterpart.
fn renamed((ours, theirs, keys): &Tool, arguments: &Json) -> Option<(String, Json)> {
    let mut renamed = ObjectWriter::new();
    for member in arguments.raw().members() {
        // pi counts seconds and the others milliseconds, and a call that is over needs no limit.
        if *ours == "bash" && member.is("timeout") {
            continue;
        }
        let (_, key) = keys.iter().find(|(ours, _)| member.is(ours))?;
        renamed.raw(key, member.value);
    }
    Some(((*theirs).to_owned(), renamed.finish()))
}

#[cfg(test)]
mod tests {
    use sessile_core::json::Raw;

    use super::*;

    fn mapped(target: Target, name: &str, arguments: &str) -> (String, String) {
        let arguments = Raw::parse(arguments.as_bytes()).unwrap().to_json();
        let (name, arguments) = names_for(target, true).mapped(name.to_owned(), arguments);
        (name, arguments.to_text().into_owned())
    }

    #[test]
    fn known_tools_get_the_names_and_arguments_of_the_agent() {
        let read = mapped(Target::Claude, "read", r#"{"path":"a","limit":5}"#);
        assert_eq!(read, ("Read".into(), r#"{"file_path":"a","limit":5}"#.into()));
        let bash = mapped(Target::Codex, "bash", r#"{"command":"ls","timeout":5}"#);
        assert_eq!(bash, ("exec_command".into(), r#"{"cmd":"ls"}"#.into()));
    }

    #[test]
    fn other_tools_and_other_arguments_stay() {
        for (name, arguments) in [("edit", r#"{"path":"a","edits":[]}"#), ("weather", "{}"), ("Bash", "{}")] {
            assert_eq!(mapped(Target::Claude, name, arguments), (name.into(), arguments.into()));
        }
        let arguments = Raw::parse(br#"{"path":"a"}"#).unwrap().to_json();
        assert_eq!(names_for(Target::Claude, false).mapped("read".into(), arguments).0, "read");
    }
}

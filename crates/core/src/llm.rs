//! Converts session messages to what a model receives.

use crate::context::text_block;
use crate::head::Role;
use crate::json::{Json, ObjectWriter, Raw, print, write_text};

/// Wraps the summary of a compaction. These texts reach the model, so they match pi's exactly.
const COMPACTION: (&str, &str) = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
);

/// Wraps the summary of a branch.
const BRANCH: (&str, &str) =
    ("The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "</summary>");

/// The messages a model receives, like pi's `convertToLlm`.
///
/// System, user, assistant and tool result messages pass unchanged. Shell output, custom messages and summaries become
/// user messages. All others are left out.
pub fn convert<'m>(messages: impl IntoIterator<Item = Raw<'m>>) -> Vec<Json> {
    messages.into_iter().filter_map(convert_one).collect()
}

fn convert_one(message: Raw<'_>) -> Option<Json> {
    match Role::of(message.get("role")) {
        Role::System | Role::User | Role::Assistant | Role::ToolResult => Some(message.to_json()),
        Role::BashExecution => {
            let hidden = message.get("excludeFromContext").is_some_and(Raw::is_truthy);
            (!hidden).then(|| user_text(&bash_text(message), message))
        }
        Role::Custom => {
            let content = message.get("content").map(text_block);
            Some(user(content.as_ref().map(Json::raw), message))
        }
        Role::CompactionSummary => Some(user_text(&wrapped(COMPACTION, message), message)),
        Role::BranchSummary => Some(user_text(&wrapped(BRANCH, message), message)),
        Role::HookMessage | Role::Other | Role::None => None,
    }
}

fn user(content: Option<Raw<'_>>, source: Raw<'_>) -> Json {
    let mut message = ObjectWriter::new();
    message.string("role", "user").optional("content", content).optional("timestamp", source.get("timestamp"));
    message.finish()
}

fn user_text(text: &Pieces, source: Raw<'_>) -> Json {
    let content = text_block(text.to_json().raw());
    user(Some(content.raw()), source)
}

fn wrapped((before, after): (&str, &str), message: Raw<'_>) -> Pieces {
    Pieces::default().plain(before).value(message.get("summary")).plain(after)
}

fn bash_text(message: Raw<'_>) -> Pieces {
    let output = message.get("output");
    let mut text = Pieces::default().plain("Ran `").value(message.get("command")).plain("`\n");
    text = match output.filter(|output| output.is_truthy()) {
        Some(_) => text.plain("```\n").value(output).plain("\n```"),
        None => text.plain("(no output)"),
    };
    let exit_code = message.get("exitCode").filter(|code| !code.is_null() && code.as_number() != Some(0.0));
    if message.get("cancelled").is_some_and(Raw::is_truthy) {
        text = text.plain("\n\n(command cancelled)");
    } else if exit_code.is_some() {
        text = text.plain("\n\nCommand exited with code ").value(exit_code);
    }
    let full_output = message.get("fullOutputPath").filter(|path| path.is_truthy());
    if full_output.is_some() && message.get("truncated").is_some_and(Raw::is_truthy) {
        text = text.plain("\n\n[Output truncated. Full output: ").value(full_output).plain("]");
    }
    text
}

/// A text under construction, already escaped as between the quotes of a JSON string.
#[derive(Default)]
struct Pieces(Vec<u8>);

impl Pieces {
    fn plain(self, text: &str) -> Self {
        self.quoted(Json::string(text).raw())
    }

    /// Adds a value as a JavaScript template string prints it.
    fn value(self, value: Option<Raw<'_>>) -> Self {
        let Some(value) = value else { return self.plain("undefined") };
        let mut token = Vec::new();
        write_text(&value.to_js_string(), &mut token);
        self.quoted(Raw::trusted(&token))
    }

    fn quoted(mut self, token: Raw<'_>) -> Self {
        let token = token.as_bytes();
        self.0.extend_from_slice(&token[1..token.len() - 1]);
        self
    }

    fn to_json(&self) -> Json {
        // Two lone surrogates that meet at a seam form a pair, as in JavaScript's string concatenation.
        print(Json::trusted([b"\"", &self.0[..], b"\""].concat()).raw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(message: &str) -> Option<String> {
        let messages = convert([Raw::parse(message.as_bytes()).unwrap()]);
        messages.first().map(|message| message.to_text().into_owned())
    }

    fn text(message: &str) -> String {
        let message = converted(message).unwrap();
        let content = Raw::parse(message.as_bytes()).unwrap().get("content").unwrap().to_json();
        content.raw().items().next().unwrap().get("text").unwrap().as_string().unwrap()
    }

    #[test]
    fn shell_output_is_formatted_as_in_pi() {
        // Obtained from pi 1.5.0.
        for (fields, expected) in [
            (r#""output":"out""#, "Ran `ls`\n```\nout\n```"),
            (r#""output":"""#, "Ran `ls`\n(no output)"),
            (r#""output":"out","exitCode":2"#, "Ran `ls`\n```\nout\n```\n\nCommand exited with code 2"),
            (r#""output":"out","exitCode":0"#, "Ran `ls`\n```\nout\n```"),
            (r#""output":"out","exitCode":1,"cancelled":true"#, "Ran `ls`\n```\nout\n```\n\n(command cancelled)"),
            (r#""output":"o","truncated":true"#, "Ran `ls`\n```\no\n```"),
            (
                r#""output":"o","exitCode":-1,"truncated":true,"fullOutputPath":"/f""#,
                "Ran `ls`\n```\no\n```\n\nCommand exited with code -1\n\n[Output truncated. Full output: /f]",
            ),
        ] {
            assert_eq!(text(&format!(r#"{{"role":"bashExecution","command":"ls",{fields}}}"#)), expected);
        }
        assert_eq!(converted(r#"{"role":"bashExecution","excludeFromContext":true}"#), None);
    }

    #[test]
    fn summaries_are_wrapped() {
        let branch = text(r#"{"role":"branchSummary","summary":"BS"}"#);
        assert!(branch.ends_with("<summary>\nBS</summary>"));
        let compaction = text(r#"{"role":"compactionSummary","summary":"CS"}"#);
        assert!(compaction.ends_with("<summary>\nCS\n</summary>"));
    }

    #[test]
    fn custom_messages_come_from_the_user() {
        assert_eq!(
            converted(r#"{"role":"custom","content":"s","display":true,"timestamp":6}"#).unwrap(),
            r#"{"role":"user","content":[{"type":"text","text":"s"}],"timestamp":6}"#
        );
        assert_eq!(converted(r#"{"role":"custom","content":null}"#).unwrap(), r#"{"role":"user","content":null}"#);
        assert_eq!(converted(r#"{"role":"hookMessage","content":"x"}"#), None);
        assert_eq!(converted(r#"{"content":"x"}"#), None);
    }
}

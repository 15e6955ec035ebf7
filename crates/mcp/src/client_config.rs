//! The entry for this server in the configuration of a client.

use sessile::json::{Json, ObjectWriter};

/// A program that can start this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// pi.
    Pi,
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
}

impl Client {
    /// All clients.
    pub const ALL: [Self; 7] =
        [Self::Pi, Self::Claude, Self::Codex, Self::Opencode, Self::Gemini, Self::Cursor, Self::Vscode];

    /// Its name on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Opencode => "opencode",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Vscode => "Visual Studio Code",
        }
    }
}

/// An entry, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// The file, with `~` for the home directory; a relative one is in the project.
    pub file: &'static str,
    /// The text to put there, if the file has nothing else.
    pub entry: String,
    /// A command of the client that does the same, if it has one.
    pub command: Option<String>,
}

/// The name of the server, which clients put before the names of its tools.
const NAME: &str = "sessile";

/// The tools that pi offers to the model without a search, because models do not look for what they do not know of.
const DIRECT_TOOLS: [&str; 2] = ["search_history", "read_branch"];

/// The entry that makes a client start `program` with these arguments.
pub fn client_config(client: Client, program: &str, arguments: &[String]) -> ClientConfig {
    let words: Vec<String> = std::iter::once(program.to_owned()).chain(arguments.iter().cloned()).collect();
    let shell = || words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let entry = |key: &str, server: &Json| pretty(&nested(key, &nested(NAME, server)));
    let plain = || server(program, arguments, |_| {});
    match client {
        Client::Pi => ClientConfig {
            file: "~/.pi/agent/mcp.json",
            entry: entry("mcpServers", &pi_server(program, arguments)),
            command: Some(format!("pi mcp add {NAME} -- {}", shell())),
        },
        Client::Claude => ClientConfig {
            file: ".mcp.json",
            entry: entry("mcpServers", &plain()),
            command: Some(format!("claude mcp add --scope user {NAME} -- {}", shell())),
        },
        Client::Codex => ClientConfig {
            file: "~/.codex/config.toml",
            entry: format!(
                "[mcp_servers.{NAME}]\ncommand = {}\nargs = {}\n",
                text(program),
                array(arguments).to_text()
            ),
            command: Some(format!("codex mcp add {NAME} -- {}", shell())),
        },
        Client::Opencode => ClientConfig {
            file: "~/.config/opencode/opencode.json",
            entry: entry("mcp", &opencode_server(&words)),
            command: None,
        },
        Client::Gemini => ClientConfig {
            file: "~/.gemini/settings.json",
            entry: entry("mcpServers", &plain()),
            command: Some(format!("gemini mcp add --scope user {NAME} {}", shell())),
        },
        Client::Cursor => {
            ClientConfig { file: "~/.cursor/mcp.json", entry: entry("mcpServers", &plain()), command: None }
        }
        Client::Vscode => {
            let server = server(program, arguments, |out| {
                out.string("type", "stdio");
            });
            ClientConfig { file: ".vscode/mcp.json", entry: entry("servers", &server), command: None }
        }
    }
}

/// The server of most clients: `{command, args}`, after what `begin` adds.
fn server(program: &str, arguments: &[String], begin: impl FnOnce(&mut ObjectWriter)) -> Json {
    let mut out = ObjectWriter::new();
    begin(&mut out);
    out.string("command", program).raw("args", array(arguments).raw()).finish()
}

fn pi_server(program: &str, arguments: &[String]) -> Json {
    let mut exposed = ObjectWriter::new();
    for tool in DIRECT_TOOLS {
        exposed.string(tool, "direct");
    }
    let mut out = ObjectWriter::new();
    out.string("command", program).raw("args", array(arguments).raw());
    out.string("description", "The user's earlier coding-agent sessions").raw("toolExposure", exposed.finish().raw());
    out.finish()
}

fn opencode_server(words: &[String]) -> Json {
    let mut out = ObjectWriter::new();
    out.string("type", "local").raw("command", array(words).raw()).bool("enabled", true).finish()
}

fn nested(key: &str, value: &Json) -> Json {
    ObjectWriter::new().raw(key, value.raw()).finish()
}

/// A string as JSON and TOML write it. Other control characters than those with short escapes do not occur in arguments.
fn text(text: &str) -> String {
    Json::string(text).to_text().into_owned()
}

fn array(texts: &[String]) -> Json {
    let texts: Vec<String> = texts.iter().map(|word| text(word)).collect();
    Json::parse(format!("[{}]", texts.join(", "))).unwrap_or_else(|_| Json::null())
}

/// JSON for people: objects with indents, everything else on one line.
fn pretty(value: &Json) -> String {
    fn write(value: sessile::json::Raw<'_>, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth + 1);
        // Only our own values come here, a few levels deep.
        if value.shape() != sessile::json::Shape::Object {
            out.push_str(&value.to_text());
            return;
        }
        out.push('{');
        for (number, (key, value)) in value.properties().into_iter().enumerate() {
            out.push_str(if number == 0 { "\n" } else { ",\n" });
            out.push_str(&indent);
            out.push_str(&text(&key.to_str()));
            out.push_str(": ");
            write(value, depth + 1, out);
        }
        out.push('\n');
        out.push_str(indent.get(2..).unwrap_or_default());
        out.push('}');
    }
    let mut out = String::new();
    write(value.raw(), 0, &mut out);
    out.push('\n');
    out
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./=:@,+~".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_form() {
        let arguments = ["mcp".to_owned(), "--cwd".to_owned(), "/a b".to_owned()];
        let of = |client| client_config(client, "sessile", &arguments);
        let pi = of(Client::Pi);
        assert_eq!(pi.command.as_deref(), Some("pi mcp add sessile -- sessile mcp --cwd '/a b'"));
        let value: serde_json::Value = serde_json::from_str(&pi.entry).unwrap();
        let server = &value["mcpServers"]["sessile"];
        assert_eq!(server["args"], serde_json::json!(["mcp", "--cwd", "/a b"]));
        assert_eq!(server["toolExposure"]["search_history"], "direct");
        assert_eq!(
            of(Client::Codex).entry,
            "[mcp_servers.sessile]\ncommand = \"sessile\"\nargs = [\"mcp\", \"--cwd\", \"/a b\"]\n"
        );
        for (client, pointer) in [
            (Client::Claude, "/mcpServers/sessile/command"),
            (Client::Gemini, "/mcpServers/sessile/command"),
            (Client::Cursor, "/mcpServers/sessile/command"),
            (Client::Opencode, "/mcp/sessile/command/0"),
            (Client::Vscode, "/servers/sessile/command"),
        ] {
            let value: serde_json::Value = serde_json::from_str(&of(client).entry).unwrap();
            assert_eq!(value.pointer(pointer).unwrap(), "sessile", "{client:?}");
        }
    }
}

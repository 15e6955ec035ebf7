//! Values for the arguments of prompts and of templates of resources.

use sessile::json::Raw;

use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::history::History;
use crate::outgoing::Outgoing;
use crate::prompts::prompt;
use crate::resources::TEMPLATES;

/// The most values, which the protocol limits.
const MAX_VALUES: usize = 100;

/// What the client wants to complete.
pub(crate) struct Completion {
    argument: Argument,
    /// What the user has typed.
    start: String,
}

enum Argument {
    /// A session, by id or name.
    Session,
    /// An entry of a session.
    Entry { session: String },
    /// Something that cannot be completed.
    Other,
}

/// Some values, and how many there are.
pub(crate) struct Values {
    pub(crate) values: Vec<String>,
    pub(crate) total: usize,
}

impl Completion {
    /// Reads the parameters of a request, or says why they are wrong.
    pub(crate) fn read(params: Option<Raw<'_>>) -> Result<Self, &'static str> {
        let at = |path: &[&str]| path.iter().try_fold(params?, |value, key| value.get(key)).and_then(Raw::as_string);
        let name = at(&["argument", "name"]).ok_or("argument.name is missing")?;
        let start = at(&["argument", "value"]).ok_or("argument.value is missing")?;
        let argument = match at(&["ref", "type"]).as_deref() {
            Some("ref/prompt") => {
                let prompt = at(&["ref", "name"]).and_then(|name| prompt(&name)).ok_or("unknown prompt")?;
                if prompt.has_session(&name) { Argument::Session } else { Argument::Other }
            }
            Some("ref/resource") => {
                let uri = at(&["ref", "uri"]).unwrap_or_default();
                let is_known = TEMPLATES.iter().any(|(template, _, _)| *template == uri);
                let has_argument = uri.contains(&format!("{{{name}}}"));
                match (name.as_str(), at(&["context", "arguments", "session"])) {
                    _ if !is_known => return Err("unknown template"),
                    ("session", _) => Argument::Session,
                    ("entry", Some(session)) if has_argument => Argument::Entry { session },
                    _ => Argument::Other,
                }
            }
            _ => return Err("ref.type must be ref/prompt or ref/resource"),
        };
        Ok(Self { argument, start })
    }

    /// The values that begin with what the user has typed, the most recent first.
    pub(crate) fn values(
        &self,
        history: &History,
        outgoing: &Outgoing<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<Values, Failure> {
        let mut values = match &self.argument {
            Argument::Other => Vec::new(),
            Argument::Session => self.sessions(history, outgoing, deadline)?,
            Argument::Entry { session } => {
                let info = history.find(session, outgoing, deadline)?;
                let session = history.open(&info)?;
                let outline = session.outline();
                let ids = session.path().into_iter().rev().filter_map(|row| outline.id(row));
                let ids = ids.map(|id| id.to_string()).filter(|id| id.starts_with(&self.start));
                ids.filter(|id| is_unchanged(outgoing, id)).collect()
            }
        };
        let total = values.len();
        values.truncate(MAX_VALUES);
        Ok(Values { values, total })
    }

    /// The ids of sessions, or their names if these match.
    fn sessions(
        &self,
        history: &History,
        outgoing: &Outgoing<'_>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<String>, Failure> {
        let start = self.start.to_lowercase();
        let mut values = Vec::new();
        for session in history.list_shown(history.widest(), deadline)?.iter() {
            let name = session.name.as_ref().map(|name| name.to_str().trim().to_owned());
            let is_named = |name: &String| !start.is_empty() && name.to_lowercase().starts_with(&start);
            let id = session.id.as_str();
            let value = if id.starts_with(&self.start) { Some(id.to_owned()) } else { name.filter(is_named) };
            values.extend(value.filter(|value| is_unchanged(outgoing, value)));
        }
        Ok(values)
    }
}

/// Whether a text may go out as it is. A value that was changed would name nothing.
fn is_unchanged(outgoing: &Outgoing<'_>, text: &str) -> bool {
    outgoing.line(text, MAX_VALUE).as_str() == text
}

/// The longest value, in characters.
const MAX_VALUE: usize = 200;

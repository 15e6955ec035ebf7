//! Lists for scripts: lines made from a template with named fields.

use std::path::Path;

use sessile::date::to_iso;
use sessile::list::SessionInfo;

use crate::screen::clean;

/// A field that may stand between braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Id,
    Title,
    Cwd,
    Created,
    Modified,
    Messages,
    Tokens,
    Cost,
    Size,
    Path,
    Name,
    Parent,
    Original,
    First,
    Position,
    Archived,
    Redacted,
    Member,
    Project,
    Repository,
}

/// Every field by name. The first `N_COLUMNS` are the columns of `tsv`, in order.
const FIELDS: [(&str, Field); 20] = [
    ("id", Field::Id),
    ("title", Field::Title),
    ("cwd", Field::Cwd),
    ("created", Field::Created),
    ("modified", Field::Modified),
    ("messages", Field::Messages),
    ("tokens", Field::Tokens),
    ("cost", Field::Cost),
    ("size", Field::Size),
    ("path", Field::Path),
    ("name", Field::Name),
    ("parent", Field::Parent),
    ("original", Field::Original),
    ("first", Field::First),
    ("place", Field::Position),
    ("archived", Field::Archived),
    ("redacted", Field::Redacted),
    ("member", Field::Member),
    ("project", Field::Project),
    ("repository", Field::Repository),
];

/// The number of fields that are columns of `tsv`.
const N_COLUMNS: usize = 13;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

/// A line template: text, and fields between braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

/// A session with its context in the list.
pub(crate) struct ListedSession<'f> {
    pub(crate) session: &'f SessionInfo,
    /// Its position in the list, starting at 1.
    pub(crate) position: usize,
    /// The file that its file is a copy of.
    pub(crate) original: Option<&'f Path>,
}

impl Template {
    /// Parses a template, or the word `tsv`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "tsv" {
            let columns = FIELDS[..N_COLUMNS].iter().map(|(_, field)| Piece::Field(*field));
            let tab = || Piece::Text("\t".to_owned());
            let pieces =
                columns.enumerate().flat_map(|(position, column)| (position > 0).then(tab).into_iter().chain([column]));
            return Ok(Self(pieces.collect()));
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '\\' => plain.push(escaped(chars.next())?),
                '{' if chars.next_if_eq(&'{').is_some() => plain.push('{'),
                '}' if chars.next_if_eq(&'}').is_some() => plain.push('}'),
                '{' => {
                    let mut name = String::new();
                    while let Some(char) = chars.next_if(|char| *char != '}') {
                        name.push(char);
                    }
                    if chars.next().is_none() {
                        return Err(format!("{{{name} is not closed; use {{{{ for a brace"));
                    }
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Field(field(&name)?));
                }
                other => plain.push(other),
            }
        }
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
        Ok(Self(pieces))
    }

    /// Whether it shows list positions, which later commands can then use.
    pub(crate) fn has_positions(&self) -> bool {
        self.0.contains(&Piece::Field(Field::Position))
    }

    /// Renders the line for a session. No text of the session can end the line, split a column or act on a terminal.
    pub(crate) fn fill(&self, listed: &ListedSession<'_>) -> String {
        let mut line = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => line.push_str(text),
                Piece::Field(field) => line.push_str(&clean(&value(*field, listed))),
            }
        }
        if !line.ends_with(['\n', '\0']) {
            line.push('\n');
        }
        line
    }
}

fn escaped(char: Option<char>) -> Result<char, String> {
    match char {
        Some('t') => Ok('\t'),
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('0') => Ok('\0'),
        Some('\\') => Ok('\\'),
        Some(other) => Err(format!("\\{other} is not an escape; use \\t, \\n, \\r, \\0 or \\\\")),
        None => Err("\\ at the end; use \\\\ for a backslash".to_owned()),
    }
}

fn field(name: &str) -> Result<Field, String> {
    let field = FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
    field.ok_or_else(|| {
        let known = FIELDS.map(|(name, _)| name).join(", ");
        format!("there is no field {{{name}}}; the fields are {known}; use {{{{ for a brace")
    })
}

fn value(field: Field, listed: &ListedSession<'_>) -> String {
    let ListedSession { session, position, original } = listed;
    let name = session.name.as_ref().map(|name| name.to_str().trim().to_owned());
    let first_message = || session.first_message.to_str().trim().to_owned();
    match field {
        Field::Id => session.id.to_string(),
        Field::Title => name.unwrap_or_else(first_message),
        Field::Cwd => session.cwd.clone(),
        Field::Created => session.created.map(to_iso).unwrap_or_default(),
        Field::Modified => to_iso(session.modified),
        Field::Messages => session.message_count.to_string(),
        Field::Tokens => format!("{:.0}", session.facts.tokens.total()),
        Field::Cost => format!("{:.6}", session.facts.cost),
        Field::Size => session.size.to_string(),
        Field::Path => session.path.to_string_lossy().into_owned(),
        Field::Name => name.unwrap_or_default(),
        Field::Parent => session.parent_session_path.clone().unwrap_or_default(),
        Field::Original => original.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default(),
        Field::First => first_message(),
        Field::Position => format!("@{position}"),
        Field::Archived => flag(session.is_archived),
        Field::Redacted => flag(session.is_redacted),
        Field::Member => session.member.clone().unwrap_or_default(),
        Field::Project => session.project.clone().unwrap_or_default(),
        Field::Repository => session.repository.clone().unwrap_or_default(),
    }
}

fn flag(is_set: bool) -> String {
    if is_set { "true".to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Result<Vec<Piece>, String> {
        Template::parse(text).map(|template| template.0)
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn templates_are_parsed() {
        assert_eq!(pieces(r"{id}\t{title}"), Ok(vec![Piece::Field(Field::Id), text("\t"), Piece::Field(Field::Title)]));
        assert_eq!(pieces(r"{{{id}}} \\"), Ok(vec![text("{"), Piece::Field(Field::Id), text("} \\")]));
        assert_eq!(pieces("a}b"), Ok(vec![text("a}b")]));
        assert_eq!(pieces(""), Ok(Vec::new()));
        for wrong in ["{", "{}", "{id", "{colour}", "{ID}", "{id }", r"\x", "\\"] {
            assert!(pieces(wrong).is_err(), "{wrong}");
        }
    }

    /// Scripts rely on the order: a new column goes to the end.
    #[test]
    fn the_tsv_columns_keep_their_order() {
        let tsv = Template::parse("tsv").unwrap();
        let same = r"{id}\t{title}\t{cwd}\t{created}\t{modified}\t{messages}\t{tokens}\t{cost}\t{size}\t{path}\t{name}\t{parent}\t{original}";
        assert_eq!(tsv, Template::parse(same).unwrap());
    }
}

//! Reading the lines of a foreign session.

use sessile_core::json::Raw;

use crate::agent::Agent;
use crate::body::Body;
use crate::claude;
use crate::codex;
use crate::foreign::{Damage, ForeignSession, Node, Place, TitleSource};
use crate::qwen;

/// A line of a source.
#[derive(Clone, Copy, Debug)]
pub struct SourceLine<'a> {
    /// Where it is.
    pub place: Place,
    /// Its number in its file, counting from 1.
    pub number: u64,
    /// Its bytes; `None` if it is too long to be read.
    pub bytes: Option<&'a [u8]>,
}

/// Reads a foreign session, line by line.
#[derive(Debug)]
pub struct Reader {
    format: Format,
}

#[derive(Debug)]
enum Format {
    Claude(Box<claude::Survey>),
    Codex(Box<codex::Survey>),
    Qwen(Box<qwen::Survey>),
}

impl Reader {
    /// A reader for a session whose id is this, unless its lines say otherwise.
    pub fn new(agent: Agent, id: &str) -> Self {
        let format = match agent {
            Agent::Claude => Format::Claude(Box::new(claude::Survey::new(id, None))),
            Agent::Codex => Format::Codex(Box::new(codex::Survey::new(id, None))),
            Agent::Qwen => Format::Qwen(Box::new(qwen::Survey::new(id, None))),
        };
        Self { format }
    }

    /// A reader for the file of a sub-agent of a session.
    pub fn of_child(agent: Agent, id: &str, parent: &str) -> Self {
        let format = match agent {
            Agent::Claude => Format::Claude(Box::new(claude::Survey::new(id, Some(parent)))),
            Agent::Codex => Format::Codex(Box::new(codex::Survey::new(id, Some(parent)))),
            Agent::Qwen => Format::Qwen(Box::new(qwen::Survey::new(id, Some(parent)))),
        };
        Self { format }
    }

    /// Takes the next line. Pass only whole lines; leave an unfinished last line for the next time.
    pub fn line(&mut self, line: SourceLine<'_>) {
        let damage = |reason| Damage { file: line.place.file, line: line.number, offset: line.place.offset, reason };
        let Some(bytes) = line.bytes else { return self.damaged(damage("the line is too long")) };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        match Raw::parse(bytes) {
            Ok(value) => match &mut self.format {
                Format::Claude(survey) => survey.line(value, line.place),
                Format::Codex(survey) => survey.line(value, line.place),
                Format::Qwen(survey) => survey.line(value, line.place),
            },
            Err(_) => self.damaged(damage("not valid JSON")),
        }
    }

    fn damaged(&mut self, damage: Damage) {
        self.session().damages.push(damage);
    }

    fn session(&mut self) -> &mut ForeignSession {
        match &mut self.format {
            Format::Claude(survey) => &mut survey.main().session,
            Format::Codex(survey) => &mut survey.gathering.session,
            Format::Qwen(survey) => &mut survey.gathering.session,
        }
    }

    /// Gives the session a title that the agent keeps elsewhere.
    pub fn entitle(&mut self, title: &str, source: TitleSource) {
        self.session().entitle(title, source);
    }

    /// The session, and the sub-agents whose lines are in the same source.
    pub fn finish(self) -> Vec<ForeignSession> {
        match self.format {
            Format::Claude(survey) => survey.finish(),
            Format::Codex(survey) => survey.finish(),
            Format::Qwen(survey) => survey.finish(),
        }
    }
}

/// The content of a node, from the bytes of its pieces.
pub(crate) fn body_of(session: &ForeignSession, node: &Node, pieces: &[Vec<u8>]) -> Body {
    let pieces: Vec<Raw<'_>> = pieces.iter().filter_map(|piece| Raw::parse(piece).ok()).collect();
    match session.agent {
        Agent::Claude => claude::body(session, node, &pieces),
        Agent::Codex => codex::body(session, node, &pieces),
        Agent::Qwen => qwen::body(session, node, &pieces),
    }
}

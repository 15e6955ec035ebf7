//! Reading the lines of a foreign session.

use sessile_core::json::Raw;

use crate::agent::Agent;
use crate::body::Body;
use crate::foreign::{Damage, ForeignSession, Node, Place, TitleSource};
use crate::format::Format;
use crate::{claude, codex, copilot, gemini, omp, opencode, qwen};

/// A line of a source, or a source that is one JSON document.
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
    format: Box<dyn Format>,
}

impl Reader {
    /// A reader for a session whose id is this, unless its lines say otherwise.
    pub fn new(agent: Agent, id: &str) -> Self {
        Self::of(agent, id, None)
    }

    /// A reader for the file of a sub-agent of a session.
    pub fn of_child(agent: Agent, id: &str, parent: &str) -> Self {
        Self::of(agent, id, Some(parent))
    }

    fn of(agent: Agent, id: &str, parent: Option<&str>) -> Self {
        let format: Box<dyn Format> = match agent {
            Agent::Claude => Box::new(claude::Survey::new(id, parent)),
            Agent::Codex => Box::new(codex::Survey::new(id, parent)),
            Agent::Copilot => Box::new(copilot::Survey::new(id, parent)),
            Agent::Gemini => Box::new(gemini::Survey::new(id, parent)),
            Agent::Omp => Box::new(omp::Survey::new(id, parent)),
            Agent::Opencode => Box::new(opencode::Survey::new(id, parent)),
            Agent::Qwen => Box::new(qwen::Survey::new(id, parent)),
        };
        Self { format }
    }

    /// Takes the next line. Pass only whole lines; leave an unfinished last line for the next time.
    pub fn line(&mut self, line: SourceLine<'_>) {
        let damage = |reason| Damage { file: line.place.file, line: line.number, offset: line.place.offset, reason };
        let Some(bytes) = line.bytes else { return self.damaged(damage("the line is too long")) };
        let n_blank = bytes.len() - bytes.trim_ascii_start().len();
        if n_blank == bytes.len() {
            return;
        }
        match Raw::parse(bytes) {
            Ok(value) => {
                let (offset, len) = (line.place.offset + n_blank as u64, value.as_bytes().len() as u64);
                let n_blobs = self.format.session().blobs.len();
                self.format.line(value, Place { offset, len, ..line.place });
                for blob in self.format.session().blobs.iter_mut().skip(n_blobs) {
                    blob.line = line.number;
                }
            }
            Err(_) => self.damaged(damage("not valid JSON")),
        }
    }

    /// Takes note of a part of the source that cannot be read.
    pub fn damaged(&mut self, damage: Damage) {
        self.format.session().damages.push(damage);
    }

    /// Gives the session a title that the agent keeps elsewhere.
    pub fn entitle(&mut self, title: &str, source: TitleSource) {
        self.format.session().entitle(title, source);
    }

    /// Gives the session a working directory that the agent keeps elsewhere.
    pub fn set_cwd(&mut self, cwd: &str) {
        self.format.session().cwd = Some(cwd.to_owned());
    }

    /// The session, and the sub-agents whose lines are in the same source.
    pub fn finish(self) -> Vec<ForeignSession> {
        self.format.finish()
    }
}

/// The content of a node, from the bytes of its pieces; with the signatures of its thoughts if that is asked for.
pub(crate) fn body_of(session: &ForeignSession, node: &Node, pieces: &[Vec<u8>], is_signed: bool) -> Body {
    let pieces: Vec<Raw<'_>> = pieces.iter().filter_map(|piece| Raw::parse(piece).ok()).collect();
    let mut body = match session.agent {
        Agent::Claude => claude::body(session, node, &pieces, is_signed),
        Agent::Codex => codex::body(session, node, &pieces, is_signed),
        Agent::Copilot => copilot::body(session, node, &pieces),
        Agent::Gemini => gemini::body(session, node, &pieces),
        Agent::Omp => omp::body(session, node, &pieces),
        Agent::Opencode => opencode::body(session, node, &pieces),
        Agent::Qwen => qwen::body(session, node, &pieces),
    };
    // pi does not send aborted and failed answers, but the results of their calls, which providers refuse without the calls.
    if let Body::Answer(answer) = &mut body
        && matches!(answer.stop_reason, "aborted" | "error")
        && answer.has_calls()
    {
        answer.stop_reason = "toolUse";
    }
    body
}

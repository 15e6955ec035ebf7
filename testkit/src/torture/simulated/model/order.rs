//! The model of a store, and the search for an order in which it reaches the content of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sessile::operations::Step;

use super::history::{Effect, Event, IMPORTED, SESSIONS, directory, first_texts};
use super::observed::Observed;

/// The simplest model of a store.
#[derive(Clone, Debug)]
struct Model {
    sessions: BTreeMap<String, Session>,
    undone: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Session {
    state: SessionState,
    /// The directory it is in, or was in when it was deleted.
    directory: PathBuf,
    name: String,
    texts: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    Live,
    Trash,
    Gone,
}

/// Checks whether some order of the events leads to the observed store.
pub(super) fn explains(events: &[Event], observed: &Observed) -> Result<(), String> {
    check_targets(events)?;
    let done: Vec<&Event> = events.iter().filter(|event| !matches!(event.effect, Effect::Nothing)).collect();
    let mut left = vec![true; done.len()];
    let mut nearest = None;
    if search(&Model::new(), &done, &mut left, observed, &mut nearest) {
        return Ok(());
    }
    Err(nearest.unwrap_or_else(|| "no order lets all of it be done".to_owned()))
}

/// Checks that an undo reverses the last operation: it skips no later, separate operation that was not undone.
fn check_targets(events: &[Event]) -> Result<(), String> {
    for undo in events {
        let Effect::Undo(target, _) = &undo.effect else { continue };
        let Some(target) = events.iter().find(|event| event.id.as_ref() == Some(target)) else { continue };
        let is_undone = |event: &Event| {
            events.iter().any(|other| {
                matches!(&other.effect, Effect::Undo(id, _) if Some(id) == event.id.as_ref()) && other.begin < undo.end
            })
        };
        let passed = events.iter().find(|event| {
            let is_operation = event.id.is_some() && !matches!(event.effect, Effect::Undo(..));
            is_operation && event.begin > target.end && event.end < undo.begin && !is_undone(event)
        });
        if let Some(passed) = passed {
            return Err(format!("undo reverted {target} although {passed} is newer"));
        }
    }
    Ok(())
}

fn search(
    model: &Model,
    events: &[&Event],
    left: &mut [bool],
    observed: &Observed,
    nearest: &mut Option<String>,
) -> bool {
    if events.iter().zip(left.iter()).all(|(event, is_left)| !is_left || event.is_optional) {
        match model.difference(observed) {
            None => return true,
            Some(difference) => *nearest = Some(difference),
        }
    }
    // An event that ended before another one started comes first.
    let first_end = events.iter().zip(left.iter()).filter(|(_, is_left)| **is_left).map(|(event, _)| event.end).min();
    for at in 0..events.len() {
        if !left[at] || first_end.is_some_and(|end| events[at].begin > end) {
            continue;
        }
        if let Some(next) = model.after(events[at], observed) {
            left[at] = false;
            if search(&next, events, left, observed, nearest) {
                return true;
            }
            left[at] = true;
        }
    }
    false
}

impl Model {
    fn new() -> Self {
        let session = |id: &&str| {
            let texts = first_texts(id).into_iter().collect();
            (
                (*id).to_owned(),
                Session { state: SessionState::Live, directory: directory(0), name: String::new(), texts },
            )
        };
        Self { sessions: SESSIONS.iter().map(session).collect(), undone: BTreeSet::new() }
    }

    /// Returns the model after this event; `None` if the event is not possible now.
    fn after(&self, event: &Event, observed: &Observed) -> Option<Self> {
        let mut next = self.clone();
        match &event.effect {
            Effect::Append(id, text) => drop(next.at(id, SessionState::Live)?.texts.insert(text.clone())),
            Effect::Name(id, name) => next.at(id, SessionState::Live)?.name.clone_from(name),
            Effect::Move(id, to) => next.at(id, SessionState::Live)?.directory.clone_from(to),
            Effect::Delete(id) => next.at(id, SessionState::Live)?.state = SessionState::Trash,
            Effect::DeleteForGood(id) => next.at(id, SessionState::Live)?.state = SessionState::Gone,
            Effect::Restore(id) => next.at(id, SessionState::Trash)?.state = SessionState::Live,
            Effect::Undo(target, steps) => {
                if !next.undone.insert(target.clone()) {
                    return None;
                }
                for step in steps {
                    next.undo_step(step)?;
                }
            }
            Effect::Fork(new, from) => {
                let source = next.at(from, SessionState::Live)?.clone();
                next.fork(new, &source, observed)?;
            }
            Effect::Import => {
                if next.sessions.get(IMPORTED).is_some_and(|session| session.state == SessionState::Live) {
                    return None;
                }
                let texts = first_texts(IMPORTED).into_iter().collect();
                let session =
                    Session { state: SessionState::Live, directory: directory(0), name: String::new(), texts };
                next.sessions.insert(IMPORTED.to_owned(), session);
            }
            Effect::Nothing => {}
        }
        Some(next)
    }

    fn at(&mut self, id: &str, state: SessionState) -> Option<&mut Session> {
        self.sessions.get_mut(id).filter(|session| session.state == state)
    }

    fn undo_step(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Name { session, before, after } => {
                let session = self.at(session.id.as_str(), SessionState::Live)?;
                if session.name != before.clone().unwrap_or_default() {
                    return None;
                }
                session.name = after.clone().unwrap_or_default();
            }
            Step::Move { session, to, .. } => {
                self.at(session.id.as_str(), SessionState::Live)?.directory =
                    to.parent().unwrap_or(Path::new("/")).to_path_buf();
            }
            Step::Delete { session, .. } => {
                self.at(session.id.as_str(), SessionState::Live)?.state = SessionState::Trash;
            }
            Step::Restore { session, .. } => {
                self.at(session.id.as_str(), SessionState::Trash)?.state = SessionState::Live;
            }
            _ => {}
        }
        Some(())
    }

    /// Adds a fork. It holds the entries of one branch of its source: at least the initial ones, and no others.
    fn fork(&mut self, new: &str, source: &Session, observed: &Observed) -> Option<()> {
        if new.is_empty() {
            // The process of the fork died; its remains are checked at the end.
            return Some(());
        }
        let texts: BTreeSet<String> = observed.file(new)?.texts.iter().cloned().collect();
        if !texts.is_subset(&source.texts) || texts.len() < 2 {
            return None;
        }
        let session = Session {
            state: SessionState::Live,
            directory: source.directory.clone(),
            name: source.name.clone(),
            texts,
        };
        self.sessions.insert(new.to_owned(), session);
        Some(())
    }

    /// Returns how the store differs from the model.
    fn difference(&self, observed: &Observed) -> Option<String> {
        for (id, session) in &self.sessions {
            let found = observed.file(id);
            let problem = match (session.state, found) {
                (SessionState::Gone, None) => None,
                (SessionState::Gone, Some(found)) => {
                    Some(format!("{id} was deleted for good, and is at {}", found.path.display()))
                }
                (_, None) => Some(format!("LOST {id} is missing")),
                (state, Some(found)) => session.difference(id, state, found),
            };
            if problem.is_some() {
                return problem;
            }
        }
        let extra = observed.sessions.iter().find(|(id, _)| !self.sessions.contains_key(*id));
        extra.and_then(|(id, files)| {
            // A fork by a process that died may exist, if it is complete.
            let is_whole = id.starts_with("new-") && files.iter().all(|found| found.texts.len() >= 2);
            (!is_whole).then(|| format!("no operation created {id}: {files:?}"))
        })
    }
}

impl Session {
    fn difference(&self, id: &str, state: SessionState, found: &super::observed::SessionFile) -> Option<String> {
        let is_in_trash = state == SessionState::Trash;
        if found.is_in_trash != is_in_trash {
            return Some(format!("{id} should be {state:?}, and is at {}", found.path.display()));
        }
        if !is_in_trash && found.path.parent() != Some(&self.directory) {
            return Some(format!("{id} should be in {}, and is at {}", self.directory.display(), found.path.display()));
        }
        let texts: BTreeSet<String> = found.texts.iter().cloned().collect();
        if texts != self.texts {
            let lost: Vec<_> = self.texts.difference(&texts).collect();
            let extra: Vec<_> = texts.difference(&self.texts).collect();
            return Some(format!("LOST {id} lacks {lost:?} and has {extra:?}"));
        }
        // Forks have their own rules for names.
        (found.name != self.name && !id.starts_with("new-"))
            .then(|| format!("{id} should have the name {:?}, but has {:?}", self.name, found.name))
    }
}

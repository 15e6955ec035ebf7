//! Runs one sequence step by step in both engines.

use std::fs;
use std::path::{Path, PathBuf};

use sessile::branch::BranchSummary;
use sessile::compaction::{Compaction, UsageNote};
use sessile::format::version::Upgrade;
use sessile::json::Json;
use sessile::write::WriteOptions;
use sessile::{EntryId, NewSession, SessionError, SessionManager, Sessions};

use super::compare::{Explained, Paths, compare_sessions};
use super::op::{Op, Step, Target};
use super::{Failure, Tally};
use crate::observe::{VIEW_NAMES, observe};
use crate::oracle::{Answer, Oracle, quoted};
use crate::replay::Replay;

/// The start time of sequences.
pub(crate) const START_MS: i64 = 1_735_689_600_000;

/// Runs all steps and returns how many were run; stops at the first unexplained difference.
pub(super) fn run(
    oracle: &mut Oracle,
    directory: &Path,
    seed: u64,
    steps: &[Step],
    tally: &mut Tally,
) -> Result<usize, Failure> {
    let mut pair = Pair::new(oracle, directory, seed);
    for (index, step) in steps.iter().enumerate() {
        let is_last = index + 1 == steps.len();
        let outcome = pair.step(step, is_last, tally);
        // Later answers came from another pi.
        if pair.oracle.take_silence() {
            *tally.entry(Explained::NoAnswer).or_default() += 1;
            return Ok(index + 1);
        }
        match outcome {
            Ok(NextStep::Continue) => {}
            Ok(NextStep::End) => return Ok(index + 1),
            Err(what) => return Err(Failure { step: index, what }),
        }
    }
    let last = steps.len().saturating_sub(1);
    let outcome = pair.compare_crosswise();
    if pair.oracle.take_silence() {
        *tally.entry(Explained::NoAnswer).or_default() += 1;
    } else {
        outcome.map_err(|what| Failure { step: last, what })?;
    }
    Ok(steps.len())
}

/// Whether a sequence can continue: after some explained differences the two are no longer comparable.
enum NextStep {
    Continue,
    End,
}

struct Pair<'o> {
    oracle: &'o mut Oracle,
    environment: Replay,
    sessions: Sessions,
    ours: Option<SessionManager>,
    paths: Paths,
    seed: u64,
    now_ms: i64,
    /// Whether pi has re-serialised existing lines of the current file.
    was_copied: bool,
}

/// Why a step ended early.
enum Stop {
    /// Both engines refuse the file, so the sequence cannot continue.
    BothRefuse,
    Explained(Explained),
    Failed(String),
}

impl<'o> Pair<'o> {
    fn new(oracle: &'o mut Oracle, directory: &Path, seed: u64) -> Self {
        let path = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let paths = Paths { pi: path("side-pi"), ours: path("side-us") };
        for side in [&paths.pi, &paths.ours] {
            drop(fs::remove_dir_all(side));
            fs::create_dir_all(side).unwrap();
        }
        oracle.ask(format!(r#"{{"cmd":"reset","clock":{START_MS},"idSeed":"{seed}"}}"#));
        let environment = Replay::new(START_MS, seed);
        environment.set_home(directory);
        environment.set_current_dir(directory);
        // These files are damaged on purpose; the guard would restore entries that pi is meant to miss.
        let sessions =
            Sessions::new(environment.clone()).writing(WriteOptions { guard: false, ..WriteOptions::default() });
        Self { oracle, environment, sessions, ours: None, paths, seed, now_ms: START_MS, was_copied: false }
    }

    fn step(&mut self, step: &Step, is_last: bool, tally: &mut Tally) -> Result<NextStep, String> {
        self.now_ms += step.tick;
        let now_ms = self.now_ms;
        self.environment.set_now(now_ms);
        self.oracle.ask(format!(r#"{{"cmd":"clock","ms":{now_ms}}}"#));
        let draws = self.oracle.ask(r#"{"cmd":"state"}"#).value()["draws"].as_u64().unwrap();
        self.environment.set_draws(self.seed, draws);
        let mut note = |explained: Explained| *tally.entry(explained).or_default() += 1;
        match self.perform(&step.op) {
            Ok(()) => {}
            Err(Stop::BothRefuse) => return Ok(NextStep::End),
            Err(Stop::Explained(explained)) => {
                note(explained);
                return Ok(NextStep::End);
            }
            Err(Stop::Failed(what)) => return Err(what),
        }
        let checks_all = is_last
            || matches!(
                step.op,
                Op::Damage(_) | Op::Start(_) | Op::Extract(_) | Op::Fork | Op::Foreign(_) | Op::Meanwhile(..)
            );
        let explained = if checks_all { self.compare_all()? } else { self.compare_leaf()? };
        let ends = explained.iter().any(|it| matches!(it, Explained::NoIdLeaf));
        explained.into_iter().for_each(&mut note);
        Ok(if ends { NextStep::End } else { NextStep::Continue })
    }

    /// Performs an operation in both engines, and checks that both succeed or both fail.
    fn perform(&mut self, op: &Op) -> Result<(), Stop> {
        match op {
            Op::Start(bytes) => self.start(&bytes.0),
            Op::Reopen => self.reopen(),
            Op::SetFile => self.set_file(),
            Op::Fork => self.fork(),
            Op::Foreign(message) => self.foreign(message),
            Op::Meanwhile(theirs, own) => self.meanwhile(theirs, own),
            Op::Damage(damage) => {
                let Some(file) = self.existing_pi_file() else { return Ok(()) };
                let damaged = damage.apply(&fs::read(&file).unwrap());
                fs::write(self.our_path(&file), self.paths.bytes_as_ours(&damaged)).unwrap();
                fs::write(&file, damaged).unwrap();
                self.was_copied = false;
                self.reopen()
            }
            _ => self.plain(op),
        }
    }

    fn plain(&mut self, op: &Op) -> Result<(), Stop> {
        let dir = format!("{}/sessions", self.paths.pi);
        let answer = self.oracle.ask(op.request(&dir).expect("plain operations are one request"));
        self.follow_session_id();
        let ours = self.perform_ours(op);
        if matches!(op, Op::Extract(_)) && answer.error().is_none() {
            self.was_copied = true;
        }
        agree(&answer, &ours, op)
    }

    fn perform_ours(&mut self, op: &Op) -> Result<(), SessionError> {
        let dir = PathBuf::from(format!("{}/sessions", self.paths.ours));
        match op {
            Op::Create => self.ours = Some(self.sessions.clone().with_session_dir(&dir).create("/proj/dir")?),
            Op::InMemory => self.ours = Some(self.sessions.in_memory("/proj/dir", NewSession::default())?),
            _ => {
                let ours = self.ours.as_mut().expect("a sequence starts with a session");
                apply(ours, op)?;
            }
        }
        Ok(())
    }

    /// Makes our next session use the id that pi has just generated.
    fn follow_session_id(&mut self) {
        let seen = self.oracle.ask(r#"{"cmd":"observe","what":"sessionId"}"#);
        if let Ok(id) = seen.observation("sessionId") {
            let id: String = serde_json::from_str(id).unwrap();
            self.environment.next_session_id(id);
        }
    }

    fn start(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let file = PathBuf::from(format!("{}/sessions/start.jsonl", self.paths.pi));
        let our_file = self.our_path(&file);
        for file in [&file, &our_file] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        self.open(&file)
    }

    /// Copies pi's upgraded file to our side, before it is opened again.
    ///
    /// An upgrade generates ids when the file is opened, so ours would differ.
    fn take_upgrade(&mut self, file: &Path) {
        if self.ours.as_ref().is_some_and(|ours| ours.outline().upgrade().is_needed()) {
            let upgraded = self.paths.bytes_as_ours(&fs::read(file).unwrap());
            fs::write(self.our_path(file), upgraded).unwrap();
        }
    }

    /// Ends the comparison if only pi has given an empty file its header, with its own id.
    fn require_header(&self, file: &Path) -> Result<(), Stop> {
        let is_empty = |file: &Path| fs::metadata(file).is_ok_and(|metadata| metadata.len() == 0);
        if is_empty(&self.our_path(file)) && !is_empty(file) {
            return Err(Stop::Explained(Explained::HeaderLater));
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), Stop> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        self.require_header(&file)?;
        self.take_upgrade(&file);
        self.open(&file)
    }

    fn set_file(&mut self) -> Result<(), Stop> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        self.require_header(&file)?;
        self.take_upgrade(&file);
        let path = quoted(&file.to_string_lossy());
        let answer = self.oracle.ask(format!(r#"{{"cmd":"call","method":"setSessionFile","args":[{path}]}}"#));
        let our_file = self.our_path(&file);
        let ours = self.ours.as_mut().expect("a sequence starts with a session");
        agree(&answer, &ours.set_session_file(our_file), &Op::SetFile)
    }

    fn open(&mut self, file: &Path) -> Result<(), Stop> {
        let answer = self.oracle.ask(open_request(file, "m"));
        self.follow_session_id();
        let our_file = self.our_path(file);
        match self.sessions.open_or_create(&our_file) {
            Ok(manager) => {
                let starts_with_bom = fs::read(&our_file).unwrap().starts_with(b"\xef\xbb\xbf");
                let upgrade = manager.outline().upgrade();
                let has_scalar =
                    manager.diagnostics().iter().any(|it| it.oddity == sessile::format::diagnostic::Oddity::NotObject);
                self.was_copied |= upgrade.is_needed();
                // The version is not a number, such as "abc": pi rewrites such a file each time it opens it.
                self.was_copied |= !upgrade.is_newer() && manager.header().version() != Some(3.0);
                self.ours = Some(manager);
                if upgrade == Upgrade::FromV1 && has_scalar {
                    return Err(Stop::Explained(Explained::OddUpgrade));
                }
                match answer.error() {
                    None => Ok(()),
                    Some(_) if starts_with_bom => Err(Stop::Explained(Explained::ByteOrderMark)),
                    Some(error) => Err(Stop::Failed(format!("open: pi failed with {error:?}, we did not"))),
                }
            }
            Err(error) => match answer.error() {
                Some(_) => Err(Stop::BothRefuse),
                None => Err(Stop::Failed(format!("open: we failed with {error}, pi did not"))),
            },
        }
    }

    fn fork(&mut self) -> Result<(), Stop> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        self.require_header(&file)?;
        self.take_upgrade(&file);
        let dir = format!("{}/forks", self.paths.pi);
        let answer = self.oracle.ask(format!(
            r#"{{"cmd":"static","method":"forkFrom","args":[{},"/other/dir",{}]}}"#,
            quoted(&file.to_string_lossy()),
            quoted(&dir)
        ));
        self.follow_session_id();
        let our_dir = PathBuf::from(format!("{}/forks", self.paths.ours));
        let forked = self.sessions.clone().with_session_dir(&our_dir).fork_from(self.our_path(&file), "/other/dir");
        self.was_copied = true;
        agree(&answer, &forked.map(|forked| self.ours = Some(forked)), &Op::Fork)
    }

    /// Each engine appends to the other's file; then both open their own.
    fn foreign(&mut self, message: &str) -> Result<(), Stop> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        let our_file = self.our_path(&file);
        self.require_header(&file)?;
        if self.ours.as_ref().is_some_and(|ours| ours.outline().upgrade().is_newer()) {
            return Err(Stop::Explained(Explained::NewerVersion));
        }
        self.take_upgrade(&file);
        self.oracle.ask(open_request(&our_file, "f"));
        let call = format!(r#"{{"cmd":"call","handle":"f","method":"appendMessage","args":[{message}]}}"#);
        let answer = self.oracle.ask(call);
        let message = Json::parse(message).unwrap();
        let appended = self.sessions.open_or_create(&file).and_then(|mut other| other.append_message(message));
        agree(&answer, &appended.map(drop), &Op::Foreign(String::new()))?;
        self.reopen()
    }

    /// Each engine appends to the other's file, and the other continues without reading it again.
    ///
    /// pi does not see the entries in between, so both open the file again before they are compared.
    fn meanwhile(&mut self, theirs: &str, own: &str) -> Result<(), Stop> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        self.require_header(&file)?;
        if self.ours.as_ref().is_some_and(|ours| ours.outline().upgrade().is_newer()) {
            return Err(Stop::Explained(Explained::NewerVersion));
        }
        // pi upgraded the file when it opened it, and we have not; its ids are the ones to continue with.
        if self.ours.as_ref().is_some_and(|ours| ours.outline().upgrade().is_needed()) {
            self.take_upgrade(&file);
        }
        let our_file = self.our_path(&file);
        self.oracle.ask(open_request(&our_file, "f"));
        let call = |handle: &str, message: &str| {
            format!(r#"{{"cmd":"call","handle":"{handle}","method":"appendMessage","args":[{message}]}}"#)
        };
        let answer = self.oracle.ask(call("f", theirs));
        let appended = self.sessions.open_or_create(&file);
        let appended = appended.and_then(|mut other| other.append_message(json(theirs)));
        agree(&answer, &appended.map(drop), &Op::Meanwhile(String::new(), String::new()))?;
        let answer = self.oracle.ask(call("m", own));
        let ours = self.ours.as_mut().expect("a sequence starts with a session");
        agree(&answer, &ours.append_message(json(own)).map(drop), &Op::Meanwhile(String::new(), String::new()))?;
        self.reopen()
    }

    /// Opens each engine's file in the other: both must show the same.
    fn compare_crosswise(&mut self) -> Result<(), String> {
        let Some(file) = self.existing_pi_file() else { return Ok(()) };
        let our_file = self.our_path(&file);
        let is_comparable = self.require_header(&file).is_ok()
            && self.ours.as_ref().is_some_and(|ours| !ours.outline().upgrade().is_needed());
        // An upgrade draws new ids on every opening, so they would differ.
        let (true, Ok(ours_of_ours), Ok(ours_of_pi)) =
            (is_comparable, self.sessions.open_or_create(&our_file), self.sessions.open_or_create(&file))
        else {
            return Ok(());
        };
        let (own, other) = (observe(&ours_of_ours), observe(&ours_of_pi));
        self.oracle.ask(open_request(&file, "own"));
        self.oracle.ask(open_request(&our_file, "other"));
        let pi_of_pi = self.oracle.ask(r#"{"cmd":"observe","handle":"own"}"#);
        let pi_of_ours = self.oracle.ask(r#"{"cmd":"observe","handle":"other"}"#);
        for name in VIEW_NAMES {
            let shown = |answer: &Answer| format!("{:?}", answer.observation(name));
            let (one, two) = (shown(&pi_of_pi), self.paths.as_pi(&shown(&pi_of_ours)));
            if one != two {
                return Err(format!("pi's {name} differs between its file and ours\n   own: {one}\n  ours: {two}"));
            }
            let (Ok(one), Ok(two)) = (&own[name], &other[name]) else { continue };
            let (one, two) = (self.paths.as_pi(one), self.paths.as_pi(two));
            if one != two && self.oracle.normalise(&one) != self.oracle.normalise(&two) {
                return Err(format!("our {name} differs between our file and pi's\n   own: {one}\n    pi: {two}"));
            }
        }
        Ok(())
    }

    /// Returns pi's current file, if it exists on disk.
    fn existing_pi_file(&mut self) -> Option<PathBuf> {
        let seen = self.oracle.ask(r#"{"cmd":"observe","what":"file"}"#);
        let file: Option<PathBuf> = serde_json::from_str(seen.observation("file").ok()?).unwrap();
        file.filter(|file| file.exists())
    }

    fn our_path(&self, file: &Path) -> PathBuf {
        self.paths.ours_of(file)
    }

    fn compare_leaf(&mut self) -> Result<Vec<Explained>, String> {
        let seen = self.oracle.ask(r#"{"cmd":"observe","what":["leaf","leafDefined","count"]}"#);
        let ours = self.ours.as_ref().expect("a sequence starts with a session");
        if seen.observation("leafDefined") == Ok("false") {
            return Ok(vec![Explained::NoIdLeaf]);
        }
        let leaf = crate::observe::id_text(ours.leaf_id().as_ref());
        let their = seen.observation("leaf");
        if their == Ok(&leaf) { Ok(Vec::new()) } else { Err(format!("leaf\n    pi: {their:?}\n  ours: {leaf}")) }
    }

    fn compare_all(&mut self) -> Result<Vec<Explained>, String> {
        let ours = self.ours.as_ref().expect("a sequence starts with a session");
        compare_sessions(self.oracle, ours, &self.paths, self.was_copied)
    }
}

fn open_request(file: &Path, handle: &str) -> String {
    let file = quoted(&file.to_string_lossy());
    format!(r#"{{"cmd":"static","method":"open","args":[{file}],"into":"{handle}"}}"#)
}

/// Checks that both succeeded or both failed.
fn agree(pi: &Answer, ours: &Result<(), SessionError>, op: &Op) -> Result<(), Stop> {
    match (pi.error(), ours) {
        (None, Ok(())) | (Some(_), Err(_)) if pi.error() != Some("Driver: loop") => Ok(()),
        (Some("Driver: loop"), _) => Err(Stop::Explained(Explained::Loop)),
        (None, Err(SessionError::NewerVersion { .. })) => Err(Stop::Explained(Explained::NewerVersion)),
        (Some(error), Ok(())) if error.starts_with("TypeError") => Err(Stop::Explained(Explained::OddEntry)),
        (their, our) => Err(Stop::Failed(format!("{op:?}\n    pi: {their:?}\n  ours: {our:?}"))),
    }
}

fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

fn target_id(manager: &SessionManager, target: Target) -> EntryId {
    let outline = manager.outline();
    let Target::At(index) = target else { return EntryId::from("missing0") };
    let n_entries = outline.n_entries();
    if n_entries == 0 {
        return EntryId::from("missing0");
    }
    let row = outline.entries().nth(index % n_entries).unwrap();
    outline.id(row).unwrap_or_else(|| EntryId::from("undefined"))
}

pub(crate) fn apply(manager: &mut SessionManager, op: &Op) -> Result<(), SessionError> {
    let id = |target: Target| target_id(manager, target);
    match op {
        Op::NewSession => drop(manager.new_session(NewSession::default())?),
        Op::Message(message) => drop(manager.append_message(json(message))?),
        Op::Thinking(level) => drop(manager.append_thinking_level_change(level)?),
        Op::Model(provider, model) => drop(manager.append_model_change(provider, model)?),
        Op::Usage(kind, usage, note) => drop(manager.append_usage(&UsageNote {
            kind: kind.clone(),
            provider: "p".into(),
            model: "m".into(),
            usage: json(usage),
            note: note.clone(),
        })?),
        Op::Compaction(summary, kept, tokens, details, from_hook, usage) => {
            let compaction = Compaction {
                summary: summary.clone(),
                first_kept_entry_id: kept.map(id),
                tokens_before: tokens.parse().unwrap(),
                details: details.as_deref().map(json),
                from_hook: *from_hook,
                usage: usage.as_deref().map(json),
            };
            drop(manager.append_compaction(&compaction)?);
        }
        Op::Custom(kind, data) => {
            drop(manager.append_custom_entry(kind, data.as_deref().map(json).as_ref())?);
        }
        Op::CustomMessage(kind, content, display, details) => {
            let details = details.as_deref().map(json);
            drop(manager.append_custom_message_entry(kind, json(content), *display, details.as_ref())?);
        }
        Op::Name(name) => drop(manager.append_session_info(name)?),
        Op::Label(target, label) => {
            let target = id(*target);
            drop(manager.append_label_change(target, label.as_deref())?);
        }
        Op::ContextEdit(target, replacement) => {
            let target = id(*target);
            drop(manager.append_context_edit(target, &json(replacement))?);
        }
        Op::Branch(target) => {
            let target = id(*target);
            manager.branch(target)?;
        }
        Op::Reset => manager.reset_leaf(),
        Op::BranchSummary(onto, summary, details, from_hook, usage) => {
            let onto = onto.map(id);
            let summary = BranchSummary {
                summary: summary.clone(),
                details: details.as_deref().map(json),
                from_hook: *from_hook,
                usage: usage.as_deref().map(json),
            };
            drop(manager.branch_with_summary(onto.as_ref(), &summary)?);
        }
        Op::Extract(target) => {
            let target = id(*target);
            drop(manager.create_branched_session(target)?);
        }
        other => unreachable!("{other:?} is not a single call"),
    }
    Ok(())
}

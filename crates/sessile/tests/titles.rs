//! Titles beside names of the user, and beside pi, which takes no lock.
#![expect(clippy::unwrap_used, reason = "tests panic on failure")]
#![expect(clippy::disallowed_methods, reason = "a variable sets the number of cases")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use sessile::date::Timestamp;
use sessile::draft::{AssistantMessage, Block, UserMessage};
use sessile::title::{TitleBy, TitleOutcome, Titled, Titler};
use sessile::{SessionError, Sessions};
use sessile_testkit::sim::SimOs;
use sessile_testkit::{Replay, SplitMix};

const NOW: i64 = 1_763_164_800_000;

fn sessions(os: &SimOs, seed: u64) -> Sessions {
    let environment = Replay::new(NOW, seed);
    environment.set_home("/home/u");
    environment.set_current_dir("/proj");
    Sessions::new(environment).on(Arc::new(os.clone())).caching(None).recording_operations(Some("/home/u/state".into()))
}

fn session(sessions: &Sessions, request: &str) -> PathBuf {
    let mut session = sessions.create("/proj").unwrap();
    let time = Timestamp::from_ms(NOW);
    session.append_message(UserMessage::new(request, time)).unwrap();
    session.append_message(AssistantMessage::new("anthropic", "claude", vec![Block::text("Done.")], time)).unwrap();
    session.session_file().unwrap().to_path_buf()
}

fn titled(sessions: &Sessions, path: &PathBuf) -> Titled {
    let (_, mut all) = sessions.title(std::slice::from_ref(path), Titler::Rule, false, &mut |_| ()).unwrap();
    all.remove(0).unwrap()
}

fn name(sessions: &Sessions, path: &PathBuf) -> Option<String> {
    sessions.open(path).unwrap().session_name().unwrap()
}

fn by_rule(name: &str) -> TitleOutcome {
    TitleOutcome::Titled { name: name.to_owned(), by: TitleBy::Rule }
}

#[test]
fn a_session_without_a_name_gets_a_title_with_a_mark() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let path = session(&sessions, "Fix the flaky build. It fails on Mondays.");
    assert_eq!(titled(&sessions, &path).outcome, by_rule("Fix the flaky build"));
    let text = String::from_utf8(os.read_file(&path).unwrap()).unwrap();
    assert!(
        text.lines().last().unwrap().contains(r#""name":"Fix the flaky build","auto":{"by":"rule","v":1}"#),
        "{text}"
    );
    assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::Same);
    assert_eq!(String::from_utf8(os.read_file(&path).unwrap()).unwrap(), text, "nothing is written twice");
    sessions.undo(None, false).unwrap();
    assert_eq!(name(&sessions, &path), None);
    assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::OfUser, "the user has removed it");
}

#[test]
fn names_of_the_user_stay() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let path = session(&sessions, "Fix the build");
    sessions.rename(&path, Some("Mine"), false).unwrap();
    assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::OfUser);
    sessions.rename(&path, None, false).unwrap();
    assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::OfUser);
    assert_eq!(name(&sessions, &path), None);
}

#[test]
fn sessions_without_a_request_or_an_answer_get_none() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    assert_eq!(titled(&sessions, &session(&sessions, "hi")).outcome, TitleOutcome::TooEarly);
    let path = PathBuf::from("/home/u/.pi/agent/sessions/--proj--/2025-01-01T00-00-00-000Z_s1.jsonl");
    let header = r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}"#;
    let request = r#"{"type":"message","id":"00000001","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"Fix the build"}}"#;
    os.foreign_append(&path, format!("{header}\n{request}\n"));
    assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::TooEarly);
}

#[test]
fn secrets_are_not_in_titles() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let key = format!("AKIA{}", "Q3EGRZ7PLKN2MWVX");
    let path = session(&sessions, &format!("Use {key} to push"));
    assert_eq!(titled(&sessions, &path).outcome, by_rule("Use to push"));
}

#[test]
fn a_model_is_asked_and_the_rule_helps_out() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let path = session(&sessions, "Fix the flaky build");
    let run = |answer: Result<&str, &str>, dry_run: bool| {
        let ask = |question: &str| {
            assert!(question.contains("Fix the flaky build"), "{question}");
            answer.map(str::to_owned).map_err(str::to_owned)
        };
        let (operation, mut all) =
            sessions.title(std::slice::from_ref(&path), Titler::Model(&ask), dry_run, &mut |_| ()).unwrap();
        assert_eq!(operation.is_some(), !dry_run);
        all.remove(0).unwrap()
    };
    let by_model = run(Ok("\"Flaky build on Mondays.\""), true);
    assert_eq!(
        by_model.outcome,
        TitleOutcome::Titled { name: "Flaky build on Mondays".to_owned(), by: TitleBy::Model }
    );
    for answer in [Err("no key"), Ok("I'm sorry, I cannot"), Ok("")] {
        let titled = run(answer, true);
        assert_eq!(titled.outcome, by_rule("Fix the flaky build"));
        assert!(titled.model_failure.is_some());
    }
    assert_eq!(name(&sessions, &path), None, "a dry run writes nothing");
    run(Ok("Flaky build"), false);
    assert_eq!(name(&sessions, &path).as_deref(), Some("Flaky build"));
}

/// pi renames at every moment of a titling, without a lock.
#[test]
fn a_rename_at_any_moment_wins() {
    for renamed in [r#""name":"Mine""#, r#""name":"""#] {
        let (mut n_moments, mut n_titled) = (0, 0);
        for n in 1.. {
            let os = SimOs::new();
            let path = session(&sessions(&os, 1), "Fix the build");
            let file = path.clone();
            let line = format!(
                r#"{{"type":"session_info","id":"0000pi00","parentId":null,"timestamp":"2025-11-15T00:00:01.000Z",{renamed}}}"#
            );
            let has_run = Arc::new(Mutex::new(false));
            let flag = Arc::clone(&has_run);
            os.interleave(n, move |os| {
                *flag.lock().unwrap() = true;
                os.foreign_append(&file, format!("{line}\n"));
            });
            let ours: Result<Titled, SessionError> = sessions(&os, 2)
                .title(std::slice::from_ref(&path), Titler::Rule, false, &mut |_| ())
                .unwrap()
                .1
                .remove(0);
            if !*has_run.lock().unwrap() {
                break;
            }
            n_moments += 1;
            n_titled += usize::from(ours.as_ref().is_ok_and(Titled::is_change));
            let expected = renamed.contains("Mine").then_some("Mine");
            assert_eq!(name(&sessions(&os, 3), &path).as_deref(), expected, "before call {n}: {ours:?}");
        }
        assert!(n_moments > 10 && n_titled < n_moments, "{n_moments}, {n_titled}");
    }
}

#[test]
fn a_title_after_a_name_of_the_user_is_corrected() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    for (name_of_user, expected) in [("Mine", Some("Mine")), ("", None)] {
        let path = session(&sessions, "Fix the build");
        let line = |name: &str, auto: &str| {
            format!(
                r#"{{"type":"session_info","id":"{name:a<8}","parentId":null,"timestamp":"2025-11-15T00:00:01.000Z","name":"{name}"{auto}}}"#
            )
        };
        os.foreign_append(
            &path,
            line(name_of_user, "") + "\n" + &line("Title", r#","auto":{"by":"rule","v":1}"#) + "\n",
        );
        let outcome = titled(&sessions, &path).outcome;
        assert_eq!(outcome, TitleOutcome::Restored { name: expected.map(str::to_owned) });
        assert_eq!(name(&sessions, &path).as_deref(), expected);
        assert_eq!(titled(&sessions, &path).outcome, TitleOutcome::OfUser);
    }
}

/// What happens to a session in random order. What pi does, it does without a lock.
#[derive(Clone, Copy, Debug)]
enum Event {
    PiNames,
    PiRemovesTheName,
    PiAddsATurn,
    PiCompacts,
    Command,
    Automatic,
}

impl Event {
    const ALL: [Self; 6] =
        [Self::PiNames, Self::PiRemovesTheName, Self::PiAddsATurn, Self::PiCompacts, Self::Command, Self::Automatic];
}

/// What pi has written so far.
#[derive(Default)]
struct Pi {
    n_lines: usize,
    name: Option<String>,
}

impl Pi {
    /// Appends an entry after the last one.
    fn append(&mut self, os: &SimOs, path: &Path, rest: &str) {
        self.n_lines += 1;
        let text = String::from_utf8(os.read_file(path).unwrap()).unwrap();
        let last = text.rsplit(r#""id":""#).next().and_then(|rest| rest.get(..8)).unwrap();
        let time = "2025-11-15T00:00:01.000Z";
        let line = format!(r#"{{"id":"pi{:06}","parentId":"{last}","timestamp":"{time}",{rest}}}"#, self.n_lines);
        os.foreign_append(path, line + "\n");
    }

    fn act(&mut self, os: &SimOs, path: &Path, event: Event) {
        match event {
            Event::PiNames | Event::PiRemovesTheName => {
                let name =
                    if matches!(event, Event::PiNames) { format!("Mine {}", self.n_lines) } else { String::new() };
                self.append(os, path, &format!(r#""type":"session_info","name":"{name}""#));
                self.name = Some(name);
            }
            Event::PiAddsATurn => {
                self.append(
                    os,
                    path,
                    r#""type":"message","message":{"role":"user","content":"And now the tests of the parser"}"#,
                );
                self.append(
                    os,
                    path,
                    r#""type":"message","message":{"role":"assistant","content":[],"stopReason":"stop"}"#,
                );
            }
            Event::PiCompacts => {
                self.append(
                    os,
                    path,
                    r#""type":"compaction","summary":"s","firstKeptEntryId":"none","tokensBefore":1"#,
                );
            }
            Event::Command | Event::Automatic => unreachable!("not pi's"),
        }
    }
}

/// Random orders of names, titles and moments. `SESSILE_TITLE_CASES` sets the number of cases.
#[test]
fn a_name_of_the_user_is_never_lost() {
    let n_cases = std::env::var("SESSILE_TITLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (mut n_titles, mut n_interleaved) = (0_u64, 0);
    for seed in 1..=n_cases {
        let mut random = SplitMix::new(seed);
        let os = SimOs::new();
        let requests = ["Fix the flaky build of the parser", "Fix it", "/help"];
        let path = session(&sessions(&os, seed), requests[random.below(requests.len())]);
        let pi = Arc::new(Mutex::new(Pi::default()));
        let mut events = Vec::new();
        for step in 0..3 + random.below(6) {
            let event = if random.one_in(2) { random.pick(&Event::ALL) } else { random.pick(&Event::ALL[4..]) };
            events.push(event);
            if !matches!(event, Event::Command | Event::Automatic) {
                pi.lock().unwrap().act(&os, &path, event);
                continue;
            }
            // What pi does too late for this step does not happen.
            let is_over = Arc::new(AtomicBool::new(false));
            if random.below(3) > 0 {
                let meanwhile = Event::ALL[random.below(4)];
                events.push(meanwhile);
                let (pi, path, is_over) = (Arc::clone(&pi), path.clone(), Arc::clone(&is_over));
                os.interleave(1 + random.below(60) as u64, move |os| {
                    if !is_over.load(Ordering::Relaxed) {
                        pi.lock().unwrap().act(os, &path, meanwhile);
                    }
                });
                n_interleaved += 1;
            }
            let ours = sessions(&os, seed * 100 + step as u64);
            let is_change = match event {
                Event::Command => {
                    let (_, titled) =
                        ours.title(std::slice::from_ref(&path), Titler::Rule, false, &mut |_| ()).unwrap();
                    titled[0].as_ref().is_ok_and(Titled::is_change)
                }
                _ => ours.title_if_due(&path, Titler::Rule).unwrap().is_some(),
            };
            n_titles += u64::from(is_change);
            is_over.store(true, Ordering::Relaxed);
            let shown = name(&sessions(&os, 7), &path);
            match &pi.lock().unwrap().name {
                Some(of_user) => assert_eq!(shown.unwrap_or_default(), *of_user, "seed {seed}: {events:?}"),
                None => assert!(shown.is_none_or(|name| !name.starts_with("Mine")), "seed {seed}: {events:?}"),
            }
        }
    }
    assert!(n_titles * 3 > n_cases && n_interleaved > 0, "{n_titles} titles, {n_interleaved} interleaved");
}

#[test]
fn a_session_gets_at_most_three_titles_without_a_command() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let path = session(&sessions, "Fix it");
    let mut pi = Pi::default();
    let automatic = || sessions.title_if_due(&path, Titler::Rule).unwrap();
    assert_eq!(automatic().as_deref(), Some("Fix it"));
    assert_eq!(automatic(), None, "nothing has changed");
    for _ in 0..3 {
        pi.act(&os, &path, Event::PiAddsATurn);
        assert_eq!(automatic(), None, "the rule has no better title");
    }
    for _ in 0..5 {
        pi.act(&os, &path, Event::PiCompacts);
        let asked = std::cell::Cell::new(0);
        let ask = |_: &str| {
            asked.set(asked.get() + 1);
            Ok(format!("Title {}", os.read_file(&path).unwrap().len()))
        };
        sessions.title_if_due(&path, Titler::Model(&ask)).unwrap();
        assert_eq!(sessions.title_if_due(&path, Titler::Model(&ask)).unwrap(), None);
        assert!(asked.get() <= 1);
    }
    let text = String::from_utf8(os.read_file(&path).unwrap()).unwrap();
    assert_eq!(text.matches(r#""auto":{"#).count(), 3, "{text}");
}

#[test]
fn children_and_sessions_in_use_get_no_title_without_a_command() {
    let os = SimOs::new();
    let sessions = sessions(&os, 1);
    let path = session(&sessions, "Fix the flaky build");
    let text = String::from_utf8(os.read_file(&path).unwrap()).unwrap();
    let child = path.with_file_name("2025-01-01T00-00-00-000Z_child.jsonl");
    os.foreign_append(&child, text.replacen(r#""cwd""#, r#""parentSession":"/proj/parent.jsonl","cwd""#, 1));
    assert_eq!(sessions.title_if_due(&child, Titler::Rule).unwrap(), None);
    assert_eq!(sessions.title_if_due(&path, Titler::Rule).unwrap().as_deref(), Some("Fix the flaky build"));
}

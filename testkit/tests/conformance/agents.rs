//! Imported sessions of other agents in pi.

use std::path::{Path, PathBuf};

use sessile::Sessions;
use sessile::import::{Agent, AgentImportOptions, ImportChoices, ModelChoice};
use sessile_testkit::Oracle;
use sessile_testkit::resume::{APIS, Provider};

use super::compaction::{seen_by_pi, seen_by_us};

/// The fixtures of an agent.
fn fixtures(agent: Agent) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/agents/tests/fixtures").join(agent.word());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    // A session of opencode is one document; its lines are for a tree of files.
    files.retain(|file| agent != Agent::Opencode || file.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

#[test]
fn pi_sees_imported_sessions_as_we_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut oracle = Oracle::start(directory.path());
    let store = directory.path().join("store");
    let sessions = Sessions::default().with_session_dir(&store).recording_operations(None).caching(None);
    let mut n_sessions = 0;
    for agent in Agent::ALL {
        for fixture in fixtures(*agent) {
            let file = sessions.foreign_file(&[*agent], &fixture).unwrap();
            for imported in sessions.import_foreign(&[file], AgentImportOptions::default()).unwrap().sessions {
                let path = &imported.path;
                assert!(sessions.verify(path).unwrap().findings.iter().all(|finding| !finding.counts()), "{path:?}");
                assert_eq!(seen_by_pi(&mut oracle, path), seen_by_us(path), "{}", fixture.display());
                n_sessions += 1;
            }
        }
    }
    // Six of Claude Code, one of which has a sub-agent, six of Codex, three of Gemini CLI, one each of opencode and
    // Qwen Code, and two each of Copilot CLI and oh-my-pi.
    assert_eq!(n_sessions, 22);
}

/// For each agent, a fixture, and a text of the conversation that goes on.
const RESUMED: [(Agent, &str, &str); 7] = [
    (Agent::Claude, "answers.jsonl", "I read two files."),
    (Agent::Codex, "old.json", "One file"),
    (Agent::Gemini, "session.jsonl", "Rather that"),
    (Agent::Opencode, "export.json", "Count the files"),
    (Agent::Qwen, "tree.jsonl", "Summary"),
    (Agent::Copilot, "resumed.jsonl", "Second"),
    (Agent::Omp, "entries.jsonl", "Second"),
];

#[test]
fn pi_resumes_an_imported_session_of_every_agent() {
    let directory = tempfile::tempdir().unwrap();
    let project = directory.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let store = directory.path().join("store");
    let sessions = Sessions::default().with_session_dir(&store).recording_operations(None).caching(None);
    let provider = Provider::start();
    assert_eq!(RESUMED.map(|(agent, ..)| agent).as_slice(), Agent::ALL);
    for (agent, name, said) in RESUMED {
        let fixture = fixtures(agent).into_iter().find(|file| file.ends_with(name)).unwrap();
        // pi resumes a session only in a directory that exists.
        let text = std::fs::read_to_string(fixture).unwrap().replace("/proj/site", project.to_str().unwrap());
        let source = directory.path().join(format!("{}-{name}", agent.word()));
        std::fs::write(&source, text).unwrap();
        let mut file = sessions.foreign_file(&[agent], &source).unwrap();
        // Some agents note the directory in other files, or not at all.
        file.cwd = Some(project.to_str().unwrap().to_owned());
        let imported = sessions.import_foreign(&[file], AgentImportOptions::default()).unwrap().sessions.remove(0);
        let resumed = provider.resume(APIS[0], &imported.path, &project);
        assert!(resumed.succeeded && resumed.reasons.is_empty(), "{agent:?}: {resumed:?}");
        assert!(resumed.requests.last().is_some_and(|request| request.contains(said)), "{agent:?}: {resumed:?}");
    }
}

#[test]
fn pi_sees_imports_with_other_choices_as_we_do() {
    let directory = tempfile::tempdir().unwrap();
    let mut oracle = Oracle::start(directory.path());
    let store = directory.path().join("store");
    let sessions = Sessions::default().with_session_dir(&store).recording_operations(None).caching(None);
    let model = ModelChoice::parse("acme/swift");
    let choices = ImportChoices { with_context: true, keep_signatures: true, model };
    let options = AgentImportOptions { choices, ..AgentImportOptions::default() };
    let mut all = String::new();
    let all_fixtures = Agent::ALL.iter().flat_map(|agent| fixtures(*agent).into_iter().map(move |file| (*agent, file)));
    for (agent, fixture) in all_fixtures {
        let file = sessions.foreign_file(&[agent], &fixture).unwrap();
        for imported in sessions.import_foreign(&[file], options.clone()).unwrap().sessions {
            let path = &imported.path;
            assert!(sessions.verify(path).unwrap().findings.iter().all(|finding| !finding.counts()), "{path:?}");
            let seen = seen_by_pi(&mut oracle, path);
            assert_eq!(seen, seen_by_us(path), "{}", fixture.display());
            assert!(seen.0.contains(r#""model":{"provider":"acme","modelId":"swift"}"#), "{}", fixture.display());
            all += &seen.1;
        }
    }
    assert!(all.contains("You are Codex") && all.contains("thinkingSignature") && all.contains("anthropic-messages"));
}

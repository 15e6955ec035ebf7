//! Searching sessions of another member that are not on this machine.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::path::{Path, PathBuf};

use sessile::Sessions;
use sessile::list::Archived;
use sessile::search::{OnPath, SearchHit, SearchOptions, SearchResult, SearchScope, Upkeep};
use sessile::sync::remote::{May, MemoryServer, Server, Team};
use sessile::sync::{Direction, SyncOptions, SyncScope};
use sessile::team::{MirrorScope, TeamConnection};
use sessile::testing::IsolatedSystem;
use sessile::text::filter::Filter;
use sessile::text::query::Query;
use sessile::text::texts::DocumentKind;

const N_SESSIONS: usize = 12;

/// Where Ada's sessions are.
const SESSIONS: &str = "ada/.pi/agent/sessions";

/// A store of which Ada has pushed all sessions and shared all with Bob.
struct Scene {
    dir: tempfile::TempDir,
    server: MemoryServer,
}

fn entry(number: usize, at: usize, role: &str, text: &str) -> String {
    let parent = if at == 0 { "null".to_owned() } else { format!("\"{number:04}{:04}\"", at - 1) };
    format!(
        r#"{{"type":"message","id":"{number:04}{at:04}","parentId":{parent},"timestamp":"2025-01-{:02}T00:00:01.000Z","message":{{"role":"{role}","content":"{text}"}}}}"#,
        number + 1
    )
}

fn lines(number: usize) -> Vec<String> {
    let mut lines = vec![entry(number, 0, "user", &format!("please start number{number}"))];
    let rare = if number.is_multiple_of(3) { "the rareWord58 and rareWord58 again" } else { "word58 alone" };
    lines.push(entry(number, 1, "assistant", rare));
    lines.push(entry(number, 2, "user", "common words \\u001b[2J in every session"));
    if number == 6 {
        lines.push(r#"{"type":"session_info","id":"n","parentId":null,"timestamp":"2025-01-02T00:00:00.000Z","name":"rareWord58 in a name"}"#.to_owned());
        // A branch that does not end with the word.
        lines.push(entry(number, 3, "user", "elsewhere").replace("00060002", "00060000"));
    }
    lines
}

fn machine(dir: &Path, name: &str) -> Sessions {
    let home = dir.join(name);
    let (cache, state) = (Some(home.join("cache")), Some(home.join("state")));
    Sessions::new(IsolatedSystem::in_home(home)).caching(cache).recording_operations(state)
}

fn pushing() -> SyncOptions {
    SyncOptions { direction: Direction::Push, ..SyncOptions::default() }
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ada = machine(dir.path(), "ada");
        for number in 0..N_SESSIONS {
            let header = format!(
                r#"{{"type":"session","version":3,"id":"s{number:04}","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj{}"}}"#,
                number % 2
            );
            let text = format!("{header}\n{}\n", lines(number).join("\n"));
            let name = format!("2025-01-01T00-00-00-000Z_s{number:04}.jsonl");
            let folder = dir.path().join(format!("{SESSIONS}/--proj{}--", number % 2));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
        }
        let mut server = MemoryServer::new("ada");
        ada.sync(&mut server, &SyncScope::All, &pushing(), &mut |it| drop(it.result.unwrap())).unwrap();
        drop(server.login("bob"));
        for number in 0..N_SESSIONS {
            let no = server.head(None, &format!("s{number:04}")).unwrap().unwrap().no;
            server.share(no, "bob", May::Read).unwrap();
        }
        Self { dir, server }
    }

    /// A machine of Bob, with the sessions of the store.
    fn bob(&self, name: &str, is_mirrored: bool) -> Sessions {
        let sessions = machine(self.dir.path(), name);
        let mut server = self.server.login("bob");
        let store = sessions.refresh_team(&mut server).unwrap();
        if is_mirrored {
            let on_session = &mut |it: sessile::team::MirrorResult| it.result.unwrap();
            sessions.mirror_team(&mut server, &store, MirrorScope::All, &pushing(), on_session).unwrap();
        }
        let other = self.server.login("bob");
        let connect = move || Ok(Box::new(other.clone()) as Box<dyn Server>);
        let connection = TeamConnection::new(Some(Box::new(server)), pushing(), connect);
        let (sessions, _) = sessions.with_team(&store, connection).unwrap();
        sessions
    }

    fn files_of(&self, name: &str) -> usize {
        let mut directories: Vec<PathBuf> = vec![self.dir.path().join(name).join("state")];
        let mut n_files = 0;
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                n_files += usize::from(
                    path.extension().is_some_and(|it| it == "jsonl") && path.to_string_lossy().contains("/sessions/"),
                );
                directories.push(path);
            }
        }
        n_files
    }
}

fn search(sessions: &Sessions, query: &str, options: &SearchOptions<'_>) -> SearchResult {
    sessions.search(&Query::parse(query).unwrap(), options).unwrap()
}

/// What does not depend on where the lines are.
fn comparable(hits: &[SearchHit]) -> Vec<String> {
    let shown = |hit: &SearchHit| {
        let name = hit.session_path.file_name().unwrap().to_string_lossy().into_owned();
        let author = hit.author.as_ref().map(|it| (it.member.clone(), it.is_owner));
        format!("{name} {:?} {:?} {:?} {:?} {:?} {author:?}", hit.entry_id, hit.role, hit.kind, hit.time, hit.excerpt)
    };
    let mut hits: Vec<String> = hits.iter().map(shown).collect();
    hits.sort();
    hits
}

/// Mirroring everything first is the simple twin.
#[test]
fn hits_are_the_same_as_in_files() {
    let scene = Scene::new();
    let (here, there) = (scene.bob("here", true), scene.bob("there", false));
    let kinds = |kind| Filter { kinds: vec![kind], ..Filter::default() };
    let all = || SearchOptions { upkeep: Upkeep::Never, limit: 500, ..SearchOptions::default() };
    for (options, n_hits) in [
        (all(), 5),
        (SearchOptions { per_session: true, ..all() }, 4),
        (SearchOptions { filter: kinds(DocumentKind::Name), ..all() }, 1),
        (SearchOptions { scope: SearchScope::Cwd(PathBuf::from("/proj1")), ..all() }, 2),
        (SearchOptions { session: Some("s0003".to_owned()), ..all() }, 1),
        (SearchOptions { archived: Archived::Hidden, ..all() }, 5),
        (SearchOptions { archived: Archived::Only, ..all() }, 0),
    ] {
        let (local, remote) = (search(&here, "rareWord58", &options), search(&there, "rareWord58", &options));
        assert_eq!(comparable(&remote.hits), comparable(&local.hits));
        assert_eq!(remote.hits.len(), n_hits);
        assert!(remote.team.unwrap().is_complete && remote.hits.iter().all(|hit| hit.offset.is_none()));
        assert!(remote.hits.is_sorted_by(|one, other| one.score >= other.score));
    }
    for query in ["word58", "\"common words\"", "number1", "rareWord58 again", "nothing", "start number7"] {
        let (local, remote) = (search(&here, query, &all()), search(&there, query, &all()));
        assert_eq!(comparable(&remote.hits), comparable(&local.hits), "{query}");
        let best = SearchOptions { limit: 3, ..all() };
        let (local, remote) = (search(&here, query, &best), search(&there, query, &best));
        assert_eq!(remote.hits.len(), local.hits.len());
        // A score depends on the time, and a second may have passed.
        let is_close = |(one, other): (&SearchHit, &SearchHit)| (one.score - other.score).abs() < 1e-5;
        assert!(remote.hits.iter().zip(&local.hits).all(is_close), "{query}");
    }
    assert_eq!(scene.files_of("there"), 0, "nothing is stored for a search");
}

#[test]
fn a_list_has_the_sessions_of_the_working_directory() {
    let scene = Scene::new();
    for is_mirrored in [true, false] {
        let bob = scene.bob(if is_mirrored { "here" } else { "there" }, is_mirrored);
        let n_listed = |cwd: &str| bob.list(cwd).unwrap().len();
        assert_eq!([n_listed("/proj0"), n_listed("/proj1"), n_listed("/elsewhere")], [6, 6, 0], "{is_mirrored}");
        assert_eq!(bob.list_all().unwrap().len(), 12);
    }
}

/// Which entries are on the path to the leaf needs the whole session.
#[test]
fn a_search_on_paths_fetches_sessions() {
    let scene = Scene::new();
    let (here, there) = (scene.bob("here", true), scene.bob("there", false));
    let options = SearchOptions { on_path: Some(OnPath::Leaf), limit: 500, ..SearchOptions::default() };
    let (local, remote) = (search(&here, "rareWord58", &options), search(&there, "rareWord58", &options));
    assert_eq!(comparable(&remote.hits), comparable(&local.hits));
    assert_eq!(remote.hits.len(), 3, "not the one in another branch");
    assert_eq!(scene.files_of("there"), 4);
}

/// A session that is here gets the new lines that match.
#[test]
fn new_lines_of_a_mirrored_session_are_found() {
    let scene = Scene::new();
    let bob = scene.bob("bob", true);
    let ada = machine(scene.dir.path(), "ada");
    let path = scene.dir.path().join(format!("{SESSIONS}/--proj0--/2025-01-01T00-00-00-000Z_s0004.jsonl"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str(&(entry(4, 9, "user", "a zebra at last").replace("00040008", "00040002") + "\n"));
    std::fs::write(&path, text).unwrap();
    ada.sync(&mut scene.server.clone(), &SyncScope::All, &pushing(), &mut |it| drop(it.result.unwrap())).unwrap();
    let found = search(&bob, "zebra", &SearchOptions::default());
    assert_eq!(found.hits.len(), 1);
    assert!(found.hits[0].offset.is_some(), "it is in the file now");
}

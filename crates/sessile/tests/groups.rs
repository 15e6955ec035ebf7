//! Grouping sessions.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests access files directly")]

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use sessile::Sessions;
use sessile::date::Timestamp;
use sessile::format::info::SessionFacts;
use sessile::group::{Family, ProjectLocation, SessionRef, group_by_cwd};
use sessile::list::SessionInfo;
use sessile_testkit::Replay;
use tempfile::TempDir;

fn session(id: &str, cwd: &str, modified: i64, parent: Option<&str>) -> SessionInfo {
    SessionInfo {
        path: format!("/s/2025_{id}.jsonl").into(),
        id: id.to_owned().into(),
        cwd: cwd.to_owned(),
        name: None,
        is_archived: false,
        is_redacted: false,
        imported_from: None,
        member: None,
        project: None,
        repository: None,
        parent_session_path: parent.map(str::to_owned),
        created: Some(Timestamp::from_ms(modified)),
        modified: Timestamp::from_ms(modified),
        message_count: 0,
        first_message: "".into(),
        all_messages_text: "".into(),
        size: 0,
        written: Timestamp::EPOCH,
        facts: SessionFacts::default(),
    }
}

fn sessions() -> Sessions {
    Sessions::new(Replay::new(1_735_689_600_000, 7))
}

/// Families as indented ids, with `?` before the paths of missing ones.
fn drawn(list: &[SessionInfo], families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        writeln!(text, "= {}", family.newest_activity.as_ms()).unwrap();
        for member in &family.members {
            let name = match &member.session {
                SessionRef::Listed(index) => list[*index].id.to_string(),
                SessionRef::Missing(path) => format!("?{}", path.display()),
            };
            writeln!(text, "{}{name}", "  ".repeat(member.depth)).unwrap();
        }
    }
    text
}

#[test]
fn directories_are_sorted_by_their_newest_session() {
    let list = [session("a", "/one", 5, None), session("b", "/two", 9, None), session("c", "/one", 7, None)];
    let groups = group_by_cwd(&list);
    let found: Vec<_> = groups.iter().map(|it| (it.cwd.as_str(), it.newest_activity, it.sessions.as_slice())).collect();
    assert_eq!(
        found,
        [("/two", Timestamp::from_ms(9), [1].as_slice()), ("/one", Timestamp::from_ms(7), [0, 2].as_slice())]
    );
}

#[test]
fn families_know_their_newest_activity_and_tolerate_missing_parents() {
    let list = [
        session("root", "/", 1, None),
        session("old", "/", 2, Some("/s/2025_root.jsonl")),
        session("young", "/", 3, Some("/s/2025_root.jsonl")),
        session("grandchild", "/", 9, Some("/s/x/../2025_old.jsonl")),
        // Its parent was moved: the path does not exist, but its id is known.
        session("moved", "/", 4, Some("/elsewhere/2024_young.jsonl")),
        session("orphan", "/", 6, Some("/gone/2024_nobody.jsonl")),
        session("sibling", "/", 5, Some("/gone/2024_nobody.jsonl")),
        session("alone", "/", 7, None),
        session("own parent", "/", 8, Some("/s/2025_own parent.jsonl")),
    ];
    let families = sessions().families(&list);
    let expected = "\
= 9
root
  old
    grandchild
  young
    moved
= 8
own parent
= 7
alone
= 6
?/gone/2024_nobody.jsonl
  orphan
  sibling
";
    assert_eq!(drawn(&list, &families), expected);
    let moved = families[0].members.iter().find(|member| member.session == SessionRef::Listed(4)).unwrap();
    assert_eq!(families[0].members[moved.parent.unwrap()].session, SessionRef::Listed(2));
}

#[test]
fn circles_are_cut_at_the_oldest() {
    let to = |id: &str| format!("/s/2025_{id}.jsonl");
    let list = [
        session("c", "/", 3, Some(&to("b"))),
        session("a", "/", 1, Some(&to("c"))),
        session("b", "/", 2, Some(&to("a"))),
        session("tail", "/", 4, Some(&to("b"))),
    ];
    let families = sessions().families(&list);
    assert_eq!(drawn(&list, &families), "= 4\na\n  b\n    tail\n    c\n");
}

#[test]
fn a_long_chain_of_forks_needs_no_stack() {
    let list: Vec<SessionInfo> = (0..100_000)
        .map(|index: i64| {
            let parent = (index > 0).then(|| format!("/s/2025_{}.jsonl", index - 1));
            session(&index.to_string(), "/", index, parent.as_deref())
        })
        .collect();
    let families = sessions().families(&list);
    assert_eq!((families.len(), families[0].members.len()), (1, 100_000));
    assert_eq!(families[0].members.last().unwrap().depth, 99_999);
}

proptest! {
    #[test]
    fn every_session_is_in_exactly_one_family(parents in proptest::collection::vec(proptest::option::of(0..12usize), 0..10)) {
        let list: Vec<SessionInfo> = parents.iter().enumerate().map(|(index, parent)| {
            let parent = parent.map(|parent| format!("/s/2025_{parent}.jsonl"));
            session(&index.to_string(), "/", i64::try_from(index).unwrap(), parent.as_deref())
        }).collect();
        let mut seen = Vec::new();
        for family in sessions().families(&list) {
            let newest = family.members.iter().filter_map(|member| match member.session {
                SessionRef::Listed(index) => Some(list[index].modified),
                SessionRef::Missing(_) => None,
            });
            prop_assert_eq!(newest.max(), Some(family.newest_activity));
            for (index, member) in family.members.iter().enumerate() {
                prop_assert_eq!(member.parent.is_none(), index == 0);
                prop_assert!(member.parent.is_none_or(|parent| parent < index));
                seen.extend(match member.session { SessionRef::Listed(index) => Some(index), SessionRef::Missing(_) => None });
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..list.len()).collect::<Vec<_>>());
    }
}

/// A disk with a repository, two worktrees of it, a submodule, a plain directory and a link.
struct Disk {
    dir: TempDir,
    sessions: Sessions,
}

impl Disk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let environment = Replay::new(1_735_689_600_000, 7);
        environment.set_home(dir.path());
        environment.set_current_dir(dir.path());
        let disk = Self { dir, sessions: Sessions::new(environment) };
        disk.put("repo/.git/HEAD", "ref: refs/heads/main\n");
        disk.put("repo/src/deep/x", "");
        let absolute = disk.path("repo/.git/worktrees/one");
        disk.put("one/.git", &format!("gitdir: {}\n", absolute.display()));
        disk.put("repo/.git/worktrees/one/HEAD", "ref: refs/heads/feature/x\n");
        disk.put("repo/.git/worktrees/one/commondir", "../..\n");
        disk.put("two/.git", "gitdir: ../repo/.git/worktrees/two\n");
        disk.put("repo/.git/worktrees/two/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
        disk.put("repo/.git/worktrees/two/commondir", "../..\n");
        disk.put("repo/sub/.git", "gitdir: ../.git/modules/sub\n");
        disk.put("repo/.git/modules/sub/HEAD", "ref: refs/heads/main\n");
        disk.put("plain/x", "");
        disk.put("broken/.git", "nothing of the kind\n");
        symlink(disk.path("repo"), disk.path("link")).unwrap();
        disk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn session(&self, id: &str, cwd: &str, modified: i64) -> SessionInfo {
        let cwd = if cwd.is_empty() { String::new() } else { self.path(cwd).to_string_lossy().into_owned() };
        session(id, &cwd, modified, None)
    }
}

#[test]
fn worktrees_of_a_repository_are_one_project() {
    let disk = Disk::new();
    let list: Vec<SessionInfo> =
        ["repo", "one", "two", "repo/src/deep", "link/src", "repo/sub", "plain", "moved away", "broken", ""]
            .into_iter()
            .zip(0..)
            .map(|(cwd, time)| disk.session(cwd, cwd, 100 - time))
            .collect();
    let projects = disk.sessions.group_by_project(&list);
    let locations: Vec<_> = projects.iter().map(|project| project.location.clone()).collect();
    assert_eq!(
        locations,
        [
            ProjectLocation::Repository(disk.path("repo/.git")),
            ProjectLocation::Repository(disk.path("repo/.git/modules/sub")),
            ProjectLocation::Directory(disk.path("plain")),
            ProjectLocation::Missing(disk.path("moved away")),
            ProjectLocation::Directory(disk.path("broken")),
            ProjectLocation::Unknown,
        ]
    );
    let worktrees: Vec<_> = (projects[0].directories.iter())
        .map(|it| (it.sessions.as_slice(), it.worktree.clone().unwrap(), it.branch.as_deref()))
        .collect();
    assert_eq!(
        worktrees,
        [
            ([0].as_slice(), disk.path("repo"), Some("main")),
            ([1].as_slice(), disk.path("one"), Some("feature/x")),
            ([2].as_slice(), disk.path("two"), None),
            ([3].as_slice(), disk.path("repo"), Some("main")),
            ([4].as_slice(), disk.path("link"), Some("main")),
        ]
    );
}

#[test]
fn the_list_of_a_project_covers_all_worktrees() {
    let disk = Disk::new();
    for (id, cwd) in [("a", "repo"), ("b", "one"), ("c", "plain"), ("d", "moved away")] {
        let cwd = disk.path(cwd);
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2025-01-01","cwd":"{}"}}"#,
            cwd.display()
        );
        disk.put(&format!(".pi/agent/sessions/--{id}--/{id}.jsonl"), &header);
    }
    let listed = |cwd: &Path| {
        let mut ids: Vec<String> =
            (disk.sessions.list_project(cwd).unwrap()).into_iter().map(|session| session.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(listed(&disk.path("two")), ["a", "b"]);
    assert_eq!(listed(&disk.path("plain")), ["c"]);
    assert_eq!(listed(&disk.path("moved away")), ["d"]);
    assert_eq!(listed(Path::new("/nowhere")), [""; 0]);
}

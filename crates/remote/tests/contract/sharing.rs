//! What members of every store do with each other's sessions. Each check gets a store of its own.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sessile_remote::{May, NewSession, RemoteError, Replacement, Server, SessionNo, Team};

use super::{HEADER, batch, create, heads};

/// Logs a member in. The members `ada`, `bob` and `eve` exist, and `chief`, who administers the store.
pub(crate) type TeamLogin<'a> = &'a dyn Fn(&str) -> Box<dyn Team>;

/// A check, with its name.
pub(crate) type TeamCheck = (&'static str, fn(TeamLogin<'_>));

/// All checks.
pub(crate) const TEAM_CHECKS: &[TeamCheck] = &[
    ("a share lets read, then write, then nothing", a_share_lets_read_then_write_then_nothing),
    ("only the owner shares", only_the_owner_shares),
    ("a share is seen as a change", a_share_is_seen_as_a_change),
    ("a project shares its sessions", a_project_shares_its_sessions),
    ("only makers and administrators grant a project", only_makers_and_administrators_grant_a_project),
    ("members are listed with what is seen of them", members_are_listed_with_what_is_seen_of_them),
    ("every act is on record", every_act_is_on_record),
    ("runs of lines have authors", runs_of_lines_have_authors),
    ("members see the project of a session", members_see_the_project_of_a_session),
    ("the first to take an id takes nothing from its owner", the_first_to_take_an_id_takes_nothing_from_its_owner),
];

/// The lines with their authors.
fn lines(server: &mut dyn Server, no: SessionNo) -> Result<Vec<(String, Vec<u8>)>, RemoteError> {
    let mut lines = Vec::new();
    let mut on_line = |line: sessile_remote::ServerLine<'_>| {
        lines.push((line.author.to_owned(), line.bytes.to_vec()));
        ControlFlow::Continue(())
    };
    server.read(no, 0, 0, u64::MAX, &mut on_line)?;
    Ok(lines)
}

fn ids(server: &mut dyn Server) -> BTreeSet<String> {
    heads(server, None).into_iter().map(|head| format!("{}/{}", head.owner, head.header_id)).collect()
}

#[track_caller]
fn is_hidden<T: std::fmt::Debug>(result: &Result<T, RemoteError>) {
    assert!(matches!(result, Err(RemoteError::NoSuchSession { .. })), "{result:?}");
}

#[track_caller]
fn is_denied<T: std::fmt::Debug>(result: &Result<T, RemoteError>) {
    assert!(matches!(result, Err(RemoteError::PermissionDenied { .. })), "{result:?}");
}

#[track_caller]
fn is_unknown_project<T: std::fmt::Debug>(result: &Result<T, RemoteError>) {
    assert!(matches!(result, Err(RemoteError::NoSuchProject { .. })), "{result:?}");
}

fn a_share_lets_read_then_write_then_nothing(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut eve) = (login("ada"), login("bob"), login("eve"));
    let created = create(&mut *ada, "s");
    let first = batch(created.position, &[b"one"]);
    ada.append(created.no, &first, None).unwrap();
    create(&mut *ada, "other");

    assert!(ada.share(created.no, "bob", May::Read).unwrap());
    assert!(!ada.share(created.no, "bob", May::Read).unwrap(), "it is there");
    let seen = heads(&mut *bob, None);
    assert_eq!(seen.len(), 1, "this session alone");
    assert_eq!((seen[0].owner.as_str(), seen[0].header_id.as_str(), seen[0].may_append), ("ada", "s", false));
    assert_eq!(bob.head(Some("ada"), "s").unwrap().as_ref(), Some(&seen[0]));
    assert_eq!(lines(&mut *bob, created.no).unwrap(), [("ada".to_owned(), b"one".to_vec())]);
    assert_eq!(bob.chains(created.no, 0, &[1]).unwrap(), [Some(first.end().chain)]);
    let second = batch(first.end(), &[b"two"]);
    is_denied(&bob.append(created.no, &second, None));
    is_denied(&bob.replace(created.no, &first.end(), &Replacement::default(), &mut |_| None));
    assert!(!bob.bury("s").unwrap(), "it is not his");

    assert!(ada.share(created.no, "bob", May::Write).unwrap());
    assert!(bob.head(Some("ada"), "s").unwrap().unwrap().may_append);
    assert_eq!(bob.append(created.no, &second, None).unwrap(), Some(second.end()));
    assert_eq!(lines(&mut *ada, created.no).unwrap()[1], ("bob".to_owned(), b"two".to_vec()));
    is_denied(&bob.replace(created.no, &second.end(), &Replacement::default(), &mut |_| None));

    let shares = ada.shares(created.no).unwrap();
    assert_eq!(shares.len(), 1);
    assert_eq!((shares[0].member.as_str(), shares[0].may, &shares[0].project), ("bob", May::Write, &None));
    assert_eq!(shares[0].granted_by, "ada");

    assert!(ada.unshare(created.no, "bob").unwrap());
    assert!(!ada.unshare(created.no, "bob").unwrap());
    assert_eq!(ada.shares(created.no).unwrap(), []);
    for other in [&mut bob, &mut eve] {
        assert_eq!(heads(&mut **other, None), []);
        assert_eq!(other.head(Some("ada"), "s").unwrap(), None);
        is_hidden(&lines(&mut **other, created.no));
        is_hidden(&other.chains(created.no, 0, &[1]));
        is_hidden(&other.append(created.no, &batch(second.end(), &[b"x"]), None));
    }
}

fn only_the_owner_shares(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut eve) = (login("ada"), login("bob"), login("eve"));
    let created = create(&mut *ada, "s");
    ada.create_project("p").unwrap();
    // For a member that does not see it, it does not exist, whatever is asked.
    for no in [created.no, SessionNo(created.no.0 ^ 0x5555)] {
        is_hidden(&eve.share(no, "eve", May::Write));
        is_hidden(&eve.share(no, "nobody", May::Read));
        is_hidden(&eve.unshare(no, "bob"));
        is_hidden(&eve.shares(no));
        is_hidden(&eve.set_project(no, None));
        is_hidden(&eve.set_project(no, Some("p")));
    }
    ada.share(created.no, "bob", May::Write).unwrap();
    is_denied(&bob.share(created.no, "eve", May::Read));
    is_denied(&bob.unshare(created.no, "bob"));
    is_denied(&bob.shares(created.no));
    is_denied(&bob.set_project(created.no, None));
    is_hidden(&login("chief").share(created.no, "chief", May::Read));
    assert_eq!(heads(&mut *eve, None), []);

    let missing = ada.share(created.no, "nobody", May::Read).unwrap_err();
    assert!(matches!(&missing, RemoteError::NoSuchMember { member, .. } if member == "nobody"), "{missing}");
    assert!(missing.to_string().contains("has no member \"nobody\""), "{missing}");
    for name in ["ada", "", "a\nb", "a\0b"] {
        let refused = ada.share(created.no, name, May::Read);
        assert!(matches!(refused, Err(RemoteError::Refused { .. })), "{name:?}: {refused:?}");
    }
}

fn a_share_is_seen_as_a_change(login: TeamLogin<'_>) {
    let (mut ada, mut bob) = (login("ada"), login("bob"));
    let shared = create(&mut *ada, "shared");
    let moved = create(&mut *ada, "moved");
    ada.create_project("p").unwrap();
    ada.set_project(shared.no, Some("p")).unwrap();
    let mut since = || bob_time(&mut *bob);
    let before = since();
    assert!(ada.share(moved.no, "bob", May::Read).unwrap());
    assert_eq!(changed(login, before), ["moved"]);
    let before = since();
    assert!(ada.grant_project("p", "bob", May::Read).unwrap());
    assert_eq!(changed(login, before), ["shared"]);
    let before = since();
    assert!(ada.set_project(moved.no, Some("p")).unwrap());
    assert!(!ada.set_project(moved.no, Some("p")).unwrap());
    assert_eq!(changed(login, before), ["moved"]);
    // What is taken away is not there any more, and does not come up either.
    let before = since();
    assert!(ada.set_project(shared.no, None).unwrap());
    assert!(changed(login, before).is_empty());
}

fn bob_time(bob: &mut dyn Server) -> sessile_remote::ServerTime {
    bob.heads(None, &mut |_| ControlFlow::Continue(())).unwrap()
}

fn changed(login: TeamLogin<'_>, since: sessile_remote::ServerTime) -> Vec<String> {
    // The time of the last answer may be that of a change.
    let later = sessile_remote::ServerTime(since.0 + 1);
    heads(&mut *login("bob"), Some(later)).into_iter().map(|head| head.header_id).collect()
}

fn a_project_shares_its_sessions(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut eve) = (login("ada"), login("bob"), login("eve"));
    let hers = create(&mut *ada, "s");
    create(&mut *ada, "private");
    let his = create(&mut *bob, "s");
    ada.create_project("p").unwrap();
    for name in ["p", "", "a\nb"] {
        let refused = bob.create_project(name);
        assert!(matches!(refused, Err(RemoteError::Refused { .. })), "{name:?}: {refused:?}");
    }
    assert!(ada.set_project(hers.no, Some("p")).unwrap());
    is_unknown_project(&ada.set_project(hers.no, Some("q")));
    // Bob does not see the project, so it does not exist for him.
    is_unknown_project(&bob.set_project(his.no, Some("p")));
    is_unknown_project(&bob.project_members("p"));
    assert_eq!(bob.projects().unwrap(), []);

    ada.grant_project("p", "bob", May::Read).unwrap();
    assert_eq!(ids(&mut *bob), BTreeSet::from(["ada/s".to_owned(), "bob/s".to_owned()]));
    is_denied(&bob.append(hers.no, &batch(hers.position, &[b"x"]), None));
    is_denied(&bob.set_project(his.no, Some("p")));
    let projects = bob.projects().unwrap();
    assert_eq!((projects[0].name.as_str(), projects[0].made_by.as_str()), ("p", "ada"));
    assert_eq!((projects[0].may, projects[0].n_members, projects[0].n_sessions), (Some(May::Read), 2, Some(1)));

    ada.grant_project("p", "bob", May::Write).unwrap();
    assert!(bob.set_project(his.no, Some("p")).unwrap());
    assert!(bob.append(hers.no, &batch(hers.position, &[b"x"]), None).unwrap().is_some());
    assert!(ids(&mut *ada).contains("bob/s"));
    let through: Vec<_> = ada.shares(hers.no).unwrap().into_iter().map(|share| (share.member, share.project)).collect();
    assert_eq!(through, [("bob".to_owned(), Some("p".to_owned()))]);
    let members: Vec<_> = bob.project_members("p").unwrap().into_iter().map(|it| (it.member, it.may)).collect();
    assert_eq!(members, [("ada".to_owned(), May::Write), ("bob".to_owned(), May::Write)]);
    assert!(eve.projects().unwrap().is_empty() && ids(&mut *eve).is_empty());

    assert!(ada.revoke_project("p", "bob").unwrap());
    assert!(!ada.revoke_project("p", "bob").unwrap());
    assert_eq!(ids(&mut *bob), BTreeSet::from(["bob/s".to_owned()]));
    is_hidden(&lines(&mut *bob, hers.no));
    // His own session is still in the project. He takes it out.
    assert!(ids(&mut *ada).contains("bob/s"));
    assert!(bob.set_project(his.no, None).unwrap());
    assert!(!ids(&mut *ada).contains("bob/s"));
}

fn only_makers_and_administrators_grant_a_project(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut chief) = (login("ada"), login("bob"), login("chief"));
    let hers = create(&mut *ada, "s");
    ada.create_project("p").unwrap();
    ada.set_project(hers.no, Some("p")).unwrap();
    is_unknown_project(&bob.grant_project("p", "bob", May::Write));
    is_unknown_project(&bob.revoke_project("p", "ada"));
    ada.grant_project("p", "bob", May::Write).unwrap();
    is_denied(&bob.grant_project("p", "eve", May::Read));
    is_denied(&bob.revoke_project("p", "ada"));
    let missing = ada.grant_project("p", "nobody", May::Read);
    assert!(matches!(missing, Err(RemoteError::NoSuchMember { .. })), "{missing:?}");

    // An administrator sees the project, but not what is in it.
    let projects = chief.projects().unwrap();
    assert_eq!((projects[0].name.as_str(), projects[0].may, projects[0].n_sessions), ("p", None, None));
    assert!(ids(&mut *chief).is_empty());
    assert!(chief.revoke_project("p", "bob").unwrap());
    assert!(chief.grant_project("p", "eve", May::Read).unwrap());
    assert_eq!(ids(&mut *login("eve")), BTreeSet::from(["ada/s".to_owned()]));
    let own = create(&mut *chief, "c");
    is_denied(&chief.set_project(own.no, Some("p")));
}

fn members_are_listed_with_what_is_seen_of_them(login: TeamLogin<'_>) {
    let (mut ada, mut bob) = (login("ada"), login("bob"));
    let created: Vec<_> = ["r", "s", "t"].iter().map(|id| create(&mut *ada, id)).collect();
    ada.create_project("p").unwrap();
    ada.share(created[0].no, "bob", May::Read).unwrap();
    ada.set_project(created[0].no, Some("p")).unwrap();
    ada.set_project(created[1].no, Some("p")).unwrap();
    ada.grant_project("p", "bob", May::Read).unwrap();
    let seen_by = |server: &mut dyn Team| {
        let members = server.members().unwrap();
        assert!(members.is_sorted_by_key(|member| member.name.clone()));
        assert!(members.iter().all(|member| member.revoked_at.is_none()));
        let wanted = |name: &str| members.iter().find(|member| member.name == name).unwrap().clone();
        assert!(wanted("chief").is_admin && !wanted("ada").is_admin);
        [wanted("ada").n_sessions, wanted("bob").n_sessions]
    };
    assert_eq!(seen_by(&mut *ada), [3, 0]);
    assert_eq!(seen_by(&mut *bob), [2, 0], "each once");
    assert_eq!(seen_by(&mut *login("eve")), [0, 0]);
    assert_eq!(seen_by(&mut *login("chief")), [0, 0]);
}

fn every_act_is_on_record(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut chief) = (login("ada"), login("bob"), login("chief"));
    let created = create(&mut *ada, "s");
    let start = bob_time(&mut *bob);
    ada.share(created.no, "bob", May::Read).unwrap();
    ada.share(created.no, "bob", May::Read).unwrap();
    ada.share(created.no, "bob", May::Write).unwrap();
    ada.unshare(created.no, "bob").unwrap();
    ada.unshare(created.no, "bob").unwrap();
    bob.create_project("p").unwrap();
    bob.grant_project("p", "ada", May::Write).unwrap();
    ada.set_project(created.no, Some("p")).unwrap();
    ada.set_project(created.no, None).unwrap();
    bob.revoke_project("p", "ada").unwrap();
    // What fails is not on record.
    is_hidden(&ada.shares(create(&mut *bob, "x").no));

    let acts = |server: &mut dyn Team, limit: u32| {
        let records = server.audit(Some(start), limit).unwrap();
        assert!(records.iter().all(|record| record.at >= start));
        assert!(records.is_sorted_by(|one, other| one.at >= other.at), "the last first");
        records
    };
    let short = |record: &sessile_remote::AuditRecord| {
        let optional = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        [
            record.member.clone(),
            record.act.clone(),
            optional(&record.header_id),
            optional(&record.whom),
            optional(&record.project),
            optional(&record.detail),
        ]
        .join(" | ")
    };
    let all: Vec<String> = acts(&mut *chief, 100).iter().rev().map(short).collect();
    let expected = [
        "ada | share | s | bob | - | read",
        "ada | share | s | bob | - | write",
        "ada | unshare | s | bob | - | -",
        "bob | create project | - | - | p | -",
        "bob | grant project | - | ada | p | write",
        "ada | set project | s | - | p | -",
        "ada | set project | s | - | - | -",
        "bob | revoke project | - | ada | p | -",
    ];
    assert_eq!(all, expected);
    let own: Vec<String> = acts(&mut *bob, 100).iter().rev().map(short).collect();
    assert_eq!(own, [expected[3], expected[4], expected[7]]);
    assert_eq!(acts(&mut *chief, 1).iter().map(short).collect::<Vec<_>>(), [expected[7]]);
    assert!(login("eve").audit(None, 9).unwrap().is_empty());
}

/// F12: an attacker creates a session with the id of another member's session, before that member does.
fn the_first_to_take_an_id_takes_nothing_from_its_owner(login: TeamLogin<'_>) {
    let (mut eve, mut ada) = (login("eve"), login("ada"));
    let forged = create(&mut *eve, "s");
    let poison = batch(forged.position, &[b"poison"]);
    eve.append(forged.no, &poison, Some(b"summary")).unwrap();
    let new = NewSession { header_id: "s", header: HEADER, summary: Some(b"hers"), restore: false };
    let hers = ada.create(&new).unwrap();
    assert_ne!(hers.no, forged.no);
    assert_eq!((hers.position.n_lines, hers.owner.as_str(), hers.summary.as_deref()), (0, "ada", Some(&b"hers"[..])));
    let first = batch(hers.position, &[b"one"]);
    ada.append(hers.no, &first, None).unwrap();
    assert_eq!(lines(&mut *ada, hers.no).unwrap(), [("ada".to_owned(), b"one".to_vec())]);
    assert_eq!(lines(&mut *eve, forged.no).unwrap(), [("eve".to_owned(), b"poison".to_vec())]);
    // Creating it again shows each member her own session, and nothing of the other.
    assert_eq!(create(&mut *eve, "s").no, forged.no);
    assert_eq!(ids(&mut *eve), BTreeSet::from(["eve/s".to_owned()]));
    assert_eq!(ids(&mut *ada), BTreeSet::from(["ada/s".to_owned()]));
    assert_eq!(eve.head(Some("ada"), "s").unwrap(), None);
    // Shared with Ada, the forged one stands beside hers and never in its place.
    eve.share(forged.no, "ada", May::Write).unwrap();
    assert_eq!(ada.head(None, "s").unwrap().unwrap().no, hers.no);
    assert_eq!(ids(&mut *ada), BTreeSet::from(["ada/s".to_owned(), "eve/s".to_owned()]));
    // Burying hers does not touch the other, and leaves a tombstone to her alone.
    assert!(ada.bury("s").unwrap());
    assert_eq!(lines(&mut *eve, forged.no).unwrap().len(), 1);
    assert!(super::tombstones(&mut *eve).is_empty());
}

/// The runs with their first lines and lengths.
fn runs(server: &mut dyn Server, no: SessionNo, epoch: u32) -> Result<Vec<(u64, u64, String)>, RemoteError> {
    let runs = server.authors(no, epoch)?;
    Ok(runs.into_iter().map(|run| (run.first, run.n_lines, run.author)).collect())
}

fn runs_of_lines_have_authors(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut eve) = (login("ada"), login("bob"), login("eve"));
    let created = create(&mut *ada, "s");
    assert_eq!(runs(&mut *ada, created.no, 0).unwrap(), []);
    ada.share(created.no, "bob", May::Write).unwrap();
    // Single lines, then many, which become packs.
    let mut end = created.position;
    let mut put = |server: &mut dyn Server, n_lines: usize| {
        let batch = batch(end, &vec![b"x".as_slice(); n_lines]);
        end = server.append(created.no, &batch, None).unwrap().unwrap();
    };
    put(&mut *ada, 2);
    put(&mut *ada, 300);
    put(&mut *bob, 1);
    put(&mut *bob, 200);
    put(&mut *bob, 3);
    put(&mut *ada, 1);
    let expected = [(1, 302, "ada".to_owned()), (303, 204, "bob".to_owned()), (507, 1, "ada".to_owned())];
    assert_eq!(runs(&mut *ada, created.no, 0).unwrap(), expected);
    assert_eq!(runs(&mut *bob, created.no, 0).unwrap(), expected);
    is_hidden(&eve.authors(created.no, 0));
    for epoch in [1, u32::MAX] {
        assert!(matches!(ada.authors(created.no, epoch), Err(RemoteError::Replaced { .. })));
    }
    let replaced = ada.replace(created.no, &end, &Replacement::default(), &mut |start| {
        (start.n_lines == 0).then(|| batch(start, &[b"y", b"z"]))
    });
    assert_eq!(replaced.unwrap().unwrap().n_lines, 2);
    assert_eq!(runs(&mut *bob, created.no, 1).unwrap(), [(1, 2, "ada".to_owned())]);
}

fn members_see_the_project_of_a_session(login: TeamLogin<'_>) {
    let (mut ada, mut bob, mut eve) = (login("ada"), login("bob"), login("eve"));
    let created = create(&mut *ada, "s");
    let project = |server: &mut dyn Server| {
        let head = server.head(Some("ada"), "s").unwrap().unwrap();
        assert_eq!(heads(server, None), std::slice::from_ref(&head));
        head.project
    };
    assert_eq!(project(&mut *ada), None);
    ada.create_project("p").unwrap();
    ada.set_project(created.no, Some("p")).unwrap();
    ada.grant_project("p", "bob", May::Read).unwrap();
    // Eve sees the session, and not the project.
    ada.share(created.no, "eve", May::Read).unwrap();
    assert_eq!(project(&mut *ada).as_deref(), Some("p"));
    assert_eq!(project(&mut *bob).as_deref(), Some("p"));
    assert_eq!(project(&mut *eve), None);
}

use super::*;

const FILE: &str = "/d/s.jsonl";

/// Creates a machine whose disk has the empty directory `/d`.
fn machine() -> SimOs {
    let os = SimOs::new();
    os.make_directories("/d");
    os.settle();
    os
}

/// Creates such a machine with a durable file.
fn machine_with(content: &str) -> SimOs {
    let os = machine();
    os.foreign_rewrite(FILE, content);
    os.settle();
    os
}

fn open(os: &SimOs, path: &str, mode: Mode) -> Box<dyn OsFile> {
    os.open(Path::new(path), mode).unwrap()
}

fn errno<T>(result: io::Result<T>) -> Option<Errno> {
    result.err().as_ref().and_then(Errno::from_io_error)
}

fn text(os: &SimOs, path: &str) -> Option<String> {
    os.read_file(path).map(|bytes| String::from_utf8(bytes).unwrap())
}

/// Returns the distinct contents that a path may have after power loss, sorted.
fn after_power_loss(os: &SimOs, path: &str) -> Vec<Option<String>> {
    let mut found: Vec<_> = (0..300).map(|seed| text(&os.power_loss(seed), path)).collect();
    found.sort();
    found.dedup();
    found
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn handles_read_what_others_append() {
    let os = machine();
    let file = open(&os, FILE, Mode::New);
    assert_eq!(file.append(b"one\n").unwrap(), 4);
    os.foreign_append(FILE, "two\n");
    assert_eq!(file.append(b"three\n").unwrap(), 6);
    assert_eq!(file.position().unwrap(), 14);
    let mut buffer = [0; 6];
    assert_eq!(file.read_at(&mut buffer, 4).unwrap(), 6);
    assert_eq!(&buffer, b"two\nth");
    assert_eq!(file.read_at(&mut buffer, 99).unwrap(), 0);
    let stat = file.stat().unwrap();
    assert_eq!((stat.length, stat.n_links, stat.mode, stat.is_own), (14, 1, 0o600, true));
}

#[test]
fn modes_decide_where_a_write_goes() {
    let os = machine_with("abc");
    let sidecar = open(&os, FILE, Mode::Sidecar);
    sidecar.write_at(b"X", 1).unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "aXc");
    sidecar.append(b"Y").unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "YXc", "without O_APPEND, `append` writes at the handle's own position");
    sidecar.set_length(5).unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "YXc\0\0");
    open(&os, FILE, Mode::Append).write_at(b"Z", 0).unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "YXc\0\0Z", "with O_APPEND, Linux ignores the offset");
    assert_eq!(errno(open(&os, FILE, Mode::Read).append(b"x")), Some(Errno::BADF));
    assert_eq!(errno(os.open(Path::new(FILE), Mode::New)), Some(Errno::EXIST));
    assert_eq!(errno(os.open(Path::new("/d/none"), Mode::Append)), Some(Errno::NOENT));
    assert_eq!(errno(os.open(Path::new("/none/x"), Mode::New)), Some(Errno::NOENT));
    assert_eq!(errno(os.open(Path::new("/d/s.jsonl/x"), Mode::Read)), Some(Errno::NOTDIR));
    assert_eq!(errno(os.open(Path::new("/d"), Mode::Append)), Some(Errno::ISDIR));
}

#[test]
fn links_are_followed_by_readers_only() {
    let os = machine_with("abc");
    os.make_link("/d/link", "s.jsonl");
    os.make_link("/way", "/d");
    os.make_link("/loop", "/loop");
    let target = os.stat(Path::new(FILE)).unwrap();
    assert_eq!(open(&os, "/d/link", Mode::Read).stat().unwrap(), target);
    assert_eq!(os.stat(Path::new("/d/link")).unwrap(), target);
    assert_ne!(os.link_stat(Path::new("/d/link")).unwrap(), target);
    assert_eq!(errno(os.open(Path::new("/d/link"), Mode::Append)), Some(Errno::LOOP));
    assert_eq!(errno(os.open(Path::new("/d/link"), Mode::Sidecar)), Some(Errno::LOOP));
    assert_eq!(errno(os.open(Path::new("/d/link"), Mode::New)), Some(Errno::EXIST));
    assert_eq!(open(&os, "/way/../d/./s.jsonl", Mode::Append).stat().unwrap(), target);
    assert_eq!(open(&os, "/way/s.jsonl", Mode::Append).stat().unwrap(), target);
    assert_eq!(errno(os.stat(Path::new("/loop"))), Some(Errno::LOOP));
}

#[test]
fn pipes_are_neither_files_nor_directories() {
    let os = machine();
    os.make_special("/d/pipe");
    let pipe = Path::new("/d/pipe");
    assert_eq!(os.stat(pipe).unwrap().kind, sessile_store::os::FileKind::Other);
    assert_eq!(errno(os.open(pipe, Mode::Read)), Some(Errno::NXIO));
}

#[test]
fn names_behave_as_on_unix() {
    let os = machine_with("abc");
    let [file, second, other] = [FILE, "/d/second", "/d/other"].map(Path::new);
    let handle = open(&os, FILE, Mode::Append);
    os.link(file, second).unwrap();
    assert_eq!(handle.stat().unwrap().n_links, 2);
    assert_eq!(errno(os.link(file, second)), Some(Errno::EXIST));
    os.rename(file, second).unwrap();
    assert_eq!(handle.stat().unwrap().n_links, 2, "renaming one name of a file to another name of it does nothing");
    os.foreign_append(other, "other");
    os.rename(other, file).unwrap();
    assert_eq!((text(&os, FILE), os.read_file(other)), (Some("other".to_owned()), None));
    assert_eq!(handle.stat().unwrap().n_links, 1);
    os.remove(second).unwrap();
    assert_eq!(handle.stat().unwrap().n_links, 0);
    assert_eq!(errno(os.remove(second)), Some(Errno::NOENT));

    let inner = Path::new("/d/inner");
    os.make_directory(inner).unwrap();
    assert_eq!(os.stat(inner).unwrap().mode, 0o700);
    assert_eq!(errno(os.make_directory(inner)), Some(Errno::EXIST));
    assert_eq!(errno(os.remove(inner)), Some(Errno::ISDIR));
    assert_eq!(errno(os.remove_directory(Path::new("/d"))), Some(Errno::NOTEMPTY));
    assert_eq!(errno(os.remove_directory(file)), Some(Errno::NOTDIR));
    assert_eq!(errno(os.rename(Path::new("/d"), &inner.join("x"))), Some(Errno::INVAL));
    assert_eq!(errno(os.rename(file, inner)), Some(Errno::ISDIR));
    let mut listed = os.list(Path::new("/d")).unwrap();
    listed.sort();
    assert_eq!(listed, [inner, file]);
    os.remove_directory(inner).unwrap();
    assert_eq!(os.list(Path::new("/d")).unwrap(), [file]);
}

#[test]
fn permissions_are_checked() {
    let os = machine_with("abc");
    let (file, directory) = (Path::new(FILE), Path::new("/d"));
    os.set_mode(file, 0o400).unwrap();
    assert_eq!(errno(os.open(file, Mode::Append)), Some(Errno::ACCESS));
    open(&os, FILE, Mode::Read);
    os.set_mode(directory, 0o500).unwrap();
    assert_eq!(errno(os.open(&directory.join("new"), Mode::New)), Some(Errno::ACCESS));
    assert_eq!(errno(os.remove(file)), Some(Errno::ACCESS));
    os.set_own(file, false);
    assert!(!os.stat(file).unwrap().is_own);
    assert_eq!(errno(os.open(file, Mode::Read)), Some(Errno::ACCESS));
    assert_eq!(errno(os.set_mode(file, 0o600)), Some(Errno::PERM));
}

#[test]
fn time_passes_when_advanced() {
    let os = machine_with("abc");
    let (start, boot) = (os.now_ms(), os.boot_ms());
    os.wait(Duration::from_millis(20));
    os.step_clock(-5);
    assert_eq!(os.boot_ms() - boot, 20, "the boot clock cannot be set");
    assert_eq!(os.now_ms(), start + 15);
    let modified = || os.stat(Path::new(FILE)).unwrap().modified_ms;
    assert_eq!(modified(), start);
    os.touch(Path::new(FILE)).unwrap();
    assert_eq!(modified(), start + 15);
    assert!(os.calls().iter().all(|call| call.starts_with("stat") || call.starts_with("touch")));
    assert!(!os.has_threads());
}

#[test]
fn synced_content_survives_power_loss() {
    let os = machine_with("abc");
    let file = open(&os, FILE, Mode::Append);
    file.append(b"def").unwrap();
    assert!(after_power_loss(&os, FILE).len() > 1);
    file.sync_data().unwrap();
    assert_eq!(after_power_loss(&os, FILE), some(&["abcdef"]));
    assert_eq!(text(&os, FILE).unwrap(), "abcdef", "power loss leaves the original as it is");
}

#[test]
fn unsynced_appends_survive_in_every_way() {
    let os = machine_with("a");
    let file = open(&os, FILE, Mode::Append);
    file.append(b"bc").unwrap();
    file.append(b"d").unwrap();
    let expected = ["a", "a\0\0\0", "a\0\0d", "ab", "abc", "abc\0", "abcd"];
    assert_eq!(after_power_loss(&os, FILE), some(&expected));
}

#[test]
fn an_unsynced_truncation_may_be_lost() {
    let os = machine_with("abc");
    os.foreign_truncate(FILE, 1);
    assert_eq!(after_power_loss(&os, FILE), some(&["a", "abc"]));
}

#[test]
fn a_new_file_needs_its_directory_synced() {
    let os = machine();
    let file = open(&os, FILE, Mode::New);
    file.append(b"abc").unwrap();
    file.sync_all().unwrap();
    assert_eq!(after_power_loss(&os, FILE), [None, Some("abc".to_owned())]);
    os.sync_directory(Path::new("/d")).unwrap();
    assert_eq!(after_power_loss(&os, FILE), some(&["abc"]));
}

#[test]
fn a_new_directory_needs_its_own_name_synced() {
    let os = machine();
    os.make_directory(Path::new("/d/new")).unwrap();
    os.foreign_append("/d/new/x", "");
    os.sync_directory(Path::new("/d/new")).unwrap();
    assert_eq!(after_power_loss(&os, "/d/new/x"), [None, Some(String::new())]);
    os.sync_directory(Path::new("/d")).unwrap();
    assert_eq!(after_power_loss(&os, "/d/new/x"), some(&[""]));
}

#[test]
fn a_rename_is_atomic() {
    let os = machine_with("old");
    os.foreign_append("/d/new", "new");
    os.make_directories("/e");
    os.settle();
    os.rename(Path::new("/d/new"), Path::new(FILE)).unwrap();
    os.rename(Path::new(FILE), Path::new("/e/there")).unwrap();
    let mut found: Vec<_> = (0..300)
        .map(|seed| {
            let os = os.power_loss(seed);
            ["/d/new", FILE, "/e/there"].map(|path| text(&os, path).unwrap_or_default())
        })
        .collect();
    found.sort();
    found.dedup();
    assert_eq!(found, [["", "", "new"], ["", "new", ""], ["new", "old", ""]]);
    os.sync_directory(Path::new("/e")).unwrap();
    assert_eq!(after_power_loss(&os, FILE), [None]);
}

#[test]
fn nothing_is_lost_with_the_directory_it_is_moved_into_or_out_of() {
    let os = machine_with("abc");
    os.make_directories("/new");
    os.rename(Path::new(FILE), Path::new("/new/s")).unwrap();
    os.remove_directory(Path::new("/d")).unwrap();
    let holds = |os: &SimOs| text(os, FILE).or(text(os, "/new/s"));
    assert!((0..300).all(|seed| holds(&os.power_loss(seed)).as_deref() == Some("abc")));
    os.sync_directory(Path::new("/new")).unwrap();
    assert_eq!(after_power_loss(&os, "/new/s"), some(&["abc"]));
}

#[test]
fn an_unsynced_removal_may_be_lost() {
    let os = machine_with("abc");
    os.remove(Path::new(FILE)).unwrap();
    assert_eq!(after_power_loss(&os, FILE), [None, Some("abc".to_owned())]);
    os.sync_directory(Path::new("/d")).unwrap();
    assert_eq!(after_power_loss(&os, FILE), [None]);
}

#[test]
fn locks_belong_to_handles() {
    let os = machine_with("");
    let other = os.process(2000);
    let [first, second, third] = [&os, &os, &other].map(|os| open(os, FILE, Mode::Sidecar));
    assert!(first.try_lock(Lock::Exclusive).unwrap());
    assert!(!second.try_lock(Lock::Exclusive).unwrap(), "locks exclude other handles of the same process");
    assert!(!third.try_lock(Lock::Shared).unwrap());
    first.unlock().unwrap();
    assert!(second.try_lock(Lock::Shared).unwrap());
    assert!(third.try_lock(Lock::Shared).unwrap());
    assert!(!second.try_lock(Lock::Exclusive).unwrap());
    drop(third);
    assert!(first.try_lock(Lock::Exclusive).unwrap(), "a failed upgrade releases the lock");
    drop(first);
    assert!(os.change(|world| world.foreign_lock(Path::new(FILE), Lock::Exclusive)));
    assert!(!second.try_lock(Lock::Shared).unwrap());
    os.change(|world| world.foreign_unlock(Path::new(FILE)));
    assert!(second.try_lock(Lock::Shared).unwrap());
    os.set_lock_error(Some(Errno::NOLCK));
    assert_eq!(errno(second.try_lock(Lock::Shared)), Some(Errno::NOLCK));
}

#[test]
fn a_killed_process_leaves_its_writes_but_not_its_locks() {
    let os = machine_with("");
    let other = os.process(2000);
    assert_eq!((os.whoami().0, other.whoami().0), (1000, 2000));
    let theirs = open(&other, FILE, Mode::Append);
    theirs.append(b"abc").unwrap();
    assert!(theirs.try_lock(Lock::Exclusive).unwrap());
    other.kill();
    assert!(is_death(&theirs.append(b"x").unwrap_err()));
    assert!(is_death(&other.stat(Path::new(FILE)).unwrap_err()));
    assert!(!other.crashed());
    assert!(open(&os, FILE, Mode::Append).try_lock(Lock::Exclusive).unwrap());
    assert_eq!(text(&os, FILE).unwrap(), "abc");
    let again = other.process(2000);
    open(&again, FILE, Mode::Append);
}

#[test]
fn calls_are_recorded_and_fail_when_planned() {
    let os = machine_with("abc");
    os.process(7).fail_call(1, Errno::IO);
    os.fail_call(3, Errno::INTR);
    let file = open(&os, FILE, Mode::Append);
    file.append(b"d").unwrap();
    assert_eq!(errno(file.append(b"e")), Some(Errno::INTR));
    file.append(b"f").unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "abcdf");
    assert_eq!(os.calls(), ["open s.jsonl Append", "append s.jsonl 1", "append s.jsonl 1", "append s.jsonl 1"]);
    os.clear_calls();
    assert!(os.calls().is_empty());
}

#[test]
fn a_short_write_is_followed_by_a_failed_one() {
    let os = machine_with("");
    let file = open(&os, FILE, Mode::Append);
    os.fail_call_short(1, Errno::NOSPC, 2);
    assert_eq!(file.append(b"abc").unwrap(), 2);
    file.stat().unwrap();
    assert_eq!(errno(file.append(b"c")), Some(Errno::NOSPC));
    file.append(b"d").unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "abd");
}

#[test]
fn lasting_failures_last_until_healed() {
    let os = machine_with("");
    let file = open(&os, FILE, Mode::Append);
    os.fail_from(2, Errno::DQUOT, CallKind::is_write);
    file.append(b"a").unwrap();
    assert_eq!(errno(file.append(b"b")), Some(Errno::DQUOT));
    file.stat().unwrap();
    assert_eq!(errno(file.append(b"c")), Some(Errno::DQUOT));
    os.heal();
    file.append(b"d").unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "ad");
}

#[test]
fn a_failed_sync_loses_unsynced_writes() {
    let os = machine_with("a");
    let file = open(&os, FILE, Mode::Append);
    file.append(b"bc").unwrap();
    os.fail_call(1, Errno::IO);
    assert_eq!(errno(file.sync_data()), Some(Errno::IO));
    file.sync_data().unwrap();
    assert_eq!(text(&os, FILE).unwrap(), "abc", "it can still be read");
    assert_eq!(after_power_loss(&os, FILE), some(&["a"]), "the second sync saved nothing");
    file.append(b"d").unwrap();
    file.sync_data().unwrap();
    assert_eq!(after_power_loss(&os, FILE), some(&["a\0\0d"]));
}

#[test]
fn a_sync_failing_with_another_error_loses_nothing() {
    let os = machine_with("a");
    let file = open(&os, FILE, Mode::Append);
    file.append(b"b").unwrap();
    os.fail_call(1, Errno::INTR);
    assert_eq!(errno(file.sync_data()), Some(Errno::INTR));
    assert!(after_power_loss(&os, FILE).len() > 1);
    file.sync_data().unwrap();
    assert_eq!(after_power_loss(&os, FILE), some(&["ab"]));
}

#[test]
fn a_full_disk_writes_short_and_then_fails() {
    let os = machine_with("abc");
    os.set_capacity(Some(8));
    let file = open(&os, FILE, Mode::Append);
    assert_eq!(file.free_space().unwrap(), 5);
    assert_eq!(errno(file.reserve(3, 6)), Some(Errno::NOSPC));
    assert_eq!(file.append(b"defghij").unwrap(), 5);
    assert_eq!(errno(file.append(b"i")), Some(Errno::NOSPC));
    let other = open(&os, "/d/other", Mode::Sidecar);
    assert_eq!(errno(other.append(b"x")), Some(Errno::NOSPC));
    os.foreign_remove(FILE);
    assert_eq!(file.free_space().unwrap(), 0, "an open file keeps its space");
    drop(file);
    assert_eq!(other.free_space().unwrap(), 8);
    other.append(b"x").unwrap();
    assert_eq!(other.write_at(b"y", 0).unwrap(), 1);
}

#[test]
fn reserved_space_stays_available() {
    let os = machine_with("abc");
    os.set_capacity(Some(8));
    let file = open(&os, FILE, Mode::Append);
    file.reserve(3, 4).unwrap();
    assert_eq!(file.stat().unwrap().length, 3);
    assert_eq!(file.free_space().unwrap(), 1);
    let other = open(&os, "/d/other", Mode::Sidecar);
    assert_eq!(other.append(b"xyz").unwrap(), 1);
    assert_eq!(file.append(b"defgh").unwrap(), 4);
}

#[test]
fn a_crash_tears_the_write_it_hits() {
    let expected = ["", "ab", "abc", "abcd"];
    for (tear, expected) in Tear::EVERY.into_iter().zip(expected) {
        let os = machine_with("");
        let file = open(&os, FILE, Mode::Append);
        file.try_lock(Lock::Exclusive).unwrap();
        os.crash_at(1, tear);
        assert!(!os.crashed());
        assert!(is_death(&file.append(b"abcd").unwrap_err()));
        assert!(os.crashed());
        assert_eq!(text(&os, FILE).unwrap(), expected, "{tear:?}");
        assert!(is_death(&file.stat().unwrap_err()));
        assert_eq!(os.calls().len(), 3, "calls after the crash do not count");
        assert!(open(&os.process(1), FILE, Mode::Append).try_lock(Lock::Exclusive).unwrap());
    }
}

#[test]
fn a_crash_does_other_calls_completely_or_not_at_all() {
    for tear in Tear::EVERY {
        let os = machine_with("abc");
        os.crash_at(1, tear);
        assert!(is_death(&os.remove(Path::new(FILE)).unwrap_err()));
        assert_eq!(os.read_file(FILE).is_none(), tear == Tear::All, "{tear:?}");
    }
}

#[test]
fn foreign_programs_rewrite_and_replace() {
    let os = machine_with("abc");
    let file = open(&os, FILE, Mode::Append);
    let before = file.stat().unwrap().identity;
    os.foreign_rewrite(FILE, "xy");
    assert_eq!(file.stat().unwrap().length, 2);
    assert_eq!(os.stat(Path::new(FILE)).unwrap().identity, before);
    os.foreign_truncate(FILE, 1);
    assert_eq!(file.stat().unwrap().length, 1);
    os.foreign_replace(FILE, "new");
    assert_eq!(file.stat().unwrap().n_links, 0);
    assert_ne!(os.stat(Path::new(FILE)).unwrap().identity, before);
    os.foreign_remove(FILE);
    assert_eq!(text(&os, FILE), None);
    os.foreign_append(FILE, "made");
    assert_eq!(text(&os, FILE).unwrap(), "made");
}

#[test]
fn races_happen_at_the_planned_call() {
    let os = machine_with("");
    let file = open(&os, FILE, Mode::Append);
    os.on_call(2, |world| world.foreign_append(Path::new(FILE), b"F"));
    let other = os.process(2000);
    os.interleave(3, move |_| {
        open(&other, FILE, Mode::Append).append(b"P").unwrap();
    });
    os.interleave(4, SimOs::kill);
    for byte in [b"1", b"2", b"3"] {
        file.append(byte).unwrap();
    }
    assert!(is_death(&file.append(b"4").unwrap_err()));
    assert_eq!(text(&os, FILE).unwrap(), "1F2P3");
}

#[test]
fn forked_machines_are_independent() {
    let os = machine_with("abc");
    let file = open(&os, FILE, Mode::Append);
    file.append(b"d").unwrap();
    file.try_lock(Lock::Exclusive).unwrap();
    let fork = os.fork();
    assert_eq!(fork.snapshot(), os.snapshot());
    assert!(open(&fork, FILE, Mode::Append).try_lock(Lock::Exclusive).unwrap());
    fork.foreign_append(FILE, "e");
    assert_ne!(fork.snapshot(), os.snapshot());
    assert_eq!(text(&os, FILE).unwrap(), "abcd");
    assert!(after_power_loss(&os.fork(), FILE).len() > 1, "a fork does not sync data");
    assert_eq!(os.power_loss(3).snapshot(), os.power_loss(3).snapshot());
}

#[test]
fn snapshots_contain_every_file() {
    let os = machine_with("abc");
    os.make_link("/d/link", "s.jsonl");
    os.make_special("/d/pipe");
    let seen = os.snapshot().into_iter().map(|(path, seen)| (path.to_str().unwrap().to_owned(), seen));
    let expected = [
        ("/d".to_owned(), SnapshotEntry::Directory),
        ("/d/link".to_owned(), SnapshotEntry::Link("s.jsonl".into())),
        ("/d/pipe".to_owned(), SnapshotEntry::Special),
        (FILE.to_owned(), SnapshotEntry::File(b"abc".to_vec())),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn the_disk_is_shared_if_configured() {
    let os = machine();
    assert!(!os.is_shared(Path::new("/d")).unwrap());
    os.set_shared(true);
    assert!(os.is_shared(Path::new("/d")).unwrap());
    os.set_whoami(5, "elsewhere");
    assert_eq!(os.whoami(), (5, "elsewhere".to_owned()));
}

/// Performs every call that changes a disk, and returns the results.
fn acts_of(os: &dyn Os, root: &Path) -> Vec<String> {
    let mut acts = Vec::new();
    let mut note = |what: String| acts.push(what);
    let result_text = |result: io::Result<String>| result.unwrap_or_else(|error| format!("{:?}", error.raw_os_error()));
    let [file, second, inner, link, pipe] = ["file", "second", "inner", "link", "pipe"].map(|name| root.join(name));
    for mode in [Mode::Read, Mode::Append, Mode::Sidecar, Mode::New] {
        for path in [&link, &pipe, &root.to_owned(), &root.join("none/x"), &file.join("x"), &file] {
            let kind = os.open(path, mode).and_then(|file| file.stat()).map(|stat| format!("{:?}", stat.kind));
            note(format!("open {} {mode:?}: {}", name_of(path), result_text(kind)));
        }
    }
    let [append, sidecar, read] = [Mode::Append, Mode::Sidecar, Mode::Read].map(|mode| os.open(&file, mode).unwrap());
    for (name, handle) in [("append", &append), ("sidecar", &sidecar), ("read", &read)] {
        let mut bytes = [0; 40];
        note(format!("{name} append: {}", result_text(handle.append(b"abc").map(|n| n.to_string()))));
        note(format!("{name} position: {}", result_text(handle.position().map(|n| n.to_string()))));
        note(format!("{name} write_at: {}", result_text(handle.write_at(b"XY", 1).map(|n| n.to_string()))));
        note(format!("{name} append: {}", result_text(handle.append(b"de").map(|n| n.to_string()))));
        note(format!("{name} set_length: {}", result_text(handle.set_length(9).map(|()| String::new()))));
        note(format!("{name} reserve nothing: {}", result_text(handle.reserve(0, 0).map(|()| String::new()))));
        note(format!("{name} read: {}", result_text(handle.read_at(&mut bytes, 0).map(|n| format!("{n} {bytes:?}")))));
    }
    let (exclusive, shared) = (Lock::Exclusive, Lock::Shared);
    let tries = [(&append, exclusive), (&sidecar, shared), (&append, shared), (&sidecar, shared), (&append, exclusive)];
    for (handle, lock) in tries {
        note(format!("lock {lock:?}: {}", result_text(handle.try_lock(lock).map(|taken| taken.to_string()))));
    }
    note(format!(
        "lock after giving up: {}",
        result_text(sidecar.try_lock(Lock::Exclusive).map(|taken| taken.to_string()))
    ));
    let mut unit =
        |what: &str, result: io::Result<()>| note(format!("{what}: {}", result_text(result.map(|()| String::new()))));
    unit("link", os.link(&file, &second));
    unit("link again", os.link(&file, &second));
    unit("link directory", os.link(root, &root.join("x")));
    unit("rename to itself", os.rename(&file, &second));
    unit("make", os.make_directory(&inner));
    unit("make again", os.make_directory(&inner));
    unit("remove directory", os.remove(&inner));
    unit("remove file as directory", os.remove_directory(&file));
    unit("remove full directory", os.remove_directory(root));
    unit("file over directory", os.rename(&file, &inner));
    unit("directory over file", os.rename(&inner, &file));
    unit("into itself", os.rename(&inner, &inner.join("x")));
    unit("rename", os.rename(&second, &inner.join("moved")));
    unit("remove full directory", os.remove_directory(&inner));
    unit("remove missing", os.remove(&second));
    unit("remove", os.remove(&file));
    unit("sync", os.sync_directory(&inner));
    unit("mode", os.set_mode(&inner, 0o750));
    unit("touch missing", os.touch(&file));
    note(format!("links: {}", append.stat().unwrap().n_links));
    note(format!("mode: {:o}", os.stat(&inner).unwrap().mode));
    note(format!(
        "link: {:?} {:?}",
        result_text(os.stat(&link).map(|_| String::new())),
        os.link_stat(&link).unwrap().kind
    ));
    let mut listed: Vec<_> = os.list(root).unwrap().iter().map(|path| name_of(path)).collect();
    listed.sort();
    note(format!("list: {listed:?} {}", result_text(os.list(&link).map(|_| String::new()))));
    acts
}

#[test]
fn acts_as_the_real_system_does() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("file", directory.path().join("link")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(directory.path().join("pipe")).status().unwrap();
    assert!(made.success());
    let real = acts_of(&sessile_store::os::RealOs, directory.path());

    let os = machine();
    os.make_link("/d/link", "file");
    os.make_special("/d/pipe");
    let simulated = acts_of(&os, Path::new("/d"));
    let name = name_of(directory.path());
    let real: Vec<_> = real.iter().map(|act| act.replace(&name, "d")).collect();
    assert_eq!(simulated, real);
}

//! A merge that fails, or whose process dies, at each of its system calls.

use sessile::merge::MergeOptions;
use sessile::write::{Durability, WriteOptions};
use sessile_testkit::sim::{CallKind, Errno, SimOs, Tear};

use crate::stage::{
    assert_absorbed, assert_desktop_unchanged, desktop, laptop, laptop_text, machine, merge, merge_into, read,
    sessions, target,
};

/// The result of a merge into a new file.
fn expected() -> String {
    let os = machine();
    merge(&os, false).unwrap();
    read(&os, target())
}

/// Every file whose name is not a temporary one.
fn is_there(os: &SimOs) -> bool {
    os.read_file(target()).is_some()
}

#[test]
fn a_new_file_is_whole_or_not_there() {
    let expected = expected();
    for (n, tear) in (1..).flat_map(|n| Tear::EVERY.map(|tear| (n, tear))) {
        let os = machine();
        let dying = os.process(2000);
        dying.crash_at(n, tear);
        let merged = merge(&dying, false);
        if !dying.crashed() {
            break;
        }
        let story = format!("died at call {n}: {merged:?}");
        for os in [os.fork(), os.power_loss(n), os.power_loss(n + 1000)] {
            if is_there(&os) {
                assert_eq!(read(&os, target()), expected, "{story}");
            }
            assert_eq!(read(&os, laptop()), laptop_text(), "{story}");
            assert_desktop_unchanged(&os, &story);
            merge(&os.process(3000), is_there(&os)).unwrap();
            assert_eq!(read(&os, target()), expected, "{story}");
        }
    }
    let os = machine();
    merge(&os, false).unwrap();
    assert_eq!((0..100).filter(|seed| read(&os.power_loss(*seed), target()) == expected).count(), 100);
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one() {
    let expected = expected();
    let with_old = || {
        let os = machine();
        os.foreign_append(target(), "old");
        os.settle();
        os
    };
    for (n, tear) in (1..).flat_map(|n| Tear::EVERY.map(|tear| (n, tear))) {
        let os = with_old();
        let dying = os.process(2000);
        dying.crash_at(n, tear);
        let merged = merge(&dying, true);
        if !dying.crashed() {
            break;
        }
        for os in [os.fork(), os.power_loss(n), os.power_loss(n + 1000)] {
            let text = read(&os, target());
            assert!(text == "old" || text == expected, "died at call {n}: {merged:?}: {text}");
        }
    }
    let os = with_old();
    merge(&os, true).unwrap();
    assert_eq!((0..100).filter(|seed| read(&os.power_loss(*seed), target()) == expected).count(), 100);
}

#[test]
fn a_session_that_absorbs_only_grows() {
    for (n, tear) in (1..).flat_map(|n| Tear::EVERY.map(|tear| (n, tear))) {
        let os = machine();
        let dying = os.process(2000);
        dying.crash_at(n, tear);
        let merged = merge_into(&dying, 2);
        if !dying.crashed() {
            break;
        }
        let story = format!("died at call {n}: {merged:?}");
        os.advance(20_000);
        assert!(read(&os, laptop()).starts_with(&laptop_text()), "{story}");
        merge_into(&os.process(3000), 3).unwrap_or_else(|error| panic!("{story}: {error}"));
        assert_absorbed(&os, &story);
        assert_desktop_unchanged(&os, &story);
        // Whatever was written at once has its mark.
        let text = read(&os, laptop());
        assert!(text.lines().last().unwrap().contains("sessile.merge"), "{story}: {text}");
        sessions(&os.process(4000), 4).rename(laptop(), Some("next"), false).unwrap();
        let running = sessile::os::Os::list(&os, std::path::Path::new("/home/u/state/running")).unwrap_or_default();
        let is_mark = |path: &&std::path::PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
        assert_eq!(running.iter().filter(is_mark).count(), 0, "{story}");
    }
}

#[test]
fn an_acknowledged_merge_survives_power_loss() {
    let os = machine();
    let writing = WriteOptions { durability: Durability::Sync, ..WriteOptions::default() };
    let ours = sessions(&os, 2).writing(writing);
    ours.merge_into(&laptop(), &[desktop()], &MergeOptions::default()).unwrap();
    for seed in 0..100 {
        assert_absorbed(&os.power_loss(seed), &format!("seed {seed}"));
    }
}

#[test]
fn a_full_or_read_only_disk_leaves_everything_as_it_was() {
    let expected = expected();
    let changes = |call: CallKind| call.is_write() || call.changes_names();
    for errno in [Errno::NOSPC, Errno::ROFS, Errno::IO] {
        for n in 1.. {
            let os = machine();
            os.fail_from(n, errno, changes);
            let merged = merge(&os, false);
            let is_over = (os.calls().len() as u64) < n;
            os.heal();
            assert_eq!(merged.is_ok(), is_there(&os), "call {n}: {merged:?}");
            assert_eq!(read(&os, laptop()), laptop_text());
            assert_desktop_unchanged(&os, "a full disk");
            if merged.is_err() {
                merge(&os, false).unwrap();
            }
            assert_eq!(read(&os, target()), expected, "call {n}");
            if is_over {
                break;
            }
        }
        for n in 1.. {
            let os = machine();
            os.fail_from(n, errno, changes);
            let merged = merge_into(&os, 2);
            let is_over = (os.calls().len() as u64) < n;
            os.heal();
            assert!(read(&os, laptop()).starts_with(&laptop_text()));
            if merged.is_ok() {
                assert_absorbed(&os, &format!("call {n}"));
            } else {
                merge_into(&os.process(3000), 3).unwrap_or_else(|error| panic!("call {n}: {merged:?}, {error}"));
                assert_absorbed(&os, &format!("call {n}, again"));
            }
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_dry_run_writes_nothing() {
    let os = machine();
    let before = os.snapshot();
    let options = || MergeOptions { dry_run: true, ..MergeOptions::default() };
    let ours = sessions(&os, 2);
    let planned = ours.merge(&[laptop(), desktop()], Some(&target()), false, &options()).unwrap();
    assert_eq!((planned.n_entries, planned.n_written, planned.renamed.len()), (5, 5, 1));
    let planned = ours.merge_into(&laptop(), &[desktop()], &options()).unwrap();
    assert_eq!((planned.n_written, planned.operation), (2, None));
    assert_eq!(os.snapshot(), before);
}

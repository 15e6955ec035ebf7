//! Merges that run at the same time as other programs.

use std::sync::{Arc, Mutex};

use sessile::SessionError;
use sessile::date::Timestamp;
use sessile::draft::UserMessage;
use sessile::merge::MergeOptions;
use sessile::write::StoreError;

use crate::stage::{
    NOW, assert_absorbed, assert_desktop_unchanged, desktop, entry, ids, laptop, machine, merge, merge_into, read,
    sessions, target,
};

#[test]
fn two_merges_into_one_session_append_each_entry_once() {
    let mut n_both = 0;
    for n in 1.. {
        let os = machine();
        let theirs = Arc::new(Mutex::new(None));
        let (there, rival) = (Arc::clone(&theirs), os.process(2000));
        os.interleave(n, move |_| *there.lock().unwrap() = Some(merge_into(&rival, 3)));
        let ours = merge_into(&os, 2);
        let Some(theirs) = theirs.lock().unwrap().take() else { break };
        let story = format!("before call {n}: {ours:?}, {theirs:?}");
        for merged in [&ours, &theirs] {
            assert!(matches!(merged, Ok(_) | Err(SessionError::Store(StoreError::Busy { .. }))), "{story}");
        }
        assert!(ours.is_ok() || theirs.is_ok(), "{story}");
        n_both += usize::from(ours.is_ok() && theirs.is_ok());
        assert_absorbed(&os, &story);
        let n_marks = read(&os, laptop()).matches("sessile.merge").count();
        assert_eq!(n_marks, 1, "{story}: {}", read(&os, laptop()));
    }
    assert!(n_both > 10, "{n_both}");
}

#[test]
fn an_append_at_any_moment_is_kept_and_continued() {
    let mut n_acknowledged = 0;
    for n in 1.. {
        let os = machine();
        let theirs = Arc::new(Mutex::new(None));
        let (there, rival) = (Arc::clone(&theirs), os.process(2000));
        os.interleave(n, move |_| {
            let append = || {
                let mut session = sessions(&rival, 3).open(laptop())?;
                session.append_message(UserMessage::new("acknowledged", Timestamp::from_ms(NOW)))
            };
            *there.lock().unwrap() = Some(append());
        });
        let ours = merge_into(&os, 2);
        let Some(theirs) = theirs.lock().unwrap().take() else { break };
        let story = format!("before call {n}: {ours:?}, {theirs:?}");
        assert!(ours.is_ok(), "{story}");
        assert_absorbed(&os, &story);
        let Ok(id) = theirs else { continue };
        n_acknowledged += 1;
        let text = read(&os, laptop());
        assert_eq!(ids(&text).iter().filter(|other| **other == id.to_string()).count(), 1, "{story}");
        // The session continues there: its context has the message.
        let session = sessions(&os, 4).open(laptop()).unwrap();
        let context = session.path().into_iter().filter_map(|row| session.outline().id(row)).collect::<Vec<_>>();
        assert!(context.contains(&id), "{story}: {text}");
    }
    assert!(n_acknowledged > 10, "{n_acknowledged}");
}

#[test]
fn foreign_lines_at_any_moment_are_kept() {
    for n in 1.. {
        let os = machine();
        let n_calls = Arc::new(Mutex::new(false));
        let has_run = Arc::clone(&n_calls);
        os.interleave(n, move |os| {
            *has_run.lock().unwrap() = true;
            os.foreign_append(laptop(), entry("pi", "x", 9) + "\n");
        });
        let ours = merge_into(&os, 2);
        if !*n_calls.lock().unwrap() {
            break;
        }
        let story = format!("before call {n}: {ours:?}");
        assert!(ours.is_ok(), "{story}");
        assert_absorbed(&os, &story);
        let text = read(&os, laptop());
        assert_eq!(ids(&text).iter().filter(|id| *id == "pi").count(), 1, "{story}: {text}");
        let leaf = sessions(&os, 4).open(laptop()).unwrap();
        let on_path = leaf.path().into_iter().filter_map(|row| leaf.outline().id(row)).any(|id| id == "pi");
        assert!(on_path, "{story}: {text}");
    }
}

#[test]
fn a_copy_that_is_replaced_while_it_is_read_is_read_again() {
    let mut n_new = 0;
    for n in 1.. {
        let os = machine();
        let has_run = Arc::new(Mutex::new(false));
        let flag = Arc::clone(&has_run);
        os.interleave(n, move |os| {
            *flag.lock().unwrap() = true;
            let scrubbed = read(os, desktop()).replace("\"content\":\"d\"", "\"content\":\"[REDACTED]\"");
            os.change(|world| world.foreign_replace(&desktop(), scrubbed.as_bytes()));
        });
        let merged = merge(&os, false);
        if !*has_run.lock().unwrap() {
            break;
        }
        assert!(merged.is_ok(), "call {n}: {merged:?}");
        // The calls after the last look at the copies are few.
        n_new += usize::from(read(&os, target()).contains("[REDACTED]"));
    }
    assert!(n_new > 10, "{n_new}");
}

#[test]
fn the_session_by_another_name_lacks_nothing() {
    let os = machine();
    let link = std::path::PathBuf::from("/media/link.jsonl");
    os.make_link(&link, laptop());
    let before = read(&os, laptop());
    let ours = sessions(&os, 2);
    let merged = ours.merge_into(&laptop(), std::slice::from_ref(&link), &MergeOptions::default()).unwrap();
    assert_eq!((merged.n_written, merged.operation), (0, None));
    assert_eq!(read(&os, laptop()), before);
    // As a result, it is refused.
    for name in [&link, &laptop(), &desktop()] {
        let refused = ours.merge(&[laptop(), desktop()], Some(name), true, &MergeOptions::default());
        assert!(matches!(refused, Err(SessionError::Store(StoreError::Exists { .. }))), "{refused:?}");
    }
    assert_eq!(read(&os, laptop()), before);
    assert_desktop_unchanged(&os, "a link");
}

//! Hooks as programs: their input, their allowed output, and when they are not run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sessile::event::{EventKind, Handlers, Outcome};
use sessile::hooks::HookFolder;
use sessile::os::RealOs;
use sessile::{Cancel, NewSession, SessionError};
use tempfile::TempDir;

use crate::{compact, file, host, user};

/// Long enough for every program here, however slow the machine.
const TIMEOUT: Duration = Duration::from_mins(10);

/// Puts a hook into a folder.
fn hook(folder: &Path, event: &str, script: &str) -> PathBuf {
    let path = folder.join(event);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

fn registered(folder: &Path, time: Duration) -> Handlers {
    let handlers = Handlers::new();
    HookFolder::new(Arc::new(RealOs), folder, time).register(&handlers);
    handlers
}

fn failures(handlers: &Handlers) -> Vec<String> {
    handlers.take_failures().into_iter().map(|failure| failure.error).collect()
}

#[test]
fn a_hook_receives_its_event_and_context() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let out = dir.path().join("out");
    let script = format!(
        "cat > '{0}'; echo \"$SESSILE_HOOK $SESSILE_SESSION_ID $SESSILE_SESSION_FILE $PWD $#\" >> '{0}'",
        out.display()
    );
    hook(hooks.path(), "session_info_changed", &script);
    let handlers = registered(hooks.path(), TIMEOUT);
    assert!(handlers.wants(EventKind::SessionInfoChanged) && !handlers.wants(EventKind::EntryAppended));
    let mut host = host(dir.path(), &handlers);
    host.set_session_name("n").unwrap();
    assert!(failures(&handlers).is_empty());
    let (file, id, cwd) = (file(&host), host.session().session_id(), dir.path().display());
    let (file, real) = (file.display(), dir.path().canonicalize().unwrap());
    let json = format!(
        r#"{{"type":"session_info_changed","name":"n","session":{{"file":"{file}","id":"{id}","cwd":"{cwd}"}}}}"#
    );
    let output = fs::read_to_string(out).unwrap();
    assert_eq!(output, format!("{json}\nsession_info_changed {id} {file} {} 0\n", real.display()));
}

#[test]
fn a_hook_can_reply() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    hook(hooks.path(), "session_before_switch", "echo '{\"cancel\": true}'");
    hook(hooks.path(), "session_before_compact", "cat >/dev/null; echo '{\"compaction\": {\"summary\": \"theirs\"}}'");
    hook(hooks.path(), "entry_appended", "echo '{\"name\": \"named by a hook\"}'");
    let handlers = registered(hooks.path(), TIMEOUT);
    let mut host = host(dir.path(), &handlers);
    let by = hooks.path().join("session_before_switch").display().to_string();
    assert_eq!(host.new_session(NewSession::default()).unwrap(), Outcome::Cancelled { by });
    let sessile::compaction::Compacted::Done(report) = compact(&mut host, None).unwrap() else { panic!("nothing") };
    assert_eq!((report.summary.as_str(), report.from_hook), ("theirs", true));
    host.session_mut().append_message(user("x")).unwrap();
    assert_eq!(host.session().session_name().unwrap().as_deref(), Some("named by a hook"));
    assert!(failures(&handlers).is_empty());
}

#[test]
fn a_failed_hook_is_reported_and_changes_nothing() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let name = "session_before_switch";
    let path = hooks.path().join(name).display().to_string();
    for (script, reported) in [
        ("echo oh dear >&2; echo '{\"cancel\": true}'; exit 3", "failed (exit status: 3): oh dear"),
        ("kill -9 $$", "failed (signal: 9 (SIGKILL))"),
        ("echo no", "did not print a valid reply: its output is not JSON"),
        ("echo '[]'", "did not print a valid reply: a reply must be a JSON object or null, not an array"),
        ("echo '{\"label\": 1}'", "did not print a valid reply: label in a reply must be a string"),
        ("head -c 5000000 /dev/zero", "printed more than 4194304 bytes"),
    ] {
        hook(hooks.path(), name, script);
        let handlers = registered(hooks.path(), TIMEOUT);
        assert_eq!(
            host(dir.path(), &handlers).new_session(NewSession::default()).unwrap(),
            Outcome::Done(()),
            "{script}"
        );
        assert_eq!(failures(&handlers), [format!("{path} {reported}")]);
    }
    fs::write(hooks.path().join(name), "#!/no/such/interpreter\n").unwrap();
    let handlers = registered(hooks.path(), TIMEOUT);
    host(dir.path(), &handlers).new_session(NewSession::default()).unwrap();
    assert!(failures(&handlers)[0].starts_with(&format!("cannot run {path}: ")));
}

#[test]
fn a_slow_hook_is_killed_with_its_children() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (pid, after) = (dir.path().join("pid"), dir.path().join("after"));
    let script = format!(
        "sh -c 'echo $$ > {0}.tmp; mv {0}.tmp {0}; while :; do sleep 1; done; echo > {1}' &\n\
         while :; do sleep 1; done",
        pid.display(),
        after.display()
    );
    hook(hooks.path(), "session_before_switch", &script);
    // Short, because the test waits for it in full; the hook only has to start a process in this time.
    let handlers = registered(hooks.path(), Duration::from_millis(1500));
    assert_eq!(host(dir.path(), &handlers).new_session(NewSession::default()).unwrap(), Outcome::Done(()));
    let reported = failures(&handlers);
    assert!(reported[0].ends_with("took longer than 1.5 s"), "{reported:?}");
    // On a very slow machine it may not have started anything yet.
    if let Ok(pid) = fs::read_to_string(&pid) {
        let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
        let is_running = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        // It was killed; the system takes a moment to remove it.
        while is_running() {
            std::thread::yield_now();
        }
    }
    assert!(!after.exists());
}

#[test]
fn a_hook_ends_when_its_operation_is_cancelled() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let begun = dir.path().join("begun");
    hook(hooks.path(), "session_before_compact", &format!("echo > '{}'; while :; do sleep 1; done", begun.display()));
    let handlers = registered(hooks.path(), TIMEOUT);
    let mut host = host(dir.path(), &handlers);
    let cancel = Cancel::default();
    let settings = sessile::compaction::CompactionSettings { keep_recent_tokens: 1, ..Default::default() };
    let options = sessile::compaction::CompactOptions { settings, cancel: cancel.clone(), ..Default::default() };
    let canceller = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::yield_now();
        }
        cancel.cancel();
    });
    let compacted = host.session_mut().compact(options, &crate::FixedSummary(Some("s")), &mut |_| {});
    assert!(matches!(compacted, Err(SessionError::Cancelled)));
    canceller.join().unwrap();
    assert!(failures(&handlers).is_empty(), "a cancelled hook has not failed");
}

#[test]
fn files_that_other_users_can_write_are_not_run() {
    let (dir, config) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let hooks = &config.path().join("hooks");
    fs::create_dir(hooks).unwrap();
    let ran = dir.path().join("ran");
    let path = hook(hooks, "session_before_switch", &format!("echo > '{}'", ran.display()));
    let set = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(hooks, 0o700);
    let handlers = registered(hooks, TIMEOUT);
    let mut host = host(dir.path(), &handlers);
    let mut reported = || {
        host.new_session(NewSession::default()).unwrap();
        failures(&handlers)
    };
    let refused = |reason: String| [format!("refused to run the hook {}: {reason}", path.display())];
    let writable = |what: &Path, by: &str| {
        let what = what.display();
        refused(format!("{what} is writable by {by}; to fix that, run `chmod go-w {what}`"))
    };
    set(&path, 0o600);
    assert_eq!(reported(), refused(format!("it is not executable; to fix that, run `chmod u+x {}`", path.display())));
    for what in [path.as_path(), hooks, config.path()] {
        for (mode, by) in [(0o702, "every user"), (0o777, "every user"), (0o720, "its group"), (0o775, "its group")] {
            set(&path, 0o700);
            set(what, mode);
            assert_eq!(reported(), writable(what, by));
            set(what, 0o700);
        }
    }
    fs::rename(&path, hooks.join("aside")).unwrap();
    assert!(reported().is_empty(), "a removed hook is not reported");
    fs::create_dir(&path).unwrap();
    assert_eq!(reported(), refused("it is not a regular file".to_owned()));
    fs::remove_dir(&path).unwrap();
    // Only root can give files away.
    fs::copy(hooks.join("aside"), &path).unwrap();
    if std::os::unix::fs::chown(&path, Some(1), None).is_ok() {
        let what = path.display();
        let reason = format!("{what} belongs to another user; to fix that, run `chown \"$USER\" {what}`");
        assert_eq!(reported(), refused(reason));
    }
    assert!(!ran.exists());
}

#[test]
fn only_event_files_in_the_folder_are_hooks() {
    let hooks = TempDir::new().unwrap();
    assert!(
        HookFolder::new(Arc::new(RealOs), hooks.path().join("nowhere"), TIMEOUT).register(&Handlers::new()).is_empty()
    );
    hook(hooks.path(), "session_switch", "");
    hook(hooks.path(), "README", "");
    assert!(HookFolder::new(Arc::new(RealOs), hooks.path(), TIMEOUT).register(&Handlers::new()).is_empty());
    hook(hooks.path(), "leaf_moved", "");
    assert_eq!(HookFolder::new(Arc::new(RealOs), hooks.path(), TIMEOUT).register(&Handlers::new()).len(), 1);
}

/// A hook that reads nothing of a large event, and one that reads all of it.
#[test]
fn large_events_reach_a_hook() {
    let (dir, hooks) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let out = dir.path().join("out");
    for script in ["exit 0".to_owned(), format!("wc -c > '{}'", out.display())] {
        hook(hooks.path(), "entry_appended", &script);
        let handlers = registered(hooks.path(), TIMEOUT);
        let mut host = host(dir.path(), &handlers);
        host.session_mut().append_message(user(&"x".repeat(3 << 20))).unwrap();
        assert!(failures(&handlers).is_empty());
    }
    let n_read: usize = fs::read_to_string(out).unwrap().trim().parse().unwrap();
    assert!(n_read > 3 << 20);
}

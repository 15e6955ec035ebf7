//! A session as a web page: what happens to files. What the page does is tested in a browser by `cargo xtask web-test`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use super::{Home, age, output_of, small, user};

/// Everything about a file that an export must not change.
fn state(path: &Path) -> (Vec<u8>, SystemTime, u64, u32) {
    let facts = fs::metadata(path).unwrap();
    (fs::read(path).unwrap(), facts.modified().unwrap(), facts.ino(), facts.mode())
}

/// Files that pi would change when it exports them.
fn files(home: &Home) -> Vec<(&'static str, std::path::PathBuf)> {
    let write = |name: &'static str, text: &str| {
        let path = home.dir.path().join(format!("{name}.jsonl"));
        fs::write(&path, text).unwrap();
        age(&path);
        (name, path)
    };
    let header = |version: &str| {
        format!(r#"{{"type":"session"{version},"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/x"}}"#)
    };
    let message =
        r#"{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}"#;
    let entry = user("a", None, "hello");
    let files = vec![
        write("v1", &format!("{}\n{message}\n", header(""))),
        write("v2", &format!("{}\n{entry}\n", header(r#","version":2"#))),
        write("torn", &format!("{}\n{entry}\n{{\"type\":\"mess", header(r#","version":3"#))),
        write("open-end", &format!("{}\n{entry}", header(r#","version":3"#))),
        write("crlf", &format!("{}\r\n{entry}\r\n", header(r#","version":3"#))),
        write("header", &format!("{}\n", header(r#","version":3"#))),
        write("0400", &format!("{}\n{entry}\n", header(r#","version":3"#))),
    ];
    fs::set_permissions(&files.last().unwrap().1, fs::Permissions::from_mode(0o400)).unwrap();
    files
}

#[test]
fn an_export_does_not_change_the_session() {
    let home = Home::new();
    for (name, path) in files(&home) {
        let before = state(&path);
        for (out, extra) in [("page.html", None), ("folder", Some("--split"))] {
            let out = home.dir.path().join(format!("{name}-{out}"));
            let words = ["export", path.to_str().unwrap(), "--format", "html", "-o", out.to_str().unwrap()];
            let words: Vec<&str> = words.into_iter().chain(extra).collect();
            let done = home.run(&words);
            assert_eq!(done.code, 0, "{name}: {}", done.err);
            assert!(state(&path) == before, "{name} changed");
        }
    }
}

#[test]
fn an_empty_file_is_refused_and_stays_empty() {
    let home = Home::new();
    let path = home.dir.path().join("empty.jsonl");
    fs::write(&path, "").unwrap();
    age(&path);
    let before = state(&path);
    let done = home.run(&["export", path.to_str().unwrap(), "--format", "html", "-o", "page.html"]);
    assert_eq!(done.code, 3);
    assert!(done.err.contains("is not a session"), "{}", done.err);
    assert!(state(&path) == before);
    assert!(!home.project().join("page.html").exists());
}

#[test]
fn a_session_on_a_read_only_file_system_can_be_exported() {
    let home = Home::new();
    let sessions = home.dir.path().join("read-only");
    fs::create_dir(&sessions).unwrap();
    for (name, path) in files(&home) {
        fs::rename(&path, sessions.join(format!("{name}.jsonl"))).unwrap();
    }
    let dir = sessions.to_str().unwrap();
    let mount = format!("mount --bind {dir} {dir} && mount -o remount,ro,bind {dir}");
    let can_mount = Command::new("unshare").args(["--mount", "sh", "-c", &mount]).output();
    if !can_mount.is_ok_and(|output| output.status.success()) {
        println!("skipped: cannot mount a file system here");
        return;
    }
    for name in ["v1", "v2", "torn", "open-end", "crlf", "header", "0400"] {
        let path = sessions.join(format!("{name}.jsonl"));
        let before = state(&path);
        let out = home.dir.path().join(format!("{name}-ro.html"));
        let plain = home.command(&[]);
        let script = format!(
            "{mount} && ! touch {dir}/x 2>/dev/null && exec {} export {} --format html -o {}",
            plain.get_program().to_str().unwrap(),
            path.display(),
            out.display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(home.project());
        for (key, value) in plain.get_envs().filter_map(|(key, value)| Some((key, value?))) {
            command.env(key, value);
        }
        let done = output_of(&mut command);
        assert_eq!(done.code, 0, "{name}: {}", done.err);
        assert!(fs::read_to_string(&out).unwrap().starts_with("<!DOCTYPE html>"));
        assert!(state(&path) == before, "{name} changed");
    }
}

#[test]
fn a_page_is_private_and_never_replaces_anything_unasked() {
    let home = Home::new();
    home.session("a.jsonl", &small());
    let page = home.project().join("page.html");
    let export = |extra: &[&str]| home.run(&[&["export", "s1", "--format", "html", "-o", "page.html"], extra].concat());
    assert_eq!(export(&[]).code, 0);
    assert_eq!(fs::metadata(&page).unwrap().mode() & 0o777, 0o600);
    fs::write(&page, "mine").unwrap();
    assert_ne!(export(&[]).code, 0);
    assert_eq!(fs::read_to_string(&page).unwrap(), "mine");
    assert_eq!(export(&["--force"]).code, 0);
    assert!(fs::read_to_string(&page).unwrap().starts_with("<!DOCTYPE html>"));
    // A link is not followed: neither the link nor its target changes unasked, and --force replaces the link.
    let target = home.project().join("target");
    fs::write(&target, "mine").unwrap();
    fs::remove_file(&page).unwrap();
    symlink(&target, &page).unwrap();
    assert_ne!(export(&[]).code, 0);
    export(&["--force"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    fs::remove_file(&page).unwrap();
    symlink(home.project().join("nowhere"), &page).unwrap();
    assert_ne!(export(&[]).code, 0, "a link to nothing is in the way as well");
    assert!(!home.project().join("nowhere").exists());
}

#[test]
fn a_split_page_is_a_private_folder() {
    let home = Home::new();
    home.session("a.jsonl", &small());
    let export = || home.run(&["export", "s1", "--format", "html", "-o", "folder", "--split"]);
    assert_eq!(export().code, 0);
    let folder = home.project().join("folder");
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(folder.join("index.html")).unwrap().mode() & 0o777, 0o600);
    for file in fs::read_dir(folder.join("data")).unwrap() {
        assert_eq!(file.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
    }
    assert_ne!(export().code, 0, "the folder exists");
    // A link to a folder is not followed.
    fs::create_dir(home.project().join("elsewhere")).unwrap();
    symlink(home.project().join("elsewhere"), home.project().join("link")).unwrap();
    assert_ne!(home.run(&["export", "s1", "--format", "html", "-o", "link", "--split"]).code, 0);
    symlink(home.project().join("nowhere"), home.project().join("dangling")).unwrap();
    assert_ne!(home.run(&["export", "s1", "--format", "html", "-o", "dangling", "--split"]).code, 0);
    assert!(!home.project().join("nowhere").exists());
}

//! Imports that are killed, and the next ones.

use super::agents::{ID, claude_dir, fixture, import, put};
use super::changes::path;
use super::*;

/// The hidden files beside the sessions of the project.
fn hidden(home: &Home) -> Vec<String> {
    let Ok(directory) = std::fs::read_dir(home.session_dir()) else { return Vec::new() };
    let names = directory.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.') && name.contains("sessile-tmp-")).collect()
}

/// The number of a process that has ended.
fn ended_process() -> u32 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sessile")).arg("--version").stdout(Stdio::null()).spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn the_next_import_removes_what_a_killed_one_has_left() {
    let home = Home::new();
    let text = fixture(&home, "claude", "answers.jsonl");
    let line = text.lines().find(|line| line.contains(r#""type":"user""#)).unwrap();
    let bulk = "x".repeat(100_000);
    let lines = (0..300).map(|number| {
        line.replace(r#""parentUuid":null"#, r#""parentUuid":"u1""#)
            .replace(r#""uuid":"u1""#, &format!(r#""uuid":"more{number}""#))
            .replace("Fix the", &bulk)
            + "\n"
    });
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &(text.clone() + &lines.collect::<String>()));
    let words = ["import", "--from", "claude", ID];
    let mut killed = home.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while hidden(&home).is_empty() {
        assert!(killed.try_wait().unwrap().is_none(), "the import ended before it could be killed");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(hidden(&home).len(), 1, "the killed import leaves its file");
    assert_eq!(home.run(&words).code, 0);
    assert_eq!(hidden(&home), Vec::<String>::new());
}

#[test]
fn files_of_running_processes_and_of_other_sessions_stay() {
    let home = Home::new();
    put(&claude_dir(&home).join(format!("{ID}.jsonl")), &fixture(&home, "claude", "answers.jsonl"));
    let dry = import(&home, &["claude", ID, "--dry-run"]);
    let name = Path::new(dry[0]["path"].as_str().unwrap()).file_name().unwrap().to_string_lossy().into_owned();
    let dead = ended_process();
    let leave = |name: &str, pid: u32| {
        let name = format!(".{name}.sessile-tmp-{pid}-0");
        std::fs::write(home.session_dir().join(&name), "{").unwrap();
        name
    };
    std::fs::create_dir_all(home.session_dir()).unwrap();
    leave(&name, dead);
    let mut staying = vec![leave(&name, std::process::id()), leave("other.jsonl", dead)];
    import(&home, &["claude", ID, "--dry-run"]);
    assert_eq!(hidden(&home).len(), 3);
    assert_eq!(import(&home, &["claude", ID])[0]["state"], "created");
    let mut left = hidden(&home);
    left.sort();
    staying.sort();
    assert_eq!(left, staying);

    // The copy of a session file is such a file, too.
    let backup = home.dir.path().join("backup.jsonl");
    write_session(&backup, path(&home.project()), &[""; 0]);
    leave("backup.jsonl", dead);
    assert_eq!(home.run(&["import", path(&backup)]).code, 0);
    let mut left = hidden(&home);
    left.sort();
    assert_eq!(left, staying);
}

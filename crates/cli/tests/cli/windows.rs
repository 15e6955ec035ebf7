//! Paths, open files and consoles of Windows.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::windows::fs::OpenOptionsExt;

use super::changes::{last, lines, path};
use super::*;

/// The environment of a user who has set nothing, with this working directory.
fn as_user(home: &Home, cwd: &Path, words: &[&str]) -> CommandOutput {
    let mut command = home.command(words);
    for name in ["PI_CODING_AGENT_DIR", "SESSILE_CACHE_DIR", "SESSILE_CONFIG_DIR", "SESSILE_STATE_DIR"] {
        command.env_remove(name);
    }
    output_of(command.current_dir(cwd))
}

#[test]
fn sessions_are_where_pi_looks_for_them() {
    let home = Home::new();
    let cwd = home.dir.path().join("src").join("My-Proj.1");
    std::fs::create_dir_all(&cwd).unwrap();
    let run = |words: &[&str]| as_user(&home, &cwd, words);
    let made = run(&["new", "--name", "One"]);
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let file = PathBuf::from(made.out.trim_end());
    let text = path(&cwd);
    assert!(text.starts_with(r"C:\") && file.starts_with(home.dir.path()), "{text} {}", file.display());
    let encoded = format!("--C-{}--", text[2..].replace('\\', "-"));
    let folder = home.dir.path().join(".pi").join("agent").join("sessions").join(encoded);
    assert_eq!(file.parent().unwrap(), folder);
    assert_eq!(lines(&file)[0]["cwd"], text);

    // Sessile and other programs may spell the file and the directory in other ways.
    let slashes = path(&file).replace('\\', "/");
    let lower = path(&file).replacen("C:", "c:", 1);
    let without_drive = path(&file)[2..].to_owned();
    for (number, spelling) in [path(&file), &slashes, &lower, &without_drive].into_iter().enumerate() {
        run(&["append", spelling, &format!("text {number}")]).expect(0, "");
        assert_eq!(last(&file)["message"]["content"], format!("text {number}"));
    }
    let relative = Path::new("..").join("..").join(file.strip_prefix(home.dir.path()).unwrap());
    let shown = run(&["show", path(&relative)]);
    assert!(shown.code == 0 && shown.out.contains("text 3"), "{}{}", shown.out, shown.err);
    let listed = run(&["list", "--json"]).json();
    assert_eq!((&listed[0]["path"], listed.as_array().unwrap().len()), (&path(&file).into(), 1));
    assert!(run(&["list", "--all"]).out.contains(r"~\src\My-Proj.1"));
    let by_directory = as_user(&home, &home.project(), &["list", "--json"]);
    assert_eq!((by_directory.code, by_directory.out.as_str()), (1, "[]\n"), "another directory");

    let before = std::fs::read(&file).unwrap();
    run(&["delete", path(&file), "--yes", "--force"]).expect(0, "");
    assert!(!file.exists());
    let trashed = home.dir.path().join(".local").join("share").join("sessile").join("Trash");
    assert_eq!(std::fs::read(trashed.join(file.file_name().unwrap())).unwrap(), before);
    run(&["undo"]).expect(0, "");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn directories_of_other_drives_and_shells_are_understood() {
    let home = Home::new();
    let directory_of = |cwd: &str| {
        let planned = home.run(&["new", "--cwd", cwd, "--dry-run", "--json"]);
        let planned: Value = serde_json::from_str(&planned.out).unwrap();
        let directory = PathBuf::from(planned["directory"].as_str().unwrap());
        directory.file_name().unwrap().to_str().unwrap().to_owned()
    };
    for (cwd, name) in [
        (r"D:\work\x", "--D--work-x--"),
        ("D:/work/./y/../x/", "--D--work-x--"),
        ("/d/work/x", "--D--work-x--"),
        (r"\work\x", "--C--work-x--"),
        (r"C:\", "--C----"),
        (r"\\server\share\x", "---server-share-x--"),
    ] {
        assert_eq!(directory_of(cwd), name, "{cwd}");
    }
}

/// Windows refuses to rename, replace or remove files that other programs have opened in the strictest way.
#[test]
fn a_file_that_a_program_keeps_to_itself_is_left_alone() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let before = std::fs::read(&file).unwrap();
    let only_ours = OpenOptions::new().read(true).share_mode(0).open(&file).unwrap();
    for words in [&["append", path(&file), "x"][..], &["show", path(&file)], &["delete", path(&file), "--yes"]] {
        let output = home.run(words);
        assert_eq!((output.code, output.out.as_str()), (3, ""), "{words:?}");
        assert!(output.err.starts_with("error: ") && output.err.contains("x.jsonl"), "{words:?}: {}", output.err);
    }
    drop(only_ours);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    home.run(&["append", path(&file), "x"]).expect(0, "");
}

/// Node and most other programs open files so that all others may use them meanwhile.
#[test]
fn files_that_others_have_open_are_written_replaced_and_removed() {
    let home = Home::new();
    let file = home.session("x.jsonl", &small());
    let mut other = OpenOptions::new().read(true).append(true).open(&file).unwrap();
    home.run(&["append", path(&file), "x"]).expect(0, "");
    let entry = user("z", Some("d"), "from another program") + "\n";
    other.write_all(entry.as_bytes()).unwrap();
    let parent = last(&file)["id"].as_str().unwrap().to_owned();
    home.run(&["append", path(&file), "y"]).expect(0, "");
    assert_eq!((parent.as_str(), last(&file)["parentId"].as_str()), ("z", Some("z")));

    let page = home.project().join("page.md");
    std::fs::write(&page, "old").unwrap();
    let reader = File::open(&page).unwrap();
    home.run(&["export", path(&file), "--format", "md", "-o", path(&page), "--force"]).expect(0, "");
    assert!(std::fs::read_to_string(&page).unwrap().contains("from another program"));
    assert_eq!(std::io::read_to_string(reader).unwrap(), "old");

    home.run(&["delete", path(&file), "--yes", "--force"]).expect(0, "");
    assert!(!file.exists());
    drop(other);
    home.run(&["undo"]).expect(0, "");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&entry));
}

#[test]
fn the_program_has_its_name_without_an_ending() {
    let home = Home::new();
    let help = home.run(&["tree", "--help"]).out;
    assert!(help.contains("Usage: sessile tree ") && !help.contains(".exe"), "{help}");
}

/// In a console, the program knows the height, so long output goes to the pager.
#[test]
#[ignore = "needs a console; `cargo xtask platforms windows` runs it in one"]
fn long_output_is_paged_in_a_console() {
    let home = Home::new();
    let long: Vec<String> = (0..300).map(|n| user(&format!("e{n}"), None, "Größe 潮汐")).collect();
    let (short, long) = (home.session("x.jsonl", &small()), home.session("y.jsonl", &long));
    let paged = home.dir.path().join("paged");
    let console = |name: &str| OpenOptions::new().read(true).write(true).open(name).unwrap();
    for (file, is_paged) in [(&short, false), (&long, true)] {
        let mut command = home.command(&["entries", path(file)]);
        command.stdin(console("CONIN$")).stdout(console("CONOUT$")).stderr(console("CONOUT$"));
        let status = command.env("SESSILE_PAGER", format!("echo paged> {}", paged.display())).status().unwrap();
        assert_eq!((status.code(), paged.exists()), (Some(0), is_paged), "{}", file.display());
    }
    assert_eq!(std::fs::read_to_string(&paged).unwrap().trim(), "paged");
}

//! Where sessions are: rows 1 to 7.

use std::path::{Path, PathBuf};

use sessile::directory::default_session_dir;
use sessile::{NewSession, SessionError};
use sessile_testkit::{Both, SideBySide, quoted, static_call};

use crate::lines::user_op;

/// Creates a session in a directory in both; `None` and `""` mean the default one.
fn create(sides: &mut SideBySide, cwd: &str, dir: Option<&str>) -> Both {
    let dir_argument = dir.map(quoted);
    let args = [Some(quoted(cwd)), dir_argument];
    let args: Vec<&str> = args.iter().flatten().map(String::as_str).collect();
    let dir = dir.map(Path::new);
    sides.both(&static_call("create", &args), |sessions| {
        sessions.clone().with_session_dir(dir.unwrap_or(Path::new(""))).create(cwd)
    })
}

/// Creates a session with a given id in both.
fn create_as(sides: &mut SideBySide, id: &str) -> Both {
    let options = format!(r#"{{"id":{}}}"#, quoted(id));
    let request = static_call("create", &["\"/w\"", &sides.pi_argument("s"), &options]);
    let dir = sides.our_path("s");
    let options = NewSession { id: Some(id.to_owned().into()), ..NewSession::default() };
    sides.both(&request, |sessions| sessions.clone().with_session_dir(&dir).create_with("/w", &options))
}

fn pi_dir(sides: &mut SideBySide) -> String {
    serde_json::from_str(&sides.pi_view("dir").unwrap()).unwrap()
}

fn our_dir(sides: &mut SideBySide) -> PathBuf {
    sides.ours().session_dir().unwrap().to_path_buf()
}

/// Asserts that both use the same session directory, and returns the last part of its name.
fn same_dir_name(sides: &mut SideBySide) -> String {
    let pi = pi_dir(sides);
    let ours = our_dir(sides).to_string_lossy().into_owned();
    assert_eq!(pi, sides.as_pi(&ours));
    Path::new(&pi).file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn row_01_the_root_directory_is_four_dashes() {
    let mut sides = SideBySide::new();
    for (cwd, name) in [
        ("/", "----"),
        ("/home/u/proj", "--home-u-proj--"),
        ("/home/u/proj/", "--home-u-proj--"),
        ("/home/u/../v/./x", "--home-v-x--"),
        ("/a/C:\\x y", "--a-C--x y--"),
        ("//net/share", "--net-share--"),
        ("/日本/é", "--日本-é--"),
        ("file:///tmp/q%20r", "--tmp-q r--"),
    ] {
        create(&mut sides, cwd, None).done();
        assert_eq!(same_dir_name(&mut sides), name, "{cwd}");
        sides.assert_same();
    }
    // These depend on the home and the working directory, so only the two results are compared.
    for cwd in ["~", "~/x", "~u/x", ".", " /lead"] {
        create(&mut sides, cwd, None).done();
        let ours = our_dir(&mut sides);
        assert_eq!(ours, default_session_dir(sides.sessions().environment(), Path::new(cwd)), "{cwd}");
        let side = sides.our_path("").to_string_lossy().replace('/', "-");
        let pi_side = sides.pi_path("").to_string_lossy().replace('/', "-");
        let as_pi =
            sides.as_pi(&ours.to_string_lossy()).replace(side.trim_end_matches('-'), pi_side.trim_end_matches('-'));
        assert_eq!(pi_dir(&mut sides), as_pi, "{cwd}");
    }
}

#[test]
fn row_02_two_directories_may_share_a_name() {
    let mut sides = SideBySide::new();
    for cwd in ["/a/b-c", "/a-b/c"] {
        create(&mut sides, cwd, None).done();
        // The name must equal pi's. Row 70 covers that the two projects do not mix.
        assert_eq!(same_dir_name(&mut sides), "--a-b-c--");
    }
}

#[test]
fn row_03_creating_makes_the_directory_and_no_file() {
    let mut sides = SideBySide::new();
    create(&mut sides, "/w/x", None).done();
    sides.assert_same();
    assert!(Path::new(&pi_dir(&mut sides)).is_dir());
    assert!(our_dir(&mut sides).is_dir());
    let file: PathBuf = serde_json::from_str(&sides.pi_view("file").unwrap()).unwrap();
    assert!(!file.exists());
    assert!(!sides.ours().session_file().unwrap().exists());
    assert_eq!(sides.pi_view("usesDefault").as_deref(), Ok("true"));
    assert!(sides.ours().uses_default_session_dir());
}

#[test]
fn row_04_ids_given_by_callers_are_validated() {
    let mut sides = SideBySide::new();
    for id in ["a..b", "a", "ab", "a-b_c.d", "A1"] {
        create_as(&mut sides, id).done();
        sides.assert_view("sessionId", &quoted(id));
        sides.assert_same();
    }
    for id in ["a\n", "", "-a", "a-", ".a", "a.", "a b", "a/b", "é"] {
        let (pi, ours) = create_as(&mut sides, id).refused();
        assert!(pi.contains("Session id must be non-empty"), "{pi}");
        assert!(matches!(ours, SessionError::BadSessionId { .. }), "{ours}");
    }
}

#[test]
fn row_05_pi_accepts_ids_that_are_not_valid_file_names() {
    let mut sides = SideBySide::new();
    let ours = create_as(&mut sides, &"x".repeat(300)).only_we_refused();
    assert!(matches!(ours, SessionError::BadSessionId { .. }), "{ours}");
    // pi only notices when there is something to lose.
    let late = sides.pi(&sessile_testkit::call("appendMessage", &[crate::lines::HI]));
    assert!(late.error().unwrap().contains("ENAMETOOLONG"), "{late:?}");
    // Both can save the longest id that we accept.
    create_as(&mut sides, &"x".repeat(128)).done();
    sides.act(&user_op("hi"));
    sides.assert_same();
}

#[test]
fn row_06_pi_leaves_a_relative_session_directory_relative() {
    let mut sides = SideBySide::new();
    create(&mut sides, "proj", Some("sess")).done();
    sides.assert_view("cwd", &sides.pi_argument("proj"));
    assert_eq!(pi_dir(&mut sides), "sess");
    let resolved = sides.our_path("sess");
    assert_eq!(our_dir(&mut sides), resolved);
    sides.act(&user_op("hi"));
    for dir in [sides.pi_path("sess"), resolved] {
        let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        // Our lock is beside the session while it is open.
        assert_eq!(names.filter(|name| !name.starts_with('.')).count(), 1);
    }
}

#[test]
fn row_07_an_empty_session_directory_is_the_default_one() {
    let mut sides = SideBySide::new();
    create(&mut sides, "/w", Some("")).done();
    assert_eq!(same_dir_name(&mut sides), "--w--");
    sides.assert_same();
}

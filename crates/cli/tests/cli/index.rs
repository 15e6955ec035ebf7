//! The caches.

use super::*;

#[test]
fn caches_are_shown_rebuilt_and_removed() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    home.session("y.jsonl", &[user("a", None, "more")]);
    // Old enough that no unnoticed write can have happened since.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    for file in ["x.jsonl", "y.jsonl"] {
        let file = std::fs::File::options().append(true).open(home.session_dir().join(file)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let status = || home.run(&["index", "status", "--json"]).json();
    let empty = status();
    assert_eq!((&empty["sessions"], &empty["entries"]), (&2.into(), &0.into()));
    assert_eq!(empty["kinds"].as_array().unwrap().len(), 4);
    let dry = home.run(&["index", "rebuild", "--dry-run"]);
    assert_eq!(dry.out, "2 sessions would be read and indexed; nothing was changed\n");
    assert_eq!(status(), empty);
    let output = home.run(&["index", "rebuild"]);
    output.expect(0, "");
    assert_eq!(output.out, "2 sessions and 6 entries are indexed\n");
    let full = status();
    assert_eq!((&full["searchable"], &full["unsearchableBytes"]), (&2.into(), &0.into()));
    let status_text = home.run(&["index", "status"]).out;
    assert!(
        status_text.contains(&native("~/SESSILE_CACHE_DIR\n")) && status_text.contains("6 entries in 1 segment\n"),
        "{status_text}"
    );
    let bytes: u64 = full["kinds"].as_array().unwrap().iter().map(|kind| kind["bytes"].as_u64().unwrap()).sum();
    let would = home.run(&["index", "clear", "--dry-run", "--json"]).json();
    assert_eq!(would["bytes"], bytes);
    assert!(home.run(&["index", "clear", "--dry-run"]).out.ends_with("would be freed; nothing was changed\n"));
    assert_eq!(status(), full);
    assert_eq!(home.run(&["index", "clear", "--json"]).json(), would);
    assert_eq!(status()["entries"], 0);
    assert_eq!(home.run(&["search", "question", "-l"]).out.lines().count(), 1);
    assert_eq!(home.run(&["index", "--json"]).json(), status());
    assert!(home.run(&["index"]).out.contains("text index"));
    assert_eq!(home.run(&["--sample", "index", "rebuild"]).out, "the sample has no caches; nothing was changed\n");
}

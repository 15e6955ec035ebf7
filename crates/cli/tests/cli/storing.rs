//! Large lines in a real storage.

use std::os::unix::fs::PermissionsExt;

use super::syncing::{Running, another, append, lines, only_session, with_server};
use super::*;

#[path = "../../../remote/tests/storage.rs"]
mod storage;

use storage::{ACCESS_KEY, SECRET_KEY, TestStorage};

/// A file that only its owner reads.
fn private_file(home: &Home, name: &str, text: &str) -> String {
    let path = home.dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Adds the private server again, as a remote with a storage. Returns what the program says.
fn add(server: &Running, blobs: &str, key_file: &str) -> CommandOutput {
    let local = server.0.run(&["remote", "--json"]).json()[0].clone();
    let (url, password_file) = (local["url"].as_str().unwrap(), local["passwordFile"].as_str().unwrap());
    let storage = ["--blobs", blobs, "--blobs-key-file", key_file];
    server.0.run(&[["remote", "add", "team", url, "--password-file", password_file].as_slice(), &storage].concat())
}

#[test]
fn large_lines_go_through_the_storage_and_a_scrub_reaches_it() {
    let server = with_server();
    let one = &server.0;
    let keys = private_file(one, "keys", &format!("{ACCESS_KEY}\n{SECRET_KEY}\n"));
    let blobs = format!("http://127.0.0.1:{}/bucket/cli", TestStorage::shared().port());
    let added = add(&server, &blobs, &keys);
    assert_eq!(added.code, 0, "{}", added.err);
    assert!(added.out.ends_with(&format!("\nblobs    {blobs}: it answers\n")), "{}", added.out);
    assert_eq!(one.run(&["remote", "remove", "local"]).code, 0);
    let listed = one.run(&["remote", "--json"]).json();
    assert_eq!((listed[0]["blobs"].as_str(), listed[0]["blobsKeyFile"].as_str()), (Some(&*blobs), Some(&*keys)));
    let config = std::fs::read_to_string(one.dir.path().join("SESSILE_CONFIG_DIR/config.toml")).unwrap();
    assert!(!config.contains(SECRET_KEY), "{config}");

    let key = ["AKIA", "QYLPMN5HFIQR7XYA"].concat();
    let large = |text: &str| format!("{text} {}", "abcdefghij ".repeat(30_000));
    let here = one.session("2025-01-01T00-00-00-000Z_s1.jsonl", &[user("a", None, &large("first"))]);
    append(&here, &user("b", Some("a"), &large(&format!("use {key}"))));
    let pushed = one.run(&["sync", "--all", "--allow-secrets"]);
    assert_eq!(pushed.code, 0, "{}", pushed.err);
    assert_eq!(TestStorage::shared().n_objects("cli"), 2);
    let two = another(one);
    assert_eq!(two.run(&["sync"]).code, 0);
    let there = only_session(&two);
    assert_eq!(lines(&there), lines(&here));

    let scrubbed = one.run(&["scrub", here.to_str().unwrap(), "--yes", "--force"]);
    assert_eq!(scrubbed.code, 0, "{}", scrubbed.err);
    for file in [&here, &there] {
        age(file);
    }
    for home in [one, &two] {
        let synced = home.run(&["sync"]);
        assert_eq!((synced.code, synced.err.contains("still in the storage")), (0, false), "{}", synced.err);
    }
    assert!(!lines(&here).contains(&key));
    assert_eq!(lines(&there), lines(&here));
    assert_eq!(TestStorage::shared().n_objects("cli"), 2, "the new line, and the one without a secret");

    // A machine that does not know the storage.
    let three = another(one);
    let config = three.dir.path().join("SESSILE_CONFIG_DIR/config.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("blobs")).collect();
    std::fs::write(&config, without.join("\n")).unwrap();
    let failed = three.run(&["sync"]);
    assert_eq!(failed.code, 1);
    assert!(
        failed.err.contains("s1: line 1 of session") && failed.err.contains("`remote.NAME.blobs`"),
        "{}",
        failed.err
    );
}

#[test]
fn mistakes_with_storages_are_explained_without_keys() {
    let server = with_server();
    let one = &server.0;
    let storage = TestStorage::start();
    let blobs = format!("http://127.0.0.1:{}/bucket/mistakes", storage.port());
    let keys = private_file(one, "keys", &format!("{ACCESS_KEY}\n{SECRET_KEY}\n"));
    let wrong = private_file(one, "wrong", &format!("{ACCESS_KEY}\nTr0ub4dor&3\n"));
    let half = private_file(one, "half", "Tr0ub4dor&3\n");
    let open = private_file(one, "open", &format!("{ACCESS_KEY}\nTr0ub4dor&3\n"));
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).unwrap();
    let missing = one.dir.path().join("missing").to_str().unwrap().to_owned();
    for (url, file, reason) in [
        ("http://s3.example/bucket", &keys, "http:// is only for this machine"),
        ("https://s3.example", &keys, "it names no bucket"),
        (&blobs, &open, "chmod 600"),
        (&blobs, &half, "it must have two lines"),
        (&blobs, &missing, "No such file"),
        (&blobs, &wrong, "wrong keys"),
    ] {
        let refused = add(&server, url, file);
        assert!(refused.code != 0 && refused.err.contains(reason), "{reason}: {}", refused.err);
        assert!(!refused.err.contains("Tr0ub4dor"), "{}", refused.err);
        assert_eq!(one.run(&["remote", "--json"]).json().as_array().unwrap().len(), 1, "nothing was added");
    }
    assert_eq!(add(&server, &blobs, &keys).code, 0);
    // The variables come first.
    let status = |access: &str, secret: &str| {
        let mut command = one.command(&["remote", "status", "team"]);
        command.env("SESSILE_S3_ACCESS_KEY", access).env("SESSILE_S3_SECRET_KEY", secret);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    assert!(status(ACCESS_KEY, SECRET_KEY).contains(": it answers\n"));
    let denied = status(ACCESS_KEY, "Tr0ub4dor&3");
    assert!(denied.contains("wrong keys") && !denied.contains("Tr0ub4dor"), "{denied}");
    let odd = status(ACCESS_KEY, "Tr0ub4dor\u{1b}");
    assert!(odd.contains("SESSILE_S3_SECRET_KEY is not a key") && !odd.contains("Tr0ub4dor"), "{odd}");
    storage.kill();
    let down = one.run(&["remote", "status", "team"]);
    assert_eq!(down.code, 1);
    assert!(down.out.contains("\nblobs    cannot reach the storage http://127.0.0.1:"), "{}", down.out);
}

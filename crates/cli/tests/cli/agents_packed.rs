//! Compressed sessions of Codex. The reference library compresses them.

use std::io::Write;

use super::agents::{fixture, import, put};
use super::changes::path;
use super::*;

const ID: &str = "0199a000-0000-7000-8000-000000000001";

/// The session file, without the ending of a compressed one.
fn plain(home: &Home, id: &str) -> PathBuf {
    home.dir.path().join(format!(".codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-{id}.jsonl"))
}

/// Writes a compressed session.
fn put_packed(home: &Home, id: &str, bytes: &[u8]) -> PathBuf {
    let file = plain(home, id).with_extension("jsonl.zst");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, bytes).unwrap();
    file
}

fn packed(text: &str) -> Vec<u8> {
    zstd::bulk::compress(text.as_bytes(), 3).unwrap()
}

/// A session of several compressed blocks: a message of the user per line.
fn long(home: &Home, id: &str, n_messages: u64) -> String {
    let cwd = path(&home.project()).to_owned();
    let line = |kind: &str, payload: Value| {
        serde_json::json!({"timestamp": "2026-11-02T09:00:00.000Z", "type": kind, "payload": payload}).to_string()
            + "\n"
    };
    let mut text = line("session_meta", serde_json::json!({"id": id, "cwd": cwd, "cli_version": "0.166.0"}));
    for nth in 0..n_messages {
        let word = |number: u64| format!("{:x}", (nth * 200 + number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let words = (0..200).map(word).collect::<Vec<_>>().join(" ");
        let content = serde_json::json!([{"type": "input_text", "text": words}]);
        text += &line("response_item", serde_json::json!({"type": "message", "role": "user", "content": content}));
    }
    text
}

#[test]
fn a_compressed_session_is_that_of_the_plain_file() {
    let home = Home::new();
    let text = fixture(&home, "codex", "turns.jsonl");
    let (before, last) = text.split_at(text.find(r#"{"timestamp":"2026-11-02T09:00:13"#).unwrap());
    let bytes = packed(before);
    let source = put_packed(&home, ID, &bytes);
    let listed = home.run(&["list", "--agents", "--json"]).json();
    assert_eq!((&listed[0]["agent"], &listed[0]["foreignId"]), (&"codex".into(), &ID.into()));
    assert!(home.run(&["list", "--agents"]).out.contains("[codex] What is on this picture?"));

    let first = import(&home, &["codex", "@latest"]);
    let session = PathBuf::from(first[0]["path"].as_str().unwrap());
    assert_eq!((&first[0]["state"], &first[0]["id"]), (&"created".into(), &listed[0]["id"]));
    home.run(&["verify", path(&session)]).expect(0, "");
    assert_eq!(std::fs::read(&source).unwrap(), bytes, "the source is only read");
    for from in ["codex", "auto"] {
        assert_eq!(import(&home, &[from, path(&source)])[0]["state"], "unchanged");
    }

    // Codex goes on in a plain file, and removes the compressed one when that is complete.
    put(&plain(&home, ID), before);
    let rows = home.run(&["import", "--from", "codex", "--list", "--json"]).json();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    assert_eq!(import(&home, &["codex", ID])[0]["from"], path(&plain(&home, ID)));
    // It grows, and is compressed again, in several frames with checksums.
    std::fs::remove_file(plain(&home, ID)).unwrap();
    let frame = |text: &str| {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 19).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2];
    put_packed(&home, ID, &[frame(before), skipped.to_vec(), frame(last)].concat());
    let grown = import(&home, &["codex", ID]);
    assert_eq!((&grown[0]["state"], &grown[0]["path"]), (&"extended".into(), &first[0]["path"]));
    home.run(&["verify", path(&session)]).expect(0, "");

    let other = Home::new();
    put(&plain(&other, ID), &text);
    let whole = import(&other, &["codex", ID]);
    let context =
        |home: &Home, file: &Value| home.run(&["context", file.as_str().unwrap(), "--json"]).json()["messages"].clone();
    let messages = context(&home, &first[0]["path"]);
    assert!(messages.to_string().contains("A cat."), "{messages}");
    assert_eq!(messages, context(&other, &whole[0]["path"]));
}

#[test]
fn what_is_before_the_damage_is_imported_and_the_rest_later() {
    let home = Home::new();
    let text = long(&home, ID, 600);
    let whole = packed(&text);
    let source = put_packed(&home, ID, &whole[..whole.len() * 2 / 3]);
    let output = home.run(&["import", "--from", "codex", ID]);
    assert_eq!(output.code, 0, "{}", output.err);
    let (place, reason) = output.err.lines().next().unwrap().rsplit_once(": the compressed data ").unwrap();
    assert_eq!(reason, "ends too early; the rest is imported");
    let (file, line) = place.rsplit_once(':').unwrap();
    assert_eq!(file, format!("warning: {}", source.display()));
    let n_read = line.parse::<usize>().unwrap() - 2;
    assert!((100..550).contains(&n_read), "{n_read}");
    let session = output.out.trim().to_owned();
    home.run(&["verify", &session]).expect(0, "");
    let rows = home.run(&["list", "--agents", "--json"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["agent"] == "codex").unwrap();
    assert_eq!(row["messageCount"], n_read);

    let mut damaged = whole.clone();
    damaged[whole.len() / 2..][..300].fill(0xa5);
    put_packed(&home, ID, &damaged);
    let output = home.run(&["import", "--from", "codex", ID]);
    assert!(output.code == 0 && output.err.starts_with("warning: "), "{}", output.err);
    home.run(&["verify", &session]).expect(0, "");

    put_packed(&home, ID, &whole);
    import(&home, &["codex", ID]);
    let messages = home.run(&["context", &session, "--json"]).json()["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 600);
    assert_eq!(import(&home, &["codex", ID])[0]["state"], "unchanged");

    put_packed(&home, ID, b"no session");
    let output = home.run(&["import", "--from", "codex", path(&source)]);
    let reason = format!("warning: {}:1: the compressed data is damaged\n", source.display());
    assert!(output.err.starts_with(&reason) && output.out.is_empty(), "{}", output.err);
}

#[test]
fn a_file_that_asks_for_too_much_is_refused_and_the_others_are_imported() {
    let home = Home::new();
    put(&plain(&home, ID), &fixture(&home, "codex", "turns.jsonl"));
    let wide = {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.window_log(24).unwrap();
        encoder.write_all(long(&home, ID, 3).as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    // The header of a frame with 8 GiB.
    let bomb = [0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x00, 0, 0, 0, 0, 2, 0, 0, 0];
    let refused = [
        ("0199a000-0000-7000-8000-000000000002", &wide[..], "decompressing it needs more than 8 MiB of memory"),
        ("0199a000-0000-7000-8000-000000000003", &bomb, "its content is larger than 4 GiB"),
    ];
    let files = refused.map(|(id, bytes, _)| put_packed(&home, id, bytes));
    let listed = home.run(&["list", "--agents", "--json"]);
    let rows: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!((listed.code, rows.as_array().unwrap().len()), (0, 1));
    let output = home.run(&["import", "--from", "codex", "--all"]);
    assert_eq!((output.code, output.out.lines().count()), (3, 1), "{}", output.err);
    for ((id, _, reason), file) in refused.iter().zip(&files) {
        let what = format!("cannot read {}: {reason}; `zstd -d` can write a file that can be imported", file.display());
        assert!(listed.err.contains(&format!("warning: {what}")), "{}", listed.err);
        assert!(
            output.err.contains(&what.replacen(": d", "\ncaused by: d", 1).replacen(": i", "\ncaused by: i", 1)),
            "{}",
            output.err
        );
        let alone = home.run(&["import", "--from", "codex", id]);
        assert_eq!((alone.code, alone.out.as_str()), (3, ""), "{}", alone.err);
    }
    assert_eq!(import_count(&home), 1);
}

/// The number of sessions in the store.
fn import_count(home: &Home) -> usize {
    home.run(&["list", "--json"]).json().as_array().unwrap().len()
}

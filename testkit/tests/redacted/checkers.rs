//! Programs that other people wrote find no secret in a copy.
//!
//! They are not part of this repository. Install one by name and say where it is:
//!
//! ```console
//! $ pip install kingfisher-bin==2.14.0 detect-secrets==1.5.0
//! $ SESSILE_KINGFISHER=kingfisher SESSILE_DETECT_SECRETS=detect-secrets \
//!     cargo test -p sessile-testkit --test redacted checkers -- --nocapture
//! ```

use std::io::Write;
use std::path::Path;
use std::process::Command;

use crate::corpus::{Random, kinds, make};
use crate::stage::Stage;
use serde_json::{Value, json};
use sessile::redact::Level;

/// Plain carriers of a key.
const CARRIERS: [&str; 7] = [
    "We talked about it: the thing is @ and it works since Monday.",
    "DEBUG=1\nSERVICE_VALUE=@\nPORT=8080\n",
    "{\"name\":\"x\",\"value\":\"@\",\"n\":12}",
    "service:\n  value: @\n  port: 80\n",
    "export SERVICE_VALUE=@ && ./run --fast",
    "curl -s -H 'X-Service-Value: @' https://api.service.test/v1",
    "    let client = Client::connect(\"@\", 30).await?;",
];

/// A session with every kind of key in every carrier.
fn session() -> String {
    let mut random = Random::new(7);
    let header =
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2024-01-01T00:00:00.000Z", "cwd": "/x"});
    let mut lines = vec![header.to_string()];
    for (_, template) in kinds() {
        let key = make(&template, &mut random);
        for carrier in CARRIERS {
            let n = lines.len();
            let message = json!({"role": "user", "content": carrier.replace('@', &key), "timestamp": n});
            let entry = json!({"type": "message", "id": format!("e{n}"), "parentId": null, "timestamp": "2024-01-01T00:00:01.000Z", "message": message});
            lines.push(entry.to_string());
        }
    }
    lines.join("\n") + "\n"
}

/// Runs a checker on a folder with one file and returns the number of its findings.
type Check = fn(&str, &Path) -> usize;

fn kingfisher(program: &str, folder: &Path) -> usize {
    let words = "scan --no-validate --no-dedup --confidence=low --no-update-check --format=jsonl --quiet";
    let output = Command::new(program).args(words.split(' ')).arg(folder).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record.get("rule").is_some()).count()
}

fn detect_secrets(program: &str, folder: &Path) -> usize {
    let output =
        Command::new(program).args(["scan", "--all-files", "--no-verify", "."]).current_dir(folder).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["results"].as_object().unwrap().values().map(|found| found.as_array().unwrap().len()).sum()
}

const CHECKERS: [(&str, Check); 2] = [("SESSILE_KINGFISHER", kingfisher), ("SESSILE_DETECT_SECRETS", detect_secrets)];

#[test]
fn other_scanners_find_no_secret_in_copies() {
    let stage = Stage::new();
    stage.write("source.jsonl", &session());
    for (variable, check) in CHECKERS {
        let Some(program) = std::env::var(variable).ok() else {
            drop(writeln!(std::io::stderr(), "SKIPPED: {variable} names no program"));
            continue;
        };
        let count = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("session.jsonl"), text).unwrap();
            check(&program, folder.path())
        };
        let in_source = count(&session());
        assert!(in_source > 100, "{program} does not work: {in_source} findings in the source");
        for level in Level::ALL {
            let copy = stage.copy("source.jsonl", &format!("{variable}-{level}.jsonl"), level);
            // A copy names its source by a hash, which looks random and is not a secret.
            let header: Value = serde_json::from_str(&copy[0]).unwrap();
            let hash = header["redacted"]["source"].as_str().unwrap();
            let in_copy = count(&(copy.join("\n") + "\n").replace(hash, "source"));
            drop(writeln!(std::io::stderr(), "{program}: {in_source} findings in the source, {in_copy} at {level}"));
            assert_eq!(in_copy, 0, "{program} at {level}");
        }
    }
}

//! `sessile pi`: what it starts, and what it says if something is missing. A script takes the place of Node here; the
//! tests of the npm package run the genuine pi this way.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Makes a program that prints its arguments, one per line, and ends with a code.
fn fake_node(home: &Home, code: i32) -> PathBuf {
    let bin = home.dir.path().join("node-bin");
    std::fs::create_dir_all(&bin).unwrap();
    let node = bin.join("node");
    std::fs::write(&node, format!("#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done\nexit {code}\n")).unwrap();
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// Makes a directory with the part of the npm package that `sessile pi` looks for.
fn fake_package(dir: &Path) -> PathBuf {
    let launcher = dir.join("bin/pi-sessile.mjs");
    std::fs::create_dir_all(launcher.parent().unwrap()).unwrap();
    std::fs::write(&launcher, "").unwrap();
    launcher
}

#[test]
fn pi_gets_its_arguments_and_gives_its_exit_code() {
    let home = Home::new();
    let (bin, package) = (fake_node(&home, 7), home.dir.path().join("package"));
    let launcher = fake_package(&package);
    let run = |words: &[&str]| {
        let mut command = home.command(words);
        output_of(command.env("PATH", &bin).env("SESSILE_NODE_PACKAGE", &package))
    };
    let lines = [
        &["pi"][..],
        &["pi", "--mode", "rpc"],
        &["pi", "-p", "two words", "--session-dir", "x", "--color", "never", "--sample", "-h"],
        &["pi", "--", "--help"],
    ];
    for words in lines {
        let output = run(words);
        let rest: Vec<&str> = words[1..].iter().copied().skip_while(|word| *word == "--").collect();
        let expected: Vec<&str> = std::iter::once(launcher.to_str().unwrap()).chain(rest).collect();
        assert_eq!(output.out.lines().collect::<Vec<_>>(), expected);
        output.expect(7, "");
    }
    // A flag before the command is ours, and pi has to know.
    let output = run(&["--session-dir", "kept", "pi", "-c"]);
    assert_eq!(output.out.lines().skip(1).collect::<Vec<_>>(), ["--session-dir", "kept", "-c"]);
    assert_eq!(run(&["--sample", "pi"]).code, 2);
    let help = run(&["pi", "--help"]);
    assert!(help.code == 0 && help.out.contains("SESSILE_NODE_PACKAGE"), "{}", help.out);
}

#[test]
fn the_package_is_found_where_npm_puts_it() {
    let home = Home::new();
    let bin = fake_node(&home, 0);
    let launcher = fake_package(&home.dir.path().join("lib/node_modules/sessile"));
    let path = std::env::join_paths([&bin, Path::new("/nowhere")]).unwrap();
    let output = output_of(home.command(&["pi"]).env("PATH", &path));
    // In a checkout, the package beside the program comes first.
    let is_found = output.out.trim().ends_with("bin/pi-sessile.mjs");
    assert!(is_found && output.code == 0, "{} {}", output.out, output.err);
    let programs = home.dir.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(&launcher, programs.join("pi-sessile")).unwrap();
    let path = std::env::join_paths([&bin, &programs]).unwrap();
    assert_eq!(output_of(home.command(&["pi"]).env("PATH", &path)).code, 0);
}

#[test]
fn what_is_missing_is_named() {
    let home = Home::new();
    let output = output_of(home.command(&["pi"]).env("PATH", "/nowhere"));
    assert_eq!(output.code, 3);
    assert!(output.err.starts_with("error: Node was not found on PATH, and pi runs on Node\nhint: "), "{}", output.err);
    let bin = fake_node(&home, 0);
    let mut command = home.command(&["pi"]);
    let output = output_of(command.env("PATH", &bin).env("SESSILE_NODE_PACKAGE", "/nowhere"));
    output.expect(3, "error: SESSILE_NODE_PACKAGE is /nowhere, which does not hold the npm package sessile\n");
}

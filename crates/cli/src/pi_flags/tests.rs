use super::*;

/// Returns the rewritten words, joined by spaces. `--keep` takes a value, `--sample` does not.
fn rewritten(words: &str) -> String {
    let takes_value = |flag: &str| match flag {
        "--keep" | "--color" => Some(true),
        "--sample" => Some(false),
        _ => None,
    };
    let words = std::iter::once("sessile").chain(words.split(' ')).map(OsString::from).collect();
    match translated(words, &takes_value) {
        Ok(args) => args[1..].join(&OsString::from(" ")).into_string().unwrap(),
        Err(Failure::Misuse { message, .. }) => format!("error: {message}"),
        Err(_) => "another error".to_owned(),
    }
}

#[test]
fn the_mode_of_pi_is_a_command() {
    assert_eq!(rewritten("--mode rpc -c"), "rpc --continue");
    assert_eq!(rewritten("--session x.jsonl --mode=rpc"), "rpc --session=x.jsonl");
    assert_eq!(rewritten("--mode rpc --mode rpc"), "rpc");
    assert_eq!(rewritten("--mode json"), "--mode json");
    assert_eq!(rewritten("--mode rpc --mode json"), "rpc --mode");
    assert_eq!(rewritten("-- --mode rpc"), "-- --mode rpc");
    assert_eq!(rewritten("list -n 3"), "list -n 3");
    assert_eq!(
        rewritten("--color never --session-dir rpc show rpc -ne"),
        "--color never --session-dir rpc show rpc -ne"
    );
}

#[test]
fn short_flags_are_not_combined() {
    for (short, long) in [("-ne", "--no-extensions"), ("-nt", "--no-tools"), ("-nc", "--no-context-files")] {
        assert_eq!(rewritten(&format!("--mode rpc {short} -n Tides")), "rpc --name=Tides", "{short}");
        assert_eq!(rewritten(&format!("rpc {long} -n Tides")), "rpc --name=Tides", "{long}");
        assert_eq!(rewritten(&format!("--color never rpc {short} -c")), "--color never rpc --continue", "{short}");
    }
    assert_eq!(rewritten("rpc -nx"), "error: Unknown option: -nx");
    assert_eq!(rewritten("rpc -cn x"), "error: Unknown option: -cn");
    assert_eq!(rewritten("--mode rpc -"), "error: Unknown option: -");
}

#[test]
fn every_flag_about_an_agent_goes_with_its_value() {
    for flag in FLAGS.iter().filter(|flag| flag.meaning == Meaning::Agent) {
        for name in [flag.long, flag.short].into_iter().filter(|name| !name.is_empty()) {
            let value = if flag.takes == Takes::Nothing { "" } else { " value" };
            assert_eq!(rewritten(&format!("--mode rpc {name}{value} -c")), "rpc --continue", "{name}");
            assert_eq!(rewritten(&format!("rpc -c {name}{value}")), "rpc --continue", "{name}");
            if flag.takes == Takes::Value {
                assert_eq!(rewritten(&format!("--mode rpc {name} -c")), "rpc", "{name} takes any value");
                let missing = format!("error: {name} requires a value");
                assert_eq!(rewritten(&format!("--mode rpc {name}")), missing);
            }
        }
        if flag.takes != Takes::Nothing {
            assert_eq!(rewritten(&format!("rpc {}=x=y -c", flag.long)), "rpc --continue", "{}", flag.long);
        }
    }
}

#[test]
fn every_flag_about_the_session_is_kept_with_its_value() {
    for flag in FLAGS.iter().filter(|flag| flag.meaning == Meaning::Session) {
        for name in [flag.long, flag.short].into_iter().filter(|name| !name.is_empty()) {
            let (given, kept) = match flag.takes {
                Takes::Nothing => (name.to_owned(), flag.long.to_owned()),
                _ => (format!("{name} -c"), format!("{}=-c", flag.long)),
            };
            assert_eq!(rewritten(&format!("--mode rpc {given} -ne")), format!("rpc {kept}"));
        }
    }
}

#[test]
fn optional_values_are_recognised_as_in_pi() {
    assert_eq!(rewritten("--mode rpc --list-models -c"), "rpc --continue");
    assert_eq!(rewritten("--mode rpc --list-models son -c"), "rpc --continue");
    assert_eq!(rewritten("--mode rpc -p -c"), "rpc --continue");
    assert_eq!(rewritten("--mode rpc -p --- -c"), "rpc --continue");
    assert_eq!(rewritten("--mode rpc -p hello -c"), "rpc --continue");
}

#[test]
fn messages_are_ignored_and_files_refused() {
    assert_eq!(rewritten("--mode rpc hello -c you -- -there"), "rpc --continue");
    let refused = "error: @file arguments are not supported in RPC mode";
    assert_eq!(rewritten("--mode rpc @a.md"), refused);
    assert_eq!(rewritten("--mode rpc -- @a.md"), refused);
    // Not pi's spelling: the command reports the word.
    assert_eq!(rewritten("rpc hello"), "rpc hello");
    assert_eq!(rewritten("rpc -- -c"), "rpc -- -c");
}

#[test]
fn our_own_flags_stay() {
    assert_eq!(rewritten("--mode rpc --keep 5 -ne --sample word"), "rpc --keep 5 --sample");
    assert_eq!(rewritten("--mode rpc --keep=5 word --unknown"), "rpc --keep=5 --unknown");
    assert_eq!(rewritten("rpc --keep"), "rpc --keep");
}

#[test]
fn flags_that_do_not_serve_do_what_they_do_in_pi() {
    assert_eq!(rewritten("--mode rpc -v -c"), "--version");
    assert_eq!(rewritten("--mode rpc -c --help"), "rpc --continue --help");
    assert_eq!(rewritten("rpc -h"), "rpc -h");
    let page = "export --format=html --force --output=pi-session-x.html -- a/x.jsonl";
    assert_eq!(rewritten("--mode rpc --export a/x.jsonl"), page);
    assert_eq!(rewritten("--mode rpc --export x o.html"), "export --format=html --force --output=o.html -- x");
}

#[test]
fn the_command_has_every_flag_that_is_kept() {
    let definition = crate::cli::Cli::definition();
    let rpc = definition.find_subcommand("rpc").unwrap();
    let of = |flag: &PiFlag| rpc.get_arguments().find(|arg| arg.get_long() == flag.long.strip_prefix("--"));
    for flag in FLAGS {
        let takes_value = of(flag).map(|arg| arg.get_action().takes_values());
        let expected = match flag.meaning {
            Meaning::Session => Some(flag.takes != Takes::Nothing),
            Meaning::Agent => None,
            Meaning::Other => continue,
        };
        assert_eq!(takes_value, expected, "{}", flag.long);
    }
}

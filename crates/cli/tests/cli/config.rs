//! Settings, and where they come from.

use serde_json::json;

use super::rpc_flags::asked;
use super::*;

impl Home {
    fn config(&self) -> PathBuf {
        self.dir.path().join("SESSILE_CONFIG_DIR").join("config.toml")
    }

    fn configure(&self, text: &str) {
        std::fs::create_dir_all(self.config().parent().unwrap()).unwrap();
        std::fs::write(self.config(), text).unwrap();
    }

    /// Creates a directory in the home with one session of the project that contains this text.
    fn store(&self, name: &str) -> PathBuf {
        let dir = self.dir.path().join(name);
        write_session(&dir.join("x.jsonl"), self.project().to_str().unwrap(), &[user("a", None, name)]);
        dir
    }
}

fn write(path: PathBuf, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_nearest_setting_of_the_session_directory_applies() {
    let home = Home::new();
    home.session("default.jsonl", &[user("a", None, "default")]);
    let first = |output: CommandOutput| output.json()[0]["firstMessage"].as_str().map(str::to_owned).unwrap();
    let listed = || first(home.run(&["list", "--json"]));
    assert_eq!(listed(), "default");
    let [global, project, own, variable, flag] =
        ["global", "project/kept", "own", "variable", "flag"].map(|name| home.store(name));
    write(
        home.agent_dir().join("settings.json"),
        &format!("\u{feff}{{\"sessionDir\":{:?}}}", global.to_str().unwrap()),
    );
    assert_eq!(listed(), "global");
    // Relative to the working directory, as in pi.
    let settings = || home.project().join(".pi/settings.json");
    write(settings(), "{\"sessionDir\":\"kept\"}");
    assert_eq!(listed(), "project/kept");
    assert!(project.is_dir());
    // An empty or null value overrides the global setting and means the default, as in pi.
    for nothing in ["\"\"", "null"] {
        write(settings(), &format!("{{\"sessionDir\":{nothing}}}"));
        assert_eq!(listed(), "default");
    }
    home.configure("session_dir = '~/own'");
    assert_eq!(listed(), "own");
    assert!(own.is_dir());
    let name = "PI_CODING_AGENT_SESSION_DIR";
    assert_eq!(first(home.run_with(&["list", "--json"], name, &variable)), "variable");
    let words = ["list", "--json", "--session-dir", flag.to_str().unwrap()];
    assert_eq!(first(home.run_with(&words, name, &variable)), "flag");
    let origin = |words: &[&str], key: &str| {
        let words: Vec<&str> = ["config", "get", key, "--json"].iter().chain(words).copied().collect();
        home.run(&words).json()["origin"].clone()
    };
    assert_eq!(origin(&["--session-dir", "x"], "session_dir")["name"], "--session-dir");
    assert_eq!(origin(&[], "session_dir")["line"], 1);
    assert_eq!(origin(&[], "durability")["kind"], "default");
}

#[test]
fn invalid_settings_of_pi_are_skipped() {
    let home = Home::new();
    home.session("default.jsonl", &small());
    for (text, what) in [("{\"sessionDir\":", "not valid JSON"), ("{\"sessionDir\":7}", "not a string")] {
        write(home.project().join(".pi/settings.json"), text);
        let output = home.run(&["list"]);
        assert_eq!(output.code, 0);
        assert!(output.err.starts_with("warning: ") && output.err.contains(what), "{}", output.err);
    }
    write(home.project().join(".pi/settings.json"), "[\"x\"]");
    home.run(&["list"]).expect(0, "");
}

#[test]
fn errors_in_the_settings_file_name_the_line() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    home.configure("\nlist.limt = 3\n");
    let config_file = home.config();
    home.run(&["list"]).expect(
        0,
        &format!("warning: {}:2: no such setting: list.limt; did you mean list.limit?\n", config_file.display()),
    );
    home.configure("[list]\nlimit = 'all'\n");
    let wrong = format!("{}:2: list.limit must be a whole number, not \"all\"", config_file.display());
    home.run(&["list"]).expect(0, &format!("warning: {wrong}; using defaults instead of this file\n"));
    // The settings decide where sessions are written, so commands that write refuse to run.
    let n_files = || std::fs::read_dir(home.session_dir()).unwrap().count();
    home.run(&["new"]).expect(3, &format!("error: {wrong}\n"));
    assert_eq!(home.run(&["name", "@latest", "Other"]).code, 3);
    assert_eq!(n_files(), 1);
    home.run(&["--version"]).expect(0, "");
    // The program itself can repair its settings.
    home.run(&["config", "set", "list.limit", "2"]).expect(0, "");
    home.run(&["list"]).expect(0, "");
    home.configure("color = \n");
    let output = home.run(&["list"]);
    assert!(
        output.code == 0 && output.err.starts_with(&format!("warning: {}:1: ", config_file.display())),
        "{}",
        output.err
    );
    assert_eq!(home.run(&["config", "get", "list.sort"]).out, "recent\n");
    assert_eq!(home.run(&["config", "set", "list.sort", "cost"]).code, 3);
}

#[test]
fn settings_are_changed_one_at_a_time() {
    let home = Home::new();
    let get = |key: &str| home.run(&["config", "get", key]);
    assert_eq!(get("list.sort").out, "recent\n");
    assert_eq!((get("list.columns").code, get("list.columns").out), (1, String::new()));
    home.configure("# mine\ncolor = \"auto\" # or never\n");
    let output = home.run(&["config", "set", "color", "never", "--dry-run"]);
    assert_eq!(output.out, format!("color would be \"never\" in {}, was \"auto\"\n", home.config().display()));
    assert_eq!(get("color").out, "auto\n");
    home.run(&["config", "set", "color", "never"]).expect(0, "");
    assert_eq!(std::fs::read_to_string(home.config()).unwrap(), "# mine\ncolor = \"never\" # or never\n");
    expect_mode(&home.config(), 0o600);
    home.run(&["config", "set", "list.columns", "age,id"]).expect(0, "");
    assert_eq!(get("list.columns").out, "age,id\n");
    home.run(&["config", "unset", "color"]).expect(0, "");
    assert_eq!(get("color").out, "auto\n");
    home.run(&["config", "set", "colour", "never"])
        .expect(2, "error: no such setting: colour\nhint: did you mean color?\n");
    let output = home.run(&["config", "set", "color", "mauve"]);
    assert!(output.code == 2 && output.err.contains("one of auto, always, never"), "{}", output.err);
    let rows = home.run(&["config", "--json"]).json();
    assert!(rows.as_array().unwrap().iter().any(|row| row["key"] == "resume.command"));
    assert_eq!(home.run(&["config", "path"]).out, format!("{}\n", home.config().display()));
    assert!(home.run(&["config"]).out.contains("list.sort"));
}

#[test]
fn settings_are_shown_with_their_effective_value() {
    let home = Home::new();
    let root = home.agent_dir().join("sessions");
    let output = home.run(&["config", "get", "session_dir"]);
    output.expect(0, "");
    assert_eq!(output.out, format!("{}\n", root.display()));
    let rows = home.run(&["config", "--json"]).json();
    let row = rows.as_array().unwrap().iter().find(|row| row["key"] == "session_dir").unwrap();
    assert_eq!((row["value"].as_str(), row["origin"]["kind"].as_str()), (root.to_str(), Some("default")));
    let set = |key: &str, value: &str| home.run(&["config", "set", key, value, "--dry-run", "--json"]).json();
    assert_eq!(set("color", "never")["after"], "never");
    assert_eq!(set("list.limit", "7")["after"], 7);
    assert_eq!(set("list.columns", "age,id")["after"], serde_json::json!(["age", "id"]));
    let output = home.run(&["config", "unset", "color"]);
    assert_eq!(output.out, format!("color is not set in {}; nothing was changed\n", home.config().display()));
    for words in [&["--sample", "config", "set", "color", "never"][..], &["--sample", "config", "unset", "color"]] {
        let output = home.run(words);
        assert!(output.code == 2 && output.err.contains("settings do not belong to the sample"), "{}", output.err);
    }
    assert!(!home.config().exists());
}

#[test]
fn colour_can_be_a_setting() {
    let home = Home::new();
    home.session("x.jsonl", &small());
    assert!(!home.run(&["list"]).out.contains('\u{1b}'));
    home.configure("color = 'always'\n");
    assert!(home.run(&["list"]).out.contains('\u{1b}'));
    assert!(!home.run(&["list", "--color", "never"]).out.contains('\u{1b}'));
}

#[test]
fn sessions_get_titles_without_a_command_if_the_user_wants_them() {
    let home = Home::new();
    let asking = small().into_iter().map(|line| line.replace("first question", "Rename the flag. It is too long."));
    let file = home.session("x.jsonl", &asking.collect::<Vec<_>>());
    let before = std::fs::read(&file).unwrap();
    assert!(home.run(&["list"]).out.contains("Rename the flag. It is too long."));
    home.configure("list.titles = true\n");
    let listed = home.run(&["list"]).out;
    assert!(listed.contains("Rename the flag") && !listed.contains("too long"), "{listed}");
    assert_eq!(std::fs::read(&file).unwrap(), before, "a list writes nothing");

    let answer = json!({"role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "usage": {},
        "stopReason": "stop", "timestamp": 1});
    let requests = [json!({"type": "append_message", "message": answer}), json!({"type": "get_state"})];
    let words = ["rpc", "--session", file.to_str().unwrap()];
    assert_eq!(asked(&home, &words, &requests)[1]["sessionName"], Value::Null);
    home.configure("titles.auto = 'rule'\n");
    assert_eq!(asked(&home, &words, &requests)[1]["sessionName"], "Rename the flag");
    home.configure("titles.auto = 'model'\n");
    let refused = home.run(&words);
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.starts_with("error: titles.auto is \"model\", but titles.model names none\n"),
        "{}",
        refused.err
    );
}

//! The picker with the sessions of other members.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A machine with a private server, which ends with the test.
struct Server(Home);

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.program(&["remote".to_owned(), "down".to_owned()]).output());
    }
}

impl Home {
    /// Runs a command that must succeed.
    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let output = self.program(&words).env("SESSILE_TERMINAL", "").output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn the_picker_lists_and_opens_a_session_of_a_colleague() {
    let server = Server(Home::new());
    let ada = &server.0;
    // As root, the server runs as another user, which must reach its directory.
    std::fs::create_dir_all(ada.path().join("state")).unwrap();
    for directory in [ada.path().to_path_buf(), ada.path().join("state")] {
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o711)).unwrap();
    }
    ada.done(&["remote", "up"]);
    let new: serde_json::Value = serde_json::from_str(&ada.done(&["new", "--json"])).unwrap();
    let id = new["id"].as_str().unwrap();
    ada.done(&["append", new["path"].as_str().unwrap(), "The words of a colleague"]);
    ada.done(&["push", "--all"]);

    let bob = Home::new();
    let password = bob.path().join("password");
    let password = password.to_str().unwrap();
    ada.done(&["remote", "grant", "bob", "--password-file", password]);
    ada.done(&["share", id, "--with", "bob"]);
    let remotes: serde_json::Value = serde_json::from_str(&ada.done(&["remote", "--json"])).unwrap();
    let url = remotes[0]["url"].as_str().unwrap().replace("//me@", "//bob@");
    bob.done(&["remote", "add", "local", &url, "--password-file", password]);

    let words = ["resume", "--all", "--remote", "local"].map(str::to_owned);
    let mut picker = Terminal::run(bob.bare(&words), 130, 30);
    picker.wait("the session of the colleague", |it| it.text().contains("The words of a colleague"));
    picker.wait("its owner", |it| it.text().contains("me, "));
    picker.press("enter");
    picker.wait_for_end();
    let text = picker.text();
    assert!(text.contains("going on with") && text.contains("/members/me/sessions/"), "{text}");
}

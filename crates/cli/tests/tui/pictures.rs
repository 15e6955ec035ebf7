//! Pictures in a terminal that claims to support them.

use super::{Home, Terminal};

/// The smallest possible picture: one pixel.
const POINT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn session(home: &Home) -> String {
    let path = home.path().join("2026-01-01T00-00-00-000Z_p.jsonl");
    let image = |kind: &str, data: &str| format!("{{\"type\":\"image\",\"mimeType\":\"{kind}\",\"data\":\"{data}\"}}");
    let lines = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"p\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}}\n\
         {{\"type\":\"message\",\"id\":\"00000001\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"two pictures\"}},{},{}],\"timestamp\":1}}}}\n\
         {{\"type\":\"message\",\"id\":\"00000002\",\"parentId\":\"00000001\",\"timestamp\":\"2026-01-01T00:00:02.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"none here\",\"timestamp\":2}}}}\n",
        image("image/png", POINT),
        image("image/png", "AAAA\\u001b[2Jevil"),
    );
    std::fs::write(&path, lines).unwrap();
    path.to_string_lossy().into_owned()
}

fn run(home: &Home, args: &[&str]) -> Terminal {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let mut command = home.program(&args);
    command.env("TERM_PROGRAM", "WezTerm");
    Terminal::run(command.into(), 130, 30)
}

fn count(terminal: &Terminal, what: &str) -> usize {
    String::from_utf8_lossy(&terminal.bytes()).matches(what).count()
}

#[test]
fn pictures_are_drawn_one_after_the_other() {
    let home = Home::new();
    let path = session(&home);
    for (args, key) in [(["tree", "-i", &path], "alt+i"), (["show", "-i", &path], "i")] {
        let terminal = run(&home, &args);
        terminal.wait("the screen", |it| it.text().contains("two pictures") && it.text().contains("none here"));
        if args[0] == "tree" {
            terminal.press(key);
            terminal.wait("the message", |it| it.text().contains("This entry has no pictures"));
            terminal.press("up");
            terminal.wait("the message", |it| it.selected_row().contains("two pictures"));
        }
        terminal.press(key);
        terminal.wait("the first picture", |it| it.text().contains("[image: image/png, 1×1, 70 B] · 1 more"));
        terminal.wait("its bytes", |it| count(it, POINT) == 1);
        terminal.press("x");
        terminal.wait("the second picture", |it| it.text().contains("this terminal cannot draw it · last picture"));
        terminal.press("x");
        terminal.wait("the screen again", |it| it.text().contains("none here"));
        assert_eq!((count(&terminal, POINT), count(&terminal, "evil")), (1, 0));
    }
}

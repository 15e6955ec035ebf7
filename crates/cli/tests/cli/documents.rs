//! README.md and docs/recipes.md show exactly what the program prints.

use super::help::words;
use super::*;

/// Stands for the rest of an output.
const MORE: &str = "…";

/// A command of a document, and its documented output.
#[derive(Debug)]
struct Shown {
    command: String,
    out: Vec<String>,
}

/// A piece of a document: text, or a block of commands.
enum Piece {
    Text(String),
    Block(Vec<Shown>),
}

/// Splits a document at the blocks whose first line is one of our commands.
fn pieces(document: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        text += line;
        text += "\n";
        let is_ours = lines.peek().is_some_and(|next| next.starts_with("$ sessile"));
        if line != "```console" || !is_ours {
            continue;
        }
        let mut block: Vec<Shown> = Vec::new();
        while let Some(line) = lines.next_if(|line| *line != "```") {
            match (line.strip_prefix("$ sessile"), block.last_mut()) {
                (Some(command), _) => block.push(Shown { command: command.trim().to_owned(), out: Vec::new() }),
                (None, Some(example)) => example.out.push(line.to_owned()),
                (None, None) => {}
            }
        }
        pieces.extend([Piece::Text(std::mem::take(&mut text)), Piece::Block(block)]);
    }
    pieces.push(Piece::Text(text));
    pieces
}

/// Runs a command as written, in one terminal, on the sample; returns its output with the store at its usual path.
fn run(home: &Home, command: &str) -> Vec<String> {
    let mut words = words(command);
    if !words.iter().any(|word| word == "--sample") {
        words.insert(0, "--sample".to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = output_of(home.command(&words).env("SESSILE_TERMINAL", "a terminal"));
    // Some commands, such as `config`, need no store.
    let samples = home.dir.path().join("SESSILE_STATE_DIR/samples").read_dir().into_iter().flatten();
    let kept = { samples }.next().map(|entry| entry.unwrap().path().to_string_lossy().into_owned());
    let may_be_1 = output.out.is_empty() || words.contains(&"diff");
    let is_fine = output.code == 0 || (output.code == 1 && may_be_1);
    assert!(is_fine, "sessile {command}\n{}\n{}", output.out, output.err);
    let home = home.project().to_string_lossy().into_owned();
    let mut printed =
        (output.err + &output.out).replace(kept.as_deref().unwrap_or("\0"), "~/.pi/agent").replace(&home, "~/project");
    if !command.contains("--sample") {
        printed = printed.replace("sessile --sample ", "sessile ");
    }
    printed.lines().map(str::to_owned).collect()
}

/// Returns the document with today's output.
fn today(document: &str) -> String {
    let mut generated = String::new();
    for piece in pieces(document) {
        let block = match piece {
            Piece::Text(text) => {
                generated += &text;
                continue;
            }
            Piece::Block(block) => block,
        };
        let home = Home::new();
        for Shown { command, out } in block {
            let mut printed = run(&home, &command);
            if out.last().is_some_and(|line| line == MORE) {
                printed.truncate(out.len() - 1);
                printed.push(MORE.to_owned());
            }
            generated += format!("$ sessile {command}").trim_end();
            generated += "\n";
            for line in printed {
                generated += line.trim_end();
                generated += "\n";
            }
        }
    }
    generated
}

#[track_caller]
fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let kept = std::fs::read_to_string(&path).unwrap();
    let generated = today(&kept);
    if std::env::var_os("SESSILE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &generated).unwrap();
        return;
    }
    let differs = kept.lines().zip(generated.lines()).find(|(kept, generated)| kept != generated);
    assert!(
        kept == generated,
        "{name} does not show what the program prints: {differs:?}; `cargo xtask docs` updates it"
    );
}

#[test]
fn the_recipes_work() {
    check("docs/recipes.md");
    let document =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes.md")).unwrap();
    let n_recipes = pieces(&document).iter().filter(|piece| matches!(piece, Piece::Block(_))).count();
    assert!(n_recipes >= 20, "{n_recipes}");
}

#[test]
fn the_page_about_disk_space_is_true() {
    check("docs/disk.md");
}

#[test]
fn the_tour_of_the_readme_is_true() {
    check("README.md");
}

#[test]
fn the_tour_of_the_readme_leaves_the_readers_own_sessions_alone() {
    let document = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let blocks = pieces(&document).into_iter().filter_map(|piece| match piece {
        Piece::Block(block) => Some(block),
        Piece::Text(_) => None,
    });
    let commands: Vec<String> = blocks.flatten().map(|example| example.command).collect();
    assert!(commands.len() > 5 && commands.iter().all(|command| command.starts_with("--sample")), "{commands:?}");
}

//! Lines on a terminal: cut to its width, or to `COLUMNS`.

use super::{Home, Terminal};

/// Returns the lines that a command prints on a terminal of 130 columns.
fn printed(args: &[&str], columns: Option<&str>) -> Vec<String> {
    let home = Home::new();
    let mut command = home.plain(args);
    if let Some(columns) = columns {
        command.env("COLUMNS", columns);
    }
    let mut terminal = Terminal::run(command.into(), 130, 30);
    assert!(terminal.wait_for_end().success());
    // The last output may still be in transit.
    terminal.wait("all of it", |terminal| terminal.text().contains("019a4a96") || terminal.text().contains("@6"));
    terminal.text().lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

fn widest(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn lines_are_as_wide_as_the_columns_variable() {
    let whole = printed(&["list"], None);
    assert!(whole.iter().any(|line| line.contains("and neap tide?")), "{whole:?}");
    let narrow = printed(&["list"], Some("50"));
    assert!(narrow.iter().any(|line| line.contains("In one sentence") && line.contains('…')), "{narrow:?}");
    assert!((41..=50).contains(&widest(&narrow)), "{narrow:?}");
    assert_eq!(printed(&["list"], Some("odd")), whole);
}

#[test]
fn groups_have_bars_if_there_is_room() {
    let args = ["stats", "--by", "session"];
    let wide = printed(&args, None);
    assert!(wide.iter().any(|line| line.starts_with("019a6ce2  High water") && line.ends_with('█')), "{wide:?}");
    let narrow = printed(&args, Some("40"));
    let rows: Vec<&String> = narrow.iter().filter(|line| line.starts_with("019a")).collect();
    assert!(rows.len() == 6 && rows.iter().all(|line| line.contains("  $0.0")), "{narrow:?}");
    assert!(!narrow.concat().contains('█') && widest(&narrow) <= 40, "{narrow:?}");
}

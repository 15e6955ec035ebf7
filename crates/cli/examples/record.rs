//! Walks through the main screens of the made-up store, and writes them as one animated SVG.
//!
//! `cargo run -p sessile-cli --example record -- docs/tui.svg`
#![expect(clippy::disallowed_methods, reason = "writes the requested image")]
#![expect(clippy::unwrap_used, reason = "a failed recording should panic")]

#[path = "../tests/tui/terminal.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod terminal;

use std::fmt::Write;

use pty_process::blocking::Command;
use terminal::Terminal;

const COLUMNS: u16 = 120;
const ROWS: u16 = 30;
const CELL: (f64, f64) = (7.8, 16.0);

/// The words of the command, and keys with the text that must be visible after each.
type Flow = (&'static [&'static str], &'static [(&'static str, &'static str)]);

const FLOWS: &[Flow] = &[
    (
        &["resume"],
        &[
            ("", "In one sentence"),
            ("down", "› "),
            ("tab", "◉ all"),
            ("h", "> h"),
            ("a", "> ha"),
            ("r", "> har"),
            ("monic", "> harmonic"),
        ],
    ),
    (
        &["tree", "-i", "@1"],
        &[
            ("", "CHANGELOG"),
            ("alt+b", "› "),
            ("alt+home", "› • [system]"),
            ("alt+b", "› • [cause found]"),
            ("ctrl+right", "› ├"),
            ("ctrl+left", "⊞"),
            ("ctrl+right", "⊟"),
            ("ctrl+u", "[user]"),
        ],
    ),
    (&["show", "-i", "@1"], &[("", "CHANGELOG"), ("g", "careful"), ("]", "hour early"), ("pageDown", "model")]),
];

fn main() {
    let target = std::env::args().nth(1).unwrap_or_else(|| "docs/tui.svg".to_owned());
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let program = program.parent().and_then(|it| it.parent()).unwrap().join("sessile");
    let mut frames = Vec::new();
    for (words, steps) in FLOWS {
        let command = Command::new(&program)
            .arg(format!("--sample={}", home.path().join("sample").display()))
            .args(*words)
            .env_clear()
            .env("HOME", home.path())
            .env("SESSILE_CONFIG_DIR", home.path())
            .env("SESSILE_STATE_DIR", home.path().join("state"))
            .env("TZ", "UTC");
        let terminal = Terminal::run(command, COLUMNS, ROWS);
        for (key, expected) in *steps {
            if !key.is_empty() {
                terminal.press(key);
            }
            terminal.wait(expected, |terminal| terminal.text().contains(expected));
            // Changes that follow shortly after belong to the same frame.
            std::thread::sleep(std::time::Duration::from_millis(400));
            frames.push(terminal.screen(frame));
        }
    }
    std::fs::write(&target, svg(&frames)).unwrap();
}

/// Renders a frame as text in runs of one colour.
fn frame(screen: &vt100::Screen) -> String {
    let mut out = String::new();
    for row in 0..ROWS {
        let mut column = 0;
        while column < COLUMNS {
            let Some(cell) = screen.cell(row, column) else { break };
            let (start, look) = (column, look(cell));
            let mut text = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|cell| self::look(cell) == look) {
                if !cell.is_wide_continuation() {
                    text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                }
                column += 1;
                if column >= COLUMNS {
                    break;
                }
            }
            let (x, y) = (f64::from(start) * CELL.0, f64::from(row) * CELL.1);
            if look.2 {
                let width = f64::from(column - start) * CELL.0;
                write!(out, "<rect x='{x:.1}' y='{y:.0}' width='{width:.1}' height='16' fill='#303030'/>").unwrap();
            }
            if !text.trim().is_empty() {
                let weight = if look.1 { " font-weight='bold'" } else { "" };
                let length = f64::from(column - start) * CELL.0;
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
                let y = y + 12.0;
                write!(
                    out,
                    "<text x='{x:.1}' y='{y:.0}' textLength='{length:.1}' fill='{}'{weight}>{text}</text>",
                    look.0
                )
                .unwrap();
            }
        }
    }
    out
}

/// Returns the colour of a cell, whether it is bold, and whether it is selected.
fn look(cell: &vt100::Cell) -> (&'static str, bool, bool) {
    let color = match cell.fgcolor() {
        vt100::Color::Idx(1) => "#e06c75",
        vt100::Color::Idx(2) => "#98c379",
        vt100::Color::Idx(3) => "#e5c07b",
        vt100::Color::Idx(6) => "#56b6c2",
        vt100::Color::Idx(245) => "#8a8a8a",
        _ => "#dcdfe4",
    };
    (color, cell.bold(), cell.bgcolor() != vt100::Color::Default)
}

fn svg(frames: &[String]) -> String {
    let (width, height) = (f64::from(COLUMNS) * CELL.0 + 20.0, f64::from(ROWS) * CELL.1 + 20.0);
    let each = 1.6;
    let total = each * f64::from(u32::try_from(frames.len()).unwrap());
    let mut out = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' font-family='ui-monospace, \
         SFMono-Regular, Menlo, Consolas, monospace' font-size='13'>\n<rect width='100%' height='100%' rx='6' \
         fill='#1c1e24'/>\n<style>g.f{{visibility:hidden;animation:f {total:.1}s step-end infinite}}@keyframes \
         f{{0%{{visibility:visible}}{:.3}%{{visibility:hidden}}}}</style>\n",
        100.0 * each / total
    );
    for (at, frame) in (0_u32..).zip(frames) {
        let delay = each * f64::from(at);
        writeln!(out, "<g class='f' style='animation-delay:{delay:.1}s' transform='translate(10 10)'>{frame}</g>")
            .unwrap();
    }
    out.push_str("</svg>\n");
    out
}

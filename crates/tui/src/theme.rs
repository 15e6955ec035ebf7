//! Styles of tones: on a dark background, on a light background, or without colour.

use ratatui_core::style::{Color, Modifier, Style};
use sessile_display::Tone;

/// The style of a piece of text: its tone and emphasis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Ink {
    pub(crate) tone: Tone,
    pub(crate) bold: bool,
    /// Highlights a search match.
    pub(crate) marked: bool,
    /// Text that an edit added.
    pub(crate) added: bool,
}

impl Ink {
    pub(crate) const PLAIN: Self = Self::of(Tone::Plain);
    pub(crate) const DIM: Self = Self::of(Tone::Dim);
    pub(crate) const ACCENT: Self = Self::of(Tone::Accent);
    pub(crate) const NAMED: Self = Self::of(Tone::Named);
    pub(crate) const PERSON: Self = Self::of(Tone::Person);
    pub(crate) const BAD: Self = Self::of(Tone::Bad);
    pub(crate) const BOLD: Self = Self::PLAIN.bold();
    pub(crate) const ADDED: Self = Self { added: true, ..Self::PLAIN };

    pub(crate) const fn of(tone: Tone) -> Self {
        Self { tone, bold: false, marked: false, added: false }
    }

    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) const fn marked(self) -> Self {
        Self { marked: true, ..self }
    }
}

/// The background for which colours are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
    /// No colour at all.
    Plain,
}

impl Theme {
    /// Returns the theme with this name; `None` for `auto` and for unknown names.
    pub fn from_name(word: &str) -> Option<Self> {
        match word {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "none" => Some(Self::Plain),
            _ => None,
        }
    }

    /// Returns the theme that matches the terminal's colours in the variable `COLORFGBG`.
    pub fn from_terminal(colors: Option<&str>) -> Self {
        let background = colors.and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
        match background {
            Some(7 | 9..=15) => Self::Light,
            _ => Self::Dark,
        }
    }

    pub(crate) fn style(self, ink: Ink) -> Style {
        let mut style = match self {
            Self::Plain => without_colour(ink.tone),
            Self::Dark => dark(ink.tone),
            Self::Light => light(ink.tone),
        };
        if ink.added && self != Self::Plain {
            style = style.fg(Color::Green);
        }
        if ink.bold {
            style = style.add_modifier(Modifier::BOLD);
        }
        if ink.marked {
            style = style.add_modifier(Modifier::UNDERLINED | Modifier::BOLD);
        }
        style
    }

    /// Returns the style of the selected row.
    pub(crate) fn selected(self) -> Style {
        match self {
            Self::Plain => Style::new().add_modifier(Modifier::BOLD),
            Self::Dark => Style::new().bg(Color::Indexed(237)),
            Self::Light => Style::new().bg(Color::Indexed(254)),
        }
    }
}

// The terminal's own colours are used where possible, because its user can read them.
fn dark(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().fg(Color::Indexed(245)),
        Tone::Accent => Style::new().fg(Color::Cyan),
        Tone::Named => Style::new().fg(Color::Yellow),
        Tone::Person => Style::new().fg(Color::Green),
        Tone::Bad => Style::new().fg(Color::Red),
    }
}

fn light(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Dim => Style::new().fg(Color::Indexed(242)),
        Tone::Accent => Style::new().fg(Color::Blue),
        Tone::Named => Style::new().fg(Color::Indexed(94)),
        Tone::Person => Style::new().fg(Color::Indexed(22)),
        Tone::Bad => Style::new().fg(Color::Red),
    }
}

fn without_colour(tone: Tone) -> Style {
    match tone {
        Tone::Dim => Style::new().add_modifier(Modifier::DIM),
        Tone::Bad => Style::new().add_modifier(Modifier::BOLD),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_background_is_detected() {
        for (colors, theme) in [
            (None, Theme::Dark),
            (Some("15;0"), Theme::Dark),
            (Some("0;15"), Theme::Light),
            (Some("0;default;7"), Theme::Light),
            (Some("nonsense"), Theme::Dark),
        ] {
            assert_eq!(Theme::from_terminal(colors), theme, "{colors:?}");
        }
    }

    #[test]
    fn the_plain_theme_has_no_colours() {
        for tone in [Tone::Plain, Tone::Dim, Tone::Accent, Tone::Named, Tone::Person, Tone::Bad] {
            let style = Theme::Plain.style(Ink { tone, bold: true, marked: true, added: true });
            assert_eq!((style.fg, style.bg), (None, None));
        }
        assert_eq!(Theme::Plain.selected().bg, None);
    }
}

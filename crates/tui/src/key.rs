//! Keys by pi's names, such as `ctrl+left` or `shift+l`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) code: Code,
    pub(crate) ctrl: bool,
    pub(crate) alt: bool,
    pub(crate) shift: bool,
}

/// A key without modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Code {
    /// A character; letters are lower case.
    Char(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Tab,
    Backspace,
    Delete,
    Insert,
    Function(u8),
}

/// The keys that have names.
const NAMED: &[(&str, Code)] = &[
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("pageUp", Code::PageUp),
    ("pageDown", Code::PageDown),
    ("home", Code::Home),
    ("end", Code::End),
    ("enter", Code::Enter),
    ("return", Code::Enter),
    ("escape", Code::Escape),
    ("esc", Code::Escape),
    ("tab", Code::Tab),
    ("backspace", Code::Backspace),
    ("delete", Code::Delete),
    ("insert", Code::Insert),
    ("space", Code::Char(' ')),
];

impl Key {
    pub(crate) fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// Parses a key name; returns `None` for an unknown key.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let mut key = Self::plain(Code::Escape);
        let mut rest = name;
        loop {
            // The last `+` may be the key itself.
            match rest.split_once('+').filter(|(_, rest_after)| !rest_after.is_empty()) {
                Some(("ctrl", rest_after)) => (key.ctrl, rest) = (true, rest_after),
                Some(("alt", rest_after)) => (key.alt, rest) = (true, rest_after),
                Some(("shift", rest_after)) => (key.shift, rest) = (true, rest_after),
                _ => break,
            }
        }
        key.code = Code::named(rest)?;
        Some(key)
    }

    /// Converts a terminal event; returns `None` for keys without a meaning here.
    pub(crate) fn pressed(event: KeyEvent) -> Option<Self> {
        let code = match event.code {
            KeyCode::Char(char) => Code::Char(char),
            KeyCode::Up => Code::Up,
            KeyCode::Down => Code::Down,
            KeyCode::Left => Code::Left,
            KeyCode::Right => Code::Right,
            KeyCode::PageUp => Code::PageUp,
            KeyCode::PageDown => Code::PageDown,
            KeyCode::Home => Code::Home,
            KeyCode::End => Code::End,
            KeyCode::Enter => Code::Enter,
            KeyCode::Esc => Code::Escape,
            KeyCode::Tab | KeyCode::BackTab => Code::Tab,
            KeyCode::Backspace => Code::Backspace,
            KeyCode::Delete => Code::Delete,
            KeyCode::Insert => Code::Insert,
            KeyCode::F(number) => Code::Function(number),
            _ => return None,
        };
        let has = |modifier| event.modifiers.contains(modifier);
        let shift = has(KeyModifiers::SHIFT) || event.code == KeyCode::BackTab;
        let key = Self { code, ctrl: has(KeyModifiers::CONTROL), alt: has(KeyModifiers::ALT), shift };
        Some(key.normal())
    }

    /// Normalises the different ways in which terminals report the same key.
    fn normal(self) -> Self {
        match self.code {
            // Old terminals send the same code for both.
            Code::Char('h') if self.ctrl && !self.alt && !self.shift => Self { code: Code::Backspace, ..self },
            Code::Char(char) if char.is_ascii_uppercase() => {
                Self { code: Code::Char(char.to_ascii_lowercase()), shift: true, ..self }
            }
            Code::Char(char) if char.is_ascii_lowercase() => self,
            // For other characters, the character already includes the effect of shift.
            Code::Char(_) => Self { shift: false, ..self },
            _ => self,
        }
    }

    /// Returns the character that the key types, if any.
    pub(crate) fn typed(self) -> Option<char> {
        match self.code {
            Code::Char(char) if !self.ctrl && !self.alt && !char.is_control() => {
                Some(if self.shift { char.to_ascii_uppercase() } else { char })
            }
            _ => None,
        }
    }
}

impl Code {
    fn named(name: &str) -> Option<Self> {
        if let Some((_, code)) = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Some(*code);
        }
        let mut chars = name.chars();
        match (chars.next()?, chars.next()) {
            (char, None) => Some(Self::Char(char.to_ascii_lowercase())),
            ('f' | 'F', Some(_)) => name.get(1..)?.parse().ok().map(Self::Function),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (is_held, name) in [(self.shift, "shift+"), (self.ctrl, "ctrl+"), (self.alt, "alt+")] {
            f.write_str(if is_held { name } else { "" })?;
        }
        match self.code {
            Code::Char(' ') => f.write_str("space"),
            Code::Char(char) => write!(f, "{char}"),
            Code::Up => f.write_str("↑"),
            Code::Down => f.write_str("↓"),
            Code::Left => f.write_str("←"),
            Code::Right => f.write_str("→"),
            Code::Function(number) => write!(f, "f{number}"),
            code => f.write_str(NAMED.iter().find(|(_, known)| *known == code).map_or("?", |(name, _)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_names_that_pi_gives_them() {
        for name in ["ctrl+s", "shift+l", "pageUp", "shift+ctrl+o", "alt+enter", "f1", "?", "ctrl+backspace", "space"] {
            assert_eq!(Key::named(name).unwrap().to_string(), name);
        }
        assert_eq!(Key::named("ctrl+shift+o"), Key::named("shift+ctrl+o"));
        assert_eq!(Key::named("left").unwrap().to_string(), "←");
        assert_eq!(Key::named("+").unwrap().code, Code::Char('+'));
        assert_eq!(Key::named("ctrl++").unwrap().code, Code::Char('+'));
        for name in ["", "ctrl+", "hyper+x", "xy", "fx"] {
            assert_eq!(Key::named(name), None, "{name}");
        }
    }

    #[test]
    fn terminals_report_the_same_key_in_different_ways() {
        let pressed = |code, modifiers| Key::pressed(KeyEvent::new(code, modifiers)).unwrap();
        let (none, shift, ctrl) = (KeyModifiers::NONE, KeyModifiers::SHIFT, KeyModifiers::CONTROL);
        assert_eq!(pressed(KeyCode::Char('L'), none), Key::named("shift+l").unwrap());
        assert_eq!(pressed(KeyCode::Char('L'), shift), Key::named("shift+l").unwrap());
        assert_eq!(pressed(KeyCode::Char('O'), ctrl | shift), Key::named("shift+ctrl+o").unwrap());
        assert_eq!(pressed(KeyCode::Char('?'), shift), Key::named("?").unwrap());
        assert_eq!(pressed(KeyCode::Char('h'), ctrl), Key::named("ctrl+backspace").unwrap());
        assert_eq!(pressed(KeyCode::BackTab, none), Key::named("shift+tab").unwrap());
        assert_eq!(pressed(KeyCode::Char('L'), none).typed(), Some('L'));
        assert_eq!(pressed(KeyCode::Char('é'), none).typed(), Some('é'));
        assert_eq!(pressed(KeyCode::Char('x'), ctrl).typed(), None);
    }
}

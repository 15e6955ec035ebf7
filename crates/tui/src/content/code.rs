//! Highlighted code as lines of the screen.

use sessile_display::code::{Highlighter, Token};

use crate::paint::Line;
use crate::theme::Ink;

/// Highlights the next line of a text.
pub(super) fn highlighted(highlighter: &mut Highlighter, text: &str) -> Line {
    let text = text.replace('\t', "    ");
    let mut line = Line::new();
    for (token, piece) in highlighter.pieces(&text) {
        line.push(ink(token), piece);
    }
    line
}

fn ink(token: Token) -> Ink {
    match token {
        Token::Plain => Ink::PLAIN,
        Token::Comment => Ink::DIM,
        Token::String => Ink::PERSON,
        Token::Number => Ink::NAMED,
        Token::Keyword => Ink::ACCENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_inks_and_tabs_are_spaces() {
        let line = highlighted(&mut Highlighter::new("rust"), "\tlet x = 1; // c");
        assert_eq!(line.to_text(), "    let x = 1; // c");
        assert_eq!(line.columns_from(4, 3), Line::new().ink(Ink::ACCENT, "let"));
        assert_eq!(line.columns_from(12, 1), Line::new().ink(Ink::NAMED, "1"));
        assert_eq!(line.columns_from(15, 4), Line::new().ink(Ink::DIM, "// c"));
    }
}

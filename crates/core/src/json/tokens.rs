//! The parts of a value, one after the other.

use std::ops::Range;

use super::raw::{Raw, Shape, skip_value};
use super::scan::skip_space;
use super::text::JsText;

/// A part of a value; see [`Raw::tokens`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// An array begins. Its items and a [`Close`](Self::Close) follow.
    OpenArray,
    /// An object begins. Its members and a [`Close`](Self::Close) follow.
    OpenObject,
    /// The key of a member. Its value follows.
    Key(JsText<'a>),
    /// A value that is neither an array nor an object.
    Scalar(Raw<'a>),
    /// The innermost open array or object ends.
    Close,
}

impl<'a> Raw<'a> {
    /// The parts of this value in file order, for converting it into the values of another language.
    ///
    /// Takes time for the length of the text, however deeply values are nested. Duplicate keys are not merged.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::{Raw, Token};
    /// let value = Raw::parse(br#"{"a":[1]}"#).unwrap();
    /// let tokens: Vec<Token> = value.tokens().collect();
    /// let one = Token::Scalar(Raw::parse(b"1").unwrap());
    /// assert_eq!(
    ///     tokens,
    ///     [Token::OpenObject, Token::Key("a".into()), Token::OpenArray, one, Token::Close, Token::Close],
    /// );
    /// ```
    pub fn tokens(self) -> impl Iterator<Item = Token<'a>> {
        self.spanned_tokens().map(|(token, _)| token)
    }

    /// Like [`tokens`](Self::tokens), with the bytes of each part in [`as_bytes`](Self::as_bytes), for replacing some of
    /// them. A string includes its quotes; an array or object is its first or last byte.
    ///
    /// ```
    /// # use sessile_core as sessile;
    /// use sessile::json::Raw;
    /// let value = Raw::parse(br#"{"a": [1]}"#).unwrap();
    /// let spans: Vec<_> = value.spanned_tokens().map(|(_, span)| span).collect();
    /// assert_eq!(spans, [0..1, 1..4, 6..7, 7..8, 8..9, 9..10]);
    /// ```
    pub fn spanned_tokens(self) -> impl Iterator<Item = (Token<'a>, Range<usize>)> {
        Tokens { bytes: self.as_bytes(), at: 0, open: Vec::new(), expects_key: false }
    }
}

struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The arrays and objects that have not ended.
    open: Vec<Shape>,
    expects_key: bool,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (Token<'a>, Range<usize>);

    fn next(&mut self) -> Option<(Token<'a>, Range<usize>)> {
        self.at = skip_space(self.bytes, self.at);
        while matches!(self.bytes.get(self.at), Some(b',' | b':')) {
            self.at = skip_space(self.bytes, self.at + 1);
        }
        let first = *self.bytes.get(self.at)?;
        let begin = self.at;
        let token = match first {
            b'{' | b'[' => {
                self.at += 1;
                let is_object = first == b'{';
                self.open.push(if is_object { Shape::Object } else { Shape::Array });
                self.expects_key = is_object;
                if is_object { Token::OpenObject } else { Token::OpenArray }
            }
            b'}' | b']' => {
                self.at += 1;
                self.open.pop();
                self.expects_key = self.is_in_object();
                Token::Close
            }
            _ => {
                self.at = skip_value(self.bytes, begin);
                let token = &self.bytes[begin..self.at];
                let is_key = self.expects_key;
                self.expects_key = !is_key && self.is_in_object();
                if is_key { Token::Key(JsText::decode(token)) } else { Token::Scalar(Raw::trusted(token)) }
            }
        };
        Some((token, begin..self.at))
    }
}

impl Tokens<'_> {
    fn is_in_object(&self) -> bool {
        self.open.last() == Some(&Shape::Object)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{print, write_text};
    use super::*;

    /// Writes the tokens as text again.
    fn written(value: Raw<'_>) -> Vec<u8> {
        let mut out: Vec<u8> = Vec::new();
        let mut open = Vec::new();
        for token in value.tokens() {
            if !matches!(out.last(), None | Some(b'[' | b'{' | b':')) && token != Token::Close {
                out.push(b',');
            }
            match token {
                Token::OpenArray | Token::OpenObject => {
                    let (begin, end) = if token == Token::OpenArray { (b'[', b']') } else { (b'{', b'}') };
                    out.push(begin);
                    open.push(end);
                }
                Token::Key(key) => {
                    write_text(&key, &mut out);
                    out.push(b':');
                }
                Token::Scalar(scalar) => out.extend_from_slice(scalar.as_bytes()),
                Token::Close => out.extend(open.pop()),
            }
        }
        assert!(open.is_empty());
        out
    }

    #[track_caller]
    fn check(text: &[u8]) {
        let value = Raw::parse(text).unwrap();
        let written = written(value);
        let again = Raw::parse(&written).unwrap();
        assert_eq!(print(again), print(value), "{value:?}");
    }

    #[test]
    fn tokens_are_the_whole_value() {
        let texts: [&[u8]; 8] = [
            b"null",
            br#" "\ud800,:{" "#,
            b"[ ]",
            b"{ }",
            br#"{"a":{"b":[],"c":{}},"a":[[1,2],{"x":"}"}],"":0}"#,
            br#"[{},[],"",-1.5e3,true,null,{"k":[{"k":1e999}]}]"#,
            b"[\n1\t,\r2 ]",
            b"\"\xff\"",
        ];
        for text in texts {
            check(text);
        }
    }

    #[test]
    fn depth_costs_no_stack_and_no_time() {
        let deep = [vec![b'['; 300_000], vec![b']'; 300_000]].concat();
        assert_eq!(Raw::parse(&deep).unwrap().tokens().count(), 600_000);
    }

    proptest! {
        #[test]
        fn tokens_of_any_value_are_the_whole_value(
            words in prop::collection::vec(prop::sample::select(vec!["1", "\"a\"", "[", "]", "{", "}", "\"k\":", ",", " "]), 0..24)
        ) {
            let text = words.concat();
            if Raw::parse(text.as_bytes()).is_ok() {
                check(text.as_bytes());
            }
        }
    }
}

//! The query of a URL.

use crate::entry::percent_encoded;

/// The longest value that is used of a parameter, in bytes.
const MAX_VALUE: usize = 2000;

/// The parameters of a query, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a query such as `q=a+b&n=1`. Nothing is invalid: bytes that are not UTF-8 are replaced.
    pub(crate) fn parse(query: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        };
        Self(query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect())
    }

    /// The value of a parameter; empty if there is none.
    pub(crate) fn get(&self, name: &str) -> &str {
        let value = self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        value.get(..value.floor_char_boundary(MAX_VALUE)).unwrap_or_default().trim()
    }

    /// A form with these parameters, without the empty ones.
    pub(crate) fn of<const N: usize>(pairs: [(&str, &str); N]) -> Self {
        let present = pairs.into_iter().filter(|(_, value)| !value.is_empty());
        Self(present.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// The form with another value for one parameter; an empty value removes it.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut pairs: Vec<(String, String)> = self.0.iter().filter(|(known, _)| known != name).cloned().collect();
        if !value.is_empty() {
            pairs.push((name.to_owned(), value.to_owned()));
        }
        Self(pairs)
    }

    /// The parameters, in order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A URL with this query.
    pub(crate) fn url(&self, path: &str) -> String {
        let mut out = path.to_owned();
        for (index, (name, value)) in self.0.iter().enumerate() {
            out.push(if index == 0 { '?' } else { '&' });
            out.push_str(&percent_encoded(name));
            out.push('=');
            out.push_str(&percent_encoded(value));
        }
        out
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        rest = after;
        match (first, digit(0), digit(1)) {
            (b'+', _, _) => bytes.push(b' '),
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = after.get(2..).unwrap_or_default();
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_and_written() {
        let form = Form::parse("q=a+b%26%C3%A4&x&&n=1&n=2&bad=%zz%");
        assert_eq!(["q", "x", "n", "bad", "none"].map(|name| form.get(name)), ["a b&ä", "", "1", "%zz%", ""]);
        assert_eq!(Form::of([("q", "a b&ä"), ("n", "")]).url("/"), "/?q=a%20b%26%C3%A4");
        assert_eq!(Form::parse("q=1&n=2").with("n", "").with("q", "3").url("/x"), "/x?q=3");
        assert_eq!(Form::parse("").url("/"), "/");
        assert_eq!(Form::parse("q=%ff%00").get("q"), "\u{fffd}\0");
    }
}

//! Errors and their causes in words.

use std::error::Error;

/// Formats an error and its causes on one line. A cause that the text already ends with is not repeated.
pub fn chain(error: &dyn Error) -> String {
    causes(error).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Returns the causes of an error, the nearest first.
pub fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Told(&'static str, Option<Box<Self>>);

    impl fmt::Display for Told {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str(self.0)
        }
    }

    impl Error for Told {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn causes_follow_their_error_once() {
        let nested = |texts: [&'static str; 3]| {
            texts.into_iter().rev().fold(None, |cause, text| Some(Box::new(Told(text, cause)))).unwrap()
        };
        assert_eq!(
            chain(&*nested(["cannot open x", "no permission", "code 13"])),
            "cannot open x: no permission: code 13"
        );
        assert_eq!(chain(&*nested(["cannot open x: gone", "gone", "code 2"])), "cannot open x: gone: code 2");
        assert_eq!(causes(&*nested(["a", "b", "c"])).count(), 2);
    }
}

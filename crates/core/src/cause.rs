//! Errors and their causes in words.

use std::error::Error;

/// Formats an error and its causes on one line. A cause that the text already ends with is not repeated.
pub fn chain(error: &dyn Error) -> String {
    causes(error).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// Returns the words of an error and of each of its causes, without the cause that a text ends with.
///
/// For front ends that print each cause on its own line.
pub fn messages(error: &dyn Error) -> Vec<String> {
    let mut texts: Vec<String> =
        std::iter::once(error.to_string()).chain(causes(error).map(ToString::to_string)).collect();
    for at in 1..texts.len() {
        let (earlier, rest) = texts.split_at_mut(at);
        let own = earlier[at - 1].strip_suffix(rest[0].as_str()).and_then(|own| own.strip_suffix(": "));
        if let Some(own) = own.map(str::len) {
            earlier[at - 1].truncate(own);
        }
    }
    texts
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
    struct TestError(&'static str, Option<Box<Self>>);

    impl fmt::Display for TestError {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str(self.0)
        }
    }

    impl Error for TestError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn causes_follow_their_error_once() {
        let nested = |texts: [&'static str; 3]| {
            texts.into_iter().rev().fold(None, |cause, text| Some(Box::new(TestError(text, cause)))).unwrap()
        };
        assert_eq!(
            chain(&*nested(["cannot open x", "no permission", "code 13"])),
            "cannot open x: no permission: code 13"
        );
        assert_eq!(chain(&*nested(["cannot open x: gone", "gone", "code 2"])), "cannot open x: gone: code 2");
        assert_eq!(causes(&*nested(["a", "b", "c"])).count(), 2);
        let whole = nested(["cannot open x: gone: code 2", "gone: code 2", "code 2"]);
        assert_eq!(chain(&*whole), "cannot open x: gone: code 2");
        assert_eq!(messages(&*whole), ["cannot open x", "gone", "code 2"]);
        assert_eq!(messages(&*nested(["a", "b: c", "c"])), ["a", "b", "c"]);
        assert_eq!(messages(&*nested(["ab", "b", "x: b"])), ["ab", "b", "x: b"], "no colon, so not a cause");
    }
}

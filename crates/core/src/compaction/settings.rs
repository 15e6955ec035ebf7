//! When to compact, and how much to keep.

use crate::json::{Raw, Shape};

/// When a session is compacted and how much of it is kept, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether compaction is automatic. An explicit request works either way.
    pub enabled: bool,
    /// The part of the context window that must stay free.
    pub reserve_tokens: u64,
    /// The minimum size of the newest part, which is kept unchanged.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

impl CompactionSettings {
    /// Whether a context of `tokens` is too large for a window: pi's `shouldCompact`.
    pub fn should_compact(&self, tokens: f64, window: u64) -> bool {
        self.enabled && tokens > to_f64(window) - to_f64(self.reserve_tokens)
    }

    /// Resolves the settings for a model (`provider/model`) from the objects of settings files, lowest priority first.
    ///
    /// A number is taken from the overrides of the model, else from the plain settings, each time from the file with
    /// the highest priority that has it.
    pub fn resolve(files: &[Raw<'_>], model: Option<&str>) -> Result<Self, BadSetting> {
        let defaults = Self::default();
        let number = |key: &'static str, default: u64| {
            let of_model = model.and_then(|model| {
                let path = ["compaction", "modelOverrides", model, key];
                look_up(files, &path).map(|value| (value, format!("compaction.modelOverrides[\"{model}\"].{key}")))
            });
            let plain = || look_up(files, &["compaction", key]).map(|value| (value, format!("compaction.{key}")));
            match of_model.or_else(plain) {
                Some((value, name)) => token_count(value, name),
                None => Ok(default),
            }
        };
        let enabled = look_up(files, &["compaction", "enabled"]).filter(|value| !value.is_null());
        let enabled = enabled.is_none_or(Raw::is_truthy);
        Ok(Self {
            enabled,
            reserve_tokens: number("reserveTokens", defaults.reserve_tokens)?,
            keep_recent_tokens: number("keepRecentTokens", defaults.keep_recent_tokens)?,
        })
    }
}

/// How branches are summarised when the user leaves them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchSummarySettings {
    /// The tokens of the context window reserved for the instructions and the answer.
    pub reserve_tokens: u64,
    /// Whether to leave branches without a prompt and without a summary.
    pub skip_prompt: bool,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, skip_prompt: false }
    }
}

impl BranchSummarySettings {
    /// Resolves the settings from the objects of settings files, lowest priority first.
    pub fn resolve(files: &[Raw<'_>]) -> Result<Self, BadSetting> {
        let reserve = look_up(files, &["branchSummary", "reserveTokens"]).filter(|value| !value.is_null());
        let default = Self::default();
        Ok(Self {
            reserve_tokens: match reserve {
                Some(value) => token_count(value, "branchSummary.reserveTokens".to_owned())?,
                None => default.reserve_tokens,
            },
            skip_prompt: look_up(files, &["branchSummary", "skipPrompt"]).is_some_and(Raw::is_truthy),
        })
    }

    /// The number of tokens of a branch that fit into a window. 0 means no limit.
    pub fn budget(&self, window: u64) -> u64 {
        window.saturating_sub(self.reserve_tokens)
    }
}

/// A setting that is not a number of tokens.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the setting {name} must be a whole number from 0 to 9007199254740991, not {value}")]
pub struct BadSetting {
    /// Its name, including its parent keys.
    pub name: String,
    /// Its value, as JSON.
    pub value: String,
}

/// The largest integer that JavaScript represents exactly.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

fn token_count(value: Raw<'_>, name: String) -> Result<u64, BadSetting> {
    match value.as_number() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number in range"
        )]
        Some(number) if (0.0..=MAX_SAFE).contains(&number) && number.fract() == 0.0 => Ok(number as u64),
        _ => Err(BadSetting { name, value: value.to_text().into_owned() }),
    }
}

/// The value at the end of a path of keys, from the object with the highest priority that has it.
///
/// Objects with lower priority fill in missing keys, one by one.
fn look_up<'f>(files: &[Raw<'f>], path: &[&str]) -> Option<Raw<'f>> {
    for file in files.iter().rev() {
        let mut at = Some(*file);
        for key in path {
            let Some(object) = at else { break };
            // A value that is not an object hides the keys below it in files with lower priority.
            if object.shape() != Shape::Object {
                return None;
            }
            at = object.get(key);
        }
        if at.is_some() {
            return at;
        }
    }
    None
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn to_f64(tokens: u64) -> f64 {
    tokens as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(files: &[&str], model: Option<&str>) -> Result<(u64, u64), String> {
        let files: Vec<Raw<'_>> = files.iter().map(|file| Raw::parse(file.as_bytes()).unwrap()).collect();
        let settings = CompactionSettings::resolve(&files, model).map_err(|error| error.to_string())?;
        Ok((settings.reserve_tokens, settings.keep_recent_tokens))
    }

    #[test]
    fn the_threshold_is_exact() {
        let settings = CompactionSettings::default();
        assert!(!settings.should_compact(183_616.0, 200_000));
        assert!(settings.should_compact(183_617.0, 200_000));
        assert!(settings.should_compact(1.0, 100));
        assert!(!CompactionSettings { enabled: false, ..settings }.should_compact(1e9, 100));
    }

    #[test]
    fn the_most_specific_setting_wins() {
        let global = r#"{"compaction":{"reserveTokens":1,"modelOverrides":{"a/b":{"keepRecentTokens":2}}}}"#;
        let project = r#"{"compaction":{"keepRecentTokens":3,"modelOverrides":{"a/b":{"reserveTokens":4}}}}"#;
        assert_eq!(resolved(&[], None), Ok((16_384, 20_000)));
        assert_eq!(resolved(&[global], None), Ok((1, 20_000)));
        assert_eq!(resolved(&[global, project], None), Ok((1, 3)));
        assert_eq!(resolved(&[global, project], Some("a/b")), Ok((4, 2)));
        assert_eq!(resolved(&[global, project], Some("a/c")), Ok((1, 3)));
        assert_eq!(resolved(&[global, r#"{"compaction":5}"#], Some("a/b")), Ok((16_384, 20_000)));
        assert_eq!(resolved(&[r#"{"compaction":{"reserveTokens":0}}"#], None), Ok((0, 20_000)));
    }

    #[test]
    fn invalid_numbers_are_named() {
        for (value, model) in [("-1", None), ("1.5", None), ("\"9\"", None), ("1e16", None), ("null", Some("p/m"))] {
            let plain = format!(r#"{{"compaction":{{"keepRecentTokens":{value}}}}}"#);
            let error = resolved(&[&plain], model).unwrap_err();
            assert!(error.contains("compaction.keepRecentTokens") && error.contains(value), "{error}");
        }
        let file = r#"{"compaction":{"modelOverrides":{"p/m":{"reserveTokens":true}}}}"#;
        assert_eq!(resolved(&[file], None), Ok((16_384, 20_000)));
        assert!(resolved(&[file], Some("p/m")).unwrap_err().contains(r#"modelOverrides["p/m"].reserveTokens"#));
    }

    #[test]
    fn settings_are_on_unless_they_are_false() {
        let enabled = |file: &str| {
            let file = Raw::parse(file.as_bytes()).unwrap();
            CompactionSettings::resolve(&[file], None).unwrap().enabled
        };
        assert!(enabled("{}"));
        assert!(enabled(r#"{"compaction":{"enabled":null}}"#));
        assert!(!enabled(r#"{"compaction":{"enabled":false}}"#));
        assert!(!enabled(r#"{"compaction":{"enabled":0}}"#));
    }

    #[test]
    fn branch_summaries_have_their_own_settings() {
        let file = Raw::parse(br#"{"branchSummary":{"reserveTokens":7,"skipPrompt":true}}"#).unwrap();
        let settings = BranchSummarySettings::resolve(&[file]).unwrap();
        assert_eq!(settings, BranchSummarySettings { reserve_tokens: 7, skip_prompt: true });
        assert_eq!((settings.budget(10), settings.budget(5)), (3, 0));
        assert!(!BranchSummarySettings::resolve(&[]).unwrap().skip_prompt);
    }
}

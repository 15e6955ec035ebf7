//! When and how to compact sessions: from pi's settings files, overridden by the user's own.

use std::path::{Path, PathBuf};

use sessile_core::compaction::{BadSetting, BranchSummarySettings, CompactionSettings};
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_store::os::Os;

use super::key::Value;
use super::{Origin, Setting, Settings, SettingsError, pi};
use crate::environment::Environment;

/// The tables read here: their names in `config.toml` and in pi's files.
const COMPACTION: (&str, &str) = ("compaction", "compaction");
const BRANCH_SUMMARY: (&str, &str) = ("branch_summary", "branchSummary");

/// The keys in them, likewise.
const FLAGS: [(&str, &str); 2] = [("enabled", "enabled"), ("skip_prompt", "skipPrompt")];
const NUMBERS: [(&str, &str); 2] = [("reserve_tokens", "reserveTokens"), ("keep_recent_tokens", "keepRecentTokens")];

/// The prefix of the settings for a single model.
const OVERRIDES: &str = "compaction.model_overrides.";

/// The settings of one file, in the format of pi's files.
struct Layer {
    path: PathBuf,
    values: Json,
}

impl Settings {
    /// When to compact a session that last used this model (`provider/model`), and how much of it to keep.
    ///
    /// The user's own file overrides pi's file of the project, which overrides pi's global one.
    pub fn compaction(
        &self,
        environment: &dyn Environment,
        os: &dyn Os,
        model: Option<&str>,
    ) -> Result<CompactionSettings, SettingsError> {
        resolved(&self.layers(environment, os)?, |files| CompactionSettings::resolve(files, model))
    }

    /// How to summarise abandoned branches. Uses the same files.
    pub fn branch_summary(
        &self,
        environment: &dyn Environment,
        os: &dyn Os,
    ) -> Result<BranchSummarySettings, SettingsError> {
        resolved(&self.layers(environment, os)?, BranchSummarySettings::resolve)
    }

    /// The filter for trees in pi's settings, if any.
    pub fn pi_tree_filter(environment: &dyn Environment, os: &dyn Os) -> Option<String> {
        pi::text(environment, os, "treeFilterMode")
    }

    /// The settings of all files, lowest priority first.
    fn layers(&self, environment: &dyn Environment, os: &dyn Os) -> Result<Vec<Layer>, SettingsError> {
        // Warnings about pi's files were already reported when they were read for the sessions' directory.
        let warnings = &mut Vec::new();
        let mut layers: Vec<Layer> = Vec::new();
        for path in pi::files(environment).into_iter().rev() {
            layers.extend(pi::read(os, &path, warnings).map(|values| Layer { path, values }));
        }
        layers.extend(self.own_layer()?);
        Ok(layers)
    }

    fn own_layer(&self) -> Result<Option<Layer>, SettingsError> {
        let mut path = None;
        let mut values = ObjectWriter::new();
        for (table, name) in [COMPACTION, BRANCH_SUMMARY] {
            let mut plain = ObjectWriter::new();
            let mut overrides: Vec<(&str, ObjectWriter)> = Vec::new();
            for setting in self.table(table) {
                let (model, key, value) = understood(setting, table)?;
                let object = match model {
                    None => &mut plain,
                    Some(model) => {
                        if overrides.last().is_none_or(|(last, _)| *last != model) {
                            overrides.push((model, ObjectWriter::new()));
                        }
                        let Some((_, object)) = overrides.last_mut() else { continue };
                        object
                    }
                };
                object.raw(key, value);
                if let Origin::File { path: file, .. } = &setting.origin {
                    path = Some(file.clone());
                }
            }
            if !overrides.is_empty() {
                let mut of_models = ObjectWriter::new();
                for (model, mut object) in overrides {
                    of_models.raw(model, object.finish().raw());
                }
                plain.raw("modelOverrides", of_models.finish().raw());
            }
            values.raw(name, plain.finish().raw());
        }
        Ok(path.map(|path| Layer { path, values: values.finish() }))
    }
}

/// The model that a setting is limited to, if any, its name in pi, and its value.
fn understood<'s>(
    setting: &'s Setting,
    table: &str,
) -> Result<(Option<&'s str>, &'static str, Raw<'s>), SettingsError> {
    let Some(Value::Other(value)) = &setting.value else { return Err(bad(setting, "a number, true or false", "")) };
    let value = value.raw();
    let (model, key) = match setting.key.strip_prefix(OVERRIDES).and_then(|rest| rest.rsplit_once('.')) {
        Some((model, key)) => (Some(model), key),
        None => (None, setting.key.get(table.len() + 1..).unwrap_or_default()),
    };
    let pi_name = |keys: &[(&'static str, &'static str)]| keys.iter().find(|(own, _)| *own == key).map(|(_, pi)| *pi);
    let spelled = value.to_text();
    if let Some(name) = pi_name(&NUMBERS).filter(|_| table == COMPACTION.0 || key == "reserve_tokens") {
        let is_count = value.as_number().is_some_and(|number| number >= 0.0 && number.fract() == 0.0);
        return if is_count {
            Ok((model, name, value))
        } else {
            Err(bad(setting, "a whole number of tokens", &spelled))
        };
    }
    let flag = if table == COMPACTION.0 { FLAGS[0] } else { FLAGS[1] };
    if let Some(name) = pi_name(&[flag]).filter(|_| model.is_none()) {
        let is_flag = spelled == "true" || spelled == "false";
        return if is_flag { Ok((None, name, value)) } else { Err(bad(setting, "true or false", &spelled)) };
    }
    let known = if table == COMPACTION.0 {
        "enabled, keep_recent_tokens, reserve_tokens and model_overrides"
    } else {
        "reserve_tokens and skip_prompt"
    };
    Err(bad(setting, &format!("one of {known}"), &spelled))
}

fn bad(setting: &Setting, expected: &str, found: &str) -> SettingsError {
    let (path, line) = match &setting.origin {
        Origin::File { path, line } => (path.clone(), line.unwrap_or(1)),
        _ => (PathBuf::new(), 1),
    };
    SettingsError::BadValue {
        path,
        line,
        key: setting.key.clone(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

/// The combined settings of all layers. If they are invalid, the error names the responsible file.
fn resolved<T>(layers: &[Layer], resolve: impl Fn(&[Raw<'_>]) -> Result<T, BadSetting>) -> Result<T, SettingsError> {
    let files: Vec<Raw<'_>> = layers.iter().map(|layer| layer.values.raw()).collect();
    resolve(&files).map_err(|source| {
        let invalid = layers.iter().rev().find(|layer| resolve(&[layer.values.raw()]).is_err());
        let path = invalid.map_or(Path::new(""), |layer| layer.path.as_path()).to_path_buf();
        SettingsError::PiValue { path, source }
    })
}

//! When sessions are compacted and how much of them stays: pi's settings files, and before them the user's own.

use std::path::{Path, PathBuf};

use sessile_core::compaction::{BadSetting, BranchSummarySettings, CompactionSettings};
use sessile_core::json::{Json, ObjectWriter, Raw};
use sessile_store::os::Os;

use super::key::Value;
use super::{Origin, Setting, Settings, SettingsError, pi};
use crate::environment::Environment;

/// The tables of the user's file that are read here, as `config.toml` and pi's files call them.
const COMPACTION: (&str, &str) = ("compaction", "compaction");
const BRANCH_SUMMARY: (&str, &str) = ("branch_summary", "branchSummary");

/// The keys in them, in the same way.
const FLAGS: [(&str, &str); 2] = [("enabled", "enabled"), ("skip_prompt", "skipPrompt")];
const NUMBERS: [(&str, &str); 2] = [("reserve_tokens", "reserveTokens"), ("keep_recent_tokens", "keepRecentTokens")];

/// Before the name of a model and the numbers that count for it alone.
const OVERRIDES: &str = "compaction.model_overrides.";

/// What one file says, in the form of pi's files.
struct Layer {
    path: PathBuf,
    says: Json,
}

impl Settings {
    /// When a session is compacted that last used this model (`provider/model`), and how much of it stays.
    ///
    /// The user's own file counts before pi's file of the project, and that before pi's global one.
    pub fn compaction(
        &self,
        environment: &dyn Environment,
        os: &dyn Os,
        model: Option<&str>,
    ) -> Result<CompactionSettings, SettingsError> {
        resolved(&self.layers(environment, os)?, |files| CompactionSettings::resolve(files, model))
    }

    /// How branches are summarised when they are left. The same files count.
    pub fn branch_summary(
        &self,
        environment: &dyn Environment,
        os: &dyn Os,
    ) -> Result<BranchSummarySettings, SettingsError> {
        resolved(&self.layers(environment, os)?, BranchSummarySettings::resolve)
    }

    /// The filter with which pi shows trees, if its settings name one.
    pub fn pi_tree_filter(environment: &dyn Environment, os: &dyn Os) -> Option<String> {
        pi::text(environment, os, "treeFilterMode")
    }

    /// What the files say, the weakest first.
    fn layers(&self, environment: &dyn Environment, os: &dyn Os) -> Result<Vec<Layer>, SettingsError> {
        // What is odd about pi's files was told when they were looked at for the place of sessions.
        let told = &mut Vec::new();
        let mut layers: Vec<Layer> = Vec::new();
        for path in pi::files(environment).into_iter().rev() {
            layers.extend(pi::read(os, &path, told).map(|says| Layer { path, says }));
        }
        layers.extend(self.own_layer()?);
        Ok(layers)
    }

    fn own_layer(&self) -> Result<Option<Layer>, SettingsError> {
        let mut path = None;
        let mut says = ObjectWriter::new();
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
            says.raw(name, plain.finish().raw());
        }
        Ok(path.map(|path| Layer { path, says: says.finish() }))
    }
}

/// The model a setting is for, if it is for one alone, what pi calls it, and its value.
fn understood<'s>(
    setting: &'s Setting,
    table: &str,
) -> Result<(Option<&'s str>, &'static str, Raw<'s>), SettingsError> {
    let Some(Value::Other(value)) = &setting.value else { return Err(bad(setting, "a number or true or false", "")) };
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

/// What all layers say together. If that makes no sense, the file that is to blame is named.
fn resolved<T>(layers: &[Layer], resolve: impl Fn(&[Raw<'_>]) -> Result<T, BadSetting>) -> Result<T, SettingsError> {
    let files: Vec<Raw<'_>> = layers.iter().map(|layer| layer.says.raw()).collect();
    resolve(&files).map_err(|source| {
        let culprit = layers.iter().rev().find(|layer| resolve(&[layer.says.raw()]).is_err());
        let path = culprit.map_or(Path::new(""), |layer| layer.path.as_path()).to_path_buf();
        SettingsError::PiValue { path, source }
    })
}

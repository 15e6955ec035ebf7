//! Files with which a system runs `sessile sync --watch` at login.

use std::path::Path;

use clap::ValueEnum;

use super::SyncArgs;
use crate::environment::CommandEnvironment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen::Screen;

/// Which system starts the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ServiceKind {
    /// Linux: a unit of the user.
    Systemd,
    /// macOS: an agent of the user.
    Launchd,
}

pub(super) fn print(
    env: &CommandEnvironment,
    kind: ServiceKind,
    args: &SyncArgs,
    out: &mut Screen<'_>,
) -> Result<Exit, Failure> {
    // It is checked now, because a service that fails at login is easily overlooked.
    let remote = super::find_remote(env)?;
    let program = std::env::current_exe().unwrap_or_else(|_unknown| "sessile".into());
    let mut words = vec!["sync".to_owned(), "--watch".to_owned(), "--remote".to_owned(), remote.name];
    if args.all {
        words.push("--all".to_owned());
    }
    if args.common.allow_secrets {
        words.push("--allow-secrets".to_owned());
    }
    words.extend(["--every".to_owned(), args.every.to_string()]);
    let text = match kind {
        ServiceKind::Systemd => systemd(&program, &words),
        ServiceKind::Launchd => launchd(&program, &words),
    };
    out.data().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn systemd(program: &Path, words: &[String]) -> String {
    let command: Vec<String> = std::iter::once(program.to_string_lossy().into_owned())
        .chain(words.iter().cloned())
        .map(|word| quoted(&word))
        .collect();
    format!(
        "# Save as ~/.config/systemd/user/sessile-sync.service, then run:
#   systemctl --user daemon-reload
#   systemctl --user enable --now sessile-sync
# Messages: journalctl --user -u sessile-sync
[Unit]
Description=Synchronize the sessions of coding agents
After=network-online.target

[Service]
ExecStart={}
Restart=on-failure
RestartSec=30
Nice=10
NoNewPrivileges=yes
UMask=0077

[Install]
WantedBy=default.target
",
        command.join(" ")
    )
}

/// A word of a command line in a unit.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.=@+:,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    format!("\"{word}\"")
}

fn launchd(program: &Path, words: &[String]) -> String {
    let words = std::iter::once(program.to_string_lossy().into_owned()).chain(words.iter().cloned());
    let arguments: Vec<String> = words.map(|word| format!("    <string>{}</string>\n", escaped(&word))).collect();
    let arguments = arguments.concat();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Save as ~/Library/LaunchAgents/dev.sessile.sync.plist, then run:
     launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/dev.sessile.sync.plist -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.sessile.sync</string>
  <key>ProgramArguments</key>
  <array>
{arguments}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Background</string>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"#
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_special_characters_are_quoted() {
        let words = ["sync".to_owned(), "a b%c$d\"e\\f".to_owned()];
        let unit = systemd(Path::new("/opt/ses sile"), &words);
        assert!(unit.contains("\nExecStart=\"/opt/ses sile\" sync \"a b%%c$$d\\\"e\\\\f\"\n"), "{unit}");
        let agent = launchd(Path::new("/opt/a&b"), &["<x>".to_owned()]);
        assert!(
            agent.contains("    <string>/opt/a&amp;b</string>\n    <string>&lt;x&gt;</string>\n  </array>"),
            "{agent}"
        );
    }
}

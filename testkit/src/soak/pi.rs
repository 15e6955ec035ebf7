//! The genuine pi, on its own engine and on ours, with a model on loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Soak;
use super::talk::Talk;
use crate::SplitMix;

/// A model that answers every request with a few words, in the protocol of pi's provider `openai-completions`.
pub(super) struct Model {
    pub(super) port: u16,
}

impl Model {
    /// Starts a thread that answers until the process ends.
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || drop(answer(stream)));
            }
        });
        Self { port }
    }
}

/// Reads a request and answers it as a stream.
fn answer(stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
    let chunk = |choice: serde_json::Value, usage: serde_json::Value| {
        let chunk = json!({
            "id": "a", "object": "chat.completion.chunk", "created": 1, "model": "mock-1",
            "choices": [choice], "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let text = chunk(
        json!({"index": 0, "delta": {"role": "assistant", "content": "High water is at noon."}, "finish_reason": null}),
        json!(null),
    );
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}), usage);
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{text}{end}data: [DONE]\n\n"
    )
}

/// The flags of a pi without the user's extensions, with our model.
const FLAGS: [&str; 7] = ["--mode", "rpc", "--offline", "--provider", "mock", "--model", "mock-1"];

/// The name of pi on its own engine.
const OWN: &str = "pi";

/// The genuine pi on its own engine.
pub(super) fn own(soak: &Soak, random: SplitMix) {
    agent(soak, OWN, random, |session| soak.home.pi(&[&FLAGS[..], &["--session", session]].concat()));
}

/// The genuine pi on our engine.
pub(super) fn on_ours(soak: &Soak, random: SplitMix) {
    let Some(package) = soak.plan.package.clone() else {
        return soak
            .skip("pi on ours: the npm package has no native part; `cargo xtask node-build --release` builds it");
    };
    agent(soak, "pi on ours", random, |session| {
        soak.home.pi_on_ours(&package, &[&FLAGS[..], &["--session", session]].concat())
    });
}

/// Returns the error of a turn. If pi cannot write the prompt, the turn ends with a message that has the error.
fn error_of(end: &Value) -> Option<&str> {
    let error = if end["type"] == "agent_end" {
        let mut messages = end["messages"].as_array().into_iter().flatten();
        &messages.find(|message| message["stopReason"] == "error")?["errorMessage"]
    } else {
        &end["error"]
    };
    Some(error.as_str().unwrap_or("an error without a text"))
}

/// Starts pi on one session after the other, prompts it a few times, and kills it or lets it end.
fn agent(soak: &Soak, name: &'static str, mut random: SplitMix, command: impl Fn(&str) -> std::process::Command) {
    while !soak.is_over() {
        let Some(path) = soak.session(&mut random) else { continue };
        let errors = soak.home.outside.join(format!("{name}.errors"));
        let mut talk = match Talk::start(command(&path.to_string_lossy()), &errors) {
            Ok(talk) => talk,
            Err(error) => return soak.problem(format!("{name} cannot be started: {error}")),
        };
        soak.lives(name, talk.id());
        let began = Instant::now();
        let mut outcome = Ok(());
        for _ in 0..=random.below(12) {
            let mark = soak.board.mark();
            let since = Instant::now();
            talk.send(&json!({"type": "prompt", "message": format!("{mark} when is high water?")}));
            let is_end = |value: &Value| value["type"] == "agent_end" || value["success"] == false;
            outcome = talk.wait_for(is_end).map(|end| match error_of(&end) {
                Some(error) => soak.failed(name, since, error),
                None if name == OWN => {
                    soak.took("pi prompt", since);
                    soak.board.acknowledge_of_pi(&path, mark);
                }
                None => {
                    soak.took("pi on ours prompt", since);
                    soak.board.acknowledge(&path, mark);
                }
            });
            if outcome.is_err() || soak.is_over() {
                break;
            }
            soak.rest(&mut random, 800);
        }
        soak.died(name);
        if outcome.is_err() && soak.was_full(began) {
            // Pi ends, or never ends its turn, when it cannot write.
            soak.count("agents that gave up on a full disk", 1);
            outcome = Ok(());
        }
        if let Err(silence) = outcome {
            let errors = std::fs::read_to_string(&errors).unwrap_or_default();
            soak.problem(format!("{name}: {silence:?}: {}", errors.lines().last().unwrap_or_default()));
        }
        if random.one_in(2) {
            talk.send(&json!({"type": "prompt", "message": "never acknowledged"}));
            std::thread::sleep(Duration::from_millis(random.below(60) as u64));
            talk.kill();
            soak.count("killed agents", 1);
        } else {
            talk.finish();
        }
        soak.board.release(&path);
        soak.rest(&mut random, 3000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_ends_with_an_error_is_not_acknowledged() {
        let message = |reason| json!({"role": "assistant", "stopReason": reason, "errorMessage": "No space left"});
        let end = |reason| json!({"type": "agent_end", "messages": [{"role": "user"}, message(reason)]});
        assert_eq!(error_of(&end("stop")), None);
        assert_eq!(error_of(&end("error")), Some("No space left"));
        assert_eq!(error_of(&json!({"type": "response", "success": false, "error": "busy"})), Some("busy"));
        assert!(error_of(&json!({"type": "response", "success": false})).is_some());
    }
}

//! Failures on the way: bounded in time and memory, and reported without the key.

use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_core::compaction::SummaryFailure;
use sessile_summarize::{Model, RetryPolicy, Settings};

use crate::protocols::good;
use crate::server::{Play, Server, response, stream};
use crate::{KEY, MODELS, ask, ask_with, patience};

/// Returns part of an answer, without its end.
fn beginning(model: &str) -> &'static str {
    match model.split('/').next().unwrap() {
        "anthropic" => {
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"half\"}}\n\n"
        }
        "google" => "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"half\"}]}}]}\n\n",
        "ollama" => "{\"message\":{\"content\":\"half\"},\"done\":false}\n",
        _ => "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n",
    }
}

#[test]
fn an_interrupted_stream_is_retried() {
    for (model, _) in MODELS {
        let server = Server::play(vec![Play::Say(stream(beginning(model))), Play::Say(good(model))]);
        let asked = ask(model, &server.url);
        assert_eq!(asked.result.unwrap().text, "## Goal\n- 日", "{model}");
        let expected = ["+half", "wait 1/2 20 ms: the answer ended early", "again", "+## Goal\n", "+- 日", "settled"];
        assert_eq!(asked.told, expected, "{model}");
    }
}

#[test]
fn a_stream_that_is_always_interrupted_fails_in_the_end() {
    for (model, _) in MODELS {
        // Also in the middle of an event.
        let cut = format!("{}data: {{\"choi", beginning(model));
        let server = Server::play(vec![Play::Say(stream(&cut))]);
        let asked = ask(model, &server.url);
        assert_eq!(asked.failure(), format!("{model}: the answer ended early"));
        assert_eq!((server.seen().len(), asked.told.last().map(String::as_str)), (3, Some("settled")));
    }
}

#[test]
fn a_busy_server_is_retried_after_its_delay() {
    for (model, _) in MODELS {
        let busy = response("429 Too Many Requests", "retry-after: 0.3\r\n", r#"{"error":{"message":"slow down"}}"#);
        let server = Server::play(vec![Play::Say(busy), Play::Say(good(model))]);
        let since = Instant::now();
        let asked = ask(model, &server.url);
        asked.result.as_ref().unwrap();
        assert!(since.elapsed() >= Duration::from_millis(300));
        assert_eq!(asked.told[0], "wait 1/2 300 ms: status 429: slow down", "{model}");
    }
}

#[test]
fn a_server_that_asks_for_a_long_delay_is_not_retried() {
    let busy = response("429 Too Many Requests", "retry-after: 3600\r\n", r#"{"error":"quota"}"#);
    let server = Server::play(vec![Play::Say(busy)]);
    let failure = ask("openai/x", &server.url).failure();
    assert_eq!(failure, "openai/x: status 429: quota; the server asks to wait 3600 s");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn server_errors_are_retried_and_client_errors_are_not() {
    for (model, _) in MODELS {
        let server = Server::play(vec![Play::Say(response("500 Oops", "", "<h1>broken</h1>")), Play::Say(good(model))]);
        let asked = ask(model, &server.url);
        assert_eq!(asked.told[0], "wait 1/2 20 ms: status 500: <h1>broken</h1>", "{model}");
        asked.result.unwrap();
        let complaint = format!(r#"{{"error":{{"message":"no such key: {KEY} \u001b[31m"}}}}"#);
        let server = Server::play(vec![Play::Say(response("401 Unauthorized", "", &complaint))]);
        assert_eq!(ask(model, &server.url).failure(), format!("{model}: status 401: no such key: [key] [31m"));
        assert_eq!(server.seen().len(), 1);
    }
}

#[test]
fn an_error_in_the_stream_is_a_server_error() {
    let overloaded =
        "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server = Server::play(vec![Play::Say(stream(overloaded)), Play::Say(good("anthropic/x"))]);
    let asked = ask("anthropic/x", &server.url);
    assert_eq!(asked.told[0], "wait 1/2 20 ms: the server reported: Overloaded");
    asked.result.unwrap();
    let server = Server::play(vec![Play::Say(stream(&format!("{{\"error\":\"model {KEY} not found\"}}\n")))]);
    assert_eq!(ask("ollama/x", &server.url).failure(), "ollama/x: the server reported: model [key] not found");
}

#[test]
fn a_hanging_server_times_out() {
    let once = RetryPolicy { idle: Duration::from_millis(600), n_retries: 1, ..patience() };
    for (model, _) in MODELS {
        for said in [Vec::new(), stream(beginning(model)), response("500 Oops", "content-length: 100\r\n", "half")] {
            let server = Server::play(vec![Play::Hang(said)]);
            let failure = ask_with(model, &server.url, once, &Cancel::default()).failure();
            assert!(
                failure.contains("no data received for 0.6 s")
                    || failure.contains("status 500")
                    || failure.contains("imeout"),
                "{failure}"
            );
        }
    }
}

#[test]
fn a_slow_server_reaches_the_total_timeout() {
    let short = RetryPolicy { total: Duration::from_millis(900), ..patience() };
    let server = Server::play(vec![Play::Drip(stream(""))]);
    let failure = ask_with("openai/x", &server.url, short, &Cancel::default()).failure();
    assert!(
        failure.contains("took longer than 0.9 s") || failure.contains("was lost") || failure.contains("ended early"),
        "{failure}"
    );
}

#[test]
fn an_endless_answer_is_refused() {
    for (model, _) in MODELS {
        let forever = vec![
            // One line, many events, an error, and a text, each without end.
            Play::Forever(stream("data: "), vec![b'x'; 1 << 16]),
            Play::Forever(stream(""), beginning(model).replace("half", &"half".repeat(5000)).into_bytes()),
            Play::Forever(response("500 Oops", "", ""), vec![b'x'; 1 << 16]),
            Play::Forever(response("200 OK", "content-type: application/json\r\n", "{\"a\":\""), vec![b'x'; 1 << 16]),
        ];
        for play in forever {
            let server = Server::play(vec![play]);
            let none = RetryPolicy { n_retries: 0, ..patience() };
            let failure = ask_with(model, &server.url, none, &Cancel::default()).failure();
            assert!(
                failure.contains("larger than")
                    || failure.contains("longer than 1048576 bytes")
                    || failure.contains("status 500: xxx"),
                "{failure}"
            );
            assert!(failure.len() < 500);
        }
    }
}

#[test]
fn a_redirect_is_not_followed() {
    for (model, _) in MODELS {
        for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
            let other = Server::play(vec![Play::Say(good(model))]);
            let location = format!("location: {}/x?key={KEY}\r\n", other.url);
            let server = Server::play(vec![Play::Say(response(status, &location, ""))]);
            let failure = ask(model, &server.url).failure();
            assert!(failure.contains("redirects") && failure.contains(&other.url), "{failure}");
            assert_eq!((server.seen().len(), other.seen().len()), (1, 0), "{status}");
        }
    }
}

#[test]
fn text_that_is_not_json_is_not_an_answer() {
    for (model, _) in MODELS {
        let said = if model.starts_with("ollama") { "<html>\n" } else { "data: <html>\n\n" };
        let server = Server::play(vec![Play::Say(stream(said))]);
        assert_eq!(ask(model, &server.url).failure(), format!("{model}: the answer is not JSON: <html>"));
        let server = Server::play(vec![Play::Say(b"hello?\r\n\r\n".to_vec())]);
        let failure = ask(model, &server.url).failure();
        assert!(failure.contains("the connection failed"), "{failure}");
    }
}

#[test]
fn a_missing_server_is_reported_as_such() {
    let failure = ask("openai/x", "http://127.0.0.1:1/v1").failure();
    assert!(failure.starts_with("openai/x: the connection failed"), "{failure}");
}

#[test]
fn cancelling_stops_the_summary() {
    let long = RetryPolicy {
        idle: Duration::from_hours(1),
        total: Duration::from_hours(1),
        first_delay: Duration::from_hours(1),
        longest_delay: Duration::from_hours(1),
        ..patience()
    };
    for play in [Play::Hang(Vec::new()), Play::Hang(stream("")), Play::Say(response("503 No", "", ""))] {
        let server = Server::play(vec![play]);
        let cancel = Cancel::default();
        let (other, url) = (cancel.clone(), server.url.clone());
        let waiting = thread::spawn(move || ask_with("anthropic/x", &url, long, &other).result);
        thread::sleep(Duration::from_millis(200));
        cancel.cancel();
        assert!(matches!(waiting.join().unwrap(), Err(SummaryFailure::Cancelled)));
    }
}

#[test]
fn missing_settings_are_reported_before_a_request_is_sent() {
    let make =
        |settings: &Settings, name: &str| Model::new(settings, name, &|_| None).map(|_| ()).unwrap_err().to_string();
    let settings = Settings::default();
    assert_eq!(make(&settings, "anthropic/x"), "anthropic needs a key: ANTHROPIC_API_KEY is not set");
    assert_eq!(make(&settings, "google/x"), "google needs a key: GEMINI_API_KEY or GOOGLE_API_KEY is not set");
    for name in ["nobody/x", "anthropic", "anthropic/", "google/../x", "google/x?y"] {
        assert!(make(&settings, name).contains("is not a model"), "{name}");
    }
    let own = Settings { key_variable: Some("MINE".to_owned()), ..settings };
    assert_eq!(make(&own, "ollama/x"), "ollama needs a key: MINE is not set");
}

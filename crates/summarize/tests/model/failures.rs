//! Failures on the way: bounded in time and memory, and reported without the key.

use std::thread;
use std::time::{Duration, Instant};

use sessile_core::cancel::Cancel;
use sessile_core::compaction::SummaryFailure;
use sessile_summarize::{Model, RetryPolicy, Settings};

use crate::protocols::good;
use crate::server::{Reply, Server, response, stream};
use crate::{KEY, MODELS, ask, ask_with, retry_policy};

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
        let server = Server::serve(vec![Reply::Send(stream(beginning(model))), Reply::Send(good(model))]);
        let attempt = ask(model, &server.url);
        assert_eq!(attempt.result.unwrap().text, "## Goal\n- 日", "{model}");
        let expected = ["+half", "wait 1/2 20 ms: the answer ended early", "again", "+## Goal\n", "+- 日", "settled"];
        assert_eq!(attempt.events, expected, "{model}");
    }
}

#[test]
fn a_stream_that_is_always_interrupted_fails_in_the_end() {
    for (model, _) in MODELS {
        // Also in the middle of an event.
        let cut = format!("{}data: {{\"choi", beginning(model));
        let server = Server::serve(vec![Reply::Send(stream(&cut))]);
        let attempt = ask(model, &server.url);
        assert_eq!(attempt.failure(), format!("{model}: the answer ended early"));
        assert_eq!((server.requests().len(), attempt.events.last().map(String::as_str)), (3, Some("settled")));
    }
}

#[test]
fn a_busy_server_is_retried_after_its_delay() {
    for (model, _) in MODELS {
        let busy = response("429 Too Many Requests", "retry-after: 0.3\r\n", r#"{"error":{"message":"slow down"}}"#);
        let server = Server::serve(vec![Reply::Send(busy), Reply::Send(good(model))]);
        let since = Instant::now();
        let attempt = ask(model, &server.url);
        attempt.result.as_ref().unwrap();
        assert!(since.elapsed() >= Duration::from_millis(300));
        assert_eq!(attempt.events[0], "wait 1/2 300 ms: status 429: slow down", "{model}");
    }
}

#[test]
fn a_server_that_asks_for_a_long_delay_is_not_retried() {
    let busy = response("429 Too Many Requests", "retry-after: 3600\r\n", r#"{"error":"quota"}"#);
    let server = Server::serve(vec![Reply::Send(busy)]);
    let failure = ask("openai/x", &server.url).failure();
    assert_eq!(failure, "openai/x: status 429: quota; the server asks to wait 3600 s");
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn server_errors_are_retried_and_client_errors_are_not() {
    for (model, _) in MODELS {
        let server =
            Server::serve(vec![Reply::Send(response("500 Oops", "", "<h1>broken</h1>")), Reply::Send(good(model))]);
        let attempt = ask(model, &server.url);
        assert_eq!(attempt.events[0], "wait 1/2 20 ms: status 500: <h1>broken</h1>", "{model}");
        attempt.result.unwrap();
        let complaint = format!(r#"{{"error":{{"message":"no such key: {KEY} \u001b[31m"}}}}"#);
        let server = Server::serve(vec![Reply::Send(response("401 Unauthorized", "", &complaint))]);
        assert_eq!(ask(model, &server.url).failure(), format!("{model}: status 401: no such key: [key] [31m"));
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn an_error_in_the_stream_is_a_server_error() {
    let overloaded =
        "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let server = Server::serve(vec![Reply::Send(stream(overloaded)), Reply::Send(good("anthropic/x"))]);
    let attempt = ask("anthropic/x", &server.url);
    assert_eq!(attempt.events[0], "wait 1/2 20 ms: the server reported: Overloaded");
    attempt.result.unwrap();
    let server = Server::serve(vec![Reply::Send(stream(&format!("{{\"error\":\"model {KEY} not found\"}}\n")))]);
    assert_eq!(ask("ollama/x", &server.url).failure(), "ollama/x: the server reported: model [key] not found");
}

#[test]
fn a_hanging_server_times_out() {
    let once = RetryPolicy { idle: Duration::from_millis(600), n_retries: 1, ..retry_policy() };
    for (model, _) in MODELS {
        for start in [Vec::new(), stream(beginning(model)), response("500 Oops", "content-length: 100\r\n", "half")] {
            let server = Server::serve(vec![Reply::Hang(start)]);
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
    let short = RetryPolicy { total: Duration::from_millis(900), ..retry_policy() };
    let server = Server::serve(vec![Reply::Drip(stream(""))]);
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
            Reply::Forever(stream("data: "), vec![b'x'; 1 << 16]),
            Reply::Forever(stream(""), beginning(model).replace("half", &"half".repeat(5000)).into_bytes()),
            Reply::Forever(response("500 Oops", "", ""), vec![b'x'; 1 << 16]),
            Reply::Forever(response("200 OK", "content-type: application/json\r\n", "{\"a\":\""), vec![b'x'; 1 << 16]),
        ];
        for serve in forever {
            let server = Server::serve(vec![serve]);
            let none = RetryPolicy { n_retries: 0, ..retry_policy() };
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
            let other = Server::serve(vec![Reply::Send(good(model))]);
            let location = format!("location: {}/x?key={KEY}\r\n", other.url);
            let server = Server::serve(vec![Reply::Send(response(status, &location, ""))]);
            let failure = ask(model, &server.url).failure();
            assert!(failure.contains("redirects") && failure.contains(&other.url), "{failure}");
            assert_eq!((server.requests().len(), other.requests().len()), (1, 0), "{status}");
        }
    }
}

#[test]
fn text_that_is_not_json_is_not_an_answer() {
    for (model, _) in MODELS {
        let body = if model.starts_with("ollama") { "<html>\n" } else { "data: <html>\n\n" };
        let server = Server::serve(vec![Reply::Send(stream(body))]);
        assert_eq!(ask(model, &server.url).failure(), format!("{model}: the answer is not JSON: <html>"));
        let server = Server::serve(vec![Reply::Send(b"hello?\r\n\r\n".to_vec())]);
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
        ..retry_policy()
    };
    for serve in [Reply::Hang(Vec::new()), Reply::Hang(stream("")), Reply::Send(response("503 No", "", ""))] {
        let server = Server::serve(vec![serve]);
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

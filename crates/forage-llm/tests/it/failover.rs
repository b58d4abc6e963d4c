//! Tests retries, and switching to the next model.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use forage_llm::{
    AllFailed, CallBudget, ChatAnswer, ChatError, ChatModel, Endpoint, EndpointSettings, Wire, complete_first,
};

use crate::peer::{Peer, Reply, good, json};
use crate::{ample, check_error, request, settings};

fn first(peers: &[&Peer], budget: &CallBudget) -> Result<(ChatAnswer, Vec<ChatError>), AllFailed> {
    let named: Vec<_> =
        peers.iter().enumerate().map(|(index, peer)| (format!("acme-{}", index + 1), *peer)).collect();
    first_of(&named, budget)
}

/// Does the same as [`first`], with the names of the providers.
fn first_of(
    peers: &[(String, &Peer)],
    budget: &CallBudget,
) -> Result<(ChatAnswer, Vec<ChatError>), AllFailed> {
    let model = |(provider, peer): &(String, &Peer)| {
        let settings = EndpointSettings { provider: provider.clone(), ..settings(&peer.url()) };
        Wire::OpenAiChat.client(Endpoint::new(settings).unwrap())
    };
    let models: Vec<Arc<dyn ChatModel>> = peers.iter().map(model).collect();
    let outcome = complete_first(&models, &request("the question of this test"), budget);
    match &outcome {
        Ok((_, errors)) => errors.iter().for_each(check_error),
        Err(failed) => failed.errors.iter().for_each(check_error),
    }
    outcome
}

fn status(status: u16) -> Reply {
    json(status, "", "{}")
}

#[test]
fn the_first_model_answers() {
    let (one, two) = (Peer::start([good("one")]), Peer::start([good("two")]));
    let (answer, errors) = first(&[&one, &two], &ample()).unwrap();
    assert_eq!((answer.text.as_str(), errors.len(), two.requests().len()), ("one", 0, 0));
}

#[test]
fn a_hiccup_is_ridden_out() {
    for hiccup in [
        status(500),
        json(429, "retry-after: 0\r\n", "{}"),
        Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{".to_vec()),
    ] {
        let peer = Peer::start([hiccup, good("later")]);
        let (answer, errors) = first(&[&peer], &ample()).unwrap();
        assert_eq!((answer.text.as_str(), errors.len(), peer.requests().len()), ("later", 0, 2));
    }
}

#[test]
fn the_servers_pause_is_kept() {
    let peer = Peer::start([json(429, "retry-after: 1\r\n", "{}"), good("later")]);
    let started = Instant::now();
    assert_eq!(first(&[&peer], &ample()).unwrap().0.text, "later");
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[test]
fn pause_beyond_the_deadline_tries_the_next_model() {
    let one = Peer::start([json(429, "retry-after: 3600\r\n", "{}"), good("one")]);
    let two = Peer::start([good("two")]);
    let started = Instant::now();
    let (answer, errors) = first(&[&one, &two], &ample()).unwrap();
    assert_eq!((answer.text.as_str(), one.requests().len()), ("two", 1));
    assert!(matches!(errors[..], [ChatError::RateLimited { .. }]), "{errors:?}");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_model_that_fails_twice_is_given_up() {
    let (one, two) = (Peer::start([status(500), status(503), good("one")]), Peer::start([good("two")]));
    let (answer, errors) = first(&[&one, &two], &ample()).unwrap();
    assert_eq!((answer.text.as_str(), one.requests().len()), ("two", 2));
    assert!(matches!(errors[..], [ChatError::Server { status: 503, .. }]), "{errors:?}");
}

#[test]
fn what_a_retry_cannot_mend_is_not_retried() {
    for reply in [status(401), status(404), good(""), json(200, "", "nonsense")] {
        let (one, two) = (Peer::start([reply, good("one")]), Peer::start([good("two")]));
        let (answer, errors) = first(&[&one, &two], &ample()).unwrap();
        assert_eq!((answer.text.as_str(), errors.len(), one.requests().len()), ("two", 1, 1));
    }
}

#[test]
fn each_model_of_the_list_is_asked_until_one_answers() {
    let peers = [Peer::start([status(401)]), Peer::start([status(404)]), Peer::start([good("three")])];
    let (answer, errors) = first(&[&peers[0], &peers[1], &peers[2]], &ample()).unwrap();
    assert_eq!((answer.text.as_str(), errors.len()), ("three", 2));
    let peers = [401, 404, 401].map(|code| Peer::start([status(code)]));
    let failed = first(&[&peers[0], &peers[1], &peers[2]], &ample()).unwrap_err();
    assert_eq!((failed.errors.len(), peers[2].requests().len()), (3, 1));
    assert!(failed.to_string().contains("acme-3/small-1"), "{failed}");
    assert!(!failed.is_cancelled());
    let none = first(&[], &ample()).unwrap_err();
    assert!(none.errors.is_empty() && none.to_string().contains("configure"), "{none}");
}

#[test]
fn provider_failure_skips_its_models() {
    let refused = [401, 403, 402].map(status);
    let out_of_quota = json(429, "", r#"{"error":{"code":"insufficient_quota"}}"#);
    for refusal in refused.into_iter().chain([out_of_quota]) {
        let peers = [Peer::start([refusal]), Peer::start([good("two")]), Peer::start([good("three")])];
        let named = ["acme", "acme", "acme-b"].map(str::to_owned).into_iter().zip(&peers).collect::<Vec<_>>();
        let (answer, errors) = first_of(&named, &ample()).unwrap();
        assert_eq!((answer.text.as_str(), errors.len(), peers[1].requests().len()), ("three", 1, 0));
        assert!(errors[0].rules_out_provider(), "{errors:?}");
    }
    // If a model is retired, the other models of its provider should still be tried.
    let peers = [Peer::start([status(404)]), Peer::start([good("two")])];
    let named = ["acme", "acme"].map(str::to_owned).into_iter().zip(&peers).collect::<Vec<_>>();
    let (answer, errors) = first_of(&named, &ample()).unwrap();
    assert_eq!(answer.text, "two");
    assert!(matches!(errors[0], ChatError::ModelUnusable { .. }), "{errors:?}");
}

#[test]
fn the_deadline_ends_everything() {
    let (one, two) = (Peer::start([Reply::Hang(Vec::new())]), Peer::start([good("two")]));
    let budget = CallBudget::until(Instant::now() + Duration::from_millis(200));
    let failed = first(&[&one, &two], &budget).unwrap_err();
    assert!(matches!(failed.errors[..], [ChatError::DeadlineExceeded { .. }]), "{failed}");
    assert!(two.requests().is_empty());
}

#[test]
fn cancellation_ends_the_pause_and_nothing_more_is_sent() {
    let one = Peer::start([json(429, "retry-after: 20\r\n", "{}"), good("one")]);
    let two = Peer::start([good("two")]);
    let budget = CallBudget::until(Instant::now() + Duration::from_secs(60));
    let started = Instant::now();
    let failed = thread::scope(|scope| {
        scope.spawn(|| {
            // The cancellation should not come before the pause has begun.
            while one.requests().is_empty() {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(100));
            budget.stop.cancel();
        });
        first(&[&one, &two], &budget).unwrap_err()
    });
    assert!(failed.is_cancelled(), "{failed}");
    // The pause is 20 seconds, so the cancellation has ended it.
    assert!(started.elapsed() < Duration::from_secs(15));
    assert_eq!((one.requests().len(), two.requests().len()), (1, 0));
}

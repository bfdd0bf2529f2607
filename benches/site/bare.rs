//! The bare axum route that every figure is compared with. It only returns recorded
//! responses of the site.

use super::requests::Request;
use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tidings_testing::load::Sample;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The kind of a response: the first segment of the request's path, and whether the request
/// has a session.
type Kind = (String, bool);

/// Recorded responses of one kind, returned in turn.
#[derive(Default)]
struct Answers {
    samples: Vec<Sample>,
    next: AtomicUsize,
}

/// A server that returns recorded responses of the site. Dropping it stops it.
pub struct Bare {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

fn kind(path: &str, has_session: bool) -> Kind {
    let segment = path.split(['/', '?']).nth(1).unwrap_or_default();
    let name = if segment.starts_with('@') { "@" } else { segment };
    (name.to_owned(), has_session)
}

impl Bare {
    /// Serves the responses by their kinds.
    pub async fn serve(samples: Vec<(&Request, Sample)>) -> Self {
        let mut kinds: HashMap<Kind, Answers> = HashMap::new();
        for (request, sample) in samples {
            let kind = kind(&request.path, request.session.is_some());
            kinds.entry(kind).or_default().samples.push(sample);
        }
        let kinds = Arc::new(kinds);
        let router = Router::new().fallback(move |request: axum::extract::Request<Body>| {
            let kinds = kinds.clone();
            async move { answer(&kinds, &request) }
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, task }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn answer(kinds: &HashMap<Kind, Answers>, request: &axum::extract::Request<Body>) -> Response {
    let kind = kind(request.uri().path(), request.headers().contains_key(header::COOKIE));
    let Some(answers) = kinds.get(&kind) else {
        return axum::http::StatusCode::NOT_FOUND.into_response();
    };
    let turn = answers.next.fetch_add(1, Ordering::Relaxed) % answers.samples.len();
    let Sample { headers, body } = answers.samples[turn].clone();
    (headers, body).into_response()
}

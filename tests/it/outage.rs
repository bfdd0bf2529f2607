//! Redis goes away and comes back, while the site is under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::StatusCode;

use crate::client::{Client, HttpResponse, ok, refused, refused_saying};
use crate::server::{Engine, Server};

/// How long a store may take, in these tests.
pub const STORE_TIMEOUT: (&str, &str) = ("server.store_timeout_seconds", "1");
/// How long a request may take altogether: a store that is away must not use it up.
const REQUEST_LIMIT: Duration = Duration::from_secs(8);

/// Clients that read and write until they are told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    running: Vec<tokio::task::JoinHandle<Vec<(HttpResponse, Duration)>>>,
}

impl Load {
    fn start(clients: &[Client]) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let running = clients.iter().cloned().map(|client| {
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for number in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let asked = Instant::now();
                    let answer = match number % 3 {
                        0 => client.get("/api/getnews/top/0/30").await,
                        1 => client.get("/api/getcomments/1").await,
                        _ => client.post("/api/updateprofile", &[("about", "x"), ("email", "")]).await,
                    };
                    answers.push((answer, asked.elapsed()));
                }
                answers
            })
        });
        Self { running: running.collect(), stop }
    }

    /// Every answer that was given, with the time that it took.
    async fn end(self) -> Vec<(HttpResponse, Duration)> {
        self.stop.store(true, Ordering::SeqCst);
        let mut answers = Vec::new();
        for client in self.running {
            answers.extend(client.await.unwrap());
        }
        answers
    }
}

/// Waits until reading the site gives this status.
pub async fn wait_for(client: &Client, status: StatusCode) {
    tidings_testing::until(async || client.get("/api/getnews/top/0/30").await.status == status).await;
}

/// Lets Redis go away under load and come back; every request must have been
/// answered, in time, as if all were well or with 503.
async fn check_outage(
    mut server: Server,
    clients: &[Client],
    go: fn(&mut Server),
    come_back: fn(&mut Server),
) -> Server {
    let load = Load::start(clients);
    wait_for(&clients[0], StatusCode::OK).await;
    go(&mut server);
    wait_for(&clients[0], StatusCode::SERVICE_UNAVAILABLE).await;
    for path in ["/api/getnews/top/0/30", "/api/getcomments/1"] {
        let answer = server.visitor().get(path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        refused_saying(answer.json(), "cannot reach its database");
        assert_eq!(answer.headers["retry-after"], "10");
    }
    let written = clients[0].post("/api/submit", &[("news_id", "-1"), ("title", "x"), ("text", "y")]).await;
    assert_eq!(written.status, StatusCode::SERVICE_UNAVAILABLE);
    come_back(&mut server);
    wait_for(&clients[0], StatusCode::OK).await;

    let answers = load.end().await;
    for (answer, took) in &answers {
        let good = answer.status == StatusCode::OK || answer.status == StatusCode::SERVICE_UNAVAILABLE;
        assert!(good, "{answer:?}");
        answer.json();
        assert!(*took < REQUEST_LIMIT, "{took:?}");
    }
    let unavailable = answers.iter().filter(|(answer, _)| answer.status != StatusCode::OK).count();
    assert!((1..answers.len()).contains(&unavailable), "{unavailable} of {}", answers.len());
    server
}

/// A site on Redis with an item and some clients.
async fn site() -> (Server, Vec<Client>) {
    let server = Server::start(Engine::Redis, &[STORE_TIMEOUT]).await;
    let clients = server.members(8).await;
    clients[0].submit_text("One", "text").await;
    (server, clients)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_hangs_requests_get_503_and_afterwards_all_is_as_before() {
    let (server, clients) = site().await;
    let server = check_outage(
        server,
        &clients,
        |server| server.redis.as_ref().unwrap().pause(),
        |server| server.redis.as_ref().unwrap().resume(),
    )
    .await;
    assert!(clients[0].is_logged_in().await);
    assert!(clients[1].listed("top").await.contains(&1));
    ok(clients[1].vote(1, "up").await);
    crate::consistency::check_site(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_redis_is_killed_requests_get_503_and_the_site_works_again_when_it_is_back() {
    let (server, clients) = site().await;
    let server = check_outage(
        server,
        &clients,
        |server| server.redis.as_mut().unwrap().stop(),
        |server| server.redis.as_mut().unwrap().start_again(),
    )
    .await;
    // The test's server keeps nothing on disk: it came back empty.
    assert_eq!(refused(clients[0].vote(1, "up").await), "You must be logged in.");
    let again = server.member("again").await;
    assert_eq!(again.submit_text("Two", "text").await, 1);
    crate::consistency::check_site(&server).await;
}

//! Workers whose panic is planted work again.
//!
//! Nothing in the program serves to plant a panic: a worker runs in a span with its name, and
//! what subscribes to spans here panics when the worker is about to go on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings_web::panics;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::live::Events;
use crate::pages::page;
use crate::server::{Engine, Server};
use crate::smtp_server::SmtpServer;

/// Panics in workers, and counts how often each has gone on.
#[derive(Clone, Default)]
pub struct Plant(Arc<Mutex<Planted>>);

#[derive(Default)]
struct Planted {
    armed: Option<&'static str>,
    /// A worker that panics once a file is there.
    armed_by: Option<(String, PathBuf)>,
    entered: HashMap<String, u64>,
    lines: String,
}

/// The name of a worker, kept with its span.
#[derive(Clone)]
struct WorkerName(String);

/// Reads the fields of a span or a line.
#[derive(Default)]
struct Fields(HashMap<String, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl Planted {
    fn is_armed(&self, worker: &str) -> bool {
        self.armed == Some(worker)
            || self.armed_by.as_ref().is_some_and(|(armed, file)| armed == worker && file.exists())
    }
}

impl Plant {
    /// Panics in a worker once a file is there, which another process makes.
    pub fn armed_by(worker: &str, file: &Path) -> Self {
        let plant = Self::default();
        plant.lock().armed_by = Some((worker.to_owned(), file.to_owned()));
        plant
    }

    fn lock(&self) -> MutexGuard<'_, Planted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entered(&self, worker: &str) -> u64 {
        self.lock().entered.get(worker).copied().unwrap_or(0)
    }

    /// Lets a worker panic the next time that it goes on, and waits until it works again.
    async fn check(&self, worker: &'static str) {
        tidings_testing::until(async || self.entered(worker) > 0).await;
        let before = panics::count();
        self.lock().armed = Some(worker);
        tidings_testing::until(async || panics::count() > before).await;
        let entered = self.entered(worker);
        tidings_testing::until(async || self.entered(worker) > entered).await;
        assert_eq!(panics::count(), before + 1, "{worker}");
        assert!(self.lock().lines.contains("planted"), "{worker}");
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Plant {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() == "background" {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            let name = fields.0.remove("worker").unwrap();
            context.span(id).unwrap().extensions_mut().insert(WorkerName(name));
        }
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(WorkerName(name)) = context.span(id).unwrap().extensions().get::<WorkerName>().cloned()
        else {
            return;
        };
        let mut planted = self.lock();
        *planted.entered.entry(name.clone()).or_default() += 1;
        let is_planted = planted.is_armed(&name);
        if is_planted {
            // Once: a worker is entered again when it is dropped.
            (planted.armed, planted.armed_by) = (None, None);
        }
        drop(planted);
        assert!(!is_planted, "planted");
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(reason) = fields.0.get("reason") {
            self.lock().lines.push_str(reason);
        }
    }
}

/// Watches the workers of this process.
fn plant() -> Plant {
    let plant = Plant::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(plant.clone())).unwrap();
    panics::watch();
    plant
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_worker_of_a_site_works_again_after_a_panic() {
    let plant = plant();
    let relay = SmtpServer::start().await;
    let server = Server::start(Engine::Memory, &[("mail.relay", &relay.relay())]).await;
    for worker in ["jobs", "visits", "inboxes", "bans", "outbox"] {
        plant.check(worker).await;
    }
    // Work that a panic has interrupted is done again.
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.follow("bob").await;
    plant.lock().armed = Some("job");
    bob.tweet("Hello").await;
    tidings_testing::until(async || plant.lock().armed.is_none()).await;
    tidings_testing::until(async || page(&alice, "/home").await.text().contains("Hello")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_pages_hear_of_tweets_after_a_panic_of_those_who_listen() {
    let plant = plant();
    let server = Server::start(Engine::Redis, &[]).await;
    let [alice, bob] = server.people(["alice", "bob"]).await;
    alice.follow("bob").await;
    let mut events = Events::of_home(&alice).await;
    events.until(0).await;
    let mut tweets = 0;
    for worker in ["messages", "tweets"] {
        let before = panics::count();
        plant.lock().armed = Some(worker);
        server.advance(1);
        bob.tweet("Hello").await;
        tidings_testing::until(async || panics::count() > before).await;
        tweets += 1;
        events.until(tweets).await;
        // And it goes on.
        server.advance(1);
        bob.tweet("Again").await;
        tweets += 1;
        events.until(tweets).await;
    }
}

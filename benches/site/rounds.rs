//! The number of round trips of a page with empty caches.

use super::requests::Request;
use super::server::settings;
use std::net::Ipv4Addr;
use tidings::config::Config;
use tidings_domain::Site;
use tidings_domain::passwords::PasswordWorker;
use tidings_keyspace::{EngineClock, Store, StoreOptions};
use tidings_testing::load::fetch;
use tidings_web::App;
use tokio::net::TcpListener;

/// The round trips of each request, on a site that was just started. Another site has
/// handled the request before, so that writes of a first visit (ranks, the time of the
/// visit) are already done.
pub async fn count(url: &str, requests: &[&Request]) -> Vec<u64> {
    let store = Store::open(url, &StoreOptions::default()).await.unwrap();
    let mut rounds = Vec::new();
    for request in requests {
        ask_new_site(&store, request).await;
        let before = store.rounds();
        ask_new_site(&store, request).await;
        rounds.push(store.rounds() - before);
    }
    store.close().await;
    rounds
}

async fn ask_new_site(store: &Store, request: &Request) {
    let config = Config::from_variables(settings()).unwrap();
    let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default())
        .reached_at(config.site.url.as_str());
    let app = App::new(site, config.web_settings(), None, EngineClock::System);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(tidings_web::serve(app, listener, async move {
        let _ = stopped.await;
    }));
    fetch(address, &request.text()).await;
    let _ = stop.send(());
    let _ = serving.await;
}

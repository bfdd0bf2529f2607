//! Requests that may write run to their end, whatever becomes of their connections.
//!
//! The work of a handler after its commit (mails, lines of the log, counters) must not depend on
//! whether the client still waits. So the handler of such a request runs in a task of its own
//! once the body is there. A client that closes its connection, and the time limit, only end the
//! waiting for its answer. The number of these tasks is bounded.

use super::failures::failure_response;
use crate::App;
use crate::error::{RequestError, Result};
use crate::request::json;
use crate::request::origin::may_write;
use crate::request::viewer::{peer_of, subscriber_of};
use crate::route::Route;
use crate::server::request_id;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tidings_domain::Error;
use tidings_domain::passwords::PasswordError;
use tidings_domain::values::Network;
use tidings_keyspace::{count_rounds, note_rounds};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// One in so many places is a network's share for such requests.
const NETWORK_SHARE: usize = 16;
/// One in so many places is kept for networks that have less than their share.
const KEPT_SHARE: usize = 8;

/// The requests that may write and are under way.
#[derive(Debug, Default)]
pub struct Writes {
    running: AtomicUsize,
    /// Those that have a password hashed, by network.
    hashing: Mutex<HashMap<Option<Network>, usize>>,
    /// Told when the last one has ended.
    ended: Notify,
}

impl Writes {
    /// Waits until none is under way.
    pub async fn ended(&self) {
        loop {
            let ended = self.ended.notified();
            if self.running.load(Ordering::Acquire) == 0 {
                return;
            }
            ended.await;
        }
    }

    /// A place for a request, if it does not have as many as `limit` already: half of that for those
    /// that have a password hashed, and some less for a network that has its share of those.
    ///
    /// # Errors
    /// [`RequestError::TooManyWrites`], or `TooManyAtOnce` for what the network has too much.
    fn begin(self: &Arc<Self>, limit: usize, hashing: Option<Hashing>) -> Result<Place> {
        let mut by_network = self.hashing.lock();
        if let Some(Hashing(network)) = hashing {
            let own = by_network.get(&network).copied().unwrap_or(0);
            let (all, most) = (by_network.values().sum::<usize>(), limit.div_ceil(2));
            if all >= most {
                return Err(RequestError::TooManyWrites);
            }
            let has_share = network.is_some() && own >= (limit / NETWORK_SHARE).max(1);
            if has_share && all >= most - limit / KEPT_SHARE {
                return Err(Error::from(PasswordError::Crowded).into());
            }
        }
        let more = |taken: usize| (taken < limit).then_some(taken + 1);
        if self.running.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_err() {
            return Err(RequestError::TooManyWrites);
        }
        if let Some(Hashing(network)) = hashing {
            *by_network.entry(network).or_default() += 1;
        }
        drop(by_network);
        Ok(Place { writes: self.clone(), hashing })
    }
}

/// The network that a password is hashed for; none if it is exempt from limits. Strangers who have passwords hashed wait
/// in a line for that, and have at most half of the places, so that a long line leaves room for everything else. An
/// eighth of all places is kept for networks that have less than a sixteenth, so that one network, however many
/// connections it has, leaves room for the logins of others.
#[derive(Debug, Clone, Copy)]
struct Hashing(Option<Network>);

impl Hashing {
    /// That of a request; `None` if it has no password hashed.
    fn of(app: &App, request: &Request) -> Option<Self> {
        if !Route::of(request.extensions()).hashes_password {
            return None;
        }
        let address = subscriber_of(app, peer_of(request.extensions()), request.headers());
        let is_exempt = app.site.rules.rates.exempt.contain(address);
        Some(Self((!is_exempt).then(|| Network::of(address))))
    }
}

/// The place of a request that may write, free again when this is dropped.
struct Place {
    writes: Arc<Writes>,
    hashing: Option<Hashing>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(Hashing(network)) = self.hashing
            && let Entry::Occupied(mut own) = self.writes.hashing.lock().entry(network)
        {
            *own.get_mut() -= 1;
            if *own.get() == 0 {
                own.remove();
            }
        }
        if self.writes.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.writes.ended.notify_waiters();
        }
    }
}

/// Limits the time of a request. One that may write goes on in a task of its own after that, and
/// after its client has gone.
pub async fn run_to_the_end<F: Future<Output = Response> + Send + 'static>(
    (app, writes): (&App, &Arc<Writes>),
    request: Request,
    handle: impl FnOnce(Request) -> F + Send + 'static,
) -> Response {
    let (method, address) = (request.method().clone(), request.uri().clone());
    let failed = |failure| failure_response(app, &method, &address, &failure);
    let limit = Limit::of(app.settings.request_timeout);
    let is_refused = request.extensions().get::<RequestError>().is_some();
    if is_refused || !may_write(&Route::of(request.extensions()), &method) {
        return limit.of_work(handle(request)).await.unwrap_or_else(|| failed(RequestError::Timeout));
    }
    let Some(mut request) = limit.of_work(with_whole_body(request)).await else {
        return failed(RequestError::Timeout);
    };
    let is_refused = request.extensions().get::<RequestError>().is_some();
    let place = writes.begin(app.settings.transport.writes_at_once, Hashing::of(app, &request));
    if let Err(failure) = &place
        && !is_refused
    {
        request.extensions_mut().insert(failure.clone());
    }
    let id = request_id::current().unwrap_or_default();
    let work = id.scope(async move {
        let _place = place;
        count_rounds(handle(request)).await
    });
    match limit.of_work(tokio::spawn(work)).await {
        Some(Ok((response, rounds))) => {
            note_rounds(rounds);
            response
        }
        Some(Err(error)) => {
            tracing::error!(%error, "a request that may write did not end");
            failed(RequestError::Panic)
        }
        None => failed(RequestError::UnsureTimeout),
    }
}

/// A request whose body has arrived. One whose body cannot be read carries the failure.
async fn with_whole_body(request: Request) -> Request {
    let (mut parts, body) = request.into_parts();
    match json::read_body(Request::from_parts(parts.clone(), body)).await {
        Ok(body) => Request::from_parts(parts, Body::from(body)),
        Err(failure) => {
            parts.extensions.insert(failure);
            Request::from_parts(parts, Body::empty())
        }
    }
}

/// When a request has taken too long.
#[derive(Clone, Copy)]
struct Limit(Instant);

impl Limit {
    fn of(limit: Duration) -> Self {
        Self(Instant::now() + limit)
    }

    /// The result of the work; `None` if it takes too long.
    async fn of_work<T>(self, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.0, work).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::{Letter, SendMail, Sending};
    use crate::markup::test_support::settings;
    use crate::router::refused_forms::FormPages;
    use crate::router::{around, router};
    use crate::settings::{Settings, TransportSettings};
    use axum::Router;
    use axum::body::to_bytes;
    use axum::extract::ConnectInfo;
    use axum::http::Method;
    use axum::http::{StatusCode, header};
    use axum::middleware::from_fn_with_state;
    use axum::routing::{any, post};
    use serde_json::Value;
    use std::future::poll_fn;
    use std::net::{IpAddr, SocketAddr};
    use std::pin::pin;
    use std::sync::atomic::{AtomicU8, AtomicU64};
    use std::task::Poll;
    use tidings_domain::Site;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::values::{RateRules, Rules};
    use tidings_keyspace::{Batch, EngineClock, Order, Store, read};
    use tower_service::Service;

    /// Takes some turns to send a mail, and remembers the subjects.
    #[derive(Default)]
    struct Mailbox(Mutex<Vec<String>>);

    impl Mailbox {
        fn sending<'a>(&'a self, subject: &'a str) -> Sending<'a> {
            Box::pin(async move {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                self.0.lock().push(subject.to_owned());
                Ok(())
            })
        }
    }

    impl SendMail for Mailbox {
        fn send<'a>(&'a self, _: &'a str, subject: &'a str, _: &'a str) -> Sending<'a> {
            self.sending(subject)
        }

        fn send_notice<'a>(&'a self, _: &'a str, subject: &'a str, _: &'a str) -> Sending<'a> {
            self.sending(subject)
        }

        fn send_letter<'a>(&'a self, letter: &'a Letter) -> Sending<'a> {
            self.sending(&letter.subject)
        }
    }

    struct Rig {
        app: App,
        mails: Arc<Mailbox>,
        writes: Arc<Writes>,
    }

    impl Rig {
        async fn new(request_timeout: Duration, writes_at_once: usize) -> Self {
            let store = Store::in_memory().await.unwrap();
            let rules = Rules { rates: RateRules::off(), ..Rules::default() };
            let site = Site::new(store, rules, PasswordWorker::new(1, 100)).sending_mail(true);
            let transport = TransportSettings { writes_at_once, ..TransportSettings::default() };
            let settings = Settings { request_timeout, transport, ..settings() };
            let mails: Arc<Mailbox> = Arc::default();
            let clock = EngineClock::Manual(Arc::new(AtomicU64::new(1_800_000_000_000)));
            let app = App::new(site, settings, Some(mails.clone()), clock);
            Self { app, mails, writes: Arc::default() }
        }

        /// The whole site.
        fn site(&self) -> Router {
            router(self.app.clone(), self.writes.clone())
        }

        /// Only these routes, with what is around those of the site.
        fn only(&self, routes: Router<App>) -> Router {
            let forms = FormPages::new(Router::new(), Router::new());
            let around = from_fn_with_state((self.app.clone(), self.writes.clone(), forms), around);
            routes.layer(around).with_state(self.app.clone())
        }

        fn mails(&self) -> usize {
            self.mails.0.lock().len()
        }

        /// The mails that wait to be sent, which wait no longer.
        async fn taken_from_outbox(&self) -> Vec<String> {
            let waiting = self
                .app
                .site
                .store
                .fetch(read::sorted_range("mail:outbox", Order::Ascending, 0, 100))
                .await
                .unwrap();
            self.app.site.store.commit(Batch::of(|batch| batch.delete("mail:outbox"))).await.unwrap();
            waiting.into_iter().map(|(mail, _)| mail).collect()
        }

        async fn field(&self, key: &str, field: &str) -> Option<String> {
            self.app.site.store.fetch(read::hash(key)).await.unwrap().get(field).map(str::to_owned)
        }
    }

    fn request(method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::from(body.to_owned())).unwrap()
    }

    async fn send(router: &mut Router, request: Request) -> (StatusCode, Option<String>, String) {
        let response = router.call(request).await.unwrap();
        let retry =
            response.headers().get(header::RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned());
        let status = response.status();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, retry, String::from_utf8(body.into()).unwrap())
    }

    /// Polls a future so many times, each time that it is woken, and drops it. Returns what it
    /// returned, if it completed.
    async fn polled<T>(times: usize, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let mut left = times;
        poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            match future.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                // Nobody would wake it after the last poll.
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Waits until spawned tasks have done what they can.
    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_client_that_goes_at_any_step_of_a_write_does_not_end_it() {
        async fn act(app: App) -> StatusCode {
            let store = &app.site.store;
            store.commit(Batch::of(|batch| batch.increment_field("test", "written", 1))).await.unwrap();
            app.mailer.as_ref().unwrap().send("a@example.com", "done", "").await.unwrap();
            store.commit(Batch::of(|batch| batch.increment_field("test", "audited", 1))).await.unwrap();
            StatusCode::OK
        }
        let rig = Rig::new(Duration::from_secs(10), 256).await;
        for times in 0.. {
            let mut router = rig.only(Router::new().route("/acts", post(act)));
            let completed = polled(times, router.call(request(Method::POST, "/acts", &[], ""))).await;
            rig.writes.ended().await;
            // Before the first step, nothing was asked for.
            let done = Some(times).filter(|times| *times > 0).map(|times| times.to_string());
            assert_eq!(rig.field("test", "written").await, done, "{times}");
            assert_eq!(rig.field("test", "audited").await, done, "{times}");
            assert_eq!(rig.mails(), times, "{times}");
            if completed.is_some() {
                break;
            }
        }
    }

    const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

    /// Signs up, or logs in. Returns the session and the secret of forms.
    async fn enter(site: &mut Router, path: &str, body: &str) -> [String; 2] {
        let (.., answer) = send(site, request(Method::POST, path, &[FORM], body)).await;
        let session: Value = serde_json::from_str(&answer).unwrap();
        [session["auth"].clone(), session["apisecret"].clone()]
            .map(|secret| secret.as_str().map(str::to_owned).unwrap_or_else(|| panic!("{answer}")))
    }

    /// Changes a password again and again, with a client that goes after ever more steps, until one
    /// stays to the end. After each, the notice must wait if the password was changed, and only then.
    /// Returns after how many steps it was.
    async fn change_passwords(rig: &Rig, mut changing: Router) -> Vec<usize> {
        let mut site = rig.site();
        let body = "username=alice&password=password-0&email=alice%40example.com";
        let mut secrets = enter(&mut site, "/api/create_account", body).await;
        let (mut changes, mut changed_after) = (0, Vec::new());
        for times in 0.. {
            let [auth, secret] = &secrets;
            let body = format!(
                "apisecret={secret}&about=&email=alice%40example.com&password=password-{}&current_password=password-{changes}",
                changes + 1
            );
            let cookie = format!("auth={auth}");
            let before = rig.field("user:1", "password").await.unwrap();
            let request_of = request(Method::POST, "/api/updateprofile", &[FORM, ("cookie", &cookie)], &body);
            let completed = polled(times, changing.call(request_of)).await;
            rig.writes.ended().await;
            // A batch that was passed to the writer is stored before this one.
            rig.app.site.store.commit(Batch::of(|batch| batch.increment("test", 1))).await.unwrap();
            let is_changed = rig.field("user:1", "password").await.unwrap() != before;
            let waiting = rig.taken_from_outbox().await;
            let notices: Vec<&String> = waiting.iter().filter(|mail| mail.starts_with("notice:")).collect();
            let expected = "notice:1:password-1800000000-alice@example.com";
            assert_eq!(notices, vec![expected; usize::from(is_changed)], "{times}");
            if is_changed {
                changed_after.push(times);
            }
            if completed.is_some() {
                break;
            }
            if is_changed {
                // The new session was not received.
                changes += 1;
                secrets =
                    enter(&mut site, "/api/login", &format!("username=alice&password=password-{changes}"))
                        .await;
            }
        }
        changed_after
    }

    #[tokio::test]
    async fn a_client_that_goes_while_a_password_is_changed_is_told_by_mail() {
        let rig = Rig::new(Duration::from_secs(10), 256).await;
        let changed_after = change_passwords(&rig, rig.site()).await;
        // Before the first step, nothing was asked for.
        assert!(changed_after.len() > 1 && changed_after.iter().copied().eq(1..=changed_after.len()));
    }

    #[tokio::test]
    async fn a_change_that_stops_at_any_step_is_stored_with_its_notice_or_not_at_all() {
        let rig = Rig::new(Duration::from_secs(10), 256).await;
        let route = Router::new()
            .route("/api/updateprofile", post(crate::features::accounts::settings::update_profile));
        let changed_after = change_passwords(&rig, route.with_state(rig.app.clone())).await;
        assert!(changed_after.first().is_some_and(|first| *first > 1), "{changed_after:?}");
    }

    #[tokio::test]
    async fn a_write_that_takes_too_long_is_unsure_and_goes_on() {
        let rig = Rig::new(Duration::ZERO, 256).await;
        let go = Arc::new(Notify::new());
        let held = go.clone();
        let acting = async move |app: App| {
            held.notified().await;
            let mut batch = Batch::new();
            batch.set_fields("test", [("written", "1")]);
            app.site.store.commit(batch).await.unwrap();
        };
        let routes = Router::new().route("/acts", any(acting)).route(
            "/api/login",
            any(async || {
                std::future::pending::<()>().await;
            }),
        );
        let mut router = rig.only(routes);
        let (status, retry, text) = send(&mut router, request(Method::GET, "/acts", &[], "")).await;
        assert_eq!((status, retry.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("10")));
        assert!(text.contains(&RequestError::Timeout.message()), "{text}");
        let (status, retry, text) = send(&mut router, request(Method::POST, "/acts", &[], "")).await;
        assert_eq!((status, retry.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("10")));
        assert!(text.contains("it isn't clear whether it was saved. Please try again"), "{text}");
        assert_eq!(rig.field("test", "written").await, None);
        go.notify_one();
        rig.writes.ended().await;
        assert_eq!(rig.field("test", "written").await.as_deref(), Some("1"));
        // Old clients log in with it.
        let (.., text) = send(&mut router, request(Method::GET, "/api/login", &[], "")).await;
        assert!(text.contains("it isn't clear whether it was saved. Please try again"), "{text}");
    }

    #[tokio::test]
    async fn so_many_requests_write_at_once_and_logins_leave_half_of_the_places() {
        let rig = Rig::new(Duration::from_secs(60), 4).await;
        let go = Arc::new(Notify::new());
        let held = go.clone();
        let waiting = any(async move || held.notified().await);
        let routes = Router::new().route("/login", waiting.clone()).route("/api/votenews", waiting);
        let router = rig.only(routes);
        let networks = AtomicU8::new(0);
        let begin = |method: Method, path: &'static str| {
            let mut router = router.clone();
            // Each is of another network.
            let mut request = request(method, path, &[], "");
            let address = SocketAddr::from(([10, 0, networks.fetch_add(1, Ordering::Relaxed), 1], 1));
            request.extensions_mut().insert(ConnectInfo(address));
            tokio::spawn(async move { send(&mut router, request).await })
        };
        let mut waiting = Vec::new();
        for _ in 0..2 {
            waiting.push(begin(Method::POST, "/login"));
        }
        settle().await;
        let refused = begin(Method::POST, "/login").await.unwrap();
        assert_eq!((refused.0, refused.1.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("10")));
        assert!(refused.2.contains("The site is very busy. Please try again."), "{}", refused.2);
        for _ in 0..2 {
            waiting.push(begin(Method::POST, "/api/votenews"));
        }
        settle().await;
        let refused = begin(Method::DELETE, "/api/votenews").await.unwrap();
        assert_eq!((refused.0, refused.1.as_deref()), (StatusCode::SERVICE_UNAVAILABLE, Some("10")));
        assert!(refused.2.contains(r#""status":"err""#), "{}", refused.2);
        // Reads have no places.
        waiting.push(begin(Method::GET, "/login"));
        settle().await;
        assert!(waiting.iter().all(|task| !task.is_finished()));
        go.notify_waiters();
        for task in waiting {
            assert_eq!(task.await.unwrap().0, StatusCode::OK);
        }
        rig.writes.ended().await;
        let again = begin(Method::POST, "/login");
        settle().await;
        go.notify_waiters();
        assert_eq!(again.await.unwrap().0, StatusCode::OK);
    }

    #[tokio::test]
    async fn a_network_leaves_places_for_the_logins_of_others() {
        let rig = Rig::new(Duration::from_secs(60), 32).await;
        let go = Arc::new(Notify::new());
        let held = go.clone();
        let router = rig.only(Router::new().route("/api/login", any(async move || held.notified().await)));
        let begin = |address: &str| {
            let (mut router, address) = (router.clone(), address.parse::<IpAddr>().unwrap());
            let mut request = request(Method::POST, "/api/login", &[], "");
            request.extensions_mut().insert(ConnectInfo(SocketAddr::new(address, 1)));
            tokio::spawn(async move { send(&mut router, request).await })
        };
        let mut waiting: Vec<_> = (0..12).map(|number| begin(&format!("2001:db8:1:{number}::1"))).collect();
        settle().await;
        let refused = begin("2001:db8:1:13::1").await.unwrap();
        assert_eq!((refused.0, refused.1.as_deref()), (StatusCode::TOO_MANY_REQUESTS, Some("2")));
        waiting.push(begin("2001:db8:2:1::1"));
        settle().await;
        assert!(waiting.iter().all(|task| !task.is_finished()));
        go.notify_waiters();
        for task in waiting {
            assert_eq!(task.await.unwrap().0, StatusCode::OK);
        }
        rig.writes.ended().await;
        assert!(rig.writes.hashing.lock().is_empty());
    }

    #[tokio::test]
    async fn a_panic_is_a_500_with_the_id_of_the_request_and_its_place_is_free_again() {
        let rig = Rig::new(Duration::from_secs(10), 2).await;
        let routes =
            Router::new().route("/api/acts", post(async || -> Response { panic!("a mistake of ours") }));
        let mut router = rig.only(routes);
        let id = request_id::RequestId::new();
        for _ in 0..3 {
            let answering = send(&mut router, request(Method::POST, "/api/acts", &[], ""));
            let (status, _, text) = id.clone().scope(answering).await;
            assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
            assert!(text.contains(&format!("(request {id})")), "{text}");
            assert!(!text.contains("a mistake of ours"), "{text}");
        }
        rig.writes.ended().await;
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_takes_no_place() {
        let rig = Rig::new(Duration::ZERO, 2).await;
        let mut router = rig.only(Router::new().route("/acts", post(async || "")));
        let body = Body::from_stream(futures_util::stream::pending::<Result<String, std::io::Error>>());
        let half = Request::builder().method(Method::POST).uri("/acts").body(body).unwrap();
        let (status, _, text) = send(&mut router, half).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.contains(&RequestError::Timeout.message()), "{text}");
        assert_eq!(rig.writes.running.load(Ordering::Acquire), 0);
    }
}

//! Single sign-on by OpenID Connect, with the provider that the OpenID Foundation has certified.
//!
//! The clock of the provider is that of the site.

mod away;
mod back_channel;
mod connecting;
mod domains;
mod first_login;
mod logs;
mod only;
mod person;
mod races;
mod roles;
mod second_factor;
mod settings;
mod tokens;

use std::time::Duration;

use serde_json::{Value, json};
use tidings_web::settings::{OidcSettings, Settings as WebSettings};

use crate::client::HttpResponse;
use crate::oidc_provider::OidcProvider;
use crate::pages::page;
use crate::server::{Engine, Server, Settings};

pub use person::Person;

/// The address of the site.
const SITE: &str = "http://news.example.com";
/// The text of the button.
const BUTTON: &str = "Log in with single sign-on";
/// The address of the first step.
const BEGIN: &str = "/oidc/login";
const ALICE: &str = "subject-of-alice";
/// How often a site asks again in these tests.
const SOON: Duration = Duration::from_millis(20);

/// A site, and the sign-in service that it uses.
struct Place {
    server: Server,
    provider: OidcProvider,
}

impl Place {
    /// Starts a service with an account of alice, and a site with further settings; and waits for the button. Nothing if
    /// the test is skipped.
    #[track_caller]
    fn start(settings: Settings<'_>) -> impl Future<Output = Option<Self>> {
        Self::start_adjusted(settings, |_| {})
    }

    /// The same with settings that an operator cannot change.
    #[track_caller]
    fn start_adjusted(
        settings: Settings<'_>,
        adjust: impl FnOnce(&mut OidcSettings),
    ) -> impl Future<Output = Option<Self>> {
        let provider = OidcProvider::start(SITE);
        async move {
            let place = Self::around_adjusted((provider?, Engine::Memory), settings, adjust).await;
            place.wait_for_button().await;
            Some(place)
        }
    }

    /// A site on a service.
    async fn around(provider: OidcProvider, engine: Engine, settings: Settings<'_>) -> Self {
        Self::around_adjusted((provider, engine), settings, |_| {}).await
    }

    async fn around_adjusted(
        (provider, engine): (OidcProvider, Engine),
        settings: Settings<'_>,
        adjust: impl FnOnce(&mut OidcSettings),
    ) -> Self {
        provider.set_account("alice", alice()).await;
        let settings = [&provider.settings()[..], settings].concat();
        let adjust = |settings: &mut WebSettings| {
            let oidc = settings.oidc.as_mut().expect("a provider");
            oidc.retry_every = SOON;
            adjust(oidc);
        };
        let server = Server::start_adjusted_on(engine, &settings, adjust).await;
        Self { server, provider }
    }

    /// Somebody with a browser of their own.
    fn person(&self) -> Person<'_> {
        Person::new(&self.server, &self.provider)
    }

    /// Somebody who has logged in at the provider, and the path that leads them back.
    async fn proven(&self, name: &str) -> (Person<'_>, String) {
        let mut person = self.person();
        let address = person.begin("/").await;
        let back = person.prove(&address, name).await;
        (person, back)
    }

    /// Somebody who has come back from a login at the provider, and the answer.
    async fn log_in(&self, name: &str) -> (Person<'_>, HttpResponse) {
        let mut person = self.person();
        let answer = person.log_in(name).await;
        (person, answer)
    }

    async fn has_button(&self) -> bool {
        has_button(&self.server).await
    }

    async fn wait_for_button(&self) {
        tidings_testing::until(async || self.has_button().await).await;
    }

    /// Moves both clocks on.
    async fn advance(&self, seconds: u64) {
        self.server.advance(seconds);
        self.provider.set_clock(self.server.now()).await;
    }

    /// Creates the account of somebody at the provider and one here, connected to it.
    async fn member(&self, name: &str, claims: Value) -> Person<'_> {
        self.provider.set_account(name, claims).await;
        let mut person = self.person();
        person.sign_up(name).await;
        person
    }

    /// The flags of an account, by its number.
    async fn flags(&self, user: u64) -> String {
        self.server.field(&format!("user:{user}"), "flags").await.unwrap_or_default()
    }
}

#[track_caller]
fn demand_refused(answer: &HttpResponse) {
    assert!(answer.status.is_client_error(), "{answer:?}");
}

/// Whether the login page offers a login at the provider.
async fn has_button(server: &Server) -> bool {
    let page = page(&server.visitor(), "/login").await;
    let buttons = page.all("a").filter(|link| link.attribute("href").is_some_and(|to| to.starts_with(BEGIN)));
    buttons.count() > 0
}

/// The claims of alice.
fn alice() -> Value {
    json!({
        "sub": ALICE,
        "preferred_username": "alice",
        "name": "Alice A.",
        "email": "alice@example.com",
        "email_verified": true,
    })
}

/// The claims of somebody else, and some that are not usual.
fn claims(name: &str, others: Value) -> Value {
    let mut claims = json!({ "sub": format!("subject-of-{name}"), "preferred_username": name });
    claims.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    claims
}

//! Somebody with a browser, at the site and at the sign-in service.

use std::collections::BTreeMap;

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{RequestBuilder, StatusCode};
use tidings_domain::keys;
use tidings_domain::values::SessionToken;
use url::Url;

use super::{BEGIN, SITE};
use crate::client::{Client, FORM, HttpResponse, encoded};
use crate::html::{Form, Page};
use crate::oidc_provider::OidcProvider;
use crate::pages::redirects_to;
use crate::server::{Server, http_client};

/// The cookies of one place, by name.
#[derive(Clone, Default)]
struct Cookies(BTreeMap<String, String>);

impl Cookies {
    fn take(&mut self, headers: &HeaderMap) {
        for cookie in headers.get_all(SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').unwrap();
            let attributes = attributes.to_lowercase();
            if value.is_empty()
                || attributes.contains("max-age=0")
                || attributes.contains("expires=thu, 01 jan 1970")
            {
                self.0.remove(name);
            } else {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    fn header(&self) -> String {
        let pairs: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("; ")
    }
}

/// Somebody with a browser of their own, which keeps cookies.
#[derive(Clone)]
pub struct Person<'a> {
    server: &'a Server,
    provider: &'a OidcProvider,
    cookies: Cookies,
    cookies_at_provider: Cookies,
}

impl<'a> Person<'a> {
    pub fn new(server: &'a Server, provider: &'a OidcProvider) -> Self {
        let [cookies, cookies_at_provider] = [Cookies::default(), Cookies::default()];
        Self { server, provider, cookies, cookies_at_provider }
    }

    /// The same browser with the session of somebody who has logged in in another way.
    pub fn with_session_of(mut self, client: &Client) -> Self {
        self.cookies.0.insert("auth".to_owned(), client.auth.clone().unwrap());
        self
    }

    /// A cookie of the site.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.0.get(name).map(String::as_str)
    }

    /// Changes a cookie of the site; empty forgets it.
    pub fn set_cookie(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            self.cookies.0.remove(name);
        } else {
            self.cookies.0.insert(name.to_owned(), value.to_owned());
        }
    }

    pub fn is_logged_in(&self) -> bool {
        self.cookies.0.contains_key("auth")
    }

    /// The number of the account that this browser is logged in to.
    pub async fn user(&self) -> u64 {
        let token = SessionToken::parse(self.cookie("auth").expect("a session")).unwrap();
        self.server.field(&keys::session(&token.hash()), "user_id").await.unwrap().parse().unwrap()
    }

    /// A client with the session of this browser.
    pub async fn client(&self) -> Client {
        let mut client = self.server.visitor();
        client.user_id = self.user().await;
        let fields = self.server.hash(&format!("user:{}", client.user_id)).await;
        client.username.clone_from(&fields["username"]);
        client.auth = self.cookie("auth").map(str::to_owned);
        client.apisecret = Some(fields["apisecret"].clone());
        client
    }

    // At the site

    fn at_site(&self) -> Client {
        match &*self.cookies.header() {
            "" => self.server.visitor(),
            cookies => self.server.visitor().with_header(COOKIE.as_str(), cookies),
        }
    }

    pub async fn get(&mut self, path: &str) -> HttpResponse {
        let answer = self.at_site().get(path).await;
        self.cookies.take(&answer.headers);
        answer
    }

    pub async fn page(&mut self, path: &str) -> Page {
        crate::pages::shown(&self.get(path).await)
    }

    pub async fn send(&mut self, form: &Form) -> HttpResponse {
        let answer = form.send(&self.at_site()).await;
        self.cookies.take(&answer.headers);
        answer
    }

    /// Begins a login that ends at a path of the site. Answers the address at the provider.
    pub async fn begin(&mut self, next: &str) -> String {
        self.begin_with(&[("next", next)]).await
    }

    pub async fn begin_with(&mut self, parameters: &[(&str, &str)]) -> String {
        let answer = self.get(&format!("{BEGIN}?{}", encoded(parameters))).await;
        redirects_to(&answer).to_owned()
    }

    // At the provider

    async fn ask_provider(&mut self, request: RequestBuilder) -> (StatusCode, Option<String>, String) {
        let answer = request.header(COOKIE, self.cookies_at_provider.header()).send().await.unwrap();
        self.cookies_at_provider.take(answer.headers());
        let location = answer.headers().get(LOCATION).map(|to| to.to_str().unwrap().to_owned());
        (answer.status(), location, answer.text().await.unwrap())
    }

    /// Follows the addresses at the provider, fills in its form with these fields, and answers the path at which it sends
    /// the browser back to the site.
    async fn follow(&mut self, address: &str, fields: &[(&str, &str)]) -> String {
        let provider = Url::parse(&self.provider.issuer).unwrap();
        let mut next = Some(address.to_owned());
        while let Some(address) = next {
            if let Some(path) = address.strip_prefix(SITE) {
                return path.to_owned();
            }
            let url = provider.join(&address).unwrap();
            assert_eq!(url.origin(), provider.origin(), "{url}");
            let (status, location, text) = self.ask_provider(http_client().get(url.clone())).await;
            next = location;
            if next.is_none() {
                assert!(url.path().starts_with("/interaction/"), "{url}: {status} {text}");
                let form = http_client().post(url).header(CONTENT_TYPE, FORM).body(encoded(fields));
                next = self.ask_provider(form).await.1;
            }
        }
        panic!("the provider does not lead back: {address}")
    }

    /// Logs in at the provider. Answers the path to which it sends the browser back.
    pub async fn prove(&mut self, address: &str, name: &str) -> String {
        self.follow(address, &[("name", name), ("answer", "log in")]).await
    }

    /// Presses *Cancel* at the provider.
    pub async fn cancel(&mut self, address: &str) -> String {
        self.follow(address, &[("answer", "cancel")]).await
    }

    /// Forgets the session at the provider.
    pub fn log_out_at_provider(&mut self) {
        self.cookies_at_provider = Cookies::default();
    }

    // Both

    /// Logs in by an account at the provider; answers where that ends.
    pub async fn log_in(&mut self, name: &str) -> HttpResponse {
        self.log_in_to("/", name).await
    }

    pub async fn log_in_to(&mut self, next: &str, name: &str) -> HttpResponse {
        let address = self.begin(next).await;
        let back = self.prove(&address, name).await;
        self.get(&back).await
    }

    /// Logs in for the first time, to the page with the form for a new account.
    pub async fn first_page(&mut self, name: &str) -> Page {
        crate::pages::shown(&self.log_in(name).await)
    }

    /// Creates an account with the same name as at the provider.
    pub async fn sign_up(&mut self, name: &str) {
        let page = self.first_page(name).await;
        let answer = self.send(&page.form("/register").with("username", name)).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{answer:?}");
        assert!(self.is_logged_in());
    }
}

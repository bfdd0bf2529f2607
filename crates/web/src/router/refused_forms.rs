//! Refused forms come back, and those whose text is only to be previewed: the answer is the page that the form is on,
//! as a GET shows it, filled in as it was sent. No handler has to think of it.
//!
//! Which page that is, the form says itself in the field `form_page`, or its action (`Action::form_page`); otherwise
//! it is where the form leads to (`next`), or what a GET of its own address shows. The form of a later step is on a page
//! that no GET shows ([`step_pages`]). A form that is on none of these pages, such as one that somebody has made
//! up, gets the page of its error.

use crate::App;
use crate::error::{RequestError, ShownInForm, correctable_message};
use crate::features::{accounts, comments, moderation, sessions};
use crate::limits::PAGE_BYTES;
use crate::markup::refilled::{Sent, Why, with_alert};
use crate::request::form::{FORM_PAGE, SentFields};
use crate::request::{Fields, LocalPath, ShownAgain};
use crate::route::{ErrorFormat, Route};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tidings_language::Message;
use tower_service::Service;

/// The form of a declared action: its summary, and the page that it is on, if that is declared.
type DeclaredForm = (&'static Message, Option<&'static str>);

/// The pages of the site, and those that the forms of actions are on.
#[derive(Clone)]
pub struct FormPages {
    pages: Router,
    steps: Router,
    of_actions: Arc<HashMap<&'static str, DeclaredForm>>,
}

impl FormPages {
    /// Those of the site, with the pages of later steps and those that the actions declare.
    pub fn new(pages: Router, steps: Router) -> Self {
        let of_actions =
            super::actions().map(|(_, action)| (action.path, (action.summary, action.form_page)));
        Self { pages, steps, of_actions: Arc::new(of_actions.collect()) }
    }

    /// The summary of the action at this address, a sentence.
    pub fn summary(&self, path: &str) -> Option<&'static Message> {
        self.of_actions.get(path).map(|(summary, _)| *summary)
    }
}

/// The pages of refused forms of later steps, which no GET shows: what they need was sent.
pub fn step_pages() -> Router<App> {
    Router::new()
        .route("/login", get(sessions::login::again))
        .route("/register", get(accounts::register::again))
        .route("/login/code", get(sessions::second_step::again))
        .route("/settings/two-factor/app/confirm", get(sessions::second_factors::confirm_form))
        .route("/settings/two-factor/passkeys/confirm", get(sessions::passkeys::add_form))
        .route("/postcomment", get(comments::writing::again))
        .route("/appeal", get(moderation::appeals::again))
        .route("/messages", get(moderation::messages::again))
}

/// A form of a page that was sent. What it takes to show it again is kept until it is known whether it is refused.
pub struct SentPageForm {
    path: String,
    headers: HeaderMap,
    peer: Option<ConnectInfo<SocketAddr>>,
    fields: SentFields,
}

impl SentPageForm {
    /// Notes what a form of a page consists of; `None` for any other request.
    pub fn note(request: &mut Request) -> Option<Self> {
        let path = request.uri().path();
        let is_page = Route::of(request.extensions()).errors == ErrorFormat::Page;
        if *request.method() != Method::POST || !is_page {
            return None;
        }
        let path = path.to_owned();
        let mut headers = request.headers().clone();
        for of_body in [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
            headers.remove(of_body);
        }
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().copied();
        let fields = SentFields::default();
        request.extensions_mut().insert(fields.clone());
        Some(Self { path, headers, peer, fields })
    }

    /// The page that the form is on, with the reason of the refusal or with the preview; `None` if the sender cannot
    /// correct it, or if the form is on no page. At most four pages are made to look for it.
    pub async fn shown_again(&self, forms: &FormPages, why: Why<'_>) -> Option<Response> {
        let fields = self.fields.get()?;
        let failure = match why {
            Why::Refused(failure) => correctable_message(failure).map(|_| Some(failure))?,
            Why::Preview(_) | Why::Tried => None,
        };
        let sent = Sent { is_post: true, action: &self.path, fields };
        let fill = |page: &str| sent.filled(page, why);
        let step = |page: &str| fill(page).or_else(|| with_alert(page, failure?));
        if let Some(response) = self.page(&forms.steps, &LocalPath::parse(&self.path), failure, step).await {
            return Some(response);
        }
        let mut tried: Vec<LocalPath> = Vec::new();
        for page in self.pages(forms, fields) {
            if tried.contains(&page) {
                continue;
            }
            if let Some(response) = self.page(&forms.pages, &page, failure, fill).await {
                return Some(response);
            }
            tried.push(page);
        }
        None
    }

    /// The pages that the form can be on, the likeliest first.
    fn pages(&self, forms: &FormPages, sent: &Fields) -> Vec<LocalPath> {
        let declared = forms.of_actions.get(&*self.path).and_then(|(_, page)| *page);
        let named = sent.get(FORM_PAGE).or(declared).or_else(|| sent.get("next"));
        let own = [Some(&*self.path), sent.get("next")];
        [named].into_iter().chain(own).flatten().map(LocalPath::parse).collect()
    }

    /// A page for the sender of the form, changed; `None` if there is no such page, or if it cannot be changed.
    async fn page(
        &self,
        pages: &Router,
        page: &LocalPath,
        failure: Option<&RequestError>,
        change: impl Fn(&str) -> Option<String>,
    ) -> Option<Response> {
        let address = page.as_str().split('#').next().unwrap_or_default();
        let again = ShownAgain { fields: self.fields.get()?.clone(), failure: failure.cloned() };
        let mut request = Request::builder().uri(address).extension(again).body(Body::empty()).ok()?;
        request.headers_mut().clone_from(&self.headers);
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        let shown = AssertUnwindSafe(pages.clone().call(request)).catch_unwind().await.ok()?;
        let (mut head, body) = shown.into_response().into_parts();
        if !head.status.is_success() {
            return None;
        }
        let body = to_bytes(body, PAGE_BYTES).await.ok()?;
        let changed = change(std::str::from_utf8(&body).ok()?)?;
        for of_page in [header::CONTENT_LENGTH, header::ETAG, header::LAST_MODIFIED] {
            head.headers.remove(of_page);
        }
        if let Some(failure) = failure {
            head.status = failure.status();
            let seconds = failure.retry_after();
            seconds.into_iter().for_each(|seconds| {
                head.headers.insert(header::RETRY_AFTER, seconds.into());
            });
            head.extensions.insert(ShownInForm(failure.clone()));
        }
        Some(Response::from_parts(head, changed.into()))
    }
}

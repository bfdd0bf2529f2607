//! The responses to failed requests: pages with the navigation of their viewer, or JSON.

use super::refused_forms::{FormPages, SentPageForm};
use crate::App;
use crate::error::{RequestError, ShownInForm};
use crate::features::algolia::calls::HitsError;
use crate::features::sites::reputation;
use crate::limits::ERROR_PAGE_READS;
use crate::markup::Frame;
use crate::markup::addresses::{ABOUT_TRUST, login_to};
use crate::markup::error_pages::{Failing, bare_error_page, error_page};
use crate::markup::fields::Preview;
use crate::markup::refilled::Why;
use crate::request::answers::VotesResponse;
use crate::request::response_cache::FailureResponse;
use crate::request::{ErrorResponse, LocalPath, cookies};
use crate::route::{ErrorFormat, Route};
use crate::server::{headers, request_id};
use axum::Json;
use axum::extract::Request;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use futures_util::FutureExt;
use maud::Markup;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use tidings_domain::{Error, Refusal, Visit, inbox};
use tidings_language::{Message, p};

/// Turns failures into pages or JSON: those of handlers, and panics. A refused form comes back.
///
/// A request that was refused before it got here carries its failure as an extension.
pub async fn error_responses<F: Future<Output = Response>>(
    (app, forms): (&App, &FormPages),
    mut request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let (method, address) = (request.method().clone(), request.uri().clone());
    if let Some(failure) = request.extensions_mut().remove::<RequestError>() {
        return failure_response(app, &method, &address, &failure);
    }
    let route = Route::of(request.extensions());
    let token = cookies::session_token(app, request.headers());
    let sent = SentPageForm::note(&mut request);
    let failure = match AssertUnwindSafe(handle(request)).catch_unwind().await {
        Ok(mut response) => {
            if let Some(ShownInForm(failure)) = response.extensions_mut().remove() {
                Failed { app, route, method: &method, address: &address, failure: &failure, summary: None }
                    .note();
            }
            let preview = response.extensions_mut().remove::<Preview>();
            if let (Some(Preview(preview)), Some(sent)) = (&preview, &sent)
                && let Some(form) = sent.shown_again(forms, Why::Preview(preview)).await
            {
                return form;
            }
            match response.extensions_mut().remove::<RequestError>() {
                Some(failure) => failure,
                // There is no page to preview it on.
                None if preview.is_some() => RequestError::NotFound,
                None => return response,
            }
        }
        Err(_) => RequestError::Panic,
    };
    let summary = forms.summary(address.path());
    let failed = Failed { app, route, method: &method, address: &address, failure: &failure, summary };
    if route.errors != ErrorFormat::Page || failed.login().is_some() {
        return failed.response(|message| bare_error_page(app, failed.failing(), message));
    }
    if let Some(sent) = sent
        && let Some(form) = sent.shown_again(forms, Why::Refused(&failure)).await
    {
        failed.note();
        return form;
    }
    failed.page(token).await
}

/// The response to a failed request without its viewer, and its line in the log.
pub fn failure_response(app: &App, method: &Method, address: &Uri, failure: &RequestError) -> Response {
    let route = app.routes.find(method, address.path());
    let failed = Failed { app, route, method, address, failure, summary: None };
    failed.response(|message| bare_error_page(app, failed.failing(), message))
}

/// A request that failed.
struct Failed<'a> {
    app: &'a App,
    route: Route,
    method: &'a Method,
    address: &'a Uri,
    failure: &'a RequestError,
    /// The summary of the action whose form was sent, if it is a declared one.
    summary: Option<&'static Message>,
}

impl<'a> Failed<'a> {
    /// The page that was asked for; the front page if it was a form that was sent.
    fn here(&self) -> LocalPath {
        let wanted = self.address.path_and_query().map_or(self.address.path(), PathAndQuery::as_str);
        LocalPath::of_request(if *self.method == Method::GET { wanted } else { "/" })
    }

    fn failing(&self) -> Failing<'a> {
        let is_missing = matches!(self.failure, RequestError::NotFound);
        let is_post = *self.method == Method::POST;
        Failing {
            status: self.failure.status(),
            sent: (is_post && !is_missing).then_some(self.summary),
            damaged: (!is_post && self.failure.is_damage()).then(|| self.address.path()),
            is_about_trust: self.failure.is_about_trust(),
        }
    }

    /// The login page to redirect to, if that is all that is missing.
    fn login(&self) -> Option<String> {
        let is_page = self.route.errors == ErrorFormat::Page;
        let is_closed =
            matches!(self.failure.refusal(), Some(Refusal::MembersOnly)) && !self.route.is_for_programs;
        let is_missing = is_page && (is_closed || matches!(self.failure, RequestError::LoginRequired));
        is_missing.then(|| login_to(self.route.login, self.here().as_str()))
    }

    /// The page about the failure, with the navigation of whoever has this session token, valid or not. Rounds: none for a
    /// visitor without a session; for others at most 3, and none if their session is cached. It has the
    /// bare navigation if the viewer cannot be found out, as when the store is unavailable.
    async fn page(&self, token: Option<String>) -> Response {
        let (app, failing, here) = (self.app, self.failing(), self.here());
        if failing.status == StatusCode::SERVICE_UNAVAILABLE {
            return self.response(|message| bare_error_page(app, failing, message));
        }
        let Some(token) = token else {
            let frame = Frame::known(app, &here, None);
            return self.response(|message| error_page(&frame, failing, message));
        };
        let mut visit = Visit::new(app.site.clone(), app.now(), Some(&token));
        inbox::show_badge(&mut visit);
        let found = tokio::time::timeout(ERROR_PAGE_READS, async {
            visit.identity().await;
            visit.recognise().await?;
            visit.learn_waiting_rows().await;
            visit.learn_badge().await;
            Ok::<_, Error>(visit.recognise().await?.cloned())
        });
        match found.await {
            Ok(Ok(viewer)) => {
                let frame = Frame::known(app, &here, viewer.as_ref());
                self.response(|message| error_page(&frame, failing, message))
            }
            _ => self.response(|message| bare_error_page(app, failing, message)),
        }
    }

    /// Notes what the failure says about the store, and its line in the log.
    fn note(&self) {
        let Self { app, method, address, failure, .. } = *self;
        if let Some(state) = failure.store_state() {
            app.health.note_failure(state);
        }
        failure.log(app.now(), method, &loggable(address.path()));
    }

    /// The response, and its line in the log. `page` makes the page with a message.
    fn response(&self, page: impl FnOnce(&str) -> Markup) -> Response {
        let (failure, format) = (self.failure, self.route.errors);
        if let Some(login) = self.login() {
            return Redirect::to(&login).into_response();
        }
        if let RequestError::OldHost(path) = failure {
            return Redirect::permanent(&self.app.settings.site.link(path)).into_response();
        }
        let internal = failure.status() == StatusCode::INTERNAL_SERVER_ERROR;
        let request_id = internal.then(|| request_id::current().unwrap_or_default());
        self.note();
        let with_id = request_id
            .as_ref()
            .map(|id| p!("Something went wrong on our side (request {id}).", id = id.to_string()));
        let message = with_id.as_ref().map_or_else(|| failure.message(), ToString::to_string);
        let error = with_id.map_or_else(|| failure.message_for_program(), |told| told.in_english());
        let mut response = match format {
            ErrorFormat::Page => (failure.status(), page(&message)).into_response(),
            ErrorFormat::Api => {
                let body = ErrorResponse {
                    about: failure.is_about_trust().then_some(ABOUT_TRUST),
                    code_required: failure.needs_code().then_some(true),
                    votes: failure.votes().map(VotesResponse::from),
                    ..ErrorResponse::of(error, message)
                };
                (failure.api_status(), Json(body)).into_response()
            }
            ErrorFormat::HackerNews => {
                (failure.status(), Json(serde_json::json!({ "error": error }))).into_response()
            }
            ErrorFormat::Algolia => {
                let status = failure.status();
                (status, Json(HitsError::of(status, error))).into_response()
            }
            ErrorFormat::Documented => reputation::documented_failure(failure, &error),
            ErrorFormat::Deployed => reputation::deployed_failure(failure, &error),
        };
        if !response.status().is_success()
            && let Some(seconds) = failure.retry_after()
        {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(FailureResponse);
        response
    }
}

/// A path as it may be logged: links that are mailed are secrets.
fn loggable(path: &str) -> Cow<'_, str> {
    headers::without_secret(path).map_or(Cow::Borrowed(path), |path| format!("{path}/...").into())
}

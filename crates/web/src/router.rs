//! The whole site: its addresses, and what is around their handlers.

mod addresses;
pub mod failures;
pub mod members;
pub mod refused_forms;
pub mod writes;

pub use addresses::actions;

use crate::App;
use crate::error::{RequestError, Result};
use crate::request::{LocalPath, cookies, origin};
use crate::route::{ErrorFormat, Route, Routes, Wings};
use crate::server::{cors, headers};
use addresses::{Declaration, declared};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use refused_forms::{FormPages, step_pages};
use std::sync::{Arc, LazyLock};
use tidings_domain::Refusal;
use tower_service::Service;
use writes::Writes;

/// The whole site as a service. Requests that may write are counted in `writes`.
pub fn router(app: App, writes: Arc<Writes>) -> Router {
    let (mut pages, mut calls) = (Router::new(), Router::new());
    for Declaration { pattern, facts, handler, .. } in declared() {
        let routes = if facts.errors == ErrorFormat::Page { &mut pages } else { &mut calls };
        *routes = std::mem::take(routes).route(&pattern, handler);
    }
    let known = pages.clone().layer(from_fn_with_state(app.clone(), pages_that_answer));
    let known = known.with_state(app.clone());
    let forms = FormPages::new(known.clone(), step_pages().with_state(app.clone()));
    pages
        .merge(calls)
        .fallback(move |request: Request| nothing_here(known, request))
        .method_not_allowed_fallback(async || RequestError::MethodNotAllowed)
        .layer(from_fn_with_state((app.clone(), writes, forms), around))
        .with_state(app)
}

/// All routes with their facts.
pub fn routes() -> &'static Routes {
    static ROUTES: LazyLock<Routes> =
        LazyLock::new(|| Routes::new(declared().map(|route| (route.pattern, route.is_post, route.facts))));
    &ROUTES
}

/// Middleware around every handler. It is one function, because each layer of a router allocates memory in every
/// request.
async fn around(
    State((app, writes, forms)): State<(App, Arc<Writes>, FormPages)>,
    mut request: Request,
    handler: Next,
) -> Response {
    let route = note_route(&app, &mut request);
    let has_secret = headers::has_secret(request.uri());
    let inner = app.clone();
    let handle = move |request| admit(inner, forms, request, handler);
    let handle = |request| writes::run_to_the_end((&app, &writes), request, handle);
    let mut response = cors::allow_any_origin(route.cors, request, handle).await;
    headers::protect(&app.settings, has_secret, response.headers_mut());
    members::seal(&app, &route, &mut response);
    response
}

/// Gives a request its route, if it has none yet.
fn note_route(app: &App, request: &mut Request) -> Route {
    let route = app.routes.find(request.method(), request.uri().path());
    *request.extensions_mut().get_or_insert_with(|| route)
}

/// Passes a request to its handler, unless a page of another site has sent it, its sender may not read the site, or it is for
/// what is switched off. Failures become responses here.
async fn admit(app: App, forms: FormPages, request: Request, handler: Next) -> Response {
    let route = Route::of(request.extensions());
    let handle = |request| cookies::renew_cookie(&app, request, |request| handler.run(request));
    let admit = async |request| match origin::refuse_other_sites(&app.settings, &route, &request) {
        Ok(()) => pass(&app, &route, request, handle).await,
        Err(refusal) => refusal.into_response(),
    };
    failures::error_responses((&app, &forms), request, admit).await
}

/// Passes a request to what answers it, if its sender may read the site and it is for what is switched on.
async fn pass<F: Future<Output = Response>>(
    app: &App,
    route: &Route,
    mut request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let is_read = *request.method() == Method::GET;
    let admitted = members::admit(app, route, &mut request).await;
    match admitted.and_then(|admitted| Wings::of(app).admit(route).map(|()| admitted)) {
        Ok(admitted) => {
            let mut response = handle(request).await;
            if is_read && admitted.is_none() && members::is_closed(app, route) {
                // Another server has closed the site, which this one has learned with what it has just read.
                return RequestError::from(Refusal::MembersOnly).into_response();
            }
            admitted.into_iter().for_each(|member| {
                response.extensions_mut().insert(member);
            });
            response
        }
        Err(refusal) => refusal.into_response(),
    }
}

/// Refuses what is switched off and whoever may not read it, so that nothing leads to it.
async fn pages_that_answer(State(app): State<App>, mut request: Request, handler: Next) -> Response {
    request.extensions_mut().remove::<Route>();
    let route = note_route(&app, &mut request);
    pass(&app, &route, request, |request| handler.run(request)).await
}

/// Leads from an address with a slash too much to the page without it, if there is one. Nothing is at
/// any other.
async fn nothing_here(mut pages: Router, mut request: Request) -> Result<Redirect> {
    let is_page = Route::of(request.extensions()).errors == ErrorFormat::Page;
    let address = request.uri();
    let path = address.path();
    let shorter = path.trim_end_matches('/');
    if *request.method() != Method::GET || !is_page || [path, ""].contains(&shorter) {
        return Err(RequestError::NotFound);
    }
    let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
    // Another site's address would become that of the front page.
    let shorter = LocalPath::parse(&format!("{shorter}{query}"));
    *request.uri_mut() = shorter.as_str().parse().map_err(|_| RequestError::NotFound)?;
    match pages.call(request).await {
        Ok(found) if found.status() != StatusCode::NOT_FOUND && shorter.path() != "/" => {
            Ok(Redirect::permanent(shorter.as_str()))
        }
        _ => Err(RequestError::NotFound),
    }
}

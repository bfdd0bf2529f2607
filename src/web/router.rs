//! Every address of the site.

use super::error::{self, Failure};
use super::form::BODY_LIMIT;
use super::{App, api, assets, feeds, headers, pages};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::time::Duration;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

/// The whole site as a service.
pub fn router(app: App) -> Router {
    Router::new()
        .merge(page_routes())
        .merge(file_routes())
        .merge(api_routes())
        .fallback(async || Failure::NotFound)
        .method_not_allowed_fallback(async || Failure::MethodNotAllowed)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(CatchPanicLayer::custom(|_| Failure::Panic.into_response()))
        .layer(from_fn_with_state(app.clone(), in_time))
        .layer(from_fn_with_state(app.clone(), error::answer))
        .layer(CompressionLayer::new())
        .layer(from_fn(headers::set_headers))
        .with_state(app)
}

/// The pages and the forms on them.
fn page_routes() -> Router<App> {
    use pages::{
        about, admin, comments, front, news_forms, password_reset, profile, sessions, thread, votes,
    };
    Router::new()
        .route("/", get(front::top))
        .route("/latest", get(front::latest_from_start))
        .route("/latest/{start}", get(front::latest))
        .route("/saved/{start}", get(front::saved))
        .route("/random", get(front::random))
        .route("/news/{id}", get(thread::thread))
        .route("/submit", get(news_forms::submit_form).post(news_forms::submit))
        .route("/editnews/{id}", get(news_forms::edit_form).post(news_forms::edit))
        .route("/delnews/{id}", get(news_forms::delete_form).post(news_forms::delete))
        .route("/votenews", post(votes::news))
        .route("/votecomment", post(votes::comment))
        .route("/comment/{news}/{comment}", get(thread::one_comment))
        .route("/reply/{news}/{comment}", get(comments::reply))
        .route("/editcomment/{news}/{comment}", get(comments::edit))
        .route("/postcomment", post(comments::post))
        .route("/replies", get(comments::replies))
        .route("/user/{name}", get(profile::profile))
        .route("/usernews/{name}/{start}", get(front::of_user))
        .route("/usercomments/{name}/{start}", get(comments::of_user))
        .route("/profile", post(profile::change))
        .route("/login", get(sessions::login_form).post(sessions::log_in))
        .route("/register", get(sessions::register_form).post(sessions::register))
        .route("/logout", get(sessions::logout_form).post(sessions::log_out))
        .route("/reset-password", get(password_reset::request_form).post(password_reset::request))
        .route(
            "/reset-password/{token}",
            get(password_reset::new_password_form).post(password_reset::set_password),
        )
        .route("/about", get(about::about))
        .route("/ranking", get(about::ranking_page))
        .route("/admin", get(admin::admin))
        .route("/admin/recompute", post(admin::recompute))
}

/// What is not for reading on the site: feeds, style, script, icons.
fn file_routes() -> Router<App> {
    Router::new()
        .route("/rss", get(feeds::rss))
        .route("/atom", get(feeds::atom))
        .route("/robots.txt", get(assets::robots))
        .route("/favicon.ico", get(assets::favicon))
        .route("/assets/{file}", get(assets::file))
}

/// The JSON faces; `docs/api.md` describes them.
fn api_routes() -> Router<App> {
    Router::new()
        .route("/api/create_account", post(api::accounts::create_account))
        .route("/api/login", get(api::accounts::log_in).post(api::accounts::log_in))
        .route("/api/logout", post(api::accounts::log_out))
        .route("/api/reset-password", get(api::accounts::reset_password).post(api::accounts::reset_password))
        .route("/api/updateprofile", post(api::accounts::update_profile))
        .route("/api/submit", post(api::news::submit))
        .route("/api/delnews", post(api::news::delete))
        .route("/api/votenews", post(api::news::vote))
        .route("/api/getnews/{sort}/{start}/{count}", get(api::news::list))
        .route("/api/postcomment", post(api::comments::post))
        .route("/api/votecomment", post(api::comments::vote))
        .route("/api/getcomments/{news_id}", get(api::comments::thread))
}

/// Ends requests that take too long.
async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    let limit = Duration::from_secs(app.config.server.request_timeout_seconds);
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Failure::Timeout.into_response(),
    }
}

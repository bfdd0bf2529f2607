//! Every address of the site.

use super::action::ActionEntry;
use super::error::{self, RequestError};
use super::{
    App, api, assets, cookies, feeds, headers, health, live, openapi, origin, pages, reputation,
    response_cache, sitemap, traffic, viewer,
};
use crate::local_path::LocalPath;
use crate::response_cache::SharedAddresses;
use crate::writes::{self, Writes};
use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn_with_state, map_request, map_response};
use axum::response::Redirect;
use axum::routing::{MethodRouter, get, post};
use std::sync::Arc;
use tower_service::Service;

/// The whole site as a service. Requests that may write are counted in `writes`.
pub fn router(app: App, writes: Arc<Writes>) -> Router {
    let (forms, calls) = action_routes();
    let pages = page_routes().merge(shared_routes()).merge(forms_acting_once()).merge(forms);
    let known = pages.clone().with_state(app.clone());
    pages
        .merge(api_routes())
        .merge(calls)
        .merge(reputation_routes())
        .merge(health_routes())
        .fallback(move |request: Request| nothing_here(known, request))
        .method_not_allowed_fallback(async || RequestError::MethodNotAllowed)
        .layer(from_fn_with_state(app.clone(), cookies::renew_cookie))
        .layer(from_fn_with_state(app.clone(), origin::refuse_other_sites))
        .layer(from_fn_with_state(app.clone(), error::error_responses))
        .layer(from_fn_with_state((app.clone(), writes), writes::run_to_the_end))
        .layer(from_fn_with_state(app.clone(), headers::set_headers))
        .layer(from_fn_with_state(app.clone(), traffic::mark_route))
        .with_state(app)
}

/// Leads from an address with a slash too much to the page without it, if there is one. Nothing is at
/// any other.
async fn nothing_here(mut pages: Router, mut request: Request) -> Result<Redirect, RequestError> {
    let address = request.uri();
    let path = address.path();
    let shorter = path.trim_end_matches('/');
    if *request.method() != Method::GET || !error::is_of_pages(path) || [path, ""].contains(&shorter) {
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

/// Routes whose responses are the same for all visitors who are not logged in, so that they can be
/// cached. Each names the parameters of the query that it reads without a session; the others are
/// dropped before anything else sees them.
#[derive(Default)]
struct SharedRoutes {
    router: Router<App>,
    addresses: SharedAddresses,
}

impl SharedRoutes {
    /// Adds a route that reads no parameters.
    fn route(self, pattern: &'static str, handler: MethodRouter<App>) -> Self {
        self.reading(pattern, &[], handler)
    }

    /// Adds a route that reads these parameters.
    fn reading(
        self,
        pattern: &'static str,
        parameters: &'static [&'static str],
        handler: MethodRouter<App>,
    ) -> Self {
        let router = self.router.route(pattern, handler);
        Self { router, addresses: self.addresses.with(pattern, parameters) }
    }

    fn merge(self, other: Self) -> Self {
        Self { router: self.router.merge(other.router), addresses: self.addresses.and(other.addresses) }
    }
}

/// The parameters of a page of a list that is ordered by time.
const OF_PAGES: &[&str] = &["before"];
/// The same of the API.
const OF_WINDOWS: &[&str] = &["count", "before", "since"];
/// The parameters of the moderation log.
const OF_LOG: &[&str] = &["count", "before", "moderator", "kind", "action"];

/// The addresses of responses that can be cached.
pub(crate) fn shared_addresses() -> SharedAddresses {
    shared().addresses
}

/// The routes whose responses can be cached.
fn shared_routes() -> Router<App> {
    shared().router.route_layer(map_response(response_cache::mark_shared))
}

fn shared() -> SharedRoutes {
    public_lists().merge(shared_pages()).merge(shared_feeds()).merge(shared_calls()).merge(file_routes())
}

/// The lists that are the same for all visitors. For those without a session, they may come from replicas
/// of the store.
fn public_lists() -> SharedRoutes {
    use pages::{articles, front, home, topics};
    let lists = SharedRoutes::default()
        .route("/", get(front::top))
        .route("/top/{start}", get(front::top_from_start))
        .route("/latest", get(front::latest_from_start))
        .route("/latest/{start}", get(front::latest))
        .reading("/best", &["page"], get(articles::best))
        .reading("/best/new", &["page"], get(articles::newest))
        .reading("/topic/{topics}", &["page"], get(articles::best_of_topics))
        .reading("/topic/{topics}/new", &["page"], get(articles::newest_of_topics))
        .route("/topics", get(topics::topics))
        .reading("/everyone", OF_PAGES, get(home::everyone))
        .route("/api/getnews/{sort}/{start}/{count}", get(api::news::list))
        .route("/api/articles/{order}/{page}", get(api::articles::all))
        .route("/api/topic/{name}/{order}/{page}", get(api::articles::of_topics))
        .route("/api/topics", get(api::articles::topics))
        .reading("/api/timeline/everyone", OF_WINDOWS, get(api::timelines::everyone));
    SharedRoutes { router: lists.router.route_layer(map_request(viewer::mark_public_list)), ..lists }
}

/// The other public pages.
fn shared_pages() -> SharedRoutes {
    use pages::{
        about, comments, formatting, front, moderations, past, people, people_tree, profile, sites, thread,
        tweets,
    };
    SharedRoutes::default()
        .route("/past", get(past::index))
        .route("/past/{day}", get(past::period))
        .route("/past/{day}/{start}", get(past::period_from_start))
        .reading("/news/{id}", &["page", "sort"], get(thread::thread))
        .reading("/comment/{news}/{comment}", &["page", "sort"], get(thread::one_comment))
        .route("/tweet/{id}", get(tweets::show))
        // Each is `/@<name>`. Without an `@`, the address does not exist.
        .reading("/{at_name}", OF_PAGES, get(profile::at).fallback(profile::other_method))
        .reading("/{at_name}/followers", OF_PAGES, get(people::followers).fallback(profile::other_method))
        .reading("/{at_name}/followings", OF_PAGES, get(people::followings).fallback(profile::other_method))
        .route("/{at_name}/invited", get(people_tree::branch).fallback(profile::other_method))
        .route(
            "/{at_name}/invited/{start}",
            get(people_tree::branch_from_start).fallback(people_tree::other_method),
        )
        .route("/people/tree", get(people_tree::tree))
        .route("/people/tree/{start}", get(people_tree::tree_from_start))
        .reading("/user/{name}", OF_PAGES, get(profile::profile))
        .route("/usernews/{name}/{start}", get(front::of_user))
        .route("/usercomments/{name}/{start}", get(comments::of_user))
        .route("/about", get(about::about))
        .route("/formatting", get(formatting::formatting))
        .route("/ranking", get(about::ranking_page))
        .reading("/moderations", OF_LOG, get(moderations::page))
        .reading("/sites", &["host"], get(sites::sites))
        .route("/sites/{list}/{span}", get(sites::board))
        .route("/site/{host}", get(sites::site))
        .route("/site/{host}/stories/{start}", get(sites::stories))
}

/// The feeds.
fn shared_feeds() -> SharedRoutes {
    SharedRoutes::default()
        .route("/rss", get(feeds::rss))
        .route("/atom", get(feeds::atom))
        .route("/moderations/atom", get(feeds::log_feed))
        .route("/best/atom", get(feeds::best))
        .route("/best/new/atom", get(feeds::newest))
        .route("/topic/{topics}/atom", get(feeds::best_of_topics))
        .route("/topic/{topics}/new/atom", get(feeds::newest_of_topics))
        .route("/{at_name}/feed", get(feeds::of_user).fallback(pages::profile::other_method))
}

/// The other API calls that read public data.
fn shared_calls() -> SharedRoutes {
    SharedRoutes::default()
        .route("/api/past/{day}/{start}/{count}", get(api::news::past))
        .reading("/api/getcomments/{news_id}", &["after", "count", "sort"], get(api::comments::thread))
        .reading("/api/timeline/user/{name}", OF_WINDOWS, get(api::timelines::of_user))
        .reading("/api/followers/{name}", OF_WINDOWS, get(api::timelines::followers))
        .reading("/api/followings/{name}", OF_WINDOWS, get(api::timelines::followings))
        .route("/api/openapi.json", get(openapi::document))
        .reading("/api/moderations", OF_LOG, get(api::moderation::log))
        .reading("/api/sites/history/{host}", &["days"], get(api::sites::history))
        .route("/api/sites/leaderboard/{list}/{span}", get(api::sites::leaderboard))
        .route("/api/sites/prefix/{hex}", get(api::sites::prefix))
        .reading("/scores", &["for"], get(reputation::scores))
        .reading("/v1/scores", &["from"], get(reputation::deployed_scores))
}

/// The actions, with the tag of their calls in the OpenAPI document.
pub fn actions() -> impl Iterator<Item = (&'static str, ActionEntry)> {
    let nouns = [
        ("Accounts", pages::invitations::actions()),
        ("News", pages::marks::actions()),
        ("News", pages::votes::actions_on_news()),
        ("Articles and topics", pages::topics::actions()),
        ("Comments", pages::votes::actions_on_comments()),
        ("Tweets and timelines", pages::home::actions()),
        ("Tweets and timelines", pages::people::actions()),
        ("Muting and blocking", pages::mutes::actions()),
        ("Inbox", pages::inbox::actions()),
        ("About", pages::flagging::actions()),
        ("Moderation", pages::moderating::actions()),
        ("Moderation", pages::rules::actions()),
        ("Sites", pages::sites::actions()),
        ("Sites", pages::admin_sites::actions()),
    ];
    nouns.into_iter().flat_map(|(tag, actions)| actions.into_iter().map(move |action| (tag, action)))
}

/// The targets of the forms of the actions, and their calls.
fn action_routes() -> (Router<App>, Router<App>) {
    let (mut forms, mut calls) = (Router::new(), Router::new());
    for (_, ActionEntry { path, page, call_path, call, .. }) in actions() {
        forms = forms.route(path, page);
        calls = calls.route(&call_path, call);
    }
    (forms, calls)
}

/// The targets of forms that act once: a second story, mail or line of a log would be one too many, and
/// a second deletion would be refused. The other forms set a state.
fn forms_acting_once() -> Router<App> {
    use pages::{
        admin, appeals, comments, inbox, invitations, moderating, news_forms, open_sessions, passkeys,
        review, rules, tweets, two_factor,
    };
    Router::new()
        .route("/submit", get(news_forms::submit_form).post(news_forms::submit))
        .route("/delnews/{id}", get(news_forms::delete_form).post(news_forms::delete))
        .route("/postcomment", post(comments::post))
        .route("/deltweet/{id}", get(tweets::delete_form).post(tweets::delete))
        .route("/appeal", post(appeals::send))
        .route("/inbox/feed", post(inbox::change_feed))
        .route("/settings/sessions", get(open_sessions::page).post(open_sessions::end))
        .route("/settings/invitations", get(invitations::page))
        .route("/settings/invitations/withdraw", post(invitations::withdraw))
        .route("/settings/two-factor/app", get(two_factor::app_form).post(two_factor::begin_app))
        .route("/settings/two-factor/app/remove", post(two_factor::remove_app))
        .route("/settings/two-factor/passkeys/remove", get(passkeys::remove_form).post(passkeys::remove))
        .route("/moderate", get(review::page).post(moderating::moderate))
        .route("/moderate/votes", post(review::look_for_rings))
        .route("/moderate/rules", get(rules::page).post(rules::change))
        .route("/admin/recompute", post(admin::recompute))
        .route_layer(map_request(viewer::mark_acting_once))
}

/// The personal pages and the targets of the other forms.
fn page_routes() -> Router<App> {
    use pages::{
        admin, admin_site, admin_sites, appeals, articles, comments, confirm_email, first_administrator,
        flagging, front, home, inbox, mutes, news_forms, passkeys, password_reset, people, profile, register,
        second_step, sessions, settings, two_factor, unsubscribe, welcome,
    };
    Router::new()
        .route("/saved/{start}", get(front::saved))
        .route("/hidden/{start}", get(front::hidden))
        .route("/flag/{kind}/{id}", get(flagging::show))
        .route("/random", get(front::random))
        .route("/topics/followed", get(articles::best_of_followed))
        .route("/topics/followed/new", get(articles::newest_of_followed))
        .route("/editnews/{id}", get(news_forms::edit_form).post(news_forms::edit))
        .route("/reply/{news}/{comment}", get(comments::reply))
        .route("/editcomment/{news}/{comment}", get(comments::edit))
        .route("/inbox", get(inbox::show))
        .route("/inbox/feed/{secret}", get(feeds::inbox))
        .route("/replies", get(inbox::replies))
        .route("/home", get(home::home))
        .route("/home/events", get(live::events))
        .route("/suggestions", get(people::suggestions))
        .route("/profile", post(profile::change))
        .route("/settings", get(settings::settings).post(settings::change))
        .route("/.well-known/change-password", get(settings::change_password))
        .route("/settings/confirm-email", post(confirm_email::send_again))
        .route("/confirm-email/{token}", get(confirm_email::form).post(confirm_email::confirm))
        .route("/settings/mutes", get(mutes::page))
        .route("/settings/two-factor", get(two_factor::page))
        .route("/settings/two-factor/app/confirm", post(two_factor::confirm_app))
        .route("/settings/two-factor/codes", get(two_factor::codes_form).post(two_factor::renew_codes))
        .route("/settings/two-factor/passkeys", get(passkeys::add_form).post(passkeys::begin))
        .route("/settings/two-factor/passkeys/confirm", post(passkeys::confirm))
        .route("/settings/deactivate", get(settings::deactivate_form).post(settings::deactivate))
        .route("/appeal/{id}", get(appeals::form))
        .route("/login", get(sessions::login_form).post(sessions::log_in))
        .route("/login/code", get(second_step::start_again).post(second_step::finish))
        .route("/login/passkey", get(second_step::passkey_form).post(second_step::log_in_with_passkey))
        .route("/login/passkey/options", post(second_step::passkey_options))
        .route("/register", get(register::form).post(register::register))
        .route("/welcome", get(welcome::welcome).post(first_administrator::confirm))
        .route("/logout", get(sessions::logout_form).post(sessions::log_out))
        .route("/reset-password", get(password_reset::request_form).post(password_reset::request))
        .route(
            "/reset-password/{token}",
            get(password_reset::new_password_form).post(password_reset::set_password),
        )
        .route("/unsubscribe/{token}", get(unsubscribe::form).post(unsubscribe::unsubscribe))
        .route("/admin", get(admin::admin))
        .route("/admin/site", get(admin_site::page).post(admin_site::change))
        .route("/admin/site/logo", post(admin_site::change_logo))
        .route("/admin/site/removelogo", post(admin_site::remove_logo))
        .route("/admin/sites", get(admin_sites::page))
}

/// The style sheet, the script and the icons.
fn file_routes() -> SharedRoutes {
    SharedRoutes::default()
        .route("/robots.txt", get(assets::robots))
        .route("/favicon.ico", get(assets::favicon))
        .route("/manifest.webmanifest", get(assets::manifest))
        .route("/sitemap.xml", get(sitemap::index))
        .route("/sitemap/{page}", get(sitemap::part))
        .route("/assets/{file}", get(assets::file))
}

/// The API calls that write or read personal data. `docs/api.md` describes all calls.
fn api_routes() -> Router<App> {
    Router::new()
        .route("/api/create_account", post(api::accounts::create_account))
        .route("/api/login", get(api::accounts::log_in_by_get).post(api::accounts::log_in))
        .route("/api/logout", post(api::accounts::log_out))
        .route("/api/sessions", get(api::sessions::list))
        .route("/api/export", get(api::export::export))
        .route("/api/endsession", post(api::sessions::end))
        .route("/api/totp/begin", post(api::two_factor::begin))
        .route("/api/totp/confirm", post(api::two_factor::confirm))
        .route("/api/totp/end", post(api::two_factor::end))
        .route(
            "/api/reset-password",
            get(api::accounts::reset_password_by_get).post(api::accounts::reset_password),
        )
        .route("/api/updateprofile", post(api::accounts::update_profile))
        .route("/api/submit", post(api::news::submit))
        .route("/api/fetchtitle", post(api::submitting::fetch_title))
        .route("/api/duplicate", get(api::submitting::duplicate))
        .route("/api/delnews", post(api::news::delete))
        .route("/api/mutes", get(api::mutes::list))
        .route("/api/postcomment", post(api::comments::post))
        .route("/api/preview", post(api::comments::preview))
        .route("/api/deltweet", post(api::timelines::delete))
        .route("/api/timeline/home", get(api::timelines::home))
        .route("/api/inbox", get(api::inbox::list))
        .route("/api/moderate/queue", get(api::flags::list))
        .route("/api/moderate", post(api::moderation::moderate))
        .route("/api/moderate/rule", post(api::rules::add))
        .route("/api/appeal", post(api::moderation::appeal))
        .route("/api/moderate/network/{username}", get(api::moderation::network))
        .route("/api/sites/own", post(api::sites::own))
        .route("/api/sites/admin/voter/{uuid}", get(api::sites::voter))
        .route("/api/sites/admin/voter/{uuid}/votes", get(api::sites::voter_votes))
        .route("/api/sites/admin/top_voters/{date}", get(api::sites::top_voters))
}

/// The state of the server, for monitors.
fn health_routes() -> Router<App> {
    Router::new().route("/health/live", get(health::live)).route("/health/ready", get(health::ready))
}

/// The votes of browser extensions, as once documented and as deployed.
fn reputation_routes() -> Router<App> {
    Router::new().route("/vote", post(reputation::vote)).route("/v1/vote", post(reputation::deployed_vote))
}

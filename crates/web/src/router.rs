//! Every address of the site.

pub mod failures;
pub mod refused_forms;
mod wings;
pub mod writes;

pub(crate) use wings::Parts;

use crate::error::RequestError;
use crate::features::action::ActionEntry;
use crate::features::{
    accounts, administration, algolia, comments, export, feeds, guide, hacker_news, inbox, moderation, mutes,
    search, sessions, sites, stories, timelines, topics,
};
use crate::{App, openapi};

use crate::markup::assets;
use crate::request::local_path::LocalPath;
use crate::request::response_cache::{self, SharedAddresses};
use crate::request::{cookies, origin, viewer};
use crate::server::traffic::RouteId;
use crate::server::{cors, headers, health};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state, map_request, map_response};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};
use refused_forms::FormPages;
use std::sync::Arc;
use tower_service::Service;
use writes::Writes;

/// The whole site as a service. Requests that may write are counted in `writes`.
pub fn router(app: App, writes: Arc<Writes>) -> Router {
    let (forms, calls) = action_routes();
    let pages = page_routes().merge(shared_routes()).merge(forms_acting_once()).merge(forms);
    let known = pages.clone().layer(from_fn_with_state(app.clone(), parts_that_are_on));
    let known = known.with_state(app.clone());
    let forms = FormPages::new(known.clone());
    let all = pages
        .merge(api_routes())
        .merge(calls)
        .merge(algolia_calls())
        .merge(reputation_routes())
        .merge(health_routes());
    all.fallback(move |request: Request| nothing_here(known, request))
        .method_not_allowed_fallback(async || RequestError::MethodNotAllowed)
        .layer(from_fn_with_state((app.clone(), writes, forms), around))
        .with_state(app)
}

/// Middleware around every handler. It is one function, because each layer of a router allocates memory in every
/// request.
async fn around(
    State((app, writes, forms)): State<(App, Arc<Writes>, FormPages)>,
    request: Request,
    handler: Next,
) -> Response {
    let route = RouteId::of(&app, &request);
    let has_secret = headers::has_secret(request.uri());
    let inner = app.clone();
    let handle = move |request| admit(inner, forms, request, handler);
    let handle = |request| writes::run_to_the_end((&app, &writes), request, handle);
    let mut response = cors::allow_any_origin(request, handle).await;
    headers::protect(&app.settings, has_secret, response.headers_mut());
    response.extensions_mut().insert(route);
    response
}

/// Passes a request to its handler, unless a page of another site has sent it or it is for what is switched off.
/// Failures become responses here.
async fn admit(app: App, forms: FormPages, request: Request, handler: Next) -> Response {
    let handle = |request| cookies::renew_cookie(&app, request, |request| handler.run(request));
    let admit = async |request| match origin::refuse_other_sites(&app.settings, &request)
        .and_then(|()| Parts::of(&app).admit(&request))
    {
        Ok(()) => handle(request).await,
        Err(refusal) => refusal.into_response(),
    };
    failures::error_responses((&app, &forms), request, admit).await
}

/// Refuses what is switched off, so that nothing leads to it.
async fn parts_that_are_on(State(app): State<App>, request: Request, handler: Next) -> Response {
    match Parts::of(&app).admit(&request) {
        Ok(()) => handler.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Leads from an address with a slash too much to the page without it, if there is one. Nothing is at
/// any other.
async fn nothing_here(mut pages: Router, mut request: Request) -> Result<Redirect, RequestError> {
    let address = request.uri();
    let path = address.path();
    let shorter = path.trim_end_matches('/');
    if *request.method() != Method::GET || !failures::is_of_pages(path) || [path, ""].contains(&shorter) {
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

    /// Says that the responses are the same for people with a session too.
    fn for_everyone(self) -> Self {
        Self { addresses: self.addresses.for_everyone(), ..self }
    }

    fn merge(self, other: Self) -> Self {
        Self { router: self.router.merge(other.router), addresses: self.addresses.and(other.addresses) }
    }
}

/// The parameters of a page of a list that is ordered by time.
const OF_PAGES: &[&str] = &["before"];
/// The same of the API.
const OF_WINDOWS: &[&str] = &["count", "before", "since"];
/// The parameters of a page of a list that has no order by time.
const OF_LISTS: &[&str] = &["start"];
/// The parameters of the moderation log.
const OF_LOG: &[&str] = &["count", "before", "moderator", "kind", "action", "person", "part_of"];

/// The addresses of responses that can be cached.
pub(crate) fn shared_addresses() -> SharedAddresses {
    shared().addresses
}

/// The routes whose responses can be cached.
fn shared_routes() -> Router<App> {
    shared().router.route_layer(map_response(response_cache::mark_shared))
}

fn shared() -> SharedRoutes {
    let calls = shared_calls().merge(hacker_news_calls());
    // The first pattern that fits is the one of an address.
    shared_feeds().merge(public_lists()).merge(shared_pages()).merge(calls).merge(file_routes())
}

/// The lists that are the same for all visitors.
fn public_lists() -> SharedRoutes {
    SharedRoutes::default()
        .route("/", get(stories::lists::top))
        .route("/top/{start}", get(stories::lists::top))
        .route("/latest", get(stories::lists::latest))
        .route("/latest/{start}", get(stories::lists::latest))
        .reading("/best", &["page"], get(topics::articles::best))
        .reading("/best/new", &["page"], get(topics::articles::newest))
        .reading("/topic/{topics}", &["page"], get(topics::articles::best))
        .reading("/topic/{topics}/new", &["page"], get(topics::articles::newest))
        .route("/topics", get(topics::list::topics))
        .reading("/comments", OF_PAGES, get(comments::newest::page))
        .reading("/everyone", OF_PAGES, get(timelines::home::everyone))
        .route("/api/getnews/{sort}/{start}/{count}", get(stories::calls::list))
        .route("/api/articles/{order}/{page}", get(topics::calls::all))
        .route("/api/topic/{name}/{order}/{page}", get(topics::calls::of_topics))
        .route("/api/topics", get(topics::calls::topics))
        .reading("/api/timeline/everyone", OF_WINDOWS, get(timelines::calls::everyone))
}

/// The other public pages.
fn shared_pages() -> SharedRoutes {
    SharedRoutes::default()
        .route("/past", get(stories::past::index))
        .route("/past/{day}", get(stories::past::period))
        .route("/past/{day}/{start}", get(stories::past::period))
        .reading("/news/{id}", &["page", "at", "posted", "sort"], get(comments::thread::thread))
        .reading("/comment/{news}/{comment}", &["sort"], get(comments::thread::one_comment))
        .reading("/item", &["id"], get(comments::newest::item))
        .route("/tweet/{id}", get(timelines::tweets::show))
        // Each is `/@<name>`. Without an `@`, the address does not exist.
        .reading("/{at_name}", OF_PAGES, get(accounts::profile::at).fallback(accounts::profile::other_method))
        .reading(
            "/{at_name}/followers",
            OF_PAGES,
            get(timelines::people::followers).fallback(accounts::profile::other_method),
        )
        .reading(
            "/{at_name}/followings",
            OF_PAGES,
            get(timelines::people::followings).fallback(accounts::profile::other_method),
        )
        .route(
            "/{at_name}/invited",
            get(accounts::people_tree::branch).fallback(accounts::people_tree::other_method),
        )
        .route(
            "/{at_name}/invited/{start}",
            get(accounts::people_tree::branch).fallback(accounts::people_tree::other_method),
        )
        .route("/people/tree", get(accounts::people_tree::tree))
        .route("/people/tree/{start}", get(accounts::people_tree::tree))
        .reading("/user/{name}", OF_PAGES, get(accounts::profile::profile))
        .route("/usernews/{name}/{start}", get(stories::lists::of_user))
        .route("/usercomments/{name}/{start}", get(comments::writing::of_user))
        .route("/about", get(guide::about::about))
        .route("/about/trust", get(guide::trust::page))
        .route("/feeds", get(feeds::list::page))
        .route("/formatting", get(guide::formatting::formatting))
        .route("/ranking", get(guide::about::ranking_page))
        .reading("/moderations", OF_LOG, get(moderation::log::page))
        .reading("/sites", &["host"], get(sites::pages::sites))
        .route("/sites/{list}/{span}", get(sites::pages::board))
        .route("/site/{host}", get(sites::pages::site))
        .route("/site/{host}/stories/{start}", get(sites::pages::stories))
}

/// The feeds. Each is at several addresses, by its format.
fn shared_feeds() -> SharedRoutes {
    use feeds::sources::{
        all_of, best, comments, comments_of, latest, moderation_log, newest, of_site, of_story, posts_of,
        stories_of, top,
    };
    let posts = || get(posts_of).fallback(accounts::profile::other_method);
    SharedRoutes::default()
        .reading("/rss", OF_LISTS, get(latest))
        .reading("/atom", OF_LISTS, get(latest))
        .reading("/json", OF_LISTS, get(latest))
        .reading("/top/atom", OF_LISTS, get(top))
        .reading("/top/json", OF_LISTS, get(top))
        .reading("/best/atom", OF_LISTS, get(best))
        .reading("/best/json", OF_LISTS, get(best))
        .reading("/best/new/atom", OF_LISTS, get(newest))
        .reading("/best/new/json", OF_LISTS, get(newest))
        .reading("/topic/{topics}/atom", OF_LISTS, get(best))
        .reading("/topic/{topics}/json", OF_LISTS, get(best))
        .reading("/topic/{topics}/new/atom", OF_LISTS, get(newest))
        .reading("/topic/{topics}/new/json", OF_LISTS, get(newest))
        .reading("/comments/atom", OF_PAGES, get(comments))
        .reading("/comments/json", OF_PAGES, get(comments))
        .reading("/news/{id}/atom", OF_PAGES, get(of_story))
        .reading("/news/{id}/json", OF_PAGES, get(of_story))
        .reading("/user/{name}/atom", &["before", "start"], get(all_of))
        .reading("/user/{name}/json", &["before", "start"], get(all_of))
        .reading("/user/{name}/stories/atom", OF_LISTS, get(stories_of))
        .reading("/user/{name}/stories/json", OF_LISTS, get(stories_of))
        .reading("/user/{name}/comments/atom", OF_LISTS, get(comments_of))
        .reading("/user/{name}/comments/json", OF_LISTS, get(comments_of))
        .reading("/{at_name}/feed", OF_PAGES, posts())
        .reading("/{at_name}/feed/json", OF_PAGES, posts())
        .reading("/site/{host}/atom", OF_LISTS, get(of_site))
        .reading("/site/{host}/json", OF_LISTS, get(of_site))
        .reading("/moderations/atom", OF_PAGES, get(moderation_log))
        .reading("/moderations/json", OF_PAGES, get(moderation_log))
        .route("/feeds.opml", get(feeds::list::opml))
        .for_everyone()
}

/// The other API calls that read public data.
fn shared_calls() -> SharedRoutes {
    SharedRoutes::default()
        .route("/api/past/{day}/{start}/{count}", get(stories::calls::past))
        .reading("/api/getcomments/{news_id}", &["after", "count", "sort"], get(comments::calls::thread))
        .reading("/api/timeline/user/{name}", OF_WINDOWS, get(timelines::calls::of_user))
        .reading("/api/followers/{name}", OF_WINDOWS, get(timelines::calls::followers))
        .reading("/api/followings/{name}", OF_WINDOWS, get(timelines::calls::followings))
        .route("/api/openapi.json", get(openapi::document))
        .reading("/api/moderations", OF_LOG, get(moderation::calls::log))
        .reading("/api/sites/history/{host}", &["days"], get(sites::calls::history))
        .route("/api/sites/leaderboard/{list}/{span}", get(sites::calls::leaderboard))
        .route("/api/sites/prefix/{hex}", get(sites::calls::prefix))
        .reading("/scores", &["for"], get(sites::reputation::scores))
        .reading("/v1/scores", &["from"], get(sites::reputation::deployed_scores))
}

/// The API of Hacker News.
fn hacker_news_calls() -> SharedRoutes {
    use hacker_news::requests::{PARAMETERS, file, item, user};
    SharedRoutes::default()
        .reading("/v0/item/{item}", PARAMETERS, get(item))
        .reading("/v0/user/{person}", PARAMETERS, get(user))
        .reading("/v0/{resource}", PARAMETERS, get(file))
        .route("/api/v1/items/{number}", get(algolia::calls::item))
        .route("/api/v1/users/{name}", get(algolia::calls::user))
}

/// The API of the search of Hacker News. Its results are in no cache of responses: a search is limited by a
/// rate of its own.
fn algolia_calls() -> Router<App> {
    Router::new()
        .route("/api/v1/search", get(algolia::calls::search))
        .route("/api/v1/search_by_date", get(algolia::calls::search_by_date))
}

/// The actions, with the tag of their calls in the OpenAPI document.
pub fn actions() -> impl Iterator<Item = (&'static str, ActionEntry)> {
    let nouns = [
        ("Accounts", accounts::invitations::actions()),
        ("News", stories::marks::actions()),
        ("News", stories::votes::actions_on_news()),
        ("Articles and topics", topics::list::actions()),
        ("Comments", stories::votes::actions_on_comments()),
        ("Tweets and timelines", timelines::home::actions()),
        ("Tweets and timelines", timelines::people::actions()),
        ("Muting and blocking", mutes::page::actions()),
        ("Inbox", inbox::page::actions()),
        ("About", moderation::flagging::actions()),
        ("Moderation", moderation::moderating::actions()),
        ("Moderation", moderation::rules::actions()),
        ("Moderation", moderation::bans::actions()),
        ("Moderation", moderation::reasons::actions()),
        ("Administration", administration::announcement::actions()),
        ("Administration", administration::hooks::actions()),
        ("Sites", sites::pages::actions()),
        ("Sites", sites::voters::actions()),
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
    Router::new()
        .route("/submit", get(stories::submitting::submit_form).post(stories::submitting::submit))
        .route("/delnews/{id}", get(stories::submitting::delete_form).post(stories::submitting::delete))
        .route("/postcomment", post(comments::writing::post))
        .route("/deltweet/{id}", get(timelines::tweets::delete_form).post(timelines::tweets::delete))
        .route("/appeal", post(moderation::appeals::send))
        .route("/messages", get(moderation::messages::list).post(moderation::messages::send))
        .route("/inbox/feed", post(inbox::page::change_feed))
        .route("/settings/sessions", get(sessions::open_sessions::page).post(sessions::open_sessions::end))
        .route("/settings/invitations", get(accounts::invitations::page))
        .route("/settings/invitations/withdraw", post(accounts::invitations::withdraw))
        .route(
            "/settings/two-factor/app",
            get(sessions::second_factors::app_form).post(sessions::second_factors::begin_app),
        )
        .route("/settings/two-factor/app/remove", post(sessions::second_factors::remove_app))
        .route(
            "/settings/two-factor/passkeys/remove",
            get(sessions::passkeys::remove_form).post(sessions::passkeys::remove),
        )
        .route("/moderate", get(moderation::review::page).post(moderation::moderating::moderate))
        .route("/people", get(moderation::directory_page::page).post(moderation::directory_page::change))
        .route("/moderate/figures", get(moderation::figures::page))
        .route("/moderate/erase/{kind}/{id}", get(moderation::erasing::page))
        .route("/moderate/reasons", get(moderation::reasons::page))
        .route("/moderate/votes", post(moderation::review::look_for_rings))
        .route("/moderate/rules", get(moderation::rules::page).post(moderation::rules::change))
        .route("/moderate/bans", get(moderation::bans::page).post(moderation::bans::change))
        .route("/admin/recompute", post(administration::admin::recompute))
        .route_layer(map_request(viewer::mark_acting_once))
}

/// The personal pages and the targets of the other forms.
fn page_routes() -> Router<App> {
    Router::new()
        .route("/saved", get(stories::lists::saved))
        .route("/saved/{start}", get(stories::lists::saved))
        .route("/upvoted", get(stories::lists::upvoted))
        .route("/upvoted/{start}", get(stories::lists::upvoted))
        .route("/hidden/{start}", get(stories::lists::hidden))
        .route("/flag/{kind}/{id}", get(moderation::flagging::show))
        .route("/vote/{kind}/{id}", get(stories::votes::ask))
        .route("/random", get(stories::lists::random))
        .route("/search", get(search::page::page))
        .route("/search.atom", get(feeds::searched::search))
        .route("/search.json", get(feeds::searched::search))
        .route("/opensearch.xml", get(search::opensearch::description))
        .route("/topics/followed", get(topics::articles::best_of_followed))
        .route("/topics/followed/new", get(topics::articles::newest_of_followed))
        .route("/editnews/{id}", get(stories::submitting::edit_form).post(stories::submitting::edit))
        .route("/reply/{news}/{comment}", get(comments::writing::reply))
        .route("/editcomment/{news}/{comment}", get(comments::writing::edit))
        .route("/inbox", get(inbox::page::show))
        .route("/inbox/undo", post(inbox::page::undo))
        .route("/inbox/feed/{secret}", get(feeds::sources::inbox))
        .route("/inbox/feed/{secret}/json", get(feeds::sources::inbox))
        .route("/feeds/following.opml", get(feeds::list::following))
        .route("/replies", get(inbox::page::replies))
        .route("/home", get(timelines::home::home))
        .route("/home/events", get(timelines::live::events))
        .route("/suggestions", get(timelines::people::suggestions))
        .route("/profile", post(accounts::profile::change))
        .route("/settings", get(accounts::settings::settings).post(accounts::settings::change))
        .route("/settings/reading", get(accounts::settings::settings).post(accounts::settings::change))
        .route("/settings/mail", get(accounts::settings::settings).post(accounts::settings::change))
        .route("/settings/account", get(accounts::settings::settings).post(accounts::settings::change))
        .route("/.well-known/change-password", get(accounts::settings::change_password))
        .route("/settings/confirm-email", post(accounts::confirm_email::send_again))
        .route(
            "/confirm-email/{token}",
            get(accounts::confirm_email::form).post(accounts::confirm_email::confirm),
        )
        .route("/settings/mutes", get(mutes::page::page))
        .route("/settings/two-factor", get(sessions::second_factors::page))
        .route("/settings/two-factor/app/confirm", post(sessions::second_factors::confirm_app))
        .route(
            "/settings/two-factor/codes",
            get(sessions::second_factors::codes_form).post(sessions::second_factors::renew_codes),
        )
        .route(
            "/settings/two-factor/passkeys",
            get(sessions::passkeys::add_form).post(sessions::passkeys::begin),
        )
        .route("/settings/two-factor/passkeys/confirm", post(sessions::passkeys::confirm))
        .route(
            "/settings/deactivate",
            get(accounts::deactivating::deactivate_form).post(accounts::deactivating::deactivate),
        )
        .route("/settings/deactivated", get(accounts::deactivating::deactivated))
        .route("/appeal/{id}", get(moderation::appeals::form))
        .route("/moderators", get(moderation::messages::form))
        .route("/messages/{id}", get(moderation::messages::show))
        .route("/moderate/person/{name}", get(moderation::person_page::page))
        .route("/login", get(sessions::login::login_form).post(sessions::login::log_in))
        .route("/login/code", get(sessions::second_step::start_again).post(sessions::second_step::finish))
        .route(
            "/login/passkey",
            get(sessions::second_step::passkey_form).post(sessions::second_step::log_in_with_passkey),
        )
        .route("/login/passkey/options", post(sessions::second_step::passkey_options))
        .route("/register", get(accounts::register::form).post(accounts::register::register))
        .route("/welcome", get(guide::welcome::welcome).post(accounts::first_administrator::confirm))
        .route("/logout", get(sessions::login::logout_form).post(sessions::login::log_out))
        .route(
            "/reset-password",
            get(accounts::password_reset::request_form).post(accounts::password_reset::request),
        )
        .route(
            "/reset-password/{token}",
            get(accounts::password_reset::new_password_form).post(accounts::password_reset::set_password),
        )
        .route("/unsubscribe/{token}", get(inbox::unsubscribe::form).post(inbox::unsubscribe::unsubscribe))
        .route("/admin", get(administration::admin::admin))
        .route("/admin/changes", get(administration::changes::page))
        .route("/admin/hooks", get(administration::hooks::page))
        .route("/admin/site", get(administration::identity::page).post(administration::identity::change))
        .route("/admin/site/logo", post(administration::identity::change_logo))
        .route("/admin/site/removelogo", post(administration::identity::remove_logo))
        .route("/admin/sites", get(sites::voters::page))
}

/// The style sheet, the script and the icons.
fn file_routes() -> SharedRoutes {
    SharedRoutes::default()
        .route("/robots.txt", get(assets::robots))
        .route("/favicon.ico", get(assets::favicon))
        .route("/manifest.webmanifest", get(assets::manifest))
        .route("/sitemap.xml", get(feeds::sitemap::index))
        .route("/sitemap/{page}", get(feeds::sitemap::part))
        .route("/assets/{file}", get(assets::file))
}

/// The API calls that write or read personal data. `docs/api.md` describes all calls.
fn api_routes() -> Router<App> {
    Router::new()
        .route("/api/create_account", post(accounts::calls::create_account))
        .route("/api/login", get(accounts::calls::log_in_by_get).post(accounts::calls::log_in))
        .route("/api/logout", post(accounts::calls::log_out))
        .route("/api/sessions", get(sessions::session_calls::list))
        .route("/api/export", get(export::calls::export))
        .route("/api/endsession", post(sessions::session_calls::end))
        .route("/api/totp/begin", post(sessions::totp_calls::begin))
        .route("/api/totp/confirm", post(sessions::totp_calls::confirm))
        .route("/api/totp/end", post(sessions::totp_calls::end))
        .route(
            "/api/reset-password",
            get(accounts::calls::reset_password_by_get).post(accounts::calls::reset_password),
        )
        .route("/api/updateprofile", post(accounts::calls::update_profile))
        .route("/api/submit", post(stories::calls::submit))
        .route("/api/fetchtitle", post(stories::submitting_calls::fetch_title))
        .route("/api/duplicate", get(stories::submitting_calls::duplicate))
        .route("/api/delnews", post(stories::calls::delete))
        .route("/api/votes", get(stories::calls::votes))
        .route("/api/search", get(search::calls::search))
        .route("/api/search/suggest", get(search::calls::suggest))
        .route("/api/search/similar", get(search::calls::similar))
        .route("/api/mutes", get(mutes::calls::list))
        .route("/api/postcomment", post(comments::calls::post))
        .route("/api/preview", post(comments::calls::preview))
        .route("/api/deltweet", post(timelines::calls::delete))
        .route("/api/timeline/home", get(timelines::calls::home))
        .route("/api/inbox", get(inbox::calls::list))
        .route("/api/moderate/queue", get(moderation::flag_calls::list))
        .route("/api/moderate", post(moderation::calls::moderate))
        .route("/api/moderate/rule", post(moderation::rule_calls::add))
        .route(
            "/api/moderate/people",
            get(moderation::directory_calls::list).post(moderation::directory_calls::change),
        )
        .route("/api/moderate/bans", get(moderation::ban_calls::list).post(moderation::ban_calls::add))
        .route("/api/moderate/reasons", get(moderation::reasons::list))
        .route("/api/admin/announcement", get(administration::announcement::current))
        .route("/api/admin/hooks", get(administration::hooks::list))
        .route("/api/appeal", post(moderation::calls::appeal))
        .route("/api/messages", get(moderation::message_calls::list).post(moderation::message_calls::write))
        .route("/api/moderate/network/{username}", get(moderation::calls::network))
        .route("/api/sites/own", post(sites::calls::own))
        .route("/api/sites/admin/voter/{uuid}", get(sites::calls::voter))
        .route("/api/sites/admin/voter/{uuid}/votes", get(sites::calls::voter_votes))
        .route("/api/sites/admin/top_voters/{date}", get(sites::calls::top_voters))
}

/// The state of the server, for monitors.
fn health_routes() -> Router<App> {
    Router::new().route("/health/live", get(health::live)).route("/health/ready", get(health::ready))
}

/// The votes of browser extensions, as once documented and as deployed.
fn reputation_routes() -> Router<App> {
    Router::new()
        .route("/vote", post(sites::reputation::vote))
        .route("/v1/vote", post(sites::reputation::deployed_vote))
}

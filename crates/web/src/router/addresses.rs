//! The table of all addresses, with their facts and their handlers.

mod declarations;

pub(super) use self::declarations::Declaration;

use self::declarations::{Declarations, routes};
use crate::features::action::ActionEntry;
use crate::features::{
    accounts, administration, algolia, comments, export, feeds, guide, hacker_news, inbox, moderation, mutes,
    search, sessions, sites, stories, timelines, topics,
};
use crate::markup::{FeedKind, assets};
use crate::openapi;
use crate::route::BodySize::{Long, Short};
use crate::route::Cost::{Free, Large, Small};
use crate::route::Crawlers::{KeptAway, Welcome};
use crate::route::ErrorFormat::{Deployed, Documented};
use crate::route::Listed::{Comments, People, Posts, Stories};
use crate::route::LoginReason::{Comment, Flag, Submit, Vote};
use crate::route::Readers::{Each, Visitors};
use crate::route::Senders::{Anyone, Voters};
use crate::route::Wing::{Core, Search, Sites, Timelines};
use crate::route::{
    FILE, algolia, call, extension, feed, own, own_form, posted, public, public_call, target,
};
use crate::server::health;
use crate::site_lists::{ListFacts, SiteList};
use strum::IntoEnumIterator;
use tidings_domain::accounts::access::Access::{Accounts, Everyone, Readers};
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::timelines::follows::Side;

/// Every method of every address.
pub(super) fn declared() -> impl Iterator<Item = Declaration> {
    let public = [lists_of_all(), lists(), public_pages(), feeds(), files()];
    let own = [personal_pages(), settings_pages(), session_pages(), staff_pages()];
    let calls = [public_calls(), calls(), calls_of_hacker_news(), calls_of_others(), declared_actions()];
    public.into_iter().chain(own).chain(calls).flat_map(|declarations| declarations.0)
}

/// The parameters of a page of a list that is ordered by time.
const OF_PAGES: &[&str] = &["before"];
const OF_PROFILES: &[&str] = &["before", "show"];
/// The same of the API.
const OF_WINDOWS: &[&str] = &["count", "before", "since"];
/// The parameters of a page of a list that has no order by time.
const OF_LISTS: &[&str] = &["start"];
/// The parameters of the moderation log.
const OF_LOG: &[&str] = &["count", "before", "moderator", "kind", "action", "person", "part_of"];
/// The chapters of the API.
const ABOUT: &str = "About";
const ACCOUNTS: &str = "Accounts";
const ADMINISTRATION: &str = "Administration";
const COMMENTS: &str = "Comments";
const INBOX: &str = "Inbox";
const MODERATION: &str = "Moderation";
const MUTING: &str = "Muting and blocking";
const NEWS: &str = "News";
const SEARCH: &str = "Search";
const SITES: &str = "Sites";
const TIMELINES: &str = "Tweets and timelines";
const TOPICS: &str = "Articles and topics";

/// The lists that are the same for all visitors.
fn lists() -> Declarations {
    use timelines::people::people_of;
    use topics::articles::of_topics;
    let best = async |topics, page, query| of_topics(ArticleOrder::Score, topics, page, query).await;
    let newest = async |topics, page, query| of_topics(ArticleOrder::Time, topics, page, query).await;
    let followers = async |name, page, query| people_of(Side::Followers, name, page, query).await;
    let followings = async |name, page, query| people_of(Side::Followings, name, page, query).await;
    routes! {
        get "/best": public(Core, Small, &["page"]).listing(Stories).in_sitemap() => best;
        get "/best/new": public(Core, Small, &["page"]).listing(Stories) => newest;
        get "/topic/{topics}": public(Core, Large, &["page"]).listing(Stories) => best;
        get "/topic/{topics}/new": public(Core, Large, &["page"]).listing(Stories) => newest;
        get "/past/{day}" | "/past/{day}/{start}": public(Core, Large, &[]).listing(Stories) => stories::past::period;
        get "/usernews/{name}/{start}": public(Core, Small, &[]).listing(Stories) => stories::lists::of_user;
        get "/site/{host}/stories/{start}": public(Core, Small, &[]).listing(Stories) =>
            sites::pages::stories;
        get "/comments": public(Core, Small, OF_PAGES).listing(Comments) => comments::newest::page;
        get "/usercomments/{name}/{start}": public(Core, Small, &[]).listing(Comments) =>
            comments::writing::of_user;
        get "/everyone": public(Timelines, Small, OF_PAGES).listing(Posts) => timelines::home::everyone;
        of_name "/{at_name}/followers": public(Timelines, Small, OF_PAGES).listing(People) =>
            followers, accounts::profile::other_method;
        of_name "/{at_name}/followings": public(Timelines, Small, OF_PAGES).listing(People) =>
            followings, accounts::profile::other_method;
    }
}

/// The other pages that are the same for all visitors.
fn public_pages() -> Declarations {
    routes! {
        get "/topics": public(Core, Large, &[]).in_sitemap() => topics::list::topics;
        get "/past": public(Core, Large, &[]) => stories::past::index;
        get "/news/{id}": public(Core, Large, &["page", "at", "posted", "sort"]) => comments::thread::thread;
        get "/comment/{news}/{comment}": public(Core, Large, &["sort"]) => comments::thread::one_comment;
        get "/item": public(Core, Small, &["id"]) => comments::newest::item;
        get "/tweet/{id}": public(Timelines, Small, &[]) => timelines::tweets::show;
        of_name "/{at_name}": public(Core, Small, OF_PROFILES) =>
            accounts::profile::at, accounts::profile::other_method;
        of_name "/{at_name}/invited" | "/{at_name}/invited/{start}": public(Core, Small, &[]) =>
            accounts::people_tree::branch, accounts::people_tree::other_method;
        get "/people/tree" | "/people/tree/{start}": public(Core, Small, &[]) => accounts::people_tree::tree;
        get "/user/{name}": public(Core, Small, OF_PROFILES) => accounts::profile::profile;
        get "/sites": public(Sites, Small, &["host"]).in_sitemap() => sites::pages::sites;
        get "/sites/{list}/{span}": public(Sites, Small, &[]) => sites::pages::board;
        get "/site/{host}": public(Core, Small, &[]) => sites::pages::site;
        get "/about": public(Core, Small, &[]).to(Everyone).in_sitemap() => guide::about::about;
        get "/about/trust": public(Core, Small, &[]) => guide::trust::page;
        get "/feeds": public(Core, Small, &[]) => feeds::list::page;
        get "/formatting": public(Core, Small, &[]) => guide::formatting::formatting;
        get "/ranking": public(Core, Small, &[]) => guide::about::ranking_page;
        get "/moderations": public(Core, Small, OF_LOG) => moderation::log::page;
    }
}

/// The lists of all stories: their pages and their feeds.
fn lists_of_all() -> Declarations {
    SiteList::iter().fold(Declarations(Vec::new()), |declared, list| {
        let ListFacts { path, more, first, .. } = *list.facts();
        let page = async move |start, page| stories::lists::of_all(list, start, page).await;
        let source = async move |asked| feeds::sources::of_all(list, asked).await;
        let pages = [path.to_owned(), format!("{more}{{start}}")];
        let declared = pages.into_iter().fold(declared, |declared, pattern| {
            let facts = public(Core, Small, &[]).listing(Stories);
            let is_first = pattern.replace("{start}", "0") == first;
            declared.get(&[&pattern], if is_first { facts.in_sitemap() } else { facts }, page)
        });
        let kind = FeedKind::Stories(list);
        let feeds = kind.formats().iter().map(|format| kind.path(*format));
        feeds.fold(declared, |declared, pattern| declared.get(&[&pattern], feed(Core, OF_LISTS), source))
    })
}

/// The other feeds. Each is at two addresses, by its format.
fn feeds() -> Declarations {
    use feeds::sources::{
        all_of, comments, comments_of, moderation_log, of_articles, of_site, of_story, posts_of, stories_of,
    };
    let best = async |topics, asked| of_articles(ArticleOrder::Score, topics, asked).await;
    let newest = async |topics, asked| of_articles(ArticleOrder::Time, topics, asked).await;
    routes! {
        feed "/best" | "/topic/{topics}": feed(Core, OF_LISTS) => best;
        feed "/best/new" | "/topic/{topics}/new": feed(Core, OF_LISTS) => newest;
        feed "/comments": feed(Core, OF_PAGES) => comments;
        feed "/news/{id}": feed(Core, OF_PAGES) => of_story;
        feed "/user/{name}": feed(Core, &["before", "start"]) => all_of;
        feed "/user/{name}/stories": feed(Core, OF_LISTS) => stories_of;
        feed "/user/{name}/comments": feed(Core, OF_LISTS) => comments_of;
        of_name "/{at_name}/feed" | "/{at_name}/feed/json": feed(Timelines, OF_PAGES) =>
            posts_of, accounts::profile::other_method;
        feed "/site/{host}": feed(Core, OF_LISTS) => of_site;
        feed "/moderations": feed(Core, OF_PAGES) => moderation_log;
        get "/feeds.opml": feed(Core, &[]) => feeds::list::opml;
    }
}

/// The style sheet, the script, the icons, what crawlers and monitors read.
fn files() -> Declarations {
    routes! {
        get "/robots.txt": FILE => assets::robots;
        get "/favicon.ico": FILE => assets::favicon;
        get "/manifest.webmanifest": FILE => assets::manifest;
        get "/sitemap.xml": public(Core, Small, &[]).for_programs() => feeds::sitemap::index;
        get "/sitemap/{page}": public(Core, Small, &[]).for_programs() => feeds::sitemap::part;
        get "/assets/{file}": FILE => assets::file;
        get "/health/live": own(Core, Everyone, Free, Welcome, None) => health::live;
        get "/health/ready": own(Core, Everyone, Free, Welcome, None) => health::ready;
    }
}

/// The pages of members, and the targets of their forms. Their calls, such as `/api/submit`, are in [`calls`].
fn personal_pages() -> Declarations {
    use topics::articles::of_followed;
    let best_of_followed = async |page, query| of_followed(ArticleOrder::Score, page, query).await;
    let newest_of_followed = async |page, query| of_followed(ArticleOrder::Time, page, query).await;
    routes! {
        get "/saved" | "/saved/{start}": own(Core, Readers, Small, KeptAway, None).listing(Stories) =>
            stories::lists::saved;
        get "/upvoted" | "/upvoted/{start}": own(Core, Readers, Small, KeptAway, None).listing(Stories) =>
            stories::lists::upvoted;
        get "/hidden/{start}": own(Core, Readers, Small, Welcome, None).listing(Stories) => stories::lists::hidden;
        get "/topics/followed": own(Core, Readers, Large, Welcome, None).listing(Stories) =>
            best_of_followed;
        get "/topics/followed/new": own(Core, Readers, Large, Welcome, None).listing(Stories) =>
            newest_of_followed;
        get "/random": own(Core, Readers, Small, KeptAway, None) => stories::lists::random;
        get "/flag/{kind}/{id}": own(Core, Readers, Small, Welcome, Some(Flag)) => moderation::flagging::show;
        get "/vote/{kind}/{id}": own(Core, Readers, Small, Welcome, Some(Vote)) => stories::votes::ask;
        get "/search": own(Search, Readers, Small, Welcome, None) => search::page::page;
        get "/search.atom" | "/search.json": own(Search, Readers, Small, Welcome, None).for_programs() =>
            feeds::searched::search;
        get "/opensearch.xml": own(Search, Readers, Small, Welcome, None).for_programs() =>
            search::opensearch::description;
        form "/submit": own_form(Core, Readers, KeptAway, Long, Some(Submit)).once() =>
            stories::submitting::submit_form, stories::submitting::submit;
        form "/editnews/{id}": own_form(Core, Readers, KeptAway, Long, None) =>
            stories::submitting::edit_form, stories::submitting::edit;
        form "/delnews/{id}": own_form(Core, Readers, KeptAway, Short, None).once() =>
            stories::submitting::delete_form, stories::submitting::delete;
        get "/reply/{news}/{comment}": own(Core, Readers, Large, KeptAway, Some(Comment)) => comments::writing::reply;
        get "/editcomment/{news}/{comment}": own(Core, Readers, Large, KeptAway, None) => comments::writing::edit;
        post "/postcomment": target(Core, Readers, Long, Some(Comment)).once() => comments::writing::post;
        get "/home": own(Timelines, Readers, Small, KeptAway, None).listing(Posts) => timelines::home::home;
        get "/home/events": own(Timelines, Readers, Small, KeptAway, None) => timelines::live::events;
        get "/suggestions": own(Timelines, Readers, Small, KeptAway, None).listing(People) =>
            timelines::people::suggestions;
        form "/deltweet/{id}": own_form(Timelines, Readers, KeptAway, Short, None).once() =>
            timelines::tweets::delete_form, timelines::tweets::delete;
        get "/inbox": own(Core, Readers, Large, KeptAway, None) => inbox::page::show;
        post "/feeds/key": target(Core, Readers, Short, None).once().not_answered_again() => feeds::list::change_key;
        post "/inbox/undo": target(Core, Readers, Short, None) => inbox::page::undo;
        post "/inbox/feed": target(Core, Readers, Short, None).once() => inbox::page::change_feed;
        get "/inbox/feed/{secret}" | "/inbox/feed/{secret}/json": own(Core, Everyone, Large, KeptAway, None) =>
            feeds::sources::inbox;
        get "/replies": own(Core, Readers, Small, KeptAway, None) => inbox::page::replies;
        form "/unsubscribe/{token}": own_form(Core, Everyone, KeptAway, Short, None).sent_from(Anyone) =>
            inbox::unsubscribe::form, inbox::unsubscribe::unsubscribe;
        get "/feeds/following.opml": own(Core, Readers, Small, Welcome, None).for_programs() =>
            feeds::list::following;
        get "/appeal/{id}": own(Core, Readers, Small, Welcome, None) => moderation::appeals::form;
        post "/appeal": target(Core, Everyone, Long, None).once().hashing() => moderation::appeals::send;
        get "/moderators": own(Core, Readers, Small, Welcome, None) => moderation::messages::form;
        form "/messages": own_form(Core, Readers, Welcome, Long, None).once().hashing() =>
            moderation::messages::list, moderation::messages::send;
        get "/messages/{id}": own(Core, Readers, Small, Welcome, None) => moderation::messages::show;
    }
}

/// The settings of members.
fn settings_pages() -> Declarations {
    routes! {
        post "/profile": target(Core, Accounts, Long, None) => accounts::profile::change;
        form "/settings": own_form(Core, Accounts, KeptAway, Long, None) =>
            accounts::settings::settings, accounts::settings::change;
        form "/settings/reading": own_form(Core, Accounts, KeptAway, Short, None) =>
            accounts::settings::settings, accounts::settings::change;
        form "/settings/mail": own_form(Core, Accounts, KeptAway, Short, None) =>
            accounts::settings::settings, accounts::settings::change;
        form "/settings/account": own_form(Core, Accounts, KeptAway, Short, None) =>
            accounts::settings::settings, accounts::settings::change;
        get "/.well-known/change-password": own(Core, Everyone, Small, Welcome, None) =>
            accounts::settings::change_password;
        post "/settings/confirm-email": target(Core, Accounts, Short, None) => accounts::confirm_email::send_again;
        form "/confirm-email/{token}": own_form(Core, Everyone, Welcome, Short, None) =>
            accounts::confirm_email::form, accounts::confirm_email::confirm;
        get "/settings/mutes": own(Core, Accounts, Small, KeptAway, None) => mutes::page;
        form "/settings/sessions": own_form(Core, Accounts, KeptAway, Short, None).once() =>
            sessions::open_sessions::page, sessions::open_sessions::end;
        get "/settings/invitations": own(Core, Accounts, Small, KeptAway, None) => accounts::invitations::page;
        post "/settings/invitations/withdraw": target(Core, Accounts, Short, None).once() =>
            accounts::invitations::withdraw;
        get "/settings/two-factor": own(Core, Accounts, Small, KeptAway, None) => sessions::second_factors::page;
        form "/settings/two-factor/app": own_form(Core, Accounts, KeptAway, Short, None).once() =>
            sessions::second_factors::app_form, sessions::second_factors::begin_app;
        post "/settings/two-factor/app/confirm": target(Core, Accounts, Short, None) =>
            sessions::second_factors::confirm_app;
        post "/settings/two-factor/app/remove": target(Core, Accounts, Short, None).once() =>
            sessions::second_factors::remove_app;
        form "/settings/two-factor/codes": own_form(Core, Accounts, KeptAway, Short, None) =>
            sessions::second_factors::codes_form, sessions::second_factors::renew_codes;
        form "/settings/two-factor/passkeys": own_form(Core, Accounts, KeptAway, Short, None) =>
            sessions::passkeys::add_form, sessions::passkeys::begin;
        post "/settings/two-factor/passkeys/confirm": target(Core, Accounts, Long, None) =>
            sessions::passkeys::confirm;
        form "/settings/two-factor/passkeys/remove": own_form(Core, Accounts, KeptAway, Short, None).once() =>
            sessions::passkeys::remove_form, sessions::passkeys::remove;
        form "/settings/deactivate": own_form(Core, Accounts, KeptAway, Short, None) =>
            accounts::deactivating::deactivate_form, accounts::deactivating::deactivate;
        get "/settings/deactivated": own(Core, Everyone, Small, KeptAway, None) =>
            accounts::deactivating::deactivated;
    }
}

/// Logging in and out, and signing up.
fn session_pages() -> Declarations {
    routes! {
        form "/login": own_form(Core, Everyone, KeptAway, Short, None).hashing() =>
            sessions::login::login_form, sessions::login::log_in;
        form "/login/code": own_form(Core, Everyone, KeptAway, Short, None) =>
            sessions::second_step::start_again, sessions::second_step::finish;
        form "/login/passkey": own_form(Core, Everyone, KeptAway, Short, None) =>
            sessions::second_step::passkey_form, sessions::second_step::log_in_with_passkey;
        form "/login/link/{token}": own_form(Core, Everyone, KeptAway, Short, None) =>
            sessions::login_link::form, sessions::login_link::log_in;
        get "/oidc/login": own(Core, Everyone, Small, KeptAway, None) => sessions::single_sign_on::begin;
        get "/oidc/callback": own(Core, Everyone, Small, KeptAway, None) => sessions::single_sign_on::come_back;
        post "/oidc/connect": target(Core, Accounts, Long, None) => sessions::connection::connect;
        post "/oidc/disconnect": target(Core, Accounts, Short, None) => sessions::connection::disconnect;
        post "/oidc/logout": target(Core, Everyone, Long, None).sent_from(Anyone) =>
            sessions::single_sign_on::end_sessions;
        get "/settings/sign-in": own(Core, Accounts, Small, KeptAway, None) => sessions::connection::page;
        post "/login/passkey/options": target(Core, Everyone, Short, None) => sessions::second_step::passkey_options;
        form "/register": own_form(Core, Everyone, KeptAway, Long, None).hashing() =>
            accounts::register::form, accounts::register::register;
        form "/welcome": own_form(Core, Everyone, KeptAway, Short, None) =>
            guide::welcome::welcome, accounts::first_administrator::confirm;
        form "/logout": own_form(Core, Accounts, KeptAway, Short, None) =>
            sessions::login::logout_form, sessions::login::log_out;
        form "/reset-password": own_form(Core, Everyone, KeptAway, Short, None) =>
            accounts::password_reset::request_form, accounts::password_reset::request;
        form "/reset-password/{token}": own_form(Core, Everyone, KeptAway, Short, None).hashing() =>
            accounts::password_reset::new_password_form, accounts::password_reset::set_password;
    }
}

/// The pages of moderators and administrators, and the targets of their forms.
fn staff_pages() -> Declarations {
    routes! {
        form "/moderate": own_form(Core, Readers, Welcome, Long, None).once() =>
            moderation::review::page, moderation::acting::moderate;
        form "/people": own_form(Core, Readers, Welcome, Long, None).once() =>
            moderation::directory_page::page, moderation::directory_page::change;
        get "/moderate/person/{name}": own(Core, Readers, Small, Welcome, None) => moderation::person_page::page;
        get "/moderate/figures": own(Core, Readers, Small, Welcome, None) => moderation::figures::page;
        get "/moderate/menu/{kind}/{id}": own(Core, Readers, Small, Welcome, None) => moderation::menu::page;
        get "/moderate/erase/{kind}/{id}": own(Core, Readers, Small, Welcome, None) => moderation::erasing::page;
        get "/moderate/reasons": own(Core, Readers, Small, Welcome, None) => moderation::reasons::page;
        post "/moderate/votes": target(Core, Readers, Short, None).once() => moderation::review::look_for_rings;
        form "/moderate/rules": own_form(Core, Readers, Welcome, Long, None).once() =>
            moderation::rules::page, moderation::rules::change;
        form "/moderate/bans": own_form(Core, Readers, Welcome, Long, None).once() =>
            moderation::bans::page, moderation::bans::change;
        get "/admin": own(Core, Readers, Small, KeptAway, None) => administration::admin::admin;
        post "/admin/recompute": target(Core, Readers, Short, None).once() => administration::admin::recompute;
        get "/admin/changes": own(Core, Readers, Small, KeptAway, None) => administration::changes::page;
        get "/admin/hooks": own(Core, Readers, Small, KeptAway, None) => administration::hooks::page;
        form "/admin/site": own_form(Core, Readers, KeptAway, Long, None) =>
            administration::identity::page, administration::identity::change;
        post "/admin/site/logo": target(Core, Readers, Long, None) => administration::identity::change_logo;
        post "/admin/site/removelogo": target(Core, Readers, Short, None) => administration::identity::remove_logo;
        get "/admin/sites": own(Sites, Readers, Small, KeptAway, None) => sites::voters::page;
    }
}

/// The calls that are answered the same to all without a session.
fn public_calls() -> Declarations {
    use timelines::calls::people_of;
    let followers = async |name, visit, query| people_of(Side::Followers, name, visit, query).await;
    let followings = async |name, visit, query| people_of(Side::Followings, name, visit, query).await;
    routes! {
        get "/api/getnews/{sort}/{start}/{count}": public_call(Core, Small, NEWS, &[]).listing(Stories) =>
            stories::calls::list;
        get "/api/past/{day}/{start}/{count}": public_call(Core, Large, NEWS, &[]).listing(Stories) =>
            stories::calls::past;
        get "/api/articles/{order}/{page}": public_call(Core, Small, TOPICS, &[]).listing(Stories) =>
            topics::calls::all;
        get "/api/topic/{name}/{order}/{page}": public_call(Core, Large, TOPICS, &[]).listing(Stories) =>
            topics::calls::of_topics;
        get "/api/topics": public_call(Core, Small, TOPICS, &[]) => topics::calls::topics;
        get "/api/getcomments/{news_id}": public_call(Core, Large, COMMENTS, &["after", "count", "sort"]) =>
            comments::calls::thread;
        get "/api/timeline/everyone": public_call(Timelines, Small, TIMELINES, OF_WINDOWS).listing(Posts) =>
            timelines::calls::everyone;
        get "/api/timeline/user/{name}": public_call(Timelines, Small, TIMELINES, OF_WINDOWS).listing(Posts) =>
            timelines::calls::of_user;
        get "/api/followers/{name}": public_call(Timelines, Small, TIMELINES, OF_WINDOWS).listing(People) =>
            followers;
        get "/api/followings/{name}": public_call(Timelines, Small, TIMELINES, OF_WINDOWS).listing(People) =>
            followings;
        get "/api/openapi.json": public_call(Core, Large, ABOUT, &[]) => openapi::document;
        get "/api/moderations": public_call(Core, Small, MODERATION, OF_LOG) => moderation::log::call;
        get "/api/sites/history/{host}": public_call(Sites, Small, SITES, &["days"]) => sites::calls::history;
        get "/api/sites/leaderboard/{list}/{span}": public_call(Sites, Small, SITES, &[]) =>
            sites::calls::leaderboard;
        get "/api/sites/prefix/{hex}": public_call(Sites, Small, SITES, &[]) => sites::calls::prefix;
    }
}

/// The calls that write or read personal data. `docs/api.md` describes all calls.
fn calls() -> Declarations {
    routes! {
        post "/api/create_account": posted(Core, Everyone, Long, ACCOUNTS).hashing().for_anyone() =>
            accounts::register::create_account;
        get "/api/login": call(Core, Everyone, Small, ACCOUNTS).hashing().written_by_get().for_anyone() =>
            sessions::login::log_in_by_call;
        post "/api/login": posted(Core, Everyone, Short, ACCOUNTS).hashing().for_anyone() =>
            sessions::login::log_in_by_call;
        post "/api/logout": posted(Core, Accounts, Short, ACCOUNTS).not_answered_again() =>
            sessions::login::log_out_by_call;
        get "/api/sessions": call(Core, Accounts, Small, ACCOUNTS) => sessions::open_sessions::list;
        post "/api/endsession": posted(Core, Accounts, Short, ACCOUNTS) => sessions::open_sessions::end_by_call;
        get "/api/export": call(Core, Readers, Large, ACCOUNTS) => export::export;
        post "/api/totp/begin": posted(Core, Readers, Short, ACCOUNTS) => sessions::second_factors::begin_app_by_call;
        post "/api/totp/confirm": posted(Core, Readers, Short, ACCOUNTS).not_answered_again() =>
            sessions::second_factors::confirm_app_by_call;
        post "/api/totp/end": posted(Core, Readers, Short, ACCOUNTS) => sessions::second_factors::remove_app_by_call;
        get "/api/reset-password": call(Core, Everyone, Small, ACCOUNTS).written_by_get().for_anyone() =>
            accounts::password_reset::request_by_call;
        post "/api/reset-password": posted(Core, Everyone, Short, ACCOUNTS).for_anyone() =>
            accounts::password_reset::request_by_call;
        post "/api/updateprofile": posted(Core, Accounts, Long, ACCOUNTS) => accounts::settings::update_profile;
        post "/api/submit": posted(Core, Readers, Long, NEWS) => stories::calls::submit;
        post "/api/fetchtitle": posted(Core, Readers, Long, NEWS).not_answered_again() =>
            stories::calls::fetch_title;
        get "/api/duplicate": call(Core, Readers, Small, NEWS).for_anyone() => stories::calls::duplicate;
        post "/api/delnews": posted(Core, Readers, Short, NEWS) => stories::calls::delete;
        get "/api/votes": call(Core, Readers, Small, NEWS) => stories::calls::votes;
        get "/api/search": call(Search, Readers, Small, SEARCH).for_programs().for_anyone() => search::calls::search;
        get "/api/search/suggest": call(Search, Readers, Small, SEARCH).for_programs().for_anyone() =>
            search::calls::suggest;
        get "/api/search/similar": call(Search, Readers, Small, SEARCH).for_programs().for_anyone() =>
            search::calls::similar;
        get "/api/mutes": call(Core, Readers, Small, MUTING) => mutes::list;
        post "/api/postcomment": posted(Core, Readers, Long, COMMENTS) => comments::calls::post;
        post "/api/preview": posted(Core, Readers, Long, COMMENTS).for_anyone() => comments::calls::preview;
        post "/api/deltweet": posted(Timelines, Readers, Short, TIMELINES) => timelines::calls::delete;
        get "/api/timeline/home": call(Timelines, Readers, Small, TIMELINES).listing(Posts) => timelines::calls::home;
        get "/api/inbox": call(Core, Readers, Large, INBOX) => inbox::page::list;
        get "/api/moderate/queue": call(Core, Readers, Small, ABOUT) => moderation::review::list;
        post "/api/moderate": posted(Core, Readers, Long, MODERATION) => moderation::acting::call;
        post "/api/moderate/rule": posted(Core, Readers, Long, MODERATION) => moderation::rules::add;
        get "/api/moderate/people": call(Core, Readers, Small, MODERATION) => moderation::directory::list;
        post "/api/moderate/people": posted(Core, Readers, Long, MODERATION) => moderation::directory::change;
        get "/api/moderate/bans": call(Core, Readers, Small, MODERATION) => moderation::bans::list;
        post "/api/moderate/bans": posted(Core, Readers, Long, MODERATION) => moderation::bans::add;
        get "/api/moderate/reasons": call(Core, Readers, Small, MODERATION) => moderation::reasons::list;
        get "/api/moderate/network/{username}": call(Core, Readers, Small, MODERATION) =>
            moderation::person_tools::network;
        get "/api/admin/announcement": call(Core, Readers, Small, ADMINISTRATION) =>
            administration::announcement::current;
        get "/api/admin/hooks": call(Core, Readers, Small, ADMINISTRATION) => administration::hooks::list;
        post "/api/appeal": posted(Core, Everyone, Long, MODERATION).for_anyone() => moderation::appeals::call;
        get "/api/messages": call(Core, Readers, Small, MODERATION) => moderation::message_calls::list;
        post "/api/messages": posted(Core, Readers, Long, MODERATION).hashing().for_anyone() =>
            moderation::message_calls::write;
        post "/api/sites/own": posted(Sites, Readers, Long, SITES).sent_from(Voters).read_by_post().for_anyone() =>
            sites::calls::own;
        get "/api/sites/admin/voter/{uuid}": call(Sites, Readers, Small, SITES) => sites::calls::voter;
        get "/api/sites/admin/voter/{uuid}/votes": call(Sites, Readers, Small, SITES) => sites::calls::voter_votes;
        get "/api/sites/admin/top_voters/{date}": call(Sites, Readers, Small, SITES) => sites::calls::top_voters;
    }
}

/// The calls of the API of Hacker News.
fn calls_of_hacker_news() -> Declarations {
    use crate::route::hacker_news;
    use hacker_news::requests::{PARAMETERS, file, highest_number, item, user};
    routes! {
        get "/v0/item/{item}": hacker_news(Small, PARAMETERS) => item;
        get "/v0/user/{person}": hacker_news(Large, PARAMETERS) => user;
        get "/v0/maxitem.json": hacker_news(Small, PARAMETERS) => highest_number;
        get "/v0/{resource}": hacker_news(Large, PARAMETERS) => file;
    }
}

/// The calls of the search of Hacker News, and of browser extensions.
fn calls_of_others() -> Declarations {
    routes! {
        get "/api/v1/items/{number}": algolia(Core, Visitors(&[])) => algolia::calls::item;
        get "/api/v1/users/{name}": algolia(Core, Visitors(&[])) => algolia::calls::user;
        get "/api/v1/search": algolia(Search, Each) => algolia::calls::search;
        get "/api/v1/search_by_date": algolia(Search, Each) => algolia::calls::search_by_date;
        get "/scores": extension(Documented, Anyone, Visitors(&["for"])) => sites::reputation::scores;
        post "/vote": extension(Documented, Voters, Each) => sites::reputation::vote;
        get "/v1/scores": extension(Deployed, Anyone, Visitors(&["from"])) =>
            sites::reputation::deployed_scores;
        post "/v1/vote": extension(Deployed, Voters, Each) => sites::reputation::deployed_vote;
    }
}

/// The actions, with the chapters of the API that their calls are in.
pub fn actions() -> impl Iterator<Item = (&'static str, ActionEntry)> {
    let nouns = [
        (ACCOUNTS, accounts::invitations::actions()),
        (NEWS, stories::marks::actions()),
        (NEWS, stories::votes::actions_on_news()),
        (TOPICS, topics::list::actions()),
        (COMMENTS, stories::votes::actions_on_comments()),
        (TIMELINES, timelines::home::actions()),
        (TIMELINES, timelines::people::actions()),
        (MUTING, mutes::actions()),
        (INBOX, inbox::page::actions()),
        (ABOUT, moderation::flagging::actions()),
        (MODERATION, moderation::acting::actions()),
        (MODERATION, moderation::rules::actions()),
        (MODERATION, moderation::bans::actions()),
        (MODERATION, moderation::reasons::actions()),
        (ADMINISTRATION, administration::announcement::actions()),
        (ADMINISTRATION, administration::hooks::actions()),
        (SITES, sites::pages::actions()),
        (SITES, sites::voters::actions()),
    ];
    nouns.into_iter().flat_map(|(tag, actions)| actions.into_iter().map(move |action| (tag, action)))
}

/// The targets of the forms of the actions, and their calls.
fn declared_actions() -> Declarations {
    actions().fold(Declarations(Vec::new()), |declared, (tag, action)| {
        let ActionEntry { path, facts, page, call_path, call, .. } = action;
        declared.with(&[path], true, facts, page).with(&[&call_path], true, facts.of_call(tag), call)
    })
}

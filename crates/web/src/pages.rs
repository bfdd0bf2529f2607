//! The pages, one file per topic. A page is a struct of plain values with a function that
//! renders it, next to the handlers that fill it.

pub mod charts;
pub mod comment_item;
pub mod fields;
pub mod fragments;
pub mod head;
pub mod layout;
pub mod marks;
pub mod moderating;
pub mod parts;
pub mod vote_buttons;

pub mod about;
pub mod admin;
pub mod admin_site;
pub mod admin_sites;
pub mod appeals;
pub mod articles;
pub mod comments;
pub mod confirm_email;
pub mod first_administrator;
pub mod flagging;
pub mod formatting;
pub mod front;
pub mod home;
pub mod inbox;
pub mod invitations;
pub mod moderations;
pub mod mutes;
pub mod news_forms;
pub mod open_sessions;
pub mod passkeys;
pub mod password_reset;
pub mod past;
pub mod people;
pub mod people_tree;
pub mod person_tools;
pub mod post_tools;
pub mod profile;
pub mod qr_code;
pub mod register;
pub mod review;
pub mod rules;
pub mod second_step;
pub mod sessions;
pub mod settings;
pub mod sites;
pub mod story_tools;
pub mod submission_form;
pub mod thread;
pub mod thread_list;
pub mod topics;
pub mod tweets;
pub mod two_factor;
pub mod unsubscribe;
pub mod votes;
pub mod welcome;
pub mod withheld;

use super::App;
use super::login_reason::LoginReason;
use super::request_id;
use axum::http::StatusCode;
pub use fields::RefusedForm;
use layout::{Frame, bare_page};
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to encode in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of the login page, which then redirects to `back`.
#[must_use]
pub fn login_address(back: &str) -> String {
    format!("/login?next={}", utf8_percent_encode(back, NON_ALPHANUMERIC))
}

/// The address of a profile, `/@<name>`, followed by `rest`. Imported names can contain any
/// character.
#[must_use]
pub fn profile_address(username: &str, rest: &str) -> String {
    format!("/@{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// Another page of a user: `/<family>/<name>`, followed by `rest`.
#[must_use]
pub fn user_address(family: &str, username: &str, rest: &str) -> String {
    format!("/{family}/{}{rest}", utf8_percent_encode(username, SEGMENT))
}

/// The address of the login page that says why, and then redirects to `back`.
#[must_use]
pub fn login_to(reason: Option<LoginReason>, back: &str) -> String {
    let address = login_address(back);
    reason.map_or(address.clone(), |reason| format!("{address}&reason={}", reason.name()))
}

/// The page for a request that failed, with the navigation of its viewer.
#[must_use]
pub fn error_page(frame: &Frame<'_>, status: StatusCode, message: &str) -> Markup {
    let heading = error_heading(status);
    frame.page(heading, &error_content(heading, status, message))
}

/// The page for a request that failed. It needs nothing from the store, which may
/// be unavailable.
#[must_use]
pub fn bare_error_page(app: &App, status: StatusCode, message: &str) -> Markup {
    let heading = error_heading(status);
    bare_page(&app.known_brand(), heading, &error_content(heading, status, message))
}

fn error_heading(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Page not found",
        StatusCode::FORBIDDEN | StatusCode::CONFLICT => "You can't do that",
        StatusCode::TOO_MANY_REQUESTS => "Please wait",
        StatusCode::SERVICE_UNAVAILABLE => "Back in a moment",
        _ if status.is_client_error() => "That didn't work",
        _ => "Something went wrong",
    }
}

fn error_content(heading: &str, status: StatusCode, message: &str) -> Markup {
    html! {
        h1 { (heading) }
        p.trouble role="alert" { (message) }
        p { a.action href="/" { "Go to the front page" } }
        p.hint {
            "Error " (status.as_u16())
            // Whoever is told of it finds the lines in the log.
            @if let Some(id) = request_id::current() { " · Request " code { (id) } }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod test_support {
    use super::layout::Frame;
    use crate::brand::Brand;
    use crate::local_path::LocalPath;
    use crate::settings::{Settings, SiteSettings, TransportSettings};
    use crate::titles::TitleSettings;
    use std::time::Duration;
    use tidings_domain::accounts::users::User;
    use tidings_domain::cache::Caches;
    use tidings_domain::identity::Identity;
    use tidings_domain::news::item::{Direction, News};
    use tidings_domain::news::lines::{NewsLine, NewsSummary};
    use tidings_domain::news::listing::Marks;
    use tidings_domain::sites::Score;
    use tidings_domain::values::clock::Timestamp;
    use tidings_domain::values::ids::NewsId;
    use tidings_domain::values::rules::Rules;
    use tidings_keyspace::Hash;

    /// The time of the tests.
    pub const NOW: Timestamp = Timestamp(1_000_000);

    pub fn settings() -> Settings {
        Settings {
            site: SiteSettings {
                name: "Tidings".to_owned(),
                url: "http://localhost:8080".parse().unwrap(),
                description: "Links and discussion from our community".to_owned(),
            },
            trusted_proxies: Vec::new(),
            gravatars: true,
            digest_hour: 6,
            request_timeout: Duration::from_secs(10),
            titles: TitleSettings::default(),
            transport: TransportSettings::default(),
            keep_figures_every: crate::figures::KEEP_FIGURES_EVERY,
            store_folder: None,
        }
    }

    fn hash(fields: &[(&str, &str)]) -> Hash {
        Hash(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    pub fn user(id: &str, username: &str, flags: &str) -> User {
        let fields = [
            ("id", id),
            ("username", username),
            ("flags", flags),
            ("karma", "7"),
            ("ctime", "900000"),
            ("apisecret", "secret"),
        ];
        User::from_hash(&hash(&fields)).unwrap().acting(&Rules::default(), NOW)
    }

    /// A story by user 1 at [`NOW`].
    pub fn news(title: &str, url: &str, deleted: bool) -> News {
        let mut fields = vec![
            ("id", "5"),
            ("title", title),
            ("url", url),
            ("user_id", "1"),
            ("ctime", "1000000"),
            ("up", "3"),
            ("down", "1"),
            ("comments", "2"),
        ];
        if deleted {
            fields.push(("del", "1"));
        }
        let news = News::from_hash(&hash(&fields)).unwrap();
        assert_eq!(news.id, NewsId(5));
        news
    }

    pub fn line(news: News, my_vote: Option<Direction>) -> NewsLine {
        let summary =
            NewsSummary { news: news.into(), username: Some("alice".into()), site_score: Score::default() };
        NewsLine { summary: summary.into(), my_vote, marks: Marks::default(), new_comments: 0 }
    }

    /// Renders with a frame of default settings at `/latest/0`.
    pub fn framed<T>(viewer: Option<&User>, use_frame: impl FnOnce(&Frame<'_>) -> T) -> T {
        let (settings, rules, caches) = (settings(), Rules::default(), Caches::default());
        let here = LocalPath::parse("/latest/0");
        let brand = Brand::new(&settings.site, &Identity::default()).into();
        use_frame(&Frame::new((&settings, &rules, &caches), brand, (NOW, &here), viewer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encoded() {
        assert_eq!(login_address("/submit?u=a&t=b"), "/login?next=%2Fsubmit%3Fu%3Da%26t%3Db");
        assert_eq!(user_address("usernews", "a_b-c", "/0"), "/usernews/a_b-c/0");
        assert_eq!(user_address("user", "../\"><script>", ""), "/user/..%2F%22%3E%3Cscript%3E");
        assert_eq!(profile_address("a/b@c", "/feed"), "/@a%2Fb%40c/feed");
    }

    #[test]
    fn the_error_page_escapes_its_message() {
        let page = test_support::framed(None, |frame| error_page(frame, StatusCode::NOT_FOUND, "<script>"));
        let page = page.into_string();
        assert!(page.contains("&lt;script&gt;") && page.contains(r#"role="alert""#), "{page}");
        assert!(!page.contains("<script>"), "{page}");
    }
}

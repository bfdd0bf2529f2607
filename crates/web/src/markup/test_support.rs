//! Helpers for unit tests of pages.

use super::brand::Brand;
use super::frame::Frame;
use crate::languages::Languages;
use crate::request::LocalPath;
use crate::settings::{SearchSettings, Settings, SiteSettings, TitleSettings, TransportSettings};
use std::time::Duration;
use tidings_domain::accounts::reader::Perspective;
use tidings_domain::cache::Caches;
use tidings_domain::identity::Identity;
use tidings_domain::news::item::Direction;
use tidings_domain::news::lines::{NewsLine, NewsSummary};
use tidings_domain::news::listing::marks;
use tidings_domain::sites::Score;
use tidings_domain::values::{NewsId, Rules, Timestamp};
use tidings_domain::{News, User};
use tidings_keyspace::Hash;

/// The time of the tests.
pub const NOW: Timestamp = Timestamp(1_000_000);

/// Settings of a site.
pub fn settings() -> Settings {
    Settings {
        site: SiteSettings {
            languages: Languages::default(),
            contact: String::new(),
            old_hosts: Vec::new(),
            name: "Tidings".to_owned(),
            url: "http://localhost:8080".parse().unwrap(),
            description: "Links and discussion from our community".to_owned(),
        },
        trusted_proxies: Vec::new(),
        vote_origins: Vec::new(),
        hub: None,
        gravatars: true,
        digest_hour: 6,
        request_timeout: Duration::from_secs(10),
        titles: TitleSettings::default(),
        transport: TransportSettings::default(),
        keep_figures_every: crate::server::figures::KEEP_FIGURES_EVERY,
        store_folder: None,
        search: SearchSettings::default(),
        oidc: None,
    }
}

fn hash(fields: &[(&str, &str)]) -> Hash {
    Hash(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

/// Demands that a page has all of these parts.
#[track_caller]
pub fn assert_has(html: &str, parts: &[&str]) {
    for part in parts {
        assert!(html.contains(part), "{part} in {html}");
    }
}

/// A user with these flags.
pub fn user(id: &str, username: &str, flags: &str) -> User {
    let fields = [
        ("id", id),
        ("username", username),
        ("flags", flags),
        ("karma", "7"),
        ("ctime", "900000"),
        ("apisecret", "secret"),
        ("password", "hash"),
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

/// The line of a story, with the vote of the viewer.
pub fn line(news: News, my_vote: Option<Direction>) -> NewsLine {
    let marks = marks(Perspective::default(), &news);
    let summary =
        NewsSummary { news: news.into(), username: Some("alice".into()), site_score: Score::default() };
    NewsLine { summary: summary.into(), my_vote, marks, new_comments: 0 }
}

/// Renders with a frame of default settings at `/latest/0`.
pub fn framed<T>(viewer: Option<&User>, use_frame: impl FnOnce(&Frame<'_>) -> T) -> T {
    framed_with(&Rules::default(), viewer, use_frame)
}

/// The same with these rules.
pub fn framed_with<T>(rules: &Rules, viewer: Option<&User>, use_frame: impl FnOnce(&Frame<'_>) -> T) -> T {
    let (settings, caches) = (settings(), Caches::default());
    let here = LocalPath::parse("/latest/0");
    let brand = Brand::new(&settings.site, &Default::default(), &Identity::default()).into();
    use_frame(&Frame::new((&settings, rules, &caches), brand, (NOW, &here), viewer))
}

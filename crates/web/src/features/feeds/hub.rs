//! Tells the hub of the feeds (WebSub) which of them have changed.
//!
//! No request waits for it: what has changed is in the store ([`tidings_domain::changes`]), and a worker reads it
//! there. Changes within a second are told together. The hub is a setting, so its address may be a private one, and
//! only its status is read.

use crate::App;
use crate::limits::HUB_TIMEOUT;
use crate::markup::FeedKind;
use crate::markup::feed_links::Written;
use crate::server::outgoing::{self, OutgoingError};
use crate::site_lists::SiteList;
use axum::http::{StatusCode, header};
use std::collections::BTreeSet;
use std::time::Duration;
use strum::IntoEnumIterator;
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::changes::{FeedPlace, Findable};
use tidings_domain::found::{self, Finding};
use tidings_domain::hub::{self, FeedChanges, HubState, WaitingFeed};
use tidings_domain::items::Item;
use tidings_domain::queue::Fate;
use tidings_domain::values::TopicChoice;
use tidings_domain::{Error, numbered};
use tokio::time::timeout;
use url::{Url, form_urlencoded};

/// With more changes than this that are not told, only the feeds of the whole site are.
const MOST_CHANGES_BEHIND: u64 = 5_000;

/// The hub was not told.
#[derive(Debug, thiserror::Error)]
enum HubError {
    #[error(transparent)]
    Outgoing(#[from] OutgoingError),
    #[error("the status is {0}")]
    Status(StatusCode),
}

impl HubError {
    /// Whether the hub does not want to know of a feed, whenever it is asked.
    fn is_final(&self) -> bool {
        let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
        matches!(self, Self::Status(status) if status.is_client_error() && !passing.contains(status))
    }
}

/// How far the hub has been told, and what visitors see on the front page. Rounds: 1, and 2 for stories that are not
/// cached.
async fn state_of(app: &App) -> Result<HubState, Error> {
    let mut state = hub::state(&app.site.store.counted_apart()).await?;
    let found = found::read(&mut app.visitor(), state.front()).await?;
    state.keep_seen(|story| found.contains_key(story));
    Ok(state)
}

/// Notes what has changed, and tells the hub if that is due. Rounds: none without a hub; else those of `state_of`, at
/// most 10 more with changes, and 5 with feeds that are due.
pub async fn look(app: &App) -> Result<(), Error> {
    let Some(hub) = app.hub() else { return Ok(()) };
    let mut state = state_of(app).await?;
    let Some(place) = state.place else {
        // Changes from before the site had a hub are not new.
        return hub::note(&app.site, &state, &FeedChanges::default(), state.last).await;
    };
    if place < state.last || state.has_other_front() {
        note_changes(app, &state, place).await?;
        state = state_of(app).await?;
    }
    tell(app, hub, &state).await
}

/// Notes in which feeds the next changes are.
async fn note_changes(app: &App, state: &HubState, place: FeedPlace) -> Result<(), Error> {
    let is_far_behind = state.last.0.saturating_sub(place.0) > MOST_CHANGES_BEHIND;
    if is_far_behind || state.is_full() {
        let newest = FeedKind::Articles(None, ArticleOrder::Time);
        let lists = SiteList::iter().map(FeedKind::Stories).filter(FeedKind::is_announced);
        let kinds: Vec<FeedKind> = lists.chain([newest, FeedKind::Comments]).collect();
        let changes = FeedChanges { feeds: addresses(&kinds), ..FeedChanges::default() };
        return hub::note(&app.site, state, &changes, state.last).await;
    }
    let changed = hub::changed(&app.site.store.counted_apart(), place).await?;
    let up_to = changed.last().map_or(state.last, |(_, place)| *place);
    let things: Vec<Findable> = changed.into_iter().map(|(thing, _)| thing).collect();
    let mut visit = app.visitor();
    let found = found::read(&mut visit, &things).await?;
    let mut kinds = if state.has_other_front() { vec![FeedKind::Stories(SiteList::Top)] } else { Vec::new() };
    let (seen, mut lost): (Vec<Findable>, Vec<Findable>) =
        things.into_iter().partition(|thing| found.contains_key(thing));
    // A change of something that visitors never saw, or do not see any more, changes nothing for them.
    let secret = numbered::secret(&mut visit, &lost.iter().filter_map(item_of).collect::<Vec<_>>()).await?;
    let before = hub::lost_before(&app.site.store.counted_apart(), &lost).await?;
    let is_secret = |thing: &Findable| item_of(thing).is_some_and(|item| secret.contains(&item));
    let has_feeds = |thing: &Findable| !matches!(thing, Findable::Person(_) | Findable::Site(_));
    lost.retain(|thing| has_feeds(thing) && !before.contains(thing) && !is_secret(thing));
    for thing in seen.iter().chain(&lost) {
        kinds.extend(feeds_with(thing, found.get(thing)));
    }
    hub::note(&app.site, state, &FeedChanges { feeds: addresses(&kinds), seen, lost }, up_to).await
}

/// The story or the comment that something is.
const fn item_of(thing: &Findable) -> Option<Item> {
    match thing {
        Findable::Story(id) => Some(Item::Story(*id)),
        Findable::Comment(address) => Some(Item::Comment(*address)),
        Findable::Tweet(_) | Findable::Person(_) | Findable::Site(_) => None,
    }
}

/// The feeds that have something, as a visitor finds it now. Feeds have lost what is not found.
fn feeds_with(thing: &Findable, found: Option<&Finding>) -> Vec<FeedKind> {
    let person = |written, name: Option<&str>| name.map(|name| FeedKind::Person(written, name.to_owned()));
    match (thing, found) {
        (Findable::Story(_), Some(Finding::Story(line))) => {
            let in_topics = line.news.topics.iter().map(|topic| TopicChoice::from(topic.clone())).map(Some);
            let lists = in_topics.chain([None]).map(|topics| FeedKind::Articles(topics, ArticleOrder::Time));
            let author = line.username.as_deref();
            let of_author =
                [person(Written::All, author), person(Written::Stories, author)].into_iter().flatten();
            let site = line.news.site().map(|host| FeedKind::Site(host.clone()));
            lists.chain(FeedKind::of_stored_lists()).chain(of_author).chain(site).collect()
        }
        (Findable::Story(_), _) => {
            FeedKind::of_stored_lists().chain([FeedKind::Articles(None, ArticleOrder::Time)]).collect()
        }
        (Findable::Comment(address), found) => {
            let author = match found {
                Some(Finding::Comment(comment)) => comment.line().username,
                _ => None,
            };
            let of_author = [person(Written::All, author), person(Written::Comments, author)];
            let story = FeedKind::Story(address.news, String::new());
            [FeedKind::Comments, story].into_iter().chain(of_author.into_iter().flatten()).collect()
        }
        (Findable::Tweet(_), Some(Finding::Tweet(line))) => {
            let author = line.username.as_deref();
            [person(Written::All, author), person(Written::Posts, author)].into_iter().flatten().collect()
        }
        (Findable::Tweet(_) | Findable::Person(_) | Findable::Site(_), _) => Vec::new(),
    }
}

/// The addresses of feeds in all their formats.
fn addresses(kinds: &[FeedKind]) -> BTreeSet<String> {
    let of_kind = |kind: &FeedKind| -> Vec<String> {
        kind.formats().iter().map(|format| kind.address(*format)).collect()
    };
    kinds.iter().flat_map(of_kind).collect()
}

/// Tells the hub of some feeds, if it is this server's turn.
async fn tell(app: &App, hub: &Url, state: &HubState) -> Result<(), Error> {
    let Some((turn, feeds)) = hub::begin(&app.site, app.now(), state).await? else { return Ok(()) };
    let mut last = Ok(None);
    for feed in &feeds {
        if !turn.goes_on(&last) {
            break;
        }
        last = tell_of(app, hub, state, feed).await;
    }
    turn.end(&app.site, app.moment(), last).await
}

/// Tells the hub of a feed. Returns how long the hub is to rest then.
async fn tell_of(
    app: &App,
    hub: &Url,
    state: &HubState,
    feed: &WaitingFeed,
) -> Result<Option<Duration>, Error> {
    let told = post(hub, &app.settings.site.url, &app.settings.site.link(&feed.address)).await;
    let is_over = match &told {
        Ok(()) => true,
        Err(error) if error.is_final() => {
            tracing::warn!(feed = feed.address, %error, "the hub was not told of a feed, and is not again");
            true
        }
        Err(error) => {
            tracing::warn!(%error, "the hub was not told of changed feeds");
            false
        }
    };
    Ok(match hub::finish(&app.site, app.now(), state, (feed, is_over)).await? {
        Fate::Over => None,
        Fate::After(seconds) => {
            tracing::warn!(seconds, "the hub will be told again");
            Some(Duration::from_secs(seconds))
        }
        Fate::GivenUp => {
            tracing::error!("the hub has failed for a day, and is not told of the changes");
            Some(Duration::ZERO)
        }
    })
}

/// Tells the hub that the feed at an address has changed. `home` is the address of this site, which the hub is told.
async fn post(hub: &Url, home: &Url, feed: &str) -> Result<(), HubError> {
    // Hubs know a feed by one of the two names.
    let fields = [("hub.mode", "publish"), ("hub.url", feed), ("hub.topic", feed)];
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let headers = vec![(header::CONTENT_TYPE, "application/x-www-form-urlencoded".to_owned())];
    let telling = async {
        let endpoints = outgoing::look_up_unchecked(hub).await?;
        outgoing::post((&endpoints, hub, None), home, headers, body.into_bytes()).await
    };
    let status = timeout(HUB_TIMEOUT, telling).await.unwrap_or(Err(OutgoingError::TimedOut))?;
    if status.is_success() { Ok(()) } else { Err(HubError::Status(status)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{line, news};
    use tidings_domain::accounts::seen::{Seen, ShownIn};
    use tidings_domain::values::{CommentAddress, NewsId};

    #[test]
    fn a_story_is_in_the_feeds_of_its_site_author_and_lists() {
        let line = line(news("t", "http://www.a.com/x", false), None);
        let found = Finding::Story(Seen::by_visitors(line, ShownIn::List).unwrap());
        let feeds = addresses(&feeds_with(&Findable::Story(NewsId(5)), Some(&found)));
        let expected =
            "/atom /json /rss /best/new/json /user/alice/atom /user/alice/stories/atom /site/a.com/json";
        for feed in expected.split(' ') {
            assert!(feeds.contains(feed), "{feed} in {feeds:?}");
        }
        assert!(!feeds.contains("/comments/atom"), "{feeds:?}");
        let gone = CommentAddress { news: NewsId(5), comment: 7.try_into().unwrap() };
        let feeds = addresses(&feeds_with(&Findable::Comment(gone), None));
        assert_eq!(
            feeds.iter().collect::<Vec<_>>(),
            ["/comments/atom", "/comments/json", "/news/5/atom", "/news/5/json"]
        );
    }

    #[test]
    fn only_feeds_whose_changes_are_told_name_the_hub() {
        let topics = |text: &str| FeedKind::Articles(Some(text.parse().unwrap()), ArticleOrder::Time);
        for (kind, is_told) in [
            (FeedKind::LATEST, true),
            (topics("rust"), true),
            (topics("go+rust"), false),
            (FeedKind::Articles(None, ArticleOrder::Score), false),
            (FeedKind::Stories(SiteList::Top), true),
            (FeedKind::Stories(SiteList::TopDay), false),
            (FeedKind::Log, false),
            (FeedKind::Search { heading: "a".to_owned(), query: "?q=a".to_owned() }, false),
        ] {
            assert_eq!(kind.is_announced(), is_told, "{kind:?}");
        }
    }
}

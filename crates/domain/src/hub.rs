//! Feeds whose change a hub has not been told of yet (WebSub).
//!
//! Keys: `hub:feeds` (the feeds that wait, each with the place of its last change in the feed of changes), `hub:lost`
//! (the things that feeds have lost: what changes of those changes no feed) and `hub:state`. A server looks at [`changes`] once a second, notes which feeds they are in, and tells the hub. The
//! batch that notes feeds also moves the place up to which changes are noted, so of several servers one notes each
//! change, and none is lost when a server is killed. Requests have no part in it.
//!
//! There is one hub. So if it does not answer, all feeds wait, and the hub rests until the next attempt ([`crate::queue`]).
//! After a day, they no longer wait.

use crate::changes::{self, FeedPlace, Findable};
use crate::queue::{Fate, Lease, SendingTurn};
use crate::values::{
    HUB_CHANGES_AT_ONCE, HUB_FEEDS_AT_ONCE, MOST_HUB_FEEDS, MOST_HUB_LOST, Moment, Timestamp,
};
use crate::{Result, Site, keys};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashSet};
use tidings_keyspace::{Batch, Hash, Order, Store, read};

/// The field with the place up to which changes are noted.
const PLACE: &str = "place";
/// The field with the time since when the hub has failed; absent if it has not.
const FAILING: &str = "failing";
/// The field with a hash of the stories on the front page, up to which its changes are noted.
const FRONT: &str = "front";
/// The fields of the state.
pub(crate) const FIELDS: [&str; 3] = [PLACE, FAILING, FRONT];

/// The name of the hub in leases.
const HUB: &str = "hub";
/// The stories of the feed of the front page.
const FRONT_STORIES: u64 = 30;
/// How far the hub has been told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubState {
    /// The place up to which changes are noted; `None` on a site that never had a hub.
    pub place: Option<FeedPlace>,
    /// The place of the last change.
    pub last: FeedPlace,
    /// How many feeds wait.
    pub waiting: u64,
    failing: Option<Timestamp>,
    lane: Lease,
    /// The first stories of the front page.
    front: Vec<Findable>,
    stored_front: Option<String>,
}

impl HubState {
    /// Whether no more feeds are noted but those of the whole site, because very many wait.
    pub const fn is_full(&self) -> bool {
        self.waiting >= MOST_HUB_FEEDS
    }

    /// The first stories of the front page.
    pub fn front(&self) -> &[Findable] {
        &self.front
    }

    /// Leaves out of these what visitors do not see.
    pub fn keep_seen(&mut self, is_seen: impl Fn(&Findable) -> bool) {
        self.front.retain(is_seen);
    }

    /// Whether other stories are on the front page than were noted. Their order does not count.
    pub fn has_other_front(&self) -> bool {
        self.stored_front.as_ref() != Some(&self.front_hash())
    }

    /// A number that stands for these stories.
    fn front_hash(&self) -> String {
        let mut hash = Sha256::new();
        let stories: BTreeSet<String> = self.front.iter().map(ToString::to_string).collect();
        stories.iter().for_each(|story| hash.update(format!("{story} ")));
        let [a, b, c, d, e, f, ..] = <[u8; 32]>::from(hash.finalize());
        u64::from_be_bytes([0, 0, a, b, c, d, e, f]).to_string()
    }
}

/// A feed that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFeed {
    /// Its address on the site.
    pub address: String,
    place: String,
}

/// Reads how far the hub has been told. Rounds: 1.
pub async fn state(store: &Store) -> Result<HubState> {
    let waiting = read::field_count(keys::HUB_FEEDS);
    let front = read::sorted_range(keys::NEWS_TOP, Order::Descending, 0, FRONT_STORIES);
    let reads = (read::hash(keys::HUB_STATE), changes::last(), waiting, front, Lease::of(HUB));
    let (state, last, waiting, front, lane) = store.fetch(reads).await?;
    let number = |field: &str| state.get(field).and_then(|text| text.parse::<u64>().ok());
    Ok(HubState {
        place: number(PLACE).map(FeedPlace),
        last,
        failing: number(FAILING).map(Timestamp),
        waiting,
        lane,
        front: front.iter().filter_map(|(story, _)| Some(Findable::Story(story.parse().ok()?))).collect(),
        stored_front: state.get(FRONT).map(str::to_owned),
    })
}

/// The next changes that are not noted, at most 200. Rounds: 1.
pub async fn changed(store: &Store, after: FeedPlace) -> Result<Vec<(Findable, FeedPlace)>> {
    Ok(store.fetch(changes::after(after, HUB_CHANGES_AT_ONCE)).await?)
}

/// Those of some things that feeds have lost before. Rounds: 1.
pub async fn lost_before(store: &Store, things: &[Findable]) -> Result<HashSet<Findable>> {
    let known = store.fetch(read::scores(keys::HUB_LOST, things.iter().map(ToString::to_string))).await?;
    let lost = things.iter().zip(known).filter(|(_, place)| place.is_some());
    Ok(lost.map(|(thing, _)| thing.clone()).collect())
}

/// The effect of changes on feeds.
#[derive(Debug, Default)]
pub struct FeedChanges {
    /// The addresses of the feeds that have changed.
    pub feeds: BTreeSet<String>,
    /// Things that feeds have now.
    pub seen: Vec<Findable>,
    /// Things that feeds have lost.
    pub lost: Vec<Findable>,
}

/// Notes how feeds have changed up to a place, and the stories on the front page. Does nothing if another server has
/// noted changes meanwhile. Rounds: 1.
pub async fn note(
    site: &Site,
    state: &HubState,
    FeedChanges { feeds, seen, lost }: &FeedChanges,
    up_to: FeedPlace,
) -> Result<()> {
    let mut batch = Batch::new();
    let known = state.place.map(|place| place.0.to_string());
    batch.field_unchanged(keys::HUB_STATE, PLACE, known.as_deref());
    batch.field_unchanged(keys::HUB_STATE, FRONT, state.stored_front.as_deref());
    batch.set_fields(keys::HUB_STATE, [(PLACE, up_to.0.to_string()), (FRONT, state.front_hash())]);
    if !feeds.is_empty() {
        let place = up_to.0.to_string();
        batch.set_fields(keys::HUB_FEEDS, feeds.iter().map(|feed| (feed.clone(), place.clone())));
    }
    seen.iter().for_each(|thing| batch.sorted_remove(keys::HUB_LOST, thing.to_string()));
    lost.iter().for_each(|thing| batch.sorted_append(keys::HUB_LOST, thing.to_string()));
    batch.sorted_trim(keys::HUB_LOST, MOST_HUB_LOST);
    site.apply(batch).await.map(drop)
}

/// The turn of this server to tell the hub of some of the feeds that wait. `None` if none do, the hub rests, or another
/// server tells it. Rounds: 2.
pub async fn begin(
    site: &Site,
    now: Timestamp,
    state: &HubState,
) -> Result<Option<(SendingTurn, Vec<WaitingFeed>)>> {
    if state.waiting == 0 {
        return Ok(None);
    }
    let Some(turn) = state.lane.take(site, Moment::from_timestamp(now), Batch::new()).await? else {
        return Ok(None);
    };
    let Hash(feeds) = site.store.fetch(read::hash(keys::HUB_FEEDS)).await?;
    let feeds = feeds.into_iter().take(HUB_FEEDS_AT_ONCE);
    Ok(Some((turn, feeds.map(|(address, place)| WaitingFeed { address, place }).collect())))
}

/// Ends an attempt: a feed that the hub knows no longer waits, unless it has changed meanwhile. Rounds: 1.
pub async fn finish(
    site: &Site,
    now: Timestamp,
    state: &HubState,
    (feed, is_told): (&WaitingFeed, bool),
) -> Result<Fate> {
    let since = state.failing.unwrap_or(now);
    let fate = if is_told { Fate::Over } else { Fate::after_failure(now, since) };
    let mut batch = Batch::new();
    match fate {
        Fate::After(_) => batch.set_field(keys::HUB_STATE, FAILING, since.to_string()),
        Fate::Over => {
            batch.field_equals(keys::HUB_FEEDS, &feed.address, &feed.place);
            batch.delete_field(keys::HUB_FEEDS, &feed.address);
            batch.delete_field(keys::HUB_STATE, FAILING);
        }
        Fate::GivenUp => {
            batch.delete(keys::HUB_FEEDS);
            batch.delete_field(keys::HUB_STATE, FAILING);
        }
    }
    site.apply(batch).await?;
    Ok(fate)
}

//! The version of the store's layout, and how an older store gets the present one.
//!
//! `layout:version` says which version a store has. A store without it is one of Lamer News, or
//! of a time before there were versions: version 0. Each migration leads from one version to
//! the next. It may be interrupted and run again, also on two servers at the same time.

mod moved_homes;
mod never_shown;
mod relisting;
mod removed_by;
pub mod unfinished;
mod unseen;
mod withdrawn;

use crate::accounts::users::DEACTIVATED;
use crate::accounts::{confirmation, karma, names};
use crate::items::{self, Item};
use crate::key_walk::{KeyWalk, first_parts};
use crate::keys::families::{self, Family};
use crate::news::by_votes;
use crate::news::discounted::DiscountedVotes;
use crate::report::Advance;
use crate::site::apply;
use crate::values::{MAX_SAVED, NewsId, Timestamp, UserId};
use crate::{Applied, Error, Result, Site, draws, sites};
use crate::{Comment, keys};
use std::pin::Pin;
use tidings_keyspace::{Batch, Expiry, Fetch, Order, Store, read};
use unfinished::Filling;

/// Keys whose names are looked through together.
const KEYS_AT_ONCE: usize = 1_000;
/// Stories that are read together with their threads, each of which may have 2,000 comments.
const STORIES_AT_ONCE: usize = 10;
/// The newest stories that are looked at again when a server starts.
const NEWEST_STORIES: u64 = 200;

/// One step of a migration.
pub type Migrating<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// The step to a version from the one before it.
pub struct Migration {
    /// The version.
    pub to: u64,
    /// A description of the step, for the log: "give ...".
    pub what: &'static str,
    /// A key without which it keeps all keys and fields that programs of the earlier version need, so that they can
    /// still use the store; `None` if it always does.
    pub changes_with: Option<&'static str>,
    /// Does it. It may have been done before, in part or completely.
    pub run: for<'a> fn(&'a Site, Advance<'a>) -> Migrating<'a>,
}

/// Declares migrations: the version, what leads to it with the families of keys that it is to write, if it takes some, the
/// key that decides what it changes, and its description.
macro_rules! migrations {
    ($($to:literal: $run:path $([$($family:ident),+])?, $changes_with:expr, $what:literal;)+) => {
        const VERSIONS: &[u64] = &[$($to),+];

        /// The version of the layout that this program reads and writes.
        pub const LAYOUT_VERSION: u64 = VERSIONS.len() as u64;

        /// All migrations, the oldest first. The last one leads to [`LAYOUT_VERSION`].
        pub static MIGRATIONS: [Migration; VERSIONS.len()] = [$(
            Migration {
                to: $to,
                what: $what,
                changes_with: $changes_with,
                run: |site, advance| Box::pin($run(site, advance $(, [$(&families::$family),+])?)),
            },
        )+];
    };
}

migrations! {
    1: complete_accounts, None,
        "give every account its entry in the index of names, and the counter of articles its number";
    2: names::fold_anew, None,
        "give names their entries in the index of names by their letters and digits alone";
    3: confirm_known_addresses, None,
        "count the e-mail addresses as confirmed that get mails which their owners have switched on, \
        and note when waiting mails were written";
    4: karma::keep_economy, None,
        "note that votes cost karma on a site that has accounts";
    5: number_items, None,
        "give stories and comments their item numbers, in the order of their times";
    6: list_saved, None,
        "give every account the list of what it saved, apart from what it voted up";
    7: unseen::list_all, None,
        "give every account the lists of what it posted and no other list of it has, and of all that it \
        flagged, and add jobs that delete what people who left have left behind";
    8: names::fold_anew, None,
        "give names their entries in the index of names with i, l and 1 as one letter";
    9: never_shown::mark_all, None,
        "mark removed posts that waited for approval before, because nobody has been shown them";
    10: sites::count_all, None,
        "count the votes of people who have voted on a site both with www. and without";
    11: removed_by::move_all, Some(keys::MODERATION_COUNT),
        "put back into inboxes what removed posts took away, and let comments and posts name what removed them";
    12: forget_turns, None,
        "forget what earlier versions noted about who sends mails and messages, and until when nobody does";
    13: moved_homes::end_all, None,
        "note that home timelines which were moved out of the store are made anew";
    14: removed_by::move_the_rest, Some(keys::MODERATION_COUNT),
        "let removed stories and profiles name what removed them";
    15: list_by_votes, None,
        "list the stories of each age by their votes";
    16: relisting::list_members [USER_GONE_STORIES, USER_GONE_COMMENTS], None,
        "give every account the lists of those of its stories and comments that others do not see";
}

/// Lists all stories by their votes, as old as they were when the newest was posted. Rounds: 2 for each 1,000 keys, and those of
/// [`by_votes::place_all`].
async fn list_by_votes(site: &Site, advance: Advance<'_>) -> Result<()> {
    let newest = site.store.fetch(read::sorted_range(keys::NEWS_CRON, Order::Descending, 0, 1)).await?;
    let now = newest.first().map(|(_, posted)| Timestamp::from_score(*posted)).unwrap_or_default();
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        let stories = first_parts(&keys, &families::NEWS).filter_map(|id| id.parse().ok());
        by_votes::place_all(site, now, &stories.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// Forgets who sends what, and until when nobody does, as earlier versions noted it. What waits stays where it is, and is
/// due as before; a receiver that rested is tried at once. Rounds: 1.
async fn forget_turns(site: &Site, _: Advance<'_>) -> Result<()> {
    let mut batch = Batch::new();
    keys::EARLIER_TURNS.iter().for_each(|key| batch.delete(*key));
    batch.delete_field(keys::HUB_STATE, "due");
    apply(&site.store, batch).await.map(drop)
}

/// Lists for each user what is saved without the user's own vote up. Rounds: 1 for each 1,000 keys and for
/// each user, and at most 2 for each 1,000 stories of a user.
async fn list_saved(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    while let Some(keys) = walk.next().await? {
        for user in first_parts(&keys, &families::USER_UPVOTED).filter_map(|id| id.parse().ok()) {
            list_saved_of(site, user).await?;
        }
    }
    Ok(())
}

async fn list_saved_of(site: &Site, user: UserId) -> Result<()> {
    let all = read::sorted_range(keys::user_upvoted(user), Order::Descending, 0, u64::MAX);
    let left = read::field(keys::user(user), DEACTIVATED);
    let (all, left) = site.store.fetch((all, left)).await?;
    let mut room = if left.is_some() { 0 } else { MAX_SAVED };
    for stories in all.chunks(KEYS_AT_ONCE) {
        let stories = stories.iter().filter_map(|(id, time)| Some((id.parse().ok()?, *time)));
        let stories: Vec<(NewsId, f64)> = stories.collect();
        let read = |(id, _): &(NewsId, f64)| {
            (
                read::field(keys::news(*id), "id").or_absent(),
                read::score(keys::news_up(*id), user.to_string()).or_absent(),
                read::field(keys::news_discounted(*id), user.to_string()).or_absent(),
            )
        };
        let read = site.store.fetch(stories.iter().map(read).collect::<Vec<_>>()).await?;
        let (mut batch, before) = (Batch::new(), room);
        for ((id, time), (story, vote, discounted)) in stories.into_iter().zip(read) {
            let discounted = DiscountedVotes::read(id, user, discounted.as_deref());
            if story.is_some() && vote.is_none() && discounted.story.is_none() && room > 0 {
                batch.sorted_add(keys::user_saved(user), id.to_string(), time);
                room -= 1;
            }
        }
        if room < before {
            site.store.commit(batch).await?;
        }
    }
    Ok(())
}

/// Numbers all stories and comments that have no item number, in the order of their times.
pub async fn number_items(site: &Site, advance: Advance<'_>) -> Result<()> {
    let mut walk = KeyWalk::begin(&site.store, advance).await?;
    let mut found: Vec<(Timestamp, Item)> = Vec::new();
    while let Some(keys) = walk.next().await? {
        let stories = first_parts(&keys, &families::NEWS).filter_map(|id| id.parse().ok());
        found.extend(items_of(site, &stories.collect::<Vec<NewsId>>()).await?);
    }
    number_in_order(site, found).await
}

async fn number_in_order(site: &Site, mut found: Vec<(Timestamp, Item)>) -> Result<()> {
    found.sort_by_key(|(time, _)| *time);
    items::number_missing(site, &found.into_iter().map(|(_, item)| item).collect::<Vec<_>>()).await
}

/// Numbers the newest stories and their comments, which Lamer News may have written without, and lists them by votes.
async fn complete_newest(site: &Site) -> Result<()> {
    let newest = read::sorted_range(keys::NEWS_CRON, Order::Descending, 0, NEWEST_STORIES);
    let newest = site.store.fetch(newest).await?;
    let stories: Vec<NewsId> = newest.iter().filter_map(|(id, _)| id.parse().ok()).collect();
    let now = newest.first().map(|(_, posted)| Timestamp::from_score(*posted)).unwrap_or_default();
    by_votes::place_all(site, now, &stories).await?;
    number_in_order(site, items_of(site, &stories).await?).await
}

/// Stories and their comments, each with its time. Those that cannot be read are left out. Rounds: 1 for
/// each ten stories.
async fn items_of(site: &Site, stories: &[NewsId]) -> Result<Vec<(Timestamp, Item)>> {
    let mut found = Vec::new();
    for stories in stories.chunks(STORIES_AT_ONCE) {
        let read = stories.iter().copied().map(Comment::with_story).collect::<Vec<_>>();
        for (news, comments) in site.store.fetch(read).await? {
            let Some(news) = news else { continue };
            found.push((news.ctime, Item::Story(news.id)));
            found.extend(comments.iter().map(|comment| (comment.ctime, Item::Comment(comment.address()))));
        }
    }
    Ok(found)
}

async fn confirm_known_addresses(site: &Site, advance: Advance<'_>) -> Result<()> {
    confirmation::confirm_known_addresses(site, advance).await?;
    // When the waiting mails were written: as far as is known, when they are due.
    let all = read::sorted_range(keys::MAIL_OUTBOX, Order::Ascending, 0, u64::MAX);
    for mails in site.store.fetch(all).await?.chunks(KEYS_AT_ONCE) {
        let mut batch = Batch::new();
        mails.iter().for_each(|(mail, due)| batch.sorted_add(keys::MAIL_WRITTEN, mail, *due));
        apply(&site.store, batch).await?;
    }
    Ok(())
}

/// Adds what a store of Lamer News or of an early version lacks. Lamer News may run on the same
/// Redis for some time, so the server also does this at each start.
pub async fn complete_lamer_news(site: &Site, advance: Advance<'_>) -> Result<()> {
    complete_accounts(site, advance).await?;
    if items::raise_count(site).await? {
        tracing::info!("raised the counter of items to the highest number that an item has");
    }
    complete_newest(site).await
}

async fn complete_accounts(site: &Site, advance: Advance<'_>) -> Result<()> {
    match draws::raise_article_count(site).await {
        Ok(false) => {}
        Ok(true) => tracing::info!("raised the counter of articles to that of stories"),
        // A counter of another program that holds no number; the site works without it.
        Err(Error::Internal(error)) => tracing::warn!(error, "cannot raise the counter of articles"),
        Err(error) => return Err(error),
    }
    names::fold_chunks(site, u64::MAX, advance).await.map(drop)
}

/// The state of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreState {
    /// The version of its layout; 0 if it does not say, or not in a number.
    pub layout: u64,
    /// The text that it has in place of a version.
    pub unreadable_layout: Option<String>,
    /// The number of its keys.
    pub keys: u64,
    /// The command that has begun to fill it and not finished.
    pub unfinished: Option<Filling>,
}

/// Why a store cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnusableStore {
    /// A newer program has changed it.
    #[error(
        "the store has layout {0} and this version of tidings knows only layout {LAYOUT_VERSION}; \
         run the version that last used the store, or a newer one"
    )]
    Newer(u64),
    /// The key of the version holds no version.
    #[error(
        "the key {key} of the store holds {0:?}, which is no version of a layout; another program may have \
         written it: restore a backup, or set the key to the version that it had",
        key = keys::LAYOUT_VERSION
    )]
    NoVersion(String),
    /// A command has not finished filling it.
    #[error("{0}")]
    Unfinished(Filling),
}

/// Reads the state of a store. Rounds: 2.
pub async fn state_of(store: &Store) -> Result<StoreState> {
    let reads = (read::string(keys::LAYOUT_VERSION), read::string(keys::UNFINISHED));
    let (version, unfinished) = store.fetch(reads).await?;
    let layout = version.as_deref().map_or(Some(0), |text| text.parse().ok());
    Ok(StoreState {
        layout: layout.unwrap_or(0),
        unreadable_layout: version.filter(|_| layout.is_none()),
        keys: store.count_keys().await?,
        unfinished: unfinished.as_deref().map(Filling::parse),
    })
}

/// Whether a store has a site, of whatever program and age: a key of one of our families, so not only
/// keys of other programs on the same Redis database. Rounds: 1, and at most 100 without the common keys.
pub async fn has_site(store: &Store) -> Result<bool> {
    const NAMES_AT_ONCE: usize = 1_000;
    const MOST_PAGES: usize = 100;
    // Keys that nearly every site has, so that few names are read.
    let common = [keys::LAYOUT_VERSION, keys::USERS_COUNT, keys::NEWS_COUNT, keys::UNFINISHED];
    if store.fetch(common.map(read::expiry)).await?.iter().any(|expiry| *expiry != Expiry::Absent) {
        return Ok(true);
    }
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let page = store.scan_keys(cursor, NAMES_AT_ONCE).await?;
        if page.keys.iter().any(|key| Family::of(key).is_some()) {
            return Ok(true);
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(false)
}

impl StoreState {
    /// Whether this program can use the store, at least after the migrations.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn demand_usable(&self) -> Result<(), UnusableStore> {
        self.demand_version()?;
        if let Some(filling) = &self.unfinished {
            return Err(UnusableStore::Unfinished(filling.clone()));
        }
        if self.layout > LAYOUT_VERSION {
            return Err(UnusableStore::Newer(self.layout));
        }
        Ok(())
    }

    /// The version of the layout, if the store does not hold something else in its place.
    ///
    /// # Errors
    /// [`UnusableStore::NoVersion`]
    pub fn demand_version(&self) -> Result<u64, UnusableStore> {
        match &self.unreadable_layout {
            Some(text) => Err(UnusableStore::NoVersion(text.clone())),
            None => Ok(self.layout),
        }
    }

    /// The migrations that the store needs. An empty store needs none.
    pub fn pending<'a>(&self, migrations: &'a [Migration]) -> Vec<&'a Migration> {
        let is_pending = |migration: &&Migration| self.keys > 0 && migration.to > self.layout;
        migrations.iter().filter(is_pending).collect()
    }
}

/// Migrates a store that is in a state, and says how far it is. An empty store only gets its
/// version. Rounds: 1 for each migration, and what it takes.
///
/// # Errors
/// When a migration fails. Then the store has the version of the last one that did not.
pub async fn migrate(
    site: &Site,
    state: &StoreState,
    migrations: &[Migration],
    advance: Advance<'_>,
) -> Result<()> {
    let mut layout = state.layout;
    if layout == 0 && state.keys > 0 {
        note_incomplete(&site.store).await?;
    }
    for migration in state.pending(migrations) {
        tracing::info!(version = migration.to, what = migration.what, "migrating the store");
        advance(0, 0);
        (migration.run)(site, advance).await?;
        note_version(&site.store, layout, migration.to).await?;
        layout = migration.to;
    }
    let newest = migrations.last().map_or(layout, |migration| migration.to);
    if layout < newest {
        note_version(&site.store, layout, newest).await?;
    }
    Ok(())
}

/// The field of `site` that says that lists and articles are still to be made.
const INCOMPLETE: &str = "incomplete";

/// Notes that the store lacks what Lamer News and the first versions did not write. The checks make it.
async fn note_incomplete(store: &Store) -> Result<()> {
    apply(store, Batch::of(|batch| batch.set_field(keys::SITE, INCOMPLETE, "1"))).await.map(drop)
}

/// Whether the store lacks lists and articles that Lamer News did not write. Rounds: 1.
pub async fn is_incomplete(store: &Store) -> Result<bool> {
    Ok(store.fetch(read::field(keys::SITE, INCOMPLETE)).await?.is_some())
}

/// Notes that nothing is missing any more. Rounds: 1.
pub async fn note_complete(store: &Store) -> Result<()> {
    apply(store, Batch::of(|batch| batch.delete_field(keys::SITE, INCOMPLETE))).await.map(drop)
}

/// Gives an empty store the version of this program before a command writes to it, so that the server
/// does not take it for one of an earlier version. Rounds: 3.
pub async fn begin_new(store: &Store) -> Result<()> {
    let state = state_of(store).await?;
    let is_new = state.keys == u64::from(state.unfinished.is_some());
    if is_new { note_version(store, 0, LAYOUT_VERSION).await } else { Ok(()) }
}

/// Gives a store without a site the version of this program. Rounds: 1.
pub async fn note_newest(store: &Store) -> Result<()> {
    note_version(store, 0, LAYOUT_VERSION).await
}

/// Stores the version. Another server may have done that before.
async fn note_version(store: &Store, from: u64, to: u64) -> Result<()> {
    let mut batch = Batch::new();
    batch.string_unchanged(keys::LAYOUT_VERSION, (from > 0).then(|| from.to_string()));
    batch.set(keys::LAYOUT_VERSION, to.to_string());
    match apply(store, batch).await? {
        Applied::Yes(_) => Ok(()),
        Applied::No(_) if state_of(store).await?.layout >= to => Ok(()),
        Applied::No(_) => Err(Error::Busy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn set(site: &Site, key: &str, value: &str) {
        site.store.commit(Batch::of(|batch| batch.set(key, value))).await.unwrap();
    }

    async fn get(site: &Site, key: &str) -> Option<String> {
        site.store.fetch(read::string(key)).await.unwrap()
    }

    /// Adds a character to a key, so that the test sees how often and in what order.
    fn planted(to: u64, run: for<'a> fn(&'a Site, Advance<'a>) -> Migrating<'a>) -> Migration {
        Migration { to, what: "plant", changes_with: None, run }
    }

    async fn append(site: &Site, text: &str) -> Result<()> {
        let before = get(site, "planted").await.unwrap_or_default();
        set(site, "planted", &(before + text)).await;
        Ok(())
    }

    fn three() -> [Migration; 3] {
        [
            planted(1, |site, _| Box::pin(append(site, "a"))),
            planted(2, |site, _| Box::pin(append(site, "b"))),
            planted(3, |site, _| Box::pin(append(site, "c"))),
        ]
    }

    async fn run(site: &Site, migrations: &[Migration]) -> Result<()> {
        let state = state_of(&site.store).await?;
        migrate(site, &state, migrations, &|_, _| {}).await
    }

    #[test]
    fn the_migrations_lead_to_the_present_version_one_by_one() {
        let versions: Vec<u64> = MIGRATIONS.iter().map(|migration| migration.to).collect();
        assert_eq!(versions, (1..=LAYOUT_VERSION).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn addresses_that_get_mail_count_as_confirmed_and_no_others() {
        let site = Site::in_memory().await;
        /// The id, the fields, and the address that counts as confirmed.
        type Stored = (&'static str, &'static [(&'static str, &'static str)], Option<&'static str>);
        let users: [Stored; 6] = [
            ("1", &[("email", "a@b.example"), ("mail_replies", "1")], Some("a@b.example")),
            ("2", &[("email", "c@d.example"), ("digest", "weekly")], Some("c@d.example")),
            ("3", &[("email", "e@f.example"), ("digest", "off"), ("mail_replies", "0")], None),
            ("4", &[("email", ""), ("digest", "daily")], None),
            ("5", &[("email", "g@h.example"), ("digest", "daily"), ("unconfirmed", "1")], None),
            ("6", &[("digest", "daily")], None),
        ];
        let mut batch = Batch::new();
        batch.set(keys::USERS_COUNT, "6");
        batch.set(keys::LAYOUT_VERSION, "1");
        for (id, fields, _) in users {
            batch.set_fields(format!("user:{id}"), fields.iter().copied().chain([("id", id)]));
        }
        batch.sorted_add(keys::MAIL_OUTBOX, "digest:1:1-2", 7.0);
        site.store.commit(batch).await.unwrap();
        run(&site, &MIGRATIONS).await.unwrap();
        for (id, _, expected) in users {
            let confirmed =
                site.store.fetch(read::field(format!("user:{id}"), "confirmed_email")).await.unwrap();
            assert_eq!(confirmed.as_deref(), expected, "{id}");
        }
        let written = read::sorted_range(keys::MAIL_WRITTEN, Order::Ascending, 0, 9);
        assert_eq!(site.store.fetch(written).await.unwrap(), [("digest:1:1-2".to_owned(), 7.0)]);
    }

    #[tokio::test]
    async fn what_waits_to_be_sent_in_an_older_store_still_waits() {
        let site = Site::in_memory().await;
        let waits = [
            (keys::MAIL_OUTBOX, "confirm:1:7"),
            (keys::MAIL_WRITTEN, "confirm:1:7"),
            ("hooks:outbox:3", "7:story:1"),
            (keys::TIMELINE_JOBS, "leave:1"),
            (keys::DIGEST_DAILY, "1"),
        ];
        let mut batch = Batch::new();
        batch.set(keys::LAYOUT_VERSION, "10");
        waits.iter().for_each(|(key, member)| batch.sorted_add(*key, *member, 7.0));
        batch.set_field(keys::HUB_FEEDS, "/atom", "4");
        batch.set_fields(keys::HUB_STATE, [("place", "4"), ("due", "9000000000"), ("failing", "7")]);
        batch.set_field("hooks:rests", "3", "9000000000");
        batch.set("mail:digest:turn", "2");
        site.store.commit(batch).await.unwrap();
        // Another server may have done it, or one that was killed before it noted the version.
        for _ in 0..2 {
            forget_turns(&site, &|_, _| {}).await.unwrap();
        }
        run(&site, &MIGRATIONS).await.unwrap();
        for (key, member) in waits {
            let range = read::sorted_range(key, Order::Ascending, 0, 9);
            assert_eq!(site.store.fetch(range).await.unwrap(), [(member.to_owned(), 7.0)], "{key}");
        }
        let hub = site.store.fetch((read::hash(keys::HUB_FEEDS), read::hash(keys::HUB_STATE))).await.unwrap();
        assert_eq!(hub.0.get("/atom"), Some("4"));
        assert_eq!(
            (hub.1.get("place"), hub.1.get("due"), hub.1.get("failing")),
            (Some("4"), None, Some("7"))
        );
        for key in keys::EARLIER_TURNS {
            assert_eq!(site.store.fetch(read::expiry(key)).await.unwrap(), Expiry::Absent, "{key}");
        }
    }

    #[tokio::test]
    async fn home_timelines_that_were_moved_are_nowhere() {
        for (is_moved, expected) in [(true, Some("nowhere")), (false, None)] {
            let site = Site::in_memory().await;
            let mut batch = Batch::new();
            batch.set(keys::USERS_COUNT, "2");
            batch.set(keys::LAYOUT_VERSION, "10");
            batch.set_field("user:1", "username", "alice");
            if is_moved {
                batch.set_field("timeline:place", "url", "redis://localhost");
            }
            site.store.commit(batch).await.unwrap();
            run(&site, &MIGRATIONS).await.unwrap();
            let reads =
                (read::field("user:1", "home_at"), read::hash("user:2"), read::hash("timeline:place"));
            let (home, nobody, place) = site.store.fetch(reads).await.unwrap();
            assert_eq!(home.as_deref(), expected);
            assert!(nobody.is_empty() && place.is_empty());
        }
    }

    #[tokio::test]
    async fn each_migration_runs_once_and_in_order() {
        for (version, expected) in [(None, "abc"), (Some("1"), "bc"), (Some("2"), "c"), (Some("3"), "")] {
            let site = Site::in_memory().await;
            set(&site, "users.count", "1").await;
            if let Some(version) = version {
                set(&site, keys::LAYOUT_VERSION, version).await;
            }
            for _ in 0..2 {
                run(&site, &three()).await.unwrap();
                assert_eq!(get(&site, "planted").await.unwrap_or_default(), expected, "{version:?}");
                assert_eq!(state_of(&site.store).await.unwrap().layout, 3);
            }
        }
        // An empty store only gets its version.
        let empty = Site::in_memory().await;
        run(&empty, &three()).await.unwrap();
        assert_eq!(get(&empty, "planted").await, None);
        assert_eq!(state_of(&empty.store).await.unwrap().layout, 3);
    }

    #[tokio::test]
    async fn a_migration_that_fails_is_tried_again_and_not_those_before_it() {
        let site = Site::in_memory().await;
        set(&site, "users.count", "1").await;
        let mut migrations = three();
        migrations[1].run = |_, _| Box::pin(async { Err(Error::Busy) });
        run(&site, &migrations).await.unwrap_err();
        assert_eq!(state_of(&site.store).await.unwrap().layout, 1);
        run(&site, &three()).await.unwrap();
        assert_eq!(get(&site, "planted").await.unwrap(), "abc");
    }

    #[tokio::test]
    async fn a_newer_or_a_half_restored_store_is_refused() {
        let site = Site::in_memory().await;
        set(&site, keys::LAYOUT_VERSION, &(LAYOUT_VERSION + 1).to_string()).await;
        let state = state_of(&site.store).await.unwrap();
        assert_eq!(state.demand_usable(), Err(UnusableStore::Newer(LAYOUT_VERSION + 1)));
        set(&site, keys::LAYOUT_VERSION, &LAYOUT_VERSION.to_string()).await;
        state_of(&site.store).await.unwrap().demand_usable().unwrap();
        set(&site, keys::UNFINISHED, "restore 7 file").await;
        let state = state_of(&site.store).await.unwrap();
        assert!(matches!(state.demand_usable(), Err(UnusableStore::Unfinished(_))));
        unfinished::end(&site.store).await.unwrap();
        state_of(&site.store).await.unwrap().demand_usable().unwrap();
        set(&site, keys::LAYOUT_VERSION, "new").await;
        let unknown = state_of(&site.store).await.unwrap().demand_usable().unwrap_err();
        assert_eq!(unknown, UnusableStore::NoVersion("new".to_owned()));
        assert!(
            unknown.to_string().contains("the key layout:version of the store holds \"new\""),
            "{unknown}"
        );
    }

    #[tokio::test]
    async fn a_new_site_that_a_command_begins_is_not_migrated_later() {
        let site = Site::in_memory().await;
        begin_new(&site.store).await.unwrap();
        set(&site, "users.count", "1").await;
        let state = state_of(&site.store).await.unwrap();
        assert!(state.layout == LAYOUT_VERSION && state.pending(&MIGRATIONS).is_empty());
        // One of an earlier version is.
        let old = Site::in_memory().await;
        set(&old, "users.count", "1").await;
        begin_new(&old.store).await.unwrap();
        assert_eq!(state_of(&old.store).await.unwrap().layout, 0);
    }
}

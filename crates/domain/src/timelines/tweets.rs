//! Tweets: posting and deleting them, and announcing news.

use crate::accounts::mentioned::{self, users_named};
use crate::accounts::origins::{self, Origin};
use crate::accounts::users::DEACTIVATED;
use crate::accounts::{
    Collapsed, Delivery, EntryId, Notified, Reader, ShownIn, Visible, admission, origin_bans,
};
use crate::draws::{Draw, Sequence};
use crate::fields::{self, StoredFields};
use crate::jobs::{self, Job, Jobs};
use crate::post_rules::CheckedPost;
use crate::records::{self, AsRead};
use crate::timelines::apart::Apart;
use crate::timelines::home_jobs::deliver;
use crate::timelines::homes::{Home, add_to_home, set_pulled};
use crate::timelines::versions::TIMELINE_VERSION;
use crate::timelines::{live, stored};
use crate::values::{
    GLOBAL_TIMELINE_SIZE, MENTIONS_SIZE, Moment, NewsId, NotSeconds, PostKind, PostState, REMOVED,
    RatedAction, RemovedBy, Thing, TweetId, TweetText, UNSEEN, UserId, WITHHELD, Withheld, read_text,
};
use crate::{AUDIT, Actor, CountedAction, Decision, KeptAnswer, Refusal, Result, Site, User, keys, review};
use tidings_keyspace::{Batch, CheckId, Fetch, Hash, read};
use tidings_text::stored_text::StoredText;

/// A tweet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tweet {
    /// The tweet's number.
    pub id: TweetId,
    /// The plain text; for an announcement, the title of the item.
    pub(crate) text: String,
    /// When it was posted: Unix seconds with a fraction.
    pub created_at: f64,
    /// Its author.
    pub user_id: UserId,
    /// The item that it announces.
    pub news_id: Option<NewsId>,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<Withheld>,
    /// Whether it was taken away before readers saw it.
    pub unseen: bool,
    /// The decision that removed it, unless it was rejected.
    pub(crate) removed: Option<Box<RemovedBy>>,
}

/// A stored time with a fraction. Infinity, which other programs can store, is not a time.
struct FiniteSeconds(f64);

read_text!(FiniteSeconds or NotSeconds: |text| text.parse().ok().filter(|time: &f64| time.is_finite()).map(Self));

impl Visible for Tweet {
    fn state(&self) -> PostState<'_> {
        Self::state(self)
    }

    fn unwanted_by(&self, reader: &Reader, _: ShownIn) -> Option<Collapsed> {
        reader.mutes_post(self.user_id, &self.text)
    }
}

impl Tweet {
    /// The tweet with a number, if it exists.
    pub(crate) fn by_id(id: TweetId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::tweet(id)).map(move |hash| Self::from_hash(id, &hash))
    }

    /// Reads a tweet; `None` when the hash is absent or not a tweet.
    pub fn from_hash(id: TweetId, hash: &Hash) -> Option<Self> {
        let fields = StoredFields::new(hash, || keys::tweet(id));
        Some(Self {
            id,
            text: fields.text("text")?.to_owned(),
            created_at: fields.read::<FiniteSeconds>("created_at").map_or(0.0, |time| time.0),
            user_id: fields.read("user_id")?,
            news_id: fields.read("news_id"),
            withheld: fields::withheld(fields.text(WITHHELD), || keys::tweet(id)),
            unseen: fields.text(UNSEEN).is_some(),
            removed: fields.read(REMOVED).map(Box::new),
        })
    }

    /// Its state. A deleted one is not stored.
    pub fn state(&self) -> PostState<'_> {
        let (withheld, unseen) = (self.withheld.as_ref(), self.unseen);
        PostState { kind: PostKind::Tweet, author: self.user_id, withheld, deleted: false, unseen }
    }

    /// Whether `viewer` may delete it.
    ///
    /// # Errors
    /// [`Refusal::NotYourTweet`], or [`Refusal::NoSuchTweet`] for one that they may not see.
    pub fn may_delete(&self, viewer: &User) -> Result<(), Refusal> {
        self.state().demand_known(viewer)?;
        if viewer.id == self.user_id { Ok(()) } else { Err(Refusal::NotYourTweet) }
    }

    /// Its text, as pages show it.
    pub(crate) const fn stored_text(&self) -> StoredText<'_> {
        StoredText::Post(self.text.as_str())
    }

    /// The names in its text, in lower case. An announcement mentions nobody.
    pub(crate) fn mentioned_names(&self) -> Vec<String> {
        if self.news_id.is_some() { Vec::new() } else { mentioned::names_in(self.stored_text()) }
    }
}

/// Posts a tweet to the timelines of its author and of everyone, and in the background to
/// the home timelines of the author's followers. Mentioned users get it in their mentions,
/// as many of them as the author's mentions may notify in a day.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::SessionEnded`] when the account has been deactivated meanwhile,
/// [`Refusal::TooManyRequests`], [`Refusal::RefusedByRule`], or the store's.
pub async fn post_tweet(
    site: &Site,
    now: Moment,
    author: Actor<'_>,
    text: &TweetText,
) -> Result<PostedTweet> {
    author.demand_may_post(now.timestamp())?;
    author.spend(site, now, RatedAction::Tweet).await?;
    let post = CheckedPost::of(StoredText::Post(text.as_str()));
    let waits = admission::admit(site, now.timestamp(), author.user, post).await?;
    origin_bans::demand_may_post(site, now.timestamp(), &author).await?;
    let origin = Origin::of(site, author.address).await?;
    let home = keys::user_timeline(author.id);
    let draw = Draw::new([(Sequence::Tweets, 1)]);
    let request = author.user.request.as_ref();
    let posted = site.act(&home, || async {
        let (audience, stored) = site.store.fetch((Audience::of(author.id), draw.stored())).await?;
        let mut batch = Batch::new();
        let [id] = draw.take(site, &stored, &mut batch).await?.map(TweetId);
        let draft = TweetDraft::new(id, now, author.id, audience);
        if let Some(reason) = &waits {
            let account_there = draft.write_held(&mut batch, text.as_str(), reason);
            origins::write(origin.as_ref(), &mut batch, now.timestamp(), author.id);
            return Decision::commit(batch, (id, None))
                .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
                .once(request, &PostedTweet { id, waits: true });
        }
        let new = NewTweet::read(site, draft, text.as_str()).await?;
        let account_there = new.write(&mut batch, site, text.as_str());
        origins::write(origin.as_ref(), &mut batch, now.timestamp(), author.id);
        Decision::commit(batch, (id, Some(new)))
            .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
            .once(request, &PostedTweet { id, waits: false })
    });
    let (id, new) = posted.await?;
    site.count(CountedAction::Tweet);
    let waits = new.is_none();
    if let Some(new) = new {
        new.draft.begin(site);
    }
    Ok(PostedTweet { id, waits })
}

/// A tweet that was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostedTweet {
    /// Its number.
    pub id: TweetId,
    /// Whether it waits for a moderator.
    pub waits: bool,
}

impl KeptAnswer for PostedTweet {
    fn to_text(&self) -> String {
        (self.id, self.waits).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        <(TweetId, bool)>::from_text(text).map(|(id, waits)| Self { id, waits })
    }
}

/// A tweet of a person that is about to be posted, and whom it tells.
pub(crate) struct NewTweet {
    pub(crate) draft: TweetDraft,
    notified: Notified,
    delivery: Delivery,
}

impl NewTweet {
    /// Reads whom a tweet tells. Rounds: none without mentions, else 4 at most.
    pub(crate) async fn read(site: &Site, draft: TweetDraft, text: &str) -> Result<Self> {
        let mut mentioned = users_named(site, &mentioned::names_in(StoredText::Post(text))).await?;
        let (id, author) = (draft.tweet.id, draft.tweet.user_id);
        mentioned.retain(|user| *user != author);
        let notified = Notified::choose(site, draft.now, author, &mentioned).await?;
        let entries: Vec<_> = notified.people.iter().map(|user| (*user, EntryId::Tweet(id))).collect();
        let delivery = Delivery::read(site, Some(author), &entries).await?;
        Ok(Self { draft, notified, delivery })
    }

    /// Adds the tweet to a batch, and to the mentions and inboxes of those whom it tells.
    /// Returns the check of [`TweetDraft::write`].
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, text: &str) -> CheckId {
        let score = self.draft.now.as_score();
        let account_there = self.draft.write(batch, site, text, None);
        self.notified.write(batch);
        self.delivery.write(batch, score);
        for user in &self.notified.people {
            batch.sorted_add(keys::user_mentions(*user), self.draft.tweet.id.to_string(), score);
            batch.sorted_trim(keys::user_mentions(*user), MENTIONS_SIZE);
        }
        account_there
    }
}

/// A tweet that is about to come into timelines, with what was read for it.
pub(crate) struct TweetDraft {
    /// The tweet; a new one has no text yet.
    pub(crate) tweet: Tweet,
    /// The same as it is stored, because it waited for a moderator or was removed.
    before: Option<AsRead<Tweet>>,
    now: Moment,
    audience: Audience,
}

/// The audience of a tweet: how many followers its author has, and where the author's own home timeline is.
pub(crate) struct Audience {
    pub(crate) followers: u64,
    home: Home,
}

impl Audience {
    /// The audience of an author's tweets.
    pub(crate) fn of(author: UserId) -> impl Fetch<Value = Self> {
        (read::sorted_count(keys::followers(author)), Home::of(author))
            .map(|(followers, home)| Self { followers, home })
    }

    /// Whether tweets are delivered to the followers, or merged when they read.
    pub(crate) fn is_delivered(&self, site: &Site) -> bool {
        self.followers <= site.rules.timelines.pull_limit
    }

    /// Adds to a batch that a tweet is in its author's own home timeline. Apart from the store, that
    /// is merged when the author reads.
    pub(crate) fn write_own(&self, batch: &mut Batch, site: &Site, author: UserId, tweet: (TweetId, f64)) {
        self.home.guard(batch);
        match Apart::of(site) {
            _ if !self.home.is_in_store() => {}
            Some(_) => self.home.end(batch),
            None => add_to_home(batch, &site.rules.timelines, author, tweet.0, tweet.1),
        }
    }
}

impl TweetDraft {
    /// A new tweet.
    pub(crate) fn new(id: TweetId, now: Moment, author: UserId, audience: Audience) -> Self {
        let tweet = Tweet { id, created_at: now.as_score(), user_id: author, ..Tweet::default() };
        Self { tweet, before: None, now, audience }
    }

    /// Draws a number for a tweet. Rounds: 2.
    pub(crate) async fn draw(site: &Site, now: Moment, author: UserId) -> Result<Self> {
        let audience = site.store.fetch(Audience::of(author)).await?;
        let [id] = Draw::new([(Sequence::Tweets, 1)]).apart(site).await?.map(TweetId);
        Ok(Self::new(id, now, author, audience))
    }

    /// A tweet that is stored, and is to be seen as this one from now on. Rounds: 1.
    ///
    /// # Errors
    /// [`Refusal::NoSuchTweet`] when the author has left, whose tweets are deleted; or the store's.
    pub(crate) async fn of_stored(
        site: &Site,
        now: Moment,
        (before, tweet): (AsRead<Tweet>, Tweet),
    ) -> Result<Self> {
        let left = read::field(keys::user(tweet.user_id), DEACTIVATED);
        let (audience, left) = site.store.fetch((Audience::of(tweet.user_id), left)).await?;
        Refusal::NoSuchTweet.when(left.is_some())?;
        Ok(Self { tweet, before: Some(before), now, audience })
    }

    /// Adds the tweet to a batch, where it waits for a moderator. Returns the check that the author's account is not
    /// deactivated.
    fn write_held(&self, batch: &mut Batch, text: &str, reason: &str) -> CheckId {
        let account_there = batch.field_absent(keys::user(self.tweet.user_id), DEACTIVATED);
        let withheld = Some(Withheld::Held(reason.into()));
        records::add(batch, [&Tweet { text: text.to_owned(), withheld, ..self.tweet.clone() }]);
        review::enqueue(batch, &Thing::Tweet(self.tweet.id), self.now.timestamp());
        account_there
    }

    /// Adds the tweet to a batch, with the job that delivers it. Returns the check that the author's account is not
    /// deactivated.
    pub(crate) fn write(&self, batch: &mut Batch, site: &Site, text: &str, news: Option<NewsId>) -> CheckId {
        let tweet = Tweet { text: text.to_owned(), news_id: news, ..self.tweet.clone() };
        let (id, author, score) = (tweet.id, tweet.user_id, tweet.created_at);
        let account_there = batch.field_absent(keys::user(author), DEACTIVATED);
        match &self.before {
            Some(before) => _ = records::change(batch, before, &tweet),
            None => _ = records::add(batch, [&tweet]),
        }
        batch.sorted_trim(keys::GLOBAL_TIMELINE, GLOBAL_TIMELINE_SIZE);
        batch.increment_field(keys::user(author), TIMELINE_VERSION, 1);
        self.audience.write_own(batch, site, author, (id, score));
        if let Some(job) = self.delivery(site) {
            // Also to those who follow since it was removed, and whose home timelines have been made anew.
            jobs::add(batch, &job, self.now, author);
            return account_there;
        }
        if self.audience.followers == 0 {
            // Fails if a first follower arrives meanwhile: they must not miss the tweet.
            batch.key_absent(keys::followers(author));
        } else {
            set_pulled(batch, author, true);
        }
        if self.before.as_ref().is_none_or(|before| before.removed.is_none()) {
            batch.publish(live::CHANNEL, live::ArrivedTweet { author, id, score }.to_string());
        }
        account_there
    }

    /// The job that delivers it, to be started once the batch is applied.
    pub(crate) fn delivery(&self, site: &Site) -> Option<Job> {
        let is_delivered = self.audience.followers > 0 && self.audience.is_delivered(site);
        is_delivered.then(|| deliver::job(self.tweet.id))
    }

    /// Starts the delivery, once the batch is applied.
    pub(crate) fn begin(&self, site: &Site) {
        if let Some(job) = self.delivery(site) {
            site.of::<Jobs>().start_soon(job, self.now);
        }
    }
}

/// Deletes a tweet. Home timelines that have it show it no more.
///
/// # Errors
/// [`Refusal::NoSuchTweet`], also for one that a moderator has removed, [`Refusal::NotYourTweet`], or
/// the store's.
pub async fn delete_tweet(site: &Site, viewer: &User, id: TweetId) -> Result<()> {
    let key = keys::tweet(id);
    let deleted = site.act(&key, || async {
        let tweet = site.store.fetch(stored::by_id(id)).await?.ok_or(Refusal::NoSuchTweet)?;
        tweet.may_delete(viewer)?;
        if tweet.withheld.as_ref().is_some_and(Withheld::is_removed) {
            // It is gone for its author, and kept for moderators.
            return Err(Refusal::NoSuchTweet.into());
        }
        let mut batch = Batch::new();
        stored::delete(&mut batch, &tweet);
        Decision::commit(batch, ()).once(viewer.request.as_ref(), &())
    });
    deleted.await?;
    site.count(CountedAction::Deletion);
    tracing::info!(target: AUDIT, by = viewer.username, tweet = %id, "deleted a tweet");
    Ok(())
}

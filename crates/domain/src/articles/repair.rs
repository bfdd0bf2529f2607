//! Checking all articles against their news, and repairing what differs.
//!
//! A database of an older site has news and no articles. Each item is checked and
//! repaired in its own batch, which fails if the item has changed since it was read. So the
//! site can stay in use, and an interrupted repair can be run again.

use crate::articles::article::{Article, OPEN_SECONDS, open_for};
use crate::values::{NewsId, Timestamp, Topic};
use crate::{Applied, Decision, News, Result, Site, keys};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::collections::BTreeSet;
use std::future::ready;
use tidings_keyspace::{Batch, Expiry, Fetch, Hash, Order, read};

/// How many seconds voters may be known longer than their votes count. The time to live of a set counts
/// from the moment at which its batch arrives, and a batch may have waited for a store that did not
/// answer. Nothing reads the set after the week.
const LATE_EXPIRY: u64 = 3_600;
/// Repairs that are committed at the same time.
const REPAIRS_AT_ONCE: usize = 100;
/// No bound: more than any list has members.
const ALL: u64 = 1 << 40;

/// An item and its article as stored.
pub(super) struct ItemWithArticle {
    news: News,
    /// The item's title and its counter of votes up as stored, to notice changes.
    stored_title: Option<String>,
    stored_up: Option<String>,
    hash: Hash,
    by_time: Option<f64>,
    by_score: Option<f64>,
    voted: BTreeSet<String>,
    expiry: Expiry,
    /// The users who voted up within the first week.
    voters: BTreeSet<String>,
    /// Topics whose groups lack the article.
    missing_in: Vec<Topic>,
    /// How much longer votes count, in seconds.
    open_seconds: Option<u64>,
    /// Whether those who voted the item up are known: its author is one of them.
    has_voters: bool,
}

/// Reads items that are listed, and their articles. Rounds: 2.
async fn read_states(site: &Site, now: Timestamp, ids: &[NewsId]) -> Result<Vec<ItemWithArticle>> {
    let hashes: Vec<_> = ids.iter().map(|id| read::hash(keys::news(*id))).collect();
    let hashes = site.store.fetch(hashes).await?;
    let listed = hashes.into_iter().filter_map(|hash| {
        let news = News::from_hash(&hash).filter(|news| news.state().is_listed())?;
        Some(ItemWithArticle::of(news, &hash, now))
    });
    Ok(site.store.fetch(listed.collect::<Vec<_>>()).await?)
}

impl ItemWithArticle {
    /// An item, as it is stored, with its article.
    pub(super) fn of(
        news: News,
        stored: &Hash,
        now: Timestamp,
    ) -> impl Fetch<Value = Self, Asked: 'static> + use<> {
        let name = keys::article(news.id);
        let (ups, voted) = (keys::news_up(news.id), keys::voted(news.id));
        let week = Timestamp(news.ctime.0.saturating_add(OPEN_SECONDS)).as_score().next_down();
        let missing_in = |topic: &Topic| {
            let topic = topic.clone();
            let is_inside = read::has_member(keys::group(&topic), &name);
            is_inside.map(move |is_inside| (!is_inside).then_some(topic))
        };
        let reads = (
            read::hash(&name),
            [keys::ARTICLES_BY_TIME, keys::ARTICLES_BY_SCORE].map(|list| read::score(list, &name)),
            read::members(&voted),
            read::expiry(&voted),
            read::sorted_by_score(&ups, Order::Ascending, (f64::MIN, week), ALL),
            read::score(&ups, news.user_id.to_string()),
            news.topics.iter().map(missing_in).collect::<Vec<_>>(),
        );
        let [stored_title, stored_up] = ["title", "up"].map(|field| stored.get(field).map(str::to_owned));
        reads.map(move |(hash, [by_time, by_score], voted, expiry, ups, own_vote, missing_in)| Self {
            stored_title,
            stored_up,
            hash,
            by_time,
            by_score,
            voted: voted.into_iter().collect(),
            expiry,
            voters: ups.iter().filter_map(|(id, _)| Some(keys::user(id.parse().ok()?))).collect(),
            missing_in: missing_in.into_iter().flatten().collect(),
            open_seconds: open_for(news.ctime, now).map(|left| left.as_secs()),
            has_voters: own_vote.is_some(),
            news,
        })
    }

    /// The article as it should be.
    ///
    /// While votes count, it has the votes of all members of `voted:`, where other
    /// programs may have added some, and of all who voted the item up. After that it keeps
    /// its votes if they agree with its score; otherwise it has the votes up of the item's
    /// first week.
    fn expected(&self, address: &str) -> Article {
        let votes = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        // Votes of the site that the item was imported from count for ever.
        let imported = self.news.imported_votes.up.max(0);
        let within_week = votes(self.voters.len()).saturating_add(imported);
        let counted = match (self.open_seconds, Article::from_hash(self.news.id, &self.hash)) {
            (Some(_), _) => votes(self.voted.union(&self.voters).count()).saturating_add(imported),
            (None, Some(article)) if self.by_score == Some(article.score()) => article.votes.max(within_week),
            (None, _) => within_week,
        };
        Article::of(address, &self.news, counted)
    }

    fn differs(&self, address: &str) -> bool {
        let expected = self.expected(address);
        self.hash.0.len() != expected.fields().len()
            || expected.fields().iter().any(|(field, value)| self.hash.get(field) != Some(value))
            || self.by_time != Some(expected.time.as_score())
            || self.by_score != Some(expected.score())
            || !self.missing_in.is_empty()
            || self.voted_differs()
    }

    /// The stored article and the expected one, in words, where the two differ.
    pub(super) fn difference(&self, address: &str) -> Option<(String, String)> {
        if !self.differs(address) {
            return None;
        }
        let expected = self.expected(address);
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        let mut differ = |is: String, should: String| {
            if is != should {
                found.push(is);
                wanted.push(should);
            }
        };
        for (field, value) in expected.fields() {
            differ(
                format!("{field} {:?}", self.hash.get(field).unwrap_or_default()),
                format!("{field} {value:?}"),
            );
        }
        let place = |list: &str, score: Option<f64>| {
            score.map_or_else(|| format!("no place in {list}"), |score| format!("{score} in {list}"))
        };
        let (time, score) = (Some(expected.time.as_score()), Some(expected.score()));
        differ(place(keys::ARTICLES_BY_TIME, self.by_time), place(keys::ARTICLES_BY_TIME, time));
        differ(place(keys::ARTICLES_BY_SCORE, self.by_score), place(keys::ARTICLES_BY_SCORE, score));
        for topic in &self.missing_in {
            differ(format!("not in the topic {topic}"), format!("in the topic {topic}"));
        }
        if self.voters_differ() {
            differ("other voters".to_owned(), "the voters of the first week".to_owned());
        } else if self.expiry_differs() {
            differ("voters with another expiry".to_owned(), "voters until the end of the week".to_owned());
        }
        Some((found.join(", "), wanted.join(", ")))
    }

    fn voters_differ(&self) -> bool {
        self.open_seconds.is_some() && !self.voters.is_subset(&self.voted)
    }

    fn expiry_differs(&self) -> bool {
        match self.expiry {
            Expiry::Absent => false,
            Expiry::Never => true,
            Expiry::In(life) => life.as_secs() > self.open_seconds.unwrap_or(0) + LATE_EXPIRY,
        }
    }

    fn voted_differs(&self) -> bool {
        self.voters_differ() || self.expiry_differs()
    }

    /// The batch that makes the article what it should be.
    fn repair_batch(&self, address: &str) -> Batch {
        let expected = self.expected(address);
        let (news_key, name) = (keys::news(self.news.id), keys::article(self.news.id));
        let mut batch = Batch::new();
        self.news.check_state(&mut batch);
        let demanded = [
            (&news_key, "title", self.stored_title.as_ref()),
            (&news_key, "url", Some(&self.news.url)),
            (&news_key, "up", self.stored_up.as_ref()),
            (&news_key, "topics", self.news.stored_topics.as_ref()),
        ];
        for (key, field, value) in demanded {
            batch.field_unchanged(key, field, value);
        }
        batch.field_unchanged(&name, "votes", self.hash.get("votes"));
        batch.delete(&name);
        batch.set_fields(&name, expected.fields());
        batch.sorted_add(keys::ARTICLES_BY_TIME, &name, expected.time.as_score());
        batch.sorted_add(keys::ARTICLES_BY_SCORE, &name, expected.score());
        self.repair_voted(&mut batch);
        for topic in &self.missing_in {
            batch.member_absent(keys::group(topic), &name);
            batch.add_member(keys::group(topic), &name);
            batch.sorted_increment(keys::TOPICS, topic.as_str(), 1.0);
        }
        batch
    }

    fn repair_voted(&self, batch: &mut Batch) {
        if !self.voted_differs() {
            return;
        }
        let voted = keys::voted(self.news.id);
        let Some(left) = self.open_seconds else {
            batch.delete(voted);
            return;
        };
        self.voters.difference(&self.voted).for_each(|voter| batch.add_member(&voted, voter));
        if !matches!(self.expiry, Expiry::In(life) if life.as_secs() <= left) {
            batch.expire(voted, std::time::Duration::from_secs(left));
        }
    }
}

/// Makes an article what it should be. Returns whether it now is.
async fn repair_article(site: &Site, now: Timestamp, state: ItemWithArticle) -> Result<bool> {
    let id = state.news.id;
    if let Applied::Yes(_) = site.apply(state.repair_batch(&site.address)).await? {
        return Ok(true);
    }
    // The item has changed since it was read.
    site.act(&keys::news(id), || async {
        Ok(match read_states(site, now, &[id]).await?.pop().filter(|state| state.differs(&site.address)) {
            Some(state) => Decision::commit(state.repair_batch(&site.address), true),
            None => Decision::Done(true),
        })
    })
    .await
}

/// Makes the articles of some stories what they should be. Rounds: 2, and some for each that differs.
pub(crate) async fn mend(site: &Site, now: Timestamp, ids: &[NewsId]) -> Result<()> {
    // Where the votes on a story are lost, nobody knows how many the article has.
    let is_mendable = |state: &ItemWithArticle| state.has_voters && state.differs(&site.address);
    let states = read_states(site, now, ids).await?.into_iter().filter(is_mendable);
    let repairs = stream::iter(states.map(|state| repair_article(site, now, state)));
    repairs.buffer_unordered(REPAIRS_AT_ONCE).try_for_each(|_| ready(Ok(()))).await
}

/// Adds to a batch that an article is deleted, with its voters.
pub(crate) fn delete(batch: &mut Batch, id: NewsId) {
    batch.delete(keys::article(id));
    batch.delete(keys::voted(id));
}

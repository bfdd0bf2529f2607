//! Submitting, editing and deleting news.

use super::accounts::seconds_left;
use super::clock::Timestamp;
use super::comments::{self, Comment};
use super::error::{Error, Refusal};
use super::ids::{CommentId, NewsId};
use super::keys;
use super::news::{News, TEXT_SCHEME, write_rank};
use super::ranking;
use super::site::{Applied, Site};
use super::text::{Body, Title};
use super::urls::NewsUrl;
use super::users::User;
use crate::keyspace::{Batch, Expiry, Query};
use std::time::Duration;

/// What a user submits.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The title.
    pub title: Title,
    /// The link or the text.
    pub content: Content,
}

/// A link or a text.
#[derive(Debug, Clone)]
pub enum Content {
    /// A link, and the text that becomes the author's first comment, if any.
    Link(NewsUrl, Option<Body>),
    /// A text.
    Text(Body),
}

impl Submission {
    /// Reads a submission from its three fields.
    ///
    /// # Errors
    /// When a field is not acceptable, or there is neither URL nor text.
    pub fn parse(title: &str, url: &str, text: &str) -> Result<Self, Error> {
        let title = Title::parse(title)?;
        let content = match (url.trim().is_empty(), text.trim().is_empty()) {
            (true, true) => return Err(Refusal::NothingSubmitted.into()),
            (true, false) => Content::Text(Body::parse_text(text)?),
            (false, true) => Content::Link(NewsUrl::parse(url)?, None),
            (false, false) => Content::Link(NewsUrl::parse(url)?, Some(Body::parse_comment(text)?)),
        };
        Ok(Self { title, content })
    }
}

impl Content {
    /// What the field `url` stores.
    fn stored_url(&self) -> String {
        match self {
            Self::Link(url, _) => url.as_str().to_owned(),
            Self::Text(text) => format!("{TEXT_SCHEME}{}", text.as_str()),
        }
    }

    /// The keys under which the same URL may have been posted: as we store
    /// it, and as the original did. Empty for a text.
    fn url_keys(&self) -> Vec<String> {
        match self {
            Self::Link(url, _) => url_keys(url),
            Self::Text(_) => Vec::new(),
        }
    }
}

/// The keys under which a URL may have been posted: ours first, then the
/// exact URL, which is what the original used.
pub(super) fn url_keys(url: &NewsUrl) -> Vec<String> {
    let mut keys = vec![keys::url(&url.normalised())];
    let exact = keys::url(url.as_str());
    if !keys.contains(&exact) {
        keys.push(exact);
    }
    keys
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// A new item.
    New(NewsId),
    /// The same URL was posted recently: this earlier item.
    Earlier(NewsId),
}

impl Submitted {
    /// The item, new or earlier.
    #[must_use]
    pub const fn id(self) -> NewsId {
        match self {
            Self::New(id) | Self::Earlier(id) => id,
        }
    }
}

/// Submits an item, voted up by its author free of charge.
///
/// # Errors
/// [`Refusal::SubmittedRecently`], or the store's.
pub async fn submit_news(
    site: &Site,
    now: Timestamp,
    author: &User,
    submission: &Submission,
) -> Result<Submitted, Error> {
    let url_keys = posted_recently_keys(site, &submission.content);
    let home = url_keys.first().cloned().unwrap_or_else(|| keys::user(author.id));
    let mut attempts = site.attempts(&home);
    loop {
        attempts.next().await?;
        if let Some(earlier) = refuse_or_find_earlier(site, author, &url_keys).await? {
            return Ok(Submitted::Earlier(earlier));
        }
        let id = draw_id(site).await?;
        let mut batch = Batch::new();
        let unused = batch.key_absent(keys::news(id));
        insert(&mut batch, site, now, author, id, submission, &url_keys);
        match site.apply(batch).await? {
            Applied::Yes(_) => return Ok(Submitted::New(id)),
            Applied::No(check) if check == unused => {
                tracing::error!(counter = keys::NEWS_COUNT, %id, "this id is in use: the counter is behind");
            }
            Applied::No(_) => {}
        }
    }
}

/// The keys that guard against reposts; none when that limit is off.
fn posted_recently_keys(site: &Site, content: &Content) -> Vec<String> {
    if site.rules.limits.repost_seconds == 0 { Vec::new() } else { content.url_keys() }
}

async fn draw_id(site: &Site) -> Result<NewsId, Error> {
    let id = site.store.next_id(keys::NEWS_COUNT).await?;
    NewsId::try_from(id).map_err(|_| Error::Internal(format!("{} holds {id}", keys::NEWS_COUNT)))
}

async fn refuse_or_find_earlier(
    site: &Site,
    author: &User,
    url_keys: &[String],
) -> Result<Option<NewsId>, Error> {
    let mut query = Query::new();
    let earlier: Vec<_> = url_keys.iter().map(|key| query.string(key)).collect();
    let recent = query.expiry(keys::submitted_recently(author.id));
    let mut answers = site.store.query(query).await?;
    let earlier: Vec<Option<String>> = earlier.into_iter().map(|handle| answers.take(handle)).collect();
    if let Some(id) = earlier.into_iter().flatten().find_map(|id| id.parse().ok()) {
        return Ok(Some(id));
    }
    let recent = answers.take(recent);
    if is_limited(site, author) && recent != Expiry::Absent {
        return Err(Refusal::SubmittedRecently { seconds: seconds_left(recent) }.into());
    }
    Ok(None)
}

const fn is_limited(site: &Site, author: &User) -> bool {
    site.rules.limits.submission_seconds > 0 && !author.flags.admin
}

/// Adds all of a new item to a batch: the hash, the lists, the author's vote,
/// the guards, and the first comment.
fn insert(
    batch: &mut Batch,
    site: &Site,
    now: Timestamp,
    author: &User,
    id: NewsId,
    submission: &Submission,
    url_keys: &[String],
) {
    let limits = &site.rules.limits;
    for key in url_keys {
        batch.key_absent(key);
    }
    if is_limited(site, author) {
        let recent = keys::submitted_recently(author.id);
        batch.key_absent(&recent);
        batch.set_expiring(recent, "1", Duration::from_secs(limits.submission_seconds));
    }
    if let Some(key) = url_keys.first() {
        batch.set_expiring(key, id.to_string(), Duration::from_secs(limits.repost_seconds));
    }
    let first_comment = match &submission.content {
        Content::Link(_, comment) => comment.as_ref(),
        Content::Text(_) => None,
    };
    batch.set_fields(
        keys::news(id),
        [
            ("id", id.to_string()),
            ("title", submission.title.as_str().to_owned()),
            ("url", submission.content.stored_url()),
            ("user_id", author.id.to_string()),
            ("ctime", now.to_string()),
            ("up", "1".to_owned()),
            ("down", "0".to_owned()),
            ("comments", if first_comment.is_some() { "1" } else { "0" }.to_owned()),
        ],
    );
    let score = ranking::score(1, 0, &site.rules.ranking);
    write_rank(batch, id, score, ranking::rank(score, now, now, &site.rules.ranking));
    batch.sorted_add(keys::NEWS_CRON, id.to_string(), now.as_score());
    batch.sorted_add(keys::news_up(id), author.id.to_string(), now.as_score());
    batch.sorted_add(keys::user_saved(author.id), id.to_string(), now.as_score());
    batch.sorted_add(keys::user_posted(author.id), id.to_string(), now.as_score());
    if let Some(body) = first_comment {
        let comment_id = CommentId(1);
        let comment = Comment::new(comment_id, author.id, None, body, now);
        batch.set_field(keys::thread(id), comments::NEXT_ID, comment_id.to_string());
        comments::write_new(batch, id, &comment);
    }
}

/// Changes title and content of an item.
///
/// # Errors
/// [`Refusal::NoSuchNews`], the refusals of [`News::may_change`],
/// [`Refusal::UrlAndText`], [`Refusal::UrlPostedRecently`], or the store's.
pub async fn edit_news(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    id: NewsId,
    submission: &Submission,
) -> Result<(), Error> {
    if matches!(submission.content, Content::Link(_, Some(_))) {
        return Err(Refusal::UrlAndText.into());
    }
    let key = keys::news(id);
    let url = submission.content.stored_url();
    let new_keys = posted_recently_keys(site, &submission.content);
    let mut attempts = site.attempts(&key);
    loop {
        attempts.next().await?;
        let news = read_changeable(site, now, viewer, id).await?;
        let mut batch = unchanged_since(&news);
        if url != news.url {
            let old_keys = own_url_keys(site, &news).await?;
            refuse_url_of_others(site, &new_keys, &old_keys).await?;
            for new in new_keys.iter().filter(|key| !old_keys.contains(key)) {
                batch.key_absent(new);
            }
            for old in &old_keys {
                batch.string_equals(old, id.to_string());
                batch.delete(old);
            }
            if let Some(new) = new_keys.first() {
                let time_to_live = Duration::from_secs(site.rules.limits.repost_seconds);
                batch.set_expiring(new, id.to_string(), time_to_live);
            }
        }
        batch.set_fields(&key, [("title", submission.title.as_str()), ("url", url.as_str())]);
        if let Applied::Yes(_) = site.apply(batch).await? {
            return Ok(());
        }
    }
}

/// Deletes an item: it leaves the lists, its thread stays readable.
///
/// # Errors
/// [`Refusal::NoSuchNews`], the refusals of [`News::may_change`], or the store's.
pub async fn delete_news(site: &Site, now: Timestamp, viewer: &User, id: NewsId) -> Result<(), Error> {
    let key = keys::news(id);
    let mut attempts = site.attempts(&key);
    loop {
        attempts.next().await?;
        let news = read_changeable(site, now, viewer, id).await?;
        let mut batch = unchanged_since(&news);
        for old in own_url_keys(site, &news).await? {
            batch.string_equals(&old, id.to_string());
            batch.delete(old);
        }
        batch.set_field(&key, "del", "1");
        batch.sorted_remove(keys::NEWS_TOP, id.to_string());
        batch.sorted_remove(keys::NEWS_CRON, id.to_string());
        if let Applied::Yes(_) = site.apply(batch).await? {
            return Ok(());
        }
    }
}

/// An item that the viewer may change now.
async fn read_changeable(site: &Site, now: Timestamp, viewer: &User, id: NewsId) -> Result<News, Error> {
    let mut query = Query::new();
    let hash = query.hash(keys::news(id));
    let hash = site.store.query(query).await?.take(hash);
    let news = News::from_hash(&hash).ok_or(Refusal::NoSuchNews)?;
    news.may_change(viewer, now, site.rules.limits.news_edit_seconds)?;
    Ok(news)
}

/// A batch that holds only while nobody else edits or deletes the item.
fn unchanged_since(news: &News) -> Batch {
    let mut batch = Batch::new();
    batch.field_absent(keys::news(news.id), "del");
    batch.field_equals(keys::news(news.id), "url", &news.url);
    batch
}

/// The `url:` keys that point to this item now.
async fn own_url_keys(site: &Site, news: &News) -> Result<Vec<String>, Error> {
    let Ok(url) = NewsUrl::parse(&news.url) else {
        return Ok(Vec::new());
    };
    let own = news.id.to_string();
    let holders = read_holders(site, &url_keys(&url)).await?;
    Ok(holders.into_iter().filter(|(_, holder)| *holder == own).map(|(key, _)| key).collect())
}

async fn refuse_url_of_others(site: &Site, new_keys: &[String], own_keys: &[String]) -> Result<(), Error> {
    let holders = read_holders(site, new_keys).await?;
    if holders.iter().any(|(key, _)| !own_keys.contains(key)) {
        return Err(Refusal::UrlPostedRecently.into());
    }
    Ok(())
}

/// Which of the keys are present, with the item that each holds.
async fn read_holders(site: &Site, keys: &[String]) -> Result<Vec<(String, String)>, Error> {
    let mut query = Query::new();
    let reads: Vec<_> = keys.iter().map(|key| (key, query.string(key))).collect();
    let mut answers = site.store.query(query).await?;
    Ok(reads.into_iter().filter_map(|(key, read)| Some((key.clone(), answers.take(read)?))).collect())
}

//! Submitting, editing and deleting news.

mod editing;
pub mod preparing;
pub(crate) mod url_guards;
pub(crate) mod withdrawal;

pub(crate) use editing::{StoryChange, StoryText};
pub use editing::{delete_news, edit_news};

use crate::accounts::account::seconds_left;
use crate::accounts::actor::Actor;
use crate::accounts::origins::{self, Origin};
use crate::accounts::users::User;
use crate::action::Decision;
use crate::articles::article::{self, Article};
use crate::articles::ids::{self, DrawnIds};
use crate::articles::topics::TopicsRead;
use crate::comments::comment::{self, Comment};
use crate::comments::notify::Announcement;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::news::item::{TEXT_SCHEME, linked_site};
use crate::news::ranks::write_rank;
use crate::site::Site;
use crate::timelines::tweets::TweetDraft;
use crate::values::clock::{Moment, Timestamp};
use crate::values::ids::{CommentAddress, CommentId, NewsId, UserId};
use crate::values::ranking;
use crate::values::text::{Body, Title};
use crate::values::topic::Topics;
use crate::values::urls::NewsUrl;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Query};

/// A submission: a title, a link or text, and topics.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The title.
    pub title: Title,
    /// The link or text.
    pub content: SubmissionContent,
    /// The topics; `None` in an edit keeps those that the item has.
    pub topics: Option<Topics>,
}

/// A link or a text.
#[derive(Debug, Clone)]
pub enum SubmissionContent {
    /// A link, and the text that becomes the author's first comment, if any.
    Link(NewsUrl, Option<Body>),
    /// A text.
    Text(Body),
}

impl Submission {
    /// Parses a submission from its three fields.
    ///
    /// # Errors
    /// When a field is invalid, or there is neither URL nor text.
    pub fn parse(title: &str, url: &str, text: &str) -> Result<Self, Error> {
        let title = Title::parse(title)?;
        let content = match (url.trim().is_empty(), text.trim().is_empty()) {
            (true, true) => return Err(Refusal::NothingSubmitted.into()),
            (true, false) => SubmissionContent::Text(Body::parse_text(text)?),
            (false, true) => SubmissionContent::Link(NewsUrl::parse(url)?, None),
            (false, false) => SubmissionContent::Link(NewsUrl::parse(url)?, Some(Body::parse_comment(text)?)),
        };
        Ok(Self { title, content, topics: None })
    }

    /// The comment that the text of a link becomes.
    fn first_comment(&self, now: Timestamp, author: UserId) -> Option<Comment> {
        match &self.content {
            SubmissionContent::Link(_, Some(text)) => {
                Some(Comment::new(CommentId(1), author, None, text, now))
            }
            SubmissionContent::Link(_, None) | SubmissionContent::Text(_) => None,
        }
    }

    /// Checks that an item can be edited into this. A comment is not part of an item.
    ///
    /// # Errors
    /// [`Refusal::UrlAndText`].
    pub const fn check_edit(&self) -> Result<(), Refusal> {
        match self.content {
            SubmissionContent::Link(_, Some(_)) => Err(Refusal::UrlAndText),
            _ => Ok(()),
        }
    }
}

impl SubmissionContent {
    /// The link, if it is one.
    const fn link(&self) -> Option<&NewsUrl> {
        match self {
            Self::Link(url, _) => Some(url),
            Self::Text(_) => None,
        }
    }

    /// What the field `url` stores.
    fn stored_url(&self) -> String {
        match self {
            Self::Link(url, _) => url.as_str().to_owned(),
            Self::Text(text) => format!("{TEXT_SCHEME}{}", text.as_str()),
        }
    }
}

/// The outcome of a submission.
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

/// Submits an item, with a free vote up by its author. A tweet announces it to the author's
/// followers, unless the author has turned that off.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::SubmittedRecently`], [`Refusal::NewTopicNeedsKarma`], or the
/// store's.
pub async fn submit_news(
    site: &Site,
    now: Moment,
    author: Actor<'_>,
    submission: &Submission,
) -> Result<Submitted, Error> {
    author.demand_may_post(now.timestamp())?;
    author.demand_confirmed(site)?;
    let origin = Origin::of(site, author.address).await?;
    let author = author.user;
    let url_keys = submission.content.guard_keys(site);
    let home = url_keys.first().cloned().unwrap_or_else(|| keys::user(author.id));
    let submitted = site.act(&home, || async {
        let mut batch = Batch::new();
        let topics = submission.topics.clone().unwrap_or_default();
        let found = find_earlier_or_followers(site, author, &url_keys, &topics, &mut batch).await?;
        let followers = match found {
            RepostCheck::Earlier(earlier) => return Ok(Decision::Done((Submitted::Earlier(earlier), None))),
            RepostCheck::New { followers } => followers,
        };
        let DrawnIds { first: id, tweet } = ids::draw(site, 1, author.tweet_news).await?;
        let unused = batch.key_absent(keys::news(id));
        // Another program may have written it without drawing its number.
        let article_unused = batch.key_absent(keys::article(id));
        insert(&mut batch, site, now.timestamp(), author, id, submission, &url_keys);
        origins::write(origin.as_ref(), &mut batch, now.timestamp(), author.id);
        let article = new_article(site, now.timestamp(), author, id, submission);
        article::write_new(&mut batch, now.timestamp(), id, &article, [author.id].iter(), &topics);
        if let Some(comment) = submission.first_comment(now.timestamp(), author.id) {
            let address = CommentAddress { news: id, comment: comment.id };
            Announcement::of_first_comment(site, now, address, &comment).await?.write(&mut batch);
        }
        let tweet = tweet.map(|id| TweetDraft { id, now, author: author.id, followers });
        let mut account_there = None;
        if let Some(tweet) = &tweet {
            account_there = Some(tweet.write(&mut batch, site, submission.title.as_str(), Some(id)));
            batch.set_field(keys::news(id), "tweet_id", tweet.id.to_string());
        }
        Ok(Decision::commit(batch, (Submitted::New(id), tweet))
            .draws_unused(unused, keys::NEWS_COUNT, id)
            .draws_unused(article_unused, keys::ARTICLE_COUNT, id)
            .if_rejected_by(account_there, Err(Refusal::SessionEnded.into())))
    });
    let (submitted, tweet) = submitted.await?;
    if let Some(tweet) = tweet {
        tweet.begin(site);
    }
    Ok(submitted)
}

/// Whether the URL of a submission was posted recently.
enum RepostCheck {
    /// The same URL was posted recently: this item.
    Earlier(NewsId),
    /// No; the author has this many followers.
    New { followers: u64 },
}

/// Finds an earlier item with the same URL. Refuses an author who must wait, or who may not
/// create a topic. Rounds: 1.
async fn find_earlier_or_followers(
    site: &Site,
    author: &User,
    url_keys: &[String],
    topics: &Topics,
    batch: &mut Batch,
) -> Result<RepostCheck, Error> {
    let mut query = Query::new();
    let earlier: Vec<_> = url_keys.iter().map(|key| query.string(key)).collect();
    let recent = query.expiry(keys::submitted_recently(author.id));
    let followers = query.sorted_count(keys::followers(author.id));
    let known = TopicsRead::ask(&mut query, topics);
    let mut answers = site.store.query(query).await?;
    let mut earlier = earlier.into_iter().zip(url_keys).filter_map(|(handle, key)| {
        let id = answers.take(handle);
        fields::read_string(id.as_deref(), || key.clone())
    });
    if let Some(id) = earlier.next() {
        return Ok(RepostCheck::Earlier(id));
    }
    let recent = answers.take(recent);
    if is_limited(site, author) && recent != Expiry::Absent {
        return Err(Refusal::SubmittedRecently { seconds: seconds_left(recent) }.into());
    }
    known.demand(&mut answers, topics, site, author, batch)?;
    Ok(RepostCheck::New { followers: answers.take(followers) })
}

/// The article of a new item, with its author's vote.
fn new_article(site: &Site, now: Timestamp, author: &User, id: NewsId, submission: &Submission) -> Article {
    Article {
        title: submission.title.as_str().to_owned(),
        link: article::link(site, id, submission.content.link()),
        poster: keys::user(author.id),
        time: now,
        votes: 1,
    }
}

const fn is_limited(site: &Site, author: &User) -> bool {
    site.rules.limits.submission_seconds > 0 && !author.flags.admin
}

/// Adds a whole new item to a batch: the hash, the lists, the author's vote, the limits, and
/// the first comment.
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
    let first_comment = submission.first_comment(now, author.id);
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
    write_rank(batch, (id, now), score, ranking::rank(score, now, now, &site.rules.ranking));
    batch.sorted_add(keys::NEWS_CRON, id.to_string(), now.as_score());
    batch.sorted_add(keys::news_up(id), author.id.to_string(), now.as_score());
    batch.sorted_add(keys::user_saved(author.id), id.to_string(), now.as_score());
    batch.sorted_add(keys::user_posted(author.id), id.to_string(), now.as_score());
    if let Some(host) = linked_site(&submission.content.stored_url()) {
        batch.sorted_add(keys::host_news(&host), id.to_string(), now.as_score());
    }
    if let Some(comment) = first_comment {
        batch.set_field(keys::thread(id), comment::NEXT_ID, comment.id.to_string());
        comment::write_new(batch, id, &comment);
    }
}

//! Submitting, editing and deleting news.

mod editing;
pub(crate) mod held;
pub mod preparing;
pub(crate) mod url_guards;

pub use editing::{delete_news, edit_news};
pub(crate) use editing::{read_announcement, write_edit};

use crate::accounts::origins::{self, Origin};
use crate::accounts::users::DEACTIVATED;
use crate::accounts::{admission, origin_bans, trust};
use crate::articles::stories as stored;
use crate::articles::topics::KnownTopics;
use crate::comments::notify::CommentNotice;
use crate::draws::{Draw, NEXT_ID, Sequence};
use crate::news::item::TEXT_SCHEME;
use crate::post_rules::CheckedPost;
use crate::rates::counted::Limited;
use crate::submissions::url_guards::Holders;
use crate::timelines::tweets::{Audience, TweetDraft};
use crate::values::{
    Body, CommentAddress, CommentId, Deed, ItemNumber, Moment, NewsId, NewsUrl, Timestamp, Title, Topics,
    TweetId, UserId,
};
use crate::{
    Actor, Comment, CountedAction, Decision, Item, KeptAnswer, News, Refusal, Result, Site, User, hooks,
    items, keys, records,
};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, read};
use tidings_text::stored_text::StoredText;

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
    pub fn parse(title: &str, url: &str, text: &str) -> Result<Self> {
        let title = Title::parse(title)?;
        let content = match (url.trim().is_empty(), text.trim().is_empty()) {
            (true, true) => return Err(Refusal::NothingSubmitted.into()),
            (true, false) => SubmissionContent::Text(Body::parse_text(text)?),
            (false, true) => SubmissionContent::Link(NewsUrl::parse(url)?, None),
            (false, false) => SubmissionContent::Link(NewsUrl::parse(url)?, Some(Body::parse_comment(text)?)),
        };
        Ok(Self { title, content, topics: None })
    }

    /// The parts that the rules for posts are matched against.
    fn checked(&self) -> CheckedPost<'_> {
        let (url, text) = match &self.content {
            SubmissionContent::Link(url, text) => {
                (Some(url.as_str()), text.as_ref().map_or("", Body::as_str))
            }
            SubmissionContent::Text(text) => (None, text.as_str()),
        };
        CheckedPost { texts: [StoredText::Line(self.title.as_str()), StoredText::Formatted(text)], url }
    }

    /// The text of the story, or of its first comment.
    fn text(&self) -> StoredText<'_> {
        let [_, text] = self.checked().texts;
        text
    }

    /// The comment that the text of a link becomes.
    fn first_comment(&self, now: Timestamp, author: UserId, news: NewsId) -> Option<Comment> {
        match &self.content {
            SubmissionContent::Link(_, Some(text)) => {
                let address = CommentAddress { news, comment: CommentId(1) };
                Some(Comment::new((address, None), author, text, now))
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

    /// The same as an edit of a story by a moderator.
    ///
    /// # Errors
    /// [`Refusal::UrlAndText`].
    pub fn as_edit(&self) -> Result<Deed, Refusal> {
        self.check_edit()?;
        let (url, text) = match &self.content {
            SubmissionContent::Link(url, _) => (Some(url.clone()), None),
            SubmissionContent::Text(text) => (None, Some(text.clone())),
        };
        Ok(Deed::Edit { title: Some(self.title.clone()), topics: self.topics.clone(), url, text })
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

    /// The value of the field `url`.
    fn stored_url(&self) -> String {
        match self {
            Self::Link(url, _) => url.as_str().to_owned(),
            Self::Text(text) => format!("{TEXT_SCHEME}{}", text.as_str()),
        }
    }
}

/// The outcome of a submission or of a change of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// A new item, or one that was changed.
    New(NewsId),
    /// A new item that waits for a moderator.
    Held(NewsId),
    /// The same URL was posted recently: this earlier item.
    Earlier(NewsId),
}

impl Submitted {
    /// The item, new or earlier.
    pub const fn id(self) -> NewsId {
        match self {
            Self::New(id) | Self::Held(id) | Self::Earlier(id) => id,
        }
    }
}

impl KeptAnswer for Submitted {
    fn to_text(&self) -> String {
        let what = match self {
            Self::New(_) => "new",
            Self::Held(_) => "held",
            Self::Earlier(_) => "earlier",
        };
        (what.to_owned(), self.id()).to_text()
    }

    fn from_text(text: &str) -> Option<Self> {
        let (what, id) = <(String, NewsId)>::from_text(text)?;
        match what.as_str() {
            "new" => Some(Self::New(id)),
            "held" => Some(Self::Held(id)),
            "earlier" => Some(Self::Earlier(id)),
            _ => None,
        }
    }
}

/// Submits an item, with a free vote up by its author. A tweet announces it to the author's
/// followers, unless the author has turned that off.
///
/// # Errors
/// [`Refusal::Silenced`], [`Refusal::SubmittedRecently`], [`Refusal::NewTopicNeedsKarma`],
/// [`Refusal::TooManyLinks`], [`Refusal::RefusedByRule`], or the store's.
pub async fn submit_news(
    site: &Site,
    now: Moment,
    author: Actor<'_>,
    submission: &Submission,
) -> Result<Submitted> {
    author.demand_may_post(now.timestamp())?;
    author.demand_confirmed(site)?;
    origin_bans::demand_may_post(site, now.timestamp(), &author).await?;
    let origin = Origin::of(site, author.address).await?;
    let author = author.user;
    trust::refuse_many_links(site, now.timestamp(), author, submission.text())?;
    let waits = admission::admit(site, now.timestamp(), author, submission.checked()).await?;
    let url_keys = submission.content.link().map(|url| url_guards::keys_of(site, url)).unwrap_or_default();
    let home = url_keys.first().cloned().unwrap_or_else(|| keys::user(author.id));
    let is_announced = site.rules.features.timelines && author.tweet_news && waits.is_none();
    let has_comment = matches!(submission.content, SubmissionContent::Link(_, Some(_)));
    let draw = Draw::new([
        (Sequence::Stories, 1),
        (Sequence::Items, 1 + u64::from(has_comment)),
        (Sequence::Tweets, u64::from(is_announced)),
    ]);
    let submitted = site.act(&home, || async {
        let mut batch = Batch::new();
        let topics = submission.topics.clone().unwrap_or_default();
        let author_is = (author, trust::is_trusted(site, now.timestamp(), author));
        let reads = (&url_keys[..], draw.stored());
        let found = find_earlier_or_audience(site, author_is, reads, &topics, &mut batch).await?;
        let (audience, holders, counters) = match found {
            RepostCheck::Earlier(earlier) => {
                let submitted = Submitted::Earlier(earlier);
                return Decision::Done((submitted, None)).once(author.request.as_ref(), &submitted);
            }
            RepostCheck::New { audience, holders, counters } => (audience, holders, counters),
        };
        let [id, item, tweet] = draw.take(site, &counters, &mut batch).await?;
        let id = NewsId(id);
        items::write(&mut batch, Item::Story(id), ItemNumber(item));
        let first_comment = submission.first_comment(now.timestamp(), author.id, id);
        if let Some(comment) = &first_comment {
            items::write(&mut batch, Item::Comment(comment.address()), ItemNumber(item + 1));
        }
        // First, so that somebody who has left is told that.
        let account_there = batch.field_absent(keys::user(author.id), DEACTIVATED);
        guard_against_reposts(&mut batch, site, id, submission.content.link(), &holders);
        origins::write(origin.as_ref(), &mut batch, now.timestamp(), author.id);
        let text = (submission.title.as_str(), submission.content.stored_url());
        let mut news = News::new(id, author.id, text, topics, now.timestamp());
        if let Some(reason) = &waits {
            let unused = held::write(&mut batch, news, first_comment, reason);
            // Another program may have written it without drawing its number.
            let article_unused = batch.key_absent(keys::article(id));
            return Decision::commit(batch, (Submitted::Held(id), None))
                .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
                .draws_unused(unused, keys::NEWS_COUNT, id)
                .draws_unused(article_unused, keys::ARTICLE_COUNT, id)
                .once(author.request.as_ref(), &Submitted::Held(id));
        }
        let draft = |id| TweetDraft::new(id, now, author.id, audience);
        let tweet = is_announced.then_some(TweetId(tweet)).map(draft);
        if let Some(tweet) = &tweet {
            tweet.write(&mut batch, site, submission.title.as_str(), Some(id));
            news.tweet_id = Some(tweet.tweet.id);
        }
        news.rank_anew(now.timestamp(), &site.rules.ranking);
        let unused = stored::add(&mut batch, &news);
        let voters = [(author.id, now.timestamp())];
        let article_unused = stored::publish(&mut batch, (site, now.timestamp()), &news, &voters);
        hooks::write(&mut batch, &hooks::Event::Story(id));
        if let Some(comment) = &first_comment {
            write_first(&mut batch, comment);
            CommentNotice::of_first_comment(site, now, comment).await?.write(&mut batch);
            hooks::write(&mut batch, &hooks::Event::Comment(comment.address()));
        }
        Decision::commit(batch, (Submitted::New(id), tweet))
            .draws_unused(unused, keys::NEWS_COUNT, id)
            .draws_unused(article_unused, keys::ARTICLE_COUNT, id)
            .if_rejected_by(account_there, Err(Refusal::SessionEnded.into()))
            .once(author.request.as_ref(), &Submitted::New(id))
    });
    let (submitted, tweet) = submitted.await?;
    if let Some(tweet) = tweet {
        tweet.begin(site);
    }
    if !matches!(submitted, Submitted::Earlier(_)) {
        site.count(CountedAction::Story);
    }
    Ok(submitted)
}

/// Whether the URL of a submission was posted recently.
enum RepostCheck {
    /// The same URL was posted recently: this item.
    Earlier(NewsId),
    /// No; whom an announcement of the author reaches, what has the URL unseen, and the counters of numbers.
    New { audience: Audience, holders: Holders, counters: Vec<Option<String>> },
}

/// Finds an earlier item with the same URL. Refuses an author who must wait, or who may not
/// create a topic. Rounds: 1; 2 if there is one.
async fn find_earlier_or_audience(
    site: &Site,
    (author, is_trusted): (&User, bool),
    (url_keys, counters): (&[String], impl Fetch<Value = Vec<Option<String>>>),
    topics: &Topics,
    batch: &mut Batch,
) -> Result<RepostCheck> {
    let earlier: Vec<_> = url_keys.iter().map(read::string).collect();
    let recent = Limited::Stories(author.id).counted(&site.rules);
    let reads = (earlier, recent, Audience::of(author.id), KnownTopics::among(topics), counters);
    let (earlier, recent, audience, known, counters) = site.store.fetch(reads).await?;
    let held = earlier.into_iter().zip(url_keys);
    let held = held.filter_map(|(id, key)| Some((key.clone(), id?))).collect();
    let holders = Holders::read(site, author, None, held).await?;
    if let Some(id) = holders.earlier {
        return Ok(RepostCheck::Earlier(id));
    }
    if !author.is_administrator() {
        recent.demand(|seconds| Refusal::SubmittedRecently { seconds })?;
        recent.add(batch);
    }
    known.demand(site, (author, is_trusted), batch)?;
    Ok(RepostCheck::New { audience, holders, counters })
}

/// Adds to a batch what keeps others from submitting the same URL.
fn guard_against_reposts(
    batch: &mut Batch,
    site: &Site,
    id: NewsId,
    link: Option<&NewsUrl>,
    holders: &Holders,
) {
    let limits = &site.rules.limits;
    if let Some(link) = link.filter(|_| limits.repost_seconds > 0) {
        keys::urls(link).iter().for_each(|key| holders.demand_free(batch, key));
        url_guards::hold(batch, link, id, Duration::from_secs(limits.repost_seconds));
    }
}

/// Adds the first comment of a new item to a batch.
fn write_first(batch: &mut Batch, comment: &Comment) {
    batch.set_field(keys::thread(comment.news), NEXT_ID, comment.id.to_string());
    records::add(batch, [comment]);
}

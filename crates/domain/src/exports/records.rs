//! The records of an export, by kind. The names of the fields are those of `data.json`.

use crate::accounts::OpenSession;
use crate::news::item::Direction;
use crate::values::{
    Choice, CommentAddress, CommentId, Hostname, MessageThreadId, ModerationId, NewsId, RestrictionKind,
    Timestamp, TweetId, UserId, Withheld,
};
use crate::{Comment, News, Tweet, User};
use serde::Serialize;
use serde_with::skip_serializing_none;
use tidings_keyspace::Hash;

/// The profile and the settings.
#[derive(Debug, Default, Serialize)]
pub struct AccountRecord {
    /// The number of the account.
    pub id: UserId,
    /// The username.
    pub username: String,
    /// The full name; may be empty.
    pub fullname: String,
    /// The text of the profile.
    pub about: String,
    /// The e-mail address; may be empty.
    pub email: String,
    /// The address that the user has confirmed; may be empty.
    pub confirmed_email: String,
    /// The address that takes the place of `email` once it is confirmed; may be empty.
    pub new_email: String,
    /// How many mails the address has refused, one after the other.
    pub mail_refused: u64,
    /// When the account was created.
    pub created: Timestamp,
    /// The last visit, to a quarter of an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_visit: Option<Timestamp>,
    /// Karma.
    pub karma: i64,
    /// The rights of the account, as letters.
    pub flags: String,
    /// The restrictions by moderators, in force or ended.
    pub restrictions: Vec<RestrictionRecord>,
    /// The settings.
    pub settings: SettingsRecord,
}

/// The user's choices on the settings page.
#[derive(Debug, Default, Serialize)]
pub struct SettingsRecord {
    /// Whether a tweet announces each submission.
    pub tweet_news: bool,
    /// Whether the picture may come from gravatar.com.
    pub gravatar: bool,
    /// Whether replies are mailed.
    pub mail_replies: bool,
    /// How often a digest is mailed.
    pub digest: &'static str,
    /// The order of comments.
    pub sort_comments: &'static str,
    /// Whether single keys are shortcuts.
    pub shortcuts: &'static str,
    /// Whether lists show what others have hidden.
    pub show_hidden: bool,
    /// The colours of pages.
    pub theme: &'static str,
    /// The size of text on pages.
    pub text_size: &'static str,
    /// Whether the inbox has a feed. Its address is a secret.
    pub inbox_feed: bool,
}

impl AccountRecord {
    /// A user, as the fields are stored. Only fields that are named here are exported, so that no
    /// secret is that is added later.
    pub(super) fn of(user: &User, stored: &Hash) -> Self {
        let preferences = user.preferences;
        Self {
            id: user.id,
            username: user.username.clone(),
            fullname: user.fullname.clone(),
            about: user.about.clone(),
            email: user.email.clone(),
            confirmed_email: user.confirmed_email.clone(),
            new_email: user.new_email.clone(),
            mail_refused: user.mail_refused,
            created: user.ctime,
            last_visit: user.seen_time,
            karma: user.karma,
            flags: stored.get("flags").unwrap_or_default().to_owned(),
            restrictions: RestrictionRecord::of(user),
            settings: SettingsRecord {
                tweet_news: user.tweet_news,
                gravatar: user.gravatar,
                mail_replies: preferences.mail_replies,
                digest: preferences.digest.name(),
                sort_comments: preferences.sort_comments.name(),
                shortcuts: preferences.shortcuts.name(),
                show_hidden: stored.get("show_hidden") == Some("1"),
                theme: preferences.theme.name(),
                text_size: preferences.text_size.name(),
                inbox_feed: !user.inbox_feed.expose().is_empty(),
            },
        }
    }
}

/// One thing in a list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// A story that the account submitted.
    Story(StoryRecord),
    /// A comment that it wrote.
    Comment(CommentRecord),
    /// A tweet that it posted.
    Tweet(TweetRecord),
    /// A vote that it cast.
    Vote(VoteRecord),
    /// A flag that it set.
    Flag(FlagRecord),
    /// A story on a list of the account.
    Listed(ListedRecord),
    /// A topic on a list of the account.
    Topic(TopicRecord),
    /// A person, a site or a word that it has muted.
    Mute(MuteRecord),
    /// A person whom it follows, has blocked or invited, or who follows it.
    Person(PersonRecord),
    /// An entry of the inbox.
    Inbox(InboxRecord),
    /// A message to or from the moderators.
    Message(MessageRecord),
    /// An open session.
    Session(OpenSession),
}

/// A story of the account's own.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct StoryRecord {
    /// The number.
    pub id: NewsId,
    /// When it was submitted.
    pub time: Timestamp,
    /// The title, unless it is deleted.
    pub title: Option<String>,
    /// The address that it links to, unless it is a text or deleted.
    pub url: Option<String>,
    /// The text, unless it is a link or deleted.
    pub text: Option<String>,
    /// The topics.
    pub topics: Vec<String>,
    /// Votes up.
    pub up: i64,
    /// Votes down.
    pub down: i64,
    /// Comments.
    pub comments: u64,
    /// Whether it is deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<String>,
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

fn reason(withheld: Option<&Withheld>) -> Option<String> {
    withheld.map(ToString::to_string)
}

impl From<News> for StoryRecord {
    fn from(news: News) -> Self {
        let [up, down] = news.votes();
        let is_text = news.text().is_some();
        let text = news.text().filter(|text| !news.deleted && !text.is_empty()).map(str::to_owned);
        Self {
            id: news.id,
            time: news.ctime,
            topics: news.topics.iter().map(ToString::to_string).collect(),
            up,
            down,
            comments: news.comments,
            deleted: news.deleted,
            withheld: reason(news.withheld.as_ref()),
            text,
            title: (!news.deleted).then_some(news.title),
            url: (!news.deleted && !is_text).then_some(news.url),
        }
    }
}

/// A comment of the account's own.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct CommentRecord {
    /// The story that it is on.
    pub news_id: NewsId,
    /// The number in the thread.
    pub comment_id: CommentId,
    /// The comment that it replies to; missing for one on the story itself.
    pub parent_id: Option<CommentId>,
    /// When it was written.
    pub time: Timestamp,
    /// The title of the story, if everybody may see it.
    pub title: Option<String>,
    /// The text, unless it is deleted.
    pub text: Option<String>,
    /// Votes up.
    pub up: i64,
    /// Votes down.
    pub down: i64,
    /// `moderator` if it was written as one.
    #[serde(rename = "as")]
    pub spoken_as: Option<&'static str>,
    /// Whether it is deleted.
    #[serde(skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<String>,
}

impl CommentRecord {
    pub(super) fn new(address: CommentAddress, comment: Comment, title: Option<String>) -> Self {
        let [up, down] = comment.votes();
        Self {
            news_id: address.news,
            comment_id: address.comment,
            parent_id: comment.parent_id,
            time: comment.ctime,
            title,
            up,
            down,
            spoken_as: comment.speaks_as_moderator.then_some("moderator"),
            deleted: comment.deleted,
            withheld: reason(comment.withheld.as_ref()),
            text: (!comment.deleted).then_some(comment.body),
        }
    }
}

/// A tweet of the account's own.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct TweetRecord {
    /// The number.
    pub id: TweetId,
    /// When it was posted.
    pub time: Timestamp,
    /// The text.
    pub text: String,
    /// The story that it announces.
    pub news_id: Option<NewsId>,
    /// Why readers do not see it, if they do not.
    pub withheld: Option<String>,
}

impl From<Tweet> for TweetRecord {
    fn from(tweet: Tweet) -> Self {
        Self {
            id: tweet.id,
            time: Timestamp::from_score(tweet.created_at),
            news_id: tweet.news_id,
            withheld: reason(tweet.withheld.as_ref()),
            text: tweet.text,
        }
    }
}

/// The kind of thing that a vote is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VotedKind {
    /// A story.
    Story,
    /// A comment.
    Comment,
    /// A site.
    Site,
}

/// A vote of the account.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
pub struct VoteRecord {
    /// The kind of thing that it is on.
    pub kind: VotedKind,
    /// The number of a story, `7-3` for comment 3 of story 7, or the name of a site.
    pub id: String,
    /// The vote.
    pub vote: Direction,
    /// When it was cast; not known of votes on comments.
    pub time: Option<Timestamp>,
    /// The title of a story that everybody may see.
    pub title: Option<String>,
}

impl VoteRecord {
    pub(super) fn on_comment(address: CommentAddress, direction: Direction) -> Self {
        let id = address.to_string();
        Self { kind: VotedKind::Comment, id, vote: direction, time: None, title: None }
    }

    pub(super) fn on_site(host: &Hostname, vote: Direction, time: Timestamp) -> Self {
        let id = host.as_str().to_owned();
        Self { kind: VotedKind::Site, id, vote, time: Some(time), title: None }
    }
}

/// A story on a list of the account.
#[derive(Debug, Serialize)]
pub struct ListedRecord {
    /// The story.
    pub news_id: NewsId,
    /// Since when it is on the list, or when the thread was read last.
    pub time: Timestamp,
    /// The title, if everybody may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// A restriction of the account by moderators.
#[derive(Debug, Serialize)]
pub struct RestrictionRecord {
    /// `banned`, `silenced`, `held` (posts wait for approval) or `discounted` (votes do not count).
    pub kind: &'static str,
    /// When it ends; missing if it does not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why.
    pub reason: String,
    /// The line of the moderation log.
    pub moderation_id: ModerationId,
}

impl RestrictionRecord {
    fn of(user: &User) -> Vec<Self> {
        let record = |kind: RestrictionKind| {
            let restriction = user.restrictions.stored(kind)?;
            Some(Self {
                kind: kind.field(),
                until: restriction.until,
                reason: restriction.reason.to_string(),
                moderation_id: restriction.moderation,
            })
        };
        RestrictionKind::ALL.into_iter().filter_map(record).collect()
    }
}

/// A flag of the account.
#[derive(Debug, Serialize)]
pub struct FlagRecord {
    /// The kind of what is flagged.
    pub kind: &'static str,
    /// Which one it is.
    pub id: String,
    /// Why.
    pub reason: &'static str,
    /// The account's note to the moderators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When.
    pub time: Timestamp,
}

/// A topic on a list of the account.
#[derive(Debug, Serialize)]
pub struct TopicRecord {
    /// The name.
    pub topic: String,
    /// Since when.
    pub since: Timestamp,
}

/// A person, a site or a word that the account has muted.
#[derive(Debug, Serialize)]
pub struct MuteRecord {
    /// `user`, `domain` or `word`.
    pub what: String,
    /// The username, the site or the word.
    pub value: String,
    /// Since when.
    pub since: Timestamp,
}

/// A person whom the account follows, has blocked or invited, or who follows it.
#[derive(Debug, Serialize)]
pub struct PersonRecord {
    /// The username.
    pub username: String,
    /// Since when.
    pub since: Timestamp,
}

/// An entry of the inbox. The comments and tweets of others that it is about are theirs: only
/// messages of moderators have their text here.
#[derive(Debug, Serialize)]
pub struct InboxRecord {
    /// The subject of the entry.
    pub id: String,
    /// Why it is in the inbox.
    pub kind: &'static str,
    /// When it arrived.
    pub time: Timestamp,
    /// Whether it is read.
    pub read: bool,
    /// The text of a message of a moderator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A message that the account wrote to the moderators, or their answer.
#[derive(Debug, Serialize)]
pub struct MessageRecord {
    /// The thread.
    pub thread_id: MessageThreadId,
    /// The number of the message in the thread.
    pub message_id: u64,
    /// The author; missing for the moderators together, and after a deactivation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// When.
    pub time: Timestamp,
    /// The text.
    pub text: String,
}

//! Contributions: stories, comments and tweets, and profiles as far as they are like them. Flags, the
//! review queue, moderation and undo treat them alike, with what is here.

pub(crate) mod erasing;
pub(crate) mod store_rules;

use crate::accounts::people::holder;
use crate::accounts::{Perspective, ProfileTexts, ShownIn};
use crate::articles::stories::StoredStory;
use crate::comments::comment::StoredComment;
use crate::jobs::Job;
use crate::post_state::Moderated;
use crate::records::{self, AsRead};
use crate::submissions::read_announcement;
use crate::timelines::stored as tweets;
use crate::timelines::tweets::TweetDraft;
use crate::values::{
    Closed, CommentAddress, ModerationId, Moment, NewsId, PostKind, PostState, QUEUE_TEXT, RemovedBy, Thing,
    Timestamp, UserId, Withheld,
};
use crate::{Comment, Error, News, NothingToDo, Refusal, Result, Site, Tweet, User, fields, keys};
use tidings_keyspace::{Batch, Boxed, Fetch, Hash, read};
use tidings_language::t;

/// The characters of a text that a message to its author repeats.
const EXCERPT: usize = 60;

/// Something that a person has written, as stored.
pub(crate) enum Contribution {
    /// A story.
    Story(Box<StoredStory>),
    /// A comment, with its story.
    Comment(Box<StoredComment>),
    /// A tweet.
    Tweet(Box<AsRead<Tweet>>),
    /// A person's text about themselves.
    Profile(Box<User>),
}

impl Contribution {
    /// A post, also a deleted one, or the refusal for a missing item; [`Refusal::CannotBeFlagged`] for other things.
    pub(crate) fn of_post(thing: &Thing) -> Boxed<'static, Result<Self, Refusal>> {
        match thing {
            Thing::Story(id) => {
                let story =
                    |story: Option<StoredStory>| Ok(Self::Story(story.ok_or(Refusal::NoSuchNews)?.into()));
                StoredStory::by_id(*id).map(story).boxed()
            }
            Thing::Comment(address) => {
                StoredComment::at(*address).map(|stored| Ok(Self::Comment(stored?.into()))).boxed()
            }
            Thing::Tweet(id) => {
                let tweet = |tweet: Option<_>| Ok(Self::Tweet(Box::new(tweet.ok_or(Refusal::NoSuchTweet)?)));
                tweets::by_id(*id).map(tweet).boxed()
            }
            _ => read::known(Err(Refusal::CannotBeFlagged(thing.clone()))).boxed(),
        }
    }

    /// Reads it. Rounds: 1; 2 for a person.
    ///
    /// # Errors
    /// The refusal for a missing or deleted item; [`Refusal::CannotBeFlagged`] for other
    /// kinds; or the store's.
    pub(crate) async fn read(site: &Site, thing: &Thing) -> Result<Self> {
        if let Thing::User(name) = thing {
            return Ok(Self::Profile(Box::new(person_named(site, name).await?.0)));
        }
        let found = site.store.fetch(Self::of_post(thing)).await??;
        let PostState { kind, deleted, .. } = found.state();
        if deleted { Err(Refusal::Closed(kind, Closed::Deleted).into()) } else { Ok(found) }
    }

    /// Reads it; `None` where [`Contribution::read`] refuses.
    pub(crate) async fn find(site: &Site, thing: &Thing) -> Result<Option<Self>> {
        unless_refused(Self::read(site, thing).await)
    }

    /// Refuses what readers do not see.
    ///
    /// # Errors
    /// [`Refusal::RemovedAlready`], or the refusal for a missing item.
    pub(crate) fn demand_shown(&self) -> Result<(), Refusal> {
        let of_story = match self {
            Self::Comment(stored) => Some(stored.news.state()),
            Self::Story(_) | Self::Tweet(_) | Self::Profile(_) => None,
        };
        let secret = of_story.into_iter().chain([self.state()]).find(PostState::is_secret);
        secret.map_or(Ok(()), |state| Err(Refusal::no_such(state.kind)))?;
        self.demand_not_removed()
    }

    /// Refuses what is removed already, erased, or merged into another story.
    ///
    /// # Errors
    /// [`Refusal::RemovedAlready`], [`Refusal::ErasedAlready`] and [`Refusal::Closed`].
    pub(crate) fn demand_not_removed(&self) -> Result<(), Refusal> {
        match self.state().closed() {
            Some(Closed::Removed) => Err(Refusal::RemovedAlready),
            Some(Closed::Erased) => Err(Refusal::ErasedAlready),
            Some(merged @ Closed::Merged(_)) => Err(Refusal::Closed(PostKind::Story, merged)),
            Some(Closed::Held | Closed::Deleted) | None => Ok(()),
        }
    }

    /// Refuses what does not wait for approval.
    ///
    /// # Errors
    /// [`Refusal::NothingToModerate`].
    pub(crate) fn demand_held(&self) -> Result<(), Refusal> {
        match self.withheld().is_some_and(Withheld::is_held) {
            true => Ok(()),
            false => Err(Refusal::NothingToModerate(NothingToDo::NotHeld)),
        }
    }

    /// Adds to a batch that it leaves all lists by a line of the log, for a reason that is its new state. The tweet that
    /// announces a story goes along. Rounds: at most 1.
    ///
    /// # Errors
    /// [`Refusal::CannotBeFlagged`] for a profile, or the store's.
    pub(crate) async fn remove(
        &self,
        (site, now): (&Site, Moment),
        batch: &mut Batch,
        (line, state): (ModerationId, Withheld),
    ) -> Result<()> {
        match self {
            Self::Profile(user) => return Err(cannot_be_flagged(user).into()),
            Self::Story(story) if story.state().is_open() => {
                if let Some(tweet) = read_announcement(site, story).await?.filter(|it| it.state().is_listed())
                {
                    let reason = state.reason().unwrap_or(t!("its story was merged into another"));
                    let removed = tweet.changed(|tweet| tweet.remove(line, Withheld::Removed(reason.into())));
                    tweets::change(batch, &tweet, &removed);
                }
            }
            Self::Story(_) | Self::Comment(_) | Self::Tweet(_) => {}
        }
        self.change(batch, (site, now.timestamp()), |post| post.remove(line, state));
        Ok(())
    }

    /// Adds to a batch that a post has another state. The batch fails if it has changed meanwhile.
    fn change(
        &self,
        batch: &mut Batch,
        (site, now): (&Site, Timestamp),
        change: impl FnOnce(&mut dyn Moderated),
    ) {
        match self {
            Self::Story(story) => story.change_with(batch, (site, now), |news| change(news)),
            Self::Comment(stored) => {
                let after = stored.comment.changed(|comment| change(comment));
                records::change(batch, &stored.comment, &after);
            }
            Self::Tweet(tweet) => tweets::change(batch, tweet, &tweet.changed(|tweet| change(tweet))),
            Self::Profile(_) => {}
        }
    }

    /// The decision that removed it.
    ///
    /// # Errors
    /// [`Refusal::NothingToModerate`] if it is not removed, or was rejected before anybody saw it.
    pub(crate) fn removal(&self) -> Result<&RemovedBy, Refusal> {
        if !self.withheld().is_some_and(Withheld::is_removed) {
            return Err(Refusal::NothingToModerate(NothingToDo::NotRemoved));
        }
        let removed = match self {
            Self::Story(story) => story.removed.as_deref(),
            Self::Comment(stored) => stored.comment.removed.as_deref(),
            Self::Tweet(tweet) => tweet.removed.as_deref(),
            Self::Profile(_) => None,
        };
        removed.ok_or(Refusal::NothingToModerate(NothingToDo::RejectedUnseen))
    }

    /// Adds to a batch that it is as it was before its removal. The tweet that went with a story comes back with it.
    /// Returns the job to start once the batch is applied. Rounds: at most 2.
    ///
    /// # Errors
    /// [`Refusal::NoSuchTweet`] for the tweet of an account that is gone, [`Refusal::CannotBeFlagged`] for a
    /// profile, or the store's.
    pub(crate) async fn put_back(
        &self,
        (site, now): (&Site, Moment),
        batch: &mut Batch,
    ) -> Result<Option<Job>> {
        let tweet = match self {
            Self::Story(story) => {
                let mut news = News::clone(story);
                news.put_back();
                let returns = news.state().is_open();
                story.change(batch, site, now.timestamp(), news);
                let line = story.removed.as_ref().map(|removed| removed.line);
                let tweet = if returns { read_announcement(site, story).await? } else { None };
                tweet.filter(|tweet| tweet.removed.as_ref().map(|removed| removed.line) == line)
            }
            Self::Comment(_) => {
                self.change(batch, (site, now.timestamp()), |comment| comment.put_back());
                None
            }
            Self::Tweet(tweet) => Some(AsRead::clone(tweet)),
            Self::Profile(user) => return Err(cannot_be_flagged(user).into()),
        };
        let Some(tweet) = tweet else { return Ok(None) };
        let after = tweet.changed(Moderated::put_back);
        if !after.state().is_listed() {
            tweets::change(batch, &tweet, &after);
            return Ok(None);
        }
        match TweetDraft::of_stored(site, now, (tweet, after)).await {
            Ok(draft) => {
                draft.write(batch, site, &draft.tweet.text, draft.tweet.news_id);
                Ok(draft.delivery(site))
            }
            // The tweet that announced a story has gone with the account.
            Err(Error::Refused(_)) if matches!(self, Self::Story(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The comment that it replies to, if it is one that does.
    pub(crate) fn answered(&self) -> Option<CommentAddress> {
        let Self::Comment(stored) = self else { return None };
        stored.comment.parent_id.map(|comment| CommentAddress { comment, ..stored.comment.address() })
    }

    /// Its author.
    pub(crate) fn author(&self) -> UserId {
        self.state().author
    }

    /// Why readers do not see it, if they do not.
    pub(crate) fn withheld(&self) -> Option<&Withheld> {
        self.state().withheld
    }

    /// Its state.
    pub(crate) fn state(&self) -> PostState<'_> {
        match self {
            Self::Story(news) => news.state(),
            Self::Comment(stored) => stored.comment.state(),
            Self::Tweet(tweet) => tweet.state(),
            Self::Profile(user) => user.state(),
        }
    }

    /// Its content as plain text, as somebody sees it, shortened if it is too long; `None` if they see nothing of it.
    pub(crate) fn text_for(&self, perspective: Perspective<'_>, now: Timestamp) -> Option<String> {
        if let Self::Profile(user) = self {
            let ProfileTexts { fullname, about } = perspective.profile_of(user, now);
            let text = [fullname, about].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
            return (!text.is_empty()).then(|| shortened(text.join("\n\n")));
        }
        perspective.sees(&self.state(), ShownIn::Page).then(|| self.text())
    }

    /// Its content as plain text, shortened if it is too long.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Story(news) => format!("{}\n\n{}", news.title, news.text().unwrap_or(&news.url)),
            Self::Comment(stored) => stored.comment.body.clone(),
            Self::Tweet(tweet) => tweet.text.clone(),
            Self::Profile(user) => text_of_profile(user),
        };
        shortened(text)
    }

    /// Adds to a batch that it is withheld, or not any more. The batch fails if it has changed
    /// meanwhile.
    pub(crate) fn withhold(&self, batch: &mut Batch, site: &Site, now: Timestamp, state: Option<Withheld>) {
        match self {
            Self::Profile(user) => user.write_state(batch, state.as_ref()),
            _ => self.change(batch, (site, now), |post| _ = post.withhold(state)),
        }
    }
}

/// The person with a name, and all that is stored of them. Rounds: 2.
pub(crate) async fn person_named(site: &Site, name: &str) -> Result<(User, Hash)> {
    let id = site.store.fetch(holder(name)).await?.ok_or(Refusal::NoSuchUser)?;
    let hash = site.store.fetch(read::hash(keys::user(id))).await?;
    Ok((User::from_hash(&hash).ok_or(Refusal::NoSuchUser)?, hash))
}

/// The text of a person about themselves, with the full name.
pub(crate) fn text_of_profile(User { fullname, about, .. }: &User) -> String {
    if fullname.is_empty() { about.clone() } else { format!("{fullname}\n\n{about}") }
}

/// That a profile takes part in nothing that is for posts alone.
fn cannot_be_flagged(person: &User) -> Refusal {
    Refusal::CannotBeFlagged(Thing::User(person.username.as_str().into()))
}

/// The value that was read; `None` if the domain refuses it.
pub(crate) fn unless_refused<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(Error::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The beginning of a text, in one line.
pub(crate) fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// The story of the comment that a message to its author is about, in any language: behind the headline, it names first the
/// place of the comment, after some quoted words of it. That a comment was edited is told without its story: the reason
/// follows the place.
pub(crate) fn story_of_comment_in(message: &str) -> Option<NewsId> {
    let (_, told) = message.split_once("\n\n")?;
    let (before, place) = told.split_once("(/comment/")?;
    let is_quoted = before.trim_end().ends_with(['”', '“', '’', '"', '»', '«', '」']);
    let (place, after) = place.split_once(')')?;
    let id = place.split_once('/')?.0.parse().ok()?;
    (is_quoted && !before.contains("(/news/") && !after.starts_with(':')).then_some(id)
}

/// The beginning of a text that is too long for the queue.
pub(crate) fn shortened(text: String) -> String {
    match text.char_indices().nth(QUEUE_TEXT) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The author of a post, also of a deleted one; `None` if there is no such post. Rounds: 1.
pub(crate) async fn author_of(site: &Site, thing: &Thing) -> Result<Option<UserId>> {
    let key = match thing {
        Thing::Story(id) => keys::news(*id),
        Thing::Tweet(id) => keys::tweet(*id),
        Thing::Comment(address) => {
            return Ok(site.store.fetch(Comment::at(*address)).await?.map(|comment| comment.user_id));
        }
        _ => return Ok(None),
    };
    let author = site.store.fetch(read::field(&key, "user_id")).await?;
    Ok(fields::read(author.as_deref(), || key, "user_id"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::CommentId;

    #[test]
    fn a_message_about_a_comment_names_its_story() {
        let story = |message: &str| story_of_comment_in(message).map(|id| id.0);
        let told =
            "Your comment was removed\n\nYour comment “Buy “now” (here)” (/comment/7/3) was removed: spam";
        assert_eq!(story(told), Some(7));
        assert_eq!(
            story("“A title”: your story was removed\n\nYour story “A title” (/news/7) was removed: spam"),
            None
        );
        assert_eq!(
            story("“A title”: your story\n\nYour story “A title” (/news/8): see “x” (/comment/7/3)"),
            None
        );
        let edited =
            "Your comment was edited\n\nA moderator has edited your comment “x” (/comment/7/3): a typo";
        assert_eq!(story(edited), None);
        assert_eq!(story("A moderator warned you\n\nA moderator has warned you: see (/comment/7/3)"), None);
        assert_eq!(story("Dein Kommentar\n\nDein Kommentar „x“ (/comment/7/3) wurde entfernt"), Some(7));
        assert_eq!(story("Your comment “x” (/comment/7/3)"), None);
    }

    #[tokio::test]
    async fn the_author_of_a_comment_is_found_without_its_story() {
        let site = Site::in_memory().await;
        let address = CommentAddress { news: NewsId(7), comment: CommentId(3) };
        let comment = Comment::deleted_place((address, None), UserId(5), Timestamp(1));
        let mut batch = Batch::new();
        records::add(&mut batch, [&comment]);
        site.store.commit(batch).await.unwrap();
        let author = async |thing| author_of(&site, &thing).await.unwrap();
        assert_eq!(author(Thing::Comment(address)).await, Some(UserId(5)));
        assert_eq!(author(Thing::Story(address.news)).await, None);
    }

    #[test]
    fn a_message_repeats_the_beginning_of_a_text() {
        assert_eq!(excerpt(" Buy\n\nthis  now "), "Buy this now");
        assert_eq!(excerpt(&"ä".repeat(EXCERPT)), "ä".repeat(EXCERPT));
        assert_eq!(excerpt(&"ä".repeat(EXCERPT + 1)), format!("{}…", "ä".repeat(EXCERPT)));
    }
}

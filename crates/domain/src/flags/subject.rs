//! What is flagged: the story, the comment, the tweet or the person as stored.

use crate::accounts::users::{DEACTIVATED, User};
use crate::comments::comment::{self, Stored};
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::news::item::News;
use crate::site::Site;
use crate::timelines::tweets::Tweet;
use crate::values::ids::{CommentAddress, UserId};
use crate::values::limits::QUEUE_TEXT;
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::{Batch, Hash, read};

/// Something that readers can flag.
pub(crate) enum Subject {
    /// A story.
    Story(Box<News>),
    /// A comment, with its stored text.
    Comment(CommentAddress, Box<Stored>),
    /// A tweet.
    Tweet(Tweet),
    /// A person, whose profile it is.
    User(Box<User>),
}

impl Subject {
    /// Reads it. Rounds: 1; 2 for a person.
    ///
    /// # Errors
    /// The refusal for what is not there or was deleted; [`Refusal::CannotBeFlagged`] for other
    /// kinds; or the store's.
    pub(crate) async fn read(site: &Site, thing: &Thing) -> Result<Self, Error> {
        match thing {
            Thing::Story(id) => {
                let news = site.store.fetch(News::by_id(*id)).await?.ok_or(Refusal::NoSuchNews)?;
                if news.deleted { Err(Refusal::NewsDeleted.into()) } else { Ok(Self::Story(Box::new(news))) }
            }
            Thing::Comment(address) => {
                let stored = comment::read_stored(site, *address).await?;
                if stored.comment.deleted {
                    return Err(Refusal::CommentDeleted.into());
                }
                Ok(Self::Comment(*address, Box::new(stored)))
            }
            Thing::Tweet(id) => {
                Ok(Self::Tweet(site.store.fetch(Tweet::by_id(*id)).await?.ok_or(Refusal::NoSuchTweet)?))
            }
            Thing::User(name) => Ok(Self::User(Box::new(read_person(site, name).await?))),
            Thing::Application(_) | Thing::Appeal(_) | Thing::Rule(_) => {
                Err(Refusal::CannotBeFlagged(thing.kind()).into())
            }
        }
    }

    /// Refuses what readers do not see.
    ///
    /// # Errors
    /// [`Refusal::RemovedAlready`], or the refusal for what is not there.
    pub(crate) fn demand_shown(&self) -> Result<(), Refusal> {
        if let Self::Comment(_, stored) = self
            && stored.news.is_secret()
        {
            return Err(Refusal::NoSuchNews);
        }
        match (self.withheld(), self) {
            (None | Some(Withheld::Flagged), _) => Ok(()),
            (Some(Withheld::Removed(_)), _) => Err(Refusal::RemovedAlready),
            (Some(Withheld::Merged(into)), _) => Err(Refusal::NewsMerged(*into)),
            (Some(Withheld::Held(_) | Withheld::Unreadable(_)), Self::Story(_)) => Err(Refusal::NoSuchNews),
            (Some(Withheld::Held(_) | Withheld::Unreadable(_)), Self::Comment(..)) => {
                Err(Refusal::NoSuchComment)
            }
            (Some(Withheld::Held(_) | Withheld::Unreadable(_)), Self::Tweet(_)) => Err(Refusal::NoSuchTweet),
            (Some(Withheld::Held(_) | Withheld::Unreadable(_)), Self::User(_)) => Err(Refusal::NoSuchUser),
        }
    }

    /// Who wrote it.
    pub(crate) fn author(&self) -> UserId {
        match self {
            Self::Story(news) => news.user_id,
            Self::Comment(_, stored) => stored.comment.user_id,
            Self::Tweet(tweet) => tweet.user_id,
            Self::User(user) => user.id,
        }
    }

    /// Why readers do not see it, if they do not.
    pub(crate) fn withheld(&self) -> Option<&Withheld> {
        match self {
            Self::Story(news) => news.withheld.as_ref(),
            Self::Comment(_, stored) => stored.comment.withheld.as_ref(),
            Self::Tweet(tweet) => tweet.withheld.as_ref(),
            Self::User(user) => user.withheld.as_ref(),
        }
    }

    /// What it says, as plain text that is not too long.
    pub(crate) fn text(&self) -> String {
        let text = match self {
            Self::Story(news) => format!("{}\n\n{}", news.title, news.text().unwrap_or(&news.url)),
            Self::Comment(_, stored) => stored.comment.body.clone(),
            Self::Tweet(tweet) => tweet.text.clone(),
            Self::User(user) if user.fullname.is_empty() => user.about.clone(),
            Self::User(user) => format!("{}\n\n{}", user.fullname, user.about),
        };
        shortened(text)
    }

    /// Adds to a batch that it is withheld, or not any more. The batch fails if it has changed
    /// meanwhile.
    pub(crate) fn write_withheld(&self, batch: &mut Batch, state: Option<&Withheld>) {
        let key = match self {
            Self::Comment(address, stored) => {
                let mut comment = stored.comment.clone();
                comment.withheld = state.cloned();
                return comment::write_change(batch, *address, &stored.json, &comment);
            }
            Self::Story(news) => return news.write_state(batch, state),
            Self::Tweet(tweet) => keys::tweet(tweet.id),
            Self::User(user) => {
                batch.field_absent(keys::user(user.id), DEACTIVATED);
                keys::user(user.id)
            }
        };
        let before = self.withheld().map(Withheld::to_string);
        batch.key_present(&key);
        batch.field_unchanged(&key, WITHHELD, before.as_deref());
        match state {
            Some(state) => batch.set_field(key, WITHHELD, state.to_string()),
            None => batch.delete_field(key, WITHHELD),
        }
    }
}

/// The person with a name. Rounds: 2.
async fn read_person(site: &Site, name: &str) -> Result<User, Error> {
    let id = site.store.fetch(read::string(keys::username_to_id(name))).await?;
    let id: Option<UserId> = fields::read_string(id.as_deref(), || keys::username_to_id(name));
    let hash: Hash = site.store.fetch(read::hash(keys::user(id.ok_or(Refusal::NoSuchUser)?))).await?;
    Ok(User::from_hash(&hash).ok_or(Refusal::NoSuchUser)?)
}

/// The beginning of a text that is too long for the queue.
pub(crate) fn shortened(text: String) -> String {
    match text.char_indices().nth(QUEUE_TEXT) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

//! A tweet as it is stored. What happens to it changes the record, and its lists follow. Besides, the home timeline of its
//! author has it, and a job delivers it to those of the author's followers.
//!
//! Home timelines and mentions keep a tweet that is removed or deleted, where nobody is shown it.

use crate::post_state::{Moderated, StateFields, may_be_unseen};
use crate::records::{self, AsRead, Fields, RecordEntries, Stored};
use crate::timelines::home_jobs::deliver;
use crate::timelines::homes::remove_from_home;
use crate::timelines::versions::TIMELINE_VERSION;
use crate::values::{REMOVED, Thing, TweetId, UNSEEN, WITHHELD, Withheld};
use crate::{Tweet, jobs, keys, review};
use tidings_keyspace::{Batch, Fetch, read};

impl Moderated for Tweet {
    fn state_fields(&mut self) -> StateFields<'_> {
        StateFields { withheld: &mut self.withheld, unseen: &mut self.unseen, removed: &mut self.removed }
    }
}

impl Stored for Tweet {
    const IS_WHOLE_HASH: bool = true;

    fn key(&self) -> String {
        keys::tweet(self.id)
    }

    fn fields(&self) -> Fields {
        [
            ("text", Some(self.text.clone())),
            ("created_at", Some(self.created_at.to_string())),
            ("user_id", Some(self.user_id.to_string())),
            ("news_id", self.news_id.as_ref().map(ToString::to_string)),
            (WITHHELD, self.withheld.as_ref().map(ToString::to_string)),
            (UNSEEN, self.unseen.then(|| "1".to_owned())),
            (REMOVED, self.removed.as_ref().map(ToString::to_string)),
        ]
        .map(|(field, value)| (field.to_owned(), value))
        .into()
    }

    fn decides(field: &str) -> bool {
        ["created_at", WITHHELD, UNSEEN].contains(&field)
    }

    fn entries(&self, entries: &mut RecordEntries) {
        let (id, author) = (self.id, self.user_id);
        if self.state().is_listed() {
            entries.listed(keys::user_timeline(author), id, self.created_at);
            // It has a limited size.
            entries.ranked(keys::GLOBAL_TIMELINE, id, self.created_at);
        } else if may_be_unseen(self.withheld.as_ref()) {
            entries.listed(keys::user_unseen(author), Thing::Tweet(id).key(), self.created_at);
        }
    }
}

/// The tweet with a number, as it is stored.
pub(crate) fn by_id(id: TweetId) -> impl Fetch<Value = Option<AsRead<Tweet>>> {
    read::hash(keys::tweet(id)).map(move |hash| Some(AsRead::of_hash(Tweet::from_hash(id, &hash)?, &hash)))
}

/// Adds to a batch that a tweet becomes another, which is in no list that did not have it.
pub(crate) fn change(batch: &mut Batch, before: &AsRead<Tweet>, after: &Tweet) {
    records::change(batch, before, after);
    if !after.state().is_listed() {
        leave(batch, before);
    }
}

/// Adds to a batch that a tweet is deleted.
pub(crate) fn delete(batch: &mut Batch, tweet: &AsRead<Tweet>) {
    records::delete(batch, tweet);
    // A flagged tweet still needs a decision, so only the row of a held one is settled.
    if tweet.withheld.as_ref().is_some_and(Withheld::is_held) {
        review::settle(batch, &Thing::Tweet(tweet.id));
    }
    leave(batch, tweet);
}

fn leave(batch: &mut Batch, tweet: &Tweet) {
    if tweet.state().is_listed() {
        batch.increment_field(keys::user(tweet.user_id), TIMELINE_VERSION, 1);
        remove_from_home(batch, tweet.user_id, tweet.id);
        jobs::remove(batch, &deliver::job(tweet.id));
    }
}

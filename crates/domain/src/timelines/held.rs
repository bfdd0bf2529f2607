//! Tweets that wait for a moderator: stored, and in no timeline, mentions or inbox until they
//! are published.

use super::tweets::{NewTweet, Tweet, TweetDraft};
use crate::accounts::users::DEACTIVATED;
use crate::error::Error;
use crate::keys;
use crate::review;
use crate::site::Site;
use crate::unseen;
use crate::values::clock::Moment;
use crate::values::moderation::Thing;
use crate::values::withheld::{WITHHELD, Withheld};
use tidings_keyspace::{Batch, CheckId};

/// Adds a tweet that waits to a batch. Returns the check that the author's account is not
/// deactivated.
pub(super) fn write(batch: &mut Batch, draft: &TweetDraft, text: &str, reason: &str) -> CheckId {
    let key = keys::tweet(draft.id);
    let account_there = batch.field_absent(keys::user(draft.author), DEACTIVATED);
    batch.key_absent(&key);
    let fields = [
        ("text", text.to_owned()),
        ("created_at", draft.now.to_string()),
        ("user_id", draft.author.to_string()),
        (WITHHELD, Withheld::Held(reason.into()).to_string()),
    ];
    batch.set_fields(key, fields);
    unseen::add(batch, draft.author, &Thing::Tweet(draft.id), draft.now.as_score());
    review::enqueue(batch, &Thing::Tweet(draft.id), draft.now.timestamp());
    account_there
}

/// Checks in a batch that a tweet still waits.
pub(crate) fn guard(batch: &mut Batch, tweet: &Tweet) {
    if let Some(withheld) = &tweet.withheld {
        batch.field_equals(keys::tweet(tweet.id), WITHHELD, withheld.to_string());
    }
}

/// Reads the values for publishing a tweet now. Rounds: 1, and 4 more at most if it mentions anybody.
pub(crate) async fn read_publication(site: &Site, now: Moment, tweet: &Tweet) -> Result<NewTweet, Error> {
    let draft = TweetDraft::of_held(site, now, tweet).await?;
    NewTweet::read(site, draft, &tweet.text).await
}

//! Tweets and following.

#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, parsed, text, valid};
use tidings_domain::values::{TweetId, TweetText};
use tidings_language::m;

form! {
    /// A new tweet.
    pub struct TweetForm {
        /// The text.
        pub text: TweetText = valid(TweetText::parse), values::TweetText;
    }

    /// A tweet to delete.
    pub struct TweetDeletion {
        /// The tweet.
        pub tweet_id: TweetId = parsed(m!("it must be the number of a tweet")), values::Id;
    }

    /// A user to follow or unfollow.
    pub struct FollowForm {
        // Imported accounts may have names that are not valid for new accounts.
        /// The username. Case does not matter.
        pub username: String = text, values::Username;
    }
}

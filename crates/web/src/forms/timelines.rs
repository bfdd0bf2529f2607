//! Tweets and following.

use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::openapi::values;
use tidings_domain::Error;
use tidings_domain::values::ids::TweetId;
use tidings_domain::values::text::TweetText;
use utoipa::ToSchema;

/// A new tweet.
#[derive(ToSchema)]
pub struct TweetForm {
    /// The text.
    #[schema(value_type = values::TweetText)]
    pub text: TweetText,
}

impl FromFields for TweetForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { text: TweetText::parse(fields.required("text")?).map_err(Error::from)? })
    }
}

/// A tweet to delete.
#[derive(ToSchema)]
pub struct TweetDeletion {
    /// The tweet.
    #[schema(value_type = values::Id)]
    pub tweet_id: TweetId,
}

impl FromFields for TweetDeletion {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { tweet_id: fields.parsed("tweet_id", "it must be the number of a tweet")? })
    }
}

/// A user to follow or unfollow.
#[derive(ToSchema)]
pub struct FollowForm {
    // Imported accounts may have names that are not valid for new accounts.
    /// The username. Case does not matter.
    #[schema(value_type = values::Username)]
    pub username: String,
}

impl FromFields for FollowForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { username: fields.required("username")?.to_owned() })
    }
}

//! Messages to open home pages: there are new tweets.
//!
//! A message says that a tweet has reached the timelines of its author's followers. It goes
//! to all servers of the store; each finds out with one read which of its readers follow
//! the author.

use crate::accounts::Avoidance;
use crate::values::{Cursor, Malformed, PlainTime, TweetId, UserId, record_text};
use crate::{Result, Site, keys};
use tidings_keyspace::{Fetch, read};

/// The channel of these messages.
pub const CHANNEL: &str = "tweets";

/// A tweet that has reached the home timelines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArrivedTweet {
    /// Its author.
    pub author: UserId,
    /// The tweet.
    pub id: TweetId,
    /// When it was posted: Unix seconds with a fraction.
    pub score: f64,
}

impl ArrivedTweet {
    /// Its place in timelines.
    pub const fn cursor(&self) -> Cursor {
        Cursor { score: self.score, id: self.id.0 }
    }
}

record_text!(ArrivedTweet or Malformed: {author} " " {score PlainTime} "-" {id});

/// Those of the readers who see an author's tweets in their home timelines: the author's
/// followers who have not muted or blocked the author, and the author. Rounds: 1.
pub async fn followers_among(site: &Site, author: UserId, readers: &[UserId]) -> Result<Vec<UserId>> {
    let follow = read::scores(keys::followers(author), readers.iter().map(ToString::to_string)).or_absent();
    let avoidances: Vec<_> = readers.iter().map(|reader| Avoidance::of(*reader, author)).collect();
    let (follow, avoidances) = site.store.fetch((follow, avoidances)).await?;
    let matching = readers.iter().zip(follow).zip(avoidances).filter(|((reader, since), avoidance)| {
        **reader == author || (since.is_some() && *avoidance == Avoidance::default())
    });
    Ok(matching.map(|((reader, _), _)| *reader).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_written_and_read() {
        let tweet = ArrivedTweet { author: UserId(7), id: TweetId(45), score: 1_401_267_618.123 };
        assert_eq!(tweet.to_string(), "7 1401267618.123-45");
        assert_eq!(tweet.to_string().parse(), Ok(tweet));
        for message in ["", "7", "7 1", "x 1-1", "7 1-1 2"] {
            assert_eq!(message.parse::<ArrivedTweet>(), Err(Malformed), "{message}");
        }
    }
}

//! Why the site says no.

use crate::passwords::PasswordError;
use crate::values::hostname::HostnameError;
use crate::values::secrets::NoRandomness;
use crate::values::text::InputError;
use crate::values::urls::UrlError;
use tidings_keyspace::{CommitError, KeyspaceError};

/// Why an action did not happen. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the user sent is not acceptable; names the field.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The URL sent is not acceptable.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The name of a site sent is not acceptable.
    #[error(transparent)]
    Hostname(#[from] HostnameError),
    /// A rule of the site forbids it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] KeyspaceError),
    /// Too many do the same at this moment; trying again will help.
    #[error("the site is very busy, please try again")]
    Busy,
    /// The machine failed us: no randomness, no password hash.
    #[error("internal failure: {0}")]
    Internal(String),
}

impl From<PasswordError> for Error {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Self::Busy,
            PasswordError::Failed(reason) => Self::Internal(reason),
        }
    }
}

impl From<NoRandomness> for Error {
    fn from(error: NoRandomness) -> Self {
        Self::Internal(error.to_string())
    }
}

impl From<CommitError> for Error {
    /// For batches without checks; those with checks look at the rejection first.
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Keyspace(error) => Self::Store(error),
            CommitError::Rejected(_) => Self::Busy,
        }
    }
}

/// A rule of the site that forbids an action. The texts are shown to users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody has this name already, in whatever case.
    #[error("username is already taken, please choose another")]
    UsernameTaken,
    /// An account was created from this address.
    #[error("an account was created from your address recently, please try again in {0}", wait(*.seconds))]
    AccountCreatedRecently {
        /// Until the next may be created.
        seconds: u64,
    },
    /// Unknown user or wrong password: never told apart.
    #[error("no account has this username and password")]
    WrongCredentials,
    /// Too many failed logins.
    #[error("too many failed logins, please try again in {0}", wait(*.seconds))]
    TooManyFailedLogins {
        /// Until the next try.
        seconds: u64,
    },
    /// The session in which this was asked for has ended meanwhile.
    #[error("your session has ended, please log in again")]
    SessionEnded,
    /// The password reset link has expired, was used, or never existed.
    #[error("this password reset link is not valid (any more), please ask for a new one")]
    ResetLinkInvalid,
    /// No mail relay is configured.
    #[error("password reset by e-mail is not available on this site, please ask its administrator")]
    MailIsOff,
    /// Neither link nor text was given.
    #[error("please give a URL or a text")]
    NothingSubmitted,
    /// An edit with both link and text.
    #[error("an edited item has a URL or a text, not both")]
    UrlAndText,
    /// The user submitted something recently.
    #[error("you have submitted a story recently, please wait {0}", wait(*.seconds))]
    SubmittedRecently {
        /// Until the next submission.
        seconds: u64,
    },
    /// An edit moves to a URL that another item was posted with.
    #[error("this URL was posted recently in another item")]
    UrlPostedRecently,
    /// No such news item.
    #[error("no such news")]
    NoSuchNews,
    /// The item was deleted.
    #[error("this news was deleted")]
    NewsDeleted,
    /// Neither the author nor an administrator.
    #[error("only its author or an administrator may change this news")]
    NotYourNews,
    /// The author's time for changes is over.
    #[error("the time to change this is over, {0} after posting", wait(*.window_seconds))]
    TooLateToChange {
        /// How long changes are possible.
        window_seconds: u64,
    },
    /// The user voted on this before.
    #[error("you have voted on this already")]
    VotedAlready,
    /// The vote needs more karma.
    #[error("you need a karma of {0} or more for this vote", .needed)]
    NotEnoughKarma {
        /// Karma needed.
        needed: i64,
    },
    /// No such comment.
    #[error("no such comment")]
    NoSuchComment,
    /// The comment was deleted.
    #[error("this comment was deleted")]
    CommentDeleted,
    /// The comment that is answered does not exist.
    #[error("the comment that you reply to does not exist")]
    NoSuchParent,
    /// Not the comment's author.
    #[error("only its author may change this comment")]
    NotYourComment,
    /// A thread holds only so many comments.
    #[error("this thread is full ({0} comments)", .limit)]
    ThreadFull {
        /// Comments in one thread.
        limit: u64,
    },
    /// No user of that name.
    #[error("no such user")]
    NoSuchUser,
    /// No such tweet, or it was deleted.
    #[error("no such tweet")]
    NoSuchTweet,
    /// Neither the author nor an administrator.
    #[error("only its author or an administrator may delete this tweet")]
    NotYourTweet,
    /// Nobody follows oneself.
    #[error("you cannot follow yourself")]
    FollowingOneself,
    /// One follows only so many people.
    #[error("you follow {0} people already, which is the most that is possible", .limit)]
    TooManyFollowings {
        /// People that one user may follow.
        limit: u64,
    },
    /// No topic of that name.
    #[error("no such topic: {0}")]
    NoSuchTopic(String),
    /// The topic is new, and the user may not make new ones.
    #[error("the topic {topic} does not exist yet; you need a karma of {needed} or more for a new one")]
    NewTopicNeedsKarma {
        /// The topic.
        topic: String,
        /// Karma needed.
        needed: i64,
    },
    /// A topic cannot get the name of another.
    #[error("there is a topic {0} already; merge the two instead")]
    TopicExists(String),
    /// Both names of a move are the same.
    #[error("the two topics are the same")]
    SameTopic,
    /// The topic is on its way to another already.
    #[error("the move of the topic {from} to {to} is not finished; ask for that first")]
    TopicMoving {
        /// The topic that is being moved.
        from: String,
        /// Where to.
        to: String,
    },
    /// The voter's votes on sites do not count any more.
    #[error("this voter is banned")]
    VoterBanned,
    /// An administrator has stopped all voting on sites.
    #[error("voting on sites is disabled at the moment")]
    VotingDisabled,
    /// The voter has voted on as many new sites as it may in a day.
    #[error("you have voted on {maximum} new sites today, please go on tomorrow")]
    TooManyVotes {
        /// Votes a day on sites that are new to the voter.
        maximum: u64,
    },
    /// The address has brought as many voters as it may in a day.
    #[error("too many people have begun to vote from your address today, please try again tomorrow")]
    TooManyVoters,
    /// No voter of that UUID.
    #[error("no such voter")]
    NoSuchVoter,
    /// Only administrators may do this.
    #[error("only administrators may do this")]
    AdministratorsOnly,
}

/// A waiting time as a person says it, rounded up to what matters.
fn wait(seconds: u64) -> String {
    let (amount, unit) = match seconds {
        0..=119 => (seconds.max(1), "second"),
        120..=7_199 => (seconds.div_ceil(60), "minute"),
        _ => (seconds.div_ceil(3_600), "hour"),
    };
    let plural = if amount == 1 { "" } else { "s" };
    if unit == "second" {
        format!("{amount} {unit}{plural}")
    } else {
        format!("{amount} {unit}{plural} ({seconds} seconds)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_with_a_wait_tells_the_seconds() {
        for (seconds, text) in [
            (1, "1 second"),
            (90, "90 seconds"),
            (900, "15 minutes (900 seconds)"),
            (54_000, "15 hours (54000 seconds)"),
        ] {
            let refusal = Refusal::SubmittedRecently { seconds };
            assert_eq!(
                refusal.to_string(),
                format!("you have submitted a story recently, please wait {text}")
            );
        }
    }
}

//! The causes of refusals that moderators meet.

/// Why an action of a moderator would do nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingToDo {
    /// It does not wait for approval.
    NotHeld,
    /// It has not been removed.
    NotRemoved,
    /// It was rejected before anybody saw it.
    RejectedUnseen,
    /// Nobody waits for an answer.
    NobodyWaits,
    /// The thread of messages has been reopened.
    ReopenedAlready,
    /// It has ended by itself.
    Ended,
    /// The state before it would have ended by itself.
    WouldHaveEnded,
    /// The appeal waits.
    AppealWaits,
    /// Its author has left and has everything erased.
    AuthorErases,
    /// Both stories are the same.
    MergedIntoItself,
    /// The story is one of its own.
    NotMerged,
    /// The person has no such restriction.
    NoSuchRestriction,
    /// The person is a moderator.
    ModeratorAlready,
    /// The person is no moderator.
    NotAModerator,
    /// The profile has no text.
    NoTextOfProfile,
    /// Only one text of a profile can be put back.
    EarlierTextRemoved,
    /// Nothing of the person has been removed.
    NothingToRestore,
    /// Another decision has removed it since.
    RemovedAgain,
    /// The posts of the person have been removed too often.
    RemovedTooOften,
    /// The posts are back.
    PostsRestored,
    /// The story is not pinned.
    NotPinned,
    /// As many stories are pinned as can be.
    TooManyPinned,
    /// The measure is not in force.
    NotInForce,
    /// The story is a link.
    LinkHasNoText,
    /// The story is like that.
    StoryUnchanged,
    /// The thread is locked.
    LockedAlready,
    /// The thread is not locked.
    NotLocked,
    /// The comment has this text.
    SameText,
    /// It is not said which note to delete.
    NoteUnnamed,
    /// The voter is banned together with its account.
    BannedWithAccount,
}

/// A fact that moderators decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeratedFact {
    /// The role of a person.
    Role,
    /// The text of a story or a comment.
    Text,
    /// A reason that moderators have at hand.
    SavedReason,
    /// The title of a story.
    Title,
    /// The topics of a story.
    Topics,
    /// The URL or the text of a story.
    UrlOrText,
    /// That moderators have edited a story.
    EditNote,
    /// The lock of a thread.
    Lock,
    /// The announcement.
    Announcement,
    /// Whether people can sign up.
    Signups,
    /// Whether the posts of young accounts wait.
    YoungPosts,
    /// The answer to an application.
    Application,
    /// The state of a thread of messages.
    Messages,
    /// A rule that new posts are checked with.
    Rule,
    /// A ban of a network or a domain.
    OriginBan,
    /// The ban of a person.
    Ban,
    /// That a person is silenced.
    Silence,
    /// That the posts of a person wait.
    Hold,
    /// That the votes of a person do not count.
    Votes,
    /// Anything else.
    Other,
}

/// All that the erasure of a post takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Erasure {
    /// Of a story.
    Story {
        /// Its title.
        title: String,
        /// Its address in brackets.
        place: String,
        /// Its comments, which stay.
        comments: u64,
    },
    /// Of a comment.
    Comment {
        /// The beginning of its text.
        excerpt: String,
        /// Its address in brackets.
        place: String,
    },
    /// Of a tweet.
    Tweet {
        /// The beginning of its text.
        excerpt: String,
        /// Its address in brackets.
        place: String,
    },
}

//! Why an action failed: bad input, a rule of the site, or the store.

mod moderating;

pub use self::moderating::{Erasure, ModeratedFact, NothingToDo};

use crate::passwords::PasswordError;
use crate::values::{
    Action, BanScope, Closed, FlagReason, HostnameError, InputError, KarmaRules, Lacking, ModerationId,
    NoRandomness, NotAHook, NotBannable, OriginBanId, OriginKind, PatternError, PostKind, RatedAction,
    Restriction, Thing, UrlError, VoteState,
};
use tidings_keyspace::{CommitError, KeyspaceError};

/// When to come back while too many passwords of one address wait: about as long as the
/// longest queue of one takes.
const CROWDED_SECONDS: u64 = 2;

/// When an address may bring new voters on sites again, at the latest.
const VOTERS_SECONDS: u64 = 86_400;

/// The outcome of an action, or of a read.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an action did not happen. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's input is not acceptable; names the field.
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
    /// Too many conflicts with other requests; trying again will help.
    #[error("too many conflicts with other writes")]
    Busy,
    /// The machine failed: no randomness, no password hash.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<PasswordError> for Error {
    fn from(error: PasswordError) -> Self {
        match error {
            PasswordError::Busy => Self::Busy,
            PasswordError::Crowded => Refusal::TooManyAtOnce { seconds: CROWDED_SECONDS }.into(),
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
    /// For batches without checks; the others handle a rejection first.
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Keyspace(error) => Self::Store(error),
            CommitError::Rejected(_) => Self::Busy,
        }
    }
}

/// A rule of the site that forbids an action.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum Refusal {
    /// Another user has this name, ignoring case.
    UsernameTaken,
    /// Somebody has signed up from the same address.
    AccountCreatedRecently { seconds: u64 },
    /// A network has reached the limit of a day.
    TooManySignupsFromNetwork { seconds: u64 },
    /// Nobody can sign up.
    SignupClosed,
    /// Moderators have stopped sign-ups for a while.
    SignupsStopped(Restriction),
    /// The answer to the question of the sign-up form is wrong.
    SignupAnswerWrong,
    /// For programs, which have not seen the question.
    SignupAnswerMissing { question: Box<str> },
    /// It was used or withdrawn, or it has expired.
    InvitationInvalid,
    /// The link for the first administrator is wrong, or there is an administrator already.
    WelcomeLinkInvalid,
    /// It was used or withdrawn, or it has expired.
    NoSuchInvitation,
    /// Only trusted accounts invite people.
    InvitingNeedsTrust(Lacking),
    /// All invitations of the account were used.
    NoInvitationsLeft { limit: u64 },
    /// Only moderators and administrators can invite people.
    InvitationsAreOff,
    /// So many invitations wait.
    TooManyOpenInvitations { limit: u64 },
    /// The limit of a day.
    TooManyInvitationMails,
    /// A moderator has not answered it yet.
    ApplicationWaits,
    /// A moderator has rejected it, for this reason.
    ApplicationRejected { reason: String },
    /// It may have been answered.
    NoSuchApplication,
    /// New accounts confirm their e-mail address before they do more than read.
    EmailNotConfirmed,
    /// Only members read this site, and nobody is logged in.
    MembersOnly,
    /// The link that confirms an address has expired, is of a former address, or never existed.
    ConfirmationInvalid,
    /// The limit of links in a day.
    TooManyConfirmations,
    /// Unknown user or wrong password. The message never says which.
    WrongCredentials,
    /// Logins to the account, or from the address, have failed too often.
    TooManyFailedLogins { seconds: u64 },
    /// The password was right, and the account has a second factor.
    CodeRequired,
    /// A wrong second factor, or one that was used.
    WrongCode,
    /// The first step of a login was too long ago, or elsewhere.
    LoginExpired,
    /// People log in through the provider only.
    PasswordsAreOff,
    /// The e-mail address is not verified at the provider, or of another domain.
    DomainNotAllowed,
    /// Another account is connected to this login at the provider.
    IdentityConnected,
    /// The login at the provider is that of somebody else.
    OtherIdentity,
    /// Without it and a password, the account could not be used any more.
    LastWayToLogIn,
    /// An account without a password confirms things with a login through the provider.
    ConfirmationNeeded,
    /// It was used, or is too old.
    LoginLinkInvalid,
    /// The link is for administrators.
    NotAnAdministrator,
    /// The setup was not confirmed in time, or was never begun.
    SetupExpired,
    /// The account has an authenticator app.
    TotpOn,
    /// The account has no authenticator app.
    TotpOff,
    /// There is nothing that recovery codes could replace.
    NoSecondFactor,
    /// The browser or the authenticator has sent what is not right.
    PasskeyRefused,
    /// The account has this passkey.
    PasskeyKnown,
    /// It may have been removed.
    NoSuchPasskey,
    /// The account has the most passkeys.
    TooManyPasskeys { limit: u64 },
    /// The address of the site has no name, only a number.
    PasskeysUnavailable,
    /// Somebody with a role needs a second factor first.
    RoleNeedsTwoFactor,
    /// Somebody with a role needs a longer password first.
    RoleNeedsPassword,
    /// Too many logins or sign-ups from one address, or changes of one account, wait already.
    TooManyAtOnce { seconds: u64 },
    /// It looks like another one.
    UsernameConfusable,
    /// It looks like a name that nobody can sign up with.
    UsernameReserved,
    /// It looks like a reserved name.
    FullNameReserved,
    /// It looks like another user's username.
    FullNameConfusable,
    /// The account or the address has done this too often.
    TooManyRequests {
        /// The action that was done too often.
        action: RatedAction,
        /// Whether the limit of the address was reached, and not that of the account.
        by_address: bool,
        /// Until the next try.
        seconds: u64,
        /// The missing condition of trust, if the account has a lower limit for that reason.
        lacking: Option<Lacking>,
    },
    /// The session that asked for this has ended in the meantime.
    SessionEnded,
    /// It may have ended.
    NoSuchSession,
    /// The change needs the current password, which was not sent.
    CurrentPasswordNeeded,
    /// The current password was sent for a change, and is wrong.
    CurrentPasswordWrong,
    /// The password reset link has expired, was used, or never existed.
    ResetLinkInvalid,
    /// No mail relay is configured.
    MailIsOff,
    /// Neither a URL nor a text.
    NothingSubmitted,
    /// An edit with both link and text.
    UrlAndText,
    /// The user has submitted another story.
    SubmittedRecently { seconds: u64 },
    /// An edit changes the URL to that of another recent story.
    UrlPostedRecently,
    /// There is no such story, as far as the user may know.
    NoSuchNews,
    /// Nobody answers it, votes on it or changes it.
    Closed(PostKind, Closed),
    /// Another author's story.
    NotYourNews,
    /// The time in which a post can be edited or deleted has passed.
    TooLateToChange { window_seconds: u64 },
    /// With the votes as they are, if they are known.
    VotedAlready(Option<VoteState>),
    /// The user has not voted on this, or has taken the vote back. With the votes as they are.
    NoVoteToTakeBack(VoteState),
    /// A post has its author's vote from the beginning.
    OwnFirstVote,
    /// The time in which a vote can be taken back has passed.
    TooLateToTakeBack { window_seconds: u64 },
    /// The time in which marking entries as read can be undone has passed, or all were read otherwise.
    TooLateToUndoMarking,
    /// No vote can be taken back.
    VotesAreFinal,
    /// The vote needs more karma than the user has.
    NotEnoughKarma {
        /// Karma needed.
        needed: i64,
        /// Karma that a visit earns; 0 = none.
        visit_increment: i64,
        /// Seconds between two visits that earn karma; 0 = none do.
        visit_seconds: u64,
    },
    /// A user can save only so many stories without voting.
    TooManySaved { limit: u64 },
    /// There is no such comment, as far as the user may know.
    NoSuchComment,
    /// The comment that is answered does not exist.
    NoSuchParent,
    /// Another author's comment.
    NotYourComment,
    /// A thread has the most comments.
    ThreadFull { limit: u64 },
    /// There is no such account, or it is deactivated.
    NoSuchUser,
    /// No such tweet, or it was deleted.
    NoSuchTweet,
    /// Another author's tweet.
    NotYourTweet,
    /// The person has blocked the user.
    BlockedBy,
    /// Nobody mutes themselves.
    MutingOneself,
    /// The user has the most mutes.
    TooManyMutes { limit: u64 },
    /// Nobody blocks themselves.
    BlockingOneself,
    /// The user has blocked the most people.
    TooManyBlocks { limit: u64 },
    /// Nobody follows themselves.
    FollowingOneself,
    /// The user follows the most people.
    TooManyFollowings { limit: u64 },
    /// The user follows the most topics.
    TooManyFollowedTopics { limit: u64 },
    /// The user has muted the most topics.
    TooManyMutedTopics { limit: u64 },
    /// So many topics have a description.
    TooManyTopicSentences { limit: u64 },
    /// No article is in the topic.
    NoSuchTopic(String),
    /// The topic does not exist, and would be created.
    NewTopicNeedsKarma { topic: String, needed: i64 },
    /// A topic cannot take the name of another.
    TopicExists(String),
    /// Both names of a move are the same.
    SameTopic,
    /// The topic is being renamed or merged.
    TopicMoving { from: String, to: String },
    /// The voter may no longer vote on sites.
    VoterBanned,
    /// An administrator has stopped all voting on sites.
    VotingDisabled,
    /// The limit of new sites in a day.
    TooManyVotes { maximum: u64 },
    /// The limit of votes on one site in a day.
    TooManyVotesFromNetwork { maximum: u64 },
    /// The limit of new voters from an address in a day.
    TooManyVoters,
    /// The whole site has reached the daily limit of new voters, and this network has brought
    /// some of them.
    TooManyVotersOfSite,
    /// The whole site has reached the daily limit of hosts with their first vote, and this network
    /// has brought some of them.
    TooManyHostsOfSite,
    /// Nobody votes on sites under this id.
    NoSuchVoter,
    /// Only administrators may do it.
    AdministratorsOnly,
    /// Only moderators and administrators may do it.
    ModeratorsOnly,
    /// Nobody moderates themselves or their own posts.
    OwnThing,
    /// Nobody moderates somebody with a higher role.
    HigherRole,
    /// Only an administrator can undo it.
    DecidedByAdministrator,
    /// The kind of thing does not take the action.
    ActionDoesNotApply { action: Action, thing: Thing },
    /// Nothing of its text is stored any more.
    ErasedAlready,
    /// Erasing cannot be undone, so it is confirmed by the id of what is erased. The sentence names it.
    ErasureUnconfirmed {
        /// The content that would be erased.
        what: Erasure,
        /// The id.
        confirm: Box<str>,
    },
    /// It is so already, or cannot be so.
    NothingToModerate(NothingToDo),
    /// There is no such entry in the moderation log.
    NoSuchModeration,
    /// By this entry of the moderation log.
    UndoneAlready(ModerationId),
    /// The action that the line records has no undo.
    CannotBeUndone,
    /// A rule of the moderators refuses the post.
    RefusedByRule { reason: Box<str> },
    /// An edit that would have to wait for a moderator.
    EditNeedsApproval { reason: Box<str> },
    /// The topic does not exist, and new members create none.
    NewTopicNeedsTrust { topic: String },
    /// A text by a new member has too many.
    TooManyLinks { limit: usize },
    /// The network or the domain of the e-mail address is banned.
    OriginBanned { kind: OriginKind, scope: BanScope, reason: Box<str> },
    /// The network or the e-mail domain is banned already, by this ban.
    BannedAlready(OriginBanId),
    /// There is no such ban of a network or an e-mail domain.
    NoSuchOriginBan,
    /// The origin cannot be banned.
    NotAnOrigin(#[from] NotBannable),
    /// There are the most bans of networks and e-mail domains.
    TooManyOriginBans { limit: u64 },
    /// It may have been removed.
    NoSuchHook,
    /// The hook cannot be saved.
    NotAHook(#[from] NotAHook),
    /// There are the most webhooks.
    TooManyHooks { limit: usize },
    /// It may have been removed.
    NoSuchSavedReason,
    /// There are the most saved reasons.
    TooManySavedReasons { limit: usize },
    /// There are the most rules for posts.
    TooManyRules { limit: usize },
    /// The rule may have been lifted.
    NoSuchRule,
    /// The pattern of a rule is refused.
    Pattern(PatternError),
    /// A moderator has silenced the user, who can still read and vote.
    Silenced(Restriction),
    /// A moderator has banned the user. Only who knows the password is told.
    Banned(Restriction),
    /// By a moderator.
    VotesDiscounted(Restriction),
    /// A site keeps at least one administrator.
    LastAdministrator,
    /// The decision is not about the person, or takes nothing from them.
    NotYourDecision,
    /// The person has appealed against the decision.
    AppealedAlready,
    /// Nobody has appealed against the decision.
    NoSuchAppeal,
    /// By this entry of the moderation log.
    AppealDecided(ModerationId),
    /// Somebody else decides about it.
    AppealAgainstOneself,
    /// There are the most notes about the person.
    TooManyNotes { limit: usize },
    /// There is no such thread of messages, or the person may not read it.
    NoSuchMessages,
    /// The decision is not about the person, or what they have posted.
    NotAboutYou,
    /// The limit of messages to the moderators in a day.
    TooManyMessages { limit: u64 },
    /// A thread of messages has the most.
    ThreadIsFull { limit: u64 },
    /// The limit of threads with the moderators.
    TooManyMessageThreads { limit: u64 },
    /// The fact that an undo would put back has changed since the action that is to be undone.
    ChangedSince {
        /// The fact.
        what: ModeratedFact,
        /// The line of the log that changed it, if one did.
        by: Option<ModerationId>,
    },
    /// The story is a text.
    TextHasNoUrl,
    /// Others have been merged into the story.
    HasMergedStories,
    /// So many stories have been merged into the other one.
    TooManyMerged { limit: u64 },
    /// The row of the queue is not what the moderator saw.
    RowChanged,
    /// Nothing of it waits for a moderator.
    NothingWaits,
    /// The kind of thing takes no flags.
    CannotBeFlagged(Thing),
    /// A moderator has removed it, so nobody needs to flag or remove it.
    RemovedAlready,
    /// The kind of thing is not flagged for this reason.
    ReasonDoesNotFit { reason: FlagReason, thing: Thing },
    /// A flag as a duplicate does not say of what.
    DuplicateOfWhat,
    /// Nobody flags their own posts.
    OwnFlag,
    /// The user has flagged it before.
    FlaggedAlready,
    /// A moderator will look at it anyway.
    FlaggedEnough,
    /// The user has not flagged it.
    NoSuchFlag,
    /// A moderator has decided about it.
    FlagDecided,
    /// Nobody comments in it.
    ThreadLocked { reason: Box<str> },
}

impl Refusal {
    /// Refuses if something is so.
    ///
    /// # Errors
    /// Itself, if it is so.
    pub fn when(self, is_so: bool) -> Result<(), Self> {
        if is_so { Err(self) } else { Ok(()) }
    }

    /// There is nothing of a kind, as far as somebody may know.
    pub(crate) const fn no_such(kind: PostKind) -> Self {
        match kind {
            PostKind::Story => Self::NoSuchNews,
            PostKind::Comment => Self::NoSuchComment,
            PostKind::Tweet => Self::NoSuchTweet,
            PostKind::Profile => Self::NoSuchUser,
        }
    }

    /// The refusal of a vote that needs so much karma.
    pub const fn of_vote(needed: i64, rules: &KarmaRules) -> Self {
        let KarmaRules { visit_increment, visit_seconds, .. } = *rules;
        Self::NotEnoughKarma { needed, visit_increment, visit_seconds }
    }

    /// The seconds after which the action may succeed, if it is only a question of time.
    pub const fn retry_after(&self) -> Option<u64> {
        match self {
            Self::AccountCreatedRecently { seconds }
            | Self::TooManySignupsFromNetwork { seconds }
            | Self::TooManyFailedLogins { seconds }
            | Self::TooManyAtOnce { seconds }
            | Self::TooManyRequests { seconds, .. }
            | Self::SubmittedRecently { seconds } => Some(*seconds),
            Self::TooManyVoters | Self::TooManyVotersOfSite | Self::TooManyHostsOfSite => {
                Some(VOTERS_SECONDS)
            }
            _ => None,
        }
    }

    /// The decision of a moderator that is the reason, if one can appeal against it.
    pub const fn decision(&self) -> Option<ModerationId> {
        match self {
            Self::Silenced(restriction) | Self::Banned(restriction) | Self::VotesDiscounted(restriction) => {
                Some(restriction.moderation)
            }
            _ => None,
        }
    }

    /// Whether it is because the account is not trusted yet.
    pub const fn is_about_trust(&self) -> bool {
        matches!(
            self,
            Self::TooManyRequests { lacking: Some(_), .. }
                | Self::InvitingNeedsTrust(_)
                | Self::NewTopicNeedsTrust { .. }
                | Self::TooManyLinks { .. }
        )
    }
}

//! Why an action failed: bad input, a rule of the site, or the store.

mod sentences;

use self::sentences::{
    banned_origin, because, changed_since, closed, from, how_to_appeal, needed_for_vote, told, with_article,
};
use crate::passwords::PasswordError;
use crate::values::words::{counted, grouped, grouped_signed, wait};
use crate::values::{
    BanScope, Closed, HostnameError, InputError, KarmaRules, Lacking, ModerationId, NoRandomness, NotAHook,
    NotBannable, OriginBanId, OriginKind, PatternError, PostKind, RatedAction, Restriction,
    STAFF_PASSWORD_MIN, UrlError, VoteState,
};
use tidings_keyspace::{CommitError, KeyspaceError};

/// When to come back while too many passwords of one address wait: about as long as the
/// longest queue of one takes.
const CROWDED_SECONDS: u64 = 2;

/// When an address may bring new voters on sites again, at the latest.
const VOTERS_SECONDS: u64 = 86_400;

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
    #[error("the site is very busy. Please try again")]
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

/// A rule of the site that forbids an action. Users see the texts as sentences,
/// with a capital letter and a full stop. A variant has a comment if its text does not say it all.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another user has this name, ignoring case.
    #[error("this username is taken. Choose another")]
    UsernameTaken,
    #[error("an account was created from your address recently. Try again in {0}, or ask the administrator for an invitation", wait(*.seconds))]
    AccountCreatedRecently { seconds: u64 },
    #[error("too many accounts were created from your network in a day. Try again in {0}, or ask the administrator for an invitation", wait(*.seconds))]
    TooManySignupsFromNetwork { seconds: u64 },
    #[error("sign-up is closed on this site")]
    SignupClosed,
    #[error("{}", .0.signups_stopped())]
    SignupsStopped(Restriction),
    #[error("this is not the answer to the site's question")]
    SignupAnswerWrong,
    /// For programs, which have not seen the question.
    #[error("answer the site's question: {question}")]
    SignupAnswerMissing { question: Box<str> },
    #[error("this invitation is no longer valid. It was used or withdrawn, or it has expired")]
    InvitationInvalid,
    /// The link for the first administrator is wrong, or there is an administrator already.
    #[error(
        "this link is not valid: it has been used or is incomplete. While the site has no administrator, \
         the server logs the link each time it starts"
    )]
    WelcomeLinkInvalid,
    #[error("you have no such invitation. It was used or withdrawn, or it has expired")]
    NoSuchInvitation,
    #[error("you can invite people {0}")]
    InvitingNeedsTrust(Lacking),
    #[error("you have used all of your {}", counted(*.limit, "invitation", "invitations"))]
    NoInvitationsLeft { limit: u64 },
    #[error("only moderators and administrators can invite people to this site")]
    InvitationsAreOff,
    #[error("you have {} unused invitations, which is the limit. Withdraw some first", grouped(*.limit))]
    TooManyOpenInvitations { limit: u64 },
    #[error(
        "you have mailed too many invitations today. Make one without an address and send the link yourself"
    )]
    TooManyInvitationMails,
    #[error("your application has not been answered yet. You can log in once a moderator has accepted it")]
    ApplicationWaits,
    #[error("your application was rejected: {reason}")]
    ApplicationRejected { reason: String },
    #[error("there is no such application. It may have been answered already")]
    NoSuchApplication,
    #[error(
        "confirm your e-mail address first: open the link we mailed you. You can have it sent again from \
         your settings"
    )]
    EmailNotConfirmed,
    /// Only members read this site, and nobody is logged in.
    #[error("only members can read this site. Log in first")]
    MembersOnly,
    /// The link that confirms an address has expired, is of a former address, or never existed.
    #[error("this link is no longer valid. Log in and request a new one in your settings")]
    ConfirmationInvalid,
    #[error("we have mailed you several links today. Check your spam folder, or try again tomorrow")]
    TooManyConfirmations,
    /// Unknown user or wrong password. The message never says which.
    #[error("wrong username or password")]
    WrongCredentials,
    #[error("too many failed logins. Try again in {0}", wait(*.seconds))]
    TooManyFailedLogins { seconds: u64 },
    /// The password was right, and the account has a second factor.
    #[error("this account needs a code from its authenticator app, or a recovery code (code)")]
    CodeRequired,
    #[error("this code is wrong or has already been used. Wait for the next one")]
    WrongCode,
    /// The first step of a login was too long ago, or elsewhere.
    #[error("your login took too long. Log in again")]
    LoginExpired,
    #[error("this site has no passwords. Log in through its sign-in service")]
    PasswordsAreOff,
    /// The e-mail address is not verified at the provider, or of another domain.
    #[error("your e-mail address can't log in here. Use an account of the community")]
    DomainNotAllowed,
    #[error("another account here is already connected to this login")]
    IdentityConnected,
    #[error("this login belongs to somebody else. Log in as the person whose account this is")]
    OtherIdentity,
    #[error("set a password first. Without it and this connection, you could not log in any more")]
    LastWayToLogIn,
    /// An account without a password confirms things with a login through the provider.
    #[error("log in again to confirm that it is you, then send this form again")]
    ConfirmationNeeded,
    #[error("this link is no longer valid: it was used, or it is older than ten minutes. Make a new one")]
    LoginLinkInvalid,
    #[error("this account is not an administrator's")]
    NotAnAdministrator,
    /// The setup was not confirmed in time, or was never begun.
    #[error("this took too long. Start again")]
    SetupExpired,
    #[error("your account already has an authenticator app. Remove it first")]
    TotpOn,
    #[error("your account has no authenticator app")]
    TotpOff,
    /// There is nothing that recovery codes could replace.
    #[error("set up two-step login first. It comes with recovery codes")]
    NoSecondFactor,
    /// The browser or the authenticator has sent what is not right.
    #[error("this passkey was not accepted. Try again, or use another way to log in")]
    PasskeyRefused,
    #[error("your account already has this passkey")]
    PasskeyKnown,
    #[error("there is no such passkey. It may have been removed already")]
    NoSuchPasskey,
    #[error("you have {0} passkeys, which is the limit. Remove one first", grouped(*.limit))]
    TooManyPasskeys { limit: u64 },
    /// The address of the site has no name, only a number.
    #[error("passkeys work only on sites with a host name, not with a network address")]
    PasskeysUnavailable,
    #[error("your role needs two-step login. Set it up in your settings (/settings/two-factor) first")]
    RoleNeedsTwoFactor,
    #[error(
        "your role needs a password of at least {STAFF_PASSWORD_MIN} characters. Choose one in your settings (/settings/account) first"
    )]
    RoleNeedsPassword,
    /// Too many logins or sign-ups from one address, or changes of one account, wait already.
    #[error("too many of your requests are already waiting for a password check. Try again in {0}", wait(*.seconds))]
    TooManyAtOnce { seconds: u64 },
    #[error("this username looks too much like another one. Choose another")]
    UsernameConfusable,
    #[error("this username is reserved. Choose another")]
    UsernameReserved,
    #[error("your full name looks like a reserved name. Choose another")]
    FullNameReserved,
    #[error("your full name looks like another user's username. Choose another")]
    FullNameConfusable,
    /// The account or the address has done this too often.
    #[error("too many {}{}. Try again in {}{}", .action.plural(), from(*.by_address), wait(*.seconds), because(*.lacking))]
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
    #[error("your session has ended. Log in again")]
    SessionEnded,
    #[error("there is no such session. It may have ended already")]
    NoSuchSession,
    #[error("enter your current password to change your password or e-mail address")]
    CurrentPasswordNeeded,
    #[error("your current password is wrong")]
    CurrentPasswordWrong,
    /// The password reset link has expired, was used, or never existed.
    #[error("this password reset link is no longer valid. Request a new one")]
    ResetLinkInvalid,
    /// No mail relay is configured.
    #[error("this site can't send mail. Ask its administrator for a new password")]
    MailIsOff,
    #[error("enter a URL or some text")]
    NothingSubmitted,
    /// An edit with both link and text.
    #[error("a story has either a URL or text. Remove one of them")]
    UrlAndText,
    #[error("you submitted a story recently. You can submit another in {0}", wait(*.seconds))]
    SubmittedRecently { seconds: u64 },
    /// An edit changes the URL to that of another recent story.
    #[error("another story with this URL was submitted recently")]
    UrlPostedRecently,
    #[error("there is no such story")]
    NoSuchNews,
    /// Nobody answers it, votes on it or changes it.
    #[error("{}", closed(*.0, *.1))]
    Closed(PostKind, Closed),
    #[error("only the author can edit this story")]
    NotYourNews,
    #[error("you can no longer change this. The limit is {0} after posting", wait(*.window_seconds))]
    TooLateToChange { window_seconds: u64 },
    /// With the votes as they are, if they are known.
    #[error("you have already voted on this")]
    VotedAlready(Option<VoteState>),
    /// The user has not voted on this, or has taken the vote back. With the votes as they are.
    #[error("you have no vote on this")]
    NoVoteToTakeBack(VoteState),
    /// A post has its author's vote from the beginning.
    #[error("you can't take back your vote on your own post")]
    OwnFirstVote,
    #[error("you can no longer take back this vote. The limit is {0}", wait(*.window_seconds))]
    TooLateToTakeBack { window_seconds: u64 },
    /// The time in which marking entries as read can be undone has passed, or all were read otherwise.
    #[error("you can no longer undo this. The limit is ten minutes")]
    TooLateToUndoMarking,
    #[error("votes are final on this site")]
    VotesAreFinal,
    #[error("{}", needed_for_vote(*.needed, *.visit_increment, *.visit_seconds))]
    NotEnoughKarma {
        /// Karma needed.
        needed: i64,
        /// Karma that a visit earns; 0 = none.
        visit_increment: i64,
        /// Seconds between two visits that earn karma; 0 = none do.
        visit_seconds: u64,
    },
    /// A user can save only so many stories without voting.
    #[error("you have saved {0} stories, which is the limit. Remove some first", grouped(*.limit))]
    TooManySaved { limit: u64 },
    #[error("there is no such comment")]
    NoSuchComment,
    #[error("the comment you are replying to does not exist")]
    NoSuchParent,
    #[error("only the author can edit this comment")]
    NotYourComment,
    #[error("this thread is full ({0} comments)", grouped(*.limit))]
    ThreadFull { limit: u64 },
    #[error("there is no user with this name")]
    NoSuchUser,
    /// No such tweet, or it was deleted.
    #[error("there is no such post")]
    NoSuchTweet,
    #[error("only the author can delete this post")]
    NotYourTweet,
    #[error("this person has blocked you. You can't follow them or reply to them")]
    BlockedBy,
    #[error("you can't mute yourself")]
    MutingOneself,
    #[error("you have muted {0} people, sites and words, which is the limit. Unmute one first", grouped(*.limit))]
    TooManyMutes { limit: u64 },
    #[error("you can't block yourself")]
    BlockingOneself,
    #[error("you have blocked {0} people, which is the limit. Unblock someone first", grouped(*.limit))]
    TooManyBlocks { limit: u64 },
    #[error("you can't follow yourself")]
    FollowingOneself,
    #[error("you already follow {0} people, which is the limit. Unfollow someone first", grouped(*.limit))]
    TooManyFollowings { limit: u64 },
    #[error("you already follow {0} topics, which is the limit. Unfollow one first", grouped(*.limit))]
    TooManyFollowedTopics { limit: u64 },
    #[error("you have muted {0} topics, which is the limit. Unmute one first", grouped(*.limit))]
    TooManyMutedTopics { limit: u64 },
    #[error("{0} topics have a description, which is the limit. Remove one first", grouped(*.limit))]
    TooManyTopicSentences { limit: u64 },
    #[error("there is no topic {0:?}")]
    NoSuchTopic(String),
    #[error("the topic {topic:?} does not exist yet. Creating a topic needs {} karma", grouped_signed(*.needed))]
    NewTopicNeedsKarma { topic: String, needed: i64 },
    /// A topic cannot take the name of another.
    #[error("the topic {0:?} already exists. Merge the two instead")]
    TopicExists(String),
    /// Both names of a move are the same.
    #[error("these are the same topic. Choose two different ones")]
    SameTopic,
    #[error("the topic {from:?} is still being moved to {to:?}. Finish that move first")]
    TopicMoving { from: String, to: String },
    /// The voter may no longer vote on sites.
    #[error("this voter is banned")]
    VoterBanned,
    /// An administrator has stopped all voting on sites.
    #[error("voting on sites is currently disabled")]
    VotingDisabled,
    #[error("you have voted on {} new sites today, which is the limit. Continue tomorrow", grouped(*.maximum))]
    TooManyVotes { maximum: u64 },
    #[error("your network has reached the limit of {} on one site in 24 hours. Try again tomorrow", counted(*.maximum, "vote", "votes"))]
    TooManyVotesFromNetwork { maximum: u64 },
    #[error("too many people have started voting from your address today. Try again tomorrow")]
    TooManyVoters,
    /// The whole site has reached the daily limit of new voters, and this network has brought
    /// some of them.
    #[error("too many people have started voting today. Try again tomorrow, or vote with an account")]
    TooManyVotersOfSite,
    /// The whole site has reached the daily limit of hosts with their first vote, and this network
    /// has brought some of them.
    #[error("too many sites received their first vote today. Try again tomorrow, or vote with an account")]
    TooManyHostsOfSite,
    #[error("there is no such voter")]
    NoSuchVoter,
    #[error("only administrators can do this")]
    AdministratorsOnly,
    #[error("only moderators can do this")]
    ModeratorsOnly,
    #[error("you can't moderate yourself or your own posts")]
    OwnThing,
    #[error("you can't moderate someone with a higher role")]
    HigherRole,
    #[error("an administrator has decided this. Only an administrator can undo it")]
    DecidedByAdministrator,
    #[error("the action {action} cannot be applied to {}", with_article(.kind))]
    ActionDoesNotApply { action: &'static str, kind: &'static str },
    #[error("this has already been erased")]
    ErasedAlready,
    /// Erasing cannot be undone, so it is confirmed by the id of what is erased. The sentence names it.
    #[error("{what}. This can't be undone. To do it, confirm it with {confirm}")]
    ErasureUnconfirmed {
        /// The content that would be erased.
        what: Box<str>,
        /// The id.
        confirm: Box<str>,
    },
    #[error("nothing to do: {0}")]
    NothingToModerate(&'static str),
    #[error("there is no such entry in the moderation log")]
    NoSuchModeration,
    #[error("this has already been undone: see entry {0} of the moderation log")]
    UndoneAlready(ModerationId),
    #[error("this action can't be undone")]
    CannotBeUndone,
    /// A rule of the moderators refuses the post.
    #[error("this is not accepted here: {reason}")]
    RefusedByRule { reason: Box<str> },
    /// An edit that would have to wait for a moderator.
    #[error("this change needs a moderator's approval: {reason}. Post it again instead of editing")]
    EditNeedsApproval { reason: Box<str> },
    #[error(
        "new members can't create topics, and {topic} does not exist yet. Choose another topic, or ask a \
         moderator"
    )]
    NewTopicNeedsTrust { topic: String },
    #[error("texts by new members can have at most {limit} links")]
    TooManyLinks { limit: usize },
    /// The network or the domain of the e-mail address is banned.
    #[error("{}", banned_origin(*.kind, *.scope, .reason))]
    OriginBanned { kind: OriginKind, scope: BanScope, reason: Box<str> },
    /// The network or the e-mail domain is banned already, by this ban.
    #[error("this is already banned: see ban {0} in the list")]
    BannedAlready(OriginBanId),
    /// There is no such ban of a network or an e-mail domain.
    #[error("there is no such ban. It may have been lifted")]
    NoSuchOriginBan,
    /// The origin cannot be banned.
    #[error(transparent)]
    NotAnOrigin(#[from] NotBannable),
    #[error("{} networks and domains are banned, which is the limit. Lift a ban first", grouped(*.limit))]
    TooManyOriginBans { limit: u64 },
    #[error("there is no such webhook. It may have been removed")]
    NoSuchHook,
    /// The hook cannot be saved.
    #[error(transparent)]
    NotAHook(#[from] NotAHook),
    #[error("there are {limit} webhooks, which is the limit. Remove one first")]
    TooManyHooks { limit: usize },
    #[error("there is no such saved reason. It may have been removed")]
    NoSuchSavedReason,
    #[error("there are {limit} saved reasons, which is the limit. Remove one first")]
    TooManySavedReasons { limit: usize },
    #[error("there are {limit} rules, which is the limit. Lift one first")]
    TooManyRules { limit: usize },
    #[error("there is no such rule")]
    NoSuchRule,
    /// The pattern of a rule is refused.
    #[error(transparent)]
    Pattern(PatternError),
    #[error("you are silenced {}. You can read and vote. {}", told(.0), how_to_appeal(.0))]
    Silenced(Restriction),
    /// A moderator has banned the user. Only who knows the password is told.
    #[error("you are banned {}. {}", told(.0), how_to_appeal(.0))]
    Banned(Restriction),
    #[error("your votes do not count {}. {}", told(.0), how_to_appeal(.0))]
    VotesDiscounted(Restriction),
    #[error("this is the last administrator. Make someone else an administrator first")]
    LastAdministrator,
    /// The decision is not about the person, or takes nothing from them.
    #[error("you can appeal only against decisions about you or what you have posted")]
    NotYourDecision,
    #[error("you have already appealed against this decision")]
    AppealedAlready,
    #[error("there is no such appeal")]
    NoSuchAppeal,
    #[error("this appeal has already been decided: see entry {0} of the moderation log")]
    AppealDecided(ModerationId),
    #[error("you can't decide an appeal against your own decision")]
    AppealAgainstOneself,
    #[error("there are {limit} notes on this person, which is the limit. Delete one first")]
    TooManyNotes { limit: usize },
    /// There is no such thread of messages, or the person may not read it.
    #[error("there are no such messages")]
    NoSuchMessages,
    #[error("you can write only about decisions about you or what you have posted")]
    NotAboutYou,
    #[error(
        "you have written {limit} messages to the moderators today, which is the limit. Wait until tomorrow"
    )]
    TooManyMessages { limit: u64 },
    #[error("there are {limit} messages here, which is the limit. Write to the moderators in a new thread")]
    ThreadIsFull { limit: u64 },
    #[error("you have {limit} threads with the moderators, which is the limit. Write in one of them")]
    TooManyMessageThreads { limit: u64 },
    /// The fact that an undo would put back has changed since the action that is to be undone.
    #[error("{}", changed_since(.what, *.by))]
    ChangedSince {
        /// The fact, such as `the title`.
        what: &'static str,
        /// The line of the log that changed it, if one did.
        by: Option<ModerationId>,
    },
    #[error("this story is a text, so it has no URL to edit")]
    TextHasNoUrl,
    #[error("other stories have been merged into this one. Split those off first")]
    HasMergedStories,
    #[error("{} stories have been merged into that story, which is the limit", grouped(*.limit))]
    TooManyMerged { limit: u64 },
    /// The row of the queue is not what the moderator saw.
    #[error("this has changed since you opened it. Check it again")]
    RowChanged,
    #[error("nothing here is waiting for a moderator")]
    NothingWaits,
    /// The kind of thing takes no flags.
    #[error("{} can't be flagged", with_article(.0))]
    CannotBeFlagged(&'static str),
    /// A moderator has removed it, so nobody needs to flag or remove it.
    #[error("this has already been removed by a moderator")]
    RemovedAlready,
    #[error("{} can't be flagged as {reason}", with_article(.kind))]
    ReasonDoesNotFit { reason: &'static str, kind: &'static str },
    /// A flag as a duplicate does not say of what.
    #[error("enter the number or the link of the story that this one duplicates")]
    DuplicateOfWhat,
    #[error("you can't flag yourself or your own posts")]
    OwnFlag,
    #[error("you have already flagged this")]
    FlaggedAlready,
    #[error("this has already been flagged many times. A moderator will look at it")]
    FlaggedEnough,
    #[error("you have not flagged this")]
    NoSuchFlag,
    #[error("a moderator has decided about your flag. You can no longer take it back")]
    FlagDecided,
    #[error("this thread is locked: {reason}")]
    ThreadLocked { reason: Box<str> },
}

impl Refusal {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_for_people() {
        let refusal = Refusal::SubmittedRecently { seconds: 53_991 };
        assert_eq!(refusal.to_string(), "you submitted a story recently. You can submit another in 15 hours");
    }

    #[test]
    fn a_refused_vote_says_how_to_earn_karma() {
        for (needed, visit_increment, visit_seconds, text) in [
            (1, 1, 3_600, "you have no karma left to vote with. You earn 1 an hour by visiting"),
            (30, 2, 10_800, "you need 30 karma for this vote. You earn 2 every 3 hours by visiting"),
            (1_000, 5, 86_400, "you need 1,000 karma for this vote. You earn 5 a day by visiting"),
            (10, 0, 3_600, "you need 10 karma for this vote"),
            (10, 1, 0, "you need 10 karma for this vote"),
        ] {
            let refusal = Refusal::NotEnoughKarma { needed, visit_increment, visit_seconds };
            assert_eq!(refusal.to_string(), text);
        }
    }
}

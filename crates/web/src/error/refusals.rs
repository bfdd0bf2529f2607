//! The sentences of refusals.

mod moderating;
mod trust;

pub use self::moderating::{erasure, signups_stopped};
pub use self::trust::trusted;

use self::moderating::{
    banned, cannot_be_flagged, changed_since, closed, does_not_apply, does_not_fit, nothing_to_do,
    origin_banned, silenced, votes_discounted,
};
use self::trust::{inviting_needs_trust, not_enough_karma, too_many_requests};
use super::english::{ended, escaped};
use super::inputs;
use tidings_domain::Refusal;
use tidings_domain::values::STAFF_PASSWORD_MIN;
use tidings_language::spans::wait;
use tidings_language::{Phrase, n, p};

/// The sentence about a refusal.
pub fn refusal(refusal: &Refusal) -> Phrase<'_> {
    match refusal {
        Refusal::UsernameTaken => p!("This username is taken. Choose another."),
        Refusal::AccountCreatedRecently { seconds } => p!(
            "An account was created from your address recently. Try again in {time}, or ask the \
             administrator for an invitation.",
            time = wait(*seconds)
        ),
        Refusal::TooManySignupsFromNetwork { seconds } => p!(
            "Too many accounts were created from your network in a day. Try again in {time}, or ask the \
             administrator for an invitation.",
            time = wait(*seconds)
        ),
        Refusal::SignupClosed => p!("Sign-up is closed on this site."),
        Refusal::SignupsStopped(restriction) => signups_stopped(restriction),
        Refusal::SignupAnswerWrong => p!("This is not the answer to the site's question."),
        Refusal::SignupAnswerMissing { question } => {
            p!("Answer the site's question: {question}", question = ended(question))
        }
        Refusal::InvitationInvalid => {
            p!("This invitation is no longer valid. It was used or withdrawn, or it has expired.")
        }
        Refusal::WelcomeLinkInvalid => p!(
            "This link is not valid: it has been used or is incomplete. While the site has no administrator, \
             the server logs the link each time it starts."
        ),
        Refusal::NoSuchInvitation => {
            p!("You have no such invitation. It was used or withdrawn, or it has expired.")
        }
        Refusal::InvitingNeedsTrust(lacking) => inviting_needs_trust(*lacking),
        Refusal::NoInvitationsLeft { limit } => n!(
            *limit,
            "You have used all of your {count} invitation.",
            "You have used all of your {count} invitations."
        ),
        Refusal::InvitationsAreOff => {
            p!("Only moderators and administrators can invite people to this site.")
        }
        Refusal::TooManyOpenInvitations { limit } => n!(
            *limit,
            "You have {count} unused invitation, which is the limit. Withdraw some first.",
            "You have {count} unused invitations, which is the limit. Withdraw some first."
        ),
        Refusal::TooManyInvitationMails => {
            p!("You have mailed too many invitations today. Make one without an address and send the link \
             yourself.")
        }
        Refusal::ApplicationWaits => {
            p!("Your application has not been answered yet. You can log in once a moderator has accepted it.")
        }
        Refusal::ApplicationRejected { reason } => {
            p!("Your application was rejected: {reason}", reason = ended(reason))
        }
        Refusal::NoSuchApplication => p!("There is no such application. It may have been answered already."),
        Refusal::EmailNotConfirmed => p!(
            "Confirm your e-mail address first: open the link we mailed you. You can have it sent again from \
             your settings."
        ),
        Refusal::MembersOnly => p!("Only members can read this site. Log in first."),
        Refusal::ConfirmationInvalid => {
            p!("This link is no longer valid. Log in and request a new one in your settings.")
        }
        Refusal::TooManyConfirmations => {
            p!("We have mailed you several links today. Check your spam folder, or try again tomorrow.")
        }
        Refusal::WrongCredentials => p!("Wrong username or password."),
        Refusal::TooManyFailedLogins { seconds } => {
            p!("Too many failed logins. Try again in {time}.", time = wait(*seconds))
        }
        Refusal::CodeRequired => {
            p!("This account needs a code from its authenticator app, or a recovery code (code).")
        }
        Refusal::WrongCode => p!("This code is wrong or has already been used. Wait for the next one."),
        Refusal::LoginExpired => p!("Your login took too long. Log in again."),
        Refusal::PasswordsAreOff => p!("This site has no passwords. Log in through its sign-in service."),
        Refusal::DomainNotAllowed => {
            p!("Your e-mail address can't log in here. Use an account of the community.")
        }
        Refusal::IdentityConnected => p!("Another account here is already connected to this login."),
        Refusal::OtherIdentity => {
            p!("This login belongs to somebody else. Log in as the person whose account this is.")
        }
        Refusal::LastWayToLogIn => {
            p!("Set a password first. Without it and this connection, you could not log in any more.")
        }
        Refusal::ConfirmationNeeded => {
            p!("Log in again to confirm that it is you, then send this form again.")
        }
        Refusal::LoginLinkInvalid => {
            p!("This link is no longer valid: it was used, or it is older than ten minutes. Make a new one.")
        }
        Refusal::NotAnAdministrator => p!("This account is not an administrator's."),
        Refusal::SetupExpired => p!("This took too long. Start again."),
        Refusal::TotpOn => p!("Your account already has an authenticator app. Remove it first."),
        Refusal::TotpOff => p!("Your account has no authenticator app."),
        Refusal::NoSecondFactor => p!("Set up two-step login first. It comes with recovery codes."),
        Refusal::PasskeyRefused => {
            p!("This passkey was not accepted. Try again, or use another way to log in.")
        }
        Refusal::PasskeyKnown => p!("Your account already has this passkey."),
        Refusal::NoSuchPasskey => p!("There is no such passkey. It may have been removed already."),
        Refusal::TooManyPasskeys { limit } => n!(
            *limit,
            "You have {count} passkey, which is the limit. Remove one first.",
            "You have {count} passkeys, which is the limit. Remove one first."
        ),
        Refusal::PasskeysUnavailable => {
            p!("Passkeys work only on sites with a host name, not with a network address.")
        }
        Refusal::RoleNeedsTwoFactor => {
            p!("Your role needs two-step login. Set it up in your settings (/settings/two-factor) first.")
        }
        Refusal::RoleNeedsPassword => n!(
            STAFF_PASSWORD_MIN,
            "Your role needs a password of at least {count} character. Choose one in your settings \
             (/settings/account) first.",
            "Your role needs a password of at least {count} characters. Choose one in your settings \
             (/settings/account) first."
        ),
        Refusal::TooManyAtOnce { seconds } => p!(
            "Too many of your requests are already waiting for a password check. Try again in {time}.",
            time = wait(*seconds)
        ),
        Refusal::UsernameConfusable => p!("This username looks too much like another one. Choose another."),
        Refusal::UsernameReserved => p!("This username is reserved. Choose another."),
        Refusal::FullNameReserved => p!("Your full name looks like a reserved name. Choose another."),
        Refusal::FullNameConfusable => {
            p!("Your full name looks like another user's username. Choose another.")
        }
        Refusal::TooManyRequests { action, by_address, seconds, lacking } => {
            too_many_requests((*action, *by_address), *seconds, *lacking)
        }
        Refusal::SessionEnded => p!("Your session has ended. Log in again."),
        Refusal::NoSuchSession => p!("There is no such session. It may have ended already."),
        Refusal::CurrentPasswordNeeded => {
            p!("Enter your current password to change your password or e-mail address.")
        }
        Refusal::CurrentPasswordWrong => p!("Your current password is wrong."),
        Refusal::ResetLinkInvalid => p!("This password reset link is no longer valid. Request a new one."),
        Refusal::MailIsOff => p!("This site can't send mail. Ask its administrator for a new password."),
        Refusal::NothingSubmitted => p!("Enter a URL or some text."),
        Refusal::UrlAndText => p!("A story has either a URL or text. Remove one of them."),
        Refusal::SubmittedRecently { seconds } => {
            p!("You submitted a story recently. You can submit another in {time}.", time = wait(*seconds))
        }
        Refusal::UrlPostedRecently => p!("Another story with this URL was submitted recently."),
        Refusal::NoSuchNews => p!("There is no such story."),
        Refusal::Closed(kind, why) => closed(*kind, *why),
        Refusal::NotYourNews => p!("Only the author can edit this story."),
        Refusal::TooLateToChange { window_seconds } => p!(
            "You can no longer change this. The limit is {time} after posting.",
            time = wait(*window_seconds)
        ),
        Refusal::VotedAlready(_) => p!("You have already voted on this."),
        Refusal::NoVoteToTakeBack(_) => p!("You have no vote on this."),
        Refusal::OwnFirstVote => p!("You can't take back your vote on your own post."),
        Refusal::TooLateToTakeBack { window_seconds } => {
            p!("You can no longer take back this vote. The limit is {time}.", time = wait(*window_seconds))
        }
        Refusal::TooLateToUndoMarking => p!("You can no longer undo this. The limit is ten minutes."),
        Refusal::VotesAreFinal => p!("Votes are final on this site."),
        Refusal::NotEnoughKarma { needed, visit_increment, visit_seconds } => {
            not_enough_karma(*needed, *visit_increment, *visit_seconds)
        }
        Refusal::TooManySaved { limit } => n!(
            *limit,
            "You have saved {count} story, which is the limit. Remove some first.",
            "You have saved {count} stories, which is the limit. Remove some first."
        ),
        Refusal::NoSuchComment => p!("There is no such comment."),
        Refusal::NoSuchParent => p!("The comment you are replying to does not exist."),
        Refusal::NotYourComment => p!("Only the author can edit this comment."),
        Refusal::ThreadFull { limit } => {
            n!(*limit, "This thread is full ({count} comment).", "This thread is full ({count} comments).")
        }
        Refusal::NoSuchUser => p!("There is no user with this name."),
        Refusal::NoSuchTweet => p!("There is no such post."),
        Refusal::NotYourTweet => p!("Only the author can delete this post."),
        Refusal::BlockedBy => p!("This person has blocked you. You can't follow them or reply to them."),
        Refusal::MutingOneself => p!("You can't mute yourself."),
        Refusal::TooManyMutes { limit } => p!(
            "You have muted {limit} people, sites and words, which is the limit. Unmute one first.",
            limit = *limit
        ),
        Refusal::BlockingOneself => p!("You can't block yourself."),
        Refusal::TooManyBlocks { limit } => n!(
            *limit,
            "You have blocked {count} person, which is the limit. Unblock someone first.",
            "You have blocked {count} people, which is the limit. Unblock someone first."
        ),
        Refusal::FollowingOneself => p!("You can't follow yourself."),
        Refusal::TooManyFollowings { limit } => n!(
            *limit,
            "You already follow {count} person, which is the limit. Unfollow someone first.",
            "You already follow {count} people, which is the limit. Unfollow someone first."
        ),
        Refusal::TooManyFollowedTopics { limit } => n!(
            *limit,
            "You already follow {count} topic, which is the limit. Unfollow one first.",
            "You already follow {count} topics, which is the limit. Unfollow one first."
        ),
        Refusal::TooManyMutedTopics { limit } => n!(
            *limit,
            "You have muted {count} topic, which is the limit. Unmute one first.",
            "You have muted {count} topics, which is the limit. Unmute one first."
        ),
        Refusal::TooManyTopicSentences { limit } => n!(
            *limit,
            "{count} topic has a description, which is the limit. Remove one first.",
            "{count} topics have a description, which is the limit. Remove one first."
        ),
        Refusal::NoSuchTopic(topic) => p!("There is no topic \"{topic}\".", topic = escaped(topic)),
        Refusal::NewTopicNeedsKarma { topic, needed } => p!(
            "The topic \"{topic}\" does not exist yet. Creating a topic needs {karma} karma.",
            topic = escaped(topic),
            karma = *needed
        ),
        Refusal::TopicExists(topic) => {
            p!("The topic \"{topic}\" already exists. Merge the two instead.", topic = escaped(topic))
        }
        Refusal::SameTopic => p!("These are the same topic. Choose two different ones."),
        Refusal::TopicMoving { from, to } => p!(
            "The topic \"{from}\" is still being moved to \"{to}\". Finish that move first.",
            from = escaped(from),
            to = escaped(to)
        ),
        Refusal::VoterBanned => p!("This voter is banned."),
        Refusal::VotingDisabled => p!("Voting on sites is currently disabled."),
        Refusal::TooManyVotes { maximum } => n!(
            *maximum,
            "You have voted on {count} new site today, which is the limit. Continue tomorrow.",
            "You have voted on {count} new sites today, which is the limit. Continue tomorrow."
        ),
        Refusal::TooManyVotesFromNetwork { maximum } => n!(
            *maximum,
            "Your network has reached the limit of {count} vote on one site in 24 hours. Try again tomorrow.",
            "Your network has reached the limit of {count} votes on one site in 24 hours. Try again \
             tomorrow."
        ),
        Refusal::TooManyVoters => {
            p!("Too many people have started voting from your address today. Try again tomorrow.")
        }
        Refusal::TooManyVotersOfSite => {
            p!("Too many people have started voting today. Try again tomorrow, or vote with an account.")
        }
        Refusal::TooManyHostsOfSite => {
            p!("Too many sites received their first vote today. Try again tomorrow, or vote with an account.")
        }
        Refusal::NoSuchVoter => p!("There is no such voter."),
        Refusal::AdministratorsOnly => p!("Only administrators can do this."),
        Refusal::ModeratorsOnly => p!("Only moderators can do this."),
        Refusal::OwnThing => p!("You can't moderate yourself or your own posts."),
        Refusal::HigherRole => p!("You can't moderate someone with a higher role."),
        Refusal::DecidedByAdministrator => {
            p!("An administrator has decided this. Only an administrator can undo it.")
        }
        Refusal::ActionDoesNotApply { action, thing } => does_not_apply(*action, thing),
        Refusal::ErasedAlready => p!("This has already been erased."),
        Refusal::ErasureUnconfirmed { what, confirm } => p!(
            "{erasure} This can't be undone. To do it, confirm it with {id}.",
            erasure = erasure(what),
            id = confirm
        ),
        Refusal::NothingToModerate(why) => nothing_to_do(*why),
        Refusal::NoSuchModeration => p!("There is no such entry in the moderation log."),
        Refusal::UndoneAlready(line) => p!(
            "This has already been undone: see entry {entry} of the moderation log.",
            entry = line.to_string()
        ),
        Refusal::CannotBeUndone => p!("This action can't be undone."),
        Refusal::RefusedByRule { reason } => {
            p!("This is not accepted here: {reason}", reason = ended(reason))
        }
        Refusal::EditNeedsApproval { reason } => p!(
            "This change needs a moderator's approval: {reason}. Post it again instead of editing.",
            reason
        ),
        Refusal::NewTopicNeedsTrust { topic } => p!(
            "New members can't create topics, and {topic} does not exist yet. Choose another topic, or ask a \
             moderator.",
            topic
        ),
        Refusal::TooManyLinks { limit } => n!(
            *limit,
            "Texts by new members can have at most {count} link.",
            "Texts by new members can have at most {count} links."
        ),
        Refusal::OriginBanned { kind, scope, reason } => origin_banned(*kind, *scope, reason),
        Refusal::BannedAlready(ban) => {
            p!("This is already banned: see ban {ban} in the list.", ban = ban.to_string())
        }
        Refusal::NoSuchOriginBan => p!("There is no such ban. It may have been lifted."),
        Refusal::NotAnOrigin(why) => inputs::origin(*why),
        Refusal::TooManyOriginBans { limit } => p!(
            "{limit} networks and domains are banned, which is the limit. Lift a ban first.",
            limit = *limit
        ),
        Refusal::NoSuchHook => p!("There is no such webhook. It may have been removed."),
        Refusal::NotAHook(why) => inputs::hook(why),
        Refusal::TooManyHooks { limit } => n!(
            *limit,
            "There is {count} webhook, which is the limit. Remove one first.",
            "There are {count} webhooks, which is the limit. Remove one first."
        ),
        Refusal::NoSuchSavedReason => p!("There is no such saved reason. It may have been removed."),
        Refusal::TooManySavedReasons { limit } => n!(
            *limit,
            "There is {count} saved reason, which is the limit. Remove one first.",
            "There are {count} saved reasons, which is the limit. Remove one first."
        ),
        Refusal::TooManyRules { limit } => n!(
            *limit,
            "There is {count} rule, which is the limit. Lift one first.",
            "There are {count} rules, which is the limit. Lift one first."
        ),
        Refusal::NoSuchRule => p!("There is no such rule."),
        Refusal::Pattern(why) => inputs::pattern(why),
        Refusal::Silenced(restriction) => silenced(restriction),
        Refusal::Banned(restriction) => banned(restriction),
        Refusal::VotesDiscounted(restriction) => votes_discounted(restriction),
        Refusal::LastAdministrator => {
            p!("This is the last administrator. Make someone else an administrator first.")
        }
        Refusal::NotYourDecision => {
            p!("You can appeal only against decisions about you or what you have posted.")
        }
        Refusal::AppealedAlready => p!("You have already appealed against this decision."),
        Refusal::NoSuchAppeal => p!("There is no such appeal."),
        Refusal::AppealDecided(line) => p!(
            "This appeal has already been decided: see entry {entry} of the moderation log.",
            entry = line.to_string()
        ),
        Refusal::AppealAgainstOneself => p!("You can't decide an appeal against your own decision."),
        Refusal::TooManyNotes { limit } => n!(
            *limit,
            "There is {count} note on this person, which is the limit. Delete one first.",
            "There are {count} notes on this person, which is the limit. Delete one first."
        ),
        Refusal::NoSuchMessages => p!("There are no such messages."),
        Refusal::NotAboutYou => p!("You can write only about decisions about you or what you have posted."),
        Refusal::TooManyMessages { limit } => n!(
            *limit,
            "You have written {count} message to the moderators today, which is the limit. Wait until \
             tomorrow.",
            "You have written {count} messages to the moderators today, which is the limit. Wait until \
             tomorrow."
        ),
        Refusal::ThreadIsFull { limit } => n!(
            *limit,
            "There is {count} message here, which is the limit. Write to the moderators in a new thread.",
            "There are {count} messages here, which is the limit. Write to the moderators in a new thread."
        ),
        Refusal::TooManyMessageThreads { limit } => n!(
            *limit,
            "You have {count} thread with the moderators, which is the limit. Write in one of them.",
            "You have {count} threads with the moderators, which is the limit. Write in one of them."
        ),
        Refusal::ChangedSince { what, by } => changed_since(*what, *by),
        Refusal::TextHasNoUrl => p!("This story is a text, so it has no URL to edit."),
        Refusal::HasMergedStories => {
            p!("Other stories have been merged into this one. Split those off first.")
        }
        Refusal::TooManyMerged { limit } => n!(
            *limit,
            "{count} story has been merged into that story, which is the limit.",
            "{count} stories have been merged into that story, which is the limit."
        ),
        Refusal::RowChanged => p!("This has changed since you opened it. Check it again."),
        Refusal::NothingWaits => p!("Nothing here is waiting for a moderator."),
        Refusal::CannotBeFlagged(thing) => cannot_be_flagged(thing),
        Refusal::RemovedAlready => p!("This has already been removed by a moderator."),
        Refusal::ReasonDoesNotFit { reason, thing } => does_not_fit(*reason, thing),
        Refusal::DuplicateOfWhat => p!("Enter the number or the link of the story that this one duplicates."),
        Refusal::OwnFlag => p!("You can't flag yourself or your own posts."),
        Refusal::FlaggedAlready => p!("You have already flagged this."),
        Refusal::FlaggedEnough => {
            p!("This has already been flagged many times. A moderator will look at it.")
        }
        Refusal::NoSuchFlag => p!("You have not flagged this."),
        Refusal::FlagDecided => {
            p!("A moderator has decided about your flag. You can no longer take it back.")
        }
        Refusal::ThreadLocked { reason } => p!("This thread is locked: {reason}", reason = ended(reason)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::error::{Erasure, ModeratedFact, NothingToDo};
    use tidings_domain::values::{
        BanScope, Lacking, ModerationId, OriginKind, RatedAction, Restriction, Timestamp,
    };

    #[test]
    fn a_refused_vote_says_how_to_earn_karma() {
        for (needed, visit_increment, visit_seconds, sentence) in [
            (1, 1, 3_600, "You have no karma left to vote with. You earn 1 an hour by visiting."),
            (30, 2, 10_800, "You need 30 karma for this vote. You earn 2 every 3 hours by visiting."),
            (1_000, 5, 86_400, "You need 1,000 karma for this vote. You earn 5 a day by visiting."),
            (10, 0, 3_600, "You need 10 karma for this vote."),
            (10, 1, 0, "You need 10 karma for this vote."),
        ] {
            let refused = Refusal::NotEnoughKarma { needed, visit_increment, visit_seconds };
            assert_eq!(refusal(&refused).to_string(), sentence);
        }
    }

    #[test]
    fn refusals_are_whole_sentences() {
        let restriction =
            |until| Restriction { until, moderation: ModerationId(1_234), reason: "Spam. ".into() };
        let lacking = Lacking { from: Some(Timestamp(1_770_000_000)), karma: Some(10) };
        let (action, by_address, seconds) = (RatedAction::Tweet, false, 61);
        let (kind, scope) = (OriginKind::Network, BanScope::Both);
        for (refused, sentence) in [
            (
                Refusal::SubmittedRecently { seconds: 53_991 },
                "You submitted a story recently. You can submit another in 15 hours.",
            ),
            (
                Refusal::Silenced(restriction(None)),
                "You are silenced until further notice: Spam. You can read and vote. You can appeal against this \
                 decision, entry 1234 of the moderation log.",
            ),
            (
                Refusal::Banned(restriction(Some(Timestamp(1_770_000_000)))),
                "You are banned until 2 Feb 2026, 02:40 UTC: Spam. You can appeal against this decision, entry 1234 \
                 of the moderation log.",
            ),
            (
                Refusal::TooManyRequests { action, by_address, seconds, lacking: Some(lacking) },
                "Too many posts in a short time. Try again in 2 minutes. Your limit is higher from 2 Feb 2026, 02:40 \
                 UTC on, once you have 10 karma.",
            ),
            (
                Refusal::InvitingNeedsTrust(Lacking { from: None, ..lacking }),
                "You can invite people once you have 10 karma.",
            ),
            (
                Refusal::OriginBanned { kind, scope, reason: "why?".into() },
                "Posts from your network are not accepted here at the moment: why?",
            ),
            (
                Refusal::ChangedSince { what: ModeratedFact::Title, by: Some(ModerationId(7)) },
                "The title has changed since: see entry 7 of the moderation log.",
            ),
            (Refusal::NothingToModerate(NothingToDo::NotPinned), "Nothing to do: this story is not pinned."),
            (
                Refusal::ErasureUnconfirmed {
                    what: Erasure::Tweet { excerpt: "words".to_owned(), place: "(/tweet/9)".to_owned() },
                    confirm: "9".into(),
                },
                "This erases the post “words” (/tweet/9) everywhere. This can't be undone. To do it, confirm it with 9.",
            ),
        ] {
            assert_eq!(refusal(&refused).to_string(), sentence);
        }
    }
}

//! The statuses of failures of the domain.

use super::is_of_whole_store;
use axum::http::StatusCode;
use tidings_domain::{Error, Refusal};

/// The status of a failure of the domain.
pub(super) fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::Refused(refusal) => refusal_status(refusal),
        Error::Input(_) | Error::Url(_) | Error::Hostname(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Store(error) if is_of_whole_store(error) || error.unreadable_key().is_some() => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Error::Store(_) | Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refusal_status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::NoSuchNews
        | Refusal::NoSuchComment
        | Refusal::NoSuchUser
        | Refusal::NoSuchTweet
        | Refusal::NoSuchVoter
        | Refusal::NoSuchTopic(_)
        | Refusal::NoSuchSession
        | Refusal::NoSuchPasskey
        | Refusal::NoSuchInvitation
        | Refusal::NoSuchApplication
        | Refusal::ConfirmationInvalid
        | Refusal::NoSuchModeration
        | Refusal::NoSuchRule
        | Refusal::NoSuchOriginBan
        | Refusal::NoSuchSavedReason
        | Refusal::NoSuchHook
        | Refusal::NoSuchAppeal
        | Refusal::NoSuchMessages
        | Refusal::NoSuchFlag
        | Refusal::ResetLinkInvalid
        | Refusal::WelcomeLinkInvalid => StatusCode::NOT_FOUND,
        Refusal::AccountCreatedRecently { .. }
        | Refusal::TooManySignupsFromNetwork { .. }
        | Refusal::TooManyInvitationMails
        | Refusal::TooManyConfirmations
        | Refusal::TooManyFailedLogins { .. }
        | Refusal::TooManyAtOnce { .. }
        | Refusal::TooManyRequests { .. }
        | Refusal::SubmittedRecently { .. }
        | Refusal::TooManyMessages { .. }
        | Refusal::TooManyVoters
        | Refusal::TooManyVotersOfSite
        | Refusal::TooManyHostsOfSite => StatusCode::TOO_MANY_REQUESTS,
        Refusal::UsernameTaken
        | Refusal::UsernameConfusable
        | Refusal::UsernameReserved
        | Refusal::FullNameReserved
        | Refusal::UrlPostedRecently
        | Refusal::VotedAlready(_)
        | Refusal::NoVoteToTakeBack(_)
        | Refusal::TopicExists(_)
        | Refusal::TotpOn
        | Refusal::TotpOff
        | Refusal::NoSecondFactor
        | Refusal::PasskeyKnown
        | Refusal::TopicMoving { .. }
        | Refusal::NothingToModerate(_)
        | Refusal::ChangedSince { .. }
        | Refusal::BannedAlready(_)
        | Refusal::AppealedAlready
        | Refusal::AppealDecided(_)
        | Refusal::RowChanged
        | Refusal::NothingWaits
        | Refusal::FlaggedAlready
        | Refusal::FlagDecided
        | Refusal::UndoneAlready(_) => StatusCode::CONFLICT,
        Refusal::CodeRequired | Refusal::MembersOnly => StatusCode::UNAUTHORIZED,
        Refusal::NothingSubmitted
        | Refusal::UrlAndText
        | Refusal::SameTopic
        | Refusal::FullNameConfusable
        | Refusal::Pattern(_)
        | Refusal::NotAnOrigin(_)
        | Refusal::NotAHook(_)
        | Refusal::WrongCredentials
        | Refusal::WrongCode
        | Refusal::LoginExpired
        | Refusal::OtherIdentity
        | Refusal::ConfirmationNeeded
        | Refusal::NotAnAdministrator
        | Refusal::SetupExpired
        | Refusal::PasskeyRefused
        | Refusal::InvitationInvalid
        | Refusal::SignupAnswerWrong
        | Refusal::SignupAnswerMissing { .. }
        | Refusal::CurrentPasswordNeeded
        | Refusal::CurrentPasswordWrong
        | Refusal::ReasonDoesNotFit { .. }
        | Refusal::DuplicateOfWhat => StatusCode::UNPROCESSABLE_ENTITY,
        // A rule of the site says no.
        _ => StatusCode::FORBIDDEN,
    }
}

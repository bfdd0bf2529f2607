//! Every way a request can fail: its status, and what the user is told.
//!
//! A handler returns a [`RequestError`]. `router/failures.rs`, which knows the request, turns it into
//! JSON for programs (below `/api/`; for browser extensions in the form of `reputation.rs`) and into
//! a page elsewhere.

mod english;
pub mod inputs;
mod malformed;
mod other_servers;
pub mod refusals;
mod statuses;

pub use self::english::in_english;
pub use self::malformed::Malformed;
pub use self::other_servers::{ProviderError, TitleError};

use self::statuses::status_of;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidings_domain::values::{ModerationId, NotAHook, OriginKind, Timestamp, VoteState};
use tidings_domain::{Error, Refusal};
use tidings_keyspace::{KeyspaceError, StoreHealth, report_unreadable};
use tidings_language::{Message, Phrase, m, p, t};

/// The outcome of a request.
pub type Result<T, E = RequestError> = std::result::Result<T, E>;

/// Why a request failed.
#[derive(Debug, Clone)]
pub enum RequestError {
    /// The domain said no, or failed.
    Domain(Arc<Error>),
    /// A field is missing or wrong.
    Field {
        /// The field.
        name: &'static str,
        /// The requirement that it does not meet.
        expected: &'static Message,
    },
    /// Fields of a form, each with what is wrong with it: all are told at once.
    Fields(Arc<[(&'static str, String)]>),
    /// The body or query string is not a valid form.
    Malformed(Malformed),
    /// The body is larger than anything the site accepts.
    TooLarge,
    /// The body of the request arrives too slowly.
    TooSlow,
    /// The address of the request is longer than any of the site.
    AddressTooLong,
    /// The head of the request is larger than the site accepts.
    HeadTooLarge,
    /// The head of the request is not HTTP.
    UnreadableHead,
    /// The request is for another host, or does not say for which.
    WrongHost,
    /// The request is for a host that the site had before: for this path, with its query.
    OldHost(String),
    /// Nothing is at this address.
    NotFound,
    /// The address does not accept this method.
    MethodNotAllowed,
    /// No user has the given username. Unlike other refusals, this is an HTTP 404
    /// for programs too.
    UnknownUsername,
    /// The viewer has too many home pages open.
    TooManyStreams,
    /// The title of another site's page could not be fetched.
    Title(TitleError),
    /// The login through the provider has failed.
    Provider(ProviderError),
    /// The visitor must log in first.
    LoginRequired,
    /// The form does not carry the secret of the viewer's session.
    WrongSecret,
    /// The form was sent by a page of another site.
    CrossSite,
    /// Too many requests that may write are under way.
    TooManyWrites,
    /// Too many searches are under way.
    TooManySearches,
    /// The search index cannot be used.
    SearchUnavailable,
    /// The index of the search was damaged, and is made anew.
    SearchIndexDamaged,
    /// A page of another site has sent a vote on a site, or asks for a voter's votes.
    ForeignPage,
    /// The request took too long.
    Timeout,
    /// A request that writes took too long: what it asks for may have been done.
    UnsureTimeout,
    /// A handler panicked.
    Panic,
}

impl From<ProviderError> for RequestError {
    fn from(error: ProviderError) -> Self {
        Self::Provider(error)
    }
}

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self::Domain(Arc::new(error))
    }
}

impl From<Refusal> for RequestError {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

impl From<TitleError> for RequestError {
    fn from(error: TitleError) -> Self {
        Self::Title(error)
    }
}

impl From<Malformed> for RequestError {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The message to somebody who can correct what they sent; `None` if they cannot.
pub fn correctable_message(failure: &RequestError) -> Option<String> {
    let is_correctable = match failure {
        RequestError::Domain(error) => {
            is_for_the_user(error)
                || matches!(
                    **error,
                    Error::Busy | Error::Store(KeyspaceError::ReadOnly(_) | KeyspaceError::Unsure(_))
                )
        }
        RequestError::Field { .. }
        | RequestError::Fields(_)
        | RequestError::Title(_)
        | RequestError::UnknownUsername => true,
        _ => false,
    };
    is_correctable.then(|| failure.message())
}

/// The names of the form fields that a failure can be about, the likeliest first; none if it is
/// about the whole form. Forms give different names to the same thing, so there can be several.
pub fn wrong_fields(failure: &RequestError) -> Vec<&'static str> {
    match failure {
        RequestError::Field { name, .. } => vec![name],
        RequestError::Domain(error) => match &**error {
            Error::Input(error) if error.field() == "tweet" => vec!["text"],
            // With a URL, the text of a submission is a comment.
            Error::Input(error) if error.field() == "comment" => vec!["comment", "text"],
            Error::Input(error) => vec![error.field()],
            Error::Url(_) => vec!["url"],
            Error::Hostname(_) => vec!["host"],
            Error::Refused(refusal) => fields_of_refusal(refusal).to_vec(),
            _ => Vec::new(),
        },
        RequestError::Title(_) => vec!["url"],
        RequestError::UnknownUsername => vec!["username"],
        _ => Vec::new(),
    }
}

const fn fields_of_refusal(refusal: &Refusal) -> &'static [&'static str] {
    match refusal {
        Refusal::UsernameTaken | Refusal::UsernameConfusable | Refusal::UsernameReserved => &["username"],
        Refusal::InvitationInvalid => &["invitation"],
        Refusal::SignupAnswerWrong | Refusal::SignupAnswerMissing { .. } => &["answer"],
        Refusal::OriginBanned { kind: OriginKind::Domain, .. } => &["email"],
        Refusal::TooManyInvitationMails => &["email"],
        Refusal::FullNameConfusable | Refusal::FullNameReserved => &["fullname"],
        Refusal::CurrentPasswordNeeded | Refusal::CurrentPasswordWrong => &["current_password"],
        // It stands below both fields, and the password has to be typed again anyway.
        Refusal::WrongCredentials => &["password"],
        Refusal::WrongCode => &["code"],
        Refusal::NothingSubmitted | Refusal::UrlAndText | Refusal::UrlPostedRecently => &["url"],
        Refusal::NewTopicNeedsKarma { .. } | Refusal::NewTopicNeedsTrust { .. } => &["topics"],
        Refusal::TooManyLinks { .. } => &["comment", "text"],
        Refusal::NoSuchTopic(_) | Refusal::SameTopic => &["into", "name"],
        Refusal::TopicExists(_) => &["name"],
        Refusal::NoSuchVoter => &["voter"],
        Refusal::Pattern(_) => &["pattern"],
        Refusal::NotAnOrigin(_) => &["value"],
        Refusal::NotAHook(NotAHook::Address | NotAHook::NotPublic) => &["address"],
        // A page has a box for each kind.
        Refusal::NotAHook(NotAHook::Kinds | NotAHook::UnknownKind(_)) => &["kinds", "story"],
        Refusal::NotAHook(NotAHook::Secret) => &["secret"],
        Refusal::ReasonDoesNotFit { .. } => &["reason"],
        Refusal::ErasureUnconfirmed { .. } => &["confirm"],
        Refusal::DuplicateOfWhat => &["note"],
        _ => &[],
    }
}

/// Whether the request is at fault, so that the user can be told why.
const fn is_for_the_user(error: &Error) -> bool {
    matches!(error, Error::Input(_) | Error::Url(_) | Error::Hostname(_) | Error::Refused(_))
}

/// Whether the store fails as a whole, for this request at least.
const fn is_of_whole_store(error: &KeyspaceError) -> bool {
    matches!(error, KeyspaceError::Unavailable(_) | KeyspaceError::ReadOnly(_) | KeyspaceError::Unsure(_))
}

/// The sentence about a failure of the domain.
pub fn sentence_of(error: &Error) -> Phrase<'_> {
    match error {
        Error::Input(error) => inputs::input(error),
        Error::Url(error) => inputs::url(*error),
        Error::Hostname(error) => inputs::hostname(error),
        Error::Refused(error) => refusals::refusal(error),
        Error::Busy => p!("The site is very busy. Please try again."),
        Error::Store(error) => sentence_of_store(error),
        Error::Internal(_) => p!("Something went wrong on our side."),
    }
}

fn sentence_of_store(error: &KeyspaceError) -> Phrase<'_> {
    match error {
        KeyspaceError::Unavailable(_) => {
            p!("The site cannot reach its database at the moment. Please try again in a minute.")
        }
        KeyspaceError::ReadOnly(cause) => p!(
            "The site is read only at the moment: {cause}. You can still read; try again in a few minutes.",
            cause
        ),
        KeyspaceError::Unsure(_) => p!(
            "The database did not confirm this in time, so it isn't clear whether it was saved. Please try \
             again."
        ),
        error if error.unreadable_key().is_some() => {
            p!("This cannot be read at the moment, because its stored data is damaged. The rest of the site \
             still works.")
        }
        _ => p!("Something went wrong on our side."),
    }
}

impl RequestError {
    /// The requirement for a field that is missing.
    pub const MISSING: &Message = m!("it is missing");

    /// A field that is missing, or not as expected.
    pub const fn field(name: &'static str, expected: &'static Message) -> Self {
        Self::Field { name, expected }
    }

    /// A field that is missing.
    pub const fn missing(name: &'static str) -> Self {
        Self::field(name, Self::MISSING)
    }

    /// Fails if a condition holds.
    ///
    /// # Errors
    /// This error, if the condition holds.
    pub fn when(self, condition: bool) -> Result<()> {
        if condition { Err(self) } else { Ok(()) }
    }

    /// The rule of the site that it is a refusal by, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Domain(error) => match &**error {
                Error::Refused(refusal) => Some(refusal),
                _ => None,
            },
            _ => None,
        }
    }

    /// The seconds after which the request may succeed, if the failure says so.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Domain(error) => match &**error {
                Error::Refused(refusal) => refusal.retry_after(),
                Error::Store(error) if is_of_whole_store(error) => Some(BUSY_SECONDS),
                Error::Busy => Some(BUSY_SECONDS),
                _ => None,
            },
            Self::TooManyWrites | Self::TooManySearches | Self::Timeout | Self::UnsureTimeout => {
                Some(BUSY_SECONDS)
            }
            Self::TooManyStreams => Some(STREAM_SECONDS),
            _ => None,
        }
    }

    /// The decision of a moderator that is the reason, if one can appeal against it.
    pub fn decision(&self) -> Option<ModerationId> {
        self.refusal()?.decision()
    }

    /// Whether the page about trust explains it.
    pub fn is_about_trust(&self) -> bool {
        self.refusal().is_some_and(Refusal::is_about_trust)
    }

    /// The votes as they are, if a vote was refused because of them.
    pub(crate) fn votes(&self) -> Option<VoteState> {
        match self.refusal()? {
            Refusal::VotedAlready(votes) => *votes,
            Refusal::NoVoteToTakeBack(votes) => Some(*votes),
            _ => None,
        }
    }

    /// The status of the response for a page.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Domain(error) => status_of(error),
            Self::Provider(error) => error.status(),
            Self::Field { .. } | Self::Malformed(_) | Self::UnreadableHead | Self::WrongHost => {
                StatusCode::BAD_REQUEST
            }
            Self::Title(_) | Self::Fields(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UnknownUsername | Self::NotFound => StatusCode::NOT_FOUND,
            Self::TooManyWrites
            | Self::TooManySearches
            | Self::SearchUnavailable
            | Self::SearchIndexDamaged
            | Self::Timeout
            | Self::UnsureTimeout => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::AddressTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::OldHost(_) => StatusCode::PERMANENT_REDIRECT,
            Self::TooManyStreams => StatusCode::TOO_MANY_REQUESTS,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::LoginRequired => StatusCode::UNAUTHORIZED,
            Self::WrongSecret | Self::CrossSite | Self::ForeignPage => StatusCode::FORBIDDEN,
            Self::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The sentence about it.
    fn sentence(&self) -> Phrase<'_> {
        match self {
            Self::Domain(error) => sentence_of(error),
            Self::Field { name, expected } => {
                let expected = Phrase::new(expected);
                p!("The field {field} is wrong: {expected}.", field = *name, expected)
            }
            Self::Malformed(malformed) => malformed.sentence(),
            Self::Title(error) => error.sentence(),
            Self::Provider(error) => error.sentence(),
            Self::UnknownUsername => p!("There is no user with this name."),
            Self::TooManyWrites => p!("The site is very busy. Please try again."),
            Self::Fields(_) => p!("Nothing has been saved yet. Correct the fields marked below."),
            Self::TooLarge => p!("The request is too large."),
            Self::TooSlow => p!("The request arrived too slowly. Please try again."),
            Self::AddressTooLong => p!("The address is too long."),
            Self::HeadTooLarge => p!("The request headers are too large."),
            Self::UnreadableHead => p!("The request headers are not valid HTTP."),
            Self::WrongHost => {
                p!("This site does not answer to the host name you used. Its operator can add host names \
                     with the setting server.hosts.")
            }
            Self::OldHost(_) => p!("This site has another address now."),
            Self::TooManyStreams => {
                p!("You have too many home pages open. Close one, and try again in a minute.")
            }
            Self::NotFound => p!("There’s nothing here."),
            Self::MethodNotAllowed => {
                p!("This page can’t be opened like that. Go back and use the form.")
            }
            Self::LoginRequired => p!("You must be logged in."),
            Self::WrongSecret => {
                p!("This form belongs to an earlier session. Go back, reload the page and try again.")
            }
            Self::CrossSite => {
                p!("This form was sent from another site. Open the page on this site and try again.")
            }
            Self::ForeignPage => {
                p!("Other web sites can't vote here. Vote with the browser extension or on this site.")
            }
            Self::TooManySearches => p!("Too many searches are running. Try again in a moment."),
            Self::SearchUnavailable => {
                p!("Search doesn't work at the moment. The rest of the site does.")
            }
            Self::SearchIndexDamaged => {
                p!("The search index is being made. Please try again in a minute. The rest of the site \
                     works.")
            }
            Self::Timeout => p!("The request took too long. Please try again."),
            Self::UnsureTimeout => {
                p!("The request took too long, so it isn't clear whether it was saved. Please try again.")
            }
            Self::Panic => p!("Something went wrong on our side."),
        }
    }

    /// Whether an address or a form is not as the site made it: somebody has changed it, or it came in parts.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Field { .. } | Self::Malformed(_))
    }

    /// The message for the user, as a sentence. Names of fields are for programs.
    pub fn message(&self) -> String {
        self.phrase().to_string()
    }

    /// The message for the user.
    fn phrase(&self) -> Phrase<'_> {
        if self.is_damage() {
            p!("Parts of it are missing or have been changed. Go back, reload the page and try again.")
        } else {
            self.sentence()
        }
    }

    /// Whether a login needs a code besides the password.
    pub(crate) fn needs_code(&self) -> bool {
        matches!(self.refusal(), Some(Refusal::CodeRequired))
    }

    /// The status of the response for a program. A refusal by a rule is a normal
    /// response there, HTTP 200, as the clients expect.
    pub(crate) fn api_status(&self) -> StatusCode {
        match (self, self.refusal()) {
            // An unknown name in an address is a missing page for a program too; older refusals of being slowed down
            // have HTTP status 200.
            (
                _,
                Some(
                    Refusal::NoSuchTopic(_)
                    | Refusal::CodeRequired
                    | Refusal::MembersOnly
                    | Refusal::TooManyFailedLogins { .. }
                    | Refusal::TooManyAtOnce { .. }
                    | Refusal::TooManyRequests { .. },
                ),
            ) => self.status(),
            (Self::Domain(error), _) if is_for_the_user(error) => StatusCode::OK,
            (Self::Field { .. } | Self::Title(_) | Self::LoginRequired | Self::WrongSecret, _) => {
                StatusCode::OK
            }
            _ => self.status(),
        }
    }

    /// The message for a program, which has no form to go back to: in English.
    pub fn message_for_program(&self) -> String {
        match self {
            Self::WrongSecret => {
                "The field apisecret is missing, or belongs to an earlier session.".to_owned()
            }
            Self::CrossSite => "This request was sent from another site.".to_owned(),
            failure => failure.sentence().in_english(),
        }
    }

    /// The state of the store, if that is why it could not do what was asked for.
    pub(crate) fn store_state(&self) -> Option<StoreHealth> {
        let Self::Domain(error) = self else { return None };
        match &**error {
            Error::Store(KeyspaceError::Unavailable(cause)) => Some(StoreHealth::Unavailable(cause.clone())),
            Error::Store(KeyspaceError::ReadOnly(cause)) => Some(StoreHealth::ReadOnly(cause.clone())),
            _ => None,
        }
    }

    /// Logs what an operator should know. Visitors' mistakes are not logged.
    pub(crate) fn log(&self, now: Timestamp, method: &Method, path: &str) {
        static LAST: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];
        let (last, cause, what) = match self {
            Self::Domain(error) => match &**error {
                // That the store is lost, and when it is back, is logged by `health`.
                Error::Store(KeyspaceError::Unavailable(_) | KeyspaceError::ReadOnly(_)) => {
                    (&LAST[0], Some(error), "request failed")
                }
                Error::Store(KeyspaceError::Unsure(_)) => {
                    (&LAST[1], Some(error), "it is unclear whether a write was done")
                }
                Error::Busy => (&LAST[2], None, "too busy"),
                Error::Store(error) if error.unreadable_key().is_some() => return report_unreadable(error),
                Error::Store(_) | Error::Internal(_) => {
                    return tracing::error!(%method, path, %error, "request failed");
                }
                Error::Input(_) | Error::Url(_) | Error::Hostname(_) | Error::Refused(_) => return,
            },
            Self::TooManyWrites => (&LAST[3], None, "too many requests that write at once"),
            Self::Timeout | Self::UnsureTimeout => (&LAST[4], None, "request timed out"),
            Self::Panic => return tracing::error!(%method, path, "request panicked"),
            _ => return,
        };
        if is_first_this_second(last, now) {
            let error = cause.map(tracing::field::display);
            tracing::warn!(%method, path, error, "{what}");
        }
    }
}

/// When to try again after a 503, in seconds.
const BUSY_SECONDS: u64 = 10;
/// Seconds within which another page of the viewer may have been closed.
const STREAM_SECONDS: u64 = 60;
/// A message as a sentence, with a capital letter and a full stop: in the code,
/// messages have neither.
pub fn sentence(message: &str) -> String {
    let sentence = capitalized(message);
    if sentence.ends_with(['.', '!', '?', '。']) {
        sentence
    } else {
        t!("{sentence}.", sentence).to_string()
    }
}

/// A text with its first letter as a capital.
pub fn capitalized(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().into_iter().flat_map(char::to_uppercase).chain(rest).collect()
}

impl IntoResponse for RequestError {
    /// A bare status that carries the failure to `router/failures.rs`.
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Whether nothing of a kind has been logged in this second: when the store is unavailable or
/// many clients are slow, every request fails, and one log line is enough. `last` is the second
/// of the last line.
fn is_first_this_second(last: &AtomicU64, now: Timestamp) -> bool {
    last.swap(now.0, Ordering::Relaxed) != now.0
}

/// An extension of responses with a form that is shown again: why the request failed.
#[derive(Clone)]
pub struct ShownInForm(pub RequestError);

/// The error for an action on a user who is given by name.
pub(super) fn unknown_name(error: Error) -> RequestError {
    match error {
        Error::Refused(Refusal::NoSuchUser) => RequestError::UnknownUsername,
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_sentences() {
        for (message, expected) in [
            ("no karma left. You earn 1 an hour", "No karma left. You earn 1 an hour."),
            ("ändern?", "Ändern?"),
            ("\"a b\" is not a site name", "\"a b\" is not a site name."),
            ("", "."),
        ] {
            assert_eq!(sentence(message), expected);
        }
    }
}

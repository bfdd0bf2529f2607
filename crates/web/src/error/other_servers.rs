//! Failures of other servers that a person asks through this one.

use axum::http::StatusCode;
use tidings_language::{Phrase, p};

/// Why there is no title. None of the messages has a text of the other site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TitleError {
    /// The setting `web.fetch_titles` is off.
    SwitchedOff,
    /// The name has no address, or one that is not public. Which one is not told, because
    /// that would reveal the names of the server's own network.
    NotPublic,
    /// Another port than those of web sites.
    Port,
    /// A redirect leads to something that is not an http or https URL.
    BadRedirect,
    /// Too many redirects.
    TooManyRedirects,
    /// No connection, or one that broke.
    Unreachable,
    /// A TLS connection that is not secure.
    Insecure,
    /// It took too long.
    TimedOut,
    /// A status that is not a success.
    Status(u16),
    /// Not HTML.
    NotAPage,
    /// A page without a title.
    NoTitle,
}

impl TitleError {
    /// The sentence about it.
    pub(super) fn sentence(self) -> Phrase<'static> {
        match self {
            Self::SwitchedOff => p!("This site does not fetch titles. Enter one yourself."),
            Self::NotPublic => p!("This address is not on the public internet."),
            Self::Port => p!("Titles can be fetched only from ports 80 and 443."),
            Self::BadRedirect => p!("This page redirects to something that is not a web page."),
            Self::TooManyRedirects => p!("This page redirects too many times."),
            Self::Unreachable => p!("The site could not be reached."),
            Self::Insecure => p!("The site has no valid certificate."),
            Self::TimedOut => p!("The site did not answer in time."),
            Self::Status(status) => {
                p!("The site did not return this page (status {status}).", status = status.to_string())
            }
            Self::NotAPage => p!("There is no web page at this address."),
            Self::NoTitle => p!("This page has no title."),
        }
    }
}

/// Why somebody cannot log in through the provider. None of the messages has a text of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderError {
    /// They did not want to, or the provider did not let them.
    Cancelled,
    /// It does not answer, or not as it should.
    Away,
    /// It refuses the site's id or secret.
    SiteRefused,
    /// The clocks of the two servers differ.
    Clock,
    /// Its answer is not for this login.
    Wrong,
    /// The person logged in too long ago to confirm anything.
    NotAnew,
}

impl ProviderError {
    /// The sentence about it.
    pub(super) fn sentence(self) -> Phrase<'static> {
        match self {
            Self::Cancelled => p!("You did not log in there. Try again."),
            Self::Away => {
                p!("The sign-in service can't be reached at the moment. Try again in a few minutes.")
            }
            Self::SiteRefused => {
                p!("The sign-in service does not accept this site. Tell whoever runs the site.")
            }
            Self::Clock => {
                p!("The clocks of this site and of its sign-in service differ. Tell whoever runs the site.")
            }
            Self::Wrong => p!("The answer of the sign-in service is not for this login. Try again."),
            Self::NotAnew => p!("The sign-in service did not ask you to log in again. Log out there first."),
        }
    }

    /// The status of the answer.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Cancelled | Self::Wrong | Self::NotAnew => StatusCode::FORBIDDEN,
            Self::Away | Self::SiteRefused | Self::Clock => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

//! Failures of other servers that a person asks through this one.

use axum::http::StatusCode;

/// Why there is no title. None of the messages has a text of the other site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TitleError {
    /// The setting `web.fetch_titles` is off.
    #[error("this site does not fetch titles. Enter one yourself")]
    SwitchedOff,
    /// The name has no address, or one that is not public. Which one is not told, because
    /// that would reveal the names of the server's own network.
    #[error("this address is not on the public internet")]
    NotPublic,
    /// Another port than those of web sites.
    #[error("titles can be fetched only from ports 80 and 443")]
    Port,
    /// A redirect leads to something that is not an http or https URL.
    #[error("this page redirects to something that is not a web page")]
    BadRedirect,
    /// Too many redirects.
    #[error("this page redirects too many times")]
    TooManyRedirects,
    /// No connection, or one that broke.
    #[error("the site could not be reached")]
    Unreachable,
    /// A TLS connection that is not secure.
    #[error("the site has no valid certificate")]
    Insecure,
    /// It took too long.
    #[error("the site did not answer in time")]
    TimedOut,
    /// A status that is not a success.
    #[error("the site did not return this page (status {0})")]
    Status(u16),
    /// Not HTML.
    #[error("there is no web page at this address")]
    NotAPage,
    /// A page without a title.
    #[error("this page has no title")]
    NoTitle,
}

/// Why somebody cannot log in through the provider. None of the messages has a text of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// They did not want to, or the provider did not let them.
    #[error("you did not log in there. Try again")]
    Cancelled,
    /// It does not answer, or not as it should.
    #[error("the sign-in service can't be reached at the moment. Try again in a few minutes")]
    Away,
    /// It refuses the site's id or secret.
    #[error("the sign-in service does not accept this site. Tell whoever runs the site")]
    SiteRefused,
    /// The clocks of the two servers differ.
    #[error("the clocks of this site and of its sign-in service differ. Tell whoever runs the site")]
    Clock,
    /// Its answer is not for this login.
    #[error("the answer of the sign-in service is not for this login. Try again")]
    Wrong,
    /// The person logged in too long ago to confirm anything.
    #[error("the sign-in service did not ask you to log in again. Log out there first")]
    NotAnew,
}

impl ProviderError {
    /// The status of the answer.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Cancelled | Self::Wrong | Self::NotAnew => StatusCode::FORBIDDEN,
            Self::Away | Self::SiteRefused | Self::Clock => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

//! How a page begins: who asks for it, at which address, and what they must be.

use super::frame::Frame;
use crate::App;
use crate::error::{RequestError, Result};
use crate::request::LocalPath;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tidings_domain::{Refusal, User, Visit};

/// A page or a call that reads, for people with a role: [`Anyone`], [`Member`], [`Moderator`] or [`Administrator`].
/// It reads nothing for anyone: the session's reads travel with those of the page. Make its frame with [`Frame::of`] after
/// the page's own reads, which also read what the frame shows.
pub struct Page<R: Audience = Anyone> {
    /// The site.
    pub app: App,
    /// The visit. It sees what is hidden, if the address asks for it.
    pub visit: Visit,
    /// The person who is logged in, as far as the page needs to know.
    pub user: R::User,
    /// The address of the page.
    pub here: LocalPath,
}

/// The people that a page is for.
pub trait Audience {
    /// The viewer, as far as they must be known.
    type User;

    /// The viewer, if they may see the page. Rounds: those that identify them, if they must be known.
    fn admit(visit: &mut Visit) -> impl Future<Output = Result<Self::User>> + Send;
}

/// Everyone, logged in or not.
pub struct Anyone;
/// Users who are logged in.
pub struct Member;
/// Moderators.
pub struct Moderator;
/// Administrators.
pub struct Administrator;

impl Audience for Anyone {
    type User = ();

    async fn admit(_: &mut Visit) -> Result<()> {
        Ok(())
    }
}

/// The user who is logged in, if a rule admits them.
async fn user_who(visit: &mut Visit, may: fn(&User) -> Result<(), Refusal>) -> Result<User> {
    let user = visit.viewer().await?.ok_or(RequestError::LoginRequired)?;
    may(user)?;
    Ok(user.clone())
}

impl Audience for Member {
    type User = User;

    async fn admit(visit: &mut Visit) -> Result<User> {
        user_who(visit, |_| Ok(())).await
    }
}

impl Audience for Moderator {
    type User = User;

    async fn admit(visit: &mut Visit) -> Result<User> {
        user_who(visit, User::require_moderator).await
    }
}

impl Audience for Administrator {
    type User = User;

    async fn admit(visit: &mut Visit) -> Result<User> {
        user_who(visit, User::require_admin).await
    }
}

impl<R: Audience> FromRequestParts<App> for Page<R> {
    type Rejection = RequestError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let Ok(here) = LocalPath::from_request_parts(parts, app).await;
        let mut visit = Visit::from_request_parts(parts, app).await?;
        visit.asks_for_hidden = here.shows_hidden();
        let user = R::admit(&mut visit).await?;
        Ok(Self { app: app.clone(), visit, user, here })
    }
}

impl<R: Audience> Page<R> {
    /// Its frame.
    pub async fn frame(&mut self) -> Result<Frame<'_>> {
        Frame::of(&self.app, &mut self.visit, &self.here).await
    }
}

//! Accounts: who a user is, how they log in, and who is viewing a page.
//!
//! Keys: `user:<id>`, `users.count`, `username.to.id:<name>`, `auth:<token>`,
//! `password_reset:<token>`, `limit:create_user:<address>` and the two
//! `limit:failed_login:` keys. Other wings have fields of their own in `user:<id>`.
//!
//! It hands out [`account`] (create an account, change the profile and the password),
//! [`sessions`] (log in and out), [`password_reset`], [`users`] (a user as stored,
//! profiles, names) and [`visit`]: the viewer of a page, identified along with the page's
//! own reads.

pub mod account;
pub mod actor;
mod karma;
pub mod password_reset;
pub(crate) mod presence;
pub mod sessions;
pub(crate) mod unread;
pub mod users;
pub mod visit;

//! Accounts: who a user is, how they log in, and who is viewing a page.
//!
//! Keys: `user:<id>`, `users.count`, `username.to.id:<name>`, `username.folded:<name>`,
//! `auth:<token>`, `password_reset:<token>`, `limit:create_user:<address>` and the
//! `limit:failed_login:` keys. Other wings have fields of their own in `user:<id>`.
//!
//! It hands out [`account`] (create an account, change the profile and the password),
//! [`sessions`] (log in and out), [`login`] (who guesses is slowed down), [`password_reset`], [`users`] (a user as stored,
//! profiles, names) and [`visit`]: the viewer of a page, identified along with the page's
//! own reads.

pub mod account;
pub mod harden;
mod karma;
pub mod login;
pub mod names;
pub mod password_reset;
pub(crate) mod presence;
pub mod sessions;
pub mod users;
pub mod visit;

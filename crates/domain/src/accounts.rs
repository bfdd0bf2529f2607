//! Accounts: who a user is, how they log in, and who is viewing a page.
//!
//! Keys: `user:<id>`, `users.count`, `username.to.id:<name>`, `session:<hash>`,
//! `user:<id>:sessions`, `auth:<token>`, `password_reset:<token>`,
//! `limit:create_user:<address>`, `limit:account_notices:<id>` and the two
//! `limit:failed_login:` keys. Other wings have fields of their own in `user:<id>`.
//!
//! It hands out [`account`] (create an account, change the profile and the password),
//! [`sessions`] (log in and out, list and end sessions), [`session_store`] (sessions as they
//! are stored), [`password_reset`], [`notices`] (who hears of a change), [`users`] (a user as stored,
//! profiles, names) and [`visit`]: the viewer of a page, identified along with the page's
//! own reads.

pub mod account;
mod karma;
pub mod notices;
pub mod password_reset;
pub(crate) mod presence;
pub mod session_store;
pub mod sessions;
pub mod users;
pub mod visit;

//! Accounts: who a user is, how they log in, and who asks for a page.
//!
//! Keys: `user:<id>`, `users.count`, `username.to.id:<name>`, `auth:<token>`,
//! `password_reset:<token>` and the limits on logins and new accounts.
//!
//! It hands out [`account`] (create one, change what its owner may change),
//! [`sessions`] (log in and out), [`password_reset`], [`users`] (a user as it is stored,
//! profiles, names) and [`visit`]: who asks, found out along with a page's own reads.

pub mod account;
mod karma;
pub mod password_reset;
pub(crate) mod presence;
pub mod sessions;
pub mod users;
pub mod visit;

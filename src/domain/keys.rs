//! One function for each key: the only place where key text exists.
//!
//! `docs/data-layout.md` tells what each key holds. The names are those of
//! Lamer News, so that its databases open as they are.

use super::ids::{NewsId, UserId};
use std::net::IpAddr;

/// String: the highest user id drawn.
pub const USERS_COUNT: &str = "users.count";
/// String: the highest news id drawn.
pub const NEWS_COUNT: &str = "news.count";
/// Sorted set: news ids by rank.
pub const NEWS_TOP: &str = "news.top";
/// Sorted set: news ids by time of posting.
pub const NEWS_CRON: &str = "news.cron";

/// Hash: the news id of each imported submission, by its id in the source.
pub const IMPORTED_LINKS: &str = "import:links";
/// Hash: the user id of each imported person, by the name in the source.
pub const IMPORTED_ACCOUNTS: &str = "import:accounts";

/// Hash: a user.
#[must_use]
pub fn user(id: UserId) -> String {
    format!("user:{id}")
}

/// String: the id of the user with this name, without regard to case.
#[must_use]
pub fn username_to_id(username: &str) -> String {
    format!("username.to.id:{}", username.to_lowercase())
}

/// String: the id of the user with this session token.
#[must_use]
pub fn auth(token: &str) -> String {
    format!("auth:{token}")
}

/// String, expires: the id of the user who may set a new password with this token.
#[must_use]
pub fn password_reset(token: &str) -> String {
    format!("password_reset:{token}")
}

/// String, expires: an account has been created from this address.
#[must_use]
pub fn create_user_limit(address: IpAddr) -> String {
    format!("limit:create_user:{address}")
}

/// String, expires: failed logins to this account.
#[must_use]
pub fn failed_logins_of_account(username: &str) -> String {
    format!("limit:failed_login:account:{}", username.to_lowercase())
}

/// String, expires: failed logins from this address.
#[must_use]
pub fn failed_logins_of_address(address: IpAddr) -> String {
    format!("limit:failed_login:address:{address}")
}

/// String, expires: this user has submitted recently.
#[must_use]
pub fn submitted_recently(id: UserId) -> String {
    format!("user:{id}:submitted_recently")
}

/// Hash: a news item.
#[must_use]
pub fn news(id: NewsId) -> String {
    format!("news:{id}")
}

/// String, expires: the id of the news item posted recently with this URL.
#[must_use]
pub fn url(url: &str) -> String {
    format!("url:{url}")
}

/// Sorted set: who voted an item up, by time.
#[must_use]
pub fn news_up(id: NewsId) -> String {
    format!("news.up:{id}")
}

/// Sorted set: who voted an item down, by time.
#[must_use]
pub fn news_down(id: NewsId) -> String {
    format!("news.down:{id}")
}

/// Sorted set: the news ids that a user voted up, by time.
#[must_use]
pub fn user_saved(id: UserId) -> String {
    format!("user.saved:{id}")
}

/// Sorted set: the news ids that a user posted, by time.
#[must_use]
pub fn user_posted(id: UserId) -> String {
    format!("user.posted:{id}")
}

/// Hash: the comments of a news item, as JSON by comment id.
#[must_use]
pub fn thread(id: NewsId) -> String {
    format!("thread:comment:{id}")
}

/// Sorted set: the comments of a user as `<news id>-<comment id>`, by time.
#[must_use]
pub fn user_comments(id: UserId) -> String {
    format!("user.comments:{id}")
}

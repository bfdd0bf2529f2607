//! Every fixed cap on what people may send. What an operator may change is in
//! [`crate::domain::rules`] instead.
//!
//! A character is a Unicode scalar value, as in the original.

/// The most characters in the title of a news item.
pub const MAX_TITLE: usize = 80;
/// The most characters in the URL of a news item.
pub const MAX_URL: usize = 2048;
/// The most characters in the text of a news item.
pub const MAX_TEXT: usize = 4096;
/// The most characters in a comment.
pub const MAX_COMMENT: usize = 4096;
/// The most characters in what users say about themselves.
pub const MAX_ABOUT: usize = 4096;
/// The most characters in an e-mail address.
pub const MAX_EMAIL: usize = 255;
/// The fewest characters in a username.
pub const USERNAME_MIN: usize = 2;
/// The most characters in a username.
pub const USERNAME_MAX: usize = 32;
/// The longest name that an account of an older site may have.
pub const LONGEST_STORED_USERNAME: usize = 64;
/// The fewest characters in a new password.
pub const PASSWORD_MIN: usize = 8;
/// The most bytes in a new password.
pub const PASSWORD_MAX_BYTES: usize = 1024;
/// How many password checks may wait for their turn before others are turned away.
/// A check takes some 20 ms: the last of them still answers in time.
pub const MAX_WAITING_PASSWORDS: usize = 256;
/// The most comments in one thread: it is read as a whole.
pub const MAX_COMMENTS_PER_THREAD: u64 = 2_000;
/// Items read beyond the front page, to order it by the ranks of the moment.
pub const TOP_READ_AHEAD: u64 = 15;
/// Draws for a random item before the latest stands in.
pub const RANDOM_DRAWS: usize = 16;
/// Items whose ranks are recomputed in one round.
pub const RECOMPUTE_CHUNK: u64 = 200;
/// The most items in one answer of the API.
pub const MAX_API_NEWS: u64 = 32;

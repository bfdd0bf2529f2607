//! Every fixed cap on what people may send. What an operator may change is in
//! [`crate::values::rules`] instead.
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
/// The fewest characters in the name of a topic.
pub const TOPIC_MIN: usize = 2;
/// The most characters in the name of a topic.
pub const TOPIC_MAX: usize = 30;
/// The most topics of one item, and of one list of several topics.
pub const MAX_TOPICS: usize = 5;
/// The most topics in one answer, the largest first.
pub const MAX_LISTED_TOPICS: u64 = 10_000;
/// The most topics that the submission form offers, the largest first.
pub const MAX_OFFERED_TOPICS: u64 = 500;
/// Articles on a page.
pub const ARTICLES_PER_PAGE: u64 = 25;
/// How long a list of topics is kept before it is built anew.
pub const TOPIC_LIST_SECONDS: u64 = 60;
/// Articles that change their topic in one batch.
pub const TOPIC_MOVE_CHUNK: usize = 100;
/// News whose articles are checked in one round.
pub const ARTICLE_CHECK_CHUNK: u64 = 200;
/// Items that a refresh of the stored ranks reads below the page, so that those which
/// have risen get onto it.
pub const TOP_READ_AHEAD: u64 = 70;
/// Draws for a random item before the latest stands in.
pub const RANDOM_DRAWS: usize = 16;
/// Items whose ranks are recomputed in one round.
pub const RECOMPUTE_CHUNK: u64 = 200;
/// The most characters in a tweet, as a person counts them: grapheme clusters.
pub const MAX_TWEET: usize = 280;
/// The most bytes in a tweet: a grapheme cluster may have any number of them.
pub const MAX_TWEET_BYTES: usize = 4096;
/// The most characters in a user's full name.
pub const MAX_FULL_NAME: usize = 50;
/// The most users that a tweet is counted for as a mention. Further names are text.
pub const MAX_MENTIONS: usize = 20;
/// The most people that one user follows: a timeline beyond what is stored is
/// merged from all of them.
pub const MAX_FOLLOWINGS: u64 = 10_000;
/// Tweets that a new follower's timeline gets of the one who is followed.
pub const FOLLOW_BACKFILL: u64 = 200;
/// Tweets in the timeline of everyone.
pub const GLOBAL_TIMELINE_SIZE: u64 = 10_000;
/// Mentions that are kept for a user.
pub const MENTIONS_SIZE: u64 = 1_000;
/// Followers that one batch delivers a tweet to.
pub const DELIVERY_CHUNK: usize = 1_000;
/// The most tweets or people on one page.
pub const MAX_PAGE: usize = 100;
/// The most items in one answer of the API.
pub const MAX_API_NEWS: u64 = 32;
/// The most hosts in one question about the reputation of sites.
pub const MAX_LINKS: usize = 100;
/// The most characters of a hostname as it is typed, before it is read.
pub const MAX_TYPED_HOSTNAME: usize = 1024;
/// The most characters in the name of a host (RFC 1123).
pub const MAX_HOSTNAME: usize = 253;
/// The most characters in one part of a host's name (RFC 1123).
pub const MAX_HOSTNAME_LABEL: usize = 63;
/// The most days of votes in one answer.
pub const MAX_HISTORY_DAYS: u64 = 365;
/// Sites on a leaderboard.
pub const LEADERBOARD: usize = 20;
/// Sites of each day that are looked at for a leaderboard of several days.
pub const LEADERBOARD_OF_A_DAY: u64 = 100;
/// Sites that are compared for one leaderboard.
pub const LEADERBOARD_CANDIDATES: usize = 300;
/// Voters on the list of a day's most active.
pub const TOP_VOTERS: u64 = 100;
/// The most votes of one voter in one answer.
pub const MAX_VOTER_VOTES: u64 = 1_000;
/// Votes of a banned voter that are taken out, or put back, at once.
pub const BAN_CHUNK: u64 = 100;
/// Lines of what administrators did that are shown.
pub const AUDIT_LINES: u64 = 50;
/// The most votes a day on new hosts that an administrator may allow a voter.
pub const MAX_DAILY_VOTES: u64 = 1_000_000;
/// The most votes that an imported site begins with.
pub const MAX_IMPORTED_SITE_VOTES: u64 = 1_000;
/// News on the page of a site.
pub const SITE_NEWS: u64 = 30;

//! The limits of the web layer: page sizes, sizes of requests, connections and times.
//!
//! The limits of stored values are in [`tidings_domain::values::limits`].

use std::time::Duration;
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::comments::outline::PartBounds;
use tidings_domain::values::limits::{MAX_API_COMMENTS, THREAD_PAGE_COMMENTS};

/// Connections at the same time. More connections wait to be accepted, so that the process
/// does not run out of file descriptors.
pub const MAX_CONNECTIONS: usize = 10_000;
/// How long a client may take to send the head of a request. An idle connection is closed
/// after the same time.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to accept more bytes of a response, so that clients that stop
/// reading do not hold connections.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a response waits for a long action (a ban, the move of a topic, a recomputation),
/// which then continues in the background.
pub const LONG_ACTION_WAIT: Duration = Duration::from_secs(5);

/// Bytes in the body of a request: the longest URL and text with each character four bytes
/// long and percent-encoded, and some room.
pub const BODY_BYTES: usize = 128 * 1024;
/// Fields in a form or query string. No form of the site has as many.
pub const MAX_FIELDS: usize = 32;
/// Characters of an unknown field's name that an error message repeats.
pub const SHOWN_NAME_CHARACTERS: usize = 40;
/// Bytes in an address that a form may redirect to. Those of the bookmarklet are the longest.
pub const LOCAL_PATH_BYTES: usize = 8_192;
/// The highest start of a page in a list: more than any list has entries.
pub const MAX_START: u64 = 1_000_000_000;

/// Bytes in the path of an address to which the forms of a page's items redirect. The longest
/// are the pages of accounts with the longest names.
pub const WAY_BACK_BYTES: usize = 900;
/// Bytes in the value of a parameter in such an address.
pub const WAY_BACK_VALUE_BYTES: usize = 40;

/// Bytes in a page or a feed before compression.
pub const PAGE_BYTES: usize = 1024 * 1024;
/// Bytes in a response of the API before compression.
pub const API_BYTES: usize = 2 * PAGE_BYTES;
/// Bytes of the items of a page. The rest is for the layout, a story's text, and the parts of
/// the request that a page repeats.
pub const PAGE_LIST_BYTES: usize = PAGE_BYTES - 192 * 1024;
/// The most bytes of a comment on a page without its text: the form with its way back, and
/// the author's name, encoded in the address of the profile.
pub const COMMENT_MARKUP_BYTES: usize = 2_600;
/// The most bytes of a listed story without its title and URL.
pub const LISTED_STORY_BYTES: usize = 4_500;
/// What a page of a thread may have.
pub const THREAD_PAGE: PartBounds = PartBounds {
    comments: THREAD_PAGE_COMMENTS,
    bytes: PAGE_LIST_BYTES,
    comment_bytes: COMMENT_MARKUP_BYTES,
};
/// What a response with comments may have.
pub const API_COMMENTS: PartBounds =
    PartBounds { comments: MAX_API_COMMENTS, bytes: API_BYTES - 4 * 1024, comment_bytes: 800 };
/// Bytes of a comment with its replies on the page of replies.
pub const REPLIED_COMMENT_BYTES: usize = 56 * 1024;
/// Topics on the page of topics, the largest first.
pub const LISTED_TOPICS: usize = 5_000;

/// Bytes in the body of a cached response, so that a few large ones do not fill the cache.
pub const CACHED_RESPONSE_BYTES: usize = 1024 * 1024;
/// Bytes in the `Accept-Encoding` of a request whose response may be cached. It is part of
/// the key, and no browser sends a longer one.
pub const CACHED_ENCODING_BYTES: usize = 64;
/// Bytes of whole responses in the cache.
pub const RESPONSE_CACHE_BYTES: u64 = 12 * MEBIBYTE;
/// Bytes of the markup of listed stories in the cache.
pub const STORY_CACHE_BYTES: u64 = 2 * MEBIBYTE;
/// Bytes of the markup of comments in the cache.
pub const COMMENT_CACHE_BYTES: u64 = 11 * MEBIBYTE;
/// Bytes of the markup of tweets in the cache.
pub const TWEET_CACHE_BYTES: u64 = 18 * MEBIBYTE;

/// Streams of new tweets that a user can have open: one for each open home page.
pub const STREAMS_PER_USER: usize = 8;
/// Messages in the queue of a stream. A stream that falls further behind is closed, and the
/// browser opens a new one.
pub const STREAM_QUEUE: usize = 64;
/// How often an idle stream sends a comment line, so that proxies keep the stream open and
/// closed connections are noticed.
pub const STREAM_KEEP_ALIVE: Duration = Duration::from_secs(25);
/// How long a stream stays open. The browser then opens a new one, which checks the session
/// again.
pub const STREAM_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Stories on the front page.
pub const FRONT_PAGE_STORIES: u64 = 30;
/// Stories on a page of the latest.
pub const LATEST_STORIES: u64 = 100;
/// Stories on a page of a user's stories or saved stories.
pub const USER_STORIES: u64 = 10;
/// Comments on a page of a user's comments.
pub const USER_COMMENTS: u64 = 10;
/// The viewer's own comments on the page of replies.
pub const REPLIED_COMMENTS: u64 = 10;
/// Tweets that mention the viewer on the page of replies.
pub const MENTIONS: usize = 20;
/// Entries on a page of a timeline or a list of people, and by default in a response of the
/// API.
pub const TIMELINE_ENTRIES: usize = 50;
/// People suggested beside the home timeline.
pub const HOME_SUGGESTIONS: usize = 3;
/// People on the page of suggestions.
pub const SUGGESTIONS: usize = 30;
/// Stories in the table of the administration page.
pub const ADMIN_STORIES: u64 = 30;
/// Days in the chart of a site, and by default in its history.
pub const SITE_DAYS: u64 = 30;

/// Stories in a feed.
pub const FEED_STORIES: u64 = 30;
/// Tweets in a feed.
pub const FEED_TWEETS: usize = 30;
/// Characters of a tweet in the title of its feed entry.
pub const FEED_TITLE_CHARACTERS: usize = 80;
/// The width of a picture from gravatar.com in pixels, which serves none larger.
pub const GRAVATAR_PIXELS: u32 = 2_048;

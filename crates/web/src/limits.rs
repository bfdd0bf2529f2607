//! The limits of the web layer: page sizes, sizes of requests, connections and times.
//!
//! The limits of stored values are in [`tidings_domain::values::limits`].

use std::time::Duration;
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::comments::outline::PartBounds;
use tidings_domain::values::{MAX_API_COMMENTS, MAX_TITLE, THREAD_PAGE_COMMENTS};

/// Connections at the same time, if the process may open as many files.
pub const MAX_CONNECTIONS: usize = 10_000;
/// Connections of one address at the same time, unless it is set.
pub const CONNECTIONS_PER_ADDRESS: usize = 64;
/// Open files that are not connections: the store, logs, connections to Redis and to the mail
/// server, and connections that are being closed.
pub const RESERVED_FILES: usize = 128;
/// Sources whose last refused connection is remembered, so that it is not logged again.
pub const LOGGED_SOURCES: usize = 1_024;
/// How often refused connections of one source are logged.
pub const REFUSAL_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Routes that are measured apart from each other: more than the router has.
pub const MAX_MEASURED_ROUTES: usize = 512;
/// The time over which requests in a second and their times are averaged.
pub const TRAFFIC_WINDOW: Duration = Duration::from_secs(60);
/// How often a sample for that is taken.
pub const TRAFFIC_SAMPLE_EVERY: Duration = Duration::from_secs(5);

/// An answer that takes longer is a line in the log.
pub const SLOW_REQUEST: Duration = Duration::from_millis(500);
/// Such lines in a minute; more are counted.
pub const SLOW_LINES_PER_MINUTE: u32 = 60;
/// How often a proxy that is not trusted is warned of.
pub const PROXY_WARNING_EVERY: Duration = Duration::from_secs(3_600);
/// How long the state of the store counts as known.
pub const HEALTH_LASTS: Duration = Duration::from_secs(1);
/// How often it is looked at for the log.
pub const HEALTH_WATCHED_EVERY: Duration = Duration::from_secs(2);
/// How often the jobs and the mails that wait are looked at.
pub const QUEUES_READ_EVERY: Duration = Duration::from_secs(10);
/// How long it may take to find out. Longer than a store may take by default.
pub const HEALTH_PATIENCE: Duration = Duration::from_secs(3);
/// With less room on the disk of the store, `/health/ready` and the log say so.
pub const LEAST_DISK_MEBIBYTES: u64 = 64;
/// The same in bytes.
pub const LEAST_DISK_BYTES: u64 = LEAST_DISK_MEBIBYTES * 1024 * 1024;
/// The average time of a write from which on it counts as slow.
pub const SLOW_COMMIT: Duration = Duration::from_secs(1);
/// How far a clock may be set back before operators learn of it, in seconds.
pub const TOLERATED_CLOCK_SECONDS: u64 = 10;
/// Seconds after which a job or a mail that waits should be done.
pub const LATE_SECONDS: u64 = 15 * 60;
/// A server that can serve fewer connections at once says so.
pub const FEW_CONNECTIONS: usize = 100;

/// Results on a page of a search.
pub const SEARCH_RESULTS: usize = 30;
/// Pages of a search.
pub const SEARCH_PAGES: usize = 100;
/// How long a search may take; then the results so far are the answer.
pub const SEARCH_PATIENCE: Duration = Duration::from_millis(50);
/// Hits of a search through the API of the search of Hacker News, on all pages together.
pub const MOST_HITS: usize = 1_000;
/// Hits on a page of such a search by default.
pub const PAGE_HITS: usize = 20;
/// Pages of hits that are made at once; the others wait for their turn.
pub const HIT_PAGES_AT_ONCE: usize = 8;
/// Hits that are read at once.
pub const HITS_AT_ONCE: usize = 200;
/// Words, tags and filters of such a search. Further words are ignored, as there.
pub const HIT_WORDS: usize = 10;
/// The same for tags and filters.
pub const HIT_FILTERS: usize = 16;
/// Characters of such a search.
pub const HIT_CHARACTERS: usize = 512;
/// Comments of the threads whose replies are listed with the hits. The hits of further threads are without.
pub const HIT_COMMENTS: u64 = 5_000;
/// Bytes of the text of a hit in which words are marked.
pub const MARKED_BYTES: usize = 16 * 1024;
/// Searches that may wait for others.
pub const SEARCH_QUEUE: usize = 16;

/// How long a connection may stay open without a request.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the head of a request may take, from its first byte.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes in the head of a request, with its address.
pub const HEAD_BYTES: usize = 32 * 1024;
/// Bytes in the address of a request: an address that a form may redirect to, each byte
/// percent-encoded, and some room.
pub const ADDRESS_BYTES: usize = 3 * LOCAL_PATH_BYTES + 512;
/// Bytes of a connection that the system buffers before they are read, and before they are
/// sent. Linux counts its own overhead in addition.
pub const SOCKET_BUFFER_BYTES: usize = 32 * 1024;
/// The time in which a client must take [`SEND_LEAST_BYTES`] of an answer that waits for it.
pub const SEND_WINDOW: Duration = Duration::from_secs(10);
/// Bytes of an answer that a client must take in each [`SEND_WINDOW`].
pub const SEND_LEAST_BYTES: usize = 10_000;
/// How long a refused client may go on sending what nobody reads. If the connection was
/// closed at once, the client might not get the response.
pub const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that such a client may send meanwhile.
pub const LINGER_BYTES: usize = 1024 * 1024;

/// How long a connection stays open without a request while the server stops. A request that
/// was sent before the client could know arrives in this time.
pub const DRAIN_QUIET: Duration = Duration::from_millis(100);
/// How long to wait when no connection can be accepted, as when the process has no file
/// descriptors left.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// How often it is logged that no connection can be accepted.
pub const ACCEPT_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Requests that may write, at the same time, unless it is set. Each has a task of its own.
pub const WRITES_AT_ONCE: usize = 256;

/// A read costs a token of its rate for each started part of so many bytes of its answer, before
/// compression.
pub const UNIT_BYTES: usize = 64 * 1024;

/// Bytes of all answers under way, unless it is set.
pub const ANSWERS_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of an answer that counts in the memory of all answers under way. A smaller one is
/// part of what each connection may need.
pub const COUNTED_ANSWER_BYTES: usize = 4 * 1024;
/// Bytes of the smallest body that is compressed. Smaller ones would hardly get smaller.
pub const LEAST_COMPRESSED_BYTES: usize = 32;
/// Bytes of the largest body that the thread of a request compresses itself. It takes less
/// than a millisecond.
pub const COMPRESSED_AT_ONCE_BYTES: usize = 64 * 1024;

/// How long a response waits for a long action (a ban, the move of a topic, a recomputation),
/// which then continues in the background.
pub const LONG_ACTION_WAIT: Duration = Duration::from_secs(5);

/// How long an error page waits for its viewer to be found out. Then it has none.
pub const ERROR_PAGE_READS: Duration = Duration::from_secs(2);

/// Bytes in the body of a request to a route with a [long body](crate::route::BodySize): the longest text with each character
/// four bytes long and percent-encoded, the longest URL with each character two bytes long and
/// percent-encoded, and some room.
pub const BODY_BYTES: usize = 72 * 1024;
/// Bytes in the body of any other request.
pub const SHORT_BODY_BYTES: usize = 8 * 1024;
/// How long a body may take before its speed matters.
pub const BODY_START: Duration = Duration::from_secs(5);
/// Bytes of a body that must have arrived for each second after [`BODY_START`].
pub const BODY_LEAST_BYTES: usize = 1024;
/// Bytes in the head and the body of a request together, so that a connection takes less than
/// 128 KiB. The head counts twice, because the buffer that reads it grows with it.
pub const REQUEST_BYTES: usize = BODY_BYTES + 8 * 1024;
/// Bytes of memory at first for a body. A larger body counts in the memory of all answers, whose
/// limit is [`ANSWERS_BYTES`] unless it is set.
pub const FIRST_BODY_BYTES: usize = 4 * 1024;
/// Fields in a form or query string. No form of the site has as many.
pub const MAX_FIELDS: usize = 64;
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

/// Bytes of an answer of the OpenID provider.
pub const PROVIDER_BYTES: usize = 64 * 1024;
/// How long an answer of the provider may take.
pub const PROVIDER_PATIENCE: Duration = Duration::from_secs(5);
/// Questions to the provider that may be under way at the same time.
pub const PROVIDER_QUESTIONS: usize = 32;
/// How often the provider is asked what it is.
pub const PROVIDER_RENEWED_EVERY: Duration = Duration::from_secs(3_600);
/// How often the provider is asked what it is while it does not answer, and the shortest time between two looks at its keys.
pub const PROVIDER_ASKED_EVERY: Duration = Duration::from_secs(60);

/// How long to wait for one address of another server to accept a connection.
pub const OUTGOING_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Addresses of a name that are tried.
pub const OUTGOING_ADDRESSES: usize = 4;
/// Bytes of the head of an answer, where nothing else is read.
pub const OUTGOING_HEAD_BYTES: usize = 16 * 1024;
/// How long a webhook may take to answer.
pub const HOOK_TIMEOUT: Duration = Duration::from_secs(5);
/// Fetches of titles of other sites' pages at the same time.
pub const MAX_TITLE_FETCHES: usize = 16;
/// Of these, those of one account.
pub const TITLE_FETCHES_OF_ACCOUNT: usize = 2;
/// Of these, those of one network (IPv4 /24, IPv6 /48).
pub const TITLE_FETCHES_OF_NETWORK: usize = 4;
/// How long such a fetch may take altogether.
pub const TITLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Redirects that it follows.
pub const TITLE_REDIRECTS: usize = 4;
/// Bytes of the page that it reads.
pub const TITLE_BYTES: usize = 512 * 1024;
/// Bytes in the head of the answer, and at the most in a part of its body.
pub const TITLE_HEAD_BYTES: usize = 64 * 1024;
/// Fields in the head of the answer.
pub const TITLE_HEADERS: usize = 100;
/// Bytes at the beginning of a page in which it can name its encoding.
pub const CHARSET_BYTES: usize = 1_024;

/// Bytes in a page or a feed before compression.
pub const PAGE_BYTES: usize = 1024 * 1024;
/// Bytes in a response of the API before compression.
pub const API_BYTES: usize = 2 * PAGE_BYTES;
/// Characters of a title in the names of its vote buttons, which only imported titles exceed.
pub const VOTE_LABEL_CHARACTERS: usize = MAX_TITLE;
/// Bytes of an author's name in the names of the vote buttons of a comment, above which it is cut.
pub const VOTE_LABEL_NAME_BYTES: usize = 96;
/// Bytes of the items of a page. The rest is for the layout, a story's text, and the parts of
/// the request that a page repeats.
pub const PAGE_LIST_BYTES: usize = PAGE_BYTES - 192 * 1024;
/// The most bytes of a comment on a page without its text, ids and its author's name: the buttons
/// and the links to the comments around it.
pub const COMMENT_MARKUP_BYTES: usize = 1_830;
/// How often the author's name is there: as it is, encoded in the address of the profile, in the
/// names of the buttons and in the line of a collapsed branch.
pub const COMMENT_NAMES: usize = 5;
/// How often the id of the story or of a comment is there.
pub const COMMENT_IDS: usize = 24;
/// The most bytes of a comment in a list without its thread, but with the longest name: there is no
/// branch, and fewer links.
pub const LISTED_COMMENT_BYTES: usize = 2_800;
/// The most bytes of a listed story without its title and URL, but with the title in the names
/// of the buttons.
pub const LISTED_STORY_BYTES: usize = 5_500;
/// The bounds of a page of a thread.
pub const THREAD_PAGE: PartBounds = PartBounds {
    comments: THREAD_PAGE_COMMENTS,
    bytes: PAGE_LIST_BYTES,
    comment_bytes: COMMENT_MARKUP_BYTES,
    names: COMMENT_NAMES,
    ids: COMMENT_IDS,
};
/// The bounds of a response with comments.
pub const API_COMMENTS: PartBounds = PartBounds {
    comments: MAX_API_COMMENTS,
    bytes: API_BYTES - 4 * 1024,
    // With the longest name.
    comment_bytes: 800,
    names: 0,
    ids: 0,
};
/// The most bytes of a topic on the page of topics without its sentence.
pub const LISTED_TOPIC_BYTES: usize = 220;
/// Bytes of the entries of an inbox in a response of the API.
pub const API_LIST_BYTES: usize = API_BYTES - 4 * 1024;
/// The most bytes of an entry of an inbox in a response of the API, without its text.
pub const API_ENTRY_BYTES: usize = 800;
/// Topics on the page of topics, the largest first.
pub const LISTED_TOPICS: usize = 5_000;

/// Bytes of an export that are sent at once.
pub const EXPORT_CHUNK_BYTES: usize = 64 * 1024;
/// Such chunks that are made before the client has taken those before.
pub const EXPORT_CHUNKS_AHEAD: usize = 4;
/// Bytes of the two files of an export, compressed. Entries that do not fit are counted and left out.
pub const EXPORT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of them that stories, comments and tweets may take, so that there is room for the rest.
pub const EXPORT_TEXT_BYTES: usize = 12 * 1024 * 1024;
/// Bytes of the two files before compression: some seconds of work.
pub const EXPORT_PLAIN_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of whole responses in the cache.
pub const RESPONSE_CACHE_BYTES: u64 = 24 * MEBIBYTE;
/// Bytes of the markup of listed stories in the cache.
pub const STORY_CACHE_BYTES: u64 = 2 * MEBIBYTE;
/// Bytes of the markup of comments in the cache.
pub const COMMENT_CACHE_BYTES: u64 = 24 * MEBIBYTE;
/// Bytes of the markup of tweets in the cache.
pub const TWEET_CACHE_BYTES: u64 = 17 * MEBIBYTE;

/// Bytes of what the identity of the site looks like in the cache.
pub const BRAND_CACHE_BYTES: u64 = MEBIBYTE;

/// Messages in the queue of a stream. A stream that falls further behind is closed, and the
/// browser opens a new one.
pub const STREAM_QUEUE: usize = 64;
/// How often an idle stream sends a comment line, so that proxies keep the stream open and
/// closed connections are noticed.
pub const STREAM_KEEP_ALIVE: Duration = Duration::from_secs(25);
/// How often a stream of the API of Hacker News says that it is alive.
pub const EVENTS_KEEP_ALIVE: Duration = Duration::from_secs(30);
/// How often such a stream looks whether it has something to send.
pub const EVENTS_EVERY: Duration = Duration::from_secs(1);
/// How often a stream looks whether its session has ended. The look costs no round, unless
/// the session is no longer cached.
pub const SESSION_LOOK: Duration = Duration::from_secs(1);
/// The same on a store that servers share, where each look costs a round.
pub const SHARED_SESSION_LOOK: Duration = Duration::from_secs(5);
/// How long a stream stays open. The browser then opens a new one, which checks the session
/// again.
pub const STREAM_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The least time after the end of a stream until the page opens another. The longest is twice
/// as long.
pub const STREAM_RETRY_MS: u64 = 2_000;
/// How much longer each further stream waits, so that not all come at the same moment.
pub const STREAM_RETRY_STEP_MS: u64 = 70;

/// Stories or comments on a page of a list.
pub const PAGE_ROWS: u64 = 30;
/// Comments on a page of the newest of the site, and in its feed.
pub const SITE_COMMENTS: usize = 30;
/// Entries on a page of the inbox, and in its feed.
pub const INBOX_ENTRIES: usize = 30;
/// The characters of a moderator's message that the inbox shows: more than a reason and the link to
/// the decision.
pub const MESSAGE_CHARACTERS: usize = 1_000;
/// Entries on a page of a timeline or a list of people, and by default in a response of the
/// API.
pub const TIMELINE_ENTRIES: usize = 50;
/// Vote rings that the page of the review queue shows, those with the most votes.
pub const QUEUE_RINGS: usize = 20;
/// Threads of messages with the moderators on a page of their list.
pub const MESSAGE_THREADS_SHOWN: usize = 30;
/// Such threads in a response of the API, each with its newest messages.
pub const API_THREADS: usize = 10;
/// Rows of the review queue on one page. Each takes up to 32 KiB.
pub const QUEUE_ROWS: usize = 30;
/// Lines on a page of the moderation log, and by default in a response of the API.
pub const LOG_ENTRIES: usize = 50;
/// People suggested beside the home timeline.
pub const HOME_SUGGESTIONS: usize = 3;
/// People on the page of suggestions.
pub const SUGGESTIONS: usize = 30;
/// Stories in the table of the administration page.
pub const ADMIN_STORIES: u64 = 30;
/// Days in the chart of a site, and by default in its history.
pub const SITE_DAYS: u64 = 30;

/// Characters of what a page says about itself to search engines and in previews of links.
pub const DESCRIPTION_CHARACTERS: usize = 200;
/// Bytes of a text that are read for that.
pub const EXCERPT_BYTES: usize = 1_024;
/// Stories in one part of the sitemap. With the longest address of a site, it is below
/// [`PAGE_BYTES`].
pub const SITEMAP_STORIES: u64 = 2_500;
/// The most parts of the sitemap: those of the newest stories.
pub const SITEMAP_PARTS: u64 = 2_000;

/// Stories in a feed.
pub const FEED_STORIES: u64 = 30;
/// How long the hub of the feeds may take to answer.
pub const HUB_TIMEOUT: Duration = Duration::from_secs(5);
/// The most bytes of an entry of a feed without its text, but for what only imported stories have.
pub const FEED_ENTRY_BYTES: usize = 8 * 1024;
/// Stories, comments and posts each on a page of the feed of everything that a person has written.
pub const FEED_PERSON_ENTRIES: u64 = 10;
/// Topics in the list of feeds for feed readers, the largest first.
pub const FEED_TOPICS: u64 = 500;
/// People and topics each in the list of feeds of what one follows, those followed last first.
pub const FEED_FOLLOWED: usize = 1_000;
/// Tweets in a feed.
pub const FEED_TWEETS: usize = 30;
/// Characters of a tweet in the title of its feed entry.
pub const FEED_TITLE_CHARACTERS: usize = 80;
/// The width of a picture from gravatar.com in pixels, which serves none larger.
pub const GRAVATAR_PIXELS: u32 = 2_048;

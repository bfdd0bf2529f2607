//! Every fixed cap: on what people may send, on what one answer shows and costs, on how
//! long lists grow, and on how much one batch does.
//!
//! The limits that an operator may change are in [`crate::values::rules`] instead. A character is a
//! Unicode scalar value, as in the original.

use crate::values::Rate;

pub use tidings_text::bounds::{MAX_MARKUP_LEVELS, MAX_SHOWN_TEXT_BYTES};
pub use tidings_text::mentions::{USERNAME_MAX, USERNAME_MIN};

// As much is shown as people can write.
const _: () = assert!(MAX_SHOWN_TEXT_BYTES == 4 * MAX_TEXT);

// Limits on the actions of people.

/// The most recent votes of a user that can be taken back.
pub const MAX_RECENT_VOTES: u64 = 1_200;

// Limits on the data that people send.

/// The most characters in the title of a news item.
pub const MAX_TITLE: usize = 80;
/// The most characters in an imported title. Titles that were accepted elsewhere may be
/// longer than those that people type here.
pub const MAX_IMPORTED_TITLE: usize = 300;
/// The most bytes in an imported text. Those that were accepted elsewhere may be longer than those that people
/// type here. They are shown whole, unless they are nearly all markup; see `size::shown`.
pub const MAX_IMPORTED_TEXT_BYTES: usize = 64 * 1024;
/// The most characters in the URL of a news item.
pub const MAX_URL: usize = 2048;
/// The most bytes of a stored URL that is linked. Imported URLs may be longer than those that
/// people type here. A URL of [`MAX_URL`] characters never has more bytes than this.
pub const MAX_STORED_URL_BYTES: usize = 8_192;
/// The most characters in the text of a news item.
pub const MAX_TEXT: usize = 4096;
/// The most characters in a comment.
pub const MAX_COMMENT: usize = 4096;
/// The most characters in what users say about themselves.
pub const MAX_ABOUT: usize = 4096;
/// The most characters in an e-mail address.
pub const MAX_EMAIL: usize = 255;
/// The most characters in an application for an account.
pub const MAX_APPLICATION: usize = 2_000;
/// The most characters in a username of an account from an older site.
pub const LONGEST_STORED_USERNAME: usize = 64;
/// The most characters in the name of an account that is looked for. Lamer News has no limit.
pub const LONGEST_NAMED_USERNAME: usize = 1_000;
/// The most characters in a user's full name.
pub const MAX_FULL_NAME: usize = 50;
/// The fewest characters in a new password.
pub const PASSWORD_MIN: usize = 8;
/// The fewest in that of somebody with a role.
pub const STAFF_PASSWORD_MIN: usize = 12;
/// The most bytes in a new password: hashing a longer one would cost too much.
pub const PASSWORD_MAX_BYTES: usize = 1024;
/// The fewest characters in the name of a topic.
pub const TOPIC_MIN: usize = 2;
/// The most characters in the name of a topic.
pub const TOPIC_MAX: usize = 30;
/// The most topics of one item, and of one list of several topics.
pub const MAX_TOPICS: usize = 5;
/// The most characters in a tweet, as people count them: grapheme clusters.
pub const MAX_TWEET: usize = 280;
/// The most bytes in a tweet: a grapheme cluster can have any number of them.
pub const MAX_TWEET_BYTES: usize = 4096;
/// The most users that one tweet or comment mentions. Further names are plain text.
pub const MAX_MENTIONS: usize = 20;
/// The most characters of a hostname as it is typed, before it is parsed.
pub const MAX_TYPED_HOSTNAME: usize = 1024;
/// The most characters of a rejected hostname that its error message repeats.
pub const MAX_SHOWN_HOSTNAME: usize = 100;
/// The most characters in the name of a host (RFC 1123).
pub const MAX_HOSTNAME: usize = 253;
/// The most characters in one label of a hostname (RFC 1123).
pub const MAX_HOSTNAME_LABEL: usize = 63;
/// The most hexadecimal digits of a hostname's hash that a client may send: more of them
/// would reveal which site it looks up.
pub const MAX_HASH_PREFIX: usize = 8;
/// The most hosts in one request for the reputation of sites.
pub const MAX_LINKS: usize = 100;
/// The most new sites a day that an administrator may let each voter vote on.
pub const MAX_DAILY_VOTES: u64 = 1_000_000;
/// The most votes on one site that an operator may let a network bring in a day: the store
/// rewrites the list of their voters with each vote.
pub const MAX_SITE_VOTES_PER_NETWORK: u64 = 1_000;
/// The most stories that the list of a site leads to. Those of both forms of its name are merged in each page.
pub const MAX_SITE_STORIES: u64 = 10_000;
/// The most networks that an operator may demand for a score.
pub const MAX_SITE_SCORE_NETWORKS: u64 = 1_000;
/// The accounts whose votes give a site a score, however few their networks are.
pub const SITE_SCORE_ACCOUNTS: u64 = 5;
/// The least good and the least bad votes of a site on the controversial leaderboard.
pub const CONTROVERSIAL_MINORITY: i64 = 2;
/// The most votes or karma that a line of an archive may have.
pub const MAX_IMPORTED_COUNT: i64 = 1_000_000_000;
/// The most votes that an imported site starts with.
pub const MAX_IMPORTED_SITE_VOTES: u64 = 1_000;
/// The most characters in the name of the site.
pub const MAX_SITE_NAME: usize = 40;
/// The most characters in the sentence that describes the site.
pub const MAX_SITE_DESCRIPTION: usize = 160;
/// The most characters in the text about the site, and in its rules. Both are in one form, with
/// each byte percent-encoded, and the body of a request is bounded.
pub const MAX_SITE_TEXT: usize = 2_500;
/// The most links that administrators add to the footer.
pub const MAX_FOOTER_LINKS: usize = 8;
/// The most characters in the label of such a link.
pub const MAX_LINK_LABEL: usize = 30;
/// The most bytes in the address of such a link.
pub const MAX_LINK_ADDRESS_BYTES: usize = 300;
/// The most bytes in the logo of the site.
pub const MAX_LOGO_BYTES: usize = 40 * 1024;
/// The most pixels in the width and in the height of the logo.
pub const MAX_LOGO_PIXELS: u32 = 1_024;

// How long lists grow.

/// The most comments in one thread. Making a thread reads all of them.
pub const MAX_COMMENTS_PER_THREAD: u64 = 2_000;
/// The most people that one user follows: the part of a home timeline that is not stored
/// is merged from all of them.
pub const MAX_FOLLOWINGS: u64 = 10_000;
/// The newest tweets of an author that a new follower's home timeline gets.
pub const FOLLOW_BACKFILL: u64 = 200;
/// Tweets in the timeline of everyone.
pub const GLOBAL_TIMELINE_SIZE: u64 = 10_000;
/// Mentions that are stored for one user.
pub const MENTIONS_SIZE: u64 = 1_000;
/// Entries in the inbox of one user.
pub const INBOX_SIZE: u64 = 1_000;
/// Stories to which one user subscribes, and stories that one user has left. Beyond that, the
/// oldest subscription ends.
pub const MAX_SUBSCRIPTIONS: u64 = 1_000;
/// Seconds for which a new follow by the same person is not told again.
pub const FOLLOW_NOTICE_SECONDS: u64 = 86_400;
/// The most votes up, or votes down, on an item that are cached. On an item with more of
/// them, each viewer's own vote is looked up.
pub const MAX_CACHED_VOTERS: u64 = 4_000;
/// Stories that one user has hidden, the newest: an older one is listed again.
pub const MAX_HIDDEN: u64 = 2_000;
/// The most stories that one user saves without a vote.
pub const MAX_SAVED: u64 = 10_000;
/// Saved stories of a reader, the newest, that lists mark as saved.
pub const MARKED_SAVED: u64 = 1_000;
/// The most topics that one user follows. The list of their stories is merged from all of them.
pub const MAX_FOLLOWED_TOPICS: u64 = 25;
/// The most topics that one user mutes.
pub const MAX_MUTED_TOPICS: u64 = 100;
/// The most characters in the reason for an action of a moderator, and in a note or a warning.
pub const MAX_REASON: usize = 500;
/// The most characters in an appeal.
pub const MAX_APPEAL: usize = 2_000;
/// The most characters in a message to or from the moderators.
pub const MAX_MESSAGE: usize = 5_000;
/// Messages that a member writes to the moderators in a day.
pub const MESSAGES_A_DAY: u64 = 10;
/// Messages in one thread. The last is kept for the moderators.
pub const MESSAGES_IN_THREAD: u64 = 200;
/// Messages of a thread on a page and in an answer.
pub const MESSAGES_SHOWN: u64 = 20;
/// Threads of messages that a member has with the moderators.
pub const MESSAGE_THREADS: u64 = 100;
/// Posts, flags and invited people on the page of a person for moderators, the newest of each.
pub const OVERVIEW_LISTED: u64 = 20;
/// Decisions on that page.
pub const OVERVIEW_DECISIONS: usize = 30;
/// The most notes of moderators on one person.
pub const MAX_NOTES: usize = 100;
/// The most people of one network and day that are kept.
pub const PEOPLE_OF_A_NETWORK_AND_DAY: u64 = 100;
/// The most addresses of one person and day that are kept.
pub const ADDRESSES_OF_A_DAY: u64 = 20;
/// Networks of a person whose people are looked up.
pub const NETWORKS_LOOKED_AT: usize = 5;
/// The most people from the same networks that are shown.
pub const MAX_NEIGHBOURS: usize = 200;
/// Rows of the directory of accounts on a page, and people on whom one acts at once.
pub const DIRECTORY_ROWS: usize = 50;
/// The last row that the directory of accounts shows in one order.
pub const DIRECTORY_DEPTH: usize = 10_000;
/// The days after a post in which moderators learn who else has posted from its network.
pub const NEIGHBOUR_DAYS: u64 = 30;
/// The most days that addresses are kept.
pub const MAX_KEPT_DAYS: u64 = 90;
/// Accounts that are looked at in one round when somebody with a role is looked for.
pub const ACCOUNTS_CHUNK: u64 = 500;
/// Bans that have ended whose votes on sites are put back at a time.
pub const ENDED_BANS_CHUNK: u64 = 100;
/// The most hours that a silence, a hold or a ban can last, unless it lasts forever: ten years.
pub const MAX_HOURS: u64 = 87_660;
/// The most hours that moderators stop sign-ups, or hold the posts of young accounts: a week.
pub const MAX_RAID_HOURS: u64 = 168;
/// The most hours that an account is young for that: 30 days.
pub const MAX_YOUNG_HOURS: u64 = 720;
/// The stories and comments whose votes are asked for at once: more than a page shows.
pub const MAX_VOTES_ASKED: usize = 300;
/// The parts of batches that a page of the moderation log looks at for what can be undone.
pub const LOG_PARTS: usize = 1_000;
/// The most rules that new posts are checked with.
pub const MAX_RULES: usize = 200;
/// The most characters in the pattern of a rule.
pub const MAX_PATTERN: usize = 200;
/// The most bytes of one compiled regular expression.
pub const MAX_REGEX_BYTES: usize = 256 * 1024;
/// The most bytes of all phrases, and of all regular expressions, compiled together.
pub const MAX_RULES_BYTES: usize = 16 * 1024 * 1024;
/// Posts of each kind that the dry run of a rule looks at, the newest first.
pub const DRY_RUN_POSTS: u64 = 20_000;
/// The most days that the dry run of a rule looks back.
pub const DRY_RUN_DAYS: u64 = 30;
/// The most matches that a dry run names.
pub const DRY_RUN_MATCHES: usize = 100;
/// The most days whose posts are removed at once.
pub const MAX_REMOVED_DAYS: u64 = 3_650;
/// The most removals of all posts of one person that are in force at once.
pub const MAX_REMOVALS_OF_ALL: usize = 20;
/// The most stories that can be merged into one.
pub const MAX_MERGED_STORIES: usize = 10;
/// The most characters of what a reader adds to a flag.
pub const MAX_FLAG_NOTE: usize = 200;
/// The most flags of one thing. A decision writes all of those that wait.
pub const MAX_FLAGS: usize = 200;
/// The last decided flags of one person, which give the next ones their weight.
pub const DECIDED_FLAGS: u64 = 50;
/// The outcomes of one person's flags that are stored: more than count, so that undoing decisions
/// brings earlier outcomes back.
pub const STORED_OUTCOMES: u64 = 200;
/// Rows of the review queue with the same score that one answer looks through.
pub const QUEUE_TIES: u64 = 1_000;
/// Notes of flags that a row of the review queue has.
pub const QUEUE_NOTES: usize = 5;
/// Flags of which a row of the review queue names the reader.
pub const QUEUE_FLAGS: usize = 5;
/// The most characters of a text in the review queue.
pub const QUEUE_TEXT: usize = 2_000;
/// The seconds after an action in which a page says that it was done.
pub const NOTICE_SECONDS: u64 = 600;
/// Lines of the moderation log that one answer looks through for those that are asked for.
pub const LOG_LINES_SCANNED: u64 = 1_000;
/// The most people, sites and words, taken together, that one user mutes.
pub const MAX_MUTES: usize = 500;
/// The most characters of a muted word or phrase.
pub const MAX_MUTED_WORD: usize = 60;
/// The most tokens (words, and characters that belong to no word) of a muted phrase.
pub const MAX_MUTED_WORD_TOKENS: usize = 12;
/// The most people whom one user blocks.
pub const MAX_BLOCKS: u64 = 500;
/// The most characters in the sentence that describes a topic.
pub const MAX_TOPIC_SENTENCE: usize = 200;
/// The most topics that have a sentence: the page of topics reads all of them.
pub const MAX_TOPIC_SENTENCES: usize = 1_000;
/// The most password checks that may wait before further ones are rejected. A check takes
/// about 20 ms, so the last in the queue is still answered in time.
pub const MAX_WAITING_PASSWORDS: usize = 256;
/// One network (IPv4 /24, IPv6 /48) has at most this part of the places for passwords while others
/// wait.
pub const NETWORK_SHARE_OF_PASSWORDS: usize = 16;
/// This part of the places is kept for addresses whose last login was right.
pub const KEPT_SHARE_OF_PASSWORDS: usize = 8;
/// Addresses whose last login was right that a server remembers.
pub const MAX_RIGHT_ADDRESSES: usize = 16_384;
/// New passwords (sign-ups, changes) that may wait are this part of the logins that may.
pub const NEW_PASSWORDS_SHARE: usize = 4;
/// The most password checks of one address, or new passwords of one account, that may wait
/// for the one that runs. Further ones are refused at once.
pub const MAX_WAITING_OF_ONE_SOURCE: usize = 63;
/// Failed logins to one account from one address before the next has to wait; fewer where
/// `rates.failed_login_per_address` allows fewer.
pub const MAX_FAILED_LOGINS_OF_PAIR: u32 = 10;
/// Failed logins to one account within [`GUESSES_SECONDS`], after which networks that have never
/// logged in to it wait in the slow lane.
pub const GUESSES_OF_ACCOUNT: u64 = 20;
/// Seconds in which these count.
pub const GUESSES_SECONDS: u64 = 3_600;
/// Networks that are remembered to have logged in to an account, the newest.
pub const KNOWN_NETWORKS: u64 = 20;
/// Seconds for which they are: 60 days.
pub const KNOWN_NETWORKS_SECONDS: u64 = 60 * 86_400;
/// Addresses from which logins to one account have failed within [`FAILED_ADDRESSES_SECONDS`]
/// before its owner is told.
pub const FAILED_ADDRESSES: usize = 20;
/// Seconds for which an address counts among [`FAILED_ADDRESSES`].
pub const FAILED_ADDRESSES_SECONDS: u64 = 3_600;
/// Seconds until an owner may be told again.
pub const OWNER_TOLD_SECONDS: u64 = 86_400;
/// Owners to be told who wait in memory for the mail to be written. Further ones are logged
/// only.
pub const MAX_OWNERS_TO_TELL: usize = 64;
/// Codes of an authenticator app that may be tried for one account in [`WRONG_CODES_SECONDS`],
/// whatever addresses they come from.
pub const MAX_WRONG_CODES: u64 = 20;
/// Seconds for [`MAX_WRONG_CODES`].
pub const WRONG_CODES_SECONDS: u64 = 3_600;
/// Recovery codes of an account.
pub const RECOVERY_CODES: usize = 10;
/// Passkeys of one account.
pub const MAX_PASSKEYS: usize = 10;
/// The most characters of the name of a passkey.
pub const MAX_PASSKEY_NAME: usize = 50;
/// The most bytes of what an authenticator calls a passkey, as WebAuthn says.
pub const MAX_CREDENTIAL_ID_BYTES: usize = 1_023;
/// The most bytes of the public key of a passkey. That of an RSA key of 4,096 bits has about 530.
pub const MAX_PUBLIC_KEY_BYTES: usize = 1_024;
/// Seconds for a login through a provider, for what it confirms, and for a login link.
pub const SIGN_ON_SECONDS: u64 = 600;
/// Seconds for the second step of a login, and for adding a passkey.
pub const SECOND_STEP_SECONDS: u64 = 300;
/// Seconds until a new authenticator app must have been confirmed with a code.
pub const NEW_TOTP_SECONDS: u64 = 900;
/// Sessions that one account has at the same time. One more login ends the oldest.
pub const MAX_SESSIONS: usize = 20;
/// Seconds without a visit after which a session ends: 60 days.
pub const SESSION_SECONDS: u64 = 60 * 86_400;
/// Seconds between two writes of a session's last visit.
pub const SESSION_NOTED_SECONDS: u64 = 3_600;
/// The most characters that are stored of the `User-Agent` of a login.
pub const MAX_AGENT: usize = 256;
/// The most mails a day that tell the owner of an account about changes of it, so that
/// nobody floods an address by changing an account again and again.
pub const MAX_DAILY_NOTICES: u64 = 20;
/// The most mails with a link to confirm an address that one account has sent in 24 hours.
pub const MAX_DAILY_CONFIRMATIONS: u64 = 5;
/// Seconds until a link to confirm an address is no longer valid: 3 days.
pub const CONFIRMATION_SECONDS: u64 = 3 * 86_400;
/// The most characters of an announcement.
pub const MAX_ANNOUNCEMENT: usize = 200;
/// The most stories that are pinned.
pub const MAX_PINNED: usize = 2;
/// The longest network or domain that is banned, in characters.
pub const MAX_ORIGIN: usize = 260;
/// The most reasons that moderators have at hand.
pub const MAX_SAVED_REASONS: usize = 30;
/// The most characters of the title of such a reason.
pub const MAX_SAVED_TITLE: usize = 60;
/// The most characters of the rule that such a reason names.
pub const MAX_SAVED_RULE: usize = 100;
/// Days of the log that the figures of moderation count.
pub const FIGURES_DAYS: u64 = 30;
/// The most lines of the log that they count.
pub const FIGURES_LINES: usize = 2_000;
/// The most bans of networks and e-mail domains.
pub const MAX_ORIGIN_BANS: usize = 1_000;
/// The most characters of an answer to the question at sign-up.
pub const MAX_SIGNUP_ANSWER: usize = 200;
/// Characters of the question at sign-up.
pub const MAX_SIGNUP_QUESTION: usize = 200;
/// Characters of all right answers to it.
pub const MAX_SIGNUP_ANSWERS: usize = 500;
/// Seconds until an invitation that nobody has used is no longer valid: 30 days.
pub const INVITATION_SECONDS: u64 = 30 * 86_400;
/// The most unused invitations of one account, moderators and administrators too.
pub const MAX_OPEN_INVITATIONS: u64 = 200;
/// The most invitations that one account has mailed in 24 hours.
pub const MAX_DAILY_INVITATION_MAILS: u64 = 20;
/// The most invitations that an operator may let each account have.
pub const MAX_INVITATIONS: u64 = 1_000;
/// Seconds for which the accounts created from one network are counted: a day.
pub const NETWORK_SIGNUPS_SECONDS: u64 = 86_400;
/// Seconds for which all sign-ups are counted, and for which sign-up is closed after too many.
pub const SIGNUP_BURST_SECONDS: u64 = 3_600;
/// The most administrators who are told of something about the site.
pub const MAX_TOLD_ADMINISTRATORS: usize = 100;
/// The most entries of the inbox that are mailed to one user in 24 hours. One more mail says
/// that there is more.
pub const MAX_DAILY_MAILS: u64 = 50;
/// How many mails an address may refuse, one after the other, until it gets no more.
pub const MAX_REFUSED_MAILS: u64 = 3;
/// Characters of a text that a mail repeats.
pub const MAX_MAILED_TEXT: usize = 4_000;
/// Changes that are read at once for the hub of the feeds.
pub const HUB_CHANGES_AT_ONCE: u64 = 200;
/// Feeds that the hub is told of in one attempt.
pub const HUB_FEEDS_AT_ONCE: usize = 40;
/// Feeds that may wait for the hub. Beyond that, only those of the whole site do.
pub const MOST_HUB_FEEDS: u64 = 10_000;
/// Things of which it is known that feeds have lost them. Of others, the hub may be told once more.
pub const MOST_HUB_LOST: u64 = 10_000;
/// The most webhooks.
pub const MAX_HOOKS: usize = 5;
/// The most bytes of the address of a webhook.
pub const MAX_HOOK_ADDRESS: usize = 1_000;
/// The fewest characters of the secret of a webhook.
pub const MIN_HOOK_SECRET: usize = 8;
/// The most characters of it.
pub const MAX_HOOK_SECRET: usize = 200;
/// Events that wait until they are noted for webhooks. The oldest leave.
pub const MAX_HOOK_EVENTS: u64 = 1_000;
/// Events that are noted for webhooks at once.
pub const HOOK_EVENTS_AT_ONCE: u64 = 100;
/// Messages that may wait for one webhook. Beyond that, further ones are dropped.
pub const MAX_HOOK_MESSAGES: u64 = 2_000;
/// Messages that are sent to one webhook before another look.
pub const HOOK_MESSAGES_AT_ONCE: u64 = 20;
/// Results that are kept of each webhook.
pub const HOOK_RESULTS: u64 = 20;
/// Mails of the outbox that a server sends before it looks again.
pub const MAIL_CHUNK: u64 = 20;
/// Digests that are put into the outbox at once.
pub const DIGEST_CHUNK: u64 = 100;
/// The most stories of a digest, and of people whom its reader follows.
pub const DIGEST_STORIES: usize = 10;
/// See [`DIGEST_STORIES`].
pub const DIGEST_FOLLOWED_STORIES: usize = 5;
/// The newest stories that digests choose from.
pub const DIGEST_CANDIDATES: u64 = 2_000;
/// The age of the oldest story of a digest, in seconds: a week and a day.
pub const DIGEST_MAX_AGE_SECONDS: u64 = 8 * 86_400;
/// The most requests for reset links that are handled at the same time. Further ones are
/// refused as busy.
pub const MAX_RUNNING_RESETS: usize = 64;
/// The most sources (accounts and addresses) whose rates a server remembers, of reads and of
/// everything else; about 10 MiB each.
pub const MAX_RATED_SOURCES: usize = 65_536;
/// POST requests of one address, whatever they ask for: twice the votes that an address may
/// cast by default.
pub const POSTS_PER_ADDRESS: Rate = Rate::new(1_200, 60);
/// The most links in a comment of an account that is not trusted yet.
pub const MAX_LINKS_OF_NEW: usize = 2;
/// Exports at the same time. Each holds a part of its file in memory, as long as its reader takes.
pub const EXPORTS_AT_ONCE: usize = 8;
/// Exports of one account at the same time: who asks again leaves the first one.
pub const EXPORTS_OF_ONE_ACCOUNT: usize = 2;
/// When to ask again if there are more, in seconds.
pub const EXPORT_RETRY_SECONDS: u64 = 60;
/// Finished exports of one account, of which each reads everything that the account has.
pub const EXPORTS_PER_ACCOUNT: Rate = Rate::new(3, 3_600);
/// Exports from one address.
pub const EXPORTS_PER_ADDRESS: Rate = Rate::new(10, 3_600);
/// Threads whose last visit is stored for one person, the latest.
pub const MAX_VISITED_THREADS: usize = 200;
/// The most visits of threads that a server remembers until they are stored. Further ones are
/// not stored.
pub const MAX_PENDING_MARKS: usize = 10_000;
/// The most things on pages that a server remembers until the entries of inboxes about them are marked as
/// read. Entries about further ones stay unread.
pub const MAX_PENDING_SIGHTS: usize = 20_000;
/// Readers whose unread entries are read in one round.
pub const READERS_PER_ROUND: usize = 50;
/// Seconds for which marking all entries of an inbox as read can be undone.
pub const UNDO_MARKING_SECONDS: u64 = 600;
/// Seconds that a visit of a thread waits in memory before it is stored, so that the next ones
/// are stored with it.
pub const MARK_DELAY_SECONDS: u64 = 5;
/// Seconds between two writes of one person's visits of one thread.
pub const MARK_INTERVAL_SECONDS: u64 = 60;
/// Seconds for which what was new in a thread stays marked: half an hour, so that somebody who
/// reads page after page, writes or votes still sees it.
pub const READING_SECONDS: u64 = 1_800;
/// The most background jobs that wait in a server's memory. Further ones are found in the
/// store.
pub const MAX_QUEUED_JOBS: usize = 4_096;
/// Hours of figures that a server keeps in memory while it cannot store them.
pub const MAX_UNKEPT_HOURS: usize = 24;
/// Hours that the charts of administrators show.
pub const CHART_HOURS: u64 = 24;
/// Days that the charts of administrators show.
pub const CHART_DAYS: u64 = 30;

// Limits on the contents of one answer.

/// The most comments on one page of a thread.
pub const THREAD_PAGE_COMMENTS: usize = 200;
/// Levels of replies on one page of a thread. Deeper replies have a page of their own.
pub const THREAD_LEVELS: usize = 8;
/// The most comments in one answer of the API.
pub const MAX_API_COMMENTS: usize = 500;
/// The most characters of a full name that are shown. Only other programs store longer ones.
pub const MAX_SHOWN_FULL_NAME: usize = 100;

/// The most items in one answer of the API.
pub const MAX_API_NEWS: u64 = 32;
/// News on a page of those of a site.
pub const SITE_NEWS: u64 = 30;
/// Articles on a page.
pub const ARTICLES_PER_PAGE: u64 = 25;
/// The highest page number of a list of articles: more pages than any list has.
pub const MAX_PAGE_NUMBER: u64 = 1_000_000_000;
/// Rows of the review queue among which the stories are looked for that flags have hidden; those come first there.
pub const COUNTED_HIDDEN: u64 = 1_000;
/// The most topics in one answer, the largest first.
pub const MAX_LISTED_TOPICS: u64 = 10_000;
/// The most topics that the submission form offers, the largest first.
pub const MAX_OFFERED_TOPICS: u64 = 500;
/// Topics that the form of a submission has buttons for: those with the most stories.
pub const TOPIC_BUTTONS: usize = 20;
/// The most tweets or people on one page.
pub const MAX_PAGE: usize = 100;
/// The most stories in a list of item numbers.
pub const LISTED_ITEMS: u64 = 500;
/// The most stories in a list of item numbers that has only those of a kind.
pub const CHOSEN_ITEMS: usize = 200;
/// Stories that are looked at for such a list.
pub const LOOKED_AT_ITEMS: u64 = 1_000;
/// The most numbers of the items of one person, and those of each kind that are read.
pub const SUBMITTED_ITEMS: u64 = 1_000;
/// The newest items that are looked at for one that visitors may know of.
pub const UNKNOWN_ITEMS: u64 = 500;
/// Changes that are looked at for a list of what has changed. Clients ask for all of them at once, and an address
/// may have 64 connections.
pub const ITEM_UPDATES: u64 = 50;
/// Sites on a leaderboard.
pub const LEADERBOARD: usize = 20;
/// The most days of votes in one answer.
pub const MAX_HISTORY_DAYS: u64 = 365;
/// Voters on the list of the most active voters of a day.
pub const TOP_VOTERS: u64 = 100;
/// The most votes of one voter in one answer.
pub const MAX_VOTER_VOTES: u64 = 1_000;
/// Lines of the administrators' log that are shown.
pub const AUDIT_LINES: u64 = 50;

/// People on one page of those who have invited others, and of those whom somebody invited.
pub const TREE_PAGE: u64 = 25;
/// People whom a page shows below each of them.
pub const TREE_BRANCHES: u64 = 20;
/// Levels of people on one page of the tree of invitations.
pub const TREE_LEVELS: usize = 4;
/// The most people on one page of the tree.
pub const TREE_PEOPLE: usize = 500;
/// The most people in a list of those whom somebody invited.
pub const MAX_LISTED_INVITED: u64 = 200;

// Limits on the cost of one answer.

/// The most bytes of comments in a thread that is cached with its texts. Of a larger one only
/// the outline is cached, and each page reads its own comments.
pub const WHOLE_THREAD_BYTES: usize = 1024 * 1024;
/// The most comments in a thread that is read on an async thread.
pub const SMALL_THREAD_COMMENTS: u64 = 50;
/// The most stored bytes of a thread that is put in order on an async thread: about a
/// millisecond.
pub const SMALL_THREAD_BYTES: usize = 256 * 1024;
/// Threads that may be large and are read at the same time, so that their memory is bounded:
/// one takes up to about 70 MiB while it is made, but usually less than one.
pub const LARGE_THREADS_AT_ONCE: usize = 4;

/// Items below the page that a refresh of the stored ranks also reads, so that those that
/// have risen get onto the page.
pub const TOP_READ_AHEAD: u64 = 70;
/// Draws for a random item before the latest item is used.
pub const RANDOM_DRAWS: usize = 16;
/// Seconds for which the list of a topic is stored before it is built again.
pub const TOPIC_LIST_SECONDS: u64 = 60;
/// Articles in the list of any of several topics: the first ones of each topic's own list
/// are merged, this many of each.
pub const MAX_UNITED_ARTICLES: u64 = 1_000;
/// The most look-ups that find the articles that are in all of several topics. The
/// candidates are the first articles of the smallest topic, and each of them is looked up in
/// all other topics: 2,000 candidates for two topics, 500 for five.
pub const MAX_TOPIC_LOOKUPS: u64 = 2_000;
/// Articles that are read for a list of the followed topics, of all topics together.
pub const FOLLOWED_ARTICLES: u64 = 5_000;
/// Other topics that a list of topics offers to add, the largest ones.
pub const OFFERED_COMBINATIONS: u64 = 30;
/// The most stories in the list of a day or a month. Of more, the newest are in it.
pub const MAX_PAST_STORIES: u64 = 100_000;
/// Seconds for which such a list is stored before it is built again.
pub const PAST_LIST_SECONDS: u64 = 600;
/// Attempts to fill a page of a timeline when tweets that were read cannot be shown,
/// before the page stays short.
pub const TIMELINE_REFILLS: usize = 5;
/// Followed users whose own followings are read for suggestions.
pub const SUGGESTION_FRIENDS: usize = 20;
/// Followings that are read of each of them.
pub const SUGGESTION_FOLLOWINGS: u64 = 20;
/// The most followed users that are read for suggestions; as many more where the viewer
/// already follows some of them.
pub const SUGGESTION_MOST_FOLLOWED: u64 = 30;
/// The first accounts of a site that may be suggested, for sites where few people follow
/// anyone yet.
pub const SUGGESTION_FIRST_ACCOUNTS: u64 = 20;
/// The most followings of the viewer that are read at once. For a viewer with more of
/// them all candidates are checked, since the viewer may already follow any of them.
pub const SUGGESTION_KNOWN: u64 = 1_000;
/// Candidates whose names and followers are read, beyond the number of suggestions
/// that were asked for.
pub const SUGGESTION_CANDIDATES: usize = 40;
/// Sites of each day that are compared for a leaderboard of several days.
pub const LEADERBOARD_OF_A_DAY: u64 = 100;
/// Sites that are compared for one leaderboard.
pub const LEADERBOARD_CANDIDATES: usize = 300;
/// The most memory, in KiB, that verifying a stored password hash may use. A hash that
/// asks for more was not made here, and could stop the server.
pub const MAX_HASH_MEMORY_KIBIBYTES: u32 = 262_144;
/// The most passes that verifying a stored password hash may take.
pub const MAX_HASH_PASSES: u32 = 32;

/// Entries of one list in an export, the newest.
pub const EXPORT_LIST: u64 = 50_000;
/// The newest stories in which an export looks for votes of its account. There is no list of
/// one person's votes down. Of older stories it has those that are saved, as votes up are.
pub const EXPORT_SCANNED_STORIES: u64 = 50_000;
/// Threads in which an export looks for votes of its account on comments, of which there is no
/// list: the newest that have to do with the account.
pub const EXPORT_THREADS: usize = 1_000;
/// Comments that an export reads for that.
pub const EXPORT_SCANNED_COMMENTS: u64 = 50_000;

/// Days whose votes a search for vote rings looks at.
pub const VOTE_RING_DAYS: u64 = 90;
/// Stories that such a search reads, the newest.
pub const VOTE_RING_STORIES: u64 = 100_000;
/// Votes that such a search has in memory: about 60 MiB with what it makes of them.
pub const VOTE_RING_VOTES: usize = 1_000_000;
/// Votes of one story that such a search reads, the first ones.
pub const VOTE_RING_VOTES_OF_STORY: u64 = 2_000;

// How much one batch or one round does.

/// Stories, or comments of threads, that a search for vote rings reads in one round.
pub const VOTE_RING_CHUNK: u64 = 250;
/// Entries, or comments of threads, that an export reads in one round.
pub const EXPORT_CHUNK: u64 = 250;

/// Accounts that get their entry in the index of usernames in one batch.
pub const FOLDING_CHUNK: u64 = 500;
/// The most such batches before a sign-up or a change of a full name.
pub const FOLDING_CHUNKS_OF_ONE_ACTION: u64 = 4;
/// Accounts that one round reads to find the administrators.
pub const STAFF_CHUNK: u64 = 500;
/// Accounts whose weak password hashes one batch wraps.
pub const HARDEN_CHUNK: u64 = 50;

/// Visits of threads that one batch stores.
pub const MARKS_PER_BATCH: usize = 500;
/// Items whose ranks are recomputed in one round.
pub const RECOMPUTE_CHUNK: u64 = 200;
/// Stories that one batch adds to the list of a day or a month.
pub const PAST_CHUNK: usize = 500;
/// Articles that change their topic in one batch.
pub const TOPIC_MOVE_CHUNK: usize = 100;
/// Followers whose home timelines one batch writes, or subscribers whose inboxes it writes.
pub const DELIVERY_CHUNK: usize = 1_000;
/// Subscribers of a thread who are told of a comment in the batch that posts it. Where there
/// are more of them, a background job tells all of them.
pub const SUBSCRIBERS_AT_ONCE: usize = 50;
/// Entries that leave a full inbox at once. There is more than one only after people have
/// written to the same inbox at the same time.
pub const INBOX_OVERFLOW: u64 = 10;
/// Stories that one step looks at to take out or put back the votes of a person, with their threads.
pub const DISCOUNT_CHUNK: u64 = 10;
/// Writes after which such a step leaves the other stories to the next one.
pub const DISCOUNT_WRITES: usize = 500;
/// Votes of a banned voter that one batch takes out of the totals, or puts back.
pub const BAN_CHUNK: u64 = 100;
/// Follows of a deactivated account that one batch ends. Each of them may cost reading a
/// home timeline.
pub const DEACTIVATION_PEOPLE_CHUNK: u64 = 20;
/// Tweets of a deactivated account that one batch deletes.
pub const DEACTIVATION_TWEETS_CHUNK: u64 = 200;
/// Jobs in the queue that one look for abandoned jobs reads.
pub const JOB_SCAN: u64 = 256;

/// Lines about failed logins in a minute; more are counted.
pub const LOGIN_LINES_PER_MINUTE: u32 = 120;

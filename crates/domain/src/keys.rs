//! The schema: each family of keys with what it holds. This is the only place where key text exists.
//!
//! A row makes the constant or the function that gives the key, and its [`families::Family`]; checks of a whole
//! store, backups and the table of `docs/data-layout.md` are read from those. The names are those of Lamer News,
//! so that its databases open as they are.

mod family;
pub mod kept;

use crate::values::{
    Age, CountedNetwork, Day, HashPrefix, HookId, Hostname, Hour, ImportSource, InvitationCode,
    MessageThreadId, ModerationId, Network, NetworkTag, NewsId, NewsUrl, Period, ProviderIdentity,
    RatedAction, RequestHash, SessionHash, Thing, Topic, TweetId, TypedName, UserId, VoterId, lookalikes,
};
use std::net::IpAddr;

/// The beginning of `withdrawn:<thing>`, which had what was taken away with something removed up to layout 13.
pub(crate) const OLD_WITHDRAWN: &str = "withdrawn:";

/// Where home timelines were, in stores before layout 11. A migration deletes it.
pub(crate) const OLD_TIMELINE_PLACE: &str = "timeline:place";

const NEVER: u64 = 0;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Declares all keys: `one` for keys that exist once, `many` for those with parts that vary. A row says what the
/// value is, its type, the seconds after which it expires by default (and what else there is to say about that),
/// whether Lamer News has it too, how long it is kept ([`kept`]), the most members and what becomes of one more, and
/// the key.
macro_rules! schema {
    (
        one { $(
            $(#[doc = $what:literal])+
            $ONE:ident: $holds:ident, $seconds:expr $(, $note:literal)?, $whose:ident, $class:ident
                $([$full:ident $most:tt])? = $key:literal;
        )* }
        many { $(
            $(#[doc = $what_each:literal])+
            $MANY:ident: $holds_each:ident, $seconds_each:expr $(, $note_each:literal)?, $whose_each:ident,
                $class_each:ident $([$full_each:ident $most_each:tt])? =
                $function:ident($($argument:ident: $Argument:ty),+)
                $($text:literal $({ $value:expr, $part:literal })?)+;
        )* }
    ) => {
        $(
            $(#[doc = $what])+
            pub const $ONE: &str = $key;
        )*
        $(
            $(#[doc = $what_each])+
            pub fn $function($($argument: $Argument),+) -> String {
                format!(concat!($($text, $(placeholder!($value),)?)+), $($($value,)?)+)
            }
        )*

        /// The families of keys.
        pub mod families {
            use super::{DAY, HOUR, MINUTE, NEVER};
            pub use super::family::{Cap, Family, Full, Holds, KeyOrigin};
            use crate::values::limits::{self, *};

            $(
                $(#[doc = $what])+
                pub static $ONE: Family = Family {
                    name: $key,
                    holds: Holds::$holds,
                    seconds: $seconds,
                    note: concat!($($note)?),
                    origin: KeyOrigin::$whose,
                    class: &super::kept::$class,
                    cap: cap!($($full $most)?),
                    what: concat!($($what),+),
                };
            )*
            $(
                $(#[doc = $what_each])+
                pub static $MANY: Family = Family {
                    name: concat!($($text, $("<", $part, ">",)?)+),
                    holds: Holds::$holds_each,
                    seconds: $seconds_each,
                    note: concat!($($note_each)?),
                    origin: KeyOrigin::$whose_each,
                    class: &super::kept::$class_each,
                    cap: cap!($($full_each $most_each)?),
                    what: concat!($($what_each),+),
                };
            )*
            /// All families. A key belongs to the first that it fits.
            pub static ALL: &[&Family] = &[$(&$ONE,)* $(&$MANY),*];
        }
    };
}

/// The most members of a key, if it is capped.
macro_rules! cap {
    () => {
        None
    };
    ($full:ident $most:expr) => {
        Some(Cap { most: $most as u64, full: Full::$full })
    };
}

/// The place of a value in a format.
macro_rules! placeholder {
    ($value:expr) => {
        "{}"
    };
}

schema! {
    one {
        /// The highest user id drawn.
        USERS_COUNT: String, NEVER, LamerNews, SITE = "users.count";
        /// The highest news id drawn.
        NEWS_COUNT: String, NEVER, LamerNews, SITE = "news.count";
        /// Stories and comments (`news:<news id>`, `comment:<news id>:<comment id>`) by their item number.
        ITEMS: SortedSet, NEVER, Ours, POSTS = "items";
        /// All that can be found, in the order of its last changes.
        CHANGES: SortedSet, NEVER, Ours, POSTS = "changes";
        /// A random number of this store, by which a search index knows it.
        STORE_NUMBER: String, NEVER, Ours, SITE = "store.number";
        /// The highest item number drawn.
        ITEMS_COUNT: String, NEVER, Ours, SITE = "items.count";
        /// The user id up to which all names are folded.
        USERNAMES_FOLDED: String, NEVER, Ours, SITE = "usernames.folded";
        /// Accounts created on the whole site.
        SIGNUP_BURST: String, HOUR, Ours, LIMITS = "limit:signup_burst";
        /// New accounts wait for approval, because too many were created.
        SIGNUP_PAUSED: String, HOUR, Ours, LIMITS = "limit:signup_paused";
        /// Where the tree of invitations begins.
        INVITES_ROOTS: SortedSet, NEVER, Ours, ACCOUNTS = "invites:roots";
        /// The key with which the site signs what browsers carry between two steps.
        SIGNING_KEY: String, NEVER, Ours, SITE = "signing.key";
        /// New voters on sites from everywhere.
        NEW_VOTERS_OF_SITE: String, DAY, Ours, LIMITS = "limit:new_voters_of_site";
        /// Sites that got their first vote.
        NEW_HOSTS_OF_SITE: String, DAY, Ours, LIMITS = "limit:new_hosts_of_site";
        /// Feeds that have changed and whose hub does not know yet.
        HUB_FEEDS: Hash, NEVER, Ours, MAILS = "hub:feeds";
        /// Things that feeds have lost, which were noted then.
        HUB_LOST: SortedSet, NEVER, Ours, POSTS [OldestLeaves MOST_HUB_LOST] = "hub:lost";
        /// How far the hub of the feeds has been told.
        HUB_STATE: Hash, NEVER, Ours, MAILS = "hub:state";
        /// The webhooks.
        HOOKS: Hash, NEVER, Ours, SITE [Refuses MAX_HOOKS] = "hooks:all";
        /// The number of the last webhook.
        HOOKS_COUNT: String, NEVER, Ours, SITE = "hooks:count";
        /// Events that are not noted for webhooks yet.
        HOOK_EVENTS: SortedSet, NEVER, Ours, MAILS [OldestLeaves MAX_HOOK_EVENTS] = "hooks:events";
        /// Leases: the server that works on something, and until when others leave it alone.
        QUEUE_LEASES: Hash, NEVER, Ours, SITE = "queue:leases";
        /// Mails that wait to be sent.
        MAIL_OUTBOX: SortedSet, NEVER, Ours, MAILS = "mail:outbox";
        /// The same mails, by when they were written.
        MAIL_WRITTEN: SortedSet, NEVER, Ours, MAILS = "mail:written";
        /// Users who get a digest every day.
        DIGEST_DAILY: SortedSet, NEVER, Ours, MAILS = "mail:digest:daily";
        /// Users who get a digest every week.
        DIGEST_WEEKLY: SortedSet, NEVER, Ours, MAILS = "mail:digest:weekly";
        /// Stories by rank.
        NEWS_TOP: SortedSet, NEVER, LamerNews, POSTS = "news.top";
        /// Stories by time of posting.
        NEWS_CRON: SortedSet, NEVER, LamerNews, POSTS = "news.cron";
        /// The highest article id drawn.
        ARTICLE_COUNT: String, NEVER, Ours, SITE = "article:";
        /// Articles by time of posting.
        ARTICLES_BY_TIME: SortedSet, NEVER, Ours, POSTS = "time:";
        /// Articles by their score.
        ARTICLES_BY_SCORE: SortedSet, NEVER, Ours, POSTS = "score:";
        /// Topics by number of articles.
        TOPICS: SortedSet, NEVER, Ours, POSTS = "topics";
        /// Topics that are being renamed or merged.
        TOPIC_MOVES: Hash, NEVER, Ours, POSTS = "topic.moves";
        /// The sentences that describe topics.
        TOPIC_SENTENCES: Hash, NEVER, Ours, POSTS [Refuses MAX_TOPIC_SENTENCES] = "topics.about";
        /// Users by the number of their followers.
        MOST_FOLLOWED: SortedSet, NEVER, Ours, ACCOUNTS = "users.by_followers";
        /// The highest tweet id drawn.
        TWEET_IDS: String, NEVER, LamerNews, SITE = "tweet:ids";
        /// All users' tweets.
        GLOBAL_TIMELINE: SortedSet, NEVER, LamerNews, POSTS [OldestLeaves GLOBAL_TIMELINE_SIZE] = "global_timeline";
        /// The score above which each home timeline is complete.
        HOME_FLOORS: SortedSet, NEVER, Ours, ACCOUNTS = "timeline:floors";
        /// Authors with tweets that were not delivered.
        PULLED_AUTHORS: Set, NEVER, Ours, ACCOUNTS = "timeline:pulled";
        /// Unfinished background jobs.
        TIMELINE_JOBS: SortedSet, NEVER, Ours, SITE = "timeline:jobs";
        /// People whose ban ends by itself, or the decision that their votes do not count, by when.
        BANS_ENDING: SortedSet, NEVER, Ours, LOG = "bans:ending";
        /// The secret of the tags of networks.
        NETWORKS_SECRET: String, NEVER, Ours, SITE = "networks:secret";
        /// The lines of the moderation log, by number.
        MODERATION_LOG: SortedSet, NEVER, Ours, LOG = "moderation:log";
        /// The number of the last line.
        MODERATION_COUNT: String, NEVER, Ours, LOG = "moderation:count";
        /// Things that wait for a moderator, the worst with the highest score.
        REVIEW_QUEUE: SortedSet, NEVER, Ours, LOG = "review:queue";
        /// When something was erased last, for the compaction of files.
        ERASED_LAST: String, 30 * DAY, Ours, SITE = "erased.last";
        /// How far what is kept for some time only was looked through.
        RETENTION: Hash, NEVER, Ours, SITE = "retention";
        /// When moderators were reminded of the queue last.
        REVIEW_REMINDED: String, NEVER, Ours, LOG = "review:reminded";
        /// All threads of messages to the moderators, by the time of their last change.
        MESSAGES_ALL: SortedSet, NEVER, Ours, WITH_MODERATORS = "messages:all";
        /// The highest number of such a thread drawn.
        MESSAGES_COUNT: String, NEVER, Ours, WITH_MODERATORS = "messages:count";
        /// The rules that new posts are checked with.
        RULES: Hash, NEVER, Ours, LOG [Refuses MAX_RULES] = "rules:all";
        /// The number of the last rule.
        RULES_COUNT: String, NEVER, Ours, LOG = "rules:count";
        /// Bans of networks and e-mail domains.
        ORIGIN_BANS: Hash, NEVER, Ours, LOG [Refuses MAX_ORIGIN_BANS] = "bans:origins";
        /// The number of the last ban of a network or an e-mail domain.
        ORIGIN_BANS_COUNT: String, NEVER, Ours, LOG = "bans:origins:count";
        /// How many sign-ups and posts each of these bans has stopped.
        ORIGIN_BANS_STOPPED: Hash, NEVER, Ours, LOG = "bans:origins:stopped";
        /// Submissions imported so far.
        IMPORTED_LINKS: Hash, NEVER, Ours, POSTS = "import:links";
        /// People imported so far.
        IMPORTED_ACCOUNTS: Hash, NEVER, Ours, POSTS = "import:accounts";
        /// The generated voters of initial votes on sites.
        IMPORTED_VOTERS: Hash, NEVER, Ours, VOTES = "import:voters";
        /// Sites by sum and by number of votes, of all time.
        LINKS_SUM: SortedSet, NEVER, Ours, VOTES = "links:sum";
        /// Sites by sum and by number of votes, of all time.
        LINKS_COUNT: SortedSet, NEVER, Ours, VOTES = "links:count";
        /// Settings that administrators change while the site runs.
        SETTINGS: Hash, NEVER, Ours, SITE = "settings";
        /// The site's name, colours and texts, as far as administrators have changed them.
        SITE: Hash, NEVER, Ours, SITE = "site";
        /// The logo of the site, in base64.
        SITE_LOGO: String, NEVER, Ours, SITE = "site.logo";
        /// How all ids of entries in feeds begin.
        SITE_TAG: String, NEVER, Ours, SITE = "site.tag";
        /// The actions of administrators on votes on sites.
        SITES_AUDIT: SortedSet, NEVER, Ours, VOTES = "sites:audit";
        /// Voters whose votes are being removed or restored.
        SITES_UNFINISHED: Set, NEVER, Ours, VOTES = "sites:unfinished";
        /// The first administrator. Without it, the link in the log works.
        FIRST_ADMINISTRATOR: String, NEVER, Ours, ACCOUNTS = "administrator.first";
        /// The version of the layout.
        LAYOUT_VERSION: String, NEVER, Ours, SITE = "layout:version";
        /// The mark of a command that has not finished filling this store.
        UNFINISHED: String, NEVER, Ours, SITE = "restore:unfinished";
    }
    many {
        /// A user.
        USER: Hash, NEVER, LamerNews, ACCOUNTS = user(id: UserId) "user:" {id, "user id"};
        /// The id of the user with this name.
        USERNAME_TO_ID: String, NEVER, LamerNews, ACCOUNTS =
            username_to_id(username: &str) "username.to.id:" {username.to_lowercase(), "name in lower case"};
        /// The id of the user whose name looks like this.
        USERNAME_FOLDED: String, NEVER, Ours, ACCOUNTS =
            username_folded(username: &str) "username.folded:" {lookalikes::folded(username), "folded name"};
        /// The id of the user who is connected to this identity at an OpenID provider.
        OIDC_IDENTITY: String, NEVER, Ours, ACCOUNTS =
            oidc_identity(identity: &ProviderIdentity) "oidc:identity:" {identity.as_str(), "hash"};
        /// A token that was used and is good once.
        USED_TOKEN: String, 11 * MINUTE, Ours, INVITATIONS = used_token(hash: &str) "used:token:" {hash, "hash"};
        /// A session, by the SHA-256 of its token.
        SESSION: Hash, 60 * DAY, "after the last visit", Ours, SESSIONS =
            session(hash: &SessionHash) "session:" {hash, "hash"};
        /// The user's sessions by time of the login.
        USER_SESSIONS: SortedSet, 60 * DAY, "after the last visit", Ours, SESSIONS [OldestLeaves MAX_SESSIONS] =
            user_sessions(id: UserId) "user:" {id, "user id"} ":sessions";
        /// The networks from which the user has logged in.
        USER_NETWORKS: SortedSet, 60 * DAY, "after the last login", Ours, SESSIONS [OldestLeaves KNOWN_NETWORKS] =
            user_networks(id: UserId) "user:" {id, "user id"} ":networks";
        /// The id of the user with this session of Lamer News. Read, never written.
        AUTH: String, NEVER, LamerNews, SESSIONS = auth(token: &str) "auth:" {token, "session token"};
        /// The user whose password this link may set.
        PASSWORD_RESET: String, HOUR, Ours, INVITATIONS =
            password_reset(token: &str) "password_reset:" {token, "reset token"};
        /// An account was created from this address.
        LIMIT_CREATE_USER: String, 10, LamerNews, LIMITS =
            create_user_limit(address: IpAddr) "limit:create_user:" {address, "address"};
        /// Accounts created from this network.
        LIMIT_SIGNUPS: String, DAY, Ours, LIMITS =
            network_signups(network: Network) "limit:signups:" {network, "network"};
        /// An invitation that nobody has used.
        INVITES_CODE: Hash, 30 * DAY, Ours, INVITATIONS =
            invitation(code: &InvitationCode) "invites:code:" {code.expose(), "code"};
        /// The user's unused invitations.
        INVITES_OPEN: SortedSet, 30 * DAY, "after the latest", Ours, INVITATIONS [Refuses MAX_OPEN_INVITATIONS] =
            invites_open(id: UserId) "invites:open:" {id, "user id"};
        /// The people whom the user invited.
        INVITES_BY: SortedSet, NEVER, Ours, ACCOUNTS = invites_by(id: UserId) "invites:by:" {id, "user id"};
        /// Invitations that were mailed for this user.
        LIMIT_INVITATION_MAILS: String, DAY, Ours, LIMITS =
            invitation_mails(id: UserId) "limit:invitation_mails:" {id, "user id"};
        /// The user whose e-mail address this link confirms.
        CONFIRM_EMAIL: String, 3 * DAY, Ours, INVITATIONS =
            email_confirmation(token: &str) "confirm_email:" {token, "confirmation token"};
        /// Such links that were mailed to this user.
        LIMIT_CONFIRMATION_MAILS: String, DAY, Ours, LIMITS =
            confirmation_mails(id: UserId) "limit:confirmation_mails:" {id, "user id"};
        /// Failed logins from this address.
        LIMIT_FAILED_LOGIN_ADDRESS: String, 10 * MINUTE, Ours, LIMITS =
            failed_logins_of_network(network: CountedNetwork) "limit:failed_login:address:" {network, "address"};
        /// Failed logins with this name from this address.
        LIMIT_FAILED_LOGIN_PAIR: String, 10 * MINUTE, Ours, LIMITS =
            failed_logins_of_pair(network: CountedNetwork, name: &TypedName) "limit:failed_login:pair:" {network, "address"} ":" {name, "hash of a name"};
        /// Failed logins to this account.
        LIMIT_FAILED_LOGIN_ACCOUNT: String, HOUR, Ours, LIMITS =
            failed_logins_of_account(id: UserId) "limit:failed_login:account:" {id, "user id"};
        /// Addresses from which logins to this account have failed.
        LIMIT_FAILED_LOGIN_ADDRESSES: SortedSet, HOUR, Ours, LIMITS [OldestLeaves FAILED_ADDRESSES] =
            failed_login_addresses(id: UserId) "limit:failed_login:addresses:" {id, "user id"};
        /// The owner has been told about failed logins.
        LIMIT_FAILED_LOGIN_TOLD: String, DAY, Ours, LIMITS =
            owner_told(id: UserId) "limit:failed_login:told:" {id, "user id"};
        /// Codes of an authenticator app that were tried for this account.
        LIMIT_WRONG_CODES: String, HOUR, Ours, LIMITS = wrong_codes(id: UserId) "limit:wrong_codes:" {id, "user id"};
        /// The user's authenticator app, passkeys and recovery codes.
        USER_TWO_FACTOR: Hash, NEVER, Ours, ACCOUNTS =
            user_two_factor(id: UserId) "user:" {id, "user id"} ":two_factor";
        /// The secret for an authenticator app that waits for a code.
        USER_NEW_TOTP: String, 15 * MINUTE, Ours, INVITATIONS =
            user_new_totp(id: UserId) "user:" {id, "user id"} ":new_totp";
        /// A challenge for a passkey that was used.
        PASSKEY_USED: String, 5 * MINUTE, Ours, INVITATIONS =
            used_challenge(challenge: &[u8]) "passkey:used:" {hex::encode(challenge), "challenge"};
        /// Mails about changes of this account.
        LIMIT_ACCOUNT_NOTICES: String, DAY, Ours, LIMITS =
            account_notices(id: UserId) "limit:account_notices:" {id, "user id"};
        /// The first user has been told that the second follows them.
        LIMIT_FOLLOW_NOTICE: String, DAY, Ours, LIMITS =
            follow_notice(followed: UserId, follower: UserId) "limit:follow_notice:" {followed, "user id"} ":" {follower, "user id"};
        /// The answer to a request of this user.
        REQUEST: String, HOUR, Ours, LIMITS =
            request(id: UserId, hash: &RequestHash) "request:" {id, "user id"} ":" {hash, "hash"};
        /// When the account may do this as much as ever again.
        RATE_ACCOUNT: String, DAY, "at most: the duration of the rate", Ours, LIMITS =
            rate_of_account(action: RatedAction, id: UserId) "rate:" {action.name(), "action"} ":account:" {id, "user id"};
        /// The same for an address.
        RATE_ADDRESS: String, DAY, "at most: the duration of the rate", Ours, LIMITS =
            rate_of_network(action: RatedAction, network: CountedNetwork) "rate:" {action.name(), "action"} ":address:" {network, "address"};
        /// New voters on sites from this address.
        LIMIT_NEW_VOTERS: String, DAY, Ours, LIMITS =
            new_voters(network: CountedNetwork) "limit:new_voters:" {network, "address"};
        /// This network has brought a new voter or a new site.
        LIMIT_BROUGHT_SOMETHING: String, DAY, Ours, LIMITS =
            brought_something(network: Network) "limit:brought_something:" {network, "network"};
        /// Voters with accounts on this site from this network.
        LIMIT_SITE_ACCOUNT_VOTES: String, DAY, Ours, LIMITS =
            site_account_votes(network: Network, host: &Hostname) "limit:site_account_votes:" {network, "network"} ":" {host, "host"};
        /// Voters without accounts on this site from this network.
        LIMIT_SITE_VOTES: String, DAY, Ours, LIMITS =
            site_votes(network: Network, host: &Hostname) "limit:site_votes:" {network, "network"} ":" {host, "host"};
        /// This user submitted a story.
        USER_SUBMITTED_RECENTLY: String, 15 * MINUTE, LamerNews, LIMITS =
            submitted_recently(id: UserId) "user:" {id, "user id"} ":submitted_recently";
        /// The effects of the votes that the user can take back.
        USER_RECENT_VOTES: Hash, 10 * MINUTE, Ours, LIMITS [OldestLeaves MAX_RECENT_VOTES] =
            user_recent_votes(id: UserId) "user:" {id, "user id"} ":recent_votes";
        /// A story.
        NEWS: Hash, NEVER, LamerNews, POSTS = news(id: NewsId) "news:" {id, "news id"};
        /// The story submitted with this URL.
        URL: String, 2 * DAY, LamerNews, LIMITS = url(url: &str) "url:" {url, "url"};
        /// Users who voted the story up.
        NEWS_UP: SortedSet, NEVER, LamerNews, VOTES = news_up(id: NewsId) "news.up:" {id, "news id"};
        /// Users who voted the story down.
        NEWS_DOWN: SortedSet, NEVER, LamerNews, VOTES = news_down(id: NewsId) "news.down:" {id, "news id"};
        /// Votes on the story and its comments that do not count.
        NEWS_DISCOUNTED: Hash, NEVER, Ours, VOTES = news_discounted(id: NewsId) "news.discounted:" {id, "news id"};
        /// Stories that the user voted up or saved.
        USER_UPVOTED: SortedSet, NEVER, LamerNews, ACCOUNTS = user_upvoted(id: UserId) "user.saved:" {id, "user id"};
        /// Messages that wait for a webhook, by when they are due; at most 2,000.
        HOOK_OUTBOX: SortedSet, NEVER, Ours, MAILS = hook_outbox(id: HookId) "hooks:outbox:" {id, "hook id"};
        /// The outcomes of the last messages to a webhook.
        HOOK_RESULTS: SortedSet, NEVER, Ours, SITE [OldestLeaves (limits::HOOK_RESULTS)] =
            hook_results(id: HookId) "hooks:results:" {id, "hook id"};
        /// Entries of the inbox that were mailed to this user.
        LIMIT_MAILED_ENTRIES: String, DAY, Ours, LIMITS =
            mailed_entries(id: UserId) "limit:mailed_entries:" {id, "user id"};
        /// Stories that the user saved.
        USER_SAVED: SortedSet, NEVER, Ours, ACCOUNTS [Refuses MAX_SAVED] =
            user_saved(id: UserId) "user:" {id, "user id"} ":saved";
        /// Stories that the user has hidden.
        USER_HIDDEN: SortedSet, NEVER, Ours, ACCOUNTS [OldestLeaves MAX_HIDDEN] =
            user_hidden(id: UserId) "user:" {id, "user id"} ":hidden";
        /// Topics that the user follows.
        USER_TOPICS_FOLLOWED: SortedSet, NEVER, Ours, ACCOUNTS [Refuses MAX_FOLLOWED_TOPICS] =
            topics_followed(id: UserId) "user:" {id, "user id"} ":topics_followed";
        /// Topics that the user has muted.
        USER_TOPICS_MUTED: SortedSet, NEVER, Ours, ACCOUNTS [Refuses MAX_MUTED_TOPICS] =
            topics_muted(id: UserId) "user:" {id, "user id"} ":topics_muted";
        /// People, sites and words that the user has muted.
        USER_MUTES: Hash, NEVER, Ours, ACCOUNTS [Refuses MAX_MUTES] =
            user_mutes(id: UserId) "user:" {id, "user id"} ":mutes";
        /// People whom the user has blocked.
        USER_BLOCKS: Hash, NEVER, Ours, ACCOUNTS [Refuses MAX_BLOCKS] =
            user_blocks(id: UserId) "user:" {id, "user id"} ":blocks";
        /// Stories that the user submitted.
        USER_POSTED: SortedSet, NEVER, LamerNews, POSTS = user_posted(id: UserId) "user.posted:" {id, "user id"};
        /// Stories in the user's list that others do not see there.
        USER_GONE_STORIES: SortedSet, NEVER, Ours, POSTS =
            user_gone_stories(id: UserId) "user:" {id, "user id"} ":gone_stories";
        /// Comments in the user's list that others do not see there.
        USER_GONE_COMMENTS: SortedSet, NEVER, Ours, POSTS =
            user_gone_comments(id: UserId) "user:" {id, "user id"} ":gone_comments";
        /// Posts of the user that no other list of theirs has.
        USER_UNSEEN: SortedSet, NEVER, Ours, POSTS = user_unseen(id: UserId) "unseen:" {id, "user id"};
        /// The article of a story.
        ARTICLE_OF: Hash, NEVER, Ours, POSTS = article(id: NewsId) "article:" {id, "news id"};
        /// Users whose votes on the article count.
        VOTED: Set, 7 * DAY, Ours, VOTES = voted(id: NewsId) "voted:" {id, "news id"};
        /// The articles in a topic.
        GROUP: Set, NEVER, Ours, POSTS = group(topic: &Topic) "group:" {topic, "topic"};
        /// The articles that would be in a topic, if their stories were not withheld.
        GROUP_WITHHELD: Set, NEVER, Ours, POSTS = withheld_group(topic: &Topic) "group.withheld:" {topic, "topic"};
        /// The articles of a topic, in order.
        SCORE_OF: SortedSet, MINUTE, Ours, POSTS =
            articles_of_topic_by_score(topic: &Topic) "score:" {topic, "topic"};
        /// The articles of a topic, in order.
        TIME_OF: SortedSet, MINUTE, Ours, POSTS =
            articles_of_topic_by_time(topic: &Topic) "time:" {topic, "topic"};
        /// This list of a topic was built.
        BUILT: String, MINUTE, Ours, POSTS = built(list: &str) "built:" {list, "list"};
        /// The stories of a day or month, by score.
        PAST: SortedSet, 10 * MINUTE, Ours, POSTS = past(period: Period) "past:" {period, "date or month"};
        /// The stories of an age by their votes: those of the last day, older ones of the last week, and so on.
        NEWS_BY_VOTES: SortedSet, NEVER, Ours, POSTS = news_by_votes(age: Age) "news.votes:" {age, "age"};
        /// The comments of a story.
        THREAD_COMMENT: Hash, NEVER, LamerNews, POSTS = thread(id: NewsId) "thread:comment:" {id, "news id"};
        /// The comments of a user.
        USER_COMMENTS: SortedSet, NEVER, LamerNews, POSTS = user_comments(id: UserId) "user.comments:" {id, "user id"};
        /// The user's followers.
        USER_FOLLOWERS: SortedSet, NEVER, LamerNews, ACCOUNTS =
            followers(id: UserId) "user:" {id, "user id"} ":followers";
        /// The people the user follows.
        USER_FOLLOWINGS: SortedSet, NEVER, LamerNews, ACCOUNTS [Refuses MAX_FOLLOWINGS] =
            followings(id: UserId) "user:" {id, "user id"} ":followings";
        /// A tweet.
        TWEET: Hash, NEVER, LamerNews, POSTS = tweet(id: TweetId) "tweet:" {id, "tweet id"};
        /// The user's own tweets.
        USER_USER_TIMELINE: SortedSet, NEVER, LamerNews, POSTS =
            user_timeline(id: UserId) "user:" {id, "user id"} ":user_timeline";
        /// Tweets of the user and of those they follow; the newest 800.
        USER_HOME_TIMELINE: SortedSet, NEVER, LamerNews, ACCOUNTS =
            home_timeline(id: UserId) "user:" {id, "user id"} ":home_timeline";
        /// Tweets that mention the user.
        USER_MENTIONS: SortedSet, NEVER, Ours, INBOXES [OldestLeaves MENTIONS_SIZE] =
            user_mentions(id: UserId) "user:" {id, "user id"} ":mentions";
        /// How far the user has read threads.
        USER_VISITS: Hash, NEVER, Ours, ACCOUNTS [OldestLeaves MAX_VISITED_THREADS] =
            user_visits(id: UserId) "user:" {id, "user id"} ":visits";
        /// The entries of the user's inbox.
        USER_INBOX: SortedSet, NEVER, Ours, INBOXES [OldestLeaves INBOX_SIZE] =
            user_inbox(id: UserId) "user:" {id, "user id"} ":inbox";
        /// The unread ones of them, which the user's badge counts.
        USER_UNREAD: SortedSet, NEVER, Ours, INBOXES = user_unread(id: UserId) "user:" {id, "user id"} ":unread";
        /// The entries that the user has marked as read at once, as long as that can be undone.
        USER_MARKED_READ: Hash, 10 * MINUTE, Ours, INBOXES [OldestLeaves (INBOX_SIZE + INBOX_OVERFLOW + 1)] =
            user_marked_read(id: UserId) "user:" {id, "user id"} ":marked_read";
        /// Messages from moderators to the user.
        USER_MESSAGES: Hash, NEVER, Ours, FROM_MODERATORS =
            user_messages(id: UserId) "user:" {id, "user id"} ":messages";
        /// Stories to which the user has subscribed.
        USER_SUBSCRIPTIONS: SortedSet, NEVER, Ours, ACCOUNTS [OldestLeaves MAX_SUBSCRIPTIONS] =
            user_subscriptions(id: UserId) "user:" {id, "user id"} ":subscriptions";
        /// Stories whose replies the user does not want.
        USER_UNSUBSCRIBED: SortedSet, NEVER, Ours, ACCOUNTS [OldestLeaves MAX_SUBSCRIPTIONS] =
            user_unsubscribed(id: UserId) "user:" {id, "user id"} ":unsubscribed";
        /// Users who have ever subscribed to the story.
        NEWS_SUBSCRIBERS: SortedSet, NEVER, Ours, ACCOUNTS =
            news_subscribers(id: NewsId) "news.subscribers:" {id, "news id"};
        /// The people whom the user's mentions notified on that day.
        USER_NOTIFIED: Hash, 2 * DAY, Ours, LIMITS =
            user_notified(id: UserId, day: Day) "user:" {id, "user id"} ":notified:" {day, "date"};
        /// The progress of a job.
        TIMELINE_JOB: Hash, NEVER, Ours, SITE = timeline_job(name: &str) "timeline:job:" {name, "job"};
        /// An appeal against a decision of moderators.
        APPEAL: Hash, NEVER, Ours, LOG = appeal(id: ModerationId) "appeal:" {id, "moderation id"};
        /// A thread of messages between a member and the moderators.
        MESSAGES: Hash, NEVER, Ours, WITH_MODERATORS =
            message_thread(id: MessageThreadId) "messages:" {id, "thread id"};
        /// The messages of a thread, by their number.
        MESSAGES_TEXTS: Hash, NEVER, Ours, WITH_MODERATORS [Refuses MESSAGES_IN_THREAD] =
            message_texts(id: MessageThreadId) "messages:" {id, "thread id"} ":texts";
        /// The threads of messages that the user has with the moderators.
        USER_MESSAGE_THREADS: SortedSet, NEVER, Ours, WITH_MODERATORS [Refuses MESSAGE_THREADS] =
            user_message_threads(id: UserId) "user:" {id, "user id"} ":message_threads";
        /// Messages that the user wrote to the moderators.
        LIMIT_MESSAGES: String, DAY, Ours, LIMITS = messages_written(id: UserId) "limit:messages:" {id, "user id"};
        /// Notes of moderators about the user.
        USER_NOTES: Hash, NEVER, Ours, NOTES [Refuses MAX_NOTES] =
            user_notes(id: UserId) "user:" {id, "user id"} ":notes";
        /// Users who have posted from a network on that day.
        NETWORK: SortedSet, 30 * DAY, Ours, ADDRESSES [OldestLeaves PEOPLE_OF_A_NETWORK_AND_DAY] =
            network_people(tag: &NetworkTag, day: Day) "network:" {tag, "tag"} ":" {day, "date"};
        /// The addresses from which the user has posted on that day.
        USER_ADDRESSES: SortedSet, 30 * DAY, Ours, ADDRESSES [OldestLeaves ADDRESSES_OF_A_DAY] =
            user_addresses(id: UserId, day: Day) "user:" {id, "user id"} ":addresses:" {day, "date"};
        /// The flags of a story, a comment, a tweet or a user.
        FLAGS: Hash, NEVER, Ours, FLAGS [Refuses MAX_FLAGS] = flags(thing: &Thing) "flags:" {thing.key(), "thing"};
        /// Things that the user has flagged.
        USER_FLAGS: SortedSet, NEVER, Ours, FLAGS =
            user_flags(id: UserId) "user:" {id, "user id"} ":flags";
        /// How the user's flags were decided.
        USER_FLAG_OUTCOMES: SortedSet, NEVER, Ours, FLAGS [OldestLeaves STORED_OUTCOMES] =
            user_flag_outcomes(id: UserId) "user:" {id, "user id"} ":flag_outcomes";
        /// A line of the moderation log: what a moderator did.
        MODERATION: Hash, NEVER, Ours, LOG_NAMES = moderation(id: ModerationId) "moderation:" {id, "moderation id"};
        /// The posts that the action removed together.
        MODERATION_POSTS: SortedSet, NEVER, Ours, REMOVED =
            moderation_posts(id: ModerationId) "moderation:" {id, "moderation id"} ":posts";
        /// The sum and the number of the votes on a site.
        LINK: Hash, NEVER, Ours, VOTES = link(host: &Hostname) "link:" {host, "host"};
        /// The votes on a site, by voter.
        LINK_VOTES: Hash, NEVER, Ours, VOTES = link_votes(host: &Hostname) "link:" {host, "host"} ":votes";
        /// The network that each of these votes came from, by voter.
        LINK_ORIGINS: Hash, NEVER, Ours, VOTES = link_origins(host: &Hostname) "link:" {host, "host"} ":origins";
        /// How many votes on a site count, by network.
        LINK_NETWORKS: Hash, NEVER, Ours, VOTES = link_networks(host: &Hostname) "link:" {host, "host"} ":networks";
        /// The votes on a site and on its name with `www.` that pages would count twice, by network and day.
        LINK_TWICE: Hash, NEVER, Ours, VOTES = link_twice(host: &Hostname) "link:" {host, "host"} ":twice";
        /// The same for one day.
        DAY_LINKS_SUM: SortedSet, NEVER, Ours, VOTES = day_links_sum(day: Day) "day:" {day, "date"} ":links:sum";
        /// The same for one day.
        DAY_LINKS_COUNT: SortedSet, NEVER, Ours, VOTES = day_links_count(day: Day) "day:" {day, "date"} ":links:count";
        /// Voters by sum and by number of their votes on one day.
        DAY_VOTERS_SUM: SortedSet, NEVER, Ours, VOTES = day_voters_sum(day: Day) "day:" {day, "date"} ":voters:sum";
        /// Voters by sum and by number of their votes on one day.
        DAY_VOTERS_COUNT: SortedSet, NEVER, Ours, VOTES =
            day_voters_count(day: Day) "day:" {day, "date"} ":voters:count";
        /// A voter on sites.
        VOTER: Hash, NEVER, Ours, VOTES = voter(id: VoterId) "voter:" {id, "uuid"};
        /// Items that were imported from another site: their numbers there, by their numbers here.
        IMPORTED: SortedSet, NEVER, Ours, POSTS = imported(source: &ImportSource) "imported:" {source, "source"};
        /// Sites that the voter has voted on, by time.
        VOTER_VOTES: SortedSet, NEVER, Ours, VOTES = voter_votes(id: VoterId) "voter:" {id, "uuid"} ":votes";
        /// Sites that were new to the voter on its last day.
        VOTER_NEW: Hash, NEVER, Ours, VOTES = voter_new(id: VoterId) "voter:" {id, "uuid"} ":new";
        /// Sites by the start of their hash.
        PREFIX: Set, NEVER, Ours, VOTES = prefix(hash: &HashPrefix) "prefix:" {hash.shelf(), "4 hex digits"};
        /// Stories that link to a site.
        HOST_NEWS: SortedSet, NEVER, Ours, POSTS = host_news(host: &Hostname) "host.news:" {host, "host"};
        /// The figures of this hour.
        STATISTICS_HOUR: Hash, 25 * HOUR, Ours, FIGURES =
            statistics_of_hour(hour: Hour) "statistics:hour:" {hour, "hour"};
        /// The figures of this day.
        STATISTICS_DAY: Hash, 31 * DAY, Ours, FIGURES = statistics_of_day(day: Day) "statistics:day:" {day, "date"};
    }
}

/// The folded name in a key of [`username_folded`]; `None` for other keys.
pub fn name_of_folded(key: &str) -> Option<&str> {
    key.strip_prefix("username.folded:")
}

/// The keys under which a URL may have been posted: ours first, then the
/// exact URL, which is what the original used.
pub fn urls(link: &NewsUrl) -> Vec<String> {
    let mut keys = vec![url(&link.normalised())];
    let exact = url(link.as_str());
    if !keys.contains(&exact) {
        keys.push(exact);
    }
    keys
}

/// The key of what is likely the same address. No URL that somebody posts begins as it does.
pub fn likely_url(link: &NewsUrl) -> String {
    url(&link.likely())
}

/// The story whose comments a key has.
pub fn news_of_thread(key: &str) -> Option<NewsId> {
    key.strip_prefix("thread:comment:")?.parse().ok()
}

/// The site whose votes a key has.
pub fn host_of_votes(key: &str) -> Option<Hostname> {
    Hostname::parse(key.strip_prefix("link:")?.strip_suffix(":votes")?).ok()
}

/// The news item of an article in a list or group.
pub fn news_of_article(name: &str) -> Option<NewsId> {
    match name.split_once(':') {
        Some(("article", id)) => id.parse().ok(),
        _ => None,
    }
}

/// The tweet with a key.
pub fn id_of_tweet(key: &str) -> Option<TweetId> {
    match key.split_once(':') {
        Some(("tweet", id)) => id.parse().ok(),
        _ => None,
    }
}

/// The notes of earlier versions about who sends what, until layout 11.
pub(crate) const EARLIER_TURNS: [&str; 2] = ["hooks:rests", "mail:digest:turn"];

//! The families of keys, as `docs/data-layout.md` names them: what each holds and whether it
//! expires. Checks of a whole store tell by the text of a key what it is.

use crate::values::ids::UserId;

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// One text.
    String,
    /// Fields with values.
    Hash,
    /// Members.
    Set,
    /// Members with scores.
    SortedSet,
}

impl Holds {
    /// The name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::Set => "set",
            Self::SortedSet => "sorted set",
        }
    }
}

/// All keys of one form.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// The form, with `<...>` where it varies.
    pub name: &'static str,
    /// What its keys hold.
    pub holds: Holds,
    /// The seconds after which its keys expire by default; 0 if they never do.
    pub seconds: u64,
}

const NEVER: u64 = 0;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

macro_rules! families {
    ($($constant:ident = $name:literal, $holds:ident, $seconds:expr;)*) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub static $constant: Family = Family { name: $name, holds: Holds::$holds, seconds: $seconds };
        )*
        /// All families.
        pub static ALL: &[&Family] = &[$(&$constant),*];
    };
}

families! {
    USERS_COUNT = "users.count", String, NEVER;
    NEWS_COUNT = "news.count", String, NEVER;
    USER = "user:<user id>", Hash, NEVER;
    USERNAME_TO_ID = "username.to.id:<name in lower case>", String, NEVER;
    USERNAME_FOLDED = "username.folded:<folded name>", String, NEVER;
    USERNAMES_FOLDED = "usernames.folded", String, NEVER;
    SESSION = "session:<hash>", Hash, 60 * DAY;
    USER_SESSIONS = "user:<user id>:sessions", SortedSet, 60 * DAY;
    USER_NETWORKS = "user:<user id>:networks", SortedSet, 60 * DAY;
    AUTH = "auth:<session token>", String, NEVER;
    PASSWORD_RESET = "password_reset:<reset token>", String, HOUR;
    LIMIT_CREATE_USER = "limit:create_user:<address>", String, 15 * HOUR;
    LIMIT_SIGNUPS = "limit:signups:<network>", String, DAY;
    LIMIT_SIGNUP_BURST = "limit:signup_burst", String, HOUR;
    LIMIT_SIGNUP_PAUSED = "limit:signup_paused", String, HOUR;
    INVITES_CODE = "invites:code:<code>", Hash, 30 * DAY;
    INVITES_OPEN = "invites:open:<user id>", SortedSet, 30 * DAY;
    INVITES_BY = "invites:by:<user id>", SortedSet, NEVER;
    INVITES_ROOTS = "invites:roots", SortedSet, NEVER;
    LIMIT_INVITATION_MAILS = "limit:invitation_mails:<user id>", String, DAY;
    CONFIRM_EMAIL = "confirm_email:<confirmation token>", String, 3 * DAY;
    LIMIT_CONFIRMATION_MAILS = "limit:confirmation_mails:<user id>", String, DAY;
    LIMIT_FAILED_LOGIN_ADDRESS = "limit:failed_login:address:<address>", String, 10 * MINUTE;
    LIMIT_FAILED_LOGIN_PAIR = "limit:failed_login:pair:<address>:<hash of a name>", String, 10 * MINUTE;
    LIMIT_FAILED_LOGIN_ACCOUNT = "limit:failed_login:account:<user id>", String, HOUR;
    LIMIT_FAILED_LOGIN_ADDRESSES = "limit:failed_login:addresses:<user id>", SortedSet, HOUR;
    LIMIT_FAILED_LOGIN_TOLD = "limit:failed_login:told:<user id>", String, DAY;
    LIMIT_WRONG_CODES = "limit:wrong_codes:<user id>", String, HOUR;
    USER_TWO_FACTOR = "user:<user id>:two_factor", Hash, NEVER;
    USER_NEW_TOTP = "user:<user id>:new_totp", String, 15 * MINUTE;
    PASSKEY_USED = "passkey:used:<challenge>", String, 5 * MINUTE;
    SIGNING_KEY = "signing.key", String, NEVER;
    LIMIT_ACCOUNT_NOTICES = "limit:account_notices:<user id>", String, DAY;
    LIMIT_FOLLOW_NOTICE = "limit:follow_notice:<user id>:<user id>", String, DAY;
    REQUEST = "request:<user id>:<hash>", String, HOUR;
    RATE_ACCOUNT = "rate:<action>:account:<user id>", String, DAY;
    RATE_ADDRESS = "rate:<action>:address:<address>", String, DAY;
    LIMIT_NEW_VOTERS = "limit:new_voters:<address>", String, DAY;
    LIMIT_NEW_VOTERS_OF_SITE = "limit:new_voters_of_site", String, DAY;
    LIMIT_NEW_HOSTS_OF_SITE = "limit:new_hosts_of_site", String, DAY;
    LIMIT_BROUGHT_SOMETHING = "limit:brought_something:<network>", String, DAY;
    LIMIT_SITE_VOTES = "limit:site_votes:<network>:<host>", String, DAY;
    USER_SUBMITTED_RECENTLY = "user:<user id>:submitted_recently", String, 15 * MINUTE;
    USER_RECENT_VOTES = "user:<user id>:recent_votes", Hash, 10 * MINUTE;
    NEWS = "news:<news id>", Hash, NEVER;
    URL = "url:<url>", String, 2 * DAY;
    NEWS_UP = "news.up:<news id>", SortedSet, NEVER;
    NEWS_DOWN = "news.down:<news id>", SortedSet, NEVER;
    NEWS_DISCOUNTED = "news.discounted:<news id>", Hash, NEVER;
    USER_SAVED = "user.saved:<user id>", SortedSet, NEVER;
    MAIL_OUTBOX = "mail:outbox", SortedSet, NEVER;
    MAIL_WRITTEN = "mail:written", SortedSet, NEVER;
    MAIL_LEASE = "mail:lease:<mail>", String, MINUTE;
    MAIL_DIGEST_DAILY = "mail:digest:daily", SortedSet, NEVER;
    MAIL_DIGEST_WEEKLY = "mail:digest:weekly", SortedSet, NEVER;
    MAIL_DIGEST_TURN = "mail:digest:turn", String, NEVER;
    LIMIT_MAILED_ENTRIES = "limit:mailed_entries:<user id>", String, DAY;
    USER_HIDDEN = "user:<user id>:hidden", SortedSet, NEVER;
    USER_TOPICS_FOLLOWED = "user:<user id>:topics_followed", SortedSet, NEVER;
    USER_TOPICS_MUTED = "user:<user id>:topics_muted", SortedSet, NEVER;
    USER_MUTES = "user:<user id>:mutes", Hash, NEVER;
    USER_BLOCKS = "user:<user id>:blocks", Hash, NEVER;
    USER_POSTED = "user.posted:<user id>", SortedSet, NEVER;
    NEWS_TOP = "news.top", SortedSet, NEVER;
    NEWS_CRON = "news.cron", SortedSet, NEVER;
    ARTICLE = "article:", String, NEVER;
    ARTICLE_OF = "article:<news id>", Hash, NEVER;
    TIME = "time:", SortedSet, NEVER;
    SCORE = "score:", SortedSet, NEVER;
    VOTED = "voted:<news id>", Set, 7 * DAY;
    TOPICS = "topics", SortedSet, NEVER;
    GROUP = "group:<topic>", Set, NEVER;
    GROUP_WITHHELD = "group.withheld:<topic>", Set, NEVER;
    SCORE_OF = "score:<topic>", SortedSet, MINUTE;
    TIME_OF = "time:<topic>", SortedSet, MINUTE;
    BUILT = "built:<list>", String, MINUTE;
    TOPIC_MOVES = "topic.moves", Hash, NEVER;
    TOPICS_ABOUT = "topics.about", Hash, NEVER;
    PAST = "past:<date or month>", SortedSet, 10 * MINUTE;
    THREAD_COMMENT = "thread:comment:<news id>", Hash, NEVER;
    USER_COMMENTS = "user.comments:<user id>", SortedSet, NEVER;
    USER_FOLLOWERS = "user:<user id>:followers", SortedSet, NEVER;
    USER_FOLLOWINGS = "user:<user id>:followings", SortedSet, NEVER;
    USERS_BY_FOLLOWERS = "users.by_followers", SortedSet, NEVER;
    TWEET_IDS = "tweet:ids", String, NEVER;
    TWEET = "tweet:<tweet id>", Hash, NEVER;
    USER_USER_TIMELINE = "user:<user id>:user_timeline", SortedSet, NEVER;
    USER_HOME_TIMELINE = "user:<user id>:home_timeline", SortedSet, NEVER;
    GLOBAL_TIMELINE = "global_timeline", SortedSet, NEVER;
    USER_MENTIONS = "user:<user id>:mentions", SortedSet, NEVER;
    USER_VISITS = "user:<user id>:visits", Hash, NEVER;
    USER_INBOX = "user:<user id>:inbox", SortedSet, NEVER;
    USER_UNREAD = "user:<user id>:unread", SortedSet, NEVER;
    USER_MESSAGES = "user:<user id>:messages", Hash, NEVER;
    USER_SUBSCRIPTIONS = "user:<user id>:subscriptions", SortedSet, NEVER;
    USER_UNSUBSCRIBED = "user:<user id>:unsubscribed", SortedSet, NEVER;
    NEWS_SUBSCRIBERS = "news.subscribers:<news id>", SortedSet, NEVER;
    USER_NOTIFIED = "user:<user id>:notified:<date>", Hash, 2 * DAY;
    TIMELINE_FLOORS = "timeline:floors", SortedSet, NEVER;
    TIMELINE_PLACE = "timeline:place", Hash, NEVER;
    TIMELINE_PULLED = "timeline:pulled", Set, NEVER;
    TIMELINE_JOBS = "timeline:jobs", SortedSet, NEVER;
    TIMELINE_JOB = "timeline:job:<job>", Hash, NEVER;
    TIMELINE_LEASE = "timeline:lease:<job>", String, 10;
    APPEAL = "appeal:<moderation id>", Hash, NEVER;
    BANS_ENDING = "bans:ending", SortedSet, NEVER;
    USER_NOTES = "user:<user id>:notes", Hash, NEVER;
    NETWORK = "network:<tag>:<date>", SortedSet, 30 * DAY;
    USER_ADDRESSES = "user:<user id>:addresses:<date>", SortedSet, 30 * DAY;
    NETWORKS_SECRET = "networks:secret", String, NEVER;
    MODERATION_LOG = "moderation:log", SortedSet, NEVER;
    MODERATION_COUNT = "moderation:count", String, NEVER;
    FLAGS = "flags:<thing>", Hash, NEVER;
    USER_FLAGS = "user:<user id>:flags", SortedSet, NEVER;
    USER_FLAG_OUTCOMES = "user:<user id>:flag_outcomes", SortedSet, NEVER;
    REVIEW_QUEUE = "review:queue", SortedSet, NEVER;
    MODERATION = "moderation:<moderation id>", Hash, NEVER;
    RULES_ALL = "rules:all", Hash, NEVER;
    RULES_COUNT = "rules:count", String, NEVER;
    MODERATION_POSTS = "moderation:<moderation id>:posts", SortedSet, NEVER;
    WITHDRAWN = "withdrawn:<thing>", Hash, NEVER;
    WITHDRAWN_COMMENT_SUBSCRIBERS = "withdrawn:comment:<comment>:subscribers", SortedSet, NEVER;
    IMPORT_LINKS = "import:links", Hash, NEVER;
    IMPORT_ACCOUNTS = "import:accounts", Hash, NEVER;
    IMPORT_VOTERS = "import:voters", Hash, NEVER;
    LINK = "link:<host>", Hash, NEVER;
    LINK_VOTES = "link:<host>:votes", Hash, NEVER;
    LINK_ORIGINS = "link:<host>:origins", Hash, NEVER;
    LINK_NETWORKS = "link:<host>:networks", Hash, NEVER;
    LINKS_SUM = "links:sum", SortedSet, NEVER;
    LINKS_COUNT = "links:count", SortedSet, NEVER;
    DAY_LINKS_SUM = "day:<date>:links:sum", SortedSet, NEVER;
    DAY_LINKS_COUNT = "day:<date>:links:count", SortedSet, NEVER;
    DAY_VOTERS_SUM = "day:<date>:voters:sum", SortedSet, NEVER;
    DAY_VOTERS_COUNT = "day:<date>:voters:count", SortedSet, NEVER;
    VOTER = "voter:<uuid>", Hash, NEVER;
    VOTER_VOTES = "voter:<uuid>:votes", SortedSet, NEVER;
    VOTER_NEW = "voter:<uuid>:new", Hash, NEVER;
    PREFIX = "prefix:<4 hex digits>", Set, NEVER;
    SETTINGS = "settings", Hash, NEVER;
    SITE = "site", Hash, NEVER;
    SITE_LOGO = "site.logo", String, NEVER;
    SITES_AUDIT = "sites:audit", SortedSet, NEVER;
    SITES_UNFINISHED = "sites:unfinished", Set, NEVER;
    HOST_NEWS = "host.news:<host>", SortedSet, NEVER;
    STATISTICS_HOUR = "statistics:hour:<hour>", Hash, 25 * HOUR;
    STATISTICS_DAY = "statistics:day:<date>", Hash, 31 * DAY;
    ADMINISTRATOR_FIRST = "administrator.first", String, NEVER;
    LAYOUT_VERSION = "layout:version", String, NEVER;
    RESTORE_UNFINISHED = "restore:unfinished", String, NEVER;
}

/// Of what expires within a day, what a restored site needs: what must not be done twice, and what
/// people may still take back.
const NEEDED: [&Family; 3] = [&REQUEST, &PASSKEY_USED, &USER_RECENT_VOTES];

impl Family {
    /// Whether backups leave its keys out if they expire: limits and rates, which say who tried what
    /// from where, and whatever else is gone or made anew within a day.
    #[must_use]
    pub fn is_left_out_of_backups(&self) -> bool {
        let is_limit = self.name.starts_with("limit:") || self.name.starts_with("rate:");
        is_limit || (1..=DAY).contains(&self.seconds) && !NEEDED.contains(&self)
    }

    /// The family of a key, with the parts that vary; `None` if the key is none of ours.
    #[must_use]
    pub fn of(key: &str) -> Option<(&'static Self, Vec<&str>)> {
        let mut parts = Vec::new();
        let family = ALL.iter().find(|family| {
            parts.clear();
            matches(family.name, key, &mut parts)
        })?;
        Some((family, parts))
    }
}

/// Whether a key has a form. The parts that vary are added to `parts`.
fn matches<'k>(form: &str, key: &'k str, parts: &mut Vec<&'k str>) -> bool {
    let Some((before, rest)) = form.split_once('<') else {
        return form == key;
    };
    let (Some(key), Some((kind, rest))) = (key.strip_prefix(before), rest.split_once('>')) else {
        return false;
    };
    if rest.is_empty() {
        parts.push(key);
        return fits(kind, key);
    }
    let next = rest.split('<').next().unwrap_or(rest);
    let known = parts.len();
    key.match_indices(next).any(|(end, _)| {
        let (part, key) = key.split_at(end);
        parts.truncate(known);
        parts.push(part);
        fits(kind, part) && matches(rest, key, parts)
    })
}

/// Whether a text can be a part of a kind.
fn fits(kind: &str, part: &str) -> bool {
    let is_one_part = !part.is_empty() && !part.contains(':');
    match kind {
        "user id" | "news id" | "tweet id" | "moderation id" => part.parse::<UserId>().is_ok(),
        "date" => is_one_part && part.len() == "2027-01-15".len(),
        "host" | "topic" | "uuid" | "action" | "4 hex digits" | "tag" | "comment" => is_one_part,
        "thing" => part.split_once(':').is_some_and(|(_, id)| !id.is_empty() && !id.contains(':')),
        _ => !part.is_empty(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn backups_leave_out_limits_and_what_is_gone_within_a_day() {
        let left_out = |key| Family::of(key).is_some_and(|(family, _)| family.is_left_out_of_backups());
        for key in [
            "limit:failed_login:pair:192.0.2.1:0123456789abcdef0123456789abcdef",
            "limit:new_voters_of_site",
            "rate:vote:address:192.0.2.1",
            "password_reset:abc",
            "user:7:new_totp",
            "past:2027-01-15",
            "timeline:lease:deliver:1",
        ] {
            assert!(left_out(key), "{key}");
        }
        for key in
            ["user:7", "user:7:networks", "session:abc", "url:http://a.example/", "request:7:abc", "other"]
        {
            assert!(!left_out(key), "{key}");
        }
    }

    #[test]
    fn a_key_belongs_to_one_family() {
        for (key, family, parts) in [
            ("user:7", &USER, vec!["7"]),
            ("user:7:inbox", &USER_INBOX, vec!["7"]),
            ("user:7:notified:2027-01-15", &USER_NOTIFIED, vec!["7", "2027-01-15"]),
            ("score:", &SCORE, vec![]),
            ("score:rust", &SCORE_OF, vec!["rust"]),
            ("built:score:rust", &BUILT, vec!["score:rust"]),
            ("link:example.com", &LINK, vec!["example.com"]),
            ("link:example.com:votes", &LINK_VOTES, vec!["example.com"]),
            ("moderation:log", &MODERATION_LOG, vec![]),
            ("moderation:12", &MODERATION, vec!["12"]),
            ("moderation:12:posts", &MODERATION_POSTS, vec!["12"]),
            ("withdrawn:comment:7-3", &WITHDRAWN, vec!["comment:7-3"]),
            ("withdrawn:comment:7-3:subscribers", &WITHDRAWN_COMMENT_SUBSCRIBERS, vec!["7-3"]),
            ("limit:create_user:2001:db8::", &LIMIT_CREATE_USER, vec!["2001:db8::"]),
            (
                "limit:site_votes:2001:db8:1::/48:a.example",
                &LIMIT_SITE_VOTES,
                vec!["2001:db8:1::/48", "a.example"],
            ),
            ("timeline:job:clear:1:2", &TIMELINE_JOB, vec!["clear:1:2"]),
            ("url:http://a.example/?b:c", &URL, vec!["http://a.example/?b:c"]),
        ] {
            let (found, variable) = Family::of(key).unwrap();
            assert_eq!((found, variable), (family, parts), "{key}");
        }
        for key in
            ["", "user:", "user:07", "user:x:inbox", "news", "user:7:other", "day:soon:links:sum", "lock"]
        {
            assert_eq!(Family::of(key), None, "{key}");
        }
    }
}

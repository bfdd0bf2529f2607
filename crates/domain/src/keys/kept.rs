//! How long what is stored is kept: classes of keys. The table of `docs/security.md` and what `/about` says are
//! read from it, and each family of keys belongs to one class.

use super::families::{self as of, Family};
use crate::values::rules::Rules;
use crate::values::words::{counted, span};

/// The seconds of a day.
const DAY: u64 = 86_400;

/// How long something is kept.
#[derive(Debug, Clone, Copy)]
pub enum Kept {
    /// In words.
    Until(&'static str),
    /// So many seconds after something.
    For(u64, &'static str),
    /// As many days as a setting says, and what it means if that is 0.
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        days: fn(&Rules) -> u64,
        /// The words after the days, such as "after they were removed".
        after: &'static str,
        /// The words for 0.
        never: &'static str,
    },
}

impl Kept {
    /// In words, on a site with these rules.
    #[must_use]
    pub fn on(&self, rules: &Rules) -> String {
        match self {
            Self::Until(words) => (*words).to_owned(),
            Self::For(seconds, after) => format!("{} {after}", span(*seconds)),
            Self::Setting { days, after, never, .. } => match days(rules) {
                0 => (*never).to_owned(),
                days => format!("{} {after}", counted(days, "day", "days")),
            },
        }
    }

    /// In words, for every site.
    #[must_use]
    pub fn in_general(&self) -> String {
        match self {
            Self::Setting { name, days, after, never } => {
                format!("{} days (`{name}`) {after}; 0: {never}", days(&Rules::default()))
            }
            other => other.on(&Rules::default()),
        }
    }
}

/// A class of what is stored.
#[derive(Debug)]
pub struct Class {
    /// What it is.
    pub name: &'static str,
    /// How long it is kept.
    pub kept: Kept,
    /// The families of keys that hold it.
    pub families: &'static [&'static Family],
}

/// All classes, those about people first.
pub static CLASSES: &[Class] = &[
    Class {
        name: "Accounts, profiles, choices and follows",
        kept: Kept::Until("until you leave; your username stays taken"),
        families: &[
            &of::USER,
            &of::USERNAME_TO_ID,
            &of::USERNAME_FOLDED,
            &of::USER_TWO_FACTOR,
            &of::USER_SAVED,
            &of::USER_UPVOTED,
            &of::USER_HIDDEN,
            &of::USER_TOPICS_FOLLOWED,
            &of::USER_TOPICS_MUTED,
            &of::USER_MUTES,
            &of::USER_BLOCKS,
            &of::USER_FOLLOWERS,
            &of::USER_FOLLOWINGS,
            &of::USER_HOME_TIMELINE,
            &of::USER_VISITS,
            &of::USER_SUBSCRIPTIONS,
            &of::USER_UNSUBSCRIBED,
            &of::NEWS_SUBSCRIBERS,
            &of::INVITES_BY,
            &of::INVITES_ROOTS,
            &of::MOST_FOLLOWED,
            &of::HOME_FLOORS,
            &of::PULLED_AUTHORS,
            &of::FIRST_ADMINISTRATOR,
        ],
    },
    Class {
        name: "Stories, comments and posts",
        kept: Kept::Until("until they are erased, also what you have deleted yourself"),
        families: &[
            &of::NEWS,
            &of::THREAD_COMMENT,
            &of::TWEET,
            &of::NEWS_TOP,
            &of::NEWS_CRON,
            &of::HOST_NEWS,
            &of::PAST,
            &of::BUILT,
            &of::ARTICLE_OF,
            &of::ARTICLES_BY_TIME,
            &of::ARTICLES_BY_SCORE,
            &of::TOPICS,
            &of::TOPIC_MOVES,
            &of::TOPIC_SENTENCES,
            &of::GROUP,
            &of::GROUP_WITHHELD,
            &of::SCORE_OF,
            &of::TIME_OF,
            &of::USER_POSTED,
            &of::USER_COMMENTS,
            &of::USER_USER_TIMELINE,
            &of::GLOBAL_TIMELINE,
            &of::ITEMS,
            &of::CHANGES,
            &of::IMPORTED,
            &of::IMPORTED_LINKS,
            &of::IMPORTED_ACCOUNTS,
        ],
    },
    Class {
        name: "Votes",
        kept: Kept::Until("as long as what they are about"),
        families: &[
            &of::NEWS_UP,
            &of::NEWS_DOWN,
            &of::NEWS_DISCOUNTED,
            &of::VOTED,
            &of::LINK,
            &of::LINK_VOTES,
            &of::LINK_ORIGINS,
            &of::LINK_NETWORKS,
            &of::LINKS_SUM,
            &of::LINKS_COUNT,
            &of::DAY_LINKS_SUM,
            &of::DAY_LINKS_COUNT,
            &of::DAY_VOTERS_SUM,
            &of::DAY_VOTERS_COUNT,
            &of::VOTER,
            &of::VOTER_VOTES,
            &of::VOTER_NEW,
            &of::PREFIX,
            &of::IMPORTED_VOTERS,
            &of::SITES_AUDIT,
            &of::SITES_UNFINISHED,
        ],
    },
    Class {
        name: "Sessions and the networks of logins",
        kept: Kept::For(60 * DAY, "after your last visit, or until you log out"),
        families: &[&of::SESSION, &of::USER_SESSIONS, &of::USER_NETWORKS, &of::AUTH],
    },
    Class {
        name: "Addresses and networks of sign-ups and posts",
        kept: Kept::Setting {
            name: "moderation.keep_addresses_days",
            days: |rules| rules.moderation.keep_addresses_days,
            after: "after the day",
            never: "not at all",
        },
        families: &[&of::NETWORK, &of::USER_ADDRESSES],
    },
    Class {
        name: "Invitations, and links in mails",
        kept: Kept::For(30 * DAY, "at most, or until they are used"),
        families: &[
            &of::INVITES_CODE,
            &of::INVITES_OPEN,
            &of::PASSWORD_RESET,
            &of::CONFIRM_EMAIL,
            &of::USER_NEW_TOTP,
            &of::PASSKEY_USED,
        ],
    },
    Class {
        name: "Counters against abuse, by account, address and network",
        kept: Kept::For(2 * DAY, "at most"),
        families: &[
            &of::SIGNUP_BURST,
            &of::SIGNUP_PAUSED,
            &of::NEW_VOTERS_OF_SITE,
            &of::NEW_HOSTS_OF_SITE,
            &of::LIMIT_CREATE_USER,
            &of::LIMIT_SIGNUPS,
            &of::LIMIT_INVITATION_MAILS,
            &of::LIMIT_CONFIRMATION_MAILS,
            &of::LIMIT_FAILED_LOGIN_ADDRESS,
            &of::LIMIT_FAILED_LOGIN_PAIR,
            &of::LIMIT_FAILED_LOGIN_ACCOUNT,
            &of::LIMIT_FAILED_LOGIN_ADDRESSES,
            &of::LIMIT_FAILED_LOGIN_TOLD,
            &of::LIMIT_WRONG_CODES,
            &of::LIMIT_ACCOUNT_NOTICES,
            &of::LIMIT_FOLLOW_NOTICE,
            &of::LIMIT_NEW_VOTERS,
            &of::LIMIT_BROUGHT_SOMETHING,
            &of::LIMIT_SITE_ACCOUNT_VOTES,
            &of::LIMIT_SITE_VOTES,
            &of::LIMIT_MAILED_ENTRIES,
            &of::LIMIT_MESSAGES,
            &of::RATE_ACCOUNT,
            &of::RATE_ADDRESS,
            &of::REQUEST,
            &of::URL,
            &of::USER_SUBMITTED_RECENTLY,
            &of::USER_RECENT_VOTES,
            &of::USER_NOTIFIED,
        ],
    },
    Class {
        name: "Inboxes",
        kept: Kept::Until("the newest 1,000 entries, until you leave"),
        families: &[&of::USER_INBOX, &of::USER_UNREAD, &of::USER_MARKED_READ, &of::USER_MENTIONS],
    },
    Class {
        name: "Messages from moderators",
        kept: Kept::Until("as long as they are in your inbox"),
        families: &[&of::USER_MESSAGES],
    },
    Class {
        name: "Messages between you and the moderators",
        kept: Kept::Until("until you leave"),
        families: &[
            &of::MESSAGES,
            &of::MESSAGES_TEXTS,
            &of::MESSAGES_ALL,
            &of::MESSAGES_COUNT,
            &of::USER_MESSAGE_THREADS,
        ],
    },
    Class {
        name: "Mails, and messages to webhooks and to the hub of the feeds",
        kept: Kept::For(DAY, "at most, until they are sent"),
        families: &[
            &of::HOOK_EVENTS,
            &of::HOOK_OUTBOX,
            &of::HOOK_RESTS,
            &of::HUB_FEEDS,
            &of::HUB_STATE,
            &of::MAIL_OUTBOX,
            &of::MAIL_WRITTEN,
            &of::MAIL_LEASE,
            &of::DIGEST_DAILY,
            &of::DIGEST_WEEKLY,
            &of::DIGEST_TURN,
        ],
    },
    Class {
        name: "Flags",
        kept: Kept::Until(
            "as long as what they are about; flags of people, as long as their names in the moderation log; what you flagged, until you leave",
        ),
        families: &[&of::FLAGS, &of::USER_FLAGS, &of::USER_FLAG_OUTCOMES],
    },
    Class {
        name: "The names of people who left in the moderation log",
        kept: Kept::Setting {
            name: "retention.log_names_days",
            days: |rules| rules.retention.log_names_days,
            after: "after they left",
            never: "permanently",
        },
        families: &[&of::MODERATION],
    },
    Class {
        name: "The notes of moderators about you",
        kept: Kept::Until("until you leave"),
        families: &[&of::USER_NOTES],
    },
    Class {
        name: "The rest of the moderation log, appeals and bans",
        kept: Kept::Until("permanently"),
        families: &[
            &of::MODERATION_LOG,
            &of::MODERATION_COUNT,
            &of::APPEAL,
            &of::REVIEW_QUEUE,
            &of::REVIEW_REMINDED,
            &of::BANS_ENDING,
            &of::RULES,
            &of::RULES_COUNT,
            &of::ORIGIN_BANS,
            &of::ORIGIN_BANS_COUNT,
            &of::ORIGIN_BANS_STOPPED,
        ],
    },
    Class {
        name: "Texts that moderators have removed or replaced",
        kept: Kept::Setting {
            name: "retention.removed_days",
            days: |rules| rules.retention.removed_days,
            after: "after that, unless they are restored",
            never: "permanently",
        },
        families: &[&of::MODERATION_POSTS, &of::WITHDRAWN, &of::WITHDRAWN_COMMENT_SUBSCRIBERS],
    },
    Class {
        name: "Figures without names",
        kept: Kept::For(31 * DAY, "at most"),
        families: &[&of::STATISTICS_HOUR, &of::STATISTICS_DAY],
    },
    Class {
        name: "The site itself, with nothing about people",
        kept: Kept::Until("permanently"),
        families: &[
            &of::USERS_COUNT,
            &of::NEWS_COUNT,
            &of::ITEMS_COUNT,
            &of::ARTICLE_COUNT,
            &of::TWEET_IDS,
            &of::USERNAMES_FOLDED,
            &of::SIGNING_KEY,
            &of::NETWORKS_SECRET,
            &of::SETTINGS,
            &of::SITE,
            &of::SITE_LOGO,
            &of::HOOKS,
            &of::HOOKS_COUNT,
            &of::HOOK_RESULTS,
            &of::TIMELINE_PLACE,
            &of::TIMELINE_JOBS,
            &of::TIMELINE_JOB,
            &of::TIMELINE_LEASE,
            &of::ERASED_LAST,
            &of::RETENTION,
            &of::LAYOUT_VERSION,
            &of::UNFINISHED_RESTORE,
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_of_keys_belongs_to_one_class() {
        for family in of::ALL {
            let classes: Vec<&str> = CLASSES
                .iter()
                .filter(|class| class.families.contains(family))
                .map(|class| class.name)
                .collect();
            assert_eq!(classes.len(), 1, "{} is in {classes:?}; how long is it kept?", family.name);
        }
    }

    #[test]
    fn what_expires_is_not_kept_longer_than_its_class_says() {
        for class in CLASSES {
            if let Kept::For(most, _) = class.kept {
                let longest = class.families.iter().map(|family| family.seconds).max();
                assert!(longest.is_some_and(|longest| longest <= most), "{}", class.name);
            }
        }
    }

    #[test]
    fn a_setting_says_how_long() {
        let mut rules = Rules::default();
        let kept = &CLASSES.iter().find(|class| class.name.starts_with("Texts")).map(|class| class.kept);
        let on = |rules: &Rules| kept.map(|kept| kept.on(rules));
        assert_eq!(on(&rules).as_deref(), Some("365 days after that, unless they are restored"));
        rules.retention.removed_days = 0;
        assert_eq!(on(&rules).as_deref(), Some("permanently"));
    }
}

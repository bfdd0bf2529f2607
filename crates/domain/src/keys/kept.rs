//! How long what is stored is kept: classes of keys. The table of `docs/security.md` and what `/about` says are
//! read from it. The schema says to which class each family of keys belongs.

use super::families::{self, Family};
use crate::values::Rules;
use tidings_language::spans::span;
use tidings_language::{Message, Phrase, m};

/// The seconds of a day.
const DAY: u64 = 86_400;

/// How long something is kept. Messages name a span as `time`.
#[derive(Debug, Clone, Copy)]
pub enum Kept {
    /// In words.
    Until(&'static Message),
    /// So many seconds.
    For(u64, &'static Message),
    /// At most so many seconds.
    UpTo(u64, &'static Message),
    /// As many days as a setting says, and what it means if that is 0.
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// Its value.
        days: fn(&Rules) -> u64,
        /// The words for some days.
        words: &'static Message,
        /// The words for 0.
        never: &'static Message,
    },
}

impl Kept {
    /// In words, on a site with these rules.
    pub fn on(&self, rules: &Rules) -> Phrase<'static> {
        match self {
            Self::Until(words) => Phrase::new(words),
            Self::For(seconds, words) | Self::UpTo(seconds, words) => {
                Phrase::new(words).with("time", span(*seconds))
            }
            Self::Setting { days, words, never, .. } => match days(rules) {
                0 => Phrase::new(never),
                days => Phrase::new(words).with("time", span(days.saturating_mul(DAY))),
            },
        }
    }

    /// In words, for every site, in the language of the documents.
    pub fn in_general(&self) -> String {
        let rules = Rules::default();
        match self {
            Self::Setting { name, days, words, never } => {
                let words = Phrase::new(words).with("time", format!("{} days (`{name}`)", days(&rules)));
                format!("{}; 0: {}", words.in_english(), never.english)
            }
            other => other.on(&rules).in_english(),
        }
    }
}

/// A class of what is stored.
#[derive(Debug)]
pub struct Class {
    /// Its name.
    pub name: &'static Message,
    /// How long it is kept.
    pub kept: Kept,
}

impl Class {
    /// The families of keys that hold it.
    pub fn families(&self) -> impl Iterator<Item = &'static Family> {
        families::ALL.iter().copied().filter(|family| std::ptr::eq(family.class, self))
    }
}

pub(super) static ACCOUNTS: Class = Class {
    name: m!("Accounts, profiles, choices and follows"),
    kept: Kept::Until(m!("until you leave; your username stays taken")),
};

pub(super) static POSTS: Class = Class {
    name: m!("Stories, comments and posts"),
    kept: Kept::Until(m!("until they are erased, including those you delete yourself")),
};

pub(super) static VOTES: Class =
    Class { name: m!("Votes"), kept: Kept::Until(m!("as long as what they are about")) };

pub(super) static SESSIONS: Class = Class {
    name: m!("Sessions and the networks of logins"),
    kept: Kept::For(60 * DAY, m!("{time} after your last visit, or until you log out")),
};

pub(super) static ADDRESSES: Class = Class {
    name: m!("Addresses and networks of sign-ups and posts"),
    kept: Kept::Setting {
        name: "moderation.keep_addresses_days",
        days: |rules| rules.moderation.keep_addresses_days,
        words: m!("{time} after the day"),
        never: m!("not at all"),
    },
};

pub(super) static INVITATIONS: Class = Class {
    name: m!("Invitations, and links in mails"),
    kept: Kept::UpTo(30 * DAY, m!("up to {time}, or until they are used")),
};

pub(super) static LIMITS: Class = Class {
    name: m!("Rate-limit counters, by account, address and network"),
    kept: Kept::UpTo(2 * DAY, m!("up to {time}")),
};

pub(super) static INBOXES: Class =
    Class { name: m!("Inboxes"), kept: Kept::Until(m!("the newest 1,000 entries, until you leave")) };

pub(super) static FROM_MODERATORS: Class = Class {
    name: m!("Messages from moderators"),
    kept: Kept::Until(m!("as long as they are in your inbox")),
};

pub(super) static WITH_MODERATORS: Class =
    Class { name: m!("Messages between you and the moderators"), kept: Kept::Until(m!("until you leave")) };

pub(super) static MAILS: Class = Class {
    name: m!("Mails, and messages to webhooks and to the hub of the feeds"),
    kept: Kept::UpTo(DAY, m!("up to {time}, until they are sent")),
};

pub(super) static FLAGS: Class = Class {
    name: m!("Flags"),
    kept: Kept::Until(m!(
        "as long as what they are about; flags of people, as long as their names in the moderation log; what you flagged, until you leave"
    )),
};

pub(super) static LOG_NAMES: Class = Class {
    name: m!("The names of people who left in the moderation log"),
    kept: Kept::Setting {
        name: "retention.log_names_days",
        days: |rules| rules.retention.log_names_days,
        words: m!("{time} after they left"),
        never: m!("permanently"),
    },
};

pub(super) static NOTES: Class =
    Class { name: m!("The notes of moderators about you"), kept: Kept::Until(m!("until you leave")) };

pub(super) static LOG: Class = Class {
    name: m!("The rest of the moderation log, appeals and bans"),
    kept: Kept::Until(m!("permanently")),
};

pub(super) static REMOVED: Class = Class {
    name: m!("Texts that moderators have removed or replaced"),
    kept: Kept::Setting {
        name: "retention.removed_days",
        days: |rules| rules.retention.removed_days,
        words: m!("{time} after that, unless they are restored"),
        never: m!("permanently"),
    },
};

pub(super) static FIGURES: Class =
    Class { name: m!("Anonymous statistics"), kept: Kept::UpTo(31 * DAY, m!("up to {time}")) };

pub(super) static SITE: Class =
    Class { name: m!("The site itself, with nothing about people"), kept: Kept::Until(m!("permanently")) };

/// All classes, those about people first.
pub static CLASSES: &[&Class] = &[
    &ACCOUNTS,
    &POSTS,
    &VOTES,
    &SESSIONS,
    &ADDRESSES,
    &INVITATIONS,
    &LIMITS,
    &INBOXES,
    &FROM_MODERATORS,
    &WITH_MODERATORS,
    &MAILS,
    &FLAGS,
    &LOG_NAMES,
    &NOTES,
    &LOG,
    &REMOVED,
    &FIGURES,
    &SITE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_told_and_has_keys() {
        for class in CLASSES {
            assert!(class.families().next().is_some(), "nothing is of the class {}", class.name.english);
        }
        for family in families::ALL {
            let is_told = CLASSES.iter().any(|class| std::ptr::eq(*class, family.class));
            assert!(is_told, "people are not told how long {} is kept", family.name);
        }
    }

    #[test]
    fn what_expires_is_not_kept_longer_than_its_class_says() {
        for class in CLASSES {
            if let Kept::For(most, _) | Kept::UpTo(most, _) = class.kept {
                let longest = class.families().map(|family| family.seconds).max();
                assert!(longest.is_some_and(|longest| longest <= most), "{}", class.name.english);
            }
        }
    }

    #[test]
    fn a_setting_says_how_long() {
        let mut rules = Rules::default();
        let kept =
            &CLASSES.iter().find(|class| class.name.english.starts_with("Texts")).map(|class| class.kept);
        let on = |rules: &Rules| kept.map(|kept| kept.on(rules).in_english());
        assert_eq!(on(&rules).as_deref(), Some("365 days after that, unless they are restored"));
        rules.retention.removed_days = 0;
        assert_eq!(on(&rules).as_deref(), Some("permanently"));
    }
}

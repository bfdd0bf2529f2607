//! How long what is stored is kept: classes of keys. The table of `docs/security.md` and what `/about` says are
//! read from it. The schema says to which class each family of keys belongs.

use super::families::{self, Family};
use crate::values::Rules;
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
    /// At most so many seconds, and what ends it before.
    UpTo(u64, &'static str),
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
    pub fn on(&self, rules: &Rules) -> String {
        match self {
            Self::Until(words) => (*words).to_owned(),
            Self::For(seconds, after) => format!("{} {after}", span(*seconds)),
            Self::UpTo(seconds, before) => format!("up to {}{before}", span(*seconds)),
            Self::Setting { days, after, never, .. } => match days(rules) {
                0 => (*never).to_owned(),
                days => format!("{} {after}", counted(days, "day", "days")),
            },
        }
    }

    /// In words, for every site.
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
    /// Its name.
    pub name: &'static str,
    /// How long it is kept.
    pub kept: Kept,
}

impl Class {
    /// The families of keys that hold it.
    pub fn families(&self) -> impl Iterator<Item = &'static Family> {
        families::ALL.iter().copied().filter(|family| family.class.name == self.name)
    }
}

pub(super) static ACCOUNTS: Class = Class {
    name: "Accounts, profiles, choices and follows",
    kept: Kept::Until("until you leave; your username stays taken"),
};

pub(super) static POSTS: Class = Class {
    name: "Stories, comments and posts",
    kept: Kept::Until("until they are erased, including those you delete yourself"),
};

pub(super) static VOTES: Class = Class { name: "Votes", kept: Kept::Until("as long as what they are about") };

pub(super) static SESSIONS: Class = Class {
    name: "Sessions and the networks of logins",
    kept: Kept::For(60 * DAY, "after your last visit, or until you log out"),
};

pub(super) static ADDRESSES: Class = Class {
    name: "Addresses and networks of sign-ups and posts",
    kept: Kept::Setting {
        name: "moderation.keep_addresses_days",
        days: |rules| rules.moderation.keep_addresses_days,
        after: "after the day",
        never: "not at all",
    },
};

pub(super) static INVITATIONS: Class =
    Class { name: "Invitations, and links in mails", kept: Kept::UpTo(30 * DAY, ", or until they are used") };

pub(super) static LIMITS: Class =
    Class { name: "Rate-limit counters, by account, address and network", kept: Kept::UpTo(2 * DAY, "") };

pub(super) static INBOXES: Class =
    Class { name: "Inboxes", kept: Kept::Until("the newest 1,000 entries, until you leave") };

pub(super) static FROM_MODERATORS: Class =
    Class { name: "Messages from moderators", kept: Kept::Until("as long as they are in your inbox") };

pub(super) static WITH_MODERATORS: Class =
    Class { name: "Messages between you and the moderators", kept: Kept::Until("until you leave") };

pub(super) static MAILS: Class = Class {
    name: "Mails, and messages to webhooks and to the hub of the feeds",
    kept: Kept::UpTo(DAY, ", until they are sent"),
};

pub(super) static FLAGS: Class = Class {
    name: "Flags",
    kept: Kept::Until(
        "as long as what they are about; flags of people, as long as their names in the moderation log; what you flagged, until you leave",
    ),
};

pub(super) static LOG_NAMES: Class = Class {
    name: "The names of people who left in the moderation log",
    kept: Kept::Setting {
        name: "retention.log_names_days",
        days: |rules| rules.retention.log_names_days,
        after: "after they left",
        never: "permanently",
    },
};

pub(super) static NOTES: Class =
    Class { name: "The notes of moderators about you", kept: Kept::Until("until you leave") };

pub(super) static LOG: Class =
    Class { name: "The rest of the moderation log, appeals and bans", kept: Kept::Until("permanently") };

pub(super) static REMOVED: Class = Class {
    name: "Texts that moderators have removed or replaced",
    kept: Kept::Setting {
        name: "retention.removed_days",
        days: |rules| rules.retention.removed_days,
        after: "after that, unless they are restored",
        never: "permanently",
    },
};

pub(super) static FIGURES: Class = Class { name: "Anonymous statistics", kept: Kept::UpTo(31 * DAY, "") };

pub(super) static SITE: Class =
    Class { name: "The site itself, with nothing about people", kept: Kept::Until("permanently") };

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
            assert!(class.families().next().is_some(), "nothing is of the class {}", class.name);
        }
        for family in families::ALL {
            let is_told = CLASSES.iter().any(|class| class.name == family.class.name);
            assert!(is_told, "people are not told how long {} is kept", family.name);
        }
    }

    #[test]
    fn what_expires_is_not_kept_longer_than_its_class_says() {
        for class in CLASSES {
            if let Kept::For(most, _) | Kept::UpTo(most, _) = class.kept {
                let longest = class.families().map(|family| family.seconds).max();
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

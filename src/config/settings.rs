//! The table of all settings: name, default, kind and meaning, each once.
//!
//! The macro makes the typed sections, the table that is searched by name, and
//! the function that reads one from the other. The defaults of the rules are
//! those in [`tidings_domain::values::rules`].

use std::net::SocketAddr;

use ipnet::IpNet;
use lettre::message::Mailbox;
use url::Url;

use super::values::{Kind, Relay, Secret, StoreUrl};
use super::{Config, ConfigError, Layers};
use tidings_domain::values::rules::{
    AccountRules, KarmaRules, LimitRules, RankingRules, Rules, TimelineRules,
};

/// One row of the table.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) default: String,
    pub(super) meaning: &'static str,
}

macro_rules! settings {
    (
        sections {$(
            $(#[$section_doc:meta])*
            $section:ident: $Section:ident {$(
                $name:ident: $type:ty = $default:literal, $kind:expr, $meaning:literal;
            )*}
        )*}
        rules {$(
            $group:ident: $Group:ident {$(
                $rule:ident: $rule_kind:expr, $rule_meaning:literal;
            )*}
        )*}
    ) => {
        $(
            $(#[$section_doc])*
            #[derive(Debug, Clone, PartialEq)]
            pub struct $Section {$(
                #[doc = $meaning]
                pub $name: $type,
            )*}
        )*

        /// All settings, in the order in which they are shown.
        pub(super) fn table() -> Vec<Setting> {
            let rules = Rules::default();
            vec![
                $($(Setting {
                    name: concat!(stringify!($section), ".", stringify!($name)),
                    kind: $kind,
                    default: $default.to_owned(),
                    meaning: $meaning,
                },)*)*
                $($(Setting {
                    name: concat!(stringify!($group), ".", stringify!($rule)),
                    kind: $rule_kind,
                    default: rules.$group.$rule.to_string(),
                    meaning: $rule_meaning,
                },)*)*
            ]
        }

        /// Reads every setting into its type.
        pub(super) fn build(layers: &Layers) -> Result<Config, ConfigError> {
            Ok(Config {
                $($section: $Section {$(
                    $name: layers.read(concat!(stringify!($section), ".", stringify!($name)), &$kind)?,
                )*},)*
                rules: Rules {
                    $($group: $Group {$(
                        $rule: layers.read(concat!(stringify!($group), ".", stringify!($rule)), &$rule_kind)?,
                    )*},)*
                },
                lines: layers.describe(),
            })
        }
    };
}

const TEN_YEARS: u64 = 315_360_000;

/// A limit in seconds that zero switches off.
const LIMIT: Kind = Kind::Whole { unit: " of seconds", least: 0, most: TEN_YEARS };
const KARMA: Kind = Kind::Signed { least: -1_000_000_000, most: 1_000_000_000 };
const KARMA_COST: Kind = Kind::Signed { least: 0, most: 1_000_000_000 };

settings! {
    sections {
        /// Where to listen and what to store in.
        server: Server {
            listen: SocketAddr = "127.0.0.1:8080", Kind::SocketAddress, "The address and port to listen on.";
            store: StoreUrl = "redb:tidings.redb", Kind::Store,
                "Where everything is stored: redb:PATH, redb::memory:, redis://... or rediss://...";
            store_timeout_seconds: u64 = "2", Kind::Whole { unit: " of seconds", least: 1, most: 60 },
                "How long the store may take before a request is answered with 503.";
            request_timeout_seconds: u64 = "10", Kind::Whole { unit: " of seconds", least: 1, most: 600 },
                "How long a request may take altogether.";
            cache_mebibytes: u64 = "48", Kind::Whole { unit: " of mebibytes", least: 1, most: 65_536 },
                "Memory for the cache of the embedded store.";
        }
        /// How the site presents itself.
        site: Site {
            name: String = "Tidings", Kind::Line { least: 1, most: 80 }, "The name of the site, in every page's head.";
            url: Url = "http://localhost:8080", Kind::SiteUrl,
                "Where the site is reached, for mailed links and feeds; https makes the session cookie Secure.";
            description: String = "Links and discussion from our community", Kind::Line { least: 0, most: 500 },
                "One sentence about the site, for feeds and search engines.";
        }
        /// How mail is sent.
        mail: Mail {
            relay: Option<Relay> = "", Kind::Relay,
                "The SMTP relay as host:port, STARTTLS when offered (TLS from the start on port 465); empty = no mail.";
            from: Mailbox = "tidings@localhost", Kind::Mailbox, "The sender of the site's mail.";
            username: String = "", Kind::Line { least: 0, most: 255 }, "The login at the relay; empty = none.";
            password: Secret = "", Kind::Secret, "The password at the relay.";
        }
        /// How pages are served.
        web: Web {
            trusted_proxies: Vec<IpNet> = "", Kind::Networks,
                "Comma-separated addresses or networks of the proxies whose X-Forwarded-For is believed.";
            gravatars: bool = "true", Kind::Switch,
                "Whether avatars of users with an e-mail address come from gravatar.com.";
        }
    }
    rules {
        limits: LimitRules {
            account_creation_seconds: LIMIT, "One new account per address in this many seconds; 0 = no limit.";
            submission_seconds: LIMIT,
                "One submission per user in this many seconds, administrators excepted; 0 = no limit.";
            repost_seconds: LIMIT,
                "A URL posted again within this many seconds leads to the earlier item; 0 = reposts are free.";
            news_edit_seconds: LIMIT, "Authors may edit and delete news for this many seconds; 0 = always.";
            comment_edit_seconds: LIMIT, "Authors may edit and delete comments for this many seconds; 0 = always.";
            password_reset_seconds: LIMIT, "One password reset mail per user in this many seconds; 0 = no limit.";
            failed_logins_per_minute: Kind::Whole { unit: "", least: 0, most: 1_000_000 },
                "Failed logins in a minute, per account and per address, before others must wait; 0 = no limit.";
            new_voters_per_day: Kind::Whole { unit: "", least: 0, most: 1_000_000_000 },
                "Voters on sites that one address may bring in 24 hours; 0 = no limit.";
        }
        karma: KarmaRules {
            initial: KARMA, "Karma of a new account.";
            visit_increment: KARMA_COST, "Karma earned by visiting, once per karma.visit_seconds; 0 = none.";
            visit_seconds: LIMIT, "Seconds between two gains by visiting.";
            upvote_minimum: KARMA, "Karma needed to vote news up.";
            upvote_cost: KARMA_COST, "Karma that an up-vote costs the voter.";
            upvote_transfer: KARMA_COST, "Karma that an up-vote gives the author.";
            downvote_minimum: KARMA, "Karma needed to vote news down.";
            downvote_cost: KARMA_COST, "Karma that a down-vote costs the voter.";
            new_topic_minimum: KARMA,
                "Karma needed to submit under a topic that does not exist yet, administrators excepted.";
        }
        ranking: RankingRules {
            log_start: Kind::Signed { least: 0, most: 1_000_000_000 },
                "Votes, up and down halved and added, above which the logarithmic bonus starts.";
            log_factor: Kind::Decimal { least: 0.0, most: 1_000_000.0 }, "Factor of the logarithmic bonus.";
            age_padding_seconds: Kind::Whole { unit: " of seconds", least: 1, most: TEN_YEARS },
                "Seconds added to every age, so that new items do not shoot up.";
            age_exponent: Kind::Decimal { least: 0.0, most: 10.0 }, "Exponent of the age: higher sinks items faster.";
            age_limit_seconds: Kind::Whole { unit: " of seconds", least: 0, most: TEN_YEARS },
                "Items older than this many seconds leave the ranking, oldest last; 0 = no limit.";
            scale: Kind::Decimal { least: 0.001, most: 1_000_000_000_000.0 }, "Factor that makes ranks readable.";
        }
        timelines: TimelineRules {
            pull_limit: Kind::Whole { unit: " of followers", least: 0, most: 1_000_000_000 },
                "Tweets of an author with more followers than this are not delivered; readers look when they read.";
            home_size: Kind::Whole { unit: " of tweets", least: 1, most: 10_000 },
                "Tweets in a stored home timeline; older ones are found when they are asked for.";
            inactive_days: Kind::Whole { unit: " of days", least: 1, most: 3_650 },
                "Readers that have not come for this many days get no deliveries until they return.";
        }
        accounts: AccountRules {
            legacy_salt: Kind::Secret,
                "The site-wide salt of SHA-1 passwords in a database of 2011, whose users have no salt field.";
        }
    }
}

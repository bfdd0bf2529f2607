//! The table of all settings: name, default, kind and meaning, each once.
//!
//! The macro makes the typed sections, the table that is searched by name, and
//! the function that reads one from the other. The defaults of the rules are
//! those in [`tidings_domain::values::rules`].

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;
use lettre::message::Mailbox;
use url::{Origin, Url};

use super::values::{
    Contact, HostName, HubUrl, IssuerUrl, LogFormat, MailTls, Relay, SearchLanguage, Secret, StoreUrl,
    TimelinesUrl, ValueKind,
};
use super::{Config, Layers};
use crate::WrongUse;
use tidings_domain::values::{
    AccountRules, FeatureRules, HackerNewsRules, KarmaRules, LimitRules, MAX_INVITATIONS, MAX_KEPT_DAYS,
    MAX_SIGNUP_ANSWERS, MAX_SIGNUP_QUESTION, MAX_SITE_SCORE_NETWORKS, MAX_SITE_VOTES_PER_NETWORK,
    ModerationRules, OidcRules, RankingRules, RateRules, ReadingRules, RetentionRules, Rules, SiteMarkRules,
    TimelineRules, TrustRules,
};
use tidings_web::languages::Languages;

/// One row of the table.
#[derive(Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
    pub(super) default: String,
    pub(super) meaning: &'static str,
}

impl Setting {
    /// The part of its name before the dot.
    fn group(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(group, _)| group)
    }
}

/// Settings of earlier versions, with the one that replaces each.
pub(super) const REPLACED: [(&str, &str); 5] = [
    ("limits.failed_logins_per_minute", "rates.failed_login_per_address"),
    ("accounts.new_days", "trust.days"),
    ("accounts.new_posts", "trust.karma"),
    ("moderation.flag_min_days", "trust.days"),
    ("moderation.flag_min_karma", "trust.karma"),
];

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

        /// All settings, in the order in which they are shown. The defaults of some are in these rules.
        pub(super) fn table(rules: &Rules) -> Vec<Setting> {
            let mut rows = vec![
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
            ];
            // One group of settings may be in both lists.
            let groups: Vec<&str> = rows.iter().map(Setting::group).collect();
            rows.sort_by_key(|row| groups.iter().position(|group| *group == row.group()));
            rows
        }

        /// Reads every setting into its type.
        pub(super) fn build(layers: Layers) -> Result<Config, WrongUse> {
            Ok(Config {
                $($section: $Section {$(
                    $name: layers.read(concat!(stringify!($section), ".", stringify!($name)), &$kind)?,
                )*},)*
                rules: Rules {
                    $($group: $Group {$(
                        $rule: layers.read(concat!(stringify!($group), ".", stringify!($rule)), &$rule_kind)?,
                    )*},)*
                    configured: layers.configured(),
                },
                languages: Languages::default(),
                layers,
            })
        }
    };
}

/// The longest path that Linux allows for a Unix socket.
const LONGEST_SOCKET_PATH: usize = 107;
const TEN_YEARS: u64 = 315_360_000;

/// A limit in seconds that zero switches off.
const LIMIT: ValueKind = ValueKind::Whole { unit: " of seconds", least: 0, most: TEN_YEARS };
/// A limit on a number of things that zero switches off.
const COUNT: ValueKind = ValueKind::Whole { unit: "", least: 0, most: 1_000_000_000 };
/// A limit on the votes of a network that zero switches off.
const NETWORK_VOTES: ValueKind = ValueKind::Whole { unit: "", least: 0, most: MAX_SITE_VOTES_PER_NETWORK };
const STREAMS: ValueKind = ValueKind::Whole { unit: " of streams", least: 0, most: 1_000_000 };
/// Days that something is kept; zero is for ever.
const KEPT_DAYS: ValueKind = ValueKind::Whole { unit: " of days", least: 0, most: 36_500 };
const PATH: ValueKind = ValueKind::Line { least: 0, most: 4_096 };
const WORDS: ValueKind = ValueKind::Words("words", MAX_SIGNUP_ANSWERS);
const NAMES: ValueKind = ValueKind::Words("names", 4_096);
const HOSTS: ValueKind = ValueKind::List("comma-separated host names, like example.com, www.example.com");
const NETWORKS: ValueKind =
    ValueKind::List("comma-separated addresses or networks, like 127.0.0.1, 10.0.0.0/8");
/// A rate that zero switches off.
const RATE: ValueKind =
    ValueKind::Limit("a count and a duration up to 30d, like 10/10m or 200/4s, or 0 for no limit");
const KARMA: ValueKind = ValueKind::Whole { unit: "", least: -1_000_000_000, most: 1_000_000_000 };
const KARMA_COST: ValueKind = ValueKind::Whole { unit: "", least: 0, most: 1_000_000_000 };

settings! {
    sections {
        /// Where to listen and what to store in.
        server: Server {
            listen: SocketAddr = "127.0.0.1:8080", ValueKind::Form("an address with a port, like 127.0.0.1:8080 or [::1]:8080"),
                "The address and port to listen on.";
            store: StoreUrl = "redb:tidings.redb",
                ValueKind::Url("redb:PATH, redb::memory:, redis://HOST, rediss://HOST or redis+sentinel://HOST,HOST,HOST/NAME"),
                "Where the data is stored: redb:PATH, redb::memory:, redis://..., or redis+sentinel://HOST,HOST,HOST/NAME.";
            control: String = "", ValueKind::Line { least: 0, most: LONGEST_SOCKET_PATH },
                "The Unix socket on which commands reach the running server; empty = beside an embedded store, none with Redis.";
            create: bool = "false", ValueKind::Switch,
                "Whether a new site is started where the named store does not exist or is empty, as with --create.";
            store_timeout_seconds: u64 = "2", ValueKind::Whole { unit: " of seconds", least: 1, most: 60 },
                "How long the store may take before a request gets a 503.";
            store_replicas: u64 = "0", ValueKind::Whole { unit: " of replicas", least: 0, most: 16 },
                "How many replicas of Redis must have a write before it is acknowledged; 0 = the primary alone.";
            request_timeout_seconds: u64 = "10", ValueKind::Whole { unit: " of seconds", least: 1, most: 600 },
                "How long a request may take altogether, with its body.";
            drain_seconds: u64 = "0", ValueKind::Whole { unit: " of seconds", least: 0, most: 600 },
                "How long a server that was told to stop goes on serving while /health/ready answers 503, for load balancers.";
            stop_seconds: u64 = "25", ValueKind::Whole { unit: " of seconds", least: 1, most: 600 },
                "How long the rest of a stop may take, even if the disk hangs; then the process ends with what is acknowledged.";
            hosts: Vec<HostName> = "", HOSTS,
                "Comma-separated host names that the site answers for besides that of site.url.";
            old_hosts: Vec<HostName> = "", HOSTS,
                "Comma-separated host names that the site had before, the first one first; they redirect to site.url.";
            connections_per_address: u64 = "64", ValueKind::Whole { unit: "", least: 0, most: 1_000_000 },
                "Connections of one address at the same time, except for trusted proxies; 0 = no limit.";
            writes_at_once: u64 = "256", ValueKind::Whole { unit: " of requests", least: 2, most: 65_536 },
                "Requests that may write, at the same time; beyond it they get a 503 with Retry-After.";
            answers_mebibytes: u64 = "64", ValueKind::Whole { unit: " of mebibytes", least: 4, most: 65_536 },
                "Memory for answers that are being sent; beyond it the slowest readers are dropped.";
            cache_mebibytes: u64 = "32", ValueKind::Whole { unit: " of mebibytes", least: 1, most: 65_536 },
                "Memory for the cache of the embedded store.";
            site_cache_mebibytes: u64 = "128", ValueKind::Whole { unit: " of mebibytes", least: 8, most: 65_536 },
                "Memory for the site's caches: lists, threads, timelines, names, markup and whole responses.";
        }
        /// How the site presents itself.
        site: Site {
            name: String = "Tidings", ValueKind::Line { least: 1, most: 80 }, "The name of the site, shown on every page.";
            url: Url = "http://localhost:8080", ValueKind::Form("an http or https URL of a whole host, like https://news.example.com"),
                "The public address, for links in mails and feeds; https makes the session cookie Secure.";
            description: String = "Links and discussion from our community", ValueKind::Line { least: 0, most: 500 },
                "One sentence about the site, for feeds and search engines.";
            translations: String = "", PATH,
                "The folder with translations of your own, such as it.po; they win over those of the program; empty = none.";
            contact: Contact = "", ValueKind::Form("an e-mail address, or an http or https URL, or nothing"),
                "An e-mail address, or the address of a page, for requests to whoever runs the site; shown on /about; empty = none.";
        }
        /// How feeds are published.
        feeds: Feeds {
            hub: Option<HubUrl> = "", ValueKind::Form("an http or https URL, like https://hub.example.com/, or nothing"),
                "The WebSub hub that is told when feeds change, and that feeds name; it may be at a private address; empty = none.";
        }
        /// Where home timelines are.
        timelines: Timelines {
            store: TimelinesUrl = "",
                ValueKind::Url("redis+cluster://HOST,HOST,HOST, redis://HOST, redis+sentinel://HOST,HOST,HOST/NAME, and rediss with TLS, or nothing"),
                "Where home timelines are stored: redis+cluster://HOST,HOST,HOST or redis://HOST; empty = in the store. Missing ones are rebuilt.";
        }
        /// How mail is sent.
        mail: Mail {
            relay: Option<Relay> = "", ValueKind::Form("host:port, or nothing"),
                "The SMTP relay as host:port; TLS from the start on port 465, otherwise STARTTLS; empty = no mail.";
            tls: Option<MailTls> = "", ValueKind::Form("required, opportunistic or none, or nothing"),
                "required, opportunistic (reset links over TLS only) or none; empty = required with mail.username, else opportunistic.";
            from: Mailbox = "tidings@localhost", ValueKind::Form("an e-mail address, like news@example.com or News <news@example.com>"),
                "The sender of the site's mail.";
            username: String = "", ValueKind::Line { least: 0, most: 255 }, "The username at the relay; empty = none.";
            password: Secret = "", ValueKind::Secret, "The password at the relay.";
            digest_hour: u64 = "6", ValueKind::Whole { unit: "", least: 0, most: 23 },
                "The hour (UTC) at which digests are mailed; weekly ones on Mondays.";
        }
        /// How pages are served.
        web: Web {
            trusted_proxies: Vec<IpNet> = "", NETWORKS,
                "Comma-separated addresses or networks of proxies whose X-Forwarded-For is trusted.";
            gravatars: bool = "false", ValueKind::Switch,
                "Whether users with an e-mail address have avatars from gravatar.com, which reveals a hash of it.";
            fetch_titles: bool = "true", ValueKind::Switch,
                "Whether people who submit a link can have its title fetched from the linked page.";
        }
        /// Votes on web sites.
        sites: Sites {
            vote_origins: Vec<Origin> = "", ValueKind::List("comma-separated origins, like https://search.example.com"),
                "Comma-separated origins (scheme and host) of other web sites whose pages may vote on sites.";
        }
        /// The backups that the server makes.
        backup: Backup {
            folder: String = "", PATH, "The folder in which the server makes backups; empty = it makes none.";
            every: Duration = "1d", ValueKind::Form("a whole number and s, m, h or d, from 1s to 3650d, like 6h or 1d"),
                "How often the server makes a backup: 30m, 6h, 1d.";
            keep: u64 = "7", ValueKind::Whole { unit: " of backups", least: 1, most: 100_000 },
                "How many of its backups the server keeps; it removes the oldest.";
            after: String = "", PATH,
                "A program that runs after each scheduled backup, with the path of the file as its argument; empty = none.";
        }
        /// Logging in through an OpenID provider.
        oidc: Oidc {
            issuer: Option<IssuerUrl> = "", ValueKind::Form("an https URL, or an http URL of this machine, like https://login.example.com, or nothing"),
                "The issuer of the OpenID provider through which people log in, as its discovery document names it; empty = none.";
            client_id: String = "", ValueKind::Line { least: 0, most: 255 }, "The id of this site at the provider.";
            client_secret_file: String = "", PATH, "The file with the secret of this site at the provider.";
            name: String = "single sign-on", ValueKind::Line { least: 1, most: 40 },
                "The provider's name, for the button “Log in with ...”.";
            scopes: String = "openid profile email", ValueKind::Line { least: 6, most: 255 },
                "The scopes that the site asks for, with spaces between them; openid is one of them.";
            groups_claim: String = "groups", ValueKind::Line { least: 1, most: 255 },
                "The claim that has a person's groups at the provider.";
        }
        /// The search of this server.
        search: Search {
            enabled: bool = "true", ValueKind::Switch, "Whether people can search. If it is off, its addresses answer 404.";
            folder: String = "", PATH,
                "The folder of the search index, which can be deleted at any time; empty = beside the store.";
            language: SearchLanguage = "site", ValueKind::SearchLanguage,
                "The language whose words are found in all their forms; site = that of site.language; none = exact words only.";
            threads: u64 = "0", ValueKind::Whole { unit: " of threads", least: 0, most: 256 },
                "Searches that run at the same time; 0 = half of the cores.";
        }
        /// How the log looks.
        log: Log {
            format: LogFormat = "text", ValueKind::Form("text or json"), "How lines of the log look: text or json.";
        }
        /// Where metrics are.
        metrics: Metrics {
            listen: Option<SocketAddr> = "127.0.0.1:9464", ValueKind::Form("an address with a port, like 127.0.0.1:9464 or [::1]:9464, or nothing"),
                "The address and port of /metrics, for Prometheus; empty = no metrics.";
            hosts: Vec<HostName> = "", HOSTS,
                "Comma-separated host names that /metrics answers for; empty = on loopback localhost alone, else any name.";
        }
    }
    rules {
        site: ReadingRules {
            readers: ValueKind::Form("everyone or members"),
                "The people who can read the site: everyone, or only members who are logged in.";
            language: ValueKind::Form("the name of a language, such as en, de or pt-BR"),
                "The language of pages, mails and feeds: en, de, es, fr, it, ja, or one with a catalogue in site.translations.";
        }
        limits: LimitRules {
            account_creation_seconds: LIMIT, "One new account per address in this many seconds, unless a member has invited it; 0 = no limit.";
            submission_seconds: LIMIT,
                "One story per user in this many seconds, except for administrators; 0 = no limit.";
            repost_seconds: LIMIT,
                "A URL submitted again within this many seconds leads to the earlier story; 0 = no limit.";
            news_edit_seconds: LIMIT, "Authors may edit and delete their stories for this many seconds; 0 = always.";
            comment_edit_seconds: LIMIT, "Authors may edit and delete their comments for this many seconds; 0 = always.";
            password_reset_seconds: LIMIT, "One password reset mail per user in this many seconds; 0 = no limit.";
            new_voters_per_day: COUNT, "New voters on sites from one address in 24 hours; 0 = no limit.";
            new_voters_of_site_per_day: COUNT,
                "New voters on sites in 24 hours, after which only accounts and networks without any bring more; 0 = no limit.";
            new_hosts_of_site_per_day: COUNT,
                "Web sites with a first vote in 24 hours, after which only accounts and networks without any bring more; 0 = no limit.";
            mentions_per_day: COUNT, "People whom one author's mentions notify in a day; 0 = no limit.";
            site_votes_per_network: NETWORK_VOTES,
                "Votes on one site by voters without accounts from one network (IPv4 /24, IPv6 /48) in 24 hours; 0 = no limit.";
            site_account_votes_per_network: NETWORK_VOTES, "The same for voters with accounts; 0 = no limit.";
            site_score_networks: ValueKind::Whole { unit: "", least: 0, most: MAX_SITE_SCORE_NETWORKS },
                "Networks whose votes a site needs for a score, unless 5 accounts have voted; 0 = none.";
            signups_per_network: COUNT,
                "New accounts from one network (IPv4 /24, IPv6 /48) in 24 hours; after them, only invited people can sign up; 0 = no limit.";
            signup_burst: COUNT,
                "New accounts within an hour after which new ones wait for approval for an hour; 0 = no limit.";
        }
        rates: RateRules {
            comment_per_account: RATE, "Comments of one account; 0 = no limit.";
            comment_per_address: RATE, "Comments from one address; 0 = no limit.";
            tweet_per_account: RATE, "Posts of one account; 0 = no limit.";
            tweet_per_address: RATE, "Posts from one address; 0 = no limit.";
            vote_per_account: RATE, "Votes of one account on stories, comments and sites; 0 = no limit.";
            vote_per_address: RATE, "Votes from one address on stories, comments and sites; 0 = no limit.";
            follow_per_account: RATE, "Follows and unfollows of one account; 0 = no limit.";
            follow_per_address: RATE, "Follows and unfollows from one address; 0 = no limit.";
            flag_per_account: RATE, "Flags of one account, given and taken back; 0 = no limit.";
            flag_per_address: RATE, "Flags from one address, given and taken back; 0 = no limit.";
            fetch_title_per_account: RATE,
                "Titles of other sites' pages that one account fetches, administrators too; 0 = no limit.";
            fetch_title_per_address: RATE,
                "Titles of other sites' pages that one address fetches; 0 = no limit.";
            search_per_account: RATE, "Searches of one account; 0 = no limit.";
            search_per_address: RATE, "Searches from one address; 0 = no limit.";
            read_per_address: RATE, "Pages and other reads from one address; 0 = no limit.";
            large_per_address: RATE, "Threads, feeds and other large answers to one address; 0 = no limit.";
            failed_login_per_address: RATE, "Failed logins from one address; 0 = no limit.";
            reset_per_address: RATE, "Requests for a password reset from one address; 0 = no limit.";
            streams_per_account: STREAMS, "Event streams that one account has open at once; 0 = no limit.";
            streams_per_address: STREAMS, "Event streams that one address has open at once; 0 = no limit.";
            new_account_share: ValueKind::Decimal { least: 0.0, most: 1.0 },
                "The share of each rate per account that an account has before it is trusted, rounded down, but at least one.";
            exempt: NETWORKS,
                "Comma-separated addresses or networks that have no rates per address.";
        }
        karma: KarmaRules {
            economy: ValueKind::Form("free or lamer"),
                "Where the defaults of the prices come from: free, where votes up are free, or lamer, as in Lamer News.";
            initial: KARMA, "Karma of a new account.";
            visit_increment: KARMA_COST, "Karma earned by visiting, once per karma.visit_seconds; 0 = none.";
            visit_seconds: LIMIT, "Seconds between two visits that earn karma; 0 = visits earn none.";
            upvote_minimum: KARMA, "Karma needed to vote a story up.";
            upvote_cost: KARMA_COST, "Karma that an upvote costs the voter.";
            upvote_transfer: KARMA_COST, "Karma that an upvote gives the author.";
            downvote_minimum: KARMA, "Karma needed to vote a story down.";
            downvote_cost: KARMA_COST, "Karma that a downvote costs the voter.";
            comment_upvote_transfer: KARMA_COST, "Karma that an upvote on a comment gives its author.";
            comment_downvote_minimum: KARMA, "Karma needed to vote a comment down.";
            comment_downvote_cost: KARMA_COST, "Karma that a downvote on a comment costs the voter.";
            new_topic_minimum: KARMA,
                "Karma needed to create a topic, except for administrators.";
            take_back_seconds: LIMIT, "How long a vote can be taken back, in seconds; 0 = never.";
        }
        ranking: RankingRules {
            log_start: ValueKind::Whole { unit: "", least: 0, most: 1_000_000_000 },
                "Half of all votes, up and down, above which the logarithmic bonus starts.";
            log_factor: ValueKind::Decimal { least: 0.0, most: 1_000_000.0 }, "Factor of the logarithmic bonus.";
            age_padding_seconds: ValueKind::Whole { unit: " of seconds", least: 1, most: TEN_YEARS },
                "Seconds added to every age, so that new stories do not shoot up.";
            age_exponent: ValueKind::Decimal { least: 0.0, most: 10.0 }, "Exponent of the age: the higher, the faster stories sink.";
            age_limit_seconds: ValueKind::Whole { unit: " of seconds", least: 0, most: TEN_YEARS },
                "Stories older than this many seconds rank below all others, oldest last; 0 = no limit.";
            scale: ValueKind::Decimal { least: 0.001, most: 1_000_000_000_000.0 }, "Factor that makes ranks readable.";
        }
        timelines: TimelineRules {
            pull_limit: ValueKind::Whole { unit: " of followers", least: 0, most: 1_000_000_000 },
                "Posts of an author with more followers are not delivered; readers' pages fetch them.";
            home_size: ValueKind::Whole { unit: " of posts", least: 1, most: 10_000 },
                "Posts in a stored home timeline; older ones are looked up on request.";
            inactive_days: ValueKind::Whole { unit: " of days", least: 1, most: 3_650 },
                "Users who have not visited for this many days get no deliveries until they return.";
        }
        features: FeatureRules {
            timelines: ValueKind::Switch,
                "People follow each other and write short posts. If it is off, these pages, calls and feeds are gone (404), and nothing that they have stored changes.";
            sites: ValueKind::Switch,
                "People vote on the reputation of sites, also with the browser extension. If it is off, these pages and calls are gone (404), and the votes stay stored.";
        }
        sites: SiteMarkRules {
            marks: ValueKind::Form("distrusted, all or none"),
                "The sites that are marked beside the titles of stories: distrusted, all or none.";
        }
        hacker_news: HackerNewsRules {
            jobs_topic: ValueKind::Form("the name of a topic, like jobs, or nothing"),
                "The topic whose stories are the jobs of programs that were made for Hacker News; empty = there are none.";
            ask_prefixes: WORDS,
                "Words, with commas between them, with which the titles of stories begin that such programs list under Ask.";
            show_prefixes: WORDS,
                "The same for Show.";
        }
        moderation: ModerationRules {
            keep_addresses_days: ValueKind::Whole { unit: " of days", least: 0, most: MAX_KEPT_DAYS },
                "Days that the networks and addresses of sign-ups and posts are kept for moderators; 0 = none are.";
            hide_at: ValueKind::Whole { unit: " of flags", least: 0, most: 1_000 },
                "Flags that hide a story, comment, post or profile until a moderator looks; 0 = flags hide nothing.";
            remind_after: ValueKind::Limit("a whole number and s, m, h or d, at most 3650d, like 4h or 1d, or 0"),
                "How long something waits in the review queue before moderators are reminded: 30m, 4h, 1d; 0 = they are not.";
        }
        retention: RetentionRules {
            removed_days: KEPT_DAYS,
                "Days after which texts that moderators have removed or replaced are erased; 0 = they are kept.";
            log_names_days: KEPT_DAYS,
                "Days after which the moderation log calls people who have left a former member; 0 = it keeps their names.";
        }
        accounts: AccountRules {
            legacy_salt: ValueKind::Secret,
                "The site-wide salt of SHA-1 passwords in a database from 2011, whose users have no salt field.";
            staff_two_factor: ValueKind::Switch,
                "Whether moderators and administrators need two-step login to use their role.";
            signup: ValueKind::Form("open, invite, apply or closed"),
                "Who can sign up: open, invite (whom a member invites), apply (whom a moderator accepts) or closed.";
            signup_question: ValueKind::Line { least: 0, most: MAX_SIGNUP_QUESTION },
                "A question that people of the community can answer, asked at sign-up, except of invited people; empty = none.";
            signup_answers: WORDS,
                "The answers to it that are right, with commas between them, in capitals or not.";
            invitations: ValueKind::Whole { unit: " of invitations", least: 0, most: MAX_INVITATIONS },
                "Invitations of each trusted account; moderators and administrators have any number.";
            reserved_names: ValueKind::Words("names", 10_000),
                "Names that nobody can sign up with, with commas between them.";
            confirm_email: ValueKind::Switch,
                "Whether accounts that are new or change their e-mail address can only read until it is confirmed; needs mail.relay.";
        }
        oidc: OidcRules {
            allowed_domains: NAMES, "Domains whose verified e-mail addresses can log in, without their subdomains, with commas between them; empty = all.";
            moderators: NAMES, "Groups at the provider whose members are moderators, with commas between them.";
            administrators: NAMES, "Groups at the provider whose members are administrators, with commas between them.";
            only: ValueKind::Switch,
                "Whether the provider is the only way to log in and to sign up; an administrator can still log in with tidings user login-link.";
            mfa: ValueKind::Form("site or provider"),
                "Where two-step login is: site, which asks unless the provider says that it did (amr mfa), or provider.";
        }
        trust: TrustRules {
            days: ValueKind::Whole { unit: " of days", least: 0, most: 3_650 },
                "Days after which an account can be trusted; 0 = its age does not matter.";
            karma: KARMA_COST, "Karma that an account needs to be trusted; 0 = its karma does not matter.";
        }
    }
}

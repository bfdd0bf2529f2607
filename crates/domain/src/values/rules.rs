//! The rules of a site that its operator can change, with their defaults.
//!
//! `docs/ranking.md` and `docs/operating.md` explain them. The program fills them from the
//! settings of the same names.

use crate::values::site_settings::Configured;
use crate::values::text_forms::{named, never_logged, shown};
use crate::values::{
    JobsTopic, Networks, OidcRules, Rate, ReservedNames, SignupAnswers, SignupMode, SiteReaders, Timestamp,
    TitlePrefixes,
};
use std::collections::BTreeMap;
use std::fmt;
use strum::{EnumString, IntoStaticStr};
use tidings_language::Tag;

/// Declares rules, each field with its default.
macro_rules! with_defaults {
    ($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[$doc:meta])* pub $field:ident: $Type:ty = $default:expr,)+
    }) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$doc])* pub $field: $Type,)+
        }

        impl Default for $Name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}

/// Everything an operator may set about how the site behaves.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rules {
    /// The people who read the site.
    pub site: ReadingRules,
    /// How often and how long things may be done.
    pub limits: LimitRules,
    /// How much one account and one network address may do.
    pub rates: RateRules,
    /// How karma is earned and spent.
    pub karma: KarmaRules,
    /// How news are scored and ranked.
    pub ranking: RankingRules,
    /// How tweets reach followers.
    pub timelines: TimelineRules,
    /// Rules for signing up, and for accounts from an older site.
    pub accounts: AccountRules,
    /// Logging in through an OpenID provider.
    pub oidc: OidcRules,
    /// When an account is trusted.
    pub trust: TrustRules,
    /// The data that moderators may see, and the effects of readers' flags.
    pub moderation: ModerationRules,
    /// How long what is of no use any more is kept.
    pub retention: RetentionRules,
    /// The parts of the site that can be switched off.
    pub features: FeatureRules,
    /// How sites are marked.
    pub sites: SiteMarkRules,
    /// The lists of programs that were made for Hacker News.
    pub hacker_news: HackerNewsRules,
    /// The settings that administrators may change on the page of the site, as the configuration has them, by their names.
    pub configured: BTreeMap<&'static str, Configured>,
}

/// The people who read the site, and in which language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadingRules {
    /// Everyone, or only members.
    pub readers: SiteReaders,
    /// The language of pages, mails and feeds.
    pub language: Tag,
}

/// How sites are marked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteMarkRules {
    /// The sites that are marked beside the titles of stories.
    pub marks: SiteMarks,
}

/// The sites that are marked beside the titles of stories.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SiteMarks {
    /// Those that people distrust.
    #[default]
    Distrusted,
    /// Those with any score.
    All,
    /// None.
    None,
}

named!(SiteMarks);
shown!(SiteMarks: |marks| marks.name());

with_defaults! {
    /// Which stories are in the lists of programs that were made for Hacker News.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HackerNewsRules {
        /// The topic of the stories that offer a job.
        pub jobs_topic: JobsTopic = JobsTopic(None),
        /// How titles begin that ask.
        pub ask_prefixes: TitlePrefixes = TitlePrefixes::parse("Ask"),
        /// How titles begin that show something.
        pub show_prefixes: TitlePrefixes = TitlePrefixes::parse("Show"),
    }
}

with_defaults! {
    /// The parts of the site that can be switched off. Their stored data stays.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct FeatureRules {
        /// Following people, their posts, and timelines.
        pub timelines: bool = true,
        /// Votes on the reputation of sites.
        pub sites: bool = true,
    }
}

with_defaults! {
    /// Limits in time. Zero switches a limit off.
    #[derive(Debug, Clone, PartialEq)]
    pub struct LimitRules {
        /// One account per address in this many seconds.
        pub account_creation_seconds: u64 = 10,
        /// One submission per user in this many seconds; administrators excepted.
        pub submission_seconds: u64 = 900,
        /// A URL posted again within this many seconds leads to the earlier item.
        pub repost_seconds: u64 = 172_800,
        /// Authors may edit and delete news for this many seconds (0 = always).
        pub news_edit_seconds: u64 = 900,
        /// Authors may edit and delete comments for this many seconds (0 = always).
        pub comment_edit_seconds: u64 = 7_200,
        /// One password reset mail per user in this many seconds.
        pub password_reset_seconds: u64 = 86_400,
        /// Voters on sites that one address may bring in 24 hours.
        pub new_voters_per_day: u64 = 5,
        /// Voters on sites that the whole site may get in 24 hours.
        pub new_voters_of_site_per_day: u64 = 2_000,
        /// Hosts that may get their first vote in 24 hours.
        pub new_hosts_of_site_per_day: u64 = 2_000,
        /// People whom one author's mentions notify in a day.
        pub mentions_per_day: u64 = 100,
        /// Votes of voters without accounts on one site that one network may bring in 24 hours.
        pub site_votes_per_network: u64 = 3,
        /// Votes of voters with accounts on one site that one network may bring in 24 hours.
        pub site_account_votes_per_network: u64 = 20,
        /// Networks whose votes a site needs for a score, unless enough accounts have voted.
        pub site_score_networks: u64 = 3,
        /// Accounts that may be created from one network in 24 hours.
        pub signups_per_network: u64 = 20,
        /// Accounts created within an hour after which new ones wait for approval.
        pub signup_burst: u64 = 100,
    }
}

/// The seconds in which most rates refill.
const TEN_MINUTES: u32 = 600;

with_defaults! {
    /// How much one account and one network address may do.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RateRules {
        /// Comments of one account.
        pub comment_per_account: Rate = Rate::new(10, TEN_MINUTES),
        /// Comments from one address.
        pub comment_per_address: Rate = Rate::new(60, TEN_MINUTES),
        /// Tweets of one account.
        pub tweet_per_account: Rate = Rate::new(30, TEN_MINUTES),
        /// Tweets from one address.
        pub tweet_per_address: Rate = Rate::new(120, TEN_MINUTES),
        /// Votes of one account, on stories, comments and sites.
        pub vote_per_account: Rate = Rate::new(120, 60),
        /// Votes from one address, those of browser extensions too.
        pub vote_per_address: Rate = Rate::new(600, 60),
        /// Follows and unfollows of one account.
        pub follow_per_account: Rate = Rate::new(60, TEN_MINUTES),
        /// Follows and unfollows from one address.
        pub follow_per_address: Rate = Rate::new(240, TEN_MINUTES),
        /// Flags of one account, given and taken back.
        pub flag_per_account: Rate = Rate::new(120, TEN_MINUTES),
        /// Flags from one address.
        pub flag_per_address: Rate = Rate::new(600, TEN_MINUTES),
        /// Titles of other sites' pages that one account has fetched, administrators too.
        pub fetch_title_per_account: Rate = Rate::new(1, 10),
        /// Titles that one address has fetched.
        pub fetch_title_per_address: Rate = Rate::new(30, 60),
        /// Searches of one account.
        pub search_per_account: Rate = Rate::new(60, 60),
        /// Searches from one address.
        pub search_per_address: Rate = Rate::new(120, 60),
        /// GET requests from one address.
        pub read_per_address: Rate = Rate::new(200, 4),
        /// GET requests from one address for what is costly to answer.
        pub large_per_address: Rate = Rate::new(60, 3),
        /// Logins from one address that fail.
        pub failed_login_per_address: Rate = Rate::new(30, TEN_MINUTES),
        /// Requests for a password reset mail from one address.
        pub reset_per_address: Rate = Rate::new(10, 3_600),
        /// Event streams that one account has open at the same time; 0 = no limit.
        pub streams_per_account: u64 = 5,
        /// Event streams that one address has open at the same time; 0 = no limit.
        pub streams_per_address: u64 = 20,
        /// The share of the rates per account that an account has before it is trusted.
        pub new_account_share: f64 = 0.5,
        /// Networks whose addresses have no limit.
        pub exempt: Networks = Networks::default(),
    }
}

impl RateRules {
    /// No limits, for programs that write much, such as benches.
    pub fn off() -> Self {
        Self {
            comment_per_account: Rate::OFF,
            comment_per_address: Rate::OFF,
            tweet_per_account: Rate::OFF,
            tweet_per_address: Rate::OFF,
            vote_per_account: Rate::OFF,
            vote_per_address: Rate::OFF,
            follow_per_account: Rate::OFF,
            follow_per_address: Rate::OFF,
            flag_per_account: Rate::OFF,
            flag_per_address: Rate::OFF,
            fetch_title_per_account: Rate::OFF,
            fetch_title_per_address: Rate::OFF,
            search_per_account: Rate::OFF,
            search_per_address: Rate::OFF,
            read_per_address: Rate::OFF,
            large_per_address: Rate::OFF,
            failed_login_per_address: Rate::OFF,
            reset_per_address: Rate::OFF,
            streams_per_account: 0,
            streams_per_address: 0,
            ..Self::default()
        }
    }
}

/// The cost of votes, as the setting `karma.economy` names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Economy {
    /// Votes up are free.
    #[default]
    Free,
    /// Votes cost karma, as in Lamer News.
    Lamer,
    /// The same, because the store says so and no setting does.
    LamerOfStore,
}

impl Economy {
    /// The economy with a name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "free" => Some(Self::Free),
            "lamer" => Some(Self::Lamer),
            _ => None,
        }
    }
}

shown!(Economy: |economy| match economy {
    Economy::Free => "free",
    Economy::Lamer | Economy::LamerOfStore => "lamer",
});

with_defaults! {
    /// How karma is earned and spent.
    #[derive(Debug, Clone, PartialEq)]
    pub struct KarmaRules {
        /// Where the defaults of the others come from.
        pub economy: Economy = Economy::Free,
        /// Karma of a new account.
        pub initial: i64 = 1,
        /// Karma earned by visiting, once per `visit_seconds`.
        pub visit_increment: i64 = 1,
        /// Seconds between two gains by visiting.
        pub visit_seconds: u64 = 86_400,
        /// Karma needed to vote news up.
        pub upvote_minimum: i64 = 0,
        /// Karma that an up-vote costs the voter.
        pub upvote_cost: i64 = 0,
        /// Karma that an up-vote gives the author.
        pub upvote_transfer: i64 = 1,
        /// Karma needed to vote news down.
        pub downvote_minimum: i64 = 30,
        /// Karma that a down-vote costs the voter.
        pub downvote_cost: i64 = 1,
        /// Karma that an up-vote on a comment gives its author.
        pub comment_upvote_transfer: i64 = 1,
        /// Karma needed to vote a comment down.
        pub comment_downvote_minimum: i64 = 30,
        /// Karma that a down-vote on a comment costs the voter.
        pub comment_downvote_cost: i64 = 1,
        /// Karma needed to submit under a topic that does not exist yet;
        /// administrators excepted.
        pub new_topic_minimum: i64 = 10,
        /// A vote can be taken back, with all that it did, for this many seconds (0 = never).
        pub take_back_seconds: u64 = 600,
    }
}

/// The karma that a vote on another person's post needs, costs and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VotePrice {
    /// Karma that the voter must have. Nobody's karma falls below zero, so it is at least the cost.
    pub needed: i64,
    /// Karma that it costs the voter.
    pub cost: i64,
    /// Karma that it gives the author.
    pub transfer: i64,
}

impl VotePrice {
    const fn of(minimum: i64, cost: i64, transfer: i64) -> Self {
        Self { needed: if minimum > cost { minimum } else { cost }, cost, transfer }
    }
}

impl KarmaRules {
    /// The rules of an economy.
    pub fn of(economy: Economy) -> Self {
        match economy {
            Economy::Free => Self::default(),
            Economy::Lamer | Economy::LamerOfStore => Self {
                economy,
                visit_seconds: 3_600,
                upvote_minimum: 1,
                upvote_cost: 1,
                downvote_cost: 6,
                comment_upvote_transfer: 0,
                comment_downvote_minimum: 0,
                comment_downvote_cost: 0,
                ..Self::default()
            },
        }
    }

    /// The price of a vote up or down on another person's story.
    pub const fn story_vote(&self, is_up: bool) -> VotePrice {
        match is_up {
            true => VotePrice::of(self.upvote_minimum, self.upvote_cost, self.upvote_transfer),
            false => VotePrice::of(self.downvote_minimum, self.downvote_cost, 0),
        }
    }

    /// The price of a vote up or down on another person's comment.
    pub const fn comment_vote(&self, is_up: bool) -> VotePrice {
        match is_up {
            true => VotePrice::of(0, 0, self.comment_upvote_transfer),
            false => VotePrice::of(self.comment_downvote_minimum, self.comment_downvote_cost, 0),
        }
    }
}

with_defaults! {
    /// The constants of score and rank; `docs/ranking.md` explains them.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RankingRules {
        /// Votes (halved, see [`crate::values::ranking::score`]) above which the
        /// logarithmic bonus starts.
        pub log_start: i64 = 10,
        /// Factor of the logarithmic bonus.
        pub log_factor: f64 = 2.0,
        /// Seconds added to every age, so that new items do not shoot up.
        pub age_padding_seconds: u64 = 28_800,
        /// Exponent of the age: higher sinks items faster.
        pub age_exponent: f64 = 1.1,
        /// Items older than this many seconds leave the ranking, oldest last (0 = no limit).
        pub age_limit_seconds: u64 = 2_592_000,
        /// Factor that makes ranks readable.
        pub scale: f64 = 1_000_000.0,
    }
}

with_defaults! {
    /// How tweets reach followers.
    #[derive(Debug, Clone, PartialEq)]
    pub struct TimelineRules {
        /// Tweets of an author with more followers than this are not delivered to home
        /// timelines, but merged when a follower reads.
        pub pull_limit: u64 = 10_000,
        /// Tweets in a stored home timeline. Older ones are found when they are asked for.
        pub home_size: u64 = 800,
        /// Readers who have not visited for this many days get no deliveries; their timelines
        /// are rebuilt when they return.
        pub inactive_days: u64 = 30,
    }
}

impl TimelineRules {
    /// Whether a user who last visited at `seen` gets no deliveries.
    pub const fn is_inactive(&self, seen: Timestamp, now: Timestamp) -> bool {
        now.seconds_since(seen) > self.inactive_days * 86_400
    }
}

with_defaults! {
    /// When an account is trusted; see [`crate::accounts::trust`].
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TrustRules {
        /// The days that it must have existed; 0 = its age does not matter.
        pub days: u64 = 7,
        /// The karma that it must have; 0 = its karma does not matter.
        pub karma: i64 = 10,
    }
}

impl TrustRules {
    /// The time from which an account is old enough, by when it was created.
    pub const fn age_reached(&self, created: Timestamp) -> Timestamp {
        Timestamp(created.0.saturating_add(self.days.saturating_mul(86_400)))
    }
}

/// The conditions of trust that an account does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// When it is old enough; `None` if it is.
    pub from: Option<Timestamp>,
    /// The karma that it needs; `None` if it has that.
    pub karma: Option<i64>,
}

/// A time in seconds, written with a unit such as `4h`; 0 switches off what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause(pub u64);

impl fmt::Display for Pause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(86_400, "d"), (3_600, "h"), (60, "m")];
        let whole = units.into_iter().find(|(seconds, _)| self.0 > 0 && self.0.is_multiple_of(*seconds));
        match whole {
            Some((seconds, unit)) => write!(formatter, "{}{unit}", self.0 / seconds),
            None if self.0 == 0 => formatter.write_str("0"),
            None => write!(formatter, "{}s", self.0),
        }
    }
}

with_defaults! {
    /// The data that moderators may see, and the effects of readers' flags.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ModerationRules {
        /// Days that networks and addresses of sign-ups and posts are kept; 0 = not at all.
        pub keep_addresses_days: u64 = 30,
        /// The weight of flags at which something is hidden until a moderator looks at it; 0 = never.
        pub hide_at: u64 = 5,
        /// How long something waits in the review queue before moderators are reminded; 0 = for ever.
        pub remind_after: Pause = Pause(4 * 3_600),
    }
}

with_defaults! {
    /// How long what is of no use any more is kept.
    #[derive(Debug, Clone, PartialEq)]
    pub struct RetentionRules {
        /// Days after which what moderators have removed is erased; 0 = it is kept.
        pub removed_days: u64 = 365,
        /// Days after which the log of moderation no longer names people who have left; 0 = it does.
        pub log_names_days: u64 = 365,
    }
}

with_defaults! {
    /// Rules for signing up, and for accounts from an older site.
    #[derive(Clone, PartialEq)]
    pub struct AccountRules {
        /// The site-wide salt of SHA-1 password hashes of the 2011 layout, which
        /// have no `salt` field.
        pub legacy_salt: String = String::new(),
        /// Whether moderators and administrators need a second factor for what their role lets them do.
        pub staff_two_factor: bool = false,
        /// The people who can sign up.
        pub signup: SignupMode = SignupMode::default(),
        /// A question for people who sign up; empty = none.
        pub signup_question: String = String::new(),
        /// The answers to it that are right.
        pub signup_answers: SignupAnswers = SignupAnswers::default(),
        /// Invitations of each trusted account; moderators and administrators have any number.
        pub invitations: u64 = 5,
        /// Names that nobody can sign up with.
        pub reserved_names: ReservedNames = ReservedNames::default(),
        /// Whether new accounts can only read until their e-mail address is confirmed.
        pub confirm_email: bool = false,
    }
}

never_logged!(AccountRules);

//! The rules of a site that its operator can change, with their defaults.
//!
//! `docs/ranking.md` and `docs/operating.md` explain them. The program fills them from the
//! settings of the same names.

use crate::values::site_settings::Configured;
use crate::values::text_forms::{named, shown};
use crate::values::{
    JobsTopic, Networks, OidcRules, Rate, ReservedNames, SignupAnswers, SignupMode, SiteReaders, Timestamp,
    TitlePrefixes,
};
use std::collections::BTreeMap;
use std::fmt;
use strum::{EnumString, IntoStaticStr};
use tidings_language::Tag;

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

/// Which stories are in the lists of programs that were made for Hacker News.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HackerNewsRules {
    /// The topic of the stories that offer a job.
    pub jobs_topic: JobsTopic,
    /// How titles begin that ask.
    pub ask_prefixes: TitlePrefixes,
    /// How titles begin that show something.
    pub show_prefixes: TitlePrefixes,
}

impl Default for HackerNewsRules {
    fn default() -> Self {
        Self {
            jobs_topic: JobsTopic(None),
            ask_prefixes: TitlePrefixes::parse("Ask"),
            show_prefixes: TitlePrefixes::parse("Show"),
        }
    }
}

/// The parts of the site that can be switched off. Their stored data stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureRules {
    /// Following people, their posts, and timelines.
    pub timelines: bool,
    /// Votes on the reputation of sites.
    pub sites: bool,
}

impl Default for FeatureRules {
    fn default() -> Self {
        Self { timelines: true, sites: true }
    }
}

/// Limits in time. Zero switches a limit off.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitRules {
    /// One account per address in this many seconds.
    pub account_creation_seconds: u64,
    /// One submission per user in this many seconds; administrators excepted.
    pub submission_seconds: u64,
    /// A URL posted again within this many seconds leads to the earlier item.
    pub repost_seconds: u64,
    /// Authors may edit and delete news for this many seconds (0 = always).
    pub news_edit_seconds: u64,
    /// Authors may edit and delete comments for this many seconds (0 = always).
    pub comment_edit_seconds: u64,
    /// One password reset mail per user in this many seconds.
    pub password_reset_seconds: u64,
    /// Voters on sites that one address may bring in 24 hours.
    pub new_voters_per_day: u64,
    /// Voters on sites that the whole site may get in 24 hours.
    pub new_voters_of_site_per_day: u64,
    /// Hosts that may get their first vote in 24 hours.
    pub new_hosts_of_site_per_day: u64,
    /// People whom one author's mentions notify in a day.
    pub mentions_per_day: u64,
    /// Votes of voters without accounts on one site that one network may bring in 24 hours.
    pub site_votes_per_network: u64,
    /// Votes of voters with accounts on one site that one network may bring in 24 hours.
    pub site_account_votes_per_network: u64,
    /// Networks whose votes a site needs for a score, unless enough accounts have voted.
    pub site_score_networks: u64,
    /// Accounts that may be created from one network in 24 hours.
    pub signups_per_network: u64,
    /// Accounts created within an hour after which new ones wait for approval.
    pub signup_burst: u64,
}

impl Default for LimitRules {
    fn default() -> Self {
        Self {
            account_creation_seconds: 10,
            submission_seconds: 900,
            repost_seconds: 172_800,
            news_edit_seconds: 900,
            comment_edit_seconds: 7_200,
            password_reset_seconds: 86_400,
            new_voters_per_day: 5,
            new_voters_of_site_per_day: 2_000,
            new_hosts_of_site_per_day: 2_000,
            mentions_per_day: 100,
            site_votes_per_network: 3,
            site_account_votes_per_network: 20,
            site_score_networks: 3,
            signups_per_network: 20,
            signup_burst: 100,
        }
    }
}

/// How much one account and one network address may do.
#[derive(Debug, Clone, PartialEq)]
pub struct RateRules {
    /// Comments of one account.
    pub comment_per_account: Rate,
    /// Comments from one address.
    pub comment_per_address: Rate,
    /// Tweets of one account.
    pub tweet_per_account: Rate,
    /// Tweets from one address.
    pub tweet_per_address: Rate,
    /// Votes of one account, on stories, comments and sites.
    pub vote_per_account: Rate,
    /// Votes from one address, those of browser extensions too.
    pub vote_per_address: Rate,
    /// Follows and unfollows of one account.
    pub follow_per_account: Rate,
    /// Follows and unfollows from one address.
    pub follow_per_address: Rate,
    /// Flags of one account, given and taken back.
    pub flag_per_account: Rate,
    /// Flags from one address.
    pub flag_per_address: Rate,
    /// Titles of other sites' pages that one account has fetched, administrators too.
    pub fetch_title_per_account: Rate,
    /// Titles that one address has fetched.
    pub fetch_title_per_address: Rate,
    /// Searches of one account.
    pub search_per_account: Rate,
    /// Searches from one address.
    pub search_per_address: Rate,
    /// GET requests from one address.
    pub read_per_address: Rate,
    /// GET requests from one address for what is costly to answer.
    pub large_per_address: Rate,
    /// Logins from one address that fail.
    pub failed_login_per_address: Rate,
    /// Requests for a password reset mail from one address.
    pub reset_per_address: Rate,
    /// Event streams that one account has open at the same time; 0 = no limit.
    pub streams_per_account: u64,
    /// Event streams that one address has open at the same time; 0 = no limit.
    pub streams_per_address: u64,
    /// The share of the rates per account that an account has before it is trusted.
    pub new_account_share: f64,
    /// Networks whose addresses have no limit.
    pub exempt: Networks,
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

impl Default for RateRules {
    fn default() -> Self {
        const TEN_MINUTES: u32 = 600;
        Self {
            comment_per_account: Rate::new(10, TEN_MINUTES),
            comment_per_address: Rate::new(60, TEN_MINUTES),
            tweet_per_account: Rate::new(30, TEN_MINUTES),
            tweet_per_address: Rate::new(120, TEN_MINUTES),
            vote_per_account: Rate::new(120, 60),
            vote_per_address: Rate::new(600, 60),
            follow_per_account: Rate::new(60, TEN_MINUTES),
            follow_per_address: Rate::new(240, TEN_MINUTES),
            flag_per_account: Rate::new(120, TEN_MINUTES),
            flag_per_address: Rate::new(600, TEN_MINUTES),
            fetch_title_per_account: Rate::new(1, 10),
            fetch_title_per_address: Rate::new(30, 60),
            search_per_account: Rate::new(60, 60),
            search_per_address: Rate::new(120, 60),
            read_per_address: Rate::new(200, 4),
            large_per_address: Rate::new(60, 3),
            failed_login_per_address: Rate::new(30, TEN_MINUTES),
            reset_per_address: Rate::new(10, 3_600),
            streams_per_account: 5,
            streams_per_address: 20,
            new_account_share: 0.5,
            exempt: Networks::default(),
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

/// How karma is earned and spent.
#[derive(Debug, Clone, PartialEq)]
pub struct KarmaRules {
    /// Where the defaults of the others come from.
    pub economy: Economy,
    /// Karma of a new account.
    pub initial: i64,
    /// Karma earned by visiting, once per `visit_seconds`.
    pub visit_increment: i64,
    /// Seconds between two gains by visiting.
    pub visit_seconds: u64,
    /// Karma needed to vote news up.
    pub upvote_minimum: i64,
    /// Karma that an up-vote costs the voter.
    pub upvote_cost: i64,
    /// Karma that an up-vote gives the author.
    pub upvote_transfer: i64,
    /// Karma needed to vote news down.
    pub downvote_minimum: i64,
    /// Karma that a down-vote costs the voter.
    pub downvote_cost: i64,
    /// Karma that an up-vote on a comment gives its author.
    pub comment_upvote_transfer: i64,
    /// Karma needed to vote a comment down.
    pub comment_downvote_minimum: i64,
    /// Karma that a down-vote on a comment costs the voter.
    pub comment_downvote_cost: i64,
    /// Karma needed to submit under a topic that does not exist yet;
    /// administrators excepted.
    pub new_topic_minimum: i64,
    /// A vote can be taken back, with all that it did, for this many seconds (0 = never).
    pub take_back_seconds: u64,
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

impl Default for KarmaRules {
    fn default() -> Self {
        Self {
            economy: Economy::Free,
            initial: 1,
            visit_increment: 1,
            visit_seconds: 86_400,
            upvote_minimum: 0,
            upvote_cost: 0,
            upvote_transfer: 1,
            downvote_minimum: 30,
            downvote_cost: 1,
            comment_upvote_transfer: 1,
            comment_downvote_minimum: 30,
            comment_downvote_cost: 1,
            new_topic_minimum: 10,
            take_back_seconds: 600,
        }
    }
}

/// The constants of score and rank; `docs/ranking.md` explains them.
#[derive(Debug, Clone, PartialEq)]
pub struct RankingRules {
    /// Votes (halved, see [`crate::values::ranking::score`]) above which the
    /// logarithmic bonus starts.
    pub log_start: i64,
    /// Factor of the logarithmic bonus.
    pub log_factor: f64,
    /// Seconds added to every age, so that new items do not shoot up.
    pub age_padding_seconds: u64,
    /// Exponent of the age: higher sinks items faster.
    pub age_exponent: f64,
    /// Items older than this many seconds leave the ranking, oldest last (0 = no limit).
    pub age_limit_seconds: u64,
    /// Factor that makes ranks readable.
    pub scale: f64,
}

impl Default for RankingRules {
    fn default() -> Self {
        Self {
            log_start: 10,
            log_factor: 2.0,
            age_padding_seconds: 28_800,
            age_exponent: 1.1,
            age_limit_seconds: 2_592_000,
            scale: 1_000_000.0,
        }
    }
}

/// How tweets reach followers.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineRules {
    /// Tweets of an author with more followers than this are not delivered to home
    /// timelines, but merged when a follower reads.
    pub pull_limit: u64,
    /// Tweets in a stored home timeline. Older ones are found when they are asked for.
    pub home_size: u64,
    /// Readers who have not visited for this many days get no deliveries; their timelines
    /// are rebuilt when they return.
    pub inactive_days: u64,
}

impl TimelineRules {
    /// Whether a user who last visited at `seen` gets no deliveries.
    pub const fn is_inactive(&self, seen: Timestamp, now: Timestamp) -> bool {
        now.seconds_since(seen) > self.inactive_days * 86_400
    }
}

impl Default for TimelineRules {
    fn default() -> Self {
        Self { pull_limit: 10_000, home_size: 800, inactive_days: 30 }
    }
}

/// When an account is trusted; see [`crate::accounts::trust`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRules {
    /// The days that it must have existed; 0 = its age does not matter.
    pub days: u64,
    /// The karma that it must have; 0 = its karma does not matter.
    pub karma: i64,
}

impl TrustRules {
    /// The time from which an account is old enough, by when it was created.
    pub const fn age_reached(&self, created: Timestamp) -> Timestamp {
        Timestamp(created.0.saturating_add(self.days.saturating_mul(86_400)))
    }
}

impl Default for TrustRules {
    fn default() -> Self {
        Self { days: 7, karma: 10 }
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

/// The data that moderators may see, and the effects of readers' flags.
#[derive(Debug, Clone, PartialEq)]
pub struct ModerationRules {
    /// Days that networks and addresses of sign-ups and posts are kept; 0 = not at all.
    pub keep_addresses_days: u64,
    /// The weight of flags at which something is hidden until a moderator looks at it; 0 = never.
    pub hide_at: u64,
    /// How long something waits in the review queue before moderators are reminded; 0 = for ever.
    pub remind_after: Pause,
}

impl Default for ModerationRules {
    fn default() -> Self {
        Self { keep_addresses_days: 30, hide_at: 5, remind_after: Pause(4 * 3_600) }
    }
}

/// How long what is of no use any more is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RetentionRules {
    /// Days after which what moderators have removed is erased; 0 = it is kept.
    pub removed_days: u64,
    /// Days after which the log of moderation no longer names people who have left; 0 = it does.
    pub log_names_days: u64,
}

impl Default for RetentionRules {
    fn default() -> Self {
        Self { removed_days: 365, log_names_days: 365 }
    }
}

/// Rules for signing up, and for accounts from an older site.
#[derive(Clone, PartialEq)]
pub struct AccountRules {
    /// The site-wide salt of SHA-1 password hashes of the 2011 layout, which
    /// have no `salt` field.
    pub legacy_salt: String,
    /// Whether moderators and administrators need a second factor for what their role lets them do.
    pub staff_two_factor: bool,
    /// The people who can sign up.
    pub signup: SignupMode,
    /// A question for people who sign up; empty = none.
    pub signup_question: String,
    /// The answers to it that are right.
    pub signup_answers: SignupAnswers,
    /// Invitations of each trusted account; moderators and administrators have any number.
    pub invitations: u64,
    /// Names that nobody can sign up with.
    pub reserved_names: ReservedNames,
    /// Whether new accounts can only read until their e-mail address is confirmed.
    pub confirm_email: bool,
}

impl Default for AccountRules {
    fn default() -> Self {
        Self {
            legacy_salt: String::new(),
            staff_two_factor: false,
            signup: SignupMode::default(),
            signup_question: String::new(),
            signup_answers: SignupAnswers::default(),
            invitations: 5,
            reserved_names: ReservedNames::default(),
            confirm_email: false,
        }
    }
}

impl fmt::Debug for AccountRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccountRules(***)")
    }
}

//! Sites: the reputation of web sites. Votes on hostnames, +1 or -1, one for each
//! voter and host, and the scores that follow from them.
//!
//! Every sum and count (of a host, of a day, of all time) covers the stored votes of
//! voters that are not banned, and changes in the same batch as the vote. A vote that
//! was changed counts for the day of the change. A host with `www.` and one without have votes of their own; pages show
//! them as one site (`twice`).
//!
//! Keys: `link:<host>`, `link:<host>:votes`, `link:<host>:origins`, `link:<host>:networks`, `link:<host>:twice`,
//! `links:sum`, `links:count`, `prefix:<digits>`, `voter:<id>`, `voter:<id>:votes`,
//! `voter:<id>:new`, those that begin with `day:`, `settings`, `sites:audit`, `sites:unfinished`,
//! `limit:new_voters:<address>`, `limit:new_voters_of_site`, `limit:new_hosts_of_site`,
//! `limit:brought_something:<network>`, `limit:site_votes:<network>:<host>` and `import:voters`.
//!
//! It hands out votes ([`vote`], [`vote_as`]), scores ([`scores`], [`scores_by_prefix`]),
//! the votes on one site ([`history`]), leaderboards, what administrators need (bans,
//! settings, investigations), and [`StartingVoters`] for imported lists.

mod bans;
mod boards;
mod cast_vote;
mod history;
mod investigations;
mod network_quota;
mod newcomers;
mod score;
mod settings;
mod starting_lists;
pub(crate) mod store_rules;
mod tally;
mod twice;
mod voting;

pub use bans::{ban, finish_bans, unban};
pub use boards::{Board, SiteLine, Span, leaderboard, leaderboard_of_sites};
pub use cast_vote::{CastVote, Verdict, own_votes};
pub use history::{DayOfVotes, History, history};
pub use investigations::{
    AuditLine, DailyVoter, VoterDetails, VoterVote, audit_lines, top_voters, voter_details, voter_votes,
};
pub use score::{
    BAD_SUM, CONTROVERSIAL_COUNT, GOOD_SUM, Score, Shortage, SiteVotes, scores, scores_by_prefix,
};
pub use settings::{SettingsChange, VotingSettings, change_settings, voting_settings};
pub use starting_lists::{Listed, StartingVoters};
pub use tally::VoteTotals;
pub use voting::{SiteVote, vote, vote_as, vote_on_page};

pub(crate) use bans::{BAN_FIELDS, set_account_ban};
pub(crate) use cast_vote::votes_on;
pub(crate) use twice::{count_all, newer};

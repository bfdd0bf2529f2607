//! `tidings check votes`: groups of accounts that vote for each other.

use crate::cli::terminal::print;
use crate::cli::{Here, now};
use clap::Args;
use std::fmt::Write;
use tidings_domain::report::{VoteRing, VoteRingReport};
use tidings_domain::values::VOTE_RING_DAYS;
use tidings_domain::values::text::printable;
use tidings_domain::values::words::{counted, grouped, wait};
use tidings_domain::vote_rings;

/// The options of `tidings check votes`.
#[derive(Debug, Args)]
pub struct CheckVotes {
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

impl CheckVotes {
    /// Looks for vote rings and prints them.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn run(self, here: &Here) -> anyhow::Result<()> {
        let now = now();
        let report = vote_rings::check(&here.site().await?, now).await?;
        if self.json {
            say!("{}", serde_json::to_string(&report)?);
        } else {
            print(&table(&report))?;
        }
        Ok(())
    }
}

const EXPLANATION: &str = "
Votes: how often the accounts of a group voted for each other.
Expected: how often they would have, if they voted as much as they do, but for anybody.
Share: of what the accounts posted, the part that each of the others voted for.
Median time: from posting to these votes, where it is known.
Network: whether two of the accounts came from the same network lately, where that is known.

Friends and colleagues read each other too. Look at the accounts before you act.
";

/// The report for people.
fn table(report: &VoteRingReport) -> String {
    let VoteRingReport { groups, stories, votes, is_cut } = report;
    let mut text = format!(
        "{} and {} on them and their comments, of the last {VOTE_RING_DAYS} days.\n",
        counted(*stories, "story", "stories"),
        counted(*votes, "vote", "votes"),
    );
    if *is_cut {
        text.push_str("There are more; these are the newest.\n");
    }
    if groups.is_empty() {
        text.push_str("No suspicious voting groups found.\n");
        return text;
    }
    text.push_str("Groups of accounts that vote for each other far more than would be likely by chance:\n\n");
    text.push_str("group  accounts   votes  expected  share  median time  network\n");
    for (number, group) in (1_usize..).zip(groups) {
        let VoteRing { accounts, shared_votes, expected_votes, share, median_seconds, same_network, .. } =
            group;
        let time = median_seconds.map_or_else(|| "-".to_owned(), duration);
        let network = if *same_network { "same" } else { "-" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{number:>5}  {:>8}  {:>6}  {expected_votes:>8.2}  {:>4.0}%  {time:>11}  {network}",
            accounts.len(),
            grouped(*shared_votes),
            share * 100.0,
        );
        let _ = writeln!(text, "       {}", printable(accounts.join(", ")));
    }
    text.push_str(EXPLANATION);
    text
}

/// A time in words.
fn duration(seconds: u64) -> String {
    if seconds < 60 { counted(seconds, "second", "seconds") } else { wait(seconds).in_english() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_of_numbers_and_one_of_names_for_each_group() {
        let group = VoteRing {
            accounts: vec!["alice".to_owned(), "bob\u{1b}[2J".to_owned()],
            ids: Vec::new(),
            shared_votes: 1_234,
            expected_votes: 0.5,
            share: 0.876,
            median_seconds: Some(300),
            same_network: true,
        };
        let report = VoteRingReport { groups: vec![group], stories: 2_000, votes: 1, is_cut: true };
        let text = table(&report);
        for line in [
            "2,000 stories and 1 vote on them and their comments, of the last 90 days.",
            "There are more; these are the newest.",
            "    1         2   1,234      0.50    88%    5 minutes  same",
            "       alice, bob[2J",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line:?} in\n{text}");
        }
        let text = table(&VoteRingReport { groups: Vec::new(), ..report });
        assert!(text.contains("No suspicious voting groups found.") && !text.contains("Expected"), "{text}");
    }
}

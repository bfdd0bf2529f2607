//! The page of a site: its votes, and the news that link to it.

use super::lists::{NewsPage, of_host};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::sites::{CastVote, History, HistoryRead, Score, SiteVotesRead, own_votes};
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use tidings_keyspace::{Answers, Query};

/// What the page of a site shows.
#[derive(Debug)]
pub struct SitePage {
    /// Its votes.
    pub history: History,
    /// The site with the other form of the name, with or without `www.`: its votes are
    /// counted separately.
    pub other_form: Option<(Hostname, Score)>,
    /// The viewer's own vote.
    pub my_vote: Option<CastVote>,
    /// The latest news from it.
    pub news: NewsPage,
}

/// The page of a site. Rounds: 3, and one more for the vote of a viewer who has voted on
/// a site.
///
/// # Errors
/// When the store fails.
pub async fn site_page(visit: &mut Visit, host: &Hostname, days: u64, news: u64) -> Result<SitePage, Error> {
    let mut query = Query::new();
    let history = HistoryRead::ask(&mut query, host, Day::of(visit.now()), days);
    let other = host.other_form().map(|other| {
        let votes = SiteVotesRead::ask(&mut query, &other);
        (other, votes)
    });
    let site = visit.site_too();
    let limits = &site.rules.limits;
    let take = |answers: &mut Answers| {
        let other = other.map(|(other, votes)| {
            let score = votes.take(answers, &other).score(limits);
            (other, score)
        });
        (history.take(answers, limits), other)
    };
    let ((history, other_form), news) = of_host(visit, host, news, query, take).await?;
    let voter = visit.viewer().await?.and_then(|viewer| viewer.voter);
    let my_vote = match voter {
        Some(voter) => {
            own_votes(visit, voter, std::slice::from_ref(host)).await?.into_iter().next().flatten()
        }
        None => None,
    };
    Ok(SitePage { history, other_form, my_vote, news })
}

//! The page of a site: its votes, and the news that link to it.

use super::lists::{NewsPage, of_host};
use crate::accounts::visit::Visit;
use crate::error::Error;
use crate::sites::{CastVote, History, Score, SiteVotes, own_votes};
use crate::values::day::Day;
use crate::values::hostname::Hostname;
use tidings_keyspace::Fetch;

/// The content of the page of a site.
#[derive(Debug)]
pub struct SitePage {
    /// Its votes.
    pub history: History,
    /// The other form of the name, with `www.`, whose votes are counted separately.
    pub other_form: Option<OtherForm>,
    /// The viewer's own vote.
    pub my_vote: Option<CastVote>,
    /// The latest news from it.
    pub news: NewsPage,
}

/// The votes on the other form of the name of a site.
#[derive(Debug)]
pub struct OtherForm {
    /// The name.
    pub host: Hostname,
    /// Its votes.
    pub votes: SiteVotes,
    /// The score that follows from them.
    pub score: Score,
    /// The viewer's own vote.
    pub my_vote: Option<CastVote>,
}

/// The page of a site, by its name without `www.`. Rounds: 3, and one more for the vote of a viewer who has voted on
/// a site.
pub async fn site_page(visit: &mut Visit, host: &Hostname, days: u64, news: u64) -> Result<SitePage, Error> {
    let site = visit.site_too();
    let other = host.other_form().map(|host| {
        SiteVotes::of(&host).map(|votes| {
            let score = votes.score(&site.rules.limits);
            OtherForm { host, votes, score, my_vote: None }
        })
    });
    let also = (History::of(&site, host, Day::of(visit.now()), days), other);
    let ((history, mut other_form), news) = of_host(visit, host, (0, news), also).await?;
    let voter = visit.viewer().await?.and_then(|viewer| viewer.voter);
    let mut my_vote = None;
    if let Some(voter) = voter {
        let hosts: Vec<Hostname> =
            std::iter::once(host.clone()).chain(other_form.iter().map(|other| other.host.clone())).collect();
        let mut votes = own_votes(visit, voter, &hosts).await?.into_iter();
        my_vote = votes.next().flatten();
        if let Some(other) = &mut other_form {
            other.my_vote = votes.next().flatten();
        }
    }
    Ok(SitePage { history, other_form, my_vote, news })
}

//! The page of a site: its votes, and the news that link to it.

use super::lists::{NewsPage, of_host};
use crate::sites::{CastVote, History, newer, own_votes};
use crate::values::{Day, Hostname};
use crate::{Result, Visit};

/// The content of the page of a site.
#[derive(Debug)]
pub struct SitePage {
    /// Its votes, with `www.` and without.
    pub history: History,
    /// The viewer's own vote, the newer of two.
    pub my_vote: Option<CastVote>,
    /// The latest news from it.
    pub news: NewsPage,
}

/// The page of a site, by its name without `www.`. Rounds: 3, and one more for the vote of a viewer who has voted on
/// a site.
pub async fn site_page(visit: &mut Visit, host: &Hostname, days: u64, news: u64) -> Result<SitePage> {
    let names = host.names();
    let history = History::on(&visit.site_too(), &names, Day::of(visit.now()), days);
    let (history, news) = of_host(visit, host, (0, news), history).await?;
    let my_vote = match visit.viewer().await?.and_then(|viewer| viewer.voter) {
        Some(voter) => newer(own_votes(visit, voter, &names).await?),
        None => None,
    };
    Ok(SitePage { history, my_vote, news })
}

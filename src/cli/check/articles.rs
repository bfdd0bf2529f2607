//! `tidings check articles`: every listed story must have its article, and every
//! topic its articles.

use super::demand_repaired;
use crate::cli::{progress_bar, reach_existing_store, site_on};
use crate::config::Config;
use clap::Args;
use tidings_domain::articles::repair::{self, NewsWalk};
use tidings_domain::keys;
use tidings_domain::report::CheckReport;
use tidings_domain::site::Site;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::values::words::grouped;
use tidings_keyspace::{EngineClock, read};

/// The options of `tidings check articles`.
#[derive(Debug, Args)]
pub struct CheckArticles {
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
}

impl CheckArticles {
    /// Checks all articles and topics and prints what was found.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not repaired.
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let store = reach_existing_store(config).await?;
        let site = site_on(&store, config);
        let found = self.check(&site).await;
        store.close().await;
        let [articles, orphans, topics] = found?;
        say!("{}", summary("articles", articles));
        if orphans.different > 0 {
            say!("{}", summary("articles without a story", orphans));
        }
        say!("{}", summary("topics", topics));
        let all = articles.and(orphans).and(topics);
        demand_repaired(all, self.repair)
    }

    async fn check(&self, site: &Site) -> anyhow::Result<[CheckReport; 3]> {
        let now = Timestamp::now(&EngineClock::System);
        let total = site.store.fetch(read::sorted_count(keys::NEWS_CRON)).await?;
        let bar = progress_bar(total, "checking articles");
        let mut walk = NewsWalk::new(site, now, self.repair);
        let mut articles = CheckReport::default();
        while let Some(found) = walk.next().await? {
            bar.inc(found.checked);
            articles = articles.and(found);
        }
        bar.finish_and_clear();
        let orphans = repair::check_orphans(site, self.repair).await?;
        let topics = repair::check_topics(site, walk.into_topics(), self.repair).await?;
        Ok([articles, orphans, topics])
    }
}

fn summary(what: &str, found: CheckReport) -> String {
    let CheckReport { checked, different, repaired } = found;
    format!(
        "{what}: {} checked, {} differ, {} repaired",
        grouped(checked),
        grouped(different),
        grouped(repaired)
    )
}

//! `tidings check timelines`: every tweet must be in the timelines where it belongs,
//! and in no others.

use super::demand_repaired;
use crate::cli::{progress_bar, reach_existing_store, site_on};
use crate::config::Config;
use clap::Args;
use tidings_domain::background;
use tidings_domain::report::CheckReport;
use tidings_domain::site::Site;
use tidings_domain::timelines::check::TimelineCheck;
use tidings_domain::values::clock::Moment;
use tidings_domain::values::words::grouped;
use tidings_keyspace::EngineClock;

/// The options of `tidings check timelines`.
#[derive(Debug, Args)]
pub struct CheckTimelines {
    /// Repair what differs.
    #[arg(long)]
    repair: bool,
}

impl CheckTimelines {
    /// Checks all timelines and prints what was found.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not repaired.
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let store = reach_existing_store(config).await?;
        let site = site_on(&store, config);
        let found = self.check(&site).await;
        store.close().await;
        let found = found?;
        let CheckReport { checked, different, repaired } = found;
        say!(
            "timelines: {} entries checked, {} differ, {} repaired",
            grouped(checked),
            grouped(different),
            grouped(repaired)
        );
        demand_repaired(found, self.repair)
    }

    async fn check(&self, site: &Site) -> anyhow::Result<CheckReport> {
        let now = Moment::now(&EngineClock::System);
        if self.repair {
            background::finish_waiting(site, now).await?;
        }
        let mut check = TimelineCheck::begin(site, now, self.repair).await?;
        let (users, tweets) = check.total();
        let bar = progress_bar(tweets, "checking tweets");
        let mut found = CheckReport::default();
        while let Some(some) = check.next_tweets().await? {
            bar.inc(some.checked);
            found = found.and(some);
        }
        bar.finish_and_clear();
        let bar = progress_bar(users, "checking timelines");
        while let Some(some) = check.next_user().await? {
            bar.inc(1);
            found = found.and(some);
        }
        bar.finish_and_clear();
        found = found.and(check.check_everyone().await?);
        let delivered = check.deliver_pulled().await?;
        if delivered > 0 {
            say!("delivering the tweets of {delivered} authors again who no longer have too many followers");
        }
        Ok(found)
    }
}

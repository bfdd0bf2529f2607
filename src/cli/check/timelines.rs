//! `tidings check timelines`: every tweet is where it belongs, and nothing else.

use crate::cli::{open_existing_store, progress_bar};
use crate::config::Config;
use anyhow::bail;
use clap::Args;
use tidings_domain::background;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::report::Found;
use tidings_domain::site::Site;
use tidings_domain::timelines::check::TimelineCheck;
use tidings_domain::values::clock::Moment;
use tidings_keyspace::EngineClock;

/// Compare timelines with the tweets and with who follows whom.
///
/// Without --repair nothing is written. On Redis the site may go on meanwhile;
/// the embedded store is used by one program at a time: stop the server first.
#[derive(Debug, Args)]
pub struct Timelines {
    /// Mend what differs.
    #[arg(long)]
    repair: bool,
}

impl Timelines {
    /// Checks all timelines and prints what was found.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not mended.
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let store = open_existing_store(config.server.store.as_str(), config).await?;
        let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default());
        let found = self.check(&site).await;
        store.close().await;
        let Found { checked, different, mended } = found?;
        println!("timelines: {checked} entries checked, {different} differ, {mended} mended");
        if different > mended && !self.repair {
            bail!("{different} differ; --repair mends them");
        }
        if different > mended {
            bail!("{} could not be mended; the site has changed meanwhile: run it again", different - mended);
        }
        Ok(())
    }

    async fn check(&self, site: &Site) -> anyhow::Result<Found> {
        let now = Moment::now(&EngineClock::System);
        if self.repair {
            background::finish_waiting(site, now).await?;
        }
        let mut check = TimelineCheck::begin(site, now, self.repair).await?;
        let (users, tweets) = check.total();
        let bar = progress_bar(tweets, "checking tweets");
        let mut found = Found::default();
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
            println!("{delivered} authors who had many followers are delivered again");
        }
        Ok(found)
    }
}

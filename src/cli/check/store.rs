//! `tidings check store`: whether everything that is stored fits together.

use crate::cli::{print, progress_bar, reach_existing_store};
use crate::config::Config;
use anyhow::bail;
use clap::Args;
use std::fmt::Write;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::site::Site;
use tidings_domain::store_check::{self, Difference, StoreReport};
use tidings_domain::values::clock::Moment;
use tidings_domain::values::text::printable;
use tidings_domain::values::words::{counted, grouped};
use tidings_keyspace::EngineClock;

/// The options of `tidings check store`.
#[derive(Debug, Args)]
pub struct CheckStore {
    /// Repair lists, counters and indexes that differ from what they follow from.
    #[arg(long)]
    repair: bool,
    /// Print JSON, for programs.
    #[arg(long)]
    json: bool,
}

impl CheckStore {
    /// Checks the whole store and prints what differs.
    ///
    /// # Errors
    /// When the store fails, or something differs and is not repaired.
    pub(super) async fn run(self, config: &Config) -> anyhow::Result<()> {
        let store = reach_existing_store(config.server.store.as_str(), config).await?;
        let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default())
            .reached_at(config.site.url.as_str());
        let report = self.check(&site).await;
        store.close().await;
        let report = report?;
        if self.json {
            say!("{}", serde_json::to_string(&report)?);
        } else {
            print(&text_of(&report))?;
        }
        let left = report.left();
        if left > 0 && !self.repair {
            bail!("{} found; --repair mends what follows from something else", differences(left));
        }
        if left > 0 {
            bail!("{} left that no command can mend", differences(left));
        }
        Ok(())
    }

    async fn check(&self, site: &Site) -> anyhow::Result<StoreReport> {
        let bar = progress_bar(site.store.count_keys().await?, "checking keys");
        let now = Moment::now(&EngineClock::System);
        let report = store_check::check(site, now, self.repair, |keys| bar.inc(keys)).await?;
        bar.finish_and_clear();
        Ok(report)
    }
}

fn differences(count: u64) -> String {
    counted(count, "difference", "differences")
}

/// The report for people.
fn text_of(report: &StoreReport) -> String {
    let mut text = String::new();
    for Difference { key, found, expected, repair, rule, repaired } in &report.differences {
        let done = if *repaired { "repaired" } else { "repair" };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{}: {rule}\n  found:    {}\n  expected: {}\n  {done}: {}",
            printable(key.clone()),
            printable(found.clone()),
            printable(expected.clone()),
            printable(repair.clone()),
        );
    }
    if report.further > 0 {
        let _ = writeln!(text, "{} more.", differences(report.further));
    }
    if report.strangers > 0 {
        let named = report.named_strangers.iter().map(|key| printable(key.clone()));
        let _ = writeln!(
            text,
            "Note: {} not of this site, such as {}.",
            counted(report.strangers, "key is", "keys are"),
            named.collect::<Vec<_>>().join(", "),
        );
    }
    if report.unsettled > 0 {
        let _ = writeln!(
            text,
            "Note: {} changed too often to be judged. Run the command again.",
            counted(report.unsettled, "thing", "things"),
        );
    }
    let all = u64::try_from(report.differences.len()).unwrap_or(u64::MAX).saturating_add(report.further);
    let _ = writeln!(
        text,
        "store: {} checked, {} differ, {} repaired",
        counted(report.keys, "key", "keys"),
        grouped(all),
        grouped(report.repaired),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_says_what_differs_and_what_is_not_ours() {
        let difference = Difference {
            key: "news:1".to_owned(),
            found: "up 2".to_owned(),
            expected: "up 1\u{1b}[2J".to_owned(),
            repair: "change the field up to 1".to_owned(),
            rule: "the counters of a story are the numbers of its voters",
            repaired: true,
        };
        let mut report = StoreReport { keys: 1_200, strangers: 2, repaired: 1, ..StoreReport::default() };
        report.differences.push(difference);
        report.named_strangers.push("other".to_owned());
        let text = text_of(&report);
        for line in [
            "news:1: the counters of a story are the numbers of its voters",
            "  found:    up 2",
            "  expected: up 1[2J",
            "  repaired: change the field up to 1",
            "Note: 2 keys are not of this site, such as other.",
            "store: 1,200 keys checked, 1 differ, 1 repaired",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line:?} in\n{text}");
        }
        assert_eq!(report.left(), 0);
    }
}

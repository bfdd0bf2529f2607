//! `tidings import sites FILE.csv`: imports initial votes on sites.
//!
//! Each site is changed to what the list says in one atomic batch. So an import can
//! be stopped at any time and run again, also with a newer list.

use super::demand_all;
use super::listed::{Rows, read_rows, say_refused};
use crate::cli::terminal::{progress_bar, read_whole};
use crate::cli::{CreateOption, Here, now, patiently};
use anyhow::{Context, bail};
use clap::Args;
use serde::Deserialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use tidings_domain::Site;
use tidings_domain::migrations::unfinished;
use tidings_domain::sites::{Listed, StartingVoters};
use tidings_domain::values::day::parse_moment;
use tidings_domain::values::words::counted;
use tidings_domain::values::{Day, Hostname, MAX_IMPORTED_SITE_VOTES, Timestamp};

/// Import initial votes on sites from a CSV file.
///
/// The first line names the columns host and votes; other columns are ignored. A
/// number below 0 means votes against the site. 0 removes the votes of an earlier
/// list. The votes belong to generated voters, the same for every site.
#[derive(Debug, Args)]
pub struct ImportSites {
    /// The CSV file.
    pub(in crate::cli) file: PathBuf,
    /// The day that the votes count for, such as 2026-11-21 [default: today].
    #[arg(long, value_name = "DATE")]
    day: Option<Day>,
    #[command(flatten)]
    pub(in crate::cli) create: CreateOption,
}

impl ImportSites {
    /// Imports the file and reports the rows that were refused.
    ///
    /// # Errors
    /// When the file cannot be read or lacks a column, or the store fails.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let (list, refused) = read(&self.file, &read_whole(&self.file)?)?;
        say_refused(&refused);
        let site = here.site_to_import("sites", &self.file).await?;
        let now = now();
        let time = match self.day {
            Some(day) => parse_moment(&format!("{day}T00:00:00Z"))?,
            None => now,
        };
        let (changed_sites, votes) = import(&site, now, time, &list).await?;
        unfinished::end(&site.store).await?;
        say!(
            "changed {} on {}; {} up to date; {} refused",
            counted(votes, "vote", "votes"),
            counted(changed_sites, "site", "sites"),
            counted(list.len() as u64 - changed_sites, "site was", "sites were"),
            counted(refused.len() as u64, "row was", "rows were")
        );
        demand_all(&self.file, refused.len() as u64, ["row", "rows"])
    }
}

/// Returns how many sites and how many votes changed.
async fn import(site: &Site, now: Timestamp, time: Timestamp, list: &[Listed]) -> anyhow::Result<(u64, u64)> {
    let voters = patiently(async || Ok(StartingVoters::prepare(site, now, list).await?)).await?;
    let bar = progress_bar(list.len() as u64, "importing sites");
    let (mut changed_sites, mut votes) = (0, 0);
    for listed in list {
        let changed = patiently(async || Ok(voters.import(site, time, listed).await?)).await?;
        changed_sites += u64::from(changed > 0);
        votes += changed;
        bar.inc(1);
    }
    Ok((changed_sites, votes))
}

fn read(path: &Path, text: &[u8]) -> anyhow::Result<Rows<Listed>> {
    let mut hosts = HashSet::new();
    read_rows((path, text), ("sites", &["host", "votes"]), |record, header, _| {
        let names = header.iter().take(record.len()).collect();
        let listed = parse(record.deserialize(Some(&names))?)?;
        if !hosts.insert(listed.host.clone()) {
            bail!("host {} is repeated", listed.host);
        }
        Ok(listed)
    })
}

/// The columns of a row, which may be short.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Columns<'a> {
    host: &'a str,
    votes: &'a str,
}

fn parse(Columns { host, votes }: Columns<'_>) -> anyhow::Result<Listed> {
    let host = Hostname::parse(host)?;
    let number: i64 = votes.parse().with_context(|| format!("votes {votes:?} is not a whole number"))?;
    if number.unsigned_abs() > MAX_IMPORTED_SITE_VOTES {
        bail!("votes {number} is not between -{MAX_IMPORTED_SITE_VOTES} and {MAX_IMPORTED_SITE_VOTES}");
    }
    Ok(Listed::of(host, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tidings_domain::Visit;
    use tidings_domain::passwords::PasswordWorker;
    use tidings_domain::sites::{self, Score};
    use tidings_domain::values::Rules;
    use tidings_keyspace::Store;

    fn list(text: &str) -> anyhow::Result<Rows<Listed>> {
        read(Path::new("sites.csv"), text.as_bytes())
    }

    #[test]
    fn rows_are_hosts_and_votes_and_others_are_refused_with_the_reason() {
        let (sites, refused) = list(
            "\u{feff}Host,note,votes\nGood.com,x,25\nbad.com,\"a, b\",-12\nlocalhost,,5\ngood.com.,,1\n\
             many.com,,1001\nhalf.com,,1.5\nshort.com\n",
        )
        .unwrap();
        let sites: Vec<(&str, u64, u64)> =
            sites.iter().map(|listed| (listed.host.as_str(), listed.good, listed.bad)).collect();
        assert_eq!(sites, [("good.com", 25, 0), ("bad.com", 0, 12)]);
        let lines: Vec<u64> = refused.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [4, 5, 6, 7, 8]);
        for ((_, reason), part) in
            refused.iter().zip(["localhost", "is repeated", "1001", "1.5", "whole number"])
        {
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn an_error_names_the_file_without_the_columns() {
        let error = list("name,votes\na.com,1\n").unwrap_err().to_string();
        assert!(error.contains("sites.csv") && error.contains("no column host"), "{error}");
    }

    #[tokio::test]
    async fn importing_again_changes_nothing_and_a_newer_list_replaces_the_votes() {
        let store = Store::in_memory().await;
        let site = Arc::new(Site::new(store.unwrap(), Rules::default(), PasswordWorker::default()));
        let now = Timestamp(1_800_000_000);
        let host = |name: &str| Hostname::parse(name).unwrap();
        let listed = |name: &str, votes| Listed::of(host(name), votes);
        let first = [listed("good.com", 25), listed("bad.com", -12)];
        assert_eq!(import(&site, now, now, &first).await.unwrap(), (2, 37));
        assert_eq!(import(&site, now, now, &first).await.unwrap(), (0, 0));
        let mut visit = Visit::new(site.clone(), now, None);
        let hosts = [host("good.com"), host("bad.com")];
        assert_eq!(sites::scores(&mut visit, &hosts).await.unwrap(), [Score::Good, Score::Bad]);

        let second = [listed("good.com", 3), listed("bad.com", 2)];
        assert_eq!(import(&site, now, now, &second).await.unwrap(), (2, 22 + 12));
        for (name, sum) in [("good.com", 3), ("bad.com", 2)] {
            let totals = sites::history(&mut visit, &host(name), 1).await.unwrap().votes.totals;
            assert_eq!((totals.sum, totals.count), (sum, sum), "{name}");
        }
    }
}

//! `tidings import links FILE.csv`: imports stories with their authors and votes.
//!
//! Rows are imported in chunks, each one atomic batch that also notes which
//! rows it holds. So an import can be stopped at any time and run again: it
//! continues where it stopped, and a second run of the same file changes nothing. A new site that the
//! import begins is marked until its end ([`unfinished`]).

mod accounts;
mod hn;
mod listed;
mod rows;
mod sites;

pub use hn::ImportArchive;
pub use sites::ImportSites;

use super::terminal::{progress_bar, read_whole};
use super::{CreateOption, Here, now, patiently};
use accounts::ImportAccounts;
use anyhow::bail;
use clap::Args;
use jiff::tz::TimeZone;
use listed::say_refused;
use rows::StoryRow;
use std::path::{Path, PathBuf};
use tidings_domain::Site;
use tidings_domain::accounts::first_administrator;
use tidings_domain::imports::{self, ImportedLink};
use tidings_domain::migrations::unfinished;
use tidings_domain::values::words::{counted, grouped};
use tidings_domain::values::{NewsId, Timestamp, UserId};

/// About how many writes a batch has. Bounds memory, and how long a visitor's vote waits for the
/// store while a site runs.
const BATCH_WRITES: u64 = 1_000;

/// The most upvotes of one story, since all are written in one batch.
const MOST_VOTES: u64 = 100_000;

/// Import stories from a CSV file, with their authors and votes.
///
/// The first line names the columns: id, title, url, author, created_at, and
/// optionally num_points and topics. Other columns are ignored. Topics are
/// separated by commas, semicolons or spaces and changed to lower case. A story
/// gets at most five.
#[derive(Debug, Args)]
pub struct ImportLinks {
    /// The CSV file.
    pub(super) file: PathBuf,
    /// The most upvotes of a story, 0 = all its points (at most 100,000). They
    /// come from generated accounts that nobody can log in to.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    max_votes: u64,
    /// The time zone of times without one [default: America/New_York for
    /// month/day/year, otherwise UTC].
    #[arg(long, value_name = "NAME", value_parser = time_zone)]
    time_zone: Option<TimeZone>,
    #[command(flatten)]
    pub(super) create: CreateOption,
}

fn time_zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name).map_err(|_| format!("there is no time zone {name:?}"))
}

impl ImportLinks {
    /// Imports the file and reports the rows that were refused.
    ///
    /// # Errors
    /// When the file cannot be read or lacks a column, or the store fails.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let (text, now) = (read_whole(&self.file)?, now());
        let read = rows::read(&self.file, &text, self.time_zone.as_ref(), now)?;
        drop(text);
        say_refused(&read.refused);
        let site = here.site_to_import("links", &self.file).await?;
        let Imported { new, known, votes } = self.import(&site, read.rows).await?;
        unfinished::end(&site.store).await?;
        say!(
            "imported {} with {}; {} already existed; {} refused",
            counted(new, "story", "stories"),
            counted(votes, "vote", "votes"),
            grouped(known),
            counted(read.refused.len() as u64, "row was", "rows were")
        );
        if read.mended > 0 || read.renamed > 0 {
            say!(
                "repaired text that was encoded twice in {}; {} got another username, because theirs \
                 is not valid here",
                counted(read.mended, "row", "rows"),
                counted(read.renamed, "author", "authors")
            );
        }
        say_how_to_administer(&site).await?;
        demand_all(&self.file, read.refused.len() as u64, ["row", "rows"])
    }

    /// The most upvotes of one story; at least the author's.
    fn votes_cap(&self) -> u64 {
        if self.max_votes == 0 { MOST_VOTES } else { self.max_votes.min(MOST_VOTES) }
    }

    async fn import(&self, site: &Site, mut rows: Vec<StoryRow>) -> anyhow::Result<Imported> {
        let now = now();
        // Ids follow the time of posting.
        rows.sort_by_key(|row| row.story.posted);
        let total = u64::try_from(rows.len())?;
        let voters_needed = rows.iter().map(|row| row.points.saturating_sub(1)).max().unwrap_or(0);
        let mut accounts = ImportAccounts::new(site, now);
        let voters_needed = voters_needed.min(self.votes_cap() - 1);
        let voters = patiently(async || accounts.voters(voters_needed).await).await?;

        let bar = progress_bar(total, "importing stories");
        let mut imported = Imported::default();
        let mut rest = rows.into_iter().peekable();
        while rest.peek().is_some() {
            let mut chunk = Vec::new();
            let mut writes = 0;
            while writes < BATCH_WRITES
                && let Some(row) = rest.next()
            {
                writes += 10 + 2 * row.points.min(self.votes_cap());
                chunk.push(row);
            }
            let importing = async || self.import_chunk((site, now), &mut accounts, &voters, &chunk).await;
            let Imported { new, known, votes } = patiently(importing).await?;
            imported.new += new;
            imported.known += known;
            imported.votes += votes;
            bar.inc(u64::try_from(chunk.len())?);
        }
        Ok(imported)
    }

    async fn import_chunk(
        &self,
        (site, now): (&Site, Timestamp),
        accounts: &mut ImportAccounts<'_>,
        voters: &[UserId],
        chunk: &[StoryRow],
    ) -> anyhow::Result<Imported> {
        let known = imports::known_links(site, chunk.iter().map(|row| row.id.as_str())).await?;
        let (fresh, old): (Vec<&StoryRow>, Vec<&StoryRow>) =
            chunk.iter().partition(|row| !known.contains(&row.id));
        let mut imported = Imported { known: u64::try_from(old.len())?, ..Imported::default() };
        if fresh.is_empty() {
            return Ok(imported);
        }
        let authors = accounts.find("author", fresh.iter().map(|row| row.author.as_str())).await?;
        let link = |row: &StoryRow| {
            let author = authors.get(&row.author).copied()?;
            let votes = row.points.clamp(1, self.votes_cap());
            let voters = choose(voters, author, votes - 1, row.line);
            Some((row.id.clone(), ImportedLink { story: row.story.clone(), author, voters, source: None }))
        };
        let links: Vec<(String, ImportedLink)> = fresh.into_iter().filter_map(link).collect();
        imported.votes += links.iter().map(|(_, link)| 1 + link.voters.len() as u64).sum::<u64>();
        let ids: Vec<NewsId> = imports::import_links(site, now, links).await?;
        imported.new += u64::try_from(ids.len())?;
        Ok(imported)
    }
}

/// The end of an import: an error if rows of the file were refused, although the others are imported.
fn demand_all(file: &Path, refused: u64, [one, more]: [&str; 2]) -> anyhow::Result<()> {
    if refused == 0 {
        return Ok(());
    }
    let were = if refused == 1 { "was" } else { "were" };
    bail!("{} of {} {were} refused", counted(refused, one, more), file.display())
}

/// Says how a site without an administrator gets one, in the words of the page and of the server's log.
async fn say_how_to_administer(site: &Site) -> anyhow::Result<()> {
    if let Some(link) = first_administrator::link(site, now()).await? {
        say!("{}", first_administrator::announcement(&link));
    }
    Ok(())
}

#[derive(Default)]
struct Imported {
    new: u64,
    known: u64,
    votes: u64,
}

/// `count` different voters, others for each row, never the author.
fn choose(voters: &[UserId], author: UserId, count: u64, line: u64) -> Vec<UserId> {
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(voters.len());
    let first = usize::try_from(line.wrapping_mul(7_919)).unwrap_or(0) % voters.len().max(1);
    voters.iter().cycle().skip(first).take(count).copied().filter(|voter| *voter != author).collect()
}

//! `tidings import hn FILE`: imports an archive in the shape of the API of Hacker News, or an export of another site.
//!
//! Lines are read one after the other and imported in chunks, each one atomic batch that also notes the numbers of
//! its items. So an import can be stopped at any time and run again: what is there is skipped. The memory that it
//! takes does not depend on the length of the file.

mod aside;
mod reader;

use super::{demand_all, say_how_to_administer};
use crate::WrongUse;
use crate::cli::terminal::{self, Need, Terminal, complain, progress_bar};
use crate::cli::{CreateOption, Here, now, patiently};
use anyhow::{Context, bail};
use aside::Aside;
use clap::Args;
use indicatif::ProgressBar;
use reader::{MAX_LINE_BYTES, read_line};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use strum::IntoEnumIterator;
use tidings_domain::Site;
use tidings_domain::exports::site::{ABOUT, FORMAT, SiteSection};
use tidings_domain::imports::archive::{
    Archive, Imported, LINES_AT_ONCE, NumberedLine, import_lines, is_own_export,
};
use tidings_domain::imports::lines::{ArchiveLine, LineError};
use tidings_domain::migrations::unfinished;
use tidings_domain::values::words::{counted, grouped};
use tidings_domain::values::{ImportSource, Timestamp};
use tidings_web::error::in_english;
use zip::ZipArchive;

/// The file name that stands for standard input.
const STANDARD_INPUT: &str = "-";
/// The first bytes of a zip file.
const ZIP_START: &[u8] = b"PK";
/// The most bytes of the file in an export that says what it is.
const MAX_ABOUT_BYTES: u64 = 64 * 1024;
/// Bytes of the lines of one chunk after which it is imported, however few they are.
const CHUNK_BYTES: usize = 1024 * 1024;
/// The most lines that are named one by one as refused.
const NAMED_LINES: u64 = 1_000;
/// The most people who are named as renamed.
const NAMED_PEOPLE: usize = 20;
const MEBIBYTE: u64 = 1024 * 1024;

/// Import stories, comments and people from an archive in the shape of the API of Hacker News.
///
/// The file has an item or a person as JSON on each line, or is an export of `tidings export site`. Existing
/// items stay as they are, so you can run the command again. docs/importing.md explains how each line is imported.
#[derive(Debug, Args)]
pub struct ImportArchive {
    /// The file, or - for standard input.
    file: PathBuf,
    /// A name for the site that the items come from. Items with the same number and the same source are the same
    /// [default: hn, for an export its site].
    #[arg(long, value_name = "NAME")]
    source: Option<ImportSource>,
    /// Let the karma in the archive decide who is trusted (trust.karma). Otherwise only karma earned here counts.
    #[arg(long)]
    trust_karma: bool,
    /// Stop after so many minutes.
    #[arg(long, value_name = "COUNT", default_value_t = 1_440)]
    max_minutes: u64,
    /// Stop after so many MiB of lines.
    #[arg(long, value_name = "COUNT", default_value_t = 65_536)]
    max_mebibytes: u64,
    #[command(flatten)]
    pub(in crate::cli) create: CreateOption,
}

/// The content of the file in an export that describes it.
#[derive(Deserialize)]
struct About {
    format: u64,
    source: String,
}

impl ImportArchive {
    /// The file, unless it is standard input.
    pub(in crate::cli) fn need(&self) -> Need {
        if self.file.as_os_str() == STANDARD_INPUT { Need::Nothing } else { Need::Input(self.file.clone()) }
    }

    /// Imports the file, and reports what was not taken.
    ///
    /// # Errors
    /// When the file cannot be read, a cap is reached, lines were refused, or the store fails.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let mut input = Input::open(&self.file)?;
        let about = input.about()?;
        let site = here.site_to_import("hn", &self.file).await?;
        let source = match (&self.source, about) {
            (Some(source), _) => source.clone(),
            (None, Some(source)) => {
                if is_own_export(&site, &source).await? {
                    let shown = self.file.display();
                    bail!(
                        "{shown} is an export of {source}, as this site is called, and this site has items of \
                         its own; import it into an empty store, or name the other site with --source"
                    );
                }
                source
            }
            (None, None) => "hn".parse()?,
        };
        let bar = progress_bar(input.length, "importing lines");
        let mut import = Import {
            site: &site,
            now: now(),
            archive: Archive { source, trusts_karma: self.trust_karma },
            options: &self,
            until: Instant::now() + Duration::from_secs(self.max_minutes.saturating_mul(60)),
            bar,
            bytes: 0,
            place: String::new(),
            chunk: Vec::new(),
            written: Vec::new(),
            aside: Aside::default(),
            report: Report::default(),
        };
        let outcome = import.read_all(&mut input).await;
        let Import { report, bar, .. } = import;
        drop(bar);
        report.say()?;
        if outcome.is_ok() {
            unfinished::end(&site.store).await?;
        }
        say_how_to_administer(&site).await?;
        outcome?;
        demand_all(&self.file, report.refused, ["line", "lines"])
    }
}

/// The file, standard input, or the files of an export.
struct Input {
    content: Content,
    /// In bytes, as far as it is known: those of the lines.
    length: u64,
}

enum Content {
    Lines(Box<dyn BufRead>),
    Export(ZipArchive<BufReader<terminal::Input>>),
}

impl Input {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let is_stdin = path.as_os_str() == STANDARD_INPUT;
        let shown = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let (terminal, cannot) = (Terminal::current(), || format!("cannot read {shown}"));
        let mut lines = BufReader::new(terminal.input());
        if !lines.fill_buf().with_context(cannot)?.starts_with(ZIP_START) {
            let length = terminal.input_bytes().unwrap_or(0);
            return Ok(Self { content: Content::Lines(Box::new(lines)), length });
        }
        if is_stdin {
            bail!(WrongUse::new("an export cannot be read from standard input; name its file"));
        }
        lines.rewind().with_context(cannot)?;
        let mut zip = ZipArchive::new(lines).with_context(cannot)?;
        let mut length = 0;
        for name in SiteSection::iter().map(SiteSection::file) {
            length += zip.by_name(name).map_or(0, |file| file.size());
        }
        Ok(Self { content: Content::Export(zip), length })
    }

    /// The source that an export names.
    fn about(&mut self) -> anyhow::Result<Option<ImportSource>> {
        let Content::Export(zip) = &mut self.content else { return Ok(None) };
        let file = zip.by_name(ABOUT).with_context(|| format!("it is no export of a site: no {ABOUT}"))?;
        let mut text = String::new();
        file.take(MAX_ABOUT_BYTES)
            .read_to_string(&mut text)
            .with_context(|| format!("cannot read {ABOUT}"))?;
        let about: About = serde_json::from_str(&text).with_context(|| format!("cannot read {ABOUT}"))?;
        if about.format != FORMAT {
            bail!("the export has the format {}, and this program reads {FORMAT}", about.format);
        }
        Ok(Some(about.source.parse().with_context(|| format!("source {:?}", about.source))?))
    }
}

/// The bytes that some programs put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The outcome of importing the file.
#[derive(Default)]
struct Report {
    counts: Imported,
    refused: u64,
    /// Comments without what they reply to, and the line of the first.
    orphans: u64,
    first_orphan: u64,
    renamed: u64,
}

impl Report {
    fn refuse(&mut self, place: &str, line: u64, reason: &str) {
        self.refused += 1;
        if self.refused <= NAMED_LINES {
            complain(&format!("{place}line {line}: {reason}"));
        } else if self.refused == NAMED_LINES + 1 {
            complain("further lines that are refused are only counted");
        }
    }

    fn add(&mut self, place: &str, chunk: Imported) {
        let counts = &mut self.counts;
        for (all, more) in [
            (&mut counts.stories, chunk.stories),
            (&mut counts.comments, chunk.comments),
            (&mut counts.people, chunk.people),
            (&mut counts.sites, chunk.sites),
            (&mut counts.topics, chunk.topics),
            (&mut counts.known, chunk.known),
            (&mut counts.places, chunk.places),
            (&mut counts.deleted, chunk.deleted),
            (&mut counts.dead, chunk.dead),
            (&mut counts.polls, chunk.polls),
            (&mut counts.absent, chunk.absent),
        ] {
            *all += more;
        }
        self.renamed += chunk.renamed.len() as u64;
        let room = NAMED_PEOPLE.saturating_sub(counts.renamed.len());
        counts.renamed.extend(chunk.renamed.into_iter().take(room));
        for (line, reason) in chunk.refused {
            self.refuse(place, line, &reason);
        }
    }

    fn say(&self) -> anyhow::Result<()> {
        let Imported { stories, comments, people, sites, topics, known, .. } = &self.counts;
        say!(
            "imported {}, {} and {}; {} already existed; {} refused",
            counted(*stories, "story", "stories"),
            counted(*comments, "comment", "comments"),
            counted(*people, "profile", "profiles"),
            grouped(*known),
            counted(self.refused, "line was", "lines were")
        );
        if sites + topics > 0 {
            say!(
                "imported the votes on {} and the sentences of {}",
                counted(*sites, "site", "sites"),
                counted(*topics, "topic", "topics")
            );
        }
        let Imported { places, deleted, dead, polls, absent, renamed, .. } = &self.counts;
        if deleted + dead + polls + absent > 0 {
            say!(
                "not taken: {} deleted, {} dead, {}, {}; the places of {} in threads are kept",
                grouped(*deleted),
                grouped(*dead),
                counted(*polls, "poll or choice of one", "polls and their choices"),
                counted(*absent, "line with null", "lines with null"),
                counted(*places, "deleted or dead comment", "deleted or dead comments")
            );
        }
        if self.orphans > 0 {
            say!(
                "left out {}, because what they reply to is not there, such as on line {}",
                counted(self.orphans, "comment", "comments"),
                self.first_orphan
            );
        }
        if self.renamed > 0 {
            let names: Vec<String> =
                renamed.iter().map(|[there, here]| format!("{there} is {here} here")).collect();
            let more = self.renamed.saturating_sub(renamed.len() as u64);
            let more = if more > 0 { format!(", and {} more", grouped(more)) } else { String::new() };
            say!(
                "{} got another username, because theirs is taken: {}{more}",
                counted(self.renamed, "person", "people"),
                names.join(", ")
            );
        }
        Ok(())
    }
}

/// An import under way.
struct Import<'a> {
    site: &'a Site,
    now: Timestamp,
    archive: Archive,
    options: &'a ImportArchive,
    /// When it stops.
    until: Instant,
    bar: ProgressBar,
    /// Bytes of the lines that were read.
    bytes: u64,
    /// The file of an export that the lines are in, before their numbers in messages; otherwise empty.
    place: String,
    chunk: Vec<NumberedLine>,
    /// The same lines as they were read.
    written: Vec<Vec<u8>>,
    aside: Aside,
    report: Report,
}

impl Import<'_> {
    async fn read_all(&mut self, input: &mut Input) -> anyhow::Result<()> {
        match &mut input.content {
            Content::Lines(lines) => self.read(lines).await?,
            Content::Export(zip) => {
                for name in SiteSection::iter().map(SiteSection::file) {
                    let Ok(file) = zip.by_name(name) else { continue };
                    self.place = format!("{name}, ");
                    self.read(&mut BufReader::new(file)).await?;
                }
            }
        }
        self.read_aside().await
    }

    /// Imports all lines of one file.
    async fn read(&mut self, input: &mut dyn BufRead) -> anyhow::Result<()> {
        if input.fill_buf().context("cannot read the lines")?.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        if input.fill_buf().context("cannot read the lines")?.trim_ascii_start().starts_with(b"[") {
            bail!(
                "{}this is a JSON array. Give each item a line of its own, for example with `jq -c '.[]' FILE`",
                self.place
            );
        }
        let mut line = Vec::new();
        for number in 1.. {
            let (read, is_whole) = read_line(input, &mut line).context("cannot read the lines")?;
            if read == 0 {
                break;
            }
            self.bytes += read as u64;
            self.bar.set_position(self.bytes);
            if is_whole {
                self.add(number, &line).await?;
            } else {
                let reason = format!("it has more than {} bytes", grouped(MAX_LINE_BYTES));
                self.report.refuse(&self.place, number, &reason);
            }
            if self.bytes > self.options.max_mebibytes.saturating_mul(MEBIBYTE) {
                self.flush().await?;
                bail!(
                    "stopped after {} MiB; to go on, run the command again with a higher --max-mebibytes",
                    grouped(self.options.max_mebibytes)
                );
            }
        }
        self.flush().await?;
        Ok(())
    }

    /// Adds a line to the chunk, and imports a full one.
    async fn add(&mut self, number: u64, line: &[u8]) -> anyhow::Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match ArchiveLine::parse(line, self.now) {
            Ok(content) => self.push(NumberedLine { line: number, content }, line).await.map(drop),
            Err(error) => {
                let reason = match &error {
                    LineError::Link(link) => format!("{error}: {}", in_english(link)),
                    LineError::Input(input) => in_english(input),
                    error => error.to_string(),
                };
                self.report.refuse(&self.place, number, &reason);
                Ok(())
            }
        }
    }

    /// Adds a line that was read to the chunk, and imports a full one. Returns how many items are new.
    async fn push(&mut self, line: NumberedLine, written: &[u8]) -> anyhow::Result<u64> {
        self.chunk.push(line);
        self.written.push(written.to_vec());
        let bytes: usize = self.written.iter().map(Vec::len).sum();
        if self.chunk.len() >= LINES_AT_ONCE || bytes >= CHUNK_BYTES { self.flush().await } else { Ok(0) }
    }

    /// Imports the chunk, and puts comments aside whose parent is not there yet. Returns how many items are new.
    async fn flush(&mut self) -> anyhow::Result<u64> {
        let (chunk, written) = (std::mem::take(&mut self.chunk), std::mem::take(&mut self.written));
        if chunk.is_empty() {
            return Ok(0);
        }
        let (site, now, archive) = (self.site, self.now, &self.archive);
        let imported = patiently(async || Ok(import_lines(site, now, archive, &chunk).await?)).await?;
        for position in &imported.orphans {
            if let (Some(NumberedLine { line, content: ArchiveLine::Comment(comment) }), Some(written)) =
                (chunk.get(*position), written.get(*position))
            {
                self.aside.put(comment.number, *line, written)?;
            }
        }
        let new = imported.stories + imported.comments + imported.places;
        self.report.add(&self.place, imported);
        if Instant::now() > self.until {
            bail!(
                "stopped after {}; run the command again to go on",
                counted(self.options.max_minutes, "minute", "minutes")
            );
        }
        Ok(new)
    }

    /// Imports the comments that were put aside, in the order of their numbers, until what is left has no parent.
    async fn read_aside(&mut self) -> anyhow::Result<()> {
        // Only items are put aside.
        if !self.place.is_empty() {
            self.place = format!("{}, ", SiteSection::Items.file());
        }
        loop {
            let aside = std::mem::take(&mut self.aside);
            if aside.len() == 0 {
                return Ok(());
            }
            self.bar.set_message("importing replies");
            self.bar.set_length(aside.len());
            self.bar.set_position(0);
            let mut new = 0;
            for line in aside.into_lines()? {
                let (number, line) = line.context("cannot read a temporary file")?;
                // It was read before.
                let Ok(content) = ArchiveLine::parse(&line, self.now) else { continue };
                self.bar.inc(1);
                new += self.push(NumberedLine { line: number, content }, &line).await?;
            }
            new += self.flush().await?;
            if new == 0 {
                self.report.orphans = self.aside.len();
                self.report.first_orphan = self.aside.first_line();
                return Ok(());
            }
        }
    }
}

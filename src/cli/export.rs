//! `tidings export site FILE.zip`: writes everything that is public into one file, which `tidings import hn` reads.

use super::terminal::{Need, Terminal, progress_bar};
use super::{Here, now};
use crate::config::Config;
use anyhow::{Context, bail};
use clap::Subcommand;
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use strum::IntoEnumIterator;
use tidings_domain::Site;
use tidings_domain::exports::site::{ABOUT, FORMAT, SiteExport, SiteSection};
use tidings_domain::imports::archive::source_of_site;
use tidings_domain::values::words::{counted, grouped};
use tidings_web::features::hacker_news::archive;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The level of compression, from 1 to 9. A higher one takes much longer and saves little.
const LEVEL: i64 = 4;

/// Write what everybody may read into a file for other programs.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write all that is public into a new zip file.
    ///
    /// It has people who have posted, stories, comments, topics and votes on sites as lines in the shape of the API of Hacker
    /// News, and nothing that a visitor could not read. `tidings import hn` reads it. For a copy of everything use
    /// `tidings backup`.
    Site {
        /// The file to write. It must not exist.
        file: PathBuf,
    },
}

impl ExportCommand {
    pub(super) fn need(&self) -> Need {
        let Self::Site { file } = self;
        Need::NewFile(file.clone())
    }

    /// Writes the export.
    ///
    /// # Errors
    /// When the file exists or cannot be written, or the store cannot be read.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let Self::Site { file } = self;
        let (terminal, shown) = (Terminal::current(), file.display());
        let cannot = || format!("cannot write {shown}");
        let site = Arc::new(here.site().await?);
        let lines = write(site, &here.config, terminal.output()).await.with_context(cannot)?;
        let bytes = terminal.finish().with_context(cannot)?;
        say!("exported {} in {} bytes: {shown}", counted(lines, "line", "lines"), grouped(bytes));
        Ok(())
    }
}

/// Writes the files of an export. Returns the number of lines.
async fn write(site: Arc<Site>, config: &Config, out: impl Write) -> anyhow::Result<u64> {
    let now = now();
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
        .large_file(true);
    let Some(source) = source_of_site(&site) else {
        bail!("the site's address {} has no host; set site.url", site.address);
    };
    let mut zip = ZipWriter::new_stream(BufWriter::new(out));
    zip.start_file(ABOUT, options)?;
    let about = json!({
        "format": FORMAT,
        "source": source.to_string(),
        "site": {"name": config.site.name.as_str(), "url": config.site.url.as_str()},
        "exported": now,
    });
    writeln!(zip, "{about}")?;
    let mut export = SiteExport::begin(site, now).await?;
    let bar = progress_bar(export.highest(), "writing items");
    let mut lines = 0;
    for section in SiteSection::iter() {
        zip.start_file(section.file(), options)?;
        export.begin_section();
        while let Some(part) = export.next(section).await? {
            for exported in part {
                writeln!(zip, "{}", archive::line(exported)?)?;
                lines += 1;
            }
            if section == SiteSection::Items {
                bar.set_position(export.position());
            }
        }
    }
    zip.finish()?.flush()?;
    Ok(lines)
}

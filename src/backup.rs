//! Backups: every key of a store in one file, readable without this program.
//!
//! [`mod@format`] is the format, described for strangers in `docs/backup-format.md`; [`writer`] and
//! [`reader`] write and read it as a stream. [`disk`] brings a file under its name only when it
//! is whole and on disk. [`take`] and [`restore`] connect files with stores, and [`schedule`]
//! takes backups while the site is served.

pub mod disk;
pub mod format;
pub mod reader;
pub mod restore;
pub mod schedule;
pub mod take;
pub mod temporary;
pub mod writer;

/// A time in Unix milliseconds, for people.
pub fn time_text(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| format!("{ms} ms"), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests;

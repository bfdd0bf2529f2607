//! The rows of a CSV file.

use crate::cli::terminal::complain;
use anyhow::{Context, anyhow};
use csv::{ByteRecord, StringRecord};
use std::path::Path;

/// The rows of a file that can be imported, and those that cannot: line and reason.
pub(super) type Rows<T> = (Vec<T>, Vec<(u64, String)>);

/// Reads the text of a whole file. `columns` finds the columns in the first line, and `parse` reads a row with its line.
/// `path` is the name of the file, for messages.
pub(super) fn read_rows<C, T>(
    (path, text): (&Path, &[u8]),
    columns: impl FnOnce(&StringRecord) -> anyhow::Result<C>,
    mut parse: impl FnMut(&StringRecord, u64, &C) -> anyhow::Result<T>,
) -> anyhow::Result<Rows<T>> {
    let cannot = || format!("cannot read {}", path.display());
    let mut lines = LineNumbers::of(text);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let columns = columns(reader.headers().with_context(cannot)?)?;
    let (mut rows, mut refused, mut record) = (Vec::new(), Vec::new(), ByteRecord::new());
    while reader.read_byte_record(&mut record).with_context(cannot)? {
        let line = lines.line_of(&record);
        let text =
            StringRecord::from_byte_record(record.clone()).map_err(|_| anyhow!("the row is not UTF-8"));
        match text.and_then(|record| parse(&record, line, &columns)) {
            Ok(row) => rows.push(row),
            Err(reason) => refused.push((line, format!("{reason:#}"))),
        }
    }
    Ok((rows, refused))
}

/// The place of a column in the first line.
pub(super) fn position(header: &StringRecord, name: &str) -> Option<usize> {
    let is_it = |column: &str| column.trim().trim_start_matches('\u{feff}').eq_ignore_ascii_case(name);
    header.iter().position(is_it)
}

/// Says which rows are refused.
pub(super) fn say_refused(refused: &[(u64, String)]) {
    for (line, reason) in refused {
        complain(&format!("line {line}: {reason}"));
    }
}

/// The numbers of lines in a file, for rows in their order. The CSV reader counts lines differently
/// when they end with CRLF, and leaves out empty ones.
struct LineNumbers<'a> {
    /// The text after the place that was last asked for.
    rest: &'a [u8],
    /// That place, in bytes.
    at: u64,
    /// The line that it is on, from 1.
    line: u64,
}

impl<'a> LineNumbers<'a> {
    const fn of(text: &'a [u8]) -> Self {
        Self { rest: text, at: 0, line: 1 }
    }

    /// The line at which a row begins.
    fn line_of(&mut self, row: &ByteRecord) -> u64 {
        let start = row.position().map_or(self.at, csv::Position::byte);
        // The row begins after the line breaks before it.
        while self.at < start || matches!(self.rest, [b'\r' | b'\n', ..]) {
            let [byte, rest @ ..] = self.rest else { break };
            let ends_line = *byte == b'\n' || *byte == b'\r' && rest.first() != Some(&b'\n');
            self.line += u64::from(ends_line);
            self.rest = rest;
            self.at += 1;
        }
        self.line
    }
}

//! The rows of a CSV file.

use crate::cli::terminal::complain;
use anyhow::{Context, anyhow, bail};
use csv::{ByteRecord, StringRecord};
use std::path::Path;
use tidings_web::error::in_english;

/// The rows of a file that can be imported, and those that cannot: line and reason.
pub(super) type Rows<T> = (Vec<T>, Vec<(u64, String)>);

/// Reads the text of a whole file, which is to have these columns. `parse` reads a row, with the first line and the line
/// of the row. `path` is the name of the file, for messages.
pub(super) fn read_rows<T>(
    (path, text): (&Path, &[u8]),
    (what, required): (&str, &[&str]),
    mut parse: impl FnMut(&StringRecord, &StringRecord, u64) -> anyhow::Result<T>,
) -> anyhow::Result<Rows<T>> {
    let cannot = || format!("cannot read {}", path.display());
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let header = names_of(reader.headers().with_context(cannot)?);
    if let Some(name) = required.iter().find(|name| !header.iter().any(|column| column == **name)) {
        bail!("{} is not a list of {what}: the first line has no column {name}", path.display());
    }
    let (mut rows, mut refused, mut record, mut place) = (Vec::new(), Vec::new(), ByteRecord::new(), (0, 1));
    while reader.read_byte_record(&mut record).with_context(cannot)? {
        advance(text, &mut place, record.position().map_or(0, csv::Position::byte));
        let row = StringRecord::from_byte_record(record.clone()).map_err(|_| anyhow!("the row is not UTF-8"));
        let row = row.and_then(|mut row| {
            row.trim();
            parse(&row, &header, place.1)
        });
        match row {
            Ok(row) => rows.push(row),
            Err(reason) => refused.push((place.1, told(&reason))),
        }
    }
    Ok((rows, refused))
}

/// Why a row is refused, with the causes.
fn told(reason: &anyhow::Error) -> String {
    reason.chain().map(in_english).collect::<Vec<_>>().join(": ")
}

/// The names of the columns in lower case. Of several columns of one name, the first has it.
fn names_of(header: &StringRecord) -> StringRecord {
    let mut names = Vec::new();
    for column in header {
        let name = column.trim().trim_start_matches('\u{feff}').to_ascii_lowercase();
        names.push(if names.contains(&name) { String::new() } else { name });
    }
    names.into()
}

/// Says which rows are refused.
pub(super) fn say_refused(refused: &[(u64, String)]) {
    for (line, reason) in refused {
        complain(&format!("line {line}: {reason}"));
    }
}

/// Goes on to the place where a row begins. A place is a position in bytes and the line that it is on, from 1. The CSV
/// reader counts lines differently when they end with CRLF, and leaves out empty ones.
fn advance(text: &[u8], (at, line): &mut (usize, u64), start: u64) {
    // The row begins after the line breaks before it.
    while let Some(byte) = text.get(*at).filter(|byte| (*at as u64) < start || b"\r\n".contains(byte)) {
        *at += 1;
        let ends_line = *byte == b'\n' || *byte == b'\r' && text.get(*at) != Some(&b'\n');
        *line += u64::from(ends_line);
    }
}

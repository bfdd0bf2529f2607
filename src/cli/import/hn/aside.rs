//! Comments that come before what they reply to, in a temporary file until the end of the archive.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use tidings_domain::values::words::grouped;

/// The most comments that are put aside: their places take 32 bytes of memory each.
const MAX_ASIDE: usize = 2_000_000;
/// The most bytes of them.
const MAX_ASIDE_BYTES: u64 = 8 * 1024 * 1024 * 1024;

/// A line in the temporary file.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The number of the item there.
    number: u64,
    /// The number of the line in the archive.
    line: u64,
    offset: u64,
    length: u64,
}

/// Comments that were put aside.
#[derive(Default)]
pub(super) struct Aside {
    file: Option<BufWriter<File>>,
    places: Vec<Place>,
    bytes: u64,
}

impl Aside {
    /// Puts a line aside.
    pub(super) fn put(&mut self, number: u64, line: u64, written: &[u8]) -> anyhow::Result<()> {
        if self.places.len() >= MAX_ASIDE || self.bytes > MAX_ASIDE_BYTES {
            bail!(
                "stopped: more than {} comments, or {} bytes, come before what they reply to; sort the lines by their numbers",
                grouped(MAX_ASIDE as u64),
                grouped(MAX_ASIDE_BYTES)
            );
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = tempfile::tempfile().context("cannot create a temporary file")?;
                self.file.insert(BufWriter::new(file))
            }
        };
        file.write_all(written).context("cannot write to a temporary file")?;
        let length = u64::try_from(written.len())?;
        self.places.push(Place { number, line, offset: self.bytes, length });
        self.bytes += length;
        Ok(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.places.len()).unwrap_or(u64::MAX)
    }

    /// All of them, in the order of the numbers of their items: replies have higher ones.
    pub(super) fn into_lines(mut self) -> anyhow::Result<AsideLines> {
        self.places.sort_unstable_by_key(|place| (place.number, place.line));
        let file = match self.file {
            Some(file) => {
                Some(BufReader::new(file.into_inner().context("cannot write to a temporary file")?))
            }
            None => None,
        };
        Ok(AsideLines { file, places: self.places, next: 0 })
    }
}

/// Comments that are read again.
pub(super) struct AsideLines {
    file: Option<BufReader<File>>,
    places: Vec<Place>,
    next: usize,
}

impl AsideLines {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.places.len()).unwrap_or(u64::MAX)
    }

    /// The first of them in the archive; 0 without any.
    pub(super) fn first_line(&self) -> u64 {
        self.places.iter().map(|place| place.line).min().unwrap_or(0)
    }

    /// Reads the next one into the buffer. Returns its line in the archive; `None` at the end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> anyhow::Result<Option<u64>> {
        let (Some(place), Some(file)) = (self.places.get(self.next), &mut self.file) else {
            return Ok(None);
        };
        self.next += 1;
        line.clear();
        line.resize(usize::try_from(place.length)?, 0);
        file.seek(SeekFrom::Start(place.offset)).context("cannot read a temporary file")?;
        file.read_exact(line).context("cannot read a temporary file")?;
        Ok(Some(place.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_aside_comes_back_in_the_order_of_its_numbers() {
        let mut aside = Aside::default();
        for (number, line, text) in [(9, 1, "nine"), (3, 2, "three"), (5, 3, "")] {
            aside.put(number, line, text.as_bytes()).unwrap();
        }
        assert_eq!(aside.len(), 3);
        let mut lines = aside.into_lines().unwrap();
        assert_eq!((lines.len(), lines.first_line()), (3, 1));
        let (mut line, mut found) = (Vec::new(), Vec::new());
        while let Some(number) = lines.next(&mut line).unwrap() {
            found.push((number, String::from_utf8(line.clone()).unwrap()));
        }
        assert_eq!(found, [(2, "three".to_owned()), (3, String::new()), (1, "nine".to_owned())]);
        assert!(Aside::default().into_lines().unwrap().is_empty());
    }
}

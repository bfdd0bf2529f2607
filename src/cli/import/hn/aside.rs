//! Comments that come before what they reply to, in a temporary file until the end of the archive.

use anyhow::{Context, bail};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
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
    length: usize,
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
        self.places.push(Place { number, line, offset: self.bytes, length: written.len() });
        self.bytes += written.len() as u64;
        Ok(())
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// The first of them in the archive; 0 without any.
    pub(super) fn first_line(&self) -> u64 {
        self.places.iter().map(|place| place.line).min().unwrap_or(0)
    }

    /// All of them with their lines in the archive, in the order of the numbers of their items: replies have higher ones.
    pub(super) fn into_lines(mut self) -> anyhow::Result<impl Iterator<Item = io::Result<(u64, Vec<u8>)>>> {
        self.places.sort_unstable_by_key(|place| (place.number, place.line));
        let file =
            self.file.map(BufWriter::into_inner).transpose().context("cannot write to a temporary file")?;
        Ok(self.places.into_iter().map(move |place| {
            let mut line = vec![0; place.length];
            file.as_ref().map_or(Ok(()), |file| file.read_exact_at(&mut line, place.offset))?;
            Ok((place.line, line))
        }))
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
        assert_eq!((aside.len(), aside.first_line()), (3, 1));
        let found: Vec<(u64, Vec<u8>)> = aside.into_lines().unwrap().map(Result::unwrap).collect();
        assert_eq!(found, [(2, b"three".to_vec()), (3, Vec::new()), (1, b"nine".to_vec())]);
        assert_eq!(Aside::default().into_lines().unwrap().count(), 0);
    }
}

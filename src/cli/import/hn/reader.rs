//! Lines of a file of any length, without those that are too long.

use std::io::{self, BufRead, Read};

/// The most bytes of a line. A person of Hacker News may have posted 100,000 items, each of which has its number in
/// the line.
pub(super) const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// A line that was found, with its bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is in the buffer.
    Line(u64),
    /// It was skipped.
    TooLong(u64),
}

impl Found {
    /// The bytes that were read for it.
    pub(super) const fn bytes(&self) -> u64 {
        match self {
            Self::Line(bytes) | Self::TooLong(bytes) => *bytes,
        }
    }
}

/// Reads lines.
pub(super) struct LineReader<'a> {
    input: &'a mut dyn BufRead,
    number: u64,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, number: 0 }
    }

    /// The number of the last line, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line into the buffer, which is emptied before; `None` at the end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Found>> {
        line.clear();
        let read = (&mut self.input).take(MAX_LINE_BYTES + 1).read_until(b'\n', line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut bytes = u64::try_from(read).unwrap_or(u64::MAX);
        if bytes <= MAX_LINE_BYTES || line.ends_with(b"\n") {
            return Ok(Some(Found::Line(bytes)));
        }
        line.clear();
        loop {
            let part = self.input.fill_buf()?;
            let end = part.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(part.len(), |end| end + 1);
            let is_end = part.is_empty() || end.is_some();
            self.input.consume(length);
            bytes += u64::try_from(length).unwrap_or(u64::MAX);
            if is_end {
                return Ok(Some(Found::TooLong(bytes)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_most_bytes_is_read_and_a_longer_one_is_skipped() {
        let most = usize::try_from(MAX_LINE_BYTES).unwrap();
        for (length, is_read) in [(most, true), (most + 1, false), (3 * most, false)] {
            let text = [&vec![b'x'; length][..], b"\nnext"].concat();
            let mut input = &*text;
            let mut lines = LineReader::new(&mut input);
            let mut line = Vec::new();
            let found = lines.next(&mut line).unwrap().unwrap();
            assert_eq!(matches!(found, Found::Line(_)), is_read, "{length}");
            assert_eq!(found.bytes(), u64::try_from(length + 1).unwrap());
            assert_eq!(lines.next(&mut line).unwrap(), Some(Found::Line(4)));
            assert_eq!((&*line, lines.number()), (&b"next"[..], 2));
            assert_eq!(lines.next(&mut line).unwrap(), None);
        }
    }
}

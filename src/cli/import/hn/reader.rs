//! Lines of a file of any length, without those that are too long.

use std::io::{self, BufRead, Read};

/// The most bytes of a line. A person of Hacker News may have posted 100,000 items, each of which has its number in
/// the line.
pub(super) const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the next line into the buffer, which is emptied before. Returns how many bytes were read, 0 at the end, and
/// whether the line is in the buffer: one that is too long is skipped.
pub(super) fn read_line(mut input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    line.clear();
    let read = (&mut input).take(MAX_LINE_BYTES + 1).read_until(b'\n', line)?;
    if line.len() as u64 <= MAX_LINE_BYTES || line.ends_with(b"\n") {
        return Ok((read, true));
    }
    line.clear();
    Ok((read + input.skip_until(b'\n')?, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_most_bytes_is_read_and_a_longer_one_is_skipped() {
        let most = usize::try_from(MAX_LINE_BYTES).unwrap();
        for (length, is_read) in [(most, true), (most + 1, false), (3 * most, false)] {
            let text = [&vec![b'x'; length][..], b"\nnext"].concat();
            let (mut input, mut line) = (&*text, Vec::new());
            assert_eq!(read_line(&mut input, &mut line).unwrap(), (length + 1, is_read), "{length}");
            assert_eq!(read_line(&mut input, &mut line).unwrap(), (4, true));
            assert_eq!(&*line, b"next");
            assert_eq!(read_line(&mut input, &mut line).unwrap().0, 0);
        }
    }
}

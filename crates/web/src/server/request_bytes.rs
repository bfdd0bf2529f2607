//! Passes on the bytes of one request at a time.
//!
//! A client may send requests without waiting for the answers. The bytes of later requests
//! are held back here until the answer before has been sent. So the server knows at any time
//! whether a request, or the beginning of one, waits: when it stops, it answers everything that
//! was sent and only then closes.
//!
//! Bytes are never changed, so this cannot make the HTTP library understand a request in
//! another way. If the end of a head or a body is not found, everything is passed on.

use memchr::memchr_iter;

/// The part of a request that is read now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The head, up to its empty line.
    Head,
    /// This many bytes of the body; none if it has been read.
    Body(u64),
}

/// The bytes of a connection that have been read and not passed on.
#[derive(Debug, Default)]
pub struct RequestBytes {
    held: Vec<u8>,
    /// Where `held` begins.
    passed: usize,
    head_end: HeadEnd,
}

impl RequestBytes {
    /// Whether anything is held back.
    pub fn is_empty(&self) -> bool {
        self.passed >= self.held.len()
    }

    /// Bytes that were held back and belong to this part now, `room` at most. They count as
    /// passed on.
    pub fn take(&mut self, part: Part, room: usize) -> &[u8] {
        let begin = self.passed;
        let waiting = self.held.get(begin..).unwrap_or_default();
        let waiting = waiting.get(..room.min(waiting.len())).unwrap_or_default();
        let length = self.head_end.length(part, waiting);
        self.passed += length;
        let end = self.passed;
        self.held.get(begin..end).unwrap_or_default()
    }

    /// Says how many of these bytes, which have just arrived, belong to this part, and holds
    /// back the others. Nothing may be held back before.
    pub fn split(&mut self, part: Part, arrived: &[u8]) -> usize {
        let length = self.head_end.length(part, arrived);
        let rest = arrived.get(length..).unwrap_or_default();
        self.passed = 0;
        if rest.is_empty() {
            // Most clients never send a request ahead, and need no memory here.
            self.held = Vec::new();
        } else {
            self.held.clear();
            self.held.extend_from_slice(rest);
        }
        length
    }

    /// Whether a part of a head has been passed on, and not its end.
    pub const fn is_within_head(&self) -> bool {
        !matches!(self.head_end, HeadEnd::Before)
    }
}

/// How far the end of a head, an empty line, has been found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum HeadEnd {
    /// The head has not begun. Clients may send empty lines before it.
    #[default]
    Before,
    /// Within a line.
    Line,
    /// At the beginning of a line.
    Begin,
    /// After a carriage return at the beginning of a line.
    Return,
}

impl HeadEnd {
    /// How many of these bytes belong to this part.
    fn length(&mut self, part: Part, bytes: &[u8]) -> usize {
        match part {
            Part::Head => self.head_length(bytes),
            Part::Body(left) => bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
        }
    }

    fn head_length(&mut self, bytes: &[u8]) -> usize {
        let mut line_begin = 0;
        if *self == Self::Before {
            line_begin = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if line_begin == bytes.len() {
                return line_begin;
            }
            *self = Self::Line;
        }
        let searched = line_begin;
        for end in memchr_iter(b'\n', bytes.get(searched..).unwrap_or_default()) {
            let end = searched + end;
            if self.is_ended_by(bytes.get(line_begin..end).unwrap_or_default()) {
                *self = Self::Before;
                return end + 1;
            }
            *self = Self::Begin;
            line_begin = end + 1;
        }
        *self = self.after(bytes.get(line_begin..).unwrap_or_default());
        bytes.len()
    }

    /// Whether a line is empty that goes on with these bytes and ends.
    fn is_ended_by(self, line: &[u8]) -> bool {
        matches!((self, line), (Self::Begin, b"" | b"\r") | (Self::Return, b""))
    }

    /// The state after further bytes of the same line.
    const fn after(self, line: &[u8]) -> Self {
        match (self, line) {
            (state, b"") => state,
            (Self::Begin, b"\r") => Self::Return,
            _ => Self::Line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const BARE: &[u8] = b"GET / HTTP/1.1\nHost: localhost\n\n";
    const SPACED: &[u8] = b"\r\n\r\nGET / HTTP/1.1\r\nHost:\r\n x\r\n\r\n";

    /// The bytes that are passed on, head by head, if they arrive in these pieces.
    fn heads<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
        let mut bytes = RequestBytes::default();
        let mut heads = Vec::new();
        let mut head = Vec::new();
        for piece in pieces {
            let passed = bytes.split(Part::Head, piece);
            head.extend_from_slice(&piece[..passed]);
            loop {
                if !bytes.is_within_head() && !head.is_empty() {
                    heads.push(std::mem::take(&mut head));
                }
                if bytes.is_empty() {
                    break;
                }
                head.extend_from_slice(bytes.take(Part::Head, 7));
            }
        }
        if !head.is_empty() {
            heads.push(head);
        }
        heads
    }

    #[test]
    fn the_next_request_is_held_back_until_it_is_asked_for() {
        let mut bytes = RequestBytes::default();
        let two = [GET, b"GET /next"].concat();
        assert_eq!(bytes.split(Part::Head, &two), GET.len());
        assert!(!bytes.is_empty() && !bytes.is_within_head());
        assert_eq!(bytes.take(Part::Body(0), 100), b"");
        assert_eq!(bytes.take(Part::Head, 100), b"GET /next");
        assert!(bytes.is_empty() && bytes.is_within_head());
    }

    #[test]
    fn a_body_has_its_length() {
        let mut bytes = RequestBytes::default();
        let all = [b"POST / HTTP/1.1\r\n\r\n12345", GET].concat();
        assert_eq!(bytes.split(Part::Head, &all), 19);
        assert_eq!(bytes.take(Part::Body(5), 3), b"123");
        assert_eq!(bytes.take(Part::Body(2), 100), b"45");
        assert_eq!(bytes.take(Part::Head, 100), GET);
        assert!(bytes.is_empty());
        // A body of unknown length.
        assert_eq!(bytes.split(Part::Body(u64::MAX), b"abc"), 3);
        assert!(bytes.is_empty());
    }

    proptest! {
        #[test]
        fn heads_are_found_wherever_they_are_cut(
            kinds in prop::collection::vec(0..3usize, 1..5),
            cuts in prop::collection::vec(1..40usize, 0..20),
        ) {
            let requests: Vec<&[u8]> = kinds.iter().map(|kind| [GET, BARE, SPACED][*kind]).collect();
            let all = requests.concat();
            let mut rest = &all[..];
            let mut pieces = Vec::new();
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            let heads = heads(pieces.into_iter().filter(|piece| !piece.is_empty()));
            let trimmed = |head: &[u8]| {
                let blank = head.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                head[blank..].to_vec()
            };
            let found: Vec<Vec<u8>> =
                heads.iter().map(|head| trimmed(head)).filter(|head| !head.is_empty()).collect();
            let sent: Vec<Vec<u8>> = requests.iter().map(|request| trimmed(request)).collect();
            prop_assert_eq!(found, sent);
        }
    }
}

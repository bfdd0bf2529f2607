//! What is shown of a value, kept beside it: a text with gaps for what differs from
//! one reader to the next.

use memchr::memmem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What somebody has made of a value to show it, kept beside the value: it lives
/// as long and no longer. Many a value is shown only once: what is made then is
/// not kept. Nor is what has no room: by default nothing has, and as a rule one of
/// the two manners, that of most readers.
#[derive(Debug, Default)]
pub struct Shown {
    was_shown: AtomicBool,
    /// How many bytes may yet be kept.
    room: AtomicUsize,
    /// With links that open where they are, and with links that open new windows.
    cuts: [OnceLock<Option<Cut>>; 2],
}

impl Shown {
    /// With room for so many bytes, which the value's size tells of from the beginning.
    #[must_use]
    pub fn with_room(bytes: usize) -> Self {
        Self { room: AtomicUsize::new(bytes), ..Self::default() }
    }

    /// What was made for good, where links open new windows or do not; `None` when
    /// the value is shown for the first time, or this takes too much room.
    pub fn get_or_make(&self, new_windows: bool, make: impl FnOnce() -> Cut) -> Option<&Cut> {
        if !self.was_shown.load(Ordering::Relaxed) {
            self.was_shown.store(true, Ordering::Relaxed);
            return None;
        }
        let [same, new] = &self.cuts;
        let cut = if new_windows { new } else { same };
        cut.get_or_init(|| Some(make()).filter(|cut| self.takes(cut.size()))).as_ref()
    }

    fn takes(&self, bytes: usize) -> bool {
        let rest = |room: usize| room.checked_sub(bytes);
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }
}

/// How a value is shown is no part of it.
impl PartialEq for Shown {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A text in pieces.
#[derive(Debug)]
pub struct Cut {
    text: Box<str>,
    /// Where each piece but the last ends.
    ends: Box<[usize]>,
}

impl Cut {
    /// A text cut where it has a mark; the marks fall out.
    #[must_use]
    pub fn at(text: &str, mark: &str) -> Self {
        let (mut pieces, mut ends, mut start) = (String::with_capacity(text.len()), Vec::new(), 0);
        for at in memmem::find_iter(text.as_bytes(), mark) {
            pieces.push_str(text.get(start..at).unwrap_or_default());
            ends.push(pieces.len());
            start = at + mark.len();
        }
        pieces.push_str(text.get(start..).unwrap_or_default());
        Self { text: pieces.into(), ends: ends.into() }
    }

    /// How many bytes it takes beside itself.
    fn size(&self) -> usize {
        self.text.len() + size_of_val(&*self.ends)
    }

    /// How many marks there were.
    #[must_use]
    pub fn marks(&self) -> usize {
        self.ends.len()
    }

    /// The piece before each mark, in their order, and what follows the last.
    pub fn pieces(&self) -> (impl Iterator<Item = &str>, &str) {
        let mut start = 0;
        let last = self.ends.last().copied().unwrap_or(0);
        let before = self.ends.iter().map(move |end| {
            let piece = self.text.get(start..*end).unwrap_or_default();
            start = *end;
            piece
        });
        (before, self.text.get(last..).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_kept_while_there_is_room() {
        let shown = Shown::with_room(20);
        let made = |new_windows, text: &str| {
            let cut = shown.get_or_make(new_windows, || Cut::at(text, "|"));
            cut.map(|cut| cut.text.to_string())
        };
        assert_eq!(made(false, "the first time"), None);
        assert_eq!(made(false, "12345678|"), Some("12345678".to_owned()), "with 8 bytes for the mark");
        assert_eq!(made(true, "12345"), None, "4 bytes are left");
        assert_eq!(made(true, "1"), None, "nor is it tried again");
        assert_eq!(made(false, "another"), Some("12345678".to_owned()));
        assert!(Shown::default().get_or_make(false, || Cut::at("", "|")).is_none());
    }
}

//! How the comments of a thread are related: which one each replies to, the comments beside
//! it, and how many are below it.

use super::outline::ThreadPlace;
use crate::accounts::Sight;

/// The relatives of a comment, as positions in its thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Relatives {
    /// The comment on the story that it is below; `None` for a comment on the story itself.
    pub root: Option<usize>,
    /// The comment that it replies to.
    pub parent: Option<usize>,
    /// The comment before it that replies to the same.
    pub previous: Option<usize>,
    /// The comment after it that replies to the same.
    pub next: Option<usize>,
    /// How many comments its branch has, itself included.
    pub branch: usize,
}

/// The relatives of each comment, by position.
pub fn relatives(places: &[ThreadPlace]) -> Vec<Relatives> {
    let mut all: Vec<Relatives> = Vec::with_capacity(places.len());
    // The comments above the current one, and the last one on its own level and on those below.
    let mut last: Vec<usize> = Vec::new();
    for (position, place) in places.iter().enumerate() {
        let previous = last.get(place.depth).copied();
        let above = last.get(..place.depth).unwrap_or_default();
        let (root, parent) = (above.first().copied(), above.last().copied());
        // A comment that visitors do not know of is neither led to nor counted.
        let has_replies = places.get(position + 1).is_some_and(|next| next.depth > place.depth);
        let is_told = place.sight != Sight::LeftOut || has_replies;
        all.push(Relatives { root, parent, previous, next: None, branch: usize::from(is_told) });
        last.truncate(place.depth + usize::from(!is_told));
        if is_told {
            if let Some(previous) = previous.and_then(|previous| all.get_mut(previous)) {
                previous.next = Some(position);
            }
            last.push(position);
        }
    }
    // From the end: the size of a branch is known before it is added to that above.
    for position in (0..all.len()).rev() {
        let Some(Relatives { parent: Some(parent), branch, .. }) = all.get(position).copied() else {
            continue;
        };
        if let Some(above) = all.get_mut(parent) {
            above.branch += branch;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::outline::test_support::thread;
    use super::*;

    #[test]
    fn comments_know_those_above_and_beside_them_and_how_many_are_below() {
        let lines = thread(&[0, 1, 2, 1, 0, 1]);
        let relatives = relatives(lines.places());
        let of = |root, parent, previous, next, branch| Relatives { root, parent, previous, next, branch };
        assert_eq!(
            relatives,
            [
                of(None, None, None, Some(4), 4),
                of(Some(0), Some(0), None, Some(3), 2),
                of(Some(0), Some(1), None, None, 1),
                of(Some(0), Some(0), Some(1), None, 1),
                of(None, None, Some(0), None, 2),
                of(Some(4), Some(4), None, None, 1),
            ]
        );
    }
}

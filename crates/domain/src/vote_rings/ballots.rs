//! Votes in memory, as the statistics need them: about 16 bytes for each.

use crate::values::ids::UserId;
use std::collections::HashMap;

/// What is voted on. Chances differ so much between the two that they are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// Stories.
    Stories,
    /// Comments.
    Comments,
}

impl Layer {
    /// All layers.
    pub(super) const ALL: [Self; 2] = [Self::Stories, Self::Comments];

    /// The place in lists with a value for each layer.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Stories => 0,
            Self::Comments => 1,
        }
    }
}

/// An account, by its place in [`Ballots`].
pub(super) type Account = u32;

/// A story or a comment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) author: Account,
    /// When it was posted, in Unix seconds.
    pub(super) posted: u64,
    pub(super) layer: Layer,
}

/// A vote up for something that another account posted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vote {
    pub(super) voter: Account,
    /// The place of the item in [`Ballots`].
    pub(super) item: u32,
    /// Seconds from the posting to the vote; not known of comments.
    pub(super) delay: Option<u32>,
}

/// Everything that was voted on, and the votes.
#[derive(Debug, Default)]
pub(super) struct Ballots {
    pub(super) accounts: Vec<UserId>,
    places: HashMap<UserId, Account>,
    pub(super) items: Vec<Item>,
    pub(super) votes: Vec<Vote>,
}

impl Ballots {
    fn place(&mut self, id: UserId) -> Account {
        let next = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
        let accounts = &mut self.accounts;
        *self.places.entry(id).or_insert_with(|| {
            accounts.push(id);
            next
        })
    }

    /// Adds what somebody posted, and the votes up on it with their times, where those are
    /// known. Votes on what one posts oneself do not count.
    pub(super) fn add(
        &mut self,
        (author, posted): (UserId, u64),
        layer: Layer,
        votes: impl IntoIterator<Item = (UserId, Option<u64>)>,
    ) {
        let place = self.place(author);
        let item = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(Item { author: place, posted, layer });
        for (voter, time) in votes {
            if voter != author {
                let voter = self.place(voter);
                let seconds = |time: u64| u32::try_from(time.saturating_sub(posted)).unwrap_or(u32::MAX);
                self.votes.push(Vote { voter, item, delay: time.map(seconds) });
            }
        }
    }

    /// The item that a vote is on.
    pub(super) fn item(&self, vote: Vote) -> Item {
        // Every vote was added with its item.
        self.items.get(vote.item as usize).copied().unwrap_or(Item {
            author: vote.voter,
            posted: 0,
            layer: Layer::Stories,
        })
    }
}

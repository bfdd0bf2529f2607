//! Votes in memory, as the statistics need them: about 16 bytes for each.
use std::collections::HashMap;

/// A kind of item that is voted on. Chances differ so much between the two that they are never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Stories.
    Stories,
    /// Comments.
    Comments,
}

impl Layer {
    /// All layers.
    pub(crate) const ALL: [Self; 2] = [Self::Stories, Self::Comments];

    /// The place in lists with a value for each layer.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Stories => 0,
            Self::Comments => 1,
        }
    }
}

/// An account, by its place in [`Ballots`].
pub(crate) type Account = u32;

/// A story or a comment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) author: Account,
    /// When it was posted, in Unix seconds.
    pub(crate) posted: u64,
    pub(crate) layer: Layer,
}

/// A vote up for something that another account posted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vote {
    pub(crate) voter: Account,
    /// The place of the item in [`Ballots`].
    pub(crate) item: u32,
    /// Seconds from the posting to the vote; not known of comments.
    pub(crate) delay: Option<u32>,
}

/// Everything that was voted on, and the votes.
#[derive(Debug, Default)]
pub struct Ballots {
    pub(crate) accounts: Vec<u64>,
    places: HashMap<u64, Account>,
    pub(crate) items: Vec<Item>,
    pub(crate) votes: Vec<Vote>,
}

impl Ballots {
    fn place(&mut self, id: u64) -> Account {
        let next = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
        let accounts = &mut self.accounts;
        *self.places.entry(id).or_insert_with(|| {
            accounts.push(id);
            next
        })
    }

    /// Adds what somebody posted at a time in Unix seconds, and the votes up on it with their times, where those are
    /// known. Votes on what one posts oneself do not count.
    pub fn add(
        &mut self,
        (author, posted): (u64, u64),
        layer: Layer,
        votes: impl IntoIterator<Item = (u64, Option<u64>)>,
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

    /// The number of votes.
    pub fn len(&self) -> usize {
        self.votes.len()
    }

    /// Whether there are no votes.
    pub fn is_empty(&self) -> bool {
        self.votes.is_empty()
    }

    /// The item that a vote is on.
    pub(crate) fn item(&self, vote: Vote) -> Item {
        // Every vote was added with its item.
        self.items.get(vote.item as usize).copied().unwrap_or(Item {
            author: vote.voter,
            posted: 0,
            layer: Layer::Stories,
        })
    }
}

//! How much one account votes for another, and how much chance would have it.

use crate::ballots::{Account, Ballots, Layer};
use crate::null_model::NullModel;

/// An account has the chance to vote for what is posted this long before its first and after its
/// last activity, in seconds.
const AROUND_ACTIVITY: u64 = 86_400;

/// The votes of one account for another, or within a group, of each layer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tie {
    /// Votes.
    pub(crate) votes: [u64; 2],
    /// Items that it could have voted for.
    pub(crate) chances: [u64; 2],
    /// Votes that chance would have it cast.
    pub(crate) expected: f64,
}

impl Tie {
    /// The votes of all layers.
    pub(crate) fn all_votes(&self) -> u64 {
        self.votes.iter().sum()
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        let sum = |one: [u64; 2], other: [u64; 2]| [one[0] + other[0], one[1] + other[1]];
        Self {
            votes: sum(self.votes, other.votes),
            chances: sum(self.chances, other.chances),
            expected: self.expected + other.expected,
        }
    }

    /// A measure of the part of its chances that it took: of the layer where that is more.
    pub(crate) fn share(&self, measure: impl Fn(u64, u64) -> f64) -> f64 {
        let [stories, comments] = [0, 1].map(|layer: usize| {
            let of = |counts: [u64; 2]| counts.get(layer).copied().unwrap_or(0);
            measure(of(self.votes), of(self.chances))
        });
        stories.max(comments)
    }
}

/// Votes of one account for another, counted.
#[derive(Debug, Clone, Copy)]
struct Counted {
    voter: Account,
    author: Account,
    votes: [u64; 2],
}

/// All ties of some votes.
pub(crate) struct Ties<'a> {
    ballots: &'a Ballots,
    models: [NullModel; 2],
    /// By voter and author.
    counted: Vec<Counted>,
    /// The same pairs by author: the author and the voter.
    by_author: Vec<(Account, Account)>,
    /// The items that can be voted for, by author, layer and time.
    items: Vec<(Account, Layer, u64, u32)>,
    /// The first and the last activity of each account.
    active: Vec<(u64, u64)>,
}

impl<'a> Ties<'a> {
    /// Counts the votes, and fits the null models to them.
    pub(crate) fn of(ballots: &'a Ballots) -> Self {
        let mut active = vec![(u64::MAX, 0); ballots.accounts.len()];
        let mut note = |account: Account, time: u64| {
            if let Some((first, last)) = active.get_mut(account as usize) {
                (*first, *last) = ((*first).min(time), (*last).max(time));
            }
        };
        let mut pairs = Vec::with_capacity(ballots.votes.len());
        for vote in &ballots.votes {
            let item = ballots.item(*vote);
            note(vote.voter, item.posted + u64::from(vote.delay.unwrap_or(0)));
            pairs.push((vote.voter, item.author, item.layer));
        }
        let mut items = Vec::with_capacity(ballots.items.len());
        for (number, item) in (0_u32..).zip(&ballots.items) {
            note(item.author, item.posted);
            items.push((item.author, item.layer, item.posted, number));
        }
        items.sort_unstable();
        pairs.sort_unstable();
        let mut counted: Vec<Counted> = Vec::new();
        for (voter, author, layer) in pairs {
            let is_known = counted.last().is_some_and(|last| (last.voter, last.author) == (voter, author));
            if !is_known {
                counted.push(Counted { voter, author, votes: [0; 2] });
            }
            if let Some(votes) = counted.last_mut().and_then(|last| last.votes.get_mut(layer.index())) {
                *votes += 1;
            }
        }
        let mut by_author: Vec<_> = counted.iter().map(|pair| (pair.author, pair.voter)).collect();
        by_author.sort_unstable();
        let models = Layer::ALL.map(|layer| NullModel::of(ballots, layer));
        Self { ballots, models, counted, by_author, items, active }
    }

    /// The number of accounts.
    pub(crate) fn accounts(&self) -> usize {
        self.ballots.accounts.len()
    }

    fn votes(&self, voter: Account, author: Account) -> [u64; 2] {
        let key = (voter, author);
        let found = self.counted.binary_search_by_key(&key, |pair| (pair.voter, pair.author));
        found.ok().and_then(|place| self.counted.get(place)).map_or([0; 2], |pair| pair.votes)
    }

    /// The pairs of accounts that have voted for each other, each once.
    pub(crate) fn mutual(&self) -> impl Iterator<Item = (Account, Account)> {
        let voted = self.counted.iter().filter(|pair| pair.voter < pair.author);
        voted
            .filter(|pair| self.votes(pair.author, pair.voter) != [0; 2])
            .map(|pair| (pair.voter, pair.author))
    }

    /// The accounts that have voted for an account.
    pub(crate) fn voters_for(&self, author: Account) -> impl Iterator<Item = Account> {
        let start = self.by_author.partition_point(|(other, _)| *other < author);
        let of_author = self.by_author.iter().skip(start).take_while(move |(other, _)| *other == author);
        of_author.map(|(_, voter)| *voter)
    }

    /// Whether an account has posted anything that could be voted for.
    pub(crate) fn has_items(&self, author: Account) -> bool {
        self.items_of(author, Layer::Stories).len() + self.items_of(author, Layer::Comments).len() > 0
    }

    /// The items of an author in a layer, by time.
    fn items_of(&self, author: Account, layer: Layer) -> &[(Account, Layer, u64, u32)] {
        let start = self.items.partition_point(|item| (item.0, item.1) < (author, layer));
        let end = self.items.partition_point(|item| (item.0, item.1) <= (author, layer));
        self.items.get(start..end).unwrap_or_default()
    }

    /// The votes of one account for another.
    pub(crate) fn tie(&self, voter: Account, author: Account) -> Tie {
        let mut tie = Tie { votes: self.votes(voter, author), ..Tie::default() };
        let (first, last) = self.active.get(voter as usize).copied().unwrap_or_default();
        let (first, last) = (first.saturating_sub(AROUND_ACTIVITY), last.saturating_add(AROUND_ACTIVITY));
        for ((layer, model), (votes, chances)) in
            Layer::ALL.into_iter().zip(&self.models).zip(tie.votes.into_iter().zip(&mut tie.chances))
        {
            let items = self.items_of(author, layer);
            let begun = items.partition_point(|item| item.2 < first);
            let ended = items.partition_point(|item| item.2 <= last);
            *chances = u64::try_from(ended.saturating_sub(begun)).unwrap_or(0).max(votes);
            tie.expected += model.expected(voter, items.iter().map(|item| item.3));
        }
        tie
    }

    /// The votes of all members of a group for each other.
    pub(crate) fn within(&self, group: &[Account]) -> Tie {
        let pairs = group.iter().flat_map(|voter| group.iter().map(move |author| (*voter, *author)));
        pairs
            .filter(|(voter, author)| voter != author)
            .fold(Tie::default(), |sum, (voter, author)| sum.and(self.tie(voter, author)))
    }

    /// The votes of an account for a group, and of the group for the account.
    pub(crate) fn with_group(&self, account: Account, group: &[Account]) -> [Tie; 2] {
        let others = || group.iter().copied().filter(|other| *other != account);
        let given = others().fold(Tie::default(), |sum, other| sum.and(self.tie(account, other)));
        let received = others().fold(Tie::default(), |sum, other| sum.and(self.tie(other, account)));
        [given, received]
    }
}

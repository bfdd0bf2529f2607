//! The votes to expect if nobody preferred anybody: voters who vote much vote for much, and items
//! that get many votes get them from anybody.
//!
//! It is the bipartite configuration model: of all random graphs in which every voter casts as
//! many votes, and every item gets as many, as in reality (on average), the one that assumes
//! nothing else. The chance that voter `v` votes for item `i` is `x y / (1 + x y)`, with a number
//! `x` for each voter and `y` for each item. (T. Squartini and D. Garlaschelli, New Journal of
//! Physics 13, 083001, 2011; F. Saracco and others, Scientific Reports 5, 10595, 2015.)

use crate::ballots::{Account, Ballots, Layer};

/// The most rounds of the computation. It is exact enough after fewer on any real site.
const ROUNDS: usize = 60;
/// How little the numbers change in the last round.
const PRECISION: f64 = 1e-3;

/// The chances of all votes of one layer.
pub(crate) struct NullModel {
    /// `x` of each account; 0 of those that do not vote.
    voters: Vec<f64>,
    /// `y` of each item; 0 of those without votes and of those in other layers.
    items: Vec<f64>,
}

/// Voters, or items, with the same number of votes: they have the same number in the model.
struct Classes {
    /// The number of votes, how many have it, and the number in the model.
    classes: Vec<(f64, f64, f64)>,
    /// The class of each voter or item.
    class_of: Vec<Option<usize>>,
}

impl Classes {
    fn of(degrees: &[u32], total: f64) -> Self {
        let mut distinct: Vec<u32> = degrees.iter().copied().filter(|degree| *degree > 0).collect();
        distinct.sort_unstable();
        let mut classes: Vec<(f64, f64, f64)> = Vec::new();
        let mut values: Vec<u32> = Vec::new();
        for degree in distinct {
            match classes.last_mut().filter(|_| values.last() == Some(&degree)) {
                Some((_, count, _)) => *count += 1.0,
                None => {
                    values.push(degree);
                    classes.push((f64::from(degree), 1.0, f64::from(degree) / total.sqrt()));
                }
            }
        }
        let class_of = degrees.iter().map(|degree| values.binary_search(degree).ok()).collect();
        Self { classes, class_of }
    }

    /// Fits the numbers to those of the other side. Returns the largest change.
    fn fit(&mut self, others: &Self) -> f64 {
        let mut largest: f64 = 0.0;
        for (degree, _, number) in &mut self.classes {
            let sum: f64 =
                others.classes.iter().map(|(_, count, other)| count * other / (1.0 + *number * other)).sum();
            let fitted = *degree / sum.max(f64::MIN_POSITIVE);
            largest = largest.max((fitted - *number).abs() / number.max(f64::MIN_POSITIVE));
            *number = fitted;
        }
        largest
    }

    fn numbers(&self) -> Vec<f64> {
        let number = |class: &Option<usize>| class.and_then(|class| Some(self.classes.get(class)?.2));
        self.class_of.iter().map(|class| number(class).unwrap_or(0.0)).collect()
    }
}

impl NullModel {
    /// Fits the model to the votes of a layer.
    pub(crate) fn of(ballots: &Ballots, layer: Layer) -> Self {
        let mut given = vec![0_u32; ballots.accounts.len()];
        let mut received = vec![0_u32; ballots.items.len()];
        let mut total = 0.0_f64;
        for vote in ballots.votes.iter().filter(|vote| ballots.item(**vote).layer == layer) {
            for count in [given.get_mut(vote.voter as usize), received.get_mut(vote.item as usize)]
                .into_iter()
                .flatten()
            {
                *count += 1;
            }
            total += 1.0;
        }
        let (mut voters, mut items) = (Classes::of(&given, total), Classes::of(&received, total));
        for _ in 0..ROUNDS {
            let change = voters.fit(&items).max(items.fit(&voters));
            if change < PRECISION {
                break;
            }
        }
        Self { voters: voters.numbers(), items: items.numbers() }
    }

    /// The votes that are expected of a voter for some items.
    pub(crate) fn expected(&self, voter: Account, items: impl Iterator<Item = u32>) -> f64 {
        let x = self.voters.get(voter as usize).copied().unwrap_or(0.0);
        let y = |item: u32| self.items.get(item as usize).copied().unwrap_or(0.0);
        items.map(y).map(|y| x * y / (1.0 + x * y)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_gives_everybody_as_many_votes_as_they_cast() {
        let mut ballots = Ballots::default();
        // Author 1000 posts 40 stories. Voter n votes for every n-th.
        for story in 0..40_u64 {
            let voters = (2..=20).filter(|voter| story % voter == 0).map(|voter| (voter, None));
            ballots.add((1_000, story), Layer::Stories, voters);
        }
        let model = NullModel::of(&ballots, Layer::Stories);
        for (place, id) in (0..).zip(&ballots.accounts) {
            let cast = ballots.votes.iter().filter(|vote| vote.voter == place).count();
            let expected = model.expected(place, 0..40);
            #[allow(clippy::cast_precision_loss)]
            let cast = cast as f64;
            assert!((expected - cast).abs() < 0.1, "{id}: {expected} for {cast}");
        }
        assert!(NullModel::of(&ballots, Layer::Comments).expected(0, 0..40) < f64::MIN_POSITIVE);
    }
}

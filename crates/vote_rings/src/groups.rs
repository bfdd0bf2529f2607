//! Finding groups of accounts that vote for each other.
//!
//! 1. Two accounts have a bond if each votes for the other, both far more often than is likely
//!    by chance, and a fair part of what the other posts.
//! 2. Where bonds are dense is a candidate: accounts with too few bonds are taken away until each
//!    of the rest has one with at least half of them.
//! 3. Others who vote for nearly everything of a candidate join it.
//! 4. A candidate is reported if the votes within it are so many that among all groups of its
//!    size that one could form, chance would hardly make one; and if its members vote for so
//!    large a part of what the others post that friends or readers with the same taste do not.

use crate::ballots::Account;
use crate::chance::{ln_at_least, ln_groups, share_at_least};
use crate::ties::{Tie, Ties};
use std::collections::{BTreeMap, BTreeSet};

/// The fewest accounts of a ring.
pub const SMALLEST: usize = 3;
/// The logarithm of the chance of the votes of a bond, both ways together.
const BOND_CHANCE: f64 = -11.0;
/// The logarithm of the chance of the votes of a bond, each way.
const ONE_WAY_CHANCE: f64 = -3.5;
/// The part of what two accounts post that they vote for, for a bond.
const BOND_SHARE: f64 = 0.25;
/// The part of a candidate with which each member has a bond.
const DENSITY: f64 = 0.5;
/// The part of what members post that the others vote for, in a large group. Friends who read
/// everything of each other vote for less.
const RING_SHARE: f64 = 0.35;
/// This part, divided by the number of accounts, is added to [`RING_SHARE`]: the smaller a group, the
/// more likely its members are good friends.
const SMALL_RING_SHARE: f64 = 0.45;
/// The part of what an account posts that a group votes for which it joins.
const JOIN_SHARE: f64 = 0.25;
/// How many times as many votes as expected.
const RING_EXCESS: f64 = 4.0;
/// The logarithm of the chance that there is a group like a ring anywhere on the site.
const RING_CHANCE: f64 = -7.0;
/// The fewest votes that a member gives to the others.
const MEMBER_VOTES: u64 = 2;

/// The bonds of each account.
type Bonds = BTreeMap<Account, BTreeSet<Account>>;

/// The groups that vote for each other, those with the most votes first.
pub(crate) fn find(ties: &Ties<'_>) -> Vec<(Vec<Account>, Tie)> {
    let mut bonds = Bonds::new();
    for (one, other) in ties.mutual().filter(|(one, other)| is_bond(ties, *one, *other)) {
        bonds.entry(one).or_default().insert(other);
        bonds.entry(other).or_default().insert(one);
    }
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for mut group in dense_groups(&bonds) {
        if group.len() < SMALLEST {
            continue;
        }
        group.retain(|account| !taken.contains(account));
        join(ties, &mut group);
        if let Some(tie) = ring(ties, &group) {
            taken.extend(group.iter().copied());
            found.push((group, tie));
        }
    }
    found.sort_by_key(|(group, tie)| (std::cmp::Reverse(tie.all_votes()), group.clone()));
    found
}

/// The part that some votes are of what could be voted for.
pub(crate) fn plain_share(votes: u64, chances: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    if chances == 0 { 0.0 } else { votes as f64 / chances as f64 }
}

fn ln_chance(tie: &Tie) -> f64 {
    ln_at_least(tie.all_votes(), tie.expected)
}

fn is_bond(ties: &Ties<'_>, one: Account, other: Account) -> bool {
    let [there, back] = [ties.tie(one, other), ties.tie(other, one)];
    let [ln_there, ln_back] = [ln_chance(&there), ln_chance(&back)];
    ln_there.max(ln_back) <= ONE_WAY_CHANCE
        && ln_there + ln_back <= BOND_CHANCE
        && there.and(back).share(plain_share) >= BOND_SHARE
}

/// Takes the accounts apart into dense groups, and what is left over.
fn dense_groups(bonds: &Bonds) -> Vec<Vec<Account>> {
    let mut left: Vec<BTreeSet<Account>> = components(bonds, &bonds.keys().copied().collect());
    let mut groups = Vec::new();
    while let Some(mut accounts) = left.pop() {
        let core = dense_core(bonds, &accounts);
        accounts.retain(|account| !core.contains(account));
        left.extend(components(bonds, &accounts));
        groups.push(core.into_iter().collect());
    }
    groups
}

/// The parts of some accounts that have no bond with each other.
fn components(bonds: &Bonds, accounts: &BTreeSet<Account>) -> Vec<BTreeSet<Account>> {
    let mut left = accounts.clone();
    let mut found = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut component, mut open) = (BTreeSet::from([first]), vec![first]);
        while let Some(account) = open.pop() {
            for other in bonds.get(&account).into_iter().flatten() {
                if left.remove(other) {
                    component.insert(*other);
                    open.push(*other);
                }
            }
        }
        found.push(component);
    }
    found
}

/// The accounts that are left when those with the fewest bonds have been taken away one after the
/// other, until each has one with [`DENSITY`] of the rest.
fn dense_core(bonds: &Bonds, accounts: &BTreeSet<Account>) -> BTreeSet<Account> {
    let mut core = accounts.clone();
    let degree =
        |account: &Account| bonds.get(account).map_or(0, |others| others.intersection(accounts).count());
    let mut degrees: BTreeMap<Account, usize> =
        accounts.iter().map(|account| (*account, degree(account))).collect();
    let mut order: BTreeSet<(usize, Account)> =
        degrees.iter().map(|(account, degree)| (*degree, *account)).collect();
    while let Some((fewest, account)) = order.pop_first() {
        #[allow(clippy::cast_precision_loss)]
        if fewest as f64 >= DENSITY * (core.len() - 1) as f64 {
            break;
        }
        core.remove(&account);
        for other in bonds.get(&account).into_iter().flatten().filter(|other| core.contains(other)) {
            if let Some(degree) = degrees.get_mut(other) {
                order.remove(&(*degree, *other));
                *degree = degree.saturating_sub(1);
                order.insert((*degree, *other));
            }
        }
    }
    core
}

/// Adds the accounts that vote for nearly everything of a group, and for which the group votes as
/// well, if they post.
fn join(ties: &Ties<'_>, group: &mut Vec<Account>) {
    let mut votes: BTreeMap<Account, usize> = BTreeMap::new();
    for member in group.iter() {
        for voter in ties.voters_for(*member) {
            *votes.entry(voter).or_default() += 1;
        }
    }
    let half = group.len().div_ceil(2);
    let members: BTreeSet<Account> = group.iter().copied().collect();
    #[allow(clippy::cast_precision_loss)]
    let by_chance = RING_CHANCE - (ties.accounts().max(1) as f64).ln();
    for (account, _) in
        votes.into_iter().filter(|(account, count)| *count >= half && !members.contains(account))
    {
        let [given, received] = ties.with_group(account, group);
        let is_returned = !ties.has_items(account) || received.share(plain_share) >= JOIN_SHARE;
        if is_returned
            && given.share(share_at_least) >= RING_SHARE
            && ln_chance(&given.and(received)) <= by_chance
        {
            group.push(account);
        }
    }
}

/// The part of what they post that the members of a ring of some size vote for.
fn needed_share(accounts: usize) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let accounts = accounts.max(1) as f64;
    RING_SHARE + SMALL_RING_SHARE / accounts
}

/// The votes within a group, if it is a ring.
fn ring(ties: &Ties<'_>, group: &[Account]) -> Option<Tie> {
    let tie = ties.within(group);
    #[allow(clippy::cast_precision_loss)]
    let excess = tie.all_votes() as f64 / tie.expected.max(f64::MIN_POSITIVE);
    let gives = |account: &Account| ties.with_group(*account, group)[0].all_votes() >= MEMBER_VOTES;
    let is_ring = group.len() >= SMALLEST
        && tie.share(share_at_least) >= needed_share(group.len())
        && excess >= RING_EXCESS
        && ln_chance(&tie) + ln_groups(ties.accounts(), group.len()) <= RING_CHANCE
        && group.iter().all(gives);
    is_ring.then_some(tie)
}

//! The newest entries of several lists as one list, without duplicates.
//!
//! Each list is a sorted set by time. A round reads some entries from the top of every
//! list. While unread entries of a list could be among the newest, another round continues
//! that list. If all entries have different times, one round is enough.

use crate::values::{Cursor, Window};
use tidings_keyspace::{Fetch, Order, read};

/// Extra entries read from each list, for ties at the end of the page.
const SLACK: u64 = 8;
/// With more lists than this, the first round reads only a share of the page from each.
const MANY_LISTS: usize = 64;

/// A merge of several lists in progress.
pub(crate) struct Merge {
    lists: Vec<MergedList>,
    window: Window,
    /// The lowest score of interest.
    least: f64,
    found: Vec<Cursor>,
    done: bool,
}

/// One of the lists, as far as it has been read.
struct MergedList {
    key: String,
    /// Everything above this score has been read; entries with it may be unread.
    most: f64,
    /// Entries to read in the next round.
    limit: u64,
    /// Whether the next round reads it.
    is_wanted: bool,
    /// Whether all of it has been read.
    is_known: bool,
}

/// Members with their scores.
type Entries = Vec<(String, f64)>;

impl Merge {
    /// A merge of the entries of a window whose score is above `floor`, if there is one,
    /// and at most `ceiling`.
    pub(crate) fn new(lists: Vec<String>, window: Window, floor: Option<f64>, ceiling: f64) -> Self {
        let since = window.since.map_or(f64::NEG_INFINITY, |since| since.score);
        let most = window.before.map_or(f64::INFINITY, |before| before.score).min(ceiling);
        let limit = first_limit(window.count, lists.len());
        let list = |key| MergedList { key, most, limit, is_wanted: true, is_known: false };
        Self {
            done: lists.is_empty(),
            lists: lists.into_iter().map(list).collect(),
            window,
            least: floor.map_or(since, |floor| since.max(floor.next_up())),
            found: Vec::new(),
        }
    }

    /// Whether the window is full, or all lists have been read.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// The entries of the next round, each list with its position.
    pub(crate) fn next_round(&self) -> impl Fetch<Value = Vec<(usize, Entries)>> + use<> {
        let wanted = self.lists.iter().enumerate().filter(|(_, list)| list.is_wanted && !self.done);
        let read = |(position, list): (usize, &MergedList)| {
            let bounds = (self.least, list.most);
            let entries = read::sorted_by_score(&list.key, Order::Descending, bounds, list.limit);
            entries.or_absent().map(move |entries| (position, entries))
        };
        wanted.map(read).collect::<Vec<_>>()
    }

    /// The bounds and the number of entries to read next from the only list, for a list that is not
    /// in the store. `None` when the merge is done.
    pub(crate) fn wanted(&self) -> Option<((f64, f64), u64)> {
        let list = self.lists.iter().find(|list| list.is_wanted).filter(|_| !self.done)?;
        Some(((self.least, list.most), list.limit))
    }

    /// Takes the entries of the only list.
    pub(crate) fn take_only(&mut self, entries: Entries) {
        self.add(vec![(0, entries)]);
    }

    /// Adds the entries of a round.
    pub(crate) fn add(&mut self, read: Vec<(usize, Entries)>) {
        for (position, entries) in read {
            let read = entries.iter().filter_map(|(member, score)| Cursor::of_member(member, *score));
            self.found.extend(read.filter(|entry| self.window.has(entry)));
            let Some(list) = self.lists.get_mut(position) else { continue };
            list.is_known = u64::try_from(entries.len()).is_ok_and(|length| length < list.limit);
            if let Some((_, lowest)) = entries.last() {
                if *lowest >= list.most {
                    // All entries have the same time: the next round must read more of them.
                    list.limit = list.limit.saturating_mul(2);
                }
                list.most = *lowest;
            }
        }
        self.found.sort_by(|entry, other| other.order(entry));
        self.found.dedup_by_key(|entry| entry.id);
        // Entries after the last one of the window do not matter.
        let last = self.window.count.checked_sub(1).and_then(|last| self.found.get(last));
        let needed = match last {
            Some(last) => last.score,
            None if self.window.count == 0 => f64::INFINITY,
            None => f64::NEG_INFINITY,
        };
        self.lists.iter_mut().for_each(|list| list.is_wanted = !list.is_known && list.most >= needed);
        self.found.truncate(self.window.count);
        self.done = !self.lists.iter().any(|list| list.is_wanted);
    }

    /// The entries, newest first.
    pub(crate) fn into_entries(mut self) -> Vec<Cursor> {
        self.found.truncate(self.window.count);
        self.found
    }
}

/// Entries that the first round reads from each list.
fn first_limit(count: usize, lists: usize) -> u64 {
    let share = if lists > MANY_LISTS { count.min(4 * count / lists + 1) } else { count };
    u64::try_from(share).unwrap_or(u64::MAX).saturating_add(SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidings_keyspace::{Batch, Store};

    /// Entries of few scores, so that most of them are ties.
    fn entries() -> impl Strategy<Value = Vec<(u64, u32)>> {
        prop::collection::vec((1..120_u64, 0..6_u32), 0..60)
    }

    fn cursor() -> impl Strategy<Value = Option<Cursor>> {
        prop::option::of((0..7_u32, 1..120_u64).prop_map(|(score, id)| Cursor { score: score.into(), id }))
    }

    /// The result of a merge, and the expected newest entries of all lists.
    async fn merged(
        lists: Vec<Vec<(u64, u32)>>,
        window: Window,
        floor: Option<f64>,
    ) -> (Vec<Cursor>, Vec<Cursor>) {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        // An entry has the same score wherever it is.
        let mut scores = std::collections::BTreeMap::new();
        for (number, list) in lists.iter().enumerate() {
            for (id, score) in list {
                let score = *scores.entry(*id).or_insert(*score);
                batch.sorted_add(number.to_string(), id.to_string(), score.into());
            }
            batch.sorted_add(number.to_string(), "nonsense", 3.0);
        }
        store.commit(batch).await.unwrap();

        let keys = (0..lists.len()).map(|number| number.to_string()).collect();
        let mut merge = Merge::new(keys, window, floor, f64::INFINITY);
        while !merge.is_done() {
            merge.add(store.fetch(merge.next_round()).await.unwrap());
        }

        let all = scores.iter().map(|(id, score)| Cursor { score: (*score).into(), id: *id });
        let mut expected: Vec<Cursor> =
            all.filter(|entry| window.has(entry) && floor.is_none_or(|floor| entry.score > floor)).collect();
        expected.sort_by(|entry, other| other.order(entry));
        expected.truncate(window.count);
        (merge.into_entries(), expected)
    }

    #[track_caller]
    fn check(lists: Vec<Vec<(u64, u32)>>, window: Window, floor: Option<u32>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (merged, expected) = runtime.block_on(merged(lists, window, floor.map(f64::from)));
        assert_eq!(merged, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn a_merge_is_the_sorted_whole(
            lists in prop::collection::vec(entries(), 0..4),
            before in cursor(),
            since in cursor(),
            count in 0..40_usize,
            floor in prop::option::of(0..7_u32),
        ) {
            check(lists, Window { before, since, count }, floor);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn a_merge_of_many_lists_is_the_sorted_whole(
            lists in prop::collection::vec(entries(), MANY_LISTS - 1..MANY_LISTS + 3),
            before in cursor(),
            count in 0..100_usize,
        ) {
            check(lists, Window { before, since: None, count }, None);
        }
    }

    #[test]
    fn from_many_lists_fewer_entries_each_are_read() {
        assert_eq!(first_limit(50, MANY_LISTS), 50 + SLACK);
        assert_eq!(first_limit(50, MANY_LISTS + 1), 4 + SLACK);
        assert_eq!(first_limit(1, MANY_LISTS + 1), 1 + SLACK);
    }
}

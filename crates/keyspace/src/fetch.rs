//! Things that are read together: a read of [`read`], what is made of several reads with [`Fetch::map`], and
//! tuples, arrays, vectors and options of these.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidings_keyspace::{Store, StoreOptions, read};
//!
//! let store = Store::open("redb::memory:", &StoreOptions::default()).await?;
//! let (user, scores) = store.fetch((read::hash("user:1"), read::scores("leaderboard", ["ada"]))).await?;
//! assert!(user.is_empty());
//! assert_eq!(scores, [None]);
//! # Ok(())
//! # }
//! ```

use crate::query::{Answers, FromAnswer, Query};
use crate::read_set::Tracked;
use std::ops::Range;

/// Something that is made of reads. All that one [`Store::fetch`](crate::Store::fetch) asks for travels in
/// one round.
pub trait Fetch: Sized {
    /// The claims to the answers.
    type Asked: Send;
    /// The value that is made of the answers.
    type Value;

    /// Adds the reads to a query.
    fn ask(self, query: &mut Query) -> Self::Asked;

    /// Makes the value of the answers.
    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value;

    /// Makes another value of the answers.
    fn map<T, M: FnOnce(Self::Value) -> T + Send>(self, make: M) -> Map<Self, M> {
        Map { fetch: self, make }
    }

    /// Tolerates that a value cannot be read, because it has another type or is damaged: the
    /// round then succeeds, the key reads as absent, and the log names it (see
    /// [`report_unreadable`](crate::report_unreadable)). [`Fetch::if_readable`] tells the two apart.
    ///
    /// It is for items of lists, and for what a page can do without. It is not for what an
    /// action decides from, nor for the page of the item itself, which must say that it cannot
    /// be read instead of that it does not exist.
    fn or_absent(self) -> Marked<Self> {
        Marked(self, Query::tolerate_from)
    }

    /// Says that the answers may be so large (more than about a megabyte) that reading them would hold up the other tasks
    /// of the caller's thread. The embedded engine then reads on another thread, which costs some microseconds.
    fn large(self) -> Marked<Self> {
        self.large_if(true)
    }

    /// The same, if the answers may be large.
    fn large_if(self, may_be_large: bool) -> Marked<Self> {
        Marked(self, if may_be_large { |query, _| query.expect_large() } else { |_, _| {} })
    }

    /// Carries along what was read, so that a value made from it can be cached: see
    /// [`Tracked`]. Costs about 50 ns for each read.
    fn tracked(self) -> TrackedFetch<Self> {
        TrackedFetch(self)
    }

    /// Excludes the reads from the recording in progress (see
    /// [`Store::record_reads`](crate::Store::record_reads)), because they belong to other
    /// work that shares the round.
    fn apart(self) -> Marked<Self> {
        Marked(self, Query::keep_apart_from)
    }

    /// Makes the reads tolerant; without a value if one of them failed.
    fn if_readable(self) -> IfReadable<Self> {
        IfReadable(self)
    }

    /// Hides what it is made of, so that branches of different reads have one type.
    fn boxed<'a>(self) -> Boxed<'a, Self::Value>
    where
        Self: Send + 'a,
        Self::Asked: 'a,
    {
        Boxed(Box::new(|query| query.ask(self)))
    }
}

/// A claim to the value of something that was added to a query: see [`Query::ask`].
pub struct Asked<'a, T>(Box<dyn FnOnce(&mut Answers) -> T + Send + 'a>);

impl Query {
    /// Adds something to fetch to other reads of the same round. [`Answers::of`] makes the value.
    pub fn ask<'a, F: Fetch<Asked: 'a> + 'a>(&mut self, what: F) -> Asked<'a, F::Value> {
        let asked = what.ask(self);
        Asked(Box::new(move |answers| F::take(asked, answers)))
    }
}

impl Answers {
    /// The value of what was [asked for](Query::ask).
    pub fn of<T>(&mut self, asked: Asked<'_, T>) -> T {
        (asked.0)(self)
    }
}

/// Something to fetch whose kind is known only at run time: see [`Fetch::boxed`].
pub struct Boxed<'a, T>(Box<AskLater<'a, T>>);

/// Adds what is fetched to a query, later.
type AskLater<'a, T> = dyn FnOnce(&mut Query) -> Asked<'a, T> + Send + 'a;

impl<'a, T> Fetch for Boxed<'a, T> {
    type Asked = Asked<'a, T>;
    type Value = T;

    fn ask(self, query: &mut Query) -> Self::Asked {
        (self.0)(query)
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> T {
        answers.of(asked)
    }
}

/// A value that is known already, or is read.
#[derive(Debug, Clone)]
pub enum KnownOr<F: Fetch> {
    /// It is known.
    Known(F::Value),
    /// It is read.
    Read(F),
}

impl<F: Fetch> KnownOr<F> {
    /// The value, if it is known already.
    pub const fn known(&self) -> Option<&F::Value> {
        match self {
            Self::Known(value) => Some(value),
            Self::Read(_) => None,
        }
    }
}

impl<F: Fetch<Value: Send>> Fetch for KnownOr<F> {
    type Asked = Result<F::Value, F::Asked>;
    type Value = F::Value;

    fn ask(self, query: &mut Query) -> Self::Asked {
        match self {
            Self::Known(value) => Ok(value),
            Self::Read(fetch) => Err(fetch.ask(query)),
        }
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
        asked.unwrap_or_else(|asked| F::take(asked, answers))
    }
}

/// See [`Fetch::map`].
#[derive(Debug, Clone)]
pub struct Map<F, M> {
    fetch: F,
    make: M,
}

impl<F: Fetch, T, M: FnOnce(F::Value) -> T + Send> Fetch for Map<F, M> {
    type Asked = (F::Asked, M);
    type Value = T;

    fn ask(self, query: &mut Query) -> Self::Asked {
        (self.fetch.ask(query), self.make)
    }

    fn take((asked, make): Self::Asked, answers: &mut Answers) -> T {
        make(F::take(asked, answers))
    }
}

/// Something to fetch whose reads, those from a place on, are marked in the query: see [`Fetch::or_absent`],
/// [`Fetch::large`] and [`Fetch::apart`].
#[derive(Debug, Clone)]
pub struct Marked<F>(F, fn(&mut Query, usize));

impl<F: Fetch> Fetch for Marked<F> {
    type Asked = F::Asked;
    type Value = F::Value;

    fn ask(self, query: &mut Query) -> Self::Asked {
        let first = query.reads().len();
        let asked = self.0.ask(query);
        (self.1)(query, first);
        asked
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
        F::take(asked, answers)
    }
}

/// See [`Fetch::tracked`].
#[derive(Debug, Clone)]
pub struct TrackedFetch<F>(F);

impl<F: Fetch> Fetch for TrackedFetch<F> {
    type Asked = (F::Asked, Range<usize>);
    type Value = Tracked<F::Value>;

    fn ask(self, query: &mut Query) -> Self::Asked {
        let first = query.reads().len();
        let asked = self.0.ask(query);
        (asked, query.track_from(first))
    }

    fn take((asked, places): Self::Asked, answers: &mut Answers) -> Self::Value {
        let value = F::take(asked, answers);
        Tracked::new(value, answers.noted(places))
    }
}

/// See [`Fetch::if_readable`].
#[derive(Debug, Clone)]
pub struct IfReadable<F>(F);

impl<F: Fetch> Fetch for IfReadable<F> {
    type Asked = (F::Asked, Range<usize>);
    type Value = Option<F::Value>;

    fn ask(self, query: &mut Query) -> Self::Asked {
        let first = query.reads().len();
        let asked = self.0.or_absent().ask(query);
        (asked, first..query.reads().len())
    }

    fn take((asked, reads): Self::Asked, answers: &mut Answers) -> Self::Value {
        (!answers.has_failed(&reads)).then(|| F::take(asked, answers))
    }
}

/// Reads, with the name of the corresponding Redis command in parentheses.
pub mod read {
    use super::{Answers, Fetch, FromAnswer, Map, Query};
    use crate::KeyspaceError;
    use crate::query::{Answer, Expiry, Hash, Order, Read};
    use std::marker::PhantomData;
    use std::ops::Range;

    /// One read, whose answer is a `T`.
    #[derive(Debug, Clone)]
    pub struct One<T> {
        read: Read,
        answer: PhantomData<fn() -> T>,
    }

    impl<T: FromAnswer> Fetch for One<T> {
        type Asked = usize;
        type Value = T;

        fn ask(self, query: &mut Query) -> Self::Asked {
            query.push(self.read)
        }

        fn take(asked: Self::Asked, answers: &mut Answers) -> T {
            answers.take(asked)
        }
    }

    /// The read of `N` values that may be absent.
    pub type Each<T, const N: usize> = Map<One<Vec<Option<T>>>, fn(Vec<Option<T>>) -> [Option<T>; N]>;

    fn each<T, const N: usize>(values: Vec<Option<T>>) -> [Option<T>; N] {
        let mut values = values.into_iter();
        std::array::from_fn(|_| values.next().flatten())
    }

    /// The read of one value that may be absent.
    pub type Only<T> = Map<One<Vec<Option<T>>>, fn(Vec<Option<T>>) -> Option<T>>;

    fn only<T>(values: Vec<Option<T>>) -> Option<T> {
        values.into_iter().next().flatten()
    }

    /// A value that needs no reads.
    #[derive(Debug, Clone)]
    pub struct Known<T>(T);

    impl<T: Send> Fetch for Known<T> {
        type Asked = T;
        type Value = T;

        fn ask(self, _: &mut Query) -> T {
            self.0
        }

        fn take(asked: T, _: &mut Answers) -> T {
            asked
        }
    }

    /// A value that needs no reads.
    pub const fn known<T>(value: T) -> Known<T> {
        Known(value)
    }

    /// Reads whose kinds are known only at run time.
    #[derive(Debug, Clone)]
    pub struct Outcomes(Vec<Read>);

    impl Fetch for Outcomes {
        type Asked = Range<usize>;
        type Value = Vec<Result<Answer, KeyspaceError>>;

        fn ask(self, query: &mut Query) -> Self::Asked {
            let first = query.reads().len();
            self.0.into_iter().for_each(|read| _ = query.push(read));
            query.tolerate_from(first);
            first..query.reads().len()
        }

        fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
            answers.outcomes(asked)
        }
    }

    /// The answers to reads whose kinds are known only at run time, in their order, or why one failed.
    pub fn outcomes(reads: impl IntoIterator<Item = Read>) -> Outcomes {
        Outcomes(reads.into_iter().collect())
    }

    const fn one<T>(read: Read) -> One<T> {
        One { read, answer: PhantomData }
    }

    fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
        texts.into_iter().map(Into::into).collect()
    }

    /// A read whose kind is known only at run time.
    pub const fn any(read: Read) -> One<Answer> {
        one(read)
    }

    /// The string at a key (GET).
    pub fn string(key: impl Into<String>) -> One<Option<String>> {
        one(Read::String(key.into()))
    }

    /// Whether and when a key of any type expires (PTTL).
    pub fn expiry(key: impl Into<String>) -> One<Expiry> {
        one(Read::Expiry(key.into()))
    }

    /// A whole hash (HGETALL). Takes time in proportion to its size.
    pub fn hash(key: impl Into<String>) -> One<Hash> {
        one(Read::Hash(key.into()))
    }

    /// The values of some fields of a hash, in the order of `fields` (HMGET). `None` stands for an absent field.
    pub fn hash_fields<F: Into<String>>(
        key: impl Into<String>,
        fields: impl IntoIterator<Item = F>,
    ) -> One<Vec<Option<String>>> {
        one(Read::HashFields(key.into(), texts(fields)))
    }

    /// The values of `N` fields of a hash, in the order of `fields` (HMGET).
    pub fn fields<const N: usize, F: Into<String>>(
        key: impl Into<String>,
        fields: [F; N],
    ) -> Each<String, N> {
        hash_fields(key, fields).map(each)
    }

    /// The value of one field of a hash (HMGET).
    pub fn field(key: impl Into<String>, field: impl Into<String>) -> Only<String> {
        hash_fields(key, [field]).map(only)
    }

    /// The score of one member of a sorted set (ZMSCORE).
    pub fn score(key: impl Into<String>, member: impl Into<String>) -> Only<f64> {
        scores(key, [member]).map(only)
    }

    /// The number of fields of a hash (HLEN).
    pub fn field_count(key: impl Into<String>) -> One<u64> {
        one(Read::FieldCount(key.into()))
    }

    /// All members of a set, in no particular order (SMEMBERS). Takes time in proportion to their number.
    pub fn members(key: impl Into<String>) -> One<Vec<String>> {
        one(Read::Members(key.into()))
    }

    /// The number of members of a set (SCARD).
    pub fn member_count(key: impl Into<String>) -> One<u64> {
        one(Read::MemberCount(key.into()))
    }

    /// Whether a set has a member (SISMEMBER).
    pub fn has_member(key: impl Into<String>, member: impl Into<String>) -> One<bool> {
        one(Read::HasMember(key.into(), member.into()))
    }

    /// The scores of some members of a sorted set, in the order of `members` (ZMSCORE). `None` stands for an absent
    /// member.
    pub fn scores<M: Into<String>>(
        key: impl Into<String>,
        members: impl IntoIterator<Item = M>,
    ) -> One<Vec<Option<f64>>> {
        one(Read::Scores(key.into(), texts(members)))
    }

    /// The number of members of a sorted set (ZCARD).
    pub fn sorted_count(key: impl Into<String>) -> One<u64> {
        one(Read::SortedCount(key.into()))
    }

    /// The members of a sorted set with their scores, without the first `offset`, and at most `count` (ZRANGE, ZREVRANGE).
    ///
    /// The embedded engine walks there from the nearer end, so a position in the middle of a large set takes time in
    /// proportion to the offset.
    pub fn sorted_range(
        key: impl Into<String>,
        order: Order,
        offset: u64,
        count: u64,
    ) -> One<Vec<(String, f64)>> {
        one(Read::SortedRange { key: key.into(), order, offset, count })
    }

    /// The members of a sorted set whose score is at least the first of these and at most the second, with their scores,
    /// and at most `count` (ZRANGE BYSCORE).
    pub fn sorted_by_score(
        key: impl Into<String>,
        order: Order,
        (least, most): (f64, f64),
        count: u64,
    ) -> One<Vec<(String, f64)>> {
        one(Read::SortedByScore { key: key.into(), order, least, most, count })
    }
}

impl<F: Fetch, const N: usize> Fetch for [F; N] {
    type Asked = [F::Asked; N];
    type Value = [F::Value; N];

    fn ask(self, query: &mut Query) -> Self::Asked {
        self.map(|fetch| fetch.ask(query))
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
        asked.map(|asked| F::take(asked, answers))
    }
}

impl<F: Fetch> Fetch for Vec<F> {
    type Asked = Vec<F::Asked>;
    type Value = Vec<F::Value>;

    fn ask(self, query: &mut Query) -> Self::Asked {
        self.into_iter().map(|fetch| fetch.ask(query)).collect()
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
        asked.into_iter().map(|asked| F::take(asked, answers)).collect()
    }
}

impl<F: Fetch> Fetch for Option<F> {
    type Asked = Option<F::Asked>;
    type Value = Option<F::Value>;

    fn ask(self, query: &mut Query) -> Self::Asked {
        self.map(|fetch| fetch.ask(query))
    }

    fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
        asked.map(|asked| F::take(asked, answers))
    }
}

macro_rules! fetch_tuples {
    ($(($($name:ident . $index:tt),+))+) => {$(
        impl<$($name: Fetch),+> Fetch for ($($name,)+) {
            type Asked = ($($name::Asked,)+);
            type Value = ($($name::Value,)+);

            fn ask(self, query: &mut Query) -> Self::Asked {
                ($(self.$index.ask(query),)+)
            }

            fn take(asked: Self::Asked, answers: &mut Answers) -> Self::Value {
                ($($name::take(asked.$index, answers),)+)
            }
        }
    )+};
}

fetch_tuples! {
    (A.0, B.1)
    (A.0, B.1, C.2)
    (A.0, B.1, C.2, D.3)
    (A.0, B.1, C.2, D.3, E.4)
    (A.0, B.1, C.2, D.3, E.4, F.5)
    (A.0, B.1, C.2, D.3, E.4, F.5, G.6)
    (A.0, B.1, C.2, D.3, E.4, F.5, G.6, H.7)
}

#[cfg(test)]
mod tests {
    use super::{Fetch, KnownOr, read};
    use crate::{Batch, Store};

    #[tokio::test]
    async fn what_is_fetched_together_takes_one_round() {
        let store = Store::in_memory().await.unwrap();
        let mut batch = Batch::new();
        batch.set("a", "1");
        batch.set_field("hash", "field", "2");
        batch.sorted_add("sorted", "member", 3.0);
        store.commit(batch).await.unwrap();

        let before = store.rounds();
        let some = Some(read::sorted_count("sorted"));
        let none = Some(read::member_count("set")).filter(|_| false);
        let strings = ["a", "b"].map(read::string);
        let counts = vec![read::field_count("hash"), read::field_count("absent")];
        let fetched = store.fetch((strings, some, none, counts, read::fields("hash", ["field", "x"])));
        let (strings, some, none, counts, fields) = fetched.await.unwrap();
        assert_eq!(store.rounds() - before, 1);
        assert_eq!(strings, [Some("1".to_owned()), None]);
        assert_eq!((some, none, counts), (Some(1), None, vec![1, 0]));
        assert_eq!(fields, [Some("2".to_owned()), None]);
    }

    #[tokio::test]
    async fn to_fetch_nothing_takes_no_round() {
        let store = Store::in_memory().await.unwrap();
        let before = store.rounds();
        let nothing: Vec<String> = Vec::new();
        assert_eq!(store.fetch(nothing.into_iter().map(read::string).collect::<Vec<_>>()).await.unwrap(), []);
        let known = KnownOr::<read::One<u64>>::Known(7);
        assert_eq!(known.known(), Some(&7));
        assert_eq!(store.fetch((known, read::known("x").boxed())).await.unwrap(), (7, "x"));
        assert_eq!(store.rounds(), before);
        let read = KnownOr::Read(read::sorted_count("absent"));
        assert_eq!(store.fetch((read, read::string("absent").boxed())).await.unwrap(), (0, None));
        assert_eq!(store.rounds() - before, 1);
    }
}

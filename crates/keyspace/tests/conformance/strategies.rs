//! Random reads, checks and writes for property tests.
//!
//! Also compiled into the unit tests of the library, which is why it imports from `super`.

use super::{Bound, COUNTER_LIMIT, Selection, Within, Write};
use proptest::prelude::*;
use std::time::Duration;

/// A time to live that is over before the next step of a test. The others outlast the test.
pub(crate) const MOMENT: Duration = Duration::from_millis(1);

/// Few keys, so that all types meet on each of them.
pub(crate) fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", ""]).prop_map(str::to_owned)
}

/// Fields and members.
pub(crate) fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "y", "", "x\0", "é", "xx"]).prop_map(str::to_owned)
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let short = prop::sample::select(vec!["", "0", "1", "-5", "007", "x", "1.5", "999999999999999"]);
    // Some values are large enough to change how the embedded engine stores a hash.
    prop_oneof![9 => short.prop_map(str::to_owned), 1 => Just("v".repeat(1500))]
}

pub(crate) fn number() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![-COUNTER_LIMIT, -3, -1, 0, 1, 2, COUNTER_LIMIT - 1, COUNTER_LIMIT])
}

pub(crate) fn score() -> impl Strategy<Value = f64> {
    let some = vec![-1e300, -2.5, -1.0, -0.0, 0.0, 0.1, 1.0, 1.0 / 3.0, 1e16, f64::MAX];
    prop_oneof![4 => prop::sample::select(some), 1 => prop::num::f64::NORMAL]
}

pub(crate) fn count() -> impl Strategy<Value = u64> {
    prop::sample::select(vec![0, 1, 2, 3, 100, u64::MAX])
}

fn time_to_live() -> impl Strategy<Value = Duration> {
    prop::sample::select(vec![MOMENT, Duration::from_secs(3600), Duration::from_secs(7200)])
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let fields = prop::collection::vec((name(), text()), 1..4);
    prop_oneof![
        2 => (key(), text(), prop::option::of(time_to_live())).prop_map(|(key, text, ttl)| Write::Set(key, text, ttl)),
        2 => key().prop_map(Write::Delete),
        2 => (key(), prop_oneof![time_to_live(), Just(Duration::ZERO)]).prop_map(|(key, ttl)| Write::Expire(key, ttl)),
        2 => (key(), number()).prop_map(|(key, by)| Write::Increment(key, by)),
        3 => (key(), fields).prop_map(|(key, fields)| Write::SetFields(key, fields)),
        2 => (key(), name()).prop_map(|(key, name)| Write::DeleteField(key, name)),
        2 => (key(), name(), number()).prop_map(|(key, name, by)| Write::IncrementField(key, name, by)),
        2 => (key(), name(), 0_u64..5).prop_map(|(key, name, by)| Write::LowerField(key, name, by)),
        2 => (key(), name()).prop_map(|(key, name)| Write::AddMember(key, name)),
        2 => (key(), name()).prop_map(|(key, name)| Write::RemoveMember(key, name)),
        4 => (key(), name(), score()).prop_map(|(key, name, score)| Write::SortedAdd(key, name, score)),
        3 => (key(), name(), score(), bound())
            .prop_map(|(key, name, score, bound)| Write::SortedAddBounded(key, name, score, bound)),
        2 => (key(), name(), score()).prop_map(|(key, name, score)| Write::SortedRaise(key, name, score)),
        2 => (key(), name()).prop_map(|(key, name)| Write::SortedAppend(key, name)),
        2 => (key(), name(), score()).prop_map(|(key, name, by)| Write::SortedIncrement(key, name, by)),
        2 => (key(), name(), score())
            .prop_map(|(key, name, score)| Write::SortedAddIfPresent(key, name, score)),
        4 => (key(), selection()).prop_map(|(key, selection)| Write::SortedStore(key, selection)),
        1 => (key(), text()).prop_map(|(channel, message)| Write::Publish(channel, message)),
        2 => (key(), name()).prop_map(|(key, name)| Write::SortedRemove(key, name)),
        1 => (key(), count()).prop_map(|(key, keep)| Write::SortedTrim(key, keep)),
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    (count(), key(), name()).prop_map(|(keep, floors, member)| Bound { keep, floors, member })
}

fn selection() -> impl Strategy<Value = Selection> {
    let within = prop::sample::select(vec![Within::All, Within::Any]);
    (key(), prop::collection::vec(key(), 1..4), within).prop_map(|(scores, sets, within)| Selection {
        scores,
        sets,
        within,
    })
}

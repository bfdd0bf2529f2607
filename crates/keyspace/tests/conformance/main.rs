//! The conformance suite: the rules that every engine must follow.
//!
//! A rule is an async function of a [`Subject`], a fresh empty store. The macro
//! at the end turns each rule into one test per engine, so that a failure names
//! both. The compiler rejects a rule that is not listed there as dead code.

#![allow(clippy::unwrap_used, clippy::panic)]

mod checks;
mod concurrency;
mod events;
mod expiry;
mod oracle;
mod read_sets;
mod reads;
mod rejection;
mod snapshots;
mod sorted;
mod strategies;
mod whole;
mod writes;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidings_keyspace::{
    Batch, Bound, COUNTER_LIMIT, CheckId, CommitError, Committed, EngineClock, Entry, Expiry, Fetch,
    KeyspaceError, Selection, Store, StoreOptions, Value, Within, Write, read,
};
use tidings_testing_redis::RedisServer;

/// The time to live of keys that expire within a test.
const SHORT: Duration = Duration::from_millis(30);

/// How long to poll for something that must happen.
const PATIENCE: Duration = Duration::from_secs(10);

/// The start of the manual clock, in Unix milliseconds: a day in 2020.
const START_MS: u64 = 1_600_000_000_000;

/// A fresh empty store on one of the engines.
struct Subject {
    store: Store,
    clock: Option<Arc<AtomicU64>>,
    _folder: Option<tempfile::TempDir>,
    _server: Option<RedisServer>,
}

impl Subject {
    async fn redb_memory() -> Self {
        let clock = Arc::new(AtomicU64::new(START_MS));
        let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..patient() };
        let store = Store::open("redb::memory:", &options).await.unwrap();
        Self { store, clock: Some(clock), _folder: None, _server: None }
    }

    async fn redb_file() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(START_MS));
        let options = StoreOptions { clock: EngineClock::Manual(clock.clone()), ..patient() };
        let url = format!("redb:{}", folder.path().join("test.redb").display());
        let store = Store::open(&url, &options).await.unwrap();
        Self { store, clock: Some(clock), _folder: Some(folder), _server: None }
    }

    async fn redis() -> Self {
        let server = RedisServer::start();
        let store = Store::open(&server.url(), &patient()).await.unwrap();
        Self { store, clock: None, _folder: None, _server: Some(server) }
    }

    /// Waits for [`SHORT`], after which the key must be absent.
    async fn let_expire(&self, key: &str) {
        if let Some(clock) = &self.clock {
            clock.fetch_add(u64::try_from(SHORT.as_millis()).unwrap(), Ordering::SeqCst);
            return;
        }
        let deadline = std::time::Instant::now() + PATIENCE;
        while self.ask(read::expiry(key)).await != Expiry::Absent {
            assert!(std::time::Instant::now() < deadline, "{key} does not expire");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// The values that are fetched.
    async fn ask<F: Fetch>(&self, what: F) -> F::Value {
        self.store.fetch(what).await.unwrap()
    }

    /// The outcome of a batch.
    async fn commit(&self, fill: impl FnOnce(&mut Batch)) -> Result<Committed, CommitError> {
        self.store.commit(Batch::of(fill)).await
    }

    /// Why a batch is refused, in a form that can be compared between engines.
    async fn refusal(&self, fill: impl FnOnce(&mut Batch)) -> String {
        refusal(self.commit(fill).await)
    }

    /// Applies a batch that must pass. Returns its counters.
    async fn write(&self, fill: impl FnOnce(&mut Batch)) -> Vec<i64> {
        self.commit(fill).await.unwrap().values()
    }

    /// One key of each type.
    async fn write_one_of_each(&self) {
        self.write(|batch| {
            batch.set("string", "text");
            batch.set_field("hash", "field", "value");
            batch.add_member("set", "member");
            batch.sorted_add("sorted", "member", 1.0);
        })
        .await;
    }

    /// Waits until the server has reported the writes so far, which it does to the writer too.
    async fn settle(&self) {
        self.ask(read::string("anything")).await;
    }

    /// Everything in the store.
    async fn dump(&self) -> Vec<Entry> {
        dump(&self.store).await
    }
}

/// Options for a machine that is busy with other tests.
fn patient() -> StoreOptions {
    StoreOptions { timeout: Duration::from_secs(20), ..StoreOptions::default() }
}

/// Everything in a store, in an order that can be compared.
async fn dump(store: &Store) -> Vec<Entry> {
    let mut entries = std::collections::BTreeMap::new();
    let mut cursor = None;
    loop {
        let page = store.scan(cursor, 7).await.unwrap();
        for mut entry in page.entries {
            match &mut entry.value {
                Value::String(_) => {}
                Value::Hash(fields) => fields.sort(),
                Value::Set(members) => members.sort(),
                // The order of a sorted set is part of what is compared.
                Value::SortedSet(_) => {}
            }
            entries.insert(entry.key.clone(), entry);
        }
        cursor = page.next;
        if cursor.is_none() {
            return entries.into_values().collect();
        }
    }
}

/// Why a batch was refused, in a form that can be compared between engines.
fn refusal<T: std::fmt::Debug>(outcome: Result<T, CommitError>) -> String {
    match outcome {
        Ok(_) => "passed".to_owned(),
        Err(CommitError::Rejected(CheckId(index))) => format!("rejected {index}"),
        Err(CommitError::Keyspace(error)) => failure(&error),
    }
}

/// An error, without texts that differ between engines.
fn failure(error: &KeyspaceError) -> String {
    match error {
        KeyspaceError::Unavailable(reason) => format!("unavailable: {reason}"),
        KeyspaceError::Unsure(reason) => format!("unsure: {reason}"),
        KeyspaceError::WrongType(key) => format!("wrong type {key}"),
        KeyspaceError::NotAnInteger(key) => format!("not an integer {key}"),
        KeyspaceError::ReadOnly(_) => "read only".to_owned(),
        KeyspaceError::Damaged(key) => format!("damaged {key}"),
        KeyspaceError::Invalid(_) => "invalid".to_owned(),
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn scored(members: &[(&str, f64)]) -> Vec<(String, f64)> {
    members.iter().map(|(member, score)| ((*member).to_owned(), *score)).collect()
}

/// Texts that an engine might mistake for something else.
const STRANGE_TEXTS: [&str; 14] =
    ["", " ", "\0", "\0\0a", "a\0b", "a", "a:b", "*", "\r\n", "é", "日本語", "🦀", "\u{10ffff}", "nil"];

macro_rules! rules {
    ($($module:ident: $($rule:ident)*;)*) => {
        rules!(@engine redb_memory $($module: $($rule)*;)*);
        rules!(@engine redb_file $($module: $($rule)*;)*);
        rules!(@engine redis $($module: $($rule)*;)*);
    };
    (@engine $engine:ident $($module:ident: $($rule:ident)*;)*) => {
        mod $engine {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    super::super::$module::$rule(super::super::Subject::$engine().await).await;
                })*
            })*
        }
    };
}

rules! {
    reads:
        absent_keys_read_as_empty
        strings_read_back
        hashes_read_back
        fields_are_answered_in_the_order_asked
        sets_read_back
        scores_are_answered_in_the_order_asked
        every_read_refuses_other_types
        the_first_wrong_type_of_a_query_is_named
        a_tolerated_wrong_type_reads_as_absent_and_spares_the_other_reads
        a_tolerated_read_is_tracked_like_any_other
        answers_come_in_the_order_of_the_reads
        an_empty_query_costs_no_round;
    checks:
        every_check_on_an_absent_key
        every_check_that_holds
        every_check_that_does_not_hold
        every_check_refuses_other_types
        presence_is_checked_for_every_type
        the_first_failing_check_is_named
        checks_see_the_state_before_the_batch
        a_number_is_checked_by_value
        a_number_check_refuses_what_is_no_number;
    writes:
        set_replaces_any_type
        delete_removes_any_type
        set_fields_adds_and_replaces
        a_hash_without_fields_is_absent
        a_set_without_members_is_absent
        a_sorted_set_without_members_is_absent
        removing_what_is_absent_changes_nothing
        counters_count
        field_counters_count
        a_field_is_lowered_to_0_and_no_further
        counters_come_in_the_order_of_the_writes
        increments_of_one_counter_or_member_are_one
        only_whole_numbers_in_range_are_counters
        a_counter_stays_within_its_limit
        writes_apply_in_order
        a_field_can_be_deleted_and_counted_anew
        a_key_can_be_deleted_and_written_as_another_type
        a_small_hash_that_grows_keeps_everything
        a_hash_keeps_everything_at_every_size
        strange_texts_are_stored_as_they_are
        a_batch_without_operations_passes
        next_id_gives_each_number_once
        rounds_are_counted;
    sorted:
        order_is_by_score_then_member_bytes
        scores_are_exact
        both_zeros_are_one_score
        a_new_score_moves_a_member
        ranges_end_where_the_set_ends
        ranges_by_score_include_their_bounds
        trim_keeps_the_highest
        a_selection_takes_what_is_in_all_or_any_of_the_sets
        a_selection_replaces_what_its_key_held
        a_selection_can_be_changed_like_any_sorted_set
        a_selection_from_another_type_is_refused
        many_members_are_selected
        a_member_is_added_only_to_a_set_that_is_there
        a_bounded_set_notes_what_it_lost
        a_floor_never_falls
        scores_are_raised_and_never_lowered
        an_appended_member_comes_last
        scores_are_incremented
        neighbours_do_not_mix;
    rejection:
        every_write_refuses_other_types
        a_rejected_batch_leaves_no_trace
        a_wrong_type_leaves_no_trace
        a_bad_counter_leaves_no_trace
        types_are_followed_through_the_batch
        an_emptied_key_keeps_its_type_within_the_batch
        senseless_batches_are_refused;
    expiry:
        time_to_live_is_told
        an_expired_key_is_absent_to_every_read_and_check
        a_write_to_an_expired_key_starts_anew
        an_expired_key_can_become_another_type
        expire_of_an_absent_key_does_nothing
        expire_zero_deletes
        a_plain_set_stays_for_good
        other_writes_keep_the_time_to_live
        expire_replaces_the_time_to_live
        an_emptied_key_loses_its_time_to_live;
    concurrency:
        concurrent_increments_are_all_kept
        one_of_many_rivals_wins
        more_batches_at_once_than_any_queue_holds_are_all_applied
        batches_are_seen_whole;
    events:
        messages_reach_all_who_listen_on_the_channel
        a_message_comes_after_its_batch_and_not_without;
    read_sets:
        a_read_set_ends_with_every_kind_of_write_to_what_was_read
        the_names_of_written_keys_are_told_to_those_who_want_them
        a_read_set_of_fields_ends_when_one_of_them_is_written_or_all
        a_write_to_one_hash_does_not_end_what_was_read_of_another
        a_recording_is_of_all_reads_of_the_work_and_of_what_it_uses
        tracked_values_bring_their_reads_along
        a_read_that_is_kept_apart_is_not_recorded
        a_cached_value_is_never_older_than_an_acknowledged_write;
    whole:
        scan_and_restore_copy_everything
        restore_replaces_keys_whole
        scan_walks_over_many_keys
        large_collections_are_copied
        collections_are_copied_whatever_their_length
        keys_are_counted
        times_to_live_count_from_the_given_moment;
    snapshots:
        a_snapshot_has_every_key_once
        an_empty_store_has_an_empty_snapshot
        a_snapshot_is_of_one_moment
        a_snapshot_leaves_out_what_has_expired
        large_keys_have_pages_of_their_own;
}

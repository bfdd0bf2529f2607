//! Entries on their way into a store: some thousands at a time, several loads
//! at once, so that the store is never idle.

use super::plan::Plan;
use std::time::{Duration, Instant};
use tidings_keyspace::{Entry, Store, Value};
use tokio::task::JoinSet;

/// Values (members, fields) in one load.
const LOAD: usize = 8_000;
/// Loads under way.
const LOADS: usize = 6;

/// Takes entries and brings them into a store.
pub struct Writer<'a> {
    store: &'a Store,
    began: Instant,
    waiting: Vec<Entry>,
    weight: usize,
    under_way: JoinSet<()>,
}

impl<'a> Writer<'a> {
    pub fn new(store: &'a Store, plan: &Plan) -> Self {
        Self { store, began: plan.began, waiting: Vec::new(), weight: 0, under_way: JoinSet::new() }
    }

    pub async fn write(&mut self, key: impl Into<String>, value: Value) {
        self.put(Entry { key: key.into(), value, time_to_live: None }).await;
    }

    /// Writes what lives for a time from the plan's `now` on.
    pub async fn write_expiring(&mut self, key: String, value: Value, life: Duration) {
        let left = life.saturating_sub(self.began.elapsed());
        self.put(Entry { key, value, time_to_live: Some(left) }).await;
    }

    async fn put(&mut self, entry: Entry) {
        self.weight += match &entry.value {
            Value::String(_) => 1,
            Value::Hash(fields) => fields.len(),
            Value::Set(members) => members.len(),
            Value::SortedSet(members) => members.len(),
        };
        self.waiting.push(entry);
        if self.weight >= LOAD {
            self.send().await;
        }
    }

    async fn send(&mut self) {
        if self.under_way.len() >= LOADS {
            self.under_way.join_next().await.unwrap().unwrap();
        }
        let (store, entries) = (self.store.clone(), std::mem::take(&mut self.waiting));
        self.weight = 0;
        self.under_way.spawn(async move { store.restore(entries).await.unwrap() });
    }

    /// Waits until everything is there.
    pub async fn finish(mut self) {
        self.send().await;
        while let Some(done) = self.under_way.join_next().await {
            done.unwrap();
        }
    }
}

/// A hash.
pub fn hash<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> Value {
    Value::Hash(fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect())
}

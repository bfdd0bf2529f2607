//! The cache: values that stay valid until a key that was read to make them is written.
//!
//! A *kind* of cached value has a name, a key type and a share of the memory. Each wing
//! declares its own kinds with [`cache_kind!`](crate::cache_kind), beside the values that
//! it caches. The [`Caches`] of a site hold one [`Cache`] of each kind.
//!
//! An entry depends on exactly what was read while its value was made: its [`ReadSet`].
//! A write to any of that invalidates the entry, so a client whose write has been answered
//! sees it. A cached value is shared by all viewers: what differs between them (own votes,
//! form secrets) is not part of it.

use crate::process_state::{MAX_KINDS, Slot};
use crate::values::Timestamp;
use parking_lot::Mutex;
use quick_cache::{Equivalent, OptionsBuilder, Weighter};
use std::any::Any;
use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tidings_keyspace::{ReadSet, Reads, Store, Tracked};
use tokio::sync::watch;

/// Bytes in a mebibyte.
pub const MEBIBYTE: u64 = 1024 * 1024;
/// The default size of all caches of a site together, in bytes: the sum of
/// [`CacheKind::BYTES`] of all kinds.
pub const DEFAULT_BYTES: u64 = 128 * MEBIBYTE;
/// Shards of a cache, each with its own lock. A value larger than a shard is not cached.
const SHARDS: u64 = 4;
/// The approximate bytes of an entry without its value and its read set.
const OVERHEAD: usize = 128;
/// Entries that a new cache has room for; it grows.
const EXPECTED_ENTRIES: usize = 1_000;

/// A kind of cached value.
pub trait CacheKind: Sized + Send + Sync + 'static {
    /// The key of a value.
    type Key: Hash + Eq + Clone + Send + Sync + 'static;
    /// The cached value.
    type Value: Send + Sync + 'static;
    /// The name of the cache in metrics.
    const NAME: &'static str;
    /// Its share of [`DEFAULT_BYTES`].
    const BYTES: u64;

    /// The approximate bytes of a value, and of what its key has on the heap.
    fn size(key: &Self::Key, value: &Self::Value) -> usize;

    /// The position of this kind in [`Caches`].
    fn slot() -> &'static Slot;
}

/// Declares a [`CacheKind`] of cached value, with its documentation: visibility, name, key and
/// value, the name in metrics, its bytes, and the size of an entry.
#[macro_export]
macro_rules! cache_kind {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $Kind:ident: $Key:ty => $Value:ty, $name:literal, $bytes:expr, $size:expr;
    ) => {
        $(#[$meta])*
        #[derive(Debug)]
        $visibility struct $Kind;

        impl $crate::cache::CacheKind for $Kind {
            type Key = $Key;
            type Value = $Value;
            const NAME: &'static str = $name;
            const BYTES: u64 = $bytes;

            fn size(key: &$Key, value: &$Value) -> usize {
                let size: fn(&$Key, &$Value) -> usize = $size;
                size(key, value)
            }

            fn slot() -> &'static $crate::process_state::Slot {
                static SLOT: $crate::process_state::Slot = $crate::process_state::Slot::unassigned();
                &SLOT
            }
        }
    };
}

/// A value that is the same for all viewers, with what was read to make it.
#[derive(Debug)]
pub struct Shared<V> {
    entry: Arc<CacheEntry<V>>,
    is_cached: bool,
}

#[derive(Debug)]
struct CacheEntry<V> {
    value: V,
    reads: ReadSet,
    /// The second for which the value is valid, if it depends on the time.
    second: Option<Timestamp>,
    /// Different for every entry of the program.
    id: u64,
}

impl<V> Clone for Shared<V> {
    fn clone(&self) -> Self {
        Self { entry: self.entry.clone(), is_cached: self.is_cached }
    }
}

impl<V> Deref for Shared<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.entry.value
    }
}

impl<V: PartialEq> PartialEq for Shared<V> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<V> From<V> for Shared<V> {
    /// A value that depends on nothing that is stored, such as one of a test.
    fn from(value: V) -> Self {
        Self::new(Tracked::new(value, Reads::default()), None)
    }
}

impl<V> Shared<V> {
    fn new(made: Tracked<V>, second: Option<Timestamp>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (value, reads) = made.into_parts();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { entry: Arc::new(CacheEntry { value, reads, second, id }), is_cached: false }
    }

    /// The unique number of this value; a value that replaces it has another. It can be
    /// the cache key of what is derived from the value.
    pub fn id(&self) -> u64 {
        self.entry.id
    }

    /// Whether it came from a cache: then it is worth caching what is derived from it.
    pub const fn is_cached(&self) -> bool {
        self.is_cached
    }

    /// The value; adds what was read for it to `reads`.
    pub fn collect_into(&self, reads: &mut Reads) -> &V {
        reads.add(&self.entry.reads);
        &self.entry.value
    }
}

/// The state of the store in which a request uses the caches.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The store that values are read from.
    pub store: &'a Store,
    /// The second in which they are used.
    pub now: Timestamp,
    /// Whether the writes of other servers are known. On a shared store they are known
    /// after the first round.
    pub is_current: bool,
}

impl View<'_> {
    fn can_use<V>(&self, entry: &CacheEntry<V>) -> bool {
        entry.second.is_none_or(|second| second == self.now) && self.store.is_unchanged(&entry.reads)
    }
}

/// The cached values of one kind.
pub struct Cache<K: CacheKind> {
    entries: quick_cache::sync::Cache<K::Key, Arc<CacheEntry<K::Value>>, Weigh<K>>,
    /// The values that are being made, and where they will arrive.
    flights: Mutex<HashMap<K::Key, ValueReceiver<K::Value>>>,
    capacity_bytes: u64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Receives a value when another request has made it.
type ValueReceiver<V> = watch::Receiver<Option<Shared<V>>>;

struct Weigh<K>(PhantomData<fn() -> K>);

impl<K> Clone for Weigh<K> {
    fn clone(&self) -> Self {
        Self(PhantomData)
    }
}

impl<K: CacheKind> Weighter<K::Key, Arc<CacheEntry<K::Value>>> for Weigh<K> {
    fn weight(&self, key: &K::Key, entry: &Arc<CacheEntry<K::Value>>) -> u64 {
        let bytes = OVERHEAD + K::size(key, &entry.value) + entry.reads.size();
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// The result of a look-up in a cache.
pub enum Lookup<'a, K: CacheKind> {
    /// The value is cached.
    Hit(Shared<K::Value>),
    /// The caller makes the value.
    Make(Flight<'a, K>),
    /// Another request is making it.
    Wait(PendingValue<K::Value>),
}

impl<K: CacheKind> Cache<K> {
    fn new(capacity_bytes: u64) -> Self {
        let weigh = Weigh(PhantomData);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(EXPECTED_ENTRIES)
            .weight_capacity(capacity_bytes)
            .shards(usize::try_from(SHARDS).unwrap_or(1))
            .build();
        let entries = match options {
            Ok(options) => {
                quick_cache::sync::Cache::with_options(options, weigh, Default::default(), Default::default())
            }
            // The builder fails only without a capacity, and both are given.
            Err(_) => quick_cache::sync::Cache::with_weighter(EXPECTED_ENTRIES, capacity_bytes, weigh),
        };
        Self {
            entries,
            flights: Mutex::default(),
            capacity_bytes,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The value of a key, if it is cached and valid.
    pub fn get<Q>(&self, view: View<'_>, key: &Q) -> Option<Shared<K::Value>>
    where
        Q: Hash + Equivalent<K::Key> + ?Sized,
    {
        if !view.is_current {
            return None;
        }
        let found = self.entries.get(key).filter(|entry| view.can_use(entry));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        let entry = found?;
        entry.reads.note_use();
        Some(Shared { entry, is_cached: true })
    }

    /// Whether a value is cached and, as far as is known now, valid.
    pub fn may_have(&self, view: View<'_>, key: &K::Key) -> bool {
        self.entries.get(key).is_some_and(|entry| view.can_use(&entry))
    }

    /// Looks up a value. On a miss, one caller makes it and the others wait.
    pub fn look_up(&self, view: View<'_>, key: &K::Key) -> Lookup<'_, K> {
        match self.get(view, key) {
            Some(value) => Lookup::Hit(value),
            None => {
                if !view.is_current {
                    // Not counted yet: the cache could not be used.
                    self.misses.fetch_add(1, Ordering::Relaxed);
                }
                self.claim(view, key)
            }
        }
    }

    /// The same for a value that [`Cache::get`] has just missed.
    pub fn claim(&self, view: View<'_>, key: &K::Key) -> Lookup<'_, K> {
        let mut flights = self.flights.lock();
        if let Some(receiver) = flights.get(key) {
            // Without the writes of other servers, the caller could not tell whether the
            // value that arrives is valid.
            return if view.is_current {
                Lookup::Wait(PendingValue(receiver.clone()))
            } else {
                Lookup::Make(self.make_too(key))
            };
        }
        // Its maker may have finished between the look-up and the lock.
        if view.is_current
            && let Some(entry) = self.entries.get(key).filter(|entry| view.can_use(entry))
        {
            entry.reads.note_use();
            return Lookup::Hit(Shared { entry, is_cached: true });
        }
        let (sender, receiver) = watch::channel(None);
        flights.insert(key.clone(), receiver);
        Lookup::Make(Flight { cache: self, key: key.clone(), sender: Some(sender) })
    }

    /// A value that is derived from one other cached value alone. Its key is the id of that
    /// value, so it is always valid.
    pub fn derived(&self, key: &K::Key) -> Option<Shared<K::Value>> {
        let entry = self.entries.get(key);
        let counter = if entry.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        Some(Shared { entry: entry?, is_cached: true })
    }

    /// Caches such a value.
    pub fn insert_derived(&self, key: K::Key, value: K::Value) -> Shared<K::Value> {
        let shared = Shared::from(value);
        self.entries.insert(key, shared.entry.clone());
        shared
    }

    /// Lets the caller make a value that another request is making or has failed to make.
    pub fn make_too(&self, key: &K::Key) -> Flight<'_, K> {
        Flight { cache: self, key: key.clone(), sender: None }
    }

    /// Inserts a value. `second` is the time for which it is valid, if it depends on the
    /// time.
    pub fn insert(
        &self,
        view: View<'_>,
        key: K::Key,
        made: Tracked<K::Value>,
        second: Option<Timestamp>,
    ) -> Shared<K::Value> {
        let shared = Shared::new(made, second);
        shared.entry.reads.note_use();
        if view.store.tracks_writes() {
            self.entries.insert(key, shared.entry.clone());
        }
        shared
    }

    /// The number and size of its entries, and its hits and misses.
    pub fn status(&self) -> CacheStatus {
        CacheStatus {
            name: K::NAME,
            entries: self.entries.len(),
            bytes: self.entries.weight(),
            capacity_bytes: self.capacity_bytes,
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
        }
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.entries.clear();
    }
}

/// The right to make a missing value while others wait for it. When it is dropped
/// unfinished, they make the value themselves.
pub struct Flight<'a, K: CacheKind> {
    cache: &'a Cache<K>,
    key: K::Key,
    /// `None` if another request makes the value too.
    sender: Option<watch::Sender<Option<Shared<K::Value>>>>,
}

impl<K: CacheKind> Flight<'_, K> {
    /// Inserts the value and sends it to those who wait.
    pub fn finish(
        mut self,
        view: View<'_>,
        made: Tracked<K::Value>,
        second: Option<Timestamp>,
    ) -> Shared<K::Value> {
        let shared = self.cache.insert(view, self.key.clone(), made, second);
        self.complete(Some(&shared));
        shared
    }

    fn complete(&mut self, value: Option<&Shared<K::Value>>) {
        if let Some(sender) = self.sender.take() {
            self.cache.flights.lock().remove(&self.key);
            if let Some(value) = value {
                sender.send_replace(Some(Shared { entry: value.entry.clone(), is_cached: true }));
            }
        }
    }
}

impl<K: CacheKind> Drop for Flight<'_, K> {
    fn drop(&mut self) {
        self.complete(None);
    }
}

/// A value that another request is making.
pub struct PendingValue<V>(ValueReceiver<V>);

impl<V> PendingValue<V> {
    /// The value once it is made; `None` if its maker failed, or if a write has made the
    /// value invalid meanwhile.
    pub async fn value(mut self, view: View<'_>) -> Option<Shared<V>> {
        let made = self.0.wait_for(Option::is_some).await.ok()?.clone();
        let shared = made.filter(|shared| view.can_use(&shared.entry))?;
        shared.entry.reads.note_use();
        Some(shared)
    }
}

/// The figures of one cache, for the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStatus {
    /// The name of its kind.
    pub name: &'static str,
    /// Number of entries.
    pub entries: usize,
    /// Their approximate size in bytes.
    pub bytes: u64,
    /// Its capacity in bytes.
    pub capacity_bytes: u64,
    /// Look-ups that found a valid entry.
    pub hits: u64,
    /// Look-ups that did not.
    pub misses: u64,
}

/// A cache of any kind.
trait AnyCache: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn status(&self) -> CacheStatus;
    fn clear(&self);
}

impl<K: CacheKind> AnyCache for Cache<K> {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn status(&self) -> CacheStatus {
        self.status()
    }

    fn clear(&self) {
        self.clear();
    }
}

/// All caches of a site. Each is created on first use.
pub struct Caches {
    slots: Vec<OnceLock<Box<dyn AnyCache>>>,
    bytes: u64,
}

impl Default for Caches {
    fn default() -> Self {
        Self::with_bytes(DEFAULT_BYTES)
    }
}

impl Caches {
    /// Caches of about this many bytes together.
    pub fn with_bytes(bytes: u64) -> Self {
        Self { slots: (0..MAX_KINDS).map(|_| OnceLock::new()).collect(), bytes }
    }

    /// The cache of a kind.
    pub fn of<K: CacheKind>(&self) -> &Cache<K> {
        let slot = self.slots.get(K::slot().index());
        let cache = slot.map(|slot| slot.get_or_init(|| Box::new(Cache::<K>::new(self.share_of(K::BYTES)))));
        match cache.and_then(|cache| cache.as_any().downcast_ref()) {
            Some(cache) => cache,
            // A slot belongs to one kind, and there are fewer kinds than slots.
            None => unreachable!("the cache of {} has a slot of its own", K::NAME),
        }
    }

    /// The capacity of a kind whose share is `bytes` of [`DEFAULT_BYTES`].
    fn share_of(&self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.bytes) / u128::from(DEFAULT_BYTES);
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The figures of each cache that has been used, by name.
    pub fn status(&self) -> Vec<CacheStatus> {
        let used = self.slots.iter().filter_map(OnceLock::get);
        let mut status: Vec<CacheStatus> = used.map(|cache| cache.status()).collect();
        status.sort_unstable_by_key(|cache| cache.name);
        status
    }

    /// Removes all entries of all caches.
    pub fn clear(&self) {
        self.slots.iter().filter_map(OnceLock::get).for_each(|cache| cache.clear());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_keyspace::{Batch, Fetch, read};

    crate::cache_kind! {
        /// Strings of the store, by their key.
        struct Strings: String => String, "strings", MEBIBYTE, |key, value| key.len() + value.len();
    }

    const NOW: Timestamp = Timestamp(1_000);

    const fn view(store: &Store) -> View<'_> {
        View { store, now: NOW, is_current: true }
    }

    async fn read(store: &Store, key: &str) -> Tracked<String> {
        store.fetch(read::string(key).tracked()).await.unwrap().map(Option::unwrap_or_default)
    }

    async fn write(store: &Store, key: &str, value: &str) {
        store.commit(Batch::of(|batch| batch.set(key, value))).await.unwrap();
    }

    fn key(name: &str) -> String {
        name.to_owned()
    }

    #[tokio::test]
    async fn a_value_is_cached_until_what_was_read_for_it_is_written() {
        let store = Store::in_memory().await.unwrap();
        let caches = Caches::default();
        let cache = caches.of::<Strings>();
        assert!(cache.get(view(&store), "a").is_none());
        cache.insert(view(&store), key("a"), read(&store, "a").await, None);
        write(&store, "b", "1").await;
        assert!(cache.get(view(&store), "a").unwrap().is_cached());
        write(&store, "a", "1").await;
        assert!(cache.get(view(&store), "a").is_none());
        let CacheStatus { hits, misses, entries, .. } = cache.status();
        assert_eq!((hits, misses, entries), (1, 2, 1));
    }

    #[tokio::test]
    async fn a_value_of_a_second_is_valid_in_that_second_and_for_a_current_view_only() {
        let store = Store::in_memory().await.unwrap();
        let caches = Caches::default();
        let cache = caches.of::<Strings>();
        cache.insert(view(&store), key("a"), read(&store, "a").await, Some(NOW));
        assert!(cache.get(view(&store), "a").is_some());
        assert!(cache.get(View { now: Timestamp(1_001), ..view(&store) }, "a").is_none());
        assert!(cache.get(View { is_current: false, ..view(&store) }, "a").is_none());
    }

    #[tokio::test]
    async fn a_missing_value_is_made_once_for_concurrent_look_ups() {
        let store = Store::in_memory().await.unwrap();
        let caches = Caches::default();
        let cache = caches.of::<Strings>();
        let Lookup::Make(flight) = cache.look_up(view(&store), &key("a")) else { unreachable!() };
        let Lookup::Wait(first) = cache.look_up(view(&store), &key("a")) else { unreachable!() };
        let Lookup::Wait(second) = cache.look_up(view(&store), &key("a")) else { unreachable!() };
        // A view that is not current cannot use the value, and makes it too.
        let stale = View { is_current: false, ..view(&store) };
        assert!(matches!(cache.look_up(stale, &key("a")), Lookup::Make(_)));
        let made = read(&store, "a").await;
        flight.finish(view(&store), made, None);
        assert_eq!(first.value(view(&store)).await.as_deref(), Some(&String::new()));
        // A write before it arrives makes it invalid.
        write(&store, "a", "1").await;
        assert!(second.value(view(&store)).await.is_none());
        assert!(matches!(cache.look_up(view(&store), &key("a")), Lookup::Make(_)));
    }

    #[tokio::test]
    async fn a_waiting_look_up_makes_the_value_when_its_maker_fails() {
        let store = Store::in_memory().await.unwrap();
        let caches = Caches::default();
        let cache = caches.of::<Strings>();
        let Lookup::Make(flight) = cache.look_up(view(&store), &key("a")) else { unreachable!() };
        let Lookup::Wait(waiting) = cache.look_up(view(&store), &key("a")) else { unreachable!() };
        drop(flight);
        assert!(waiting.value(view(&store)).await.is_none());
        assert!(matches!(cache.look_up(view(&store), &key("a")), Lookup::Make(_)));
    }

    #[tokio::test]
    async fn a_cache_stays_within_its_share() {
        let store = Store::in_memory().await.unwrap();
        // 4 KiB for this kind, a kibibyte for each shard.
        let caches = Caches::with_bytes(DEFAULT_BYTES / 256);
        let cache = caches.of::<Strings>();
        assert_eq!(cache.status().capacity_bytes, 4_096);
        for number in 0..1_000 {
            let key = number.to_string();
            cache.insert(view(&store), key.clone(), read(&store, &key).await, None);
        }
        let status = cache.status();
        assert!(status.bytes <= 4_096 && status.entries > 5, "{status:?}");
        // A value larger than a shard is not cached.
        for (length, is_cached) in [(500, true), (1_100, false)] {
            let made = read(&store, "long").await.map(|_| "x".repeat(length));
            cache.insert(view(&store), key("long"), made, None);
            assert_eq!(cache.get(view(&store), "long").is_some(), is_cached, "{length}");
        }
    }

    #[test]
    fn caches_of_different_kinds_are_separate() {
        crate::cache_kind! {
            struct Others: String => u64, "others", MEBIBYTE, |_, _| 8;
        }
        let caches = Caches::default();
        caches.of::<Strings>().insert_derived(key("a"), key("1"));
        assert!(caches.of::<Others>().derived(&key("a")).is_none());
        assert_eq!(caches.of::<Strings>().derived(&key("a")).as_deref(), Some(&key("1")));
        assert_eq!(caches.status().iter().map(|cache| cache.name).collect::<Vec<_>>(), ["others", "strings"]);
        caches.clear();
        assert!(caches.of::<Strings>().derived(&key("a")).is_none());
    }
}

//! Values that a visit takes from the caches or makes for others: those that are the same for all viewers.

use super::Visit;
use crate::cache::{Cache, CacheKind, Flight, Lookup, Shared, View};
use crate::values::Timestamp;
use crate::{Result, Site};
use std::sync::Arc;
use tidings_keyspace::{Fetch, KnownOr, Tracked};

impl Visit {
    /// How this visit sees the caches. On a shared store it can use them only after its
    /// first round, which also fetches the keys that other servers have written.
    pub fn view(&self) -> View<'_> {
        View { store: &self.site.store, now: self.now, is_current: self.current }
    }

    /// A value from its cache. If it is not there, it is read and cached.
    pub(crate) fn cached<K: CacheKind, F: Fetch<Value = Tracked<K::Value>>>(
        &self,
        key: K::Key,
        read: fn(&K::Key) -> F,
    ) -> KnownOr<impl Fetch<Value = Shared<K::Value>> + use<K, F>> {
        match self.site.caches.of::<K>().get(self.view(), &key) {
            Some(value) => KnownOr::Known(value),
            None => {
                let keep = self.keeper::<K>();
                KnownOr::Read(read(&key).map(move |made| keep(key, made)))
            }
        }
    }

    /// Caches what this visit makes.
    pub(crate) fn keeper<K: CacheKind>(
        &self,
    ) -> impl Fn(K::Key, Tracked<K::Value>) -> Shared<K::Value> + Send + use<K> {
        let (site, now) = (self.site.clone(), self.now);
        move |key, made| {
            let view = View { store: &site.store, now, is_current: true };
            site.caches.of::<K>().insert(view, key, made, None)
        }
    }

    /// This visit without its viewer, for reads that are the same for everyone.
    pub(crate) const fn shared(&mut self) -> SharedVisit<'_> {
        SharedVisit(self)
    }

    /// Looks up a value that is expensive to make. If another request is making it, this
    /// waits for it; a miss then means that the other request failed.
    pub(crate) async fn look_up<'a, K: CacheKind>(
        &mut self,
        cache: &'a Cache<K>,
        key: &K::Key,
    ) -> Result<CacheResult<'a, K>> {
        self.learn_writes_for(cache, key).await?;
        Ok(match cache.look_up(self.view(), key) {
            Lookup::Hit(value) => CacheResult::Hit(value),
            Lookup::Make(flight) => CacheResult::Miss(flight),
            Lookup::Wait(waiting) => match waiting.value(self.view()).await {
                Some(value) => CacheResult::Hit(value),
                None => CacheResult::Miss(cache.make_too(key)),
            },
        })
    }

    async fn learn_writes_for<K: CacheKind>(&mut self, cache: &Cache<K>, key: &K::Key) -> Result<()> {
        // A value in doubt may turn out to be valid.
        let is_worth_it = || cache.may_have(self.view(), key) || self.site.store.has_doubts();
        if !self.current && is_worth_it() {
            self.identify().await?;
            self.become_current().await?;
        }
        Ok(())
    }
}

/// The result of [`Visit::look_up`].
pub(crate) enum CacheResult<'a, K: CacheKind> {
    /// The value is cached.
    Hit(Shared<K::Value>),
    /// The caller makes the value.
    Miss(Flight<'a, K>),
}

/// A visit without its viewer: for values that are the same for everyone. It cannot reveal
/// the viewer.
pub struct SharedVisit<'a>(&'a mut Visit);

impl SharedVisit<'_> {
    /// As [`Visit::fetch`]: the session's next read is added to the round.
    pub(crate) async fn fetch<F: Fetch>(&mut self, what: F) -> Result<F::Value> {
        self.0.fetch(what).await
    }

    /// As [`Visit::fetch_if_needed`].
    pub(crate) async fn fetch_if_needed<F: Fetch>(&mut self, what: F) -> Result<F::Value> {
        self.0.fetch_if_needed(what).await
    }

    /// As [`Visit::cached`].
    pub(crate) fn cached<K: CacheKind, F: Fetch<Value = Tracked<K::Value>>>(
        &self,
        key: K::Key,
        read: fn(&K::Key) -> F,
    ) -> KnownOr<impl Fetch<Value = Shared<K::Value>> + use<K, F>> {
        self.0.cached::<K, F>(key, read)
    }

    /// As [`Visit::keeper`].
    pub(crate) fn keeper<K: CacheKind>(
        &self,
    ) -> impl Fn(K::Key, Tracked<K::Value>) -> Shared<K::Value> + Send + use<K> {
        self.0.keeper::<K>()
    }

    /// As [`Visit::view`].
    pub fn view(&self) -> View<'_> {
        self.0.view()
    }

    /// The site that is visited.
    pub fn site(&self) -> &Site {
        self.0.site()
    }

    /// As [`Visit::site_too`].
    pub(crate) fn site_too(&self) -> Arc<Site> {
        self.0.site_too()
    }

    /// The moment of the visit.
    pub const fn now(&self) -> Timestamp {
        self.0.now()
    }
}

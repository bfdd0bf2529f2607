//! One visit: who asks, and the rounds of reads that answer.
//!
//! Finding out who asks takes two dependent reads: the session token gives the
//! user's id, the id gives the user. A page takes some rounds of its own. So
//! the session's reads ride along with the page's rounds: the token in the
//! first, the user in the second. A page learns who asks without a round more.
//! Who has asked before is cached.

use crate::accounts::users::User;
use crate::cache::{Cache, CacheKind, Flight, Lookup, MEBIBYTE, Shared, View};
use crate::error::Error;
use crate::keys;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use std::sync::Arc;
use tidings_keyspace::{Answers, Query};

/// Bytes of a session token.
const TOKEN: usize = 40;

crate::cache_kind! {
    /// Whose sessions there are, by the token.
    struct Sessions: String => UserId, "sessions", MEBIBYTE, |_, _| 2 * TOKEN;
}

crate::cache_kind! {
    /// Users who visit.
    struct Viewers: UserId => Arc<User>, "viewers", 2 * MEBIBYTE, |_, user| user.size();
}

/// Someone looking at the site at one moment.
pub struct Visit {
    site: Arc<Site>,
    now: Timestamp,
    stage: Stage,
    returned: bool,
    current: bool,
}

enum Stage {
    Anonymous,
    Token(String),
    Known(UserId),
    Viewer(Arc<User>),
}

impl Visit {
    /// A visit, with the session token that came with the request, if any.
    /// A text that cannot be a token counts as none.
    #[must_use]
    pub fn new(site: Arc<Site>, now: Timestamp, token: Option<&str>) -> Self {
        let stage = match token {
            Some(token) if is_token(token) => Stage::Token(token.to_ascii_lowercase()),
            _ => Stage::Anonymous,
        };
        let current = !site.store.is_shared();
        let mut visit = Self { site, now, stage, returned: false, current };
        visit.recall();
        visit
    }

    /// Goes on as far as the cache knows who asks.
    fn recall(&mut self) {
        let caches = &self.site.caches;
        if let Stage::Token(token) = &self.stage
            && let Some(id) = caches.of::<Sessions>().get(self.view(), token)
        {
            self.stage = Stage::Known(*id);
        }
        if let Stage::Known(id) = &self.stage
            && let Some(user) = caches.of::<Viewers>().get(self.view(), id)
        {
            self.stage = Stage::Viewer((*user).clone());
        }
    }

    /// The site that is visited.
    #[must_use]
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The site, for who goes on with the visit meanwhile.
    pub(crate) fn site_too(&self) -> Arc<Site> {
        self.site.clone()
    }

    /// The moment of the visit.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether a session token came along, good or not.
    #[must_use]
    pub const fn has_token(&self) -> bool {
        !matches!(self.stage, Stage::Anonymous)
    }

    /// Runs one round of the page's reads, with the session's next read.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run(&mut self, mut query: Query) -> Result<Answers, Error> {
        let (store, caches) = (&self.site.store, &self.site.caches);
        let has_asked = !query.is_empty() || matches!(self.stage, Stage::Token(_) | Stage::Known(_));
        let answers = match &self.stage {
            Stage::Token(token) => {
                let id = query.string(keys::auth(token));
                query.keep_apart(&id);
                let id = query.track(id);
                let mut answers = store.query(query).await?;
                let id = answers.take_tracked(id).map(|id| id.and_then(|id| id.parse().ok()));
                self.stage = match id.transpose() {
                    Some(id) => {
                        Stage::Known(*caches.of::<Sessions>().insert(self.view(), token.clone(), id, None))
                    }
                    None => Stage::Anonymous,
                };
                answers
            }
            Stage::Known(id) => {
                let hash = query.hash(keys::user(*id));
                query.keep_apart(&hash);
                let hash = query.track(hash);
                let mut answers = store.query(query).await?;
                let user = answers.take_tracked(hash).map(|hash| User::from_hash(&hash).map(Arc::new));
                self.stage = match user.transpose() {
                    Some(user) => {
                        let user = caches.of::<Viewers>().insert(self.view(), *id, user, None);
                        Stage::Viewer((*user).clone())
                    }
                    None => Stage::Anonymous,
                };
                answers
            }
            Stage::Anonymous | Stage::Viewer(_) => store.query(query).await?,
        };
        if !self.current && has_asked && self.site.store.tracks_writes() {
            self.current = true;
            self.recall();
        }
        Ok(answers)
    }

    /// How this visit looks at the caches. On a store that others write to it can use
    /// them after its first round, which brings the keys that others have written.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { store: &self.site.store, now: self.now, is_current: self.current }
    }

    /// This visit without the viewer, for reading what is the same for everyone.
    pub(crate) const fn shared(&mut self) -> SharedVisit<'_> {
        SharedVisit(self)
    }

    /// Looks a value up that is expensive to make. Where another is making it, this waits
    /// until it is made; what it then gets to make has failed elsewhere.
    pub(crate) async fn look_up<'a, K: CacheKind>(
        &mut self,
        cache: &'a Cache<K>,
        key: &K::Key,
    ) -> Result<CacheResult<'a, K>, Error> {
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

    async fn learn_writes_for<K: CacheKind>(&mut self, cache: &Cache<K>, key: &K::Key) -> Result<(), Error> {
        if !self.current && cache.may_have(self.view(), key) {
            self.identify().await?;
        }
        Ok(())
    }

    /// Who asks, as far as it is known: `None` for a visitor without a session,
    /// and mostly before the first round.
    #[must_use]
    pub fn viewer_id(&self) -> Option<UserId> {
        match &self.stage {
            Stage::Known(id) => Some(*id),
            Stage::Viewer(user) => Some(user.id),
            Stage::Anonymous | Stage::Token(_) => None,
        }
    }

    /// Finds out by its own read who asks, where no round of the page has.
    /// Rounds: 1, or none.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn identify(&mut self) -> Result<Option<UserId>, Error> {
        if matches!(self.stage, Stage::Token(_)) {
            self.run(Query::new()).await?;
        }
        Ok(self.viewer_id())
    }

    /// Whether the viewer has been away for so long that the home timeline is
    /// made anew; known once [`Visit::viewer`] has been asked.
    #[must_use]
    pub const fn has_returned(&self) -> bool {
        self.returned
    }

    /// Who asks; runs what is left of the session's own reads. Earns the
    /// viewer the karma of visiting, when it is due, and notes the visit.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn viewer(&mut self) -> Result<Option<&User>, Error> {
        while matches!(self.stage, Stage::Token(_) | Stage::Known(_)) {
            self.run(Query::new()).await?;
        }
        match &mut self.stage {
            Stage::Viewer(user) => {
                if let Err(error) = crate::accounts::karma::reward_visit(&self.site, self.now, user).await {
                    // The page is worth more than the point.
                    tracing::warn!(user = %user.id, %error, "visit not rewarded");
                }
                match crate::accounts::presence::note_visit(&self.site, self.now, user).await {
                    Ok(returned) => self.returned |= returned,
                    Err(error) => tracing::warn!(user = %user.id, %error, "visit not recorded"),
                }
                Ok(Some(user))
            }
            _ => Ok(None),
        }
    }
}

/// What [`Visit::look_up`] has found.
pub(crate) enum CacheResult<'a, K: CacheKind> {
    /// The value.
    Hit(Shared<K::Value>),
    /// Nothing: the value is to be made.
    Miss(Flight<'a, K>),
}

/// A visit of nobody in particular: the reads of a value that everyone shares. It cannot
/// tell who visits.
pub struct SharedVisit<'a>(&'a mut Visit);

impl SharedVisit<'_> {
    /// As [`Visit::run`]: what the session still has to read rides along.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run(&mut self, query: Query) -> Result<Answers, Error> {
        self.0.run(query).await
    }

    /// The same, where anything is asked: what the session has to read alone is left for
    /// the next round.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn run_if_asked(&mut self, query: Query) -> Result<Answers, Error> {
        if query.is_empty() { Ok(Answers::default()) } else { self.run(query).await }
    }

    /// As [`Visit::view`].
    #[must_use]
    pub fn view(&self) -> View<'_> {
        self.0.view()
    }

    /// The site that is visited.
    #[must_use]
    pub fn site(&self) -> &Site {
        self.0.site()
    }

    /// The moment of the visit.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.0.now()
    }
}

/// Whether a text has the form of a session token: 40 hex digits.
fn is_token(text: &str) -> bool {
    text.len() == TOKEN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

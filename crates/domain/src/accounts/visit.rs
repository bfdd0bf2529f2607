//! One visit: the viewer, and the rounds of reads that answer the request.
//!
//! Identifying the viewer takes two dependent reads: the session token gives the user's
//! id, and the id gives the user. A page takes some rounds of its own, so the session's
//! reads are added to them: the token to the first round, the user to the second. A page
//! then identifies its viewer without an extra round. Sessions and viewers are cached.

use crate::accounts::inbox::OnPage;
use crate::accounts::inbox::seen::PendingSights;
use crate::accounts::reader::{Perspective, Reader, ReaderRead};
use crate::accounts::recent_votes::RecentVotes;
use crate::accounts::session_store::{self, SessionRead, VisitSession};
use crate::accounts::users::{Role, User};
use crate::cache::{Cache, CacheKind, Flight, Lookup, MEBIBYTE, Shared, View};
use crate::error::{Error, Refusal};
use crate::identity::{Identities, Identity, IdentityRead, LastRead, store_tag_origin};
use crate::keys;
use crate::repeats::NamedRequest;
use crate::review::{WaitingRead, WaitingRows};
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::identity::TagOrigin;
use crate::values::ids::UserId;
use crate::values::session_token::{SessionToken, TOKEN_DIGITS};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidings_keyspace::{Answers, Fetch, Query, Reads, Tracked};

crate::cache_kind! {
    /// Sessions by their token.
    struct Sessions: SessionToken => VisitSession, "sessions", MEBIBYTE,
        |_, _| 4 * TOKEN_DIGITS + size_of::<VisitSession>();
}

crate::cache_kind! {
    /// Viewers.
    struct Viewers: UserId => Arc<User>, "viewers", 2 * MEBIBYTE, |_, user| user.size();
}

/// One request: the site, the time, and who is viewing, as far as it is known.
pub struct Visit {
    site: Arc<Site>,
    now: Timestamp,
    stage: Stage,
    /// The session, once it is known.
    session: Option<Shared<VisitSession>>,
    /// The identity of the site, once it is known.
    identity: Option<Shared<Identity>>,
    /// Set when the visit prolongs the session.
    prolonged: Arc<AtomicBool>,
    returned: bool,
    current: bool,
    shows_hidden: bool,
    /// Whether the page wants to know what the viewer has chosen to see.
    wants_reader: bool,
    /// The viewer's choices of what to see, once they are known.
    reader: Option<Shared<Reader>>,
    /// Whether nobody is shown anything.
    only_acts: bool,
    /// Whether a person opens a page.
    opens_page: bool,
}

enum Stage {
    Anonymous,
    Token(SessionToken),
    Known(UserId),
    Viewer(Arc<User>),
}

impl Visit {
    /// A visit with the session token of the request, if there is one. Text that cannot
    /// be a token counts as none.
    pub fn new(site: Arc<Site>, now: Timestamp, token: Option<&str>) -> Self {
        let stage = token.and_then(SessionToken::parse).map_or(Stage::Anonymous, Stage::Token);
        let current = !site.store.is_shared();
        let prolonged = Arc::default();
        let (session, identity) = (None, None);
        let mut visit = Self {
            site,
            now,
            stage,
            session,
            identity,
            prolonged,
            returned: false,
            current,
            shows_hidden: false,
            wants_reader: false,
            reader: None,
            only_acts: false,
            opens_page: false,
        };
        visit.recall();
        visit
    }

    /// The same visit, for a call that changes something and shows nothing. It does not read the
    /// viewer's recent votes, which each vote changes.
    #[must_use]
    pub const fn only_acting(mut self) -> Self {
        self.only_acts = true;
        self
    }

    /// The same visit, of a person who opens a page, which counts as reading its contents.
    #[must_use]
    pub const fn opening_page(mut self) -> Self {
        self.opens_page = true;
        self
    }

    /// Notes what the page shows a viewer who is logged in: the entries of their inbox about it are marked as
    /// read right after. Nothing is noted if it is known that nothing is unread. Rounds: those that identify the viewer,
    /// if none has done so.
    pub async fn note_seen<I: IntoIterator<Item = OnPage>>(
        &mut self,
        seen: impl FnOnce(&User) -> I,
    ) -> Result<(), Error> {
        if !self.opens_page {
            return Ok(());
        }
        let has_nothing = self.known_reader().is_some_and(|reader| !reader.has_unread);
        if let Some(viewer) = self.recognise().await?.filter(|_| !has_nothing) {
            let (reader, seen) = (viewer.id, seen(viewer));
            self.site.of::<PendingSights>().note(reader, seen);
        }
        Ok(())
    }

    /// The same visit. It sets `prolonged` if it prolongs the session.
    #[must_use]
    pub fn reporting_to(mut self, prolonged: Arc<AtomicBool>) -> Self {
        self.prolonged = prolonged;
        self
    }

    /// The same visit. If `shows`, lists also show the stories that the viewer has hidden or
    /// muted.
    #[must_use]
    pub const fn showing_hidden(mut self, shows: bool) -> Self {
        self.shows_hidden = shows;
        self
    }

    /// Whether lists also show what the viewer has hidden or muted. A visitor has done neither.
    pub fn shows_hidden(&self) -> bool {
        self.shows_hidden && self.viewer_id().is_some()
    }

    /// Says that the page wants to know what the viewer has chosen to see: the next round that
    /// knows who the viewer is also reads that, if it is not cached.
    pub(crate) const fn want_reader(&mut self) {
        self.wants_reader = true;
    }

    /// The viewer's choices of what to see; `None` for a visitor. Rounds: at most 2; none if a
    /// round of the page has read them, or if they are cached and the store allows that.
    pub async fn reader(&mut self) -> Result<Option<Shared<Reader>>, Error> {
        self.want_reader();
        self.identify().await?;
        self.recall_reader();
        if self.viewer_id().is_some() && self.known_reader().is_none() {
            self.run(Query::new()).await?;
        }
        Ok(self.known_reader().cloned())
    }

    /// The viewer's choices of what to see, if they have been read.
    pub(crate) fn known_reader(&self) -> Option<&Shared<Reader>> {
        self.reader.as_ref().filter(|reader| self.viewer_id() == Some(reader.id))
    }

    /// The perspective of the viewer, once [`Visit::reader`] has been called.
    pub fn perspective(&self) -> Perspective<'_> {
        Perspective { reader: self.known_reader().map(|reader| &**reader), shows_all: self.shows_hidden() }
    }

    /// Takes the viewer's choices from the cache, if they are there.
    fn recall_reader(&mut self) {
        if let Some(id) = self.viewer_id()
            && self.known_reader().is_none()
        {
            self.reader = ReaderRead::cached(self, id);
        }
    }

    /// Asks for the viewer's choices, if the page wants them and they are not known.
    fn ask_reader(&mut self, query: &mut Query) -> Option<ReaderRead> {
        if !self.wants_reader {
            return None;
        }
        self.recall_reader();
        let id = self.viewer_id().filter(|_| self.known_reader().is_none())?;
        Some(ReaderRead::ask(query, id))
    }

    /// The session, once it is known; see [`Visit::viewer`].
    pub fn session(&self) -> Option<&VisitSession> {
        self.session.as_deref()
    }

    /// Identifies the viewer as far as the caches allow.
    fn recall(&mut self) {
        let caches = &self.site.caches;
        if let Stage::Token(token) = &self.stage
            && let Some(session) = caches.of::<Sessions>().get(self.view(), token)
            && session.is_alive(self.now)
        {
            self.stage = Stage::Known(session.user_id);
            self.session = Some(session);
        }
        if let Stage::Known(id) = &self.stage
            && let Some(user) = caches.of::<Viewers>().get(self.view(), id)
        {
            self.meet((*user).clone());
        }
    }

    /// The user of the session is known. The session may have ended with the user's secret, and
    /// it counts for nothing while the user is banned. The cached user has no role that counts:
    /// which one does is decided here, since a reload of the settings may change it.
    fn meet(&mut self, mut user: Arc<User>) {
        let is_open = self.session.as_ref().is_some_and(|session| session.is_of(&user));
        if is_open && user.ban(self.now).is_none() {
            if user.given_role() > Role::Member {
                user = Arc::new(Arc::unwrap_or_clone(user).acting(&self.site.rules, self.now));
            }
            self.stage = Stage::Viewer(user);
        } else {
            (self.stage, self.session) = (Stage::Anonymous, None);
        }
    }

    /// Notes the name of the request for the page that shows its form again.
    pub fn name_request(&mut self, request: NamedRequest) {
        if let Stage::Viewer(user) = &mut self.stage {
            Arc::make_mut(user).request = Some(request);
        }
    }

    /// The site that is visited.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// A second handle on the site, for callers that also borrow the visit mutably.
    pub(crate) fn site_too(&self) -> Arc<Site> {
        self.site.clone()
    }

    /// The moment of the visit.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether the request has a session token, valid or not.
    pub const fn has_token(&self) -> bool {
        !matches!(self.stage, Stage::Anonymous)
    }

    /// Runs one round of the page's reads, with the session's next read, and with the
    /// identity of the site if that is not cached.
    pub async fn run(&mut self, mut query: Query) -> Result<Answers, Error> {
        if query.is_empty() && self.may_recall() {
            self.become_current().await?;
            if !matches!(self.stage, Stage::Token(_)) {
                return Ok(Answers::default());
            }
        }
        let has_asked = !query.is_empty() || matches!(self.stage, Stage::Token(_) | Stage::Known(_));
        let is_wanted = has_asked && self.identity.is_none();
        let is_cached = || self.site.caches.of::<Identities>().may_have(self.view(), &());
        let identity = (is_wanted && !is_cached()).then(|| IdentityRead::ask(&mut query));
        let reader = self.ask_reader(&mut query);
        let waiting = (has_asked && self.reads_waiting_rows()).then(|| WaitingRead::ask(&mut query));
        let mut answers = self.run_with_session(query).await?;
        if let Some(read) = waiting {
            read.take(self.site.of(), &mut answers);
        }
        if let Some(read) = reader {
            self.reader = Some(read.take(self, &mut answers));
        }
        if let Some(read) = identity {
            self.meet_identity(read, &mut answers);
        }
        if !self.current && has_asked {
            if self.site.store.has_doubts() {
                self.site.store.learn_writes().await?;
            }
            self.note_current();
        }
        Ok(answers)
    }

    /// Learns what other servers have written, so that the caches can be used. Rounds: 1 on a
    /// shared store, if the visit has made none.
    async fn become_current(&mut self) -> Result<(), Error> {
        if !self.current {
            self.site.store.learn_writes().await?;
            self.note_current();
        }
        Ok(())
    }

    fn note_current(&mut self) {
        if self.site.store.tracks_writes() {
            self.current = true;
            self.recall();
        }
    }

    /// Whether the session may be in the cache, which cannot be used yet.
    fn may_recall(&self) -> bool {
        match &self.stage {
            Stage::Token(token) if !self.current => {
                self.site.caches.of::<Sessions>().may_have(self.view(), token)
            }
            _ => false,
        }
    }

    /// Whether the viewer is known to be a moderator.
    fn is_by_moderator(&self) -> bool {
        matches!(&self.stage, Stage::Viewer(user) if user.role() >= Role::Moderator)
    }

    /// Whether a round also reads how many rows of the review queue wait: that of a moderator, and the one that finds
    /// out who the viewer is, if nobody has read it since it changed.
    fn reads_waiting_rows(&self) -> bool {
        match &self.stage {
            Stage::Viewer(_) => self.is_by_moderator(),
            Stage::Known(_) => !self.only_acts && self.site.of::<WaitingRows>().last().is_none(),
            Stage::Anonymous | Stage::Token(_) => false,
        }
    }

    /// Learns how many rows of the review queue wait, if the viewer moderates, for [`waiting_rows`]. Call it after
    /// the page's own reads, which also read this. If the store fails, the number stays unknown: a page without it
    /// is better than none. Rounds: none if the page has made one since the viewer is known, or if the number is
    /// known; else 1.
    pub async fn learn_waiting_rows(&mut self) {
        let is_unknown = self.site.of::<WaitingRows>().last().is_none();
        if is_unknown && !self.only_acts && self.is_by_moderator() {
            let mut query = Query::new();
            let read = WaitingRead::ask(&mut query);
            match self.site.store.query(query).await {
                Ok(mut answers) => read.take(self.site.of(), &mut answers),
                Err(error) => tracing::debug!(%error, "length of the review queue not read"),
            }
        }
    }

    async fn run_with_session(&mut self, mut query: Query) -> Result<Answers, Error> {
        let (store, caches) = (&self.site.store, &self.site.caches);
        Ok(match &self.stage {
            Stage::Token(token) => {
                let session = SessionRead::ask(&mut query, token);
                let mut answers = store.query(query).await?;
                let session = session
                    .take(&mut answers, self.now)
                    .map(|session| caches.of::<Sessions>().insert(self.view(), token.clone(), session, None));
                self.stage =
                    session.as_ref().map_or(Stage::Anonymous, |session| Stage::Known(session.user_id));
                self.session = session;
                answers
            }
            Stage::Known(id) if self.only_acts => {
                let hash = query.hash(keys::user(*id)).or_absent(&mut query);
                let mut answers = store.query(query).await?;
                match User::from_hash(&answers.take(hash)) {
                    Some(user) => self.meet(Arc::new(user)),
                    None => self.stage = Stage::Anonymous,
                }
                answers
            }
            Stage::Known(id) => {
                let hash = query.hash(keys::user(*id)).or_absent(&mut query);
                query.keep_apart(&hash);
                let hash = query.track(hash);
                let votes = query.hash(keys::user_recent_votes(*id)).or_absent(&mut query);
                query.keep_apart(&votes);
                let votes = query.track(votes);
                let unread = query.sorted_count(keys::user_unread(*id)).or_absent(&mut query);
                query.keep_apart(&unread);
                let unread = query.track(unread);
                let mut answers = store.query(query).await?;
                let mut reads = Reads::default();
                let votes = answers.take_tracked(votes).collect_into(&mut reads);
                let unread = answers.take_tracked(unread).collect_into(&mut reads);
                let user = answers.take_tracked(hash).collect_into(&mut reads);
                let user = User::from_hash(&user).map(|mut user| {
                    // Lamer News counts replies that are in no inbox.
                    user.replies = user.replies.min(unread);
                    user.recent_votes = RecentVotes::from_hash(user.id, votes);
                    Arc::new(user)
                });
                match Tracked::new(user, reads).transpose() {
                    Some(user) => {
                        let user = caches.of::<Viewers>().insert(self.view(), *id, user, None);
                        self.meet((*user).clone());
                    }
                    None => self.stage = Stage::Anonymous,
                }
                answers
            }
            Stage::Anonymous | Stage::Viewer(_) => store.query(query).await?,
        })
    }

    fn meet_identity(&mut self, read: IdentityRead, answers: &mut Answers) {
        let identity = read.take(answers);
        let identity = self.site.caches.of::<Identities>().insert(self.view(), (), identity, None);
        self.site.of::<LastRead>().set(&identity);
        self.identity = Some(identity);
    }

    /// The identity of the site. Call it after the page's own reads. If the store fails, it is
    /// the one that was read last: a page without its name is better than none. Rounds: none
    /// if it is cached, or if the page has made a round; else 1.
    pub async fn identity(&mut self) -> Shared<Identity> {
        if self.identity.is_none() && self.current {
            self.identity = self.site.caches.of::<Identities>().get(self.view(), &());
        }
        if self.identity.is_none() {
            let mut query = Query::new();
            let read = IdentityRead::ask(&mut query);
            match self.site.store.query(query).await {
                Ok(mut answers) => self.meet_identity(read, &mut answers),
                Err(error) => tracing::debug!(%error, "identity of the site not read"),
            }
        }
        self.identity.clone().unwrap_or_else(|| self.site.of::<LastRead>().get())
    }

    /// How the ids of entries in feeds begin. It is stored when it is needed for the first time, with this host of the
    /// site, and never changes. A store that takes no writes can still be read. Rounds: those of [`Visit::identity`],
    /// and 2 for the first feed that is read.
    pub async fn tag_origin(&mut self, host: &str) -> TagOrigin {
        if let Some(tag) = &self.identity().await.tag {
            return tag.clone();
        }
        store_tag_origin(&self.site, self.now, host).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the beginning of the ids in feeds was not stored");
            TagOrigin::new(host, self.now)
        })
    }

    /// The viewer, with reads only: no karma, no note of the visit. For pages about failures.
    /// Rounds: at most 2.
    pub async fn recognise(&mut self) -> Result<Option<&User>, Error> {
        while matches!(self.stage, Stage::Token(_) | Stage::Known(_)) {
            self.run(Query::new()).await?;
        }
        Ok(match &self.stage {
            Stage::Viewer(user) => Some(user),
            _ => None,
        })
    }

    /// Fetches things that are read together, as [`Visit::run`] does.
    pub(crate) async fn fetch<F: Fetch>(&mut self, what: F) -> Result<F::Value, Error> {
        let mut query = Query::new();
        let asked = what.ask(&mut query);
        Ok(F::take(asked, &mut self.run(query).await?))
    }

    /// The same, unless the query is empty: then nothing is read.
    pub(crate) async fn run_if_asked(&mut self, query: Query) -> Result<Answers, Error> {
        if query.is_empty() { Ok(Answers::default()) } else { self.run(query).await }
    }

    /// How this visit sees the caches. On a shared store it can use them only after its
    /// first round, which also fetches the keys that other servers have written.
    pub fn view(&self) -> View<'_> {
        View { store: &self.site.store, now: self.now, is_current: self.current }
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
        // A value in doubt may turn out to be valid.
        let is_worth_it = || cache.may_have(self.view(), key) || self.site.store.has_doubts();
        if !self.current && is_worth_it() {
            self.identify().await?;
            self.become_current().await?;
        }
        Ok(())
    }

    /// The viewer's id as far as it is known: `None` for a visitor without a session, and
    /// usually before the first round.
    pub fn viewer_id(&self) -> Option<UserId> {
        match &self.stage {
            Stage::Known(id) => Some(*id),
            Stage::Viewer(user) => Some(user.id),
            Stage::Anonymous | Stage::Token(_) => None,
        }
    }

    /// The viewer, or `None` if that is not known yet. A visitor without a session is known.
    pub(crate) fn known_viewer(&self) -> Option<Option<&User>> {
        match &self.stage {
            Stage::Anonymous => Some(None),
            Stage::Viewer(user) => Some(Some(user)),
            Stage::Token(_) | Stage::Known(_) => None,
        }
    }

    /// The same, with reads of its own if no round of the page has done so. Rounds: at most 2.
    pub(crate) async fn know_viewer(&mut self) -> Result<Option<&User>, Error> {
        while self.known_viewer().is_none() {
            self.run(Query::new()).await?;
        }
        Ok(self.known_viewer().flatten())
    }

    /// Refuses a viewer who does not moderate. Rounds: 2, none if the viewer is known.
    ///
    /// # Errors
    /// [`Refusal::ModeratorsOnly`], [`Refusal::RoleNeedsTwoFactor`], or the store's.
    pub(crate) async fn demand_moderator(&mut self) -> Result<(), Error> {
        let viewer = self.know_viewer().await?.ok_or(Refusal::ModeratorsOnly)?;
        Ok(viewer.require_moderator()?)
    }

    /// Identifies the viewer with a read of its own, if no round of the page has done so.
    /// Rounds: at most 1.
    pub(crate) async fn identify(&mut self) -> Result<Option<UserId>, Error> {
        if matches!(self.stage, Stage::Token(_)) {
            self.run(Query::new()).await?;
        }
        Ok(self.viewer_id())
    }

    /// Whether the viewer has been away for so long that the home timeline is being
    /// rebuilt; known after [`Visit::viewer`].
    pub const fn has_returned(&self) -> bool {
        self.returned
    }

    /// The viewer. Runs what is left of the session's own reads, gives the viewer the
    /// karma for visiting if it is due, and notes the visit. Rounds: at most 2, and 3
    /// commits, each of them once in a while.
    pub async fn viewer(&mut self) -> Result<Option<&User>, Error> {
        self.recognise().await?;
        self.prolong_session().await;
        match &mut self.stage {
            Stage::Viewer(user) => {
                if let Err(error) = crate::accounts::karma::reward_visit(&self.site, self.now, user).await {
                    // The page is more important than the karma.
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

impl Visit {
    /// Prolongs the session of a viewer, if that is due.
    async fn prolong_session(&mut self) {
        let (Stage::Viewer(_), Some(session)) = (&self.stage, &self.session) else { return };
        if self.prolonged.load(Ordering::Relaxed) {
            return;
        }
        match session_store::prolong(&self.site, self.now, session).await {
            Ok(prolonged) => self.prolonged.store(prolonged, Ordering::Relaxed),
            Err(error) => tracing::warn!(user = %session.user_id, %error, "session not prolonged"),
        }
    }
}

/// How many rows of the review queue wait, as far as this server knows; `None` unless the viewer moderates. It reads
/// nothing: see [`Visit::learn_waiting_rows`].
pub fn waiting_rows(site: &Site, viewer: Option<&User>) -> Option<u64> {
    viewer.filter(|viewer| viewer.role() >= Role::Moderator)?;
    site.of::<WaitingRows>().last()
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
    /// As [`Visit::run`]: the session's next read is added to the round.
    pub async fn run(&mut self, query: Query) -> Result<Answers, Error> {
        self.0.run(query).await
    }

    /// The same, unless the query is empty: then the session's read waits for the next
    /// round.
    pub(crate) async fn run_if_asked(&mut self, query: Query) -> Result<Answers, Error> {
        self.0.run_if_asked(query).await
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

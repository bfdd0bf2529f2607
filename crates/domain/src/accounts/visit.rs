//! One visit: the viewer, and the rounds of reads that answer the request.
//!
//! Identifying the viewer takes two dependent reads: the session token gives the user's
//! id, and the id gives the user. A page takes some rounds of its own, so the session's
//! reads are added to them: the token to the first round, the user to the second. A page
//! then identifies its viewer without an extra round. Sessions and viewers are cached.

mod caching;

pub(crate) use self::caching::CacheResult;
pub use self::caching::SharedVisit;

use crate::accounts::inbox::seen::PendingSights;
use crate::accounts::session_store::{self, VisitSession};
use crate::accounts::{NewestUnread, OnPage, Perspective, Reader, ReadingKey, RecentVotes};
use crate::cache::{MEBIBYTE, Shared};
use crate::identity::{Identities, Identity, LastRead, store_tag_origin};
use crate::repeats::NamedRequest;
use crate::review::{self, WaitingRows};
use crate::values::{SessionToken, TOKEN_DIGITS, TagOrigin, Timestamp, UserId};
use crate::{Refusal, Result, Role, Site, User, keys};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidings_keyspace::{Answers, Boxed, Fetch, Query, Tracked, read};

crate::cache_kind! {
    /// Sessions by their token.
    struct Sessions: SessionToken => VisitSession, "sessions", MEBIBYTE,
        |_, _| 4 * TOKEN_DIGITS + size_of::<VisitSession>();
}

crate::cache_kind! {
    /// Viewers.
    struct Viewers: UserId => Arc<User>, "viewers", 2 * MEBIBYTE, |_, user| user.size();
}

/// The newest unread entries of which it is found out whether the viewer can see what they are about: the badge is at most
/// this.
pub(crate) const COUNTED_UNREAD: u64 = 300;

/// One request: the site, the time, and who is viewing, as far as it is known.
pub struct Visit {
    site: Arc<Site>,
    now: Timestamp,
    stage: Stage,
    /// The key of a program that reads for a member.
    key: Option<ReadingKey>,
    /// The session, once it is known.
    session: Option<Shared<VisitSession>>,
    /// The identity of the site, once it is known.
    identity: Option<Shared<Identity>>,
    /// Set when the visit prolongs the session.
    pub prolonged: Arc<AtomicBool>,
    current: bool,
    /// Whether a member is also shown what they mute, block or hide.
    pub asks_for_hidden: bool,
    /// Whether the page wants to know what the viewer has chosen to see.
    wants_reader: bool,
    /// The viewer's choices of what to see, once they are known.
    reader: Option<Shared<Reader>>,
    /// Whether it is a call that changes something and shows nothing. It does not read the viewer's recent votes,
    /// which each vote changes.
    pub only_acts: bool,
    /// Whether a person opens a page, which counts as reading its contents.
    pub opens_page: bool,
    /// How the badge is read, if the viewer is shown it, until it is known: a round that knows who the viewer is also
    /// reads it, if anything is unread.
    pub(crate) read_badge: Option<ReadBadge>,
}

/// Reads how many of the newest unread entries of the viewer are about what they can see.
pub(crate) type ReadBadge = fn(&Visit, &User) -> Boxed<'static, u64>;

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
        let mut visit = Self {
            current: !site.store.is_shared(),
            site,
            now,
            stage: token.and_then(SessionToken::parse).map_or(Stage::Anonymous, Stage::Token),
            key: None,
            session: None,
            identity: None,
            prolonged: Arc::default(),
            asks_for_hidden: false,
            wants_reader: false,
            reader: None,
            only_acts: false,
            opens_page: false,
            read_badge: None,
        };
        visit.recall();
        visit
    }

    /// A visit of a program that reads for a member.
    pub fn by_key(site: Arc<Site>, now: Timestamp, key: ReadingKey) -> Self {
        let mut visit = Self::new(site, now, None);
        (visit.stage, visit.key) = (Stage::Known(key.owner), Some(key));
        visit.recall();
        visit
    }

    /// Notes what the page shows a viewer who is logged in: the entries of their inbox about it are marked as
    /// read right after. Nothing is noted if it is known that nothing is unread. Rounds: those that identify the viewer,
    /// if none has done so.
    pub async fn note_seen<I: IntoIterator<Item = OnPage>>(
        &mut self,
        seen: impl FnOnce(&User) -> I,
    ) -> Result<()> {
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

    /// Whether lists also show what the viewer has hidden or muted. A visitor has done neither.
    pub fn shows_hidden(&self) -> bool {
        self.asks_for_hidden && self.viewer_id().is_some()
    }

    /// Says that the page wants to know what the viewer has chosen to see: the next round that
    /// knows who the viewer is also reads that, if it is not cached.
    pub(crate) const fn want_reader(&mut self) {
        self.wants_reader = true;
    }

    /// The viewer's choices of what to see; `None` for a visitor. Rounds: at most 2; none if a
    /// round of the page has read them, or if they are cached and the store allows that.
    pub async fn reader(&mut self) -> Result<Option<Shared<Reader>>> {
        self.want_reader();
        self.identify().await?;
        self.recall_reader();
        if self.viewer_id().is_some() && self.known_reader().is_none() {
            self.advance().await?;
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
            self.reader = Reader::cached(self, id);
        }
    }

    /// The viewer, if the page wants their choices and they are not known.
    fn wanted_reader(&mut self) -> Option<UserId> {
        if !self.wants_reader {
            return None;
        }
        self.recall_reader();
        self.viewer_id().filter(|_| self.known_reader().is_none())
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
        let is_open = match &self.key {
            Some(key) => key.opens(&user),
            None => self.session.as_ref().is_some_and(|session| session.is_of(&user)),
        };
        if is_open && user.ban(self.now).is_none() {
            if user.given_role() > Role::Member {
                user = Arc::new(Arc::unwrap_or_clone(user).acting(&self.site.rules, self.now));
            }
            self.stage = Stage::Viewer(user);
        } else {
            (self.stage, self.session) = (Stage::Anonymous, None);
        }
    }

    /// The badge is no higher than what the viewer can see of the newest unread entries.
    fn note_badge(&mut self, seen: u64) {
        self.read_badge = None;
        if let Stage::Viewer(user) = &mut self.stage
            && user.replies > seen
        {
            Arc::make_mut(user).replies = seen;
        }
    }

    /// The read of the badge, if the viewer is known and has anything unread.
    fn wanted_badge(&self) -> Option<Boxed<'static, u64>> {
        match &self.stage {
            Stage::Viewer(user) if user.replies > 0 => self.read_badge.map(|read| read(self, user)),
            _ => None,
        }
    }

    /// Learns the badge of the viewer. Call it after the page's own reads, which also read this. If the store fails, the
    /// badge counts everything unread. Rounds: none if nothing is unread, if the badge is cached, or if the page has made
    /// a round since the viewer is known; else 1.
    pub async fn learn_badge(&mut self) {
        if let Some(badge) = self.wanted_badge() {
            match self.fetch_if_needed(badge).await {
                Ok(seen) => self.note_badge(seen),
                Err(error) => tracing::debug!(%error, "subjects of unread entries not read"),
            }
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

    /// Fetches things that are read together: one round of the page's reads, with the session's next read, and with
    /// the identity of the site if that is not cached.
    pub(crate) async fn fetch<F: Fetch>(&mut self, what: F) -> Result<F::Value> {
        let mut query = Query::new();
        let asked = what.ask(&mut query);
        Ok(F::take(asked, &mut self.run(query).await?))
    }

    /// The same, unless there is nothing to read: then the session's read waits for the next round.
    pub(crate) async fn fetch_if_needed<F: Fetch>(&mut self, what: F) -> Result<F::Value> {
        let mut query = Query::new();
        let asked = what.ask(&mut query);
        let mut answers = if query.is_empty() { Answers::default() } else { self.run(query).await? };
        Ok(F::take(asked, &mut answers))
    }

    /// Runs the session's next read alone.
    async fn advance(&mut self) -> Result<()> {
        self.fetch(read::known(())).await
    }

    async fn run(&mut self, mut query: Query) -> Result<Answers> {
        if query.is_empty() && self.may_recall() {
            self.become_current().await?;
            if !matches!(self.stage, Stage::Token(_)) {
                return Ok(Answers::default());
            }
        }
        let has_asked = !query.is_empty() || matches!(self.stage, Stage::Token(_) | Stage::Known(_));
        let is_wanted = has_asked && self.identity.is_none();
        let is_cached = || self.site.caches.of::<Identities>().may_have(self.view(), &());
        let identity = (is_wanted && !is_cached()).then(Identity::read);
        let reader = self.wanted_reader().map(|id| Reader::read(self, id));
        let waiting = (has_asked && self.reads_waiting_rows()).then(review::count_waiting);
        let along = query.ask((identity, reader, waiting, self.wanted_badge()));
        let mut answers = self.run_with_session(query).await?;
        let (identity, reader, waiting, badge) = answers.of(along);
        if let Some(seen) = badge {
            self.note_badge(seen);
        }
        if let Some(rows) = waiting {
            self.site.of::<WaitingRows>().note(rows);
        }
        self.reader = reader.or_else(|| self.reader.take());
        if let Some(identity) = identity {
            self.meet_identity(identity);
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
    async fn become_current(&mut self) -> Result<()> {
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
            match self.site.store.fetch(review::count_waiting()).await {
                Ok(rows) => self.site.of::<WaitingRows>().note(rows),
                Err(error) => tracing::debug!(%error, "length of the review queue not read"),
            }
        }
    }

    async fn run_with_session(&mut self, mut query: Query) -> Result<Answers> {
        let (store, caches) = (&self.site.store, &self.site.caches);
        Ok(match &self.stage {
            Stage::Token(token) => {
                let session = query.ask(session_store::of_token(token.clone(), self.now));
                let mut answers = store.query(query).await?;
                let session = answers
                    .of(session)
                    .map(|session| caches.of::<Sessions>().insert(self.view(), token.clone(), session, None));
                self.stage =
                    session.as_ref().map_or(Stage::Anonymous, |session| Stage::Known(session.user_id));
                self.session = session;
                answers
            }
            Stage::Known(id) if self.only_acts => {
                let user = query.ask(User::by_id(*id).or_absent());
                let mut answers = store.query(query).await?;
                match answers.of(user) {
                    Some(user) => self.meet(Arc::new(user)),
                    None => self.stage = Stage::Anonymous,
                }
                answers
            }
            Stage::Known(id) => {
                let votes = read::hash(keys::user_recent_votes(*id));
                let unread = NewestUnread::of(*id, COUNTED_UNREAD);
                let reads = (User::by_id(*id), votes, unread).or_absent().tracked().apart();
                let read = query.ask(reads);
                let mut answers = store.query(query).await?;
                let user = answers.of(read).map(|(user, votes, unread)| {
                    let mut user = user?;
                    // Lamer News counts replies that are in no inbox.
                    user.replies = user.replies.min(unread.count);
                    user.unread = unread;
                    user.recent_votes = RecentVotes::from_hash(user.id, votes);
                    Some(Arc::new(user))
                });
                match user.transpose() {
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

    fn meet_identity(&mut self, identity: Tracked<Identity>) {
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
            match self.site.store.fetch(Identity::read()).await {
                Ok(identity) => self.meet_identity(identity),
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

    /// The viewer, with reads only: no karma, no note of the visit. Rounds: at most 2; none if rounds of the page have
    /// found out.
    pub async fn recognise(&mut self) -> Result<Option<&User>> {
        while matches!(self.stage, Stage::Token(_) | Stage::Known(_)) {
            self.advance().await?;
        }
        Ok(match &self.stage {
            Stage::Viewer(user) => Some(user),
            _ => None,
        })
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

    /// Refuses a viewer who does not moderate. Rounds: 2, none if the viewer is known.
    ///
    /// # Errors
    /// [`Refusal::ModeratorsOnly`], [`Refusal::RoleNeedsTwoFactor`], or the store's.
    pub(crate) async fn demand_moderator(&mut self) -> Result<()> {
        let viewer = self.recognise().await?.ok_or(Refusal::ModeratorsOnly)?;
        Ok(viewer.require_moderator()?)
    }

    /// Identifies the viewer with a read of its own, if no round of the page has done so.
    /// Rounds: at most 1.
    pub async fn identify(&mut self) -> Result<Option<UserId>> {
        if matches!(self.stage, Stage::Token(_)) {
            self.advance().await?;
        }
        Ok(self.viewer_id())
    }

    /// The viewer. Runs what is left of the session's own reads, gives the viewer the
    /// karma for visiting if it is due, and notes the visit. Rounds: at most 2, and 3
    /// commits, each of them once in a while.
    pub async fn viewer(&mut self) -> Result<Option<&User>> {
        self.recognise().await?;
        self.prolong_session().await;
        match &mut self.stage {
            Stage::Viewer(user) => {
                if let Err(error) = crate::accounts::karma::reward_visit(&self.site, self.now, user).await {
                    // The page is more important than the karma.
                    tracing::warn!(user = %user.id, %error, "visit not rewarded");
                }
                if let Err(error) = crate::accounts::presence::note_visit(&self.site, self.now, user).await {
                    tracing::warn!(user = %user.id, %error, "visit not recorded");
                }
                Ok(Some(user))
            }
            _ => Ok(None),
        }
    }

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

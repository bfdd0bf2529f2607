//! Sessions as they are stored: the hash `session:<hash of the token>` of each, and the
//! sorted set `user:<id>:sessions`.
//!
//! The store never holds a token, only its hash: who reads a backup cannot use it. A token
//! under `auth:<token>` was written by Lamer News, or by an earlier version. It is
//! accepted, but none is written.

use crate::accounts::ApiSecret;
use crate::accounts::users::{DEACTIVATED, EarlierSession};
use crate::values::{
    MAX_AGENT, MAX_SESSIONS, SESSION_NOTED_SECONDS, SESSION_SECONDS, SIGN_ON_SECONDS, SessionHash,
    SessionToken, Timestamp, UserId, named, never_logged, random_token,
};
use crate::{Applied, Result, Site, User, fields, keys};
use serde::Serialize;
use std::net::IpAddr;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr};
use tidings_keyspace::{Batch, CheckId, Fetch, Hash, Order, Tracked, read};

/// How long a session lasts after the last visit.
const SESSION_LIFE: Duration = Duration::from_secs(SESSION_SECONDS);
/// The difference in score of two sessions that were opened in the same second, so that
/// their order is that of the logins.
const SCORE_STEP: f64 = 0.001;
/// The field of a session with the form secret of its account. A session is valid only while
/// it is the same: replacing the account's secret ends all sessions at once, also one that is
/// opened at the same moment.
const SECRET: &str = "apisecret";
/// The field of a session with the form secret that the account had before it was replaced.
const FORMER_SECRET: &str = "former_apisecret";
/// The field of a session that says when its owner last logged in anew, to confirm something, in Unix seconds.
const CONFIRMED: &str = "confirmed";
/// The field of a session that says how its owner logged in.
const METHOD: &str = "method";

/// A user's session: what a browser or a client needs to act as the user.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// The user.
    pub user_id: UserId,
    /// The session token, for the cookie.
    pub auth: SessionToken,
    /// The secret that every form carries.
    pub apisecret: String,
}

impl Session {
    /// A session with fresh secrets; not stored yet.
    pub(crate) fn new(user_id: UserId) -> Result<Self> {
        Ok(Self { user_id, auth: SessionToken::random()?, apisecret: random_token()? })
    }
}

never_logged!(Session);

/// The device that a session is opened from.
#[derive(Debug, Clone)]
pub struct Device {
    agent: String,
    /// The network address.
    pub address: IpAddr,
    /// Whether it is the machine that the site runs on, as far as is known.
    pub is_local: bool,
}

impl Device {
    /// A program at an address. `agent` is its `User-Agent`, which is shortened if it is
    /// very long.
    pub fn new(agent: &str, address: IpAddr) -> Self {
        let printable = agent.chars().filter(|character| !character.is_control());
        Self { agent: printable.take(MAX_AGENT).collect(), address, is_local: false }
    }

    /// The same, on the machine that the site runs on or not.
    #[must_use]
    pub const fn being_local(mut self, is_local: bool) -> Self {
        self.is_local = is_local;
        self
    }
}

/// Where a session is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionKey {
    /// In `session:<hash>`.
    Session(SessionHash),
    /// In `auth:<token>`: a session of Lamer News or of an earlier version.
    Earlier(SessionToken),
}

impl SessionKey {
    /// Checks in a batch that the session has not ended.
    pub(crate) fn check(&self, batch: &mut Batch, user: UserId) -> CheckId {
        match self {
            Self::Session(hash) => batch.key_present(keys::session(hash)),
            Self::Earlier(token) => batch.string_equals(keys::auth(token.expose()), user.to_string()),
        }
    }

    /// The hash of the token, unless it is an earlier session.
    pub(crate) const fn hash(&self) -> Option<&SessionHash> {
        match self {
            Self::Session(hash) => Some(hash),
            Self::Earlier(_) => None,
        }
    }
}

/// A session as a visit uses it.
#[derive(Debug, Clone)]
pub struct VisitSession {
    /// Where it is stored.
    pub key: SessionKey,
    /// The owner of the session.
    pub user_id: UserId,
    /// When it was last used, as far as it is stored; `None` for an earlier session, which
    /// never ends by itself.
    last_seen: Option<Timestamp>,
    /// When its owner last logged in anew through the provider, to confirm something.
    confirmed: Option<Timestamp>,
    /// The form secret that the account must have; `None` for an earlier session.
    secret: Option<ApiSecret>,
    /// The form secret that the account had before the other sessions were ended. Forms that
    /// were open in this session at that time still carry it.
    pub former_secret: ApiSecret,
}

impl VisitSession {
    /// Whether the last visit is recent enough. The key in the store expires at the same
    /// time; this is for sessions that are cached.
    pub(crate) fn is_alive(&self, now: Timestamp) -> bool {
        self.last_seen.is_none_or(|seen| now.seconds_since(seen) < SESSION_SECONDS)
    }

    /// Whether it is a session of this user, as the user is now.
    pub(crate) fn is_of(&self, user: &User) -> bool {
        let is_open = match (&self.key, &user.earlier_session) {
            (SessionKey::Session(_), _) => self.secret.as_ref() == Some(&user.apisecret),
            (SessionKey::Earlier(_), EarlierSession::Unknown) => true,
            (SessionKey::Earlier(_), EarlierSession::Ended) => false,
            (SessionKey::Earlier(token), EarlierSession::Open(hash)) => token.hash() == *hash,
        };
        self.user_id == user.id && is_open
    }

    /// Whether its owner has logged in anew through the provider, and a short time ago.
    pub fn is_confirmed(&self, now: Timestamp) -> bool {
        self.confirmed.is_some_and(|at| at <= now && now.seconds_since(at) <= SIGN_ON_SECONDS)
    }

    /// Whether a visit at this time is to be stored. A clock that is set back stores nothing: after it is right
    /// again, the session would seem to be unused since.
    fn is_due(&self, now: Timestamp) -> bool {
        self.last_seen.is_some_and(|seen| now.seconds_since(seen) >= SESSION_NOTED_SECONDS)
    }
}

/// The session of a token; `None` if there is none, or it has ended.
pub(crate) fn of_token(
    token: SessionToken,
    now: Timestamp,
) -> impl Fetch<Value = Option<Tracked<VisitSession>>> {
    let hash = token.hash();
    let reads = (read::hash(keys::session(&hash)), read::string(keys::auth(token.expose())));
    reads.or_absent().tracked().apart().map(move |read| {
        let session = |(stored, earlier): (Hash, Option<String>)| {
            if stored.is_empty() {
                let user_id = earlier?.parse().ok()?;
                let (key, former_secret) = (SessionKey::Earlier(token), ApiSecret::default());
                let (last_seen, secret, confirmed) = Default::default();
                return Some(VisitSession { key, user_id, last_seen, confirmed, secret, former_secret });
            }
            let name = || keys::session(&hash);
            let seen = fields::read(stored.get("last_seen"), name, "last_seen").map(Timestamp)?;
            let secret = |field| ApiSecret::new(stored.get(field).unwrap_or_default());
            let user_id = fields::read(stored.get("user_id"), name, "user_id")?;
            let (last_seen, former_secret) = (Some(seen), secret(FORMER_SECRET));
            let secret = Some(secret(SECRET));
            let confirmed = stored.get(CONFIRMED).and_then(|time| time.parse().ok()).map(Timestamp);
            let key = SessionKey::Session(hash);
            Some(VisitSession { key, user_id, last_seen, confirmed, secret, former_secret })
        };
        read.map(session).transpose().filter(|session| session.peek().is_alive(now))
    })
}

/// Notes a visit, so that the session lasts 60 days from now. Writes at most once an hour.
/// Returns whether the session was prolonged. Rounds: at most 1.
pub(crate) async fn prolong(site: &Site, now: Timestamp, session: &VisitSession) -> Result<bool> {
    let (Some(hash), Some(seen), true) = (session.key.hash(), session.last_seen, session.is_due(now)) else {
        return Ok(false);
    };
    let key = keys::session(hash);
    let mut batch = Batch::new();
    // Fails if the session has ended, or if another request has noted the visit.
    batch.field_equals(&key, "last_seen", seen.to_string());
    batch.set_field(&key, "last_seen", now.to_string());
    batch.expire(&key, SESSION_LIFE);
    batch.expire(keys::user_sessions(session.user_id), SESSION_LIFE);
    Ok(matches!(site.apply(batch).await?, Applied::Yes(_)))
}

/// Notes in a batch that the owner of a session has logged in anew. Fails if it has ended. A session of Lamer News cannot
/// note it.
pub(crate) fn write_confirmed(batch: &mut Batch, now: Timestamp, session: &VisitSession) {
    session.key.check(batch, session.user_id);
    if let Some(hash) = session.key.hash() {
        batch.set_field(keys::session(hash), CONFIRMED, now.to_string());
    }
}

/// Adds a new session to a batch.
pub(crate) fn write_new(batch: &mut Batch, now: Timestamp, session: &Session, opened: &Opening<'_>) {
    let (hash, device) = (session.auth.hash(), opened.device);
    let key = keys::session(&hash);
    let list = keys::user_sessions(session.user_id);
    let fields = [
        ("user_id", session.user_id.to_string()),
        (SECRET, session.apisecret.clone()),
        ("since", now.to_string()),
        ("last_seen", now.to_string()),
        ("agent", device.agent.clone()),
        ("address", device.address.to_string()),
    ];
    batch.set_fields(&key, fields);
    if opened.method != LoginMethod::Password {
        batch.set_field(&key, METHOD, opened.method.name());
    }
    batch.expire(&key, SESSION_LIFE);
    let score = opened.newest.map_or(now.as_score(), |newest| now.as_score().max(newest + SCORE_STEP));
    batch.sorted_add(&list, hash.to_string(), score);
    batch.expire(&list, SESSION_LIFE);
}

/// How a session is opened.
pub(crate) struct Opening<'a> {
    /// The device that it is opened from.
    pub(crate) device: &'a Device,
    /// The score of the newest session that the user has.
    pub(crate) newest: Option<f64>,
    /// How its owner logged in.
    pub(crate) method: LoginMethod,
}

/// How somebody logged in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LoginMethod {
    /// With the password alone. It is not stored.
    #[default]
    Password,
    /// With the password and a code of the authenticator app.
    #[strum(serialize = "password+totp")]
    Totp,
    /// With the password and a recovery code.
    #[strum(serialize = "password+recovery")]
    RecoveryCode,
    /// With the password and a passkey.
    #[strum(serialize = "password+passkey")]
    PasswordAndPasskey,
    /// With a passkey alone.
    Passkey,
    /// Through an OpenID provider.
    Provider,
    /// With the link that the operator made.
    Link,
}

named!(LoginMethod);

/// The sessions of an account as they were read, to end all of them.
pub(crate) struct AllSessions {
    user_id: UserId,
    hashes: Vec<String>,
    /// The score of the newest.
    pub(crate) newest: Option<f64>,
    /// The field `auth`: the token of an earlier session.
    auth: Option<String>,
    apisecret: Option<String>,
    /// Whether the account exists and is not deactivated.
    pub(crate) has_owner: bool,
}

impl AllSessions {
    /// Reads the sessions of an account. Rounds: 1.
    pub(crate) async fn read(site: &Site, user_id: UserId) -> Result<Self> {
        let list = read::sorted_range(keys::user_sessions(user_id), Order::Ascending, 0, u64::MAX);
        let account = read::fields(keys::user(user_id), ["username", DEACTIVATED, "auth", "apisecret"]);
        let (list, [username, deactivated, auth, apisecret]) = site.store.fetch((list, account)).await?;
        let newest = list.last().map(|(_, score)| *score);
        let hashes = list.into_iter().map(|(hash, _)| hash).collect();
        let has_owner = username.is_some() && deactivated.is_none();
        Ok(Self { user_id, hashes, newest, auth, apisecret, has_owner })
    }

    /// Ends them in a batch, all but `kept`. The batch must also replace the secret of forms:
    /// that ends a session which was opened since they were read.
    pub(crate) fn end(&self, batch: &mut Batch, kept: Option<&SessionKey>) {
        let key = keys::user(self.user_id);
        batch.field_unchanged(&key, "auth", self.auth.as_ref());
        for hash in &self.hashes {
            let is_kept = kept.and_then(SessionKey::hash).is_some_and(|kept| kept.to_string() == *hash);
            if !is_kept {
                end_listed(batch, self.user_id, hash);
            }
        }
        let is_kept = match (kept, self.auth.as_deref()) {
            (Some(SessionKey::Earlier(kept)), auth) => auth.is_none_or(|auth| kept.expose() == auth),
            _ => false,
        };
        if is_kept {
            return;
        }
        if let Some(auth) = self.auth.as_deref().filter(|auth| !auth.is_empty()) {
            batch.delete(keys::auth(auth));
        }
        // Empty, not absent: then no token of Lamer News counts.
        batch.set_field(&key, "auth", "");
    }

    /// Whether a session, as it is stored, is one of the account as it is now.
    fn has(&self, session: &Hash) -> bool {
        !session.is_empty() && session.get(SECRET) == self.apisecret.as_deref()
    }

    /// The token of an earlier session.
    pub(crate) fn earlier(&self) -> Option<SessionToken> {
        self.auth.as_deref().and_then(SessionToken::parse)
    }

    /// The hash whose session has this id.
    pub(crate) fn find(&self, id: &str) -> Option<SessionHash> {
        self.hashes.iter().filter_map(|hash| SessionHash::parse(hash)).find(|hash| hash.id() == id)
    }
}

/// Ends one session in a batch.
pub(crate) fn end_one(batch: &mut Batch, user_id: UserId, session: &SessionKey) {
    match session {
        SessionKey::Session(hash) => end_listed(batch, user_id, &hash.to_string()),
        SessionKey::Earlier(token) => {
            batch.delete(keys::auth(token.expose()));
            batch.set_field(keys::user(user_id), "auth", "");
        }
    }
}

/// Ends a session as it is listed. A member that is not a hash of ours was written by another
/// program, and has no session.
fn end_listed(batch: &mut Batch, user_id: UserId, listed: &str) {
    if let Some(hash) = SessionHash::parse(listed) {
        batch.delete(keys::session(&hash));
    }
    batch.sorted_remove(keys::user_sessions(user_id), listed);
}

/// Keeps a session valid when the secret of forms is replaced, and lets it go on using the
/// former one.
pub(crate) fn replace_secret(batch: &mut Batch, session: &SessionKey, former: &ApiSecret, new: &str) {
    if let Some(hash) = session.hash() {
        batch.set_fields(keys::session(hash), [(SECRET, new), (FORMER_SECRET, former.expose())]);
    }
}

/// One session of an account, for its owner. It is serialized for exports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OpenSession {
    /// The id, with which the owner can end it. It is of no use without a session.
    #[serde(skip)]
    pub id: String,
    /// When the owner logged in; `None` if it is not known, as for an earlier session.
    pub since: Option<Timestamp>,
    /// The last visit, to the hour.
    pub last_seen: Option<Timestamp>,
    /// The `User-Agent` at the login; may be empty.
    pub agent: String,
    /// The network address at the login; may be empty.
    pub address: String,
    /// How the owner logged in.
    #[serde(skip)]
    pub method: LoginMethod,
    /// Whether the list was asked for in this session.
    #[serde(skip)]
    pub current: bool,
}

/// The id of an earlier session: an account has at most one.
pub(crate) const EARLIER_ID: &str = "earlier";

/// The sessions of the user whose session this is, the newest first. Rounds: 2.
pub async fn list(site: &Site, session: &VisitSession) -> Result<Vec<OpenSession>> {
    let all = AllSessions::read(site, session.user_id).await?;
    let hashes: Vec<SessionHash> =
        all.hashes.iter().rev().filter_map(|hash| SessionHash::parse(hash)).collect();
    let reads: Vec<_> = hashes.iter().map(|hash| read::hash(keys::session(hash)).or_absent()).collect();
    let earlier = all.earlier().map(|token| read::string(keys::auth(token.expose())));
    let (stored, earlier) = site.store.fetch((reads, earlier)).await?;
    let mut sessions = Vec::with_capacity(stored.len() + 1);
    for (hash, stored) in hashes.into_iter().zip(stored) {
        // Expired sessions stay on the list until there are too many.
        if all.has(&stored) {
            let time = |field| fields::read(stored.get(field), || keys::session(&hash), field).map(Timestamp);
            sessions.push(OpenSession {
                id: hash.id().to_owned(),
                since: time("since"),
                last_seen: time("last_seen"),
                agent: stored.get("agent").unwrap_or_default().to_owned(),
                address: stored.get("address").unwrap_or_default().to_owned(),
                method: stored.get(METHOD).and_then(|method| method.parse().ok()).unwrap_or_default(),
                current: session.key.hash() == Some(&hash),
            });
        }
    }
    if earlier.flatten().is_some_and(|id| id == session.user_id.to_string()) {
        let current = matches!(session.key, SessionKey::Earlier(_));
        sessions.push(OpenSession { id: EARLIER_ID.to_owned(), current, ..OpenSession::default() });
    }
    Ok(sessions)
}

/// Ends the oldest sessions of an account that has too many, and takes those that have
/// expired off the list. Rounds: 1, and 2 more if there are too many.
pub(crate) async fn end_surplus(site: &Site, user_id: UserId) -> Result<()> {
    let all = AllSessions::read(site, user_id).await?;
    if all.hashes.len() <= MAX_SESSIONS {
        return Ok(());
    }
    let read = |hash: &String| SessionHash::parse(hash).map(|hash| read::hash(keys::session(&hash)));
    let sessions = site.store.fetch(all.hashes.iter().map(read).collect::<Vec<_>>()).await?;
    let mut batch = Batch::new();
    let mut live = 0;
    for (hash, session) in all.hashes.iter().zip(sessions).rev() {
        let is_live = session.is_some_and(|session| all.has(&session));
        live += usize::from(is_live);
        if !is_live || live > MAX_SESSIONS {
            end_listed(&mut batch, user_id, hash);
        }
    }
    // Nothing is checked: what is surplus now is surplus whatever happens meanwhile.
    site.apply(batch).await.map(drop)
}

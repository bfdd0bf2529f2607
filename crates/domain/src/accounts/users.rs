//! Users as they are stored: the hash `user:<id>`.

use crate::accounts::confirmation::{CONFIRMED_EMAIL, NEW_EMAIL, UNCONFIRMED};
use crate::accounts::inbox::feed::FEED;
use crate::accounts::invitations::{INVITED_BY, tree};
use crate::accounts::newness::ESTABLISHED;
use crate::accounts::outbox::MAIL_REFUSED;
use crate::accounts::recent_votes::RecentVotes;
use crate::accounts::two_factor::{SecondFactors, TWO_FACTOR};
use crate::accounts::visit::{CacheResult, SharedVisit, Visit};
use crate::cache::{MEBIBYTE, Shared};
use crate::error::{Error, Refusal};
use crate::fields::{self, StoredFields};
use crate::keys;
use crate::repeats::NamedRequest;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::preferences::Preferences;
use crate::values::restriction::Restrictions;
use crate::values::rules::Rules;
use crate::values::secrets;
use crate::values::session_token::{SessionHash, SessionToken};
use crate::values::size;
use crate::values::voter_id::VoterId;
use crate::values::withheld::{WITHHELD, Withheld};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Deref;
use std::sync::Arc;
use tidings_keyspace::{Answers, Asked, Fetch, Handle, Hash, Query, Reads, Tracked, read};

/// The fields of a user with the username and the full name, and whether they still count.
const NAMES: [&str; 3] = ["username", "fullname", DEACTIVATED];

/// The field of a user that says when the account was deactivated, in Unix seconds.
/// Accounts that were deactivated by an earlier version also lack a username.
pub(crate) const DEACTIVATED: &str = "deactivated";

/// What `username` holds once an account is deactivated. Our pages do not show it. Lamer
/// News, which may run on the same Redis, cannot show a user without a name.
pub(crate) const DELETED_USERNAME: &str = "[deleted user]";

/// The field of a user that counts changes of the password and of the e-mail address.
pub(crate) const CREDENTIALS_VERSION: &str = "credentials_version";

crate::cache_kind! {
    /// Names of users; `None` for a deactivated account.
    struct Usernames: UserId => Option<Arc<str>>, "usernames", MEBIBYTE,
        |_, name| name.as_deref().map_or(0, str::len);
}

crate::cache_kind! {
    /// Profiles as everyone sees them, by the key of the name.
    struct Profiles: String => ProfileFacts, "profiles", MEBIBYTE,
        |key, facts| key.len() + size_of::<ProfileFacts>() + facts.user.size();
}

/// A user, without password and session token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The number of the account.
    pub id: UserId,
    /// The name, in the case it was registered with.
    pub username: String,
    /// When the account was created.
    pub ctime: Timestamp,
    /// Karma, which votes cost.
    pub karma: i64,
    /// The profile text; plain, may be empty.
    pub about: String,
    /// The e-mail address; may be empty. Shown to the user only.
    pub email: String,
    /// The address whose owner has confirmed it; empty without one.
    pub confirmed_email: String,
    /// The address that takes the place of `email` once it is confirmed; empty without one.
    pub new_email: String,
    /// How many mails the address has refused, one after the other.
    pub mail_refused: u64,
    /// Extra rights and preferences.
    pub flags: Flags,
    /// The role that counts; see [`User::role`].
    counted_role: Role,
    /// The secret that every form of the user's session carries. It is empty for an
    /// imported user who has not logged in here yet; then no form is accepted.
    pub apisecret: ApiSecret,
    /// When the user last earned karma by visiting, if known.
    pub karma_incr_time: Option<Timestamp>,
    /// Unread entries of the inbox.
    pub replies: u64,
    /// The secret of the inbox's feed; empty without a feed.
    pub inbox_feed: ApiSecret,
    /// The name shown beside the username; may be empty.
    pub fullname: String,
    /// Whether a tweet announces each submission to the followers.
    pub tweet_news: bool,
    /// Whether the user wants the picture from gravatar.com, on sites that show them.
    pub gravatar: bool,
    /// Whether the account is known to be no longer new; see `newness.rs`.
    pub is_established: bool,
    /// Why readers do not see the text of the profile, if they do not.
    pub withheld: Option<Withheld>,
    /// What moderators have forbidden the user.
    pub restrictions: Restrictions,
    /// What the user has chosen on the settings page.
    pub preferences: Preferences,
    /// When the user last visited, if known.
    pub seen_time: Option<Timestamp>,
    /// Who invited the user; `None` if nobody did.
    pub invited_by: Option<UserId>,
    /// Whether the e-mail address is not confirmed, if the site asks for that.
    pub unconfirmed: bool,
    /// The voter of the account, once it has voted on a site. Never shown.
    pub voter: Option<VoterId>,
    /// The votes that a viewer may still take back. They are stored apart from the user, and
    /// empty unless the user is the viewer of a page.
    pub recent_votes: RecentVotes,
    /// The kinds of second factors that the account has.
    pub second_factors: SecondFactors,
    /// The request that the user makes, if it has a name. Only for the user of a form.
    pub request: Option<NamedRequest>,
    /// The session of Lamer News or of an earlier version.
    pub(crate) earlier_session: EarlierSession,
}

/// What the field `auth` of a user says about a session under `auth:<token>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EarlierSession {
    /// The field is absent: any token may be the user's.
    Unknown,
    /// The field is empty: it has ended.
    Ended,
    /// The hash of its token.
    Open(SessionHash),
}

impl EarlierSession {
    fn of(auth: Option<&str>) -> Self {
        match auth {
            None => Self::Unknown,
            Some(auth) => SessionToken::parse(auth).map_or(Self::Ended, |token| Self::Open(token.hash())),
        }
    }
}

/// Extra rights and preferences of a user: letters in the field `flags`. Those of the roles are in
/// `GIVEN_ROLES`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// `k`: may vote without enough karma, and go below zero.
    pub karma_source: bool,
    /// `n`: links open in new windows.
    pub new_windows: bool,
    /// The role that was given. Whether it counts is for [`Role::counting`] to say.
    given_role: Role,
}

/// The letter of administrators.
pub(crate) const ADMINISTRATOR_FLAG: char = 'a';
/// The letter of moderators.
pub(crate) const MODERATOR_FLAG: char = 'm';
/// The letters of the roles, the highest first.
const GIVEN_ROLES: [(char, Role); 2] =
    [(ADMINISTRATOR_FLAG, Role::Administrator), (MODERATOR_FLAG, Role::Moderator)];

/// What a user may do to others, from the least to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing.
    #[default]
    Member,
    /// Moderates members and moderators.
    Moderator,
    /// Moderates everybody, and changes settings and roles.
    Administrator,
}

impl Flags {
    /// The letters as stored.
    pub(crate) fn parse(text: &str) -> Self {
        let given = GIVEN_ROLES.into_iter().find(|(letter, _)| text.contains(*letter));
        Self {
            karma_source: text.contains('k'),
            new_windows: text.contains('n'),
            given_role: given.map_or(Role::Member, |(_, role)| role),
        }
    }

    /// The role that was given, whether it counts or not.
    pub(crate) const fn given_role(self) -> Role {
        self.given_role
    }
}

/// A secret that never appears in logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiSecret(String);

impl ApiSecret {
    /// A secret as it is stored.
    pub(crate) fn new(secret: &str) -> Self {
        Self(secret.to_owned())
    }

    /// The secret itself, for programs. Pages show it masked.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The secret for the forms of one page, different each time. Empty, so that no form is
    /// accepted, in the case that the operating system has no random bytes.
    #[must_use]
    pub fn masked(&self) -> String {
        secrets::mask(&self.0).unwrap_or_else(|error| {
            tracing::error!(%error, "cannot mask the secret of forms");
            String::new()
        })
    }

    /// Whether this is the secret. An empty secret is nothing's.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        secrets::same_secret(&self.0, given)
    }

    /// Whether a form carried this secret, masked or as it is. An empty secret matches
    /// nothing.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        self.is(given) || secrets::is_masked(&self.0, given)
    }
}

impl std::fmt::Debug for ApiSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

impl User {
    /// The role that counts, for somebody who acts: that of a member until [`User::acting`] has
    /// looked at what counts now.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.counted_role
    }

    /// Whether the role that counts is that of an administrator.
    #[must_use]
    pub fn is_administrator(&self) -> bool {
        self.role() == Role::Administrator
    }

    /// The role that somebody was given, whether it counts or not: what others see of them, and
    /// whom it protects from moderators of a lower one.
    #[must_use]
    pub const fn given_role(&self) -> Role {
        self.flags.given_role()
    }

    /// The same user with the role that counts at a time.
    #[must_use]
    pub fn acting(mut self, rules: &Rules, now: Timestamp) -> Self {
        self.counted_role = self.role_at(rules, now);
        self
    }

    /// The role that counts at a time.
    pub(crate) fn role_at(&self, rules: &Rules, now: Timestamp) -> Role {
        Role::counting(self.given_role(), self.second_factors, self.ban(now).is_some(), rules)
    }

    /// Whether the user sees what `author` wrote even if it is withheld from readers: authors and
    /// moderators do.
    #[must_use]
    pub fn is_insider(&self, author: UserId) -> bool {
        self.id == author || self.role() >= Role::Moderator
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        let texts = [
            &self.username,
            &self.about,
            &self.email,
            &self.confirmed_email,
            &self.new_email,
            &self.fullname,
            &self.apisecret.0,
            &self.inbox_feed.0,
        ];
        size_of::<Self>()
            + texts.map(String::len).iter().sum::<usize>()
            + self.withheld.as_ref().map_or(0, Withheld::size)
            + self.restrictions.size()
            + self.recent_votes.size()
    }

    /// The user with a number; `None` as for [`User::from_hash`].
    pub(crate) fn by_id(id: UserId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::user(id)).map(|hash| Self::from_hash(&hash))
    }

    /// Reads a user; `None` when the hash is absent or has no id or no name, or after a
    /// deactivation.
    #[must_use]
    pub fn from_hash(hash: &Hash) -> Option<Self> {
        let id = fields::read(hash.get("id"), || "a user".to_owned(), "id")?;
        let fields = StoredFields::new(hash, || keys::user(id));
        let text = |field: &str| fields.text(field).unwrap_or_default().to_owned();
        if fields.text(DEACTIVATED).is_some() {
            return None;
        }
        Some(Self {
            id,
            username: fields.text("username")?.to_owned(),
            ctime: fields.read("ctime").map_or_else(Timestamp::default, Timestamp),
            karma: fields.read("karma").unwrap_or(0),
            about: text("about"),
            email: text("email"),
            confirmed_email: text(CONFIRMED_EMAIL),
            new_email: text(NEW_EMAIL),
            mail_refused: fields.count(MAIL_REFUSED),
            flags: Flags::parse(fields.text("flags").unwrap_or_default()),
            counted_role: Role::Member,
            apisecret: ApiSecret(text("apisecret")),
            karma_incr_time: fields.read("karma_incr_time").map(Timestamp),
            replies: fields.count("replies"),
            inbox_feed: ApiSecret(text(FEED)),
            fullname: size::shown_name(&text("fullname")).to_owned(),
            tweet_news: fields.text("tweet_news") != Some("0"),
            gravatar: fields.text("gravatar") != Some("0"),
            is_established: fields.text(ESTABLISHED) == Some("1"),
            withheld: fields::withheld(fields.text(WITHHELD), || keys::user(id)),
            restrictions: Restrictions::read(|field| fields.read(field)),
            preferences: Preferences::read(|field| fields.text(field)),
            seen_time: fields.read("seen_time").map(Timestamp),
            invited_by: fields.read(INVITED_BY),
            unconfirmed: fields.text(UNCONFIRMED).is_some(),
            voter: fields.read("voter"),
            recent_votes: RecentVotes::none(id),
            second_factors: SecondFactors::read(fields.text(TWO_FACTOR)),
            request: None,
            earlier_session: EarlierSession::of(fields.text("auth")),
        })
    }
}

/// A user's page.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What everyone sees.
    facts: Shared<ProfileFacts>,
    /// Whether the viewer follows the user.
    pub followed: bool,
}

impl Deref for Profile {
    type Target = ProfileFacts;

    fn deref(&self) -> &ProfileFacts {
        &self.facts
    }
}

/// What everyone sees of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileFacts {
    /// The user. The e-mail address is for avatars and the owner only.
    pub user: Arc<User>,
    /// The name of who invited the user; `None` if nobody did, or for a deactivated account.
    pub inviter: Option<String>,
    /// How many people the user has invited.
    pub invited: u64,
    /// News posted.
    pub posted: u64,
    /// Comments written.
    pub comments: u64,
    /// Tweets that are not deleted.
    pub tweets: u64,
    /// Number of followers.
    pub followers: u64,
    /// Number of people whom the user follows.
    pub followings: u64,
}

impl ProfileFacts {
    /// The profile for a viewer who follows the user, or does not.
    #[must_use]
    pub fn followed(self, followed: bool) -> Profile {
        Profile { facts: self.into(), followed }
    }
}

/// The profile of the user with a name.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's. Rounds: 2, and 1 for the name of who invited them.
pub async fn profile(visit: &mut Visit, username: &str) -> Result<Profile, Error> {
    let site = visit.site_too();
    let name = keys::username_to_id(username);
    let flight = match visit.look_up(site.caches.of::<Profiles>(), &name).await? {
        CacheResult::Hit(facts) => {
            visit.identify().await?;
            let mut query = Query::new();
            let followed = FollowedRead::ask(visit, &mut query, facts.user.id);
            let followed = followed.take(&mut visit.run(query).await?);
            return Ok(Profile { facts, followed });
        }
        CacheResult::Miss(flight) => flight,
    };
    let mut reads = Reads::default();
    let mut query = Query::new();
    let id = query.string(&name);
    let id = query.track(id);
    let id = visit.run(query).await?.take_tracked(id).collect_into(&mut reads);
    let id: UserId = id.and_then(|id| id.parse().ok()).ok_or(Refusal::NoSuchUser)?;
    let mut query = Query::new();
    let user = query.hash(keys::user(id));
    let user = query.track(user);
    let counts = [
        keys::user_posted(id),
        keys::user_comments(id),
        keys::user_timeline(id),
        keys::followers(id),
        keys::followings(id),
        keys::invites_by(id),
    ];
    let counts = counts.map(|list| {
        let count = query.sorted_count(list);
        query.track(count)
    });
    let followed = FollowedRead::ask(visit, &mut query, id);
    let mut answers = visit.run(query).await?;
    let [posted, comments, tweets, followers, followings, invited] =
        counts.map(|count| answers.take_tracked(count).collect_into(&mut reads));
    let user = answers.take_tracked(user).collect_into(&mut reads);
    let user = User::from_hash(&user).ok_or(Refusal::NoSuchUser)?;
    let followed = followed.take(&mut answers);
    let inviter = tree::inviter_of(visit, &user, &mut reads).await?;
    let user = user.into();
    let facts = ProfileFacts { user, inviter, invited, posted, comments, tweets, followers, followings };
    let facts = flight.finish(visit.view(), Tracked::new(facts, reads), None);
    Ok(Profile { facts, followed })
}

/// A pending read: whether the viewer follows a user.
struct FollowedRead(Option<Handle<Vec<Option<f64>>>>);

impl FollowedRead {
    fn ask(visit: &Visit, query: &mut Query, id: UserId) -> Self {
        Self(
            visit
                .viewer_id()
                .map(|viewer| query.scores(keys::followers(id), [viewer.to_string()]).or_absent(query)),
        )
    }

    fn take(self, answers: &mut Answers) -> bool {
        self.0.is_some_and(|read| answers.take(read).into_iter().flatten().next().is_some())
    }
}

/// The id of the user with a name, ignoring case.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's. Rounds: 1.
pub async fn id_of(visit: &mut Visit, username: &str) -> Result<UserId, Error> {
    let mut query = Query::new();
    let id = query.string(keys::username_to_id(username));
    let mut answers = visit.run(query).await?;
    let id = answers.take(id);
    let id = fields::read_string(id.as_deref(), || keys::username_to_id(username));
    Ok(id.ok_or(Refusal::NoSuchUser)?)
}

/// Whether there is a user with an id. A user, once created, always exists. Rounds: 1.
pub(crate) async fn exists(site: &Site, id: UserId) -> Result<bool, Error> {
    let mut query = Query::new();
    let found = query.hash_fields(keys::user(id), ["id"]);
    Ok(fields::only(site.store.query(query).await?.take(found)).is_some())
}

/// Names of users.
pub(crate) struct UserNames(HashMap<UserId, Shared<Option<Arc<str>>>>);

impl UserNames {
    /// The name of a user; adds what was read for it to `reads`. `None` for a deactivated
    /// account.
    pub(crate) fn collect_into(&self, id: UserId, reads: &mut Reads) -> Option<Arc<str>> {
        self.0.get(&id)?.collect_into(reads).clone()
    }

    /// The name of a user, for a value that is not cached.
    pub(crate) fn get(&self, id: UserId) -> Option<Arc<str>> {
        self.0.get(&id).and_then(|name| (**name).clone())
    }
}

/// Pending reads of users' names: one for each different user whose name is not cached.
pub(crate) struct UserNamesRead {
    cached: HashMap<UserId, Shared<Option<Arc<str>>>>,
    missing: Asked<'static, People>,
}

impl UserNamesRead {
    /// Asks for the names of users.
    pub(crate) fn ask(
        visit: &SharedVisit<'_>,
        query: &mut Query,
        ids: impl IntoIterator<Item = UserId>,
    ) -> Self {
        let names = visit.site().caches.of::<Usernames>();
        let (mut cached, mut missing) = (HashMap::new(), Vec::new());
        for id in ids.into_iter().collect::<HashSet<UserId>>() {
            match names.get(visit.view(), &id) {
                Some(name) => _ = cached.insert(id, name),
                None => missing.push(id),
            }
        }
        Self { cached, missing: query.ask(People::of(missing)) }
    }

    /// The names.
    pub(crate) fn take(self, visit: &SharedVisit<'_>, answers: &mut Answers) -> UserNames {
        let Self { cached: mut names, missing } = self;
        let cache = visit.site().caches.of::<Usernames>();
        for (id, person) in answers.of(missing).0 {
            let name = person.map(|person| person.ok().map(|person| person.username.into()));
            names.insert(id, cache.insert(visit.view(), id, name, None));
        }
        UserNames(names)
    }
}

/// The names of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonNames {
    /// The username.
    pub(crate) username: String,
    /// The full name; may be empty.
    pub(crate) fullname: String,
}

/// The names of a user, or when the account was deactivated.
type NamesOrLeft = Result<PersonNames, Option<Timestamp>>;

/// Names and full names of users.
pub(crate) struct People(HashMap<UserId, Tracked<NamesOrLeft>>);

impl People {
    /// The names and full names of users; one read for each different user.
    pub(crate) fn of(ids: impl IntoIterator<Item = UserId>) -> impl Fetch<Value = Self> {
        let names = |names: Vec<Option<String>>| -> NamesOrLeft {
            let [username, fullname, deactivated] = fields::each(names);
            if let Some(left) = deactivated {
                return Err(left.parse().ok().map(Timestamp));
            }
            Ok(PersonNames {
                username: username.ok_or(None)?,
                fullname: size::shown_name(&fullname.unwrap_or_default()).to_owned(),
            })
        };
        let read = |id| {
            let read = read::hash_fields(keys::user(id), NAMES).or_absent().tracked();
            read.map(move |read| (id, read.map(names)))
        };
        let wanted: BTreeSet<UserId> = ids.into_iter().collect();
        wanted.into_iter().map(read).collect::<Vec<_>>().map(|people| Self(people.into_iter().collect()))
    }

    /// The names of a user; `None` for a deactivated account.
    pub(crate) fn get(&self, id: UserId) -> Option<&PersonNames> {
        self.0.get(&id)?.peek().as_ref().ok()
    }

    /// The same; adds what was read for it to `reads`.
    pub(crate) fn collect_into(&self, id: UserId, reads: &mut Reads) -> Option<PersonNames> {
        self.0.get(&id)?.clone().collect_into(reads).ok()
    }

    /// Whether the account of a user was deactivated before a time, in Unix seconds. When it was deactivated is
    /// stored in whole seconds, so what happened within that second does not count as later.
    pub(crate) fn has_left_before(&self, id: UserId, time: f64) -> bool {
        let left = self.0.get(&id).and_then(|names| names.peek().as_ref().err().copied().flatten());
        left.is_some_and(|left| left.as_score() + 1.0 <= time)
    }

    /// Removes and returns the names of a user.
    pub(crate) fn remove(&mut self, id: UserId) -> Option<PersonNames> {
        self.0.remove(&id)?.into_value().ok()
    }
}

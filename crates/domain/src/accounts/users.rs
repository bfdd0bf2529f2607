//! Users as they are stored: the hash `user:<id>`.

use crate::accounts::visit::Visit;
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields::{self, Fields};
use crate::keys;
use crate::site::Site;
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::voter_id::VoterId;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tidings_keyspace::{Answers, Footprint, Handle, Hash, Part, Query};

/// The fields of a user that tell the name and the full name.
pub(crate) const NAMES: [&str; 2] = ["username", "fullname"];

/// The field of a user that tells when the account was deactivated.
pub(crate) const DEACTIVATED: &str = "deactivated";

/// The names of all users, as what shows very many notes them; of any user's key.
pub(crate) const fn all_names(key: &str) -> Part<'_> {
    Part::FieldOfAll { key, field: "username" }
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
    /// What voting is paid with.
    pub karma: i64,
    /// What the user says about themself; plain text, may be empty.
    pub about: String,
    /// E-mail address, may be empty. Only for the user's own eyes.
    pub email: String,
    /// What the user may do beyond others.
    pub flags: Flags,
    /// Secret that every form of the user's session carries; empty for an
    /// imported user who has not logged in here yet, and then no form is accepted.
    pub apisecret: ApiSecret,
    /// When karma for visiting was given last, if it is known.
    pub karma_incr_time: Option<Timestamp>,
    /// Answers and mentions not seen yet.
    pub replies: u64,
    /// The name shown beside the username; may be empty.
    pub fullname: String,
    /// Whether a submission is announced to those who follow.
    pub tweet_news: bool,
    /// When the user was here last, if it is known.
    pub seen_time: Option<Timestamp>,
    /// Who the account is when it votes on sites, once it has. Never shown.
    pub voter: Option<VoterId>,
}

/// What a user may do beyond others: letters in the field `flags`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// `a`: administrator.
    pub admin: bool,
    /// `k`: may vote without enough karma, and go below zero.
    pub karma_source: bool,
    /// `n`: links open in new windows.
    pub new_windows: bool,
}

impl Flags {
    fn parse(text: &str) -> Self {
        Self { admin: text.contains('a'), karma_source: text.contains('k'), new_windows: text.contains('n') }
    }
}

/// A secret that never shows in logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiSecret(String);

impl ApiSecret {
    /// The secret itself, to be put into the user's own forms.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether what a form carried is this secret. An empty secret matches nothing.
    #[must_use]
    pub fn matches(&self, given: &str) -> bool {
        crate::values::secrets::same_secret(&self.0, given)
    }
}

impl std::fmt::Debug for ApiSecret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("***")
    }
}

impl User {
    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let texts = [&self.username, &self.about, &self.email, &self.fullname, &self.apisecret.0];
        size_of::<Self>() + texts.map(String::len).iter().sum::<usize>()
    }

    /// Reads a user; `None` when the hash is absent or has no id and name, as
    /// that of a deactivated account.
    #[must_use]
    pub fn from_hash(hash: &Hash) -> Option<Self> {
        let id = fields::read(hash.get("id"), || "a user".to_owned(), "id")?;
        let fields = Fields::new(hash, || keys::user(id));
        let text = |field: &str| fields.text(field).unwrap_or_default().to_owned();
        Some(Self {
            id,
            username: fields.text("username")?.to_owned(),
            ctime: fields.read("ctime").map_or_else(Timestamp::default, Timestamp),
            karma: fields.read("karma").unwrap_or(0),
            about: text("about"),
            email: text("email"),
            flags: Flags::parse(fields.text("flags").unwrap_or_default()),
            apisecret: ApiSecret(text("apisecret")),
            karma_incr_time: fields.read("karma_incr_time").map(Timestamp),
            replies: fields.count("replies"),
            fullname: text("fullname"),
            tweet_news: fields.text("tweet_news") != Some("0"),
            seen_time: fields.read("seen_time").map(Timestamp),
            voter: fields.read("voter"),
        })
    }
}

/// A user's page: what everybody may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The user. The e-mail address is for avatars and the owner only.
    pub user: Arc<User>,
    /// News posted.
    pub posted: u64,
    /// Comments written.
    pub comments: u64,
    /// Tweets that are not deleted.
    pub tweets: u64,
    /// Who follows the user.
    pub followers: u64,
    /// Whom the user follows.
    pub followings: u64,
    /// Whether whoever visits follows the user.
    pub followed: bool,
}

impl Profile {
    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.user.size()
    }
}

/// The profile of the user with a name.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's. Rounds: 2.
pub async fn profile(visit: &mut Visit, username: &str) -> Result<Profile, Error> {
    let site = visit.site_too();
    let name = keys::username_to_id(username);
    if let Some(profile) = site.kept.profiles.look_up(visit, &name).await? {
        visit.identify().await?;
        let mut query = Query::new();
        let followed = FollowedRead::ask(visit, &mut query, profile.user.id);
        let followed = followed.take(&mut visit.run(query).await?);
        return Ok(Profile { followed, ..profile });
    }
    let footprint = site.store.footprint_of([Part::Key(&name)]);
    let id = id_of(visit, username).await?;
    let user = keys::user(id);
    let lists = [
        keys::user_posted(id),
        keys::user_comments(id),
        keys::user_timeline(id),
        keys::followers(id),
        keys::followings(id),
    ];
    let parts = lists.iter().chain([&user]).map(|key| Part::Key(key));
    let footprint = footprint.and(site.store.footprint_of(parts));
    let mut query = Query::new();
    let user = query.hash(user);
    let counts = lists.map(|key| query.sorted_count(key));
    let followed = FollowedRead::ask(visit, &mut query, id);
    let mut answers = visit.run(query).await?;
    let [posted, comments, tweets, followers, followings] = counts.map(|count| answers.take(count));
    let user = User::from_hash(&answers.take(user)).ok_or(Refusal::NoSuchUser)?.into();
    let profile = Profile { user, posted, comments, tweets, followers, followings, followed: false };
    site.kept.profiles.put(visit, name, profile.clone(), footprint, None);
    Ok(Profile { followed: followed.take(&mut answers), ..profile })
}

/// Whether whoever visits follows a user, on its way.
struct FollowedRead(Option<Handle<Vec<Option<f64>>>>);

impl FollowedRead {
    fn ask(visit: &Visit, query: &mut Query, id: UserId) -> Self {
        Self(visit.viewer_id().map(|viewer| query.scores(keys::followers(id), [viewer.to_string()])))
    }

    fn take(self, answers: &mut Answers) -> bool {
        self.0.is_some_and(|read| answers.take(read).into_iter().flatten().next().is_some())
    }
}

/// The id of the user with a name, without regard to case.
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

/// Whether there is a user with an id. Users never go away again. Rounds: 1.
pub(crate) async fn exists(site: &Site, id: UserId) -> Result<bool, Error> {
    let mut query = Query::new();
    let found = query.hash_fields(keys::user(id), ["id"]);
    Ok(fields::only(site.store.query(query).await?.take(found)).is_some())
}

/// The users' names on their way, one read for each different user whose name
/// is not kept.
pub(crate) struct UsernameReads {
    names: HashMap<UserId, Arc<str>>,
    footprints: Vec<(UserId, Footprint)>,
    reads: PeopleReads,
}

/// Asks for the names of users.
pub(crate) fn read_usernames(
    visit: &Visit,
    query: &mut Query,
    ids: impl IntoIterator<Item = UserId>,
) -> UsernameReads {
    let site = visit.site();
    let mut names = HashMap::new();
    let mut footprints = Vec::new();
    for id in ids.into_iter().collect::<HashSet<UserId>>() {
        if let Some(name) = site.kept.usernames.get(visit, &id) {
            names.insert(id, name);
        } else {
            let footprint = site.store.footprint_of([Part::Fields(&keys::user(id), &NAMES)]);
            footprints.push((id, footprint));
        }
    }
    let reads = read_people(query, footprints.iter().map(|(id, _)| *id));
    UsernameReads { names, footprints, reads }
}

impl UsernameReads {
    /// The names that were found.
    pub(crate) fn take(self, visit: &Visit, answers: &mut Answers) -> HashMap<UserId, Arc<str>> {
        let Self { mut names, footprints, reads } = self;
        let found = reads.take(answers);
        for (id, footprint) in footprints {
            if let Some((username, _)) = found.get(&id) {
                let name: Arc<str> = username.as_str().into();
                visit.site().kept.usernames.put(visit, id, name.clone(), footprint, None);
                names.insert(id, name);
            }
        }
        names
    }
}

/// The users' names and full names on their way, one read for each different user.
pub(crate) struct PeopleReads(Vec<(UserId, Handle<Vec<Option<String>>>)>);

/// Asks for the names and full names of users.
pub(crate) fn read_people(query: &mut Query, ids: impl IntoIterator<Item = UserId>) -> PeopleReads {
    let mut wanted: Vec<UserId> = ids.into_iter().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let read = |id| (id, query.hash_fields(keys::user(id), NAMES));
    PeopleReads(wanted.into_iter().map(read).collect())
}

impl PeopleReads {
    /// The names and full names that were found. Accounts that are gone have none.
    pub(crate) fn take(self, answers: &mut Answers) -> HashMap<UserId, (String, String)> {
        let named = |(id, handle): (UserId, Handle<Vec<Option<String>>>)| {
            let [username, fullname] = fields::each(answers.take(handle));
            Some((id, (username?, fullname.unwrap_or_default())))
        };
        self.0.into_iter().filter_map(named).collect()
    }
}

/// Gives or takes the flag of an administrator, by the operator.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn set_admin(site: &Site, id: UserId, admin: bool) -> Result<(), Error> {
    use tidings_keyspace::Batch;
    let key = keys::user(id);
    site.act(&key, || async {
        let mut query = Query::new();
        let fields = query.hash_fields(&key, ["username", "flags"]);
        let mut answers = site.store.query(query).await?;
        let [Some(_), flags] = fields::each(answers.take(fields)) else {
            return Err(Refusal::NoSuchUser.into());
        };
        let old = flags.clone().unwrap_or_default();
        let new = match (admin, old.contains('a')) {
            (true, false) => format!("a{old}"),
            (false, true) => old.replace('a', ""),
            _ => return Ok(Decision::Done(())),
        };
        let mut batch = Batch::new();
        batch.field_unchanged(&key, "flags", flags);
        batch.set_field(&key, "flags", new);
        Ok(Decision::commit(batch, ()))
    })
    .await
}

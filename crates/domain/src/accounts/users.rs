//! Users as they are stored: the hash `user:<id>`.

use crate::accounts::{NewestUnread, READING_KEY, RecentVotes, SecondFactors, TWO_FACTOR};
use crate::fields::{self, StoredFields};
use crate::repeats::NamedRequest;
use crate::values::{
    PostKind, PostState, Preferences, ProviderIdentity, Purpose, REMOVED, Restrictions, Rules, SessionHash,
    SessionToken, SigningKey, Timestamp, UserId, VoterId, WITHHELD, Withheld, never_logged, secrets, size,
};
use crate::{Decision, Refusal, Result, Site, keys};
use std::ops::RangeInclusive;
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The field of a user that says when the account was deactivated, in Unix seconds.
/// Accounts that were deactivated by an earlier version also lack a username.
pub(crate) const DEACTIVATED: &str = "deactivated";

/// The value of `username` once an account is deactivated. Our pages do not show it. Lamer
/// News, which may run on the same Redis, cannot show a user without a name.
pub(crate) const DELETED_USERNAME: &str = "[deleted user]";

/// The field of a user that counts changes of the password and of the e-mail address.
pub(crate) const CREDENTIALS_VERSION: &str = "credentials_version";

/// The field of a user who can only read until the e-mail address is confirmed: `1`, or absent.
pub(crate) const UNCONFIRMED: &str = "unconfirmed";

/// The field of a user with the address that its owner has confirmed. It counts while the account
/// has it: another program may have changed `email`.
pub(crate) const CONFIRMED_EMAIL: &str = "confirmed_email";

/// The field of a user with the address that takes the place of `email` once it is confirmed.
pub(crate) const NEW_EMAIL: &str = "new_email";

/// The field of a user that counts the mails that the e-mail address has refused, one after the
/// other.
pub(crate) const MAIL_REFUSED: &str = "mail_refused";

/// The field of a user that says what is known of the password of somebody who was given a role: `unknown` until
/// the next login, `short` if it has fewer than 12 characters. Absent = nothing is wrong with it.
pub(crate) const ROLE_PASSWORD: &str = "role_password";
pub(crate) const UNKNOWN_PASSWORD: &str = "unknown";
pub(crate) const SHORT_PASSWORD: &str = "short";

/// The field of a user that says that the account was found to be trusted: `1`, or absent.
pub(crate) const ESTABLISHED: &str = "established";
/// The field with the karma from an archive that does not count for trust.
pub(crate) const UNTRUSTED_KARMA: &str = "untrusted_karma";

/// The field of a user that says when the announcement was made that they have dismissed last.
pub(crate) const DISMISSED: &str = "dismissed";

/// The field of a user with the secret of the inbox's feed; empty or absent without a feed.
pub(crate) const INBOX_FEED: &str = "inbox_feed";

/// The field of a user with the id of the user who invited them.
pub(crate) const INVITED_BY: &str = "invited_by";

/// The field of a user with the identity at a provider that the account is connected to; absent without one.
pub(crate) const OIDC_IDENTITY: &str = "oidc_identity";
/// The field of a user with the role that the groups at the provider have given: `administrator` or `moderator`; absent
/// without one.
pub(crate) const OIDC_ROLE: &str = "oidc_role";

/// The numbers of all accounts, at most so many at a time. Rounds: 1.
pub(crate) async fn account_chunks(
    site: &Site,
    size: u64,
) -> Result<impl Iterator<Item = RangeInclusive<u64>> + use<>> {
    let count = site.store.fetch(fields::counter(keys::USERS_COUNT)).await?;
    let firsts = (1..=count).step_by(usize::try_from(size).unwrap_or(usize::MAX));
    Ok(firsts.map(move |first| first..=count.min(first + size - 1)))
}

/// The number of the account with this hash.
pub(crate) fn id_of(user: &Hash) -> Option<UserId> {
    fields::read(user.get("id"), || "a user".to_owned(), "id")
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
    /// The hash of the key of the user's programs; empty without one.
    pub(crate) reading_key: String,
    /// Whether the account has a password.
    pub has_password: bool,
    /// The identity at a provider that the account is connected to.
    pub identity: Option<ProviderIdentity>,
    /// The name shown beside the username; may be empty.
    pub fullname: String,
    /// Whether a tweet announces each submission to the followers.
    pub tweet_news: bool,
    /// Whether the user wants the picture from gravatar.com, on sites that show them.
    pub gravatar: bool,
    /// Whether the account was found to be trusted; see [`crate::accounts::trust`].
    pub is_established: bool,
    /// The part of the karma that comes from an archive and does not count for trust.
    pub untrusted_karma: i64,
    /// When the announcement was made that the member has dismissed last.
    pub dismissed: Option<Timestamp>,
    /// Why readers do not see the text of the profile, if they do not.
    pub withheld: Option<Withheld>,
    /// The restrictions of the user, which moderators have set.
    pub restrictions: Restrictions,
    /// The user's choices on the settings page.
    pub preferences: Preferences,
    /// When the user last visited, if known.
    pub seen_time: Option<Timestamp>,
    /// The inviter; `None` if nobody invited the user.
    pub invited_by: Option<UserId>,
    /// Whether the e-mail address is not confirmed, if the site asks for that.
    pub unconfirmed: bool,
    /// The voter of the account, once it has voted on a site. Never shown.
    pub voter: Option<VoterId>,
    /// The votes that a viewer may still take back. They are stored apart from the user, and
    /// empty unless the user is the viewer of a page.
    pub recent_votes: RecentVotes,
    /// The unread part of the inbox; empty unless the user is the viewer of a page.
    pub(crate) unread: NewestUnread,
    /// The kinds of second factors that the account has.
    pub second_factors: SecondFactors,
    /// Whether the password is too short for the role.
    pub has_short_password: bool,
    /// The request that the user makes, if it has a name. Only for the user of a form.
    pub request: Option<NamedRequest>,
    /// The session of Lamer News or of an earlier version.
    pub(crate) earlier_session: EarlierSession,
}

/// The state of a session under `auth:<token>`, by the field `auth` of its user.
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
    pub(crate) given_role: Role,
}

/// The letter of administrators.
pub(crate) const ADMINISTRATOR_FLAG: char = 'a';
/// The letter of moderators.
pub(crate) const MODERATOR_FLAG: char = 'm';
/// The letters of the roles, the highest first.
const GIVEN_ROLES: [(char, Role); 2] =
    [(ADMINISTRATOR_FLAG, Role::Administrator), (MODERATOR_FLAG, Role::Moderator)];

/// The rights of a user over others, from the least to the most.
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
}

/// Bytes of the signature of a notice.
const NOTICE_SIGNATURE_BYTES: usize = 16;

/// A secret that never appears in logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ApiSecret(String);

impl ApiSecret {
    /// A secret as it is stored.
    pub(crate) fn new(secret: &str) -> Self {
        Self(secret.to_owned())
    }

    /// The secret itself, for programs. Pages show it masked.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The secret for the forms of one page, different each time. Empty, so that no form is
    /// accepted, in the case that the operating system has no random bytes.
    pub fn masked(&self) -> String {
        secrets::mask(&self.0).unwrap_or_else(|error| {
            tracing::error!(%error, "cannot mask the secret of forms");
            String::new()
        })
    }

    /// The signature of a notice with this secret; `None` without a secret.
    pub fn sign(&self, texts: &[&str]) -> Option<String> {
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        let key = Some(&self.0).filter(|secret| !secret.is_empty())?;
        let signature = SigningKey::new(key.clone()).sign(Purpose::Notice, &texts);
        Some(hex::encode(signature.get(..NOTICE_SIGNATURE_BYTES)?))
    }

    /// Whether this is the signature of a notice with this secret, in a time that does not depend on where it
    /// differs.
    pub fn has_signed(&self, texts: &[&str], signature: &str) -> bool {
        self.sign(texts).is_some_and(|own| secrets::same_secret(&own, signature))
    }

    /// Whether this is the secret. An empty secret is nothing's.
    pub fn is(&self, given: &str) -> bool {
        secrets::same_secret(&self.0, given)
    }

    /// Whether a form carried this secret, masked or as it is. An empty secret matches
    /// nothing.
    pub fn matches(&self, given: &str) -> bool {
        self.is(given) || secrets::is_masked(&self.0, given)
    }
}

never_logged!(ApiSecret);

impl User {
    /// The role that counts, for somebody who acts: that of a member until [`User::acting`] has
    /// looked at what counts now.
    pub const fn role(&self) -> Role {
        self.counted_role
    }

    /// Whether the role that counts is that of an administrator.
    pub fn is_administrator(&self) -> bool {
        self.role() == Role::Administrator
    }

    /// The role that somebody was given, whether it counts or not: what others see of them, and
    /// whom it protects from moderators of a lower one.
    pub const fn given_role(&self) -> Role {
        self.flags.given_role
    }

    /// The same user with the role that counts at a time.
    #[must_use]
    pub fn acting(mut self, rules: &Rules, now: Timestamp) -> Self {
        self.counted_role = self.role_at(rules, now);
        self
    }

    /// The role that counts at a time.
    pub(crate) fn role_at(&self, rules: &Rules, now: Timestamp) -> Role {
        let is_barred = self.has_short_password || self.ban(now).is_some();
        Role::counting(self.given_role(), self.second_factors, is_barred, rules)
    }

    /// The state of their text about themselves.
    pub fn state(&self) -> PostState<'_> {
        let (kind, withheld) = (PostKind::Profile, self.withheld.as_ref());
        PostState { kind, author: self.id, withheld, deleted: false, unseen: false }
    }

    /// Whether the user sees what `author` wrote even if it is withheld from readers: authors and
    /// moderators do.
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
            &self.reading_key,
        ];
        size_of::<Self>()
            + texts.map(String::len).iter().sum::<usize>()
            + self.withheld.as_ref().map_or(0, Withheld::size)
            + self.restrictions.size()
            + self.recent_votes.size()
            + size_of_val(&*self.unread.entries)
            + self.identity.as_ref().map_or(0, |identity| identity.as_str().len())
    }

    /// The user with a number; `None` as for [`User::from_hash`].
    pub(crate) fn by_id(id: UserId) -> impl Fetch<Value = Option<Self>> {
        read::hash(keys::user(id)).map(|hash| Self::from_hash(&hash))
    }

    /// Whether the user has a key for programs.
    pub const fn has_reading_key(&self) -> bool {
        !self.reading_key.is_empty()
    }

    /// The karma that counts for trust.
    pub const fn trusted_karma(&self) -> i64 {
        self.karma.saturating_sub(self.untrusted_karma)
    }

    /// Reads a user; `None` when the hash is absent or has no id or no name, or after a
    /// deactivation.
    pub fn from_hash(hash: &Hash) -> Option<Self> {
        if hash.get(DEACTIVATED).is_some() { None } else { Self::or_applicant(hash) }
    }

    /// The same, also of an account whose application waits.
    pub(crate) fn or_applicant(hash: &Hash) -> Option<Self> {
        let id = id_of(hash)?;
        let fields = StoredFields::new(hash, || keys::user(id));
        let text = |field: &str| fields.text(field).unwrap_or_default().to_owned();
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
            inbox_feed: ApiSecret(text(INBOX_FEED)),
            reading_key: text(READING_KEY),
            has_password: fields.text("password").is_some_and(|hash| !hash.is_empty()),
            identity: fields.text(OIDC_IDENTITY).and_then(ProviderIdentity::stored),
            fullname: size::shown_name(&text("fullname")).to_owned(),
            tweet_news: fields.text("tweet_news") != Some("0"),
            gravatar: fields.text("gravatar") != Some("0"),
            is_established: fields.text(ESTABLISHED) == Some("1"),
            untrusted_karma: fields.read(UNTRUSTED_KARMA).unwrap_or(0),
            dismissed: fields.read(DISMISSED).map(Timestamp),
            withheld: fields::withheld(fields.text(WITHHELD), || keys::user(id)),
            restrictions: Restrictions::read(|field| fields.read(field)),
            preferences: Preferences::read(|field| fields.text(field)),
            seen_time: fields.read("seen_time").map(Timestamp),
            invited_by: fields.read(INVITED_BY),
            unconfirmed: fields.text(UNCONFIRMED).is_some(),
            voter: fields.read("voter"),
            recent_votes: RecentVotes::none(id),
            unread: NewestUnread::default(),
            second_factors: SecondFactors::read(fields.text(TWO_FACTOR)),
            has_short_password: fields.text(ROLE_PASSWORD) == Some(SHORT_PASSWORD),
            request: None,
            earlier_session: EarlierSession::of(fields.text("auth")),
        })
    }
}

impl User {
    /// Adds to a batch why readers do not see the profile, or that they see it. The batch fails if that has changed since
    /// it was read, or if the person has left.
    pub(crate) fn write_state(&self, batch: &mut Batch, state: Option<&Withheld>) {
        let key = keys::user(self.id);
        batch.field_absent(&key, DEACTIVATED);
        batch.key_present(&key);
        batch.field_unchanged(&key, WITHHELD, self.withheld.as_ref().map(ToString::to_string));
        match state {
            Some(state) => batch.set_field(key, WITHHELD, state.to_string()),
            None => batch.delete_field(key, WITHHELD),
        }
    }
}

/// Sets a field of an account with the secret of an address; empty without one. Rounds: 2.
///
/// # Errors
/// [`Refusal::SessionEnded`] when the account has been deactivated meanwhile, or the store's.
pub(crate) async fn set_secret(site: &Site, id: UserId, (field, secret): (&str, &str)) -> Result<()> {
    let key = keys::user(id);
    site.act(&key, || async {
        let mut batch = Batch::new();
        let account_there = batch.field_absent(&key, DEACTIVATED);
        batch.set_field(&key, field, secret);
        Ok(Decision::commit(batch, ()).if_rejected_by(account_there, Err(Refusal::SessionEnded.into())))
    })
    .await
}

/// The texts about a person that are removed, and the fields of the user that keep them meanwhile. The field [`REMOVED`]
/// names the line that removed them.
pub(crate) const REMOVED_TEXTS: [(&str, &str); 2] =
    [("about", "removed_about"), ("fullname", "removed_fullname")];

/// Adds to a batch that nothing is left of the removed texts of a profile.
pub(crate) fn forget_removed(batch: &mut Batch, user: UserId) {
    let key = keys::user(user);
    for field in [REMOVED].into_iter().chain(REMOVED_TEXTS.map(|(_, kept)| kept)) {
        batch.delete_field(&key, field);
    }
}

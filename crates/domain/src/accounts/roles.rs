//! Roles that the operator gives and takes, and the administrator who must remain.
//!
//! The flags of accounts are not indexed, since they may be set by hand. So looking for another
//! administrator or moderator looks at all accounts, some hundred in a round. That is for what
//! happens rarely.

use crate::accounts::users::{
    ADMINISTRATOR_FLAG, DEACTIVATED, MODERATOR_FLAG, OIDC_ROLE, ROLE_PASSWORD, SHORT_PASSWORD,
    UNKNOWN_PASSWORD, account_chunks, id_of,
};
use crate::accounts::{Flags, TWO_FACTOR, first_administrator};
use crate::audit::{self, AUDIT, COMMAND_LINE};
use crate::values::site_settings;
use crate::values::{
    ACCOUNTS_CHUNK, KnownName, NewPassword, RestrictionKind, STAFF_PASSWORD_MIN, Timestamp, UserId, named,
};
use crate::{Decision, Refusal, Result, Role, Site, User, identity, keys};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use tidings_keyspace::{Batch, Hash, read};

/// The fields of a user that say which role they have, and whether it counts.
const ROLE_FIELDS: [&str; 4] = ["flags", RestrictionKind::Ban.field(), TWO_FACTOR, ROLE_PASSWORD];

/// Somebody with a role, as read. A batch that depends on them checks that they still have it.
pub(crate) struct Holder {
    /// The id of the account.
    pub(crate) id: UserId,
    /// The values of [`ROLE_FIELDS`].
    fields: [Option<String>; ROLE_FIELDS.len()],
}

impl Holder {
    /// Somebody with a role in a hash that was read.
    pub(crate) fn of(id: UserId, hash: &Hash) -> Self {
        Self { id, fields: ROLE_FIELDS.map(|field| hash.get(field).map(str::to_owned)) }
    }

    /// Checks in a batch that they have the same role as when they were read, the same second
    /// factors, and that they are as banned as then.
    pub(crate) fn check(&self, batch: &mut Batch) {
        let key = keys::user(self.id);
        batch.field_absent(&key, DEACTIVATED);
        for (field, read) in ROLE_FIELDS.into_iter().zip(&self.fields) {
            batch.field_unchanged(&key, field, read.as_deref());
        }
    }
}

/// Adds to the batch that gives somebody a role, or takes one, that the next login looks at the password. Those who
/// have a role already are left alone.
pub(crate) fn write_role_password(batch: &mut Batch, id: UserId, flags: [&str; 2]) {
    let [had, has] = flags.map(|flags| Flags::parse(flags).given_role > Role::Member);
    match (had, has) {
        (false, true) => batch.set_field(keys::user(id), ROLE_PASSWORD, UNKNOWN_PASSWORD),
        (true, false) => batch.delete_field(keys::user(id), ROLE_PASSWORD),
        (true, true) | (false, false) => {}
    }
}

/// Notes at a login whether the password of somebody who was given a role is long enough. Rounds: none, and 1 the
/// first time.
pub(crate) async fn note_password(site: &Site, user: &Hash, password: &str) -> Result<()> {
    let (Some(id), Some(UNKNOWN_PASSWORD)) = (id_of(user), user.get(ROLE_PASSWORD)) else { return Ok(()) };
    let key = keys::user(id);
    let mut batch = Batch::new();
    batch.field_equals(&key, ROLE_PASSWORD, UNKNOWN_PASSWORD);
    // Of the password that was typed, and of no later one.
    batch.field_unchanged(&key, "password", user.get("password"));
    if password.chars().count() < STAFF_PASSWORD_MIN {
        batch.set_field(key, ROLE_PASSWORD, SHORT_PASSWORD);
    } else {
        batch.delete_field(key, ROLE_PASSWORD);
    }
    // If the account has changed meanwhile, the next login looks again.
    site.apply(batch).await.map(drop)
}

/// Whether an account may have this password: it is neither the name of the account nor that of the site, and one
/// with a role needs a longer one. Rounds: 2; 1 if the identity of the site is cached.
///
/// # Errors
/// [`InputError::TooShort`](crate::values::text::InputError::TooShort),
/// [`InputError::NamePassword`](crate::values::text::InputError::NamePassword), or the store's.
pub(crate) async fn demand_password(
    (site, now): (&Site, Timestamp),
    id: UserId,
    password: &NewPassword,
) -> Result<()> {
    let fields = read::fields(keys::user(id), ["flags", "username"]);
    let [flags, username] = site.store.fetch(fields).await?;
    demand_no_name((site, now), username.as_deref().unwrap_or_default(), password).await?;
    if Flags::parse(flags.as_deref().unwrap_or_default()).given_role > Role::Member {
        password.demand_of_staff()?;
    }
    Ok(())
}

/// Refuses a password that is the name of its account or of the site. Rounds: none if the identity is cached.
///
/// # Errors
/// [`InputError::NamePassword`](crate::values::text::InputError::NamePassword), or the store's.
pub(crate) async fn demand_no_name(
    (site, now): (&Site, Timestamp),
    username: &str,
    password: &NewPassword,
) -> Result<()> {
    let identity = identity::of_site(site, now).await?;
    let host = site.address.split("//").last().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let names = [
        (username, KnownName::Username),
        (&*site.name, KnownName::Site),
        (identity.texts.get(site_settings::NAME).unwrap_or_default(), KnownName::Site),
        (host, KnownName::Site),
    ];
    Ok(password.demand_unlike(&names)?)
}

/// Somebody who has at least a role, which counts, and is none of `others`. Rounds: 1, and 1
/// for each 500 accounts.
pub(crate) async fn somebody_else(
    site: &Site,
    now: Timestamp,
    role: Role,
    others: &[UserId],
) -> Result<Option<Holder>> {
    for ids in account_chunks(site, ACCOUNTS_CHUNK).await? {
        let ids = ids.map(UserId);
        let users: Vec<_> =
            ids.clone().map(|id| read::fields(keys::user(id), ["flags", DEACTIVATED])).collect();
        let mut candidates = Vec::new();
        for (id, [flags, deactivated]) in ids.zip(site.store.fetch(users).await?) {
            let has_flags = flags.is_some_and(|flags| flags.contains([ADMINISTRATOR_FLAG, MODERATOR_FLAG]));
            if has_flags && deactivated.is_none() && !others.contains(&id) {
                candidates.push(id);
            }
        }
        if let Some(found) = first_able(site, now, role, &candidates).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The first of some people who has at least a role, which counts. Rounds: 1.
async fn first_able(
    site: &Site,
    now: Timestamp,
    role: Role,
    candidates: &[UserId],
) -> Result<Option<Holder>> {
    let users: Vec<_> = candidates.iter().map(|id| read::hash(keys::user(*id))).collect();
    let users = site.store.fetch(users).await?;
    Ok(candidates.iter().zip(users).find_map(|(id, hash)| {
        let is_able = User::from_hash(&hash).is_some_and(|user| user.role_at(&site.rules, now) >= role);
        is_able.then(|| Holder::of(*id, &hash))
    }))
}

/// Adds to a batch the check that an administrator remains when `leaving` no longer is one.
///
/// # Errors
/// [`Refusal::LastAdministrator`], or the store's.
pub(crate) async fn demand_another_administrator(
    site: &Site,
    now: Timestamp,
    batch: &mut Batch,
    leaving: UserId,
) -> Result<()> {
    let other = somebody_else(site, now, Role::Administrator, &[leaving]).await?;
    other.ok_or(Refusal::LastAdministrator)?.check(batch);
    Ok(())
}

/// A role that the operator and the groups at a provider give and take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum GivenRole {
    /// Administrator.
    Administrator,
    /// Moderator.
    Moderator,
}

named!(GivenRole);

impl GivenRole {
    /// Its letter among the flags of a user.
    pub(crate) const fn flag(self) -> char {
        match self {
            Self::Administrator => ADMINISTRATOR_FLAG,
            Self::Moderator => MODERATOR_FLAG,
        }
    }
}

/// Adds to a batch that somebody with these flags has a role from now on, or has it no more.
///
/// # Errors
/// [`Refusal::LastAdministrator`], or the store's.
pub(crate) async fn write_role(
    (site, now): (&Site, Timestamp),
    batch: &mut Batch,
    (id, flags): (UserId, Option<&str>),
    (role, has): (GivenRole, bool),
) -> Result<()> {
    let (key, flag, old) = (keys::user(id), role.flag(), flags.unwrap_or_default());
    let new = if has { format!("{flag}{old}") } else { old.replace(flag, "") };
    batch.field_unchanged(&key, "flags", flags);
    write_role_password(batch, id, [old, &new]);
    batch.set_field(key, "flags", new);
    match (role, has) {
        (GivenRole::Administrator, true) => first_administrator::write(batch, id),
        (GivenRole::Administrator, false) => demand_another_administrator(site, now, batch, id).await?,
        (GivenRole::Moderator, _) => {}
    }
    Ok(())
}

/// Gives a user a role or takes it, for the operator. Returns whether that changed anything. The
/// operator acts without an account, so the moderation log has no line of it.
///
/// # Errors
/// [`Refusal::NoSuchUser`], [`Refusal::LastAdministrator`], or the store's.
pub async fn set_role(
    site: &Site,
    now: Timestamp,
    id: UserId,
    (role, has): (GivenRole, bool),
) -> Result<bool> {
    let key = keys::user(id);
    let changed = site.act(&key, || async {
        let fields = read::fields(&key, ["username", DEACTIVATED, "flags"]);
        let [Some(_), None, flags] = site.store.fetch(fields).await? else {
            return Err(Refusal::NoSuchUser.into());
        };
        if flags.as_deref().unwrap_or_default().contains(role.flag()) == has {
            return Ok(Decision::Done(false));
        }
        let mut batch = Batch::new();
        write_role((site, now), &mut batch, (id, flags.as_deref()), (role, has)).await?;
        // A role given by hand is no longer one of the groups.
        batch.delete_field(&key, OIDC_ROLE);
        Ok(Decision::commit(batch, true))
    });
    let has_changed = changed.await?;
    if has_changed {
        let (by, account, role) = (COMMAND_LINE, audit::name_of(site, id).await, role.name());
        tracing::info!(target: AUDIT, by, account, user = id.0, role, has, "changed a role");
    }
    Ok(has_changed)
}

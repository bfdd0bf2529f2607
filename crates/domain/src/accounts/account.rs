//! Accounts: creating them, and what their owners may change.

use crate::accounts::names;
use crate::accounts::origins::{self, Origin};
use crate::accounts::outbox;
use crate::accounts::session_store::{self, Device, Opening, VisitSession};
use crate::accounts::sessions::{self, Replacement, Session};
use crate::accounts::users::{CREDENTIALS_VERSION, User};
use crate::action::Decision;
use crate::error::{Error, Refusal};
use crate::fields;
use crate::keys;
use crate::passwords::Source;
use crate::site::{Applied, Site};
use crate::values::clock::Timestamp;
use crate::values::ids::UserId;
use crate::values::limits::FOLDING_CHUNKS_OF_ONE_ACTION;
use crate::values::preferences::PreferencesChange;
use crate::values::secrets::random_token;
use crate::values::text::{About, Email, FullName, NewPassword, Username};
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Expiry, Query};

/// Creates an account and its session. The first account ever becomes the
/// administrator. A refused registration does not count against the address.
///
/// # Errors
/// [`Refusal::UsernameTaken`], [`Refusal::UsernameConfusable`],
/// [`Refusal::AccountCreatedRecently`], or the store's.
pub async fn create_account(
    site: &Site,
    now: Timestamp,
    username: &Username,
    password: &NewPassword,
    device: &Device,
) -> Result<Session, Error> {
    refuse_taken_or_too_soon(site, username, device.address).await?;
    let source = Source::Address(device.address);
    let password = site.passwords.hash_for(source, password.clear_text().to_owned()).await?;
    insert_account(site, now, username, Some(&password), Some(device)).await
}

/// Creates an account for the operator: without a rate limit and without a session. Nobody can log in to an
/// account without a password.
///
/// # Errors
/// [`Refusal::UsernameTaken`], [`Refusal::UsernameConfusable`], or the store's.
pub async fn add_account(
    site: &Site,
    now: Timestamp,
    username: &Username,
    password: Option<&NewPassword>,
) -> Result<UserId, Error> {
    names::fold_usernames(site, FOLDING_CHUNKS_OF_ONE_ACTION).await?;
    let password = match password {
        Some(password) => Some(site.passwords.hash(password.clear_text().to_owned()).await?),
        None => None,
    };
    Ok(insert_account(site, now, username, password.as_deref(), None).await?.user_id)
}

/// Refuses before the costly hashing what the batch would refuse anyway, and says how many
/// seconds remain.
async fn refuse_taken_or_too_soon(site: &Site, username: &Username, address: IpAddr) -> Result<(), Error> {
    names::fold_usernames(site, FOLDING_CHUNKS_OF_ONE_ACTION).await?;
    let mut query = Query::new();
    let taken = query.string(keys::username_to_id(username.as_str()));
    let confusable = query.string(keys::username_folded(username.as_str()));
    let limit = query.expiry(keys::create_user_limit(address));
    let mut answers = site.store.query(query).await?;
    if answers.take(taken).is_some() {
        return Err(Refusal::UsernameTaken.into());
    }
    if answers.take(confusable).is_some() {
        return Err(Refusal::UsernameConfusable.into());
    }
    let limit = answers.take(limit);
    if site.rules.limits.account_creation_seconds > 0 && limit != Expiry::Absent {
        return Err(Refusal::AccountCreatedRecently { seconds: seconds_left(limit) }.into());
    }
    Ok(())
}

/// The seconds until a key expires, rounded up; at least 1.
pub(crate) fn seconds_left(expiry: Expiry) -> u64 {
    match expiry {
        Expiry::In(left) => u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1),
        Expiry::Absent | Expiry::Never => 1,
    }
}

/// Writes the account in one batch, with a session if it is created from a device.
async fn insert_account(
    site: &Site,
    now: Timestamp,
    username: &Username,
    password_hash: Option<&str>,
    device: Option<&Device>,
) -> Result<Session, Error> {
    let name_key = keys::username_to_id(username.as_str());
    let folded_key = keys::username_folded(username.as_str());
    let creation_seconds = site.rules.limits.account_creation_seconds;
    let address = device.map(|device| device.address).filter(|_| creation_seconds > 0);
    let origin = match device {
        Some(device) => Origin::of(site, device.address).await?,
        None => None,
    };
    site.act(keys::USERS_COUNT, || async {
        let (id, all_folded) = draw_id(site).await?;
        let (session, salt) = (Session::new(id)?, random_token()?);
        let mut batch = Batch::new();
        let name_free = batch.key_absent(&name_key);
        let name_different = batch.key_absent(&folded_key);
        let address_free = address.map(|address| batch.key_absent(keys::create_user_limit(address)));
        if id == FIRST_USER {
            // The first id is set here and not drawn, so that it is never lost: its owner
            // is the administrator.
            batch.key_absent(keys::USERS_COUNT);
            batch.set(keys::USERS_COUNT, id.to_string());
        }
        // Even if the counter is behind, no account is overwritten.
        let unused = batch.key_absent(keys::user(id));
        let admin = id == FIRST_USER && password_hash.is_some();
        batch.set(&name_key, id.to_string());
        batch.set(&folded_key, id.to_string());
        if all_folded {
            // Without a check: a number that is too low costs a look at known accounts.
            batch.set(keys::USERNAMES_FOLDED, id.to_string());
        }
        batch.set_fields(
            keys::user(id),
            [
                ("id", id.to_string()),
                ("username", username.as_str().to_owned()),
                ("password", password_hash.unwrap_or_default().to_owned()),
                // For Lamer News, which cannot refuse a login without one.
                ("salt", salt),
                ("ctime", now.to_string()),
                ("karma", site.rules.karma.initial.to_string()),
                ("about", String::new()),
                ("email", String::new()),
                ("apisecret", session.apisecret.clone()),
                ("flags", if admin { "a".to_owned() } else { String::new() }),
                ("karma_incr_time", now.to_string()),
                ("seen_time", now.to_string()),
            ],
        );
        if let Some(device) = device {
            session_store::write_new(&mut batch, now, &session, &Opening { device, newest: None });
        }
        origins::write(origin.as_ref(), &mut batch, now, id);
        if let Some(address) = address {
            let time_to_live = Duration::from_secs(creation_seconds);
            batch.set_expiring(keys::create_user_limit(address), now.to_string(), time_to_live);
        }
        let drawn_unused = (id != FIRST_USER).then_some(unused);
        let limited = Refusal::AccountCreatedRecently { seconds: creation_seconds };
        Ok(Decision::commit(batch, session)
            .if_rejected_by(name_free, Err(Refusal::UsernameTaken.into()))
            .if_rejected_by(name_different, Err(Refusal::UsernameConfusable.into()))
            .if_rejected_by(address_free, Err(limited.into()))
            .draws_unused(drawn_unused, keys::USERS_COUNT, id))
    })
    .await
}

const FIRST_USER: UserId = UserId(1);

/// The id of the next account: 1 for the first, then from the counter. Also whether the
/// accounts before it are all in the index of names.
async fn draw_id(site: &Site) -> Result<(UserId, bool), Error> {
    let mut query = Query::new();
    let (count, folded) = (query.string(keys::USERS_COUNT), query.string(keys::USERNAMES_FOLDED));
    let mut answers = site.store.query(query).await?;
    if answers.take(count).is_none() {
        return Ok((FIRST_USER, true));
    }
    let folded = answers.take(folded);
    let folded: Option<u64> = fields::read_string(folded.as_deref(), || keys::USERNAMES_FOLDED.to_owned());
    let id = site.store.next_id(keys::USERS_COUNT).await?;
    let id =
        UserId::try_from(id).map_err(|_| Error::Internal(format!("{} holds {id}", keys::USERS_COUNT)))?;
    Ok((id, folded.unwrap_or(0) + 1 >= id.0))
}

/// A change of a user's profile.
#[derive(Debug)]
pub struct ProfileChange {
    /// The new text about the user.
    pub about: About,
    /// The new e-mail address.
    pub email: Option<Email>,
    /// The new password; `None` keeps the old one.
    pub password: Option<NewPassword>,
    /// The new full name; `None` keeps the old one.
    pub fullname: Option<FullName>,
    /// Whether a tweet announces each submission; `None` keeps the setting.
    pub tweet_news: Option<bool>,
    /// Whether the user wants the picture from gravatar.com; `None` keeps the setting.
    pub gravatar: Option<bool>,
    /// The new preferences.
    pub preferences: PreferencesChange,
    /// The current password, which a change of the password or of the e-mail address needs.
    pub current_password: CurrentPassword,
}

impl ProfileChange {
    /// Whether it changes what others see of the user.
    fn is_seen_by_others(&self, user: &User) -> bool {
        self.about.as_str() != user.about
            || self.fullname.as_ref().is_some_and(|name| name.as_str() != user.fullname)
            || self.gravatar.is_some_and(|gravatar| gravatar != user.gravatar)
    }
}

/// The password that a user has typed to confirm a change; may be missing. Never logged.
#[derive(Clone, Default)]
pub struct CurrentPassword(pub Option<String>);

impl std::fmt::Debug for CurrentPassword {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("CurrentPassword(***)")
    }
}

/// Who changes an account: its owner, in a session, from a device.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    /// The user, as read in the session.
    pub user: &'a User,
    /// The session.
    pub session: &'a VisitSession,
    /// The device.
    pub device: &'a Device,
}

/// What a change of a profile did beside changing it.
#[derive(Debug, Default)]
pub struct ProfileChanged {
    /// The session that replaces all others after a change of the password.
    pub session: Option<Session>,
    /// The e-mail address before and after, if it was changed. Either may be empty.
    pub email: Option<(String, String)>,
}

/// Changes a user's profile in one batch. A new password also ends all sessions; the one
/// that replaces the owner's is returned.
///
/// # Errors
/// [`Refusal::Silenced`]; [`Refusal::FullNameConfusable`]; [`Refusal::CurrentPasswordNeeded`],
/// [`Refusal::CurrentPasswordWrong`] or [`Refusal::TooManyFailedLogins`] if the password or the
/// e-mail address would change; [`Refusal::SessionEnded`]; or the store's.
pub async fn update_profile(
    site: &Site,
    now: Timestamp,
    owner: Owner<'_>,
    change: &ProfileChange,
) -> Result<ProfileChanged, Error> {
    let user = owner.user;
    if change.is_seen_by_others(user) {
        user.demand_may_post(now)?;
    }
    if let Some(fullname) = change.fullname.as_ref().filter(|name| name.as_str() != user.fullname) {
        names::refuse_confusable(site, user.id, fullname).await?;
    }
    let email = change.email.as_ref().map_or("", Email::as_str);
    let has_new_email = email != user.email;
    let confirmed = if change.password.is_some() || has_new_email {
        Some(confirm_current_password(site, owner, &change.current_password).await?)
    } else {
        None
    };
    let key = keys::user(user.id);
    let mut profile = vec![("about", change.about.as_str().to_owned()), ("email", email.to_owned())];
    profile.extend(change.fullname.as_ref().map(|name| ("fullname", name.as_str().to_owned())));
    let switches = [("tweet_news", change.tweet_news), ("gravatar", change.gravatar)];
    profile.extend(switches.into_iter().filter_map(|(field, on)| Some((field, u8::from(on?).to_string()))));
    profile.extend(change.preferences.fields().map(|(field, value)| (field, value.to_owned())));
    let checks = |batch: &mut Batch| {
        let mut checks = vec![owner.session.key.check(batch, user.id)];
        // The current password is still the one that was typed.
        checks.extend(confirmed.as_ref().map(|stored| batch.field_equals(&key, "password", stored)));
        checks
    };
    let digest = change.preferences.digest.filter(|digest| *digest != user.preferences.digest);
    let write = |batch: &mut Batch| {
        batch.set_fields(&key, profile.clone());
        if let Some(digest) = digest {
            outbox::write_digest_choice(batch, user.id, digest, now);
        }
    };
    let mut changed = ProfileChanged::default();
    if let Some(password) = &change.password {
        let source = Source::Account(user.id);
        let hash = site.passwords.hash_for(source, password.clear_text().to_owned()).await?;
        let session = Session::new(user.id)?;
        let replacement = Replacement { session: session.clone(), device: Some(owner.device), now };
        let ended = sessions::end_all_sessions(site, &replacement, |batch| {
            let checks = checks(batch);
            write(batch);
            sessions::set_password(batch, user.id, &hash);
            checks
        });
        if !ended.await? {
            return Err(Refusal::SessionEnded.into());
        }
        changed.session = Some(session);
    } else {
        let mut batch = Batch::new();
        checks(&mut batch);
        write(&mut batch);
        if has_new_email {
            batch.increment_field(&key, CREDENTIALS_VERSION, 1);
        }
        if let Applied::No(_) = site.apply(batch).await? {
            return Err(Refusal::SessionEnded.into());
        }
    }
    changed.email = has_new_email.then(|| (user.email.clone(), email.to_owned()));
    Ok(changed)
}

/// Checks the password that was typed to confirm a change. A wrong one counts as a failed
/// login. Returns the stored hash.
async fn confirm_current_password(
    site: &Site,
    owner: Owner<'_>,
    typed: &CurrentPassword,
) -> Result<String, Error> {
    let typed = typed.0.as_deref().filter(|typed| !typed.is_empty());
    let typed = typed.ok_or(Refusal::CurrentPasswordNeeded)?;
    match sessions::confirm_password(site, &owner.user.username, typed, owner.device.address).await {
        Ok(stored) => Ok(stored.hash),
        Err(Error::Refused(Refusal::WrongCredentials)) => Err(Refusal::CurrentPasswordWrong.into()),
        Err(error) => Err(error),
    }
}

/// Sets a user's password for the operator and ends the user's sessions.
///
/// # Errors
/// [`Refusal::NoSuchUser`], or the store's.
pub async fn set_password(
    site: &Site,
    now: Timestamp,
    id: UserId,
    password: &NewPassword,
) -> Result<(), Error> {
    let hash = site.passwords.hash(password.clear_text().to_owned()).await?;
    let replacement = Replacement { session: Session::new(id)?, device: None, now };
    sessions::end_all_sessions(site, &replacement, |batch| {
        sessions::set_password(batch, id, &hash);
        Vec::new()
    })
    .await?;
    Ok(())
}

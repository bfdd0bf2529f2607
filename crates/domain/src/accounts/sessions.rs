//! Sessions: logging in and out, and the secrets of an account.
//!
//! Each login opens a session with a token of its own (`auth`). An account has up to 20 of
//! them, and one secret (`apisecret`) that all its forms carry. Logging out ends one
//! session. A change of the password ends all of them and replaces the secret.

use crate::accounts::log_in::{self, Credentials, LogIn, LoginGrant};
use crate::accounts::login::{self, Attempt, TRIMMED};
use crate::accounts::session_store::{
    self, AllSessions, Device, EARLIER_ID, LoginMethod, Opening, Session, SessionKey, VisitSession,
};
use crate::accounts::two_factor::second_step::Proof;
use crate::accounts::users::{CREDENTIALS_VERSION, ROLE_PASSWORD, id_of};
use crate::accounts::{ApiSecret, Owner, applications, origins};
use crate::passwords::{lacks_salt, salt_beside};
use crate::values::{Timestamp, UserId, random_token};
use crate::{Applied, Decision, Refusal, Result, Site, User, keys};
use tidings_keyspace::{Batch, CheckId, Order, read};

/// Logs a user in who has no second factor, or needs none here; see [`log_in::log_in`].
///
/// # Errors
/// As [`log_in::log_in`], and [`Refusal::CodeRequired`]; [`Refusal::Banned`], to who knows the
/// password only.
pub async fn log_in(
    site: &Site,
    now: Timestamp,
    username: &str,
    password: &str,
    device: &Device,
) -> Result<Session> {
    let typed = Credentials { username, password, code: None };
    Ok(log_in::log_in(site, now, &typed, device).await?.done()?)
}

/// Asks a user who is logged in for the password again. A wrong one counts as a failed login. An account without a password
/// has confirmed it in this session, with a login through the provider. Returns the stored hash; empty without a password.
///
/// # Errors
/// As [`log_in`], and [`Refusal::ConfirmationNeeded`].
pub(crate) async fn confirm_password(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    password: &str,
) -> Result<String> {
    if !owner.user.has_password {
        let is_confirmed = owner.session.is_confirmed(now);
        return if is_confirmed { Ok(String::new()) } else { Err(Refusal::ConfirmationNeeded.into()) };
    }
    let (username, address) = (&*owner.user.username, owner.device.address);
    let attempt = Attempt { username, password, address, now: None };
    Ok(login::verify(site, &attempt).await?.stored.hash)
}

/// The secret that the forms of a user carry now. Rounds: 1.
///
/// # Errors
/// The store's.
pub async fn secret_of(site: &Site, user: UserId) -> Result<ApiSecret> {
    let secret = site.store.fetch(read::field(keys::user(user), "apisecret")).await?;
    Ok(ApiSecret::new(&secret.unwrap_or_default()))
}

/// Adds what an account that was imported or made by an earlier version may lack, and opens a
/// session if the account has not changed since it was read. All logins end here. Answers with the user, too, if the account
/// counts.
pub(crate) async fn open_session(
    site: &Site,
    now: Timestamp,
    entry: &LoginGrant,
    device: &Device,
) -> Result<Decision<(LogIn, Option<User>)>> {
    let LoginGrant { user, upgraded, proof } = entry;
    let id = id_of(user).ok_or(Refusal::WrongCredentials)?;
    let account = User::from_hash(user);
    if let Some(account) = &account {
        account.demand_may_log_in(now)?;
    }
    applications::admit_login(user)?;
    let key = keys::user(id);
    let newest = read::sorted_range(keys::user_sessions(id), Order::Descending, 0, 1);
    let newest = site.store.fetch(newest).await?.first().map(|(_, score)| *score);
    let fresh = Session::new(id)?;
    let apisecret = user.get("apisecret").filter(|secret| !secret.is_empty());
    let session =
        Session { apisecret: apisecret.map_or_else(|| fresh.apisecret.clone(), str::to_owned), ..fresh };
    let stored = login::stored_password(user);
    let mut batch = Batch::new();
    // Fails if the password has changed meanwhile: this login used the old one.
    batch.field_equals(&key, "password", &stored.hash);
    batch.field_unchanged(&key, "apisecret", user.get("apisecret"));
    let used_before = proof.write(&mut batch, id);
    if apisecret.is_none() {
        batch.set_field(&key, "apisecret", &session.apisecret);
    }
    if let Some(hash) = upgraded {
        set_password(&mut batch, id, hash);
        if stored.ignores_blanks() {
            batch.set_field(&key, TRIMMED, "1");
        }
    } else if lacks_salt(Some(&stored.hash), user.get("salt")) {
        batch.set_field(&key, "salt", random_token()?);
    }
    if user.get("seen_time").is_none() {
        batch.set_field(&key, "seen_time", now.to_string());
    }
    let network = origins::tag_of(site, device.address).await?;
    let opened = Opening { device, newest, method: proof.method() };
    session_store::write_new(&mut batch, now, &session, &opened);
    login::write_network(&mut batch, now, id, &network);
    let decided = Decision::commit(batch, (LogIn::Done(session), account));
    let used =
        if matches!(proof, Proof::Link(_)) { Refusal::LoginLinkInvalid } else { Refusal::PasskeyRefused };
    Ok(decided.if_rejected_by(used_before, Err(used.into())))
}

/// Logs a user out: ends this session. Rounds: 1.
pub async fn log_out(site: &Site, session: &VisitSession) -> Result<()> {
    let mut batch = Batch::new();
    session_store::end_one(&mut batch, session.user_id, &session.key);
    site.apply(batch).await.map(drop)
}

/// Ends one session of the user whose session this is.
///
/// # Errors
/// [`Refusal::NoSuchSession`], or the store's.
pub async fn end_session(site: &Site, session: &VisitSession, id: &str) -> Result<()> {
    let user_id = session.user_id;
    let all = AllSessions::read(site, user_id).await?;
    let key = match id {
        EARLIER_ID => all.earlier().map(SessionKey::Earlier),
        id => all.find(id).map(SessionKey::Session),
    };
    let mut batch = Batch::new();
    // The caller must still have a session when the other one ends.
    let still = session.key.check(&mut batch, user_id);
    session_store::end_one(&mut batch, user_id, &key.ok_or(Refusal::NoSuchSession)?);
    match site.apply(batch).await? {
        Applied::No(check) if check == still => Err(Refusal::SessionEnded.into()),
        Applied::Yes(_) | Applied::No(_) => Ok(()),
    }
}

/// Ends all sessions of a user but this one, and replaces the secret of forms, which the
/// other sessions knew. Forms that are open in this session keep working.
///
/// # Errors
/// [`Refusal::SessionEnded`], or the store's.
pub async fn end_other_sessions(site: &Site, user: &User, session: &VisitSession) -> Result<()> {
    let key = keys::user(user.id);
    site.act(&key, || async {
        let all = AllSessions::read(site, user.id).await?;
        let mut batch = Batch::new();
        let still = session.key.check(&mut batch, user.id);
        all.end(&mut batch, Some(&session.key));
        let secret = random_token()?;
        batch.set_field(&key, "apisecret", &secret);
        session_store::replace_secret(&mut batch, &session.key, &user.apisecret, &secret);
        Decision::commit(batch, ())
            .if_rejected_by(still, Err(Refusal::SessionEnded.into()))
            .once(user.request.as_ref(), &())
    })
    .await
}

/// Adds a new password hash to a batch, and replaces the salt of an older hash.
fn set_password(batch: &mut Batch, id: UserId, hash: &str) {
    batch.set_fields(keys::user(id), [("password", hash), ("salt", &salt_beside(hash))]);
    batch.increment_field(keys::user(id), CREDENTIALS_VERSION, 1);
    batch.delete_field(keys::user(id), TRIMMED);
}

/// Adds the hash of a password that was chosen to a batch. It is long enough for the role.
pub(crate) fn choose_password(batch: &mut Batch, id: UserId, hash: &str) {
    set_password(batch, id, hash);
    batch.delete_field(keys::user(id), ROLE_PASSWORD);
}

/// Ends all sessions of an account and replaces the secret of forms, with further writes in
/// the same batch. The session that has the new secrets is opened from a device, or not at all.
///
/// `further` may add checks that decide whether the caller may do this. If one of them fails,
/// nothing is written and the result is `false`.
pub(crate) async fn end_all_sessions(
    site: &Site,
    session: &Session,
    opened: Option<(&Device, Timestamp)>,
    further: impl Fn(&mut Batch) -> Vec<CheckId>,
) -> Result<bool> {
    let user_id = session.user_id;
    let key = keys::user(user_id);
    site.act(&key, || async {
        let all = AllSessions::read(site, user_id).await?;
        Refusal::NoSuchUser.when(!all.has_owner)?;
        let mut batch = Batch::new();
        let demanded = further(&mut batch);
        all.end(&mut batch, None);
        batch.set_field(&key, "apisecret", &session.apisecret);
        if let Some((device, now)) = opened {
            let opened = Opening { device, newest: all.newest, method: LoginMethod::Password };
            session_store::write_new(&mut batch, now, session, &opened);
            let network = origins::tag_of(site, device.address).await?;
            login::write_network(&mut batch, now, user_id, &network);
        }
        let decided = Decision::commit(batch, true);
        Ok(demanded.into_iter().fold(decided, |decided, check| decided.if_rejected_by(check, Ok(false))))
    })
    .await
}

//! Deactivating one's own account: the person leaves, the discussions stay.

pub(crate) mod leave;

use crate::accounts::two_factor::stored;
use crate::accounts::users::{
    CONFIRMED_EMAIL, DEACTIVATED, DELETED_USERNAME, INBOX_FEED, MAIL_REFUSED, NEW_EMAIL, OIDC_ROLE,
};
use crate::accounts::{
    AllSessions, MAIL_SECRET, Owner, READING_KEY, applications, outbox, roles, sessions, single_sign_on,
};
use crate::contributions::erasing::{ERASE_ALL, NAME};
use crate::jobs::{self, Job, Jobs};
use crate::timelines::versions;
use crate::values::{Digest, Moment, random_token};
use crate::{AUDIT, Decision, Result, Role, Site, keys};
use std::time::Duration;
use tidings_keyspace::Batch;

/// How long the request waits for the removal of follows and tweets; the rest is done in the
/// background.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fields of an account that are empty once its owner has left: all that is secret or personal.
pub const EMPTIED: [&str; 10] = [
    "password",
    "auth",
    "apisecret",
    "about",
    "email",
    "fullname",
    "flags",
    INBOX_FEED,
    MAIL_SECRET,
    READING_KEY,
];
/// Those that are absent then, as in most accounts.
pub const REMOVED: [&str; 4] = [CONFIRMED_EMAIL, NEW_EMAIL, MAIL_REFUSED, OIDC_ROLE];

/// The fate of the stories and comments of somebody who leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writings {
    /// They stay, without the name.
    #[default]
    Keep,
    /// They are erased.
    Erase,
}

/// Deactivates an account: ends its sessions, and removes the follows in both directions and
/// the tweets. News and comments stay, without the name, unless they are to be erased too, which a job does; the
/// name stays taken.
///
/// # Errors
/// [`Refusal::WrongCredentials`](super::Refusal::WrongCredentials) and
/// [`Refusal::TooManyFailedLogins`](super::Refusal::TooManyFailedLogins), as a
/// login; [`Refusal::LastAdministrator`](super::Refusal::LastAdministrator); or the store's.
pub async fn deactivate(
    site: &Site,
    now: Moment,
    owner: Owner<'_>,
    password: &str,
    writings: Writings,
) -> Result<()> {
    let user = owner.user;
    let stored = sessions::confirm_password((site, now.timestamp()), owner, password).await?;
    let (key, job, salt) = (keys::user(user.id), leave::job(user.id), random_token()?);
    let erasure = Job::new(ERASE_ALL, user.id);
    let deactivated = site.act(&key, || async {
        let sessions = AllSessions::read(site, user.id).await?;
        let mut batch = Batch::new();
        if user.given_role() == Role::Administrator {
            roles::demand_another_administrator(site, now.timestamp(), &mut batch, user.id).await?;
        }
        // Fails if the password has changed meanwhile: the user has typed the old one.
        batch.field_equals(&key, "password", &stored);
        sessions.end(&mut batch, None);
        single_sign_on::forget(&mut batch, user);
        batch.delete(keys::user_networks(user.id));
        batch.set_fields(&key, EMPTIED.into_iter().map(|field| (field, "")));
        for field in REMOVED {
            batch.delete_field(&key, field);
        }
        stored::remove_all(&mut batch, user.id);
        batch.set_field(&key, DEACTIVATED, now.timestamp().to_string());
        applications::forget(&mut batch, user.id);
        outbox::write_digest_choice(&mut batch, user.id, Digest::Off, now.timestamp());
        // Lamer News cannot show a user without a name, nor refuse a login without a salt.
        batch.set_field(&key, "username", DELETED_USERNAME);
        batch.set_field(&key, "salt", &salt);
        // A rebuild of the home timeline that is in progress fails.
        versions::note_followings_change(&mut batch, user.id);
        // The job that erases the posts adds the other one at its end.
        let first = if writings == Writings::Erase { &erasure } else { &job };
        jobs::add(&mut batch, first, now, user.id);
        if writings == Writings::Erase {
            jobs::add_fields(&mut batch, first, [(NAME, user.username.clone())]);
        }
        Ok(Decision::commit(batch, ()))
    });
    deactivated.await?;
    tracing::info!(target: AUDIT, by = user.username, "deactivated the account");
    if writings == Writings::Erase {
        site.of::<Jobs>().start_soon(erasure, now);
        return Ok(());
    }
    match tokio::time::timeout(PATIENCE, jobs::work_on(site, now, &leave::KIND, &job)).await {
        Ok(Ok(_)) => {}
        // The account is deactivated already, and the job for the rest is queued.
        Ok(Err(error)) => {
            tracing::warn!(user = %user.id, %error, "deactivation not finished; a background job will finish it")
        }
        Err(_) => site.of::<Jobs>().start_soon(job, now),
    }
    Ok(())
}

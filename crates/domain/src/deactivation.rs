//! Deactivating an account, by its owner: the person goes, the discussions stay.

pub(crate) mod leave;

use crate::accounts::sessions;
use crate::accounts::users::DEACTIVATED;
use crate::accounts::users::User;
use crate::action::Decision;
use crate::error::Error;
use crate::fields;
use crate::jobs;
use crate::keys;
use crate::site::Site;
use crate::timelines::follows;
use crate::values::clock::Moment;
use std::net::IpAddr;
use std::time::Duration;
use tidings_keyspace::{Batch, Query};

/// How long the request waits for the follows and tweets to go; the rest goes
/// in the background.
const PATIENCE: Duration = Duration::from_secs(2);

/// Deactivates an account: the session, the follows both ways and the tweets
/// end. News and comments stay, without the name; the name stays taken.
///
/// # Errors
/// [`Refusal::WrongCredentials`](super::Refusal::WrongCredentials) and
/// [`Refusal::TooManyFailedLogins`](super::Refusal::TooManyFailedLogins), as a
/// login; or the store's.
pub async fn deactivate(
    site: &Site,
    now: Moment,
    user: &User,
    password: &str,
    address: IpAddr,
) -> Result<(), Error> {
    let stored = sessions::confirm_password(site, &user.username, password, address).await?;
    let (key, job) = (keys::user(user.id), leave::job(user.id));
    let deactivated = site.act(&key, || async {
        let mut query = Query::new();
        let auth = query.hash_fields(&key, ["auth"]);
        let auth = fields::only(site.store.query(query).await?.take(auth));
        let mut batch = Batch::new();
        // Whoever changes the password meanwhile wins: this was the old one.
        batch.field_equals(&key, "password", &stored.hash);
        batch.field_unchanged(&key, "auth", auth.as_ref());
        if let Some(auth) = auth.filter(|auth| !auth.is_empty()) {
            batch.delete(keys::auth(&auth));
        }
        let emptied = ["password", "auth", "apisecret", "about", "email", "fullname", "flags"];
        batch.set_fields(&key, emptied.map(|field| (field, "")));
        batch.set_field(&key, DEACTIVATED, now.timestamp().to_string());
        // Without its name the account is shown nowhere.
        batch.delete_field(&key, "username");
        batch.delete_field(&key, "salt");
        // Nobody rebuilds the home timeline of this account any more.
        follows::note_followings_change(&mut batch, user.id);
        jobs::add(&mut batch, &job, now, user.id);
        Ok(Decision::commit(batch, ()))
    });
    deactivated.await?;
    match tokio::time::timeout(PATIENCE, jobs::work_on(site, now, &leave::KIND, &job)).await {
        Ok(Ok(_)) => {}
        // The account is gone whatever becomes of the rest, and the rest is noted.
        Ok(Err(error)) => {
            tracing::warn!(user = %user.id, %error, "deactivation not finished; a background job will finish it")
        }
        Err(_) => site.jobs.start_soon(job, now),
    }
    Ok(())
}

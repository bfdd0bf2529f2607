//! Applications: accounts that a moderator must accept before their owners can log in.
//!
//! The account exists from the sign-up on, with its name and its password. Until it is
//! accepted it has the fields `pending` and `deactivated`, so it counts nowhere: it has no
//! profile, nobody can follow or mention it, and its login is refused with the reason. The
//! queue of moderators has it as `application:<username>`.
//!
//! A rejected application gives its name back. As long as nobody takes the name, the login
//! still says why the application was rejected. A person who takes it, perhaps the same one with
//! another application, replaces the account.
//!
//! The decisions add to the batch of the moderator's action, which also has the line in the log.

use crate::accounts::users::DEACTIVATED;
use crate::accounts::{AllSessions, people};
use crate::values::{Thing, Timestamp, UserId, random_token};
use crate::{Refusal, Result, Site, fields, hooks, keys, review};
use tidings_keyspace::{Batch, Fetch, Hash, read};

/// The field of a user with the text of the application. It stays when it is answered.
const TEXT: &str = "application";
/// The field with the time of the application, in Unix seconds. It stays too.
const APPLIED: &str = "applied";
/// The field that says that the application waits: `1`, or absent.
const PENDING: &str = "pending";
/// The field with the time of the rejection, in Unix seconds.
pub(crate) const REJECTED: &str = "rejected";
/// The field with the reason for the rejection.
const REASON: &str = "rejected_reason";

/// An application that waits, or that has been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// The account.
    pub user_id: UserId,
    /// Its name.
    pub username: String,
    /// Its e-mail address; may be empty.
    pub email: String,
    /// Why its owner would like to join.
    pub text: String,
    /// When it was made.
    pub since: Timestamp,
    /// Whether it waits for an answer.
    pub is_pending: bool,
    /// Whether it was rejected.
    pub is_rejected: bool,
}

/// An application as an item for review.
fn thing(username: &str) -> Thing {
    Thing::Application(username.into())
}

/// Adds an application to the batch that creates its account. Its text is empty if many accounts
/// were created, so that this one waits without having been asked for an application.
pub(crate) fn write_application(
    batch: &mut Batch,
    now: Timestamp,
    (id, username): (UserId, &str),
    text: &str,
) {
    let time = now.to_string();
    let fields = [(TEXT, text), (APPLIED, &time), (PENDING, "1"), (DEACTIVATED, &time)];
    batch.set_fields(keys::user(id), fields);
    review::enqueue(batch, &thing(username), now);
}

/// Adds to the batch that deactivates an account that the text of its application is forgotten.
pub(crate) fn forget(batch: &mut Batch, id: UserId) {
    batch.delete_field(keys::user(id), TEXT);
    batch.delete_field(keys::user(id), APPLIED);
}

/// Refuses the login to an account that does not count, with the reason. The caller has
/// compared the password.
///
/// # Errors
/// [`Refusal::ApplicationWaits`] or [`Refusal::ApplicationRejected`].
pub(crate) fn admit_login(user: &Hash) -> Result<(), Refusal> {
    Refusal::ApplicationWaits.when(user.get(PENDING).is_some())?;
    if user.get(REJECTED).is_some() {
        let reason = user.get(REASON).unwrap_or_default().to_owned();
        return Err(Refusal::ApplicationRejected { reason });
    }
    Ok(())
}

/// The application of the account with a name, waiting or answered. Rounds: 2.
///
/// # Errors
/// [`Refusal::NoSuchApplication`], or the store's.
pub async fn application(site: &Site, username: &str) -> Result<Application> {
    let user_id = site.store.fetch(people::holder(username)).await?.ok_or(Refusal::NoSuchApplication)?;
    let read = [TEXT, APPLIED, PENDING, REJECTED, DEACTIVATED, "username", "email"];
    let [text, applied, pending, rejected, deactivated, username, email] =
        site.store.fetch(read::fields(keys::user(user_id), read)).await?;
    let (is_pending, is_rejected) = (pending.is_some(), rejected.is_some());
    // An account whose owner has left has no application any more.
    let has_left = deactivated.is_some() && !is_pending && !is_rejected;
    let (Some(text), Some(username), false) = (text, username, has_left) else {
        return Err(Refusal::NoSuchApplication.into());
    };
    let since = fields::read(applied.as_deref(), || keys::user(user_id), APPLIED).unwrap_or(0);
    let (since, email) = (Timestamp(since), email.unwrap_or_default());
    Ok(Application { user_id, username, email, text, since, is_pending, is_rejected })
}

/// Adds to a batch that an application is accepted: its owner can log in. Rounds: 2. The batch
/// is rejected if the application has been answered meanwhile.
///
/// # Errors
/// [`Refusal::NoSuchApplication`] if none of this name waits, or the store's.
pub(crate) async fn write_approval(site: &Site, batch: &mut Batch, username: &str) -> Result<Application> {
    let application = waiting(site, batch, username).await?;
    batch.delete_field(keys::user(application.user_id), DEACTIVATED);
    hooks::write(batch, &hooks::Event::Signup(application.user_id));
    Ok(application)
}

/// Adds to a batch that an application is rejected: its name is free again. Rounds: 2. The
/// batch is rejected if the application has been answered meanwhile.
///
/// # Errors
/// [`Refusal::NoSuchApplication`] if none of this name waits, or the store's.
pub(crate) async fn write_rejection(
    site: &Site,
    batch: &mut Batch,
    now: Timestamp,
    (username, reason): (&str, &str),
) -> Result<Application> {
    let application = waiting(site, batch, username).await?;
    let fields = [(REJECTED, now.to_string()), (REASON, reason.to_owned())];
    batch.set_fields(keys::user(application.user_id), fields);
    Ok(application)
}

/// Adds to a batch that an answered application waits again, as before the answer: the undo of
/// both decisions. The sessions of an accepted account end. Rounds: 3.
///
/// # Errors
/// [`Refusal::NoSuchApplication`] if no application of this name was answered, such as after
/// somebody else has taken the name; or the store's.
pub(crate) async fn write_reopening(site: &Site, batch: &mut Batch, username: &str) -> Result<Application> {
    let application = application(site, username).await?;
    Refusal::NoSuchApplication.when(application.is_pending)?;
    let (id, key) = (application.user_id, keys::user(application.user_id));
    let sessions = AllSessions::read(site, id).await?;
    batch.string_equals(keys::username_to_id(username), id.to_string());
    batch.field_absent(&key, PENDING);
    sessions.end(batch, None);
    let since = application.since.to_string();
    batch.set_fields(&key, [(PENDING, "1"), (DEACTIVATED, &since), ("apisecret", &random_token()?)]);
    batch.delete_field(&key, REJECTED);
    batch.delete_field(&key, REASON);
    review::enqueue(batch, &thing(&application.username), application.since);
    Ok(application)
}

/// The application of a name that waits. Adds to the batch that it no longer does.
async fn waiting(site: &Site, batch: &mut Batch, username: &str) -> Result<Application> {
    let application = application(site, username).await?;
    Refusal::NoSuchApplication.when(!application.is_pending)?;
    let key = keys::user(application.user_id);
    batch.field_equals(&key, PENDING, "1");
    batch.delete_field(&key, PENDING);
    review::settle(batch, &thing(&application.username));
    Ok(application)
}

/// The accounts that have a name or one that looks like it.
pub(crate) struct NameHolders {
    /// The keys of the two names, with the ids that they hold.
    names: [(String, Option<String>); 2],
    /// Those of them whose application was rejected: they must make room.
    rejected: Vec<RejectedAccount>,
}

/// An account whose application was rejected.
struct RejectedAccount {
    id: UserId,
    username: String,
    /// When it was rejected, as it is stored.
    rejected: String,
}

impl NameHolders {
    /// Finds them. The ids are those that the keys of the two names hold. Rounds: 1, none if
    /// nobody has one of the names.
    pub(crate) async fn find(
        site: &Site,
        username: &str,
        [by_name, by_look]: [Option<String>; 2],
    ) -> Result<Self> {
        let ids = [&by_name, &by_look].map(|id| id.as_ref().and_then(|id| id.parse::<UserId>().ok()));
        let mut holders: Vec<UserId> = ids.into_iter().flatten().collect();
        holders.dedup();
        let read = |id: UserId| {
            read::fields(keys::user(id), ["username", REJECTED]).map(move |fields| match fields {
                [Some(username), Some(rejected)] => Some(RejectedAccount { id, username, rejected }),
                _ => None,
            })
        };
        let found = site.store.fetch(holders.into_iter().map(read).collect::<Vec<_>>()).await?;
        let rejected = found.into_iter().flatten().collect();
        let names = [(keys::username_to_id(username), by_name), (keys::username_folded(username), by_look)];
        Ok(Self { names, rejected })
    }

    /// Whether the name is free.
    ///
    /// # Errors
    /// [`Refusal::UsernameTaken`] or [`Refusal::UsernameConfusable`].
    pub(crate) fn admit(&self) -> Result<(), Refusal> {
        let refusals = [Refusal::UsernameTaken, Refusal::UsernameConfusable];
        for ((_, holder), refusal) in self.names.iter().zip(refusals) {
            let makes_room = |holder: &String| self.rejected.iter().any(|it| it.id.to_string() == *holder);
            if holder.as_ref().is_some_and(|holder| !makes_room(holder)) {
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Adds to a batch that the names now are another account's. It is rejected if somebody
    /// else has taken one of them meanwhile.
    pub(crate) fn replace(&self, batch: &mut Batch, id: UserId) {
        for (key, holder) in &self.names {
            batch.string_unchanged(key, holder.as_ref());
        }
        for RejectedAccount { id, username, rejected } in &self.rejected {
            batch.field_equals(keys::user(*id), REJECTED, rejected);
            batch.delete(keys::username_to_id(username));
            batch.delete(keys::username_folded(username));
            // It has written nothing, so nothing refers to it.
            batch.delete(keys::user(*id));
        }
        self.names.iter().for_each(|(key, _)| batch.set(key, id.to_string()));
    }
}

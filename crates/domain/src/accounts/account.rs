//! The changes that the owner of an account may make.

use crate::accounts::{
    Device, Notice, Session, VisitSession, admission, confirmation, log_in, names, origin_bans, outbox,
    roles, sessions,
};
use crate::audit::{self, AUDIT, COMMAND_LINE};
use crate::passwords::HashingSource;
use crate::post_rules::CheckedPost;
use crate::values::email;
use crate::values::{
    About, Digest, Email, FullName, NewPassword, PreferencesChange, Timestamp, UserId, never_logged,
};
use crate::{Applied, Error, Refusal, Result, Site, User, keys};
use tidings_keyspace::Batch;
use tidings_text::stored_text::StoredText;

/// A change of a user's profile.
#[derive(Debug)]
pub struct ProfileChange {
    /// The new text about the user; `None` keeps the old one.
    pub about: Option<About>,
    /// How the e-mail address changes.
    pub email: EmailChange,
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
        self.about.as_ref().is_some_and(|about| about.as_str() != user.about)
            || self.fullname.as_ref().is_some_and(|name| name.as_str() != user.fullname)
            || self.gravatar.is_some_and(|gravatar| gravatar != user.gravatar)
    }
}

/// A change of an e-mail address.
#[derive(Debug)]
pub enum EmailChange {
    /// It stays.
    Keep,
    /// This one takes its place, or none.
    To(Option<Email>),
}

/// The password that a user has typed to confirm a change; may be missing. Never logged.
#[derive(Clone, Default)]
pub struct CurrentPassword(pub Option<String>);

never_logged!(CurrentPassword);

/// The person who changes an account: its owner, in a session, from a device.
#[derive(Clone, Copy)]
pub struct Owner<'a> {
    /// The user, as read in the session.
    pub user: &'a User,
    /// The session.
    pub session: &'a VisitSession,
    /// The device.
    pub device: &'a Device,
}

/// Changes a user's profile in one batch, with the mails that tell the owner of a new password or
/// e-mail address. A new password also ends all sessions; the one that replaces the owner's is
/// returned.
///
/// # Errors
/// [`Refusal::Silenced`]; [`Refusal::FullNameConfusable`] and [`Refusal::FullNameReserved`]; [`Refusal::EmailNotConfirmed`] for a
/// change of what everyone sees; [`Refusal::CurrentPasswordNeeded`],
/// [`Refusal::CurrentPasswordWrong`] or [`Refusal::TooManyFailedLogins`] if the password or the
/// e-mail address would change; [`Refusal::SessionEnded`]; or the store's.
pub async fn update_profile(
    site: &Site,
    now: Timestamp,
    owner: Owner<'_>,
    change: &ProfileChange,
) -> Result<Option<Session>> {
    let user = owner.user;
    if change.is_seen_by_others(user) {
        user.demand_may_post(now)?;
    }
    if let Some(fullname) = change.fullname.as_ref().filter(|name| name.as_str() != user.fullname) {
        names::refuse_confusable(site, user, fullname).await?;
    }
    let fullname = change.fullname.as_ref().map_or(&*user.fullname, FullName::as_str);
    let about = change.about.as_ref().map_or(&*user.about, About::as_str);
    if about != user.about || fullname != user.fullname {
        // Everyone sees these; the rest is the owner's business.
        user.demand_confirmed(site)?;
        let post = CheckedPost { texts: [StoredText::Plain(about), StoredText::Line(fullname)], url: None };
        admission::admit_edit(site, now, user, (post, false)).await?;
    }
    let email = match &change.email {
        EmailChange::Keep => user.typed_email(),
        EmailChange::To(email) => email.as_ref().map_or("", Email::as_str),
    };
    let has_new_email = !email::is_same(user.typed_email(), email);
    if has_new_email {
        origin_bans::demand_may_have_email(site, now, user, email).await?;
    }
    let confirmed = if change.password.is_some() || has_new_email {
        Some(confirm_current_password((site, now), owner, &change.current_password).await?)
    } else {
        None
    };
    if let Some(password) = &change.password {
        log_in::demand_passwords(site)?;
        roles::demand_password((site, now), user.id, password).await?;
    }
    let key = keys::user(user.id);
    let mut profile = Vec::new();
    profile.extend(change.about.as_ref().map(|about| ("about", about.as_str().to_owned())));
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
    let subscribes = digest.is_some_and(|digest| digest != Digest::Off)
        || (change.preferences.mail_replies == Some(true) && !user.preferences.mail_replies);
    let write = |batch: &mut Batch| {
        if !profile.is_empty() {
            batch.set_fields(&key, profile.clone());
        }
        let mut notices = Vec::new();
        notices.extend(change.password.is_some().then_some(Notice::PasswordChanged));
        if has_new_email {
            notices.extend(confirmation::write_email(batch, (site, now), user, email));
        } else if subscribes && site.sends_mail && user.email_to_confirm().is_some() {
            outbox::write_confirmation(batch, now, user.id);
        }
        // To the address before the change: whoever has changed both must not be the only one who
        // hears of it.
        let to = user.notice_address().unwrap_or_default();
        outbox::write_notices(batch, (site, now), (user.id, to), &notices);
        if let Some(digest) = digest {
            outbox::write_digest_choice(batch, user.id, digest, now);
        }
    };
    if let Some(password) = &change.password {
        let hash = site.passwords.hash_for(HashingSource::Account(user.id), password).await?;
        let session = Session::new(user.id)?;
        let ended = sessions::end_all_sessions(site, &session, Some((owner.device, now)), |batch| {
            let checks = checks(batch);
            write(batch);
            sessions::choose_password(batch, user.id, &hash);
            checks
        });
        Refusal::SessionEnded.when(!ended.await?)?;
        return Ok(Some(session));
    }
    let mut batch = Batch::new();
    let demanded = checks(&mut batch);
    write(&mut batch);
    match site.apply(batch).await? {
        Applied::Yes(_) => Ok(None),
        Applied::No(check) if demanded.contains(&check) => Err(Refusal::SessionEnded.into()),
        // The address was changed meanwhile.
        Applied::No(_) => Err(Error::Busy),
    }
}

/// Checks the password that was typed to confirm a change. A wrong one counts as a failed
/// login. Returns the stored hash.
pub(crate) async fn confirm_current_password(
    (site, now): (&Site, Timestamp),
    owner: Owner<'_>,
    typed: &CurrentPassword,
) -> Result<String> {
    let typed = typed.0.as_deref().filter(|typed| !typed.is_empty());
    Refusal::CurrentPasswordNeeded.when(typed.is_none() && owner.user.has_password)?;
    match sessions::confirm_password((site, now), owner, typed.unwrap_or_default()).await {
        Err(Error::Refused(Refusal::WrongCredentials)) => Err(Refusal::CurrentPasswordWrong.into()),
        confirmed => confirmed,
    }
}

/// Sets a user's password for the operator and ends the user's sessions.
///
/// # Errors
/// [`Refusal::NoSuchUser`], a password that is too short for the user's role, or the store's.
pub async fn set_password(site: &Site, now: Timestamp, id: UserId, password: &NewPassword) -> Result<()> {
    roles::demand_password((site, now), id, password).await?;
    let hash = site.passwords.hash_for(HashingSource::Operator, password).await?;
    sessions::end_all_sessions(site, &Session::new(id)?, None, |batch| {
        sessions::choose_password(batch, id, &hash);
        Vec::new()
    })
    .await?;
    let account = audit::name_of(site, id).await;
    tracing::info!(target: AUDIT, by = COMMAND_LINE, account, user = id.0, "set a password");
    Ok(())
}

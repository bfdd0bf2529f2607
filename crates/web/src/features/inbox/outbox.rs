//! Sends the mails of the outbox: entries of inboxes, digests, and what concerns accounts.

use super::letters;
use crate::App;
use crate::features::accounts::{account_mail, signup_mail};
use crate::mail::{Failure, Letter, SendError, SendMail};
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::accounts::confirmation;
use tidings_domain::accounts::notices::Notice;
use tidings_domain::accounts::outbox::{self, ClaimedMail, MailSubject, Postponed, WaitingMail};
use tidings_domain::accounts::two_factor::HostMove;
use tidings_domain::accounts::users::User;
use tidings_domain::digests::{self, Candidates, last_due};
use tidings_domain::error::Error;
use tidings_domain::inbox;
use tidings_domain::values::clock::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

/// How often the outbox is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Sends what is due until the future is dropped. Ends at once if no relay is configured.
/// Rounds: 1 a second, and those of the mails.
pub async fn run(app: App) {
    if app.mailer.is_none() {
        return;
    }
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        if let Err(error) = send_due(&app).await {
            tracing::debug!(%error, "cannot look for mails to send");
        }
    }
}

/// Sends some of the mails that are due, one after the other. Returns how many were due.
pub async fn send_due(app: &App) -> Result<usize, Error> {
    let Some(mailer) = app.mailer.clone() else {
        return Ok(0);
    };
    let due = last_due(app.now(), app.settings.digest_hour);
    // These rounds are not those of any request.
    let mails = outbox::look(&app.site.store.counted_apart(), app.now(), due).await?;
    let mut turn = Turn { app, mailer, candidates: None };
    for mail in &mails {
        turn.send(mail).await?;
    }
    Ok(mails.len())
}

/// Some mails that are sent together.
struct Turn<'a> {
    app: &'a App,
    mailer: Arc<dyn SendMail>,
    /// The stories that digests choose from, once they are read.
    candidates: Option<Candidates>,
}

/// A mail before it is claimed.
struct Draft {
    content: Content,
    /// When it was first due.
    since: Timestamp,
    to: Recipient,
}

/// Where a mail goes.
struct Recipient {
    address: String,
    /// Whether it is the address of the account and has refused mails before.
    has_refused: bool,
}

/// The content of a mail.
enum Content {
    Entry(Box<letters::EntryLetter>),
    Digest(Box<digests::DigestOf>),
    Notice { notice: Notice, username: String },
    HostMove { hosts: HostMove, username: String },
    Confirmation,
}

impl Recipient {
    /// An address to write to a user at. `None` if it gets no more mails.
    fn of(user: Option<&User>, address: String) -> Option<Self> {
        let current = user.filter(|user| user.email == address);
        let has_refused = current.is_some_and(|user| user.mail_refused > 0);
        (!current.is_some_and(User::is_mail_stopped)).then_some(Self { address, has_refused })
    }
}

impl Turn<'_> {
    /// Sends a mail if it is still wanted and no other server does.
    async fn send(&mut self, mail: &WaitingMail) -> Result<(), Error> {
        let (app, user) = (self.app, mail.user);
        let Some(Draft { content, since, to }) = self.draft(mail).await? else {
            return outbox::remove(&app.site, mail).await;
        };
        let Some(claim) = outbox::claim(&app.site, app.now(), mail).await? else {
            return Ok(());
        };
        let error = match self.transmit(mail, &claim, content, &to.address).await? {
            Ok(()) => return outbox::accepted(&app.site, mail, to.has_refused).await,
            Err(error) => error,
        };
        if error.failure != Failure::Temporary {
            tracing::warn!(%user, %error, "mail not sent, and not tried again");
            return match error.failure {
                Failure::NoMailbox => outbox::refused(&app.site, mail, &to.address).await,
                _ => outbox::remove(&app.site, mail).await,
            };
        }
        match outbox::postpone(&app.site, app.now(), mail, since).await? {
            Postponed::For(seconds) => {
                tracing::warn!(%user, %error, seconds, "mail not sent; it will be tried again");
            }
            Postponed::GivenUp => tracing::error!(%user, %error, "mail not sent, and given up"),
        }
        Ok(())
    }

    /// Passes a mail on to the relay.
    async fn transmit(
        &self,
        mail: &WaitingMail,
        claim: &ClaimedMail,
        content: Content,
        to: &str,
    ) -> Result<Result<(), SendError>, Error> {
        let brand = self.app.brand().await;
        let site = &brand.site;
        let unsubscribe = || site.link(&letters::unsubscribe_address(&claim.token));
        let letter: Letter = match content {
            Content::Entry(entry) if claim.is_last => entry.more(site, mail, unsubscribe()),
            Content::Entry(entry) => entry.letter(site, mail, unsubscribe()),
            Content::Digest(digest) => letters::digest(site, mail, &digest, unsubscribe()),
            Content::Notice { notice, username } => {
                let (subject, body) = account_mail::notice(site, notice, &username);
                return Ok(self.mailer.send_notice(to, &subject, &body).await);
            }
            Content::HostMove { hosts, username } => {
                let (subject, body) = account_mail::host_move(site, &hosts, &username);
                return Ok(self.mailer.send_notice(to, &subject, &body).await);
            }
            Content::Confirmation => {
                let link = confirmation::make_counted_link(&self.app.site, mail.user).await?;
                let Some(link) = link else { return Ok(Ok(())) };
                let (subject, body) = signup_mail::link_to_confirm(site, &link);
                return Ok(self.mailer.send(&link.email, &subject, &body).await);
            }
        };
        Ok(self.mailer.send_letter(&letter).await)
    }

    /// The content of a mail. `None` if it is no longer wanted.
    async fn draft(&mut self, mail: &WaitingMail) -> Result<Option<Draft>, Error> {
        let app = self.app;
        let mut visit = app.visitor();
        match &mail.subject {
            MailSubject::Entry(entry) => {
                let found = inbox::to_mail(&mut visit, mail.user, *entry).await?;
                Ok(found.and_then(|(user, entry)| {
                    let (since, to) = (entry.time(), Recipient::of(Some(&user), user.email.clone())?);
                    let content = Content::Entry(Box::new(letters::EntryLetter { user, entry }));
                    Some(Draft { content, since, to })
                }))
            }
            MailSubject::Digest { since, until } => {
                if self.candidates.is_none() {
                    self.candidates = Some(digests::candidates(&app.site, app.now()).await?);
                }
                let Some(candidates) = &self.candidates else { return Ok(None) };
                let digest = digests::of_user(&mut visit, candidates, mail.user, *since).await?;
                Ok(digest.and_then(|digest| {
                    let to = Recipient::of(Some(&digest.user), digest.user.email.clone())?;
                    Some(Draft { content: Content::Digest(Box::new(digest)), since: *until, to })
                }))
            }
            MailSubject::Notice { notice, at, address } => {
                let user = outbox::account(&app.site, mail.user).await?;
                // The address may be an earlier one. The owner of a deactivated account is told, too:
                // perhaps somebody else has deactivated it.
                let to = Recipient::of(user.as_ref(), address.clone());
                let username = user.map(|user| user.username).unwrap_or_default();
                let content = Content::Notice { notice: *notice, username };
                Ok(to.map(|to| Draft { content, since: *at, to }))
            }
            MailSubject::HostMove { at, hosts } => {
                let user = outbox::account(&app.site, mail.user).await?;
                Ok(user.and_then(|user| {
                    let to = Recipient::of(Some(&user), user.email.clone())?;
                    let content = Content::HostMove { hosts: hosts.clone(), username: user.username };
                    Some(Draft { content, since: *at, to })
                }))
            }
            MailSubject::Confirmation { at } => {
                let user = outbox::account(&app.site, mail.user).await?;
                let address = user.as_ref().and_then(User::email_to_confirm).map(str::to_owned);
                let to = address.and_then(|address| Recipient::of(user.as_ref(), address));
                Ok(to.map(|to| Draft { content: Content::Confirmation, since: *at, to }))
            }
        }
    }
}

//! Sends the mails of the outbox: entries of inboxes, digests, and what concerns accounts.

use super::letters;
use crate::App;
use crate::features::accounts::mails;
use crate::mail::{Failure, Letter, SendError, SendMail};
use crate::settings::SiteSettings;
use std::sync::Arc;
use tidings_domain::accounts::confirmation;
use tidings_domain::accounts::outbox::{self, ClaimedMail, MailOutcome, MailSubject, MailTurn, WaitingMail};
use tidings_domain::digests::{self, Candidates, last_due};
use tidings_domain::queue::{Fate, SendingTurn};
use tidings_domain::{Error, User, inbox};

/// Sends some of the mails that are due, one after the other, unless another server does. Returns how many were due.
/// Rounds: 1, and those of the mails.
pub async fn send_due(app: &App) -> Result<usize, Error> {
    let Some(mailer) = app.mailer.clone() else { return Ok(0) };
    let due = last_due(app.now(), app.settings.digest_hour);
    let Some(MailTurn { mails, turn }) = outbox::begin(&app.site, app.now(), due).await? else {
        return Ok(0);
    };
    let mut sending = Sending { app, mailer, candidates: None };
    let mut last = Ok(None);
    for mail in &mails {
        if !turn.goes_on(&last) {
            break;
        }
        last = sending.send(&turn, mail).await.map(|()| None);
    }
    turn.end(&app.site, app.moment(), last).await?;
    Ok(mails.len())
}

/// Some mails that are sent together.
struct Sending<'a> {
    app: &'a App,
    mailer: Arc<dyn SendMail>,
    /// The stories that digests choose from, once they are read.
    candidates: Option<Candidates>,
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
    /// About the account: subject and text.
    Notice(String, String),
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

impl Sending<'_> {
    /// Sends a mail if it is still wanted.
    async fn send(&mut self, turn: &SendingTurn, mail: &WaitingMail) -> Result<(), Error> {
        let (app, user) = (self.app, mail.user);
        let finish = async |outcome| outbox::finish(&app.site, app.now(), mail, outcome).await;
        let brand = app.brand().await;
        let Some((content, to)) = self.draft(&brand.site, mail).await? else {
            return finish(MailOutcome::Dropped).await.map(drop);
        };
        let Some(claim) = outbox::claim(&app.site, turn, mail).await? else {
            return Ok(());
        };
        let error = match self.transmit(&brand.site, (mail, &claim), content, &to.address).await? {
            Ok(()) => {
                return finish(MailOutcome::Accepted { had_refused: to.has_refused }).await.map(drop);
            }
            Err(error) => error,
        };
        let outcome = match error.failure {
            Failure::Temporary => MailOutcome::Failed,
            Failure::NoMailbox => MailOutcome::NoMailbox(&to.address),
            _ => MailOutcome::Dropped,
        };
        match finish(outcome).await? {
            Fate::After(seconds) => {
                tracing::warn!(%user, %error, seconds, "mail not sent; it will be tried again");
            }
            Fate::GivenUp => tracing::error!(%user, %error, "mail not sent, and given up"),
            Fate::Over => tracing::warn!(%user, %error, "mail not sent, and not tried again"),
        }
        Ok(())
    }

    /// Passes a mail on to the relay.
    async fn transmit(
        &self,
        site: &SiteSettings,
        (mail, claim): (&WaitingMail, &ClaimedMail),
        content: Content,
        to: &str,
    ) -> Result<Result<(), SendError>, Error> {
        let unsubscribe = || site.link(&letters::unsubscribe_address(&claim.token));
        let letter: Letter = match content {
            Content::Entry(entry) if claim.is_last => entry.more(site, mail, unsubscribe()),
            Content::Entry(entry) => entry.letter(site, mail, unsubscribe()),
            Content::Digest(digest) => letters::digest(site, mail, &digest, unsubscribe()),
            Content::Notice(subject, body) => {
                return Ok(self.mailer.send_notice(to, &subject, &body).await);
            }
            Content::Confirmation => {
                let link = confirmation::make_counted_link(&self.app.site, mail.user).await?;
                let Some(link) = link else { return Ok(Ok(())) };
                let (subject, body) = mails::link_to_confirm(site, &link);
                return Ok(self.mailer.send(&link.email, &subject, &body).await);
            }
        };
        Ok(self.mailer.send_letter(&letter).await)
    }

    /// The content of a mail. `None` if it is no longer wanted.
    async fn draft(
        &mut self,
        site: &SiteSettings,
        mail: &WaitingMail,
    ) -> Result<Option<(Content, Recipient)>, Error> {
        let app = self.app;
        let mut visit = app.visitor();
        Ok(match &mail.subject {
            MailSubject::Entry(entry) => {
                let found = inbox::to_mail(&mut visit, mail.user, *entry).await?;
                found.and_then(|(user, entry)| {
                    let to = Recipient::of(Some(&user), user.email.clone())?;
                    Some((Content::Entry(Box::new(letters::EntryLetter { user, entry })), to))
                })
            }
            MailSubject::Digest { since, .. } => {
                if self.candidates.is_none() {
                    self.candidates = Some(digests::candidates(&app.site, app.now()).await?);
                }
                let Some(candidates) = &self.candidates else { return Ok(None) };
                let digest = digests::of_user(&mut visit, candidates, mail.user, *since).await?;
                digest.and_then(|digest| {
                    let to = Recipient::of(Some(&digest.user), digest.user.email.clone())?;
                    Some((Content::Digest(Box::new(digest)), to))
                })
            }
            MailSubject::Notice { notice, address, .. } => {
                let user = outbox::account(&app.site, mail.user).await?;
                // The address may be an earlier one. The owner of a deactivated account is told, too:
                // perhaps somebody else has deactivated it.
                let to = Recipient::of(user.as_ref(), address.clone());
                let username = user.map(|user| user.username).unwrap_or_default();
                let (subject, body) = mails::notice(site, *notice, &username);
                to.map(|to| (Content::Notice(subject, body), to))
            }
            MailSubject::HostMove { hosts, .. } => {
                let user = outbox::account(&app.site, mail.user).await?;
                user.and_then(|user| {
                    let to = Recipient::of(Some(&user), user.email.clone())?;
                    let (subject, body) = mails::host_move(site, hosts, &user.username);
                    Some((Content::Notice(subject, body), to))
                })
            }
            MailSubject::Confirmation { .. } => {
                let user = outbox::account(&app.site, mail.user).await?;
                let address = user.as_ref().and_then(User::email_to_confirm).map(str::to_owned);
                let to = address.and_then(|address| Recipient::of(user.as_ref(), address));
                to.map(|to| (Content::Confirmation, to))
            }
        })
    }
}

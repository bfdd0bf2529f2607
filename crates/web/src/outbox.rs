//! Sends the mails of the outbox: entries of inboxes, and digests.

use super::App;
use super::letters;
use super::mail::{Letter, SendMail};
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::accounts::outbox::{self, MailSubject, Postponed, Waiting};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::digests::{self, Candidates};
use tidings_domain::error::Error;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::{digests::last_due, inbox};
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
///
/// # Errors
/// When the store fails.
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
    /// What digests choose from, once it is read.
    candidates: Option<Candidates>,
}

/// A mail before it is claimed.
enum Draft {
    Entry(Box<letters::EntryLetter>),
    Digest(Box<digests::DigestOf>),
}

impl Turn<'_> {
    /// Sends a mail if it is still wanted and no other server does.
    async fn send(&mut self, mail: &Waiting) -> Result<(), Error> {
        let (app, user) = (self.app, mail.user);
        let Some((draft, since)) = self.draft(mail).await? else {
            return outbox::remove(&app.site, mail).await;
        };
        let Some(claim) = outbox::claim(&app.site, app.now(), mail).await? else {
            return Ok(());
        };
        let brand = app.brand().await;
        let site = &brand.site;
        let unsubscribe = site.link(&letters::unsubscribe_address(&claim.token));
        let letter: Letter = match draft {
            Draft::Entry(entry) if claim.is_last => entry.more(site, mail, unsubscribe),
            Draft::Entry(entry) => entry.letter(site, mail, unsubscribe),
            Draft::Digest(digest) => letters::digest(site, mail, &digest, unsubscribe),
        };
        let Err(error) = self.mailer.send_letter(&letter).await else {
            return outbox::remove(&app.site, mail).await;
        };
        match outbox::postpone(&app.site, app.now(), mail, since).await? {
            Postponed::For(seconds) => {
                tracing::warn!(%user, %error, seconds, "mail not sent; it will be tried again");
            }
            Postponed::GivenUp => tracing::error!(%user, %error, "mail not sent, and given up"),
        }
        Ok(())
    }

    /// What a mail is made of, and when it was first due. `None` if it is no longer wanted.
    async fn draft(&mut self, mail: &Waiting) -> Result<Option<(Draft, Timestamp)>, Error> {
        let app = self.app;
        let mut visit = Visit::new(app.site.clone(), app.now(), None);
        match mail.subject {
            MailSubject::Entry(entry) => {
                let found = inbox::to_mail(&mut visit, mail.user, entry).await?;
                Ok(found.map(|(user, entry)| {
                    let since = entry.time();
                    (Draft::Entry(Box::new(letters::EntryLetter { user, entry })), since)
                }))
            }
            MailSubject::Digest { since, until } => {
                if self.candidates.is_none() {
                    self.candidates = Some(digests::candidates(&app.site, app.now()).await?);
                }
                let Some(candidates) = &self.candidates else { return Ok(None) };
                let digest = digests::of_user(&mut visit, candidates, mail.user, since).await?;
                Ok(digest.map(|digest| (Draft::Digest(Box::new(digest)), until)))
            }
        }
    }
}

//! `tidings mail test ADDRESS`: sends one mail, and says what happened.

use crate::config::Config;
use crate::mail::Mailer;
use anyhow::{anyhow, bail};
use clap::Subcommand;
use tidings_web::mail::SendMail;

/// Find out whether mail can be sent.
#[derive(Debug, Subcommand)]
pub enum MailCommand {
    /// Send a test mail to an address, and say what the relay answers.
    ///
    /// The mail is sent like reset links, by the strictest rules. The exit status is 0 if the relay
    /// has accepted it.
    Test {
        /// The address.
        address: String,
    },
}

impl MailCommand {
    /// Sends the mail.
    ///
    /// # Errors
    /// When no relay is configured, or it does not accept the mail.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        let Self::Test { address } = self;
        let Some(mailer) = Mailer::from_config(&config.mail)? else {
            bail!("mail.relay is not set, so this site sends no mail");
        };
        let site = config.site.url.as_str();
        let body = format!("This is a test e-mail from {site}\n\nIt works.\n");
        let sent = mailer.send(&address, "A test of your site's mail", &body).await;
        sent.map_err(|error| anyhow!(error.reason))?;
        say!(
            "the mail relay {} has accepted a mail from {} to {address}; if it does not arrive, check the \
             spam folder and the relay's log",
            mailer.relay(),
            mailer.from()
        );
        Ok(())
    }
}

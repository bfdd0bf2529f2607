//! `tidings site move OLD NEW`: what a move to another host name needs, and a mail to the owners of passkeys.

use super::terminal::progress_bar;
use super::{Here, now};
use crate::WrongUse;
use crate::config::{Config, HostName};
use anyhow::bail;
use clap::Subcommand;
use tidings_domain::Site;
use tidings_domain::accounts::harden::count_accounts;
use tidings_domain::accounts::two_factor::{HostMove, PasskeyOwners, visit_owners};
use tidings_domain::values::Hostname;
use tidings_domain::values::words::counted;

/// Move the site to another host name.
#[derive(Debug, Subcommand)]
pub enum SiteCommand {
    /// Prepare the move of the site to another host name.
    ///
    /// Says what happens and which settings to change. With --yes, it also writes to the owners of
    /// passkeys: a passkey belongs to a host name, so theirs stop working. Nothing else is stored:
    /// the site moves when you change the settings and restart it.
    Move {
        /// The host name that the site has, such as news.example.com.
        #[arg(value_parser = host)]
        old: Hostname,
        /// The host name that it will have.
        #[arg(value_parser = host)]
        new: Hostname,
        /// Write to the owners of passkeys now.
        #[arg(long)]
        yes: bool,
    },
}

fn host(text: &str) -> Result<Hostname, String> {
    let is_plain = !text.contains(['/', ':', '@']);
    let name = Hostname::parse(text).ok().filter(|_| is_plain);
    name.ok_or_else(|| "it must be a host name, such as news.example.com".to_owned())
}

impl SiteCommand {
    /// Prepares the move.
    ///
    /// # Errors
    /// When the names do not fit the settings, no mail can be sent, or the store fails.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        let (Self::Move { old, new, yes }, config) = (self, &here.config);
        if old == new {
            bail!(WrongUse::new("OLD and NEW are the same host name"));
        }
        let host = config.site.url.host_str().unwrap_or_default();
        if host != old.as_str() && host != new.as_str() {
            bail!(
                "site.url has the host name {host}, so the site moves neither from nor to it: nothing done"
            );
        }
        let sends_mail = config.mail.relay.is_some();
        if yes && !sends_mail {
            bail!("mail.relay is not set, so nobody can be written to; leave out --yes");
        }
        let hosts = HostMove { from: old, to: new };
        let site = here.site().await?.sending_mail(sends_mail).for_command();
        explain(config, &hosts, visit(&site, yes.then_some(&hosts)).await?, yes)
    }
}

async fn visit(site: &Site, told: Option<&HostMove>) -> anyhow::Result<PasskeyOwners> {
    let bar = progress_bar(count_accounts(site).await?, "looking for passkeys");
    let now = now();
    let told = told.map(|hosts| (hosts, now));
    Ok(visit_owners(site, told, |found| bar.set_position(found.checked)).await?)
}

/// Says what happens, and what is to do.
fn explain(config: &Config, hosts: &HostMove, found: PasskeyOwners, told: bool) -> anyhow::Result<()> {
    let HostMove { from, to } = hosts;
    let owners = counted(found.owners, "member has", "members have");
    let mut url = config.site.url.clone();
    url.set_host(Some(to.as_str()))?;
    let mut old_hosts: Vec<&str> = config
        .server
        .old_hosts
        .iter()
        .map(|HostName(name)| name.as_str())
        .filter(|name| *name != to.as_str())
        .collect();
    if !old_hosts.contains(&from.as_str()) {
        old_hosts.push(from.as_str());
    }
    say!("The site moves from {from} to {to}:");
    say!("- Everybody logs in again: sessions belong to a host name.");
    say!(
        "- Passkeys for {from} stop working: {owners} some, and log in with their password and a recovery code."
    );
    say!(
        "- Apps, feed readers and the browser extension follow the redirect; people should enter the new address."
    );
    say!(
        "- Links to {from} are redirected as long as that name points here, and shown in texts as links to {to}."
    );
    say!("");
    say!("1. Point {to} at this server, and get a certificate for it. Keep the one for {from}.");
    if told {
        say!(
            "2. Done: {} to owners of passkeys wait in the outbox.",
            counted(found.reachable, "mail", "mails")
        );
    } else {
        say!("2. Tell the owners of passkeys by mail: tidings site move {from} {to} --yes");
    }
    let unreachable = found.owners - found.reachable;
    if unreachable > 0 {
        say!(
            "   {} no e-mail address. Announce the move on the site too.",
            counted(unreachable, "of them has", "of them have")
        );
    }
    say!("3. Set these, and restart the server:");
    say!("   [site]");
    say!("   url = \"{}\"", url.as_str().trim_end_matches('/'));
    say!("   [server]");
    say!("   old_hosts = \"{}\"", old_hosts.join(","));
    Ok(())
}

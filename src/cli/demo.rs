//! `tidings demo`: serves a site to try, with a community of two months. Its folder is gone at the end.

mod community;
mod random;
mod texts;

use super::serve;
use crate::config::{CommandLineSettings, Config};
use anyhow::Context;
use clap::Args;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use tidings_domain::values::clock::Timestamp;
use tidings_keyspace::EngineClock;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Try a site with a lifelike community, without setting anything up.
///
/// The site is in a temporary folder, which is removed when you press Ctrl-C. Only this machine reaches it.
/// It prints three accounts that you can log in with. Settings and variables have no effect on it.
#[derive(Debug, Args)]
pub struct DemoCommand {}

impl DemoCommand {
    /// Makes the site and serves it until it is told to stop.
    ///
    /// # Errors
    /// When the folder or a port is not available.
    pub async fn run(self) -> anyhow::Result<()> {
        let stop = serve::stop_signal()?;
        let folder =
            tempfile::Builder::new().prefix("tidings-demo-").tempdir().context("cannot create a folder")?;
        let settings = settings(folder.path(), free_port()?);
        let flags = CommandLineSettings::default();
        let load = || Config::load(None, settings.iter().cloned(), &flags);
        let config = load()?;
        // Nobody needs a log of what generated people do.
        let now = Timestamp::now(&EngineClock::System);
        let making = community::make(&config, now).with_subscriber(NoSubscriber::default());
        let accounts = tokio::select! {
            made = making => made?,
            () = stop => return Ok(()),
        };
        say!("Tidings demo: {}", config.site.url);
        for account in accounts {
            say!("  {:<14} {}", account.name, account.password);
        }
        say!("Log in with one of these names and its password. Ctrl-C ends the demo and removes its data.");
        serve::run(config, load).await
    }
}

/// The settings of the demo, as variables.
fn settings(folder: &Path, port: u16) -> Vec<(String, String)> {
    let settings = [
        ("SERVER__LISTEN", format!("{}:{port}", Ipv4Addr::LOCALHOST)),
        ("SERVER__STORE", format!("redb:{}", folder.join("demo.redb").display())),
        ("SERVER__CREATE", "true".to_owned()),
        ("SITE__URL", format!("http://localhost:{port}")),
        ("SITE__NAME", "Tidings demo".to_owned()),
        // Others may have the port.
        ("METRICS__LISTEN", String::new()),
    ];
    settings.map(|(name, value)| (format!("TIDINGS_{name}"), value)).into()
}

/// A port that nobody listens on.
fn free_port() -> anyhow::Result<u16> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(socket.local_addr()?.port())
}

//! `tidings status`: how the site is, on one screen.

use super::{print, reach_existing_store, site_on};
use crate::config::Config;
use crate::control;
use crate::control::status::{self, Status};
use anyhow::{Context, bail};
use clap::Args;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tidings_domain::values::clock::Timestamp;
use tidings_keyspace::{EngineClock, Store, without_password};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Print how the site is: store, requests, memory, background jobs, backups.
///
/// Asks the running server. Without one that listens for commands, prints what the store tells.
/// The exit status is 0 if all is well, and 1 if the store cannot be reached or is read only. With
/// --live it is 0 while the server answers, whatever its store does: that is what decides about a
/// restart.
#[derive(Debug, Args)]
pub struct StatusCommand {
    /// Print JSON, for programs. Unknown values are null.
    #[arg(long)]
    json: bool,
    /// Only ask /health/live at the address of server.listen, for health checks of containers.
    #[arg(long, conflicts_with = "json")]
    live: bool,
}

/// How long the server may take to say that it lives.
const LIVE_PATIENCE: Duration = Duration::from_secs(5);

impl StatusCommand {
    /// Prints the status.
    ///
    /// # Errors
    /// When the store cannot be reached or is read only; with `--live`, when the server does not
    /// answer.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
        if self.live {
            return ask_whether_live(config.server.listen).await;
        }
        let found = find(config).await;
        let status = match &found {
            Ok(status) => status.clone(),
            Err(error) => Status::unreachable(shown_store(config), format!("{error:#}")),
        };
        if self.json {
            say!("{}", serde_json::to_string(&status)?);
        } else {
            print(&status.screen(Timestamp::now(&EngineClock::System)))?;
        }
        if !found?.is_good() {
            bail!("{}", status.complaint());
        }
        Ok(())
    }
}

/// Asks the server at an address whether it lives.
async fn ask_whether_live(mut address: SocketAddr) -> anyhow::Result<()> {
    if address.ip().is_unspecified() {
        // It listens on all addresses, this one among them.
        address.set_ip(if address.is_ipv4() {
            Ipv4Addr::LOCALHOST.into()
        } else {
            Ipv6Addr::LOCALHOST.into()
        });
    }
    let asking = async {
        let mut stream = TcpStream::connect(address).await?;
        stream
            .write_all(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .await?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    match tokio::time::timeout(LIVE_PATIENCE, asking).await {
        Ok(Ok(answer)) if &answer == b"HTTP/1.1 200" => {
            say!("the server at {address} answers");
            Ok(())
        }
        Ok(Ok(_)) => bail!("what listens at {address} does not answer as tidings does"),
        Ok(Err(error)) => Err(error).with_context(|| format!("the server at {address} does not answer")),
        Err(_) => bail!("the server at {address} did not answer within {} seconds", LIVE_PATIENCE.as_secs()),
    }
}

async fn find(config: &Config) -> anyhow::Result<Status> {
    let store = reach_existing_store(config).await?;
    let found = ask(&store, config).await;
    store.close().await;
    found
}

async fn ask(store: &Store, config: &Config) -> anyhow::Result<Status> {
    if let Some(answer) = store.ask_server(control::STATUS).await? {
        return serde_json::from_str(&answer).context("the running server gives no status");
    }
    let site = site_on(store, config);
    Ok(status::of_site(&site, shown_store(config)).await)
}

fn shown_store(config: &Config) -> String {
    without_password(config.server.store.as_str())
}

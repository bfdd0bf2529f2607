//! `tidings status`: the health of the site, on one screen.

use super::{Here, now, print};
use crate::config::Config;
use crate::control::status::{self, Status};
use anyhow::{Context, bail};
use clap::Args;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tidings_keyspace::without_password;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Print the health of the site: store, requests, memory, background jobs, backups.
///
/// Asks the running server. If none listens for commands, prints what the store says. The exit status is 0 if all is well,
/// and 1 if the store cannot be reached or is read only. With --live it is 0 while the server answers, whatever the state of
/// its store: use that to decide about a restart.
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
    /// Whether it works on the configured store.
    pub(super) const fn is_of_store(&self) -> bool {
        !self.live
    }

    /// Prints the status.
    ///
    /// # Errors
    /// When the store cannot be reached or is read only; with `--live`, when the server does not
    /// answer.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        if self.live {
            return ask_whether_live(here.config.server.listen).await;
        }
        match find(here).await {
            Ok(status) => self.say(&status),
            Err(error) => self.say_unreachable(&here.config, error),
        }
    }

    /// Prints the status of a store that cannot be reached.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn say_unreachable(&self, config: &Config, error: anyhow::Error) -> anyhow::Result<()> {
        // It says less than the error.
        self.say(&Status::unreachable(shown_store(config), format!("{error:#}"))).ok();
        Err(error)
    }

    fn say(&self, status: &Status) -> anyhow::Result<()> {
        if self.json {
            say!("{}", serde_json::to_string(status)?);
        } else {
            print(&status.screen(now()))?;
        }
        if !status.is_good() {
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

async fn find(here: &Here) -> anyhow::Result<Status> {
    if let Some(app) = &here.server {
        return Ok(status::of_server(app, shown_store(&here.config)).await);
    }
    let site = here.site_on(&here.store().await?)?;
    Ok(status::of_site(&site, shown_store(&here.config)).await)
}

fn shown_store(config: &Config) -> String {
    without_password(config.server.store.as_str())
}

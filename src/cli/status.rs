//! `tidings status`: how the site is, on one screen.

use super::{print, reach_existing_store};
use crate::config::Config;
use crate::control;
use crate::control::status::{self, Status};
use anyhow::{Context, bail};
use clap::Args;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::site::Site;
use tidings_domain::values::clock::Timestamp;
use tidings_keyspace::{EngineClock, Store, without_password};

/// Print how the site is: store, requests, memory, background jobs, backups.
///
/// Asks the running server. Without one that listens for commands, prints what the store tells.
/// The exit status is 0 if all is well, and 1 if the store cannot be reached or is read only.
#[derive(Debug, Args)]
pub struct StatusCommand {
    /// Print JSON, for programs. What is not known is null.
    #[arg(long)]
    json: bool,
}

impl StatusCommand {
    /// Prints the status.
    ///
    /// # Errors
    /// When the store cannot be reached or is read only.
    pub async fn run(self, config: &Config) -> anyhow::Result<()> {
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

async fn find(config: &Config) -> anyhow::Result<Status> {
    let store = reach_existing_store(config.server.store.as_str(), config).await?;
    let found = ask(&store, config).await;
    store.close().await;
    found
}

async fn ask(store: &Store, config: &Config) -> anyhow::Result<Status> {
    if let Some(answer) = store.ask_server(control::STATUS).await? {
        return serde_json::from_str(&answer).context("the running server gives no status");
    }
    let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default());
    Ok(status::of_site(&site, shown_store(config)).await)
}

fn shown_store(config: &Config) -> String {
    without_password(config.server.store.as_str())
}

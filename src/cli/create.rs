//! `tidings create`: the store of a new site.

use super::open_store;
use crate::config::Config;
use tidings_domain::migrations;
use tidings_keyspace::without_password;

/// Creates the store that the settings name, if there is none.
///
/// # Errors
/// A message for the operator.
pub async fn run(mut config: Config) -> anyhow::Result<()> {
    config.server.create = true;
    let store = open_store(&config).await?;
    migrations::begin_new(&store).await?;
    store.close().await;
    say!("the store is {}", without_password(config.server.store.as_str()));
    Ok(())
}

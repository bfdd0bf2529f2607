//! `tidings compact`: rewrites the files of the store and of the search index.

use super::search::open_unused;
use super::{Here, now};
use crate::compaction;
use clap::Args;
use std::sync::Arc;
use tidings_domain::changes;
use tidings_keyspace::Store;
use tidings_web::features::search::following;
use tidings_web::features::search::searching::Searching;

/// Rewrite the files of the store and of the search index without deleted data.
///
/// The site may be in use; writes wait meanwhile. A server does this within a day after something was erased. On
/// Redis, only the search index is written; docs/moderating.md has the command for its files.
#[derive(Debug, Args)]
pub struct CompactCommand {}

impl CompactCommand {
    /// Compacts.
    ///
    /// # Errors
    /// When the store cannot be reached, or a disk fails.
    pub async fn run(self, here: &Here) -> anyhow::Result<()> {
        if compact(&here.store().await?, here).await? {
            say!("the files have no deleted data any more");
        } else {
            say!(
                "the search index has no deleted data any more; Redis rewrites its files with BGREWRITEAOF and SAVE"
            );
        }
        Ok(())
    }
}

/// Compacts as the server does, or here. Returns whether the store has a file.
async fn compact(store: &Store, here: &Here) -> anyhow::Result<bool> {
    match &here.server {
        Some(app) => compaction::of_server(app).await,
        None => compaction::compact(store, open_index(store, here).await?).await,
    }
}

/// The search index, if there is one, with everything that the store has. No server follows the store.
async fn open_index(store: &Store, here: &Here) -> anyhow::Result<Option<Arc<Searching>>> {
    let settings = here.config.search_settings();
    if !settings.is_on || !settings.folder.as_ref().is_some_and(|folder| folder.exists()) {
        return Ok(None);
    }
    let searching = open_unused(&settings)?;
    let (progress, last) = (searching.index.progress()?, store.fetch(changes::last()).await?);
    let site = here.site_on(store)?;
    let is_of_store = progress.store == changes::store_number(&site).await?;
    if !progress.is_complete || !is_of_store || progress.place < last.0 {
        following::make(&site, &searching, now()).await?;
    }
    Ok(Some(searching))
}

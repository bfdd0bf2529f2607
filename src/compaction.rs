//! Compaction: the files of the store and of the search index are written anew, so that they have nothing of what
//! was deleted. A server does it within a day of an erasure, and `tidings compact` at once.

use anyhow::bail;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::changes;
use tidings_domain::moderation::erasing;
use tidings_keyspace::Store;
use tidings_web::App;
use tidings_web::features::search::searching::Searching;
use tokio::sync::Mutex;

/// How often a server looks whether something was erased.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);
/// How long the files may hold what was erased, in seconds: less than a day.
const WITHIN: u64 = 20 * 3_600;

/// How long the search index may take to get what was changed, and to merge files.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Held by a compaction of this process: there is one at a time.
static TURN: Mutex<()> = Mutex::const_new(());

/// Compacts a server's files, even if nobody waits for it any more. Returns whether the store has a file.
///
/// # Errors
/// When a disk fails.
pub async fn of_server(app: &App) -> anyhow::Result<bool> {
    let app = app.clone();
    let compacting = async move {
        let _turn = TURN.lock().await;
        compact(&app.site.store, app.search.get()).await
    };
    let outcome = tokio::spawn(compacting).await?;
    if let Err(error) = &outcome {
        tracing::error!(error = format!("{error:#}"), "cannot compact the files");
    }
    outcome
}

/// Writes the file of the store and the search index anew. Returns whether the store has a file.
///
/// # Errors
/// When a disk fails.
pub async fn compact(store: &Store, searching: Option<Arc<Searching>>) -> anyhow::Result<bool> {
    let has_file = store.compact().await?;
    if let Some(searching) = searching {
        follow(store, &searching).await?;
        compact_index(&searching).await?;
    }
    tracing::info!("the files are compacted");
    Ok(has_file)
}

/// Writes the files of the index anew. This fails while other merges of them run, which end.
async fn compact_index(searching: &Arc<Searching>) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        let searching = searching.clone();
        match tokio::task::spawn_blocking(move || searching.index.compact()).await? {
            Err(_) if began.elapsed() < PATIENCE => tokio::time::sleep(LOOK_AGAIN).await,
            outcome => return Ok(outcome?),
        }
    }
}

/// Waits until an index that follows the store has what was changed so far.
async fn follow(store: &Store, searching: &Searching) -> anyhow::Result<()> {
    let last = store.fetch(changes::last()).await?;
    let began = Instant::now();
    while searching.index.progress()?.place < last.0 {
        if began.elapsed() > PATIENCE {
            bail!("the search index does not keep up; try again");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

/// Compacts within a day after an erasure, until the future is dropped.
pub async fn watch(app: App) {
    let mut done = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let erased = match erasing::last(&app.site).await {
            Ok(erased) => erased,
            Err(error) => {
                tracing::debug!(%error, "cannot find out whether something was erased");
                continue;
            }
        };
        let is_due = erased.filter(|time| Some(*time) != done && app.now().seconds_since(*time) >= WITHIN);
        if is_due.is_some()
            && let Ok(has_file) = of_server(&app).await
        {
            done = is_due;
            // Each server of a shared store has an index of its own.
            if has_file && let Err(error) = erasing::forget_last(&app.site, is_due).await {
                tracing::debug!(%error, "the files will be compacted again after a start");
            }
        }
    }
}

//! Passes what this server has answered to the domain, which stores it for the charts of
//! administrators.

use crate::App;
use std::time::Duration;
use tidings_domain::statistics;

/// How often the figures are stored, unless a test sets another time.
pub const KEEP_FIGURES_EVERY: Duration = Duration::from_secs(60);

/// Stores the figures that this server has counted so far. Those that cannot be stored are kept in memory.
pub async fn keep(app: &App) {
    note(app);
    if let Err(error) = statistics::keep(&app.site).await {
        tracing::warn!(%error, "the figures of the administration page were not stored; they will be later");
    }
}

/// Counts what was answered since the last call. It is seen on this server at once.
pub fn note(app: &App) {
    statistics::note(&app.site, app.now(), app.traffic.take_minute());
}

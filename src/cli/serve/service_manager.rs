//! Messages to systemd, if it has started the program: see `sd_notify(3)`. Nothing happens
//! under other service managers, or none.

use sd_notify::NotifyState;
use std::time::Duration;
use tidings_keyspace::Store;

/// How often the watchdog is fed in the time after which systemd restarts the program.
const FEEDS: u32 = 3;
/// How long a stop may take besides the drain time, as `TimeoutStopSec` of `tidings.service` says.
const STOP_PATIENCE: Duration = Duration::from_secs(30);
/// How long a migration may take until it advances.
const MIGRATION_PATIENCE: Duration = Duration::from_secs(300);

/// The site can be used.
pub fn tell_ready() {
    tell(&[NotifyState::Ready, NotifyState::Status("serving")]);
}

/// The start takes longer, because the store is not there. systemd waits for so long before it
/// gives up.
pub fn tell_waiting(reason: &str, patience: Duration) {
    let status = format!("waiting for the store: {reason}");
    tell(&[NotifyState::Status(&status), NotifyState::ExtendTimeoutUsec(microseconds(patience))]);
}

/// The store is being migrated, and that advances. systemd waits for so much longer.
pub fn tell_migrating(status: &str) {
    let patience = microseconds(MIGRATION_PATIENCE);
    tell(&[NotifyState::Status(status), NotifyState::ExtendTimeoutUsec(patience)]);
}

/// The settings are being read again. [`tell_ready`] must follow.
pub fn tell_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "cannot read the clock for the service manager"),
    }
}

/// The program was told to stop. It goes on for the drain time before it closes, so systemd waits
/// for so much longer.
pub fn tell_stopping(drain: Duration) {
    let patience = microseconds(drain.saturating_add(STOP_PATIENCE));
    let status = NotifyState::Status("answering what was sent");
    tell(&[NotifyState::Stopping, status, NotifyState::ExtendTimeoutUsec(patience)]);
}

/// Tells systemd that the program works, as often as it wants to know, as long as the runtime
/// turns and the store answers. A store that says that it is away, or read only, answers too:
/// a restart would not help. Ends at once if systemd does not ask.
pub async fn feed_watchdog(store: &Store) {
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    let pause = patience / FEEDS;
    loop {
        // The embedded store says what it can do; if it hangs, nothing is told. A server that hangs
        // is not mended by a restart.
        if store.is_shared() || tokio::time::timeout(pause, store.health()).await.is_ok() {
            tell(&[NotifyState::Watchdog]);
        } else {
            tracing::error!("the store does not answer; the service manager will restart the program");
        }
        tokio::time::sleep(pause).await;
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "cannot notify the service manager");
    }
}

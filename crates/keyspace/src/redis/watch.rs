//! Looks after a store once a second: whether the server still reports writes and has the data, and
//! whether the Sentinels name another one.
//!
//! Sentinels also announce a new primary to subscribers. They are asked instead, because a
//! message that is sent while a subscription is down is lost, so they would have to be asked all the same.

use super::connection::RequestOptions;
use super::{RedisShared, replicas};
use crate::limits::WATCH_EVERY;
use redis::{Pipeline, Value, cmd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use tidings_supervision::{Policy, supervise};
use tokio::runtime::Handle;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Watches something until it is dropped.
pub(super) fn start<On: Send + Sync + 'static, Watch: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    on: &Arc<On>,
    watch: fn(Weak<On>) -> Watch,
) {
    // Without a runtime there are no requests either. Then each answer confirms what was before it.
    let Ok(runtime) = Handle::try_current() else { return };
    let on = Arc::downgrade(on);
    runtime.spawn(supervise(name, Policy::UntilDone, move || watch(on.clone())));
}

/// When to look.
pub(super) fn ticks() -> Interval {
    let mut ticks = interval_at(Instant::now() + WATCH_EVERY, WATCH_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Watches a store.
pub(super) async fn watch(shared: Weak<RedisShared>) {
    let mut ticks = ticks();
    // The term whose server's settings have been checked.
    let mut checked = 0;
    let Some(guard) = shared.upgrade().map(|shared| shared.guard.clone()) else { return };
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = guard.wait_for_doubt() => {}
        }
        let Some(shared) = shared.upgrade() else { return };
        // A store that has lost its data is watched until it has it again.
        if shared.is_admitted.load(Ordering::Acquire) || guard.keys().is_some() {
            // Sentinels that do not answer must not keep the server from being asked.
            tokio::join!(shared.place.look(), ask(&shared, &mut checked));
        }
    }
}

/// Asks the server for a sign of life, and whether it has the data; the answer confirms that its reports
/// have arrived. Of a server that is new, also asks for the settings that replicas need.
async fn ask(shared: &RedisShared, checked: &mut u64) {
    let term = shared.place.term();
    let is_unchecked = shared.waits_for_failovers && *checked != term;
    let guarded = shared.guard.keys();
    let mut pipeline = Pipeline::with_capacity(4);
    pipeline.add_command(cmd("PING"));
    if let Some(keys) = &guarded {
        keys.ask(&mut pipeline);
    }
    if is_unchecked {
        pipeline.cmd("CONFIG").arg("GET").arg("min-replicas-to-write");
    }
    let options = RequestOptions { timeout: shared.timeout, reads: true };
    // Requests notice a failure too, so nothing is done about it here.
    let Ok(mut values) = shared.connection.send(&pipeline, options).await else { return };
    let settings = if is_unchecked { values.pop() } else { None };
    if let (Some(keys), Some(answers)) = (&guarded, values.get(1..)) {
        keys.decide(answers, shared);
    }
    if let Some(settings @ (Value::ServerError(_) | Value::Map(_) | Value::Array(_))) = settings {
        *checked = term;
        if let Some(warning) = replicas::warning_about_settings(settings) {
            tracing::warn!("{warning}");
        }
    }
}

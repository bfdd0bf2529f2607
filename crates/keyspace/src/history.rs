//! Which server of a store has answered.

use std::sync::Arc;

/// The history of writes that a Redis server has: its replication id. A server that takes over from
/// another begins a new one, as does one that was restarted. So what was read in a history is still in the
/// store while the server has that history.
///
/// [`Store::history`](crate::Store::history) tells it before reads whose answers decide a batch, and
/// [`Store::commit_in`](crate::Store::commit_in) applies the batch in no other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History(pub(crate) Option<Arc<str>>);

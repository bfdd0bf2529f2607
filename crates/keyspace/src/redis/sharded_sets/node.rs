//! One server: the connections to it.

use crate::limits::SET_WRITE_CONNECTIONS;
use crate::redis::connection::{ReconnectingConnection, RedisRequestError, RequestOptions};
use crate::redis::place::Place;
use redis::{Pipeline, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One server. Its connections are made when they are needed.
pub(super) struct Node {
    /// `HOST:PORT`, for messages.
    pub(super) name: String,
    /// `WAIT` lets everything wait that is behind it on its connection. So reads have one of their
    /// own, and while one group of writes waits, others go on.
    writing: Vec<ReconnectingConnection>,
    reading: ReconnectingConnection,
    turn: AtomicUsize,
}

impl Node {
    pub(super) fn new(name: String, place: &Arc<Place>, timeout: Duration) -> Self {
        let connection = || ReconnectingConnection::new(place.clone(), timeout, None);
        Self {
            name,
            writing: (0..SET_WRITE_CONNECTIONS).map(|_| connection()).collect(),
            reading: connection(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Sends commands as one pipeline, on a connection for reads. Returns one value for each.
    pub(super) async fn read(
        &self,
        pipeline: &Pipeline,
        timeout: Duration,
    ) -> Result<Vec<Value>, RedisRequestError> {
        self.reading.send(pipeline, repeatable(timeout)).await
    }

    /// The same on one of the connections for writes.
    pub(super) async fn write(
        &self,
        pipeline: &Pipeline,
        timeout: Duration,
    ) -> Result<Vec<Value>, RedisRequestError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.writing[turn % self.writing.len()].send(pipeline, repeatable(timeout)).await
    }
}

/// All that is sent here may be sent again.
const fn repeatable(timeout: Duration) -> RequestOptions {
    RequestOptions { timeout, reads: true }
}

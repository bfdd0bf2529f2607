//! The failures of a server, in words for the operator.

use super::connection::RedisRequestError;
use super::place::NoConnection;
use super::wire;
use crate::KeyspaceError;
use redis::{ErrorKind, RedisError, Value};
use std::time::Duration;

pub(super) const NO_ANSWER: &str = "the server did not answer in time; check that it runs, that the address is right, and that no firewall blocks it";

/// Why the server cannot be used.
pub(super) struct OpenFailure {
    /// For the operator.
    pub(super) reason: String,
    /// Whether it may be usable later although no setting was changed.
    pub(super) may_heal: bool,
}

impl OpenFailure {
    pub(super) fn of(error: &RedisError) -> Self {
        Self { reason: advice(error), may_heal: may_heal(error) }
    }

    pub(super) fn of_request(failure: RedisRequestError) -> Self {
        match failure {
            RedisRequestError::TimedOut { .. } => Self { reason: NO_ANSWER.to_owned(), may_heal: true },
            RedisRequestError::NotConnected(NoConnection::NoPrimary(reason)) => {
                Self { reason, may_heal: true }
            }
            RedisRequestError::NotConnected(NoConnection::Refused(reason)) => {
                Self { reason, may_heal: false }
            }
            RedisRequestError::NotConnected(NoConnection::Redis(error)) | RedisRequestError::Lost(error) => {
                Self::of(&error)
            }
        }
    }
}

/// The answer of a server to INFO, or why the server cannot be used.
pub(super) fn info_of(sent: Result<Vec<Value>, RedisRequestError>) -> Result<String, OpenFailure> {
    match sent.map_err(OpenFailure::of_request)?.pop() {
        Some(Value::ServerError(error)) => Err(OpenFailure::of(&error.into())),
        info => Ok(info.and_then(wire::text).unwrap_or_default()),
    }
}

pub(super) fn reason_of(failure: &RedisRequestError, timeout: Duration) -> String {
    match failure {
        RedisRequestError::TimedOut { .. } => format!("Redis did not answer within {timeout:?}"),
        RedisRequestError::NotConnected(error) => format!("no connection to Redis: {error}"),
        RedisRequestError::Lost(error) => format!("the connection to Redis has failed: {error}"),
    }
}

/// The error for a batch that has no answer.
pub(super) fn write_failure(failure: &RedisRequestError, timeout: Duration) -> KeyspaceError {
    let reason = reason_of(failure, timeout);
    if failure.is_sent() { KeyspaceError::Unsure(reason) } else { KeyspaceError::Unavailable(reason) }
}

/// Why the connection failed, and what the operator can do.
pub(super) fn advice(error: &RedisError) -> String {
    let refused_login = error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "WRONGPASS"));
    if refused_login {
        return format!(
            "the server refuses the user name or the password ({error}); \
             put the right ones into the URL, before the hosts: USER:PASSWORD@"
        );
    }
    if error.code() == Some("NOPERM") {
        return format!("the user may not do what is needed ({error}); allow it all commands and all keys");
    }
    match error.kind() {
        ErrorKind::InvalidClientConfig => format!("the URL is invalid: {error}"),
        ErrorKind::Io if error.is_timeout() => NO_ANSWER.to_owned(),
        ErrorKind::Io => format!("{error}; check that the server runs and that the address is right"),
        _ => error.to_string(),
    }
}

/// Whether the server may be usable later although no setting was changed.
pub(super) fn may_heal(error: &RedisError) -> bool {
    match error.code() {
        Some("LOADING" | "BUSY" | "MASTERDOWN" | "TRYAGAIN") => return true,
        Some(_) => return error.detail().is_some_and(|detail| detail.contains("max number of clients")),
        None => {}
    }
    // A certificate that is not trusted remains so.
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    error.kind() == ErrorKind::Io
        && source.is_none_or(|source| source.kind() != std::io::ErrorKind::InvalidData)
}

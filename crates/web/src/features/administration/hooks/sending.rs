//! Sends webhooks their messages. No request waits for it.
//!
//! Each address is checked after the look-up of its name, redirects are not followed, and only the status of an answer is
//! read. Logs have the number of a hook, never its address.

use super::messages;
use crate::App;
use crate::limits::HOOK_TIMEOUT;
use crate::server::outgoing::{self, OutgoingError, Ports};
use axum::http::header::{self, HeaderName};
use futures_util::future::join_all;
use std::time::{Duration, Instant};
use tidings_domain::Error;
use tidings_domain::hooks::{self, Due, HookMessage};
use tidings_domain::queue::Fate;
use tidings_domain::values::{Hook, HookId, HookResult};
use tokio::time::timeout;

/// The id of a message: the same if it is sent again.
const DELIVERY: HeaderName = HeaderName::from_static("x-tidings-delivery");
/// The kind of a message.
const KIND: HeaderName = HeaderName::from_static("x-tidings-kind");
/// The signature of a message.
const SIGNATURE: HeaderName = HeaderName::from_static("x-tidings-signature");

/// Makes messages of what has happened, and sends those that are due. Rounds: 1 without hooks, 2 with some, and those of
/// the messages.
pub async fn look(app: &App) -> Result<(), Error> {
    let store = app.site.store.counted_apart();
    let look = hooks::look(&store).await?;
    if look.hooks.is_empty() {
        return Ok(());
    }
    if look.has_events() {
        hooks::note(&app.site, app.now(), &look).await?;
    }
    let due = hooks::due(&store, app.now(), &look).await?;
    let turns = due.iter().filter_map(|due| Some(take_turn(app, look.hooks.get(&due.hook)?, due)));
    join_all(turns).await.into_iter().collect()
}

/// Sends a hook its messages, one after the other, until one fails.
async fn take_turn(app: &App, hook: &Hook, due: &Due) -> Result<(), Error> {
    let Some(turn) = due.begin(&app.site, app.now()).await? else { return Ok(()) };
    let mut last = Ok(None);
    for message in &due.messages {
        if !turn.goes_on(&last) {
            break;
        }
        last = tell(app, (due.hook, hook), message).await;
    }
    turn.end(&app.site, app.moment(), last).await
}

/// Sends a hook a message. Returns how long the hook is to rest, if it has failed.
async fn tell(
    app: &App,
    (id, hook): (HookId, &Hook),
    message: &HookMessage,
) -> Result<Option<Duration>, Error> {
    let began = Instant::now();
    let sent = match messages::body(app, message, hook.format).await {
        Ok(Some(body)) => timeout(HOOK_TIMEOUT, post(app, hook, message, body))
            .await
            .unwrap_or(Err(OutgoingError::TimedOut))
            .map_err(|error| error.to_string()),
        Ok(None) => {
            hooks::finish(&app.site, app.now(), id, (message, Fate::Over), None).await?;
            return Ok(None);
        }
        Err(error) => {
            tracing::debug!(%error, "cannot read what a webhook is to be told");
            Err("what there is to say cannot be read".to_owned())
        }
    };
    let (status, outcome) = match sent {
        Ok(status) if status.is_redirection() => (Some(status), "redirects are not followed".to_owned()),
        Ok(status) => (Some(status), status.canonical_reason().unwrap_or("answered").to_owned()),
        Err(error) => (None, error),
    };
    let result = HookResult {
        time: app.now().0,
        id: message.to_string(),
        status: status.map(|status| status.as_u16()),
        outcome,
        milliseconds: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let fate = if result.is_success() { Fate::Over } else { Fate::after_failure(app.now(), message.since) };
    hooks::finish(&app.site, app.now(), id, (message, fate), Some(&result)).await?;
    let HookResult { status, outcome, .. } = &result;
    match fate {
        Fate::Over => {}
        Fate::After(seconds) => {
            tracing::warn!(hook = %id, status, outcome, seconds, "a webhook has not taken a message; it will be tried again");
        }
        Fate::GivenUp => {
            tracing::error!(hook = %id, status, outcome, "a webhook has not taken a message for a day; it is dropped");
        }
    }
    Ok((fate != Fate::Over).then_some(hooks::REST))
}

/// Sends the body of a message, signed.
async fn post(
    app: &App,
    hook: &Hook,
    message: &HookMessage,
    body: Vec<u8>,
) -> Result<axum::http::StatusCode, OutgoingError> {
    let (network, url) = (&app.settings.titles.network, hook.address.url());
    let endpoints = network.look_up(url, Ports::Any, ()).await?;
    let mut headers = vec![
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (KIND, message.event.name().to_owned()),
        (DELIVERY, message.to_string()),
    ];
    headers.extend(hook.secret.sign(&body).map(|signature| (SIGNATURE, format!("sha256={signature}"))));
    let to = (&*endpoints, url, network.certificate.as_deref());
    outgoing::post(to, &app.settings.site.url, headers, body).await
}

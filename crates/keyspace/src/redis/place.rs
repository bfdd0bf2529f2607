//! Where the server of a store is: at the address of its URL, or where the Sentinels say.
//!
//! The Sentinels are asked with two plain commands, on connections of this module. They are
//! asked for every new connection to the store and, because a primary that was replaced may still
//! answer, once a second (see `watch.rs`).
//!
//! Servers that were replaced have *terms*, counted from 1. A connection belongs to the term in
//! which it was made and is not used in a later one. So two connections of a store never work on
//! different servers.

use super::failures::may_heal;
use super::sentinel_url::{SentinelUrl, is_of_sentinels};
use super::{client, wire};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{Client, ErrorKind, Pipeline, RedisError, Value};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a Sentinel may take to answer, at most.
const SENTINEL_PATIENCE: Duration = Duration::from_millis(500);

/// Why there is no connection to the server.
#[derive(Debug)]
pub(super) enum NoConnection {
    /// It cannot be reached, or refuses.
    Redis(RedisError),
    /// The Sentinels, or the server that they name, do not say that there is a primary. It may come.
    NoPrimary(String),
    /// A Sentinel refuses to be asked.
    Refused(String),
}

impl From<RedisError> for NoConnection {
    fn from(error: RedisError) -> Self {
        Self::Redis(error)
    }
}

impl std::fmt::Display for NoConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Redis(error) => std::fmt::Display::fmt(error, formatter),
            Self::NoPrimary(reason) | Self::Refused(reason) => formatter.write_str(reason),
        }
    }
}

/// Where the server of a store is.
pub(super) struct Place {
    kind: PlaceKind,
    /// The number of the database.
    database: i64,
    term: watch::Sender<u64>,
}

enum PlaceKind {
    Server(Box<Client>),
    Sentinels(Box<Sentinels>),
}

/// The server to use, and the term for which that holds.
pub(super) struct Located {
    pub(super) client: Client,
    pub(super) term: u64,
}

impl Place {
    /// The place that a URL names.
    pub(super) fn parse(url: &str, patience: Duration) -> Result<Self, RedisError> {
        let (kind, database) = if is_of_sentinels(url) {
            let sentinels = Sentinels::parse(url, patience)?;
            let database = i64::from(sentinels.url.database);
            (PlaceKind::Sentinels(Box::new(sentinels)), database)
        } else {
            let client = client(url, patience)?;
            let database = client.get_connection_info().redis_settings().db();
            (PlaceKind::Server(Box::new(client)), database)
        };
        Ok(Self { kind, database, term: watch::Sender::new(1) })
    }

    /// The number of the database.
    pub(super) const fn database(&self) -> i64 {
        self.database
    }

    /// Whether Sentinels say where the server is, so that it may change.
    pub(super) const fn has_sentinels(&self) -> bool {
        matches!(self.kind, PlaceKind::Sentinels(_))
    }

    /// The term now.
    pub(super) fn term(&self) -> u64 {
        *self.term.borrow()
    }

    /// Waits until the server of a term has been replaced.
    pub(super) async fn wait_for_another_term(&self, term: u64) {
        // This fails when the place is dropped.
        self.term.subscribe().wait_for(|now| *now != term).await.ok();
    }

    /// Finds the server.
    pub(super) async fn locate(&self) -> Result<Located, NoConnection> {
        match &self.kind {
            PlaceKind::Server(client) => Ok(Located { client: Client::clone(client), term: self.term() }),
            PlaceKind::Sentinels(sentinels) => {
                let before = sentinels.known.lock().as_ref().map(|(named, _)| named.clone());
                let named = sentinels.ask_all(before.as_ref()).await?;
                self.note(sentinels, before.as_ref(), named)
            }
        }
    }

    /// Notes whether there is another primary, if Sentinels say where it is.
    pub(super) async fn look(&self) {
        if self.has_sentinels()
            && let Err(error) = self.locate().await
        {
            tracing::debug!(%error, "the Sentinels name no primary");
        }
    }

    /// Begins a new term if the Sentinels name another server than before. `before` is the one that was
    /// known when they were asked.
    fn note(
        &self,
        sentinels: &Sentinels,
        before: Option<&Named>,
        named: Named,
    ) -> Result<Located, NoConnection> {
        let mut known = sentinels.known.lock();
        let client = match &*known {
            // Another question was answered meanwhile, by those who knew of a later failover.
            Some((later, client)) if Some(later) != before && later.epoch > named.epoch => {
                return Ok(Located { client: client.clone(), term: self.term() });
            }
            Some((primary, client)) if primary.address == named.address => client.clone(),
            before => {
                let (host, port) = &named.address;
                let client = client(&sentinels.url.server_url(host, *port), sentinels.store_patience)?;
                if let Some((before, _)) = before {
                    let (old_host, old_port) = &before.address;
                    tracing::warn!(
                        old = format!("{old_host}:{old_port}"),
                        new = format!("{host}:{port}"),
                        "the store has another primary"
                    );
                    self.term.send_modify(|term| *term += 1);
                }
                client
            }
        };
        *known = Some((named, client.clone()));
        Ok(Located { client, term: self.term() })
    }
}

/// The Sentinels of a store.
struct Sentinels {
    url: SentinelUrl,
    sentinels: Vec<Sentinel>,
    /// How long a Sentinel may take to answer.
    patience: Duration,
    store_patience: Duration,
    /// The server that was named last.
    known: Mutex<Option<(Named, Client)>>,
}

/// One Sentinel, and the connection to it, once there is one.
struct Sentinel {
    client: Client,
    connection: Mutex<Option<MultiplexedConnection>>,
}

/// The server that a Sentinel names as primary.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Named {
    address: (String, u16),
    /// Grows with each failover.
    epoch: u64,
}

impl Sentinels {
    fn parse(url: &str, store_patience: Duration) -> Result<Self, RedisError> {
        let url = SentinelUrl::parse(url)
            .map_err(|reason| RedisError::from((ErrorKind::InvalidClientConfig, "store URL", reason)))?;
        // Asking must leave time for the request to the store.
        let patience = SENTINEL_PATIENCE.min(store_patience / 4);
        let sentinel =
            |url: String| Ok(Sentinel { client: client(&url, patience)?, connection: Mutex::default() });
        let sentinels = url.sentinel_urls().into_iter().map(sentinel).collect::<Result<_, RedisError>>()?;
        // The login is as wrong now as later.
        client(&url.server_url("localhost", 1), store_patience)?;
        Ok(Self { url, sentinels, patience, store_patience, known: Mutex::default() })
    }

    /// Asks all Sentinels at once. Of those who answer, the one who knows the latest failover is
    /// right: one that was cut off from the others may still name the primary of before.
    async fn ask_all(&self, known: Option<&Named>) -> Result<Named, NoConnection> {
        let no_answer = || NoConnection::NoPrimary("no Sentinel has answered".to_owned());
        let mut asked: FuturesUnordered<_> =
            self.sentinels.iter().map(|sentinel| sentinel.ask(&self.url.name, self.patience)).collect();
        let majority = self.sentinels.len() / 2 + 1;
        let is_news = |named: &Named| known.is_none_or(|known| known.epoch <= named.epoch);
        let mut latest: Option<Named> = None;
        let (mut answered, mut failure) = (0, None);
        while let Some(answer) = asked.next().await {
            match answer {
                Ok(named) => {
                    answered += 1;
                    if latest.as_ref().is_none_or(|latest| latest.epoch < named.epoch) {
                        latest = Some(named);
                    }
                }
                Err(error) => failure = Some(error),
            }
            if answered >= majority && latest.as_ref().is_some_and(is_news) {
                return latest.ok_or_else(no_answer);
            }
        }
        // Some have not heard of the failover yet that others have told of. Only if all say so, they
        // have started to count again.
        if answered > 0 && answered < self.sentinels.len() && !latest.as_ref().is_some_and(is_news) {
            latest = known.cloned();
        }
        latest.ok_or_else(|| failure.unwrap_or_else(no_answer))
    }
}

impl Sentinel {
    /// Asks for the primary of this name.
    async fn ask(&self, name: &str, patience: Duration) -> Result<Named, NoConnection> {
        let place = self.client.get_connection_info().addr();
        let outcome = match timeout(patience, self.exchange(name)).await {
            Ok(Ok(values)) => read_answer(values).ok_or_else(|| {
                NoConnection::NoPrimary(format!("the Sentinel {place} knows no primary {name}"))
            }),
            Ok(Err(error)) if error.code().is_some() => Err(NoConnection::Refused(format!(
                "the Sentinel {place} refuses ({error}); put its password into the URL: \
                 ?sentinel_password=PASSWORD"
            ))),
            Ok(Err(error)) => {
                let reason = format!("the Sentinel {place} cannot be reached: {error}");
                // A certificate that is not trusted remains so.
                let may_heal = may_heal(&error);
                Err(if may_heal { NoConnection::NoPrimary(reason) } else { NoConnection::Refused(reason) })
            }
            Err(_) => Err(NoConnection::NoPrimary(format!("the Sentinel {place} did not answer in time"))),
        };
        if outcome.is_err() {
            *self.connection.lock() = None;
        }
        outcome
    }

    async fn exchange(&self, name: &str) -> Result<Vec<Value>, RedisError> {
        let connected = self.connection.lock().clone();
        let mut connection = match connected {
            Some(connection) => connection,
            None => {
                let connection = self.client.get_multiplexed_async_connection().await?;
                self.connection.lock().insert(connection).clone()
            }
        };
        let mut pipeline = Pipeline::new();
        // The first says who is promoted, at once. The second has the number of the failover.
        pipeline.cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(name);
        pipeline.cmd("SENTINEL").arg("MASTER").arg(name);
        connection.send_packed_commands(&pipeline, 0, 2).await
    }
}

/// The primary that the answers of a Sentinel name, if they name one.
fn read_answer(values: Vec<Value>) -> Option<Named> {
    let text = |value: Value| String::from_utf8(wire::bytes(value)?).ok();
    let mut values = values.into_iter();
    let mut address = wire::items(values.next()?)?.into_iter();
    let (host, port) = (text(address.next()?)?, text(address.next()?)?);
    let mut facts = wire::flat(values.next()?)?.into_iter();
    let mut epoch = 0;
    while let (Some(name), Some(value)) = (facts.next().and_then(text), facts.next()) {
        if name == "config-epoch" {
            epoch = text(value)?.parse().ok()?;
        }
    }
    Some(Named { address: (host, port.parse().ok()?), epoch })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_answer_of_a_slow_sentinel_does_not_set_the_old_primary_back() {
        let place = Place::parse("redis+sentinel://localhost/name", Duration::from_secs(1)).unwrap();
        let PlaceKind::Sentinels(sentinels) = &place.kind else { panic!("it has Sentinels") };
        let named = |port, epoch| Named { address: ("127.0.0.1".to_owned(), port), epoch };
        let known = || sentinels.known.lock().as_ref().map(|(named, _)| named.clone()).unwrap();
        let old = place.note(sentinels, None, named(1, 4)).unwrap();
        // Two questions at the same time; the answer to the first comes last.
        let (before, new) = (known(), named(2, 5));
        let located = place.note(sentinels, Some(&before), new.clone()).unwrap();
        assert_ne!(located.term, old.term);
        let late = place.note(sentinels, Some(&before), named(1, 4)).unwrap();
        assert_eq!((late.term, known()), (located.term, new.clone()));
        // Sentinels that were all set up anew count from the beginning.
        let anew = place.note(sentinels, Some(&new), named(3, 1)).unwrap();
        assert_ne!(anew.term, located.term);
        assert_eq!(known(), named(3, 1));
    }
}

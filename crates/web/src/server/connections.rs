//! The places for connections: how many there are, for everyone and for each address, and
//! which connection is closed to make room for another.
//!
//! A connection is idle while no request of it is being answered: before its first request,
//! between two requests, and while the head of a request arrives. When places run out, the
//! connection that has been idle for longest is closed. If none is idle, the new one is.

use crate::limits::{LOGGED_SOURCES, REFUSAL_LOG_INTERVAL};
use futures_util::task::AtomicWaker;
use metrics::Gauge;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Context;
use std::time::Instant;
use tidings_domain::values::{ClientNetworks, CountedNetwork};
use tokio::sync::Notify;

/// Idle connections that one search remembers, so that not every new connection has to
/// look at all others.
const REMEMBERED_IDLE: usize = 256;

/// How many connections there may be.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// All together.
    pub total: usize,
    /// Of one address; IPv6: of its /64, and four times as many of its /48. 0 = no limit.
    pub per_address: usize,
}

/// One connection, as others see it.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    networks: ClientNetworks,
    /// Answers that are being made or sent.
    answers: AtomicUsize,
    /// The number of the moment since when it has been idle. Meaningless while there are
    /// answers.
    idle_since: AtomicU64,
    /// Different before and after each answer.
    phase: AtomicU64,
    /// Bytes that the client's side of the network has taken.
    sent: AtomicU64,
    /// Whether bytes of the client may remain unread when the connection is closed.
    has_unread: AtomicBool,
    /// Bytes of the body of the request being answered that have not been read;
    /// [`UNKNOWN_LENGTH`] if the client does not say how long it is.
    body_left: AtomicU64,
    /// Whether a further request has arrived, at least its beginning.
    has_waiting: AtomicBool,
    /// Whether the connection ends once everything has been answered that was sent.
    is_draining: AtomicBool,
    /// Wakes the task that reads.
    reader: AtomicWaker,
    closed: Notify,
}

/// The length of a body that is sent in chunks.
pub const UNKNOWN_LENGTH: u64 = u64::MAX;

impl Connection {
    /// A connection that is in no list, for tests.
    #[cfg(test)]
    pub fn of_test() -> Arc<Self> {
        Arc::new(Self::new(0, ClientNetworks::of([127, 0, 0, 1].into())))
    }

    fn new(id: u64, networks: ClientNetworks) -> Self {
        Self {
            id,
            networks,
            answers: AtomicUsize::new(0),
            idle_since: AtomicU64::new(next_moment()),
            phase: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            has_unread: AtomicBool::new(false),
            body_left: AtomicU64::new(0),
            has_waiting: AtomicBool::new(false),
            is_draining: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            closed: Notify::new(),
        }
    }

    /// Notes that an answer is being made to a request whose body has this length. The
    /// connection is not idle until the guard is dropped, which must happen when the answer
    /// has been sent.
    pub fn begin_answer(self: &Arc<Self>, body_length: u64) -> AnswerGuard {
        self.body_left.store(body_length, Ordering::Release);
        self.answers.fetch_add(1, Ordering::AcqRel);
        self.phase.fetch_add(1, Ordering::AcqRel);
        AnswerGuard(self.clone())
    }

    /// A number that changes when an answer begins or ends.
    pub fn phase(&self) -> u64 {
        self.phase.load(Ordering::Acquire)
    }

    /// Whether no request is being answered.
    pub fn is_idle(&self) -> bool {
        self.answers.load(Ordering::Acquire) == 0
    }

    /// Notes that the network has taken some bytes.
    pub fn note_sent(&self, bytes: usize) {
        self.sent.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Bytes that the network has taken so far.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Notes that the client may be sending what nobody will read.
    pub fn note_unread(&self) {
        self.has_unread.store(true, Ordering::Release);
    }

    /// Whether the client may be sending what nobody will read.
    pub fn has_unread(&self) -> bool {
        self.has_unread.load(Ordering::Acquire)
    }

    /// How many bytes of the request being answered may still be read.
    pub fn body_left(&self) -> u64 {
        self.body_left.load(Ordering::Acquire)
    }

    /// Notes that some bytes of the body were read.
    pub fn note_body_read(&self, bytes: usize) {
        let left = self.body_left();
        if left != UNKNOWN_LENGTH {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            self.body_left.store(left.saturating_sub(bytes), Ordering::Release);
        }
    }

    /// Notes whether a further request has arrived that has to wait for its turn.
    pub fn note_waiting(&self, has_waiting: bool) {
        self.has_waiting.store(has_waiting, Ordering::Release);
    }

    /// Whether a further request has arrived, at least its beginning.
    pub fn has_waiting(&self) -> bool {
        self.has_waiting.load(Ordering::Acquire)
    }

    /// Whether the connection ends once everything has been answered that was sent.
    pub fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Wakes this task when reading may go on: when an answer ends, or the server stops. To be
    /// called before looking at either.
    pub fn wake_reader(&self, context: &Context<'_>) {
        self.reader.register(context.waker());
    }

    fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Closes the connection, whatever it is doing.
    pub fn close(&self) {
        self.closed.notify_one();
    }

    /// Waits until the connection has to be closed.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }

    fn idle_moment(&self) -> Option<u64> {
        self.is_idle().then(|| self.idle_since.load(Ordering::Acquire))
    }
}

/// An answer of a connection that is being made or sent.
#[derive(Debug)]
pub struct AnswerGuard(Arc<Connection>);

impl AnswerGuard {
    /// The connection that sends the answer.
    pub const fn connection(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.idle_since.store(next_moment(), Ordering::Release);
        self.0.phase.fetch_add(1, Ordering::AcqRel);
        self.0.answers.fetch_sub(1, Ordering::AcqRel);
        if self.0.has_waiting() || self.0.is_draining() {
            self.0.reader.wake();
        }
    }
}

/// Moments are numbered, because only their order matters.
fn next_moment() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The connections of a server.
pub struct Connections {
    limits: ConnectionLimits,
    open: Mutex<Open>,
    /// Told when the last connection has ended.
    emptied: Notify,
    gauge: Gauge,
}

#[derive(Default)]
struct Open {
    /// Whether the server is stopping.
    is_draining: bool,
    all: HashMap<u64, Arc<Connection>>,
    by_network: HashMap<CountedNetwork, Vec<Arc<Connection>>>,
    /// Connections that were idle at the last search, with the moment since when. The
    /// longest idle is last.
    idle: Vec<(u64, Arc<Connection>)>,
    next_id: u64,
    /// When a refusal was last logged; without an address, for want of any place.
    logged: HashMap<Option<CountedNetwork>, Instant>,
}

impl Connections {
    /// No connections yet.
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        let gauge = metrics::gauge!("tidings_http_connections");
        gauge.set(0.0);
        Arc::new(Self { limits, open: Mutex::default(), emptied: Notify::new(), gauge })
    }

    /// Finds a place for a new connection. An exempt address has no limit of its own. Closes an
    /// idle one if there is none. Returns `None` if none is idle: the new connection must be closed.
    pub fn admit(self: &Arc<Self>, peer: SocketAddr, is_exempt: bool, now: Instant) -> Option<Place> {
        let networks = ClientNetworks::of(peer.ip());
        let mut open = self.open.lock();
        let limit = if is_exempt { 0 } else { self.limits.per_address };
        let full = open.make_room_for(networks, limit).err();
        if full.is_some() || !open.make_room(self.limits.total) {
            if open.may_log(full, now) {
                let limit = full.map_or(self.limits.total, |network| limit_of(network, limit));
                let address = full.unwrap_or(networks.narrowest());
                tracing::warn!(%address, limit, "too many connections, none idle; a new one was closed");
            }
            return None;
        }
        let connection = open.add(networks);
        self.gauge.increment(1);
        Some(Place { connections: self.clone(), connection })
    }

    /// Lets all connections end, and later ones too, each once everything has been answered
    /// that its client has sent. Waits until the last has ended.
    pub async fn drain(&self) {
        {
            let mut open = self.open.lock();
            open.is_draining = true;
            open.all.values().for_each(|connection| connection.drain());
        }
        loop {
            let emptied = self.emptied.notified();
            if self.open.lock().all.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// The number of connections.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.open.lock().all.len()
    }
}

/// How many connections a network may have, by the limit of an address.
const fn limit_of(network: CountedNetwork, per_address: usize) -> usize {
    per_address.saturating_mul(network.factor() as usize)
}

impl Open {
    fn add(&mut self, networks: ClientNetworks) -> Arc<Connection> {
        let connection = Arc::new(Connection::new(self.next_id, networks));
        self.next_id += 1;
        if self.is_draining {
            connection.drain();
        }
        self.all.insert(connection.id, connection.clone());
        for network in networks.iter() {
            self.by_network.entry(network).or_default().push(connection.clone());
        }
        connection
    }

    fn remove(&mut self, connection: &Connection) {
        if self.all.remove(&connection.id).is_none() {
            return;
        }
        for network in connection.networks.iter() {
            if let Some(of_network) = self.by_network.get_mut(&network) {
                of_network.retain(|other| other.id != connection.id);
                if of_network.is_empty() {
                    self.by_network.remove(&network);
                }
            }
        }
    }

    /// Makes room for one more connection of some networks, or returns the one that is full.
    fn make_room_for(&mut self, networks: ClientNetworks, per_address: usize) -> Result<(), CountedNetwork> {
        if per_address == 0 {
            return Ok(());
        }
        for network in networks.iter() {
            let limit = limit_of(network, per_address);
            let Some(of_network) = self.by_network.get(&network).filter(|others| others.len() >= limit)
            else {
                continue;
            };
            let idle = of_network
                .iter()
                .filter_map(|connection| Some((connection.idle_moment()?, connection.clone())));
            let longest = idle.min_by_key(|(since, _)| *since);
            let (_, connection) = longest.ok_or(network)?;
            self.evict(&connection);
        }
        Ok(())
    }

    /// Makes room for one more connection of anyone. Returns whether there is room.
    fn make_room(&mut self, limit: usize) -> bool {
        self.all.len() < limit || self.longest_idle().is_some_and(|connection| self.evict(&connection))
    }

    fn evict(&mut self, connection: &Connection) -> bool {
        connection.close();
        self.remove(connection);
        true
    }

    fn longest_idle(&mut self) -> Option<Arc<Connection>> {
        if let Some(connection) = self.remembered_idle() {
            return Some(connection);
        }
        let idle = self.all.values().filter_map(|other| Some((other.idle_moment()?, other.clone())));
        let mut idle: Vec<_> = idle.collect();
        idle.sort_unstable_by_key(|(since, _)| *since);
        idle.truncate(REMEMBERED_IDLE);
        idle.sort_unstable_by_key(|(since, _)| Reverse(*since));
        self.idle = idle;
        self.remembered_idle()
    }

    /// A connection from the last search that has been idle ever since.
    fn remembered_idle(&mut self) -> Option<Arc<Connection>> {
        while let Some((since, connection)) = self.idle.pop() {
            if self.all.contains_key(&connection.id) && connection.idle_moment() == Some(since) {
                return Some(connection);
            }
        }
        None
    }

    /// Whether a refusal may be logged: once a minute for each source.
    fn may_log(&mut self, source: Option<CountedNetwork>, now: Instant) -> bool {
        let is_recent = |logged: &Instant| now.saturating_duration_since(*logged) < REFUSAL_LOG_INTERVAL;
        if self.logged.get(&source).is_some_and(is_recent) {
            return false;
        }
        if self.logged.len() >= LOGGED_SOURCES {
            self.logged.retain(|_, logged| is_recent(logged));
        }
        let may_log = self.logged.len() < LOGGED_SOURCES;
        if may_log {
            self.logged.insert(source, now);
        }
        may_log
    }
}

/// The place of an open connection, free again when this is dropped.
pub struct Place {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Place {
    /// The connection in this place.
    pub fn connection(&self) -> Arc<Connection> {
        self.connection.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.remove(&self.connection);
        if open.all.is_empty() {
            self.connections.emptied.notify_waiters();
        }
        self.connections.gauge.decrement(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::time::Duration;

    fn connections(total: usize, per_address: usize) -> Arc<Connections> {
        Connections::new(ConnectionLimits { total, per_address })
    }

    fn admit(connections: &Arc<Connections>, address: &str) -> Option<Place> {
        connections.admit(SocketAddr::new(address.parse().unwrap(), 5_000), false, Instant::now())
    }

    fn is_closed(place: &Place) -> bool {
        place.connection.closed().now_or_never().is_some()
    }

    #[test]
    fn an_address_has_so_many_connections_and_others_have_theirs() {
        let connections = connections(1_000, 64);
        let places: Vec<_> = (0..64).map(|_| admit(&connections, "192.0.2.1").unwrap()).collect();
        let answers: Vec<_> = places.iter().map(|place| place.connection.begin_answer(0)).collect();
        assert!(admit(&connections, "192.0.2.1").is_none());
        assert!(admit(&connections, "::ffff:192.0.2.1").is_none());
        assert!(admit(&connections, "192.0.2.2").is_some());
        assert!(!places.iter().any(is_closed));
        drop((places, answers));
        assert_eq!(connections.count(), 0);
        assert!(connections.open.lock().by_network.is_empty());
    }

    #[test]
    fn the_longest_idle_connection_of_the_address_makes_room() {
        let connections = connections(1_000, 3);
        let other = admit(&connections, "192.0.2.9").unwrap();
        let places: Vec<_> = (0..3).map(|_| admit(&connections, "192.0.2.1").unwrap()).collect();
        let busy = places[0].connection.begin_answer(0);
        // It was idle before the third, but has answered since.
        drop(places[1].connection.begin_answer(0));
        let fourth = admit(&connections, "192.0.2.1").unwrap();
        assert_eq!(places.iter().map(is_closed).collect::<Vec<_>>(), [false, false, true]);
        assert!(!is_closed(&other) && !is_closed(&fourth));
        assert_eq!(connections.count(), 4);
        drop(busy);
        // The place of a closed connection is free at once, and only once.
        drop(places);
        assert_eq!(connections.count(), 2);
    }

    #[test]
    fn the_longest_idle_connection_of_anyone_makes_room_when_all_places_are_taken() {
        let connections = connections(3, 0);
        let places: Vec<_> = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
            .map(|address| admit(&connections, address).unwrap())
            .into();
        let busy: Vec<_> = places[..1].iter().map(|place| place.connection.begin_answer(0)).collect();
        let fourth = admit(&connections, "192.0.2.4").unwrap();
        assert_eq!(places.iter().map(is_closed).collect::<Vec<_>>(), [false, true, false]);
        // The third was remembered as idle by the search, but is not idle any more.
        let third = places[2].connection.begin_answer(0);
        let fifth = admit(&connections, "192.0.2.5").unwrap();
        assert!(is_closed(&fourth));
        let fifth_answer = fifth.connection.begin_answer(0);
        assert!(admit(&connections, "192.0.2.6").is_none());
        drop((busy, third, fifth_answer));
        assert!(admit(&connections, "192.0.2.6").is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let connections = connections(1_000, 1);
        let place = admit(&connections, "2001:db8::1").unwrap();
        let _answer = place.connection.begin_answer(0);
        assert!(admit(&connections, "2001:db8::ffff:2").is_none());
        assert!(admit(&connections, "2001:db8:0:1::1").is_some());
    }

    #[test]
    fn a_48_has_four_times_the_connections_of_an_address() {
        let connections = connections(1_000, 8);
        let from = |network: usize| admit(&connections, &format!("2001:db8:1:{network:x}::1"));
        let places: Vec<_> = (0..32).map(|network| from(network).unwrap()).collect();
        let answers: Vec<_> = places.iter().map(|place| place.connection.begin_answer(0)).collect();
        assert!(from(99).is_none());
        assert!(admit(&connections, "2001:db8:2::1").is_some(), "another /48");
        drop(answers);
        assert!(from(99).is_some(), "an idle one makes room");
        assert_eq!(places.iter().filter(|place| is_closed(place)).count(), 1);
        drop(places);
        assert!(connections.open.lock().by_network.is_empty());
    }

    #[test]
    fn exempt_addresses_have_no_limit_of_their_own_and_zero_is_none() {
        for (connections, is_exempt) in [(connections(1_000, 1), true), (connections(1_000, 0), false)] {
            let peer = SocketAddr::new("192.0.2.1".parse().unwrap(), 5_000);
            let admit = || connections.admit(peer, is_exempt, Instant::now()).unwrap();
            let places: Vec<_> = (0..100).map(|_| admit()).collect();
            assert!(!places.iter().any(is_closed));
        }
    }

    #[test]
    fn a_refusal_is_logged_once_a_minute_for_each_source() {
        let network = |last: u32| {
            CountedNetwork::Subscriber(std::net::Ipv4Addr::from_bits(0xC0_00_02_00 + last).into())
        };
        let mut open = Open::default();
        let (one, two) = (Some(network(1)), Some(network(2)));
        let begin = Instant::now();
        let almost = begin + REFUSAL_LOG_INTERVAL.checked_sub(Duration::from_millis(1)).unwrap();
        assert!(open.may_log(one, begin) && open.may_log(two, begin) && open.may_log(None, begin));
        assert!(!open.may_log(one, almost) && !open.may_log(None, almost));
        assert!(open.may_log(one, begin + REFUSAL_LOG_INTERVAL));
        for number in 0..2 * u32::try_from(LOGGED_SOURCES).unwrap() {
            open.may_log(Some(network(1_000 + number)), begin + REFUSAL_LOG_INTERVAL);
        }
        assert_eq!(open.logged.len(), LOGGED_SOURCES);
    }
}

//! The places for connections: how many there are, for everyone and for each address, and
//! which connection is closed to make room for another.
//!
//! A connection is idle while no request of it is being answered: before its first request,
//! between two requests, and while the head of a request arrives. When places run out, the
//! connection that has been idle for longest is closed. If none is idle, the new one is.

use crate::limits::{LOGGED_SOURCES, REFUSAL_LOG_INTERVAL};
use ipnet::IpNet;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tidings_domain::values::rates::subscriber;
use tokio::sync::Notify;

/// Idle connections that one search remembers, so that not every new connection has to
/// look at all others.
const REMEMBERED_IDLE: usize = 256;

/// How many connections there may be.
#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// All together.
    pub total: usize,
    /// Of one address (IPv6: of its /64); 0 = no limit.
    pub per_address: usize,
    /// Networks whose addresses have no limit of their own.
    pub exempt: Vec<IpNet>,
}

/// One connection, as others see it.
#[derive(Debug)]
pub struct Connection {
    id: u64,
    source: IpAddr,
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
    closed: Notify,
}

impl Connection {
    /// A connection that is in no list, for tests.
    #[cfg(test)]
    pub fn of_test() -> Arc<Self> {
        Arc::new(Self::new(0, IpAddr::from([127, 0, 0, 1])))
    }

    fn new(id: u64, source: IpAddr) -> Self {
        Self {
            id,
            source,
            answers: AtomicUsize::new(0),
            idle_since: AtomicU64::new(next_moment()),
            phase: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            has_unread: AtomicBool::new(false),
            closed: Notify::new(),
        }
    }

    /// Notes that an answer is being made. The connection is not idle until the guard is
    /// dropped, which must happen when the answer has been sent.
    pub fn begin_answer(self: &Arc<Self>) -> AnswerGuard {
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
    #[must_use]
    pub const fn connection(&self) -> &Arc<Connection> {
        &self.0
    }
}

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.idle_since.store(next_moment(), Ordering::Release);
        self.0.phase.fetch_add(1, Ordering::AcqRel);
        self.0.answers.fetch_sub(1, Ordering::AcqRel);
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
}

#[derive(Default)]
struct Open {
    all: HashMap<u64, Arc<Connection>>,
    by_source: HashMap<IpAddr, Vec<Arc<Connection>>>,
    /// Connections that were idle at the last search, with the moment since when. The
    /// longest idle is last.
    idle: Vec<(u64, Arc<Connection>)>,
    next_id: u64,
    /// When a refusal was last logged; without an address, for want of any place.
    logged: HashMap<Option<IpAddr>, Instant>,
}

impl Connections {
    /// No connections yet.
    #[must_use]
    pub fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self { limits, open: Mutex::default() })
    }

    /// Finds a place for a new connection. Closes an idle one if there is none. Returns
    /// `None` if none is idle: the new connection must be closed.
    pub fn admit(self: &Arc<Self>, peer: SocketAddr, now: Instant) -> Option<Place> {
        let source = subscriber(peer.ip().to_canonical());
        let mut open = self.lock();
        let limit = if self.is_exempt(peer.ip()) { 0 } else { self.limits.per_address };
        let has_room = limit == 0 || open.make_room_for(source, limit);
        if !has_room || !open.make_room(self.limits.total) {
            let full = (!has_room).then_some(source);
            if open.may_log(full, now) {
                let limit = if has_room { self.limits.total } else { limit };
                tracing::warn!(address = %source, limit, "too many connections, none idle; a new one was closed");
            }
            return None;
        }
        let connection = open.add(source);
        Some(Place { connections: self.clone(), connection })
    }

    /// The number of connections.
    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.lock().all.len()
    }

    fn is_exempt(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.limits.exempt.iter().any(|network| network.contains(&address))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn add(&mut self, source: IpAddr) -> Arc<Connection> {
        let connection = Arc::new(Connection::new(self.next_id, source));
        self.next_id += 1;
        self.all.insert(connection.id, connection.clone());
        self.by_source.entry(source).or_default().push(connection.clone());
        connection
    }

    fn remove(&mut self, connection: &Connection) {
        if self.all.remove(&connection.id).is_none() {
            return;
        }
        if let Some(of_source) = self.by_source.get_mut(&connection.source) {
            of_source.retain(|other| other.id != connection.id);
            if of_source.is_empty() {
                self.by_source.remove(&connection.source);
            }
        }
    }

    /// Makes room for one more connection of a source. Returns whether there is room.
    fn make_room_for(&mut self, source: IpAddr, limit: usize) -> bool {
        let Some(of_source) = self.by_source.get(&source).filter(|of_source| of_source.len() >= limit) else {
            return true;
        };
        let idle =
            of_source.iter().filter_map(|connection| Some((connection.idle_moment()?, connection.clone())));
        let longest = idle.min_by_key(|(since, _)| *since);
        longest.is_some_and(|(_, connection)| self.evict(&connection))
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
    fn may_log(&mut self, source: Option<IpAddr>, now: Instant) -> bool {
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
    #[must_use]
    pub fn connection(&self) -> Arc<Connection> {
        self.connection.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.connection);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::time::Duration;

    fn connections(total: usize, per_address: usize, exempt: &[&str]) -> Arc<Connections> {
        let exempt = exempt.iter().map(|network| network.parse().unwrap()).collect();
        Connections::new(ConnectionLimits { total, per_address, exempt })
    }

    fn admit(connections: &Arc<Connections>, address: &str) -> Option<Place> {
        connections.admit(SocketAddr::new(address.parse().unwrap(), 5_000), Instant::now())
    }

    fn is_closed(place: &Place) -> bool {
        place.connection.closed().now_or_never().is_some()
    }

    #[test]
    fn an_address_has_so_many_connections_and_others_have_theirs() {
        let connections = connections(1_000, 64, &[]);
        let places: Vec<_> = (0..64).map(|_| admit(&connections, "192.0.2.1").unwrap()).collect();
        let answers: Vec<_> = places.iter().map(|place| place.connection.begin_answer()).collect();
        assert!(admit(&connections, "192.0.2.1").is_none());
        assert!(admit(&connections, "::ffff:192.0.2.1").is_none());
        assert!(admit(&connections, "192.0.2.2").is_some());
        assert!(!places.iter().any(is_closed));
        drop((places, answers));
        assert_eq!(connections.count(), 0);
        assert!(connections.lock().by_source.is_empty());
    }

    #[test]
    fn the_longest_idle_connection_of_the_address_makes_room() {
        let connections = connections(1_000, 3, &[]);
        let other = admit(&connections, "192.0.2.9").unwrap();
        let places: Vec<_> = (0..3).map(|_| admit(&connections, "192.0.2.1").unwrap()).collect();
        let busy = places[0].connection.begin_answer();
        // It was idle before the third, but has answered since.
        drop(places[1].connection.begin_answer());
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
        let connections = connections(3, 0, &[]);
        let places: Vec<_> = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
            .map(|address| admit(&connections, address).unwrap())
            .into();
        let busy: Vec<_> = places[..1].iter().map(|place| place.connection.begin_answer()).collect();
        let fourth = admit(&connections, "192.0.2.4").unwrap();
        assert_eq!(places.iter().map(is_closed).collect::<Vec<_>>(), [false, true, false]);
        // The third was remembered as idle by the search, but is not idle any more.
        let third = places[2].connection.begin_answer();
        let fifth = admit(&connections, "192.0.2.5").unwrap();
        assert!(is_closed(&fourth));
        let fifth_answer = fifth.connection.begin_answer();
        assert!(admit(&connections, "192.0.2.6").is_none());
        drop((busy, third, fifth_answer));
        assert!(admit(&connections, "192.0.2.6").is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let connections = connections(1_000, 1, &[]);
        let place = admit(&connections, "2001:db8::1").unwrap();
        let _answer = place.connection.begin_answer();
        assert!(admit(&connections, "2001:db8::ffff:2").is_none());
        assert!(admit(&connections, "2001:db8:0:1::1").is_some());
    }

    #[test]
    fn proxies_have_no_limit_of_their_own_and_zero_is_none() {
        let exempt = connections(1_000, 1, &["10.0.0.0/8"]);
        let off = connections(1_000, 0, &[]);
        for (connections, address) in [(exempt, "10.1.2.3"), (off, "192.0.2.1")] {
            let places: Vec<_> = (0..100).map(|_| admit(&connections, address).unwrap()).collect();
            assert!(!places.iter().any(is_closed));
        }
    }

    #[test]
    fn a_refusal_is_logged_once_a_minute_for_each_source() {
        let mut open = Open::default();
        let (one, two) = (Some(IpAddr::from([192, 0, 2, 1])), Some(IpAddr::from([192, 0, 2, 2])));
        let begin = Instant::now();
        let almost = begin + REFUSAL_LOG_INTERVAL.checked_sub(Duration::from_millis(1)).unwrap();
        assert!(open.may_log(one, begin) && open.may_log(two, begin) && open.may_log(None, begin));
        assert!(!open.may_log(one, almost) && !open.may_log(None, almost));
        assert!(open.may_log(one, begin + REFUSAL_LOG_INTERVAL));
        for number in 0..2 * u32::try_from(LOGGED_SOURCES).unwrap() {
            open.may_log(Some(IpAddr::from(number.to_be_bytes())), begin + REFUSAL_LOG_INTERVAL);
        }
        assert_eq!(open.logged.len(), LOGGED_SOURCES);
    }
}

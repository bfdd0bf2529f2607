//! The memory of all answers under way, from when an answer is made until it has been sent, and of
//! the large bodies of requests until they have arrived.
//!
//! A body that several readers share counts once. When there is too much, the requests whose
//! bodies have been arriving for longest are dropped, and then the slowest readers: of the answers
//! that are older than a second, the one with the fewest bytes sent in a second; if none is older,
//! the oldest.

use super::connections::{AnswerGuard, Connection};
use crate::limits::COUNTED_ANSWER_BYTES;
use axum::body::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a reader has before its speed is compared with that of others.
const FAIR_START: Duration = Duration::from_secs(1);

/// The bodies of all answers under way.
pub struct AnswerMemory {
    limit: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// The different bodies, by their address in memory.
    bodies: HashMap<usize, HeldBody>,
    /// The answers by number, the oldest first.
    answers: BTreeMap<u64, Answer>,
    /// The bodies that are arriving, by number, the oldest first.
    arriving: BTreeMap<u64, Arriving>,
    next_number: u64,
}

struct HeldBody {
    bytes: usize,
    answers: usize,
}

struct Answer {
    body: usize,
    began: Instant,
    /// The reader of the answer; `None` while it is being compressed.
    reader: Option<Reader>,
}

struct Arriving {
    bytes: usize,
    connection: Arc<Connection>,
}

struct Reader {
    connection: Arc<Connection>,
    sent_before: u64,
}

impl AnswerMemory {
    /// No answers yet, of `limit` bytes together at most.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: Mutex::default() })
    }

    /// Counts a body until the result and all its copies are dropped. Drops the slowest
    /// readers if the bodies have become too large.
    pub fn count(self: &Arc<Self>, body: Bytes) -> Bytes {
        if body.len() < COUNTED_ANSWER_BYTES {
            return body;
        }
        let number = self.add(&body, None, Instant::now());
        Bytes::from_owner(CountedBody {
            body,
            _entry: Some(Entry { memory: self.clone(), number }),
            _answer: None,
        })
    }

    /// The same for a body that a connection sends. The connection is busy until then.
    pub fn send(self: &Arc<Self>, body: Bytes, answer: AnswerGuard, now: Instant) -> Bytes {
        if body.is_empty() {
            return body;
        }
        let entry = (body.len() >= COUNTED_ANSWER_BYTES).then(|| {
            let number = self.add(&body, Some(answer.connection()), now);
            Entry { memory: self.clone(), number }
        });
        Bytes::from_owner(CountedBody { body, _entry: entry, _answer: Some(answer) })
    }

    /// The bytes of all bodies now.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn add(&self, body: &Bytes, connection: Option<&Arc<Connection>>, now: Instant) -> u64 {
        let mut held = self.lock();
        let reader = connection
            .map(|connection| Reader { connection: connection.clone(), sent_before: connection.sent() });
        let number = held.add(body, Answer { body: body.as_ptr().addr(), began: now, reader });
        held.shrink_to(self.limit, number, now);
        number
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn add(&mut self, body: &Bytes, answer: Answer) -> u64 {
        let held = self.bodies.entry(answer.body).or_insert(HeldBody { bytes: body.len(), answers: 0 });
        if held.answers == 0 {
            self.bytes += held.bytes;
        }
        held.answers += 1;
        let number = self.next();
        self.answers.insert(number, answer);
        number
    }

    const fn next(&mut self) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    /// Counts an answer no longer. Does nothing if it was dropped before.
    fn remove(&mut self, number: u64) -> Option<Answer> {
        let answer = self.answers.remove(&number)?;
        if let Some(body) = self.bodies.get_mut(&answer.body) {
            body.answers -= 1;
            if body.answers == 0 {
                self.bytes -= body.bytes;
                self.bodies.remove(&answer.body);
            }
        }
        Some(answer)
    }

    /// Drops others than `number` until there is no more than `limit`.
    fn shrink_to(&mut self, limit: usize, number: u64, now: Instant) {
        while self.bytes > limit {
            if let Some(oldest) = self.arriving.keys().copied().find(|other| *other != number) {
                self.drop_arriving(oldest);
            } else if let Some(slowest) = self.slowest_except(number, now) {
                self.drop_reader(slowest);
            } else {
                return;
            }
        }
    }

    fn drop_arriving(&mut self, number: u64) {
        if let Some(arriving) = self.remove_arriving(number) {
            tracing::debug!("bodies under way need too much memory; the oldest is dropped");
            arriving.connection.close();
        }
    }

    fn remove_arriving(&mut self, number: u64) -> Option<Arriving> {
        let arriving = self.arriving.remove(&number)?;
        self.bytes -= arriving.bytes;
        Some(arriving)
    }

    fn slowest_except(&self, number: u64, now: Instant) -> Option<u64> {
        let others = self.answers.iter().filter(|(other, _)| **other != number);
        let readers = others.filter_map(|(number, answer)| {
            let age = now.saturating_duration_since(answer.began);
            Some((*number, age, answer.reader.as_ref()?))
        });
        let speed = |age: Duration, reader: &Reader| {
            let milliseconds = age.as_millis().max(1);
            u128::from(reader.connection.sent() - reader.sent_before) * 1_000 / milliseconds
        };
        // Without a speed comes after every speed; of equals, the oldest comes first.
        let rank = |age: Duration, reader: &Reader| {
            if age >= FAIR_START { (0, speed(age, reader)) } else { (1, 0) }
        };
        readers.min_by_key(|(number, age, reader)| (rank(*age, reader), *number)).map(|(number, ..)| number)
    }

    fn drop_reader(&mut self, number: u64) {
        if let Some(Answer { reader: Some(reader), .. }) = self.remove(number) {
            tracing::debug!("answers under way need too much memory; the slowest reader is dropped");
            reader.connection.close();
        }
    }
}

/// The entry of an answer that is under way.
struct Entry {
    memory: Arc<AnswerMemory>,
    number: u64,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.memory.lock().remove(self.number);
    }
}

/// Where the body of a request counts: an extension of the request.
#[derive(Clone)]
pub struct BodyMemory {
    memory: Arc<AnswerMemory>,
    connection: Arc<Connection>,
}

impl BodyMemory {
    /// The memory that the bodies of a connection count in.
    pub const fn new(memory: Arc<AnswerMemory>, connection: Arc<Connection>) -> Self {
        Self { memory, connection }
    }

    /// A body begins to arrive. It counts once it grows, until the result is dropped.
    pub fn begin(&self) -> ArrivingBody {
        ArrivingBody { of: self.clone(), number: None }
    }
}

/// A body that is arriving.
pub struct ArrivingBody {
    of: BodyMemory,
    number: Option<u64>,
}

impl ArrivingBody {
    /// The body needs so many bytes from now on. If there is too much, the oldest others are
    /// dropped.
    pub fn grow(&mut self, bytes: usize) {
        let BodyMemory { memory, connection } = &self.of;
        let mut held = memory.lock();
        let number = match self.number {
            // It was dropped itself.
            Some(number) if !held.arriving.contains_key(&number) => return,
            Some(number) => number,
            None => held.next(),
        };
        self.number = Some(number);
        held.remove_arriving(number);
        held.bytes += bytes;
        held.arriving.insert(number, Arriving { bytes, connection: connection.clone() });
        held.shrink_to(memory.limit, number, Instant::now());
    }
}

impl Drop for ArrivingBody {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.of.memory.lock().remove_arriving(number);
        }
    }
}

/// The bytes of a body, and what ends with them.
struct CountedBody {
    body: Bytes,
    _entry: Option<Entry>,
    _answer: Option<AnswerGuard>,
}

impl AsRef<[u8]> for CountedBody {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const BODY: usize = 10_000;

    fn body() -> Bytes {
        Bytes::from(vec![b'x'; BODY])
    }

    /// An answer to a reader, begun at a moment.
    fn answer(memory: &Arc<AnswerMemory>, body: Bytes, now: Instant) -> (Arc<Connection>, Bytes) {
        let connection = Connection::of_test();
        let sent = memory.send(body, connection.begin_answer(0), now);
        (connection, sent)
    }

    fn is_closed(reader: &(Arc<Connection>, Bytes)) -> bool {
        reader.0.closed().now_or_never().is_some()
    }

    #[test]
    fn an_answer_counts_until_its_last_copy_is_dropped() {
        let memory = AnswerMemory::new(BODY);
        let (connection, first) = answer(&memory, body(), Instant::now());
        let copy = first.slice(5..);
        drop(first);
        assert_eq!((memory.bytes(), connection.is_idle()), (BODY, false));
        drop(copy);
        assert_eq!((memory.bytes(), connection.is_idle()), (0, true));
        let small = memory.count(Bytes::from(vec![b'x'; COUNTED_ANSWER_BYTES - 1]));
        assert_eq!(memory.bytes(), 0);
        let large = memory.count(Bytes::from(vec![b'x'; COUNTED_ANSWER_BYTES]));
        assert_eq!(memory.bytes(), COUNTED_ANSWER_BYTES);
        drop((small, large));
        assert!(memory.lock().answers.is_empty() && memory.lock().bodies.is_empty());
    }

    #[test]
    fn a_shared_body_counts_once() {
        let memory = AnswerMemory::new(BODY);
        let shared = body();
        let readers: Vec<_> = (0..5).map(|_| answer(&memory, shared.clone(), Instant::now())).collect();
        assert_eq!(memory.bytes(), BODY);
        assert!(!readers.iter().any(is_closed));
        drop(readers);
        assert_eq!(memory.bytes(), 0);
    }

    #[test]
    fn the_slowest_reader_is_dropped_when_there_is_too_much() {
        let begin = Instant::now();
        let memory = AnswerMemory::new(3 * BODY);
        let readers = [0; 3].map(|_| answer(&memory, body(), begin));
        for (reader, sent) in readers.iter().zip([3_000, 1_000, 2_000]) {
            reader.0.note_sent(sent);
        }
        // Nobody is dropped at the limit, and one reader for one answer beyond it.
        assert!(!readers.iter().any(is_closed));
        let later = begin + FAIR_START;
        let fourth = answer(&memory, body(), later);
        assert_eq!(readers.each_ref().map(is_closed), [false, true, false]);
        assert_eq!(memory.bytes(), 3 * BODY);
        // The new one has had no time yet.
        let fifth = answer(&memory, body(), later);
        assert_eq!(readers.each_ref().map(is_closed), [false, false, true]);
        // A reader that was dropped is not counted a second time when its bytes go.
        drop(readers);
        assert_eq!(memory.bytes(), 2 * BODY);
        assert!(!is_closed(&fourth) && !is_closed(&fifth));
    }

    #[test]
    fn among_new_readers_the_oldest_is_dropped_and_never_the_newest() {
        let now = Instant::now();
        let memory = AnswerMemory::new(BODY);
        let first = answer(&memory, body(), now);
        let second = answer(&memory, body(), now);
        assert!(is_closed(&first) && !is_closed(&second));
        let alone = AnswerMemory::new(BODY - 1);
        assert!(!is_closed(&answer(&alone, body(), now)));
    }

    #[test]
    fn the_oldest_body_under_way_is_dropped_when_there_is_too_much() {
        let memory = AnswerMemory::new(3 * BODY);
        let slow_reader = answer(&memory, body(), Instant::now());
        let arrive = || {
            let connection = Connection::of_test();
            let mut arriving = BodyMemory::new(memory.clone(), connection.clone()).begin();
            arriving.grow(BODY / 2);
            (connection, arriving)
        };
        let mut bodies: Vec<_> = (0..4).map(|_| arrive()).collect();
        let closed = |bodies: &[(Arc<Connection>, ArrivingBody)]| -> Vec<usize> {
            (0..bodies.len()).filter(|place| bodies[*place].0.closed().now_or_never().is_some()).collect()
        };
        assert_eq!((memory.bytes(), closed(&bodies)), (3 * BODY, vec![]));
        // The one that grows is not dropped, though it is the oldest.
        bodies[0].1.grow(BODY);
        assert_eq!(closed(&bodies), [1]);
        bodies[1].1.grow(BODY);
        assert_eq!(memory.bytes(), 3 * BODY);
        // An answer takes the place of a body, and not that of another answer.
        let another = answer(&memory, body(), Instant::now());
        assert_eq!(closed(&bodies), [0]);
        assert!(!is_closed(&slow_reader) && !is_closed(&another));
        drop((slow_reader, another, bodies));
        assert_eq!(memory.bytes(), 0);
        assert!(memory.lock().arriving.is_empty());
    }

    #[test]
    fn an_answer_that_is_being_compressed_counts_and_is_not_dropped() {
        let memory = AnswerMemory::new(BODY);
        let plain = memory.count(body());
        let reader = answer(&memory, body(), Instant::now());
        assert_eq!(memory.bytes(), 2 * BODY);
        assert!(!is_closed(&reader));
        drop(plain);
        assert_eq!(memory.bytes(), BODY);
    }
}

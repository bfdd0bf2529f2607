//! The places of a small server, such as that of `/metrics`: how many clients it has at once, and
//! which of them is dropped.
//!
//! A client is idle while it sends nothing and nothing is being answered. A client that is idle for
//! too long is dropped. If all places are taken, a new client takes the place of the one that has
//! been idle for longest. So nobody who only holds a connection keeps others out.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How often a client that waits for a place looks for one.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// How many clients a server has, and how long it bears with them.
#[derive(Debug, Clone, Copy)]
pub struct PlaceLimits {
    /// Clients at once.
    pub places: usize,
    /// A client that has been idle for so long is dropped.
    pub idle: Duration,
    /// A client that has been answered, and has been idle for less than this, is not dropped for another.
    pub spared: Duration,
    /// How long a client waits for a place.
    pub patience: Duration,
}

/// The places of a server.
#[derive(Debug)]
pub struct Places {
    limits: PlaceLimits,
    taken: Mutex<Vec<Arc<Seat>>>,
}

/// One place, as others see it.
#[derive(Debug)]
struct Seat {
    state: Mutex<SeatState>,
    /// Whether something has been answered here.
    has_worked: AtomicBool,
    dropped: Notify,
}

#[derive(Debug, Clone, Copy)]
enum SeatState {
    IdleSince(Instant),
    Working,
    /// Another client has the place now.
    Dropped,
}

impl Seat {
    fn state(&self) -> MutexGuard<'_, SeatState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.state() {
            SeatState::IdleSince(moment) => Some(moment),
            SeatState::Working | SeatState::Dropped => None,
        }
    }

    /// Since when the client has been idle, if it may be dropped for another.
    fn droppable_since(&self, spared: Duration) -> Option<Instant> {
        let since = self.idle_since()?;
        let may_be_dropped = !self.has_worked.load(Ordering::Relaxed) || since.elapsed() >= spared;
        may_be_dropped.then_some(since)
    }

    /// Drops the client, unless it has sent something meanwhile.
    fn drop_idle(&self, since: Instant) -> bool {
        let mut state = self.state();
        let is_idle = matches!(*state, SeatState::IdleSince(moment) if moment == since);
        if is_idle {
            *state = SeatState::Dropped;
            self.dropped.notify_one();
        }
        is_idle
    }

    /// The client is idle from now on, if it was.
    fn note_heard(&self) {
        let mut state = self.state();
        if let SeatState::IdleSince(moment) = &mut *state {
            *moment = Instant::now();
        }
    }
}

impl Places {
    /// No client yet.
    pub fn new(limits: PlaceLimits) -> Arc<Self> {
        Arc::new(Self { limits, taken: Mutex::default() })
    }

    /// A place for a new client; if none is free that of the client that has been idle for longest.
    /// Returns `None` if there is none in time.
    pub async fn admit(self: &Arc<Self>) -> Option<Place> {
        let found = async {
            loop {
                match self.try_admit() {
                    Some(place) => return place,
                    None => sleep(RETRY_EVERY).await,
                }
            }
        };
        timeout(self.limits.patience, found).await.ok()
    }

    fn try_admit(self: &Arc<Self>) -> Option<Place> {
        let mut taken = self.lock();
        if taken.len() >= self.limits.places {
            let droppable = |seat: &Seat| seat.droppable_since(self.limits.spared);
            let idle = taken.iter().enumerate().filter_map(|(at, seat)| Some((droppable(seat)?, at)));
            let (since, at) = idle.min()?;
            if !taken.get(at)?.drop_idle(since) {
                return None;
            }
            taken.swap_remove(at);
        }
        let state = Mutex::new(SeatState::IdleSince(Instant::now()));
        let seat = Arc::new(Seat { state, has_worked: AtomicBool::new(false), dropped: Notify::new() });
        taken.push(seat.clone());
        Some(Place { places: self.clone(), seat })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a client, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    seat: Arc<Seat>,
}

impl Place {
    /// Serves the client until it is done, or until it has lost its place: then returns `None`.
    /// Work that [`Place::work`] has begun is never cut short.
    pub async fn keep<T>(&self, serving: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            // A request that has just arrived counts.
            biased;
            done = serving => Some(done),
            () = self.lost() => None,
        }
    }

    async fn lost(&self) {
        let patience = self.places.limits.idle;
        loop {
            let since = self.seat.idle_since();
            tokio::select! {
                () = self.seat.dropped.notified() => return,
                () = sleep_until(since.unwrap_or_else(Instant::now) + patience) => {}
            }
            if since.is_some_and(|since| self.seat.drop_idle(since)) {
                return;
            }
        }
    }

    /// The client is not idle until the returned value is dropped. `None` if it has lost its place.
    pub fn work(&self) -> Option<Working> {
        let mut state = self.seat.state();
        match *state {
            SeatState::Dropped => None,
            SeatState::IdleSince(_) | SeatState::Working => {
                *state = SeatState::Working;
                self.seat.has_worked.store(true, Ordering::Relaxed);
                Some(Working(self.seat.clone()))
            }
        }
    }

    /// A stream of the client: what comes over it shows that the client is not idle.
    pub fn hear<S>(&self, stream: S) -> HeardStream<S> {
        HeardStream { stream, seat: self.seat.clone() }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().retain(|seat| !Arc::ptr_eq(seat, &self.seat));
    }
}

/// Work for a client.
#[derive(Debug)]
pub struct Working(Arc<Seat>);

impl Drop for Working {
    fn drop(&mut self) {
        *self.0.state() = SeatState::IdleSince(Instant::now());
    }
}

/// The stream of a client that has a place; see [`Place::hear`].
#[derive(Debug)]
pub struct HeardStream<S> {
    stream: S,
    seat: Arc<Seat>,
}

impl<S: AsyncRead + Unpin> AsyncRead for HeardStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.seat.note_heard();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeardStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::io::AsyncReadExt;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const LIMITS: PlaceLimits =
        PlaceLimits { places: 2, idle: millis(2_000), spared: millis(300), patience: millis(10_000) };

    #[tokio::test]
    async fn a_client_that_sends_nothing_is_dropped_after_its_time_and_not_before() {
        let places = Places::new(LIMITS);
        let [silent, talking] = [places.admit().await.unwrap(), places.admit().await.unwrap()];
        let began = Instant::now();
        let mut stream = talking.hear(tokio::io::repeat(0));
        let talk = async {
            while began.elapsed() < LIMITS.idle * 3 / 2 {
                sleep(millis(100)).await;
                assert_eq!(stream.read_u8().await.unwrap(), 0);
            }
            "done"
        };
        let silence = async {
            assert_eq!(silent.keep(pending::<()>()).await, None);
            assert!(began.elapsed() >= LIMITS.idle && silent.work().is_none());
        };
        assert_eq!(tokio::join!(talking.keep(talk), silence).0, Some("done"));
    }

    #[tokio::test]
    async fn work_is_never_cut_short() {
        let limits = PlaceLimits { places: 1, idle: millis(50), spared: millis(0), patience: millis(100) };
        let places = Places::new(limits);
        let place = places.admit().await.unwrap();
        let working = async {
            let work = place.work().unwrap();
            sleep(millis(500)).await;
            drop(work);
        };
        let (done, other) = tokio::join!(place.keep(working), places.admit());
        assert!(done.is_some() && other.is_none());
    }

    #[tokio::test]
    async fn the_idlest_makes_room_for_a_new_client() {
        let places = Places::new(PlaceLimits { idle: millis(60_000), ..LIMITS });
        let began = Instant::now();
        let [first, second] = [places.admit().await.unwrap(), places.admit().await.unwrap()];
        drop([first.work(), second.work()]);
        let (lost, third) = tokio::join!(first.keep(pending::<()>()), places.admit());
        let third = third.unwrap();
        assert!(lost.is_none() && first.work().is_none());
        assert!(began.elapsed() >= LIMITS.spared);
        let works = [second.work(), third.work()];
        assert!(works.iter().all(Option::is_some));
        drop(second);
        // Its place is free at once, and who has never sent a request is not spared.
        let (began, fourth) = (Instant::now(), places.admit().await.unwrap());
        assert!(places.admit().await.is_some() && fourth.work().is_none());
        assert!(began.elapsed() < LIMITS.spared);
    }
}

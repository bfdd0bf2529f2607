//! The stream of a connection, with what a client must keep to: the head of a request
//! arrives in time, and an answer is taken at a least speed.

use super::connections::Connection;
use super::refusals::{HeadBeginning, Respond, bare_answer};
use super::request_bytes::{Part, RequestBytes};
use crate::App;
use crate::limits::{DRAIN_QUIET, LINGER_BYTES, LINGER_TIMEOUT, SEND_LEAST_BYTES};
use crate::settings::TransportSettings;
use socket2::SockRef;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A connection's stream.
pub struct ClientStream {
    app: App,
    respond: Respond,
    stream: TcpStream,
    connection: Arc<Connection>,
    requests: RequestBytes,
    head: ArrivingHead,
    /// Since when nothing has arrived while the server is stopping.
    quiet: Option<Pin<Box<Sleep>>>,
    window: Option<SendWindow>,
    /// The rest of an answer to a request that could not be read.
    refusal: Vec<u8>,
    linger: Option<Linger>,
}

/// The head that arrives now.
struct ArrivingHead {
    /// The phase of the connection that it belongs to.
    phase: u64,
    beginning: HeadBeginning,
    /// Set by the first byte.
    deadline: Option<Pin<Box<Sleep>>>,
}

/// The time in which a client must take [`SEND_LEAST_BYTES`].
struct SendWindow {
    ends: Pin<Box<Sleep>>,
    taken: usize,
}

impl SendWindow {
    fn new(length: Duration) -> Self {
        Self { ends: Box::pin(sleep(length)), taken: 0 }
    }
}

/// Reads what a refused client still sends.
struct Linger {
    ends: Pin<Box<Sleep>>,
    bytes: usize,
}

impl ClientStream {
    /// The stream of a new connection. `respond` makes the answers to heads that are refused.
    pub fn new(app: App, respond: Respond, stream: TcpStream, connection: Arc<Connection>) -> Self {
        let head = ArrivingHead::new(connection.phase());
        Self {
            app,
            respond,
            stream,
            connection,
            requests: RequestBytes::default(),
            head,
            quiet: None,
            window: None,
            refusal: Vec::new(),
            linger: None,
        }
    }

    fn times(&self) -> &TransportSettings {
        &self.app.settings.transport
    }

    /// Reads bytes of the request that is read or answered now. Those of the next one wait.
    fn poll_request(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.connection.wake_reader(context);
        let is_idle = self.connection.is_idle();
        let part = if is_idle { Part::Head } else { Part::Body(self.connection.body_left()) };
        let before = buffer.filled().len();
        let passed = if self.requests.is_empty() {
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            let arrived = buffer.filled().get(before..).unwrap_or_default();
            if arrived.is_empty() {
                // The client has ended its side.
                return Poll::Ready(Ok(()));
            }
            let passed = self.requests.split(part, arrived);
            buffer.set_filled(before + passed);
            passed
        } else {
            let taken = self.requests.take(part, buffer.remaining());
            buffer.put_slice(taken);
            taken.len()
        };
        self.connection.note_waiting(!self.requests.is_empty());
        if !is_idle {
            self.connection.note_body_read(passed);
        }
        // Nothing would mean that the client has ended its side.
        if passed == 0 { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    /// Whether the connection can end: the server is stopping, everything that was sent has been
    /// answered, and nothing more has come for a moment.
    fn is_drained(&mut self, context: &mut Context<'_>) -> bool {
        let is_quiet = self.connection.is_draining()
            && self.connection.is_idle()
            && self.window.is_none()
            && !self.requests.is_within_head();
        if !is_quiet {
            self.quiet = None;
            return false;
        }
        let quiet = self.quiet.get_or_insert_with(|| Box::pin(sleep(DRAIN_QUIET)));
        quiet.as_mut().poll(context).is_ready()
    }

    /// Sends some bytes, or ends with an error if the client has taken too few for too long.
    fn poll_send(&mut self, context: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(context, chunks) {
            Poll::Pending => self.poll_window(context, chunks),
            Poll::Ready(Ok(bytes)) => {
                self.note_sent(bytes, chunks);
                Poll::Ready(Ok(bytes))
            }
            failed @ Poll::Ready(Err(_)) => failed,
        }
    }

    fn note_sent(&mut self, bytes: usize, chunks: &[IoSlice<'_>]) {
        self.connection.note_sent(bytes);
        let offered: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        match &mut self.window {
            // Nothing waits any more.
            _ if bytes == offered => self.window = None,
            Some(window) => window.taken += bytes,
            None => {}
        }
    }

    /// Waits until the window ends, then sends what there is room for.
    fn poll_window(&mut self, context: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let length = self.times().send_window;
        let window = self.window.get_or_insert_with(|| SendWindow::new(length));
        ready!(window.ends.as_mut().poll(context));
        // The system says that there is room only when a third of its buffer is free. A slow
        // client may have taken less than that, so ask it.
        let chunk = chunks.iter().find(|chunk| !chunk.is_empty()).map_or(&[][..], |chunk| chunk);
        let room = match SockRef::from(&self.stream).send(chunk) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            room => room?,
        };
        self.note_sent(room, chunks);
        if self.window.as_ref().is_some_and(|window| window.taken < SEND_LEAST_BYTES) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        if self.window.is_some() {
            self.window = Some(SendWindow::new(length));
        }
        if room == 0 {
            // So that the end of the new window is noticed.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(room))
    }

    /// Sends the rest of a refusal.
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let refusal = std::mem::take(&mut self.refusal);
            let sent = self.poll_send(context, &[IoSlice::new(&refusal)]);
            self.refusal = refusal;
            let sent = ready!(sent)?;
            self.refusal.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and forgets what the client still sends, for a short time.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Linger { ends: Box::pin(sleep(LINGER_TIMEOUT)), bytes: LINGER_BYTES });
        loop {
            let mut space = [0; 4_096];
            let mut buffer = ReadBuf::new(&mut space);
            if Pin::new(&mut self.stream).poll_read(context, &mut buffer).is_pending() {
                return linger.ends.as_mut().poll(context);
            }
            // Nothing is read at the end of the stream, and after an error.
            let read = buffer.filled().len();
            linger.bytes = linger.bytes.saturating_sub(read);
            if read == 0 || linger.bytes == 0 {
                return Poll::Ready(());
            }
        }
    }
}

impl ArrivingHead {
    fn new(phase: u64) -> Self {
        Self { phase, beginning: HeadBeginning::default(), deadline: None }
    }

    fn note(&mut self, bytes: &[u8], patience: Duration) {
        self.beginning.note(bytes);
        if !bytes.is_empty() && self.deadline.is_none() {
            self.deadline = Some(Box::pin(sleep(patience)));
        }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        self.deadline.as_mut().is_some_and(|deadline| deadline.as_mut().poll(context).is_ready())
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let outcome = this.poll_request(context, buffer);
        let phase = this.connection.phase();
        if this.head.phase != phase {
            this.head = ArrivingHead::new(phase);
        }
        if this.connection.is_idle() {
            let patience = this.times().head_timeout;
            this.head.note(buffer.filled().get(before..).unwrap_or_default(), patience);
            if outcome.is_pending() && this.head.is_late(context) {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
        }
        if outcome.is_ready() {
            this.quiet = None;
        } else if this.is_drained(context) {
            // As if the client had ended the connection.
            return Poll::Ready(Ok(()));
        }
        outcome
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        if let [chunk] = chunks
            && this.connection.is_idle()
            && let Some(answer) = bare_answer(chunk)
        {
            this.refusal = answer.with_body(&this.app, this.respond, &this.head.beginning);
            this.connection.note_unread();
            return Poll::Ready(Ok(chunk.len()));
        }
        this.poll_send(context, chunks)
    }

    fn is_write_vectored(&self) -> bool {
        // So that the HTTP library does not copy bodies.
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_refusal(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(this.poll_refusal(context))?;
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        if this.connection.has_unread() {
            ready!(this.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}

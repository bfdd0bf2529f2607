//! The server's side: it runs the commands that are sent to it, on its own store.

use super::socket::ControlSocket;
use super::wire::{self, Answer, Greeting, Request, Said, WireError};
use crate::cli::end::of_outcome;
use crate::cli::terminal::Terminal;
use crate::cli::{self, Here};
use crate::config::Config;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tidings_keyspace::give_way;
use tidings_web::App;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

/// The connections at once, with those over which nothing was sent yet.
const MAX_CONNECTIONS: usize = 64;
/// The commands that run at once.
const MAX_COMMANDS: usize = 16;
/// The stack of a command: twice that of the main thread of most systems. It takes memory as it is used.
const STACK_BYTES: usize = 16 << 20;
/// How long a command line may take to say what it wants.
const GREETING_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait after a failure to accept a connection, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The parts of the server that commands use.
#[derive(Clone)]
pub(super) struct Serving {
    /// The name of the store, so that a command line can tell whether it is the one it wants.
    pub(super) store: String,
    pub(super) app: App,
    pub(super) config: Config,
    running: Arc<AtomicUsize>,
}

impl Serving {
    pub(super) fn new(store: String, app: App, config: Config) -> Self {
        Self { store, app, config, running: Arc::default() }
    }
}

/// Runs commands until the future is dropped, which ends them as if they had been interrupted: each batch is
/// applied whole or not at all. Each has a thread of its own, which gives way to the requests of the site.
pub(super) async fn serve(serving: &Serving, socket: &ControlSocket) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let (_running, stopped) = watch::channel(());
    loop {
        // Nobody closes it.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let accepted = async { socket.listener.accept().await?.0.into_std() };
        let begun = match accepted.await {
            Ok(stream) => begin(serving.clone(), stream, place, stopped.clone()),
            Err(error) => Err(error),
        };
        if let Err(error) = begun {
            tracing::warn!(%error, "cannot accept the connection of a command");
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

fn begin(
    serving: Serving,
    stream: UnixStream,
    place: OwnedSemaphorePermit,
    stopped: watch::Receiver<()>,
) -> io::Result<()> {
    let runtime = Handle::current();
    let answer = move || {
        give_way();
        if let Err(error) = answer(&serving, stream, stopped, &runtime) {
            tracing::debug!(%error, "the connection of a command has ended");
        }
        drop(place);
    };
    std::thread::Builder::new().name("command".to_owned()).stack_size(STACK_BYTES).spawn(answer).map(drop)
}

fn answer(
    serving: &Serving,
    stream: UnixStream,
    stopped: watch::Receiver<()>,
    runtime: &Handle,
) -> Result<(), WireError> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(GREETING_PATIENCE))?;
    stream.set_write_timeout(Some(GREETING_PATIENCE))?;
    wire::send(&stream, &(Greeting::own(), &serving.store))?;
    let bytes = wire::receive_bytes(&stream)?;
    let (greeting, request) = postcard::take_from_bytes::<Greeting>(&bytes)?;
    if greeting != Greeting::own() {
        return Ok(());
    }
    let request = postcard::from_bytes::<Request>(request)?;
    // From now on, the person at the other end may take their time.
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    let others = serving.running.fetch_add(1, Ordering::SeqCst);
    let ended = if others < MAX_COMMANDS {
        run(serving, request, &stream, stopped, runtime)
    } else {
        let full = "the running server runs as many other commands as it can; try again when one of them has finished";
        Ok(Some((1, Some(full.to_owned()))))
    };
    serving.running.fetch_sub(1, Ordering::SeqCst);
    if let Some((status, message)) = ended? {
        wire::send(&stream, &Said::End(status, message))?;
    }
    // The thread that reads ends too.
    Ok(stream.shutdown(Shutdown::Both)?)
}

/// Runs a command until it has ended, its command line has gone, or the server stops. Returns its exit status
/// and its last message, if it has ended.
fn run(
    serving: &Serving,
    request: Request,
    stream: &UnixStream,
    mut stopped: watch::Receiver<()>,
    runtime: &Handle,
) -> Result<Option<(i32, Option<String>)>, WireError> {
    let gone = Arc::new(Notify::new());
    let (sender, answers) = mpsc::sync_channel::<Answer>(1);
    let (reading, notes_end) = (stream.try_clone()?, gone.clone());
    let read = move || {
        while let Ok(answer) = wire::receive(&reading) {
            if sender.send(answer).is_err() {
                break;
            }
        }
        notes_end.notify_one();
    };
    std::thread::Builder::new().name("command-answers".to_owned()).spawn(read)?;
    let calling = stream.try_clone()?;
    let terminal = Terminal::remote(request.surroundings, move |call| {
        wire::send(&calling, &Said::Call(call))?;
        let answer = answers.recv().map_err(|_| io::Error::from(io::ErrorKind::ConnectionAborted))?;
        answer.map_err(|(number, text)| {
            number.map_or_else(|| io::Error::other(text), io::Error::from_raw_os_error)
        })
    });
    let mut config = serving.config.clone();
    // They may have changed since the start.
    config.rules = (*serving.app.site.rules).clone();
    let here = Here::in_server(config, serving.app.clone());
    let command = terminal.run(Box::pin(cli::run_in_server(request.arguments, here)));
    let command = async {
        tokio::select! {
            ended = command => ended.map(Some),
            () = gone.notified() => Ok(None),
            _ = stopped.changed() => Ok(None),
        }
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(command)));
    if let Ok(Ok(None)) = outcome {
        Ok(None)
    } else {
        Ok(Some(of_outcome(outcome.map(|ended| ended.map(drop)))))
    }
}

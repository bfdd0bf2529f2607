//! How commands run in a running server: it listens on a Unix socket, to which the command line sends its
//! arguments. The server runs the command on its own store; the command line does the input and output.
//!
//! The socket of an embedded store lies beside the file, so a command line finds the server by the
//! store. On Redis, commands open the store themselves unless `server.control` names a socket.

mod server;
mod socket;
pub mod status;
mod wire;

#[cfg(test)]
mod tests;

use crate::cli::terminal::{Call, Surroundings};
use crate::config::{Config, file_of, unusable_setting};
use anyhow::{Context, bail};
use server::{Serving, serve};
use socket::{ControlSocket, SocketError, is_nobody, is_too_long};
use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tidings_domain::supervision::{Policy, supervise};
use tidings_keyspace::without_password;
use tidings_web::App;
use tidings_web::server::conditions;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use wire::{Answer, Greeting, Request, Said};

/// How long a command waits for a store that another process has open and does not serve.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// How long a command line waits for the server's greeting.
const GREETING_PATIENCE: Duration = Duration::from_secs(60);

/// Where the server of a store listens, or would listen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ControlPath {
    path: PathBuf,
    /// Whether an operator chose it. It may be the wrong one then.
    is_chosen: bool,
}

impl ControlPath {
    /// Where commands reach the server of a store; `None` if no server of it listens for them.
    fn of(config: &Config, store: &str) -> Option<Self> {
        let chosen = &config.server.control;
        if store == config.server.store.as_str() && !chosen.is_empty() {
            return Some(Self { path: PathBuf::from(chosen), is_chosen: true });
        }
        let path = file_of(store)?.display();
        Some(Self { path: PathBuf::from(format!("{path}-control")), is_chosen: false })
    }
}

/// How long to wait before another attempt to listen.
const LISTEN_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The socket of this server for commands, if its store has one. Commands that connect wait until they
/// are answered.
pub struct Control(Option<(PathBuf, Result<ControlSocket, SocketError>)>);

impl Control {
    /// Listens for commands, if servers of this store do. The site works without, and the server tries again
    /// later, unless the operator has named a path that cannot be right.
    ///
    /// # Errors
    /// When it cannot listen on the path in `server.control`, for another reason than a full disk.
    pub fn listen(config: &Config) -> anyhow::Result<Self> {
        let Some(ControlPath { path, is_chosen }) = ControlPath::of(config, config.server.store.as_str())
        else {
            return Ok(Self(None));
        };
        let bound = ControlSocket::bind(&path);
        match &bound {
            Ok(_) => tracing::info!(path = %path.display(), "listening for commands"),
            Err(error) if is_chosen && !error.may_pass() => {
                return Err(unusable_setting("server.control", error).into());
            }
            Err(_) => {}
        }
        Ok(Self(Some((path, bound))))
    }

    /// Answers commands until it is stopped. Tries again to listen if that was not possible.
    pub fn answer(self, config: &Config, app: &App) -> Commands {
        let Some((path, bound)) = self.0 else { return Commands(None) };
        let serving = Serving::new(name_of(config.server.store.as_str()), app.clone(), config.clone());
        Commands(Some(tokio::spawn(async move {
            let socket = bind_at_last(&serving.app, &path, bound).await;
            supervise("commands", Policy::Forever, || serve(&serving, &socket)).await;
        })))
    }
}

/// Listens as soon as that is possible. Until then, a condition says why not.
async fn bind_at_last(
    app: &App,
    path: &Path,
    mut bound: Result<ControlSocket, SocketError>,
) -> ControlSocket {
    loop {
        app.health.tell(conditions::CONTROL, bound.as_ref().err().map(ToString::to_string));
        match bound {
            Ok(socket) => return socket,
            Err(_) => sleep(LISTEN_AGAIN_AFTER).await,
        }
        bound = ControlSocket::bind(path);
    }
}

/// The task that answers commands.
pub struct Commands(Option<JoinHandle<()>>);

impl Commands {
    /// Stops answering and removes the socket. Commands that run are told that the server has
    /// stopped.
    pub async fn stop(self) {
        if let Some(task) = self.0 {
            task.abort();
            // It ends because it was told to.
            task.await.ok();
        }
    }
}

/// A server that has a store open, and has greeted.
#[derive(Debug)]
pub struct RunningServer(UnixStream);

/// A command has failed in a running server.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct FailedThere {
    /// The exit status.
    pub status: i32,
    message: String,
}

/// The socket belongs to another user. Perhaps no server listens there any more.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot connect to {}: permission denied; run the command as the user that runs the server, for example \
     with sudo -u tidings", .0.display()
)]
struct NotOwner(PathBuf);

/// The server that has the configured store open, if one does.
///
/// # Errors
/// When there is one that cannot be used. The message says what to do.
pub async fn find(config: &Config) -> anyhow::Result<Option<RunningServer>> {
    find_at(config.server.store.as_str(), config).await
}

/// The same for another store.
///
/// # Errors
/// As [`find`].
pub async fn find_at(url: &str, config: &Config) -> anyhow::Result<Option<RunningServer>> {
    let Some(control) = ControlPath::of(config, url) else { return Ok(None) };
    let began = Instant::now();
    loop {
        let refusal = match connect(&control, url) {
            Ok(Some(server)) => return Ok(Some(server)),
            Ok(None) => None,
            // A killed server leaves its socket behind. Whether one runs, only the lock of a file tells.
            Err(refusal) if refusal.is::<NotOwner>() && url.starts_with("redb:") => Some(refusal),
            Err(refusal) => return Err(refusal),
        };
        if !is_locked(url) {
            return Ok(None);
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        if began.elapsed() >= LOCK_PATIENCE {
            bail!(
                "what has the store open does not listen for commands on {}: a server that cannot make this \
                 socket (its log says why, and it tries again), a server with another server.control, or a \
                 command that is under way: cannot open the store {url}: another process has it open; stop that \
                 process, or name another store",
                control.path.display()
            );
        }
        // A server that is starting or stopping has the file open and does not listen.
        sleep(LOCK_PAUSE).await;
    }
}

/// Whether another process has the file of an embedded store open.
fn is_locked(url: &str) -> bool {
    let file = file_of(url).and_then(|path| File::open(path).ok());
    file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The server that listens on a socket, if one does.
fn connect(control: &ControlPath, url: &str) -> anyhow::Result<Option<RunningServer>> {
    let path = &control.path;
    if is_too_long(path) {
        return Ok(None);
    }
    let stream = match UnixStream::connect(path) {
        Ok(stream) => stream,
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(NotOwner(path.clone()).into());
        }
        Err(error) => return Err(error).with_context(|| unusable(path)),
    };
    stream.set_read_timeout(Some(GREETING_PATIENCE))?;
    let bytes = wire::receive_bytes(&stream).with_context(|| unusable(path))?;
    let (greeting, rest) = postcard::take_from_bytes::<Greeting>(&bytes).with_context(|| unusable(path))?;
    let own = Greeting::own();
    if greeting != own {
        bail!(
            "{}: the running server is version {}, this command is version {}: use the command of the same \
             version",
            unusable(path),
            greeting.shown(&own),
            own.shown(&greeting)
        );
    }
    let name: String = postcard::from_bytes(rest).with_context(|| unusable(path))?;
    let wanted = name_of(url);
    if control.is_chosen && name != wanted {
        let reason = format!(
            "the server that listens on {} serves {name}, not {wanted}; correct server.control or the store",
            path.display()
        );
        bail!(unusable_setting("server.control", reason));
    }
    stream.set_read_timeout(None)?;
    Ok(Some(RunningServer(stream)))
}

fn unusable(path: &Path) -> String {
    format!("cannot use the running server at {}", path.display())
}

impl RunningServer {
    /// Has a command run there. Does what it calls for meanwhile.
    ///
    /// # Errors
    /// [`FailedThere`], or when the connection is lost.
    pub fn run(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
        surroundings: Surroundings,
        mut answer: impl FnMut(Call) -> io::Result<Vec<u8>>,
    ) -> anyhow::Result<()> {
        let lost = "the connection to the running server is lost; the last step may or may not have been done, \
                    so look at the result before you run the command again";
        let Self(stream) = self;
        let arguments = arguments.into_iter().map(OsString::into_vec).collect();
        wire::send(stream, &(Greeting::own(), Request { arguments, surroundings })).context(lost)?;
        loop {
            match wire::receive::<Said>(stream).context(lost)? {
                Said::Call(call) => {
                    let answer: Answer =
                        answer(call).map_err(|error| (error.raw_os_error(), error.to_string()));
                    wire::send(stream, &answer).context(lost)?;
                }
                Said::End(_, None) => return Ok(()),
                Said::End(status, Some(message)) => return Err(FailedThere { status, message }.into()),
            }
        }
    }
}

/// The name of a store, the same for all who name it differently. Without a password.
fn name_of(url: &str) -> String {
    let Some(path) = file_of(url) else { return without_password(url) };
    let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
    format!("redb:{}", absolute.unwrap_or_else(|_| path.to_owned()).display())
}

//! How commands talk to a running server: it listens on a Unix socket, through which they use its
//! store and ask how it is.
//!
//! The socket of an embedded store lies beside the file, so a command finds the server by the
//! store. On Redis, commands open the store themselves unless `server.control` names a socket.

pub mod status;

use crate::compaction;
use crate::config::{Config, ConfigError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidings_domain::audit::{CommandEntry, WRITTEN};
use tidings_domain::report::BackupReport;
use tidings_domain::supervision::{Policy, supervise};
use tidings_domain::values::clock::Timestamp;
use tidings_keyspace::{
    AnswerQuestion, ControlSocket, OpenError, Served, SocketError, Store, StoreOptions, serve,
    without_password,
};
use tidings_web::App;
use tidings_web::server::conditions;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The question for the state of the server; see [`status::Status`].
pub const STATUS: &str = "status";
/// The question for the state of the search: JSON, and `null` if it cannot be used.
pub const SEARCH: &str = "search";
/// The order to make the search index anew. The answer is the state of the search.
pub const SEARCH_REBUILD: &str = "search rebuild";
/// The order to compact the files. The answer is the state of the compaction, as JSON.
pub const COMPACT: &str = "compact";
/// The question for the state of the compaction.
pub const COMPACTION: &str = "compaction";
/// The beginning of the message that a command has made a good backup. The moment of the backup
/// follows, in Unix seconds.
const BACKED_UP: &str = "backed up ";

/// How long a command waits for a store that another process has open and does not serve.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

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
        match store.split_once(':') {
            Some(("redb", path)) if path != ":memory:" => {
                Some(Self { path: PathBuf::from(format!("{path}-control")), is_chosen: false })
            }
            _ => None,
        }
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
                let reason = error.to_string();
                return Err(ConfigError::Unusable { name: "server.control", reason }.into());
            }
            Err(_) => {}
        }
        Ok(Self(Some((path, bound))))
    }

    /// Answers commands until it is stopped. Tries again to listen if that was not possible.
    pub fn answer(self, config: &Config, app: &App) -> Commands {
        let store = config.server.store.as_str();
        let Some((path, bound)) = self.0 else { return Commands(None) };
        let (name, answer) = (name_of(store), answers(app, store));
        let served = Served { store: app.site.store.clone(), name, answer };
        let app = app.clone();
        Commands(Some(tokio::spawn(async move {
            let socket = bind_at_last(&app, &path, bound).await;
            supervise("commands", Policy::Forever, || serve(&served, &socket)).await;
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

/// The answers of this program to questions on the socket.
fn answers(app: &App, store: &str) -> AnswerQuestion {
    let (app, store) = (app.clone(), without_password(store));
    Arc::new(move |question| {
        let (app, store) = (app.clone(), store.clone());
        Box::pin(async move { answer(&app, store, &question).await })
    })
}

async fn answer(app: &App, store: String, question: &str) -> String {
    if question == STATUS {
        let status = status::of_server(app, store).await;
        return serde_json::to_string(&status).unwrap_or_default();
    }
    if question == SEARCH || question == SEARCH_REBUILD {
        let searching = app.search.get();
        if let (Some(searching), SEARCH_REBUILD) = (&searching, question) {
            searching.rebuild();
        }
        return serde_json::to_string(&searching.map(|searching| searching.state())).unwrap_or_default();
    }
    if question == COMPACT {
        compaction::begin(app);
    }
    if question == COMPACT || question == COMPACTION {
        return serde_json::to_string(&compaction::state()).unwrap_or_default();
    }
    if let Some(entry) = CommandEntry::of_question(question) {
        entry.log();
        return WRITTEN.to_owned();
    }
    if let Some(taken_at) = question.strip_prefix(BACKED_UP).and_then(|time| time.parse().ok()) {
        tracing::info!(taken_at, "a command has made a backup");
        // The clock may have been set back since.
        app.site.of::<BackupReport>().made_by_command(Timestamp(taken_at).min(app.now()));
    }
    String::new()
}

/// Tells the server that has the store, if one does, that a command has made a good backup.
pub async fn tell_of_backup(store: &Store, taken_at: Timestamp) {
    if let Err(error) = store.ask_server(&format!("{BACKED_UP}{taken_at}")).await {
        tracing::warn!(%error, "the running server does not know of this backup");
    }
}

/// Opens a store: through the server that has it open, or if there is none with `open`.
///
/// # Errors
/// When neither works. The message says what to do.
pub async fn reach(
    config: &Config,
    url: &str,
    options: &StoreOptions,
    open: impl AsyncFn() -> anyhow::Result<Store>,
) -> anyhow::Result<Store> {
    let Some(control) = ControlPath::of(config, url) else { return open().await };
    let began = Instant::now();
    loop {
        let refusal = match served(&control, url, options).await {
            Ok(Some(store)) => return Ok(store),
            Ok(None) => None,
            // A killed server leaves its socket behind. Whether one runs, only the lock of a file tells.
            Err(refusal) if is_not_owner(&refusal) && url.starts_with("redb:") => Some(refusal),
            Err(refusal) => return Err(refusal),
        };
        let error = match open().await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        if !matches!(error.downcast_ref(), Some(OpenError::Locked { .. })) {
            return Err(error);
        }
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        if began.elapsed() >= LOCK_PATIENCE {
            let nobody = format!(
                "what has the store open does not listen for commands on {}: a server that cannot make this \
                 socket (its log says why, and it tries again), a server with another server.control, or a \
                 command that is under way",
                control.path.display()
            );
            return Err(error.context(nobody));
        }
        // A server that is starting or stopping has the file open and does not listen.
        sleep(LOCK_PAUSE).await;
    }
}

fn is_not_owner(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(OpenError::NotOwner(_)))
}

/// The store of the server that listens on a socket, if one does.
async fn served(control: &ControlPath, url: &str, options: &StoreOptions) -> anyhow::Result<Option<Store>> {
    let Some(store) = Store::of_server(&control.path, options).await? else { return Ok(None) };
    let wanted = name_of(url);
    match store.served_as() {
        Some(name) if control.is_chosen && name != wanted => {
            let reason = format!(
                "the server that listens on {} serves {name}, not {wanted}; correct server.control or the store",
                control.path.display()
            );
            Err(ConfigError::Unusable { name: "server.control", reason }.into())
        }
        _ => Ok(Some(store)),
    }
}

/// The name of a store, the same for all who name it differently. Without a password.
fn name_of(url: &str) -> String {
    match url.split_once(':') {
        Some(("redb", path)) => format!("redb:{}", absolute(Path::new(path)).display()),
        _ => without_password(url),
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

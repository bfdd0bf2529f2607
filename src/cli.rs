//! The commands of `tidings`, one file for each.

pub mod backup;
pub mod check;
pub mod config;
pub mod copy;
pub mod create;
pub mod generate;
pub mod import;
pub mod moderate;
pub mod restore;
pub mod serve;
pub mod status;
pub mod user;

use crate::config::{CommandLineSettings, Config, ConfigError, environment};
use crate::control;
use anyhow::{Context, bail};
use clap::{Args, CommandFactory, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tidings_domain::{Error, migrations};
use tidings_keyspace::{OpenError, Store, StoreOptions};

/// How often a command tries what others got in the way of, and the pauses in between: more
/// than 15 seconds altogether.
const PATIENT_ATTEMPTS: usize = 24;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A self-hosted site for a community: links, votes and threaded comments.
///
/// Without a command, serves the site.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The options of every command.
#[derive(Debug, Args)]
struct Options {
    /// Read the settings from this TOML file.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Listen on this address and port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR", global = true)]
    listen: Option<String>,
    /// Use this store: redb:PATH, redis://HOST, rediss://HOST or redis+sentinel://HOST,HOST,HOST/NAME
    /// [default: redb:tidings.redb].
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
    /// Create the file of a new store at the path that --store or a setting names.
    #[arg(long, global = true)]
    create: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the site.
    Serve,
    /// Print every setting with its meaning, its value and where the value comes from.
    Config,
    /// Create the store, if there is none, for a new site.
    Create,
    /// Import stories or votes on sites.
    #[command(subcommand)]
    Import(ImportCommand),
    Copy(copy::CopyCommand),
    Backup(backup::BackupCommand),
    Restore(restore::RestoreCommand),
    /// Check derived data against its source, and repair it; look for vote rings.
    #[command(subcommand)]
    Check(check::CheckCommand),
    #[command(subcommand)]
    User(user::UserCommand),
    Moderate(Box<moderate::ModerateCommand>),
    Status(status::StatusCommand),
    #[command(hide = true)]
    Generate(generate::Generate),
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    Links(import::ImportLinks),
    Sites(import::ImportSites),
}

impl Cli {
    /// Loads the settings and runs the command.
    ///
    /// # Errors
    /// A message for the operator.
    pub async fn run(self) -> anyhow::Result<()> {
        let Options { config: file, listen, store, create } = self.options;
        let settings = CommandLineSettings { listen, store, create };
        let config = Config::load(file.as_deref(), environment(), &settings)?;
        crate::logging::start(config.log.format);
        match self.command.unwrap_or(Command::Serve) {
            Command::Serve => {
                serve::run(config, || Config::load(file.as_deref(), environment(), &settings)).await
            }
            Command::Config => print_settings(&config),
            Command::Create => create::run(config).await,
            Command::Import(ImportCommand::Links(links)) => links.run(&config).await,
            Command::Import(ImportCommand::Sites(sites)) => sites.run(&config).await,
            Command::Check(check) => check.run(&config).await,
            Command::Copy(copy) => copy.run(&config).await,
            Command::Backup(backup) => backup.run(&config).await,
            Command::Restore(restore) => restore.run(&config).await,
            Command::User(user) => user.run(&config).await,
            Command::Moderate(moderate) => moderate.run(&config).await,
            Command::Status(status) => status.run(&config).await,
            Command::Generate(generate) => generate.run(Cli::command()),
        }
    }
}

fn print_settings(config: &Config) -> anyhow::Result<()> {
    match config::run(config, &mut io::stdout().lock()) {
        // The reader has stopped reading, as in `tidings config | head`.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot print the settings"),
    }
}

/// The command asks for something that cannot be, as clap finds out for most of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(String);

/// The exit status for an error: 2 if the command or the settings are wrong, otherwise 1.
#[must_use]
pub fn exit_status(error: &anyhow::Error) -> u8 {
    if error.is::<WrongUse>() || error.is::<ConfigError>() { 2 } else { 1 }
}

/// The configured store: that of the running server, or if none runs the store itself as
/// [`open_store`] opens it.
async fn reach_store(config: &Config) -> anyhow::Result<Store> {
    let (url, options) = (config.server.store.as_str(), store_options(config));
    control::reach(config, url, &options, async || open_store(config).await).await
}

/// The same for a store that must exist.
async fn reach_existing_store(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = store_options(config);
    control::reach(config, url, &options, async || open_existing_store(url, config).await).await
}

/// Opens the configured store. Creates it if there is none and nobody has named its path, or with
/// `--create`.
async fn open_store(config: &Config) -> anyhow::Result<Store> {
    let options = StoreOptions { create: config.creates_store(), ..store_options(config) };
    match Store::open(config.server.store.as_str(), &options).await {
        Err(OpenError::Missing(path)) => {
            bail!("there is no store at {path}; to start a new site there, add --create")
        }
        opened => usable(opened?).await,
    }
}

/// Opens a store that must exist: a mistyped path is an error, not an empty store.
async fn open_existing_store(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = StoreOptions { create: false, ..store_options(config) };
    usable(Store::open(url, &options).await?).await
}

/// A store that this program knows, and that is whole.
async fn usable(store: Store) -> anyhow::Result<Store> {
    migrations::state_of(&store).await?.demand_usable()?;
    Ok(store)
}

fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        timeout: Duration::from_secs(config.server.store_timeout_seconds),
        cache_bytes: usize::try_from(config.server.cache_mebibytes.saturating_mul(1024 * 1024))
            .unwrap_or(usize::MAX),
        replicas: u32::try_from(config.server.store_replicas).unwrap_or(u32::MAX),
        ..StoreOptions::default()
    }
}

/// Tries again, with growing pauses, what others who wrote at the same time got in the way of. A
/// command that changes much beside a site in use may meet them often.
async fn patiently<T>(mut attempt: impl AsyncFnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..PATIENT_ATTEMPTS {
        match attempt().await {
            Err(error) if matches!(error.downcast_ref(), Some(Error::Busy)) => {
                tokio::time::sleep(pause).await
            }
            outcome => return outcome,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    attempt().await
}

/// A progress bar on standard error; hidden if that is not a terminal.
fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(total).with_message(what);
    // The template is a constant that parses.
    if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}") {
        bar.set_style(style);
    }
    bar
}

//! The commands of `tidings`, one file for each.

/// Prints a line on standard output, as `println!` does, but without a panic if that fails. It is no
/// error that nobody reads it any more, as in `tidings config | head`.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::cli::print(&format!("{}\n", format_args!($($text)*)))?
    };
}

pub mod backup;
pub mod check;
pub mod compact;
pub mod config;
pub mod copy;
pub mod create;
pub mod demo;
pub mod end;
pub mod erase;
pub mod export;
pub mod generate;
pub mod import;
pub mod mail;
pub mod moderate;
mod move_timelines;
pub mod restore;
pub mod search;
pub mod serve;
pub mod site;
pub mod status;
pub mod user;

use crate::config::{CommandLineSettings, Config, LogFormat, environment};
use crate::control;
use crate::logging;
use crate::upgrade;
use anyhow::{Context, bail};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidings_domain::accounts::karma;
use tidings_domain::migrations::UnusableStore;
use tidings_domain::migrations::unfinished::{self, Begun, FilledBy, Filling};
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::site::Site;
use tidings_domain::supervision::panics;
use tidings_domain::values::clock::Timestamp;
use tidings_domain::{Error, migrations};
use tidings_keyspace::{EngineClock, OpenError, Store, StoreOptions, without_password};
use tracing::level_filters::LevelFilter;

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
    #[command(flatten)]
    serving: ServeOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The options of every command.
#[derive(Debug, Args)]
struct Options {
    /// Read the settings from this TOML file.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Use this store: redb:PATH, redis://HOST, rediss://HOST or redis+sentinel://HOST,HOST,HOST/NAME
    /// [default: redb:tidings.redb].
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
}

/// The options of commands that may create the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Args)]
pub struct CreateOption {
    /// Start a new site at the path, or in the empty Redis database, that --store or a setting names.
    #[arg(long)]
    create: bool,
}

/// The options of `tidings serve`, which is also the command if none is named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
struct ServeOptions {
    /// Listen on this address and port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    #[command(flatten)]
    create: CreateOption,
}

impl ServeOptions {
    /// Options after the command, and those before it.
    fn or(self, before: Self) -> Self {
        let create = CreateOption { create: self.create.create || before.create.create };
        Self { listen: self.listen.or(before.listen), create }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the site.
    Serve(ServeOptions),
    Demo(demo::DemoCommand),
    /// Print every setting with its meaning, its value and where the value comes from.
    Config(ServeOptions),
    /// Create the store, if there is none, for a new site.
    Create,
    /// Import stories, archives of other sites, or votes on sites.
    #[command(subcommand)]
    Import(ImportCommand),
    #[command(subcommand)]
    Export(export::ExportCommand),
    Copy(copy::CopyCommand),
    Compact(compact::CompactCommand),
    Erase(erase::EraseCommand),
    Backup(backup::BackupCommand),
    Restore(restore::RestoreCommand),
    /// Check that what is stored fits together, and repair it; look for vote rings.
    #[command(subcommand)]
    Check(check::CheckCommand),
    /// Move home timelines to a place of their own, or back.
    #[command(subcommand)]
    Move(move_timelines::MoveCommand),
    #[command(subcommand)]
    Site(site::SiteCommand),
    #[command(subcommand)]
    User(user::UserCommand),
    Moderate(Box<moderate::ModerateCommand>),
    Status(status::StatusCommand),
    #[command(subcommand)]
    Search(search::SearchCommand),
    #[command(subcommand)]
    Mail(mail::MailCommand),
    #[command(hide = true)]
    Generate(generate::Generate),
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    Hn(import::ImportArchive),
    Links(import::ImportLinks),
    Sites(import::ImportSites),
}

impl Command {
    /// The options that it takes besides those of every command, as far as it has them.
    fn settings(&self) -> CommandLineSettings {
        let (listen, create) = match self {
            Self::Serve(options) | Self::Config(options) => (options.listen.clone(), options.create),
            Self::Import(ImportCommand::Hn(archive)) => (None, archive.create),
            Self::Import(ImportCommand::Links(links)) => (None, links.create),
            Self::Import(ImportCommand::Sites(sites)) => (None, sites.create),
            Self::User(user) => (None, user.create()),
            _ => (None, CreateOption::default()),
        };
        CommandLineSettings { listen, store: None, create: create.create }
    }
}

impl Cli {
    /// Loads the settings and runs the command.
    ///
    /// # Errors
    /// A message for the operator.
    pub async fn run(self) -> anyhow::Result<()> {
        let Self { options: Options { config: file, store }, serving, command } = self;
        let command = match command {
            None => Command::Serve(serving),
            Some(Command::Serve(options)) => Command::Serve(options.or(serving)),
            Some(Command::Config(options)) => Command::Config(options.or(serving)),
            Some(command) if serving == ServeOptions::default() => command,
            Some(_) => {
                let words =
                    "--listen and --create belong after a command that takes them, or to tidings serve";
                return Err(WrongUse(words.to_owned()).into());
            }
        };
        let settings = CommandLineSettings { store, ..command.settings() };
        let level = match command {
            // Its last lines are the accounts.
            Command::Demo(_) => LevelFilter::WARN,
            _ => logging::DEFAULT_LEVEL,
        };
        let config = Self::start(file.as_deref(), &settings, matches!(command, Command::Serve(_)), level)?;
        match command {
            Command::Serve(_) => {
                let load = || Config::load(file.as_deref(), environment(), &settings);
                serve::run(config, load, || Ok(())).await
            }
            Command::Demo(demo) => demo.run().await,
            Command::Config(_) => print_settings(&with_stored_economy(config).await),
            Command::Create => create::run(config).await,
            Command::Import(ImportCommand::Hn(archive)) => archive.run(&config).await,
            Command::Import(ImportCommand::Links(links)) => links.run(&config).await,
            Command::Import(ImportCommand::Sites(sites)) => sites.run(&config).await,
            Command::Check(check) => check.run(&config).await,
            Command::Export(export) => export.run(&config).await,
            Command::Copy(copy) => copy.run(&config).await,
            Command::Compact(compact) => compact.run(&config).await,
            Command::Erase(erase) => erase.run(&config).await,
            Command::Backup(backup) => backup.run(&config).await,
            Command::Restore(restore) => restore.run(&config).await,
            Command::Move(moving) => moving.run(&config).await,
            Command::Site(site) => site.run(&config).await,
            Command::User(user) => user.run(&config).await,
            Command::Moderate(moderate) => moderate.run(&config).await,
            Command::Status(status) => status.run(&config).await,
            Command::Search(search) => search.run(&config).await,
            Command::Mail(mail) => mail.run(&config).await,
            Command::Generate(generate) => generate.run(Cli::command()),
        }
    }

    /// Loads the settings, and logs from then on. The messages of a command are for the person who has
    /// typed it, so only the log of the server has the format of the settings.
    fn start(
        file: Option<&Path>,
        settings: &CommandLineSettings,
        serves: bool,
        level: LevelFilter,
    ) -> anyhow::Result<Config> {
        let loaded = Config::load(file, environment(), settings);
        if !serves {
            logging::start(LogFormat::Text, level)?;
        } else if let Ok(config) = &loaded {
            logging::start(config.log.format, level)?;
        } else if let Some(format) = Config::log_format(file, environment()) {
            logging::set_format(format);
        }
        panics::watch();
        let config = loaded?;
        for warning in config.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(config)
    }
}

/// Prints text on standard output; see `say!`.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed.context("cannot write to standard output"),
    }
}

fn print_settings(config: &Config) -> anyhow::Result<()> {
    let mut text = Vec::new();
    config::run(config, &mut text)?;
    print(&String::from_utf8(text)?)
}

/// The settings with what the store says about them, if there is a store.
async fn with_stored_economy(config: Config) -> Config {
    if !config.leaves_economy_to_store() {
        return config;
    }
    // As it is: this only looks.
    let Ok(store) = reach_existing_store(&config).await else { return config };
    let economy = karma::stored_economy(&store).await;
    store.close().await;
    config.with_stored_economy(economy.ok().flatten())
}

/// The command asks for something that cannot be, as clap finds out for most of it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongUse(String);

/// The configured store, to be written to: that of the running server, or if none runs the store itself.
/// Creates it if there is none and nobody has named its path, or with `--create`.
async fn reach_store(config: &Config) -> anyhow::Result<Store> {
    let (url, options) = (config.server.store.as_str(), store_options(config));
    let open = async || {
        let store = present(open_store(config).await?, config).await?;
        migrations::begin_new(&store).await?;
        Ok(store)
    };
    control::reach(config, url, &options, open).await
}

/// The same for an import. If it begins a new site, the store is marked until [`unfinished::end`].
async fn reach_store_to_import(config: &Config, kind: &str, file: &Path) -> anyhow::Result<Store> {
    let (url, options) = (config.server.store.as_str(), store_options(config));
    let filling = &Filling::begun(
        FilledBy::Import,
        format!("{kind} {}", file.display()),
        Timestamp::now(&EngineClock::System),
    );
    let open = async || {
        let store = open_configured(config, Some(filling.first())).await?;
        match unfinished::begin(&store, filling).await? {
            Begun::Other(other) => return Err(UnusableStore::Unfinished(other).into()),
            // Only another program has something there.
            Begun::Filled(_) if !migrations::has_site(&store).await? => {
                unfinished::mark(&store, filling).await?;
                migrations::note_newest(&store).await?;
                return Ok(store);
            }
            Begun::Filled(_) => return present(usable(store).await?, config).await,
            Begun::Again(_) => tracing::info!("an earlier import of this file was interrupted; it goes on"),
            Begun::Anew => {}
        }
        migrations::begin_new(&store).await?;
        Ok(store)
    };
    control::reach(config, url, &options, open).await
}

/// The configured store as it is, which must exist: for commands that read keys, whatever they mean.
async fn reach_existing_store(config: &Config) -> anyhow::Result<Store> {
    reach_existing_store_at(config.server.store.as_str(), config).await
}

/// The same for a store at another address.
async fn reach_existing_store_at(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = store_options(config);
    control::reach(config, url, &options, async || open_existing_store(url, config).await).await
}

/// The store of the configured site, which must exist, in the present layout.
async fn reach_site(config: &Config) -> anyhow::Result<Store> {
    let (url, options) = (config.server.store.as_str(), store_options(config));
    let open = async || present(open_existing_store(url, config).await?, config).await;
    control::reach(config, url, &options, open).await
}

/// Brings a store to the present layout, as the server does when it starts. A new one stays as it is.
async fn present(store: Store, config: &Config) -> anyhow::Result<Store> {
    let site = site_on(&store, config);
    upgrade::bring_to_present(&site, config, EngineClock::System.now_ms()).await?;
    Ok(store)
}

/// The configured site, in a store that a command has reached.
fn site_on(store: &Store, config: &Config) -> Site {
    Site::new(store.clone(), config.rules.clone(), PasswordWorker::default())
        .reached_at(config.site.url.as_str())
        .called(&config.site.name)
}

/// Does something with the configured site, in a store that must exist.
async fn on_site<T>(config: &Config, work: impl AsyncFnOnce(Site) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let store = reach_site(config).await?;
    let done = work(site_on(&store, config)).await;
    store.close().await;
    done
}

/// Opens the configured store as it is. Creates it if there is none and nobody has named its path, or with
/// `--create`.
async fn open_store(config: &Config) -> anyhow::Result<Store> {
    usable(open_configured(config, None).await?).await
}

/// Opens the configured store, whether or not it is whole. `first` is the first key of a new file.
async fn open_configured(config: &Config, first: Option<(String, String)>) -> anyhow::Result<Store> {
    let options = StoreOptions { create: config.creates_store(), first, ..store_options(config) };
    let url = config.server.store.as_str();
    match Store::open(url, &options).await {
        Err(OpenError::Missing(path)) => {
            bail!("there is no store at {path}; to start a new site there, add --create")
        }
        opened if options.create => Ok(opened?),
        opened => with_site(opened?, url).await,
    }
}

/// A Redis database has no site: it is empty, or another program's.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no site in the database at {0}; check its address and number, or, to start a new site there, \
     add --create"
)]
struct NoSite(String);

/// A store that has a site, if it is on Redis. There a new site looks like a site that was lost.
async fn with_site(store: Store, url: &str) -> anyhow::Result<Store> {
    if url.starts_with("redis") && !migrations::has_site(&store).await? {
        return Err(NoSite(without_password(url)).into());
    }
    Ok(store)
}

/// Opens a store that must exist: a mistyped path is an error, not an empty store.
async fn open_existing_store(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = StoreOptions { create: false, ..store_options(config) };
    usable(with_site(Store::open(url, &options).await?, url).await?).await
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

/// Says what to do before a store is served whose home timelines are at this place, which is that of the
/// store it was made from.
fn say_place_apart(place: Option<String>, store: &str) -> anyhow::Result<()> {
    let Some(place) = place else { return Ok(()) };
    say!(
        "its home timelines are at {place}. If another site goes on to use them, run this before you serve the \
         store: tidings move timelines --to store --leave-old --store {}",
        without_password(store)
    );
    Ok(())
}

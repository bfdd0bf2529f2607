//! The commands of `tidings`, one file for each.

/// Prints a line for the person who has typed the command, without a panic if that fails. It is no
/// error that nobody reads it any more, as in `tidings config | head`.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::cli::terminal::print(&format!("{}\n", format_args!($($text)*)))?
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
pub mod here;
pub mod import;
pub mod mail;
pub mod moderate;
pub mod restore;
pub mod search;
pub mod serve;
pub mod site;
pub mod status;
pub mod terminal;
pub mod user;

use crate::config::{CommandLineSettings, Config, LogFormat, environment};
use crate::{WrongUse, control, logging};
use anyhow::bail;
use clap::{Args, CommandFactory, Parser, Subcommand};
pub use here::Here;
use here::{open_existing_store, open_store, store_options};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use terminal::{Call, Local, Need, Surroundings, Terminal, print, progress_bar};
use tidings_domain::Error;
use tidings_domain::accounts::karma;
use tidings_domain::identity;
use tidings_domain::supervision::panics;
use tidings_domain::values::site_settings::SiteTexts;
use tidings_domain::values::{Economy, Timestamp};
use tidings_keyspace::{EngineClock, Store};
use tracing::level_filters::LevelFilter;

/// The name of the program, which comes before its arguments.
const PROGRAM: &str = "tidings";
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
    /// Check the stored data for inconsistencies, and repair it; look for vote rings.
    #[command(subcommand)]
    Check(check::CheckCommand),
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

    /// Whether it works on the configured store, and so runs in the server that has it open. Commands that
    /// [`Command::run_at_store`] does not know never do.
    const fn is_of_store(&self) -> bool {
        match self {
            Self::Check(check) => check.is_of_store(),
            Self::Status(status) => status.is_of_store(),
            _ => true,
        }
    }

    /// The things that it needs of the command line besides the terminal.
    fn need(&self) -> anyhow::Result<Need> {
        Ok(match self {
            Self::Import(ImportCommand::Hn(archive)) => archive.need(),
            Self::Import(ImportCommand::Links(links)) => Need::Input(links.file.clone()),
            Self::Import(ImportCommand::Sites(sites)) => Need::Input(sites.file.clone()),
            Self::Export(export) => export.need(),
            Self::Backup(backup) => backup.need()?,
            Self::User(user) => user.need(),
            _ => Need::Nothing,
        })
    }

    /// Runs it in the server that has the store open, or if none does here.
    async fn run_where_store_is(self, config: Config) -> anyhow::Result<()> {
        let mut local = Local::open(self.need()?)?;
        let server = if self.is_of_store() { control::find(&config).await } else { Ok(None) };
        match (server, self) {
            (Ok(Some(server)), _) => {
                server.run(std::env::args_os(), local.surroundings(), |call| local.answer(call))
            }
            (Ok(None), command) => {
                let here = Here::alone(config);
                let done = Terminal::local(local).run(command.run_at_store(&here)).await;
                here.close().await;
                done
            }
            (Err(error), Self::Status(status)) => status.say_unreachable(&config, error),
            (Err(error), _) => Err(error),
        }
    }

    async fn run_at_store(self, here: &Here) -> anyhow::Result<()> {
        match self {
            Self::Import(ImportCommand::Hn(archive)) => archive.run(here).await,
            Self::Import(ImportCommand::Links(links)) => links.run(here).await,
            Self::Import(ImportCommand::Sites(sites)) => sites.run(here).await,
            Self::Check(check) => check.run(here).await,
            Self::Export(export) => export.run(here).await,
            Self::Compact(compact) => compact.run(here).await,
            Self::Backup(backup) => backup.run(here).await,
            Self::Site(site) => site.run(here).await,
            Self::User(user) => user.run(here).await,
            Self::Moderate(moderate) => moderate.run(here).await,
            Self::Status(status) => status.run(here).await,
            Self::Search(search) => search.run(here).await,
            _ => bail!("this command runs in a process of its own"),
        }
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
            Some(_) => bail!(WrongUse::new(
                "--listen and --create belong after a command that takes them, or to tidings serve"
            )),
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
                serve::run(config, load, |_| Ok(())).await
            }
            Command::Demo(demo) => demo.run().await,
            Command::Config(_) => print(&config::text_of(&with_stored(config).await)),
            Command::Create => create::run(config).await,
            Command::Copy(copy) => copy.run(&config).await,
            Command::Erase(erase) => erase.run(&config).await,
            Command::Restore(restore) => restore.run(&config).await,
            Command::Mail(mail) => mail.run(&config).await,
            Command::Generate(generate) => generate.run(Cli::command()),
            of_store => of_store.run_where_store_is(config).await,
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
        match &loaded {
            _ if !serves => logging::start(LogFormat::Text, level)?,
            Ok(config) => logging::start(config.log.format, level)?,
            Err(_) => logging::set_format(Config::log_format(file, environment())),
        }
        panics::watch();
        let config = loaded?;
        for warning in config.warnings() {
            tracing::warn!("{warning}");
        }
        Ok(config)
    }
}

/// The settings with what the store says about them, if there is a store.
async fn with_stored(config: Config) -> Config {
    let (economy, texts) = stored_settings(&config).await.unwrap_or_default();
    config.with_stored_economy(economy).showing_stored(&texts)
}

/// The settings in a store, as one process tells another.
#[derive(Deserialize)]
struct ToldSettings {
    economy: Option<String>,
    site: BTreeMap<String, String>,
}

async fn stored_settings(config: &Config) -> anyhow::Result<(Option<Economy>, SiteTexts)> {
    if let Some(server) = control::find(config).await? {
        let (command, mut said) = ([PROGRAM, "config"].map(OsString::from), Vec::new());
        server.run(command, Surroundings::default(), |call| {
            if let Call::Print(text) = call {
                said.extend(text);
            }
            Ok(Vec::new())
        })?;
        let ToldSettings { economy, site } = serde_json::from_slice(&said)?;
        let (texts, _) = SiteTexts::parse(|field| site.get(field).map_or("", String::as_str));
        return Ok((economy.and_then(|economy| Economy::parse(&economy)), texts));
    }
    // As it is: this only looks.
    let store = open_existing_store(config.server.store.as_str(), config).await?;
    let stored = settings_in(&store).await;
    store.close().await;
    stored
}

async fn settings_in(store: &Store) -> anyhow::Result<(Option<Economy>, SiteTexts)> {
    Ok((karma::stored_economy(store).await?, identity::stored_texts(store).await?))
}

/// Runs a command that another process has sent to this server. The settings and the store are the server's.
///
/// # Errors
/// A message for the operator.
pub async fn run_in_server(arguments: Vec<Vec<u8>>, here: Here) -> anyhow::Result<()> {
    let parsed = Cli::try_parse_from(arguments.into_iter().map(OsString::from_vec));
    match parsed.map_err(|error| WrongUse::new(error.to_string()))?.command {
        // The settings are those of the command line, but for what the store says.
        Some(Command::Config(_)) => {
            let (economy, site) = settings_in(&here.store().await?).await?;
            say!(
                "{}",
                serde_json::json!({"economy": economy.map(|economy| economy.to_string()), "site": site})
            );
            Ok(())
        }
        Some(command) if command.is_of_store() => command.run_at_store(&here).await,
        _ => bail!("this command runs in a process of its own"),
    }
}

/// The time now.
pub(crate) fn now() -> Timestamp {
    Timestamp::now(&EngineClock::System)
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

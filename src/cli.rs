//! The commands of `tidings`, one file for each.

pub mod check;
pub mod config;
pub mod copy;
pub mod import;
pub mod serve;
pub mod user;

use crate::config::{CommandLineSettings, Config, environment};
use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use tidings_keyspace::{Store, StoreOptions};
use tracing_subscriber::EnvFilter;

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
    /// Use this store: redb:PATH, redis://HOST or rediss://HOST [default: redb:tidings.redb].
    #[arg(long, value_name = "URL", global = true)]
    store: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the site.
    Serve,
    /// Print every setting with its meaning, its value and where the value comes from.
    Config,
    /// Import stories or votes on sites.
    #[command(subcommand)]
    Import(ImportCommand),
    Copy(copy::CopyCommand),
    /// Check derived data against its source, and repair it; look for vote rings.
    #[command(subcommand)]
    Check(check::CheckCommand),
    #[command(subcommand)]
    User(user::UserCommand),
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
        let Options { config, listen, store } = self.options;
        let config = Config::load(config.as_deref(), environment(), &CommandLineSettings { listen, store })?;
        match self.command.unwrap_or(Command::Serve) {
            Command::Serve => serve::run(config).await,
            Command::Config => print_settings(&config),
            Command::Import(ImportCommand::Links(links)) => links.run(&config).await,
            Command::Import(ImportCommand::Sites(sites)) => sites.run(&config).await,
            Command::Check(check) => check.run(&config).await,
            Command::Copy(copy) => copy.run(&config).await,
            Command::User(user) => user.run(&config).await,
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

/// Logs to standard error, by default from the level `info` up. `TIDINGS_LOG` sets
/// another level, for example `TIDINGS_LOG=debug`.
pub fn log_to_stderr() {
    let filter = EnvFilter::builder().with_env_var("TIDINGS_LOG").try_from_env();
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .init();
}

/// Opens the configured store, and creates it if there is none.
async fn open_store(config: &Config) -> anyhow::Result<Store> {
    Ok(Store::open(config.server.store.as_str(), &store_options(config)).await?)
}

/// Opens a store that must exist: a mistyped path is an error, not an empty store.
async fn open_existing_store(url: &str, config: &Config) -> anyhow::Result<Store> {
    let options = StoreOptions { create: false, ..store_options(config) };
    Ok(Store::open(url, &options).await?)
}

fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        timeout: Duration::from_secs(config.server.store_timeout_seconds),
        cache_bytes: usize::try_from(config.server.cache_mebibytes.saturating_mul(1024 * 1024))
            .unwrap_or(usize::MAX),
        ..StoreOptions::default()
    }
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

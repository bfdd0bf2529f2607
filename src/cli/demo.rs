//! `tidings demo`: serves a sample site with two months of activity. Its folder is deleted at the end.

mod community;
mod login_links;

use super::{now, serve};
use crate::WrongUse;
use crate::config::Config;
use anyhow::{Context, bail};
use clap::Args;
use login_links::LoginLinks;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use tidings_language::speak;
use tidings_web::App;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Try a sample site with two months of activity, without setting anything up.
///
/// The site is in a temporary folder, which Ctrl-C deletes. Only this machine reaches it, unless --listen says
/// otherwise. Last, it prints three accounts with their passwords, and links that log in. Settings and variables have
/// no effect on it.
#[derive(Debug, Args)]
pub struct DemoCommand {
    /// Listen on this address and port [default: a free port of 127.0.0.1].
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Show the pages in this language: en, de, es, fr, it or ja. What people wrote stays English.
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Every command has these; the demo has no use for them.
    #[arg(long, hide = true)]
    config: Option<PathBuf>,
    #[arg(long, hide = true)]
    store: Option<String>,
}

impl DemoCommand {
    /// Makes the site and serves it until it is told to stop.
    ///
    /// # Errors
    /// When the folder or a port is not available.
    pub async fn run(self) -> anyhow::Result<()> {
        if self.config.is_some() || self.store.is_some() {
            bail!(WrongUse::new(
                "tidings demo has settings and a store of its own; leave out --config and --store"
            ));
        }
        let stop = serve::stop_signal()?;
        let folder =
            tempfile::Builder::new().prefix("tidings-demo-").tempdir().context("cannot create a folder")?;
        let mut settings = settings(folder.path(), with_port(self.listen)?);
        settings.extend(self.language.map(|language| ("TIDINGS_SITE__LANGUAGE".to_owned(), language)));
        let load = || Config::from_variables(settings.clone());
        let config = load()?;
        // Messages to people are made in it.
        speak(config.languages.speakable(&config.rules.site.language));
        // Nobody needs a log of what generated people do.
        let now = now();
        let making = community::make(&config, now).with_subscriber(NoSubscriber::default());
        let accounts = tokio::select! {
            made = making => made?,
            () = stop => return Ok(()),
        };
        let links = LoginLinks::open(&config, accounts)?;
        let url = config.site.url.clone();
        let greet = move |app: &App| {
            say!(
                "Tidings demo: {url}\nCtrl-C ends it and deletes its data. Three accounts, with passwords and links that log in:"
            );
            for (account, link) in links.each()? {
                say!("  {:<14} {}  {link}", account.name, account.password);
            }
            tokio::spawn(links.serve(app.clone()));
            Ok(())
        };
        serve::run(config, load, greet).await
    }
}

/// The settings of the demo, as variables.
fn settings(folder: &Path, listen: SocketAddr) -> Vec<(String, String)> {
    let ip = listen.ip();
    let host = if ip.is_loopback() || ip.is_unspecified() {
        "localhost".to_owned()
    } else {
        SocketAddr::new(ip, 0).to_string().trim_end_matches(":0").to_owned()
    };
    let settings = [
        ("SERVER__LISTEN", listen.to_string()),
        ("SERVER__STORE", format!("redb:{}", folder.join("demo.redb").display())),
        ("SERVER__CREATE", "true".to_owned()),
        ("SITE__URL", format!("http://{host}:{}", listen.port())),
        // Its stories are English, whatever its pages are.
        ("SEARCH__LANGUAGE", "english".to_owned()),
        // Others may have the port.
        ("METRICS__LISTEN", String::new()),
    ];
    settings.map(|(name, value)| (format!("TIDINGS_{name}"), value)).into()
}

/// The address to listen on, with a port that nobody listens on if none was chosen.
fn with_port(chosen: Option<SocketAddr>) -> anyhow::Result<SocketAddr> {
    let address = chosen.unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into());
    if address.port() != 0 {
        return Ok(address);
    }
    let socket = TcpListener::bind(address).context("cannot find a free port")?;
    Ok(socket.local_addr()?)
}

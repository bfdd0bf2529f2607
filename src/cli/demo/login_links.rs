//! Links that log in to the demo: a small server beside it, which opens a session and sets its cookie. Browsers send a
//! cookie to all ports of a host.

use super::community::Account;
use crate::config::Config;
use anyhow::Context;
use std::net::IpAddr;
use std::time::Duration;
use tidings_domain::accounts::session_store::Device;
use tidings_domain::accounts::sessions;
use tidings_domain::values::secrets::random_token;
use tidings_web::App;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// The longest that a browser may take to ask.
const PATIENCE: Duration = Duration::from_secs(5);
/// The bytes that are read of a request; its first line is much shorter.
const READ_BYTES: usize = 512;

/// The links of the accounts.
pub(super) struct LoginLinks {
    listener: std::net::TcpListener,
    /// The accounts, each with the secret path of its link.
    accounts: Vec<(String, Account)>,
    site: String,
}

impl LoginLinks {
    /// Listens at a free port beside the site.
    ///
    /// # Errors
    /// When there is no port, or no random number.
    pub(super) fn open(config: &Config, accounts: Vec<Account>) -> anyhow::Result<Self> {
        let listener =
            std::net::TcpListener::bind((config.server.listen.ip(), 0)).context("cannot find a free port")?;
        listener.set_nonblocking(true)?;
        let named = accounts.into_iter().map(|account| Ok((format!("/{}", random_token()?), account)));
        Ok(Self {
            listener,
            accounts: named.collect::<anyhow::Result<_>>()?,
            site: config.site.url.to_string(),
        })
    }

    /// The accounts with their links.
    ///
    /// # Errors
    /// When the port is not known.
    pub(super) fn each(&self) -> anyhow::Result<Vec<(&Account, String)>> {
        let mut link = self.site.parse::<url::Url>()?;
        link.set_port(Some(self.listener.local_addr()?.port())).ok();
        let link = |path: &str| link.join(path).map(String::from);
        self.accounts.iter().map(|(path, account)| Ok((account, link(path)?))).collect()
    }

    /// Answers browsers, for as long as the future lives.
    pub(super) async fn serve(self, app: App) {
        let Self { listener, accounts, site } = self;
        let Ok(listener) = TcpListener::from_std(listener) else { return };
        loop {
            let Ok((connection, from)) = listener.accept().await else { continue };
            timeout(PATIENCE, answer(connection, from.ip(), (&app, &accounts, &site))).await.ok();
        }
    }
}

/// Logs in whoever asks for the path of an account, and leads to the site.
async fn answer(
    mut connection: TcpStream,
    from: IpAddr,
    (app, accounts, site): (&App, &[(String, Account)], &str),
) -> anyhow::Result<()> {
    let mut read = [0; READ_BYTES];
    let length = connection.read(&mut read).await?;
    let request = String::from_utf8_lossy(read.get(..length).unwrap_or_default()).into_owned();
    let path = request.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let cookie = match accounts.iter().find(|(known, _)| known == path) {
        Some((_, Account { name, password })) => {
            let device = Device::new("a link of the demo", from);
            let session = sessions::log_in(&app.site, app.now(), name, password, &device).await?;
            format!("Set-Cookie: auth={}; Path=/; HttpOnly; SameSite=Lax\r\n", session.auth.expose())
        }
        None => String::new(),
    };
    let answer = format!(
        "HTTP/1.1 303 See Other\r\nLocation: {site}\r\n{cookie}Cache-Control: no-store\r\nContent-Length: 0\r\n\
         Connection: close\r\n\r\n"
    );
    connection.write_all(answer.as_bytes()).await?;
    Ok(connection.shutdown().await?)
}

//! `tidings serve`: serves the site until it is told to stop.

use super::open_store;
use crate::config::{Config, MailTls};
use crate::mail::Mailer;
use anyhow::Context;
use std::future::Future;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::accounts::names;
use tidings_domain::articles::ids;
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::site::Site;
use tidings_domain::sites;
use tidings_keyspace::{EngineClock, without_password};
use tidings_web::limits::{MAX_CONNECTIONS, RESERVED_FILES};
use tidings_web::mail::SendMail;
use tidings_web::panics;
use tidings_web::{App, AppParts};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long running requests may take to finish once the server is told to stop.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// The limit of open files on most systems, if it cannot be found out.
const COMMON_OPEN_FILES: usize = 1_024;

/// Serves the site. Prints the address it listens on, as one line.
///
/// # Errors
/// When the store cannot be opened, or the address is not available.
pub async fn run(config: Config) -> anyhow::Result<()> {
    panics::watch();
    let connections = raise_open_files();
    let store = open_store(&config).await?;
    let mailer = Mailer::from_config(&config.mail)?;
    if mailer.is_some() && config.mail.tls == Some(MailTls::None) {
        tracing::warn!("mail.tls is none: reset links and the relay's password are sent in clear");
    }
    let listen = config.server.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen}: is another program using it? Choose another address with --listen ADDR")
    })?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?).ok();
    tracing::info!(
        store = without_password(config.server.store.as_str()),
        mail = mailer.is_some(),
        "serving"
    );

    let site = Site::new(store.clone(), config.rules.clone(), PasswordWorker::default())
        .reached_at(config.site.url.as_str())
        .sending_mail(mailer.is_some())
        .with_cache_bytes(config.server.site_cache_mebibytes.saturating_mul(MEBIBYTE));
    let site = Arc::new(site);
    raise_article_count(&site).await;
    tokio::spawn(finish_bans(site.clone()));
    tokio::spawn(fold_usernames(site.clone()));
    let mailer = mailer.map(|mailer| Arc::new(mailer) as Arc<dyn SendMail>);
    let mut settings = config.web_settings();
    settings.transport.connections = connections;
    let app = AppParts { site, settings, mailer, clock: EngineClock::System, live: Arc::default() };
    serve_until(app.into(), listener, stop_signal()?).await;
    store.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// Makes sure that a program which draws numbers of articles gets none that is in use. The
/// site works without it.
async fn raise_article_count(site: &Site) {
    match ids::raise_article_count(site).await {
        Ok(false) => {}
        Ok(true) => tracing::info!("raised the counter of articles to that of stories"),
        Err(error) => tracing::warn!(%error, "cannot raise the counter of articles"),
    }
}

/// Lets the process open as many files as it is allowed to. Returns how many connections
/// there can be.
fn raise_open_files() -> usize {
    match rlimit::increase_nofile_limit(u64::MAX) {
        Ok(files) => {
            let connections = connections_within(usize::try_from(files).unwrap_or(usize::MAX));
            tracing::info!(files, connections, "raised the limit of open files");
            connections
        }
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            connections_within(COMMON_OPEN_FILES)
        }
    }
}

/// How many connections there can be with so many open files.
fn connections_within(files: usize) -> usize {
    files.saturating_sub(RESERVED_FILES).clamp(1, MAX_CONNECTIONS)
}

/// Finishes bans that an earlier process was interrupted in.
async fn finish_bans(site: Arc<Site>) {
    match sites::finish_bans(&site).await {
        Ok(0) => {}
        Ok(voters) => tracing::info!(voters, "finished interrupted bans"),
        Err(error) => tracing::warn!(%error, "cannot finish interrupted bans"),
    }
}

/// Adds the accounts of an older version, or of Lamer News, to the index of usernames.
async fn fold_usernames(site: Arc<Site>) {
    if let Err(error) = names::fold_usernames(&site, u64::MAX).await {
        tracing::warn!(%error, "the index of usernames is not complete; the next start will continue");
    }
}

/// Serves until `stop` completes, then gives requests some time to finish.
async fn serve_until(app: App, listener: TcpListener, stop: impl Future<Output = ()>) {
    // Before anybody is shown an error.
    app.brand().await;
    let (stop_sender, mut stop_receiver) = watch::channel(false);
    let server = tidings_web::serve(app, listener, async move {
        // An error means that the sender is gone: stop as well.
        stop_receiver.wait_for(|stop| *stop).await.ok();
    });
    tokio::pin!(server);
    tokio::select! {
        () = &mut server => return,
        () = stop => {}
    }
    tracing::info!("stopping");
    stop_sender.send(true).ok();
    if tokio::time::timeout(SHUTDOWN_GRACE, server).await.is_err() {
        tracing::warn!("some connections were still open");
    }
}

/// Completes when the process is asked to end (Ctrl-C, or a service manager).
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_some_files_for_the_rest() {
        for (files, connections) in [
            (0, 1),
            (RESERVED_FILES + 1, 1),
            (1_024, 1_024 - RESERVED_FILES),
            (MAX_CONNECTIONS + RESERVED_FILES, MAX_CONNECTIONS),
            (usize::MAX, MAX_CONNECTIONS),
        ] {
            assert_eq!(connections_within(files), connections, "{files}");
        }
    }
}

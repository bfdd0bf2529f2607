//! `tidings serve`: serves the site until it is told to stop.

mod listen;
mod reload;
mod service_manager;
mod store;

use super::here::site_with;
use super::now;
use crate::backup::schedule::{self, Schedule};
use crate::backup::take::on_own_thread;
use crate::config::{Config, MailTls};
use crate::control::Control;
use crate::mail::Mailer;
use crate::metrics::MetricsEndpoint;
use crate::{WrongUse, compaction, upgrade};
use anyhow::bail;
use reload::Reloading;
use std::convert::Infallible;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tidings_domain::accounts::{first_administrator, karma};
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::identity::stored_texts;
use tidings_domain::passwords::PasswordWorker;
use tidings_domain::supervision::{self, Policy, panics, supervise};
use tidings_domain::values::Economy;
use tidings_domain::values::site_settings::SiteTexts;
use tidings_domain::{Site, keys, migrations, sites};
use tidings_keyspace::{EngineClock, Store, without_password};
use tidings_search::index::Language;
use tidings_web::limits::{MAX_CONNECTIONS, RESERVED_FILES};
use tidings_web::mail::SendMail;
use tidings_web::{App, Listening};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};

/// The name of what accepts connections, among the workers.
const SERVER: &str = "server";

/// The limit of open files on most systems, if it cannot be found out.
const COMMON_OPEN_FILES: usize = 1_024;

/// Serves the site. Prints the address it listens on, as one line, and what `greet` does. `load` reads the settings
/// again.
///
/// # Errors
/// When the store cannot be opened, or the address is not available.
pub async fn run(
    config: Config,
    load: impl Fn() -> Result<Config, WrongUse>,
    greet: impl FnOnce(&App) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    panics::watch();
    supervision::end_process_on_failure();
    let mut stop = std::pin::pin!(stop_signal()?);
    let hangups = signal(SignalKind::hangup())?;
    // A write beyond the limit on the size of files would end the process. Handled, it is an error
    // like that of a full disk, and only makes the store read only.
    drop(signal(SignalKind::from_raw(libc::SIGXFSZ))?);
    let connections = raise_open_files();
    // Before anything is counted.
    let metrics = MetricsEndpoint::open(&config.metrics).await;
    let mailer = mailer(&config)?;
    // Before the store, which may take a while: clients wait meanwhile.
    let socket = listen::listen(config.server.listen).await?;
    let opened = tokio::select! {
        opened = store::open(&config) => opened?,
        () = &mut stop => return Ok(()),
    };
    let store = opened.store;
    let texts = if opened.is_awaited { SiteTexts::default() } else { stored_texts(&store).await? };
    let search = config.search.language.on(&texts.language(&config.rules));
    let app = app(&config, (store.clone(), socket.address), mailer, (connections, search))?;
    let economy = match opened.is_awaited {
        true => None,
        false => upgrade(&app, &config).await?,
    };
    let control = Control::listen(&config)?;
    writeln!(std::io::stdout(), "listening on http://{}", socket.address).ok();
    tracing::info!(
        store = without_password(config.server.store.as_str()),
        mail = app.mailer.is_some(),
        "serving"
    );

    greet(&app)?;
    if let Some(metrics) = metrics {
        tokio::spawn(metrics.serve(app.clone()));
    }
    let commands = control.answer(&config, &app);
    let beside = async {
        let economy = if opened.is_awaited {
            store::wait_for(&store, &config).await?;
            upgrade(&app, &config).await?
        } else {
            economy
        };
        prepare(&app, &config).await;
        service_manager::tell_ready();
        let load = || Ok(load()?.with_stored_economy(economy));
        let started = config.clone().with_stored_economy(economy);
        let reloading = Reloading { app: &app, started: &started, load };
        let watchdog = || service_manager::feed_watchdog(&store);
        tokio::join!(reloading.run(hangups), supervise("watchdog", Policy::UntilDone, watchdog));
        std::future::pending().await
    };
    let [drain, stopping] =
        [config.server.drain_seconds, config.server.stop_seconds].map(Duration::from_secs);
    let (told, is_told) = oneshot::channel();
    let stop = async {
        drained(&app, stop, drain).await;
        told.send(()).ok();
    };
    let serving = serve_until(app.clone(), socket.listening, stop, beside);
    let ending = async {
        let Some(served) = supervision::catch(SERVER, serving).await else {
            // Nobody would accept connections any more.
            supervision::fail(SERVER);
            bail!("the server has failed");
        };
        commands.stop().await;
        store.close().await;
        tracing::info!("stopped");
        served
    };
    let overdue = async {
        if is_told.await.is_err() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(stopping).await;
    };
    tokio::select! {
        served = ending => served,
        () = overdue => {
            // The last clone would wait for the disk. The journal has all that was acknowledged.
            Box::leak(Box::new(store.clone()));
            let seconds = stopping.as_secs();
            tracing::error!(seconds, "the store does not close; the process ends with what is acknowledged");
            Ok(())
        }
    }
}

/// Prepares the store. systemd waits for a migration that advances. Returns the economy that the store names,
/// which holds from now on if no setting names another.
async fn upgrade(app: &App, config: &Config) -> anyhow::Result<Option<Economy>> {
    let now_ms = EngineClock::System.now_ms();
    upgrade::prepare(&app.site, config, now_ms, service_manager::tell_migrating).await?;
    // From now on the version is there. Without it the database has lost the site.
    let layout = migrations::LAYOUT_VERSION.to_string();
    app.site.store.guard((keys::LAYOUT_VERSION, &layout), keys::UNFINISHED);
    let economy = karma::stored_economy(&app.site.store).await?;
    if economy.is_some() {
        app.site.rules.replace(config.clone().with_stored_economy(economy).rules);
    }
    for (setting, given) in stored_texts(&app.site.store).await?.overruled(&app.site.rules) {
        let name = setting.setting;
        tracing::warn!(
            "{name} is set by {given} and stored, too; the stored one, of /admin/site, is not used"
        );
    }
    Ok(economy)
}

/// The sender of mail, if a relay is configured.
fn mailer(config: &Config) -> anyhow::Result<Option<Mailer>> {
    let mailer = Mailer::from_config(&config.mail)?;
    if mailer.is_some() && config.mail.tls == Some(MailTls::None) {
        tracing::warn!("mail.tls is none: reset links and the relay's password are sent in clear");
    }
    Ok(mailer)
}

/// The site and everything that its handlers need.
fn app(
    config: &Config,
    (store, address): (Store, SocketAddr),
    mailer: Option<Mailer>,
    (connections, search): (usize, Option<Language>),
) -> anyhow::Result<App> {
    let site = site_with(&store, config, PasswordWorker::default())?
        .listening_on(address.ip())
        .sending_mail(mailer.is_some())
        .with_cache_bytes(config.server.site_cache_mebibytes.saturating_mul(MEBIBYTE));
    let mut settings = config.web_settings();
    settings.transport.connections = connections;
    settings.search.language = search;
    let mailer = mailer.map(|mailer| Arc::new(mailer) as Arc<dyn SendMail>);
    Ok(App::new(site, settings, mailer, EngineClock::System))
}

/// Runs once when the store is there. Does the work before the site is ready, and starts the work beside it.
async fn prepare(app: &App, config: &Config) {
    // It was not known what the site is called if the store was away.
    app.brand().await;
    let site = &app.site;
    begin("bans at the start", Policy::UntilDone, site, finish_bans);
    begin("completion at the start", Policy::UntilDone, site, complete_lamer_news);
    begin("first administrator", Policy::UntilDone, site, announce_first_administrator);
    begin("compaction", Policy::Forever, app, compaction::watch);
    if let Some(schedule) = Schedule::of(&config.backup) {
        begin("backups", Policy::Forever, site, move |site| {
            schedule::run(site, schedule.clone(), EngineClock::System)
        });
    }
}

/// Starts supervised work on something.
fn begin<On: Clone + Send + 'static, Work: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    policy: Policy,
    on: &On,
    work: impl Fn(On) -> Work + Send + 'static,
) {
    let on = on.clone();
    tokio::spawn(supervise(name, policy, move || work(on.clone())));
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

/// Logs the link for the first administrator if there is no administrator. Tries until the store
/// answers.
async fn announce_first_administrator(site: Arc<Site>) {
    const PAUSE: Duration = Duration::from_secs(5);
    while let Err(error) = first_administrator::announce(&site, now()).await {
        tracing::warn!(%error, "cannot find out whether there is an administrator");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Finishes bans that an earlier process was interrupted in.
async fn finish_bans(site: Arc<Site>) {
    match sites::finish_bans(&site).await {
        Ok(0) => {}
        Ok(voters) => tracing::info!(voters, "finished interrupted bans"),
        Err(error) => tracing::warn!(%error, "cannot finish interrupted bans"),
    }
}

/// Adds what a store of Lamer News lacks, and what a Lamer News that runs on the same store has left out since the
/// last start. The site works without it. It has a thread of its own, which gives way to others.
async fn complete_lamer_news(site: Arc<Site>) {
    let complete =
        move |_: &dyn Fn() -> bool, runtime: Handle| runtime.block_on(upgrade::complete(&site, |_| {}));
    if let Err(error) = on_own_thread("completion", complete).await {
        let error = format!("{error:#}");
        tracing::warn!(error, "the store lacks something; the next start will continue");
    }
}

/// Completes when the site is to stop accepting connections: the drain time after `stop`. Load
/// balancers see meanwhile that the site is not ready, and send requests elsewhere.
async fn drained(app: &App, stop: Pin<&mut impl Future<Output = ()>>, drain: Duration) {
    stop.await;
    announce_stop(app, drain);
    tokio::time::sleep(drain).await;
}

/// Tells everybody who asks that the site stops.
fn announce_stop(app: &App, drain: Duration) {
    app.health.stop();
    service_manager::tell_stopping(drain);
    tracing::info!("stopping");
}

/// Serves until `stop` completes, and then until the server has ended. `beside` runs meanwhile; if
/// it fails, the site stops.
async fn serve_until(
    app: App,
    listening: Listening,
    stop: impl Future<Output = ()>,
    beside: impl Future<Output = anyhow::Result<Infallible>>,
) -> anyhow::Result<()> {
    // Before anybody is shown an error.
    app.brand().await;
    let (stop_sender, mut stop_receiver) = watch::channel(false);
    let server = tidings_web::serve(app.clone(), listening, async move {
        // An error means that the sender is gone: stop as well.
        stop_receiver.wait_for(|stop| *stop).await.ok();
    });
    let mut server = std::pin::pin!(server);
    let outcome = tokio::select! {
        () = &mut server => return Ok(()),
        () = stop => Ok(()),
        Err(error) = beside => {
            announce_stop(&app, Duration::ZERO);
            Err(error)
        }
    };
    stop_sender.send(true).ok();
    server.await;
    outcome
}

/// Completes when the process is asked to end (Ctrl-C, or a service manager).
pub(super) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
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

//! SIGHUP: reads the settings again, and takes over those that can change while the site runs.

use super::service_manager;
use crate::WrongUse;
use crate::config::Config;
use tidings_domain::values::{AccountRules, Rules};
use tidings_web::App;
use tidings_web::settings::Settings;
use tokio::signal::unix::Signal;

/// The beginnings of the names of settings that can change while the site runs.
const CHANGEABLE: [&str; 10] = [
    "accounts.",
    "karma.",
    "limits.",
    "mail.digest_hour",
    "moderation.",
    "oidc.",
    "ranking.",
    "rates.",
    "timelines.",
    "web.",
];
/// Those among them that need a restart nevertheless, because they depend on others that do.
const FIXED: [&str; 2] = ["accounts.confirm_email", "timelines.store"];

/// Whether a setting can change while the site runs.
fn is_changeable(name: &str) -> bool {
    CHANGEABLE.iter().any(|beginning| name.starts_with(beginning)) && !FIXED.contains(&name)
}

/// The settings of a running site.
pub struct Reloading<'a, Load> {
    pub app: &'a App,
    /// Those of the start.
    pub started: &'a Config,
    /// Reads them again.
    pub load: Load,
}

impl<Load: Fn() -> Result<Config, WrongUse>> Reloading<'_, Load> {
    /// Reads the settings again at each signal, for as long as the future lives.
    pub async fn run(&self, mut hangups: Signal) {
        let mut current = self.started.clone();
        while hangups.recv().await.is_some() {
            service_manager::tell_reloading();
            match (self.load)() {
                Ok(new) => {
                    self.take_over(&current, &new);
                    current = new;
                }
                Err(error) => tracing::error!(%error, "the settings are wrong; the previous ones stay"),
            }
            service_manager::tell_ready();
        }
    }

    /// Takes over what can change, and logs what was changed and what needs a restart.
    fn take_over(&self, current: &Config, new: &Config) {
        let mut taken = new.changed_since(current);
        taken.retain(|name| is_changeable(name));
        let mut left = new.changed_since(self.started);
        left.retain(|name| !is_changeable(name));
        if !taken.is_empty() {
            let confirm_email = self.started.rules.accounts.confirm_email;
            let accounts = AccountRules { confirm_email, ..new.rules.accounts.clone() };
            let site = self.started.rules.site.clone();
            let mut rules = Rules { accounts, site, ..new.rules.clone() };
            let kept = self.started.rules.configured.iter().filter(|(name, _)| !is_changeable(name));
            rules.configured.extend(kept.map(|(name, as_started)| (*name, as_started.clone())));
            self.app.site.rules.replace(rules);
            let now = &*self.app.settings;
            self.app.settings.replace(Settings {
                site: now.site.clone(),
                request_timeout: now.request_timeout,
                transport: now.transport.clone(),
                ..new.web_settings()
            });
        }
        match (taken.is_empty(), left.is_empty()) {
            (false, _) => tracing::info!(changed = taken.join(", "), "read the settings again"),
            (true, true) => tracing::info!("read the settings again: nothing has changed"),
            // The next line says it.
            (true, false) => {}
        }
        if !left.is_empty() {
            tracing::warn!(settings = left.join(", "), "these settings have changed and need a restart");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changeable_name_is_one_of_settings() {
        let config = Config::from_variables::<&str, &str>([]).unwrap();
        let names: Vec<&str> = config.describe().iter().map(|line| line.name).collect();
        for beginning in CHANGEABLE {
            assert!(names.iter().any(|name| name.starts_with(beginning)), "{beginning}");
        }
        assert!(FIXED.iter().all(|name| names.contains(name)));
        assert!(is_changeable("rates.vote_per_account") && !is_changeable("accounts.confirm_email"));
        assert!(!is_changeable("server.listen") && !is_changeable("mail.relay"));
    }
}

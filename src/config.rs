//! The settings of a server, from four layers: default, file, environment,
//! command line; a later layer wins.
//!
//! Every setting is declared once, in `settings`. A wrong or unknown setting
//! stops the start and names itself, so nothing is silently ignored.

mod settings;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::WrongUse;
use tidings_domain::cache::MEBIBYTE;
use tidings_domain::values::site_settings::{Configured, SITE_SETTINGS, SiteSetting, SiteTexts};
use tidings_domain::values::{Economy, KarmaRules, Rules, SiteReaders};
use tidings_web::languages::Languages;
use tidings_web::settings::{OidcSettings, SearchSettings, TitleSettings, TransportSettings};

pub use self::settings::{
    Backup, Feeds, Log, Mail, Metrics, Oidc, Search, Server, Site, Sites, Timelines, Web,
};
pub use self::values::{
    HostName, HubUrl, IssuerUrl, LogFormat, MailTls, Relay, SearchLanguage, Secret, StoreUrl, TimelinesUrl,
    file_of, folder_of,
};

use self::settings::{REPLACED, Setting};
use self::values::{CONCEALED, FromText, ValueKind};

/// The prefix of the environment variables that are settings.
const VARIABLE_PREFIX: &str = "TIDINGS_";
/// Sets what is logged, before any setting is read; see `docs/operating.md`.
pub const LOG_VARIABLE: &str = "TIDINGS_LOG";

/// The setting that other settings have their defaults from, and that the store may set if no layer does.
pub const ECONOMY: &str = "karma.economy";

/// The effective settings. `Debug` shows no secrets.
#[derive(Clone, PartialEq)]
pub struct Config {
    /// Where to listen and what to store in.
    pub server: Server,
    /// How the site presents itself.
    pub site: Site,
    /// How feeds are published.
    pub feeds: Feeds,
    /// Where home timelines are. The other settings of timelines are among the rules.
    pub timelines: Timelines,
    /// How mail is sent.
    pub mail: Mail,
    /// How pages are served.
    pub web: Web,
    /// Votes on web sites.
    pub sites: Sites,
    /// The backups that the server makes.
    pub backup: Backup,
    /// Logging in through an OpenID provider. The rules for it are among the rules.
    pub oidc: Oidc,
    /// The search of this server.
    pub search: Search,
    /// The languages that the site can speak.
    pub languages: Languages,
    /// How lines of the log look.
    pub log: Log,
    /// Where metrics are.
    pub metrics: Metrics,
    /// How the site behaves.
    pub rules: Rules,
    /// The texts of which all this was read.
    layers: Layers,
}

/// The settings that the command line sets; `None` where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLineSettings {
    /// `--listen ADDR`, which is `server.listen`.
    pub listen: Option<String>,
    /// `--store URL`, which is `server.store`.
    pub store: Option<String>,
    /// `--create`, which is `server.create = true`.
    pub create: bool,
}

/// One effective setting, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingLine {
    /// The name with its section: `server.listen`.
    pub name: &'static str,
    /// The value as it is written in TOML; a secret as `"***"`.
    pub value: String,
    /// Whether the value is a secret, which is not shown.
    pub is_concealed: bool,
    /// The layer that set it.
    pub origin: Origin,
    /// Its purpose, in one line.
    pub meaning: &'static str,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, strum::Display)]
pub enum Origin {
    /// The default.
    #[strum(to_string = "default")]
    Default,
    /// The file given by `--config`.
    #[strum(to_string = "file {0}")]
    File(String),
    /// An environment variable.
    #[strum(to_string = "variable {0}")]
    Variable(String),
    /// An option on the command line.
    #[strum(to_string = "flag {0}")]
    Flag(&'static str),
    /// The setting `karma.economy`, which has other defaults.
    #[strum(to_string = "default of karma.economy")]
    Economy,
    /// The store of the site.
    #[strum(to_string = "the key site of the store")]
    Store,
}

/// The error for a setting whose value has the right form, and cannot be used for this reason.
pub fn unusable_setting(name: &str, reason: impl fmt::Display) -> WrongUse {
    WrongUse::new(format!("the setting {name} cannot be used: {reason}"))
}

impl Config {
    /// Reads the settings from all layers. Variables that do not begin with
    /// `TIDINGS_` are ignored.
    ///
    /// # Errors
    /// When the file cannot be read or parsed, or a setting is unknown or wrong.
    pub fn load(
        file: Option<&Path>,
        environment: impl Iterator<Item = (String, String)>,
        flags: &CommandLineSettings,
    ) -> Result<Self, WrongUse> {
        let mut layers = Layers::defaults();
        file.map_or(Ok(()), |path| layers.add_file(path))?;
        layers.add_environment(environment)?;
        layers.add_flags(flags);
        layers.follow_economy();
        let mut config = settings::build(layers)?;
        let translations =
            Some(Path::new(&config.site.translations)).filter(|folder| !folder.as_os_str().is_empty());
        let languages = Languages::read(translations);
        let languages =
            languages.and_then(|languages| languages.demand(&config.rules.site.language).map(|()| languages));
        config.languages = languages.map_err(|error| WrongUse::new(error.to_string()))?;
        match config.contradiction() {
            Some((name, expected)) => {
                let (value, origin) = config.layers.value(name);
                Err(wrong(name, value, origin, expected))
            }
            None => Ok(config),
        }
    }

    /// Reads the settings from variables alone.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn from_variables<Name: Into<String>, Value: Into<String>>(
        variables: impl IntoIterator<Item = (Name, Value)>,
    ) -> Result<Self, WrongUse> {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self::load(None, variables, &CommandLineSettings::default())
    }

    /// The first setting that does not go with another, and what is expected of it.
    fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let Self { oidc, rules: Rules { accounts, site, .. }, .. } = self;
        let (has_relay, has_issuer) = (self.mail.relay.is_some(), oidc.issuer.is_some());
        let is_closed = site.readers == SiteReaders::Members;
        let has_question = !accounts.signup_question.is_empty();
        let lacks_openid = !oidc.scopes.split(' ').any(|scope| scope == "openid");
        let lacks_secret = oidc.client_secret_file.is_empty();
        let contradictions = [
            (accounts.confirm_email && !has_relay, "accounts.confirm_email", "false without mail.relay"),
            (
                is_closed && self.feeds.hub.is_some(),
                "site.readers",
                "everyone with feeds.hub, which anyone can read",
            ),
            (has_issuer && oidc.client_id.is_empty(), "oidc.client_id", "the id of this site at oidc.issuer"),
            (
                has_issuer && lacks_secret,
                "oidc.client_secret_file",
                "the file with the secret of this site at oidc.issuer",
            ),
            (has_issuer && lacks_openid, "oidc.scopes", "openid among them"),
            (self.rules.oidc.only && !has_issuer, "oidc.only", "false without oidc.issuer"),
            (
                has_question && accounts.signup_answers.is_empty(),
                "accounts.signup_question",
                "empty without accounts.signup_answers",
            ),
        ];
        contradictions.into_iter().find_map(|(is_there, name, expected)| is_there.then_some((name, expected)))
    }

    /// Sentences about settings that can be used and that an operator should change.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.languages.warnings();
        for network in self.web.trusted_proxies.iter().filter(|network| network.prefix_len() == 0) {
            warnings.push(format!(
                "web.trusted_proxies has {network}, which is everybody: any visitor can claim any address, and pass \
                 limits and bans so; name only the addresses of your proxies"
            ));
        }
        if !self.mail.username.is_empty() && self.mail.relay.is_none() {
            warnings.push(
                "mail.username is set and mail.relay is not, so no mail is sent; set mail.relay, or remove \
                 mail.username"
                    .to_owned(),
            );
        }
        warnings
    }

    /// The same settings for a site whose store names an economy. The settings take precedence.
    #[must_use]
    pub fn with_stored_economy(self, stored: Option<Economy>) -> Self {
        let Some(stored) = stored.filter(|_| self.is_default(ECONOMY)) else { return self };
        let mut layers = self.layers.clone();
        layers.values.insert(ECONOMY, (stored.to_string(), Origin::Store));
        layers.follow_economy();
        // They were read before.
        let Ok(mut config) = settings::build(layers) else { return self };
        config.languages = self.languages;
        if stored == Economy::Lamer {
            config.rules.karma.economy = Economy::LamerOfStore;
        }
        config
    }

    /// The same settings, to be shown, with those that administrators have set on the page of the site.
    #[must_use]
    pub fn showing_stored(mut self, stored: &SiteTexts) -> Self {
        for setting in SITE_SETTINGS.iter().filter(|setting| !setting.setting.is_empty()) {
            if let Some(text) = stored.in_force(&self.rules, setting.field) {
                self.layers.values.insert(setting.setting, (text.to_owned(), Origin::Store));
            }
        }
        self
    }

    /// Whether no layer sets a setting.
    pub fn is_default(&self, name: &str) -> bool {
        *self.layers.value(name).1 == Origin::Default
    }

    /// How lines of the log must look, although [`Config::load`] finds a setting wrong.
    pub fn log_format(file: Option<&Path>, environment: impl Iterator<Item = (String, String)>) -> LogFormat {
        let mut layers = Layers::defaults();
        // Faults are told elsewhere, and whatever is right is there.
        file.and_then(|path| layers.add_file(path).err());
        layers.add_environment(environment).err();
        layers.read("log.format", &ValueKind::Form("")).unwrap_or(LogFormat::Text)
    }

    /// Whether the file of the embedded store may be created: a file at the default path always,
    /// one that somebody named only on request, so that a typo starts no empty site by accident.
    pub fn creates_store(&self) -> bool {
        self.server.create || self.is_default("server.store")
    }

    /// The settings that the pages and calls of the site depend on.
    pub fn web_settings(&self) -> tidings_web::settings::Settings {
        let Site { name, url, description, contact, translations: _ } = self.site.clone();
        tidings_web::settings::Settings {
            site: tidings_web::settings::SiteSettings {
                name,
                url,
                description,
                contact: contact.0,
                old_hosts: self.server.old_hosts.iter().map(|HostName(name)| name.clone()).collect(),
                languages: self.languages.clone(),
            },
            trusted_proxies: self.web.trusted_proxies.clone(),
            vote_origins: self.sites.vote_origins.clone(),
            hub: self.feeds.hub.clone().map(|HubUrl(url)| url),
            gravatars: self.web.gravatars,
            digest_hour: self.mail.digest_hour,
            request_timeout: Duration::from_secs(self.server.request_timeout_seconds),
            titles: TitleSettings { is_on: self.web.fetch_titles, ..TitleSettings::default() },
            transport: self.transport(),
            keep_figures_every: tidings_web::server::figures::KEEP_FIGURES_EVERY,
            store_folder: self.server.store.folder(),
            search: self.search_settings(),
            oidc: self.oidc_settings(),
        }
    }

    fn oidc_settings(&self) -> Option<OidcSettings> {
        let Oidc { issuer, client_id, client_secret_file, name, scopes, groups_claim } = self.oidc.clone();
        let IssuerUrl(issuer) = issuer?;
        Some(OidcSettings {
            client_id,
            client_secret_file: client_secret_file.into(),
            name,
            scopes,
            groups_claim,
            ..OidcSettings::of(issuer)
        })
    }

    /// The search as the server needs to know it.
    pub fn search_settings(&self) -> SearchSettings {
        let half = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
        SearchSettings {
            is_on: self.search.enabled,
            folder: match &*self.search.folder {
                "" => self.server.store.search_folder(),
                folder => Some(folder.into()),
            },
            language: self.search.language.on(&self.rules.site.language),
            threads: match usize::try_from(self.search.threads) {
                Ok(threads) if threads > 0 => threads,
                _ => half,
            },
            ..SearchSettings::default()
        }
    }

    fn transport(&self) -> TransportSettings {
        // Never saturates where addresses have 64 bits.
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        TransportSettings {
            hosts: self.server.hosts.iter().map(|HostName(name)| name.clone()).collect(),
            connections_per_address: whole(self.server.connections_per_address),
            writes_at_once: whole(self.server.writes_at_once),
            answers_bytes: whole(self.server.answers_mebibytes.saturating_mul(MEBIBYTE)),
            ..TransportSettings::default()
        }
    }

    /// The names of the settings whose values differ from those before, secrets too, in the
    /// order of their names. The translations of the operator are a value.
    pub fn changed_since(&self, before: &Self) -> Vec<&'static str> {
        let is_translated = self.languages != before.languages;
        let has_changed = |name: &str, text: &str| {
            before.layers.value(name).0 != text || is_translated && name == "site.translations"
        };
        let settings = self.layers.values.iter();
        settings.filter(|(name, (text, _))| has_changed(name, text)).map(|(name, _)| *name).collect()
    }

    /// Every effective setting, in the order of the table.
    pub fn describe(&self) -> Vec<SettingLine> {
        let line = |setting: &Setting| {
            let (text, origin) = self.layers.value(setting.name);
            SettingLine {
                name: setting.name,
                value: setting.kind.shown(text),
                is_concealed: setting.kind.conceals(text),
                origin: origin.clone(),
                meaning: setting.meaning,
            }
        };
        self.layers.settings.iter().map(line).collect()
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.describe().iter().map(|line| (line.name, &line.value))).finish()
    }
}

/// The environment of this process, for [`Config::load`]. A variable that is
/// not Unicode is read with replacement characters, which no setting accepts by accident.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// The text of every setting, secrets too, and where it comes from.
#[derive(Clone, PartialEq)]
struct Layers {
    settings: Vec<Setting>,
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Layers {
    fn defaults() -> Self {
        let settings = settings::table(&Rules::default());
        let values = settings
            .iter()
            .map(|setting| (setting.name, (setting.default.clone(), Origin::Default)))
            .collect();
        Self { settings, values }
    }

    /// Adds a file. Returns the first of its faults, and takes all that is right.
    fn add_file(&mut self, path: &Path) -> Result<(), WrongUse> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| WrongUse::new(format!("cannot read the configuration file {shown}: {error}")))?;
        let root: toml::Table = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            WrongUse::new(format!("{shown}, line {line}: {}", error.message()))
        })?;
        let origin = Origin::File(shown.to_string());
        let mut outcome = Ok(());
        for (section, content) in root {
            match content {
                toml::Value::Table(entries) if self.sections().contains(&*section) => {
                    for (name, value) in entries {
                        outcome = outcome.and(self.add_toml(&format!("{section}.{name}"), &value, &origin));
                    }
                }
                _ => outcome = outcome.and(Err(self.unknown(&section, &origin))),
            }
        }
        outcome
    }

    fn add_toml(&mut self, name: &str, value: &toml::Value, origin: &Origin) -> Result<(), WrongUse> {
        let setting = self.settings.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| self.unknown(name, origin))?;
        let text = setting.kind.text_of(value);
        let text = text.ok_or_else(|| setting.kind.wrong(setting.name, value.to_string(), origin))?;
        self.values.insert(setting.name, (text, origin.clone()));
        Ok(())
    }

    /// Adds variables. Returns the first fault, and takes all that is right.
    fn add_environment(
        &mut self,
        environment: impl Iterator<Item = (String, String)>,
    ) -> Result<(), WrongUse> {
        // Sorted, so that of several faults the same one is always named.
        let ours: BTreeMap<String, String> = environment
            .filter(|(name, _)| name.starts_with(VARIABLE_PREFIX) && name != LOG_VARIABLE)
            .collect();
        let mut outcome = Ok(());
        for (variable, value) in ours {
            let setting = self.settings.iter().find(|setting| variable_of(setting.name) == variable);
            let origin = Origin::Variable(variable.clone());
            match setting {
                Some(setting) => _ = self.values.insert(setting.name, (value, origin)),
                None => outcome = outcome.and(Err(self.unknown(&variable, &origin))),
            }
        }
        outcome
    }

    /// Gives the prices that no layer has set those of the economy, if it is one that is known.
    fn follow_economy(&mut self) {
        let Some(economy) = Economy::parse(self.value(ECONOMY).0) else { return };
        let rules = Rules { karma: KarmaRules::of(economy), ..Rules::default() };
        for Setting { name, default, .. } in settings::table(&rules) {
            match self.values.get_mut(name) {
                Some((text, origin)) if name != ECONOMY && *origin == Origin::Default && *text != default => {
                    (*text, *origin) = (default, Origin::Economy);
                }
                _ => {}
            }
        }
    }

    fn add_flags(&mut self, flags: &CommandLineSettings) {
        let created = flags.create.then(|| "true".to_owned());
        let given = [
            ("server.listen", "--listen", &flags.listen),
            ("server.store", "--store", &flags.store),
            ("server.create", "--create", &created),
        ];
        for (name, flag, value) in given {
            if let Some(value) = value {
                self.values.insert(name, (value.clone(), Origin::Flag(flag)));
            }
        }
    }

    /// The value of a setting, once all layers are in.
    fn read<T: FromText>(&self, name: &'static str, kind: &ValueKind) -> Result<T, WrongUse> {
        let (text, origin) = self.value(name);
        if kind.has_concealment(text) {
            let reason = format!(
                "it has {CONCEALED} ({origin}), which is what `tidings config` prints in place of a secret; \
                 write the secret itself"
            );
            return Err(unusable_setting(name, reason));
        }
        let literal = || toml::Value::from(text).to_string();
        T::from_text(text, kind).ok_or_else(|| kind.wrong(name, literal(), origin))
    }

    /// The settings that administrators may change on the page of the site.
    fn configured(&self) -> BTreeMap<&'static str, Configured> {
        let configured = |setting: &SiteSetting| {
            let (text, origin) = self.value(setting.setting);
            let given_by = (*origin != Origin::Default).then(|| origin.to_string());
            (setting.setting, Configured { text: text.to_owned(), given_by })
        };
        SITE_SETTINGS.iter().filter(|setting| !setting.setting.is_empty()).map(configured).collect()
    }

    /// Every name in the table has a value from the start.
    fn value(&self, name: &str) -> (&str, &Origin) {
        self.values.get(name).map_or(("", &Origin::Default), |(text, origin)| (text, origin))
    }

    fn sections(&self) -> BTreeSet<&'static str> {
        self.settings.iter().filter_map(|setting| setting.name.split('.').next()).collect()
    }

    /// The error for a name that no setting has, in the spelling of files or of variables.
    fn unknown(&self, name: &str, origin: &Origin) -> WrongUse {
        let is_variable = matches!(origin, Origin::Variable(_));
        let spelled = |name: &str| if is_variable { variable_of(name) } else { name.to_owned() };
        if let Some((_, successor)) = REPLACED.iter().find(|(old, _)| spelled(old) == name) {
            let successor = spelled(successor);
            return WrongUse::new(format!("the setting {name} ({origin}) is gone; use {successor}"));
        }
        let nearest = if is_variable || name.contains('.') {
            let separator = if is_variable { "__" } else { "." };
            nearest(name, self.settings.iter().map(|setting| spelled(setting.name)), separator)
        } else {
            self.nearest_in_section(name)
        };
        WrongUse::new(format!("unknown setting {name} ({origin}); did you mean {nearest}?"))
    }

    /// A section, or a setting in one, that is most like a name above all sections.
    fn nearest_in_section(&self, name: &str) -> String {
        let section = nearest(name, self.sections().into_iter().map(str::to_owned), ".");
        let split = self.settings.iter().filter_map(|setting| setting.name.split_once('.'));
        let distance = |setting: &str| strsim::osa_distance(name, setting);
        let Some(closest) = split.clone().map(|(_, setting)| distance(setting)).min() else { return section };
        if closest >= distance(&section) {
            return format!("section [{section}]");
        }
        let meant = split.filter(|(_, setting)| distance(setting) == closest);
        let meant: Vec<String> =
            meant.map(|(section, setting)| format!("{setting} in [{section}]")).collect();
        meant.join(" or ")
    }
}

/// The error for a value that a setting cannot have.
fn wrong(name: &str, value: &str, origin: &Origin, expected: &str) -> WrongUse {
    WrongUse::new(format!("{name} is {value} ({origin}), expected {expected}"))
}

fn variable_of(name: &str) -> String {
    format!("{VARIABLE_PREFIX}{}", name.replace('.', "__").to_uppercase())
}

/// The known name that is most like one; if its section, which ends with the separator, is known, of
/// those in it.
fn nearest(name: &str, known: impl Iterator<Item = String>, separator: &str) -> String {
    let section_of = |name: &str| name.split_once(separator).map(|(section, _)| section.to_owned());
    let section = section_of(name);
    let likeness =
        |candidate: &String| (section_of(candidate) != section, strsim::osa_distance(name, candidate));
    known.min_by_key(likeness).unwrap_or_default()
}

#[cfg(test)]
mod tests;

//! Settings that administrators change while the site runs (the hash `settings`), and the
//! log that every action of theirs writes to.

use crate::values::{Timestamp, random_token};
use crate::{AUDIT, Result, Site, User, Visit, fields, keys};
use serde_json::{Map, Value};
use tidings_keyspace::{Batch, Fetch, read};

pub(super) const DISABLED: &str = "voting_is_disabled";
const MAXIMUM: &str = "maximum_votes_per_user_per_day";

/// The default of the votes a day on new hosts.
const DEFAULT_MAXIMUM: u64 = 10;

/// The settings that administrators can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VotingSettings {
    /// Whether all voting on sites is disabled.
    pub is_disabled: bool,
    /// Votes a day on hosts that are new to the voter.
    pub maximum: u64,
}

/// The settings as stored.
pub(super) struct StoredSettings {
    pub(super) is_disabled: Option<String>,
    maximum: Option<String>,
}

impl StoredSettings {
    pub(super) fn read() -> impl Fetch<Value = Self> {
        let reads = read::fields(keys::SETTINGS, [DISABLED, MAXIMUM]);
        reads.map(|[is_disabled, maximum]| Self { is_disabled, maximum })
    }

    pub(super) fn maximum(&self) -> u64 {
        let maximum = self.maximum.as_deref();
        fields::read(maximum, || keys::SETTINGS.to_owned(), MAXIMUM).unwrap_or(DEFAULT_MAXIMUM)
    }
}

/// Whether a stored boolean is true: `1` is, `0` and nothing are not.
pub(super) fn is_true(stored: Option<&str>) -> bool {
    stored == Some("1")
}

/// The settings in force. Rounds: 1.
pub async fn voting_settings(visit: &mut Visit) -> Result<VotingSettings> {
    let settings = visit.fetch(StoredSettings::read()).await?;
    Ok(VotingSettings { is_disabled: is_true(settings.is_disabled.as_deref()), maximum: settings.maximum() })
}

/// Settings to change; those that are `None` stay.
#[derive(Debug, Clone, Copy, Default)]
pub struct SettingsChange {
    /// Whether all voting on sites is disabled.
    pub is_disabled: Option<bool>,
    /// Votes a day on hosts that are new to the voter.
    pub maximum: Option<u64>,
}

/// Changes settings, by an administrator. Rounds: 1.
///
/// # Errors
/// [`Refusal::AdministratorsOnly`](crate::Refusal::AdministratorsOnly), or the store's.
pub async fn change_settings(
    site: &Site,
    now: Timestamp,
    viewer: &User,
    change: SettingsChange,
) -> Result<()> {
    viewer.require_admin()?;
    let mut batch = Batch::new();
    let disabled = change.is_disabled.map(|is_disabled| (DISABLED, u64::from(is_disabled)));
    let maximum = change.maximum.map(|maximum| (MAXIMUM, maximum));
    let fields: Vec<(&str, u64)> = disabled.into_iter().chain(maximum).collect();
    if fields.is_empty() {
        return Ok(());
    }
    batch.set_fields(keys::SETTINGS, fields.iter().map(|(name, value)| (*name, value.to_string())));
    let members = fields.iter().map(|(name, value)| (*name, Value::from(*value)));
    note(&mut batch, now, viewer, "settings", members)?;
    viewer.commit(site, batch).await?;
    tracing::info!(target: AUDIT, by = viewer.username, ?fields, "changed the settings of votes on sites");
    Ok(())
}

/// Adds a line of the administrators' log to the batch that does the action.
pub(super) fn note<'a>(
    batch: &mut Batch,
    now: Timestamp,
    viewer: &User,
    what: &str,
    members: impl Iterator<Item = (&'a str, Value)>,
) -> Result<()> {
    let mut line = Map::new();
    line.insert("time".to_owned(), crate::values::day::written(now).into());
    line.insert("by".to_owned(), viewer.username.as_str().into());
    line.insert("what".to_owned(), what.into());
    line.extend(members.map(|(name, value)| (name.to_owned(), value)));
    // Lines are members of a set: without an id, the same action in the same second would be
    // one line.
    line.insert("id".to_owned(), random_token()?.into());
    batch.sorted_add(keys::SITES_AUDIT, Value::Object(line).to_string(), now.as_score());
    Ok(())
}

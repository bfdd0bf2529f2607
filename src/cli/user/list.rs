//! `tidings user list`: the directory of accounts, as moderators have it on `/people`.

use clap::Args;
use std::cmp::Reverse;
use std::sync::Arc;
use tidings_domain::Site;
use tidings_domain::moderation::directory::{self, AccountState, RowFilter};
use tidings_domain::values::day;
use tidings_domain::values::{DIRECTORY_ROWS, Day, NetworkTag, Timestamp, UserId};
use tidings_search::accounts::AccountOrder;
use tidings_web::features::moderation::directory::DirectoryResponse;

/// List accounts.
///
/// Looks at every account of the store, and needs no search index.
#[derive(Debug, Args)]
pub struct ListAccounts {
    /// The beginning of a username, of a part of a full name, or of an e-mail address.
    #[arg(long, value_name = "TEXT", default_value = "")]
    q: String,
    /// Only accounts in this state: new, silenced, banned, held, deactivated or staff.
    #[arg(long)]
    state: Option<AccountState>,
    /// Only those who have posted from the network with this tag in the last 30 days.
    #[arg(long, value_name = "TAG")]
    network: Option<NetworkTag>,
    /// Only those whom this person has invited.
    #[arg(long, value_name = "NAME")]
    invited_by: Option<String>,
    /// Only accounts that were made on this day or later, such as 2026-11-01.
    #[arg(long, value_name = "DAY")]
    since: Option<Day>,
    /// Sort by the newest account (age), the highest karma, or the last visit (activity).
    #[arg(long, default_value = "age")]
    sort: AccountOrder,
    /// The most accounts to list.
    #[arg(long, default_value_t = 50)]
    count: usize,
    /// Print JSON, as GET /api/moderate/people answers.
    #[arg(long)]
    json: bool,
}

impl ListAccounts {
    /// Lists them.
    ///
    /// # Errors
    /// When nobody has the name of an inviter, or the store fails.
    pub async fn run(self, site: &Arc<Site>, now: Timestamp) -> anyhow::Result<()> {
        let inviter = match &self.invited_by {
            None => None,
            Some(name) => Some(super::find(site, name).await?),
        };
        let among = match &self.network {
            None => None,
            Some(tag) => Some(directory::of_network(site, now, tag).await?),
        };
        let filter = RowFilter { state: self.state, invited_by: inviter, since: self.since.map(Day::start) };
        let mut found = directory::all_matching(site, now, (&self.q, filter, among.as_deref())).await?;
        match self.sort {
            AccountOrder::Age => {}
            AccountOrder::Karma => found.sort_by_key(|(_, karma, _)| Reverse(*karma)),
            AccountOrder::Activity => found.sort_by_key(|(_, _, seen)| Reverse(*seen)),
        }
        let ids: Vec<UserId> = found.into_iter().map(|(id, _, _)| id).take(self.count).collect();
        let mut rows = Vec::new();
        for ids in ids.chunks(DIRECTORY_ROWS) {
            rows.extend(directory::rows_for_command(site, now, ids).await?);
        }
        if self.json {
            say!("{}", serde_json::to_string(&DirectoryResponse::from((rows, None)))?);
            return Ok(());
        }
        for row in rows {
            let name = row.username.unwrap_or_else(|| format!("[deleted user] {}", row.id));
            let state = row.state.map(|state| format!(", {}", state.name())).unwrap_or_default();
            let joined = day::to_the_minute(row.created).in_english();
            say!(
                "{name}: joined {joined}, karma {}, stories {}, comments {}{state}",
                row.karma,
                row.stories,
                row.comments
            );
        }
        Ok(())
    }
}

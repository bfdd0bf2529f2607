//! The votes that one network has recently brought on one host. A voter is only a UUID, of
//! which anyone can make any number; networks are harder to come by. Voters with accounts count apart.

use crate::values::{Hostname, Network, Timestamp, VoterId};
use crate::{fields, keys};
use std::time::Duration;
use tidings_keyspace::{Batch, Fetch, read};

/// How long a vote counts against its network.
const WINDOW_SECONDS: u64 = 86_400;

/// The voters who have brought votes within the window, each with the time of the vote.
/// `None` if the stored text cannot be read: then the quota is used up until it expires.
pub(super) struct NetworkQuota {
    key: String,
    stored: Option<String>,
    recent: Option<Vec<(VoterId, Timestamp)>>,
}

impl NetworkQuota {
    /// The votes of a network on a host.
    pub(super) fn of(
        (network, is_account): (Network, bool),
        host: &Hostname,
        now: Timestamp,
    ) -> impl Fetch<Value = Self> + use<> {
        let key = match is_account {
            true => keys::site_account_votes(network, host),
            false => keys::site_votes(network, host),
        };
        read::string(&key).map(move |stored| {
            let recent = stored.as_deref().map_or(Some(Vec::new()), |stored| parse(stored, now));
            if recent.is_none() {
                fields::report(&key, None);
            }
            Self { key, stored, recent }
        })
    }

    /// Whether a vote of this voter would be one more than `most`.
    pub(super) fn is_used_up(&self, voter: VoterId, most: u64) -> bool {
        let Some(recent) = &self.recent else { return true };
        // Somebody whose vote has moved to another network is still counted here.
        let is_counted = recent.iter().any(|(counted, _)| *counted == voter);
        !is_counted && u64::try_from(recent.len()).unwrap_or(u64::MAX) >= most
    }

    /// Counts a vote, unless the quota has changed meanwhile.
    pub(super) fn add(&self, batch: &mut Batch, voter: VoterId, now: Timestamp) {
        self.write(batch, voter, Some(now), now);
    }

    /// No longer counts the vote of a voter, if it is counted.
    pub(super) fn free(&self, batch: &mut Batch, voter: VoterId, now: Timestamp) {
        if self.recent.iter().flatten().any(|(counted, _)| *counted == voter) {
            self.write(batch, voter, None, now);
        }
    }

    /// Stores the votes of the others, and that of `voter` if it has a time.
    fn write(&self, batch: &mut Batch, voter: VoterId, time: Option<Timestamp>, now: Timestamp) {
        batch.string_unchanged(&self.key, self.stored.as_ref());
        let others = self.recent.iter().flatten().copied().filter(|(counted, _)| *counted != voter);
        let counted: Vec<(VoterId, Timestamp)> = others.chain(time.map(|time| (voter, time))).collect();
        match counted.iter().map(|(_, time)| *time).max() {
            Some(latest) => {
                let left = WINDOW_SECONDS.saturating_sub(now.seconds_since(latest)).max(1);
                let text: Vec<String> =
                    counted.iter().map(|(voter, time)| format!("{voter}@{}", time.0)).collect();
                batch.set_expiring(&self.key, text.join(" "), Duration::from_secs(left));
            }
            None => batch.delete(&self.key),
        }
    }
}

/// The votes that still count, from a text such as
/// `beda0000-0822-4342-0990-b92d94d9489a@1800000000`, several separated by spaces.
fn parse(stored: &str, now: Timestamp) -> Option<Vec<(VoterId, Timestamp)>> {
    let entries = stored.split(' ').map(|entry| {
        let (voter, time) = entry.split_once('@')?;
        Some((voter.parse().ok()?, Timestamp(time.parse().ok()?)))
    });
    let all: Vec<(VoterId, Timestamp)> = entries.collect::<Option<_>>()?;
    Some(all.into_iter().filter(|(_, time)| now.is_within(WINDOW_SECONDS, *time)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_count_for_a_day() {
        let (one, other) = (VoterId::from_bytes([1; 16]), VoterId::from_bytes([2; 16]));
        let stored = format!("{one}@1000 {other}@2000");
        for (now, expected) in [
            (2_000, vec![(one, Timestamp(1_000)), (other, Timestamp(2_000))]),
            (1_000 + 86_399, vec![(one, Timestamp(1_000)), (other, Timestamp(2_000))]),
            (1_000 + 86_400, vec![(other, Timestamp(2_000))]),
            (2_000 + 86_400, vec![]),
        ] {
            assert_eq!(parse(&stored, Timestamp(now)).unwrap(), expected, "{now}");
        }
    }

    #[test]
    fn a_text_that_cannot_be_read_uses_up_the_quota() {
        for stored in ["", "x", "x@1", "beda0000-0822-4342-0990-b92d94d9489a", "1 2"] {
            assert_eq!(parse(stored, Timestamp(1)), None, "{stored:?}");
        }
        let quota = NetworkQuota { key: String::new(), stored: Some("x".to_owned()), recent: None };
        assert!(quota.is_used_up(VoterId::from_bytes([1; 16]), 3));
    }
}

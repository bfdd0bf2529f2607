//! Lines of the log about who did what: logins, administration, moderation, deletions.
//!
//! They have a target of their own, so that one search finds them all. They name accounts and
//! addresses, never a secret, and never what somebody typed into a field for a name that is no
//! account: people type passwords there.

use crate::values::{LOGIN_LINES_PER_MINUTE, UserId};
use crate::{Site, keys};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tidings_keyspace::read;

/// The target of these lines.
pub const AUDIT: &str = "audit";
/// The actor if no account acts, and the place of a moderator's action that is not made on the site.
pub(crate) const COMMAND_LINE: &str = "the command line";

/// The name of an account, for a line about what has been done to it: the line is written without the name
/// rather than not at all. Rounds: 1.
pub(crate) async fn name_of(site: &Site, id: UserId) -> String {
    let name = site.store.fetch(read::field(keys::user(id), "username")).await;
    name.ok().flatten().unwrap_or_else(|| "unknown".to_owned())
}

/// Bounds how many lines of a kind are written in a minute.
#[derive(Debug)]
pub struct LineLimit {
    per_minute: u32,
    minute: Mutex<Option<LineMinute>>,
}

#[derive(Debug)]
struct LineMinute {
    began: Instant,
    written: u32,
    left_out: u64,
}

impl LineLimit {
    /// At most so many lines in a minute.
    pub const fn per_minute(per_minute: u32) -> Self {
        Self { per_minute, minute: Mutex::new(None) }
    }

    /// Whether a line may be written now. If so, how many were left out since the last one.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let mut current = self.minute.lock();
        let left_out = current.as_ref().map_or(0, |minute| minute.left_out);
        let is_over =
            |minute: &LineMinute| now.saturating_duration_since(minute.began) >= Duration::from_secs(60);
        let minute = match &mut *current {
            Some(minute) if !is_over(minute) => minute,
            other => other.insert(LineMinute { began: now, written: 0, left_out }),
        };
        if minute.written >= self.per_minute {
            minute.left_out += 1;
            return None;
        }
        minute.written += 1;
        Some(std::mem::take(&mut minute.left_out))
    }
}

/// Writes that a login has failed. `account` is the name of the account that it was for, if
/// there is one.
pub(crate) fn login_failed(account: Option<&str>, address: IpAddr, why: &'static str) {
    static LIMIT: LineLimit = LineLimit::per_minute(LOGIN_LINES_PER_MINUTE);
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        let left_out = (left_out > 0).then_some(left_out);
        let account = account.unwrap_or("unknown name");
        tracing::warn!(target: AUDIT, account, %address, why, left_out, "login failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_minute_are_bounded_and_the_rest_is_counted() {
        let limit = LineLimit::per_minute(2);
        let start = Instant::now();
        let at = |seconds| limit.admit(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(1), at(2), at(59)], [Some(0), Some(0), None, None]);
        assert_eq!([at(60), at(61), at(62)], [Some(2), Some(0), None]);
        assert_eq!([at(600), at(600)], [Some(1), Some(0)]);
    }
}

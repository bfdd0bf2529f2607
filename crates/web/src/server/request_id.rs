//! The id of a request: in the answer's `X-Request-Id`, on error pages, and in each line of the
//! log that is written while the request is answered.
//!
//! It is a value of the task, not a span of the log: that costs a few nanoseconds for each
//! request, and nothing while nothing is logged.

use crate::settings::Settings;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt::{self, Display, Formatter};
use std::future::Future;
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use tidings_domain::values::secrets::random_token;
use tokio::task_local;

/// The header with the id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Characters of the longest id that a proxy may give.
const MAX_GIVEN: usize = 64;

task_local! {
    static CURRENT: RequestId;
}

/// The id of a request: up to 64 letters, digits and `-_.`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Source);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// Made here; shown as 16 hexadecimal digits.
    Own(u64),
    /// Given by a trusted proxy.
    Given(HeaderValue),
}

impl RequestId {
    /// A new id: different for all requests of this process, and, as far as chance allows, from
    /// those of others.
    pub fn new() -> Self {
        static START: OnceLock<u64> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let start = *START.get_or_init(|| {
            let random = random_token().unwrap_or_default();
            let digits = random.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
            digits.unwrap_or_else(|| u64::from(std::process::id()) << 32)
        });
        Self(Source::Own(spread(start.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed)))))
    }

    /// The id of a request: the one that a trusted proxy gives it, if it is well-formed, or a
    /// new one.
    pub fn of(settings: &Settings, peer: IpAddr, headers: &HeaderMap) -> Self {
        if !settings.trusts(peer) {
            return Self::new();
        }
        let mut given = headers.get_all(REQUEST_ID).iter();
        match (given.next(), given.next()) {
            (Some(id), None) if is_well_formed(id) => Self(Source::Given(id.clone())),
            _ => Self::new(),
        }
    }

    /// The value of [`REQUEST_ID`].
    pub fn header(&self) -> HeaderValue {
        match &self.0 {
            // Digits are always valid.
            Source::Own(number) => {
                HeaderValue::from_bytes(&digits(*number)).unwrap_or(HeaderValue::from_static("unknown"))
            }
            Source::Given(id) => id.clone(),
        }
    }

    /// Runs a future as the work on the request with this id.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// The same for a function.
    pub fn sync_scope<T>(self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self, work)
    }
}

impl Default for RequestId {
    fn default() -> Self {
        Self::new()
    }
}

impl Display for RequestId {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Own(number) => write!(formatter, "{number:016x}"),
            Source::Given(id) => formatter.write_str(id.to_str().unwrap_or("unknown")),
        }
    }
}

/// The id of the request that the calling task answers; `None` in any other task.
pub fn current() -> Option<RequestId> {
    CURRENT.try_with(Clone::clone).ok()
}

fn is_well_formed(id: &HeaderValue) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    (1..=MAX_GIVEN).contains(&id.len()) && id.as_bytes().iter().all(is_plain)
}

/// A number as hexadecimal digits.
fn digits(number: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    // Never fails: eight bytes are 16 digits.
    hex::encode_to_slice(number.to_be_bytes(), &mut digits).ok();
    digits
}

/// A number that looks random, different for each other number (the last steps of `SplitMix64`).
const fn spread(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;
    use std::collections::HashSet;

    #[test]
    fn ids_differ_and_are_hexadecimal() {
        let ids: HashSet<String> = (0..10_000).map(|_| RequestId::new().to_string()).collect();
        assert_eq!(ids.len(), 10_000);
        for id in ids {
            assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        }
        let id = RequestId(Source::Own(0xf0));
        assert_eq!(
            (id.to_string().as_str(), id.header().as_bytes()),
            ("00000000000000f0", &b"00000000000000f0"[..])
        );
    }

    #[test]
    fn only_a_trusted_proxy_gives_an_id() {
        let settings = Settings { trusted_proxies: vec!["192.0.2.0/24".parse().unwrap()], ..settings() };
        let id = |peer: &str, given: &[&[u8]]| {
            let given = given.iter().map(|id| (REQUEST_ID, HeaderValue::from_bytes(id).unwrap()));
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(name, value);
            }
            RequestId::of(&settings, peer.parse().unwrap(), &headers).to_string()
        };
        let (proxy, stranger) = ("192.0.2.1", "198.51.100.1");
        let longest = "x".repeat(MAX_GIVEN);
        for good in ["a", "0b5e-4f.A_9", &longest] {
            assert_eq!(id(proxy, &[good.as_bytes()]), good);
            assert_eq!(id("::ffff:192.0.2.1", &[good.as_bytes()]), good);
            assert_ne!(id(stranger, &[good.as_bytes()]), good);
        }
        let long = "x".repeat(MAX_GIVEN + 1);
        for bad in ["", "a b", "a\"b", "a=b", "<b>", "\u{fc}", &long] {
            assert_eq!(id(proxy, &[bad.as_bytes()]).len(), 16, "{bad}");
        }
        assert_ne!(id(proxy, &[b"one", b"two"]), "one");
        assert_eq!(id(proxy, &[]).len(), 16);
    }

    #[tokio::test]
    async fn the_current_id_is_that_of_the_task() {
        assert_eq!(current(), None);
        let id = RequestId::new();
        let seen = id.clone().scope(async { current() }).await;
        assert_eq!(seen.as_ref(), Some(&id));
        assert_eq!(id.clone().sync_scope(current), Some(id));
        assert_eq!(current(), None);
    }
}

//! Rates as an operator writes them, what they are for, and networks that they do not
//! apply to.

use crate::values::text_forms::{named, read_text, shown};
use ipnet::IpNet;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;
use strum::{EnumCount, EnumIter, IntoStaticStr};

/// The bits of an IPv6 address that name the network of one subscriber.
const SUBSCRIBER_BITS: u8 = 64;
/// The highest count of a rate.
const MOST: u32 = 1_000_000;
/// The longest duration of a rate, in seconds: 30 days.
const LONGEST_SECONDS: u32 = 2_592_000;
/// The units of a duration with their seconds, the longest first.
const UNITS: [(char, u32); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// An action that has a limit for each account or address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumCount, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RatedAction {
    /// Posting a comment.
    Comment,
    /// Posting a tweet.
    Tweet,
    /// Voting on a story, a comment or a site.
    Vote,
    /// Following or unfollowing.
    Follow,
    /// Flagging something, or taking a flag back.
    Flag,
    /// Asking for a password reset.
    Reset,
    /// Fetching the title of a page of another site.
    FetchTitle,
    /// Exporting everything of one's own. No setting.
    Export,
    /// Searching.
    Search,
    /// Any GET request.
    Read,
    /// A GET request for a large answer.
    #[strum(serialize = "large")]
    LargeRead,
    /// Any POST request. This is beside what it does, and no setting.
    Post,
    /// A login that failed. Counted where passwords are checked.
    FailedLogin,
    /// An open stream of events. Counted where streams are opened.
    Stream,
}

named!(RatedAction);

/// The address that a client is known by. An IPv6 subscriber has a whole /64 network, so only
/// the network counts. Limits count [`ClientNetworks`](super::network::ClientNetworks).
pub fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

/// How often something may be done: `10/10m` is a burst of 10, which refills evenly within
/// 10 minutes. `0` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    seconds: u32,
}

/// The text is not a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a count from 1 to 1000000, a slash and a duration up to 30d, nor 0")]
pub struct NotARate;

impl Rate {
    /// No limit.
    pub const OFF: Self = Self { count: 0, seconds: 0 };

    /// A burst of `count`, which refills within `seconds`. 0 of either is no limit.
    pub const fn new(count: u32, seconds: u32) -> Self {
        if count == 0 || seconds == 0 { Self::OFF } else { Self { count, seconds } }
    }

    /// Whether there is no limit.
    pub const fn is_off(self) -> bool {
        self.count == 0
    }

    /// The burst; 0 if there is no limit.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The time in which a whole burst refills.
    pub const fn period(self) -> Duration {
        Duration::from_secs(self.seconds as u64)
    }

    /// The same period with so many times the count.
    #[must_use]
    pub const fn times(self, factor: u32) -> Self {
        Self { count: self.count.saturating_mul(factor), ..self }
    }

    /// The same period with a share of the count, rounded down; at least 1.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn share(self, share: f64) -> Self {
        if self.is_off() {
            return self;
        }
        // The cast saturates, and the share is at most 1.
        let count = (f64::from(self.count) * share) as u32;
        Self { count: count.clamp(1, self.count), ..self }
    }
}

read_text!(Rate or NotARate: |text| {
    if text == "0" {
        return Some(Self::OFF);
    }
    let (count, duration) = text.split_once('/')?;
    let (count, seconds) = (number(count)?, seconds_of(duration)?);
    let fits = (1..=MOST).contains(&count) && (1..=LONGEST_SECONDS).contains(&seconds);
    fits.then_some(Self { count, seconds })
});

/// The seconds of a duration such as `10m`.
pub fn seconds_of(duration: &str) -> Option<u32> {
    let mut units = UNITS.iter();
    let (amount, of_unit) =
        units.find_map(|(unit, seconds)| Some((duration.strip_suffix(*unit)?, *seconds)))?;
    number(amount)?.checked_mul(of_unit)
}

/// A number of digits only: `parse` would also accept a sign.
fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl fmt::Display for Rate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, seconds)| self.seconds.is_multiple_of(*seconds)) {
            Some((unit, seconds)) if !self.is_off() => {
                write!(formatter, "{}/{}{unit}", self.count, self.seconds / seconds)
            }
            _ => formatter.write_str("0"),
        }
    }
}

/// Networks, such as those that rates do not apply to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(pub Vec<IpNet>);

impl Networks {
    /// Whether a subscriber's address is in one of them; see [`subscriber`]. A part of a
    /// /64 network stands for all of it.
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = subscriber(address);
        let is_in = |network: &IpNet| match network {
            IpNet::V6(part) if part.prefix_len() > SUBSCRIBER_BITS => {
                subscriber(IpAddr::V6(part.addr())) == address
            }
            network => network.contains(&address),
        };
        self.0.iter().any(is_in)
    }
}

shown!(Networks: |networks| networks.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_count_and_a_duration() {
        for (text, count, seconds, shown) in [
            ("10/10m", 10, 600, "10/10m"),
            ("200/4s", 200, 4, "200/4s"),
            ("60/3s", 60, 3, "60/3s"),
            ("10/1h", 10, 3_600, "10/1h"),
            ("1/30d", 1, 2_592_000, "1/30d"),
            ("1000000/1s", 1_000_000, 1, "1000000/1s"),
            ("5/60s", 5, 60, "5/1m"),
            ("0", 0, 0, "0"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.count(), rate.period()), (count, Duration::from_secs(seconds)), "{text}");
            assert_eq!(rate.to_string(), shown);
            assert_eq!(rate.is_off(), count == 0);
        }
        let invalid = "|10|1|/|10/|/10m|10/m|10/10|10/10x|10/10M|0/10m|10/0s|-1/10m|+1/1m|1.5/1m|1/1.5m| 1/1m|\
            1/1m |1 / 1m|1/31d|1/721h|1000001/1s|1/9999999999d|00|off";
        for bad in invalid.split('|') {
            assert_eq!(bad.parse::<Rate>(), Err(NotARate), "{bad:?}");
        }
    }

    #[test]
    fn a_share_is_rounded_down_to_no_less_than_one() {
        let share = |text: &str, share| text.parse::<Rate>().unwrap().share(share).to_string();
        assert_eq!(share("120/1m", 0.25), "30/1m");
        assert_eq!(share("10/10m", 0.25), "2/10m");
        assert_eq!(share("3/10m", 0.25), "1/10m");
        assert_eq!(share("10/10m", 0.0), "1/10m");
        assert_eq!(share("10/10m", 1.0), "10/10m");
        assert_eq!(share("0", 0.25), "0");
    }

    #[test]
    fn networks_contain_mapped_addresses_too() {
        let networks = ["192.0.2.0/24", "2001:db8::/32", "2001:dba::7/128"];
        let networks = Networks(networks.map(|network| network.parse().unwrap()).to_vec());
        for (address, is_in) in [
            ("192.0.2.255", true),
            ("::ffff:192.0.2.1", true),
            ("192.0.3.0", false),
            ("2001:db8:1::1", true),
            ("2001:db9::1", false),
            ("2001:dba::8", true),
            ("2001:dba:0:1::7", false),
        ] {
            assert_eq!(networks.contain(address.parse().unwrap()), is_in, "{address}");
        }
        assert_eq!(networks.to_string(), "192.0.2.0/24, 2001:db8::/32, 2001:dba::7/128");
        assert_eq!(Networks::default().to_string(), "");
    }
}

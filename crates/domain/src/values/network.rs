//! The network that an address belongs to. Votes on sites are limited by network: whoever
//! has one address usually has its neighbours too.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network as votes on sites count it: the /24 of an IPv4 address, the /48 of an IPv6
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network(IpAddr);

/// The bits of an IPv4 address that are the network's.
const IPV4_BITS: u8 = 24;
/// The bits of an IPv6 address that are the network's: what a provider gives one customer.
const IPV6_BITS: u8 = 48;

/// The text is not a network of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a network")]
pub struct NotANetwork;

impl Network {
    /// The network of an address. An IPv4 address in IPv6 form counts as IPv4.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => {
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - IPV4_BITS))))
            }
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - IPV6_BITS))))
            }
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = if self.0.is_ipv4() { IPV4_BITS } else { IPV6_BITS };
        write!(formatter, "{}/{bits}", self.0)
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let (address, _) = text.split_once('/').ok_or(NotANetwork)?;
        let network = Self::of(address.parse().map_err(|_| NotANetwork)?);
        if network.to_string() == text { Ok(network) } else { Err(NotANetwork) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_its_24_or_its_48() {
        for (address, network) in [
            ("192.0.2.0", "192.0.2.0/24"),
            ("192.0.2.255", "192.0.2.0/24"),
            ("192.0.3.0", "192.0.3.0/24"),
            ("::ffff:192.0.2.7", "192.0.2.0/24"),
            ("2001:db8:1::", "2001:db8:1::/48"),
            ("2001:db8:1:ffff:ffff:ffff:ffff:ffff", "2001:db8:1::/48"),
            ("2001:db8:2::", "2001:db8:2::/48"),
            ("::1", "::/48"),
        ] {
            let of = Network::of(address.parse().unwrap());
            assert_eq!(of.to_string(), network, "{address}");
            assert_eq!(network.parse(), Ok(of));
        }
    }

    #[test]
    fn other_texts_are_not_networks() {
        for text in ["", "192.0.2.0", "192.0.2.1/24", "192.0.2.0/16", "2001:db8:1:2::/48", "x/24", "::/64"] {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text:?}");
        }
    }
}

//! The networks that an address belongs to. A client with one address usually has its neighbours
//! too, so limits count networks: [`ClientNetworks`] are those of limits per address, and
//! [`Network`] is the wide one.

use super::rates::subscriber;
use super::secrets::keyed_hash;
use crate::values::text_forms::{read_text, shown};
use ipnet::IpNet;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

    /// The networks of this kind that another has addresses of.
    pub fn parts_of(network: IpNet) -> impl Iterator<Item = Self> {
        let parts = network.subnets(bits_of(network.addr()).max(network.prefix_len()));
        parts.into_iter().flatten().map(|part| Self::of(part.addr()))
    }

    /// Whether a network has all addresses of one of this kind, or more.
    pub fn is_wide(network: IpNet) -> bool {
        network.prefix_len() <= bits_of(network.addr())
    }
}

/// The bits of an address that are the network's.
const fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { IPV4_BITS } else { IPV6_BITS }
}

shown!(Network: |network| format_args!("{}/{}", network.0, bits_of(network.0)));

read_text!(Network or NotANetwork: |text| {
    let (address, _) = text.split_once('/')?;
    Some(Self::of(address.parse().ok()?)).filter(|network| network.to_string() == text)
});

/// A network that limits per address count.
///
/// Shown and in keys: `192.0.2.1`, `2001:db8:1:2::` (a /64) or `2001:db8:1::/48`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CountedNetwork {
    /// An IPv4 address, or the /64 of an IPv6 address.
    Subscriber(IpAddr),
    /// The /48 of an IPv6 address.
    Site(Network),
}

/// How many times the limit of an address a /48 has. It may be one customer or the network of a
/// university, and has 65,536 networks of the size /64.
const SITE_FACTOR: u32 = 4;

impl CountedNetwork {
    /// How many times the limit of an address it has.
    pub const fn factor(self) -> u32 {
        match self {
            Self::Subscriber(_) => 1,
            Self::Site(_) => SITE_FACTOR,
        }
    }
}

shown!(CountedNetwork: |counted| match counted {
    CountedNetwork::Subscriber(address) => address as &dyn Display,
    CountedNetwork::Site(network) => network,
});

/// The networks in which limits per address count an address: an IPv4 address by itself; an
/// IPv6 address in its /64, and in its /48 with [`CountedNetwork::factor`] times the limit.
/// Every such limit counts these, and never the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientNetworks {
    address: IpAddr,
}

impl ClientNetworks {
    /// The networks of an address. An IPv4 address in IPv6 form counts as IPv4.
    pub fn of(address: IpAddr) -> Self {
        Self { address: subscriber(address) }
    }

    /// The narrowest of them, which the log names.
    pub const fn narrowest(self) -> CountedNetwork {
        CountedNetwork::Subscriber(self.address)
    }

    /// All of them, the narrowest first.
    pub fn iter(self) -> impl Iterator<Item = CountedNetwork> {
        let site = self.address.is_ipv6().then(|| CountedNetwork::Site(Network::of(self.address)));
        std::iter::once(self.narrowest()).chain(site)
    }
}

/// A network as moderators see it, and as an account remembers where its owner has logged in: the
/// same for the same network of one site, and it tells nothing about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkTag(Box<str>);

/// The hexadecimal digits of a tag: 48 bits.
const TAG_DIGITS: usize = 12;

impl NetworkTag {
    /// The tag of a network. It is cut, so nothing can be appended to what was hashed.
    pub fn of(network: Network, secret: &str) -> Self {
        let mut hash = keyed_hash(secret, &network.to_string());
        hash.truncate(TAG_DIGITS);
        Self(hash.into())
    }

    /// The tag of the network of an address.
    pub fn of_address(address: IpAddr, secret: &str) -> Self {
        Self::of(Network::of(address), secret)
    }
}

read_text!(NetworkTag or NotANetwork: |text| {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (text.len() == TAG_DIGITS && text.bytes().all(is_digit)).then(|| Self(text.into()))
});

text_values!(NetworkTag);

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
    fn limits_count_an_ipv6_address_in_two_steps() {
        for (address, networks) in [
            ("192.0.2.7", &[("192.0.2.7", 1)][..]),
            ("::ffff:192.0.2.7", &[("192.0.2.7", 1)]),
            ("2001:db8:1:2:3::4", &[("2001:db8:1:2::", 1), ("2001:db8:1::/48", 4)]),
            ("2001:db8:1::4", &[("2001:db8:1::", 1), ("2001:db8:1::/48", 4)]),
        ] {
            let counted: Vec<(String, u32)> = ClientNetworks::of(address.parse().unwrap())
                .iter()
                .map(|network| (network.to_string(), network.factor()))
                .collect();
            let expected: Vec<(String, u32)> =
                networks.iter().map(|(name, factor)| ((*name).to_owned(), *factor)).collect();
            assert_eq!(counted, expected, "{address}");
        }
    }

    #[test]
    fn a_tag_is_the_networks_and_the_secrets() {
        let network = |address: &str| Network::of(address.parse().unwrap());
        let tag = NetworkTag::of(network("192.0.2.7"), "secret");
        assert_eq!(tag.as_str().len(), TAG_DIGITS);
        assert_eq!(tag.as_str().parse(), Ok(tag.clone()));
        for text in ["", "0123", "0123456789aB", "0123456789ab ", "*"] {
            assert_eq!(text.parse::<NetworkTag>(), Err(NotANetwork), "{text:?}");
        }
        assert_eq!(NetworkTag::of(network("192.0.2.8"), "secret"), tag);
        assert_ne!(NetworkTag::of(network("192.0.3.7"), "secret"), tag);
        assert_ne!(NetworkTag::of(network("192.0.2.7"), "other"), tag);
    }

    #[test]
    fn other_texts_are_not_networks() {
        for text in ["", "192.0.2.0", "192.0.2.1/24", "192.0.2.0/16", "2001:db8:1:2::/48", "x/24", "::/64"] {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text:?}");
        }
    }
}

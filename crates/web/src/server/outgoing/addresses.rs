//! Which network addresses are on the public internet.

use ipnet::{Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const fn v4(a: u8, b: u8, c: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), length)
}

const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// The networks of the IANA registry of special-purpose IPv4 addresses, and multicast.
const SPECIAL_V4: [Ipv4Net; 19] = [
    v4(0, 0, 0, 8),        // this network
    v4(10, 0, 0, 8),       // private
    v4(100, 64, 0, 10),    // shared by customers of a provider
    v4(127, 0, 0, 8),      // loopback
    v4(169, 254, 0, 16),   // link-local, with the metadata of clouds
    v4(172, 16, 0, 12),    // private
    v4(192, 0, 0, 24),     // protocol assignments
    v4(192, 0, 2, 24),     // documentation
    v4(192, 31, 196, 24),  // AS112
    v4(192, 52, 193, 24),  // automatic multicast tunneling
    v4(192, 88, 99, 24),   // relays of 6to4
    v4(192, 168, 0, 16),   // private
    v4(192, 175, 48, 24),  // AS112
    v4(198, 18, 0, 15),    // benchmarks
    v4(198, 51, 100, 24),  // documentation
    v4(203, 0, 113, 24),   // documentation
    v4(224, 0, 0, 4),      // multicast
    v4(240, 0, 0, 4),      // reserved
    v4(255, 255, 255, 24), // broadcast
];

/// The one block of IPv6 that global unicast addresses are assigned from. Outside of it are
/// loopback, link-local, unique local and multicast addresses, and IPv4 addresses in IPv6
/// (mapped, compatible, NAT64).
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

/// The special networks within that block.
const SPECIAL_V6: [Ipv6Net; 6] = [
    v6(0x2001, 0, 0, 23),         // protocol assignments: Teredo, benchmarks, ORCHID
    v6(0x2001, 0xdb8, 0, 32),     // documentation
    v6(0x2002, 0, 0, 16),         // 6to4
    v6(0x2620, 0x4f, 0x8000, 48), // AS112
    v6(0x3ffe, 0, 0, 16),         // 6bone
    v6(0x3fff, 0, 0, 20),         // documentation
];

/// Whether an address is one of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_V6.contains(&address) && !SPECIAL_V6.iter().any(|network| network.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are() {
        let addresses = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 \
            169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 \
            192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 2000::1 2001:200::1 \
            2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2a00:1450:4001::1 3ffd:ffff::1";
        for public in addresses.split(' ') {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        let addresses = "0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1 192.31.196.1 \
            192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 \
            198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 \
            ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::7f00:1 64:ff9b::8.8.8.8 \
            64:ff9b:1::1 100::1 100:0:0:1::1 1fff::1 2001::1 2001:0:53aa:64c::1 2001:2::1 2001:10::1 \
            2001:20::1 2001:1ff::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 2620:4f:8000::1 3ffe::1 \
            3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1";
        for special in addresses.split(' ') {
            assert!(!is_public(special.parse().unwrap()), "{special}");
        }
    }
}

//! The client address of a request, which rate limits count by.
//!
//! A client can send any `X-Forwarded-For`. Only the part that the operator's trusted
//! proxies wrote is used: from the right, up to and including the first address that is
//! not a trusted proxy.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderValue;
use ipnet::IpNet;

/// The client's address: the peer's own, or, behind a trusted proxy, the
/// rightmost address in `X-Forwarded-For` that is not trusted.
///
/// `forwarded_for` contains the values of the header in the order of the request. At an
/// entry that is not an address, the last address before it is returned. IPv4-mapped IPv6
/// addresses are converted to IPv4, so that a client counts only once.
pub fn client_address<'a>(
    peer: IpAddr,
    forwarded_for: impl Iterator<Item = &'a HeaderValue>,
    trusted: &[IpNet],
) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|network| network.contains(&address));
    let mut client = peer.to_canonical();
    if !is_trusted(client) {
        return client;
    }
    let values: Vec<&HeaderValue> = forwarded_for.collect();
    for value in values.into_iter().rev() {
        let Ok(text) = value.to_str() else {
            return client;
        };
        for entry in text.rsplit(',') {
            let Some(address) = parse_entry(entry.trim()) else {
                return client;
            };
            client = address;
            if !is_trusted(client) {
                return client;
            }
        }
    }
    client
}

/// Parses an address as proxies write it, with or without a port or brackets.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|socket| socket.ip()))?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, headers: &[&str], trusted: &[&str]) -> String {
        let values: Vec<HeaderValue> =
            headers.iter().map(|text| HeaderValue::from_bytes(text.as_bytes()).unwrap()).collect();
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), values.iter(), &trusted).to_string()
    }

    #[test]
    fn the_header_is_used_only_from_a_trusted_peer() {
        assert_eq!(client("203.0.113.9", &["198.51.100.1"], &[]), "203.0.113.9");
        assert_eq!(client("203.0.113.9", &["198.51.100.1"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(client("10.0.0.1", &["198.51.100.1"], &["10.0.0.0/8"]), "198.51.100.1");
        assert_eq!(client("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
    }

    #[test]
    fn the_client_is_the_rightmost_untrusted_address() {
        let table: &[(&[&str], &str)] = &[
            (&["1.1.1.1, 2.2.2.2"], "2.2.2.2"),
            (&["1.1.1.1, 2.2.2.2, 10.0.0.2"], "2.2.2.2"),
            (&["1.1.1.1", "2.2.2.2"], "2.2.2.2"),
            (&["1.1.1.1, 2.2.2.2", "10.0.0.3 , 10.0.0.2"], "2.2.2.2"),
            (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            (&["2001:db8::7"], "2001:db8::7"),
            (&["[2001:db8::7]"], "2001:db8::7"),
            (&["[2001:db8::7]:443"], "2001:db8::7"),
            (&["2.2.2.2:5555"], "2.2.2.2"),
        ];
        for (headers, expected) in table {
            assert_eq!(client("10.0.0.1", headers, &["10.0.0.0/8"]), *expected, "{headers:?}");
        }
    }

    #[test]
    fn addresses_left_of_a_malformed_entry_are_ignored() {
        let table: &[(&[&str], &str)] = &[
            (&["1.1.1.1, unknown"], "10.0.0.1"),
            (&[""], "10.0.0.1"),
            (&["1.1.1.1,"], "10.0.0.1"),
            (&["1.1.1.1, nonsense, 10.0.0.2"], "10.0.0.2"),
            (&["1.1.1.1", "nonsense"], "10.0.0.1"),
            (&["1.1.1.1, \u{fc}"], "10.0.0.1"),
            (&["1.1.1.1, 10.0.0.2 10.0.0.3"], "10.0.0.1"),
            (&["1.1.1.1, 2.2.2.2/8"], "10.0.0.1"),
        ];
        for (headers, expected) in table {
            assert_eq!(client("10.0.0.1", headers, &["10.0.0.0/8"]), *expected, "{headers:?}");
        }
    }

    #[test]
    fn mapped_addresses_become_ipv4() {
        assert_eq!(client("::ffff:203.0.113.9", &[], &[]), "203.0.113.9");
        assert_eq!(client("::ffff:10.0.0.1", &["::ffff:1.1.1.1"], &["10.0.0.0/8"]), "1.1.1.1");
        assert_eq!(client("::ffff:10.0.0.1", &["1.1.1.1, ::ffff:10.0.0.2"], &["10.0.0.0/8"]), "1.1.1.1");
    }
}

//! The client address of a request, which rate limits count by.
//!
//! A client can send any `X-Forwarded-For`. Only the part that the operator's trusted
//! proxies wrote is used: from the right, up to and including the first address that is
//! not a trusted proxy.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue};
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

/// The headers with which proxies name themselves or their clients.
const PROXY_HEADERS: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"];

/// Whether a request comes from the machine that the site runs on, as far as can be known. A request
/// through a proxy that is not trusted could come from anywhere, and so could one from a client whose
/// address a trusted proxy does not name.
pub fn is_from_this_machine(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> bool {
    let forwarded_for = || headers.get_all("x-forwarded-for").iter();
    if PROXY_HEADERS.iter().all(|name| !headers.contains_key(*name)) {
        return peer.to_canonical().is_loopback();
    }
    let is_trusted = trusted.iter().any(|network| network.contains(&peer.to_canonical()));
    let names_all = forwarded_for().all(|value| {
        value.to_str().is_ok_and(|text| text.split(',').all(|entry| parse_entry(entry.trim()).is_some()))
    });
    is_trusted
        && forwarded_for().next().is_some()
        && names_all
        && client_address(peer, forwarded_for(), trusted).is_loopback()
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
    fn only_what_surely_comes_from_this_machine_is_local() {
        let xff = "x-forwarded-for";
        for (peer, headers, trusted, is_local) in [
            ("127.0.0.1", &[][..], &[][..], true),
            ("::1", &[], &[], true),
            ("::ffff:127.0.0.1", &[], &[], true),
            ("203.0.113.9", &[], &[], false),
            ("127.0.0.1", &[], &["127.0.0.1/32"], true),
            // A proxy on this machine that is not trusted.
            ("127.0.0.1", &[(xff, "127.0.0.1")], &[], false),
            ("127.0.0.1", &[("forwarded", "for=127.0.0.1")], &[], false),
            ("127.0.0.1", &[("via", "1.1 proxy")], &[], false),
            // One that is.
            ("127.0.0.1", &[(xff, "127.0.0.1")], &["127.0.0.1/32"], true),
            ("10.0.0.1", &[(xff, "127.0.0.1")], &["10.0.0.0/8"], true),
            ("127.0.0.1", &[(xff, "203.0.113.9")], &["127.0.0.1/32"], false),
            ("127.0.0.1", &[(xff, "203.0.113.9, 127.0.0.1")], &["127.0.0.1/32"], false),
            ("127.0.0.1", &[(xff, "203.0.113.9, unknown")], &["127.0.0.1/32"], false),
            ("127.0.0.1", &[("forwarded", "for=203.0.113.9")], &["127.0.0.1/32"], false),
            ("203.0.113.9", &[(xff, "127.0.0.1")], &["127.0.0.1/32"], false),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
            let found = is_from_this_machine(peer.parse().unwrap(), &map, &trusted);
            assert_eq!(found, is_local, "{peer} {headers:?} {trusted:?}");
        }
    }

    #[test]
    fn mapped_addresses_become_ipv4() {
        assert_eq!(client("::ffff:203.0.113.9", &[], &[]), "203.0.113.9");
        assert_eq!(client("::ffff:10.0.0.1", &["::ffff:1.1.1.1"], &["10.0.0.0/8"]), "1.1.1.1");
        assert_eq!(client("::ffff:10.0.0.1", &["1.1.1.1, ::ffff:10.0.0.2"], &["10.0.0.0/8"]), "1.1.1.1");
    }
}

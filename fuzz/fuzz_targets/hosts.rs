//! Any text as the name of a site, as a voter, and as what proxies write about a client.
//! An accepted name is in its canonical form; the address of a client is never one that
//! only an untrusted program wrote.

#![no_main]

use axum::http::HeaderValue;
use ipnet::IpNet;
use libfuzzer_sys::fuzz_target;
use std::net::IpAddr;
use tidings_domain::values::{HashPrefix, Hostname, VoterId};
use tidings_web::request::address::client_address;

fuzz_target!(|input: (&str, [u8; 4], Vec<&[u8]>)| {
    let (text, peer, headers) = input;
    check_name(text);
    if let Ok(prefix) = text.parse::<HashPrefix>() {
        assert_eq!(prefix.shelf(), text[..4].to_ascii_lowercase());
    }
    if let Ok(voter) = text.parse::<VoterId>() {
        assert_eq!(voter.to_string().parse(), Ok(voter));
        assert_eq!(format!("{voter:?}"), "***");
    }
    check_address(IpAddr::from(peer), &headers);
});

fn check_name(text: &str) {
    match Hostname::parse(text) {
        Ok(host) => {
            let name = host.as_str();
            assert!(name.contains('.') && name.len() <= 253, "{name:?}");
            assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name:?}");
            assert!(name.parse::<IpAddr>().is_err(), "{name:?} is an address");
            assert_eq!(Hostname::parse(name).as_ref(), Ok(&host), "read twice");
            let hash = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(name.as_bytes()));
            assert!(hash[..6].parse::<HashPrefix>().is_ok_and(|prefix| prefix.begins(&host)));
        }
        // Users are shown the message.
        Err(error) => assert!(error.to_string().chars().count() < 2_000),
    }
}

/// Proxies are 10.0.0.0/8. Everything else writes what it likes.
fn check_address(peer: IpAddr, headers: &[&[u8]]) {
    let trusted: [IpNet; 1] = ["10.0.0.0/8".parse().expect("a network")];
    let values: Vec<HeaderValue> =
        headers.iter().filter_map(|bytes| HeaderValue::from_bytes(bytes).ok()).collect();
    assert_eq!(client_address(peer, values.iter(), &[]), peer);
    let address = client_address(peer, values.iter(), &trusted);
    assert_eq!(address, address.to_canonical());
    if !trusted[0].contains(&peer) {
        assert_eq!(address, peer, "an untrusted program chose its address");
    }
    // Values before the address that a trusted proxy saw change nothing.
    if address != peer && !trusted[0].contains(&address) {
        let spoofed = HeaderValue::from_static("192.0.2.1, 10.0.0.9, nonsense");
        let all = std::iter::once(&spoofed).chain(&values);
        assert_eq!(client_address(peer, all, &trusted), address, "a client chose its address");
    }
}

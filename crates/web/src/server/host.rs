//! The rule on the host that a request is for: the name of this site, or an address.
//!
//! A page of another site can make a browser look up its own name as the address of this
//! server (DNS rebinding). Requests for names that are not ours are therefore refused.

use crate::error::{RequestError, Result};
use axum::http::uri::{Authority, PathAndQuery};
use axum::http::{Request, header};
use std::net::{IpAddr, Ipv6Addr};

/// The name that every machine has for itself.
const LOOPBACK_NAME: &str = "localhost";

/// The hosts that a site answers for.
#[derive(Debug, Clone)]
pub struct HostRule {
    /// In lower case, without a dot at the end.
    names: Vec<String>,
    /// Names that the site had before, in the same form.
    old: Vec<String>,
    /// Whether of all addresses only those count that lead to the machine itself.
    only_loopback: bool,
}

impl HostRule {
    /// A rule for these names, besides `localhost` and all literal addresses.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names = plain(names.into_iter().chain([LOOPBACK_NAME]));
        Self { names, old: Vec::new(), only_loopback: false }
    }

    /// The rule with these names that the site had before.
    #[must_use]
    pub fn with_old<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { old: plain(names), ..self }
    }

    /// A rule for these names, besides `localhost` and the addresses that lead to the machine itself.
    pub fn of_loopback<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { only_loopback: true, ..Self::new(names) }
    }

    /// Checks the one `Host` header of a request, and the host in its address if there is
    /// one. Ports are ignored.
    ///
    /// # Errors
    /// [`RequestError::WrongHost`], and [`RequestError::OldHost`] for one that the site had before.
    pub fn check<B>(&self, request: &Request<B>) -> Result<()> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(RequestError::WrongHost);
        };
        let host: Option<Authority> = host.to_str().ok().and_then(|host| host.parse().ok());
        let Some(host) = host else { return Err(RequestError::WrongHost) };
        let is = |rule: fn(&Self, &Authority) -> bool| {
            rule(self, &host) && request.uri().authority().is_none_or(|host| rule(self, host))
        };
        match () {
            () if is(Self::allows) => Ok(()),
            () if is(Self::is_old) => Err(RequestError::OldHost(
                request.uri().path_and_query().map_or("/", PathAndQuery::as_str).to_owned(),
            )),
            () => Err(RequestError::WrongHost),
        }
    }

    fn is_old(&self, authority: &Authority) -> bool {
        let name = without_dot(authority.host());
        !authority.as_str().contains('@') && self.old.iter().any(|old| old.eq_ignore_ascii_case(name))
    }

    fn allows(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let is_plain = !authority.as_str().contains('@');
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let address = match bracketed {
            Some(address) => address.parse::<Ipv6Addr>().ok().map(IpAddr::from),
            None => host.parse::<IpAddr>().ok(),
        };
        let is_address =
            address.is_some_and(|address| !self.only_loopback || address.to_canonical().is_loopback());
        let name = without_dot(host);
        is_plain && (is_address || self.names.iter().any(|ours| ours.eq_ignore_ascii_case(name)))
    }
}

/// Names in lower case, without a dot at the end.
fn plain<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(|name| without_dot(name).to_ascii_lowercase()).collect()
}

fn without_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(address: &str, hosts: &[&str]) -> bool {
        allows(&HostRule::new(["news.example.com", "Other.Example.org."]), address, hosts)
    }

    fn allows(rule: &HostRule, address: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri(address);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        rule.check(&request.body(()).unwrap()).is_ok()
    }

    #[test]
    fn the_host_is_ours_or_an_address() {
        let hosts = "news.example.com NEWS.Example.com news.example.com. news.example.com:80 \
            news.example.com.:8080 other.example.org localhost localhost:8080 127.0.0.1 127.0.0.1:8080 \
            192.0.2.1 [::1] [::1]:8080 [2001:db8::1]";
        for host in hosts.split(' ') {
            assert!(is_allowed("/", &[host]), "{host}");
        }
        let hosts = "|:80|evil.example|news.example.com.evil.example|xnews.example.com|example.com|\
            news.example.com..|news.example.com@evil.example|evil.example@news.example.com|\
            news.example.com/|news.example.com, evil.example|news.example.com evil.example|[::1|::1|\
            [127.0.0.1]|[::1%25lo]|127.1|0x7f000001|127.0.0.1.evil.example|evil\"><script>";
        for host in hosts.split('|') {
            assert!(!is_allowed("/", &[host]), "{host}");
        }
    }

    #[test]
    fn on_loopback_only_its_own_addresses_and_given_names_count() {
        let rule = HostRule::of_loopback(["metrics.example.com"]);
        for host in ["localhost:9464", "127.0.0.1:9464", "127.9.9.9", "[::1]:9464", "metrics.example.com"] {
            assert!(allows(&rule, "/metrics", &[host]), "{host}");
        }
        for host in ["192.0.2.1:9464", "[2001:db8::1]", "0.0.0.0", "rebind.example.com:9464", ""] {
            assert!(!allows(&rule, "/metrics", &[host]), "{host}");
        }
    }

    #[test]
    fn an_old_name_is_told_from_a_wrong_one_and_a_present_one() {
        let rule = HostRule::new(["new.example"]).with_old(["Old.example", "new.example"]);
        for (address, host, expected) in [
            ("/news/7?p=2", "old.example:443", Some("/news/7?p=2")),
            ("/", "OLD.example.", Some("/")),
            ("/", "new.example", None),
            ("http://old.example/a", "old.example", Some("/a")),
        ] {
            let request = Request::builder().uri(address).header(header::HOST, host).body(()).unwrap();
            match rule.check(&request) {
                Ok(()) => assert_eq!(expected, None, "{host}"),
                Err(RequestError::OldHost(path)) => assert_eq!(expected, Some(&*path), "{host}"),
                Err(other) => panic!("{other:?}"),
            }
        }
        for host in ["old.example@evil.example", "x.old.example", "evil.example"] {
            assert!(!allows(&rule, "/", &[host]), "{host}");
        }
    }

    #[test]
    fn exactly_one_host_is_needed_and_that_of_the_address_counts_too() {
        assert!(!is_allowed("/", &[]));
        assert!(!is_allowed("/", &["localhost", "localhost"]));
        assert!(!is_allowed("/", &["localhost", "evil.example"]));
        assert!(is_allowed("http://news.example.com/", &["localhost"]));
        assert!(!is_allowed("http://evil.example/", &["localhost"]));
        assert!(!is_allowed("http://news.example.com/", &["evil.example"]));
        assert!(!is_allowed("http://localhost/", &[]));
    }
}

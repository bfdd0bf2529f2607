//! Bans of where people come from: of networks, and of the domains of e-mail addresses.

use crate::values::mutes::muted_domain;
use crate::values::text_forms::{named, shown};
use crate::values::{OriginBanId, Reason, Timestamp, email};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::net::IpAddr;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The widest network of IPv4 that can be banned, by the bits of its prefix.
pub const WIDEST_IPV4: u8 = 16;
/// The widest network of IPv6 that can be banned, by the bits of its prefix.
pub const WIDEST_IPV6: u8 = 32;

/// The kinds of origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// A network.
    Network,
    /// A domain of e-mail addresses, with its subdomains.
    Domain,
}

/// The actions that are forbidden to people from a banned origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum BanScope {
    /// Sign up.
    Signup,
    /// Post.
    Post,
    /// Sign up and post.
    Both,
}

named!(OriginKind, BanScope);

impl BanScope {
    /// Whether a ban of this scope forbids what one of another scope forbids.
    pub fn covers(self, other: Self) -> bool {
        self == other || self == Self::Both
    }
}

/// Why something cannot be banned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum NotBannable {
    /// Not a network.
    Network,
    /// A network with too many addresses.
    TooWide,
    /// Not a domain.
    Domain,
}

/// Where people come from, as it can be banned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BannedOrigin {
    /// A network.
    Network(IpNet),
    /// A domain of e-mail addresses, in lower case and without `www.`.
    Domain(Box<str>),
}

impl BannedOrigin {
    /// Reads what somebody has typed.
    ///
    /// # Errors
    /// When it is not of its kind, or too wide.
    pub fn parse(kind: OriginKind, typed: &str) -> Result<Self, NotBannable> {
        let typed = typed.trim();
        match kind {
            OriginKind::Network => {
                let address = || typed.parse::<IpAddr>().map(IpNet::from);
                let network = typed.parse().or_else(|_| address()).map_err(|_| NotBannable::Network)?;
                let widest = if network.addr().is_ipv4() { WIDEST_IPV4 } else { WIDEST_IPV6 };
                if network.prefix_len() < widest {
                    return Err(NotBannable::TooWide);
                }
                Ok(Self::Network(network.trunc()))
            }
            OriginKind::Domain => {
                let domain = muted_domain(typed.trim_start_matches('@')).map_err(|_| NotBannable::Domain)?;
                Ok(Self::Domain(domain.as_str().into()))
            }
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> OriginKind {
        match self {
            Self::Network(_) => OriginKind::Network,
            Self::Domain(_) => OriginKind::Domain,
        }
    }

    /// Whether an address or an e-mail address is of this origin.
    pub fn is_of(&self, address: IpAddr, email: &str) -> bool {
        match self {
            Self::Network(network) => network.contains(&address.to_canonical()),
            Self::Domain(domain) => email::domain_of(email).is_some_and(|of_email| {
                let inner = of_email.strip_suffix(&**domain);
                inner.is_some_and(|inner| inner.is_empty() || inner.ends_with('.'))
            }),
        }
    }
}

shown!(BannedOrigin: |origin| match origin {
    BannedOrigin::Network(network) => network as &dyn Display,
    BannedOrigin::Domain(domain) => domain,
});

/// A ban as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginBan {
    /// Its number.
    pub id: OriginBanId,
    /// The origin.
    pub origin: BannedOrigin,
    /// The actions that are forbidden to people from there.
    pub scope: BanScope,
    /// Why. Those whom it stops read it.
    pub reason: Reason,
    /// When it ends; `None` is never.
    pub until: Option<Timestamp>,
}

/// The stored form of a ban.
#[derive(Serialize, Deserialize)]
struct StoredBan {
    what: OriginKind,
    value: String,
    scope: BanScope,
    reason: String,
    until: Option<u64>,
}

impl OriginBan {
    /// The ban as JSON.
    pub fn to_json(&self) -> String {
        let stored = StoredBan {
            what: self.origin.kind(),
            value: self.origin.to_string(),
            scope: self.scope,
            reason: self.reason.to_string(),
            until: self.until.map(|until| until.0),
        };
        serde_json::to_string(&stored).unwrap_or_default()
    }

    /// A ban from its JSON; `None` if it cannot be read.
    pub fn from_json(id: OriginBanId, json: &str) -> Option<Self> {
        let StoredBan { what, value, scope, reason, until } = serde_json::from_str(json).ok()?;
        Some(Self {
            id,
            origin: BannedOrigin::parse(what, &value).ok()?,
            scope,
            reason: Reason::parse(&reason).ok()?,
            until: until.map(Timestamp),
        })
    }

    /// Whether it has not ended.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_people_type_it() {
        for (kind, typed, origin) in [
            (OriginKind::Network, "192.0.2.77/24", "192.0.2.0/24"),
            (OriginKind::Network, " 192.0.2.77 ", "192.0.2.77/32"),
            (OriginKind::Network, "2001:db8:1::5/48", "2001:db8:1::/48"),
            (OriginKind::Domain, "@Mail.Example", "mail.example"),
            (OriginKind::Domain, "https://www.example.com/x", "example.com"),
        ] {
            let parsed = BannedOrigin::parse(kind, typed).unwrap();
            assert_eq!((parsed.to_string().as_str(), parsed.kind()), (origin, kind));
            assert_eq!(BannedOrigin::parse(kind, origin), Ok(parsed));
        }
        for (kind, typed, error) in [
            (OriginKind::Network, "example.com", NotBannable::Network),
            (OriginKind::Network, "10.0.0.0/15", NotBannable::TooWide),
            (OriginKind::Network, "::/0", NotBannable::TooWide),
            (OriginKind::Domain, "", NotBannable::Domain),
        ] {
            assert_eq!(BannedOrigin::parse(kind, typed), Err(error), "{typed}");
        }
    }

    #[test]
    fn an_origin_has_its_addresses_and_no_others() {
        let network = BannedOrigin::parse(OriginKind::Network, "192.0.2.0/24").unwrap();
        let domain = BannedOrigin::parse(OriginKind::Domain, "example.com").unwrap();
        for (address, is_inside) in [("192.0.2.9", true), ("::ffff:192.0.2.9", true), ("192.0.3.1", false)] {
            assert_eq!(network.is_of(address.parse().unwrap(), ""), is_inside, "{address}");
        }
        let somewhere = "::1".parse().unwrap();
        for (email, is_inside) in [
            ("a@example.com", true),
            ("a@Mail.Example.COM", true),
            ("a@ｅｘａｍｐｌｅ.com", true),
            ("a@mail.example。com", true),
            ("a@notexample.com", false),
            ("example.com@example.org", false),
            ("", false),
        ] {
            assert_eq!(domain.is_of(somewhere, email), is_inside, "{email}");
        }
    }

    #[test]
    fn a_domain_of_another_script_is_one_domain_however_it_is_written() {
        let somewhere = "::1".parse().unwrap();
        for banned in ["bücher.example", "BÜCHER.example", "xn--bcher-kva.example"] {
            let origin = BannedOrigin::parse(OriginKind::Domain, banned).unwrap();
            for email in [
                "a@bücher.example",
                "a@Mail.Bücher.Example",
                "a@xn--bcher-kva.example",
                "a@bu\u{308}cher.example",
            ] {
                assert!(origin.is_of(somewhere, email), "{banned} {email}");
            }
        }
        for undecodable in ["xn--a.example", "a.xn--bücher"] {
            assert_eq!(
                BannedOrigin::parse(OriginKind::Domain, undecodable),
                Err(NotBannable::Domain),
                "{undecodable}"
            );
        }
    }

    #[test]
    fn a_ban_is_read_as_it_was_written() {
        let ban = OriginBan {
            id: OriginBanId(3),
            origin: BannedOrigin::parse(OriginKind::Network, "2001:db8::/32").unwrap(),
            scope: BanScope::Both,
            reason: Reason::parse("spam").unwrap(),
            until: Some(Timestamp(7)),
        };
        assert_eq!(OriginBan::from_json(ban.id, &ban.to_json()), Some(ban.clone()));
        assert!(ban.is_in_force(Timestamp(6)) && !ban.is_in_force(Timestamp(7)));
        assert!(BanScope::Both.covers(BanScope::Post) && !BanScope::Post.covers(BanScope::Signup));
    }
}

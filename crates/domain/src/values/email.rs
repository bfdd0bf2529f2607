//! E-mail addresses, checked once where they come in, by the rules of the mailer: what passes can be sent to.

use crate::values::text::{is_visible, refuse_characters, refuse_longer};
use crate::values::{Hostname, InputError, MAX_EMAIL};
use email_address::EmailAddress;

/// The most characters of a wrong domain that the error repeats.
const SHOWN: usize = 40;

/// An e-mail address to which mail can be sent; whether it receives any shows when some is sent. Its domain is
/// in the form that goes out: in lower case, and other scripts as `xn--` (IDNA).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Trims and checks an address.
    ///
    /// # Errors
    /// When it is empty, too long, has invisible characters, or does not look like `name@example.com`; when no
    /// mail can be sent to the part before or after the `@`.
    pub fn parse(input: &str) -> Result<Self, InputError> {
        const FIELD: &str = "email";
        // Quotes and comments, and several addresses.
        const REFUSED: &str = "<>()[]\\,;:\"";
        let address = input.trim();
        if address.is_empty() {
            return Err(InputError::Empty { field: FIELD });
        }
        refuse_characters(FIELD, address, |c| !c.is_whitespace() && !is_visible(c))?;
        refuse_characters(FIELD, address, char::is_control)?;
        let (name, domain) = address.split_once('@').ok_or(InputError::EmailForm)?;
        if name.is_empty()
            || domain.is_empty()
            || domain.contains('@')
            || address.contains(|c: char| c.is_whitespace() || REFUSED.contains(c))
        {
            return Err(InputError::EmailForm);
        }
        if !EmailAddress::is_valid_local_part(name) {
            return Err(InputError::EmailName);
        }
        let domain = Hostname::parse(domain)
            .map_err(|_| InputError::EmailDomain { shown: domain.chars().take(SHOWN).collect() })?;
        let address = format!("{name}@{domain}");
        refuse_longer(FIELD, &address, MAX_EMAIL)?;
        Ok(Self(address))
    }

    /// As [`Email::parse`], for a profile, where none need be given.
    ///
    /// # Errors
    /// As [`Email::parse`], except that an empty input is `None`.
    pub fn parse_optional(input: &str) -> Result<Option<Self>, InputError> {
        if input.trim().is_empty() { Ok(None) } else { Self::parse(input).map(Some) }
    }
}

text_values!(Email);

/// The domain of a stored address in the form in which domains are compared. Earlier versions stored it as it was
/// typed. One that is no domain at all stays, in lower case.
pub(crate) fn domain_of(address: &str) -> Option<String> {
    let (_, domain) = address.rsplit_once('@')?;
    Some(Hostname::parse(domain).map_or_else(|_| domain.to_lowercase(), |name| name.to_string()))
}

/// Whether a stored address is this one, up to the form of its domain.
pub(crate) fn is_same(stored: &str, address: &str) -> bool {
    let name = |address: &str| address.rsplit_once('@').map(|(name, _)| name.to_owned());
    stored == address || (name(stored) == name(address) && domain_of(stored) == domain_of(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_in_the_form_that_goes_out() {
        for (typed, kept) in [
            ("a@b.c", "a@b.c"),
            (" First.Last+tag@Mail.Example.COM ", "First.Last+tag@mail.example.com"),
            ("o'neil@example.ie", "o'neil@example.ie"),
            ("ü@exämple.org", "ü@xn--exmple-cua.org"),
            ("a@Bücher.example", "a@xn--bcher-kva.example"),
            ("a@xn--bcher-kva.example", "a@xn--bcher-kva.example"),
            ("a@ｅxample.com", "a@example.com"),
            ("a@example。com", "a@example.com"),
            ("a@президент.рф", "a@xn--d1abbgf6aiiy.xn--p1ai"),
            (&format!("{}@b.c", "a".repeat(64)), &format!("{}@b.c", "a".repeat(64))),
        ] {
            assert_eq!(Email::parse(typed).unwrap().as_str(), kept, "{typed}");
            assert_eq!(Email::parse(kept).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn what_could_never_be_sent_is_refused_with_a_sentence() {
        for address in
            ["a", "@b.c", "a@", "a@b.c@d.e", "a b@c.d", "a@b.c,d@e.f", "<a@b.c>", "a@[1.2.3.4]", "\"a\"@b.c"]
        {
            assert_eq!(Email::parse(address), Err(InputError::EmailForm), "{address:?}");
        }
        for address in [".dot@b.c", "dot.@b.c", "do..t@b.c", &format!("{}@b.c", "a".repeat(65))] {
            assert_eq!(Email::parse(address), Err(InputError::EmailName), "{address:?}");
        }
        for domain in ["b", ".c", "b.", "b..c", "1.2.3.4", "-b.c", "b_c.d", "xn--a.c", "xn--bücher.example"]
        {
            let shown = domain.to_owned();
            assert_eq!(
                Email::parse(&format!("a@{domain}")),
                Err(InputError::EmailDomain { shown }),
                "{domain}"
            );
        }
        assert_eq!(Email::parse(""), Err(InputError::Empty { field: "email" }));
        for (address, error) in [
            ("a@b.c\r\nBcc: d@e.f", InputError::Control { field: "email", code: 0x000D }),
            ("a@b.c\u{200B}", InputError::Control { field: "email", code: 0x200B }),
            ("a@example.c_", InputError::EmailDomain { shown: "example.c_".to_owned() }),
        ] {
            assert_eq!(Email::parse(address).unwrap_err(), error);
        }
        let label = "b".repeat(60);
        let long = Email::parse(&format!("aaaaaaaaaaaaaa@{label}.{label}.{label}.{label}.c")).unwrap_err();
        assert_eq!(long, InputError::TooLong { field: "email", most: 255 });
        assert_eq!(Email::parse_optional("  "), Ok(None));
        assert!(Email::parse_optional("nonsense").is_err());
    }

    #[test]
    fn stored_addresses_are_compared_by_the_form_of_their_domains() {
        assert_eq!(domain_of("a@Bücher.Example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(domain_of("a@LOCALHOST").as_deref(), Some("localhost"));
        assert_eq!(domain_of("nobody"), None);
        assert!(is_same("a@bücher.example", "a@xn--bcher-kva.example") && is_same("", ""));
        assert!(!is_same("A@bücher.example", "a@xn--bcher-kva.example") && !is_same("a@b.c", "a@b.d"));
    }
}

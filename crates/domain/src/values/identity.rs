//! How the site presents itself, as administrators type it.

use crate::values::text::{is_unfit_for_line, line_or_nothing};
use crate::values::text_forms::{read_text, shown};
use crate::values::{Day, InputError, MAX_FOOTER_LINKS, MAX_LINK_ADDRESS_BYTES, MAX_LINK_LABEL, Timestamp};
use serde::{Deserialize, Serialize};
use url::Url;

/// Why a part of the identity is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum IdentityError {
    /// A text is refused.
    Text(#[from] InputError),
    /// Not a colour.
    Colour,
    /// Neither an e-mail address nor a page.
    Contact,
    /// A question without an answer.
    NoAnswer,
    /// None of the choices.
    Choice,
    /// Not an address.
    LinkAddress,
    /// Too many stories.
    TooManyPinned,
    /// A label without an address, or the other way round.
    HalfALink,
}

/// How all ids of entries in feeds begin: a host that the site had, and a day on which it had it (RFC 4151). Written
/// `news.example.com,2026-11-29`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagOrigin(Box<str>);

/// The text is not a host and a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a host and a day, like news.example.com,2026-11-29")]
pub struct NotATagOrigin;

impl TagOrigin {
    /// Of a host on the day of a moment.
    pub fn new(host: &str, now: Timestamp) -> Self {
        Self(format!("{host},{}", Day::of(now)).into())
    }
}

shown!(TagOrigin: |tag| tag.0);

read_text!(TagOrigin or NotATagOrigin: |text| {
    let (host, day) = text.split_once(',')?;
    // An address in brackets is a host too.
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    day.parse::<Day>().ok()?;
    (!host.is_empty() && host.bytes().all(is_host)).then(|| Self(text.into()))
});

/// A link in the footer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FooterLink {
    label: String,
    address: String,
}

impl FooterLink {
    /// Checks a link. `None` if both are empty.
    ///
    /// # Errors
    /// When one of them is empty, too long, or not allowed. The flag says whether it is the
    /// address.
    pub fn parse(label: &str, address: &str) -> Result<Option<Self>, (bool, IdentityError)> {
        let label = line_or_nothing("label", label, MAX_LINK_LABEL).map_err(|error| (false, error.into()))?;
        let address = address.trim();
        match (label.is_empty(), address.is_empty()) {
            (true, true) => return Ok(None),
            (is_unlabelled, false) if is_unlabelled => return Err((false, IdentityError::HalfALink)),
            (_, true) => return Err((true, IdentityError::HalfALink)),
            _ => {}
        }
        let address = parse_address(address).map_err(|error| (true, error))?;
        Ok(Some(Self { label, address }))
    }

    /// The words of the link.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Where it leads: a page of this site, an http or https address, or a mail address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether it leads to a page of this site.
    pub fn is_local(&self) -> bool {
        self.address.starts_with('/')
    }
}

/// A page of this site, or an address of another.
pub(crate) fn parse_address(text: &str) -> Result<String, IdentityError> {
    let too_long = InputError::TooManyBytes { field: "address", most: MAX_LINK_ADDRESS_BYTES };
    if text.len() > MAX_LINK_ADDRESS_BYTES {
        return Err(too_long.into());
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if text.chars().any(is_unfit_for_line) {
        return Err(IdentityError::LinkAddress);
    }
    if text.starts_with('/') && !text.starts_with("//") && is_plain {
        return Ok(text.to_owned());
    }
    let url = Url::parse(text).map_err(|_| IdentityError::LinkAddress)?;
    let is_allowed = match url.scheme() {
        "http" | "https" => url.has_host() && url.username().is_empty() && url.password().is_none(),
        "mailto" => url.path().contains('@'),
        _ => false,
    };
    let address = String::from(url);
    match address.len() {
        _ if !is_allowed => Err(IdentityError::LinkAddress),
        0..=MAX_LINK_ADDRESS_BYTES => Ok(address),
        _ => Err(too_long.into()),
    }
}

/// The links of the footer as they are stored: JSON. Those that were not typed here are checked
/// as if they had been, because other programs can write to the store.
pub fn read_links(stored: &str) -> Option<Vec<FooterLink>> {
    let links: Vec<FooterLink> = serde_json::from_str(stored).ok()?;
    let checked = links.iter().filter_map(|link| FooterLink::parse(&link.label, &link.address).ok()?);
    Some(checked.take(MAX_FOOTER_LINKS).collect())
}

/// See [`read_links`].
pub fn stored_links(links: &[FooterLink]) -> String {
    // Strings can always be written as JSON.
    serde_json::to_string(links).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_of_this_site_and_of_others() {
        for (address, stored) in [
            ("/about", "/about"),
            ("https://example.com", "https://example.com/"),
            ("http://example.com/ü", "http://example.com/%C3%BC"),
            ("mailto:us@example.com", "mailto:us@example.com"),
        ] {
            let link = FooterLink::parse("Label", address).unwrap().unwrap();
            assert_eq!((link.label(), link.address()), ("Label", stored));
        }
        let invalid = "javascript:alert(1)|data:text/html,x|//example.com|/\\example.com|/a b|example.com|\
            https://|https://user:secret@example.com/|ftp://example.com/|mailto:|/\u{202e}";
        for bad in invalid.split('|') {
            assert_eq!(FooterLink::parse("Label", bad), Err((true, IdentityError::LinkAddress)), "{bad}");
        }
        assert_eq!(FooterLink::parse(" ", ""), Ok(None));
        assert_eq!(FooterLink::parse("Label", " "), Err((true, IdentityError::HalfALink)));
        assert_eq!(FooterLink::parse("", "/about"), Err((false, IdentityError::HalfALink)));
        let long = format!("/{}", "a".repeat(MAX_LINK_ADDRESS_BYTES));
        assert!(matches!(FooterLink::parse("Label", &long), Err((true, IdentityError::Text(_)))));
    }

    #[test]
    fn stored_links_are_checked_again() {
        let link = FooterLink::parse("A", "/a").unwrap().unwrap();
        assert_eq!(read_links(&stored_links(std::slice::from_ref(&link))), Some(vec![link.clone()]));
        let stored = r#"[{"label":"x","address":"javascript:x"},{"label":"A","address":"/a"}]"#;
        assert_eq!(read_links(stored), Some(vec![link.clone()]));
        assert_eq!(read_links(&stored_links(&vec![link; 20])).unwrap().len(), MAX_FOOTER_LINKS);
        assert_eq!(read_links("{"), None);
    }
}

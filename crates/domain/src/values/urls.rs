//! The URL of a story: what may be submitted, and when two are the same.

use crate::values::text_forms::shown;
use std::borrow::Cow;

use url::Url;

use crate::values::text::{is_unprintable, turns_direction};
use crate::values::{MAX_STORED_URL_BYTES, MAX_URL};

use tidings_text::address::{uniform, valid_address};

/// Query parameters that only say where a visitor came from. They are left out
/// when URLs are compared. Names are compared without regard to case.
pub const TRACKING_PARAMETERS: &[&str] = &[
    "fbclid",  // Facebook
    "gclid",   // Google Ads
    "gclsrc",  // Google Ads
    "dclid",   // Google Marketing Platform
    "gbraid",  // Google Ads, from an iOS app
    "wbraid",  // Google Ads, from an iOS web page
    "msclkid", // Microsoft Advertising
    "yclid",   // Yandex Direct
    "twclid",  // Twitter
    "ttclid",  // TikTok
    "igshid",  // Instagram
    "igsh",    // Instagram
    "mc_cid",  // Mailchimp campaign
    "mc_eid",  // Mailchimp recipient
    "mkt_tok", // Marketo
    "_hsenc",  // HubSpot
    "_hsmi",   // HubSpot
    "oly_anon_id",
    "oly_enc_id", // Omeda
    "vero_id",    // Vero
    "ref_src",    // Twitter
    "ref_url",    // Twitter
];

/// The prefix of every name of the Urchin (Google Analytics) family.
pub const TRACKING_PREFIX: &str = "utm_";

/// Query parameters that mostly say where a visitor came from, but may mean something else. Names are compared without
/// regard to case.
pub const LIKELY_TRACKING_PARAMETERS: &[&str] =
    &["ref", "ref_", "si", "source", "feature", "share", "smid", "cmpid"];

/// Why a URL is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum UrlError {
    /// Nothing was typed.
    Empty,
    /// More than [`MAX_URL`] characters.
    TooLong,
    /// More than [`MAX_STORED_URL_BYTES`] bytes.
    TooManyBytes,
    /// A user name or a password, which people take for the host.
    Credentials,
    /// A backslash before the path, which programs read differently.
    Backslash,
    /// A control character, or one that changes the direction of the text.
    Control(u32),
    /// Another scheme, or none.
    Scheme,
    /// Nothing between the slashes.
    NoHost,
    /// Not a URL at all.
    Malformed,
}

/// An http or https URL with a host, stored as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewsUrl {
    sent: String,
    parsed: Url,
}

impl NewsUrl {
    /// Trims and checks a URL that someone submits.
    ///
    /// The rules are those that browsers follow (WHATWG), so that the host we
    /// show is the host a click leads to. Two of their leniencies are refused
    /// because they guess a host where none was written: `http:example.com`
    /// and `http:///example.com`. So are user names, passwords and backslashes in the
    /// authority, because people read the host from them.
    ///
    /// # Errors
    /// When it is not an http(s) URL with a host, too long, or has control characters or
    /// credentials.
    pub fn parse(input: &str) -> Result<Self, UrlError> {
        let sent = input.trim();
        if sent.chars().count() > MAX_URL {
            return Err(UrlError::TooLong);
        }
        Self::parse_listed(sent)
    }

    /// The same for a URL in a list that is imported, which may be longer.
    ///
    /// # Errors
    /// As [`NewsUrl::parse`], when it is longer than [`MAX_STORED_URL_BYTES`].
    pub fn parse_listed(input: &str) -> Result<Self, UrlError> {
        let sent = input.trim();
        let url = Self::parse_imported(sent)?;
        let authority = authority(sent);
        if authority.contains('\\') {
            return Err(UrlError::Backslash);
        }
        if authority.contains('@') {
            return Err(UrlError::Credentials);
        }
        Ok(url)
    }

    /// Trims and checks a URL that is stored: it may be longer, and have credentials, which
    /// [`NewsUrl::address`] leaves out.
    ///
    /// # Errors
    /// When it is not an http(s) URL with a host, longer than [`MAX_STORED_URL_BYTES`], or
    /// has control characters.
    pub fn parse_imported(input: &str) -> Result<Self, UrlError> {
        let sent = input.trim();
        if sent.is_empty() {
            return Err(UrlError::Empty);
        }
        if sent.len() > MAX_STORED_URL_BYTES {
            return Err(UrlError::TooManyBytes);
        }
        if let Some(found) = sent.chars().find(|c| is_unprintable(*c) || turns_direction(*c)) {
            return Err(UrlError::Control(u32::from(found)));
        }
        let authority = after_scheme(sent).ok_or(UrlError::Scheme)?;
        if authority.is_empty() || authority.starts_with(['/', '\\', '?', '#']) {
            return Err(UrlError::NoHost);
        }
        let parsed = Url::parse(sent).map_err(|error| match error {
            url::ParseError::EmptyHost => UrlError::NoHost,
            _ => UrlError::Malformed,
        })?;
        if parsed.host_str().is_none_or(str::is_empty) {
            return Err(UrlError::NoHost);
        }
        Ok(Self { sent: sent.to_owned(), parsed })
    }

    /// The URL as it was sent, without spaces around it.
    pub fn as_str(&self) -> &str {
        &self.sent
    }

    /// The form in which two URLs are compared: scheme and host in lower case,
    /// without a dot after the host, the default port and the [`TRACKING_PARAMETERS`],
    /// an empty path as `/`. The remaining parameters keep their order. Nothing is percent-encoded that need not be.
    /// A fragment is left out, unless it begins as those that pages of one address take for their path.
    pub fn normalised(&self) -> String {
        self.compared().into()
    }

    fn compared(&self) -> Url {
        let mut url = self.parsed.clone();
        if let Some(host) = self.host().strip_suffix('.') {
            // A host of dots alone stays.
            let _ = url.set_host(Some(host));
        }
        url.set_path(&uniform(self.parsed.path()));
        let query = self.parsed.query().map(|query| without_tracking(&uniform(query)));
        url.set_query(query.filter(|query| !query.is_empty()).as_deref());
        let fragment = self.parsed.fragment().map(uniform);
        url.set_fragment(fragment.as_deref().filter(|fragment| fragment.starts_with(['/', '!', '#'])));
        url
    }

    /// A form that URLs share that likely lead to the same page, although they may not: without the scheme, `www.` or
    /// `m.`, slashes at the end of the path, and the [`LIKELY_TRACKING_PARAMETERS`]; the other parameters in order.
    /// A video of YouTube has one address. It begins with `//`, so it is no URL.
    pub fn likely(&self) -> String {
        let url = self.compared();
        let host = url.host_str().unwrap_or_default();
        let bare = ["www.", "m."].into_iter().find_map(|prefix| host.strip_prefix(prefix));
        let host = bare.filter(|bare| bare.contains('.')).unwrap_or(host);
        let mut path = url.path().trim_end_matches('/');
        let is_likely_tracking = |pair: &&str| {
            let (name, _) = pair.split_once('=').unwrap_or((*pair, ""));
            LIKELY_TRACKING_PARAMETERS.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let mut query: Vec<&str> = url
            .query()
            .into_iter()
            .flat_map(|query| query.split('&'))
            .filter(|pair| !is_likely_tracking(pair))
            .collect();
        let video = match host {
            "youtu.be" => path.strip_prefix('/'),
            "youtube.com" => {
                ["/shorts/", "/live/", "/embed/"].into_iter().find_map(|place| path.strip_prefix(place))
            }
            _ => None,
        };
        let video =
            video.filter(|video| !video.is_empty() && !video.contains('/')).map(|video| format!("v={video}"));
        let host = if video.is_some() { "youtube.com" } else { host };
        if let Some(video) = &video {
            path = "/watch";
            query.push(video);
        }
        query.sort_unstable();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let fragment = url.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
        ["//", host, &port, path, &query, &fragment].concat()
    }

    /// The URL for the `href` of a link: as it was sent, with blanks and `<` percent-encoded,
    /// where many programs think that a URL ends. A URL whose authority has credentials or a backslash is
    /// written as a browser reads it, without them.
    pub fn address(&self) -> Cow<'_, str> {
        if authority(&self.sent).contains(['\\', '@']) {
            return Cow::Owned(valid_address(&self.ascii()).into_owned());
        }
        valid_address(&self.sent)
    }

    /// The URL in plain ASCII, without credentials, for feeds.
    pub fn ascii(&self) -> String {
        let mut url = self.parsed.clone();
        // These fail only for URLs without a host, and this one has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.into()
    }

    /// The host that a click leads to, in its ASCII form and without user name
    /// or port: for display beside the title.
    pub fn host(&self) -> String {
        self.parsed.host_str().unwrap_or_default().to_owned()
    }
}

shown!(NewsUrl: |url| url.sent);

/// A URL as somebody typed it into a form, with `https://` before it if it begins with a host
/// such as `example.com`. Anything else is returned as it is, without spaces around it.
pub fn completed(typed: &str) -> Cow<'_, str> {
    let typed = typed.trim();
    let authority = typed.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = authority.split_once(':').unwrap_or((authority, "0"));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|character| character.is_alphanumeric() || character == '-')
    };
    let is_host = host.rsplit_once('.').is_some_and(|(rest, last)| {
        rest.split('.').chain([last]).all(is_label) && last.chars().any(char::is_alphabetic)
    });
    if is_host && is_port { Cow::Owned(format!("https://{typed}")) } else { Cow::Borrowed(typed) }
}

/// The rest of a URL after `http://` or `https://`, in any case of letters.
fn after_scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    known.then_some(rest)
}

/// The user name, password, host and port as they were sent, up to the path.
fn authority(sent: &str) -> &str {
    let rest = after_scheme(sent).unwrap_or_default();
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn without_tracking(query: &str) -> String {
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_tracking(pair)).collect();
    kept.join("&")
}

fn is_tracking(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
    name.starts_with(TRACKING_PREFIX) || TRACKING_PARAMETERS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_no_url_has_is_encoded_in_links() {
        for (typed, valid) in [
            ("http://a.com/b?c=d#e", "http://a.com/b?c=d#e"),
            ("http://a.com/é", "http://a.com/é"),
            ("http://a.com/\"<>^`{|}", "http://a.com/%22%3C%3E%5E%60%7B%7C%7D"),
            ("http://a.com/a b[1]?c[]=d", "http://a.com/a%20b%5B1%5D?c%5B%5D=d"),
            ("http://[::1]:80/[x]", "http://[::1]:80/%5Bx%5D"),
            ("http://a.com\\b\\c?d\\e", "http://a.com/b/c?d%5Ce"),
            ("mailto:a@b.c", "mailto:a@b.c"),
            ("/site/a|b", "/site/a%7Cb"),
        ] {
            assert_eq!(valid_address(typed), valid, "{typed}");
        }
    }

    #[test]
    fn a_host_that_was_typed_into_a_form_becomes_a_url() {
        for (typed, expected) in [
            ("example.com", "https://example.com"),
            (" example.com/foo?a=b#c ", "https://example.com/foo?a=b#c"),
            ("www.example.co.uk:8080/x", "https://www.example.co.uk:8080/x"),
            ("example.com?q=http://a.example/", "https://example.com?q=http://a.example/"),
            ("bücher.example/ü", "https://bücher.example/ü"),
        ] {
            assert_eq!(completed(typed), expected);
            assert_eq!(NewsUrl::parse(&completed(typed)).unwrap().as_str(), expected);
        }
        let others = "|example|localhost:8080/x|http://example.com|HTTPS://example.com|ftp://example.com/|\
            //example.com|/example.com|javascript:alert(1)|javascript:alert.call|mailto:a@example.com|\
            a@example.com|user:1@example.com|192.0.2.1/x|1.5|.com|example.|two words.com|example.com\\x|\
            example.com:port|example.com:|text://example.com";
        for typed in others.split('|') {
            assert_eq!(completed(typed), typed);
        }
    }

    #[test]
    fn only_http_urls_with_a_host_are_accepted() {
        let table = [
            (UrlError::Empty, "|   "),
            (
                UrlError::Scheme,
                "example.com|//example.com|javascript:alert(1)|javascript://example.com/%0aalert(1)|\
                 JavaScript:alert('http://example.com')|data:text/html,http://a.com|ftp://example.com/|\
                 text://something|http:example.com|http:/example.com|http:\\\\example.com|http",
            ),
            (
                UrlError::NoHost,
                "http://|https://|http:///path|http://\\example.com|http://?q|http://#f|http://:80|\
                 http://user@|http://user@/path",
            ),
            (
                UrlError::Malformed,
                "http://a b/|http://a<b>/|http://example.com:99999/|http://example.com:port/|http://[::1|\
                 http://1.2.3.4.5/",
            ),
            (UrlError::Control(0x000A), "http://exa\nmple.com"),
            (UrlError::Control(0x0000), "http://example.com/\u{0}"),
            (UrlError::Credentials, "http://a@b|http://good.com:pass@evil.com/|http://:@b?x"),
            (UrlError::Backslash, "http://evil.com\\@good.com/|http://evil.com\\path"),
            (UrlError::Control(0xFFFF), "http://example.com/\u{FFFF}"),
            (UrlError::Control(0x0009), "java\tscript:alert(1)"),
            (UrlError::Control(0x202E), "http://example.com/\u{202E}gpj.exe"),
        ];
        for (expected, inputs) in table {
            for input in inputs.split('|') {
                match NewsUrl::parse(input) {
                    Ok(url) => panic!("{input:?} was accepted with host {:?}", url.host()),
                    Err(error) => assert_eq!(error, expected, "{input:?}"),
                }
            }
        }
    }

    #[test]
    fn the_longest_url_has_2048_characters() {
        let url = format!("http://e.com/{}", "é".repeat(2048 - 13));
        assert_eq!(NewsUrl::parse(&url).unwrap().as_str(), url);
        assert_eq!(NewsUrl::parse(&(url + "x")), Err(UrlError::TooLong));
    }

    #[test]
    fn an_imported_url_has_at_most_8192_bytes() {
        let url = format!("http://e.com/{}", "x".repeat(8_192 - 13));
        assert_eq!(NewsUrl::parse(&url), Err(UrlError::TooLong));
        assert_eq!(NewsUrl::parse_imported(&url).unwrap().address(), url);
        assert_eq!(NewsUrl::parse_imported(&(url + "x")), Err(UrlError::TooManyBytes));
        // A URL that can be submitted can be shown.
        let longest = format!("http://e.com/{}", "\u{1F600}".repeat(2048 - 13));
        assert!(NewsUrl::parse(&longest).is_ok());
    }

    /// Stored, as a link, host.
    #[test]
    fn stored_urls_are_linked_safely() {
        for (stored, address, host) in [
            ("https://Example.com/a?b=c&d", "https://Example.com/a?b=c&d", "example.com"),
            ("http://a.com/a b<c>\"d\"", "http://a.com/a%20b%3Cc%3E%22d%22", "a.com"),
            ("http://a.com/?q=a b#c d", "http://a.com/?q=a%20b#c%20d", "a.com"),
            ("http://a.com/\u{A0}\u{3000}é", "http://a.com/%C2%A0%E3%80%80é", "a.com"),
            ("http://good.com:pass@evil.com/a b", "http://evil.com/a%20b", "evil.com"),
            ("http://good.com@evil.com", "http://evil.com/", "evil.com"),
            ("http://evil.com\\@good.com/", "http://evil.com/@good.com/", "evil.com"),
        ] {
            let url = NewsUrl::parse_imported(stored).unwrap();
            assert_eq!((url.address().as_ref(), url.host().as_str()), (address, host), "{stored}");
        }
        for stored in ["javascript:alert(1)", "http://", "http://a.com/\u{7}", "data:text/html,x"] {
            assert!(NewsUrl::parse_imported(stored).is_err(), "{stored}");
        }
    }

    /// Sent, normalised, host.
    #[test]
    fn urls_are_kept_as_sent_and_compared_normalised() {
        let table = [
            ("http://example.com", "http://example.com/", "example.com"),
            ("HTTP://EXAMPLE.com:80", "http://example.com/", "example.com"),
            ("HttpS://Example.Com:443/A?b=C#d", "https://example.com/A?b=C", "example.com"),
            ("https://example.com:80/", "https://example.com:80/", "example.com"),
            ("http://www.example.com/", "http://www.example.com/", "www.example.com"),
            ("http://example.com/a@b\\c", "http://example.com/a@b/c", "example.com"),
            ("http://example.com?u=a@b", "http://example.com/?u=a@b", "example.com"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x", "[::1]"),
            ("http://[2001:DB8::1]/", "http://[2001:db8::1]/", "[2001:db8::1]"),
            ("http://127.1/", "http://127.0.0.1/", "127.0.0.1"),
            ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC", "xn--bcher-kva.example"),
            ("http://example.com/a b", "http://example.com/a%20b", "example.com"),
            ("http://example.com/?", "http://example.com/", "example.com"),
            ("http://example.com/#", "http://example.com/", "example.com"),
            ("http://example.com?utm_source=x", "http://example.com/", "example.com"),
            (
                "http://example.com/?b=2&utm_source=x&a=1&UTM_Medium=y&fbclid=1",
                "http://example.com/?b=2&a=1",
                "example.com",
            ),
            ("http://example.com/?ref_src=t&ref=keep&utm", "http://example.com/?ref=keep&utm", "example.com"),
            ("http://example.com/?q=utm_source", "http://example.com/?q=utm_source", "example.com"),
            ("http://example.com/?&&gclid=1&", "http://example.com/", "example.com"),
            ("http://example.com/%c3%bc%61?%7e=%c3", "http://example.com/%C3%BCa?~=%C3", "example.com"),
            ("http://example.com/?%75tm_source=x#top", "http://example.com/", "example.com"),
            ("http://example.com/#/a", "http://example.com/#/a", "example.com"),
            ("http://example.com/#!a", "http://example.com/#!a", "example.com"),
            ("http://example.com/##%61", "http://example.com/##a", "example.com"),
        ];
        for (sent, normalised, host) in table {
            let url = NewsUrl::parse(&format!(" {sent}\n")).unwrap();
            assert_eq!(url.as_str(), sent);
            assert_eq!(url.normalised(), normalised, "{sent:?}");
            assert_eq!(url.host(), host, "{sent:?}");
        }
    }

    #[test]
    fn different_pages_stay_different() {
        let table = [
            ("http://example.com/a", "http://example.com/A"),
            ("http://example.com/", "https://example.com/"),
            ("http://example.com/?a=1&b=2", "http://example.com/?b=2&a=1"),
            ("http://example.com/a", "http://example.com/a/"),
        ];
        for (left, right) in table {
            let normalised = |url: &str| NewsUrl::parse(url).unwrap().normalised();
            assert_ne!(normalised(left), normalised(right));
        }
    }

    #[test]
    fn a_dot_after_the_host_changes_nothing() {
        let normalised = |url: &str| NewsUrl::parse(url).unwrap().normalised();
        assert_eq!(normalised("http://example.com.:80/a"), "http://example.com/a");
    }

    #[test]
    fn some_addresses_are_likely_the_same() {
        let likely = |url: &str| NewsUrl::parse(url).unwrap().likely();
        for (same, form) in [
            (
                &[
                    "http://example.com/a/?b=1&c=2",
                    "https://www.example.com/a?c=2&utm_x=y&b=1",
                    "https://m.example.com./a?ref=x&b=1&si=2&c=2&fbclid=3#top",
                ][..],
                "//example.com/a?b=1&c=2",
            ),
            (&["http://example.com", "https://www.example.com/?"], "//example.com"),
            (
                &[
                    "https://youtu.be/aB-1?si=x",
                    "https://www.youtube.com/watch?v=aB-1",
                    "https://m.youtube.com/watch?feature=shared&v=aB-1",
                    "https://youtube.com/shorts/aB-1/",
                ],
                "//youtube.com/watch?v=aB-1",
            ),
            (&["https://example.com:8443/#!/b"], "//example.com:8443#!/b"),
        ] {
            for url in same {
                assert_eq!(likely(url), form, "{url}");
            }
        }
        for (left, right) in [
            ("http://example.com/a", "http://example.com/b"),
            ("http://example.com/?a=1", "http://example.com/?a=2"),
            ("http://a.example.com/", "http://example.com/"),
            ("https://youtu.be/a", "https://youtu.be/A"),
            ("http://example.com/#/a", "http://example.com/#/b"),
        ] {
            assert_ne!(likely(left), likely(right), "{left} {right}");
        }
    }

    fn urls() -> impl Strategy<Value = String> {
        let pair = prop_oneof![
            "[a-z]{1,3}=[a-zA-Z0-9%+é ']{0,4}",
            "utm_[a-z]{0,3}=[a-z]{0,2}",
            Just("fbclid=1".to_owned()),
            Just(String::new()),
        ];
        let query = prop::collection::vec(pair, 0..5).prop_map(|pairs| pairs.join("&"));
        (
            "(http|HTTP|https)://[a-zA-Zé]{1,5}\\.[a-z]{2,3}(:80|:443|:8080)?",
            "(/[^?#\\\\]{0,8})?",
            query,
            "(#.{0,4})?",
        )
            .prop_map(|(start, path, query, fragment)| format!("{start}{path}?{query}{fragment}"))
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(input in urls()) {
            if let Ok(url) = NewsUrl::parse(&input) {
                let once = url.normalised();
                let again = NewsUrl::parse(&once).unwrap();
                prop_assert_eq!(again.normalised(), once);
                prop_assert_eq!(again.host(), url.host());
            }
        }

        #[test]
        fn any_input_is_answered(input in "(https?://)?.{0,40}") {
            if let Ok(url) = NewsUrl::parse(&input) {
                prop_assert!(!url.host().is_empty());
                prop_assert_eq!(url.as_str(), input.trim());
            }
        }

        #[test]
        fn links_lead_where_a_browser_goes(input in "https?://[a-z@:\\\\/.?# <\"é]{1,30}") {
            if let Ok(url) = NewsUrl::parse_imported(&input) {
                let address = url.address();
                prop_assert!(!address.contains(tidings_text::address::is_unsafe_in_links), "{}", address);
                let parsed = Url::parse(&address).unwrap();
                let host = url.host();
                prop_assert_eq!(parsed.host_str(), Some(host.as_str()));
                prop_assert_eq!((parsed.username(), parsed.password()), ("", None));
                prop_assert!(NewsUrl::parse(&address).is_ok(), "{}", address);
            }
        }
    }
}

//! The headers of every response.

use crate::settings::Settings;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use url::form_urlencoded;

/// Only our own style, script and images, no inline script, no framing, forms to ourselves.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// The same, and avatars from Gravatar.
const POLICY_WITH_GRAVATARS: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https://www.gravatar.com; \
     connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// For a year, browsers use https only. Not for subdomains, which may be other sites.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The headers that depend on nothing, each set unless the handler has set it.
const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=()"),
    ),
    // Pages of other sites that open ours cannot reach into it.
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    // A page shows who is logged in, so shared caches must not store it.
    (header::CACHE_CONTROL, PRIVATE),
];

/// Browsers may store the response but must revalidate it; shared caches must not store it.
pub const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");
/// Browsers and shared caches may store the response but must revalidate it.
pub const PUBLIC: HeaderValue = HeaderValue::from_static("public, no-cache");

/// The headers of a document that is the same for everyone, by its type and by who may keep it for how long.
pub const fn cacheable(content_type: &'static str, caching: &'static str) -> [(HeaderName, HeaderValue); 3] {
    [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ]
}

/// The beginnings of paths that go on with a secret.
const SECRET_PATHS: [&str; 5] =
    ["/login/link/", "/reset-password/", "/confirm-email/", "/unsubscribe/", "/inbox/feed/"];
/// The parameter with the key of a member, on a site that only members read.
pub const KEY_PARAMETER: &str = "key";
/// The parameters whose values are secrets.
const SECRET_PARAMETERS: [&str; 4] = ["token", "invitation", "state", KEY_PARAMETER];

/// An address within this site without the secret that it has, in itself or in the address that it leads on to: the
/// path before it. `None` if it has none. Whoever has such an address can do what it is for.
pub fn without_secret(address: &str) -> Option<&str> {
    if let Some(path) =
        SECRET_PATHS.iter().find(|path| address.len() > path.len() && address.starts_with(**path))
    {
        return path.strip_suffix('/');
    }
    let (path, query) = address.split_once('?')?;
    let is_secret = |name: &str, value: &str| match name {
        "next" => without_secret(value).is_some(),
        _ => SECRET_PARAMETERS.contains(&name) && !value.is_empty(),
    };
    form_urlencoded::parse(query.as_bytes()).any(|(name, value)| is_secret(&name, &value)).then_some(path)
}

/// Whether the address of a request has a secret.
pub fn has_secret(address: &Uri) -> bool {
    address.path_and_query().is_some_and(|address| without_secret(address.as_str()).is_some())
}

/// Sets these headers. Browsers neither send an address with a secret anywhere nor store its page.
pub fn protect(settings: &Settings, has_secret: bool, headers: &mut HeaderMap) {
    if has_secret {
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        let is_stored = |value: &HeaderValue| !value.to_str().is_ok_and(|value| value.contains("no-store"));
        if headers.get(header::CACHE_CONTROL).is_none_or(is_stored) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
    }
    let policy = if settings.gravatars { POLICY_WITH_GRAVATARS } else { CONTENT_SECURITY_POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    if settings.site.is_https() {
        headers.entry(header::STRICT_TRANSPORT_SECURITY).or_insert(HTTPS_ONLY);
    }
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(value);
    }
    if headers.get(header::CACHE_CONTROL) == Some(&PRIVATE) {
        headers.append(header::VARY, HeaderValue::from_static("cookie"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_of_an_address_is_known() {
        let secrets = crate::router::routes().iter().filter_map(|route| {
            let secret = ["{token}", "{secret}"].iter().find_map(|name| route.pattern.split_once(*name));
            Some(secret?.0)
        });
        let known: std::collections::BTreeSet<&str> = secrets.collect();
        assert_eq!(known, SECRET_PATHS.into());
    }

    #[test]
    fn an_address_is_cut_before_its_secret() {
        for (address, without) in [
            ("/register?token=0c1b", Some("/register")),
            ("/register?next=%2F&invitation=abab", Some("/register")),
            ("/welcome?%74oken=0c1b", Some("/welcome")),
            ("/login?next=%2Fwelcome%3Ftoken%3D0c1b&reason=vote", Some("/login")),
            ("/login?next=%2Finbox%2Ffeed%2F1-aa", Some("/login")),
            ("/reset-password/0c1b", Some("/reset-password")),
            ("/inbox/feed/1-aa/json?before=2", Some("/inbox/feed")),
            ("/reset-password", None),
            ("/reset-password/", None),
            ("/register?token=&invitation=", None),
            ("/search?q=token", None),
            ("/login?next=%2Fnews%2F1", None),
            ("/", None),
        ] {
            assert_eq!(without_secret(address), without, "{address}");
        }
    }
}

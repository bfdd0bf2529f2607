//! Requests that change something come from pages of this site, or from programs.
//!
//! A page of another site can make a visitor's browser send any form here. Browsers say
//! where a request comes from: in `Sec-Fetch-Site`, and older ones in `Origin`. Programs
//! send neither. This check covers what the secret of forms cannot: forms that have no
//! session yet, such as logging in and signing up. The calls of browser extensions are made from
//! anywhere, but not by pages of other sites: these would vote as their visitors.

use super::cookies::SEC_FETCH_SITE;
use crate::error::{RequestError, Result};
use crate::route::{Facts, Senders};
use crate::settings::Settings;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, header};
use url::{Host, Url};

/// Refuses requests from pages of other sites.
pub fn refuse_other_sites(settings: &Settings, route: &Facts, request: &Request) -> Result<()> {
    let (method, headers) = (request.method(), request.headers());
    match route.senders {
        Senders::Ours if may_write(route, method) && !is_ours(settings, headers) => {
            Err(RequestError::CrossSite)
        }
        // They act or read as the voter that they name.
        Senders::Voters if *method == Method::POST && !may_vote(settings, headers) => {
            Err(RequestError::ForeignPage)
        }
        _ => Ok(()),
    }
}

/// Whether a request may write: any method but those that are safe, and the calls of old clients that write by GET.
pub fn may_write(route: &Facts, method: &Method) -> bool {
    route.writes_by_get || !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whether a request comes from a program, from a browser extension, or from a page that may vote:
/// of this site, or of an origin in `sites.vote_origins`. Only browsers send `Origin`, and an
/// extension has a scheme of its own.
fn may_vote(settings: &Settings, headers: &HeaderMap) -> bool {
    let may_vote = |origin: &str| {
        let Ok(url) = Url::parse(origin) else { return false };
        !matches!(url.scheme(), "http" | "https")
            || settings.vote_origins.contains(&url.origin())
            || is_own_origin(settings, origin, headers)
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    origins.all(|origin| origin.to_str().is_ok_and(may_vote))
}

/// Whether a request comes from a page of this site, from the browser's user, or from a
/// program. If `Sec-Fetch-Site` is present, it alone decides.
fn is_ours(settings: &Settings, headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter().peekable();
    if sites.peek().is_some() {
        return sites.all(|site| site == "same-origin" || site == "none");
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    origins.all(|origin| origin.to_str().is_ok_and(|origin| is_own_origin(settings, origin, headers)))
}

/// Whether an origin is that of `site.url`, or that of the address that the browser uses, if
/// nobody else can have that address.
fn is_own_origin(settings: &Settings, origin: &str, headers: &HeaderMap) -> bool {
    let Ok(origin) = Url::parse(origin) else {
        return false;
    };
    if origin.origin() == settings.site.url.origin() {
        return true;
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(used) = host.and_then(|host| host.parse::<Authority>().ok()) else {
        return false;
    };
    let is_same_host = origin.host_str().is_some_and(|host| host.eq_ignore_ascii_case(used.host()));
    let default_port = match origin.scheme() {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    is_same_host
        && origin.port().unwrap_or(default_port) == used.port_u16().unwrap_or(default_port)
        && (is_local(&origin) || is_further_host(settings, &origin))
}

/// Whether an address has one of the further names that the site answers for.
fn is_further_host(settings: &Settings, address: &Url) -> bool {
    let hosts = &settings.transport.hosts;
    address.host_str().is_some_and(|host| hosts.iter().any(|further| further.eq_ignore_ascii_case(host)))
}

/// Whether an address has no name that another site could point at this server: it is a
/// literal address, or the name of the machine itself.
fn is_local(address: &Url) -> bool {
    match address.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;
    use crate::settings::SiteSettings;
    use axum::body::Body;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn where_a_request_may_come_from() {
        let settings = settings();
        let url = "https://news.example.com/".parse().unwrap();
        let mut settings = Settings { site: SiteSettings { url, ..settings.site.clone() }, ..settings };
        settings.transport.hosts = vec!["www.example.com".to_owned()];
        let site = "sec-fetch-site";
        let table: [(&[(&'static str, &str)], bool); 30] = [
            (&[], true),
            (&[(site, "same-origin")], true),
            (&[(site, "none")], true),
            (&[(site, "same-site")], false),
            (&[(site, "cross-site")], false),
            (&[(site, "")], false),
            (&[(site, "Same-Origin")], false),
            (&[(site, "same-origin"), (site, "cross-site")], false),
            // It alone decides.
            (&[(site, "same-origin"), ("origin", "https://evil.example")], true),
            (&[(site, "cross-site"), ("origin", "https://news.example.com")], false),
            (&[("origin", "https://news.example.com")], true),
            (&[("origin", "https://news.example.com:443")], true),
            (&[("origin", "https://NEWS.example.com")], true),
            (&[("origin", "http://news.example.com")], false),
            (&[("origin", "https://news.example.com:8443")], false),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "https://news.example.com.evil.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
            (&[("origin", "https://news.example.com"), ("origin", "https://evil.example")], false),
            (&[("origin", "http://127.0.0.1:8080"), ("host", "127.0.0.1:8080")], true),
            (&[("origin", "http://[::1]:8080"), ("host", "[::1]:8080")], true),
            (&[("origin", "http://localhost"), ("host", "LOCALHOST:80")], true),
            (&[("origin", "http://127.0.0.1:8081"), ("host", "127.0.0.1:8080")], false),
            (&[("origin", "http://localhost:8080"), ("host", "127.0.0.1:8080")], false),
            // A name of server.hosts.
            (&[("origin", "https://www.example.com"), ("host", "www.example.com")], true),
            (&[("origin", "https://www.example.com"), ("host", "news.example.com")], false),
            (&[("origin", "https://www.example.com")], false),
            // A name that points here, as in DNS rebinding.
            (&[("origin", "http://evil.example"), ("host", "evil.example")], false),
            (&[("origin", "moz-extension://127.0.0.1"), ("host", "127.0.0.1")], false),
        ];
        for (given, expected) in table {
            assert_eq!(is_ours(&settings, &headers(given)), expected, "{given:?}");
        }
    }

    #[test]
    fn no_page_of_another_site_votes() {
        let mut settings = settings();
        settings.site.url = "https://news.example.com/".parse().unwrap();
        settings.vote_origins = vec![Url::parse("https://search.example").unwrap().origin()];
        for (origin, expected) in [
            ("chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb", true),
            ("moz-extension://3f504997-80b7-467d-9d7b-e2fbb6d55e34", true),
            ("safari-web-extension://3f504997", true),
            ("https://news.example.com", true),
            ("https://search.example", true),
            ("http://search.example", false),
            ("https://www.search.example", false),
            ("https://evil.example", false),
            ("HTTPS://evil.example", false),
            ("http://localhost", false),
            ("null", false),
            ("", false),
        ] {
            assert_eq!(may_vote(&settings, &headers(&[("origin", origin)])), expected, "{origin:?}");
        }
        assert!(may_vote(&settings, &headers(&[])));
        let two = [("origin", "https://news.example.com"), ("origin", "https://evil.example")];
        assert!(!may_vote(&settings, &headers(&two)));
        // The header `sec-fetch-site` does not matter: the calls are for other sites, too.
        assert!(may_vote(&settings, &headers(&[("sec-fetch-site", "cross-site")])));
    }

    #[test]
    fn what_is_taken_from_pages_of_other_sites() {
        let routes = crate::router::routes();
        for (method, path, is_taken) in [
            ("GET", "/news/1", true),
            ("HEAD", "/news/1", true),
            ("POST", "/login", false),
            ("GET", "/login", true),
            ("GET", "/api/login", false),
            ("HEAD", "/api/login", false),
            ("GET", "/api/reset-password", false),
            ("DELETE", "/nothing", false),
            ("OPTIONS", "/api/sites/vote", true),
            ("POST", "/api/sites/vote", false),
            ("POST", "/api/sites/own", false),
            ("POST", "/vote", false),
            ("GET", "/scores", true),
            ("POST", "/v1/vote", false),
            ("POST", "/votenews", false),
            ("POST", "/unsubscribe/replies-1-0", true),
            ("POST", "/unsubscribe", false),
            ("POST", "/api/unsubscribe", false),
        ] {
            let request = Request::builder().method(method).uri(path);
            let request = request.header(header::ORIGIN, "https://evil.example").body(Body::empty()).unwrap();
            let route = routes.find(request.method(), path);
            let is_refused = refuse_other_sites(&settings(), &route, &request).is_err();
            assert_eq!(is_refused, !is_taken, "{method} {path}");
        }
    }
}

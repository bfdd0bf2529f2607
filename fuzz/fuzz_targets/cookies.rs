//! Any bytes as `Cookie` headers, and any text as an address to go back to.

#![no_main]

use axum::http::{HeaderMap, HeaderValue, header};
use libfuzzer_sys::fuzz_target;
use tidings_web::request::local_path::LocalPath;
use url::Url;

fuzz_target!(|input: (Vec<&[u8]>, &str)| {
    let (cookies, path) = input;
    let mut headers = HeaderMap::new();
    for value in cookies.iter().filter_map(|bytes| HeaderValue::from_bytes(bytes).ok()) {
        headers.append(header::COOKIE, value);
    }
    for is_https in [false, true] {
        if let Some(token) = tidings_web::request::cookies::token_of(&headers, is_https) {
            let sent = cookies.concat();
            let sent = String::from_utf8_lossy(&sent);
            assert!(sent.contains(&*token), "a token that nobody sent: {token:?}");
        }
    }
    check_path(path);
});

/// A browser that follows the address stays on the site.
fn check_path(text: &str) {
    let site = Url::parse("https://news.example/").expect("a URL");
    let path = LocalPath::parse(text);
    let followed = site.join(path.as_str()).expect("an address that no browser can follow");
    assert_eq!(followed.origin(), site.origin(), "{text:?} leads to {followed}");
    assert!(path.as_str().bytes().all(|byte| byte.is_ascii_graphic()), "{text:?}");
    assert!(path.as_str().starts_with(path.path()));
}

//! The requirements for the HTML of any text: for the tests and the fuzz target.

use tidings_domain::values::{MAX_MARKUP_LEVELS, size};
use tidings_text::stored_text::StoredText;
use url::Url;

/// Every tag that may come out.
const TAGS: [&str; 11] = ["p", "br", "em", "strong", "code", "pre", "blockquote", "ul", "ol", "li", "a"];
/// Those that contain blocks.
const CONTAINERS: [&str; 3] = ["blockquote", "ul", "ol"];
/// Those that contain only text and what is within it.
const LINES: [&str; 6] = ["p", "pre", "code", "em", "strong", "a"];

/// Checks that a text became nothing but the allowed tags with the allowed attributes, each of
/// which ends where it should, within the bounds on size and depth.
#[track_caller]
pub fn check_markup(text: &str, html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some((before, from_tag)) = rest.split_once('<') {
        check_text(before);
        let (tag, after) = from_tag.split_once('>').expect("a tag that ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{html}");
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        check_start(&open, name, attributes);
        if name != "br" {
            open.push(name);
        }
        let depth = |names: &[&str]| open.iter().filter(|open| names.contains(open)).count();
        assert!(depth(&CONTAINERS) <= MAX_MARKUP_LEVELS, "{html}");
        assert!(depth(&["em", "strong"]) <= MAX_MARKUP_LEVELS, "{html}");
    }
    check_text(rest);
    assert!(open.is_empty(), "{open:?} in {html}");
    let most = size::marked_bytes(size::shown(text));
    assert!(html.len() <= most && size::json_bytes(html) <= most, "{} of {most}: {html}", html.len());
}

/// Checks that the HTML of a text links exactly the addresses by which the text is judged, as a browser reads them, and
/// the people whom it mentions.
#[track_caller]
pub fn check_links(text: StoredText<'_>, html: &str) {
    let (mut links, mut names) = (Vec::new(), Vec::new());
    for tag in html.split("<a href=\"").skip(1) {
        let (href, _) = tag.split_once('"').expect("an address that ends");
        match href.strip_prefix("/@").map(str::to_ascii_lowercase) {
            Some(name) if names.contains(&name) => {}
            Some(name) => names.push(name),
            None => links.push(
                href.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"),
            ),
        }
    }
    let judged = text.judged();
    assert_eq!(judged.links, links, "{html}");
    assert_eq!(text.mentions(), names, "{html}");
    let hosts: Vec<String> = judged.addresses().map(|address| address.host().to_owned()).collect();
    for link in links {
        let url = Url::parse(&link).expect("a link that is a URL");
        if let Some(host) = url.host_str() {
            assert!(hosts.iter().any(|judged| judged == host.trim_end_matches('.')), "{link}: {hosts:?}");
        }
    }
}

#[track_caller]
fn check_start(open: &[&str], name: &str, attributes: &str) {
    assert!(TAGS.contains(&name), "the tag {name:?}");
    match name {
        "a" => {
            assert!(!open.contains(&"a"), "a link in a link");
            check_link(attributes);
        }
        "ol" if !attributes.is_empty() => {
            let start = attributes.strip_prefix("start=\"").and_then(|rest| rest.strip_suffix('"'));
            assert!(start.is_some_and(|start| start.parse::<u32>().is_ok()), "{attributes}");
        }
        _ => assert_eq!(attributes, "", "{name}"),
    }
    match name {
        "li" => assert!(matches!(open.last(), Some(&("ul" | "ol"))), "an item in {open:?}"),
        _ => assert!(!matches!(open.last(), Some(&("ul" | "ol"))), "{name} in {open:?}"),
    }
    let is_block = CONTAINERS.contains(&name) || matches!(name, "p" | "pre" | "li");
    assert!(!is_block || !open.iter().any(|open| LINES.contains(open)), "{name} in {open:?}");
}

#[track_caller]
fn check_text(text: &str) {
    let is_plain = |c: char| c != '>' && c != '"' && !matches!(c, '\u{FFFE}' | '\u{FFFF}');
    assert!(text.chars().all(is_plain), "{text:?}");
    for part in text.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|name| part.starts_with(name)), "{text:?}");
    }
}

/// Checks the attributes of a link: to a profile, or to an address with all that it must have.
#[track_caller]
fn check_link(attributes: &str) {
    let (href, rest) =
        attributes.strip_prefix("href=\"").and_then(|rest| rest.split_once('"')).expect("an address first");
    check_text(href);
    if let Some(name) = href.strip_prefix("/@") {
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{href}");
        assert_eq!(rest, "");
        return;
    }
    let target = rest.strip_prefix(" rel=\"nofollow ugc noopener\"").expect("no endorsement");
    assert!(matches!(target, "" | " target=\"_blank\""), "{attributes}");
    let href = href.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    let begins = |start: &str| href.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    assert!(["http://", "https://", "mailto:"].into_iter().any(begins), "{href}");
    let url = Url::parse(&href).expect("a link that is a URL");
    assert!(url.scheme() == "mailto" || url.host_str().is_some_and(|host| !host.is_empty()), "{href}");
}

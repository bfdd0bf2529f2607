//! Any text about a person on a page: only our links are added, nothing of the
//! text is lost, and every link leads to the web.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidings_web::markup::autolink::autolink;
use tidings_web::markup::fragments::LinkTarget;
use url::Url;

const OPENING: &str = "a href=\"";
const REL: &str = "\" rel=\"nofollow ugc noopener\"";
const REL_NEW_WINDOW: &str = "\" rel=\"nofollow ugc noopener\" target=\"_blank\"";

fuzz_target!(|text: &str| {
    check(text, LinkTarget::Same);
    check(text, LinkTarget::NewWindow);
});

fn check(text: &str, links: LinkTarget) {
    let rel = if matches!(links, LinkTarget::NewWindow) { REL_NEW_WINDOW } else { REL };
    let html = autolink(text, links).into_string();
    let mut shown = String::new();
    let mut rest = html.as_str();
    let mut is_open = false;
    while let Some((before, from_tag)) = rest.split_once('<') {
        shown.push_str(before);
        let (tag, after) = from_tag.split_once('>').expect("a tag does not end");
        if tag == "/a" {
            assert!(is_open, "a link ends that did not begin");
            is_open = false;
        } else {
            assert!(!is_open, "a link in a link");
            is_open = true;
            let target = tag.strip_prefix(OPENING).and_then(|tag| tag.strip_suffix(rel));
            let target = target.unwrap_or_else(|| panic!("not a tag of ours: {tag:?}"));
            assert!(!target.contains(['"', '<', '>']), "an attribute is broken open: {target:?}");
            let url = Url::parse(&unescaped(target)).expect("a link that is no URL");
            assert!(matches!(url.scheme(), "http" | "https"), "a link to {url}");
            assert!(url.host_str().is_some_and(|host| !host.is_empty()), "a link without a host");
        }
        rest = after;
    }
    assert!(!is_open, "a link does not end");
    shown.push_str(rest);
    assert!(!shown.contains(['>', '"']), "a character is not escaped: {shown:?}");
    assert_eq!(unescaped(&shown), text);
}

fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

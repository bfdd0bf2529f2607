//! Renders user text: escaped, with http(s) URLs and `www.` hosts as links.
//!
//! Line breaks are kept; the style sheet shows them with `white-space: pre-wrap`.

use super::fragments::LinkTarget;
use super::markdown::write_link_start;
use maud::{Markup, PreEscaped, Render};
use tidings_text::stored_text::{Event, StoredText};

/// Renders plain text with its http and https URLs as links, and hosts that begin with
/// `www.`.
pub fn autolink(text: &str, links: LinkTarget) -> Markup {
    linked(StoredText::Plain(text), links, |_| None)
}

/// Renders a text without markup. `profile` gives the address of a profile by the name that the text mentions.
pub fn linked(text: StoredText<'_>, links: LinkTarget, profile: impl Fn(&str) -> Option<String>) -> Markup {
    let mut html = String::with_capacity(text.as_str().len() + 16);
    text.read(|event| match event {
        Event::Text(text) => text.render_to(&mut html),
        Event::StartLink(address) => write_link_start(&mut html, address, links),
        Event::Mention(name) => {
            let address = profile(name);
            if let Some(address) = &address {
                html.push_str("<a href=\"");
                address.render_to(&mut html);
                html.push_str("\">");
            }
            html.push('@');
            name.render_to(&mut html);
            html.push_str(if address.is_some() { "</a>" } else { "" });
        }
        // Nothing else is in such a text.
        Event::End(_) => html.push_str("</a>"),
        Event::Start(_) | Event::Break => {}
    });
    PreEscaped(html)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(text: &str) -> String {
        autolink(text, LinkTarget::Same).into_string()
    }

    fn link(url: &str) -> String {
        format!("<a href=\"{url}\" rel=\"nofollow ugc noopener\">{url}</a>")
    }

    #[test]
    fn urls_become_links_and_everything_is_escaped() {
        let a = link("http://example.com/a");
        let table = [
            ("", String::new()),
            ("no links\nhere & there", "no links\nhere &amp; there".to_owned()),
            ("http://example.com/a", a.clone()),
            ("see http://example.com/a.", format!("see {a}.")),
            ("http://example.com/a, and", format!("{a}, and")),
            ("(http://example.com/a)", format!("({a})")),
            ("(http://example.com/a).", format!("({a}).")),
            ("http://example.com/a)", format!("{a})")),
            ("http://example.com/a...", format!("{a}...")),
            ("http://example.com/a\nhttp://example.com/a", format!("{a}\n{a}")),
            ("<http://example.com/a>", format!("&lt;{a}&gt;")),
            ("\"http://example.com/a\"", format!("&quot;{a}&quot;")),
            ("http://example.com/wiki_(x)/y", link("http://example.com/wiki_(x)/y")),
            ("HTTPS://Example.com", link("HTTPS://Example.com")),
            ("http://example.com/?a=1&b=2", link("http://example.com/?a=1&amp;b=2")),
            ("http://bücher.example/ü", link("http://bücher.example/ü")),
            ("http://127.0.0.1:8080/", link("http://127.0.0.1:8080/")),
            ("javascript:alert(1)", "javascript:alert(1)".to_owned()),
            ("javascript://a.com/%0aalert(1)", "javascript://a.com/%0aalert(1)".to_owned()),
            ("ftp://example.com/a", "ftp://example.com/a".to_owned()),
            ("xhttp://example.com/a", "xhttp://example.com/a".to_owned()),
            ("http://", "http://".to_owned()),
            ("http:///path", "http:///path".to_owned()),
            (
                "www.example.com a@b.com",
                "<a href=\"http://www.example.com\" rel=\"nofollow ugc noopener\">www.example.com</a> a@b.com"
                    .to_owned(),
            ),
            ("example.com", "example.com".to_owned()),
            ("<script>alert('x')</script>", "&lt;script&gt;alert('x')&lt;/script&gt;".to_owned()),
            (
                "http://a.com/\"onmouseover=\"alert(1)",
                format!("{}&quot;onmouseover=&quot;alert(1)", link("http://a.com/")),
            ),
            ("http://a.com/<b>", format!("{}&lt;b&gt;", link("http://a.com/"))),
        ];
        for (text, expected) in table {
            assert_eq!(rendered(text), expected, "{text:?}");
        }
    }

    /// The rendered text without its links, and the addresses of the links.
    fn taken_apart(html: &str) -> (String, Vec<String>) {
        let mut text = String::new();
        let mut targets = Vec::new();
        let mut rest = html;
        while let Some((before, from_tag)) = rest.split_once('<') {
            text.push_str(before);
            let (tag, after) = from_tag.split_once('>').expect("a tag that ends");
            if tag != "/a" {
                let target = tag
                    .strip_prefix("a href=\"")
                    .and_then(|tag| tag.strip_suffix("\" rel=\"nofollow ugc noopener\""));
                targets.push(target.unwrap_or_else(|| panic!("an unexpected tag {tag:?}")).to_owned());
            }
            rest = after;
        }
        text.push_str(rest);
        (unescaped(&text), targets.iter().map(|target| unescaped(target)).collect())
    }

    fn unescaped(text: &str) -> String {
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
    }

    fn hostile() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            "[a-z ]{0,5}",
            Just("http://".to_owned()),
            Just("HTTPS://a.com/".to_owned()),
            Just("javascript://".to_owned()),
            Just("&lt;&amp;".to_owned()),
            Just("</a><a href=\"".to_owned()),
            "[\"'<>&().,;:/@#?\\[\\]=\\n\\\\]{1,3}",
            any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn only_links_are_added_and_nothing_is_lost(text in hostile()) {
            let (shown, targets) = taken_apart(&rendered(&text));
            prop_assert_eq!(shown, text);
            for target in targets {
                let url = url::Url::parse(&target).unwrap();
                prop_assert!(matches!(url.scheme(), "http" | "https"));
                prop_assert!(!target.ends_with(['.', ',']), "{}", target);
            }
        }
    }
}

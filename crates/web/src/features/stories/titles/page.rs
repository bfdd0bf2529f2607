//! Finds the title in the bytes of a page.

use crate::limits::CHARSET_BYTES;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use tidings_domain::values::Title;

/// A page, or its first part.
pub(super) struct Page {
    /// The content, in whatever encoding.
    pub(super) body: Vec<u8>,
    /// The encoding that the header of the answer names, if any.
    declared: Option<&'static Encoding>,
}

impl Page {
    /// An empty page. `parameters` is the part of its content type that follows the type.
    pub(super) fn new(parameters: &str) -> Self {
        let charset = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
        });
        let declared = charset.and_then(|charset| Encoding::for_label(charset.as_bytes()));
        Self { body: Vec::new(), declared }
    }

    /// The title: `og:title` if the page has it, because it names the text and not the site;
    /// otherwise `<title>`.
    pub(super) fn title(&self) -> Option<Title> {
        let encoding = self
            .declared
            .or_else(|| declared_in(&self.body))
            .unwrap_or_else(|| if std::str::from_utf8(&self.body).is_ok() { UTF_8 } else { WINDOWS_1252 });
        // A byte order mark outranks them all.
        let (text, _, _) = encoding.decode(&self.body);
        title_of(&text)
    }
}

/// The encoding that a page itself names at its beginning.
fn declared_in(body: &[u8]) -> Option<&'static Encoding> {
    let start = body.get(..CHARSET_BYTES).unwrap_or(body);
    let start = String::from_utf8_lossy(start);
    let encoding = tokens(&start).find_map(|token| {
        let Token::StartTag(tag) = token else { return None };
        if *tag.name != b"meta"[..] {
            return None;
        }
        let content = attribute(&tag, "content").unwrap_or_default();
        let charset = attribute(&tag, "charset").or_else(|| {
            let (_, charset) = content.split_once("charset=")?;
            Some(charset.split(';').next()?.trim().trim_matches(['"', '\'']).to_owned())
        })?;
        Encoding::for_label(charset.as_bytes())
    })?;
    // A page whose own words can be read as ASCII is not in UTF-16.
    Some(if [UTF_16LE, UTF_16BE].contains(&encoding) { UTF_8 } else { encoding })
}

fn title_of(text: &str) -> Option<Title> {
    let (mut title, mut is_in_title, mut pictures) = (None::<String>, false, 0_usize);
    for token in tokens(text) {
        match token {
            Token::StartTag(tag) => match &**tag.name {
                b"meta" => {
                    if let Some(named) = social_title(&tag).and_then(|named| Title::of_page(&named)) {
                        return Some(named);
                    }
                }
                // Pictures within the page can have titles of their own.
                b"svg" if !tag.self_closing => pictures += 1,
                b"title" if title.is_none() && pictures == 0 => {
                    is_in_title = true;
                    title = Some(String::new());
                }
                b"body" if title.is_some() => break,
                _ => {}
            },
            Token::EndTag(tag) => match &**tag.name {
                b"svg" => pictures = pictures.saturating_sub(1),
                b"title" => is_in_title = false,
                _ => {}
            },
            Token::String(text) if is_in_title => {
                if let Some(title) = &mut title {
                    title.push_str(&String::from_utf8_lossy(&text));
                }
            }
            _ => {}
        }
    }
    Title::of_page(&title?)
}

/// The title that a `meta` element gives for sharing.
fn social_title(tag: &StartTag<()>) -> Option<String> {
    let is_title = ["property", "name"].iter().any(|name| {
        attribute(tag, name).is_some_and(|property| property.trim().eq_ignore_ascii_case("og:title"))
    });
    if is_title { attribute(tag, "content") } else { None }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// The tokens of a page, as a browser reads them.
fn tokens(text: &str) -> impl Iterator<Item = Token> {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    // Reading from memory does not fail.
    Tokenizer::new_with_emitter(text, emitter).filter_map(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(parameters: &str, body: &[u8]) -> Option<String> {
        let mut page = Page::new(parameters);
        page.body.extend_from_slice(body);
        page.title().map(|title| title.to_string())
    }

    #[test]
    fn the_title_is_found_as_a_browser_would() {
        for (html, expected) in [
            ("<title>A title</title>", Some("A title")),
            ("<!DOCTYPE html><html><HEAD><TITLE lang=en>\n A\n  title </TITLE>", Some("A title")),
            ("<title>Q&amp;A &#x2013; &lt;b&gt; &eacute;&nbsp;x</title>", Some("Q&A – <b> é x")),
            ("<title>a <b>b</b> c</title>", Some("a <b>b</b> c")),
            ("<title>One</title><title>Two</title>", Some("One")),
            ("<title>Not closed", Some("Not closed")),
            ("<!-- <title>No</title> --><title>Yes</title>", Some("Yes")),
            ("<script>'<title>No</title>'</script><title>Yes</title>", Some("Yes")),
            ("<style><title>No</title></style><title>Yes</title>", Some("Yes")),
            ("<svg><title>Icon</title></svg><title>Yes</title>", Some("Yes")),
            ("<svg/><title>Yes</title>", Some("Yes")),
            ("<body><svg><title>Icon</title></svg></body>", None),
            (
                "<title>Site</title><meta property=\"og:title\" content=\"The &quot;text&quot;\">",
                Some("The \"text\""),
            ),
            ("<meta content='The text' property='OG:Title'/><title>Site</title>", Some("The text")),
            ("<title>Site</title><meta name=og:title content=Text>", Some("Text")),
            ("<title>Site</title><meta property=og:title content=' '>", Some("Site")),
            ("<title>Site</title><meta property=og:title>", Some("Site")),
            ("<title>Site</title><body><meta property=og:title content=No>", Some("Site")),
            ("<meta property=og:description content=No>", None),
            ("<title></title>", None),
            ("<title> &#x200B; </title>", None),
            ("", None),
            ("no markup at all", None),
            ("<", None),
        ] {
            assert_eq!(title("", html.as_bytes()).as_deref(), expected, "{html}");
        }
        let long = format!("<title>{}</title>", "word ".repeat(100));
        assert_eq!(title("", long.as_bytes()).unwrap().chars().count(), 79);
    }

    #[test]
    fn the_encoding_comes_from_the_mark_the_header_or_the_page() {
        let latin = b"<title>caf\xE9</title>".as_slice();
        let cyrillic = b"<title>\xEF\xF0\xE8\xE2\xE5\xF2</title>".as_slice();
        let with_meta = |meta: &str, rest: &[u8]| [meta.as_bytes(), rest].concat();
        for (parameters, body, expected) in [
            ("", "<title>café</title>".as_bytes().to_vec(), "café"),
            ("", latin.to_vec(), "café"),
            (" charset=ISO-8859-1", latin.to_vec(), "café"),
            ("a=b; Charset=\"windows-1251\"", cyrillic.to_vec(), "привет"),
            ("charset=unheard-of", latin.to_vec(), "café"),
            ("", with_meta("<meta charset=windows-1251>", cyrillic), "привет"),
            (
                "",
                with_meta(
                    "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>",
                    cyrillic,
                ),
                "привет",
            ),
            ("charset=windows-1251", with_meta("<meta charset=utf-8>", cyrillic), "привет"),
            ("", with_meta("<meta charset=utf-16>", "<title>é</title>".as_bytes()), "é"),
            ("", with_meta("<meta charset=Shift_JIS>", b"<title>\x93\xFA\x96\x7B</title>"), "日本"),
            ("charset=windows-1251", [b"\xEF\xBB\xBF", "<title>é</title>".as_bytes()].concat(), "é"),
            ("", "\u{FEFF}<title>é</title>".encode_utf16().flat_map(u16::to_le_bytes).collect(), "é"),
        ] {
            assert_eq!(title(parameters, &body).as_deref(), Some(expected), "{parameters} {body:?}");
        }
    }
}

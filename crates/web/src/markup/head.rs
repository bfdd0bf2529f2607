//! The description of a page in its head: for search engines, for programs that show a link to it,
//! and for browsers that save it.

use super::assets::ASSETS;
use super::brand::Brand;
use super::feed_links::FeedKind;
use super::fragments::LinkTarget;
use super::markdown::markdown;
use crate::limits::{DESCRIPTION_CHARACTERS, EXCERPT_BYTES};
use maud::{Markup, html};
use strum::Display;

/// The kind of a page in the Open Graph protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum PageKind {
    /// Any page.
    #[default]
    Website,
    /// A story, a comment or a tweet.
    Article,
    /// A person.
    Profile,
}

/// The part of a page's head that differs from page to page.
#[must_use]
#[derive(Debug, Default)]
pub struct PageHead {
    kind: PageKind,
    /// The one address of the page, if it is for everyone.
    canonical: Option<String>,
    /// The content of the page in a sentence or two; empty to use the description of the site.
    description: String,
    /// The feeds with the same list, besides those of the whole site.
    feeds: Vec<FeedKind>,
    more: Option<Markup>,
}

impl PageHead {
    /// Of a page that everyone can read, at this address of the site.
    pub fn of(canonical: impl Into<String>) -> Self {
        Self { canonical: Some(canonical.into()), ..Self::default() }
    }

    /// Says what the page is about.
    pub fn about(self, kind: PageKind, description: String) -> Self {
        Self { kind, description, ..self }
    }

    /// Names the feeds with what is on the page.
    pub fn feeds(self, feeds: impl IntoIterator<Item = FeedKind>) -> Self {
        Self { feeds: feeds.into_iter().collect(), ..self }
    }

    /// Adds elements.
    pub fn with(self, more: Markup) -> Self {
        Self { more: Some(more), ..self }
    }

    /// The elements. A page without a canonical address is not for sharing, and has no more than
    /// its description. The programs that show a link as a card have no session, so pages for
    /// members need no card.
    pub fn render(&self, brand: &Brand, title: &str, has_card: bool) -> Markup {
        let site = &brand.site;
        let image = brand.logo.as_ref().map_or(ASSETS.large_icon.path(), |(address, _)| address);
        let description = if self.description.is_empty() { &site.description } else { &self.description };
        html! {
            @if !description.is_empty() { meta name="description" content=(description); }
            @if let Some(canonical) = &self.canonical {
                link rel="canonical" href=(site.link(canonical));
            }
            @if let Some(canonical) = self.canonical.as_ref().filter(|_| has_card) {
                meta property="og:site_name" content=(site.name);
                meta property="og:type" content=(self.kind);
                meta property="og:title" content=(if title.is_empty() { &site.name } else { title });
                @if !description.is_empty() { meta property="og:description" content=(description); }
                meta property="og:url" content=(site.link(canonical));
                meta property="og:image" content=(site.link(image));
                meta name="twitter:card" content="summary";
            }
            @for feed in &self.feeds { (feed.head_links(site)) }
            @if let Some(more) = &self.more { (more) }
        }
    }
}

/// The icons of the site and its manifest. A site with a logo of its own has that as its icon.
pub fn icons(brand: &Brand) -> Markup {
    html! {
        @if let Some((address, logo)) = &brand.logo {
            link rel="icon" type=(logo.format.content_type()) href=(address);
        } @else {
            link rel="icon" type="image/svg+xml" href=(ASSETS.icon.path());
            // For browsers that know no icons in SVG.
            link rel="alternate icon" type="image/png" sizes="32x32" href=(ASSETS.small_icon.path());
            link rel="apple-touch-icon" href=(ASSETS.touch_icon.path());
        }
        link rel="manifest" href="/manifest.webmanifest";
    }
}

/// The beginning of a comment or the text of a story, without its markup.
pub fn excerpt(text: &str) -> String {
    let start = text.get(..text.floor_char_boundary(EXCERPT_BYTES)).unwrap_or(text);
    let html = markdown(start, LinkTarget::Same).into_string();
    let mut plain = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some((before, from_tag)) = rest.split_once('<') {
        plain.push_str(before);
        let (tag, after) = from_tag.split_once('>').unwrap_or((from_tag, ""));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if !matches!(name, "a" | "em" | "strong" | "code") {
            plain.push(' ');
        }
        rest = after;
    }
    plain.push_str(rest);
    shortened(&plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
}

/// The beginning of a text on one line. It ends after a word if it is not the whole text.
pub fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = text.char_indices().nth(DESCRIPTION_CHARACTERS) else {
        return text;
    };
    let start = text.get(..end).unwrap_or_default();
    // A language may have no spaces, or the text no words.
    let whole = start.rfind(' ').filter(|space| *space > end / 2).and_then(|space| start.get(..space));
    format!("{}…", whole.unwrap_or(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_has_words_and_no_markup() {
        let long = format!("{} end", "word ".repeat(100));
        for (text, expected) in [
            ("", String::new()),
            ("*Read* **this**:\n\n> a `b`\n- c\n- d", "Read this: a b c d".to_owned()),
            ("[a](http://a.com/) <b> & \"c\"", "a <b> & \"c\"".to_owned()),
            ("&lt;", "&lt;".to_owned()),
            (&long, format!("{}…", "word ".repeat(40).trim_end())),
            (&"語".repeat(300), format!("{}…", "語".repeat(DESCRIPTION_CHARACTERS))),
        ] {
            assert_eq!(excerpt(text), expected, "{text:?}");
        }
    }
}

//! Renders the texts of comments and stories: a subset of Markdown as HTML.
//!
//! `tidings_text` reads the text; this module writes a few fixed tags and escaped text for what it gives, so
//! nothing else can come out.

use super::addresses::profile_address;
use super::fragments::LinkTarget;
use super::parts::OUTSIDE;
use maud::{Markup, PreEscaped, Render};
use tidings_text::bounds::{CUT, shown};
use tidings_text::stored_text::{Element, Event, StoredText};

/// Renders a text that somebody wrote, up to the length that is shown. The result has at most
/// [`marked_bytes`](tidings_domain::values::size::marked_bytes) bytes.
pub fn markdown(text: &str, links: LinkTarget) -> Markup {
    markdown_at("", text, links)
}

/// Like [`markdown`], for a document elsewhere: `base` is put before the addresses of profiles.
pub fn markdown_at(base: &str, text: &str, links: LinkTarget) -> Markup {
    let mut html = String::with_capacity(text.len() + text.len() / 4 + 16);
    StoredText::Formatted(text).read(|event| write(&mut html, event, base, links));
    if shown(text).len() < text.len() {
        html.push_str(CUT);
    }
    PreEscaped(html)
}

/// Writes one step of a text.
fn write(html: &mut String, event: Event<'_>, base: &str, links: LinkTarget) {
    match event {
        Event::Text(text) => text.render_to(html),
        Event::Break => html.push_str("<br>"),
        Event::Start(Element::NumberedList(first)) if first != 1 => {
            html.push_str("<ol start=\"");
            first.render_to(html);
            html.push_str("\">");
        }
        Event::Start(element) => html.push_str(tags(element).0),
        Event::StartLink(address) => write_link_start(html, address, links),
        Event::End(element) => html.push_str(tags(element).1),
        Event::Mention(name) => {
            html.push_str("<a href=\"");
            base.render_to(html);
            html.push_str(&profile_address(name, ""));
            html.push_str("\">@");
            name.render_to(html);
            html.push_str("</a>");
        }
    }
}

/// The tags around an element.
const fn tags(element: Element) -> (&'static str, &'static str) {
    match element {
        Element::Paragraph => ("<p>", "</p>"),
        Element::CodeBlock => ("<pre><code>", "</code></pre>"),
        Element::Quote => ("<blockquote>", "</blockquote>"),
        Element::List => ("<ul>", "</ul>"),
        Element::NumberedList(_) => ("<ol>", "</ol>"),
        Element::Item => ("<li>", "</li>"),
        Element::Emphasis => ("<em>", "</em>"),
        Element::Strong => ("<strong>", "</strong>"),
        Element::Code => ("<code>", "</code>"),
        Element::Link => ("<a>", "</a>"),
    }
}

/// Begins a link to another site.
pub fn write_link_start(html: &mut String, address: &str, links: LinkTarget) {
    html.push_str("<a href=\"");
    address.render_to(html);
    html.push_str("\" rel=\"");
    html.push_str(OUTSIDE);
    html.push_str(if links.is_new_window() { "\" target=\"_blank\">" } else { "\">" });
}

/// A comment or the text of a story as HTML.
pub fn formatted(text: &str) -> String {
    markdown(text, LinkTarget::Same).into_string()
}

#[cfg(test)]
mod checker;
#[cfg(test)]
mod tests;

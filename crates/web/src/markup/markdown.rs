//! Renders the texts of comments and stories: a subset of Markdown as HTML.
//!
//! Paragraphs, emphasis, code, quotes, lists and links become markup. Everything else, such as
//! HTML, headings, images and tables, is shown as it was typed. `pulldown-cmark` finds the
//! structure; this module writes the HTML itself, from a few fixed tags and escaped text, so
//! nothing else can come out.
//!
//! People who know nothing of Markdown, and texts from before it, lose nothing: a line break
//! stays a line break, and addresses without any markup are links, whatever characters of
//! Markdown they contain. For that they are taken out before the text is parsed, and put back
//! when it is written (see `Source`).

use super::addresses::profile_address;
use super::fragments::LinkTarget;
use super::parts::OUTSIDE;
use maud::{Markup, PreEscaped, Render};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag};
use std::borrow::Cow;
use std::ops::Range;
use tidings_domain::values::limits::MAX_MARKUP_LEVELS;
use tidings_domain::values::mentions::{
    Piece, is_web_address, link_address, text_and_links, text_and_mentions,
};
use tidings_domain::values::size;
use tidings_domain::values::text::{is_visible, printable_lines};
use tidings_domain::values::urls::valid_address;

/// Renders a text that somebody wrote, up to the length that is shown. The result has at most
/// [`size::marked_bytes`] bytes.
#[must_use]
pub fn markdown(text: &str, links: LinkTarget) -> Markup {
    markdown_at("", text, links)
}

/// Like [`markdown`], for a document elsewhere: `base` is put before the addresses of profiles.
#[must_use]
pub fn markdown_at(base: &str, text: &str, links: LinkTarget) -> Markup {
    let text = printable_lines(size::shown(text));
    let mut html = String::with_capacity(text.len() + text.len() / 4 + 16);
    if size::is_marked(&text) {
        let source = Source::new(&text);
        Writer::new(&source, (base, links), &mut html).write();
    } else {
        html.push_str("<p>");
        write_lines(&mut html, &text);
        html.push_str("</p>");
    }
    PreEscaped(html)
}

/// Begins the place of an address that was taken out of the text, followed by its number and
/// [`PLACE_END`]. No text has these characters: they are removed before.
const PLACE: char = '\u{FFFE}';
/// Ends such a place.
const PLACE_END: char = '\u{FFFF}';
/// A place of nothing.
const NOTHING: &str = "\u{FFFE}\u{FFFF}";

/// A text as the parser gets it: with places instead of its bare addresses, so that a `_` in an
/// address does not begin emphasis. Places of nothing part the characters of what would be the
/// definition of a reference, which the parser would swallow: `[1]: http://example.com` is a
/// usual way to end a comment.
struct Source<'a> {
    text: Cow<'a, str>,
    addresses: Vec<&'a str>,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        const DEFINITION: &str = "]:";
        let pieces = text_and_links(text);
        let has_links = pieces.iter().any(|piece| matches!(piece, Piece::Link(_)));
        if !has_links && !text.contains(DEFINITION) {
            return Self { text: Cow::Borrowed(text), addresses: Vec::new() };
        }
        let (mut source, mut addresses) = (String::with_capacity(text.len()), Vec::new());
        let mut pieces = pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Link(address) => {
                    let is_bracketed = source.ends_with('<')
                        && address.contains("://")
                        && matches!(pieces.peek(), Some(Piece::Text(next)) if next.starts_with('>'));
                    if is_bracketed {
                        source.push_str(address);
                        continue;
                    }
                    let bare = without_emphasis_end(address, &source);
                    source.push(PLACE);
                    addresses.len().render_to(&mut source);
                    source.push(PLACE_END);
                    addresses.push(bare);
                    source.push_str(address.get(bare.len()..).unwrap_or_default());
                }
                Piece::Text(text) => source.push_str(&text.replace(DEFINITION, &format!("]{NOTHING}:"))),
                Piece::Mention(_) => {}
            }
        }
        Self { text: Cow::Owned(source), addresses }
    }

    /// The parts of a text that the parser returned.
    fn parts<'t>(&'t self, text: &'t str) -> impl Iterator<Item = SourcePart<'t>> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if let Some((number, after)) =
                rest.strip_prefix(PLACE).and_then(|place| place.split_once(PLACE_END))
            {
                rest = after;
                let address = number.parse::<usize>().ok().and_then(|number| self.addresses.get(number));
                return Some(address.map_or(SourcePart::Text(""), |address| SourcePart::Address(address)));
            }
            let from = rest.chars().next()?.len_utf8();
            let end = rest.get(from..).and_then(|rest| rest.find(PLACE)).map_or(rest.len(), |at| from + at);
            let (text, after) = rest.split_at(end);
            rest = after;
            Some(SourcePart::Text(text))
        })
    }

    /// A text that the parser returned, as it was typed.
    fn typed<'t>(&'t self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(PLACE) {
            return Cow::Borrowed(text);
        }
        let typed = |part| match part {
            SourcePart::Text(text) | SourcePart::Address(text) => text,
        };
        Cow::Owned(self.parts(text).map(typed).collect())
    }
}

/// A part of a text that the parser returned.
enum SourcePart<'a> {
    Text(&'a str),
    Address(&'a str),
}

/// An address without the `_` after it, if the text before it may have the `_` that it ends.
fn without_emphasis_end<'a>(address: &'a str, before: &str) -> &'a str {
    let bare = address.trim_end_matches('_');
    if bare.len() < address.len() && before.contains('_') && is_web_address(&link_address(bare)) {
        bare
    } else {
        address
    }
}

/// A part of the text that has begun and has not ended yet.
enum Open {
    /// Nothing is written for it.
    Flat,
    /// An element around blocks.
    Container(&'static str),
    /// An element within a block.
    Span(&'static str),
    /// Another element.
    Block(&'static str),
    /// A block of HTML, shown as a paragraph.
    HtmlBlock,
    /// A heading, shown as a paragraph, with what was typed after it.
    Heading(String),
    /// A link with its address, and where its text begins.
    Link(String, usize),
    /// A link that is shown as it was typed.
    TypedLink,
}

/// Writes the HTML of one text.
struct Writer<'a, 'h> {
    source: &'a Source<'a>,
    base: &'a str,
    links: LinkTarget,
    html: &'h mut String,
    open: Vec<Open>,
    /// How many open elements are [`Open::Container`].
    containers: usize,
    /// How many open elements are [`Open::Span`].
    spans: usize,
    is_in_link: bool,
    is_in_code: bool,
    /// Text that is not written yet, because the parser may return a word in parts.
    pending: String,
    /// The end of the last part of a line in the source.
    inline_end: usize,
}

impl<'a, 'h> Writer<'a, 'h> {
    fn new(source: &'a Source<'a>, (base, links): (&'a str, LinkTarget), html: &'h mut String) -> Self {
        Self {
            source,
            base,
            links,
            html,
            open: Vec::new(),
            containers: 0,
            spans: 0,
            is_in_link: false,
            is_in_code: false,
            pending: String::new(),
            inline_end: 0,
        }
    }

    fn write(mut self) {
        let source = self.source;
        for (event, range) in Parser::new_ext(&source.text, Options::empty()).into_offset_iter() {
            match event {
                Event::Start(tag) => self.start(tag, range),
                Event::End(_) => self.end(range),
                other => {
                    self.leaf(&other, &range);
                    self.inline_end = range.end;
                }
            }
        }
        self.flush();
    }

    /// The source text that the parser read at a place.
    fn typed_at(&self, range: &Range<usize>) -> &'a str {
        self.source.text.get(range.clone()).unwrap_or_default()
    }

    fn leaf(&mut self, event: &Event<'_>, range: &Range<usize>) {
        match event {
            Event::Text(text) if self.is_in_code => {
                self.source.typed(text).as_ref().render_to(self.html);
            }
            Event::Text(text) => {
                let typed = self.typed_at(range);
                // An entity is shown as it was typed.
                self.pending.push_str(if typed.starts_with('&') { typed } else { text });
            }
            Event::Html(text) | Event::InlineHtml(text) => self.pending.push_str(text),
            Event::SoftBreak | Event::HardBreak => self.pending.push('\n'),
            Event::Code(text) => {
                self.flush();
                self.html.push_str("<code>");
                self.source.typed(text).as_ref().render_to(self.html);
                self.html.push_str("</code>");
            }
            Event::Rule => {
                self.flush();
                self.html.push_str("<p>");
                self.pending.push_str(self.typed_at(range).trim());
                self.flush();
                self.html.push_str("</p>");
            }
            // The options of the parser exclude everything else.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let is_block = !matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. });
        self.flush();
        let open = match tag {
            Tag::Paragraph => self.begin("<p>", Open::Block("</p>")),
            Tag::HtmlBlock => self.begin("<p>", Open::HtmlBlock),
            Tag::Heading { .. } => self.heading(&range),
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => {
                self.is_in_code = true;
                self.begin("<pre><code>", Open::Block("</code></pre>"))
            }
            Tag::BlockQuote(_) => self.container("<blockquote>", "</blockquote>"),
            Tag::List(None) => self.container("<ul>", "</ul>"),
            Tag::List(Some(1)) => self.container("<ol>", "</ol>"),
            Tag::List(Some(first)) => self.container(&format!("<ol start=\"{first}\">"), "</ol>"),
            Tag::Item if matches!(self.open.last(), Some(Open::Container(_))) => {
                self.begin("<li>", Open::Block("</li>"))
            }
            Tag::Item => self.begin("<br>", Open::Flat),
            Tag::Emphasis => self.span("<em>", "</em>"),
            Tag::Strong => self.span("<strong>", "</strong>"),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                self.link(&format!("mailto:{dest_url}"), &range, "<")
            }
            Tag::Link { link_type: LinkType::Autolink, dest_url, .. } => self.link(&dest_url, &range, "<"),
            Tag::Link { dest_url, .. } => self.link(&dest_url, &range, "["),
            Tag::Image { dest_url, .. } => self.link(&dest_url, &range, "!["),
            _ => Open::Flat,
        };
        self.open.push(open);
        if is_block {
            self.inline_end = range.start;
        }
    }

    fn end(&mut self, range: Range<usize>) {
        match self.open.pop() {
            None | Some(Open::Flat) => self.flush(),
            Some(Open::Container(end)) => {
                self.containers -= 1;
                self.finish(end);
            }
            Some(Open::Span(end)) => {
                self.spans -= 1;
                self.finish(end);
            }
            Some(Open::Block(end)) => {
                self.is_in_code = false;
                self.finish(end);
            }
            Some(Open::HtmlBlock) => {
                self.pending.truncate(self.pending.trim_end().len());
                self.finish("</p>");
            }
            Some(Open::Heading(rest)) => {
                self.pending.push_str(&rest);
                self.finish("</p>");
            }
            Some(Open::Link(address, start)) => {
                self.flush();
                if !shows_something(self.html.get(start..).unwrap_or_default()) {
                    address.as_str().render_to(self.html);
                }
                self.html.push_str("</a>");
                self.is_in_link = false;
            }
            Some(Open::TypedLink) => {
                self.pending.push_str(self.typed_at(&(self.inline_end..range.end)));
            }
        }
        self.inline_end = range.end;
    }

    fn begin(&mut self, tag: &str, open: Open) -> Open {
        self.html.push_str(tag);
        open
    }

    fn finish(&mut self, tag: &str) {
        self.flush();
        self.html.push_str(tag);
    }

    /// Begins an element around blocks, or nothing where there are too many already.
    fn container(&mut self, start: &str, end: &'static str) -> Open {
        if self.containers == MAX_MARKUP_LEVELS {
            return Open::Flat;
        }
        self.containers += 1;
        self.begin(start, Open::Container(end))
    }

    /// Begins an element within a block, or nothing where there are too many already.
    fn span(&mut self, start: &str, end: &'static str) -> Open {
        if self.spans == MAX_MARKUP_LEVELS {
            return Open::Flat;
        }
        self.spans += 1;
        self.begin(start, Open::Span(end))
    }

    /// Begins a paragraph with the characters that would have made it a heading, and remembers
    /// those after it.
    fn heading(&mut self, range: &Range<usize>) -> Open {
        let typed = self.typed_at(range).trim();
        let rest = if typed.contains('\n') {
            let line = typed.trim_end_matches(['=', '-']);
            format!("\n{}", typed.get(line.len()..).unwrap_or_default())
        } else {
            let text = typed.trim_start_matches('#');
            let marks = typed.get(..typed.len() - text.len()).unwrap_or_default();
            self.pending.push_str(marks);
            let before = text.trim_end_matches('#');
            let end = text.get(before.len()..).unwrap_or_default();
            if !text.trim().is_empty() {
                self.pending.push(' ');
            }
            // Marks that are part of a word do not end a heading.
            if before.ends_with([' ', '\t']) && !end.is_empty() { format!(" {end}") } else { String::new() }
        };
        self.begin("<p>", Open::Heading(rest))
    }

    /// Begins a link, or shows it as it was typed if it does not lead to the web or a mailbox.
    /// Links in links, such as images, are only their text.
    fn link(&mut self, address: &str, range: &Range<usize>, typed_start: &str) -> Open {
        if self.is_in_link {
            return Open::Flat;
        }
        let address = self.source.typed(address);
        let Some(address) = allowed(&address) else {
            self.pending.push_str(typed_start);
            self.inline_end = range.start + typed_start.len();
            return Open::TypedLink;
        };
        self.is_in_link = true;
        self.link_start(&address);
        Open::Link(address.into_owned(), self.html.len())
    }

    fn link_start(&mut self, address: &str) {
        self.html.push_str("<a href=\"");
        valid_address(address).render_to(self.html);
        self.html.push_str("\" rel=\"");
        self.html.push_str(OUTSIDE);
        self.html.push_str(if self.links.is_new_window() { "\" target=\"_blank\">" } else { "\">" });
    }

    /// Writes the pending text, with its addresses and the names of users as links.
    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let source = self.source;
        for part in source.parts(&pending) {
            match part {
                SourcePart::Text(text) if self.is_in_link || !text.contains('@') => {
                    write_lines(self.html, text);
                }
                SourcePart::Text(text) => self.text_with_names(text),
                SourcePart::Address(address) if self.is_in_link => address.render_to(self.html),
                SourcePart::Address(address) => {
                    self.link_start(&link_address(address));
                    address.render_to(self.html);
                    self.html.push_str("</a>");
                }
            }
        }
        self.pending = pending;
        self.pending.clear();
    }

    fn text_with_names(&mut self, text: &str) {
        for piece in text_and_mentions(text) {
            match piece {
                Piece::Mention(name) => {
                    self.html.push_str("<a href=\"");
                    self.base.render_to(self.html);
                    self.html.push_str(&profile_address(name, ""));
                    self.html.push_str("\">@");
                    name.render_to(self.html);
                    self.html.push_str("</a>");
                }
                Piece::Text(text) | Piece::Link(text) => write_lines(self.html, text),
            }
        }
    }
}

/// Writes text, each line on its own.
fn write_lines(html: &mut String, text: &str) {
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            html.push_str("<br>");
        }
        line.render_to(html);
    }
}

/// The address that a link with this target leads to: http, https or mailto.
fn allowed(target: &str) -> Option<Cow<'_, str>> {
    const MAILTO: &str = "mailto:";
    let begins =
        |scheme: &str| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    if begins(MAILTO) {
        let is_mailbox = target.contains('@') && !target.contains(char::is_whitespace);
        return is_mailbox.then_some(Cow::Borrowed(target));
    }
    let address = link_address(target);
    // Without a scheme, or with part of one, it would be an address within this site.
    let has_scheme = matches!(address, Cow::Owned(_)) || begins("http://") || begins("https://");
    (has_scheme && is_web_address(&address)).then_some(address)
}

/// Whether there is anything to see in the HTML of a link.
fn shows_something(html: &str) -> bool {
    let mut is_in_tag = false;
    html.chars().any(|character| {
        match character {
            '<' => is_in_tag = true,
            '>' => is_in_tag = false,
            _ => return !is_in_tag && is_visible(character),
        }
        false
    })
}

/// A comment or the text of a story as HTML.
#[must_use]
pub fn formatted(text: &str) -> String {
    markdown(text, LinkTarget::Same).into_string()
}

#[cfg(test)]
mod checker;
#[cfg(test)]
mod tests;

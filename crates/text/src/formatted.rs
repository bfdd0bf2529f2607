//! Reads the texts of comments and stories: a subset of Markdown.
//!
//! Paragraphs, emphasis, code, quotes, lists and links are markup. Everything else, such as
//! HTML, headings, images and tables, is text as it was typed. `pulldown-cmark` finds the
//! structure.
//!
//! People who know nothing of Markdown, and texts from before it, lose nothing: a line break
//! stays a line break, and addresses without any markup are links, whatever characters of
//! Markdown they contain. For that they are taken out before the text is parsed, and put back
//! when it is read (see `Source`).

use crate::address::{allowed, is_web_address, link_address};
use crate::bounds::{self, MAX_MARKUP_LEVELS};
use crate::characters::{is_visible, printable_lines};
use crate::links::{Piece, next_link, text_and_links, unescaped};
use crate::mentions::{NamePiece, split_mentions};
use crate::stored_text::{Element, Event, read_address};
use pulldown_cmark::{CodeBlockKind, Event as Parsed, LinkType, Options, Parser, Tag};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

/// Reads a text that somebody wrote, up to the length that is shown. One that has too much markup is text alone, see
/// [`bounds::is_marked`].
pub(crate) fn read(text: &str, mut each: impl FnMut(Event<'_>)) {
    let text = printable_lines(bounds::shown(text));
    if bounds::is_marked(&text) {
        Reader::new(&Source::new(&text), &mut each).read();
    } else {
        each(Event::Start(Element::Paragraph));
        read_lines(&text, &mut each);
        each(Event::End(Element::Paragraph));
    }
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
/// usual way to end a comment. An address that the parser finds itself, in `<>` or as the target of a link,
/// is left to it, with all that belongs to it there.
struct Source<'a> {
    text: Cow<'a, str>,
    addresses: Vec<&'a str>,
    /// Whether there are addresses that are left to the parser.
    has_left: bool,
}

impl<'a> Source<'a> {
    fn new(text: &'a str) -> Self {
        const DEFINITION: &str = "]:";
        let mut source = Self { text: Cow::Borrowed(text), addresses: Vec::new(), has_left: false };
        let mut next = next_link(text, 0, true);
        if next.is_none() && !text.contains(DEFINITION) {
            return source;
        }
        let mut parsed = String::with_capacity(text.len());
        let mut start = 0;
        while let Some(link) = next {
            let before = text.get(start..link.start).unwrap_or_default();
            parsed.push_str(&before.replace(DEFINITION, &format!("]{NOTHING}:")));
            start = link.end;
            if let Some(end) = end_in_markup(text, link.start) {
                source.has_left = true;
                parsed.push_str(text.get(link.start..end).unwrap_or_default());
                start = end;
            } else if let Some(address) = text.get(link) {
                let bare = without_emphasis_end(address, &parsed);
                // Writing to a String cannot fail.
                let _ = write!(parsed, "{PLACE}{}{PLACE_END}", source.addresses.len());
                source.addresses.push(bare);
                parsed.push_str(address.get(bare.len()..).unwrap_or_default());
            }
            next = next_link(text, start, true);
        }
        let rest = text.get(start..).unwrap_or_default();
        parsed.push_str(&rest.replace(DEFINITION, &format!("]{NOTHING}:")));
        source.text = Cow::Owned(parsed);
        source
    }

    /// The parts of a text that the parser returned, each with its place.
    fn parts<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (usize, SourcePart<'t>)> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let start = text.len() - rest.len();
            if let Some((number, after)) =
                rest.strip_prefix(PLACE).and_then(|place| place.split_once(PLACE_END))
            {
                rest = after;
                let address = number.parse::<usize>().ok().and_then(|number| self.addresses.get(number));
                let part = address.map_or(SourcePart::Text(""), |address| SourcePart::Address(address));
                return Some((start, part));
            }
            let from = rest.chars().next()?.len_utf8();
            let end = rest.get(from..).and_then(|rest| rest.find(PLACE)).map_or(rest.len(), |at| from + at);
            let (text, after) = rest.split_at(end);
            rest = after;
            Some((start, SourcePart::Text(text)))
        })
    }

    /// A text that the parser returned, as it was typed.
    fn typed<'t>(&'t self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(PLACE) {
            return Cow::Borrowed(text);
        }
        let typed = |(_, part)| match part {
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

/// Where the markup ends that has an address as its own: `<address>`, or the target of a link.
fn end_in_markup(text: &str, start: usize) -> Option<usize> {
    let (before, rest) = text.split_at_checked(start)?;
    if let Some(outside) = before.strip_suffix('<').filter(|outside| !is_escaped_after(outside)) {
        let length = rest.find(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>'))?;
        if rest.get(length..)?.starts_with('>') && rest.get(..length)?.contains("://") {
            return Some(start + length);
        }
        let length = rest.find(['<', '>', '\n'])?;
        let is_target =
            outside.trim_end_matches([' ', '\n']).ends_with("](") && rest.get(length..)?.starts_with('>');
        return is_target.then_some(start + length);
    }
    if !ends_words_of_link(before.trim_end_matches([' ', '\n']).strip_suffix("](")?) {
        return None;
    }
    let (mut open, mut is_escaped) = (0_u32, false);
    for (at, character) in rest.char_indices() {
        let was_escaped = std::mem::take(&mut is_escaped);
        match character {
            _ if was_escaped && character.is_ascii_punctuation() => {}
            '\\' => is_escaped = true,
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => return Some(start + at),
            // A title may follow.
            ' ' | '\n' => {
                let after = rest.get(at..)?.trim_start_matches([' ', '\n']);
                return after.starts_with(['"', '\'', '(', ')']).then_some(start + at);
            }
            _ if character.is_ascii_control() => return None,
            _ => {}
        }
    }
    None
}

/// Whether a text ends with a backslash that makes the character after it an ordinary one.
fn is_escaped_after(text: &str) -> bool {
    (text.len() - text.trim_end_matches('\\').len()) % 2 == 1
}

/// Whether a bracket is open at the end of a text. If none is near, there is likely one.
fn ends_words_of_link(text: &str) -> bool {
    /// Bytes that are looked at, so that all links of a text take a bounded time.
    const NEAR: usize = 1_000;
    let mut closed = 0_u32;
    for (at, character) in text.char_indices().rev() {
        if text.len() - at > NEAR {
            return true;
        }
        let is_plain = || is_escaped_after(text.get(..at).unwrap_or_default());
        match character {
            ']' if !is_plain() => closed += 1,
            '[' if !is_plain() && closed == 0 => return true,
            '[' if !is_plain() => closed -= 1,
            _ => {}
        }
    }
    false
}

/// An address without the `_` after it, if the text before it may have the `_` that it ends.
fn without_emphasis_end<'a>(address: &'a str, before: &str) -> &'a str {
    let bare = address.trim_end_matches('_');
    let is_cut = bare.len() < address.len() && !bare.ends_with('\\') && before.contains('_');
    if is_cut && is_web_address(&link_address(&unescaped(bare))) { bare } else { address }
}

/// A part of the text that has begun and has not ended yet.
enum Open {
    /// Nothing is written for it.
    Flat,
    /// An element around blocks.
    Container(Element),
    /// An element within a block.
    Span(Element),
    /// Another element.
    Block(Element),
    /// A block of HTML, shown as a paragraph.
    HtmlBlock,
    /// A heading, shown as a paragraph, with what was typed after it.
    Heading(String),
    /// A link with its address.
    Link(String),
    /// A link that is shown as it was typed.
    TypedLink,
}

/// Reads one text.
struct Reader<'a, 'e, E> {
    source: &'a Source<'a>,
    each: &'e mut E,
    open: Vec<Open>,
    /// How many open elements are [`Open::Container`].
    containers: usize,
    /// How many open elements are [`Open::Span`].
    spans: usize,
    is_in_link: bool,
    /// Whether the open link has words that can be seen.
    has_words: bool,
    is_in_code: bool,
    /// Text that is not given yet, because the parser may return a word in parts.
    pending: String,
    /// The places of each `@` in it that was typed after a backslash.
    escaped: Vec<usize>,
    /// The end of the last part of a line in the source.
    inline_end: usize,
}

impl<'a, 'e, E: FnMut(Event<'_>)> Reader<'a, 'e, E> {
    fn new(source: &'a Source<'a>, each: &'e mut E) -> Self {
        Self {
            source,
            each,
            open: Vec::new(),
            containers: 0,
            spans: 0,
            is_in_link: false,
            has_words: false,
            is_in_code: false,
            pending: String::new(),
            escaped: Vec::new(),
            inline_end: 0,
        }
    }

    fn read(mut self) {
        let source = self.source;
        for (event, range) in Parser::new_ext(&source.text, Options::empty()).into_offset_iter() {
            match event {
                Parsed::Start(tag) => self.start(tag, range),
                Parsed::End(_) => self.end(range),
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

    /// Whether a backslash makes the character at a place of the source an ordinary one.
    fn is_escaped(&self, at: usize) -> bool {
        is_escaped_after(self.source.text.get(..at).unwrap_or_default())
    }

    fn leaf(&mut self, event: &Parsed<'_>, range: &Range<usize>) {
        match event {
            Parsed::Text(text) if self.is_in_code => self.verbatim(text),
            Parsed::Text(text) => {
                let typed = self.typed_at(range);
                if text.starts_with('@') && self.is_escaped(range.start) {
                    self.escaped.push(self.pending.len());
                }
                // An entity is shown as it was typed.
                self.pending.push_str(if typed.starts_with('&') { typed } else { text });
            }
            Parsed::Html(text) | Parsed::InlineHtml(text) => self.pending.push_str(text),
            Parsed::SoftBreak | Parsed::HardBreak => self.pending.push('\n'),
            Parsed::Code(text) => {
                self.flush();
                (self.each)(Event::Start(Element::Code));
                self.verbatim(text);
                (self.each)(Event::End(Element::Code));
            }
            Parsed::Rule => {
                self.flush();
                (self.each)(Event::Start(Element::Paragraph));
                self.pending.push_str(self.typed_at(range).trim());
                self.flush();
                (self.each)(Event::End(Element::Paragraph));
            }
            // The options of the parser exclude everything else.
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        let is_block = !matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. });
        self.flush();
        let open = match tag {
            Tag::Paragraph => self.begin(Element::Paragraph, Open::Block(Element::Paragraph)),
            Tag::HtmlBlock => self.begin(Element::Paragraph, Open::HtmlBlock),
            Tag::Heading { .. } => self.heading(&range),
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => {
                self.is_in_code = true;
                self.begin(Element::CodeBlock, Open::Block(Element::CodeBlock))
            }
            Tag::BlockQuote(_) => self.container(Element::Quote),
            Tag::List(None) => self.container(Element::List),
            Tag::List(Some(first)) => self.container(Element::NumberedList(first)),
            Tag::Item if matches!(self.open.last(), Some(Open::Container(_))) => {
                self.begin(Element::Item, Open::Block(Element::Item))
            }
            Tag::Item => {
                (self.each)(Event::Break);
                Open::Flat
            }
            Tag::Emphasis => self.span(Element::Emphasis),
            Tag::Strong => self.span(Element::Strong),
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
            Some(Open::Container(element)) => {
                self.containers -= 1;
                self.finish(element);
            }
            Some(Open::Span(element)) => {
                self.spans -= 1;
                self.finish(element);
            }
            Some(Open::Block(element)) => {
                self.is_in_code = false;
                self.finish(element);
            }
            Some(Open::HtmlBlock) => {
                self.pending.truncate(self.pending.trim_end().len());
                self.finish(Element::Paragraph);
            }
            Some(Open::Heading(rest)) => {
                self.pending.push_str(&rest);
                self.finish(Element::Paragraph);
            }
            Some(Open::Link(address)) => {
                self.flush();
                if !self.has_words {
                    (self.each)(Event::Text(&address));
                }
                (self.each)(Event::End(Element::Link));
                self.is_in_link = false;
            }
            Some(Open::TypedLink) => {
                self.pending.push_str(self.typed_at(&(self.inline_end..range.end)));
            }
        }
        self.inline_end = range.end;
    }

    fn begin(&mut self, element: Element, open: Open) -> Open {
        (self.each)(Event::Start(element));
        open
    }

    fn finish(&mut self, element: Element) {
        self.flush();
        (self.each)(Event::End(element));
    }

    /// Begins an element around blocks, or nothing where there are too many already.
    fn container(&mut self, element: Element) -> Open {
        if self.containers == MAX_MARKUP_LEVELS {
            return Open::Flat;
        }
        self.containers += 1;
        self.begin(element, Open::Container(element))
    }

    /// Begins an element within a block, or nothing where there are too many already.
    fn span(&mut self, element: Element) -> Open {
        if self.spans == MAX_MARKUP_LEVELS {
            return Open::Flat;
        }
        self.spans += 1;
        self.begin(element, Open::Span(element))
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
        self.begin(Element::Paragraph, Open::Heading(rest))
    }

    /// Begins a link, or shows it as it was typed if it does not lead to the web or a mailbox.
    /// Links in links, such as images, are only their text.
    fn link(&mut self, address: &str, range: &Range<usize>, typed_start: &str) -> Open {
        if self.is_in_link {
            return Open::Flat;
        }
        let address = self.source.typed(address);
        let Some(target) = allowed(&address) else {
            self.pending.push_str(typed_start);
            self.inline_end = range.start + typed_start.len();
            return Open::TypedLink;
        };
        (self.is_in_link, self.has_words) = (true, false);
        (self.each)(Event::StartLink(&target));
        Open::Link(link_address(&address).into_owned())
    }

    /// Gives text of code, as it was typed.
    fn verbatim(&mut self, text: &str) {
        let text = self.source.typed(text);
        self.has_words |= text.contains(is_visible);
        (self.each)(Event::Text(&text));
    }

    /// Gives the pending text, with its addresses and the names of users as links.
    fn flush(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let escaped = std::mem::take(&mut self.escaped);
        let source = self.source;
        for (mut start, part) in source.parts(&pending) {
            match part {
                SourcePart::Text(text) if self.is_in_link => self.words(text),
                // It stood in what looked like a link and was none.
                SourcePart::Text(text) if source.has_left => {
                    for piece in text_and_links(text) {
                        let (Piece::Link(part) | Piece::Text(part)) = piece;
                        match piece {
                            Piece::Link(address) => read_address(address, self.each),
                            Piece::Text(text) => self.text_with_names(text, start, &escaped),
                        }
                        start += part.len();
                    }
                }
                SourcePart::Text(text) => self.text_with_names(text, start, &escaped),
                SourcePart::Address(address) if self.is_in_link => self.words(&unescaped(address)),
                SourcePart::Address(address) => read_address(&unescaped(address), self.each),
            }
        }
        self.pending = pending;
        self.pending.clear();
    }

    /// Gives words of a link.
    fn words(&mut self, text: &str) {
        self.has_words |= text.contains(is_visible);
        read_lines(text, self.each);
    }

    /// Gives text that is in the pending text from a place on.
    fn text_with_names(&mut self, text: &str, start: usize, escaped: &[usize]) {
        if !text.contains('@') {
            return read_lines(text, self.each);
        }
        let is_plain = |at: usize| escaped.contains(&(start + at));
        let each = &mut *self.each;
        split_mentions(text, is_plain, |piece| match piece {
            NamePiece::Mention(name) => each(Event::Mention(name)),
            NamePiece::Text(text) => read_lines(text, each),
        });
    }
}

/// Gives text, each line on its own.
fn read_lines(text: &str, each: &mut impl FnMut(Event<'_>)) {
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            each(Event::Break);
        }
        if !line.is_empty() {
            each(Event::Text(line));
        }
    }
}

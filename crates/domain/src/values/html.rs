//! The HTML of Hacker News as the Markdown of this site, so that the same text is shown.
//!
//! The rule, which `docs/importing.md` has too: `<p>` begins a paragraph, `<i>` becomes `*…*`, `<pre>` a fenced block
//! of code, and `<a href>` an address or `[words](address)`. Other tags are left out, and what is between them
//! stays. Entities become their characters. White space counts as one space, except in code. A backslash is put
//! before each character that Markdown would read as markup.

use tidings_text::address::{is_web_address, link_address};
use tidings_text::links::{Piece, text_and_links};

/// A text of Hacker News as Markdown.
pub fn markdown_of_html(html: &str) -> String {
    read(html, false)
}

fn read(html: &str, is_plain: bool) -> String {
    let mut reader = HtmlReader { is_plain, ..HtmlReader::default() };
    let mut rest = html;
    while let Some((text, tagged)) = rest.split_once('<') {
        reader.text(&decoded(text));
        let begins_tag = tagged.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
        match tagged.split_once('>').filter(|_| begins_tag) {
            Some((tag, after)) => {
                reader.tag(tag);
                rest = after;
            }
            // No tag, although it should be an entity.
            None => {
                reader.text("<");
                rest = tagged;
            }
        }
    }
    reader.text(&decoded(rest));
    reader.finish()
}

/// The same as text without markup, for what people say about themselves. An address stands behind the words of
/// its link.
pub fn text_of_html(html: &str) -> String {
    read(html, true)
}

/// A part of a paragraph.
#[derive(Debug, PartialEq, Eq)]
enum TextSpan {
    /// Text, and whether it is emphasised.
    Text(String, bool),
    /// A link with its words.
    Link(String, String),
}

#[derive(Default)]
struct HtmlReader {
    /// The finished blocks.
    blocks: Vec<String>,
    /// The paragraph that is being read.
    spans: Vec<TextSpan>,
    is_emphasised: bool,
    /// The address of the open link, and its words so far.
    link: Option<(String, String)>,
    /// The code so far, within a block of code.
    code: Option<String>,
    /// Whether the result has no markup.
    is_plain: bool,
}

impl HtmlReader {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(code) = &mut self.code {
            code.push_str(text);
        } else if let Some((_, words)) = &mut self.link {
            words.push_str(text);
        } else {
            match self.spans.last_mut() {
                Some(TextSpan::Text(before, is_emphasised)) if *is_emphasised == self.is_emphasised => {
                    before.push_str(text);
                }
                _ => self.spans.push(TextSpan::Text(text.to_owned(), self.is_emphasised)),
            }
        }
    }

    fn tag(&mut self, tag: &str) {
        let end = tag.find(|c: char| c.is_whitespace()).unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(end);
        match name.trim_end_matches('/').to_ascii_lowercase().as_str() {
            "p" | "/p" | "br" | "div" | "/div" if self.code.is_none() => self.end_paragraph(),
            "i" | "em" => self.is_emphasised = true,
            "/i" | "/em" => self.is_emphasised = false,
            "a" => {
                self.end_link();
                self.link = href(attributes).map(|address| (address, String::new()));
            }
            "/a" => self.end_link(),
            "pre" => {
                self.end_paragraph();
                self.code = Some(String::new());
            }
            "/pre" => self.end_code(),
            _ => {}
        }
    }

    fn end_link(&mut self) {
        if let Some((address, words)) = self.link.take() {
            self.spans.push(TextSpan::Link(address, words));
        }
    }

    fn end_paragraph(&mut self) {
        self.end_link();
        let spans = std::mem::take(&mut self.spans);
        let paragraph = if self.is_plain { plain_paragraph(&spans) } else { paragraph(&spans) };
        if !paragraph.is_empty() {
            self.blocks.push(paragraph);
        }
    }

    fn end_code(&mut self) {
        let Some(code) = self.code.take() else { return };
        let code = code.trim_matches('\n').trim_end();
        if code.trim().is_empty() {
            return;
        }
        if self.is_plain {
            return self.blocks.push(code.to_owned());
        }
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.blocks.push(format!("{fence}\n{code}\n{fence}"));
    }

    fn finish(mut self) -> String {
        self.end_code();
        self.end_paragraph();
        self.blocks.join("\n\n")
    }
}

/// The address of a link to the web or a mailbox.
fn href(attributes: &str) -> Option<String> {
    let (_, value) = attributes.split_once("href=")?;
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let (address, _) = value.get(1..)?.split_once(quote)?;
    let address = decoded(address);
    let is_mail = address.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
    (is_mail || is_web_address(&address)).then_some(address)
}

/// A text with its entities as characters.
pub fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, entity) = rest.split_at(at);
        decoded.push_str(before);
        let end = entity.bytes().take(12).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((character_of(entity.get(1..end)?)?, end + 1)));
        let (character, length) = found.unwrap_or(('&', 1));
        decoded.push(character);
        rest = entity.get(length..).unwrap_or_default();
    }
    decoded.push_str(rest);
    decoded
}

/// The character of an entity, given without `&` and `;`.
fn character_of(entity: &str) -> Option<char> {
    let code = match entity {
        "quot" => return Some('"'),
        "amp" => return Some('&'),
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "apos" => return Some('\''),
        "nbsp" => return Some('\u{a0}'),
        number => number.strip_prefix('#')?,
    };
    let code = match code.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => code.parse(),
    };
    char::from_u32(code.ok()?)
}

/// A paragraph without markup, in one line.
fn plain_paragraph(spans: &[TextSpan]) -> String {
    let mut line = String::new();
    for span in spans {
        match span {
            TextSpan::Text(text, _) => line.push_str(text),
            TextSpan::Link(address, words) if shows_address(address, words.trim()) => line.push_str(address),
            TextSpan::Link(address, words) => line.push_str(&format!("{words} ({address})")),
        }
    }
    one_space(&line).trim().to_owned()
}

/// Whether the words of a link are its address. Long ones are cut on Hacker News.
fn shows_address(address: &str, words: &str) -> bool {
    let start = words.strip_suffix("...").or_else(|| words.strip_suffix('…'));
    words.is_empty() || words == address || start.is_some_and(|start| address.starts_with(start))
}

/// A paragraph in one line.
fn paragraph(spans: &[TextSpan]) -> String {
    let mut line = String::new();
    for (number, span) in spans.iter().enumerate() {
        let rest = spans.get(number + 1..).unwrap_or_default();
        match span {
            TextSpan::Text(text, is_emphasised) => {
                let text = one_space(text);
                let after = rest.iter().find_map(first_character);
                if *is_emphasised {
                    push_emphasised(&mut line, &text, after);
                } else {
                    push_text(&mut line, &text, after);
                }
            }
            TextSpan::Link(address, words) => push_link(&mut line, address, &one_space(words), rest),
        }
    }
    escape_start(line.trim())
}

fn first_character(span: &TextSpan) -> Option<char> {
    match span {
        TextSpan::Text(text, is_emphasised) => text.chars().next().map(|first| {
            // A `*` may come before it.
            if *is_emphasised && !first.is_whitespace() { '*' } else { first }
        }),
        TextSpan::Link(..) => Some('['),
    }
}

/// A text with one space for all white space between two words.
fn one_space(text: &str) -> String {
    let mut one = String::with_capacity(text.len());
    for character in text.chars() {
        let is_space = matches!(character, ' ' | '\n' | '\r' | '\t' | '\u{c}');
        if !is_space {
            one.push(character);
        } else if !one.ends_with(' ') {
            one.push(' ');
        }
    }
    one
}

/// Adds text. `after` is the character that follows it.
fn push_text(line: &mut String, text: &str, after: Option<char>) {
    let text = if line.is_empty() || line.ends_with(' ') { text.trim_start_matches(' ') } else { text };
    let pieces = text_and_links(text);
    for (at, piece) in pieces.iter().enumerate() {
        let rest = pieces.get(at + 1..).unwrap_or_default();
        match (piece, rest) {
            (Piece::Link(address), rest) => {
                let mut next = match rest.first() {
                    Some(Piece::Text(next)) => (*next).to_owned(),
                    Some(Piece::Link(_)) => "<".to_owned(),
                    None => String::new(),
                };
                if rest.len() < 2 {
                    next.extend(after);
                }
                push_address(line, address, &next);
            }
            // Marks that are not part of an address may come before it.
            (Piece::Text(text), [_, ..]) => push_escaped(line, text, Some('<')),
            (Piece::Text(text), []) => push_escaped(line, text, after),
        }
    }
}

/// Adds text with a backslash before each character that would be markup. `after` is the character that
/// follows it.
fn push_escaped(line: &mut String, text: &str, after: Option<char>) {
    let mut before = line.chars().next_back();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied().or(after);
        let is_in_word = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
        let is_apart = |side: Option<char>| side.is_some_and(char::is_whitespace);
        let is_markup = match character {
            '`' | '[' | ']' => true,
            '!' => next == Some('['),
            '*' => !(is_apart(before) && is_apart(next)),
            '_' => !(is_in_word(before) && is_in_word(next)),
            '\\' => next.is_none_or(|next| next.is_ascii_punctuation()),
            '<' => next.is_none_or(|next| next.is_ascii_alphabetic() || "/!?<[\\".contains(next)),
            _ => false,
        };
        if is_markup {
            line.push('\\');
        }
        line.push(character);
        before = Some(character);
    }
}

/// Adds emphasised text: as plain text where Markdown would not read the emphasis.
fn push_emphasised(line: &mut String, text: &str, after: Option<char>) {
    let words = text.trim();
    let (start, end) = (text.starts_with(char::is_whitespace), text.ends_with(char::is_whitespace));
    if start && !line.is_empty() && !line.ends_with(' ') {
        line.push(' ');
    }
    let after = if end { Some(' ') } else { after };
    let mut emphasised = "*".to_owned();
    push_text(&mut emphasised, words, Some('*'));
    let inside = emphasised.get(1..).unwrap_or_default();
    let is_open = |side: Option<char>| {
        side.is_none_or(|side| {
            side.is_whitespace() || (side.is_ascii_punctuation() && !"*_\\".contains(side))
        })
    };
    let can_begin = is_open(line.chars().next_back())
        || inside.starts_with(char::is_alphanumeric) && !line.ends_with(['*', '_', '\\']);
    let can_end = is_open(after) || inside.ends_with(char::is_alphanumeric) && after != Some('*');
    if !words.is_empty() && can_begin && can_end {
        line.push_str(&emphasised);
        line.push('*');
    } else {
        push_text(line, words, after);
    }
    if end {
        line.push(' ');
    }
}

/// Adds a link. `rest` has the spans that follow it.
fn push_link(line: &mut String, address: &str, words: &str, rest: &[TextSpan]) {
    let words = words.trim();
    if !is_web_address(address) || !shows_address(address, words) {
        push_worded_link(line, words, address);
    } else if text_and_links(address) == [Piece::Link(address)] {
        let after = match rest {
            [TextSpan::Text(text, false)] => text.clone(),
            [TextSpan::Text(text, false), ..] => format!("{text}["),
            _ => rest.iter().find_map(first_character).map(String::from).unwrap_or_default(),
        };
        push_address(line, address, &after);
    } else {
        push_worded_link(line, address, address);
    }
}

fn push_worded_link(line: &mut String, words: &str, address: &str) {
    push_bracket(line);
    push_escaped(line, words, Some(']'));
    push_destination(line, address);
}

/// Begins a link, which a `!` before it would make an image.
fn push_bracket(line: &mut String) {
    let before = line.strip_suffix('!').map(str::len);
    if let Some(end) =
        before.filter(|end| line[..*end].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 0)
    {
        line.insert(end, '\\');
    }
    line.push('[');
}

/// Adds an address of the web that is found as a whole: as it is between spaces, otherwise in `<>`, or as a link with
/// itself as its words if it has no scheme. `after` is the text that follows it.
fn push_address(line: &mut String, address: &str, after: &str) {
    let is_apart = line.chars().next_back().is_none_or(|before| before == ' ' || before == '(');
    let mut following = after.chars();
    let ends = match following.next() {
        None => true,
        Some(')') => !address.contains('('),
        Some(first) if ".,;:!?".contains(first) => following.next().is_none_or(char::is_whitespace),
        Some(first) => first.is_whitespace(),
    };
    // A backslash in it would be read as an escape.
    if is_apart && ends && !address.contains('\\') {
        line.push_str(address);
    } else if is_web_address(address) {
        line.push('<');
        line.push_str(address);
        line.push('>');
    } else {
        push_bracket(line);
        push_escaped(line, address, Some(']'));
        push_destination(line, &link_address(address));
    }
}

/// Ends a link. An address without a path gets one, or else a finder of addresses takes what follows for a part of
/// its host if there is an `@`.
fn push_destination(line: &mut String, address: &str) {
    line.push_str("](");
    for character in address.chars() {
        match character {
            '(' => line.push_str("%28"),
            ')' => line.push_str("%29"),
            '[' => line.push_str("%5B"),
            ']' => line.push_str("%5D"),
            '<' => line.push_str("%3C"),
            '>' => line.push_str("%3E"),
            '\\' => line.push_str("%5C"),
            character if character.is_whitespace() => line.push_str("%20"),
            character => line.push(character),
        }
    }
    let has_path = address.split_once("://").is_none_or(|(_, rest)| rest.contains(['/', '?', '#']));
    line.push_str(if has_path { ")" } else { "/)" });
}

/// A paragraph with a backslash before what would begin a heading, a quote, a list, a line or a block of code.
fn escape_start(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let number = line.get(digits..).and_then(|rest| rest.strip_prefix(['.', ')']));
    if (1..=9).contains(&digits) && number.is_some_and(ends) {
        let (digits, rest) = line.split_at(digits);
        return format!("{digits}\\{rest}");
    }
    let is_markup = match line.chars().next() {
        Some('>' | '~') => true,
        Some('#') => ends(line.trim_start_matches('#')),
        Some('-' | '+') => line.get(1..).is_some_and(|rest| ends(rest) || rest.starts_with('-')),
        Some('*') => line.get(1..).is_some_and(ends),
        _ => false,
    };
    if is_markup { format!("\\{line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_html_of_hacker_news_becomes_markdown() {
        for (html, markdown) in [
            ("One.<p>Two &amp; three.", "One.\n\nTwo & three."),
            ("It&#x27;s <i>so</i> &quot;good&quot;", "It's *so* \"good\""),
            ("&lt;b&gt; &#60;&#x3c;&nbsp;&unknown; &", "\\<b> \\<<\u{a0}&unknown; &"),
            (
                "<p>Look:<p><pre><code>  if a &lt; b:\n    *it*\n</code></pre>\nDone",
                "Look:\n\n```\n  if a < b:\n    *it*\n```\n\nDone",
            ),
            ("<pre><code>a ``` b</code></pre>", "````\na ``` b\n````"),
            (
                "See <a href=\"https:&#x2F;&#x2F;a.com&#x2F;b_c_d\" rel=\"nofollow\">https:&#x2F;&#x2F;a.com&#x2F;b_c_d</a>.",
                "See https://a.com/b_c_d.",
            ),
            ("<a href=\"https://a.com/long/address\">https://a.com/lo...</a>", "https://a.com/long/address"),
            ("<a href=\"https://a.com/(b)\">*words*</a>", "[\\*words\\*](https://a.com/%28b%29)"),
            ("<a href=\"javascript:alert(1)\">x</a>", "x"),
            ("snake_case _x_ 2*3 2 * 3 `c` [a]", "snake_case \\_x\\_ 2\\*3 2 * 3 \\`c\\` \\[a\\]"),
            ("C:\\dir \\* end\\", "C:\\dir \\\\\\* end\\\\"),
            (
                "# a<p>&gt; b<p>- c<p>1. d<p>--- <p>* e<p>+<p>12) f<p>#tag<p>-1",
                "\\# a\n\n\\> b\n\n\\- c\n\n1\\. d\n\n\\---\n\n\\* e\n\n\\+\n\n12\\) f\n\n#tag\n\n-1",
            ),
            ("a<i> b </i>c un<i>believ</i>able x<i>\"y\"</i>", "a *b* c un*believ*able x\"y\""),
            (
                "!www.a.com \\!<a href=\"https://a.com/\">b</a>",
                "\\![www.a.com](http://www.a.com/) \\\\\\![b](https://a.com/)",
            ),
            ("two\n lines  and\ttabs", "two lines and tabs"),
            ("see https://a.com/b\\_c now", "see <https://a.com/b\\_c> now"),
            ("<b>bold</b> a < b", "bold a < b"),
            ("", ""),
            ("<p><p>", ""),
        ] {
            assert_eq!(markdown_of_html(html), markdown, "{html}");
        }
    }
}

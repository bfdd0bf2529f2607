//! Texts in the few tags of Hacker News: paragraphs with `<p>` between them, `<i>`, `<pre><code>` and
//! `<a href rel="nofollow">`, with the entities that are used there.
//!
//! A text is rendered as on pages, and the result, which has a few fixed tags, is written again. So it has the
//! same links, and nothing can come out that pages would not have.

use crate::markup::autolink::autolink;
use crate::markup::fragments::LinkTarget;
use crate::markup::markdown::formatted;
use tidings_domain::values::size;
use tidings_domain::values::text::printable_lines;

/// A comment or the text of a story.
pub fn text_html(text: &str) -> String {
    rewritten(&formatted(text))
}

/// A text without formatting, as people write about themselves. Empty lines part its paragraphs.
pub fn plain_html(text: &str) -> String {
    rewritten(autolink(&printable_lines(size::shown(text)), LinkTarget::Same).0.trim())
}

/// The HTML of a page in those tags.
fn rewritten(html: &str) -> String {
    let mut writer = Writer { html: String::with_capacity(html.len() + html.len() / 8), ..Writer::default() };
    let mut rest = html;
    while let Some((text, tagged)) = rest.split_once('<') {
        writer.text(text);
        let (tag, after) = tagged.split_once('>').unwrap_or((tagged, ""));
        writer.tag(tag);
        rest = after;
    }
    writer.text(rest);
    writer.html
}

#[derive(Default)]
struct Writer {
    html: String,
    /// Whether a paragraph has ended that another may follow.
    has_ended: bool,
    /// How many elements are open that are emphasised.
    emphasised: usize,
    is_in_block_of_code: bool,
    /// The quotes, lists and items that are open.
    around: Vec<Container>,
    /// Whether a link is open that is written.
    is_in_link: bool,
}

/// An element around paragraphs that shows as characters at their start, because there is no tag for it.
enum Container {
    /// Each line begins with `> `.
    Quote,
    /// A list; the number of its next item if it has numbers.
    List(Option<u64>),
    /// An item, with its mark until that is written.
    Item(String),
}

impl Writer {
    fn tag(&mut self, tag: &str) {
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        match name {
            "br" => {
                self.text("\n");
                self.html.push_str(&self.quotes());
            }
            "blockquote" => self.begin(Container::Quote),
            "ul" => self.begin(Container::List(None)),
            "ol" => {
                let first = attributes.strip_prefix("start=\"").and_then(|rest| rest.split_once('"'));
                self.begin(Container::List(Some(
                    first.and_then(|(first, _)| first.parse().ok()).unwrap_or(1),
                )));
            }
            "li" => {
                let mark = match self.around.last_mut() {
                    Some(Container::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.begin(Container::Item(mark));
            }
            "/blockquote" | "/ul" | "/ol" | "/li" => {
                self.around.pop();
                self.has_ended = true;
            }
            "em" | "strong" => {
                self.emphasised += 1;
                if self.emphasised == 1 {
                    self.push("<i>");
                }
            }
            "/em" | "/strong" => {
                self.emphasised = self.emphasised.saturating_sub(1);
                if self.emphasised == 0 {
                    self.html.push_str("</i>");
                }
            }
            "pre" => {
                self.has_ended = true;
                self.is_in_block_of_code = true;
                self.push("<pre><code>");
            }
            "/pre" => {
                self.html.push_str("</code></pre>");
                self.is_in_block_of_code = false;
                self.has_ended = true;
            }
            // Links to people here are no links there.
            "a" if attributes.contains(" rel=") => {
                if let Some((address, _)) =
                    attributes.strip_prefix("href=\"").and_then(|rest| rest.split_once('"'))
                {
                    self.push("<a href=\"");
                    self.escape(address);
                    self.html.push_str("\" rel=\"nofollow\">");
                    self.is_in_link = true;
                }
            }
            "/a" if self.is_in_link => {
                self.html.push_str("</a>");
                self.is_in_link = false;
            }
            "code" if !self.is_in_block_of_code => self.push("`"),
            "/code" if !self.is_in_block_of_code => self.html.push('`'),
            "a" | "/a" | "code" | "/code" => {}
            // A paragraph, or something that has them.
            _ => self.has_ended = true,
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_in_block_of_code {
            return self.escape(text);
        }
        for (number, paragraph) in text.split("\n\n").enumerate() {
            let paragraph = if number > 0 { paragraph.trim_start_matches('\n') } else { paragraph };
            self.has_ended |= number > 0;
            if !paragraph.is_empty() {
                self.push("");
                self.escape(paragraph);
            }
        }
    }

    fn begin(&mut self, around: Container) {
        self.around.push(around);
        self.has_ended = true;
    }

    /// The beginning of each line within quotes.
    fn quotes(&self) -> String {
        let quotes = self.around.iter().filter(|around| matches!(around, Container::Quote)).count();
        "&gt; ".repeat(quotes)
    }

    /// Writes markup, in a new paragraph if one has ended. A paragraph begins with the marks of the quotes and the
    /// item that it is in; a block of code has none.
    fn push(&mut self, markup: &str) {
        if std::mem::take(&mut self.has_ended) {
            if !self.html.is_empty() {
                self.html.push_str("<p>");
            }
            let is_code = self.is_in_block_of_code;
            for around in &mut self.around {
                match around {
                    Container::Quote if !is_code => self.html.push_str("&gt; "),
                    Container::Item(mark) if !is_code => self.html.push_str(&std::mem::take(mark)),
                    Container::Quote | Container::Item(_) | Container::List(_) => {}
                }
            }
        }
        self.html.push_str(markup);
    }

    /// Writes text that is escaped, with the two further entities.
    fn escape(&mut self, text: &str) {
        for character in text.chars() {
            match character {
                '\'' => self.html.push_str("&#x27;"),
                '/' => self.html.push_str("&#x2F;"),
                _ => self.html.push(character),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_paragraphs_with_few_tags() {
        for (typed, expected) in [
            ("One line.", "One line."),
            ("One.\n\nTwo.\n\n\nThree.", "One.<p>Two.<p>Three."),
            ("One\ntwo", "One\ntwo"),
            ("*slanted* and **bold** and ***both***", "<i>slanted</i> and <i>bold</i> and <i>both</i>"),
            ("Use `a < b` here", "Use `a &lt; b` here"),
            (
                "Look:\n\n    if a && b:\n        it's\n\nDone",
                "Look:<p><pre><code>if a &amp;&amp; b:\n    it&#x27;s\n</code></pre><p>Done",
            ),
            ("> quoted\n\nanswer", "&gt; quoted<p>answer"),
            ("> a\n> b\n>\n> c\n>> d", "&gt; a\n&gt; b<p>&gt; c<p>&gt; &gt; d"),
            ("- one\n- two\n\n3. three\n4. four", "- one<p>- two<p>3. three<p>4. four"),
            ("> - one\n>   - two\n> - three", "&gt; - one<p>&gt; - two<p>&gt; - three"),
            ("`code` first, then\n\n- *x*", "`code` first, then<p>- <i>x</i>"),
            ("it's 1/2 \"so\" <b> & c", "it&#x27;s 1&#x2F;2 &quot;so&quot; &lt;b&gt; &amp; c"),
            (
                "See https://example.com/a?b=1&c='d'",
                "See <a href=\"https:&#x2F;&#x2F;example.com&#x2F;a?b=1&amp;c=&#x27;d&#x27;\" rel=\"nofollow\">https:&#x2F;&#x2F;example.com&#x2F;a?b=1&amp;c=&#x27;d&#x27;</a>",
            ),
            (
                "[words](https://example.com)",
                "<a href=\"https:&#x2F;&#x2F;example.com\" rel=\"nofollow\">words</a>",
            ),
            ("Hello @alice!", "Hello @alice!"),
            ("# A heading\n\ntext", "# A heading<p>text"),
            ("", ""),
        ] {
            assert_eq!(text_html(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn what_people_say_about_themselves_has_links_and_no_formatting() {
        assert_eq!(plain_html("I *am* it's\n\n\nSecond\nline"), "I *am* it&#x27;s<p>Second\nline");
        assert_eq!(
            plain_html("http://a.com/"),
            "<a href=\"http:&#x2F;&#x2F;a.com&#x2F;\" rel=\"nofollow\">http:&#x2F;&#x2F;a.com&#x2F;</a>"
        );
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_those_tags_comes_out(text in "[-a-z*_`>#<'\"/&\\[\\]()\\n .:@1]{0,60}") {
            let html = text_html(&text);
            for part in html.split('<').skip(1) {
                let known = ["p>", "i>", "/i>", "pre>", "/pre>", "code>", "/code>", "/a>", "a href=\""];
                proptest::prop_assert!(known.iter().any(|tag| part.starts_with(tag)), "{html}");
            }
            let count = |tag: &str| html.matches(tag).count();
            for (start, end) in [("<i>", "</i>"), ("<pre>", "</pre>"), ("<a ", "</a>"), ("<code>", "</code>")] {
                proptest::prop_assert_eq!(count(start), count(end), "{}", html);
            }
            proptest::prop_assert!(!html.starts_with("<p>") && !html.ends_with("<p>"), "{html}");
        }
    }
}

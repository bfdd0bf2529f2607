//! A stored text with the way in which pages show it, and the answers about it that follow from that.

use crate::address::{Address, allowed};
use crate::formatted;
use crate::links::{Piece, bare_hosts, text_and_links};
use crate::mentions::{NamePiece, split_mentions};

/// A stored text, as pages show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredText<'a> {
    /// A comment or the text of a story: the subset of Markdown of [`formatted`].
    Formatted(&'a str),
    /// A tweet: its addresses and `@name`s are links.
    Post(&'a str),
    /// The text of a profile, or a message: its addresses are links.
    Plain(&'a str),
    /// A title or a name, in which nothing is a link.
    Line(&'a str),
}

/// A part of a text that is more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// Some lines.
    Paragraph,
    /// A block of code.
    CodeBlock,
    /// A quotation.
    Quote,
    /// A list with bullets.
    List,
    /// A list that counts from a number.
    NumberedList(u64),
    /// An item of a list.
    Item,
    /// Emphasis.
    Emphasis,
    /// Strong emphasis.
    Strong,
    /// Code within a line.
    Code,
    /// A link, between the link and its end.
    Link,
}

/// A step through a text. Each element that starts ends, in the order in which they would be nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// An element starts.
    Start(Element),
    /// A link starts, which leads to this address: http, https or mailto, valid in an attribute.
    StartLink(&'a str),
    /// An element ends.
    End(Element),
    /// Some text, in code with its line breaks, elsewhere without.
    Text(&'a str),
    /// A line break outside of code.
    Break,
    /// A link to the profile of somebody with this name. There may be no such user.
    Mention(&'a str),
}

/// The addresses in a text by which it is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// The links of the page, as many as there are.
    pub links: Vec<String>,
    /// The hosts that a reader sees outside of links, each with what follows it.
    pub bare: Vec<String>,
    /// The same in the words of links.
    pub in_words: Vec<String>,
}

impl Judged {
    /// All places that a reader may be led to.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        let linked = self.links.iter().flat_map(|link| Address::all_of(link));
        let bare = self.bare.iter().chain(&self.in_words);
        linked.chain(bare.filter_map(|host| Address::parse(host)))
    }

    /// How many links a reader sees.
    pub fn count(&self) -> usize {
        self.links.len() + self.bare.len()
    }
}

impl<'a> StoredText<'a> {
    /// The text as it is stored.
    pub const fn as_str(self) -> &'a str {
        match self {
            Self::Formatted(text) | Self::Post(text) | Self::Plain(text) | Self::Line(text) => text,
        }
    }

    /// Reads the text: gives all events, in their order.
    pub fn read(self, mut each: impl FnMut(Event<'_>)) {
        let (text, has_mentions) = match self {
            Self::Formatted(text) => return formatted::read(text, each),
            Self::Line(text) => return each(Event::Text(text)),
            Self::Post(text) => (text, true),
            Self::Plain(text) => (text, false),
        };
        for piece in text_and_links(text) {
            match piece {
                Piece::Link(link) => read_address(link, &mut each),
                Piece::Text(text) if has_mentions => split_mentions(
                    text,
                    |_| false,
                    |piece| match piece {
                        NamePiece::Text(text) => each(Event::Text(text)),
                        NamePiece::Mention(name) => each(Event::Mention(name)),
                    },
                ),
                Piece::Text(text) => each(Event::Text(text)),
            }
        }
    }

    /// The names that the text mentions, in lower case, each once, in their order.
    pub fn mentions(self) -> Vec<String> {
        let mut names = Vec::new();
        if self.as_str().contains('@') {
            self.read(|event| {
                if let Event::Mention(name) = event {
                    let name = name.to_ascii_lowercase();
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
            });
        }
        names
    }

    /// The addresses by which the text is judged: those of its links, and those that are not linked but that a reader
    /// sees. Code has none.
    pub fn judged(self) -> Judged {
        let mut judged = Judged::default();
        let (mut line, mut words) = (String::new(), String::new());
        let (mut is_in_link, mut is_in_code) = (false, false);
        self.read(|event| match event {
            Event::StartLink(link) => {
                judged.links.push(link.to_owned());
                line.push('\n');
                is_in_link = true;
            }
            Event::End(Element::Link) => {
                // A host in the words of a link that shows its own address is that of the link.
                let own = judged.links.last().and_then(|link| Address::parse(link));
                let others = bare_hosts(&words).into_iter().filter(|host| Address::parse(host) != own);
                judged.in_words.extend(others.map(str::to_owned));
                words.clear();
                is_in_link = false;
            }
            Event::Start(Element::Code | Element::CodeBlock) => {
                is_in_code = true;
                line.push('\n');
            }
            Event::End(Element::Code | Element::CodeBlock) => is_in_code = false,
            // Emphasis does not part what a reader sees.
            Event::Start(Element::Emphasis | Element::Strong)
            | Event::End(Element::Emphasis | Element::Strong) => {}
            Event::Text(_) if is_in_code => {}
            Event::Text(text) if is_in_link => words.push_str(text),
            Event::Text(text) => line.push_str(text),
            Event::Mention(name) => {
                line.push('@');
                line.push_str(name);
            }
            Event::Break | Event::Start(_) | Event::End(_) => line.push('\n'),
        });
        judged.bare.extend(bare_hosts(&line).into_iter().map(str::to_owned));
        judged
    }
}

/// A bare address as a link with itself as its words; as text if it leads nowhere.
pub(crate) fn read_address(address: &str, each: &mut impl FnMut(Event<'_>)) {
    match allowed(address) {
        Some(target) => {
            each(Event::StartLink(&target));
            each(Event::Text(address));
            each(Event::End(Element::Link));
        }
        None => each(Event::Text(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mentions::USERNAME_MAX;

    #[test]
    fn those_are_mentioned_whom_the_page_links() {
        for (text, expected) in [
            ("@bob", vec!["bob"]),
            ("hello @bob, and (@Carol-x)!", vec!["bob", "carol-x"]),
            ("@bob @BOB @bob", vec!["bob"]),
            ("\"@bob\" '@bo_b' @bob's", vec!["bob", "bo_b"]),
            ("line\n@bob\n@carol", vec!["bob", "carol"]),
            ("a,@bob;@carol", vec!["bob", "carol"]),
            ("mail@bob a.b@bob x+y@bob _@bob", vec![]),
            (".@bob says", vec!["bob"]),
            ("@bob@example.org", vec![]),
            ("@@bob", vec![]),
            ("@ bob @1bob @_bob @b @", vec![]),
            ("é@bob @bobé", vec![]),
            ("日本語 @bob 日本語", vec!["bob"]),
            ("https://example.com/@bob http://a.com/?u=@bob", vec![]),
            ("https://example.com/ @bob", vec!["bob"]),
            ("twitter.com/@bob", vec![]),
            ("谢谢@bob的帮助、@carolさん", vec!["bob", "carol"]),
            ("안녕@bob님 ขอบคุณ@carolครับ", vec!["bob", "carol"]),
        ] {
            for written in [StoredText::Formatted(text), StoredText::Post(text)] {
                assert_eq!(written.mentions(), expected, "{text}");
            }
            for written in [StoredText::Plain(text), StoredText::Line(text)] {
                assert_eq!(written.mentions(), Vec::<String>::new(), "{text}");
            }
        }
        let longest = "a".repeat(USERNAME_MAX);
        assert_eq!(StoredText::Post(&format!("@{longest} @{longest}a")).mentions(), [longest]);
        for (text, expected) in [
            ("`@bob` @carol", vec!["carol"]),
            ("    @bob\n\n@carol", vec!["carol"]),
            ("```\n@bob\n```", vec![]),
            ("[ask @bob](http://a.com/) [@bob](data:x)", vec!["bob"]),
            ("[ask @bob](http://a.com/)", vec![]),
            ("\\@bob \\\\@carol", vec!["carol"]),
            ("a\\@bob *\\@bob* \\*@carol", vec!["carol"]),
            ("**@bob** > @carol", vec!["bob", "carol"]),
            ("<@bob> <http://a.com/@carol>", vec!["bob"]),
            ("\\[x](http://a.com/@carol) \\@bob", vec![]),
        ] {
            assert_eq!(StoredText::Formatted(text).mentions(), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_judged_by_what_its_readers_see() {
        for (text, expected) in [
            ("[x](https://spam\\.example/)", vec!["spam.example/"]),
            ("[x](https\\://spam.example/)", vec!["spam.example/"]),
            ("[x](https://%73pam.example/)", vec!["spam.example/"]),
            ("[x](https:///spam.example)", vec!["spam.example/"]),
            ("![x](<https://spam.example/a b>)", vec!["spam.example/a%20b"]),
            ("www.spam.example/a?b=http://c", vec!["www.spam.example/a?b=http://c"]),
            ("spam.example/?u=http://x", vec!["x/", "spam.example/?u="]),
            (
                "https://github.com/%73pammer/x https://github.com//spammer",
                vec!["github.com/spammer/x", "github.com/spammer"],
            ),
            ("https://spam\\.example/ spam\\.example", vec!["spam.example/", "spam.example/"]),
            (
                "<https://spam.example/x.> <b@spam.example>",
                vec!["spam.example/x.", "spam.example/", "spam.example/x"],
            ),
            ("[spam.example](http://b.example)", vec!["b.example/", "spam.example/"]),
            ("spam.*example* spam*.*example", vec!["spam.example/"]),
            ("`http://spam.example` `spam.example`", vec![]),
            ("    http://spam.example\n    spam.example", vec![]),
            ("[1]: http://spam.example", vec!["spam.example/"]),
            ("> - # spam.example", vec!["spam.example/"]),
            ("\\[x](http://spam.example/_a_)", vec!["spam.example/_a_"]),
            ("bob@spam.example", vec![]),
        ] {
            let addresses = StoredText::Formatted(text).judged();
            let addresses: Vec<String> =
                addresses.addresses().map(|a| [a.host(), a.path()].concat()).collect();
            assert_eq!(addresses, expected, "{text}");
        }
        let count = |text| StoredText::Formatted(text).judged().count();
        assert_eq!(count("`http://a.example/` [http://b.example](http://b.example) c.example"), 2);
    }
}

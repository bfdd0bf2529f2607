//! A text with its arguments.

use crate::Message;
use crate::catalogue::translated_for;
use crate::formats::{date, english_date, grouped, number};
use maud::{Markup, PreEscaped, Render};
use std::borrow::Cow;
use std::fmt;

/// A text with what stands in its braces. It is rendered as markup, escaped, or displayed as plain text.
#[derive(Debug, Clone)]
pub struct Phrase<'a> {
    message: &'static Message,
    count: Option<u64>,
    arguments: Vec<(&'static str, Argument<'a>)>,
}

/// What stands in the braces of a phrase.
#[derive(Debug, Clone)]
pub enum Argument<'a> {
    /// A name, or another text.
    Text(Cow<'a, str>),
    /// A whole number, written as the language does.
    Number(i128),
    /// A day by its year, month and day, written as the language does.
    Date(i16, u8, u8),
    /// Markup, such as a link.
    Markup(Cow<'a, str>),
    /// Another phrase.
    Phrase(Box<Phrase<'a>>),
}

impl<'a> Phrase<'a> {
    /// The phrase of a message without arguments.
    pub fn new(message: &'static Message) -> Self {
        Self { message, count: None, arguments: Vec::new() }
    }

    /// The phrase of a message about a number, its argument `count`.
    pub fn counted(message: &'static Message, count: u64) -> Self {
        Self { message, count: Some(count), arguments: Vec::new() }
    }

    /// The phrase with one more argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Argument<'a>>) -> Self {
        self.arguments.push((name, value.into()));
        self
    }

    /// The phrase in English, whatever the language of the site is.
    pub fn in_english(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, self.english(), &|text, argument| argument.write_plain(text, true));
        text
    }

    fn english(&self) -> &'static str {
        match self.count {
            Some(count) if count != 1 => self.message.plural,
            _ => self.message.english,
        }
    }

    fn template(&self) -> &'static str {
        match self.count {
            None => self.message.text(),
            Some(count) => translated_for(self.message, count).unwrap_or_else(|| self.english()),
        }
    }

    /// Writes the pieces of a template in turn. Braces of an argument that does not exist stand as they are.
    fn write(&self, text: &mut String, template: &str, argument: &dyn Fn(&mut String, &Argument<'a>)) {
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let named = after.split_once('}').and_then(|(name, after)| {
                match (self.count, name) {
                    (Some(count), "count") => argument(text, &Argument::Number(count.into())),
                    _ => argument(text, &self.arguments.iter().find(|(known, _)| *known == name)?.1),
                }
                Some(after)
            });
            if named.is_none() {
                text.push('{');
            }
            rest = named.unwrap_or(after);
        }
        text.push_str(rest);
    }
}

impl Argument<'_> {
    fn write_plain(&self, text: &mut String, in_english: bool) {
        match self {
            Self::Text(value) | Self::Markup(value) => text.push_str(value),
            Self::Number(value) if in_english => text.push_str(&grouped(*value)),
            Self::Number(value) => text.push_str(&number(*value)),
            Self::Date(year, month, day) if in_english => text.push_str(&english_date(*year, *month, *day)),
            Self::Date(year, month, day) => text.push_str(&date(*year, *month, *day)),
            Self::Phrase(phrase) if in_english => text.push_str(&phrase.in_english()),
            Self::Phrase(phrase) => text.push_str(&phrase.to_string()),
        }
    }
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write_plain(&mut text, false);
        formatter.pad(&text)
    }
}

impl Render for Argument<'_> {
    fn render_to(&self, html: &mut String) {
        match self {
            Self::Text(value) => value.render_to(html),
            Self::Number(value @ 0..1_000) => value.render_to(html),
            Self::Number(value) => html.push_str(&number(*value)),
            Self::Date(year, month, day) => date(*year, *month, *day).render_to(html),
            Self::Markup(markup) => html.push_str(markup),
            Self::Phrase(phrase) => phrase.render_to(html),
        }
    }
}

impl fmt::Display for Phrase<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text, self.template(), &|text, argument| argument.write_plain(text, false));
        formatter.pad(&text)
    }
}

impl Render for Phrase<'_> {
    fn render_to(&self, html: &mut String) {
        // The texts of the program and its catalogues are escaped like any other.
        let template = html_escaped(self.template());
        self.write(html, &template, &|html, argument| argument.render_to(html));
    }
}

fn html_escaped(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"')) {
        text.render().into_string().into()
    } else {
        text.into()
    }
}

impl<'a> From<Phrase<'a>> for String {
    fn from(phrase: Phrase<'a>) -> Self {
        phrase.to_string()
    }
}

impl<'a> From<Phrase<'a>> for Cow<'static, str> {
    fn from(phrase: Phrase<'a>) -> Self {
        phrase.to_string().into()
    }
}

impl<'a> From<&'a str> for Argument<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for Argument<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a Box<str>> for Argument<'a> {
    fn from(text: &'a Box<str>) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<Cow<'a, str>> for Argument<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self::Text(text)
    }
}

impl From<String> for Argument<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Markup> for Argument<'_> {
    fn from(PreEscaped(markup): Markup) -> Self {
        Self::Markup(markup.into())
    }
}

impl<'a> From<&'a Markup> for Argument<'a> {
    fn from(PreEscaped(markup): &'a Markup) -> Self {
        Self::Markup(markup.into())
    }
}

impl<'a> From<Phrase<'a>> for Argument<'a> {
    fn from(phrase: Phrase<'a>) -> Self {
        Self::Phrase(Box::new(phrase))
    }
}

macro_rules! from_numbers {
    ($($number:ty),+) => { $(
        impl From<$number> for Argument<'_> {
            fn from(number: $number) -> Self {
                Self::Number(number.into())
            }
        }
    )+ };
}

from_numbers!(u8, u16, u32, u64, i32, i64);

impl From<usize> for Argument<'_> {
    fn from(number: usize) -> Self {
        Self::Number(i128::try_from(number).unwrap_or(i128::MAX))
    }
}

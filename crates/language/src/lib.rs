//! The language of a site. English stands in the code, where it is used; catalogues have the other languages.
//!
//! - `t!("Add comment")` is a text, `t!("{name} replied to you", name)` a [`Phrase`] with arguments.
//! - `t!("verb" => "flag")` has a context, for an English word that is several words elsewhere.
//! - `n!(count, "{count} comment", "{count} comments")` has a form for each plural of the language.
//! - `m!("Name")` is a [`Message`], for a table; [`Message::text`] says it.
//!
//! A process serves one site, so that its language is one for the whole process.

mod catalogue;
pub mod formats;
mod message;
mod per_language;
mod phrase;
mod plural_forms;
pub mod po;
pub mod spans;
mod tag;
#[cfg(test)]
mod tests;

pub use self::catalogue::{Catalogue, Speakable, speak, tag};
pub use self::message::Message;
pub use self::per_language::PerLanguage;
pub use self::phrase::{Argument, Phrase};
pub use self::plural_forms::PluralForms;
pub use self::tag::{LANGUAGES, Tag};

/// Numbers as the language of the site writes them.
pub mod numbers {
    pub use crate::formats::{decimal, number};
}

/// Lists as the language of the site writes them.
pub mod lists {
    pub use crate::formats::{choice, enumerated, list};
}

/// A message to be said later.
#[macro_export]
macro_rules! m {
    ($context:literal => $text:literal) => {{
        static MESSAGE: $crate::Message = $crate::Message::new($context, $text, "");
        &MESSAGE
    }};
    ($text:literal) => {
        $crate::m!("" => $text)
    };
}

/// A text in the language of the site: a `&'static str`, or a [`Phrase`] if it has arguments.
#[macro_export]
macro_rules! t {
    ($text:literal) => { $crate::m!($text).text() };
    ($context:literal => $text:literal) => { $crate::m!($context => $text).text() };
    ($($phrase:tt)+) => { $crate::p!($($phrase)+) };
}

/// A [`Phrase`], with arguments or without.
#[macro_export]
macro_rules! p {
    ($context:literal => $text:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::Phrase::new($crate::m!($context => $text))
            $(.with(stringify!($name), $crate::value!($name $(= $value)?)))*
    };
    ($text:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::p!("" => $text $(, $name $(= $value)?)*)
    };
}

/// A [`Phrase`] about a number, in the form of its plural. The number is its argument `count`.
#[macro_export]
macro_rules! n {
    ($count:expr, $one:literal, $many:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        static MESSAGE: $crate::Message = $crate::Message::new("", $one, $many);
        $crate::Phrase::counted(&MESSAGE, $crate::whole($count))
            $(.with(stringify!($name), $crate::value!($name $(= $value)?)))*
    }};
}

/// The value of an argument: its own name, or what is said.
#[doc(hidden)]
#[macro_export]
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident = $value:expr) => {
        $value
    };
}

/// A count as the number that the plural follows.
pub fn whole(count: impl TryInto<u64>) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}

//! The names of languages (BCP 47).

use maud::Render;
use std::borrow::Cow;
use std::fmt;

/// The languages with a catalogue in the program, each with its own name.
pub const LANGUAGES: [(&str, &str); 6] = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("it", "Italiano"),
    ("ja", "日本語"),
];

/// The primary languages that are written from right to left, and the scripts.
const RIGHT_TO_LEFT: [&str; 14] =
    ["ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi", "arab", "hebr"];

/// A language, as `<html lang>` names it: `de`, `pt-BR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag(Cow<'static, str>);

impl Tag {
    /// The language in which the program is written.
    pub const ENGLISH: Self = Self(Cow::Borrowed("en"));

    /// The language with a name, in the usual case of letters; `None` if it is no name of a language.
    pub fn parse(name: &str) -> Option<Self> {
        let locale = icu_locale_core::Locale::try_from_str(&name.trim().replace('_', "-")).ok()?;
        let name = locale.to_string();
        (!locale.id.language.is_unknown()).then_some(Self(name.into()))
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The language, and the wider ones it belongs to: `de-AT`, `de` (RFC 4647, 3.4).
    pub fn wider(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self.as_str()), |name| Some(name.rsplit_once('-')?.0))
    }

    /// Whether it is written from right to left.
    pub fn is_right_to_left(&self) -> bool {
        let mut parts = self.0.split('-').map(str::to_ascii_lowercase);
        parts.any(|part| RIGHT_TO_LEFT.contains(&&*part))
    }

    /// The attribute `dir` of its pages.
    pub fn direction(&self) -> &'static str {
        if self.is_right_to_left() { "rtl" } else { "ltr" }
    }
}

impl Default for Tag {
    fn default() -> Self {
        Self::ENGLISH
    }
}

impl Render for Tag {
    fn render_to(&self, html: &mut String) {
        // It has letters, digits and hyphens.
        html.push_str(self.as_str());
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_bcp_47_says() {
        for (name, tag) in [("DE", "de"), ("pt_br", "pt-BR"), ("zh-hant-tw", "zh-Hant-TW"), (" it ", "it")] {
            assert_eq!(Tag::parse(name).unwrap().as_str(), tag);
        }
        for name in ["", "english please", "x", "12", "deutschland"] {
            assert_eq!(Tag::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_language_belongs_to_wider_ones() {
        let wider = |name: &str| Tag::parse(name).unwrap().wider().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(wider("de-AT"), ["de-AT", "de"]);
        assert_eq!(wider("ja"), ["ja"]);
    }

    #[test]
    fn directions_follow_language_and_script() {
        for (name, direction) in [("he", "rtl"), ("ar-EG", "rtl"), ("az-Arab", "rtl"), ("de", "ltr")] {
            assert_eq!(Tag::parse(name).unwrap().direction(), direction, "{name}");
        }
    }
}

//! The choices of people on their pages of settings: fields of `user:<id>`. A field
//! that is absent or unknown has the default.

use std::str::FromStr;
use strum::{EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// The field of a user who wants to see what readers' flags have hidden.
pub const SHOW_HIDDEN: &str = "show_hidden";

/// How a preference is stored, and what a form sends.
pub trait Choice: Copy + Default + PartialEq + IntoEnumIterator + FromStr + Into<&'static str> {
    /// The choice with this name.
    fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The name of the choice.
    fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether single keys are shortcuts (WCAG 2.1.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Shortcuts {
    /// They are.
    #[default]
    On,
    /// Only with a modifier key.
    Modifier,
    /// There are none.
    Off,
}

impl Choice for Shortcuts {}

/// How often a digest of the site is mailed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Digest {
    /// Never.
    #[default]
    Off,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
}

impl Choice for Digest {}

/// The order of the comments that reply to the same story or comment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CommentOrder {
    /// The highest score first.
    #[default]
    Score,
    /// The latest first.
    Newest,
    /// The earliest first.
    Oldest,
}

impl Choice for CommentOrder {}

/// The colours of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Theme {
    /// Those that the device prefers.
    #[default]
    Device,
    /// Light ones.
    Light,
    /// Dark ones.
    Dark,
}

impl Choice for Theme {}

/// The size of text on pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TextSize {
    /// That of the browser.
    #[default]
    Normal,
    /// An eighth more.
    Large,
    /// A quarter more.
    Larger,
}

impl Choice for TextSize {}

/// The preferences of a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Field `shortcuts`.
    pub shortcuts: Shortcuts,
    /// Field `digest`.
    pub digest: Digest,
    /// Field `mail_replies`, 1 or 0: whether replies, mentions and messages from moderators are
    /// also mailed.
    pub mail_replies: bool,
    /// Field `sort_comments`.
    pub sort_comments: CommentOrder,
    /// Field `show_hidden`, 1 or 0: whether what readers' flags have hidden is shown.
    pub show_hidden: bool,
    /// Field `no_email`, 1 or 0: whether a member without an e-mail address is asked for one no more.
    pub no_email: bool,
    /// Field `theme`.
    pub theme: Theme,
    /// Field `text_size`.
    pub text_size: TextSize,
}

impl Preferences {
    /// Reads the preferences by the names of their fields.
    pub fn read<'a>(field: impl Fn(&str) -> Option<&'a str>) -> Self {
        fn chosen<C: Choice>(name: Option<&str>) -> C {
            name.and_then(C::parse).unwrap_or_default()
        }
        Self {
            shortcuts: chosen(field("shortcuts")),
            digest: chosen(field("digest")),
            mail_replies: field("mail_replies") == Some("1"),
            sort_comments: chosen(field("sort_comments")),
            show_hidden: field(SHOW_HIDDEN) == Some("1"),
            no_email: field("no_email") == Some("1"),
            theme: chosen(field("theme")),
            text_size: chosen(field("text_size")),
        }
    }
}

/// A change of preferences; `None` keeps one as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PreferencesChange {
    /// See [`Preferences::shortcuts`].
    pub shortcuts: Option<Shortcuts>,
    /// See [`Preferences::digest`].
    pub digest: Option<Digest>,
    /// See [`Preferences::mail_replies`].
    pub mail_replies: Option<bool>,
    /// See [`Preferences::sort_comments`].
    pub sort_comments: Option<CommentOrder>,
    /// See [`Preferences::show_hidden`].
    pub show_hidden: Option<bool>,
    /// See [`Preferences::no_email`].
    pub no_email: Option<bool>,
    /// See [`Preferences::theme`].
    pub theme: Option<Theme>,
    /// See [`Preferences::text_size`].
    pub text_size: Option<TextSize>,
}

impl PreferencesChange {
    /// The fields to store.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let switch = |on: Option<bool>| on.map(|on| if on { "1" } else { "0" });
        [
            ("shortcuts", self.shortcuts.map(Choice::name)),
            ("digest", self.digest.map(Choice::name)),
            ("mail_replies", switch(self.mail_replies)),
            ("sort_comments", self.sort_comments.map(Choice::name)),
            (SHOW_HIDDEN, switch(self.show_hidden)),
            ("no_email", switch(self.no_email)),
            ("theme", self.theme.map(Choice::name)),
            ("text_size", self.text_size.map(Choice::name)),
        ]
        .into_iter()
        .filter_map(|(field, value)| Some((field, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_read_again() {
        let change = PreferencesChange {
            shortcuts: Some(Shortcuts::Modifier),
            digest: Some(Digest::Weekly),
            mail_replies: Some(true),
            sort_comments: Some(CommentOrder::Oldest),
            show_hidden: Some(true),
            no_email: Some(true),
            theme: Some(Theme::Dark),
            text_size: Some(TextSize::Larger),
        };
        let fields: Vec<_> = change.fields().collect();
        let field = |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
        let expected = Preferences {
            shortcuts: Shortcuts::Modifier,
            digest: Digest::Weekly,
            mail_replies: true,
            sort_comments: CommentOrder::Oldest,
            show_hidden: true,
            no_email: true,
            theme: Theme::Dark,
            text_size: TextSize::Larger,
        };
        assert_eq!(Preferences::read(field), expected);
        assert_eq!(Preferences::read(|_| Some("unknown")), Preferences::default());
        assert_eq!(PreferencesChange::default().fields().count(), 0);
    }
}

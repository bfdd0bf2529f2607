//! How values are written as short texts, and read back: one declaration for both.
//!
//! [`record_text`] is for fields with separators between them, [`list_text`] for lists, [`shown`] and [`read_text`]
//! for what has a form of its own. A text that has not the form is refused with the error that is declared.

use crate::values::text::{one_line, printable};
use std::fmt;
use std::str::FromStr;

/// How a field of a record is written.
pub(crate) trait Codec<T> {
    /// Writes it.
    fn show(value: &T, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// Reads it back.
    fn read(text: &str) -> Option<T>;
}

/// Declares a [`Codec`] for one type: how a value is shown, and the option that is made of a text.
macro_rules! codec_of {
    (
        $(#[$doc:meta])* $visibility:vis $Name:ident for $Type:ty:
        |$value:ident| $shown:expr, |$text:ident| $read:expr
    ) => {
        $(#[$doc])*
        $visibility struct $Name;

        impl $crate::values::text_forms::Codec<$Type> for $Name {
            fn show($value: &$Type, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&$shown, formatter)
            }

            fn read($text: &str) -> Option<$Type> {
                $read
            }
        }
    };
}

/// As it is shown.
pub(crate) struct Plain;

impl<T: FromStr + fmt::Display> Codec<T> for Plain {
    fn show(value: &T, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        value.fmt(formatter)
    }

    fn read(text: &str) -> Option<T> {
        text.parse().ok()
    }
}

/// As it is shown; `0` if there is none.
pub(crate) struct OrZero;

impl<T: FromStr + fmt::Display> Codec<Option<T>> for OrZero {
    fn show(value: &Option<T>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match value {
            Some(value) => value.fmt(formatter),
            None => formatter.write_str("0"),
        }
    }

    fn read(text: &str) -> Option<Option<T>> {
        if text == "0" { Some(None) } else { text.parse().ok().map(Some) }
    }
}

codec_of! {
    /// `1` or `0`.
    pub(crate) Bit for bool: |bit| u8::from(*bit), |text| match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// As it is; characters that cannot be shown are left out when it is read.
pub(crate) struct AsText;

impl<T: AsRef<str> + From<String>> Codec<T> for AsText {
    fn show(value: &T, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(value.as_ref())
    }

    fn read(text: &str) -> Option<T> {
        Some(printable(text.to_owned()).into())
    }
}

/// The same, on one line.
pub(crate) struct OnOneLine;

impl<T: AsRef<str> + From<String>> Codec<T> for OnOneLine {
    fn show(value: &T, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&one_line(value.as_ref()))
    }

    fn read(text: &str) -> Option<T> {
        AsText::read(text)
    }
}

/// Takes the next part of a text: up to a separator, or all of it.
pub(crate) fn part<'a>(rest: &mut &'a str, separator: Option<&&str>) -> Option<&'a str> {
    let (part, after) = match separator {
        Some(separator) => rest.split_once(*separator)?,
        None => (*rest, ""),
    };
    *rest = after;
    Some(part)
}

/// The way in which a field of a record is written, [`Plain`] if none is named.
macro_rules! codec {
    () => {
        $crate::values::text_forms::Plain
    };
    ($Codec:ty) => {
        $Codec
    };
}

/// Writes a record as its fields with separators between them: its name, its error, then each field, perhaps with its
/// [`Codec`], as in `record_text!(Note or NotANote: {time} ":" {text OnOneLine})`. The last field may have separators.
macro_rules! record_text {
    (
        $Name:ident or $Error:ident:
        {$first:ident $($First:ty)?} $($separator:literal {$field:ident $($Field:ty)?})+
    ) => {
        impl std::fmt::Display for $Name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                use $crate::values::text_forms::Codec;
                <$crate::values::text_forms::codec!($($First)?) as Codec<_>>::show(&self.$first, formatter)?;
                $(
                    formatter.write_str($separator)?;
                    <$crate::values::text_forms::codec!($($Field)?) as Codec<_>>::show(&self.$field, formatter)?;
                )+
                Ok(())
            }
        }

        $crate::values::text_forms::read_text!($Name or $Error: |text| {
            use $crate::values::text_forms::{Codec, codec, part};
            let (mut rest, mut separators) = (text, [$($separator),+].iter());
            let mut next = || part(&mut rest, separators.next());
            Some(Self {
                $first: <codec!($($First)?) as Codec<_>>::read(next()?)?,
                $($field: <codec!($($Field)?) as Codec<_>>::read(next()?)?,)+
            })
        });
    };
}

/// Writes a list of values with a separator between them, which a method of [`str`] splits again, as in
/// `list_text!(Entries or NotEntries: "\n" lines())`.
macro_rules! list_text {
    ($Name:ident or $Error:ident: $separator:literal $split:ident($($by:literal)?)) => {
        $crate::values::text_forms::shown!($Name: |list| {
            list.0.iter().map(ToString::to_string).collect::<Vec<_>>().join($separator)
        });

        $crate::values::text_forms::read_text!($Name or $Error: |text| {
            text.$split($($by)?).map(|value| value.parse().ok()).collect::<Option<_>>().map(Self)
        });
    };
}

/// Gives enums with words a method for the word.
macro_rules! named {
    ($($Name:ident),+) => {$(
        impl $Name {
            /// The name, as it is stored, in calls and in addresses.
            pub fn name(self) -> &'static str {
                self.into()
            }
        }
    )+};
}

/// Shows values as what an expression makes of them.
macro_rules! shown {
    ($Name:ty: |$value:ident| $shown:expr) => {
        impl std::fmt::Display for $Name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $value = self;
                std::fmt::Display::fmt(&$shown, formatter)
            }
        }
    };
}

/// Keeps a secret out of the log: all that is shown of it for debugging is what it is.
macro_rules! never_logged {
    ($Name:ident $(<$lifetime:lifetime>)?) => {
        impl std::fmt::Debug for $Name $(<$lifetime>)? {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(concat!(stringify!($Name), "(***)"))
            }
        }
    };
}

/// The text does not have the form of the value that it is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a text of this form")]
pub struct Malformed;

/// Reads values from texts with an expression that is an option.
macro_rules! read_text {
    ($Name:ident or $Error:ident: |$text:ident| $read:expr) => {
        impl std::str::FromStr for $Name {
            type Err = $Error;

            fn from_str($text: &str) -> Result<Self, $Error> {
                let read = || -> Option<Self> { $read };
                read().ok_or($Error)
            }
        }
    };
}

pub(crate) use {codec, codec_of, list_text, named, never_logged, read_text, record_text, shown};

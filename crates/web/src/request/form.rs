//! Strict parsing of forms and query strings.
//!
//! Repeated fields, names with brackets (which other frameworks turn into arrays and
//! objects) and text that is not UTF-8 are rejected, so that handlers need not handle them.

use super::local_path::LocalPath;
use crate::error::{Malformed, RequestError, Result};
use crate::limits::{MAX_FIELDS, SHOWN_NAME_CHARACTERS};
use percent_encoding::percent_decode;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use tidings_domain::Error;
use tidings_language::{Message, m};

/// The fields of a form, in their order.
#[derive(Clone, Default)]
pub struct Fields(Vec<(String, String)>);

/// The field of a form that names the page that it is on, where that is not where the form leads to.
pub const FORM_PAGE: &str = "form_page";

/// An extension of requests: the fields that were sent, once they have been read. With them a refused form comes back.
#[derive(Clone, Default)]
pub struct SentFields(Arc<OnceLock<Fields>>);

impl SentFields {
    /// The fields, if they have been read.
    pub fn get(&self) -> Option<&Fields> {
        self.0.get()
    }

    /// Keeps the fields that were read first.
    pub fn keep(&self, fields: &Fields) {
        self.0.get_or_init(|| fields.clone());
    }
}

/// An extension of requests for the page of a form that is shown again: what was sent, and why it was refused.
#[derive(Clone)]
pub struct ShownAgain {
    /// The fields that were sent.
    pub fields: Fields,
    /// The failure; `None` if only a preview was asked for.
    pub failure: Option<RequestError>,
}

/// A form or a query string as typed values.
///
/// The order in which the fields are read decides which of several mistakes is
/// reported. Fields of other names are ignored.
pub trait FromFields: Sized {
    /// Reads the fields.
    ///
    /// # Errors
    /// A failure that names the first field that is missing or wrong.
    fn from_fields(fields: &Fields) -> Result<Self>;
}

/// Declares forms, or queries, with all that is to be known of each field: its name, its type, what reads it, and its
/// schema in the OpenAPI document. The fields are read in their order. A method that is named behind the type checks them
/// together.
macro_rules! form {
    ($($(#[$about:meta])* pub struct $form:ident $(, $check:ident)? {
        $($(#[$field_about:meta])* pub $field:ident: $type:ty = $read:expr, $($schema:ident)::+ $(, required = $required:literal)?;)+
    })+) => {$(
        #[cfg_attr(test, derive(utoipa::IntoParams, utoipa::ToSchema))]
        #[cfg_attr(test, into_params(parameter_in = Query))]
        $(#[$about])*
        pub struct $form {
            $(
                $(#[$field_about])*
                #[cfg_attr(test, param(value_type = $($schema)::+ $(, required = $required)?))]
                #[cfg_attr(test, schema(value_type = $($schema)::+ $(, required = $required)?))]
                pub $field: $type,
            )+
        }

        impl $crate::request::form::FromFields for $form {
            fn from_fields(fields: &$crate::request::form::Fields) -> Result<Self, $crate::error::RequestError> {
                let form = Self { $($field: $crate::request::form::field(fields, stringify!($field), $read)?,)+ };
                $(form.$check(fields)?;)?
                Ok(form)
            }
        }
    )+};
}

pub(crate) use form;

/// Reads a field with the function that reads it.
pub fn field<T>(
    fields: &Fields,
    name: &'static str,
    read: impl Fn(&Fields, &'static str) -> Result<T>,
) -> Result<T> {
    read(fields, name)
}

/// Reads a required field as it is.
pub fn text(fields: &Fields, name: &'static str) -> Result<String> {
    fields.required(name).map(str::to_owned)
}

/// Reads a field as it is; empty if it is missing.
pub fn text_or_empty(fields: &Fields, name: &'static str) -> Result<String> {
    Ok(fields.text(name).to_owned())
}

/// Reads a field that may be missing.
pub fn optional<T>(
    read: impl Fn(&Fields, &'static str) -> Result<T>,
) -> impl Fn(&Fields, &'static str) -> Result<Option<T>> {
    move |fields, name| fields.get(name).map(|_| read(fields, name)).transpose()
}

/// Reads a field that may be missing or empty.
pub fn filled<T>(
    read: impl Fn(&Fields, &'static str) -> Result<T>,
) -> impl Fn(&Fields, &'static str) -> Result<Option<T>> {
    move |fields, name| fields.filled(name).map(|_| read(fields, name)).transpose()
}

/// Reads a field that may be missing or blank.
pub fn unless_blank<T>(
    read: impl Fn(&Fields, &'static str) -> Result<T>,
) -> impl Fn(&Fields, &'static str) -> Result<Option<T>> {
    move |fields, name| {
        if fields.text(name).trim().is_empty() { Ok(None) } else { read(fields, name).map(Some) }
    }
}

/// Reads a required field with a function that knows only its text, and what is expected.
pub fn checked<T>(
    expected: &'static Message,
    parse: impl Fn(&str) -> Option<T>,
) -> impl Fn(&Fields, &'static str) -> Result<T> {
    move |fields, name| parse(fields.required(name)?).ok_or(RequestError::field(name, expected))
}

/// Reads a required field that must be as expected.
pub fn parsed<T: FromStr>(expected: &'static Message) -> impl Fn(&Fields, &'static str) -> Result<T> {
    move |fields, name| fields.parsed(name, expected)
}

/// Reads a required field with a function of the domain, which says what is wrong.
pub fn valid<T, E>(parse: impl Fn(&str) -> Result<T, E>) -> impl Fn(&Fields, &'static str) -> Result<T>
where
    Error: From<E>,
{
    move |fields, name| Ok(parse(fields.required(name)?).map_err(Error::from)?)
}

/// No fields at all.
impl FromFields for () {
    fn from_fields(_: &Fields) -> Result<Self> {
        Ok(())
    }
}

/// The fields of one form that two types describe.
impl<A: FromFields, B: FromFields> FromFields for (A, B) {
    fn from_fields(fields: &Fields) -> Result<Self> {
        Ok((A::from_fields(fields)?, B::from_fields(fields)?))
    }
}

/// A form or a query string that is read into a `T`.
pub struct Form<T>(pub T);

impl Fields {
    /// Reads an `application/x-www-form-urlencoded` text.
    ///
    /// # Errors
    /// When it is malformed; see [`Malformed`].
    pub fn parse(encoded: &[u8]) -> Result<Self, Malformed> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for pair in encoded.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = decode(halves.next().unwrap_or_default())?;
            let value = decode(halves.next().unwrap_or_default())?;
            if name.contains(['[', ']']) {
                return Err(Malformed::Array(shown(&name)));
            }
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(Malformed::Repeated(shown(&name)));
            }
            if fields.len() == MAX_FIELDS {
                return Err(Malformed::TooManyFields);
            }
            fields.push((name, value));
        }
        Ok(Self(fields))
    }

    /// The fields as typed values.
    ///
    /// # Errors
    /// A failure that names the field that is missing or wrong.
    pub fn read<T: FromFields>(&self) -> Result<T> {
        T::from_fields(self)
    }

    /// A field's value, if the field is present.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The fields with these names.
    pub fn only(&self, names: &[&str]) -> Self {
        Self(self.0.iter().filter(|(name, _)| names.contains(&name.as_str())).cloned().collect())
    }

    /// The names and values of all fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A field's value; empty if the field is missing.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A field's value, unless it is empty or missing.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The value of a required field.
    pub fn required(&self, name: &'static str) -> Result<&str> {
        self.get(name).ok_or(RequestError::missing(name))
    }

    /// The parsed value of a required field.
    pub fn parsed<T: FromStr>(&self, name: &'static str, expected: &'static Message) -> Result<T> {
        parse(self.required(name)?, name, expected)
    }

    /// The parsed value of an optional field.
    pub fn parsed_optional<T: FromStr>(
        &self,
        name: &'static str,
        expected: &'static Message,
    ) -> Result<Option<T>> {
        if self.get(name).is_some() { self.parsed(name, expected).map(Some) } else { Ok(None) }
    }
}

impl std::fmt::Debug for Fields {
    /// Shows only names, because values may be passwords.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Parses a text of a request. `name` is its name in the request.
pub fn parse<T: FromStr>(text: &str, name: &'static str, expected: &'static Message) -> Result<T> {
    text.parse().map_err(|_| RequestError::field(name, expected))
}

fn decode(encoded: &[u8]) -> Result<String, Malformed> {
    let spaced: Vec<u8> = encoded.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    String::from_utf8(percent_decode(&spaced).collect()).map_err(|_| Malformed::NotUtf8)
}

/// A field name, shortened for an error message.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_NAME_CHARACTERS).collect()
}

/// A field that is an id, or -1 for none.
pub fn id_or_none<T: FromStr>(fields: &Fields, name: &'static str) -> Result<Option<T>> {
    match fields.required(name)? {
        "-1" => Ok(None),
        _ => fields.parsed(name, m!("it must be a number, or -1 for none")).map(Some),
    }
}

/// The page to redirect to after a form. Only pages send this field.
pub struct Next {
    /// The page; the front page by default.
    pub next: LocalPath,
}

impl FromFields for Next {
    fn from_fields(fields: &Fields) -> Result<Self> {
        Ok(Self { next: LocalPath::parse(fields.text("next")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let fields = Fields::parse(b"title=a+b%26c&url=&empty&text=1%0D%0A2=3").unwrap();
        assert_eq!(fields.get("title"), Some("a b&c"));
        assert_eq!(fields.get("url"), Some(""));
        assert_eq!(fields.get("empty"), Some(""));
        assert_eq!(fields.get("text"), Some("1\r\n2=3"));
        assert_eq!(fields.get("absent"), None);
    }

    #[test]
    fn malformed_forms_are_rejected() {
        let check = |encoded: &[u8], expected: Malformed| {
            assert_eq!(Fields::parse(encoded).unwrap_err(), expected);
        };
        check(b"a=1&a=2", Malformed::Repeated("a".to_owned()));
        check(b"a=1&%61=2", Malformed::Repeated("a".to_owned()));
        check(b"user[flags]=a", Malformed::Array("user[flags]".to_owned()));
        check(b"a%5B%5D=1", Malformed::Array("a[]".to_owned()));
        check(b"a=%FF", Malformed::NotUtf8);
        check(b"\xFF=1", Malformed::NotUtf8);
        let many: String = (0..=MAX_FIELDS).map(|number| format!("f{number}=1&")).collect();
        check(many.as_bytes(), Malformed::TooManyFields);
    }

    #[test]
    fn debug_output_contains_no_values() {
        let fields = Fields::parse(b"password=hunter22").unwrap();
        assert_eq!(format!("{fields:?}"), r#"["password"]"#);
    }
}

//! Forms: what a text, a member or the fields of a hash look like.

use super::claims::{Claims, whole};
use super::subject::Subject;
use crate::values::UserId;
use std::str::FromStr;

/// A form that a value has.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A string. It may be a secret.
    Text(fn(&str) -> bool),
    /// A member.
    Member(fn(&str) -> bool),
    /// A member, which is removed without it.
    MemberOrGone(fn(&str) -> bool),
    /// Each field with its value.
    Field(fn(&str, &str) -> bool),
    /// The same, where values may be secrets.
    SecretField(fn(&str, &str) -> bool),
    /// The hash has the id of its key.
    OwnId,
    /// The values of these fields, which must be there.
    Has(&'static [&'static str], fn(&str) -> bool),
    /// The values of these fields, if they are there.
    MayHave(&'static [&'static str], fn(&str) -> bool),
    /// The first field counts the others, but for these.
    Counts(&'static str, &'static [&'static str]),
    /// No field has a number above the one in this field, which was drawn last.
    Drawn(&'static str),
}

impl Form {
    /// Claims that something has the form, which is called so.
    pub(super) fn claim(&self, expected: &str, subject: &Subject, claims: &mut Claims) {
        let member = subject.member().map(|(member, _)| member);
        match self {
            Self::Text(has_form) => {
                if let Some(text) = subject.text().filter(|text| !has_form(text)) {
                    let found = format!("a text of {} bytes without this form", text.len());
                    claims.malformed(found, expected);
                }
            }
            Self::Member(has_form) => {
                if let Some(member) = member.filter(|member| !has_form(member)) {
                    claims.malformed(format_args!("the member {member:?}"), expected);
                }
            }
            Self::MemberOrGone(has_form) => {
                if member.is_some_and(|member| !has_form(member)) {
                    claims.unreadable(expected);
                }
            }
            Self::Field(has_form) | Self::SecretField(has_form) => {
                let is_secret = matches!(self, Self::SecretField(_));
                for (field, value) in subject.fields().filter(|(field, value)| !has_form(field, value)) {
                    let value = if is_secret { String::new() } else { format!(" with {value:?}") };
                    claims.of(field).malformed(format_args!("the field {field:?}{value}"), expected);
                }
            }
            Self::OwnId => {
                let (stored, id) = (subject.field("id"), subject.part());
                if subject.hash().is_some() && stored != Some(id) {
                    let found = format!("id {}", stored.unwrap_or("absent"));
                    claims.of("id").malformed(found, format_args!("id {id}"));
                }
            }
            Self::Has(fields, has_form) | Self::MayHave(fields, has_form) => {
                let Some(hash) = subject.hash() else { return };
                for field in *fields {
                    let found = match hash.get(field) {
                        Some(value) if !has_form(value) => format!("{field} {value:?}"),
                        None if matches!(self, Self::Has(..)) => format!("no field {field}"),
                        _ => continue,
                    };
                    claims.of(field).malformed(found, format_args!("{field} as {expected}"));
                }
            }
            Self::Counts(counter, besides) => {
                let others =
                    subject.fields().filter(|(field, _)| field != counter && !besides.contains(field));
                counted(counter, whole(others.count()), false, (subject, claims));
            }
            Self::Drawn(counter) => {
                let numbers = subject.fields().filter_map(|(field, _)| field.parse::<UserId>().ok());
                let highest = numbers.map(|number| number.0).max().unwrap_or(0);
                counted(counter, whole(highest), true, (subject, claims));
            }
        }
    }
}

/// The form of the field `withheld`, from which follows whether a post is listed.
pub(crate) const STATE: &str = "docs/data-layout.md says";

/// Whether a text can be read as something.
pub(crate) fn is<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

/// A counter in a field has a number, or at least that.
fn counted(counter: &'static str, number: i64, or_more: bool, (subject, claims): (&Subject, &mut Claims)) {
    let Some(hash) = subject.hash() else { return };
    match hash.get(counter).map_or(Ok(0), str::parse::<i64>) {
        Ok(found) if or_more && found >= number => {}
        Ok(found) => claims.of(counter).counts(counter, found, number),
        Err(_) => {
            let found = format!("{counter}, which is no number");
            claims.of(counter).malformed(found, format_args!("a number in {counter}"));
        }
    }
}

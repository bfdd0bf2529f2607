//! How the site presents itself, as an administrator types it. Every field is checked, so that
//! all mistakes are shown at once.

use crate::request::form::Fields;
use tidings_domain::identity::Identity;
use tidings_domain::values::colour::Colour;
use tidings_domain::values::identity::{
    FooterLink, IdentityError, SiteAbout, SiteDescription, SiteName, SiteRules,
};
use tidings_domain::values::limits::MAX_FOOTER_LINKS;

/// The names of the fields for the links in the footer: label and address of each.
pub const LINK_FIELDS: [[&str; 2]; MAX_FOOTER_LINKS] = [
    ["link1_label", "link1_address"],
    ["link2_label", "link2_address"],
    ["link3_label", "link3_address"],
    ["link4_label", "link4_address"],
    ["link5_label", "link5_address"],
    ["link6_label", "link6_address"],
    ["link7_label", "link7_address"],
    ["link8_label", "link8_address"],
];

/// The errors, by field.
pub type FieldErrors = Vec<(&'static str, IdentityError)>;

/// Reads the form: name, description, accent, about, rules, and the links. Missing fields count
/// as empty, and empty ones as not set.
///
/// # Errors
/// Everything that is wrong.
pub fn read_identity(fields: &Fields) -> Result<Identity, FieldErrors> {
    let mut errors = FieldErrors::new();
    let mut identity = Identity {
        name: checked(&mut errors, "name", SiteName::parse(fields.text("name"))),
        description: checked(&mut errors, "description", SiteDescription::parse(fields.text("description"))),
        accent: checked(&mut errors, "accent", parse_accent(fields.text("accent"))),
        about: checked(&mut errors, "about", SiteAbout::parse(fields.text("about"))),
        rules: checked(&mut errors, "rules", SiteRules::parse(fields.text("rules"))),
        ..Identity::default()
    };
    for [label, address] in LINK_FIELDS {
        match FooterLink::parse(fields.text(label), fields.text(address)) {
            Ok(link) => identity.links.extend(link),
            Err((is_address, error)) => errors.push((if is_address { address } else { label }, error)),
        }
    }
    if errors.is_empty() { Ok(identity) } else { Err(errors) }
}

/// The value of a field; an error is noted with the name of the field.
fn checked<T>(
    errors: &mut FieldErrors,
    name: &'static str,
    parsed: Result<Option<T>, IdentityError>,
) -> Option<T> {
    parsed.map_err(|error| errors.push((name, error))).ok().flatten()
}

fn parse_accent(text: &str) -> Result<Option<Colour>, IdentityError> {
    match text.trim() {
        "" => Ok(None),
        text => Colour::parse(text).map(Some).ok_or(IdentityError::Colour),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BODY_BYTES;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use tidings_domain::values::limits::{
        MAX_LINK_ADDRESS_BYTES, MAX_LINK_LABEL, MAX_SITE_DESCRIPTION, MAX_SITE_NAME, MAX_SITE_TEXT,
    };

    fn read(encoded: &str) -> Result<Identity, FieldErrors> {
        read_identity(&Fields::parse(encoded.as_bytes()).unwrap())
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let errors = read("name=a%00b&accent=red&link2_label=x&link3_address=%2Fabout").unwrap_err();
        let names: Vec<&str> = errors.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["name", "accent", "link2_address", "link3_label"]);
        assert_eq!(read("").unwrap(), Identity::default());
        let identity = read("name=Gazette&accent=%23AA0000&link8_label=Us&link8_address=%2Fabout").unwrap();
        assert_eq!((identity.accent, identity.links.len()), (Colour::parse("#aa0000"), 1));
    }

    #[test]
    fn the_longest_form_fits_into_the_body_of_a_request() {
        let longest = |characters: usize| "\u{1F600}".repeat(characters);
        let texts = [
            ("name", MAX_SITE_NAME),
            ("description", MAX_SITE_DESCRIPTION),
            ("about", MAX_SITE_TEXT),
            ("rules", MAX_SITE_TEXT),
        ];
        let mut fields: Vec<(&str, String)> =
            texts.into_iter().map(|(name, most)| (name, longest(most))).collect();
        fields.push(("accent", "#aa0000".to_owned()));
        for [label, address] in LINK_FIELDS {
            fields.push((label, longest(MAX_LINK_LABEL)));
            fields.push((address, format!("/{}", ".".repeat(MAX_LINK_ADDRESS_BYTES - 1))));
        }
        fields.push(("apisecret", "x".repeat(100)));
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let form = form.join("&");
        assert!(form.len() <= BODY_BYTES, "{}", form.len());
        assert!(read(&form).is_ok());
    }
}

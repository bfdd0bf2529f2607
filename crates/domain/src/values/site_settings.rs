//! The settings of the site that administrators change on its page, each stated once: what may be typed, the fields
//! of the store and what `tidings config` prints follow from one table.

use crate::values::identity::{IdentityError, parse_address};
use crate::values::text::{is_visible, line_or_nothing, lines};
use crate::values::{
    AccountRules, Choice, Colour, Email, MAX_SIGNUP_ANSWERS, MAX_SIGNUP_QUESTION, MAX_SITE_DESCRIPTION,
    MAX_SITE_NAME, MAX_SITE_TEXT, Rules, SignupAnswers, SignupMode, SiteReaders,
};
use serde::Serialize;
use std::collections::BTreeMap;
use tidings_language::{LANGUAGES, Tag};

/// A setting that administrators change.
#[derive(Debug)]
pub struct SiteSetting {
    /// The field of the form, and of the hash `site`.
    pub field: &'static str,
    /// The setting of the configuration that has precedence, and the default; empty if there is none.
    pub setting: &'static str,
    /// Reads what was typed; empty if that is nothing.
    pub parse: fn(&str) -> Result<String, IdentityError>,
}

/// The field with the name of the site.
pub const NAME: &str = "name";
/// The field with a sentence about the site.
pub const DESCRIPTION: &str = "description";
/// The field with the accent colour.
pub const ACCENT: &str = "accent";
/// The accent colour of a site without one of its own.
pub const DEFAULT_ACCENT: &str = "#0b6e6a";
/// The field with the address of whoever runs the site.
pub const CONTACT: &str = "contact";
/// The field that says who may sign up.
pub const SIGNUP: &str = "signup";
/// The field that says who may read the site.
pub const READERS: &str = "readers";
/// The field with the language of the site.
pub const LANGUAGE: &str = "language";
/// The field with the question for people who sign up.
pub const QUESTION: &str = "signup_question";
/// The field with the answers to it.
pub const ANSWERS: &str = "signup_answers";
/// The field with the text about the site.
pub const ABOUT: &str = "about";
/// The field with the rules of the site.
pub const RULES: &str = "rules";

/// All of them, in the order of the form.
pub static SITE_SETTINGS: [SiteSetting; 11] = [
    SiteSetting {
        field: NAME,
        setting: "site.name",
        parse: |text| Ok(line_or_nothing("site_name", text, MAX_SITE_NAME)?),
    },
    SiteSetting {
        field: DESCRIPTION,
        setting: "site.description",
        parse: |text| Ok(line_or_nothing(DESCRIPTION, text, MAX_SITE_DESCRIPTION)?),
    },
    SiteSetting {
        field: ACCENT,
        setting: "",
        parse: |text| match text.trim() {
            "" | DEFAULT_ACCENT => Ok(String::new()),
            text => Colour::parse(text).map(|colour| colour.to_string()).ok_or(IdentityError::Colour),
        },
    },
    SiteSetting { field: CONTACT, setting: "site.contact", parse: parse_contact },
    SiteSetting {
        field: LANGUAGE,
        setting: "site.language",
        parse: |text| chosen(text, LANGUAGES.iter().any(|(name, _)| *name == text)),
    },
    SiteSetting {
        field: READERS,
        setting: "site.readers",
        parse: |text| chosen(text, SiteReaders::parse(text).is_some()),
    },
    SiteSetting {
        field: SIGNUP,
        setting: "accounts.signup",
        parse: |text| chosen(text, SignupMode::parse(text).is_some()),
    },
    SiteSetting {
        field: QUESTION,
        setting: "accounts.signup_question",
        parse: |text| Ok(line_or_nothing("question", text, MAX_SIGNUP_QUESTION)?),
    },
    SiteSetting {
        field: ANSWERS,
        setting: "accounts.signup_answers",
        parse: |text| Ok(line_or_nothing("answers", text, MAX_SIGNUP_ANSWERS)?),
    },
    SiteSetting { field: ABOUT, setting: "", parse: |text| paragraphs("site_about", text) },
    SiteSetting { field: RULES, setting: "", parse: |text| paragraphs(RULES, text) },
];

/// The name of a choice, if it is one; or nothing.
fn chosen(text: &str, is_choice: bool) -> Result<String, IdentityError> {
    if is_choice || text.is_empty() { Ok(text.to_owned()) } else { Err(IdentityError::Choice) }
}

fn paragraphs(field: &'static str, input: &str) -> Result<String, IdentityError> {
    let text = lines(field, input, MAX_SITE_TEXT, 0)?;
    Ok(if text.chars().any(is_visible) { text } else { String::new() })
}

fn parse_contact(text: &str) -> Result<String, IdentityError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(String::new());
    }
    let is_page = text.starts_with("http://") || text.starts_with("https://");
    let parsed = if is_page {
        parse_address(text).ok()
    } else {
        Email::parse(text).ok().map(|email| email.to_string())
    };
    parsed.ok_or(IdentityError::Contact)
}

/// A setting as the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The value.
    pub text: String,
    /// The file or the variable that gives it; `None` for the default.
    pub given_by: Option<String>,
}

/// The settings that administrators have set, as texts by their fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SiteTexts(BTreeMap<&'static str, String>);

impl SiteTexts {
    /// Reads all of them. Returns also all that is wrong, by field.
    pub fn parse<'a>(typed: impl Fn(&'static str) -> &'a str) -> (Self, Vec<(&'static str, IdentityError)>) {
        let (mut texts, mut wrong) = (BTreeMap::new(), Vec::new());
        for setting in &SITE_SETTINGS {
            match (setting.parse)(typed(setting.field)) {
                Ok(text) if text.is_empty() => {}
                Ok(text) => _ = texts.insert(setting.field, text),
                Err(error) => wrong.push((setting.field, error)),
            }
        }
        (Self(texts), wrong)
    }

    /// The value that administrators have set, in force or not.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str)
    }

    /// The same, unless the configuration gives this setting.
    pub fn in_force(&self, rules: &Rules, field: &str) -> Option<&str> {
        self.get(field).filter(|_| given_by(rules, field).is_none())
    }

    /// The people who may read the site.
    pub fn readers(&self, rules: &Rules) -> SiteReaders {
        self.in_force(rules, READERS).and_then(SiteReaders::parse).unwrap_or(rules.site.readers)
    }

    /// The language of the site.
    pub fn language(&self, rules: &Rules) -> Tag {
        self.in_force(rules, LANGUAGE).and_then(Tag::parse).unwrap_or_else(|| rules.site.language.clone())
    }

    /// The rules for signing up.
    pub fn accounts(&self, rules: &Rules) -> AccountRules {
        let mut accounts = rules.accounts.clone();
        if let Some(mode) = self.in_force(rules, SIGNUP).and_then(SignupMode::parse) {
            accounts.signup = mode;
        }
        if let Some(question) = self.in_force(rules, QUESTION) {
            question.clone_into(&mut accounts.signup_question);
        }
        if let Some(answers) = self.in_force(rules, ANSWERS) {
            accounts.signup_answers = SignupAnswers::parse(answers);
        }
        if accounts.signup_answers.is_empty() {
            accounts.signup_question.clear();
        }
        accounts
    }

    /// The settings that are stored and that the configuration gives, too: those of the store are not used.
    pub fn overruled<'a>(
        &'a self,
        rules: &'a Rules,
    ) -> impl Iterator<Item = (&'static SiteSetting, &'a str)> {
        let stored = move |setting: &&SiteSetting| self.get(setting.field).is_some();
        let given = move |setting: &'static SiteSetting| Some((setting, given_by(rules, setting.field)?));
        SITE_SETTINGS.iter().filter(stored).filter_map(given)
    }

    /// The bytes of all texts together.
    pub fn bytes(&self) -> usize {
        self.0.values().map(String::len).sum()
    }
}

/// The file or the variable that gives the setting of a field, if one does.
pub fn given_by<'a>(rules: &'a Rules, field: &str) -> Option<&'a str> {
    let setting = SITE_SETTINGS.iter().find(|setting| setting.field == field)?;
    rules.configured.get(setting.setting)?.given_by.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::InputError;

    fn texts(typed: &[(&'static str, &'static str)]) -> (SiteTexts, Vec<(&'static str, IdentityError)>) {
        SiteTexts::parse(|field| typed.iter().find(|(name, _)| *name == field).map_or("", |(_, text)| text))
    }

    #[test]
    fn texts_are_trimmed_bounded_and_may_be_empty() {
        let parse = |field: &str, text: &str| {
            let setting = SITE_SETTINGS.iter().find(|setting| setting.field == field).unwrap();
            (setting.parse)(text)
        };
        assert_eq!(parse(NAME, "  The Gazette "), Ok("The Gazette".to_owned()));
        for empty in ["", "  ", "\u{200b}"] {
            assert_eq!(parse(NAME, empty), Ok(String::new()));
        }
        assert!(parse(NAME, &"é".repeat(MAX_SITE_NAME)).is_ok());
        let long = parse(NAME, &"é".repeat(MAX_SITE_NAME + 1)).unwrap_err();
        assert_eq!(long, IdentityError::from(InputError::TooLong { field: "site_name", most: 40 }));
        for bad in ["a\nb", "a\u{202e}b", "a\0b"] {
            assert!(parse(NAME, bad).is_err(), "{bad:?}");
        }
        assert_eq!(parse(RULES, "1. Be kind.\r\n2. Sleep."), Ok("1. Be kind.\n2. Sleep.".to_owned()));
        assert!(parse(ABOUT, &"x".repeat(MAX_SITE_TEXT + 1)).is_err());
    }

    #[test]
    fn each_text_is_checked_and_stored_as_it_is_read() {
        let (read, wrong) = texts(&[(ACCENT, "#AA0000"), (CONTACT, " Us@Example.org "), (SIGNUP, "apply")]);
        assert_eq!((read.get(ACCENT), read.get(SIGNUP), wrong.len()), (Some("#aa0000"), Some("apply"), 0));
        assert!(read.get(CONTACT).is_some_and(|contact| contact.contains('@')));
        let (_, wrong) = texts(&[(ACCENT, "red"), (CONTACT, "us"), (SIGNUP, "all"), (NAME, "a\0b")]);
        let names: Vec<_> = wrong.into_iter().map(|(field, _)| field).collect();
        assert_eq!(names, [NAME, ACCENT, CONTACT, SIGNUP]);
        assert!(texts(&[(CONTACT, "javascript:alert(1)")]).1.len() == 1);
    }

    #[test]
    fn the_configuration_has_precedence_and_a_question_needs_answers() {
        let (stored, _) = texts(&[(SIGNUP, "closed"), (QUESTION, "Why?")]);
        let mut rules = Rules::default();
        let accounts = stored.accounts(&rules);
        assert_eq!((accounts.signup, &*accounts.signup_question), (SignupMode::Closed, ""));
        let given = Configured { text: "open".to_owned(), given_by: Some("file x".to_owned()) };
        rules.configured.insert("accounts.signup", given);
        assert_eq!(stored.accounts(&rules).signup, SignupMode::Open);
        let overruled: Vec<_> = stored.overruled(&rules).map(|(setting, by)| (setting.field, by)).collect();
        assert_eq!(overruled, [(SIGNUP, "file x")]);
    }
}

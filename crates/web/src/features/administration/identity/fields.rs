//! The fields of the form for the settings of the site: their labels, their hints and their controls.

use tidings_domain::values::site_settings::{
    ABOUT, ACCENT, ANSWERS, CONTACT, DESCRIPTION, LANGUAGE, NAME, QUESTION, READERS, RULES, SIGNUP,
    SITE_SETTINGS,
};
use tidings_language::{LANGUAGES, Message, m, t};

/// The field of a setting in the form.
#[derive(Debug)]
pub struct SettingField {
    /// Its name in the form.
    pub name: &'static str,
    /// Its name for people.
    pub label: &'static Message,
    /// Its purpose, in sentences.
    pub hint: &'static Message,
    /// How it is typed.
    pub control: Control,
}

/// How a setting is typed.
#[derive(Debug, Clone, Copy)]
pub enum Control {
    /// A line.
    Line,
    /// Lines, in Markdown.
    Text,
    /// A colour.
    Colour,
    /// One of these values, each with its name for people.
    Choice(fn() -> Vec<(&'static str, &'static str)>),
}

/// The field of each of [`SITE_SETTINGS`], in the order of the form.
pub static FIELDS: [SettingField; SITE_SETTINGS.len()] = [
    SettingField {
        name: NAME,
        label: m!("site" => "Name"),
        hint: m!("Shown on every page, in feeds and in mail. Up to 40 characters."),
        control: Control::Line,
    },
    SettingField {
        name: DESCRIPTION,
        label: m!("Description"),
        hint: m!("One sentence for search engines and feeds. Up to 160 characters."),
        control: Control::Line,
    },
    SettingField {
        name: ACCENT,
        label: m!("Accent colour"),
        hint: m!(
            "The colour of links and buttons. Where it would be hard to read, the nearest readable shade is used."
        ),
        control: Control::Colour,
    },
    SettingField {
        name: CONTACT,
        label: m!("Contact"),
        hint: m!(
            "An e-mail address or the address of a page, for people who need help. Shown on the About page."
        ),
        control: Control::Line,
    },
    SettingField {
        name: LANGUAGE,
        label: m!("Language"),
        hint: m!("The language of pages, mails and feeds. Stories and comments stay as they are."),
        control: Control::Choice(|| LANGUAGES.to_vec()),
    },
    SettingField {
        name: READERS,
        label: m!("Readers"),
        hint: m!(
            "With members only, others see nothing of the site, and feed readers need a key. If anyone can sign up, anyone can become a member."
        ),
        control: Control::Choice(|| {
            vec![("everyone", t!("readers" => "Everyone")), ("members", t!("readers" => "Members only"))]
        }),
    },
    SettingField {
        name: SIGNUP,
        label: m!("Sign-up"),
        hint: m!("The people who can get an account."),
        control: Control::Choice(|| {
            vec![
                ("open", t!("sign-up" => "Anyone")),
                ("invite", t!("sign-up" => "Invited people")),
                ("apply", t!("sign-up" => "Invited people, and those a moderator accepts")),
                ("closed", t!("sign-up" => "Nobody")),
            ]
        }),
    },
    SettingField {
        name: QUESTION,
        label: m!("Question at sign-up"),
        hint: m!("Something your community knows and bots don't. Invited people are not asked."),
        control: Control::Line,
    },
    SettingField {
        name: ANSWERS,
        label: m!("Right answers"),
        hint: m!("Separate them with commas; case doesn't matter. Leave empty to ask nothing."),
        control: Control::Line,
    },
    SettingField {
        name: ABOUT,
        label: m!("setting" => "About"),
        hint: m!("The purpose of this site and the people who run it. Shown on the About page."),
        control: Control::Text,
    },
    SettingField {
        name: RULES,
        label: m!("Rules"),
        hint: m!("The do's and don'ts of this site. Shown on the About page."),
        control: Control::Text,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_domain::values::{MAX_SITE_DESCRIPTION, MAX_SITE_NAME};

    #[test]
    fn each_setting_has_its_field() {
        for setting in &SITE_SETTINGS {
            assert!(FIELDS.iter().any(|field| field.name == setting.field), "{}", setting.field);
        }
    }

    #[test]
    fn the_hints_say_how_long_texts_may_be() {
        for (name, most) in [(NAME, MAX_SITE_NAME), (DESCRIPTION, MAX_SITE_DESCRIPTION)] {
            let field = FIELDS.iter().find(|field| field.name == name).unwrap();
            assert!(field.hint.english.contains(&format!("Up to {most} characters.")), "{name}");
        }
    }
}

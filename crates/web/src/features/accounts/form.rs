//! Accounts, sessions and profiles.

use crate::error::{RequestError, Result};
use crate::request::Fields;
use crate::request::form::{checked, filled, form, optional, text, unless_blank, valid};
use tidings_domain::accounts::account::{CurrentPassword, EmailChange, ProfileChange};
use tidings_domain::values::{
    About, ApplicationText, Choice, CommentOrder, Digest, Email, FullName, InvitationCode, NewPassword,
    PreferencesChange, Shortcuts, SignupAnswer, TextSize, Theme, Username, WelcomeToken,
};
use tidings_domain::{Error, Refusal};
use tidings_language::{Message, m};

form! {
    /// A new account.
    pub struct Registration {
        /// The username. It must be new, in upper and lower case.
        pub username: Username = valid(Username::parse), values::Username;
        // Somebody whom the provider knows has a ticket instead.
        /// The password.
        pub password: Option<NewPassword> = unless_known, values::Password, required = true;
        /// The e-mail address; required where addresses are confirmed.
        pub email: Option<Email> = email, values::Email, required = false;
        /// An invitation; required where only invited people can sign up.
        pub invitation: Option<InvitationCode> = invitation, values::InvitationOrNone, required = false;
        /// Why the person would like to join; required where moderators decide who may, unless
        /// there is an invitation.
        pub application: Option<ApplicationText> = unless_blank(valid(ApplicationText::parse)), values::ApplicationText, required = false;
        /// The answer to `accounts.signup_question`; required where that is set, unless there is an
        /// invitation.
        pub answer: SignupAnswer = |fields: &Fields, name| Ok(SignupAnswer::parse(fields.text(name)).map_err(Error::from)?), values::SignupAnswer, required = false;
        /// The token of the link in the server's log, with which the account becomes the first
        /// administrator.
        pub token: Option<WelcomeToken> = |fields: &Fields, _| welcome_token(fields), values::WelcomeTokenOrNone, required = false;
    }

    /// An invitation to be made.
    pub struct InviteForm {
        /// Where to mail it; empty or missing to send the link oneself.
        pub email: Option<Email> = email, values::Email, required = false;
    }

    // Imported accounts may have names and passwords that are not valid for new accounts, so
    // these are plain texts.
    /// A login.
    pub struct Credentials {
        /// The username. Case does not matter.
        pub username: String = text, values::Username;
        /// The password.
        pub password: String = text, values::Password;
        // Programs with a form for everybody may send it empty.
        /// A code of the authenticator app, or a recovery code. Needed if the account has a second
        /// factor.
        pub code: Option<String> = filled(text), values::LoginCode, required = false;
    }

    /// A request for a link to set a new password.
    pub struct ResetRequest {
        /// The username.
        pub username: String = text, values::Username;
        /// The address in the user's profile.
        pub email: String = text, values::Email;
    }

    /// A change of a user's profile.
    pub struct ProfileForm {
        /// The text about the user.
        pub about: Option<About> = optional(valid(About::parse)), values::About, required = true;
        /// The e-mail address; empty for none.
        pub email: EmailChange = email_change, values::Email, required = true;
        /// A new password; empty or missing to keep the old one.
        pub password: Option<NewPassword> = filled(valid(NewPassword::parse)), values::PasswordOrNone, required = false;
        /// The current password. Required if the password or the e-mail address changes.
        pub current_password: CurrentPassword = |fields: &Fields, name| Ok(CurrentPassword(fields.get(name).map(str::to_owned))), values::PasswordOrNone, required = false;
        /// The full name; missing to keep the old one.
        pub fullname: Option<FullName> = optional(valid(FullName::parse)), values::FullName, required = false;
        /// Whether the user's stories are announced in tweets; missing to keep the setting.
        pub tweet_news: Option<bool> = switch, values::Switch, required = false;
        /// Whether the user wants the picture from gravatar.com, on sites that show them; missing
        /// to keep the setting.
        pub gravatar: Option<bool> = switch, values::Switch, required = false;
        /// Whether single keys are shortcuts; missing to keep the setting.
        pub shortcuts: Option<Shortcuts> = choice(m!("it must be on, modifier or off")), values::Shortcuts, required = false;
        /// How often a digest is mailed; missing to keep the setting.
        pub digest: Option<Digest> = choice(m!("it must be off, daily or weekly")), values::Digest, required = false;
        /// Whether replies, mentions and messages from moderators are also mailed; missing to keep the setting.
        pub mail_replies: Option<bool> = switch, values::Switch, required = false;
        /// The order of comments; missing to keep the setting.
        pub sort_comments: Option<CommentOrder> = choice(m!("it must be score, newest or oldest")), values::CommentOrder, required = false;
        /// Whether the user wants to see what readers' flags have hidden; missing to keep the setting.
        pub show_hidden: Option<bool> = switch, values::Switch, required = false;
        /// Whether `/welcome` asks a member without an e-mail address for one no more; missing to keep the setting.
        pub no_email: Option<bool> = switch, values::Switch, required = false;
        /// The colours of pages; missing to keep the setting.
        pub theme: Option<Theme> = choice(m!("it must be device, light or dark")), values::Theme, required = false;
        /// The size of text on pages; missing to keep the setting.
        pub text_size: Option<TextSize> = choice(m!("it must be normal, large or larger")), values::TextSize, required = false;
    }

    /// The session to end.
    pub struct EndedSessionForm as EndedSession {
        /// The id of a session, or `others` for all but the one that the request comes from.
        pub session: EndedSessions = ended_sessions, values::SessionChoice;
    }
}

/// The sessions to end.
pub enum EndedSessions {
    /// The one with this id.
    One(String),
    /// All but the one that the request comes from.
    Others,
}

/// The value of a field that stands for [`EndedSessions::Others`].
pub const OTHERS: &str = "others";

fn ended_sessions(fields: &Fields, name: &'static str) -> Result<EndedSessions> {
    Ok(match fields.required(name)? {
        OTHERS => EndedSessions::Others,
        id => EndedSessions::One(id.to_owned()),
    })
}

fn unless_known(fields: &Fields, name: &'static str) -> Result<Option<NewPassword>> {
    if fields.text("ticket").is_empty() {
        valid(NewPassword::parse)(fields, name).map(Some)
    } else {
        Ok(None)
    }
}

fn email(fields: &Fields, name: &'static str) -> Result<Option<Email>> {
    Ok(Email::parse_optional(fields.text(name)).map_err(Error::from)?)
}

fn invitation(fields: &Fields, name: &'static str) -> Result<Option<InvitationCode>> {
    match fields.text(name).trim() {
        "" => Ok(None),
        typed => Ok(Some(InvitationCode::parse(typed).ok_or(Refusal::InvitationInvalid)?)),
    }
}

/// The token of the link for the first administrator, if there is one.
pub fn welcome_token(fields: &Fields) -> Result<Option<WelcomeToken>> {
    match fields.text("token").trim() {
        "" => Ok(None),
        given => Ok(Some(WelcomeToken::parse(given).ok_or(Refusal::WelcomeLinkInvalid)?)),
    }
}

fn email_change(fields: &Fields, name: &'static str) -> Result<EmailChange> {
    Ok(if fields.get(name).is_some() { EmailChange::To(email(fields, name)?) } else { EmailChange::Keep })
}

/// Reads a whole [`ProfileForm`], of which the text and the address are required.
pub fn whole_profile_change(fields: &Fields) -> Result<ProfileChange> {
    valid(About::parse)(fields, "about")?;
    fields.required("email")?;
    profile_change(fields)
}

/// Reads a change of a profile. Missing fields keep their values.
pub fn profile_change(fields: &Fields) -> Result<ProfileChange> {
    let form: ProfileForm = fields.read()?;
    Ok(ProfileChange {
        about: form.about,
        email: form.email,
        password: form.password,
        current_password: form.current_password,
        fullname: form.fullname,
        tweet_news: form.tweet_news,
        gravatar: form.gravatar,
        preferences: PreferencesChange {
            shortcuts: form.shortcuts,
            digest: form.digest,
            mail_replies: form.mail_replies,
            sort_comments: form.sort_comments,
            show_hidden: form.show_hidden,
            no_email: form.no_email,
            theme: form.theme,
            text_size: form.text_size,
        },
    })
}

/// A switch, if the form has it. Browsers do not send an unchecked box, so a form with one
/// also sends a field with `_shown` behind its name.
fn switch(fields: &Fields, name: &'static str) -> Result<Option<bool>> {
    match fields.get(name) {
        Some("1") => Ok(Some(true)),
        Some("0") => Ok(Some(false)),
        Some(_) => Err(RequestError::field(name, m!("it must be 0 or 1"))),
        None => Ok(fields.get(&format!("{name}_shown")).map(|_| false)),
    }
}

/// One of several choices, if the form has it.
fn choice<C: Choice>(expected: &'static Message) -> impl Fn(&Fields, &'static str) -> Result<Option<C>> {
    optional(checked(expected, C::parse))
}

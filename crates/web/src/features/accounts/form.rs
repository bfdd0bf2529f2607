//! Accounts, sessions and profiles.

use crate::error::RequestError;
use crate::request::form::{Fields, FromFields, form, unless_blank, valid};
use crate::request::values;
use tidings_domain::accounts::account::{CurrentPassword, EmailChange, ProfileChange};
use tidings_domain::values::email::Email;
use tidings_domain::values::preferences::{Choice, PreferencesChange};
use tidings_domain::values::signup::{ApplicationText, InvitationCode, SignupAnswer, WelcomeToken};
use tidings_domain::values::text::{About, FullName, NewPassword, Username};
use tidings_domain::{Error, Refusal};
use utoipa::{IntoParams, ToSchema};

form! {
    /// A new account.
    pub struct Registration {
        /// The username. It must be new, in upper and lower case.
        pub username: Username = valid(Username::parse), values::Username;
        /// The password.
        pub password: NewPassword = valid(NewPassword::parse), values::Password;
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
}

fn email(fields: &Fields, name: &'static str) -> Result<Option<Email>, RequestError> {
    Ok(Email::parse_optional(fields.text(name)).map_err(Error::from)?)
}

fn invitation(fields: &Fields, name: &'static str) -> Result<Option<InvitationCode>, RequestError> {
    match fields.text(name).trim() {
        "" => Ok(None),
        typed => Ok(Some(InvitationCode::parse(typed).ok_or(Refusal::InvitationInvalid)?)),
    }
}

/// The token of the link for the first administrator, if there is one.
pub fn welcome_token(fields: &Fields) -> Result<Option<WelcomeToken>, RequestError> {
    match fields.text("token").trim() {
        "" => Ok(None),
        given => Ok(Some(WelcomeToken::parse(given).ok_or(Refusal::WelcomeLinkInvalid)?)),
    }
}

form! {
    /// An invitation to be made.
    pub struct InviteForm {
        /// Where to mail it; empty or missing to send the link oneself.
        pub email: Option<Email> = email, values::Email, required = false;
    }
}

// Imported accounts may have names and passwords that are not valid for new accounts, so
// these are plain texts.
/// A login.
#[derive(ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Credentials {
    /// The username. Case does not matter.
    #[schema(value_type = values::Username)]
    #[param(value_type = values::Username)]
    pub username: String,
    /// The password.
    #[schema(value_type = values::Password)]
    #[param(value_type = values::Password)]
    pub password: String,
    /// A code of the authenticator app, or a recovery code. Needed if the account has a second
    /// factor.
    #[schema(value_type = values::LoginCode, required = false)]
    #[param(value_type = Option<values::LoginCode>, required = false)]
    pub code: Option<String>,
}

impl FromFields for Credentials {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let (username, password) = (fields.required("username")?, fields.required("password")?);
        // Programs with a form for everybody may send it empty.
        let code = fields.filled("code").map(str::to_owned);
        Ok(Self { username: username.to_owned(), password: password.to_owned(), code })
    }
}

/// A request for a link to set a new password.
#[derive(ToSchema, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ResetRequest {
    /// The username.
    #[schema(value_type = values::Username)]
    #[param(value_type = values::Username)]
    pub username: String,
    /// The address in the user's profile.
    #[schema(value_type = values::Email)]
    #[param(value_type = values::Email)]
    pub email: String,
}

impl FromFields for ResetRequest {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let (username, email) = (fields.required("username")?, fields.required("email")?);
        Ok(Self { username: username.to_owned(), email: email.to_owned() })
    }
}

// It is read by `profile_change`, as the forms of pages are.
/// A change of a user's profile.
#[derive(ToSchema)]
#[allow(dead_code)]
pub struct ProfileForm {
    /// The text about the user.
    #[schema(value_type = values::About)]
    about: (),
    /// The e-mail address; empty for none.
    #[schema(value_type = values::Email, required = true)]
    email: (),
    /// A new password; empty or missing to keep the old one.
    #[schema(value_type = values::PasswordOrNone, required = false)]
    password: (),
    /// The current password. Required if the password or the e-mail address changes.
    #[schema(value_type = values::PasswordOrNone, required = false)]
    current_password: (),
    /// The full name; missing to keep the old one.
    #[schema(value_type = values::FullName, required = false)]
    fullname: (),
    /// Whether the user's stories are announced in tweets; missing to keep the setting.
    #[schema(value_type = values::Switch, required = false)]
    tweet_news: (),
    /// Whether the user wants the picture from gravatar.com, on sites that show them; missing
    /// to keep the setting.
    #[schema(value_type = values::Switch, required = false)]
    gravatar: (),
    /// Whether single keys are shortcuts; missing to keep the setting.
    #[schema(value_type = values::Shortcuts, required = false)]
    shortcuts: (),
    /// How often a digest is mailed; missing to keep the setting.
    #[schema(value_type = values::Digest, required = false)]
    digest: (),
    /// Whether replies, mentions and messages from moderators are also mailed; missing to keep the setting.
    #[schema(value_type = values::Switch, required = false)]
    mail_replies: (),
    /// The order of comments; missing to keep the setting.
    #[schema(value_type = values::CommentOrder, required = false)]
    sort_comments: (),
    /// Whether the user wants to see what readers' flags have hidden; missing to keep the setting.
    #[schema(value_type = values::Switch, required = false)]
    show_hidden: (),
    /// The colours of pages; missing to keep the setting.
    #[schema(value_type = values::Theme, required = false)]
    theme: (),
    /// The size of text on pages; missing to keep the setting.
    #[schema(value_type = values::TextSize, required = false)]
    text_size: (),
}

/// Reads a [`ProfileForm`], of which the text and the address are required.
pub fn whole_profile_change(fields: &Fields) -> Result<ProfileChange, RequestError> {
    About::parse(fields.required("about")?).map_err(Error::from)?;
    fields.required("email")?;
    profile_change(fields)
}

/// Reads a change of a profile. Missing fields keep their values.
pub fn profile_change(fields: &Fields) -> Result<ProfileChange, RequestError> {
    Ok(ProfileChange {
        about: fields.get("about").map(About::parse).transpose().map_err(Error::from)?,
        email: match fields.get("email") {
            Some(email) => EmailChange::To(Email::parse_optional(email).map_err(Error::from)?),
            None => EmailChange::Keep,
        },
        password: match fields.text("password") {
            "" => None,
            password => Some(NewPassword::parse(password).map_err(Error::from)?),
        },
        current_password: CurrentPassword(fields.get("current_password").map(str::to_owned)),
        fullname: fields.get("fullname").map(FullName::parse).transpose().map_err(Error::from)?,
        tweet_news: switch(fields, "tweet_news", "tweet_news_shown")?,
        gravatar: switch(fields, "gravatar", "gravatar_shown")?,
        preferences: PreferencesChange {
            shortcuts: choice(fields, "shortcuts", "it must be on, modifier or off")?,
            digest: choice(fields, "digest", "it must be off, daily or weekly")?,
            mail_replies: switch(fields, "mail_replies", "mail_replies_shown")?,
            sort_comments: choice(fields, "sort_comments", "it must be score, newest or oldest")?,
            show_hidden: switch(fields, "show_hidden", "show_hidden_shown")?,
            theme: choice(fields, "theme", "it must be device, light or dark")?,
            text_size: choice(fields, "text_size", "it must be normal, large or larger")?,
        },
    })
}

/// A switch, if the form has it. Browsers do not send an unchecked box, so a form with one
/// also sends the field `shown`.
fn switch(fields: &Fields, name: &'static str, shown: &str) -> Result<Option<bool>, RequestError> {
    match fields.get(name) {
        Some("1") => Ok(Some(true)),
        Some("0") => Ok(Some(false)),
        Some(_) => Err(RequestError::field(name, "it must be 0 or 1")),
        None => Ok(fields.get(shown).map(|_| false)),
    }
}

/// One of several choices, if the form has it.
fn choice<C: Choice>(
    fields: &Fields,
    name: &'static str,
    expected: &'static str,
) -> Result<Option<C>, RequestError> {
    let parse = |given| C::parse(given).ok_or(RequestError::field(name, expected));
    fields.get(name).map(parse).transpose()
}

/// The session to end.
#[derive(ToSchema)]
#[schema(as = EndedSession)]
pub struct EndedSessionForm {
    /// The id of a session, or `others` for all but the one that the request comes from.
    #[schema(value_type = values::SessionChoice)]
    #[allow(dead_code)]
    session: String,
}

/// The sessions to end.
pub enum EndedSession {
    /// All but the one that the request comes from.
    Others,
    /// The one with this id.
    One(String),
}

impl FromFields for EndedSession {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(match fields.required("session")? {
            "others" => Self::Others,
            id => Self::One(id.to_owned()),
        })
    }
}

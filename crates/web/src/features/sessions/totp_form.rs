//! Second factors: authenticator apps.

use crate::error::RequestError;
use crate::request::form::{Fields, form, text};
use crate::request::values;
use tidings_domain::accounts::account::CurrentPassword;

fn current_password(fields: &Fields, name: &'static str) -> Result<CurrentPassword, RequestError> {
    Ok(CurrentPassword(Some(text(fields, name)?)))
}

form! {
    /// The beginning of the setup of an authenticator app.
    #[schema(as = NewTotpRequest)]
    pub struct NewTotpForm {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
    }
}

form! {
    /// The end of the setup of an authenticator app.
    #[schema(as = ConfirmedTotp)]
    pub struct ConfirmedTotpForm {
        /// A code that the app shows.
        pub code: String = text, values::TotpCode;
    }
}

form! {
    /// The removal of an authenticator app.
    #[schema(as = EndedTotp)]
    pub struct EndedTotpForm {
        /// The user's password.
        pub current_password: CurrentPassword = current_password, values::Password;
        /// A code that the app shows, or a recovery code.
        pub code: String = text, values::LoginCode;
    }
}

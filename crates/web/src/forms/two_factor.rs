//! Second factors: authenticator apps.

use crate::error::RequestError;
use crate::form::{Fields, FromFields};
use crate::openapi::values;
use tidings_domain::accounts::account::CurrentPassword;
use utoipa::ToSchema;

/// The beginning of the setup of an authenticator app.
#[derive(ToSchema)]
#[schema(as = NewTotpRequest)]
pub struct NewTotpForm {
    /// The user's password.
    #[schema(value_type = values::Password)]
    pub current_password: CurrentPassword,
}

impl FromFields for NewTotpForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let current_password = fields.required("current_password")?;
        Ok(Self { current_password: CurrentPassword(Some(current_password.to_owned())) })
    }
}

/// The end of the setup of an authenticator app.
#[derive(ToSchema)]
#[schema(as = ConfirmedTotp)]
pub struct ConfirmedTotpForm {
    /// A code that the app shows.
    #[schema(value_type = values::TotpCode)]
    pub code: String,
}

impl FromFields for ConfirmedTotpForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { code: fields.required("code")?.to_owned() })
    }
}

/// The removal of an authenticator app.
#[derive(ToSchema)]
#[schema(as = EndedTotp)]
pub struct EndedTotpForm {
    /// The user's password.
    #[schema(value_type = values::Password)]
    pub current_password: CurrentPassword,
    /// A code that the app shows, or a recovery code.
    #[schema(value_type = values::LoginCode)]
    pub code: String,
}

impl FromFields for EndedTotpForm {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        let NewTotpForm { current_password } = fields.read()?;
        let ConfirmedTotpForm { code } = fields.read()?;
        Ok(Self { current_password, code })
    }
}

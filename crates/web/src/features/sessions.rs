//! Sessions: logging in and out, second factors, single sign-on.

pub mod connection;
pub mod login;
pub mod login_link;
pub mod open_sessions;
pub mod passkeys;
pub mod second_factors;
pub mod second_step;
pub mod single_sign_on;

//! Sessions: logging in and out, second factors.

pub mod login;
pub mod open_sessions;
pub mod passkeys;
pub mod second_factors;
pub mod second_step;
pub mod two_factor;

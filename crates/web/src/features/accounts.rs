//! Accounts: signing up, invitations, profiles, settings and mails about them.

pub mod account_mail;
pub mod calls;
pub mod confirm_email;
pub mod deactivating;
pub mod first_administrator;
pub mod form;
pub mod invitations;
pub mod password_reset;
pub mod people_tree;
pub mod profile;
mod profile_form;
pub mod register;
pub mod settings;
pub mod signup_mail;

//! Accounts: signing up, invitations, profiles, settings and mails about them.

pub mod confirm_email;
pub mod deactivating;
pub mod first_administrator;
pub mod form;
pub mod invitations;
pub mod mails;
pub mod password_reset;
pub mod people_tree;
pub mod profile;
pub mod register;
pub mod settings;

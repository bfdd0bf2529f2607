//! The inbox, and the mails of what is in it.

pub mod letters;
pub mod outbox;
pub mod page;
pub mod rows;
pub mod unsubscribe;

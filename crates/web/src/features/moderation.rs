//! Moderation: flags, the queue, rules, bans, appeals, messages and the public log.

pub mod acting;
pub mod appeals;
pub mod bans;
pub mod directory;
pub mod directory_page;
pub mod erasing;
pub mod figures;
pub mod flagging;
pub mod form;
mod kept_list;
pub mod log;
pub mod menu;
pub mod message_calls;
pub mod messages;
pub mod person_page;
pub mod person_tools;
mod raid;
pub mod reasons;
pub mod review;
pub mod rules;

//! Moderation: flags, the queue, rules, appeals and the public log.

pub mod acting;
pub mod appeals;
pub mod calls;
pub mod flag_calls;
pub mod flag_form;
pub mod flagging;
pub mod form;
pub mod log;
pub mod moderating;
pub mod person_tools;
pub mod post_tools;
pub mod review;
pub mod rule_calls;
pub mod rule_form;
pub mod rules;

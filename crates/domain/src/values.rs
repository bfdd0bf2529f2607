//! What people type and what is stored, as types: a value of one of these has been
//! checked once, where it came in. And the rules that are functions of numbers.
pub mod clock;
pub mod cursor;
pub mod day;
pub mod hostname;
pub mod ids;
pub mod limits;
pub mod mentions;
pub mod ranking;
pub mod rules;
pub mod secrets;
pub mod text;
pub mod topic;
pub mod urls;
pub mod voter_id;
pub mod words;

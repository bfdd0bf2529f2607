//! Articles: every news item, ranked a second time by a simpler rule (time plus votes),
//! and grouped by topic.
//!
//! Keys: `article:<id>`, `voted:<id>`, `time:`, `score:`, `topics`, `group:<topic>`,
//! `topic.moves`, and the lists of topics, which are built on demand and expire:
//! `time:<topics>`, `score:<topics>` and `built:<list>`.
//!
//! It hands out [`article`] (the rule), [`lists`] (the best, the newest, by topic),
//! [`topics`] and [`topic_moves`] (list, rename, merge), and [`repair`].

pub mod article;
pub mod lists;
pub mod repair;
pub mod topic_moves;
pub mod topics;

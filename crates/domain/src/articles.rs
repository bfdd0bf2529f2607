//! Articles: every news item, ranked a second time by a simpler rule (time plus votes),
//! and grouped by topic.
//!
//! Keys: `article:`, `article:<id>`, `voted:<id>`, `time:`, `score:`, `topics`,
//! `group:<topic>`, `topic.moves`, `topics.about`, and the lists of topics, which are built on demand and
//! expire: `time:<topic>`, `score:<topic>` and `built:<list>`.
//!
//! It hands out [`article`] (the rule), [`lists`] (the best, the newest, by topic), [`topics`], [`topic_choices`]
//! (follow and mute) and [`topic_moves`] (list, rename, merge), and [`repair`].

pub mod article;
mod combinations;
pub mod lists;
pub mod repair;
pub(crate) mod store_rules;
pub(crate) mod stories;
pub mod topic_choices;
mod topic_lists;
pub mod topic_moves;
pub mod topics;

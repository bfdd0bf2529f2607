//! Articles: every story under a second rule of ranking, by time and votes, with topics.
//!
//! Keys: `article:<id>`, `voted:<id>`, `time:`, `score:`, `topics`, `group:<topic>`,
//! `topic.moves`, and the lists of topics that are built when they are asked for.
//!
//! It hands out [`article`] (the rule), [`lists`] (the best, the newest, those of topics),
//! [`topics`] and [`topic_moves`] (list, rename, merge), and [`repair`].

pub mod article;
pub mod lists;
pub mod repair;
pub mod topic_moves;
pub mod topics;

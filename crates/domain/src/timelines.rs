//! Tweets, who follows whom, and the timelines that follow from both.
//!
//! Keys: `tweet:<id>`, `tweet:ids`, `user:<id>:followers`, `user:<id>:followings`,
//! `user:<id>:user_timeline`, `user:<id>:home_timeline`, `user:<id>:mentions`,
//! `global_timeline`, `users.by_followers`, `timeline:floors` and `timeline:pulled`.
//!
//! It hands out [`tweets`] (post, delete), `withdrawal` (remove, put back), `entries` (its lists), [`follows`],
//! [`blocks`], [`reading`] (pages of timelines), [`lines`] (a tweet as shown), [`suggestions`]
//! (whom to follow), [`live`] (messages to open home pages), [`check`] (compare and repair), `homes` (where home timelines
//! are) and `versions` (whether a list has changed). Its background jobs are in `home_jobs`.

pub(crate) mod apart;
pub mod blocks;
pub mod check;
pub(crate) mod floors;
pub mod follows;
pub(crate) mod home_jobs;
pub(crate) mod homes;
pub mod lines;
pub mod live;
mod merge;
pub mod reading;
pub(crate) mod store_rules;
pub(crate) mod stored;
pub mod suggestions;
pub mod tweets;
pub(crate) mod versions;

//! Tweets, who follows whom, and the timelines that follow from both.
//!
//! Keys: `tweet:<id>`, `tweet:ids`, `user:<id>:followers`, `user:<id>:followings`,
//! `user:<id>:user_timeline`, `user:<id>:home_timeline`, `user:<id>:mentions`,
//! `global_timeline`, `users.by_followers`, `timeline:floors` and `timeline:pulled`.
//!
//! It hands out [`tweets`] (post, delete), `withdrawal` (remove, put back), [`follows`],
//! [`blocks`], [`reading`] (pages of timelines), [`lines`] (a tweet as shown), [`suggestions`]
//! (whom to follow), [`live`] (messages to open home pages) and [`check`] (compare and repair). Its
//! background jobs are in `home_jobs`.

pub mod blocks;
pub mod check;
pub mod follows;
pub(crate) mod held;
pub(crate) mod home_jobs;
mod homes;
pub mod lines;
pub mod live;
mod merge;
pub mod reading;
pub mod suggestions;
pub mod tweets;
pub(crate) mod withdrawal;

//! News: the links and texts that people submit. Pages call them stories.
//!
//! Keys: `news:<id>`, `news.count`, `news.top`, `news.cron`, `news.up:<id>`,
//! `news.down:<id>`, `user.posted:<id>`, `user.saved:<id>`,
//! `user:<id>:submitted_recently`, `user:<id>:visits`, `url:<url>`, `host.news:<host>`,
//! `news.subscribers:<id>`, `user:<id>:subscriptions` and `user:<id>:unsubscribed`.
//!
//! It hands out [`item`] (a story as stored), [`lines`] (a story as listed), [`lists`] (top,
//! latest, saved, posted), [`ranks`] (refreshed and recomputed), [`site_page`] and
//! [`subscriptions`] (whose inbox a thread's comments go to). The other actions that write
//! news are at the top: `submissions`, `votes` and `imports`.

pub mod item;
pub mod lines;
pub mod lists;
pub mod ranks;
pub mod site_page;
pub mod subscriptions;
pub(crate) mod visits;
pub(crate) mod voters;

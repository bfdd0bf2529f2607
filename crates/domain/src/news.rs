//! News: the links and texts that people submit. Pages call them stories.
//!
//! Keys: `news:<id>`, `news.count`, `news.top`, `news.cron`, `news.up:<id>`,
//! `news.down:<id>`, `user.posted:<id>`, `user.saved:<id>`, `url:<url>` and
//! `host.news:<host>`.
//!
//! It hands out [`item`] (a story as it is stored), [`lines`] (a story as it is listed),
//! [`lists`] (top, latest, saved, posted), [`ranks`] and [`site_page`].

pub mod item;
pub mod lines;
pub mod lists;
pub mod ranks;
pub mod site_page;
pub(crate) mod voters;

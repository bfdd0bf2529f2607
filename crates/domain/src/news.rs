//! News: the links and texts that people submit. Pages call them stories.
//!
//! Keys: `news:<id>`, `news.count`, `news.top`, `news.cron`, `news.up:<id>`,
//! `news.down:<id>`, `news.votes:<age>`, `news.discounted:<id>`, `user.posted:<id>`, `user.saved:<id>`,
//! `user:<id>:saved`, `user:<id>:hidden`, `user:<id>:topics_followed`, `user:<id>:topics_muted`,
//! `user:<id>:submitted_recently`, `user:<id>:visits`, `url:<url>`, `host.news:<host>`,
//! `news.subscribers:<id>`, `user:<id>:subscriptions`, `user:<id>:unsubscribed`, and the lists of
//! days and months, which are built on demand and expire: `past:<date>` and `built:past:<date>`.
//!
//! It hands out [`item`] (a story as stored), [`lines`] (a story as listed), `entries` (the lists that it is in), [`lists`] (top,
//! latest, saved, hidden, posted), [`by_votes`] (the best up to now), [`past`] (the best of a day or month), [`ranks`] (refreshed
//! and recomputed), [`listing`] (what one reader sees of lists), [`marking`] (hiding and saving),
//! [`subscriptions`] (whose inbox a thread's comments go to), [`site_page`] and [`sitemap`]. The
//! other actions that write news are at the top: `submissions`, `votes` and `imports`.

pub mod by_votes;
pub(crate) mod discounted;
pub mod hidden;
pub mod item;
pub mod lines;
pub mod listing;
pub mod lists;
pub mod marking;
pub mod past;
pub mod ranks;
pub mod site_page;
pub mod sitemap;
pub(crate) mod store_rules;
pub mod subscriptions;
pub(crate) mod visits;
pub(crate) mod voters;

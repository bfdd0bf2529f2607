//! Search: the index of this server and how it follows the store, the page, the calls and the feeds.

pub mod calls;
pub mod feeds;
pub mod following;
pub mod page;
pub mod searching;
pub mod suggesting;

//! Search: the index of this server and how it follows the store, the page and the calls.

pub mod calls;
pub mod following;
pub mod opensearch;
pub mod page;
pub mod searching;
pub mod suggesting;

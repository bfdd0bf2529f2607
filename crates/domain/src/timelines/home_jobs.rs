//! The background jobs that keep home timelines as they ought to be, one file for each
//! kind: bringing new tweets to followers, and taking out what no longer belongs there.

pub(crate) mod clear;
pub(crate) mod deliver;
mod followers;
pub(crate) mod rebuild;
pub(crate) mod sweep;

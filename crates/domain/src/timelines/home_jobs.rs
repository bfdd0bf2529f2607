//! The background jobs that update home timelines, one file for each kind: `deliver` adds a
//! new tweet, `sweep` removes a deleted one, `clear` removes an author who is no longer
//! followed, `rebuild` makes a timeline that is absent.

pub(crate) mod clear;
pub(crate) mod deliver;
pub(crate) mod rebuild;
pub(crate) mod sweep;

//! The features behind the addresses, by noun: the forms, actions, pages and calls of each.

pub mod accounts;
pub mod action;
pub mod administration;
pub mod algolia;
pub mod comments;
pub mod export;
pub mod feeds;
pub mod guide;
pub mod hacker_news;
pub mod inbox;
pub mod moderation;
pub mod mutes;
pub mod search;
pub mod sessions;
pub mod sites;
pub mod stories;
pub mod timelines;
pub mod topics;

//! Tweets, following and timelines.

pub mod calls;
pub mod form;
pub mod home;
pub mod live;
pub mod people;
pub mod tweets;

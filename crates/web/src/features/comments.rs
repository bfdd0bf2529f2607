//! Comments and the pages of threads.

pub mod calls;
pub mod comment_item;
pub mod form;
pub mod newest;
pub mod thread;
pub mod thread_list;
pub mod thread_part;
pub mod writing;

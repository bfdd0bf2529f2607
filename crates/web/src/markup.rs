//! How things look, and what the pages of several nouns share.

pub mod addresses;
pub mod assets;
pub mod autolink;
pub mod brand;
pub mod charts;
pub mod dates;
pub mod error_pages;
pub mod feed_links;
pub mod fields;
pub mod fragments;
pub mod frame;
pub mod head;
pub mod identicon;
pub mod layout;
pub mod markdown;
pub mod moderation_tools;
pub mod notices;
pub mod own_links;
pub mod page;
pub mod parts;
pub mod qr_code;
pub mod refilled;
pub mod script_words;
#[cfg(test)]
pub mod test_support;
pub mod vote_buttons;
pub mod withheld;

pub use self::feed_links::{FeedFormat, FeedKind};
pub use self::fields::Field;
pub use self::frame::Frame;
pub use self::head::PageHead;
pub use self::notices::Notice;
pub use self::page::{Administrator, Member, Moderator, Page};

//! Inboxes: what others have done that concerns a user, read or unread. The badge (the field
//! `replies` of the user) counts what is unread.
//!
//! The sorted set `user:<id>:inbox` has an entry for each, by time, and `user:<id>:unread`
//! names the unread ones. An entry is only an id that says what it is about: texts and names
//! are read when it is shown. Adding and marking entries changes the badge in the
//! same batch, under checks, so it is exact whatever happens at the same time.
//!
//! An entry that was delivered stays: one about something that is removed or deleted stays. `crate::inbox`
//! neither shows nor counts it until its owner can see it again.
//!
//! Earlier versions kept unread entries only, under other names, which still count (see
//! [`EntryId`]). Lamer News knows the badge only; what it counts has no entry.
//!
//! It hands out [`EntryId`], [`undo_marking`], [`OnPage`] (what marks entries as read when it is
//! on a page), [`send_message`] and [`feed`] (the private address of the feed). For other wings: `Delivery` adds
//! entries, `entries_of` lists them.

mod delivery;
mod entry;
pub mod feed;
mod marking;
mod messages;
mod reading;
pub(crate) mod seen;

pub(crate) use delivery::{Delivery, end_surplus, forget};
pub use entry::{EntryId, InboxCursor, Kind};
pub use marking::{Marking, undo_marking};
pub(crate) use marking::{NewestUnread, UNTIL, mark_read};
pub use messages::send_message;
pub(crate) use messages::{Message, erase_messages, forget_messages, message};
pub(crate) use reading::{Entry, entries_of};
pub use seen::OnPage;

/// The field of a user with the badge.
pub(crate) const BADGE: &str = "replies";

//! Inboxes: what others have done that concerns a user, read or unread. The badge (the field
//! `replies` of the user) counts what is unread.
//!
//! The sorted set `user:<id>:inbox` has an entry for each, by time, and `user:<id>:unread`
//! names the unread ones. An entry is only an id that says what it is about: texts and names
//! are read when it is shown. Adding, removing and marking entries changes the badge in the
//! same batch, under checks, so it is exact whatever happens at the same time.
//!
//! Earlier versions kept unread entries only, under other names, which still count (see
//! [`EntryId`]). Lamer News knows the badge only; what it counts has no entry.
//!
//! It hands out [`EntryId`], [`mark_read`], [`undo_marking`], [`OnPage`] (what marks entries as read when it is
//! on a page), [`send_message`] and [`feed`] (the private address of the feed). For other wings: `Delivery` adds entries, `Removal` takes them away,
//! `Replacement` puts back what was taken, `Withdrawn` is the record of it, `entries_of` lists
//! entries.

mod delivery;
mod entry;
pub mod feed;
mod marking;
mod messages;
mod reading;
mod removal;
pub(crate) mod seen;
mod taken;
mod withdrawn;

pub(crate) use delivery::Delivery;
pub use entry::{EntryId, InboxCursor, Kind, NotAnEntry, NotAnInboxCursor};
pub(crate) use marking::UNTIL;
pub use marking::{Marking, mark_read, undo_marking};
pub use messages::send_message;
pub(crate) use messages::{Message, erase_messages, forget_messages, message};
pub(crate) use reading::{Entry, entries_of};
pub(crate) use removal::Removal;
pub use seen::OnPage;
pub(crate) use taken::{Replacement, Taken, TakenEntry, present};
pub(crate) use withdrawn::{Returning, WITHDRAWN_BY, Withdrawing, Withdrawn};

/// The field of a user with the badge.
const BADGE: &str = "replies";

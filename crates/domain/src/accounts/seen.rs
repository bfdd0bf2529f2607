//! Things that their reader may see, as a type.
//!
//! Lists, threads and inboxes hold what is deleted, removed, held and hidden beside the rest. Whatever makes an entry of
//! a feed or a mail of something takes a [`Seen`], and only [`Perspective::see`] makes one. So a list that holds what is
//! gone cannot be turned into entries by mistake.

use super::reader::{Perspective, Sight, Written};
use super::users::User;
use crate::values::clock::Timestamp;
use std::ops::Deref;

/// Something that a person wrote, with all that decides who sees it.
pub trait Visible {
    /// Whether it, or what it is a part of, is deleted, removed, merged or held: then it is in no list, also for those
    /// who may still open its page.
    fn is_gone(&self) -> bool;

    /// How somebody sees it: the worse of it and of what it is a part of.
    fn sight(&self, perspective: Perspective<'_>) -> Sight;
}

impl<T: Visible> Visible for &T {
    fn is_gone(&self) -> bool {
        T::is_gone(self)
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        T::sight(self, perspective)
    }
}

/// Something of which its reader may see all.
#[derive(Debug, Clone, Copy)]
pub struct Seen<T>(T);

impl<T> Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> Seen<&T> {
    /// The same, owned.
    pub fn cloned(&self) -> Seen<T> {
        Seen(self.0.clone())
    }
}

impl<T: Visible> Seen<T> {
    /// Something as visitors without a session see it; `None` if they do not.
    pub fn by_visitors(thing: T) -> Option<Self> {
        Perspective::default().see(thing)
    }
}

/// The texts of a person's profile, as somebody sees them; empty if they do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfileTexts<'a> {
    /// The full name.
    pub fullname: &'a str,
    /// The text about themselves.
    pub about: &'a str,
}

impl Perspective<'_> {
    /// The texts of a profile: nobody but moderators sees those of somebody who is banned, and flags hide what is about
    /// them.
    pub fn profile_of(self, user: &User, now: Timestamp) -> ProfileTexts<'_> {
        let is_banned = user.ban(now).is_some() && !self.reader.is_some_and(|reader| reader.is_moderator);
        let written = Written { author: user.id, withheld: user.withheld.as_ref(), unseen: false };
        let about = if is_banned || !self.of_withheld(written).is_shown() { "" } else { &user.about };
        ProfileTexts { fullname: if is_banned { "" } else { &user.fullname }, about }
    }

    /// Something as this viewer sees it in lists; `None` if they do not.
    pub fn see<T: Visible>(self, thing: T) -> Option<Seen<T>> {
        (!thing.is_gone() && thing.sight(self).is_shown()).then_some(Seen(thing))
    }
}

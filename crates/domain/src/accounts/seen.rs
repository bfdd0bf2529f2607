//! Things that their reader may see, as a type.
//!
//! Lists, threads and inboxes hold what is deleted, removed, held and hidden beside the rest. Whatever makes an entry of
//! a feed, an inbox or a mail, a message of a webhook or a finding of something takes a [`Seen`], and only
//! [`Perspective::view`] makes one. So a list that holds what is gone cannot be turned into entries by mistake.

use super::reader::{Collapsed, Perspective, Reader, Sight, Written};
use super::users::User;
use crate::values::clock::Timestamp;
use crate::values::hostname::Hostname;
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

impl<T: Visible> Visible for Box<T> {
    fn is_gone(&self) -> bool {
        T::is_gone(self)
    }

    fn sight(&self, perspective: Perspective<'_>) -> Sight {
        T::sight(self, perspective)
    }
}

/// Something of which its reader may see all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen<T>(T);

/// How somebody sees something in a list.
#[derive(Debug)]
pub enum Viewed<T> {
    /// All of it.
    Whole(Seen<T>),
    /// A line in its place, which says why.
    Line(Collapsed),
    /// Nothing at all.
    Nothing,
}

impl<T> Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Seen<Box<T>> {
    /// The same, borrowed.
    pub fn unboxed(&self) -> Seen<&T> {
        Seen(&self.0)
    }

    /// The thing itself.
    pub fn into_inner(self) -> T {
        *self.0
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

    /// Something as this viewer sees it in lists.
    pub fn view<T: Visible>(self, thing: T) -> Viewed<T> {
        match thing.sight(self) {
            _ if thing.is_gone() => Viewed::Nothing,
            Sight::Shown => Viewed::Whole(Seen(thing)),
            Sight::Collapsed(why) => Viewed::Line(why),
            Sight::LeftOut => Viewed::Nothing,
        }
    }

    /// Something of which this viewer sees all in lists; `None` if they do not.
    pub fn see<T: Visible>(self, thing: T) -> Option<Seen<T>> {
        match self.view(thing) {
            Viewed::Whole(seen) => Some(seen),
            Viewed::Line(_) | Viewed::Nothing => None,
        }
    }

    /// Whether this viewer sees all of something in lists.
    pub fn sees(self, thing: &impl Visible) -> bool {
        self.see(thing).is_some()
    }

    /// A person whom this viewer may find: nobody finds who is banned, or whose profile is withheld, and readers find
    /// nobody whom they avoid.
    pub fn find_person(self, user: User, now: Timestamp) -> Option<Seen<Box<User>>> {
        let is_avoided = self.reader.is_some_and(|reader| {
            let texts = [&user.username, &user.fullname, &user.about];
            reader.avoids(user.id) || texts.iter().any(|text| reader.words().are_in(text))
        });
        let may_be_found = user.withheld.is_none() && user.ban(now).is_none() && !is_avoided;
        may_be_found.then(|| Seen(Box::new(user)))
    }

    /// A site that this viewer may find: one that they have not muted.
    pub fn find_site(self, host: Hostname) -> Option<Seen<Hostname>> {
        let is_muted = |reader: &Reader| reader.has_muted_site(&host) || reader.words().are_in(host.as_str());
        (!self.reader.is_some_and(is_muted)).then_some(Seen(host))
    }
}

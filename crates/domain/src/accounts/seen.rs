//! Things that their reader may see, as a type.
//!
//! Lists, threads and inboxes hold what is deleted, removed, held and hidden beside the rest. Texts are read from a
//! [`Seen`] alone: by pages, calls, feeds, inboxes, mails, webhooks and findings. Only [`Perspective::view`] makes one,
//! from the state of the thing, the reader's choices and the place. So what is gone is shown nowhere by mistake.

use super::reader::{Collapsed, Perspective, Reader, Sight};
use super::users::User;
use crate::Refusal;
use crate::values::{Hostname, PostState, ReadBy, Timestamp};
use std::ops::Deref;

/// Where something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownIn {
    /// On its own page, also if no list has it. Its reader has asked for it, whatever they mute.
    Page,
    /// In the thread of its story, where a line keeps the place of what has replies.
    Thread {
        /// Whether something below it is shown.
        has_replies: bool,
    },
    /// In a list, a feed, an inbox or a search.
    List,
    /// In a list of what its reader has chosen, whatever they mute. A line tells that its author has deleted it.
    Chosen,
    /// In the list of what its author has posted, which has all of it for them and for moderators.
    Posted,
}

/// Something that a person wrote, with all that decides who sees it.
pub trait Visible {
    /// Its state.
    fn state(&self) -> PostState<'_>;

    /// The state of the story that it is on or announces, if it is shown apart from that.
    fn state_of_story(&self) -> Option<PostState<'_>> {
        None
    }

    /// Why a reader does not want it in such a place, if so.
    fn unwanted_by(&self, _reader: &Reader, _place: ShownIn) -> Option<Collapsed> {
        None
    }
}

impl<T: Deref<Target: Visible>> Visible for T {
    fn state(&self) -> PostState<'_> {
        (**self).state()
    }

    fn state_of_story(&self) -> Option<PostState<'_>> {
        (**self).state_of_story()
    }

    fn unwanted_by(&self, reader: &Reader, place: ShownIn) -> Option<Collapsed> {
        (**self).unwanted_by(reader, place)
    }
}

impl Visible for PostState<'_> {
    fn state(&self) -> PostState<'_> {
        *self
    }
}

/// Something of which its reader may see all. Texts of posts are read from nothing else:
///
/// ```
/// use tidings_domain::accounts::seen::{Seen, ShownIn};
/// use tidings_domain::comments::outline::ThreadLine;
///
/// fn entry(line: ThreadLine<'_>) -> Option<String> {
///     let seen = Seen::by_visitors(line, ShownIn::List)?;
///     Some(seen.body().to_owned())
/// }
/// ```
///
/// So there is no entry of a feed about what nobody has asked for:
///
/// ```compile_fail
/// use tidings_domain::accounts::seen::Seen;
/// use tidings_domain::comments::outline::ThreadLine;
///
/// fn entry(line: ThreadLine<'_>) -> Option<String> {
///     let seen = line;
///     Some(seen.body().to_owned())
/// }
/// ```
///
/// Only [`Perspective::view`] makes one:
///
/// ```compile_fail
/// use tidings_domain::accounts::seen::Seen;
/// use tidings_domain::comments::outline::ThreadLine;
///
/// fn entry(line: ThreadLine<'_>) -> Option<String> {
///     let seen = Seen(line);
///     Some(seen.body().to_owned())
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen<T>(T);

/// How somebody sees something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Viewed<T> {
    /// All of it.
    Whole(Seen<T>),
    /// A line in its place, which says why.
    Line(T, Collapsed),
    /// Nothing at all.
    Nothing,
}

impl<T> Viewed<T> {
    /// The thing, unless nothing at all is shown of it. It may have what its reader does not see.
    pub const fn line(&self) -> Option<&T> {
        match self {
            Self::Whole(Seen(thing)) | Self::Line(thing, _) => Some(thing),
            Self::Nothing => None,
        }
    }

    /// All of it, if its reader sees that, borrowed.
    pub const fn as_whole(&self) -> Option<&Seen<T>> {
        match self {
            Self::Whole(seen) => Some(seen),
            Self::Line(..) | Self::Nothing => None,
        }
    }

    /// All of it, if its reader sees that.
    pub fn whole(self) -> Option<Seen<T>> {
        match self {
            Self::Whole(seen) => Some(seen),
            Self::Line(..) | Self::Nothing => None,
        }
    }
}

impl<T> Deref for Seen<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Seen<T> {
    /// The same, borrowed.
    pub const fn by_ref(&self) -> Seen<&T> {
        Seen(&self.0)
    }

    /// The same, to add what was read once it was seen.
    pub(crate) const fn filled(&mut self) -> &mut T {
        &mut self.0
    }

    /// A part of it.
    pub(crate) fn part<'a, U>(&'a self, part: impl FnOnce(&'a T) -> U) -> Seen<U> {
        Seen(part(&self.0))
    }
}

impl<T: Clone> Seen<&T> {
    /// The same, owned.
    pub fn cloned(&self) -> Seen<T> {
        Seen(self.0.clone())
    }
}

impl<T: Visible> Seen<T> {
    /// Something as visitors without a session see it in such a place; `None` if they do not.
    pub fn by_visitors(thing: T, place: ShownIn) -> Option<Self> {
        Perspective::default().see(thing, place)
    }
}

impl PostState<'_> {
    /// Whether somebody may know of it. Every action asks this first.
    pub fn is_known_to(&self, viewer: &User) -> bool {
        !self.is_secret() || viewer.is_insider(self.author)
    }

    /// Refuses what somebody may not know of.
    ///
    /// # Errors
    /// The refusal for a missing item.
    pub fn demand_known(&self, viewer: &User) -> Result<(), Refusal> {
        if self.is_known_to(viewer) { Ok(()) } else { Err(Refusal::no_such(self.kind)) }
    }

    /// Refuses to answer it, to vote on it, to save it and the like, if it is closed to that.
    ///
    /// # Errors
    /// The refusal for a missing item, if they may not know of it; else [`Refusal::Closed`].
    pub fn demand_open(&self, viewer: &User) -> Result<(), Refusal> {
        self.demand_known(viewer)?;
        self.closed().map_or(Ok(()), |why| Err(Refusal::Closed(self.kind, why)))
    }

    /// Refuses to its author to change it, if it is closed to that.
    ///
    /// # Errors
    /// Those of [`PostState::demand_open`].
    pub fn demand_editable(&self, viewer: &User) -> Result<(), Refusal> {
        self.demand_known(viewer)?;
        if self.is_editable() { Ok(()) } else { self.demand_open(viewer) }
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
        let about = if is_banned || !self.of_state(&user.state()).is_shown() { "" } else { &user.about };
        ProfileTexts { fullname: if is_banned { "" } else { &user.fullname }, about }
    }

    /// How something in a state is seen, whatever its reader mutes.
    fn of_state(self, state: &PostState<'_>) -> Sight {
        let is_insider = self.is_insider(state.author);
        let is_curious = || self.reader.is_some_and(|reader| reader.shows_flagged || self.shows_all);
        match state.readers() {
            _ if state.is_secret() && !is_insider => Sight::LeftOut,
            ReadBy::Nobody => Sight::Collapsed(Collapsed::Deleted),
            _ if is_insider => Sight::Shown,
            ReadBy::Told => Sight::Collapsed(Collapsed::Removed),
            ReadBy::Curious if !is_curious() => Sight::Collapsed(Collapsed::Flagged),
            ReadBy::All | ReadBy::Curious | ReadBy::Insiders => Sight::Shown,
        }
    }

    /// How this viewer sees something. This is the one function that decides it.
    pub fn sight(self, thing: &impl Visible, place: ShownIn) -> Sight {
        let state = thing.state();
        let states = [thing.state_of_story(), Some(state)];
        let states = || states.iter().flatten();
        let withheld = states().map(|state| self.of_state(state)).find(|sight| !sight.is_shown());
        let is_listed = states().all(PostState::is_listed);
        let is_own = place == ShownIn::Posted && self.is_insider(state.author);
        let wanted = || {
            let unwanted = self.muting().and_then(|reader| thing.unwanted_by(reader, place));
            unwanted.map_or(Sight::Shown, Sight::Collapsed)
        };
        match (place, withheld) {
            (ShownIn::Page, withheld) => withheld.unwrap_or_default(),
            (ShownIn::Thread { has_replies: true }, Some(Sight::LeftOut)) => {
                Sight::Collapsed(Collapsed::Held)
            }
            (ShownIn::Thread { .. }, Some(withheld)) => withheld,
            (ShownIn::Chosen | ShownIn::Posted, Some(Sight::Collapsed(Collapsed::Deleted)))
                if state.withheld.is_none() || is_own =>
            {
                Sight::Collapsed(Collapsed::Deleted)
            }
            (ShownIn::Posted, None) if is_own => Sight::Shown,
            (ShownIn::List | ShownIn::Chosen | ShownIn::Posted, _) if !is_listed => Sight::LeftOut,
            (ShownIn::Chosen, Some(_)) => Sight::LeftOut,
            (ShownIn::Chosen, None) => Sight::Shown,
            (ShownIn::List | ShownIn::Posted, Some(withheld)) => withheld,
            (ShownIn::Thread { .. } | ShownIn::List | ShownIn::Posted, None) => wanted(),
        }
    }

    /// Something as this viewer sees it.
    pub fn view<T: Visible>(self, thing: T, place: ShownIn) -> Viewed<T> {
        match self.sight(&thing, place) {
            Sight::Shown => Viewed::Whole(Seen(thing)),
            Sight::Collapsed(why) => Viewed::Line(thing, why),
            Sight::LeftOut => Viewed::Nothing,
        }
    }

    /// Something of which this viewer sees all; `None` if they do not.
    pub fn see<T: Visible>(self, thing: T, place: ShownIn) -> Option<Seen<T>> {
        self.view(thing, place).whole()
    }

    /// Whether this viewer sees all of something.
    pub fn sees(self, thing: &impl Visible, place: ShownIn) -> bool {
        self.sight(thing, place).is_shown()
    }

    /// Whether this viewer may read all of something and take part in it, whatever they mute, and whether lists have it or not.
    pub fn may_act_on(self, thing: &impl Visible) -> bool {
        let states = [thing.state_of_story(), Some(thing.state())];
        states.iter().flatten().all(PostState::is_open) && self.sees(thing, ShownIn::Page)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{PostKind, UserId, Withheld};

    #[test]
    fn each_state_is_seen_in_each_place_as_the_table_says() {
        let places = [
            ShownIn::Page,
            ShownIn::Thread { has_replies: false },
            ShownIn::Thread { has_replies: true },
            ShownIn::List,
            ShownIn::Chosen,
            ShownIn::Posted,
        ];
        let author = Reader::new(UserId(7));
        let table = [
            ("", false, "ssssss", "ssssss"),
            ("", true, "ddd-dd", "ddd-dd"),
            ("flagged", false, "ffff-f", "ssssss"),
            ("removed", false, "rrr---", "sss--s"),
            ("held", false, "--h---", "sss--s"),
            ("merged", false, "sss---", "sss--s"),
            ("erased", true, "ddd---", "ddd--d"),
        ];
        for example in Withheld::EXAMPLES {
            let state = Withheld::stored(example);
            assert!(table.iter().any(|(word, ..)| *word == state.word()), "{example}");
        }
        for (word, deleted, to_visitors, to_author) in table {
            let example = Withheld::EXAMPLES.iter().map(|stored| Withheld::stored(stored));
            let withheld = example.into_iter().find(|state| state.word() == word);
            let withheld = withheld.as_ref();
            let state =
                PostState { kind: PostKind::Story, author: author.id, withheld, deleted, unseen: false };
            let seen = |reader| -> String {
                let sight = |place| match (Perspective { reader, shows_all: false }).sight(&state, place) {
                    Sight::Shown => 's',
                    Sight::LeftOut => '-',
                    Sight::Collapsed(Collapsed::Deleted) => 'd',
                    Sight::Collapsed(Collapsed::Flagged) => 'f',
                    Sight::Collapsed(Collapsed::Removed) => 'r',
                    Sight::Collapsed(Collapsed::Held) => 'h',
                    Sight::Collapsed(_) => '?',
                };
                places.map(sight).into_iter().collect()
            };
            assert_eq!(
                (&*seen(None), &*seen(Some(&author))),
                (to_visitors, to_author),
                "{withheld:?} {deleted}"
            );
        }
    }
}

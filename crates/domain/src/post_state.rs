//! How moderators change the state of a post: a story, a comment or a tweet. The batch that writes it, and what follows, is
//! [`crate::records::change`].

use crate::values::{ModerationId, RemovedBy, Withheld, stays_secret};

/// The fields of a post that say who sees it.
pub(crate) struct StateFields<'a> {
    /// Why readers do not see it, if they do not.
    pub(crate) withheld: &'a mut Option<Withheld>,
    /// Whether it was taken away before readers saw it.
    pub(crate) unseen: &'a mut bool,
    /// The decision that removed it, unless it was rejected.
    pub(crate) removed: &'a mut Option<Box<RemovedBy>>,
}

/// A post that moderators can remove.
pub(crate) trait Moderated {
    /// The fields that say who sees it.
    fn state_fields(&mut self) -> StateFields<'_>;

    /// Withholds it, or shows it again. Returns the former state.
    fn withhold(&mut self, state: Option<Withheld>) -> Option<Withheld> {
        let StateFields { withheld, unseen, .. } = self.state_fields();
        *unseen = stays_secret((withheld.as_ref(), *unseen), state.as_ref());
        std::mem::replace(withheld, state)
    }

    /// Takes it out of all lists by a decision of moderators, until [`Moderated::put_back`].
    fn remove(&mut self, line: ModerationId, state: Withheld) {
        let earlier = self.withhold(Some(state));
        *self.state_fields().removed = Some(Box::new(RemovedBy { line, earlier }));
    }

    /// Takes its removal back.
    fn put_back(&mut self) {
        let earlier = self.state_fields().removed.take().and_then(|removed| removed.earlier);
        self.withhold(earlier);
    }
}

/// Whether a post in this state, deleted or not, may be in no list of its author but `unseen:<user id>`. That has the posts
/// that wait for approval, were rejected, removed or deleted before it, and removed tweets. With `user.posted:`,
/// `user.comments:` and `user:<id>:user_timeline` it has everything that is left of what somebody posted.
pub(crate) fn may_be_unseen(state: Option<&Withheld>) -> bool {
    state.is_some_and(|state| state.is_held() || state.is_removed())
}

//! The effect of an action, before it is committed with its line in the log.

use super::{
    Case, Effect, answers, appeals, applications, changes, comment_edits, erasing, held, keep, merging,
    notes, origin_changes, people, profiles, removals, remove_all, rule_changes, site_changes, story_edits,
    threads,
};
use crate::Result;
use crate::identity::{SIGNUPS_STOPPED, YOUNG_HELD};
use crate::values::{Deed, SitePart, Thing};
use futures_util::future::{BoxFuture, ready};

/// Decides what an action does. A deed without an arm does not compile. On the heap: together, the futures would be too
/// large for the stack.
pub(super) fn effect_of<'a>(case: &'a Case<'_>) -> BoxFuture<'a, Result<Effect>> {
    let refused = || -> BoxFuture<'a, Result<Effect>> { Box::pin(ready(Err(case.does_not_apply().into()))) };
    // The effects on the things to which a deed applies.
    macro_rules! on {
        ($($thing:pat $(if $is_so:expr)? => $effect:expr),+ $(,)?) => {
            match case.thing {
                $($thing $(if $is_so)? => Box::pin($effect),)+
                _ => refused(),
            }
        };
    }
    match case.deed {
        Deed::Keep | Deed::Remove if case.row.is_deleted(case.thing) => Box::pin(keep::decide_deleted(case)),
        Deed::Restore | Deed::Reopen if keep::was_deleted(case) => Box::pin(keep::decide_deleted(case)),
        Deed::Keep => Box::pin(keep::keep(case)),
        Deed::Remove => on!(
            Thing::User(name) => profiles::remove(case, name),
            post if post.is_post() => removals::remove(case),
        ),
        Deed::Restore => on!(
            Thing::User(name) => profiles::restore(case, name),
            post if post.is_post() => removals::restore(case),
        ),
        Deed::RemoveAll(days) => on!(Thing::User(name) => remove_all::remove(case, name, *days)),
        Deed::Erase(confirmed) => on!(post if post.is_post() => erasing::erase(case, confirmed.as_deref())),
        Deed::Edit { title, topics, url, text } => {
            let (heading, content) = ((title.as_ref(), topics.as_ref()), (url.as_ref(), text.as_ref()));
            let is_of_text = title.is_none() && topics.is_none() && url.is_none();
            on!(
                Thing::Story(id) => story_edits::edit(case, *id, heading, content),
                Thing::Comment(_) if is_of_text => comment_edits::edit(case, text.as_ref()),
            )
        }
        Deed::Merge(into) => on!(Thing::Story(id) => merging::merge(case, *id, *into)),
        Deed::Split => on!(Thing::Story(id) => merging::split(case, *id)),
        Deed::Lock => on!(Thing::Story(id) => threads::lock(case, *id)),
        Deed::Unlock => on!(Thing::Story(id) => threads::unlock(case, *id)),
        Deed::Silence(hours) | Deed::Hold(hours) | Deed::Discount(hours) | Deed::Ban(hours) => {
            on!(Thing::User(name) => people::restrict(case, name, *hours))
        }
        Deed::Unsilence | Deed::Unhold | Deed::Recount | Deed::Unban => {
            on!(Thing::User(name) => people::lift(case, name))
        }
        Deed::Warn => on!(Thing::User(name) => people::warn(case, name)),
        Deed::Note => on!(Thing::User(name) => notes::add(case, name)),
        Deed::Unnote => on!(Thing::User(name) => notes::delete(case, name)),
        Deed::MakeModerator => on!(Thing::User(name) => people::set_moderator(case, name, true)),
        Deed::UnmakeModerator => on!(Thing::User(name) => people::set_moderator(case, name, false)),
        Deed::Approve => on!(
            Thing::Appeal(id) => appeals::grant(case, *id),
            Thing::Application(name) => applications::approve(case, name),
            post if post.is_post() => held::approve(case),
        ),
        Deed::Reject => on!(
            Thing::Appeal(id) => appeals::reject(case, *id),
            Thing::Application(name) => applications::reject(case, name),
            post if post.is_post() => held::reject(case),
        ),
        Deed::Reopen => on!(
            Thing::Appeal(id) => appeals::reopen(case, *id),
            Thing::Message(id) => answers::reopen(case, *id),
            Thing::Application(name) => applications::reopen(case, name),
            _ if keep::is_undone(case) => keep::reopen(case),
            post if post.is_post() => held::reopen(case),
        ),
        Deed::Answer(text, after) => on!(Thing::Message(id) => answers::answer(case, *id, (text, *after))),
        Deed::Close => on!(Thing::Message(id) => answers::close(case, *id)),
        Deed::PutBack(_) => Box::pin(changes::put_back(case)),
        Deed::Rule(pattern, effect) => {
            on!(Thing::Rule(id) => rule_changes::add(case, *id, (pattern, *effect)))
        }
        Deed::Unrule => on!(Thing::Rule(id) => rule_changes::lift(case, *id)),
        Deed::Bar(origin, scope, hours) => {
            on!(Thing::Origin(id) => origin_changes::ban(case, *id, (origin, *scope, *hours)))
        }
        Deed::Unbar => on!(Thing::Origin(id) => origin_changes::lift(case, *id)),
        Deed::Announce(announcement, seen) => {
            on!(Thing::Site(SitePart::Announcement) => site_changes::announce(case, announcement, *seen))
        }
        Deed::Pin(days) => on!(Thing::Story(id) => site_changes::pin(case, *id, Some(*days))),
        Deed::Unpin => on!(Thing::Story(id) => site_changes::pin(case, *id, None)),
        Deed::SetReasons(change) => {
            on!(Thing::Site(SitePart::Reasons) => site_changes::set_reasons(case, change))
        }
        Deed::StopSignups(hours) => {
            on!(Thing::Site(SitePart::Signups) => site_changes::stop_signups(case, *hours))
        }
        Deed::ResumeSignups => {
            on!(Thing::Site(SitePart::Signups) => site_changes::end_measure(case, SIGNUPS_STOPPED))
        }
        Deed::HoldYoung { age, hours } => {
            on!(Thing::Site(SitePart::YoungPosts) => site_changes::hold_young(case, (*age, *hours)))
        }
        Deed::UnholdYoung => {
            on!(Thing::Site(SitePart::YoungPosts) => site_changes::end_measure(case, YOUNG_HELD))
        }
        Deed::Speak
        | Deed::SetHooks
        | Deed::SetReaders
        | Deed::MakeAdministrator
        | Deed::UnmakeAdministrator => refused(),
    }
}

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

/// Decides what an action does. On the heap: together, the futures would be too large for the stack.
pub(super) fn effect_of<'a>(case: &'a Case<'_>) -> BoxFuture<'a, Result<Effect>> {
    match (case.deed, case.thing) {
        (Deed::Keep | Deed::Remove, _) if case.row.is_deleted(case.thing) => {
            Box::pin(keep::decide_deleted(case))
        }
        (Deed::Restore | Deed::Reopen, _) if keep::was_deleted(case) => Box::pin(keep::decide_deleted(case)),
        (Deed::Remove, Thing::User(name)) => Box::pin(profiles::remove(case, name)),
        (Deed::Restore, Thing::User(name)) => Box::pin(profiles::restore(case, name)),
        (Deed::RemoveAll(days), Thing::User(name)) => Box::pin(remove_all::remove(case, name, *days)),
        (Deed::Remove, post) if post.is_post() => Box::pin(removals::remove(case)),
        (Deed::Restore, post) if post.is_post() => Box::pin(removals::restore(case)),
        (Deed::Erase(confirmed), post) if post.is_post() => {
            Box::pin(erasing::erase(case, confirmed.as_deref()))
        }
        (Deed::Edit { title, topics, url, text }, Thing::Story(id)) => {
            let content = (url.as_ref(), text.as_ref());
            Box::pin(story_edits::edit(case, *id, (title.as_ref(), topics.as_ref()), content))
        }
        (Deed::Edit { title: None, topics: None, url: None, text }, Thing::Comment(_)) => {
            Box::pin(comment_edits::edit(case, text.as_ref()))
        }
        (Deed::Merge(into), Thing::Story(id)) => Box::pin(merging::merge(case, *id, *into)),
        (Deed::Split, Thing::Story(id)) => Box::pin(merging::split(case, *id)),
        (Deed::Lock, Thing::Story(id)) => Box::pin(threads::lock(case, *id)),
        (Deed::Unlock, Thing::Story(id)) => Box::pin(threads::unlock(case, *id)),
        (
            Deed::Silence(hours) | Deed::Hold(hours) | Deed::Discount(hours) | Deed::Ban(hours),
            Thing::User(name),
        ) => Box::pin(people::restrict(case, name, *hours)),
        (Deed::Unsilence | Deed::Unhold | Deed::Recount | Deed::Unban, Thing::User(name)) => {
            Box::pin(people::lift(case, name))
        }
        (Deed::Warn, Thing::User(name)) => Box::pin(people::warn(case, name)),
        (Deed::Note, Thing::User(name)) => Box::pin(notes::add(case, name)),
        (Deed::Unnote, Thing::User(name)) => Box::pin(notes::delete(case, name)),
        (Deed::Approve, Thing::Appeal(id)) => Box::pin(appeals::grant(case, *id)),
        (Deed::Reject, Thing::Appeal(id)) => Box::pin(appeals::reject(case, *id)),
        (Deed::Reopen, Thing::Appeal(id)) => Box::pin(appeals::reopen(case, *id)),
        (Deed::Answer(text, after), Thing::Message(id)) => {
            Box::pin(answers::answer(case, *id, (text, *after)))
        }
        (Deed::Close, Thing::Message(id)) => Box::pin(answers::close(case, *id)),
        (Deed::Reopen, Thing::Message(id)) => Box::pin(answers::reopen(case, *id)),
        (Deed::MakeModerator, Thing::User(name)) => Box::pin(people::set_moderator(case, name, true)),
        (Deed::UnmakeModerator, Thing::User(name)) => Box::pin(people::set_moderator(case, name, false)),
        (Deed::Keep, _) => Box::pin(keep::keep(case)),
        (Deed::Reopen, _) if keep::is_undone(case) => Box::pin(keep::reopen(case)),
        (Deed::Approve, post) if post.is_post() => Box::pin(held::approve(case)),
        (Deed::Reject, post) if post.is_post() => Box::pin(held::reject(case)),
        (Deed::Reopen, post) if post.is_post() => Box::pin(held::reopen(case)),
        (Deed::PutBack(_), _) => Box::pin(changes::put_back(case)),
        (Deed::Rule(pattern, effect), Thing::Rule(id)) => {
            Box::pin(rule_changes::add(case, *id, (pattern, *effect)))
        }
        (Deed::Unrule, Thing::Rule(id)) => Box::pin(rule_changes::lift(case, *id)),
        (Deed::Bar(origin, scope, hours), Thing::Origin(id)) => {
            Box::pin(origin_changes::ban(case, *id, (origin, *scope, *hours)))
        }
        (Deed::Unbar, Thing::Origin(id)) => Box::pin(origin_changes::lift(case, *id)),
        (Deed::Announce(announcement, seen), Thing::Site(SitePart::Announcement)) => {
            Box::pin(site_changes::announce(case, announcement, *seen))
        }
        (Deed::Pin(days), Thing::Story(id)) => Box::pin(site_changes::pin(case, *id, Some(*days))),
        (Deed::Unpin, Thing::Story(id)) => Box::pin(site_changes::pin(case, *id, None)),
        (Deed::SetReasons(change), Thing::Site(SitePart::Reasons)) => {
            Box::pin(site_changes::set_reasons(case, change))
        }
        (Deed::StopSignups(hours), Thing::Site(SitePart::Signups)) => {
            Box::pin(site_changes::stop_signups(case, *hours))
        }
        (Deed::ResumeSignups, Thing::Site(SitePart::Signups)) => {
            Box::pin(site_changes::end_measure(case, SIGNUPS_STOPPED))
        }
        (Deed::HoldYoung { age, hours }, Thing::Site(SitePart::YoungPosts)) => {
            Box::pin(site_changes::hold_young(case, (*age, *hours)))
        }
        (Deed::UnholdYoung, Thing::Site(SitePart::YoungPosts)) => {
            Box::pin(site_changes::end_measure(case, YOUNG_HELD))
        }
        (Deed::Approve, Thing::Application(name)) => Box::pin(applications::approve(case, name)),
        (Deed::Reject, Thing::Application(name)) => Box::pin(applications::reject(case, name)),
        (Deed::Reopen, Thing::Application(name)) => Box::pin(applications::reopen(case, name)),
        _ => Box::pin(ready(Err(case.does_not_apply().into()))),
    }
}

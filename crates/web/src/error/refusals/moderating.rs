//! The sentences of refusals that moderators cause or meet.

use crate::error::english::ended;
use tidings_domain::error::{Erasure, ModeratedFact, NothingToDo};
use tidings_domain::values::{
    Action, BanScope, Closed, FlagReason, ModerationId, OriginKind, PostKind, Restriction, Thing, day,
};
use tidings_language::{Message, Phrase, m, n, p};

/// The sentence about a restriction with an end, or the one about a restriction without: both say why, and name its entry in
/// the moderation log.
fn restricted<'a>(
    Restriction { until, moderation, reason }: &'a Restriction,
    [with_end, endless]: [&'static Message; 2],
) -> Phrase<'a> {
    let sentence = match until.map(day::to_the_minute) {
        Some(time) => Phrase::new(with_end).with("time", time),
        None => Phrase::new(endless),
    };
    let reason = reason.trim_end_matches(['.', ' ', '\n']);
    sentence.with("reason", reason).with("entry", moderation.to_string())
}

/// That somebody is silenced.
pub fn silenced(restriction: &Restriction) -> Phrase<'_> {
    let with_end = m!(
        "You are silenced until {time}: {reason}. You can read and vote. You can appeal against this decision, \
         entry {entry} of the moderation log."
    );
    let endless = m!(
        "You are silenced until further notice: {reason}. You can read and vote. You can appeal against this \
         decision, entry {entry} of the moderation log."
    );
    restricted(restriction, [with_end, endless])
}

/// That somebody is banned.
pub fn banned(restriction: &Restriction) -> Phrase<'_> {
    let with_end = m!(
        "You are banned until {time}: {reason}. You can appeal against this decision, entry {entry} of the \
         moderation log."
    );
    let endless = m!(
        "You are banned until further notice: {reason}. You can appeal against this decision, entry {entry} of \
         the moderation log."
    );
    restricted(restriction, [with_end, endless])
}

/// That the votes of somebody do not count.
pub fn votes_discounted(restriction: &Restriction) -> Phrase<'_> {
    let with_end = m!(
        "Your votes do not count until {time}: {reason}. You can appeal against this decision, entry {entry} of \
         the moderation log."
    );
    let endless = m!(
        "Your votes do not count until further notice: {reason}. You can appeal against this decision, entry \
         {entry} of the moderation log."
    );
    restricted(restriction, [with_end, endless])
}

/// That moderators have stopped sign-ups.
pub fn signups_stopped(Restriction { until, reason, .. }: &Restriction) -> Phrase<'_> {
    let reason = ended(reason);
    match until.map(day::to_the_minute) {
        Some(time) => p!("Moderators have stopped sign-ups until {time}: {reason}", time, reason),
        None => p!("Moderators have stopped sign-ups: {reason}", reason),
    }
}

/// Why nobody takes part in something.
pub fn closed(kind: PostKind, why: Closed) -> Phrase<'static> {
    match (kind, why) {
        (PostKind::Story, Closed::Deleted | Closed::Erased) => p!("This story has been deleted."),
        (PostKind::Comment, Closed::Deleted | Closed::Erased) => p!("This comment has been deleted."),
        (PostKind::Tweet, Closed::Deleted | Closed::Erased) => p!("This post has been deleted."),
        (PostKind::Profile, Closed::Deleted | Closed::Erased) => p!("This profile has been deleted."),
        (PostKind::Story, Closed::Removed) => p!("A moderator has removed this story."),
        (PostKind::Comment, Closed::Removed) => p!("A moderator has removed this comment."),
        (PostKind::Tweet, Closed::Removed) => p!("A moderator has removed this post."),
        (PostKind::Profile, Closed::Removed) => p!("A moderator has removed this profile."),
        (PostKind::Story, Closed::Held) => p!("This story is waiting for a moderator's approval."),
        (PostKind::Comment, Closed::Held) => p!("This comment is waiting for a moderator's approval."),
        (PostKind::Tweet, Closed::Held) => p!("This post is waiting for a moderator's approval."),
        (PostKind::Profile, Closed::Held) => p!("This profile is waiting for a moderator's approval."),
        (_, Closed::Merged(story)) => {
            p!(
                "This story has been merged into story {story}. Please comment and vote there.",
                story = story.to_string()
            )
        }
    }
}

/// Why somebody from a banned origin cannot do something.
pub fn origin_banned(kind: OriginKind, scope: BanScope, reason: &str) -> Phrase<'_> {
    let reason = ended(reason);
    match (scope, kind) {
        (BanScope::Signup, OriginKind::Network) => {
            p!("New accounts from your network are not accepted here at the moment: {reason}", reason)
        }
        (BanScope::Signup, OriginKind::Domain) => p!(
            "New accounts with an e-mail address of this domain are not accepted here at the moment: \
             {reason}",
            reason
        ),
        (BanScope::Post | BanScope::Both, OriginKind::Network) => {
            p!("Posts from your network are not accepted here at the moment: {reason}", reason)
        }
        (BanScope::Post | BanScope::Both, OriginKind::Domain) => p!(
            "Posts by people with an e-mail address of this domain are not accepted here at the moment: \
             {reason}",
            reason
        ),
    }
}

/// All that erasing a post takes away.
pub fn erasure(erasure: &Erasure) -> Phrase<'_> {
    match erasure {
        Erasure::Story { title, place, comments: 0 } => p!(
            "This erases the title, the address, the text and the history of the story “{title}” {place} \
             everywhere; only its place stays.",
            title,
            place
        ),
        Erasure::Story { title, place, comments } => n!(
            *comments,
            "This erases the title, the address, the text and the history of the story “{title}” {place} \
             everywhere; only its place and {count} comment stay.",
            "This erases the title, the address, the text and the history of the story “{title}” {place} \
             everywhere; only its place and {count} comments stay.",
            title,
            place
        ),
        Erasure::Comment { excerpt, place } => p!(
            "This erases the text and the history of the comment “{excerpt}” {place} everywhere; only its \
             place and its replies stay.",
            excerpt,
            place
        ),
        Erasure::Tweet { excerpt, place } => {
            p!("This erases the post “{excerpt}” {place} everywhere.", excerpt, place)
        }
    }
}

/// That something has changed since, and by which entry of the log.
pub fn changed_since(what: ModeratedFact, by: Option<ModerationId>) -> Phrase<'static> {
    let changed = has_changed(what);
    match by {
        Some(by) => {
            p!("{changed}: see entry {entry} of the moderation log.", changed, entry = by.to_string())
        }
        None => p!("{changed}.", changed),
    }
}

/// That a fact has changed since, without a full stop.
fn has_changed(what: ModeratedFact) -> Phrase<'static> {
    match what {
        ModeratedFact::Role => p!("The role of this person has changed since"),
        ModeratedFact::Text => p!("The text has changed since"),
        ModeratedFact::SavedReason => p!("This saved reason has changed since"),
        ModeratedFact::Title => p!("The title has changed since"),
        ModeratedFact::Topics => p!("The list of topics has changed since"),
        ModeratedFact::UrlOrText => p!("The URL or the text has changed since"),
        ModeratedFact::EditNote => p!("The note that this story was edited has changed since"),
        ModeratedFact::Lock => p!("The lock of this thread has changed since"),
        ModeratedFact::Announcement => p!("The announcement has changed since"),
        ModeratedFact::Signups => p!("Whether people can sign up has changed since"),
        ModeratedFact::YoungPosts => p!("Whether the posts of young accounts wait has changed since"),
        ModeratedFact::Application => p!("The application has changed since"),
        ModeratedFact::Messages => p!("This thread of messages has changed since"),
        ModeratedFact::Rule => p!("This rule has changed since"),
        ModeratedFact::OriginBan => p!("This ban has changed since"),
        ModeratedFact::Ban => p!("The ban has changed since"),
        ModeratedFact::Silence => p!("The silence has changed since"),
        ModeratedFact::Hold => p!("The hold on posts has changed since"),
        ModeratedFact::Votes => p!("The decision about votes has changed since"),
        ModeratedFact::Other => p!("This has changed since"),
    }
}

/// Why an action would do nothing.
pub fn nothing_to_do(why: NothingToDo) -> Phrase<'static> {
    match why {
        NothingToDo::NotHeld => p!("Nothing to do: this is not waiting for approval."),
        NothingToDo::NotRemoved => p!("Nothing to do: this has not been removed."),
        NothingToDo::RejectedUnseen => {
            p!("Nothing to do: this was rejected before anyone saw it. Undo the rejection instead.")
        }
        NothingToDo::NobodyWaits => p!("Nothing to do: nobody is waiting for an answer here."),
        NothingToDo::ReopenedAlready => p!("Nothing to do: this has been reopened already."),
        NothingToDo::Ended => p!("Nothing to do: this has already ended."),
        NothingToDo::WouldHaveEnded => p!("Nothing to do: it would already have ended."),
        NothingToDo::AppealWaits => p!("Nothing to do: the appeal is already waiting."),
        NothingToDo::AuthorErases => p!("Nothing to do: its author has left and has it erased."),
        NothingToDo::MergedIntoItself => p!("Nothing to do: a story cannot be merged into itself."),
        NothingToDo::NotMerged => p!("Nothing to do: the story has not been merged into another."),
        NothingToDo::NoSuchRestriction => p!("Nothing to do: no such restriction is in force."),
        NothingToDo::ModeratorAlready => p!("Nothing to do: this person is already a moderator."),
        NothingToDo::NotAModerator => p!("Nothing to do: this person is not a moderator."),
        NothingToDo::NoTextOfProfile => p!("Nothing to do: this profile has no text."),
        NothingToDo::EarlierTextRemoved => {
            p!("Nothing to do: an earlier text of this profile has been removed. Restore it first.")
        }
        NothingToDo::NothingToRestore => p!("Nothing to do: there is nothing to restore for this person."),
        NothingToDo::RemovedAgain => p!("Nothing to do: this has since been restored and removed again."),
        NothingToDo::RemovedTooOften => p!(
            "Nothing to do: this person's posts have been removed too often. Undo an earlier removal first."
        ),
        NothingToDo::PostsRestored => p!("Nothing to do: these posts have already been restored."),
        NothingToDo::NotPinned => p!("Nothing to do: this story is not pinned."),
        NothingToDo::TooManyPinned => {
            p!("Nothing to do: two stories are pinned already. Unpin one of them first.")
        }
        NothingToDo::NotInForce => p!("Nothing to do: this is not in force."),
        NothingToDo::LinkHasNoText => p!("Nothing to do: this story is a link, so it has no text."),
        NothingToDo::StoryUnchanged => p!("Nothing to do: this would not change the story."),
        NothingToDo::LockedAlready => p!("Nothing to do: the thread is already locked."),
        NothingToDo::NotLocked => p!("Nothing to do: the thread is not locked."),
        NothingToDo::SameText => p!("Nothing to do: the comment already has this text."),
        NothingToDo::NoteUnnamed => p!("Nothing to do: say which note to delete."),
        NothingToDo::BannedWithAccount => p!("Nothing to do: the voter is banned with its account."),
    }
}

/// That a kind of thing does not take an action.
pub fn does_not_apply(action: Action, thing: &Thing) -> Phrase<'static> {
    let action = action.name();
    match thing {
        Thing::Story(_) => p!("The action {action} cannot be applied to a story.", action),
        Thing::Comment(_) => p!("The action {action} cannot be applied to a comment.", action),
        Thing::Tweet(_) => p!("The action {action} cannot be applied to a tweet.", action),
        Thing::User(_) => p!("The action {action} cannot be applied to a user.", action),
        Thing::Application(_) => p!("The action {action} cannot be applied to an application.", action),
        Thing::Appeal(_) => p!("The action {action} cannot be applied to an appeal.", action),
        Thing::Message(_) => p!("The action {action} cannot be applied to a message.", action),
        Thing::Rule(_) => p!("The action {action} cannot be applied to a rule.", action),
        Thing::Origin(_) => p!("The action {action} cannot be applied to an origin.", action),
        Thing::Site(_) => p!("The action {action} cannot be applied to a site.", action),
    }
}

/// That a kind of thing takes no flags.
pub fn cannot_be_flagged(thing: &Thing) -> Phrase<'static> {
    match thing {
        Thing::Story(_) => p!("A story can't be flagged."),
        Thing::Comment(_) => p!("A comment can't be flagged."),
        Thing::Tweet(_) => p!("A tweet can't be flagged."),
        Thing::User(_) => p!("A user can't be flagged."),
        Thing::Application(_) => p!("An application can't be flagged."),
        Thing::Appeal(_) => p!("An appeal can't be flagged."),
        Thing::Message(_) => p!("A message can't be flagged."),
        Thing::Rule(_) => p!("A rule can't be flagged."),
        Thing::Origin(_) => p!("An origin can't be flagged."),
        Thing::Site(_) => p!("A site can't be flagged."),
    }
}

/// That a kind of thing does not take flags for a reason.
pub fn does_not_fit(reason: FlagReason, thing: &Thing) -> Phrase<'static> {
    let reason = reason.name();
    match thing {
        Thing::Story(_) => p!("A story can't be flagged as {reason}.", reason),
        Thing::Comment(_) => p!("A comment can't be flagged as {reason}.", reason),
        Thing::Tweet(_) => p!("A tweet can't be flagged as {reason}.", reason),
        Thing::User(_) => p!("A user can't be flagged as {reason}.", reason),
        Thing::Application(_) => p!("An application can't be flagged as {reason}.", reason),
        Thing::Appeal(_) => p!("An appeal can't be flagged as {reason}.", reason),
        Thing::Message(_) => p!("A message can't be flagged as {reason}.", reason),
        Thing::Rule(_) => p!("A rule can't be flagged as {reason}.", reason),
        Thing::Origin(_) => p!("An origin can't be flagged as {reason}.", reason),
        Thing::Site(_) => p!("A site can't be flagged as {reason}.", reason),
    }
}

//! The actions themselves.

use super::{ActionFacts, CLOSED, Hours, REJECTED, UPHELD, Undo, plain};
use crate::values::{
    Announcement, BanScope, BannedOrigin, Body, Closed, MessageText, NewsId, NewsUrl, Pattern, PostKind,
    ReasonChange, RestrictionKind, RuleEffect, Thing, Timestamp, Title, Topics,
};
use tidings_language::{m, t};

actions! {
    /// A story, a comment or a tweet was removed.
    Remove = "remove", {
        words: m!("removed a story, a comment or a post"),
        past: m!("removed {thing}"),
        by: m!("{moderator} removed {thing}"),
        button: Some(m!("Remove")),
        fits: |it| it.is_open_post(),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story was removed")),
            Thing::Comment(_) => Some(t!("Your comment was removed")),
            Thing::Tweet(_) => Some(t!("Your post was removed")),
            Thing::User(_) => Some(t!("Your profile was removed")),
            _ => None,
        },
        about: |thing| match thing {
            Thing::Story(_) => Some(m!("Your story “{title}” {place} was removed")),
            Thing::Comment(_) => Some(m!("Your comment “{excerpt}” {place} was removed")),
            Thing::Tweet(_) => Some(m!("Your post “{excerpt}” {place} was removed")),
            _ => None,
        },
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Restore)),
    };
    /// A removed story, comment or tweet is back.
    Restore = "restore", {
        words: m!("restored a story, a comment or a post"),
        past: m!("restored {thing}"),
        by: m!("{moderator} restored {thing}"),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story is back")),
            Thing::Comment(_) => Some(t!("Your comment is back")),
            Thing::Tweet(_) => Some(t!("Your post is back")),
            Thing::User(_) => Some(t!("Your profile is back")),
            _ => None,
        },
        about: |thing| match thing {
            Thing::Story(_) => Some(m!("Your story “{title}” {place} is back")),
            Thing::Comment(_) => Some(m!("Your comment “{excerpt}” {place} is back")),
            Thing::Tweet(_) => Some(m!("Your post “{excerpt}” {place} is back")),
            _ => None,
        },
        button: Some(m!("Put back")),
        fits: |it| !it.is_person() && matches!(it.state.closed(), Some(Closed::Removed)) && !it.state.unseen,
        undo: Undo::Deed(|_| Some(Deed::Remove)),
    };
    /// A story, a comment or a tweet was erased for good. The deed is confirmed with this id.
    Erase(Option<Box<str>>) = "erase", {
        words: m!("erased a story, a comment or a post"),
        past: m!("erased {thing}"),
        by: m!("{moderator} erased {thing}"),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story was erased")),
            Thing::Comment(_) => Some(t!("Your comment was erased")),
            Thing::Tweet(_) => Some(t!("Your post was erased")),
            _ => None,
        },
        button: Some(m!("Erase for good")),
        fits: |it| !it.is_person() && !matches!(it.state.closed(), Some(Closed::Erased)),
        verdict: UPHELD,
        is_of_administrators: true,
    };
    /// A story or the text of a comment was changed; what is `None` stays.
    Edit {
        /// The new title.
        title: Option<Title>,
        /// The new topics.
        topics: Option<Topics>,
        /// The new URL of a story.
        url: Option<NewsUrl>,
        /// The new text of a story without a URL, or of a comment.
        text: Option<Body>,
    } = "edit", {
        words: m!("edited a story or a comment"),
        past: m!("edited {thing}"),
        by: m!("{moderator} edited {thing}"),
        button: Some(m!("Edit")),
        fits: |it| matches!(it.state.kind, PostKind::Story | PostKind::Comment) && it.is_open_post(),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story was edited")),
            Thing::Comment(_) => Some(t!("Your comment was edited")),
            _ => None,
        },
        can_be_appealed: true,
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Edit { title: None, topics: None, url: None, text: None })),
    };
    /// A story was merged into another.
    Merge(NewsId) = "merge", {
        words: m!("merged a story"),
        past: m!("merged {thing}"),
        by: m!("{moderator} merged {thing}"),
        button: Some(m!("Merge into another story")),
        fits: |it| it.is_story() && it.is_open_post(),
        told: |_| Some(t!("Your story was merged into another")),
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Split)),
    };
    /// A merged story is a story of its own again.
    Split = "split", {
        words: m!("split off a story"),
        past: m!("split off {thing}"),
        by: m!("{moderator} split off {thing}"),
        told: |_| Some(t!("Your story is a story of its own again")),
        button: Some(m!("Split off again")),
        fits: |it| matches!(it.state.closed(), Some(Closed::Merged(_))),
    };
    /// The thread of a story was locked.
    Lock = "lock", {
        words: m!("locked the thread of a story"),
        past: m!("locked the thread of {thing}"),
        by: m!("{moderator} locked the thread of {thing}"),
        button: Some(m!("Lock the thread")),
        fits: |it| it.is_story() && it.is_open_post() && !it.is_locked,
        told: |_| Some(t!("The thread of your story was locked")),
        about: |_| Some(m!("The thread of your story “{title}” {place} was locked")),
        can_be_appealed: true,
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Unlock)),
    };
    /// The thread is open again.
    Unlock = "unlock", {
        words: m!("unlocked the thread of a story"),
        past: m!("unlocked the thread of {thing}"),
        by: m!("{moderator} unlocked the thread of {thing}"),
        told: |_| Some(t!("The thread of your story is open again")),
        about: |_| Some(m!("The thread of your story “{title}” {place} is open again")),
        button: Some(m!("Unlock the thread")),
        fits: |it| it.is_story() && it.is_open_post() && it.is_locked,
        undo: Undo::Deed(|_| Some(Deed::Lock)),
    };
    /// A person's posts wait for approval.
    Hold(Hours) = "hold", {
        words: m!("now holds the posts of a person"),
        past: m!("now holds the posts of {thing}"),
        by: m!("{moderator} now holds the posts of {thing}"),
        button: Some(m!("Hold their posts for approval")),
        fits: |it| it.is_free_of(RestrictionKind::Hold),
        told: |_| Some(t!("Your posts now wait for approval")),
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Hold),
        undo: Undo::Deed(|_| Some(Deed::Unhold)),
    };
    /// A person's posts no longer wait.
    Unhold = "unhold", {
        words: m!("no longer holds the posts of a person"),
        past: m!("no longer holds the posts of {thing}"),
        by: m!("{moderator} no longer holds the posts of {thing}"),
        told: |_| Some(t!("Your posts no longer wait for approval")),
        button: Some(m!("Stop holding what they write")),
        fits: |it| it.is_under(RestrictionKind::Hold),
        restriction: Some(RestrictionKind::Hold),
        undo: Undo::Deed(|_| Some(Deed::Hold(None))),
    };
    /// A person reads and votes only.
    Silence(Hours) = "silence", {
        words: m!("silenced a person"),
        past: m!("silenced {thing}"),
        by: m!("{moderator} silenced {thing}"),
        button: Some(m!("button" => "Silence")),
        fits: |it| it.is_free_of(RestrictionKind::Silence),
        told: |_| Some(t!("You were silenced")),
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Silence),
        undo: Undo::Deed(|_| Some(Deed::Unsilence)),
    };
    /// The silence was lifted.
    Unsilence = "unsilence", {
        words: m!("lifted the silence of a person"),
        past: m!("lifted the silence of {thing}"),
        by: m!("{moderator} lifted the silence of {thing}"),
        told: |_| Some(t!("Your silence was lifted")),
        button: Some(m!("Lift the silence")),
        fits: |it| it.is_under(RestrictionKind::Silence),
        restriction: Some(RestrictionKind::Silence),
        undo: Undo::Deed(|_| Some(Deed::Silence(None))),
    };
    /// A person cannot log in.
    Ban(Hours) = "ban", {
        words: m!("banned a person"),
        past: m!("banned {thing}"),
        by: m!("{moderator} banned {thing}"),
        button: Some(m!("button" => "Ban")),
        fits: |it| it.is_free_of(RestrictionKind::Ban),
        told: |_| Some(t!("You were banned")),
        can_be_appealed: true,
        verdict: UPHELD,
        restriction: Some(RestrictionKind::Ban),
        undo: Undo::Deed(|_| Some(Deed::Unban)),
    };
    /// The ban was lifted.
    Unban = "unban", {
        words: m!("lifted the ban of a person"),
        past: m!("lifted the ban of {thing}"),
        by: m!("{moderator} lifted the ban of {thing}"),
        told: |_| Some(t!("Your ban was lifted")),
        button: Some(m!("Lift the ban")),
        fits: |it| it.is_under(RestrictionKind::Ban),
        restriction: Some(RestrictionKind::Ban),
        undo: Undo::Deed(|_| Some(Deed::Ban(None))),
    };
    /// All posts of a person of the last days, so many, were removed.
    RemoveAll(u64) = "remove_all", {
        words: m!("removed the recent posts of a person"),
        past: m!("removed the recent posts of {thing}"),
        by: m!("{moderator} removed the recent posts of {thing}"),
        button: Some(m!("Remove everything")),
        fits: |it| it.is_person(),
        told: |_| Some(t!("Your recent posts were removed")),
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Restore)),
    };
    /// Something that waited was approved.
    Approve = "approve", {
        words: m!("approved something"),
        past: m!("approved {thing}"),
        by: m!("{moderator} approved {thing}"),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story was approved")),
            Thing::Comment(_) => Some(t!("Your comment was approved")),
            Thing::Tweet(_) => Some(t!("Your post was approved")),
            Thing::Application(_) => Some(t!("Your application was approved")),
            Thing::Appeal(_) => Some(t!("Your appeal was approved")),
            _ => None,
        },
        about: |thing| match thing {
            Thing::Story(_) => Some(m!("Your story “{title}” {place} was approved")),
            Thing::Comment(_) => Some(m!("Your comment “{excerpt}” {place} was approved")),
            Thing::Tweet(_) => Some(m!("Your post “{excerpt}” {place} was approved")),
            _ => None,
        },
        button: Some(m!("Approve")),
        fits: |it| it.waits(),
        verdict: REJECTED,
        needs_no_reason: true,
        undo: Undo::Deed(|thing| match thing {
            // An approved post is published as of its approval; removing it hides it again.
            Thing::Story(_) | Thing::Comment(_) | Thing::Tweet(_) => Some(Deed::Remove),
            // The decision was undone; it can be made anew.
            Thing::Appeal(_) => None,
            _ => Some(Deed::Reopen),
        }),
    };
    /// Something that waited was rejected.
    Reject = "reject", {
        words: m!("rejected something"),
        past: m!("rejected {thing}"),
        by: m!("{moderator} rejected {thing}"),
        button: Some(m!("Reject")),
        fits: |it| it.waits(),
        told: |thing| match thing {
            Thing::Story(_) => Some(t!("Your story was rejected")),
            Thing::Comment(_) => Some(t!("Your comment was rejected")),
            Thing::Tweet(_) => Some(t!("Your post was rejected")),
            Thing::Application(_) => Some(t!("Your application was rejected")),
            Thing::Appeal(_) => Some(t!("Your appeal was rejected")),
            _ => None,
        },
        about: |thing| match thing {
            Thing::Story(_) => Some(m!("Your story “{title}” {place} was rejected")),
            Thing::Comment(_) => Some(m!("Your comment “{excerpt}” {place} was rejected")),
            Thing::Tweet(_) => Some(m!("Your post “{excerpt}” {place} was rejected")),
            _ => None,
        },
        can_be_appealed: true,
        verdict: UPHELD,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
    /// Something that readers flagged stays.
    Keep = "keep", {
        words: m!("kept something"),
        past: m!("kept {thing}"),
        by: m!("{moderator} kept {thing}"),
        button: Some(m!("Keep")),
        fits: |it| it.is_open_post() && it.is_hidden(),
        verdict: REJECTED,
        needs_no_reason: true,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
    /// A person was warned.
    Warn = "warn", {
        words: m!("warned a person"),
        past: m!("warned {thing}"),
        by: m!("{moderator} warned {thing}"),
        told: |_| Some(t!("A moderator warned you")),
        button: Some(m!("Warn")),
        fits: |it| it.is_person(),
        verdict: UPHELD,
    };
    /// Moderators noted something about a person.
    Note = "note", {
        words: m!("wrote a note about a person"),
        past: m!("wrote a note about {thing}"),
        by: m!("{moderator} wrote a note about {thing}"),
        button: Some(m!("Write a note")),
        fits: |it| it.is_person(),
        is_private: true,
        undo: Undo::Deed(|_| Some(Deed::Unnote)),
    };
    /// The votes of a person do not count.
    Discount(Hours) = "discount", {
        words: m!("stopped counting the votes of a person"),
        past: m!("stopped counting the votes of {thing}"),
        by: m!("{moderator} stopped counting the votes of {thing}"),
        button: Some(m!("Stop counting their votes")),
        fits: |it| it.is_free_of(RestrictionKind::Discount),
        told: |_| Some(t!("Your votes do not count")),
        can_be_appealed: true,
        restriction: Some(RestrictionKind::Discount),
        undo: Undo::Deed(|_| Some(Deed::Recount)),
    };
    /// The votes of a person count again.
    Recount = "recount", {
        words: m!("resumed counting the votes of a person"),
        past: m!("resumed counting the votes of {thing}"),
        by: m!("{moderator} resumed counting the votes of {thing}"),
        told: |_| Some(t!("Your votes count again")),
        button: Some(m!("Count their votes again")),
        fits: |it| it.is_under(RestrictionKind::Discount),
        restriction: Some(RestrictionKind::Discount),
        undo: Undo::Deed(|_| Some(Deed::Discount(None))),
    };
    /// A person became a moderator.
    MakeModerator = "make_moderator", {
        words: m!("a person is now a moderator"),
        past: m!("{thing} is now a moderator"),
        by: m!("{thing} is now a moderator, by {moderator}"),
        told: |_| Some(t!("You are now a moderator")),
        button: Some(m!("Make a moderator")),
        fits: |it| it.is_person() && !it.is_moderator,
        is_of_administrators: true,
        undo: Undo::Deed(|_| Some(Deed::UnmakeModerator)),
    };
    /// A person is no longer a moderator.
    UnmakeModerator = "unmake_moderator", {
        words: m!("a person is no longer a moderator"),
        past: m!("{thing} is no longer a moderator"),
        by: m!("{thing} is no longer a moderator, by {moderator}"),
        told: |_| Some(t!("You are no longer a moderator")),
        button: Some(m!("Remove the moderator role")),
        fits: |it| it.is_person() && it.is_moderator,
        is_of_administrators: true,
        undo: Undo::Deed(|_| Some(Deed::MakeModerator)),
    };
    /// A person became an administrator, by their groups at the provider.
    MakeAdministrator = "make_administrator", {
        words: m!("a person is now an administrator"),
        past: m!("{thing} is now an administrator"),
        by: m!("{thing} is now an administrator, by {moderator}"),
        has_own_call: true,
    };
    /// A person is no longer an administrator, by their groups at the provider.
    UnmakeAdministrator = "unmake_administrator", {
        words: m!("a person is no longer an administrator"),
        past: m!("{thing} is no longer an administrator"),
        by: m!("{thing} is no longer an administrator, by {moderator}"),
        has_own_call: true,
    };
    /// A rule was added.
    Rule(Pattern, RuleEffect) = "rule", {
        words: m!("added a rule"),
        past: m!("added {thing}"),
        by: m!("{moderator} added {thing}"),
        has_own_call: true,
        undo: Undo::Facts(Action::Unrule),
    };
    /// A rule was removed.
    Unrule = "unrule", {
        words: m!("removed a rule"),
        past: m!("removed {thing}"),
        by: m!("{moderator} removed {thing}"),
        has_own_call: true,
        undo: Undo::Facts(Action::Rule),
    };
    /// A note about a person was deleted.
    Unnote = "unnote", {
        words: m!("deleted a note about a person"),
        past: m!("deleted a note about {thing}"),
        by: m!("{moderator} deleted a note about {thing}"),
        is_private: true,
        has_own_call: true,
    };
    /// A decision of the queue was taken back: what it was about waits again.
    Reopen = "reopen", {
        words: m!("reopened the case of something"),
        past: m!("reopened the case of {thing}"),
        by: m!("{moderator} reopened the case of {thing}"),
        has_own_call: true,
    };
    /// A moderator spoke as such.
    Speak = "speak", {
        words: m!("spoke as a moderator in a comment"),
        past: m!("spoke as a moderator in {thing}"),
        by: m!("{moderator} spoke as a moderator in {thing}"),
        has_own_call: true,
    };
    /// A network or an e-mail domain was banned.
    Bar(BannedOrigin, BanScope, Hours) = "bar", {
        words: m!("banned a network or domain"),
        past: m!("banned {thing}"),
        by: m!("{moderator} banned {thing}"),
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Unbar),
    };
    /// Such a ban was lifted.
    Unbar = "unbar", {
        words: m!("lifted the ban of a network or domain"),
        past: m!("lifted {thing}"),
        by: m!("{moderator} lifted {thing}"),
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Bar),
    };
    /// The announcement or the pinned stories were changed, if the last one was still the one of this time.
    Announce(Announcement, Option<Timestamp>) = "announce", {
        words: m!("changed the announcement"),
        past: m!("changed {thing}"),
        by: m!("{moderator} changed {thing}"),
        is_of_administrators: true,
        has_own_call: true,
        undo: Undo::Facts(Action::Announce),
    };
    /// A story was pinned to the top of the front page, for so many days.
    Pin(u64) = "pin", {
        words: m!("pinned a story"),
        past: m!("pinned {thing}"),
        by: m!("{moderator} pinned {thing}"),
        button: Some(m!("Pin to the front page")),
        fits: |it| it.is_story() && it.state.is_listed() && !it.is_pinned,
        is_of_administrators: true,
        needs_no_reason: true,
        undo: Undo::Facts(Action::Unpin),
    };
    /// It is no longer pinned.
    Unpin = "unpin", {
        words: m!("unpinned a story"),
        past: m!("unpinned {thing}"),
        by: m!("{moderator} unpinned {thing}"),
        button: Some(m!("Unpin")),
        fits: |it| it.is_story() && it.is_pinned,
        is_of_administrators: true,
        needs_no_reason: true,
        undo: Undo::Facts(Action::Pin),
    };
    /// The reasons that moderators have at hand were changed.
    SetReasons(ReasonChange) = "set_reasons", {
        words: m!("changed the saved reasons"),
        past: m!("changed {thing}"),
        by: m!("{moderator} changed {thing}"),
        needs_no_reason: true,
        has_own_call: true,
        undo: Undo::Facts(Action::SetReasons),
    };
    /// A webhook was added, changed or removed. The line does not know the address, which is a secret.
    SetHooks = "set_hooks", {
        words: m!("changed the webhooks"),
        past: m!("changed {thing}"),
        by: m!("{moderator} changed {thing}"),
        has_own_call: true,
    };
    /// Another choice of who may read the site. The reason says which.
    SetReaders = "set_readers", {
        words: m!("changed who can read the site"),
        past: m!("changed {thing}"),
        by: m!("{moderator} changed {thing}"),
        has_own_call: true,
    };
    /// Nobody can sign up for so many hours.
    StopSignups(u64) = "stop_signups", {
        words: m!("stopped sign-ups"),
        past: m!("stopped {thing}"),
        by: m!("{moderator} stopped {thing}"),
        undo: Undo::Facts(Action::ResumeSignups),
    };
    /// People can sign up again.
    ResumeSignups = "resume_signups", {
        words: m!("resumed sign-ups"),
        past: m!("resumed {thing}"),
        by: m!("{moderator} resumed {thing}"),
        undo: Undo::Facts(Action::StopSignups),
    };
    /// The posts of young accounts wait for approval for some time.
    HoldYoung {
        /// The age below which an account is young, in hours.
        age: u64,
        /// For so many hours.
        hours: u64,
    } = "hold_young", {
        words: m!("now holds the posts of young accounts"),
        past: m!("now holds {thing}"),
        by: m!("{moderator} now holds {thing}"),
        undo: Undo::Facts(Action::UnholdYoung),
    };
    /// They no longer wait.
    UnholdYoung = "unhold_young", {
        words: m!("no longer holds the posts of young accounts"),
        past: m!("no longer holds {thing}"),
        by: m!("{moderator} no longer holds {thing}"),
        undo: Undo::Facts(Action::HoldYoung),
    };
    /// A message to the moderators was answered, if the last one was still this. The member may have read the answer.
    Answer(MessageText, Option<u64>) = "answer", {
        words: m!("answered a message"),
        past: m!("answered {thing}"),
        by: m!("{moderator} answered {thing}"),
        verdict: CLOSED,
        needs_no_reason: true,
        has_own_call: true,
    };
    /// A message to the moderators was closed without an answer.
    Close = "close", {
        words: m!("closed a message without an answer"),
        past: m!("closed {thing} without an answer"),
        by: m!("{moderator} closed {thing} without an answer"),
        told: |_| Some(t!("Your message was closed without an answer")),
        button: Some(m!("Close without an answer")),
        verdict: CLOSED,
        undo: Undo::Deed(|_| Some(Deed::Reopen)),
    };
}

//! The tools of moderators for a comment and for a tweet, on the pages of their own.

use super::erasing::erase_link;
use crate::markup::frame::Frame;
use crate::markup::moderation_tools::{ActionForm, may_moderate, tools};
use maud::{Markup, html};
use tidings_domain::comments::comment::Comment;
use tidings_domain::timelines::tweets::Tweet;
use tidings_domain::values::{Action, CommentAddress, NewsId, Thing, Withheld};

/// The tools for a comment.
pub fn comment_tools(frame: &Frame<'_>, news: NewsId, comment: &Comment) -> Markup {
    let thing = Thing::Comment(CommentAddress { news, comment: comment.id });
    let labels = ["Remove this comment", "Put this comment back"];
    let forms = html! {
        @if !comment.deleted && may_moderate(frame, comment.user_id) {
            (post_form(frame, &thing, comment.withheld.as_ref(), labels))
        }
        (erase_link(frame, &thing, comment.is_erased()))
    };
    tools(frame, "Moderate", &forms)
}

/// The tools for a tweet. One that announces a story goes and comes back with the story.
pub fn tweet_tools(frame: &Frame<'_>, tweet: &Tweet) -> Markup {
    let thing = Thing::Tweet(tweet.id);
    let labels = ["Remove this post", "Put this post back"];
    let forms = html! {
        @if may_moderate(frame, tweet.user_id) {
            (post_form(frame, &thing, tweet.withheld.as_ref(), labels))
        }
        (erase_link(frame, &thing, false))
    };
    tools(frame, "Moderate", &forms)
}

fn post_form(
    frame: &Frame<'_>,
    thing: &Thing,
    state: Option<&Withheld>,
    [remove, restore]: [&str; 2],
) -> Markup {
    let action = match state {
        Some(state) if state.is_removed() => (Action::Restore, restore),
        // Queues decide about what waits.
        Some(state) if state.is_held() => return html! {},
        Some(_) | None => (Action::Remove, remove),
    };
    ActionForm { actions: &[action], fields: html! {} }.render(frame, thing)
}

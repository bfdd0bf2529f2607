//! The buttons that vote on a story or a comment.

use super::fragments::{ContentPlaceholder, Fragment, Slots, placeholders, written};
use super::layout::Frame;
use crate::login_reason::LoginReason;
use maud::{Markup, PreEscaped, Render, html};
use std::cell::OnceCell;
use std::sync::LazyLock;
use tidings_domain::news::item::Direction;
use tidings_domain::values::ids::{CommentAddress, NewsId};

/// Takes the place of the buttons where voting is not possible.
pub const NO_BUTTONS: PreEscaped<&str> = PreEscaped("<span></span>");

/// What a pair of vote buttons votes on.
#[derive(Debug, Clone, Copy)]
pub enum VoteTarget {
    /// A story.
    News(NewsId),
    /// A comment.
    Comment(CommentAddress),
}

/// The fragments of the vote buttons of one page, which may have hundreds of them. Each
/// fragment is made when it is first needed.
#[derive(Default)]
pub struct VoteButtons {
    /// For visitors who are not logged in. The placeholder is the anchor.
    login: OnceCell<Fragment<ContentPlaceholder>>,
    news: OnceCell<Fragment<NewsVotePlaceholder>>,
    comments: OnceCell<Fragment<CommentVotePlaceholder>>,
}

placeholders! {
    /// What differs between the vote buttons of stories.
    enum NewsVotePlaceholder {
        News,
        Anchor,
    }
}

placeholders! {
    /// What differs between the vote buttons of comments.
    enum CommentVotePlaceholder {
        News,
        Comment,
        Anchor,
    }
}

/// The buttons to vote up and down, within the element with the id `anchor`.
/// They show the viewer's vote. Without a session they open the login page, which then
/// returns to the anchor.
pub fn vote_buttons(
    frame: &Frame<'_>,
    target: VoteTarget,
    my_vote: Option<Direction>,
    anchor: impl Render,
) -> impl Render {
    let VoteButtons { login, news, comments } = &frame.vote_buttons;
    written(move |html| match (my_vote, frame.viewer, target) {
        (Some(vote), ..) => voted(vote).render_to(html),
        (None, None, _) => {
            let target = login.get_or_init(|| {
                Fragment::new(|slots| {
                    html! {
                        form.vote action="/login" {
                            input type="hidden" name="next" value={ (frame.way_back) "#" (slots.at(ContentPlaceholder::Content)) };
                            input type="hidden" name="reason" value=(LoginReason::Vote.name());
                            button.up { span.hidden { "Vote up" } }
                            button.down { span.hidden { "Vote down" } }
                        }
                    }
                })
            });
            target.fill(html, |ContentPlaceholder::Content, html| anchor.render_to(html));
        }
        (None, Some(_), VoteTarget::News(id)) => {
            let target = news.get_or_init(|| {
                Fragment::new(|slots: &Slots<'_, NewsVotePlaceholder>| {
                    let id_field = html! {
                        input type="hidden" name="news_id" value=(slots.at(NewsVotePlaceholder::News));
                    };
                    let anchor = slots.at(NewsVotePlaceholder::Anchor);
                    vote_form(frame, ("/votenews", "/api/votenews"), &id_field, &anchor)
                })
            });
            target.fill(html, |placeholder, html| match placeholder {
                NewsVotePlaceholder::News => id.0.render_to(html),
                NewsVotePlaceholder::Anchor => anchor.render_to(html),
            });
        }
        (None, Some(_), VoteTarget::Comment(CommentAddress { news, comment })) => {
            let target = comments.get_or_init(|| {
                Fragment::new(|slots: &Slots<'_, CommentVotePlaceholder>| {
                    let (news, comment) =
                        (slots.at(CommentVotePlaceholder::News), slots.at(CommentVotePlaceholder::Comment));
                    let id_field = html! {
                        input type="hidden" name="comment_id" value={ (news) "-" (comment) };
                    };
                    let anchor = slots.at(CommentVotePlaceholder::Anchor);
                    vote_form(frame, ("/votecomment", "/api/votecomment"), &id_field, &anchor)
                })
            });
            target.fill(html, |placeholder, html| match placeholder {
                CommentVotePlaceholder::News => news.0.render_to(html),
                CommentVotePlaceholder::Comment => comment.0.render_to(html),
                CommentVotePlaceholder::Anchor => anchor.render_to(html),
            });
        }
    })
}

/// The form for viewers who can vote, sent to a page or, by the script, to the API.
fn vote_form(
    frame: &Frame<'_>,
    (action, api): (&str, &str),
    id_field: &Markup,
    anchor: &dyn Render,
) -> Markup {
    html! {
        form.vote method="post" action=(action) data-api=(api) {
            (id_field)
            (frame.secret_field())
            input type="hidden" name="next" value={ (frame.way_back) "#" (anchor) };
            (both_buttons(None))
        }
    }
}

/// The buttons for viewers who have voted.
fn voted(vote: Direction) -> PreEscaped<&'static str> {
    static VOTED: LazyLock<[String; 2]> = LazyLock::new(|| {
        [Direction::Up, Direction::Down]
            .map(|vote| html! { div.vote { (both_buttons(Some(vote))) } }.into_string())
    });
    let [up, down] = &*VOTED;
    PreEscaped(match vote {
        Direction::Up => up,
        Direction::Down => down,
    })
}

fn both_buttons(my_vote: Option<Direction>) -> Markup {
    html! {
        (vote_button(Direction::Up, my_vote))
        (vote_button(Direction::Down, my_vote))
    }
}

fn vote_button(direction: Direction, my_vote: Option<Direction>) -> Markup {
    let (name, label) = match direction {
        Direction::Up => ("up", "Vote up"),
        Direction::Down => ("down", "Vote down"),
    };
    let pressed = if my_vote == Some(direction) { "true" } else { "false" };
    html! {
        button class=(name) name="vote_type" value=(name) aria-pressed=(pressed) disabled[my_vote.is_some()] {
            span.hidden { (label) }
        }
    }
}

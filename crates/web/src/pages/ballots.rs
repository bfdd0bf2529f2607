//! The buttons that vote on a story or a comment.

use super::layout::{Frame, SECRET_FIELD};
use super::template::{HOLE, Template, written};
use maud::{Markup, PreEscaped, Render, html};
use std::cell::OnceCell;
use std::sync::LazyLock;
use tidings_domain::accounts::users::User;
use tidings_domain::news::item::Direction;
use tidings_domain::values::ids::{CommentAddress, NewsId};

/// Takes the place of the buttons where nobody can vote.
pub const NO_BUTTONS: PreEscaped<&str> = PreEscaped("<span></span>");

/// What a pair of vote buttons votes on.
#[derive(Debug, Clone, Copy)]
pub enum Ballot {
    /// A story.
    News(NewsId),
    /// A comment.
    Comment(CommentAddress),
}

/// The vote buttons of one page, except for what each pair votes on. There may be
/// hundreds: each kind is made when the first of it is shown.
#[derive(Default)]
pub struct Ballots {
    /// For people who are not logged in: a hole for the anchor.
    login: OnceCell<Template<1>>,
    /// For stories: holes for the story and the anchor.
    news: OnceCell<Template<2>>,
    /// For comments: holes for the story, the comment and the anchor.
    comments: OnceCell<Template<3>>,
}

/// The buttons to vote up and down, within the element with the id `anchor`.
/// They show the viewer's vote, or lead people who are not logged in to do so and back.
pub fn vote_buttons(
    frame: &Frame<'_>,
    ballot: Ballot,
    my_vote: Option<Direction>,
    anchor: impl Render,
) -> impl Render {
    let Ballots { login, news, comments } = &frame.ballots;
    written(move |html| match (my_vote, frame.viewer, ballot) {
        (Some(vote), ..) => voted(vote).render_to(html),
        (None, None, _) => {
            let ballot = login.get_or_init(|| {
                Template::new(html! {
                    form.vote action="/login" {
                        input type="hidden" name="next" value={ (frame.here.as_str()) "#" (HOLE) };
                        button.up { span.hidden { "Vote up" } }
                        button.down { span.hidden { "Vote down" } }
                    }
                })
            });
            ballot.filled([&anchor]).render_to(html);
        }
        (None, Some(viewer), Ballot::News(id)) => {
            let ballot = news.get_or_init(|| {
                let id_field = html! { input type="hidden" name="news_id" value=(HOLE); };
                Template::new(ballot_form(frame, viewer, "/votenews", "/api/votenews", &id_field))
            });
            ballot.filled([&id.0, &anchor]).render_to(html);
        }
        (None, Some(viewer), Ballot::Comment(CommentAddress { news, comment })) => {
            let ballot = comments.get_or_init(|| {
                let id_field = html! { input type="hidden" name="comment_id" value={ (HOLE) "-" (HOLE) }; };
                Template::new(ballot_form(frame, viewer, "/votecomment", "/api/votecomment", &id_field))
            });
            ballot.filled([&news.0, &comment.0, &anchor]).render_to(html);
        }
    })
}

/// The form for viewers who can vote: the holes of `id_field`, and one for the anchor.
fn ballot_form(frame: &Frame<'_>, viewer: &User, action: &str, api: &str, id_field: &Markup) -> Markup {
    html! {
        form.vote method="post" action=(action) data-api=(api) {
            (id_field)
            input type="hidden" name=(SECRET_FIELD) value=(viewer.apisecret.expose());
            input type="hidden" name="next" value={ (frame.here.as_str()) "#" (HOLE) };
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

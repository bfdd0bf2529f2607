//! The list of topics, and the forms for administrators.

use super::fields::{Field, RefusedForm, summary};
use super::layout::Frame;
use super::parts::{counted, empty_but, number};
use crate::App;
use crate::actions;
use crate::error::RequestError;
use crate::form::{Fields, Form, FromFields};
use crate::forms::topics::{MergeForm, RenameForm};
use crate::limits::LISTED_TOPICS;
use crate::local_path::LocalPath;
use crate::viewer::SignedFields;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::topic_moves::Move;
use tidings_domain::articles::topics::{self, TopicsOverview};
use tidings_domain::values::topic::{Topic, TopicChoice};

/// The page of all topics.
struct TopicsPage<'a> {
    overview: &'a TopicsOverview,
    /// Whether a move that was just requested is still running.
    moving: bool,
}

impl TopicsPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let content = html! {
            h1 { "Topics" }
            @if self.moving {
                p.notice role="status" { "The stories are being moved. The move is listed here until it is finished." }
            }
            p.hint {
                "Combine topics in the address of a list: " code { "/topic/rust+databases" }
                " shows the stories in both, " code { "/topic/rust,go" } " those in either."
            }
            (self.moves(frame))
            @if self.overview.topics.is_empty() {
                (empty_but("No topics yet. Topics appear when someone uses them.", ("/submit", "Submit a story with a topic")))
            } @else {
                ul.topic-list role="list" {
                    @for line in self.overview.topics.iter().take(LISTED_TOPICS) {
                        li {
                            (topic_link(&line.topic)) " "
                            span.count { (counted(line.articles, "story", "stories")) }
                        }
                    }
                }
                @if self.overview.topics.len() > LISTED_TOPICS {
                    p.hint { "These are the largest " (number(LISTED_TOPICS)) " topics." }
                }
            }
        };
        frame.page("Topics", &content)
    }

    /// Moves that are not finished, for administrators.
    fn moves(&self, frame: &Frame<'_>) -> Markup {
        html! {
            @if is_admin(frame) && !self.overview.moves.is_empty() {
                h2 { "Unfinished moves" }
                ul {
                    @for (from, to) in &self.overview.moves {
                        li {
                            form.inline method="post" action="/mergetopic" {
                                (frame.secret_field())
                                input type="hidden" name="topic" value=(from);
                                input type="hidden" name="into" value=(to);
                                (from) " to " (to) " "
                                button.button.small { "Continue" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn is_admin(frame: &Frame<'_>) -> bool {
    frame.viewer.is_some_and(|viewer| viewer.flags.admin)
}

/// A topic's name as a link to its articles.
#[must_use]
pub fn topic_link(topic: &Topic) -> Markup {
    html! { a.topic href={ "/topic/" (topic) } rel="tag" { (topic) } }
}

/// The address of a list of topics.
#[must_use]
pub fn choice_address(topics: &TopicChoice) -> String {
    format!("/topic/{topics}")
}

/// The forms that rename a topic and merge it into another, for administrators.
#[must_use]
pub fn admin_forms(frame: &Frame<'_>, topic: &Topic) -> Markup {
    html! {
        @if is_admin(frame) {
            details.tools {
                summary { "Rename or merge this topic" }
                (move_form(frame, topic.as_str(), Move::Rename, None))
                (move_form(frame, topic.as_str(), Move::Merge, None))
            }
        }
    }
}

/// The form for a move of a topic, with what was typed into it if that was refused.
fn move_form(frame: &Frame<'_>, topic: &str, kind: Move, typed: Option<(&str, &RefusedForm)>) -> Markup {
    let (action, button) = match kind {
        Move::Rename => ("/renametopic", "Rename"),
        Move::Merge => ("/mergetopic", "Merge"),
    };
    let (name, label) = match kind {
        Move::Rename => ("name", "New name"),
        Move::Merge => ("into", "Topic to merge it into"),
    };
    let (value, refused) = typed.unzip();
    let field = Field::new(name, label).value(value.unwrap_or_default());
    html! {
        form.form.narrow method="post" action=(action) {
            (frame.secret_field())
            input type="hidden" name="topic" value=(topic);
            (field.with("autocomplete", "off").required().exact().input(refused))
            button.button { (button) }
        }
    }
}

/// The query of the page of topics.
pub struct TopicsQuery {
    /// Whether a move that was just requested is still running.
    moving: bool,
}

impl FromFields for TopicsQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { moving: fields.get("moving").is_some() })
    }
}

/// GET /topics.
pub async fn topics(
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
    Form(query): Form<TopicsQuery>,
) -> Result<Markup, RequestError> {
    let overview = topics::all(&mut visit).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(TopicsPage { overview: &overview, moving: query.moving }.render(&frame))
}

/// POST /renametopic: topic, name, apisecret.
pub async fn rename(
    State(app): State<App>,
    here: LocalPath,
    form: SignedFields,
) -> Result<Response, RequestError> {
    let moved = match form.fields.read::<RenameForm>() {
        Ok(RenameForm { topic, name }) => {
            actions::move_topic(&app, form.user.clone(), Move::Rename, topic, name).await
        }
        Err(failure) => Err(failure),
    };
    answer_to_move(&app, &here, &form, (Move::Rename, moved))
}

/// POST /mergetopic: topic, into, apisecret.
pub async fn merge(
    State(app): State<App>,
    here: LocalPath,
    form: SignedFields,
) -> Result<Response, RequestError> {
    let moved = match form.fields.read::<MergeForm>() {
        Ok(MergeForm { topic, into }) => {
            actions::move_topic(&app, form.user.clone(), Move::Merge, topic, into).await
        }
        Err(failure) => Err(failure),
    };
    answer_to_move(&app, &here, &form, (Move::Merge, moved))
}

/// Redirects, or shows the form again.
fn answer_to_move(
    app: &App,
    here: &LocalPath,
    form: &SignedFields,
    (kind, moved): (Move, Result<actions::Moved, RequestError>),
) -> Result<Response, RequestError> {
    let failure = match moved {
        Ok(moved) => return Ok(redirect_after_move(moved).into_response()),
        Err(failure) => failure,
    };
    // Only administrators have this form, and only for a topic.
    let topic = Topic::parse("topic", form.fields.text("topic"));
    let (true, Ok(topic)) = (form.user.flags.admin, topic) else {
        return Err(failure);
    };
    let (heading, name) = match kind {
        Move::Rename => ("Rename a topic", "name"),
        Move::Merge => ("Merge a topic", "into"),
    };
    let refused = RefusedForm::from_failure(failure)?.beside(&[name]);
    let frame = Frame::for_user(app, here, &form.user);
    let content = html! {
        h1 { (heading) }
        (summary(Some(&refused)))
        p { "The topic is " (topic_link(&topic)) "." }
        (move_form(&frame, topic.as_str(), kind, Some((form.fields.text(name), &refused))))
    };
    Ok(refused.response(frame.page(heading, &content)))
}

/// Redirects to the new topic, or to the list of topics if the move is still running.
fn redirect_after_move(moved: actions::Moved) -> Redirect {
    Redirect::to(&match moved.articles {
        Some(_) => choice_address(&moved.to.into()),
        None => "/topics?moving=yes".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, user};
    use super::*;
    use tidings_domain::articles::topics::TopicLine;

    #[test]
    fn topics_are_counted_and_unfinished_moves_are_for_administrators() {
        let overview = TopicsOverview {
            topics: vec![TopicLine { topic: Topic::parse("topic", "rust").unwrap(), articles: 1 }],
            moves: [("old".to_owned(), "rust".to_owned())].into(),
        };
        let page = TopicsPage { overview: &overview, moving: false };
        for (flags, expected) in [("", false), ("a", true)] {
            let viewer = user("2", "bob", flags);
            let html = framed(Some(&viewer), |frame| page.render(frame)).into_string();
            assert!(html.contains(r#"<a class="topic" href="/topic/rust" rel="tag">rust</a>"#), "{html}");
            assert!(html.contains("1 story<"), "{html}");
            assert_eq!(html.contains(r#"name="topic" value="old""#), expected, "{html}");
        }
    }
}

//! The list of topics, what a topic's page says about it, and the forms of topics.

use super::calls::TopicMovedResponse;
use super::form::{DescribeForm, MergeForm, RenameForm, TopicForm};
use crate::App;
use crate::error::Result;
use crate::features::action::{Action, ActionEntry, SentForm, begin_long};
use crate::limits::{LISTED_TOPIC_BYTES, LISTED_TOPICS, PAGE_LIST_BYTES};
use crate::markup::addresses::{FOLLOWED, MUTES, choice_address, described, list_address, topic_link};
use crate::markup::parts::{empty_but, fitting, small_form};
use crate::markup::{Field, Frame, Notice, Page};
use crate::route::{LONG, LoginReason, SHORT};
use axum::response::Redirect;
use maud::{Markup, Render, html};
use tidings_domain::accounts::reader::Reader;
use tidings_domain::articles::lists::ArticleOrder;
use tidings_domain::articles::topic_choices::{self, Stance};
use tidings_domain::articles::topic_moves::{self, Move};
use tidings_domain::articles::topics::{self, TopicLine, TopicsOverview};
use tidings_domain::values::{MAX_LISTED_TOPICS, MAX_TOPIC_SENTENCE, Topic, TopicChoice, size};
use tidings_domain::{Error, User};
use tidings_keyspace::Within;
use tidings_language::{Phrase, m, n, p, t};

/// The page of all topics.
fn topics_page(frame: &Frame<'_>, overview: &TopicsOverview) -> Markup {
    let content = html! {
        p.hint {
            (t!(
                "Open a topic to follow, mute or combine it. Or see the {best} stories of all topics, {past} stories, or a {random}.",
                best = html! { a href="/best" { (t!("stories" => "best")) } },
                past = html! { a href="/past" { (t!("stories" => "past")) } },
                random = html! { a href="/random" { (t!("random one")) } },
            ))
        }
        @if frame.viewer.is_some() { p { a.action href=(FOLLOWED) { (t!("Stories in your topics")) } } }
        (moves(frame, overview))
        @if overview.topics.is_empty() {
            @let step = ("/submit", t!("Submit a story with a topic"));
            (empty_but(t!("No topics yet. Topics appear when someone uses them."), step))
        } @else {
            @let topics = &overview.topics;
            @let topics = topics.get(..LISTED_TOPICS).unwrap_or(topics);
            @let shown = fitting(topics, PAGE_LIST_BYTES, listed_topic_bytes);
            ul.topic-list role="list" {
                @for line in topics.iter().take(shown) {
                    li {
                        (topic_link(&line.topic)) " "
                        span.count { (n!(line.articles, "{count} story", "{count} stories")) }
                        @if !line.sentence.is_empty() { p.sentence { bdi { (line.sentence) } } }
                    }
                }
            }
            @if overview.topics.len() > shown {
                p.hint {
                    (n!(shown, "These are the largest {count} topics.", "These are the largest {count} topics."))
                }
            }
        }
    };
    frame.headed(t!("Topics"), &content)
}

/// Moves that are not finished, for administrators.
fn moves(frame: &Frame<'_>, overview: &TopicsOverview) -> Markup {
    html! {
        @if is_admin(frame) && !overview.moves.is_empty() {
            h2 { (t!("Unfinished moves")) }
            ul {
                @for (from, to) in &overview.moves {
                    li {
                        form.inline method="post" action="/mergetopic" {
                            (frame.signed_fields())
                            input type="hidden" name="topic" value=(from);
                            input type="hidden" name="into" value=(to);
                            (t!("{from} to {to}", from, to)) " "
                            button.button.small { (t!("Continue")) }
                        }
                    }
                }
            }
        }
    }
}
fn is_admin(frame: &Frame<'_>) -> bool {
    frame.viewer.is_some_and(|viewer| viewer.is_administrator())
}

/// The most bytes of a topic on the page of topics.
fn listed_topic_bytes(line: &TopicLine) -> usize {
    LISTED_TOPIC_BYTES + size::escaped_bytes(&line.sentence)
}

/// The sentences that describe the topics of a list.
pub fn sentences(topics: &TopicChoice, sentences: &[String]) -> Markup {
    let is_one = topics.single().is_some();
    html! {
        @for (topic, sentence) in topics.topics().iter().zip(sentences).filter(|(_, text)| !text.is_empty()) {
            p.sentence {
                @let sentence = html! { bdi { (sentence) } };
                @if is_one { (sentence) }
                @else { (t!("{name}: {value}", name = topic_link(topic), value = sentence)) }
            }
        }
    }
}

/// The forms with which a reader follows or mutes a topic, or ends that.
pub fn stance_forms(frame: &Frame<'_>, topic: &Topic, reader: &Reader) -> Markup {
    let form = |action: &str, text: &str| small_form(frame, action, &[("topic", topic.as_str())], text);
    html! {
        div.stance {
            @if reader.followed.contains(topic) {
                (form("/unfollowtopic", t!("Unfollow this topic")))
            } @else {
                (form("/followtopic", t!("Follow this topic")))
            }
            @if reader.has_muted_topic(topic) {
                (form("/unmutetopic", t!("Unmute this topic")))
            } @else {
                (form("/mutetopic", t!("Mute this topic")))
            }
        }
        @if reader.has_muted_topic(topic) {
            p.hint {
                (t!("You have muted this topic: its stories are hidden in your lists.")) " "
                a href=(MUTES) { (t!("Everything you have muted")) }
            }
        }
    }
}

/// The topics that a reader follows and has muted.
pub fn followed_topics(reader: Option<&Reader>) -> Markup {
    let list = |label: &str, topics: &[Topic]| {
        html! {
            @if !topics.is_empty() {
                p.chosen-topics { (label) @for topic in topics { " " (topic_link(topic)) } }
            }
        }
    };
    html! {
        @if let Some(reader) = reader {
            (list(t!("You follow"), &reader.followed))
            (list(t!("You have muted"), &reader.muted_topics))
        }
    }
}

/// The links that add another topic to a list, or remove one.
pub fn combinations(topics: &TopicChoice, others: &[Topic], order: ArticleOrder) -> Markup {
    let link = |choice: &TopicChoice, text: Phrase<'_>| {
        let label = t!("{name}: {value}", name = text.clone(), value = described(choice));
        html! { a href=(list_address(Some(choice), order)) aria-label=(label) { (text) } }
    };
    let is_all = topics.within() == Within::All;
    let within = |way, text| {
        let others = TopicChoice::of(topics.topics().to_vec(), way);
        html! { @if let Some(others) = others { (link(&others, text)) } }
    };
    let is_several = topics.single().is_none();
    html! {
        @if is_several {
            p.combined {
                @if is_all {
                    @let others = within(Within::Any, p!("in any of them"));
                    (t!("Stories in all of these topics. Show those {others}.", others))
                } @else {
                    @let others = within(Within::All, p!("in all of them"));
                    (t!("Stories in any of these topics. Show those {others}.", others))
                }
                @for topic in topics.topics() {
                    @if let Some(others) = topics.without(topic) {
                        "  " (link(&others, t!("without {topic}", topic = topic.as_str())))
                    }
                }
            }
        }
        @if others.first().is_some_and(|other| topics.with(other, Within::All).is_some()) {
            details.tools.combine {
                summary { (t!("Combine with another topic")) }
                p.hint { (t!("Any: stories in at least one of the topics. All: only stories in each of them.")) }
                ul.topic-list role="list" {
                    @for other in others {
                        li {
                            span { (other) }
                            span.count {
                                @let ways = [(Within::Any, p!("topics" => "any")), (Within::All, p!("topics" => "all"))];
                                @for (way, text) in ways {
                                    @if let Some(choice) = topics.with(other, way) { " " (link(&choice, text)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The forms that describe a topic, rename it and merge it into another, for administrators.
pub fn admin_forms(frame: &Frame<'_>, topic: &Topic, sentence: &str) -> Markup {
    html! {
        @if is_admin(frame) {
            details.tools {
                summary { (t!("Rename or merge this topic")) }
                (move_form(frame, topic, Move::Rename))
                (move_form(frame, topic, Move::Merge))
            }
            details.tools {
                summary { (t!("Describe this topic")) }
                (describe_form(frame, topic, sentence))
            }
        }
    }
}

/// The form for the sentence that describes a topic.
fn describe_form(frame: &Frame<'_>, topic: &Topic, sentence: &str) -> Markup {
    let hint = n!(
        MAX_TOPIC_SENTENCE,
        "At most {count} character. Leave it empty to remove the description.",
        "At most {count} characters. Leave it empty to remove the description.",
    )
    .render();
    let field = Field::new("about", t!("What it is about, in one sentence")).value(sentence).hint(hint);
    html! {
        form.form method="post" action="/describetopic" {
            (frame.signed_fields())
            (frame.form_page())
            input type="hidden" name="topic" value=(topic);
            (field.with("dir", "auto").with("autocomplete", "off").input())
            button.button { (t!("Save")) }
        }
    }
}

/// The form for a move of a topic.
fn move_form(frame: &Frame<'_>, topic: &Topic, kind: Move) -> Markup {
    let (action, button) = match kind {
        Move::Rename => ("/renametopic", t!("button" => "Rename")),
        Move::Merge => ("/mergetopic", t!("button" => "Merge")),
    };
    let (name, label) = match kind {
        Move::Rename => ("name", t!("New name")),
        Move::Merge => ("into", t!("Topic to merge it into")),
    };
    let field = Field::new(name, label).with("autocomplete", "off").required().exact();
    html! {
        form.form.narrow method="post" action=(action) {
            (frame.signed_fields())
            (frame.form_page())
            input type="hidden" name="topic" value=(topic);
            (field.input())
            button.button { (button) }
        }
    }
}

/// GET /topics.
pub async fn topics(Page { app, mut visit, here, .. }: Page) -> Result<Markup> {
    let overview = topics::overview(&mut visit, MAX_LISTED_TOPICS).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    Ok(topics_page(&frame, &overview))
}

/// The actions on topics.
pub fn actions() -> Vec<ActionEntry> {
    let choose = |path, summary, stance| {
        Action::setting(path, summary, move |app, by, form: &TopicForm| {
            Box::pin(topic_choices::choose(&app.site, app.moment(), by, stance, &form.topic))
        })
    };
    let leave = |path, summary, stance| {
        Action::setting(path, summary, move |app, by, form: &TopicForm| {
            Box::pin(topic_choices::leave(&app.site, app.moment(), by, stance, &form.topic))
        })
    };
    let follow = SHORT.asking(LoginReason::Follow);
    let mute = m!("Mute a topic: its stories leave the caller's lists.");
    vec![
        choose("/followtopic", m!("Follow a topic."), Stance::Followed).back(follow),
        leave("/unfollowtopic", m!("Stop following a topic."), Stance::Followed).back(follow),
        choose("/mutetopic", mute, Stance::Muted).back(SHORT),
        leave("/unmutetopic", m!("Stop muting a topic."), Stance::Muted).back(SHORT),
        Action::setting(
            "/describetopic",
            m!("Describe a topic in a sentence (administrators only)."),
            |app, by, form: &DescribeForm| {
                Box::pin(topics::describe(&app.site, app.now(), by.user, &form.topic, form.about.as_ref()))
            },
        )
        .then(LONG, |form, ()| choice_address(&form.topic.clone().into())),
        Action::once(
            "/renametopic",
            m!("Rename a topic (administrators only)."),
            |app, by, form: &RenameForm| {
                Box::pin(move_topic(app, by.user, Move::Rename, (&form.topic, &form.name)))
            },
        )
        .answering(async |_, articles| Ok(TopicMovedResponse::from(articles)))
        .page(SHORT, async |sent, form, articles| Ok(redirect_after_move(&sent, form.name, articles))),
        Action::once(
            "/mergetopic",
            m!("Merge a topic into another one (administrators only)."),
            |app, by, form: &MergeForm| {
                Box::pin(move_topic(app, by.user, Move::Merge, (&form.topic, &form.into)))
            },
        )
        .answering(async |_, articles| Ok(TopicMovedResponse::from(articles)))
        .form_page("/topics")
        .page(SHORT, async |sent, form, articles| Ok(redirect_after_move(&sent, form.into, articles))),
    ]
}

/// Redirects to the new topic, or to the list of topics if the move is still running.
fn redirect_after_move(sent: &SentForm, to: Topic, articles: Option<u64>) -> Redirect {
    match articles {
        Some(_) => Redirect::to(&choice_address(&to.into())),
        None => Notice::MovingTopic.redirect(&sent.app, &sent.form.user, "/topics"),
    }
}

/// Renames or merges a topic. Returns how many articles were moved; `None` while the move is still running. The
/// move of a large topic continues after the response.
pub(crate) async fn move_topic(
    app: &App,
    user: &User,
    kind: Move,
    (from, to): (&Topic, &Topic),
) -> Result<Option<u64>> {
    let (site, now, user, from, to) = (app.site.clone(), app.now(), user.clone(), from.clone(), to.clone());
    begin_long(async move {
        let moved = topic_moves::move_topic(&site, now, &user, kind, &from, &to).await;
        match &moved {
            Ok(articles) => tracing::info!(%from, %to, articles, "topic moved"),
            Err(Error::Refused(_)) => {}
            Err(error) => tracing::warn!(%from, %to, %error, "topic not moved"),
        }
        moved
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_topics_are_added_and_removed_by_links() {
        let others = ["go", "c-3"].map(|name| Topic::parse("topic", name).unwrap());
        for (choice, links, none) in [
            ("rust", &["/topic/go,rust", "/topic/go+rust", "/topic/c-3,rust"][..], "without"),
            (
                "rust+zig",
                &["/topic/rust,zig", "/topic/rust", "/topic/zig", "/topic/go+rust+zig"],
                "any of these",
            ),
            ("rust,zig", &["/topic/rust+zig", "/topic/go,rust,zig", "/topic/go+rust+zig"], "all of these"),
            ("aa+bb+cc+dd+ee", &["/topic/aa+bb+cc+dd", "/topic/aa,bb,cc,dd,ee"], "Combine"),
        ] {
            let html = combinations(&choice.parse().unwrap(), &others, ArticleOrder::Score).into_string();
            let has = |link: &&str| html.contains(&format!(r#"href="{link}""#));
            assert!(links.iter().all(has) && !html.contains(none), "{choice}: {html}");
        }
    }
}

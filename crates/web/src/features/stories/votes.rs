//! Votes on stories and comments. A browser comes back to the button. Somebody who had to log in first is
//! asked whether to vote.

use super::form::NewsVoteForm;
use super::marks::story_on_page;
use crate::error::{RequestError, Result};
use crate::features::action::{Action, ActionEntry, SentForm};
use crate::features::comments::calls::CommentVotedResponse;
use crate::features::comments::form::CommentVoteForm;
use crate::markup::addresses::{comment_address, news_address};
use crate::markup::parts::deleted_user;
use crate::markup::{Member, Page};
use crate::request::{Next, PathOf};
use crate::route::{LoginReason, SHORT};
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use tidings_domain::accounts::seen::ShownIn;
use tidings_domain::comments::outline::ThreadLines;
use tidings_domain::comments::threads;
use tidings_domain::news::lists;
use tidings_domain::values::{CommentAddress, CommentOrder, NewsId, Thing};
use tidings_domain::{Error, Refusal, User, Visit, votes};
use tidings_language::{Phrase, m, t};

/// The question whether to vote for a story or a comment.
struct Question {
    /// The question; `None` if there is a vote already, or nothing to vote on.
    words: Option<Phrase<'static>>,
    /// Where the form is sent, and the field with the id.
    form: (&'static str, &'static str),
    /// The address of the story or the comment.
    back: String,
}

impl Question {
    async fn about_story(visit: &mut Visit, id: NewsId) -> Result<Self> {
        let line = lists::get(visit, id).await?;
        let can_vote = line.my_vote.is_none() && visit.perspective().may_act_on(&line);
        let words = can_vote.then(|| t!("Vote for “{title}” now?", title = line.news.title.clone()));
        Ok(Self { words, form: ("/votenews", "news_id"), back: news_address(id) })
    }

    async fn about_comment(visit: &mut Visit, user: &User, address: CommentAddress) -> Result<Self> {
        let (CommentAddress { news, comment }, order) = (address, CommentOrder::Score.into());
        let position = |lines: &ThreadLines| lines.position(comment);
        let wanted = |lines: &ThreadLines| position(lines).into_iter().collect();
        let thread = threads::get(visit, news, order, wanted).await?;
        let line = thread.line_of(comment).ok_or(Refusal::NoSuchComment)?;
        let can_vote =
            line.comment.vote_of(user.id).is_none() && thread.perspective().sees(&line, ShownIn::List);
        let author = line.username.unwrap_or(deleted_user()).to_owned();
        let words = can_vote.then(|| t!("Vote for the comment by {author} now?", author));
        Ok(Self { words, form: ("/votecomment", "comment_id"), back: comment_address(address) })
    }
}

/// GET /vote/:kind/:id: asks whether to vote a story or a comment up. The vote buttons of visitors lead here
/// after the login. A link alone votes for nobody.
pub async fn ask(PathOf((kind, id)): PathOf<(String, String)>, mut page: Page<Member>) -> Result<Response> {
    let Question { words, form: (action, name), back } = match Thing::parse(&kind, &id) {
        Ok(Thing::Story(id)) => Question::about_story(&mut page.visit, id).await?,
        Ok(Thing::Comment(address)) => Question::about_comment(&mut page.visit, &page.user, address).await?,
        _ => return Err(RequestError::NotFound),
    };
    let Some(words) = words else { return Ok(Redirect::to(&back).into_response()) };
    let frame = page.frame().await?;
    let content = html! {
        h1 dir="auto" { (words) }
        form.form method="post" action=(action) {
            input type="hidden" name=(name) value=(id);
            input type="hidden" name="vote_type" value="up";
            input type="hidden" name="next" value=(back);
            (frame.signed_fields())
            div { button.button { (t!("button" => "Vote")) } }
        }
        p { a.action href=(back) { (t!("Not now")) } }
    };
    Ok(frame.page(t!("heading" => "Vote"), &content).into_response())
}

/// Votes on stories.
pub fn actions_on_news() -> Vec<ActionEntry> {
    vec![
        Action::setting("/votenews", m!("Vote on a story."), |app, by, form: &NewsVoteForm| {
            Box::pin(async move {
                match form.vote_type {
                    Some(direction) => {
                        votes::vote_news(&app.site, app.now(), by, form.news_id, direction).await
                    }
                    None => votes::take_back_news_vote(&app.site, app.now(), by, form.news_id).await,
                }
            })
        })
        .named_in_address()
        .then(SHORT.asking(LoginReason::Vote), |form, next| story_on_page(form.news_id, &next)),
    ]
}

/// Votes on comments.
pub fn actions_on_comments() -> Vec<ActionEntry> {
    vec![
        Action::setting("/votecomment", m!("Vote on a comment."), |app, by, form: &CommentVoteForm| {
            Box::pin(async move {
                let (site, now, address) = (&app.site, app.now(), form.comment_id);
                match form.vote_type {
                    Some(direction) => votes::vote_comment(site, now, by, address, direction).await?,
                    None => votes::take_back_comment_vote(site, now, by, address).await?,
                }
                Ok::<_, Error>(address)
            })
        })
        .answering(async |_, comment| Ok(CommentVotedResponse::from(comment)))
        .named_in_address()
        .page(SHORT.asking(LoginReason::Vote), comment_in_thread),
    ]
}

/// Redirects to the comment. The vote may have moved it to another page of its thread.
async fn comment_in_thread(sent: SentForm, _: CommentVoteForm, address: CommentAddress) -> Result<Redirect> {
    let Next { next } = sent.form.fields.read()?;
    let is_in_thread = next.path() == news_address(address.news);
    let CommentAddress { news, comment } = address;
    let on_page = || format!("{}#{news}-{comment}", next.way_back());
    Ok(Redirect::to(&if is_in_thread { comment_address(address) } else { on_page() }))
}

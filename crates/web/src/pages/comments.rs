//! Writing, editing and deleting comments; a user's comments.

use super::RefusedForm;
use super::comment_item::{CommentContext, comment_item};
use super::layout::Frame;
use super::parts::{alert, news_address, paging};
use super::thread::{address_of, thread_link, title_link};
use super::user_address;
use crate::App;
use crate::actions::{Posted, post_or_edit};
use crate::error::RequestError;
use crate::forms::id_or_none;
use crate::forms::news::NewsIdForm;
use crate::limits::USER_COMMENTS;
use crate::local_path::LocalPath;
use crate::path::{PathOf, Start};
use crate::viewer::{SignedFields, SignedIn};
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::Refusal;
use tidings_domain::accounts::users;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::comments::lists::{self, UserComment};
use tidings_domain::comments::outline::{ThreadLine, ThreadLines};
use tidings_domain::comments::threads::{self, Thread};
use tidings_domain::values::ids::{CommentId, NewsId};

/// The form that writes or edits a comment.
pub struct CommentEditor<'a> {
    news: NewsId,
    /// The comment being edited; `None` for a new one.
    edited: Option<CommentId>,
    /// The comment being replied to; `None` for a comment on the story itself.
    parent: Option<CommentId>,
    text: &'a str,
    label: &'a str,
    button: &'a str,
}

impl<'a> CommentEditor<'a> {
    /// The form for a new comment.
    #[must_use]
    pub fn new(news: NewsId, parent: Option<CommentId>, label: &'a str, button: &'a str) -> Self {
        Self { news, edited: None, parent, text: "", label, button }
    }

    /// The form, without the message of a refusal. A short one leaves room
    /// for what is below it.
    #[must_use]
    pub fn render(&self, frame: &Frame<'_>, short: bool) -> Markup {
        let id_or_none = |id: Option<CommentId>| id.map_or_else(|| "-1".to_owned(), |id| id.to_string());
        html! {
            form.form method="post" action="/postcomment" {
                input type="hidden" name="news_id" value=(self.news);
                input type="hidden" name="comment_id" value=(id_or_none(self.edited));
                input type="hidden" name="parent_id" value=(id_or_none(self.parent));
                (frame.secret_field())
                div {
                    label for="comment" { (self.label) }
                    // Browsers drop a line break right after the tag.
                    textarea.short[short] #comment name="comment" required[self.edited.is_none()] {
                        "\n" (self.text)
                    }
                }
                button.button { (self.button) }
            }
        }
    }
}

/// The page for replying to a comment or editing one.
struct CommentFormPage<'a> {
    heading: &'a str,
    thread: &'a Thread,
    /// The comment being replied to or edited; `None` for a comment on the story.
    about: Option<ThreadLine<'a>>,
    /// The form; `None` for viewers who may only delete.
    form: Option<CommentEditor<'a>>,
    /// The comment that can be deleted here.
    deletable: Option<CommentId>,
    message: Option<&'a str>,
}

impl CommentFormPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let place = CommentContext::alone(news);
        let content = html! {
            h1 { (self.heading) }
            (alert(self.message))
            p.about-what { "On " (thread_link(news)) }
            @if let Some(line) = self.about {
                ol.thread role="list" {
                    (comment_item(frame, place, line, 0))
                }
            }
            @if let Some(form) = &self.form { (form.render(frame, false)) }
            @if let Some(id) = self.deletable { (self.deletion(frame, id)) }
        };
        frame.page(self.heading, &content)
    }

    fn deletion(&self, frame: &Frame<'_>, id: CommentId) -> Markup {
        html! {
            h2 #delete { "Delete this comment" }
            form.form method="post" action="/postcomment" {
                input type="hidden" name="news_id" value=(self.thread.news.news.id);
                input type="hidden" name="comment_id" value=(id);
                input type="hidden" name="parent_id" value="-1";
                input type="hidden" name="comment" value="";
                (frame.secret_field())
                p.hint { "Its text will no longer be shown. Replies to it stay." }
                button.button.grave { "Delete comment" }
            }
        }
    }
}

/// The thread, with one comment of it.
async fn thread_with(
    visit: &mut Visit,
    news: NewsId,
    comment: Option<CommentId>,
) -> Result<Thread, RequestError> {
    let position = |lines: &ThreadLines| lines.position(comment?);
    Ok(threads::get(visit, news, |lines| position(lines).into_iter().collect()).await?)
}

fn line_of(thread: &Thread, id: CommentId) -> Result<ThreadLine<'_>, RequestError> {
    Ok(thread.line_of(id).ok_or(Refusal::NoSuchComment)?)
}

/// The page for replying to a comment, or to the story if there is none.
fn reply_page(
    frame: &Frame<'_>,
    thread: &Thread,
    parent: Option<CommentId>,
    text: &str,
    message: Option<&str>,
) -> Result<Markup, RequestError> {
    let about = parent.map(|parent| line_of(thread, parent)).transpose()?;
    let (heading, label) =
        if parent.is_some() { ("Reply", "Your reply") } else { ("Comment", "Your comment") };
    let form = CommentEditor { text, ..CommentEditor::new(thread.news.news.id, parent, label, "Post") };
    let page = CommentFormPage { heading, thread, about, form: Some(form), deletable: None, message };
    Ok(page.render(frame))
}

/// The page for editing a comment, with the given text or its own.
fn edit_page(
    frame: &Frame<'_>,
    thread: &Thread,
    id: CommentId,
    text: Option<&str>,
    message: Option<&str>,
) -> Result<Markup, RequestError> {
    let viewer = frame.viewer.ok_or(RequestError::LoginRequired)?;
    let about = line_of(thread, id)?;
    let comment = about.comment;
    let window = frame.rules.limits.comment_edit_seconds;
    if comment.deleted {
        return Err(Refusal::CommentDeleted.into());
    }
    let may_edit = comment.may_edit(viewer, frame.now, window);
    let may_delete = comment.may_delete(viewer, frame.now, window);
    if let (Err(refusal), Err(_)) = (&may_edit, &may_delete) {
        return Err(refusal.clone().into());
    }
    let form = may_edit.is_ok().then(|| CommentEditor {
        news: thread.news.news.id,
        edited: Some(id),
        parent: comment.parent_id,
        text: text.unwrap_or(&comment.body),
        label: "Your comment",
        button: "Save",
    });
    let heading = if form.is_some() { "Edit comment" } else { "Delete comment" };
    let deletable = may_delete.is_ok().then_some(id);
    let about = if form.is_some() { None } else { Some(about) };
    Ok(CommentFormPage { heading, thread, about, form, deletable, message }.render(frame))
}

/// GET /reply/:news/:comment.
pub async fn reply(
    PathOf((news, parent)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let thread = thread_with(&mut visit, news, Some(parent)).await?;
    if line_of(&thread, parent)?.comment.deleted {
        return Err(Refusal::CommentDeleted.into());
    }
    if thread.news.news.deleted {
        return Err(Refusal::NewsDeleted.into());
    }
    reply_page(&Frame::for_user(&app, &here, &user), &thread, Some(parent), "", None)
}

/// GET /editcomment/:news/:comment.
pub async fn edit(
    PathOf((news, id)): PathOf<(NewsId, CommentId)>,
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let thread = thread_with(&mut visit, news, Some(id)).await?;
    edit_page(&Frame::for_user(&app, &here, &user), &thread, id, None, None)
}

/// POST /postcomment: news_id, comment_id (-1 = new), parent_id, comment, apisecret.
pub async fn post(State(app): State<App>, mut form: SignedFields) -> Result<Response, RequestError> {
    let failure = match try_post(&app, &form).await {
        Ok(posted) => {
            let address = address_of(&mut form.visit, posted.address, None).await;
            return Ok(Redirect::to(&address).into_response());
        }
        Err(failure) => failure,
    };
    let refused = RefusedForm::from_failure(failure.clone())?;
    let NewsIdForm { news_id: news } = form.fields.read()?;
    let edited = id_or_none::<CommentId>(&form.fields, "comment_id")?;
    let parent: Option<CommentId> =
        if edited.is_none() { id_or_none(&form.fields, "parent_id")? } else { None };
    let thread = thread_with(&mut form.visit, news, edited.or(parent)).await?;
    let (text, message) = (form.fields.text("comment"), Some(refused.message.as_str()));
    // Buttons on the page return to the page with the form.
    let page = if let Some(edited) = edited {
        let here = LocalPath::parse(&format!("/editcomment/{news}/{edited}"));
        edit_page(&Frame::for_user(&app, &here, &form.user), &thread, edited, Some(text), message)
    } else {
        let here = LocalPath::parse(
            &parent.map_or_else(|| news_address(news), |parent| format!("/reply/{news}/{parent}")),
        );
        reply_page(&Frame::for_user(&app, &here, &form.user), &thread, parent, text, message)
    };
    // If the form cannot be shown again, respond with the first failure.
    page.map(|page| refused.response(page)).map_err(|_| failure)
}

async fn try_post(app: &App, form: &SignedFields) -> Result<Posted, RequestError> {
    post_or_edit(app, form.actor(), &form.fields.read()?).await
}

/// A user's comments, each with its story.
fn comments_with_news(frame: &Frame<'_>, comments: &[UserComment]) -> Markup {
    html! {
        @for comment in comments {
            @let UserComment { news_id, title, .. } = comment;
            p.about-what { "On " (title_link(&news_address(*news_id), title.as_deref())) }
            ol.thread role="list" {
                @let place = CommentContext { news: *news_id, news_deleted: title.is_none(), among_others: true };
                (comment_item(frame, place, comment.line(), 0))
            }
        }
    }
}

/// GET /usercomments/:name/:start.
pub async fn of_user(
    PathOf((name, Start(start))): PathOf<(String, Start)>,
    State(app): State<App>,
    mut visit: Visit,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let user = users::profile(&mut visit, &name).await?.user.clone();
    let page = lists::of_user(&mut visit, user.id, &user.username, start, USER_COMMENTS).await?;
    let frame = Frame::of(&app, &mut visit, &here).await?;
    let heading = format!("Comments by {}", user.username);
    let content = html! {
        h1 { (heading) }
        @if page.comments.is_empty() { p.empty { "No comments here." } }
        (comments_with_news(&frame, &page.comments))
        (paging(
            &user_address("usercomments", &user.username, "/"),
            start,
            (USER_COMMENTS, USER_COMMENTS),
            page.total,
        ))
    };
    Ok(frame.page(&heading, &content))
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{framed, user};
    use super::*;

    #[test]
    fn the_form_comes_back_filled_in_and_escaped() {
        let alice = user("1", "alice", "");
        let form =
            CommentEditor { text: "a </textarea><b>", ..CommentEditor::new(NewsId(5), None, "label", "go") };
        let html = framed(Some(&alice), |frame| form.render(frame, true)).into_string();
        assert!(html.contains("a &lt;/textarea&gt;&lt;b&gt;</textarea>"), "{html}");
        for field in ["news_id\" value=\"5", "comment_id\" value=\"-1", "parent_id\" value=\"-1"] {
            assert!(html.contains(field), "{field} in {html}");
        }
        assert!(html.contains("apisecret\" value=\""), "{html}");
    }
}

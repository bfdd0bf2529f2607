//! Writing, editing and deleting comments; a user's comments.

use super::comment_item::{CommentContext, comment_item};
use super::form::CommentForm;
use super::thread::{thread_link, title_link};
use super::thread_part::address_of_posted;
use crate::features::moderation::acting::moderates_instead;
use crate::features::stories::form::NewsIdForm;
use crate::limits::PAGE_ROWS;
use crate::markup::addresses::{comment_address, news_address, user_address};
use crate::markup::feed_links::Written;
use crate::markup::fields::{PREVIEW, Preview, draft_key, formatting_hint, preview_button, preview_place};
use crate::markup::fragments::LinkTarget;
use crate::markup::markdown::markdown;
use crate::markup::moderation_tools::is_moderator;
use crate::markup::parts::{empty_page, hint_for_new, paging};
use crate::markup::withheld::{Kind, unlisted_note};
use crate::markup::{FeedKind, Field, Frame, Member, Page, PageHead};
use crate::request::form::id_or_none;
use crate::request::{Fields, LocalPath, PathOf, ShownAgain, SignedFields, Start};
use crate::{App, RequestError, Result};
use axum::Extension;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use tidings_domain::accounts::profiles;
use tidings_domain::accounts::seen::{Seen, Viewed};
use tidings_domain::comments::lists::{self, UserComment};
use tidings_domain::comments::outline::{ThreadLine, ThreadLines};
use tidings_domain::comments::posting::{self, CommentChange, CommentDraft, LogSpeaking, Posted};
use tidings_domain::comments::threads::{self, Thread};
use tidings_domain::moderation::log::write_speaking;
use tidings_domain::values::{Body, CommentAddress, CommentId, CommentOrder, Deed, NewsId, Thing};
use tidings_domain::{Actor, Error, Refusal, Visit};
use tidings_language::t;

/// The form that writes or edits a comment. The script sends it without loading a page, and opens
/// it below a comment.
pub struct CommentEditor<'a> {
    news: NewsId,
    /// The comment being edited; `None` for a new one.
    edited: Option<CommentId>,
    /// The comment being replied to; `None` for a comment on the story itself.
    parent: Option<CommentId>,
    text: &'a str,
    label: &'a str,
    button: &'a str,
    place: EditorPlace,
}

/// Where the form is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EditorPlace {
    /// In a thread, with room for what is below it.
    InThread,
    /// On a page of its own.
    Alone,
    /// On a page of its own, with a text that no draft has yet.
    Kept,
}

impl<'a> CommentEditor<'a> {
    /// The form for a new comment on a story, in its thread.
    pub fn in_thread(news: NewsId, label: &'a str, button: &'a str) -> Self {
        Self { news, edited: None, parent: None, text: "", label, button, place: EditorPlace::InThread }
    }

    /// The form for a comment on a story, with a text that was meant for a story with the same URL. The script
    /// keeps it as the draft of the comment.
    pub fn on_earlier(news: NewsId, text: &'a str) -> Self {
        Self {
            text,
            place: EditorPlace::Kept,
            ..Self::in_thread(news, t!("Your comment"), t!("Add comment"))
        }
    }

    /// The form.
    pub fn render(&self, frame: &Frame<'_>) -> Markup {
        let id_or_none = |id: Option<CommentId>| id.map_or_else(|| "-1".to_owned(), |id| id.to_string());
        let draft = self.draft(frame);
        let is_in_thread = self.place == EditorPlace::InThread;
        html! {
            form.form.editor.one-line[is_in_thread] method="post" action="/postcomment" data-comment="/api/postcomment" {
                input type="hidden" name="news_id" value=(self.news);
                input type="hidden" name="comment_id" value=(id_or_none(self.edited));
                input type="hidden" name="parent_id" value=(id_or_none(self.parent));
                (frame.signed_fields())
                (self.text_area(frame, &draft))
                (preview_place())
                @if self.edited.is_none() && is_moderator(frame) {
                    label.choice {
                        input type="checkbox" name="speaking_as" value="moderator";
                        span { (t!("Speak as a moderator")) }
                    }
                }
                div.buttons {
                    button.button { (self.button) }
                    (preview_button("comment"))
                }
            }
        }
    }

    fn text_area(&self, frame: &Frame<'_>, draft: &str) -> Markup {
        let hint = html! { (formatting_hint()) (hint_for_new(frame)) };
        let field = Field::new("comment", self.label).value(self.text).hint(hint);
        let field = field.with("data-draft", draft);
        let field = if self.edited.is_none() { field.required() } else { field };
        let field = match self.place {
            EditorPlace::InThread => {
                field.with("class", "short").with("rows", "1").with("placeholder", t!("Add a comment"))
            }
            EditorPlace::Kept => field.with("data-kept", ""),
            EditorPlace::Alone => field.with("autofocus", ""),
        };
        field.text_area()
    }

    /// The name of the draft: comments on different things have drafts of their own.
    fn draft(&self, frame: &Frame<'_>) -> String {
        let news = self.news;
        draft_key(
            frame,
            &match (self.edited, self.parent) {
                (Some(edited), _) => format!("edit/{news}/{edited}"),
                (None, Some(parent)) => format!("reply/{news}/{parent}"),
                (None, None) => format!("comment/{news}"),
            },
        )
    }
}

/// The page for replying to a comment or editing one.
struct CommentFormPage<'a> {
    heading: &'a str,
    thread: &'a Thread,
    /// The comment being replied to or edited; `None` for a comment on the story.
    about: Option<Viewed<ThreadLine<'a>>>,
    /// The form; `None` for viewers who may only delete.
    form: Option<CommentEditor<'a>>,
    /// The comment that can be deleted here.
    deletable: Option<CommentId>,
}

impl CommentFormPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let news = &self.thread.news.news;
        let place = CommentContext::alone(news);
        let content = html! {
            h2.about-what { (t!("On {story}", story = thread_link(&self.thread.news))) }
            @if let Some(view) = self.about {
                ol.thread role="list" { (comment_item(frame, place, view, 0)) }
            }
            @if let Some(form) = &self.form { (form.render(frame)) }
            @if let Some(id) = self.deletable { (self.deletion(frame, id)) }
        };
        frame.headed(self.heading, &content)
    }

    fn deletion(&self, frame: &Frame<'_>, id: CommentId) -> Markup {
        html! {
            h2 #delete { (t!("Delete this comment")) }
            form.form method="post" action="/postcomment" {
                input type="hidden" name="news_id" value=(self.thread.news.news.id);
                input type="hidden" name="comment_id" value=(id);
                input type="hidden" name="parent_id" value="-1";
                input type="hidden" name="comment" value="";
                (frame.signed_fields())
                p.hint {
                    (t!("Its text will no longer be shown. It is kept until you leave and have erased what you wrote, or an administrator erases it. Replies to it stay."))
                }
                button.button.grave { (t!("Delete comment")) }
            }
        }
    }
}

/// The thread, with one comment of it.
async fn thread_with(visit: &mut Visit, news: NewsId, comment: Option<CommentId>) -> Result<Thread> {
    let position = |lines: &ThreadLines| lines.position(comment?);
    let order = CommentOrder::Score.into();
    Ok(threads::get(visit, news, order, |lines| position(lines).into_iter().collect()).await?)
}

fn line_of(thread: &Thread, id: CommentId) -> Result<ThreadLine<'_>> {
    Ok(thread.line_of(id).ok_or(Refusal::NoSuchComment)?)
}

/// The page for replying to a comment, or to the story if there is none.
fn reply_page(frame: &Frame<'_>, thread: &Thread, parent: Option<CommentId>) -> Result<Markup> {
    let about = parent.and_then(|parent| thread.outline().position(parent)).map(|at| thread.view(at));
    let (heading, label, button) = match parent {
        Some(_) => (t!("heading" => "Reply"), t!("Your reply"), t!("button" => "Reply")),
        None => (t!("heading" => "Comment"), t!("Your comment"), t!("Add comment")),
    };
    let news = thread.news.news.id;
    let place = EditorPlace::Alone;
    let form = CommentEditor { parent, place, ..CommentEditor::in_thread(news, label, button) };
    let page = CommentFormPage { heading, thread, about, form: Some(form), deletable: None };
    Ok(page.render(frame))
}

/// The page for editing a comment. `is_again` says that a text was sent, which is not lost.
fn edit_page(frame: &Frame<'_>, thread: &Thread, id: CommentId, is_again: bool) -> Result<Markup> {
    let viewer = frame.viewer.ok_or(RequestError::LoginRequired)?;
    let comment = line_of(thread, id)?.comment;
    let about = thread.outline().position(id).map_or(Viewed::Nothing, |at| thread.view(at));
    let window = frame.rules.limits.comment_edit_seconds;
    let may_edit =
        comment.may_edit(viewer, frame.now, window).and_then(|()| thread.news.news.refuse_if_locked());
    let may_delete = comment.may_delete(viewer, frame.now, window);
    if let (Err(refusal), Err(_)) = (&may_edit, &may_delete) {
        return Err(refusal.clone().into());
    }
    let written = match &about {
        Viewed::Whole(line) => line.body(),
        Viewed::Line(..) | Viewed::Nothing => "",
    };
    let form = (may_edit.is_ok() || is_again).then(|| CommentEditor {
        edited: Some(id),
        parent: comment.parent_id,
        text: written,
        place: EditorPlace::Alone,
        ..CommentEditor::in_thread(thread.news.news.id, t!("Your comment"), t!("Save"))
    });
    let heading = if form.is_some() { t!("Edit comment") } else { t!("Delete comment") };
    let deletable = may_delete.is_ok().then_some(id);
    let about = if form.is_some() { None } else { Some(about) };
    Ok(CommentFormPage { heading, thread, about, form, deletable }.render(frame))
}

/// GET /reply/:news/:comment.
pub async fn reply(at: PathOf<(NewsId, CommentId)>, mut page: Page<Member>) -> Result<Markup> {
    let (news, parent) = at.0;
    let thread = thread_with(&mut page.visit, news, Some(parent)).await?;
    line_of(&thread, parent)?.comment.state().demand_open(&page.user)?;
    thread.news.news.state().demand_open(&page.user)?;
    thread.news.news.refuse_if_locked()?;
    reply_page(&page.frame().await?, &thread, Some(parent))
}

/// GET /editcomment/:news/:comment.
pub async fn edit(PathOf((news, id)): PathOf<(NewsId, CommentId)>, mut page: Page<Member>) -> Result<Markup> {
    let thread = thread_with(&mut page.visit, news, Some(id)).await?;
    edit_page(&page.frame().await?, &thread, id, false)
}

/// POST /postcomment: news_id, comment_id (-1 = new), parent_id, comment, apisecret; `preview` to
/// see the comment without posting it.
pub async fn post(app: App, mut form: SignedFields) -> Result<Response> {
    if form.fields.get(PREVIEW).is_some() {
        let text = Body::parse_comment(form.fields.text("comment")).map_err(Error::from)?;
        return Ok(Preview(markdown(text.as_str(), LinkTarget::of(&form.user))).into_response());
    }
    if is_edit(&form.fields) {
        form.set_a_state();
    }
    let posted = post_or_edit(&app, form.actor(), &form.fields.read()?).await?;
    Ok(Redirect::to(&address_after(&posted)).into_response())
}

/// Where a comment is shown after it was written, edited or deleted.
fn address_after(posted: &Posted) -> String {
    let CommentAddress { news, comment } = posted.address;
    match posted.change {
        CommentChange::Insert => address_of_posted(news, comment),
        CommentChange::Update => comment_address(posted.address),
        // It may be gone, and then its thread has no page for it.
        CommentChange::Delete => format!("{}#comment-{comment}", news_address(news)),
    }
}

/// Whether a comment gets another text. One without a text is deleted, which happens once.
fn is_edit(fields: &Fields) -> bool {
    let form = fields.read::<CommentForm>();
    form.is_ok_and(|form| form.comment_id.is_some() && !form.comment.trim().is_empty())
}

/// The page of a comment that was refused or is to be previewed. Buttons on it return to the page with the form.
pub async fn again(mut page: Page<Member>, Extension(again): Extension<ShownAgain>) -> Result<Markup> {
    let ShownAgain { fields, .. } = again;
    let NewsIdForm { news_id: news } = fields.read()?;
    let edited = id_or_none::<CommentId>(&fields, "comment_id")?;
    let parent: Option<CommentId> = if edited.is_none() { id_or_none(&fields, "parent_id")? } else { None };
    let thread = thread_with(&mut page.visit, news, edited.or(parent)).await?;
    let here = match (edited, parent) {
        (Some(edited), _) => format!("/editcomment/{news}/{edited}"),
        (None, Some(parent)) => format!("/reply/{news}/{parent}"),
        (None, None) => news_address(news),
    };
    page.here = LocalPath::parse(&here);
    let frame = page.frame().await?;
    match edited {
        Some(edited) => edit_page(&frame, &thread, edited, true),
        None => reply_page(&frame, &thread, parent),
    }
}

/// A user's comments, each with its story.
pub fn comments_with_news(frame: &Frame<'_>, comments: &[Seen<UserComment>]) -> Markup {
    html! {
        @for comment in comments {
            @let UserComment { news_id, title, .. } = &**comment;
            @let story = title_link(&news_address(*news_id), title.as_deref());
            h2.about-what { (t!("On {story}", story)) }
            ol.thread role="list" {
                @let place = CommentContext {
                    news: *news_id, news_deleted: title.is_none(), is_open: comment.is_open, among_others: true,
                };
                (comment_item(frame, place, Viewed::Whole(comment.line()), 0))
            }
        }
    }
}

/// GET /usercomments/:name/:start.
pub async fn of_user(PathOf((name, start)): PathOf<(String, Start)>, mut page: Page) -> Result<Markup> {
    let user = profiles::profile(&mut page.visit, &name).await?.user.clone();
    let part = lists::of_user(&mut page.visit, user.id, &user.username, start.0, PAGE_ROWS).await?;
    let frame = page.frame().await?;
    let heading = t!("Comments by {author}", author = &user.username).to_string();
    let base = user_address("usercomments", &user.username, "/");
    let first_page = format!("{base}0");
    let content = html! {
        h1 { (heading) }
        @if part.comments.is_empty() && part.unlisted == 0 {
            @let later = (start.0 > 0).then_some((t!("No more comments."), &*first_page));
            (empty_page(later, t!("No comments here yet."), ("/latest/0", t!("Find a story to discuss"))))
        }
        (comments_with_news(&frame, &part.comments))
        (unlisted_note(&frame, part.unlisted, Kind::Comment))
        @let address = |start| frame.here.keeping_hidden(format!("{base}{start}"));
        (paging(&address, start.0, (PAGE_ROWS, PAGE_ROWS), part.total))
    };
    let feed = FeedKind::Person(Written::Comments, user.username.clone());
    Ok(frame.page_with(&heading, &PageHead::default().feeds([feed]), &content))
}

/// Writes a comment, edits it, or deletes it if the text is empty, for both the form
/// and the API.
pub(crate) async fn post_or_edit(app: &App, actor: Actor<'_>, form: &CommentForm) -> Result<Posted> {
    if let Some(comment) = form.comment_id {
        let address = CommentAddress { news: form.news_id, comment };
        let is_deletion = form.comment.trim().is_empty();
        let deed = || match is_deletion {
            true => Ok(Deed::Remove),
            false => {
                let text = Some(Body::parse_comment(&form.comment)?);
                Ok(Deed::Edit { title: None, topics: None, url: None, text })
            }
        };
        if moderates_instead(app, actor.user, Thing::Comment(address), deed).await? {
            let change = if is_deletion { CommentChange::Delete } else { CommentChange::Update };
            return Ok(Posted { change, address, parent: form.parent_id, waits: false });
        }
    }
    Ok(actor.once(&app.site, write_or_edit(app, actor, form)).await?)
}

async fn write_or_edit(app: &App, actor: Actor<'_>, form: &CommentForm) -> Result<Posted, Error> {
    let (site, now, news) = (&app.site, app.now(), form.news_id);
    let Some(comment) = form.comment_id else {
        let body = Body::parse_comment(&form.comment)?;
        let log: LogSpeaking = write_speaking;
        let speaks_as_moderator = form.speaking_as.then_some(log);
        let draft = CommentDraft { news, parent: form.parent_id, body: &body, speaks_as_moderator };
        return posting::post_comment(site, now, actor, draft).await;
    };
    let address = CommentAddress { news, comment };
    if form.comment.trim().is_empty() {
        let deleted = posting::delete_comment(site, now, actor.user, address).await?;
        return Ok(Posted::changed(CommentChange::Delete, &deleted));
    }
    let body = Body::parse_comment(&form.comment)?;
    let changed = posting::edit_comment(site, now, actor, address, &body).await?;
    Ok(Posted::changed(CommentChange::Update, &changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::{framed, user};

    #[test]
    fn each_comment_has_a_draft_of_its_own() {
        let (alice, bob) = (user("1", "alice", ""), user("2", "bob", ""));
        let form = || CommentEditor::in_thread(NewsId(5), "label", "go");
        let (reply, edit) = (Some(CommentId(7)), Some(CommentId(8)));
        for (viewer, form, draft) in [
            (&alice, form(), "1/comment/5"),
            (&bob, form(), "2/comment/5"),
            (&alice, CommentEditor { parent: reply, ..form() }, "1/reply/5/7"),
            (&alice, CommentEditor { parent: reply, edited: edit, ..form() }, "1/edit/5/8"),
        ] {
            assert_eq!(framed(Some(viewer), |frame| form.draft(frame)), draft);
        }
    }
}

//! Submitting, editing and deleting stories.

use super::fields::{Field, RefusedForm, summary};
use super::layout::Frame;
use super::parts::news_address;
use super::thread::thread_link;
use crate::App;
use crate::actions::submit_or_edit;
use crate::error::RequestError;
use crate::form::{Fields, Form, FromFields};
use crate::forms;
use crate::local_path::LocalPath;
use crate::path::PathOf;
use crate::viewer::{SignedFields, SignedForm, SignedIn};
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use std::sync::Arc;
use tidings_domain::accounts::visit::Visit;
use tidings_domain::articles::topics::{self, TopicLine};
use tidings_domain::news::item::News;
use tidings_domain::news::lists;
use tidings_domain::submissions;
use tidings_domain::values::ids::NewsId;
use tidings_domain::values::limits::{MAX_OFFERED_TOPICS, MAX_TITLE, MAX_TOPICS};

/// The fields of the form that people type into.
const FIELDS: [&str; 4] = ["title", "url", "text", "topics"];

/// The form that submits or edits a story.
#[derive(Default)]
struct NewsFormPage<'a> {
    /// The story being edited; `None` for a new one.
    edited: Option<NewsId>,
    title: &'a str,
    url: &'a str,
    text: &'a str,
    topics: &'a str,
    /// The topics that are offered.
    offered: &'a [TopicLine],
    refused: Option<&'a RefusedForm>,
}

impl NewsFormPage<'_> {
    fn render(&self, frame: &Frame<'_>) -> Markup {
        let heading = if self.edited.is_some() { "Edit story" } else { "Submit a story" };
        let content = html! {
            h1 { (heading) }
            (summary(self.refused))
            (self.form(frame))
            @if self.edited.is_none() { (bookmarklet(frame)) }
        };
        frame.page(heading, &content)
    }

    fn form(&self, frame: &Frame<'_>) -> Markup {
        let action = self.edited.map_or_else(|| "/submit".to_owned(), |id| format!("/editnews/{id}"));
        let id = self.edited.map_or_else(|| "-1".to_owned(), |id| id.to_string());
        let title = Field::new("title", "Title").value(self.title);
        let title = title.hint(html! { "Up to " (MAX_TITLE) " characters." });
        let url = Field::new("url", "URL").value(self.url).with("inputmode", "url");
        let text_hint = html! {
            @if self.edited.is_some() {
                "A story has either a URL or text."
            } @else {
                "Optional with a URL: it becomes the first comment."
            }
        };
        html! {
            form.form method="post" action=(action) {
                input type="hidden" name="news_id" value=(id);
                (frame.secret_field())
                (title.with("autocomplete", "off").required().input(self.refused))
                (url.with("autocomplete", "off").exact().input(self.refused))
                (Field::new("text", "Text").value(self.text).hint(text_hint).text_area(self.refused))
                (self.topics_field())
                button.button { @if self.edited.is_some() { "Save" } @else { "Submit" } }
            }
        }
    }
}

impl NewsFormPage<'_> {
    fn topics_field(&self) -> Markup {
        let hint = html! {
            "Up to " (MAX_TOPICS) ", separated by commas. Use a-z, 0-9 and hyphens. See "
            a href="/topics" { "all topics" } "."
        };
        let offered = html! {
            datalist #offered-topics {
                @for line in self.offered { option value=(line.topic) {} }
            }
        };
        let field = Field::new("topics", "Topics").value(self.topics).hint(hint).after(offered);
        let field = field.with("list", "offered-topics").with("autocomplete", "off").with("data-several", "");
        field.exact().input(self.refused)
    }
}

/// The topics that the form offers.
async fn offered(visit: &mut Visit) -> Result<Vec<TopicLine>, RequestError> {
    Ok(topics::largest(visit, MAX_OFFERED_TOPICS).await?)
}

/// The link to drag to the browser's bookmarks bar.
fn bookmarklet(frame: &Frame<'_>) -> Markup {
    let script = bookmarklet_script(&frame.site().link("/submit"));
    html! {
        h2 { "Submit from any page" }
        p { "Drag this to your bookmarks bar, then click it on any page to submit it." }
        p { a.bookmarklet href=(script) { "Submit to " (frame.site().name) } }
    }
}

/// The address of the form as a JavaScript string within a URL: what would
/// end either is percent-encoded.
fn bookmarklet_script(form: &str) -> String {
    let form = form.replace('%', "%25").replace('"', "%22").replace('\'', "%27").replace('\\', "%5C");
    format!(
        "javascript:location.href='{form}?u='+encodeURIComponent(location.href)+'&t='+encodeURIComponent(document.title)"
    )
}

/// What the bookmarklet fills into the form; either may be empty.
pub struct BookmarkletQuery {
    title: String,
    url: String,
}

impl FromFields for BookmarkletQuery {
    fn from_fields(fields: &Fields) -> Result<Self, RequestError> {
        Ok(Self { title: fields.text("t").to_owned(), url: fields.text("u").to_owned() })
    }
}

/// GET /submit, filled with `u` and `t` by the bookmarklet.
pub async fn submit_form(
    State(app): State<App>,
    SignedIn { mut visit, user }: SignedIn,
    here: LocalPath,
    Form(query): Form<BookmarkletQuery>,
) -> Result<Markup, RequestError> {
    let offered = offered(&mut visit).await?;
    let form =
        NewsFormPage { title: &query.title, url: &query.url, offered: &offered, ..NewsFormPage::default() };
    Ok(form.render(&Frame::for_user(&app, &here, &user)))
}

/// POST /submit: title, url, text, topics, news_id (-1), apisecret.
pub async fn submit(
    State(app): State<App>,
    here: LocalPath,
    form: SignedFields,
) -> Result<Response, RequestError> {
    let edited = form.fields.text("news_id").parse().ok();
    send(&app, &here, form, edited).await
}

/// POST /editnews/:id: as [`submit`], `news_id` being the number in the address.
pub async fn edit(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    here: LocalPath,
    form: SignedFields,
) -> Result<Response, RequestError> {
    if form.fields.read::<forms::news::NewsIdForm>()?.news_id != id {
        return Err(RequestError::Field {
            name: "news_id",
            expected: "it must be the number in the address",
        });
    }
    send(&app, &here, form, Some(id)).await
}

async fn send(
    app: &App,
    here: &LocalPath,
    mut form: SignedFields,
    edited: Option<NewsId>,
) -> Result<Response, RequestError> {
    match try_send(app, &form).await {
        Ok(id) => Ok(Redirect::to(&news_address(id)).into_response()),
        Err(failure) => {
            let refused = RefusedForm::from_failure(failure)?.beside(&FIELDS);
            let offered = offered(&mut form.visit).await?;
            let (fields, refused) = (&form.fields, &refused);
            let (title, url, text) = (fields.text("title"), fields.text("url"), fields.text("text"));
            let topics = fields.text("topics");
            let filled =
                NewsFormPage { edited, title, url, text, topics, offered: &offered, refused: Some(refused) };
            Ok(refused.response(filled.render(&Frame::for_user(app, here, &form.user))))
        }
    }
}

async fn try_send(app: &App, form: &SignedFields) -> Result<NewsId, RequestError> {
    submit_or_edit(app, &form.user, form.fields.read()?).await
}

/// The story, if the viewer may change it.
async fn changeable(app: &App, signed_in: &mut SignedIn, id: NewsId) -> Result<Arc<News>, RequestError> {
    let news = lists::get(&mut signed_in.visit, id).await?.news.clone();
    news.may_change(&signed_in.user, app.now(), app.site.rules.limits.news_edit_seconds)?;
    Ok(news)
}

/// GET /editnews/:id.
pub async fn edit_form(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    mut signed_in: SignedIn,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let news = changeable(&app, &mut signed_in, id).await?;
    let text = news.text();
    let url = if text.is_some() { "" } else { &news.url };
    let offered = offered(&mut signed_in.visit).await?;
    let topics = news.topics.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let form = NewsFormPage {
        edited: Some(id),
        title: &news.title,
        url,
        text: text.unwrap_or_default(),
        topics: &topics,
        offered: &offered,
        refused: None,
    };
    Ok(form.render(&Frame::for_user(&app, &here, &signed_in.user)))
}

/// GET /delnews/:id: asks for confirmation.
pub async fn delete_form(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    mut signed_in: SignedIn,
    here: LocalPath,
) -> Result<Markup, RequestError> {
    let news = changeable(&app, &mut signed_in, id).await?;
    let frame = Frame::for_user(&app, &here, &signed_in.user);
    let content = html! {
        h1 { "Delete this story?" }
        p { (thread_link(&news)) }
        p.hint { "It will disappear from all lists. Its comments can still be read." }
        form.form method="post" action={ "/delnews/" (id) } {
            input type="hidden" name="news_id" value=(id);
            (frame.secret_field())
            button.button.grave { "Delete" }
        }
        p { a.action href=(news_address(id)) { "Keep this story" } }
    };
    Ok(frame.page("Delete this story", &content))
}

/// POST /delnews/:id.
pub async fn delete(
    PathOf(id): PathOf<NewsId>,
    State(app): State<App>,
    form: SignedForm<()>,
) -> Result<Redirect, RequestError> {
    submissions::delete_news(&app.site, app.moment(), &form.user, id).await?;
    Ok(Redirect::to("/"))
}

#[cfg(test)]
mod tests {
    use super::super::fields::test_support::refused;
    use super::super::test_support::{framed, user};
    use super::*;

    #[test]
    fn the_form_comes_back_filled_in_with_the_message() {
        let alice = user("1", "alice", "");
        let form = NewsFormPage {
            edited: None,
            title: "\"><script>",
            url: "javascript:alert(1)",
            text: "</textarea>",
            topics: "<i>",
            offered: &[],
            refused: Some(&refused("url is <wrong>", Some("url"))),
        };
        let html = framed(Some(&alice), |frame| form.render(frame)).into_string();
        for part in [
            r#"value="&quot;&gt;&lt;script&gt;""#,
            r#"value="javascript:alert(1)""#,
            "&lt;/textarea&gt;</textarea>",
            r#"<p class="error" id="url-error" role="alert">url is &lt;wrong&gt;</p>"#,
            r#"name="news_id" value="-1""#,
            r#"name="apisecret" value=""#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(html.matches("<h1").count(), 1);
    }

    #[test]
    fn the_bookmarklet_cannot_be_broken_by_the_address_of_the_site() {
        let script = bookmarklet_script("http://a.example/x'\"\\%27/submit");
        assert!(script.starts_with("javascript:location.href='http://a.example/x%27%22%5C%2527/submit?u='"));
    }
}

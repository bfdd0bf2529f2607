//! Submitting, editing and deleting stories.

use super::form::{NewsIdForm, SubmissionForm};
use super::item::news_list;
use super::sending::{delete_news, fetch_title, submit_or_edit};
use super::submission_form::{
    Notice, OPENED_FOR, OTHER_STORY, Step, SubmissionPage, TypedStory, form_address,
};
use crate::features::comments::thread::title_link;
use crate::features::comments::writing::CommentEditor;
use crate::features::search::suggesting::stories_like;
use crate::markup::addresses::news_address;
use crate::markup::parts::{age, author};
use crate::markup::withheld::lock_notice;
use crate::markup::{Frame, Member, Page};
use crate::request::{Fields, LocalPath, PathOf, ShownAgain, SignedFields, SignedForm};
use crate::{App, RequestError, Result};
use axum::Extension;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use std::sync::Arc;
use tidings_domain::articles::topics::{self, TopicLine};
use tidings_domain::news::lists;
use tidings_domain::submissions::{Submission, Submitted, preparing};
use tidings_domain::values::{MAX_OFFERED_TOPICS, NewsId, NewsUrl, Topic, Topics};
use tidings_domain::{Error, News, Visit};
use tidings_language::{m, t};

/// The topics that the form offers.
async fn offered(visit: &mut Visit) -> Result<Vec<TopicLine>> {
    Ok(topics::overview(visit, MAX_OFFERED_TOPICS).await?.topics)
}

/// GET /submit, filled with `u` and `t` by the bookmarklet.
pub async fn submit_form(mut page: Page<Member>, headers: HeaderMap, fields: Fields) -> Result<Markup> {
    let offered = offered(&mut page.visit).await?;
    let form = SubmissionPage {
        typed: TypedStory {
            title: fields.text("t").to_owned(),
            url: fields.text(OPENED_FOR).to_owned(),
            ..TypedStory::default()
        },
        offered: &offered,
        form_address: form_address(&page.app.settings.site, &headers),
        opened_for: fields.text(OPENED_FOR).to_owned(),
        ..SubmissionPage::default()
    };
    Ok(form.render(&page.frame().await?))
}

/// POST /submit: title, url, text, topics, news_id (-1), apisecret; and what a button sends, see
/// [`Step`].
pub async fn submit(app: App, here: LocalPath, headers: HeaderMap, form: SignedFields) -> Result<Response> {
    let edited = form.fields.text("news_id").parse().ok();
    let address = form_address(&app.settings.site, &headers);
    PostedForm { edited, form, form_address: address }.respond(&app, &here).await
}

/// POST /editnews/:id: as [`submit`], `news_id` being the number in the address.
pub async fn edit(id: PathOf<NewsId>, app: App, here: LocalPath, form: SignedFields) -> Result<Response> {
    RequestError::field("news_id", m!("it must be the number in the address"))
        .when(form.fields.read::<NewsIdForm>()?.news_id != id.0)?;
    PostedForm { edited: Some(id.0), form, form_address: String::new() }.respond(&app, &here).await
}

/// The result of a form that was posted.
enum Outcome {
    /// The story was sent.
    Sent(Submitted),
    /// The form comes back with a notice.
    FormAgain(Notice),
}

/// The form as it was posted.
struct PostedForm {
    edited: Option<NewsId>,
    form: SignedFields,
    form_address: String,
}

impl PostedForm {
    /// Does what was asked for. The form comes back if the story was not to be sent yet.
    async fn respond(mut self, app: &App, here: &LocalPath) -> Result<Response> {
        let mut typed = TypedStory::of(&self.form.fields);
        let notice = match self.act(app, &mut typed).await? {
            Outcome::Sent(Submitted::Earlier(id)) => return self.earlier(app, id).await,
            Outcome::Sent(sent) => return Ok(Redirect::to(&news_address(sent.id())).into_response()),
            Outcome::FormAgain(notice) => notice,
        };
        let similar = match &notice {
            Notice::Preview(story) if self.edited.is_none() && app.settings.search.is_on => {
                let SignedFields { visit, device, .. } = &mut self.form;
                let found = stories_like(app, visit, story.title.as_str(), device.address).await;
                // The preview is worth more than what may be like it.
                found.unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let page = SubmissionPage {
            edited: self.edited,
            typed,
            offered: &offered(&mut self.form.visit).await?,
            notice,
            similar: &similar,
            form_address: self.form_address,
            opened_for: self.form.fields.text(OPENED_FOR).to_owned(),
        };
        Ok(page.render(&Frame::for_user(app, here, &self.form.user)).into_response())
    }

    /// Does what the button is for.
    async fn act(&self, app: &App, typed: &mut TypedStory) -> Result<Outcome> {
        let fields = &self.form.fields;
        Ok(Outcome::FormAgain(match Step::of(fields) {
            Step::Send => {
                let mut submission: SubmissionForm = fields.read()?;
                submission.url.clone_from(&typed.url);
                match self.likely_earlier(app, &submission).await? {
                    Some(earlier) => Notice::Likely(Box::new(earlier)),
                    None => {
                        return Ok(Outcome::Sent(submit_or_edit(app, self.form.actor(), submission).await?));
                    }
                }
            }
            Step::FetchTitle => {
                let url = NewsUrl::parse(&typed.url).map_err(Error::from)?;
                let title = fetch_title(app, self.form.actor(), &url).await?.to_string();
                let before = std::mem::replace(&mut typed.title, title);
                Notice::Fetched { replaced: Some(before).filter(|before| *before != typed.title) }
            }
            Step::Preview => Notice::Preview(Box::new(self.preview(typed)?)),
            Step::ToggleTopic(topic) => {
                let topic = Topic::parse("topics", topic).map_err(Error::from)?;
                let topics = Topics::parse(&typed.topics).map_err(Error::from)?;
                typed.topics = topics.with_toggled(&topic).typed();
                Notice::None
            }
        }))
    }

    /// The story that a new one likely repeats, unless its author has been shown it.
    async fn likely_earlier(&self, app: &App, submission: &SubmissionForm) -> Result<Option<News>> {
        let (None, Ok(url)) = (self.edited, NewsUrl::parse(&submission.url)) else { return Ok(None) };
        // A refusal comes first.
        Submission::parse(&submission.title, &submission.url, &submission.text)?;
        let seen = self.form.fields.text(OTHER_STORY).parse::<NewsId>().ok();
        let earlier = preparing::find_likely_duplicate(&app.site, &url).await?;
        Ok(earlier.filter(|earlier| Some(earlier.id) != seen))
    }

    /// The page that leads to an earlier story with the same URL, with the typed text as a comment on it.
    async fn earlier(mut self, app: &App, id: NewsId) -> Result<Response> {
        let line = lists::get(&mut self.form.visit, id).await?;
        let (news, text) = (&line.news, self.form.fields.text("text"));
        let is_own = news.user_id == self.form.user.id;
        let is_seen = self.form.visit.perspective().may_act_on(&line);
        if !is_seen || is_own && text.trim().is_empty() {
            return Ok(Redirect::to(&news_address(id)).into_response());
        }
        // A vote without a script leads to the story.
        let here = LocalPath::parse(&news_address(id));
        let frame = Frame::for_user(app, &here, &self.form.user);
        let content = html! {
            p.notice role="status" {
                @let age = age(&frame, news.ctime);
                @if is_own { (t!("You submitted this {age}.", age)) }
                @else {
                    (t!("Already submitted {age} by {author}.", age, author = author(line.username.as_deref())))
                }
                @if !text.trim().is_empty() && news.locked.is_none() { " " (t!("Your text is below.")) }
            }
            (news_list(&frame, std::slice::from_ref(&line), 0))
            (lock_notice(news))
            @if news.locked.is_none() { (CommentEditor::on_earlier(id, text).render(&frame)) }
        };
        Ok(frame.headed(t!("Already submitted"), &content).into_response())
    }

    /// The story as it would be; the errors are those of sending it.
    fn preview(&self, typed: &TypedStory) -> Result<Submission> {
        let parsed = Submission::parse(&typed.title, &typed.url, &typed.text)?;
        if self.edited.is_some() {
            parsed.check_edit()?;
        }
        let topics = Some(Topics::parse(&typed.topics).map_err(Error::from)?);
        Ok(Submission { topics, ..parsed })
    }
}

/// The story, if the viewer may change it.
async fn changeable(page: &mut Page<Member>, id: NewsId) -> Result<Arc<News>> {
    let news = lists::get(&mut page.visit, id).await?.news.clone();
    news.may_change(&page.user, page.app.now(), page.app.site.rules.limits.news_edit_seconds)?;
    Ok(news)
}

/// GET /editnews/:id. A refused text is shown again even if the story cannot be changed any more.
pub async fn edit_form(
    PathOf(id): PathOf<NewsId>,
    mut page: Page<Member>,
    again: Option<Extension<ShownAgain>>,
) -> Result<Markup> {
    let typed = if again.is_some() {
        TypedStory::default()
    } else {
        let news = changeable(&mut page, id).await?;
        let text = news.text();
        TypedStory {
            title: news.title.clone(),
            url: if text.is_some() { String::new() } else { news.url.clone() },
            text: text.unwrap_or_default().to_owned(),
            topics: news.topics.typed(),
        }
    };
    let offered = offered(&mut page.visit).await?;
    let form = SubmissionPage { edited: Some(id), typed, offered: &offered, ..SubmissionPage::default() };
    Ok(form.render(&page.frame().await?))
}

/// GET /delnews/:id: asks for confirmation.
pub async fn delete_form(PathOf(id): PathOf<NewsId>, mut page: Page<Member>) -> Result<Markup> {
    let news = changeable(&mut page, id).await?;
    let frame = page.frame().await?;
    let content = html! {
        h1 { (t!("Delete this story?")) }
        p { (title_link(&news_address(id), Some(&news.title))) }
        p.hint {
            (t!("It will disappear from all lists. It is kept until you leave and have erased what you wrote, or an administrator erases it. Its comments can still be read."))
        }
        form.form method="post" action={ "/delnews/" (id) } {
            input type="hidden" name="news_id" value=(id);
            (frame.signed_fields())
            button.button.grave { (t!("Delete")) }
        }
        p { a.action href=(news_address(id)) { (t!("Keep this story")) } }
    };
    Ok(frame.page(t!("Delete this story"), &content))
}

/// POST /delnews/:id.
pub async fn delete(PathOf(id): PathOf<NewsId>, app: App, form: SignedForm<()>) -> Result<Redirect> {
    delete_news(&app, &form.user, id).await?;
    Ok(Redirect::to("/"))
}

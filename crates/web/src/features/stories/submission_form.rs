//! The form that submits or edits a story.

use crate::markup::addresses::{news_address, topic_link};
use crate::markup::fields::draft_key;
use crate::markup::markdown::markdown;
use crate::markup::parts::{OUTSIDE, age, hint_for_new, is_new_member};
use crate::markup::{Field, Frame};
use crate::request::Fields;
use crate::request::form::FORM_PAGE;
use crate::settings::SiteSettings;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tidings_domain::News;
use tidings_domain::articles::topics::TopicLine;
use tidings_domain::found::Finding;
use tidings_domain::submissions::{Submission, SubmissionContent};
use tidings_domain::values::urls::completed;
use tidings_domain::values::{Body, MAX_TITLE, MAX_TOPICS, NewsId, TOPIC_BUTTONS, Topics};
use tidings_language::lists::enumerated;
use tidings_language::{Argument, n, t};

/// The field by which buttons say what they are for. The button that sends the story has none.
const STEP: &str = "then";
/// The field in which the buttons of topics send theirs.
const TOGGLED_TOPIC: &str = "toggle_topic";

/// The field with the story that somebody has seen and that is another than theirs.
pub const OTHER_STORY: &str = "anyway";

/// The parameter, and the field, with the URL that the form was opened for.
pub const OPENED_FOR: &str = "u";

/// The action of a button of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Submit the story, or save it.
    Send,
    /// Fill in the title of the page.
    FetchTitle,
    /// Show the story as it would look.
    Preview,
    /// Add a topic to the field, or remove it.
    ToggleTopic(&'a str),
}

impl<'a> Step<'a> {
    /// The button that was pressed.
    pub fn of(fields: &'a Fields) -> Self {
        match (fields.get(TOGGLED_TOPIC), fields.text(STEP)) {
            (Some(topic), _) => Self::ToggleTopic(topic),
            (None, "fetch_title") => Self::FetchTitle,
            (None, "preview") => Self::Preview,
            _ => Self::Send,
        }
    }
}

/// The content of the fields, as it was typed.
#[derive(Debug, Clone, Default)]
pub struct TypedStory {
    /// The title.
    pub title: String,
    /// The URL.
    pub url: String,
    /// The text.
    pub text: String,
    /// The topics.
    pub topics: String,
}

impl TypedStory {
    /// The content of the fields of a sent form, with the URL as it was meant.
    pub fn of(fields: &Fields) -> Self {
        let typed = |name| fields.text(name).to_owned();
        let url = completed(fields.text("url")).into_owned();
        Self { title: typed("title"), url, text: typed("text"), topics: typed("topics") }
    }
}

/// Stories that may be the discussion that a new one would begin.
fn similar_stories(frame: &Frame<'_>, similar: &[Finding]) -> Markup {
    html! {
        @if !similar.is_empty() {
            p.hint { (t!("Is it one of these?")) }
            ul {
                @for finding in similar {
                    @if let Finding::Story(line) = finding {
                        li {
                            a href=(news_address(line.news.id)) { (line.news.title) }
                            " "
                            span.hint {
                                (enumerated([
                                    Argument::from(age(frame, line.news.ctime)),
                                    n!(line.news.comments, "{count} comment", "{count} comments").into(),
                                ]))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The story that a new one likely repeats.
fn likely_story(frame: &Frame<'_>, earlier: &News) -> Markup {
    html! {
        p.notice role="status" {
            (t!(
                "This page was probably submitted {age}: {story} ({comments}). Your story is not submitted yet.",
                age = age(frame, earlier.ctime),
                story = html! { a href=(news_address(earlier.id)) { (earlier.title) } },
                comments = n!(earlier.comments, "{count} comment", "{count} comments"),
            ))
        }
    }
}

/// The notice about the story.
#[derive(Default)]
pub enum Notice {
    /// Nothing.
    #[default]
    None,
    /// The title was fetched.
    Fetched {
        /// Another title that was in the field before; may be empty.
        replaced: Option<String>,
    },
    /// The story as it would look.
    Preview(Box<Submission>),
    /// The story has not been submitted, because it is likely this earlier one.
    Likely(Box<News>),
}

/// A page with the form.
#[derive(Default)]
pub struct SubmissionPage<'a> {
    /// The story being edited; `None` for a new one.
    pub edited: Option<NewsId>,
    /// The content of the fields.
    pub typed: TypedStory,
    /// The topics that are offered, the largest first.
    pub offered: &'a [TopicLine],
    /// The notice about the story.
    pub notice: Notice,
    /// Stories with a title like this one.
    pub similar: &'a [Finding],
    /// The address of the form for a new story; see [`form_address`].
    pub form_address: String,
    /// The URL that the page was opened for; empty if it was opened without one. Each has drafts of its own.
    pub opened_for: String,
}

impl SubmissionPage<'_> {
    /// The whole page.
    pub fn render(&self, frame: &Frame<'_>) -> Markup {
        let heading = if self.edited.is_some() { t!("Edit story") } else { t!("Submit a story") };
        let content = html! {
            @match &self.notice {
                Notice::Preview(story) => { (self.preview(frame, story)) }
                Notice::Likely(earlier) => { (likely_story(frame, earlier)) }
                Notice::None | Notice::Fetched { .. } => {}
            }
            (self.form(frame))
            @if self.edited.is_none() { (bookmarklet(frame, &self.form_address)) }
        };
        frame.headed(heading, &content)
    }

    fn form(&self, frame: &Frame<'_>) -> Markup {
        let action = self.edited.map_or_else(|| "/submit".to_owned(), |id| format!("/editnews/{id}"));
        let id = self.edited.map_or_else(|| "-1".to_owned(), |id| id.to_string());
        html! {
            form.form method="post" action=(action) data-submission data-now=(frame.now.0) {
                input type="hidden" name="news_id" value=(id);
                (frame.signed_fields())
                @if !self.opened_for.is_empty() {
                    input type="hidden" name=(OPENED_FOR) value=(self.opened_for);
                    @let page = format!("/submit?{OPENED_FOR}={}", utf8_percent_encode(&self.opened_for, NON_ALPHANUMERIC));
                    input type="hidden" name=(FORM_PAGE) value=(page);
                }
                @if let Notice::Likely(earlier) = &self.notice {
                    input type="hidden" name=(OTHER_STORY) value=(earlier.id);
                }
                // The Enter key presses the first button of a form.
                button.hidden tabindex="-1" aria-hidden="true" {}
                @let [title, url, text] = ["title", "url", "text"]
                    .map(|field| draft_key(frame, &format!("story/{id}/{field}/{}", self.opened_for)));
                (self.url_field(frame, &url))
                (self.title_field(frame, &title))
                (self.text_field(frame, &text))
                (self.topics_field(frame))
                div.buttons {
                    button.button {
                        @if self.edited.is_some() { (t!("Save")) }
                        @else if matches!(self.notice, Notice::Likely(_)) { (t!("Submit anyway")) }
                        @else { (t!("Submit")) }
                    }
                    button.button.quiet name=(STEP) value="preview" formnovalidate { (t!("button" => "Preview")) }
                }
            }
        }
    }

    fn url_field(&self, frame: &Frame<'_>, draft: &str) -> Markup {
        let after = html! {
            div data-duplicate role="status" {}
            @if frame.settings.titles.is_on {
                button.button.small.quiet name=(STEP) value="fetch_title" formnovalidate data-fetch-title {
                    (t!("Fetch title"))
                }
            }
        };
        let field = Field::new("url", t!("URL"))
            .value(&self.typed.url)
            .with("inputmode", "url")
            .with("data-draft", draft);
        field.with("autocomplete", "off").exact().after(after).input()
    }

    fn title_field(&self, frame: &Frame<'_>, draft: &str) -> Markup {
        let after = html! {
            @if self.edited.is_none() && frame.settings.search.is_on {
                div.similar data-similar role="status" { (similar_stories(frame, self.similar)) }
            }
            div data-fetched role="status" {
                @if let Notice::Fetched { replaced } = &self.notice {
                    p.hint {
                        (t!("This is the title of the page."))
                        @if let Some(replaced) = replaced.as_ref().filter(|replaced| !replaced.is_empty()) {
                            " " (t!("You had typed: \"{title}\".", title = replaced))
                        }
                    }
                }
            }
        };
        let hint = html! { (n!(MAX_TITLE, "Up to {count} character.", "Up to {count} characters.")) };
        let field = Field::new("title", t!("Title")).value(&self.typed.title).hint(hint).after(after);
        field.with("autocomplete", "off").with("data-draft", draft).required().input()
    }

    fn text_field(&self, frame: &Frame<'_>, draft: &str) -> Markup {
        let field = Field::new("text", t!("Text")).value(&self.typed.text);
        let hint = if self.edited.is_some() {
            t!("A story has either a URL or text.")
        } else {
            t!("Optional with a URL: it becomes the first comment. Without a URL, it is the story.")
        };
        field.hint(html! { (hint) (hint_for_new(frame)) }).with("data-draft", draft).text_area()
    }

    fn topics_field(&self, frame: &Frame<'_>) -> Markup {
        let hint = html! {
            (t!(
                "Up to {count}, separated by commas. Use a-z, 0-9 and hyphens. See {topics}.",
                count = MAX_TOPICS,
                topics = html! { a href="/topics" { (t!("all topics")) } },
            ))
            (needed_for_topic(frame))
        };
        let buttons = self.offered.get(..TOPIC_BUTTONS).unwrap_or(self.offered);
        let chosen = Topics::from_stored(&self.typed.topics);
        let after = html! {
            datalist #offered-topics {
                @for line in self.offered { option value=(line.topic) {} }
            }
            @if !buttons.is_empty() {
                div.topic-buttons role="group" aria-label=(t!("Topics to choose")) data-topic-buttons {
                    @for line in buttons {
                        @let is_chosen = chosen.contains(&line.topic).to_string();
                        button name=(TOGGLED_TOPIC) value=(line.topic) formnovalidate
                            aria-pressed=(is_chosen) { (line.topic) }
                    }
                }
            }
        };
        let field = Field::new("topics", t!("Topics")).value(&self.typed.topics).hint(hint).after(after);
        let field = field.with("list", "offered-topics").with("autocomplete", "off").with("data-several", "");
        field.exact().input()
    }

    fn preview(&self, frame: &Frame<'_>, submission: &Submission) -> Markup {
        let links = frame.link_target();
        let shown =
            |text: &Body| html! { div.text.formatted dir="auto" { (markdown(text.as_str(), links)) } };
        html! {
            section.preview aria-labelledby="preview-heading" {
                h2 #preview-heading { (t!("heading" => "Preview")) }
                p.hint {
                    @if self.edited.is_some() { (t!("Your changes are not saved yet.")) }
                    @else { (t!("The story is not submitted yet.")) }
                }
                p.preview-title dir="auto" {
                    @match &submission.content {
                        SubmissionContent::Link(url, _) => {
                            a href=(url.address()) rel=(OUTSIDE) target=[links.attribute()] { (submission.title) }
                            " " span.host { (url.host()) }
                        }
                        SubmissionContent::Text(_) => { (submission.title) }
                    }
                }
                @if let Some(topics) = submission.topics.as_ref().filter(|topics| !topics.is_empty()) {
                    p.meta { @for topic in topics { (topic_link(topic)) " " } }
                }
                @match &submission.content {
                    SubmissionContent::Text(text) => { (shown(text)) }
                    SubmissionContent::Link(_, Some(comment)) => {
                        p.hint { (t!("Your first comment:")) }
                        (shown(comment))
                    }
                    SubmissionContent::Link(_, None) => {}
                }
            }
        }
    }
}

/// The address of the form for a new story, at the host in the visitor's own address bar, which
/// can be another than the site's: a site can be reached by several names.
pub fn form_address(site: &SiteSettings, headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match host.and_then(|host| host.parse::<Authority>().ok()) {
        // Whether there is a proxy with TLS is not visible here, but known from the setting.
        Some(host) => {
            format!("{}://{host}{}/submit", site.url.scheme(), site.url.path().trim_end_matches('/'))
        }
        None => site.link("/submit"),
    }
}

/// The conditions for a new topic that the viewer does not meet.
fn needed_for_topic(frame: &Frame<'_>) -> Markup {
    let needed = frame.rules.karma.new_topic_minimum;
    let is_poor = frame.viewer.is_some_and(|viewer| viewer.karma < needed && !viewer.is_administrator());
    html! {
        @if is_poor { " " (t!("A new topic needs {karma} karma.", karma = needed)) }
        @else if is_new_member(frame) { " " (t!("New members can’t create topics.")) }
    }
}

/// The link to drag to the browser's bookmarks bar.
fn bookmarklet(frame: &Frame<'_>, form_address: &str) -> Markup {
    html! {
        h2 { (t!("Submit from any page")) }
        p { (t!("Drag this to your bookmarks bar, then click it on any page to submit it.")) }
        p {
            a.bookmarklet href=(bookmarklet_script(form_address)) {
                (t!("Submit to {site}", site = &frame.site().name))
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::settings;
    use axum::http::HeaderValue;

    #[test]
    fn the_bookmarklet_leads_to_the_host_in_the_address_bar() {
        let mut site = settings().site;
        let address = |site: &SiteSettings, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            form_address(site, &headers)
        };
        assert_eq!(address(&site, "news.example"), "http://news.example/submit");
        assert_eq!(address(&site, "[::1]:8080"), "http://[::1]:8080/submit");
        site.url = "https://example.com/news/".parse().unwrap();
        assert_eq!(address(&site, "localhost:81"), "https://localhost:81/news/submit");
        assert_eq!(address(&site, "no host"), "https://example.com/news/submit");
        assert_eq!(form_address(&site, &HeaderMap::new()), "https://example.com/news/submit");
    }

    #[test]
    fn the_bookmarklet_cannot_be_broken_by_the_address_of_the_site() {
        let script = bookmarklet_script("http://a.example/x'\"\\%27/submit");
        assert!(script.starts_with("javascript:location.href='http://a.example/x%27%22%5C%2527/submit?u='"));
    }
}

//! The announcement above every page, and the stories that are pinned to the top of the front page.

use crate::error::{RequestError, Result};
use crate::features::action::{Action, ActionEntry};
use crate::features::moderation::acting::ModeratedResponse;
use crate::features::moderation::form::{hours, time};
use crate::markup::parts::OUTSIDE;
use crate::markup::{Administrator, Field, Frame, Page};
#[cfg(test)]
use crate::request::description::values;
use crate::request::form::{form, optional, parsed, text_or_empty};
use crate::request::{Fields, answer};
use crate::route::{LONG, SHORT};
use axum::Json;
use maud::{Markup, html};
use tidings_domain::moderation::announcing;
use tidings_domain::values::{Announcement, Hours, IdentityError, MAX_ANNOUNCEMENT, NewsId, Timestamp};
use tidings_domain::{Error, Refusal};
use tidings_language::{m, t};

/// The hours for which an announcement is shown, and stories are pinned, unless one says otherwise.
const USUAL_HOURS: u64 = 14 * 24;
const USUAL_PINNED_HOURS: u64 = 7 * 24;

/// The address of the form, a part of the page about the site.
const PAGE: &str = "/admin/site#announcement";

form! {
    /// The announcement and the pinned stories. Without a text there is no line; without stories none are pinned.
    #[cfg_attr(test, schema(as = Announcement))]
    pub struct AnnouncementForm, check {
        /// The line above every page; empty for none.
        pub text: String = text_or_empty, values::AnnouncementText, required = false;
        /// Where the line leads: a full address, or a page of this site such as `/about`; may be empty.
        pub url: String = text_or_empty, values::AnnouncementUrl, required = false;
        /// For how long the line is shown.
        pub hours: Hours = hours, values::Hours, required = false;
        /// The numbers of at most two stories, with commas between them, for the top of the front page.
        pub pinned: Vec<NewsId> = pinned, values::PinnedStories, required = false;
        /// For how long the stories are pinned.
        pub pinned_hours: Hours = hours, values::Hours, required = false;
        /// When the announcement was made that the caller has seen, 0 for none, as `GET` tells it. If there is another by
        /// now, the change is refused.
        pub seen: Option<Timestamp> = optional(time), u64, required = false;
    }

    /// An announcement that the member does not want to see again.
    pub struct DismissForm {
        /// When it was made.
        pub made: u64 = parsed(m!("it must be the time of an announcement")), values::Id;
    }
}

fn pinned(fields: &Fields, name: &'static str) -> Result<Vec<NewsId>> {
    let numbers = fields.text(name).split(',').map(str::trim).filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().map_err(|_| WRONG_PINNED)).collect()
}

const WRONG_PINNED: RequestError = RequestError::field(
    "pinned",
    m!("it must be the numbers of at most two stories, with commas between them"),
);

const NOT_SHOWN: RequestError =
    RequestError::field("pinned", m!("it must be the numbers of stories that are shown"));

impl AnnouncementForm {
    fn check(&self, _: &Fields) -> Result<()> {
        self.at(Timestamp::default()).map(drop)
    }

    /// The announcement, if it is made at some time.
    fn at(&self, now: Timestamp) -> Result<Announcement> {
        let end = |hours: Hours| hours.map(|hours| Timestamp(now.0.saturating_add(hours * 3_600)));
        let line = (&*self.text, &*self.url, end(self.hours));
        let made =
            if self.text.trim().is_empty() && self.pinned.is_empty() { Timestamp::default() } else { now };
        Announcement::parse(made, line, (&self.pinned, end(self.pinned_hours))).map_err(|error| match error {
            IdentityError::Text(error) => Error::from(error).into(),
            IdentityError::TooManyPinned => WRONG_PINNED,
            _ => RequestError::field(
                "url",
                m!("it must be a full address, or a page of this site, such as /about"),
            ),
        })
    }
}

answer! {
    /// The announcement, and the stories that are pinned.
    pub struct AnnouncementResponse as CurrentAnnouncement from (current: (&Announcement, Timestamp)) {
        status;
        /// The line above every page; empty if there is none.
        text: String = shown(current, Announcement::text);
        /// Where the line leads; may be empty.
        url: String = shown(current, Announcement::url);
        /// The hours for which it is still shown, rounded up; 0 without an end.
        hours: u64 = left(current.0.until.filter(|_| current.0.is_shown(current.1)), current.1);
        /// The stories that are pinned.
        pinned: Vec<u64> = current.0.pinned(current.1).iter().map(|id| id.0).collect();
        /// The hours for which they are still pinned, rounded up; 0 without an end.
        pinned_hours: u64 =
            left(current.0.pinned_until.filter(|_| !current.0.pinned(current.1).is_empty()), current.1);
        /// When it was made, in Unix seconds; 0 if there has been none.
        made: u64 = current.0.made.0;
    }
}

/// A text of an announcement while it is shown.
fn shown((announcement, now): (&Announcement, Timestamp), text: fn(&Announcement) -> &str) -> String {
    if announcement.is_shown(now) { text(announcement).to_owned() } else { String::new() }
}

/// The hours until an end, rounded up; 0 without one.
fn left(end: Option<Timestamp>, now: Timestamp) -> u64 {
    end.map_or(0, |end| end.seconds_since(now).div_ceil(3_600))
}

/// GET /api/admin/announcement.
pub async fn current(Page { app, mut visit, .. }: Page<Administrator>) -> Result<Json<AnnouncementResponse>> {
    let announcement = announcing::current(&mut visit).await;
    Ok(Json((&announcement, app.now()).into()))
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    vec![
        Action::once(
            "/admin/announcement",
            m!("Change the announcement and the pinned stories (administrators only)."),
            |app, by, form: &AnnouncementForm| {
                Box::pin(async move {
                    let now = app.moment();
                    let announcement = (form.at(now.timestamp())?, form.seen);
                    announcing::change(&app.site, now, by.user, announcement).await.map_err(|error| {
                        match error {
                            Error::Refused(Refusal::NoSuchNews) => NOT_SHOWN,
                            error => error.into(),
                        }
                    })
                })
            },
        )
        .answering(async |_, id| Ok(ModeratedResponse::from(id)))
        .form_page(PAGE)
        .then(LONG, |_, ()| PAGE.to_owned()),
        Action::setting(
            "/announcement/dismiss",
            m!("Dismiss an announcement: it is not shown to the member any more."),
            |app, by, form: &DismissForm| {
                Box::pin(announcing::dismiss(&app.site, by.user, Timestamp(form.made)))
            },
        )
        .back(SHORT),
    ]
}

/// The form on the page about the site.
pub fn section(frame: &Frame<'_>) -> Markup {
    let current = AnnouncementResponse::from((&frame.brand.announcement, frame.now));
    let pinned: Vec<String> = current.pinned.iter().map(ToString::to_string).collect();
    let (pinned, most) = (pinned.join(", "), MAX_ANNOUNCEMENT.to_string());
    // A new one ends by itself unless one says otherwise.
    let hours = if current.text.is_empty() { USUAL_HOURS } else { current.hours }.to_string();
    let pinned_hours =
        if current.pinned.is_empty() { USUAL_PINNED_HOURS } else { current.pinned_hours }.to_string();
    let text = Field::new("text", t!("Announcement")).value(&current.text).with("maxlength", &most);
    let text =
        text.hint(html! { (t!("One line above every page. Members can dismiss it. Leave empty for none.")) });
    let url = Field::new("url", t!("noun" => "Link")).value(&current.url).exact();
    let url = url.hint(html! { (t!("Optional: a full address, or a page of this site, such as /news/7.")) });
    let end = Field::new("hours", t!("Hours")).value(&hours).with("inputmode", "numeric");
    let end = end.hint(html! { (t!("Hours to show it. 0: until removed.")) });
    let stories = Field::new("pinned", t!("Pinned stories")).value(&pinned).exact();
    let stories =
        stories.hint(html! { (t!("The numbers of up to two stories, for the top of the front page.")) });
    let pinned_end =
        Field::new("pinned_hours", t!("Hours")).value(&pinned_hours).with("inputmode", "numeric");
    let pinned_end = pinned_end.hint(html! { (t!("Hours to keep them pinned. 0: until removed.")) });
    html! {
        h2 #announcement { (t!("Announcement")) }
        p {
            (t!(
                "The {log} lists announcements, and you can undo them there.",
                log = html! { a href="/moderations?kind=site" { (t!("moderation log")) } }
            ))
        }
        form.form.narrow method="post" action="/admin/announcement" {
            (frame.signed_fields())
            input type="hidden" name="seen" value=(current.made);
            @for field in [text, url, end, stories, pinned_end] { (field.input()) }
            button.button { (t!("Save the announcement")) }
        }
    }
}

impl Frame<'_> {
    /// The announcement above every page, unless the viewer has dismissed it.
    pub fn announcement(&self) -> Markup {
        let announcement = &self.brand.announcement;
        let is_dismissed = self.viewer.is_some_and(|viewer| viewer.dismissed == Some(announcement.made));
        if !announcement.is_shown(self.now) || is_dismissed || self.is_shut() {
            return html! {};
        }
        let url = Some(announcement.url()).filter(|url| !url.is_empty());
        html! {
            div.notice.announcement role="region" aria-label=(t!("Announcement")) {
                p {
                    @match url {
                        Some(url) => a href=(url) rel=[(!url.starts_with('/')).then_some(OUTSIDE)] { (announcement.text()) },
                        None => (announcement.text()),
                    }
                }
                @if self.viewer.is_some() {
                    form method="post" action="/announcement/dismiss" {
                        (self.signed_fields())
                        input type="hidden" name="made" value=(announcement.made);
                        input type="hidden" name="next" value=(self.way_back);
                        button.button.small.quiet { (t!("Dismiss")) span.hidden { " " (t!("the announcement")) } }
                    }
                }
            }
        }
    }
}

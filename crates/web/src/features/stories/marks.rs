//! Hiding and saving stories: the buttons, what they do, and what a list says about hidden stories.

use super::form::NewsIdForm;
use crate::error::Result;
use crate::features::action::{Action, ActionEntry};
use crate::markup::Frame;
use crate::markup::addresses::news_address;
use crate::markup::fragments::{ContentPlaceholder, Fragment, written};
use crate::markup::frame::ITEMS_FORM;
use crate::markup::parts::news_anchor;
use crate::request::local_path::add_parameter;
use crate::request::{LocalPath, Next};
use crate::route::{LoginReason, SHORT};
use maud::{Markup, Render, html};
use tidings_domain::news::listing::Marks;
use tidings_domain::news::lists;
use tidings_domain::news::marking::{self, Mark};
use tidings_domain::values::NewsId;
use tidings_domain::{News, Visit};
use tidings_language::{PerLanguage, m, t};

/// The parameter of a page that names the story that was just hidden.
const JUST_HIDDEN: &str = "hid";

/// A button of a story. The placeholder is the number of the story.
type Button = Fragment<ContentPlaceholder>;

/// The buttons to hide a story or undo that, and to save it or undo that. A deleted story can only be removed
/// from what the viewer has marked.
pub fn mark_buttons(news: &News, marks: Marks) -> impl Render {
    static BUTTONS: PerLanguage<[Button; 4]> = PerLanguage::new(|| {
        let button = |action: &str, title: Option<&str>, text: &str| {
            Fragment::new(|slots| {
                html! {
                    " " button form=(ITEMS_FORM) formaction=(action) name="news_id"
                        value=(slots.at(ContentPlaceholder::Content)) title=[title] { (text) }
                }
            })
        };
        [
            button("/hide", None, t!("button" => "hide")),
            button("/unhide", Some(t!("Show it in lists again")), t!("button" => "unhide")),
            button("/save", None, t!("button" => "save")),
            button("/unsave", Some(t!("Remove it from your saved stories")), t!("button" => "saved")),
        ]
    });
    let (id, can_mark) = (news.id, news.state().is_open());
    written(move |html| {
        let [hide, unhide, save, unsave] = &*BUTTONS;
        let shown = [
            (hide, can_mark && !marks.hidden),
            (unhide, marks.hidden),
            (save, can_mark && !marks.saved),
            (unsave, marks.saved),
        ];
        for (button, _) in shown.into_iter().filter(|(_, is_shown)| *is_shown) {
            button.fill(html, |ContentPlaceholder::Content, html| id.0.render_to(html));
        }
    })
}

/// Whether a story has any of these buttons.
pub fn has_mark_buttons(news: &News, marks: Marks) -> bool {
    news.state().is_open() || marks.hidden || marks.saved
}

/// Another button of a story on its own page, with a longer text to explain it.
pub fn story_button(news: NewsId, action: &str, (title, text): (&str, &str)) -> Markup {
    html! {
        " " button form=(ITEMS_FORM) formaction=(action) name="news_id" value=(news) title=(title) { (text) }
    }
}

/// The story that the viewer has just hidden.
pub struct JustHidden {
    id: NewsId,
    title: String,
}

impl JustHidden {
    /// The story that the address names, if the viewer has hidden it.
    pub async fn read(visit: &mut Visit, here: &LocalPath) -> Result<Option<Self>> {
        let Some(id) = here.parameter(JUST_HIDDEN).and_then(|id| id.parse().ok()) else {
            return Ok(None);
        };
        let title = lists::hidden_title(visit, id).await?;
        Ok(title.map(|title| Self { id, title }))
    }

    /// The notice, with a button that undoes it.
    pub fn render(&self, frame: &Frame<'_>) -> Markup {
        html! {
            div.notice.undo role="status" {
                form.inline method="post" action="/unhide" {
                    (frame.signed_fields())
                    input type="hidden" name="next" value=(frame.way_back);
                    @let story = html! { a href=(news_address(self.id)) { bdi { (self.title) } } };
                    span { (t!("Hidden: {story}.", story)) }
                    button.button.small name="news_id" value=(self.id) { (t!("button" => "Undo")) }
                }
            }
        }
    }
}

/// The actions behind the forms of this file.
pub fn actions() -> Vec<ActionEntry> {
    let adding = |path, summary, mark| {
        Action::setting(path, summary, move |app, by, form: &NewsIdForm| {
            Box::pin(marking::mark(&app.site, app.now(), by.user, mark, form.news_id))
        })
    };
    let removing = |path, summary, mark| {
        Action::setting(path, summary, move |app, by, form: &NewsIdForm| {
            Box::pin(marking::unmark(&app.site, by.user, mark, form.news_id))
        })
    };
    let (hiding, saving) = (SHORT.asking(LoginReason::Hide), SHORT.asking(LoginReason::Save));
    vec![
        adding("/hide", m!("Hide a story."), Mark::Hidden).then(hiding, list_saying_what_was_hidden),
        removing("/unhide", m!("Show a hidden story again."), Mark::Hidden).then(hiding, marked_story),
        adding("/save", m!("Save a story without voting."), Mark::Saved).then(saving, marked_story),
        removing("/unsave", m!("Remove a story from the saved ones."), Mark::Saved)
            .then(saving, marked_story),
    ]
}

/// The list that a story was hidden in, which then says so; or the page of the story.
fn list_saying_what_was_hidden(form: &NewsIdForm, Next { next }: Next) -> String {
    let mut back = next.way_back();
    if back != news_address(form.news_id) {
        add_parameter(&mut back, JUST_HIDDEN, &form.news_id.to_string());
    }
    back
}

fn marked_story(form: &NewsIdForm, next: Next) -> String {
    story_on_page(form.news_id, &next)
}

/// The story on the page that a button was on.
pub fn story_on_page(news: NewsId, Next { next }: &Next) -> String {
    format!("{}#{}", next.way_back(), news_anchor(news).render().into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::test_support::news;

    fn buttons(marks: Marks, deleted: bool) -> String {
        mark_buttons(&news("t", "http://a.com/", deleted), marks).render().into_string()
    }

    #[test]
    fn a_story_has_the_buttons_for_what_can_be_done() {
        let marked = Marks { saved: true, hidden: true, ..Marks::default() };
        for (marks, deleted, shown) in [
            (Marks::default(), false, &["/hide", "/save"][..]),
            (marked, false, &["/unhide", "/unsave"]),
            (marked, true, &["/unhide", "/unsave"]),
            (Marks::default(), true, &[]),
        ] {
            let html = buttons(marks, deleted);
            for action in ["/hide", "/unhide", "/save", "/unsave"] {
                let button = format!(r#"formaction="{action}" name="news_id" value="5""#);
                assert_eq!(html.contains(&button), shown.contains(&action), "{action} in {html}");
            }
        }
    }
}

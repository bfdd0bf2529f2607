//! A refused form, shown again: the page that it is on, filled in as it was sent, with the error at its field.
//!
//! It works on the finished page. So each form of the site comes back in the same way, wherever it is and however it
//! is written, and no handler has to think of it; see `router/refused_forms.rs`.

use super::parts::{about_trust, alert};
use crate::error::{RequestError, Result, ShownInForm, correctable_message, sentence, wrong_fields};
use crate::request::Fields;
use crate::request::form::FORM_PAGE;
use crate::request::viewer::SECRETS;
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;
use tidings_domain::values::text::printable_lines;

/// Why a form is shown again.
#[derive(Clone, Copy)]
pub enum Why<'a> {
    /// It was refused.
    Refused(&'a RequestError),
    /// Its text is to be shown as it will look, in the form's place for that.
    Preview(&'a Markup),
    /// It was a trial, whose outcome the page has.
    Tried,
}

/// A form that was sent.
#[derive(Clone, Copy)]
pub struct Sent<'a> {
    /// Whether it is one that changes something, and not a lookup.
    pub is_post: bool,
    /// Where it was sent to.
    pub action: &'a str,
    /// Its fields.
    pub fields: &'a Fields,
}

impl Sent<'_> {
    /// The page with the form filled in; `None` if the page has no such form, or if its sender cannot correct the
    /// failure. The page is one of ours: its attributes are in double quotes, and its text is escaped.
    pub fn filled(self, page: &str, why: Why<'_>) -> Option<String> {
        let tags = tags(page);
        let form = FormTags::all(&tags).filter(|form| form.is_of(self)).reduce(|best, form| {
            if form.taken(self.fields) > best.taken(self.fields) { form } else { best }
        })?;
        let mut changes = Changes::default();
        form.fill(self.fields, &mut changes);
        form.open_around(&mut changes);
        match why {
            Why::Refused(failure) => form.show_error(failure, &correctable_message(failure)?, &mut changes),
            Why::Preview(preview) => form.show_preview(preview, &mut changes),
            Why::Tried => {}
        }
        // A typed text can have characters that no document may have.
        Some(printable_lines(&changes.applied(page, &tags)).into_owned())
    }

    /// The answer to a trial: the page with its outcome and with the form, filled in.
    pub fn tried(self, page: Markup) -> Markup {
        self.filled(&page.0, Why::Tried).map_or(page, PreEscaped)
    }

    /// The answer to a refused lookup: the page with its form, filled in.
    ///
    /// # Errors
    /// The failure, if the sender cannot correct it.
    pub fn page(self, page: &Markup, failure: RequestError) -> Result<Response> {
        let Some(page) = self.filled(&page.0, Why::Refused(&failure)) else { return Err(failure) };
        let mut response = (failure.status(), PreEscaped(page)).into_response();
        response.extensions_mut().insert(ShownInForm(failure));
        Ok(response)
    }
}

/// A page that has another form than the one that was refused, with the reason above it; `None` if the sender cannot
/// correct the failure.
pub fn with_alert(page: &str, failure: &RequestError) -> Option<String> {
    let message = correctable_message(failure)?;
    let tags = tags(page);
    let main = tags.iter().position(|tag| tag.is_start_of("main"))?;
    let mut changes = Changes::default();
    changes.add_after(main, &alert(&explained(failure, &message)).into_string());
    Some(changes.applied(page, &tags))
}

/// The message of a failure, with a link to the page that explains it.
fn explained(failure: &RequestError, message: &str) -> Markup {
    html! { (message) @if failure.is_about_trust() { " " (about_trust()) } }
}

/// A start tag or an end tag.
struct Tag<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    is_end: bool,
    /// The attributes with their values as they are written; an attribute without a value has an empty one.
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn is_start_of(&self, name: &str) -> bool {
        !self.is_end && self.name == name
    }

    /// Whether people see it and can fill it in.
    fn is_shown_control(&self) -> bool {
        let is_control = !self.is_end && ["input", "textarea", "select"].contains(&self.name);
        is_control && self.attribute("type") != Some("hidden") && self.attribute("hidden").is_none()
    }

    /// Whether it is chosen or not, and always sends the same value.
    fn is_box(&self) -> bool {
        self.name == "input" && matches!(self.attribute("type"), Some("checkbox" | "radio"))
    }

    /// The name of the control, unless it is a secret.
    fn open_name(&self) -> Option<&'a str> {
        let name = self.attribute("name")?;
        (self.attribute("type") != Some("password") && !SECRETS.contains(&name)).then_some(name)
    }
}

/// The tags of a page.
fn tags(page: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(start) = page[at..].find('<').map(|found| at + found) {
        let rest = &page[start + 1..];
        let is_end = rest.starts_with('/');
        let named = &rest[usize::from(is_end)..];
        let name = &named[..named.find([' ', '>', '/']).unwrap_or(named.len())];
        let mut cursor = start + 1 + usize::from(is_end) + name.len();
        let mut attributes = Vec::new();
        while let Some(next) = page[cursor..].find(|character: char| character != ' ' && character != '/') {
            cursor += next;
            let rest = &page[cursor..];
            if rest.starts_with('>') {
                cursor += 1;
                break;
            }
            let name = &rest[..rest.find(['=', ' ', '>']).unwrap_or(rest.len())];
            cursor += name.len();
            let quoted = page[cursor..].strip_prefix("=\"").and_then(|rest| rest.split_once('"'));
            let value = quoted.map_or("", |(value, _)| value);
            cursor += quoted.map_or(0, |_| value.len() + 3);
            attributes.push((name, value));
        }
        tags.push(Tag { start, end: cursor, name, is_end, attributes });
        at = cursor;
    }
    tags
}

/// A form of a page: its tags.
struct FormTags<'a> {
    tags: &'a [Tag<'a>],
    /// The index of its start tag, and of its end tag.
    form: (usize, usize),
}

/// Hidden fields that do not say which form it is.
const NOT_OF_FORM: [&str; 4] = ["apisecret", "next", "after", FORM_PAGE];

impl<'a> FormTags<'a> {
    fn all(tags: &'a [Tag<'a>]) -> impl Iterator<Item = Self> {
        let starts = tags.iter().enumerate().filter(|(_, tag)| tag.is_start_of("form"));
        starts.filter_map(move |(start, _)| {
            let length = tags[start..].iter().position(|tag| tag.is_end && tag.name == "form")?;
            Some(Self { tags, form: (start, start + length) })
        })
    }

    /// Its tags with their indices.
    fn within(&self) -> impl Iterator<Item = (usize, &'a Tag<'a>)> {
        (self.form.0 + 1..self.form.1).map(|index| (index, &self.tags[index]))
    }

    /// Whether it is the one that was sent. A form without an action leads to its own page.
    fn is_of(&self, sent: Sent<'_>) -> bool {
        let form = &self.tags[self.form.0];
        let is_post = form.attribute("method") == Some("post");
        let is_there = form
            .attribute("action")
            .is_none_or(|action| action.split('#').next() == Some(&escaped(sent.action)));
        is_post == sent.is_post && is_there && self.has_hidden(sent.fields)
    }

    /// Whether its hidden fields are those that were sent. The script fills those without a value.
    fn has_hidden(&self, sent: &Fields) -> bool {
        self.within().filter(|(_, tag)| tag.attribute("type") == Some("hidden")).all(|(_, tag)| {
            let name = tag.attribute("name").unwrap_or_default();
            let is_sent = |value| sent.get(name).is_some_and(|sent| escaped(sent) == value);
            NOT_OF_FORM.contains(&name) || tag.attribute("value").is_none_or(is_sent)
        })
    }

    /// How many of the fields that were sent it can send.
    fn taken(&self, sent: &Fields) -> usize {
        let mut choice = "";
        let can_send = |(name, value): (&str, &str)| {
            self.within().any(|(_, tag)| {
                if tag.name == "select" {
                    choice = tag.attribute("name").unwrap_or_default();
                }
                let is_fixed = tag.name == "button" || tag.is_box();
                let has_value = || tag.attribute("value") == Some(&*escaped(value));
                match tag.name {
                    "option" => choice == name && has_value(),
                    "select" => false,
                    _ => tag.attribute("name") == Some(name) && (!is_fixed || has_value()),
                }
            })
        };
        sent.iter().map(can_send).filter(|can| *can).count()
    }

    /// Puts into its controls what was sent, but no secrets.
    fn fill(&self, sent: &Fields, changes: &mut Changes) {
        let mut choice = None;
        for (index, tag) in self.within().filter(|(_, tag)| !tag.is_end) {
            let typed = tag.open_name().and_then(|name| sent.get(name));
            match tag.name {
                "input" if tag.attribute("type") == Some("hidden") => {}
                "input" if tag.is_box() => {
                    let value = tag.attribute("value").unwrap_or("on");
                    changes.switch(index, "checked", typed.is_some_and(|typed| escaped(typed) == value));
                }
                "input" => typed.into_iter().for_each(|typed| changes.set(index, "value", typed)),
                "textarea" => typed.into_iter().for_each(|typed| {
                    // Browsers drop a line break right after the tag.
                    changes.contents.insert(index, format!("\n{}", escaped(typed)));
                }),
                "select" => choice = typed,
                "option" => {
                    let value = tag.attribute("value");
                    let chosen = choice.filter(|_| self.is_in(index, "select"));
                    chosen.into_iter().for_each(|chosen| {
                        changes.switch(index, "selected", value == Some(&*escaped(chosen)));
                    });
                }
                _ => {}
            }
        }
    }

    /// Whether the tag is within an element of this name.
    fn is_in(&self, index: usize, name: &str) -> bool {
        self.tags[..index].iter().rev().find(|tag| tag.name == name).is_some_and(|tag| !tag.is_end)
    }

    /// Opens what is closed around it.
    fn open_around(&self, changes: &mut Changes) {
        let mut open = Vec::new();
        for (index, tag) in
            self.tags[..self.form.0].iter().enumerate().filter(|(_, tag)| tag.name == "details")
        {
            if tag.is_end {
                open.pop();
            } else {
                open.push(index);
            }
        }
        open.into_iter().for_each(|index| changes.switch(index, "open", true));
    }

    /// Shows why it was refused: beside the field that this is about, or above the form; above the page if the form
    /// is only a button. The field has the focus, so that a browser scrolls to it.
    fn show_error(&self, failure: &RequestError, message: &str, changes: &mut Changes) {
        let shown: Vec<_> = self.within().filter(|(_, tag)| tag.is_shown_control()).collect();
        let position = |name| {
            let named = |(_, tag): &&(usize, &Tag<'_>)| tag.attribute("name") == Some(name);
            shown.iter().find(named).map(|(index, _)| *index)
        };
        let told: Vec<(&str, String)> = match failure {
            RequestError::Fields(wrong) => wrong.to_vec(),
            // Beside its field, the message need not name it.
            RequestError::Field { name, expected } => vec![(name, sentence(expected.text()))],
            failure => wrong_fields(failure).into_iter().map(|name| (name, message.to_owned())).collect(),
        };
        let are_all = matches!(failure, RequestError::Fields(_));
        let mut wrong: Vec<_> =
            told.iter().filter_map(|(name, told)| Some((*name, position(name)?, told))).collect();
        wrong.truncate(if are_all { wrong.len() } else { 1 });
        for (name, index, told) in &wrong {
            self.mark(name, *index, &explained(failure, told), changes);
        }
        let main = self.tags.iter().position(|tag| tag.is_start_of("main")).unwrap_or(self.form.0);
        let above = alert(&explained(failure, message)).into_string();
        if shown.is_empty() {
            changes.add_after(main, &above);
        } else if wrong.is_empty() || are_all {
            changes.add_before(self.form.0, &above);
        }
        let focus = wrong.first().map(|(_, index, _)| *index).or(shown.first().map(|(index, _)| *index));
        for (index, _) in self.tags.iter().enumerate().filter(|(_, tag)| tag.attribute("autofocus").is_some())
        {
            changes.switch(index, "autofocus", false);
        }
        focus.into_iter().for_each(|index| changes.switch(index, "autofocus", true));
    }

    fn show_preview(&self, preview: &Markup, changes: &mut Changes) {
        let place = self.within().find(|(_, tag)| tag.attribute("data-preview-place").is_some());
        place.into_iter().for_each(|(index, _)| {
            changes.switch(index, "hidden", false);
            changes.contents.insert(index + 1, preview.0.clone());
        });
    }

    /// Marks a control as wrong, with a message right behind it, or behind its label if that is around it.
    fn mark(&self, name: &str, index: usize, message: &Markup, changes: &mut Changes) {
        let tag = &self.tags[index];
        let id = tag.attribute("id").map_or_else(|| format!("refused-{name}"), str::to_owned);
        let hint = tag.attribute("aria-describedby");
        // A rule that the error says is not repeated.
        let is_rule = |tag: &Tag<'_>| tag.attribute("id") == hint && tag.attribute("data-rule").is_some();
        let rule = self.tags.iter().position(|tag| hint.is_some() && is_rule(tag));
        rule.into_iter().for_each(|rule| {
            changes.switch(rule, "hidden", true);
            changes.switch(rule, "id", false);
            changes.contents.insert(rule, String::new());
        });
        let hint = hint.filter(|_| rule.is_none()).map(|hint| format!(" {hint}")).unwrap_or_default();
        let error = format!("error-{id}");
        changes.set(index, "id", &id);
        changes.set(index, "aria-describedby", &format!("{error}{hint}"));
        changes.set(index, "aria-invalid", "true");
        let end_of = |name: &str| {
            let ends = self.tags[index..].iter().position(|tag| tag.is_end && tag.name == name);
            ends.map_or(index, |length| index + length)
        };
        let end = match tag.name {
            _ if self.is_in(index, "label") => end_of("label"),
            "input" => index,
            name => end_of(name),
        };
        let error = html! { p.error id=(error) role="alert" { (message) } };
        changes.add_after(end, &error.into_string());
    }
}

/// Changes of a page, by the indices of its tags.
#[derive(Default)]
struct Changes {
    /// Attributes with their new values; `None` for one that goes.
    attributes: BTreeMap<usize, Vec<(&'static str, Option<String>)>>,
    /// New contents of the elements that begin there.
    contents: BTreeMap<usize, String>,
    before: BTreeMap<usize, String>,
    after: BTreeMap<usize, String>,
}

impl Changes {
    fn set(&mut self, index: usize, name: &'static str, value: &str) {
        let changed = self.attributes.entry(index).or_default();
        changed.retain(|(known, _)| *known != name);
        changed.push((name, Some(escaped(value))));
    }

    /// Sets or removes an attribute without a value.
    fn switch(&mut self, index: usize, name: &'static str, is_on: bool) {
        let changed = self.attributes.entry(index).or_default();
        changed.retain(|(known, _)| *known != name);
        changed.push((name, is_on.then(String::new)));
    }

    fn add_before(&mut self, index: usize, markup: &str) {
        self.before.entry(index).or_default().push_str(markup);
    }

    fn add_after(&mut self, index: usize, markup: &str) {
        self.after.entry(index).or_default().push_str(markup);
    }

    fn applied(&self, page: &str, tags: &[Tag<'_>]) -> String {
        let mut html = String::with_capacity(page.len() + page.len() / 8);
        let mut at = 0;
        for (index, tag) in tags.iter().enumerate() {
            html.push_str(&page[at..tag.start]);
            html.push_str(self.before.get(&index).map_or("", String::as_str));
            match self.attributes.get(&index) {
                None => html.push_str(&page[tag.start..tag.end]),
                Some(changed) => write_start_tag(tag, changed, &mut html),
            }
            at = tag.end;
            if let Some(content) = self.contents.get(&index) {
                html.push_str(content);
                at = tags.get(index + 1).map_or(page.len(), |end| end.start);
            }
            html.push_str(self.after.get(&index).map_or("", String::as_str));
        }
        html.push_str(&page[at..]);
        html
    }
}

fn write_start_tag(tag: &Tag<'_>, changed: &[(&'static str, Option<String>)], html: &mut String) {
    let kept = tag.attributes.iter().filter(|(name, _)| !changed.iter().any(|(known, _)| known == name));
    let set = changed.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
    html.push('<');
    html.push_str(tag.name);
    for (name, value) in kept.copied().chain(set) {
        html.push(' ');
        html.push_str(name);
        if !value.is_empty() || name == "value" {
            html.push_str("=\"");
            html.push_str(value);
            html.push('"');
        }
    }
    html.push('>');
}

/// A text as our pages write it.
fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RequestError;
    use tidings_language::m;

    /// Compares the form that `refilled` makes of one for `/a`, refused because of a field.
    fn check(form: &str, sent: &str, field: &'static str, expected: &str) {
        let page = format!("<main><p>&lt;</p>{form}</main>");
        let fields = &Fields::parse(sent.as_bytes()).unwrap();
        let sent = Sent { is_post: true, action: "/a", fields };
        let page = sent.filled(&page, Why::Refused(&RequestError::field(field, m!("it must be <1>"))));
        assert_eq!(page.unwrap(), format!("<main><p>&lt;</p>{expected}</main>"));
    }

    #[test]
    fn a_form_has_what_was_sent_and_the_error_at_its_field() {
        check(
            r#"<form method="post" action="/a"><input name="x" value="old" required></form>"#,
            "x=%3C%22",
            "x",
            "<form method=\"post\" action=\"/a\"><input name=\"x\" required value=\"&lt;&quot;\" id=\"refused-x\" \
             aria-describedby=\"error-refused-x\" aria-invalid=\"true\" autofocus>\
             <p class=\"error\" id=\"error-refused-x\" role=\"alert\">It must be &lt;1&gt;.</p></form>",
        );
        check(
            "<form method=\"post\" action=\"/a\"><label>X<textarea name=\"x\">\nold</textarea></label></form>",
            "x=%0Anew",
            "y",
            "<p class=\"alert\" role=\"alert\">Parts of it are missing or have been changed. Go back, reload the page and try again.</p>\
             <form method=\"post\" action=\"/a\"><label>X<textarea name=\"x\" autofocus>\n\nnew</textarea></label></form>",
        );
    }

    #[test]
    fn the_error_comes_before_the_hint_and_takes_the_place_of_a_rule() {
        for (hint, described, left) in [
            ("<p id=\"h\">A hint</p>", "error-x h", "<p id=\"h\">A hint</p>"),
            ("<p id=\"h\" data-rule>A hint</p>", "error-x", "<p data-rule hidden></p>"),
        ] {
            check(
                &format!(
                    "<form method=\"post\" action=\"/a\"><input id=\"x\" name=\"x\" aria-describedby=\"h\">{hint}</form>"
                ),
                "x=1",
                "x",
                &format!(
                    "<form method=\"post\" action=\"/a\"><input name=\"x\" value=\"1\" id=\"x\" \
                     aria-describedby=\"{described}\" aria-invalid=\"true\" autofocus><p class=\"error\" \
                     id=\"error-x\" role=\"alert\">It must be &lt;1&gt;.</p>{left}</form>"
                ),
            );
        }
    }

    #[test]
    fn boxes_and_choices_are_as_they_were_and_secrets_are_not_sent_back() {
        check(
            "<details><form method=\"post\" action=\"/a\"><label><input type=\"checkbox\" name=\"b\" value=\"1\"></label>\
             <input type=\"checkbox\" name=\"c\" value=\"1\" checked><select name=\"s\"><option value=\"1\" selected>1\
             </option><option value=\"2\">2</option></select><input type=\"password\" name=\"p\"></form></details>",
            "b=1&s=2&p=secret",
            "b",
            "<details open><form method=\"post\" action=\"/a\"><label><input type=\"checkbox\" name=\"b\" value=\"1\" \
             checked id=\"refused-b\" aria-describedby=\"error-refused-b\" aria-invalid=\"true\" autofocus></label>\
             <p class=\"error\" id=\"error-refused-b\" role=\"alert\">It must be &lt;1&gt;.</p>\
             <input type=\"checkbox\" name=\"c\" value=\"1\"><select name=\"s\"><option value=\"1\">1\
             </option><option value=\"2\" selected>2</option></select><input type=\"password\" name=\"p\"></form></details>",
        );
    }

    #[test]
    fn of_several_forms_the_one_with_the_hidden_fields_and_the_button_is_filled() {
        let form = |id: &str, button: &str, value: &str| {
            format!(
                "<form method=\"post\" action=\"/a\"><input type=\"hidden\" name=\"id\" value=\"{id}\">\
                 <input name=\"x\"{value}><button name=\"do\" value=\"{button}\"></button></form>"
            )
        };
        let others = [form("1", "go", ""), form("2", "stop", "")].concat();
        let before = format!("{others}{}", form("2", "go", ""));
        let after = "<p class=\"alert\" role=\"alert\">Parts of it are missing or have been changed. Go back, reload the page and try again.</p>";
        let filled = form("2", "go", " value=\"new\" autofocus");
        check(&before, "id=2&x=new&do=go", "z", &format!("{others}{after}{filled}"));
    }

    #[test]
    fn a_form_that_is_only_a_button_has_the_error_above_the_page_and_another_form_has_none() {
        const PAGE: &str = r#"<main id="main"><ul><li><form method="post" action="/a"><button></button></form></li></ul></main>"#;
        let failure = RequestError::field("x", m!("it must be 1"));
        let sent = |action| {
            Sent { is_post: true, action, fields: &Fields::default() }.filled(PAGE, Why::Refused(&failure))
        };
        assert!(sent("/a").is_some_and(|again| again.starts_with(r#"<main id="main"><p class="alert""#)));
        assert_eq!(sent("/b"), None);
        assert!(with_alert(PAGE, &failure).is_some_and(|page| page.contains(r#"main"><p class="alert""#)));
    }
}

//! Fields of forms: a label, a control, a hint, and what is wrong with it, right below it. And
//! why a form is shown again.
//!
//! A handler makes a [`RefusedForm`] of a failure and names the fields of its form
//! ([`RefusedForm::beside`]). A page shows [`summary`] above the form, and each [`Field`] shows the
//! message if it is about that field. So the message is always somewhere, once.

use super::fragments::written;
use super::frame::Frame;
use super::parts::alert;
use crate::error::{RequestError, ShownInForm, correctable_message, sentence, wrong_fields};
use crate::request::form::Fields;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use maud::{Escaper, Markup, Render, html};
use std::fmt::Write;

/// Why a form is shown again: the message, the field that it is about, and the failure.
pub struct RefusedForm {
    /// The message to the user.
    pub message: String,
    /// The field that the message is shown beside; `None` if it is shown above the form.
    field: Option<&'static str>,
    /// The fields that the failure can be about, the likeliest first.
    candidates: Vec<&'static str>,
    /// The message for a place beside its field, where it need not name the field; `None` if it is the same.
    beside_field: Option<String>,
    failure: RequestError,
}

impl RefusedForm {
    /// A failure that the user can correct in the form.
    ///
    /// # Errors
    /// The failure itself, if the user cannot correct it.
    pub fn from_failure(failure: RequestError) -> Result<Self, RequestError> {
        let candidates = wrong_fields(&failure);
        let beside_field = match &failure {
            RequestError::Field { expected, .. } if *expected != RequestError::MISSING => {
                Some(sentence(expected))
            }
            _ => None,
        };
        let message = correctable_message(failure.clone())?;
        Ok(Self { message, field: None, candidates, beside_field, failure })
    }

    /// The same for a form with these fields that people fill in: the message is shown beside the
    /// field that it is about, if the form has it.
    #[must_use]
    pub fn beside(mut self, fields: &[&str]) -> Self {
        self.field = self.candidates.iter().copied().find(|name| fields.contains(name));
        if self.field.is_some()
            && let Some(message) = self.beside_field.take()
        {
            self.message = message;
        }
        self
    }

    /// The field that the message is shown beside; `None` if it is shown above the form.
    #[must_use]
    pub const fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// The message if it is about this field.
    fn about(&self, field: &str) -> Option<&str> {
        (self.field == Some(field)).then_some(&*self.message)
    }

    /// The response with the form filled in.
    #[must_use]
    pub fn response(&self, page: Markup) -> Response {
        let mut response = (self.failure.status(), page).into_response();
        if let Some(seconds) = self.failure.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(ShownInForm(self.failure.clone()));
        response
    }
}

/// The message above a form. It is empty if the message is beside its field.
#[must_use]
pub fn summary(refused: Option<&RefusedForm>) -> Markup {
    alert(refused.filter(|refused| refused.field.is_none()).map(|refused| &*refused.message))
}

/// A field of a form. Its id is its name.
pub struct Field<'a> {
    name: &'static str,
    label: &'a str,
    value: &'a str,
    hint: Option<Markup>,
    /// Whether the hint is the rule for what is typed: then it is not repeated beside an error, which says it.
    is_rule: bool,
    after: Option<Markup>,
    attributes: Vec<(&'static str, &'a str)>,
}

impl<'a> Field<'a> {
    /// A field with this name and label.
    #[must_use]
    pub const fn new(name: &'static str, label: &'a str) -> Self {
        Self { name, label, value: "", hint: None, is_rule: false, after: None, attributes: Vec::new() }
    }

    /// Sets the text that is in it.
    #[must_use]
    pub const fn value(mut self, value: &'a str) -> Self {
        self.value = value;
        self
    }

    /// The input has the text that was typed into the field with its name.
    #[must_use]
    pub fn typed(self, fields: &'a Fields) -> Self {
        Self { value: fields.text(self.name), ..self }
    }

    /// Adds a line below it that says what may be typed.
    #[must_use]
    pub fn hint(mut self, hint: Markup) -> Self {
        self.hint = Some(hint);
        self
    }

    /// As [`Field::hint`], for the rule that errors of this field are about: only one of both is shown.
    #[must_use]
    pub fn rule(self, hint: Markup) -> Self {
        Self { is_rule: true, ..self.hint(hint) }
    }

    fn shown_hint(&self, refused: Option<&RefusedForm>) -> Option<&Markup> {
        self.hint.as_ref().filter(|_| !self.is_rule || self.error(refused).is_none())
    }

    /// More elements right after the control, such as a list of suggestions.
    #[must_use]
    pub fn after(mut self, markup: Markup) -> Self {
        self.after = Some(markup);
        self
    }

    /// Another attribute of the control; an empty value is one without.
    #[must_use]
    pub fn with(mut self, attribute: &'static str, value: &'a str) -> Self {
        self.attributes.push((attribute, value));
        self
    }

    /// The form cannot be sent without it.
    #[must_use]
    pub fn required(self) -> Self {
        self.with("required", "")
    }

    /// It takes a name or an address, which browsers must not correct.
    #[must_use]
    pub fn exact(self) -> Self {
        self.with("autocapitalize", "none").with("spellcheck", "false")
    }

    /// A field of one line.
    #[must_use]
    pub fn input(&self, refused: Option<&RefusedForm>) -> Markup {
        self.around(refused, written(|html| self.start_tag("input", refused, html)))
    }

    /// A field for a password, which is never sent back.
    #[must_use]
    pub fn password(self, refused: Option<&RefusedForm>) -> Markup {
        self.with("type", "password").value("").input(refused)
    }

    /// A field of several lines.
    #[must_use]
    pub fn text_area(&self, refused: Option<&RefusedForm>) -> Markup {
        let control = written(|html| {
            self.start_tag("textarea", refused, html);
            // Browsers drop a line break right after the tag.
            html.push('\n');
            self.value.render_to(html);
            html.push_str("</textarea>");
        });
        self.around(refused, control)
    }

    fn around(&self, refused: Option<&RefusedForm>, control: impl Render) -> Markup {
        html! {
            div {
                label for=(self.name) { (self.label) }
                (control)
                @if let Some(message) = self.error(refused) {
                    p.error id={ "error-" (self.name) } role="alert" { (message) }
                }
                @if let Some(hint) = self.shown_hint(refused) { p.hint id={ "hint-" (self.name) } { (hint) } }
                @if let Some(after) = &self.after { (after) }
            }
        }
    }

    fn error<'b>(&self, refused: Option<&'b RefusedForm>) -> Option<&'b str> {
        refused.and_then(|refused| refused.about(self.name))
    }

    fn start_tag(&self, tag: &str, refused: Option<&RefusedForm>, html: &mut String) {
        let name = self.name;
        html.push('<');
        html.push_str(tag);
        attribute(html, "id", name);
        attribute(html, "name", name);
        let is_password = self.attributes.contains(&("type", "password"));
        if tag == "input" && !is_password {
            attribute(html, "value", self.value);
        }
        for (name, value) in &self.attributes {
            attribute(html, name, value);
        }
        let is_wrong = self.error(refused).is_some();
        let hint = self.shown_hint(refused).map(|_| format!("hint-{name}"));
        let error = is_wrong.then(|| format!("error-{name}"));
        let described_by: Vec<String> = error.into_iter().chain(hint).collect();
        if !described_by.is_empty() {
            attribute(html, "aria-describedby", &described_by.join(" "));
        }
        if is_wrong {
            attribute(html, "aria-invalid", "true");
            if !self.attributes.contains(&("autofocus", "")) {
                attribute(html, "autofocus", "");
            }
        }
        html.push('>');
    }
}

/// The name of the draft of a field, for its attribute `data-draft`: the script keeps what is typed
/// there until it is sent. A draft belongs to the viewer and to a form.
#[must_use]
pub fn draft_key(frame: &Frame<'_>, form: &str) -> String {
    let viewer = frame.viewer.map_or_else(String::new, |viewer| viewer.id.to_string());
    format!("{viewer}/{form}")
}

/// The field that a form has if its text is to be shown as it will look, and not sent yet.
pub const PREVIEW: &str = "preview";

/// The button that shows how the text in a field will look. The script shows it without loading
/// a page.
#[must_use]
pub fn preview_button(field: &str) -> Markup {
    html! { button.button.quiet name=(PREVIEW) value="yes" data-preview=(field) { "Preview" } }
}

/// The place for the preview in a form. It is hidden as long as there is none.
#[must_use]
pub fn preview_place(preview: Option<Markup>) -> Markup {
    html! {
        div.preview role="region" aria-label="Preview" aria-live="polite" data-preview-place
            hidden[preview.is_none()]
        {
            div.text.formatted dir="auto" { @if let Some(preview) = &preview { (preview) } }
        }
    }
}

/// Says how a text can be formatted.
#[must_use]
pub fn formatting_hint() -> Markup {
    html! {
        code { "*emphasis*" } ", " code { "`code`" } ", " code { "> quote" } ", " code { "- list" } ". "
        a href="/formatting" { "Formatting help" }
    }
}

/// Writes an attribute; an empty value is one without, except that of a `value`.
fn attribute(html: &mut String, name: &str, value: &str) {
    html.push(' ');
    html.push_str(name);
    if value.is_empty() && name != "value" {
        return;
    }
    html.push_str("=\"");
    // Writing into a string cannot fail.
    let _ = Escaper::new(html).write_str(value);
    html.push('"');
}

/// A choice of one of several values, each with words.
pub fn choice(
    name: &str,
    label: &str,
    options: impl Iterator<Item = (&'static str, &'static str)>,
    chosen: &str,
) -> Markup {
    html! {
        div.field {
            label for={ "choice-" (name) } { (label) }
            select name=(name) #{ "choice-" (name) } {
                @for (value, words) in options {
                    option value=(value) selected[value == chosen] { (words) }
                }
            }
        }
    }
}

/// Helpers for tests of forms.
#[cfg(test)]
pub mod test_support {
    use super::*;

    /// A form that was refused, with the message beside a field or above the form.
    pub fn refused(message: &str, field: Option<&'static str>) -> RefusedForm {
        RefusedForm {
            message: message.to_owned(),
            field,
            candidates: Vec::new(),
            beside_field: None,
            failure: RequestError::field("field", "it must be another"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_support::refused;
    use super::*;
    use tidings_domain::Refusal;

    #[test]
    fn the_message_is_beside_its_field_and_only_there() {
        let form = refused("a < b", Some("url"));
        let url = Field::new("url", "URL").value("\"x\"").hint(html! { "A hint" });
        let html = url.input(Some(&form)).into_string();
        for part in [
            r#"<input id="url" name="url" value="&quot;x&quot;" aria-describedby="error-url hint-url" aria-invalid="true" autofocus>"#,
            r#"<p class="error" id="error-url" role="alert">a &lt; b</p><p class="hint" id="hint-url">"#,
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert_eq!(summary(Some(&form)).into_string(), "");
        let other = Field::new("title", "Title").input(Some(&form)).into_string();
        assert!(
            !other.contains("error") && !other.contains("aria-") && !other.contains("autofocus"),
            "{other}"
        );
    }

    #[test]
    fn a_message_about_no_field_of_the_form_is_above_it() {
        let failure = || RequestError::from(Refusal::UsernameTaken);
        let form = RefusedForm::from_failure(failure()).unwrap();
        assert!(summary(Some(&form)).into_string().contains(r#"role="alert""#));
        let form = form.beside(&["password"]);
        assert!(summary(Some(&form)).into_string().contains("taken"));
        assert_eq!(form.about("password"), None);
        let form = RefusedForm::from_failure(failure()).unwrap().beside(&["username", "password"]);
        assert!(form.about("username").is_some_and(|message| message.contains("taken")));
        assert_eq!(summary(None).into_string(), "");
    }

    #[test]
    fn what_a_field_must_be_need_not_name_it_beside_the_field() {
        let failure = || RequestError::field("from", "it must be a time");
        let above = RefusedForm::from_failure(failure()).unwrap();
        assert_eq!(above.message, "The field from is wrong: it must be a time.");
        assert_eq!(above.beside(&["from"]).message, "It must be a time.");
    }

    #[test]
    fn a_password_is_never_sent_back() {
        let form = refused("too short", Some("password"));
        let html = Field::new("password", "Password").value("secret").password(Some(&form)).into_string();
        assert!(html.contains(r#"type="password""#) && html.contains("aria-invalid"), "{html}");
        assert!(!html.contains("value") && !html.contains("secret"), "{html}");
    }

    #[test]
    fn the_text_of_an_area_is_kept_and_escaped() {
        let html = Field::new("text", "Text").value("\n</textarea>").text_area(None).into_string();
        assert!(
            html.contains("<textarea id=\"text\" name=\"text\">\n\n&lt;/textarea&gt;</textarea>"),
            "{html}"
        );
    }
}

//! Fields of forms: a label, a control and a hint. What is wrong with a field is added where a refused form is
//! shown again; see `refilled.rs`.

use super::fragments::written;
use super::frame::Frame;
use axum::response::{IntoResponse, Response};
use maud::{Escaper, Markup, PreEscaped, Render, html};
use std::fmt::Write;
use tidings_language::lists::enumerated;
use tidings_language::{PerLanguage, t};

/// A field of a form. Its id is its name.
#[must_use]
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
    pub const fn new(name: &'static str, label: &'a str) -> Self {
        Self { name, label, value: "", hint: None, is_rule: false, after: None, attributes: Vec::new() }
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Sets the text that is in it.
    pub const fn value(mut self, value: &'a str) -> Self {
        self.value = value;
        self
    }

    /// Adds a line below it that says what may be typed.
    pub fn hint(mut self, hint: impl Render) -> Self {
        self.hint = Some(hint.render());
        self
    }

    /// As [`Field::hint`], for the rule that errors of this field are about: only one of both is shown.
    pub fn rule(self, hint: impl Render) -> Self {
        Self { is_rule: true, ..self.hint(hint) }
    }

    /// More elements right after the control, such as a list of suggestions.
    pub fn after(mut self, markup: Markup) -> Self {
        self.after = Some(markup);
        self
    }

    /// Another attribute of the control; an empty value is one without.
    pub fn with(mut self, attribute: &'static str, value: &'a str) -> Self {
        self.attributes.push((attribute, value));
        self
    }

    /// The form cannot be sent without it.
    pub fn required(self) -> Self {
        self.with("required", "")
    }

    /// It takes a name or an address, which browsers must not correct.
    pub fn exact(self) -> Self {
        self.with("autocapitalize", "none").with("spellcheck", "false")
    }

    /// A field of one line.
    pub fn input(&self) -> Markup {
        self.around(written(|html| self.start_tag("input", html)))
    }

    /// A field for a password, which is never sent back.
    pub fn password(self) -> Markup {
        self.with("type", "password").value("").input()
    }

    /// A field of several lines.
    pub fn text_area(&self) -> Markup {
        let control = written(|html| {
            self.start_tag("textarea", html);
            // Browsers drop a line break right after the tag.
            html.push('\n');
            self.value.render_to(html);
            html.push_str("</textarea>");
        });
        self.around(control)
    }

    fn around(&self, control: impl Render) -> Markup {
        html! {
            div {
                label for=(self.name) { (self.label) }
                (control)
                @if let Some(hint) = &self.hint {
                    p.hint id={ "hint-" (self.name) } data-rule[self.is_rule] { (hint) }
                }
                @if let Some(after) = &self.after { (after) }
            }
        }
    }

    fn start_tag(&self, tag: &str, html: &mut String) {
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
        if self.hint.is_some() {
            attribute(html, "aria-describedby", &format!("hint-{name}"));
        }
        html.push('>');
    }
}

/// The name of the draft of a field, for its attribute `data-draft`: the script keeps what is typed
/// there until it is sent. A draft belongs to the viewer and to a form.
pub fn draft_key(frame: &Frame<'_>, form: &str) -> String {
    let viewer = frame.viewer.map_or_else(String::new, |viewer| viewer.id.to_string());
    format!("{viewer}/{form}")
}

/// The field that a form has if its text is to be shown as it will look, and not sent yet.
pub const PREVIEW: &str = "preview";

/// The button that shows how the text in a field will look. The script shows it without loading
/// a page.
pub fn preview_button(field: &str) -> Markup {
    html! { button.button.quiet name=(PREVIEW) value="yes" data-preview=(field) { (t!("button" => "Preview")) } }
}

/// The place for the preview in a form. It is hidden as long as there is none.
pub fn preview_place() -> Markup {
    html! {
        div.preview role="region" aria-label=(t!("Preview")) aria-live="polite" data-preview-place hidden {
            div.text.formatted dir="auto" {}
        }
    }
}

/// The answer to a form with [`PREVIEW`]: its page, with its text as it will look in the [`preview_place`].
#[derive(Clone)]
pub struct Preview(pub Markup);

impl IntoResponse for Preview {
    fn into_response(self) -> Response {
        let mut response = ().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Says how a text can be formatted.
pub fn formatting_hint() -> PreEscaped<&'static str> {
    static HINT: PerLanguage<String> = PerLanguage::new(|| {
        let examples = [t!("*emphasis*"), t!("`code`"), t!("> quote"), t!("- list")];
        let examples = enumerated(examples.map(|example| html! { code { (example) } }));
        let help = html! { a href="/formatting" { (t!("Formatting help")) } };
        t!("{examples}. {help}", examples, help).render().into_string()
    });
    PreEscaped(&HINT)
}

/// Writes an attribute; an empty value is one without, except that of a `value`.
pub(super) fn attribute(html: &mut String, name: &str, value: &str) {
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

/// The same with the name as its id.
pub fn select(name: &str, label: &str, chosen: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        div {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (value, words) in options {
                    option value=(value) selected[*value == chosen] { (words) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_its_hint_and_a_password_is_never_sent_back() {
        let url = Field::new("url", "URL").value("\"x\"").hint(html! { "A hint" }).input().into_string();
        for part in [
            r#"<input id="url" name="url" value="&quot;x&quot;" aria-describedby="hint-url">"#,
            r#"<p class="hint" id="hint-url">A hint</p>"#,
        ] {
            assert!(url.contains(part), "{part} in {url}");
        }
        let html = Field::new("password", "Password").value("secret").password().into_string();
        assert!(html.contains(r#"type="password""#), "{html}");
        assert!(!html.contains("value") && !html.contains("secret"), "{html}");
    }

    #[test]
    fn the_text_of_an_area_is_kept_and_escaped() {
        let html = Field::new("text", "Text").value("\n</textarea>").text_area().into_string();
        assert!(
            html.contains("<textarea id=\"text\" name=\"text\">\n\n&lt;/textarea&gt;</textarea>"),
            "{html}"
        );
    }
}

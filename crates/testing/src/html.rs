//! A page taken apart, strictly: markup that a browser would have to guess at,
//! or that a policy forbids, fails the test that looks at the page.

use std::collections::BTreeSet;

use reqwest::header::CONTENT_TYPE;

use crate::client::{Client, FORM, HttpResponse, encoded};

/// Elements without an end.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "link", "meta"];

/// Every element that our pages are made of: what users write adds none.
const ELEMENTS: &str = "a article aside bdi blockquote body br button circle code datalist dd details dialog div dl dt \
    em fieldset figcaption figure footer form g h1 h2 h3 head header hr html img input kbd label \
    legend li line link main mark meta nav noscript ol option p path polyline pre rect script \
    section select span strong summary sup svg table tbody td textarea th thead time title tr ul";

/// An element of a page.
#[derive(Debug)]
pub struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    /// All text within, as it is read.
    text: String,
    /// The index after its last descendant.
    end: usize,
}

impl Element {
    /// An attribute's value; empty for one without.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All text within, without what only makes space around it.
    pub fn text(&self) -> &str {
        self.text.trim()
    }

    fn is(&self, name: &str, attributes: &[(&str, &str)]) -> bool {
        self.name == name && attributes.iter().all(|(name, value)| self.attribute(name) == Some(value))
    }
}

/// Whether an address has only characters that one may have: brackets around an IPv6 address only.
fn is_valid_address(address: &str) -> bool {
    let start = address.find("://").map_or(0, |colon| colon + 3);
    let path = address[start..].find(['/', '?', '#']).map_or(address.len(), |at| start + at);
    let is_strange = |character: char| {
        character.is_whitespace() || character.is_control() || r#""<>\^`{|}"#.contains(character)
    };
    !address.contains(is_strange) && !address[path..].contains(['[', ']'])
}

/// A page's elements, each before its descendants.
#[derive(Debug)]
pub struct Page {
    elements: Vec<Element>,
}

impl Page {
    /// The page in an answer; the type must say so.
    #[track_caller]
    pub fn of(answer: &HttpResponse) -> Self {
        let content_type = answer.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap());
        let text = String::from_utf8(answer.body.clone()).unwrap();
        assert_eq!(content_type, Some("text/html; charset=utf-8"), "{} {text}", answer.status);
        let page = Self::parse(&text);
        page.check_elements();
        page.check_references();
        page
    }

    #[track_caller]
    fn parse(html: &str) -> Self {
        let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a document type first");
        let mut elements: Vec<Element> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("</") {
                let (name, after) = after.split_once('>').expect("an end tag ends");
                let index = open.pop().expect("an end tag has a start tag");
                assert_eq!(elements[index].name, name, "the elements nest");
                elements[index].end = elements.len();
                rest = after;
            } else if let Some(after) = rest.strip_prefix('<') {
                let (element, self_closed, after) = start_tag(after);
                let is_open = !self_closed && !VOID.contains(&element.name.as_str());
                elements.push(element);
                let index = elements.len() - 1;
                elements[index].end = index + 1;
                open.extend(is_open.then_some(index));
                rest = after;
            } else {
                let (text, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
                let text = unescaped(text);
                for index in &open {
                    elements[*index].text.push_str(&text);
                }
                rest = after;
            }
        }
        assert!(open.is_empty(), "every element ends");
        Self { elements }
    }

    /// No element, attribute or address that could run a script of anybody's.
    #[track_caller]
    fn check_elements(&self) {
        for element in &self.elements {
            assert!(ELEMENTS.split(' ').any(|known| known == element.name), "{element:?}");
            for (name, value) in &element.attributes {
                assert!(!name.starts_with("on") && name != "style" && name != "srcdoc", "{element:?}");
                let good = match name.as_str() {
                    "href" if element.is("a", &[("class", "bookmarklet")]) => {
                        value.starts_with("javascript:location.href='http")
                    }
                    "href" => ["/", "#", "http://", "https://", "mailto:", "otpauth:"].iter().any(|start| {
                        value.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
                    }),
                    "src" if element.name == "img" => {
                        let avatars = "https://www.gravatar.com/avatar/";
                        value.starts_with(avatars) || value.starts_with("/assets/logo-")
                    }
                    "src" => value.starts_with("/assets/"),
                    "action" => value.starts_with('/') && !value.starts_with("//"),
                    _ => true,
                };
                assert!(good, "{element:?}");
                let is_script = element.is("a", &[("class", "bookmarklet")]);
                assert!(name != "href" || is_script || is_valid_address(value), "{element:?}");
            }
            let is_hidden = element.is("input", &[("type", "hidden")]);
            assert!(!is_hidden || element.attribute("autocomplete").is_none(), "{element:?}");
        }
        for canonical in self.find("link", &[("rel", "canonical")]) {
            let address = canonical.attribute("href").unwrap_or_default();
            assert!(address.starts_with("http"), "{canonical:?} is no whole address");
        }
        for script in self.all("script") {
            assert!(script.attribute("src").is_some() && script.text.is_empty(), "{script:?}");
        }
    }

    /// Checks that ids are unique and that references to them resolve.
    #[track_caller]
    fn check_references(&self) {
        let mut ids = BTreeSet::new();
        for id in self.elements.iter().filter_map(|element| element.attribute("id")) {
            assert!(ids.insert(id), "the id {id} is there twice");
        }
        for element in &self.elements {
            for attribute in ["for", "aria-describedby"] {
                for id in element.attribute(attribute).unwrap_or_default().split_whitespace() {
                    assert!(ids.contains(id), "{element:?}");
                }
            }
        }
    }

    /// The elements of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements.iter().filter(move |element| element.name == name)
    }

    /// The elements of a name with these attributes, among others.
    pub fn find(&self, name: &str, attributes: &[(&str, &str)]) -> Vec<&Element> {
        self.elements.iter().filter(|element| element.is(name, attributes)).collect()
    }

    /// The one element of a name with these attributes, among others.
    #[track_caller]
    pub fn one(&self, name: &str, attributes: &[(&str, &str)]) -> &Element {
        let found = self.find(name, attributes);
        assert_eq!(found.len(), 1, "{name} {attributes:?} in {:#?}", self.text());
        found[0]
    }

    /// All that is to be read on the page, its title included.
    pub fn text(&self) -> &str {
        self.elements[0].text()
    }

    /// The page's heading.
    #[track_caller]
    pub fn heading(&self) -> &str {
        self.one("h1", &[]).text()
    }

    /// The main content of the page, without navigation and footer.
    #[track_caller]
    pub fn content(&self) -> &str {
        self.one("main", &[]).text()
    }

    /// The text of the alert on the page; `None` when there is none.
    pub fn alert(&self) -> Option<&str> {
        let alerts = self.find("p", &[("role", "alert")]);
        // A hidden one is for the script to fill.
        alerts.iter().find(|alert| alert.attribute("hidden").is_none()).map(|alert| alert.text())
    }

    /// Whether the page has a link to this address.
    pub fn links_to(&self, address: &str) -> bool {
        !self.find("a", &[("href", address)]).is_empty()
    }

    /// The elements within those of some names, such as `main`.
    pub fn within<'a>(&'a self, names: &'a [&'a str]) -> impl Iterator<Item = &'a Element> {
        let outer = self.elements.iter().enumerate().filter(|(_, element)| names.contains(&&*element.name));
        outer.flat_map(|(index, element)| &self.elements[index + 1..element.end])
    }

    /// The one form that is sent to this address; empty is the page's own.
    #[track_caller]
    pub fn form(&self, action: &str) -> Form {
        let mut forms = self.forms().into_iter().filter(|form| form.action == action);
        let form = forms.next().unwrap_or_else(|| panic!("no form for {action} in {:#?}", self.text()));
        assert!(forms.next().is_none(), "more than one form for {action}");
        form
    }

    /// All forms. One whose buttons are outside is there once for each address that they send it to, with the
    /// fields that are in the address.
    pub fn forms(&self) -> Vec<Form> {
        let forms = self.elements.iter().enumerate().filter(|(_, element)| element.name == "form");
        forms.flat_map(|(index, form)| self.forms_of(form, &self.elements[index + 1..form.end])).collect()
    }

    fn forms_of(&self, form: &Element, within: &[Element]) -> Vec<Form> {
        let own = self.form_of(form, within);
        let mut forms: Vec<(&str, Form)> = Vec::new();
        let id = form.attribute("id");
        for button in self.all("button").filter(|button| id.is_some() && button.attribute("form") == id) {
            let address = button.attribute("formaction").unwrap_or(&own.action);
            let position = forms.iter().position(|(known, _)| *known == address).unwrap_or_else(|| {
                let (action, query) = address.split_once('?').unwrap_or((address, ""));
                let mut form = Form { action: action.to_owned(), ..own.clone() };
                let named = query.split('&').filter_map(|field| field.split_once('='));
                form.fields.extend(named.map(|(name, value)| (name.to_owned(), value.to_owned())));
                forms.push((address, form));
                forms.len() - 1
            });
            forms[position].1.buttons.extend(button_of(button));
        }
        if forms.is_empty() { vec![own] } else { forms.into_iter().map(|(_, form)| form).collect() }
    }

    fn form_of(&self, form: &Element, within: &[Element]) -> Form {
        let action = form.attribute("action").unwrap_or_default().to_owned();
        let is_post = form.attribute("method") == Some("post");
        let mut read = Form { action, is_post, ..Form::default() };
        for element in within {
            let name = element.attribute("name").unwrap_or_default().to_owned();
            let value = element.attribute("value").unwrap_or_default().to_owned();
            match element.name.as_str() {
                "input" if is_unticked(element) => read.unticked.push((name, value)),
                "input" => {
                    read.controls.extend(Control::of(element));
                    read.fields.push((name, value));
                }
                // A line end right after the tag is none of the text.
                "textarea" => {
                    read.controls.extend(Control::of(element));
                    read.fields
                        .push((name, element.text.strip_prefix('\n').unwrap_or(&element.text).to_owned()));
                }
                "select" => {
                    read.controls.extend(Control::of(element));
                    read.fields.push((name, String::new()));
                }
                "option" if element.attribute("selected").is_some() => {
                    // The options follow their list.
                    read.fields.last_mut().into_iter().for_each(|(_, chosen)| chosen.clone_from(&value));
                }
                "button" => read.buttons.extend(button_of(element)),
                _ => {}
            }
        }
        read
    }
}

/// A field of a form that people type into, or in which they choose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Control {
    pub name: String,
    /// Its type, or the kind of keyboard that it asks for; `textarea` or `select`.
    pub kind: String,
    pub is_required: bool,
}

impl Control {
    /// Reads a field; `None` for one that nobody types into.
    fn of(element: &Element) -> Option<Self> {
        let kind = match element.name.as_str() {
            "input" => element.attribute("inputmode").or(element.attribute("type")).unwrap_or("text"),
            other => other,
        };
        let is_shown =
            element.attribute("hidden").is_none() && !["hidden", "checkbox", "radio", "file"].contains(&kind);
        let name = element.attribute("name").unwrap_or_default().to_owned();
        let is_required = element.attribute("required").is_some();
        is_shown.then(|| Self { name, kind: kind.to_owned(), is_required })
    }

    /// Values that it must not take, whatever it is for, and whether a page shows them again.
    pub fn wrong_values(&self) -> Vec<(String, bool)> {
        let long = format!("<{}", "x".repeat(5_000));
        let of_kind = match self.kind.as_str() {
            // Codes are secrets, and are never sent back.
            _ if self.name == "code" => vec![],
            "password" => vec![("short".to_owned(), false)],
            "select" => vec![("<unknown>".to_owned(), false)],
            "numeric" | "number" => vec![("many".to_owned(), true), (long, true)],
            "url" => vec![("javascript:alert(1)".to_owned(), true), (long, true)],
            "email" => vec![("nonsense".to_owned(), true), (long, true)],
            _ => vec![(long, true)],
        };
        let empty = (self.is_required && self.kind != "select").then(|| (String::new(), true));
        of_kind.into_iter().chain(empty).collect()
    }

    /// A value that it may take, as far as its kind says.
    pub fn good_value(&self) -> &'static str {
        match self.kind.as_str() {
            "numeric" | "number" => "2",
            "url" => "https://example.com/typed",
            "email" => "typed@example.com",
            _ => "<\"typed\">",
        }
    }
}

/// The name and the value of a button, unless it is disabled.
fn button_of(button: &Element) -> Option<(String, String)> {
    let attribute = |name| button.attribute(name).unwrap_or_default().to_owned();
    button.attribute("disabled").is_none().then(|| (attribute("name"), attribute("value")))
}

/// Whether it is a box that is not ticked, or a choice that is not made: a browser does not send it.
fn is_unticked(input: &Element) -> bool {
    matches!(input.attribute("type"), Some("checkbox" | "radio")) && input.attribute("checked").is_none()
}

/// A form as a browser would send it.
#[derive(Debug, Clone, Default)]
pub struct Form {
    pub action: String,
    pub is_post: bool,
    fields: Vec<(String, String)>,
    buttons: Vec<(String, String)>,
    controls: Vec<Control>,
    /// The boxes that are not ticked, and the choices that are not made.
    unticked: Vec<(String, String)>,
}

impl Form {
    /// The value of a field; `None` when the form has no such field.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Fills in a field, which must be there.
    #[track_caller]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        let field = self.fields.iter_mut().find(|(known, _)| known == name);
        value.clone_into(&mut field.unwrap_or_else(|| panic!("a field {name}")).1);
        self
    }

    /// Takes a field out, which must be there.
    #[track_caller]
    pub fn without(mut self, name: &str) -> Self {
        assert!(self.value(name).is_some(), "a field {name}");
        self.fields.retain(|(known, _)| known != name);
        self
    }

    /// Ticks the box with this name, which must be there and not ticked.
    #[track_caller]
    pub fn ticking(mut self, name: &str) -> Self {
        let found = self.unticked.iter().position(|(known, _)| known == name);
        let ticked = self.unticked.remove(found.unwrap_or_else(|| panic!("a box {name}")));
        self.fields.push(ticked);
        self
    }

    /// Whether it has boxes that are not ticked, or choices that are not made.
    pub fn has_choices(&self) -> bool {
        !self.unticked.is_empty()
    }

    /// The fields that people type into, or in which they choose.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// The names and values of its fields.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The values of the buttons with a name.
    pub fn buttons(&self, name: &str) -> Vec<&str> {
        self.buttons.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Whether there is a button with this value.
    pub fn has_button(&self, value: &str) -> bool {
        self.buttons.iter().any(|(_, known)| known == value)
    }

    /// Presses the button with this value, which must be there.
    #[track_caller]
    pub fn pressing(mut self, value: &str) -> Self {
        let button = self.buttons.iter().find(|(_, known)| known == value);
        self.fields.push(button.unwrap_or_else(|| panic!("a button {value}")).clone());
        self
    }

    /// Sends the form.
    pub async fn send(&self, client: &Client) -> HttpResponse {
        self.send_to(client, &self.action).await
    }

    /// Sends the form to another address than it says, or to its page's own.
    pub async fn send_to(&self, client: &Client, address: &str) -> HttpResponse {
        assert!(self.is_post, "{self:?}");
        let fields: Vec<(&str, &str)> = self.fields().collect();
        client.post_bytes(address, FORM, encoded(&fields).into_bytes()).await
    }
}

/// Reads a start tag after its `<`: the element, whether `/>` ended it, and
/// what follows.
#[track_caller]
fn start_tag(tag: &str) -> (Element, bool, &str) {
    let end = tag.find([' ', '>', '/']).expect("a tag ends");
    let (name, mut rest) = tag.split_at(end);
    let mut attributes: Vec<(String, String)> = Vec::new();
    loop {
        if let Some(after) = rest.strip_prefix("/>") {
            return (element(name, attributes), true, after);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (element(name, attributes), false, after);
        }
        rest = rest.strip_prefix(' ').expect("a space before an attribute");
        let end = rest.find(['=', ' ', '>', '/']).expect("an attribute ends");
        let (attribute, after) = rest.split_at(end);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-:".contains(&byte);
        assert!(!attribute.is_empty() && attribute.bytes().all(plain), "the attribute {attribute:?}");
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').expect("a value ends"),
            None => ("", after),
        };
        assert!(attributes.iter().all(|(known, _)| known != attribute), "{attribute} is there twice");
        attributes.push((attribute.to_owned(), unescaped(value)));
        rest = after;
    }
}

fn element(name: &str, attributes: Vec<(String, String)>) -> Element {
    Element { name: name.to_owned(), attributes, text: String::new(), end: 0 }
}

/// Text as it is read. Characters that should have been escaped fail the test.
#[track_caller]
fn unescaped(text: &str) -> String {
    assert!(!text.contains(['<', '>']), "{text:?} is escaped");
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, after) = part.split_once(';').unwrap_or_else(|| panic!("{text:?} is escaped"));
        plain.push_str(match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            _ => panic!("the entity {name:?}"),
        });
        plain.push_str(after);
    }
    plain
}

//! The description of the whole HTTP API in OpenAPI 3.1, for programs.
//!
//! Each file of the API describes its calls beside their handlers, in a
//! constant `CALLS`; this file lists these constants and writes them down as
//! OpenAPI has it. A test compares the outcome with the table of routes.
//!
//! To add a call: an entry in the `CALLS` of its file. To add a file: its
//! `CALLS` in `families`.

use super::{api, reputation};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// A call of the API.
pub struct Call {
    /// GET or POST.
    pub method: Method,
    /// The address, as in the table of routes.
    pub path: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// What it wants to know about who asks.
    pub needs: Needs,
    /// What is sent, beside what the session needs.
    pub inputs: &'static [Input],
    /// What comes back.
    pub answer: Answer,
}

/// The methods that calls have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

/// What a call wants to know about who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing; with a session the answer may tell more.
    Nothing,
    /// The cookie `auth`.
    Session,
    /// The cookie `auth`, and the field `apisecret` of the form.
    Secret,
}

/// One thing that is sent.
pub struct Input {
    name: &'static str,
    place: Place,
    shape: Shape,
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Form,
    Json,
}

impl Input {
    /// A variable part of the address.
    #[must_use]
    pub const fn path(name: &'static str, shape: Shape) -> Self {
        Self { name, place: Place::Path, shape, required: true }
    }

    /// A parameter in the query string.
    #[must_use]
    pub const fn query(name: &'static str, shape: Shape) -> Self {
        Self { name, place: Place::Query, shape, required: true }
    }

    /// A field of a form.
    #[must_use]
    pub const fn form(name: &'static str, shape: Shape) -> Self {
        Self { name, place: Place::Form, shape, required: true }
    }

    /// A member of a JSON body.
    #[must_use]
    pub const fn json(name: &'static str, shape: Shape) -> Self {
        Self { name, place: Place::Json, shape, required: true }
    }

    /// The same, and it need not come.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.required = false;
        self
    }
}

/// What a value looks like.
pub enum Shape {
    /// A text of so many characters.
    Text {
        /// The fewest.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A text that follows a regular expression, and an example.
    Pattern(&'static str, &'static str),
    /// One of some texts.
    Choice(&'static [&'static str]),
    /// The name of a web site.
    Host,
    /// A UUID.
    Uuid,
    /// A time as a text, `2023-02-02T09:36:03Z`.
    Time,
    /// A day, `2023-02-02`.
    Date,
    /// A whole number from the first to the second.
    Whole(i64, i64),
    /// A whole number.
    Number,
    /// A number that may have a fraction.
    Decimal,
    /// True or false.
    Flag,
    /// This or null.
    OrNull(&'static Shape),
    /// An array of up to so many.
    List(&'static Shape, u64),
    /// An object with these members; those marked `false` may be missing.
    Object(&'static [(&'static str, Shape, bool)]),
    /// A comment with the comments below it.
    Comment,
}

/// What comes back.
pub enum Answer {
    /// `{"status": "ok", ...}` with these members, or `{"status": "err", ...}`.
    Ours(&'static [(&'static str, Shape)]),
    /// As [`Answer::Ours`], and the second members may be missing.
    Partly(&'static [(&'static str, Shape)], &'static [(&'static str, Shape)]),
    /// As [`Answer::Ours`], and 304 for who has it already.
    Kept(&'static [(&'static str, Shape)]),
    /// What a call of browser extensions answers with 200 (204 without a
    /// shape), and an error with a code.
    Documented(Option<Shape>),
    /// What a call of the original extension answers with 200 (an empty body
    /// without a shape); anything else is 500.
    Deployed(Option<Shape>),
    /// A document of this type.
    Document(&'static str),
}

const CALLS: &[Call] = &[Call {
    method: Method::Get,
    path: "/api/openapi.json",
    summary: "This description.",
    needs: Needs::Nothing,
    inputs: &[],
    answer: Answer::Document("application/json"),
}];

/// The calls of each file, with the file's name for people.
fn families() -> [(&'static str, &'static [Call]); 8] {
    [
        ("Accounts", api::accounts::CALLS),
        ("News", api::news::CALLS),
        ("Articles and topics", api::articles::CALLS),
        ("Comments", api::comments::CALLS),
        ("Tweets and timelines", api::timelines::CALLS),
        ("Sites", api::sites::CALLS),
        ("Browser extensions", reputation::CALLS),
        ("About", CALLS),
    ]
}

/// GET /api/openapi.json.
pub async fn document() -> impl IntoResponse {
    static TEXT: LazyLock<String> = LazyLock::new(|| description().to_string());
    const HEADERS: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    (HEADERS, TEXT.as_str())
}

/// The whole description.
#[must_use]
pub fn description() -> Value {
    let mut paths = Map::new();
    for (family, calls) in families() {
        for call in calls {
            let methods = paths.entry(call.path).or_insert_with(|| json!({}));
            methods[call.method.name()] = call.described(family);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidings",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Described for people in docs/api.md.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Comment": comment(), "Error": error(), "CodedError": coded_error()},
            "responses": {
                "Error": answered("A failure", &json!({"$ref": "#/components/schemas/Error"})),
                "CodedError": answered("A failure", &json!({"$ref": "#/components/schemas/CodedError"})),
            },
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "auth"}},
        },
    })
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
        }
    }
}

impl Call {
    fn described(&self, family: &str) -> Value {
        let operation_id = format!("{}{}", self.method.name(), self.path.replace(['/', '{', '}', '.'], "_"));
        let mut call = json!({
            "operationId": operation_id,
            "tags": [family],
            "summary": self.summary,
            "responses": self.answer.described(),
        });
        let parameters: Vec<Value> = self.inputs.iter().filter_map(Input::as_parameter).collect();
        if !parameters.is_empty() {
            call["parameters"] = parameters.into();
        }
        if let Some(body) = self.body() {
            call["requestBody"] = body;
        }
        if self.needs != Needs::Nothing {
            call["security"] = json!([{"session": []}]);
        }
        call
    }

    fn body(&self) -> Option<Value> {
        let of = |place: Place| self.inputs.iter().filter(move |input| input.place == place);
        const SECRET: &[Input] = &[Input::form("apisecret", TOKEN)];
        let secret = SECRET.iter().filter(|_| self.needs == Needs::Secret);
        let form = object(of(Place::Form).chain(secret).map(Input::as_member));
        let json = object(of(Place::Json).map(Input::as_member));
        [("application/x-www-form-urlencoded", form), ("application/json", json)]
            .into_iter()
            .find(|(_, schema)| schema["properties"] != json!({}))
            .map(|(kind, schema)| json!({"required": true, "content": {kind: {"schema": schema}}}))
    }
}

/// A secret of a session.
pub const TOKEN: Shape = Shape::Pattern("^[0-9a-f]{40}$", "371ffee6dd19851234e3dc458f14af7732abc1a4");

impl Input {
    const fn as_member(&self) -> (&'static str, &Shape, bool) {
        (self.name, &self.shape, self.required)
    }

    fn as_parameter(&self) -> Option<Value> {
        let place = match self.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Form | Place::Json => return None,
        };
        let mut parameter = json!({"name": self.name, "in": place, "required": self.required});
        match &self.shape {
            // A structure in a query string is JSON.
            Shape::Object(_) => {
                parameter["content"] = json!({"application/json": {"schema": self.shape.described()}});
            }
            shape => parameter["schema"] = shape.described(),
        }
        if matches!(self.shape, Shape::List(..)) {
            parameter["style"] = "form".into();
            parameter["explode"] = false.into();
        }
        Some(parameter)
    }
}

impl Shape {
    fn described(&self) -> Value {
        match self {
            Self::Text { least, most } => json!({"type": "string", "minLength": least, "maxLength": most}),
            Self::Pattern(pattern, example) => {
                json!({"type": "string", "pattern": pattern, "examples": [example]})
            }
            Self::Choice(texts) => json!({"type": "string", "enum": texts}),
            Self::Host => json!({"type": "string", "format": "idn-hostname", "examples": ["example.com"]}),
            Self::Uuid => json!({"type": "string", "format": "uuid"}),
            Self::Time => json!({"type": "string", "format": "date-time"}),
            Self::Date => json!({"type": "string", "format": "date"}),
            Self::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Self::Number => json!({"type": "integer"}),
            Self::Decimal => json!({"type": "number"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::OrNull(shape) => json!({"anyOf": [shape.described(), {"type": "null"}]}),
            Self::List(shape, most) => {
                json!({"type": "array", "items": shape.described(), "maxItems": most})
            }
            Self::Object(members) => {
                object(members.iter().map(|(name, shape, required)| (*name, shape, *required)))
            }
            Self::Comment => json!({"$ref": "#/components/schemas/Comment"}),
        }
    }
}

fn object<'a>(members: impl Iterator<Item = (&'a str, &'a Shape, bool)>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, shape, is_required) in members {
        properties.insert(name.to_owned(), shape.described());
        if is_required {
            required.push(name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

impl Answer {
    fn described(&self) -> Value {
        match self {
            Self::Ours(members) => ours(members, &[]),
            Self::Partly(members, optional) => ours(members, optional),
            Self::Kept(members) => {
                let mut answers = ours(members, &[]);
                answers["304"] = json!({"description": "Nothing has changed"});
                answers
            }
            Self::Documented(shape) => {
                let mut answers = coded_failures();
                match shape {
                    Some(shape) => answers["200"] = answered("Done", &shape.described()),
                    None => answers["204"] = json!({"description": "Done"}),
                }
                answers
            }
            Self::Deployed(shape) => {
                let failed = object([("error", &LINE, true)].into_iter());
                let done = match shape {
                    Some(shape) => answered("Done", &shape.described()),
                    None => json!({"description": "Done, with an empty body"}),
                };
                json!({"200": done, "500": answered("Any failure", &failed)})
            }
            Self::Document(kind) => {
                let mut answers = failures();
                answers["200"] = json!({"description": "The document", "content": {*kind: {}}});
                answers
            }
        }
    }
}

const LINE: Shape = Shape::Text { least: 1, most: 1_000 };

fn answered(description: &str, schema: &Value) -> Value {
    json!({"description": description, "content": {"application/json": {"schema": schema}}})
}

/// The answers of our own calls: a rule that says no comes with 200 too.
fn ours(members: &[(&'static str, Shape)], optional: &[(&'static str, Shape)]) -> Value {
    let status = (STATUS, &Shape::Choice(&["ok"]), true);
    let members = members.iter().map(|(name, shape)| (*name, shape, true));
    let optional = optional.iter().map(|(name, shape)| (*name, shape, false));
    let done = object(std::iter::once(status).chain(members).chain(optional));
    let schema = json!({"oneOf": [done, {"$ref": "#/components/schemas/Error"}]});
    let mut answers = failures();
    answers["200"] = answered("Done, or a rule of the site says no", &schema);
    answers
}

const STATUS: &str = "status";

fn failures() -> Value {
    let statuses = ["400", "404", "405", "413", "500", "503"];
    let failure = json!({"$ref": "#/components/responses/Error"});
    statuses.into_iter().map(|status| (status.to_owned(), failure.clone())).collect::<Map<_, _>>().into()
}

fn coded_failures() -> Value {
    let statuses = ["400", "403", "405", "413", "429", "500", "503"];
    let failure = json!({"$ref": "#/components/responses/CodedError"});
    statuses.into_iter().map(|status| (status.to_owned(), failure.clone())).collect::<Map<_, _>>().into()
}

fn error() -> Value {
    let status = (STATUS, &Shape::Choice(&["err"]), true);
    object([status, ("error", &LINE, true)].into_iter())
}

fn coded_error() -> Value {
    const CODES: &[&str] = &[
        "invalid",
        "banned",
        "voting_disabled",
        "too_many_votes",
        "too_many_voters",
        "method_not_allowed",
        "internal",
        "unavailable",
    ];
    object([("error", &Shape::Choice(CODES), true), ("message", &LINE, true)].into_iter())
}

fn comment() -> Value {
    use Shape::{Choice, Flag, List, Number, OrNull, Text};
    let text = Text { least: 1, most: 4_096 };
    object(
        [
            ("id", &Number, true),
            ("username", &OrNull(&LINE), true),
            ("ctime", &Number, true),
            ("body", &text, false),
            ("deleted", &Flag, false),
            ("up", &Number, true),
            ("down", &Number, true),
            ("voted", &OrNull(&Choice(&["up", "down"])), true),
            ("replies", &List(&Shape::Comment, 2_000), true),
        ]
        .into_iter(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_tells_fields_secrets_and_answers() {
        let description = description();
        let vote = &description["paths"]["/api/votenews"]["post"];
        let form = &vote["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"];
        assert_eq!(form["required"], json!(["news_id", "vote_type", "apisecret"]));
        assert_eq!(vote["security"], json!([{"session": []}]));
        let scores = &description["paths"]["/scores"]["get"];
        assert_eq!(scores["parameters"][0]["explode"], false);
        assert_eq!(scores["responses"]["200"]["content"]["application/json"]["schema"]["type"], "array");
        let own = &description["paths"]["/api/sites/own"]["post"]["requestBody"]["content"];
        assert!(own["application/json"]["schema"]["properties"]["links"].is_object(), "{own}");
    }

    #[test]
    fn every_call_has_its_variables_and_a_summary() {
        for (family, calls) in families() {
            for call in calls {
                let variables = call.path.matches('{').count();
                let described: Vec<&Input> =
                    call.inputs.iter().filter(|input| input.place == Place::Path).collect();
                assert_eq!(described.len(), variables, "{family} {}", call.path);
                assert!(described.iter().all(|input| call.path.contains(&format!("{{{}}}", input.name))));
                assert!(call.summary.ends_with('.'), "{}", call.path);
            }
        }
    }
}

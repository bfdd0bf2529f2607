//! The description of the whole HTTP API in OpenAPI 3.1, for programs.
//!
//! Each handler and each action describes its call, and the types of forms and responses describe their
//! fields; [`values`] describes single values. This module adds what calls have in common:
//! failures, the secret of forms, tags, and the lengths of arrays. One test compares the
//! calls with the table of routes, and the client of the tests compares all responses with
//! the document.
//!
//! To add a call that is no [`Action`](crate::features::action::Action), describe its handler and list the handler in
//! `Document`.

use crate::features::algolia::calls::HitsError;
use crate::features::sites::reputation::{CodedError, DeployedError};
use crate::request::answers::ErrorResponse;
use crate::request::description::{FORM, JSON, json_response};
use crate::request::values;
use crate::route::{ErrorFormat, Facts, Wings};
use crate::{App, router};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::IntoResponse;
use serde_json::Value;
use std::sync::OnceLock;
use tidings_domain::values::limits;
use utoipa::ToSchema;
use utoipa::openapi::path::Operation;
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{Object, OneOf, Schema, Type};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, Content, OpenApi, Ref, RefOr, Required};

/// The document, made from the handlers and their types.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Tidings",
        description = "The API of a Tidings site. See also docs/api.md.",
        license(name = "MIT OR Apache-2.0"),
    ),
    servers((url = "/")),
    components(schemas(ErrorResponse, CodedError, DeployedError, HitsError)),
)]
struct Document;

/// Get this document.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    responses((status = 200, description = "The document", content_type = JSON)),
)]
pub async fn document(app: App) -> impl IntoResponse {
    // The set of features that are on cannot change while the program runs, but tests start several sites.
    static TEXTS: [OnceLock<String>; Wings::COMBINATIONS] = [const { OnceLock::new() }; Wings::COMBINATIONS];
    let wings = Wings::of(&app);
    let text = TEXTS.get(wings.number());
    let text = text.map(|text| text.get_or_init(|| description_with(wings).to_string()));
    const HEADERS: [(HeaderName, HeaderValue); 3] = [
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    (HEADERS, text.map_or("", String::as_str))
}

/// The description without the calls of what is switched off.
fn description_with(wings: Wings) -> Value {
    let mut description = description();
    if let Some(paths) = description.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| wings.have(router::routes().find(&Method::GET, path).wing));
    }
    description
}

/// The whole description.
pub fn description() -> Value {
    let mut document = <Document as utoipa::OpenApi>::openapi();
    router::described().for_each(|calls| document.merge(calls));
    for (_, action) in router::actions() {
        (action.describe)(&mut document, &action.call_path, action.summary);
    }
    add_common(&mut document);
    // Tests would notice an empty one.
    serde_json::to_value(document).unwrap_or_default()
}

/// Adds what calls have in common.
fn add_common(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    values::register(components);
    limit_arrays(components);
    let session = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new("auth")));
    components.add_security_scheme("session", session);
    for format in [ErrorFormat::Api, ErrorFormat::Algolia, ErrorFormat::Documented, ErrorFormat::Deployed] {
        let schema = schema_of(format);
        components.responses.insert(schema.to_owned(), json_response("A failure", schema).into());
    }
    for (path, item) in &mut document.paths.paths {
        for (method, call) in [(Method::GET, item.get.as_mut()), (Method::POST, item.post.as_mut())] {
            let Some(call) = call else { continue };
            add_common_parts(&router::routes().find(&method, path), (method, path), call);
        }
    }
}

/// The maximum lengths of arrays: a schema, its field, and the number of items.
const LONGEST_ARRAYS: &[(&str, &str, u64)] = &[
    ("NewsList", "news", limits::MAX_API_NEWS),
    ("Articles", "articles", limits::ARTICLES_PER_PAGE),
    ("ArticleEntry", "topics", limits::MAX_TOPICS as u64),
    ("TopicList", "topics", limits::MAX_LISTED_TOPICS),
    ("CommentTree", "comments", limits::MAX_API_COMMENTS as u64),
    ("Comment", "replies", limits::MAX_API_COMMENTS as u64),
    ("Timeline", "tweets", limits::MAX_PAGE as u64),
    ("People", "users", limits::MAX_PAGE as u64),
    ("Inbox", "entries", limits::MAX_PAGE as u64),
    ("RecoveryCodes", "recovery_codes", limits::RECOVERY_CODES as u64),
    ("Mutes", "mutes", limits::MAX_MUTES as u64 + limits::MAX_MUTED_TOPICS),
    ("Mutes", "blocks", limits::MAX_BLOCKS),
    ("SessionList", "sessions", limits::MAX_SESSIONS as u64 + 1),
    ("OwnVotes", "votes", limits::MAX_LINKS as u64),
    ("SiteHistory", "days", limits::MAX_HISTORY_DAYS),
    ("Leaderboard", "sites", limits::LEADERBOARD as u64),
    ("VoterVotes", "votes", limits::MAX_VOTER_VOTES),
    ("TopVoters", "voters", limits::TOP_VOTERS),
    ("OwnVotesQuestion", "links", limits::MAX_LINKS as u64),
];

/// Sets the maximum lengths of arrays. Attributes accept only literals for them.
fn limit_arrays(components: &mut Components) {
    for (name, field, most) in LONGEST_ARRAYS {
        limit_array(components.schemas.get_mut(*name).and_then(|schema| member(schema, field)), *most);
    }
}

/// A field of an object.
fn member<'a>(object: &'a mut RefOr<Schema>, field: &str) -> Option<&'a mut RefOr<Schema>> {
    match object {
        RefOr::T(Schema::Object(object)) => object.properties.get_mut(field),
        _ => None,
    }
}

fn limit_array(array: Option<&mut RefOr<Schema>>, most: u64) {
    if let Some(RefOr::T(Schema::Array(array))) = array {
        array.max_items = usize::try_from(most).ok();
    }
}

/// The name of the schema of a failure.
const fn schema_of(format: ErrorFormat) -> &'static str {
    match format {
        ErrorFormat::Algolia => "HitsError",
        ErrorFormat::Documented => "CodedError",
        ErrorFormat::Deployed => "DeployedError",
        ErrorFormat::Page | ErrorFormat::Api | ErrorFormat::HackerNews => "Error",
    }
}

/// The possible HTTP statuses of failures besides 200, and that of a body that arrives too slowly.
const fn statuses_of(format: ErrorFormat) -> (&'static [&'static str], &'static str) {
    match format {
        ErrorFormat::Deployed => (&["404", "500"], "500"),
        _ => (&["400", "403", "404", "405", "413", "414", "429", "431", "500", "503"], "408"),
    }
}

/// Adds the common parts to a call.
fn add_common_parts(facts: &Facts, (method, path): (Method, &str), call: &mut Operation) {
    let name = method.as_str().to_lowercase();
    call.operation_id = Some(format!("{name}{}", path.replace(['/', '{', '}', '.'], "_")));
    call.tags = Some(vec![facts.tag.to_owned()]);
    if let Some(RefOr::T(done)) = call.responses.responses.get_mut("200") {
        describe_success(done, facts.errors);
    }
    let (statuses, too_slow) = statuses_of(facts.errors);
    let too_slow = (method == Method::POST).then_some(too_slow);
    for status in statuses.iter().copied().chain(too_slow) {
        let failure = Ref::from_response_name(schema_of(facts.errors));
        call.responses.responses.insert(status.to_owned(), failure.into());
    }
    if facts.needs_session {
        call.security = Some(vec![SecurityRequirement::new("session", [""; 0])]);
    }
    if method == Method::GET && call.security.is_none() {
        let unchanged = Response::builder().description("Nothing has changed since the given `ETag`");
        call.responses.responses.insert("304".to_owned(), unchanged.build().into());
    }
    if method == Method::POST && call.security.is_some() {
        add_session_fields(call, facts.keeps_answers);
    }
    if let "/scores" | "/v1/scores" = path {
        limit_links(call);
    }
}

/// Sets the maximum number of sites in a request and its response.
fn limit_links(call: &mut Operation) {
    let most = limits::MAX_LINKS as u64;
    for parameter in call.parameters.iter_mut().flatten() {
        let RefOr::T(parameter) = parameter else { continue };
        limit_array(parameter.schema.as_mut(), most);
        if let Some(links) = parameter.schema.as_mut().and_then(|question| member(question, "links")) {
            limit_array(Some(links), most);
            // A structure in a query string is JSON.
            parameter.content.insert(JSON.to_owned(), Content::new(parameter.schema.take()).into());
        }
    }
    if let Some(RefOr::T(done)) = call.responses.responses.get_mut("200")
        && let Some(RefOr::T(content)) = done.content.get_mut(JSON)
    {
        limit_array(content.schema.as_mut(), most);
    }
}

/// Describes the response with HTTP status 200, which may also be a refusal.
fn describe_success(done: &mut Response, format: ErrorFormat) {
    let may_be_refusal = format == ErrorFormat::Api;
    if done.description.is_empty() {
        done.description =
            if may_be_refusal { "Success, or a refusal by a rule of the site" } else { "Success" }.to_owned();
    }
    if !may_be_refusal {
        return;
    }
    let refusal = Ref::from_schema_name(schema_of(format));
    for (kind, content) in &mut done.content {
        if let RefOr::T(content) = content
            && kind == JSON
            && let Some(schema) = content.schema.take()
        {
            content.schema = Some(OneOf::builder().item(schema).item(refusal.clone()).into());
        }
    }
    // A file, or a refusal in JSON.
    done.content.entry(JSON.to_owned()).or_insert_with(|| Content::new(Some(refusal)).into());
}

/// Adds the secret of the session to the form of a call, and the name of the request.
fn add_session_fields(call: &mut Operation, takes_request: bool) {
    let empty = || {
        let fields: Schema = Object::with_type(Type::Object).into();
        let form = Content::new(Some(fields));
        RequestBody::builder().content(FORM, form).required(Some(Required::True)).build().into()
    };
    if let RefOr::T(body) = call.request_body.get_or_insert_with(empty)
        && let Some(RefOr::T(form)) = body.content.get_mut(FORM)
        && let Some(RefOr::T(Schema::Object(fields))) = &mut form.schema
    {
        let secret = Ref::from_schema_name(values::FormSecret::name());
        fields.properties.insert("apisecret".to_owned(), secret.into());
        fields.required.push("apisecret".to_owned());
        if takes_request {
            let request = Ref::from_schema_name(values::RequestName::name());
            fields.properties.insert("request".to_owned(), request.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_document_describes_fields_secrets_and_responses() {
        let description = description();
        let vote = &description["paths"]["/api/votenews"]["post"];
        let form = &vote["requestBody"]["content"][FORM]["schema"];
        assert_eq!(form["required"], json!(["news_id", "vote_type", "apisecret"]));
        assert_eq!(vote["security"], json!([{"session": []}]));
        let request = |path: &str| {
            &description["paths"][path]["post"]["requestBody"]["content"][FORM]["schema"]["properties"]["request"]
        };
        assert_eq!(request("/api/votenews")["$ref"], "#/components/schemas/RequestName");
        for path in ["/api/logout", "/api/totp/confirm", "/api/fetchtitle"] {
            assert!(request(path).is_null(), "{path}");
        }
        let scores = &description["paths"]["/scores"]["get"];
        assert_eq!(scores["parameters"][0]["explode"], false);
        assert_eq!(scores["responses"]["200"]["content"][JSON]["schema"]["type"], "array");
        let own = &description["paths"]["/api/sites/own"]["post"]["requestBody"]["content"];
        assert_eq!(own[JSON]["schema"]["$ref"], "#/components/schemas/OwnVotesQuestion");
    }

    #[test]
    fn arrays_have_a_maximum_length() {
        let description = description();
        for (name, field, most) in LONGEST_ARRAYS {
            let array = &description["components"]["schemas"][name]["properties"][field];
            assert_eq!(array["maxItems"], json!(most), "{name}.{field}: {array}");
        }
        for path in ["/scores", "/v1/scores"] {
            let call = description["paths"][path]["get"].to_string();
            assert_eq!(call.matches(r#""maxItems":100"#).count(), 2, "{call}");
        }
    }

    #[test]
    fn every_call_has_path_parameters_and_a_summary() {
        for (path, calls) in description()["paths"].as_object().unwrap() {
            for (method, call) in calls.as_object().unwrap() {
                let parameters = call["parameters"].as_array().into_iter().flatten();
                let variables: Vec<String> = parameters
                    .filter(|parameter| parameter["in"] == "path")
                    .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
                    .collect();
                assert_eq!(variables.len(), path.matches('{').count(), "{method} {path}");
                assert!(variables.iter().all(|variable| path.contains(variable)), "{method} {path}");
                assert!(call["summary"].as_str().is_some_and(|text| text.ends_with('.')), "{method} {path}");
                assert!(call["tags"][0].as_str().is_some_and(|tag| !tag.is_empty()), "{method} {path}");
            }
        }
    }

    #[test]
    fn a_body_that_arrives_too_slowly_is_described() {
        for (path, calls) in description()["paths"].as_object().unwrap() {
            let has_408 = |method: &str| calls[method]["responses"].get("408").is_some();
            assert!(!has_408("get"), "{path}");
            let is_described = calls.get("post").is_some() && !path.starts_with("/v1/");
            assert_eq!(has_408("post"), is_described, "{path}");
        }
    }

    #[test]
    fn every_response_has_a_description() {
        for (path, calls) in description()["paths"].as_object().unwrap() {
            for (method, call) in calls.as_object().unwrap() {
                for (status, response) in call["responses"].as_object().unwrap() {
                    let is_described = response["$ref"].is_string()
                        || response["description"].as_str().is_some_and(|text| !text.is_empty());
                    assert!(is_described, "{method} {path} {status}: {response}");
                }
            }
        }
    }

    #[test]
    fn ids_are_numbers_in_requests_as_in_answers() {
        let description = description();
        for (name, least) in [("Id", 1), ("IdOrNone", -1)] {
            let id = &description["components"]["schemas"][name];
            assert_eq!((&id["type"], &id["minimum"]), (&json!("integer"), &json!(least)), "{id}");
        }
        let news = &description["components"]["schemas"]["NewsEntry"]["properties"]["id"];
        assert_eq!(news["type"], "integer", "{news}");
        let parameter = &description["paths"]["/api/getcomments/{news_id}"]["get"]["parameters"][0]["schema"];
        assert_eq!(parameter["type"], "integer", "{parameter}");
    }

    #[test]
    fn every_reference_resolves() {
        let description = description();
        let text = description.to_string();
        let references: Vec<&str> =
            text.split(r#""$ref":"#).skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
        assert!(references.len() > 100, "only {} references were found", references.len());
        for reference in references {
            assert!(description.pointer(&reference[1..]).is_some(), "{reference} does not resolve");
        }
    }
}

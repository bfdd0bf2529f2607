//! How a call is described in the OpenAPI document.

use utoipa::ToSchema;
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, OpenApi, Ref, Required};

/// The content type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";
/// The content type of JSON.
pub const JSON: &str = "application/json";

/// Adds a call that takes a form in a session.
pub fn add_call<T: ToSchema, A: ToSchema>(document: &mut OpenApi, (path, tag): (&str, &str), summary: &str) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut used = vec![(A::name().into_owned(), A::schema())];
    T::schemas(&mut used);
    A::schemas(&mut used);
    schemas.extend(used);
    let form = Content::new(Some(T::schema()));
    let call = Operation::builder()
        .tag(tag)
        .summary(Some(summary))
        .request_body(Some(RequestBody::builder().content(FORM, form).required(Some(Required::True)).build()))
        .response("200", json_response("", &A::name()))
        .security(SecurityRequirement::new("session", [""; 0]));
    document.paths.add_path_operation(path, vec![HttpMethod::Post], call);
}

/// A JSON response with a schema.
pub fn json_response(description: &str, schema: &str) -> Response {
    let schema = Ref::from_schema_name(schema);
    Response::builder().description(description).content(JSON, Content::new(Some(schema))).build()
}

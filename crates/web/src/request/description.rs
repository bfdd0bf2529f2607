//! How a call is described in the OpenAPI document.

use utoipa::ToSchema;
use utoipa::openapi::path::{HttpMethod, Operation};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required};

/// The content type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";
/// The content type of JSON.
pub const JSON: &str = "application/json";

/// Adds a call that takes a form in a session.
pub fn add_call<T: ToSchema, A: ToSchema>(document: &mut OpenApi, path: &str, summary: &str) {
    let mut used = vec![(A::name().into_owned(), A::schema())];
    T::schemas(&mut used);
    A::schemas(&mut used);
    document.components.get_or_insert_default().schemas.extend(used);
    let call = form_call(summary, (T::schema(), &A::name()));
    document.paths.add_path_operation(path, vec![HttpMethod::Post], call);
}

/// A call by the schema of its form and the name of its answer's. It is compiled once for all of them.
fn form_call(summary: &str, (form, answer): (RefOr<Schema>, &str)) -> Operation {
    let form = Content::new(Some(form));
    Operation::builder()
        .summary(Some(summary))
        .request_body(Some(RequestBody::builder().content(FORM, form).required(Some(Required::True)).build()))
        .response("200", json_response("", answer))
        .build()
}

/// A JSON response with a schema.
pub fn json_response(description: &str, schema: &str) -> Response {
    let schema = Ref::from_schema_name(schema);
    Response::builder().description(description).content(JSON, Content::new(Some(schema))).build()
}

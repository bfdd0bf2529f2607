//! How a call is described in the OpenAPI document.

pub mod values;

/// The module whose types the declarations of forms and answers name as schemas. The macros for these import it.
pub mod schemas {
    pub use super::values;
}

use crate::request::answers::JSON;
use utoipa::openapi::path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterIn};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required};
use utoipa::{IntoParams, ToSchema};

/// The content type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// Adds a call that takes a form in a session.
pub fn add_call<T: ToSchema, A: ToSchema>(document: &mut OpenApi, path: &str, summary: &str) {
    Call::post(path, summary).form::<T>().answer::<A>().add_to(document);
}

/// A call as it is described.
pub struct Call {
    method: HttpMethod,
    path: String,
    operation: OperationBuilder,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Call {
    fn new(method: HttpMethod, path: &str, summary: &str) -> Self {
        let operation = Operation::builder().summary(Some(summary));
        Self { method, path: path.to_owned(), operation, schemas: Vec::new() }
    }

    /// A call that reads.
    pub fn get(path: &str, summary: &str) -> Self {
        Self::new(HttpMethod::Get, path, summary)
    }

    /// A call that acts.
    pub fn post(path: &str, summary: &str) -> Self {
        Self::new(HttpMethod::Post, path, summary)
    }

    fn with(self, change: impl FnOnce(OperationBuilder) -> OperationBuilder) -> Self {
        Self { operation: change(self.operation), ..self }
    }

    /// It has more to say than the summary.
    pub fn more(self, description: &str) -> Self {
        self.with(|call| call.description(Some(description)))
    }

    /// It can do without a session.
    pub fn session_or_none(self) -> Self {
        let session = SecurityRequirement::new("session", [""; 0]);
        self.with(|call| call.security(SecurityRequirement::default()).security(session))
    }

    /// A variable of its address.
    pub fn path<T: ToSchema>(self, name: &str) -> Self {
        let variable = Parameter::builder().name(name).parameter_in(ParameterIn::Path);
        self.with(|call| call.parameter(variable.required(Required::True).schema(Some(T::schema()))))
    }

    /// The parameters of its query.
    pub fn query<T: IntoParams>(self) -> Self {
        T::into_params(|| Some(ParameterIn::Query))
            .into_iter()
            .fold(self, |call, parameter| call.with(|call| call.parameter(parameter)))
    }

    /// Its form.
    pub fn form<T: ToSchema>(mut self) -> Self {
        T::schemas(&mut self.schemas);
        let form = RequestBody::builder().content(FORM, Content::new(Some(T::schema())));
        self.with(|call| call.request_body(Some(form.required(Some(Required::True)).build())))
    }

    /// Its answer.
    pub fn answer<A: ToSchema>(self) -> Self {
        self.also::<A>("200", "")
    }

    /// An answer with this status.
    pub fn also<A: ToSchema>(mut self, status: &str, description: &str) -> Self {
        self.schemas.push((A::name().into_owned(), A::schema()));
        A::schemas(&mut self.schemas);
        self.with(|call| call.response(status, json_response(description, &A::name())))
    }

    /// An answer of this type of content.
    pub fn content(self, description: &str, content_type: &str) -> Self {
        let answer = Response::builder().description(description);
        self.with(|call| call.response("200", answer.content(content_type, Content::default())))
    }

    /// Adds it to a document.
    pub fn add_to(self, document: &mut OpenApi) {
        document.components.get_or_insert_default().schemas.extend(self.schemas);
        document.paths.add_path_operation(self.path, vec![self.method], self.operation.build());
    }
}

/// A JSON response with a schema.
pub fn json_response(description: &str, schema: &str) -> Response {
    let schema = Ref::from_schema_name(schema);
    Response::builder().description(description).content(JSON, Content::new(Some(schema))).build()
}
